"""The pile of rocks that every engine runs, and the one judge of where they end.

A rock is four to eight overlapping spheres, of 0.6 m on average, 2,600 kg/m3, friction 0.7, no
restitution. The rocks fall from a loose lattice on a plane, slump, and are left at rest: 10 s in
steps of 1/60 s. A peer is a file with a class that follows `Engine`; `main(Engine)` makes it a
program that prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

STEP = 1 / 60  # s
SECONDS, REST = 10.0, 2.0  # simulated, and how many of them count as rest
G, DENSITY, FRICTION, SIZE = 9.81, 2600.0, 0.7, 0.6
PITCH, BASE, JITTER = 0.75, 0.5, 0.05  # m, of the lattice that falls
KINDS, POINTS = 16, 60_000


@dataclass(frozen=True)
class Kind:
    """Spheres of a rock in its principal axes about its centre of mass; kg, kg m^2."""

    centres: Array
    radii: Array
    mass: float
    moments: Array


def kinds(count: int = KINDS, seed: int = 1) -> list[Kind]:
    """Rocks of several forms; mass and moments of the filled shape by random points."""
    rng = np.random.default_rng(seed)
    return [_kind(rng) for _ in range(count)]


def _kind(rng: np.random.Generator) -> Kind:
    n, size = int(rng.integers(4, 9)), SIZE * rng.uniform(0.75, 1.25)
    axes = np.array([1.0, rng.uniform(0.7, 1.0), rng.uniform(0.5, 0.9)])
    radii = rng.uniform(0.24, 0.34, n) * size * axes.mean()
    way = rng.normal(size=(n, 3))
    way /= np.linalg.norm(way, axis=1)[:, None]
    for _ in range(200):  # spread them over the ball
        for i in range(n):
            apart = way[i] - np.delete(way, i, axis=0)
            push = apart / (np.linalg.norm(apart, axis=1) ** 3 + 1e-3)[:, None]
            way[i] += 0.02 * push.sum(axis=0)
            way[i] /= np.linalg.norm(way[i])
    centres = way * axes * (size / 2 - radii[:, None])
    low, high = (centres - radii[:, None]).min(axis=0), (centres + radii[:, None]).max(axis=0)
    points = rng.uniform(low, high, (POINTS, 3))
    inside = (((points[:, None] - centres) ** 2).sum(axis=2) < radii**2).any(axis=1)
    inside |= ((points / (0.3 * size * axes)) ** 2).sum(axis=1) < 1.0  # no hole in the middle
    mass = DENSITY * float(np.prod(high - low)) * inside.mean()
    filled = points[inside]
    middle = filled.mean(axis=0)
    filled = filled - middle
    inertia = np.eye(3) * (filled**2).sum(axis=1).mean() - filled.T @ filled / len(filled)
    moments, turn = np.linalg.eigh(mass * inertia)
    if np.linalg.det(turn) < 0:
        turn[:, 0] *= -1
    return Kind((centres - middle) @ turn, radii, mass, moments)


class Pile:
    """Which rock is where at the start: kinds, positions (n, 3), quaternions (n, 4) w x y z."""

    def __init__(self, count: int = 500, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.kinds = kinds()
        self.which = rng.integers(0, len(self.kinds), count)
        across = max(3, round((count / 1.6) ** (1 / 3)))
        k = np.arange(count)
        cell = np.column_stack([k % across, k // across % across, k // across**2])
        middle = np.array([(across - 1) / 2, (across - 1) / 2, 0.0])
        self.x = PITCH * (cell - middle) + (0.0, 0.0, BASE)
        self.x += rng.uniform(-JITTER, JITTER, (count, 3))
        q = rng.normal(size=(count, 4))
        self.q = q / np.linalg.norm(q, axis=1)[:, None]
        self.mass = np.array([self.kinds[k].mass for k in self.which])
        self.moments = np.array([self.kinds[k].moments for k in self.which])

    def rocks(self) -> list[tuple[Kind, Array, Array]]:
        """Kind, position and quaternion of each."""
        return [(self.kinds[k], x, q) for k, x, q in zip(self.which, self.x, self.q, strict=True)]

    def spheres(self, x: Array, q: Array) -> tuple[Array, Array, Array]:
        """Rock, centre (m) and radius of every sphere, with rocks at these poses."""
        owner, centres, radii = [], [], []
        turns = matrices(q)
        for n, k in enumerate(self.which):
            one = self.kinds[k]
            owner.append(np.full(len(one.radii), n))
            centres.append(x[n] + one.centres @ turns[n].T)
            radii.append(one.radii)
        return np.concatenate(owner), np.concatenate(centres), np.concatenate(radii)


def matrices(q: Array) -> Array:
    """Rotations (n, 3, 3) of unit quaternions (n, 4) w x y z."""
    w, x, y, z = q.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


class Engine(Protocol):
    """A running simulation of the pile."""

    label: str

    def advance(self, steps: int) -> None:
        """Simulate so many steps of STEP."""

    def read(self) -> tuple[Array, Array, Array, Array]:
        """Centres of mass (n, 3), quaternions w x y z (n, 4), velocities, angular velocities."""


def judge(pile: Pile, state: tuple[Array, Array, Array, Array]) -> dict[str, float]:
    """What every engine is asked of a state, by one code from the poses alone."""
    from scipy.spatial import cKDTree

    x, q, v, omega = (np.asarray(part, float) for part in state)
    owner, centres, radii = pile.spheres(x, q)
    pairs = cKDTree(centres).query_pairs(2 * radii.max(), output_type="ndarray")
    pairs = pairs[owner[pairs[:, 0]] != owner[pairs[:, 1]]]
    apart = np.linalg.norm(centres[pairs[:, 0]] - centres[pairs[:, 1]], axis=1)
    depth = radii[pairs].sum(axis=1) - apart
    sunk = radii - centres[:, 2]
    turning = np.einsum("nji,nj->ni", matrices(q), omega)
    energy = 0.5 * pile.mass * (v**2).sum(axis=1) + 0.5 * (pile.moments * turning**2).sum(axis=1)
    return {
        "energy": float(energy.mean()),
        "energy_most": float(energy.max()),
        "depth": float(max(depth.max(initial=0.0), sunk.max(), 0.0)),
        "depth_mean": float(np.maximum(np.concatenate([depth[depth > -1e-3], [0.0]]), 0).mean()),
        "height": float((centres[:, 2] + radii).max()),
        "mean_height": float((pile.mass * x[:, 2]).sum() / pile.mass.sum()),
        "lost": int((~np.isfinite(x).all(axis=1) | (x[:, 2] < -0.5)).sum()),
    }


def measure(engine: Engine, pile: Pile, seconds: float) -> dict[str, Any]:
    """Run, time it, and judge it; energies are means over the second at rest."""
    engine.advance(1)  # what is compiled or laid out at first does not count
    moving = round((seconds - REST) / STEP) - 1
    resting = round(REST / STEP)
    result: dict[str, Any] = {"peer": engine.label, "rocks": len(pile.which)}
    for part, steps in (("falling", moving), ("rest", resting)):
        wall, cpu, energies, depths = time.perf_counter(), time.process_time(), [], []
        spent_wall = spent_cpu = 0.0
        for at in range(0, steps, 20):
            some = min(20, steps - at)
            wall, cpu = time.perf_counter(), time.process_time()
            engine.advance(some)
            spent_wall += time.perf_counter() - wall
            spent_cpu += time.process_time() - cpu
            if part == "rest":
                seen = judge(pile, engine.read())
                energies.append(seen["energy"])
                depths.append(seen["depth"])
        result[f"{part}_wall"] = spent_wall / (steps * STEP)
        result[f"{part}_cpu"] = spent_cpu / (steps * STEP)
    result |= judge(pile, engine.read())
    result["energy"], result["depth"] = float(np.mean(energies)), float(np.max(depths))
    if not math.isfinite(result["energy"]):
        result["energy"] = 1e300
    return result


def main(make: Callable[[Pile, argparse.Namespace], Engine]) -> None:
    """Run one engine; the result is one line of JSON, and so is why it was skipped."""
    p = argparse.ArgumentParser()
    p.add_argument("--rocks", type=int, default=500)
    p.add_argument("--seconds", type=float, default=SECONDS)
    p.add_argument("--sleep", action="store_true", help="bodies at rest may sleep, as it is made")
    p.add_argument("--solver", default="p2", help="of berm; MuJoCo: newton or cg")
    p.add_argument("--options", default="{}", help="of that solver, JSON")
    a = p.parse_args()
    try:
        pile = Pile(a.rocks)
        result = measure(make(pile, a), pile, a.seconds)
    except ImportError as problem:
        result = {"skipped": f"not installed: {problem}"}
    sys.stdout.write(json.dumps(result) + "\n")
