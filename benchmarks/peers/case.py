"""The settled box that every peer runs, and how each one is measured.

A peer is a file ``<name>_box.py`` with ``make(case) -> Runner``; ``main(make)`` turns it into a
program that prints one line of JSON, so that run.py can start each peer in a process of its own
with its own number of threads.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parents[2]
PITCH, JITTER = (
    2.3,
    0.14,
)  # of the starting lattice, in radii: so loose and uneven that it collapses
SPEED = 1.0  # m/s, of each component at the start
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """N equal grains in a box without a lid; floor at z = 0, walls at 0 and ``side`` (SI units)."""

    grains: int
    threads: int = 1
    radius: float = 0.05
    density: float = 2600.0
    friction: float = 0.5
    stiffness: float = 1.0e5  # N/m, of a contact between two grains and with the wall
    restitution: float = 0.2
    gravity: float = 9.81
    state: str = ""  # file with settled positions and velocities

    @property
    def columns(self) -> int:
        """Grains along one side of the starting lattice: the box is about a cube."""
        return max(round(self.grains ** (1 / 3)), 1)

    @property
    def side(self) -> float:
        """Inner width of the box."""
        return self.columns * PITCH * self.radius

    @property
    def mass(self) -> float:
        """Mass of a grain."""
        return self.density * 4 / 3 * math.pi * self.radius**3

    @property
    def damping_ratio(self) -> float:
        """Share of critical damping that gives the restitution in a linear spring-damper."""
        log = math.log(self.restitution)
        return -log / math.sqrt(math.pi**2 + log**2)

    @property
    def damping(self) -> float:
        """Damping of a pair, N s/m."""
        return 2 * self.damping_ratio * math.sqrt(self.stiffness * self.mass / 2)

    @property
    def contact_time(self) -> float:
        """Duration of a collision of two grains, s."""
        free = math.sqrt(2 * self.stiffness / self.mass)
        return math.pi / (free * math.sqrt(1 - self.damping_ratio**2))

    @property
    def planes(self) -> Array:
        """Floor and four walls as unit normal and offset (5, 4)."""
        a = self.side
        rows = [[0, 0, 1, 0], [1, 0, 0, 0], [-1, 0, 0, -a], [0, 1, 0, 0], [0, -1, 0, -a]]
        return np.array(rows, dtype=np.float64)

    def lattice(self, seed: int = 0) -> tuple[Array, Array]:
        """Positions and velocities (n, 3) of a loose, jittered lattice above the floor."""
        rng = np.random.default_rng(seed)
        m, r = self.columns, self.radius
        index = np.arange(self.grains)
        cell = np.stack([index % m, index // m % m, index // (m * m)], axis=1)
        x = (cell + 0.5) * PITCH * r + rng.uniform(-JITTER * r, JITTER * r, (self.grains, 3))
        return x, rng.normal(0.0, SPEED, x.shape)

    def start(self) -> tuple[Array, Array]:
        """Settled positions and velocities (n, 3) from the state file, or the lattice."""
        if self.state:
            with np.load(self.state) as file:
                return file["x"], file["v"]
        return self.lattice()


class Runner(Protocol):
    """A running simulation of the case."""

    label: str
    dt: float

    def advance(self, seconds: float) -> None:
        """Simulate for about this time."""

    def read(self) -> tuple[Array, Array]:
        """Positions and velocities (n, 3)."""


def overlaps(x: Array, radius: float) -> Array:
    """Overlap of every touching pair, in units of the diameter."""
    from scipy.spatial import cKDTree

    x = np.asarray(x, dtype=np.float64)
    pairs = cKDTree(x).query_pairs(2 * radius, output_type="ndarray")
    if len(pairs) == 0:
        return np.zeros(1)
    gap = np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1)
    return np.asarray(1.0 - gap / (2 * radius))


def measure(runner: Runner, case: Case, relax: float, seconds: float, parts: int) -> dict[str, Any]:
    """Relax, then time the simulated seconds in parts; the median part counts."""
    runner.advance(max(relax, 2 * runner.dt))
    walls = []
    for _ in range(parts):
        clock = time.perf_counter()
        runner.advance(seconds / parts)
        walls.append((time.perf_counter() - clock) * parts / seconds)
    x, v = runner.read()
    depth = overlaps(x, case.radius)
    return {
        "peer": runner.label,
        "grains": case.grains,
        "threads": case.threads,
        "dt_ms": 1e3 * runner.dt,
        "wall_per_second": statistics.median(walls),
        "wall_fastest": min(walls),
        "overlap_mean": float(depth.mean()),
        "overlap_p99": float(np.percentile(depth, 99)),
        "rest_speed": float(np.sqrt((np.asarray(v, np.float64) ** 2).sum(axis=1).mean())),
        "lost": int((~np.isfinite(x).all(axis=1) | (x[:, 2] < -case.radius)).sum()),
    }


def main(make: Callable[[Case], Runner], argv: list[str] | None = None) -> None:
    """Run one peer; the result is one line of JSON on stdout, reasons for skipping as well."""
    p = argparse.ArgumentParser()
    p.add_argument("--grains", type=int, default=2000)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--state", default="")
    p.add_argument("--relax", type=float, default=1.0)
    p.add_argument("--seconds", type=float, default=1.0)
    p.add_argument("--parts", type=int, default=5)
    a = p.parse_args(argv)
    case = replace(Case(a.grains), threads=a.threads, state=a.state)
    try:
        result = measure(make(case), case, a.relax, a.seconds, a.parts)
    except (ImportError, OSError) as problem:
        result = {"skipped": f"{type(problem).__name__}: {problem}".splitlines()[0]}
    sys.stdout.write(json.dumps(result) + "\n")
