"""Adaptive Runge-Kutta-Fehlberg steps for the discrete element method, [Bell05] 3.4."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import SimulationError
from berm.core.report import StepReport
from berm.core.rotations import inverse, turned
from berm.kernels.dem import sphere_motion as rigid_grains
from berm.solvers.base import Stages, WorldView

if TYPE_CHECKING:
    import berm.solvers.dem.solver as solver  # "from" would send the kernel cache in circles

Array = npt.NDArray[Any]

# Fehlberg's tableau: times, stages, and the fourth and fifth order sums.
TIMES = (0.0, 1 / 4, 3 / 8, 12 / 13, 1.0, 1 / 2)
STAGES = (
    (),
    (1 / 4,),
    (3 / 32, 9 / 32),
    (1932 / 2197, -7200 / 2197, 7296 / 2197),
    (439 / 216, -8.0, 3680 / 513, -845 / 4104),
    (-8 / 27, 2.0, -3544 / 2565, 1859 / 4104, -11 / 40),
)
FIFTH = (16 / 135, 0.0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55)
FOURTH = (25 / 216, 0.0, 1408 / 2565, 2197 / 4104, -1 / 5, 0.0)
ERROR = tuple(a - b for a, b in zip(FIFTH, FOURTH, strict=True))

SAFETY, SHRINK, GROW = 0.9, 0.2, 4.0
FIRST = 1e-2  # of the contact time: the first step that is tried
SMALLEST = 1e-9  # of the world's step, below which something is wrong


def advance(
    dem: solver.DEM, world: WorldView, dt: float, report: StepReport, clock: Stages
) -> tuple[float, int]:
    """Advance by dt with as many steps as the tolerance asks for.

    Returns the weight with which forces on bodies were summed, and the number of steps. A contact's
    memory is kept at the first stage of a step only; the other stages see it as it would be by
    then, so that a step that is refused leaves no trace. Shear displacements are so of first order
    in the step; all else is of fifth.
    """
    state = _State(dem, world)
    gone, taken, held = 0.0, 0, np.zeros_like(dem.total)
    h = dem.rkf_step or FIRST * dem.contact_time(world)
    with clock.stage("solve"):
        slope = state.slope(gone, dem.rkf_elapsed, dt, keep=True)
        push = dem.total.copy()
    began = 0.0
    while gone < dt * (1.0 - 1e-12):
        h = min(h, dt - gone, state.longest())
        with clock.stage("solve"):
            new, error = state.attempt(slope, gone, h, dt)
        if error > 1.0:
            h *= max(SHRINK, SAFETY * error**-0.2)
            if h < SMALLEST * dt:
                raise SimulationError(
                    f"RKF45 needs steps below {h:.3g} s; a grain has "
                    "run wild, or the tolerance is too small"
                )
            continue
        held += h * push
        gone += h
        taken += 1
        state.accept(new)
        dem.rkf_elapsed = h
        if state.far():
            with clock.stage("search"):
                dem._search(world, gone / dt, report)
                state.reload()
        with clock.stage("solve"):
            slope = state.slope(gone, h, dt, keep=True)
            push = dem.total.copy()
        dem.rkf_elapsed = 0.0
        wanted = h * min(GROW, SAFETY * max(error, 1e-10) ** -0.2)
        if gone < dt * (1.0 - 1e-12) or wanted >= dem.rkf_step:
            dem.rkf_step = wanted  # a step that the end cut short says nothing
        h = wanted
        if taken == 1:
            began = time.perf_counter()  # the first may have compiled
        ahead, spent = (dt - gone) / h, time.perf_counter() - began
        dem.portions.tell_pace(taken - 1, ahead, spent, partial(dem._effort, dt, taken + ahead))
    dem.total = held
    return 1.0 / dt, taken


class _State:
    """Positions and velocities of all that moves, as flat arrays, and their slopes.

    Spheres that move alone: position, velocity, spin (k, 9). Bodies: centre, velocity, quaternion
    and angular momentum in the world's frame (m, 13).
    """

    def __init__(self, dem: solver.DEM, world: WorldView) -> None:
        self.dem, self.world = dem, world
        self.reload()

    def reload(self) -> None:
        """Read the state from the world, whose rows may have moved."""
        g, c = self.world.grains, self.world.clumps
        self.alone = np.flatnonzero(g.owner[: g.n] < 0)
        rows = self.alone
        self.y = [
            np.concatenate([g.x[rows, :3], g.v[rows, :3], g.spin[rows, :3]], axis=1),
            np.concatenate([c.x[:, :3], c.v[:, :3], c.q, turned(c.q, c.L_own[:, :3])], axis=1),
        ]
        pull = max(float(np.linalg.norm(self.world.gravity)), 1e-3)
        radius = float(g.radius.min())
        fall = (pull * radius) ** 0.5
        tolerance = self.dem.tolerance
        spin = fall / radius
        momentum = np.sqrt(c.moments[:, :3].max(axis=1, initial=0.0)) if c.n else np.zeros(0)
        self.scale = [
            tolerance * np.repeat([radius, fall, spin], 3)[None],
            tolerance
            * np.concatenate(
                [
                    np.tile(np.repeat([radius, fall], 3), (c.n, 1)),
                    np.ones((c.n, 4)),
                    np.repeat((momentum**2 * spin)[:, None], 3, axis=1),
                ],
                axis=1,
            ),
        ]

    def write(self, y: list[Array]) -> None:
        """Set the world's spheres and bodies to a state."""
        g, c = self.world.grains, self.world.clumps
        rows = self.alone
        g.x[rows, :3], g.v[rows, :3], g.spin[rows, :3] = y[0][:, :3], y[0][:, 3:6], y[0][:, 6:]
        if c.n:
            q = y[1][:, 6:10]
            c.x[:, :3], c.v[:, :3] = y[1][:, :3], y[1][:, 3:6]
            c.q[:] = q / np.linalg.norm(q, axis=1, keepdims=True)
            c.L_own[:, :3] = turned(inverse(c.q), y[1][:, 10:])
            rigid_grains.carry_all(
                c.first, c.rows, c.offset, c.x, c.v, c.q, c.L_own, c.moments,
                g.x, g.v, g.spin,
            )  # fmt: skip

    def slope(self, gone: float, elapsed: float, dt: float, keep: bool) -> list[Array]:
        """Rates of change of the state that the world has now."""
        dem, world = self.dem, self.world
        g, c = world.grains, world.clumps
        dem.total[:] = 0.0
        dem.forces(world, elapsed, dt, gone / dt, keep)
        rows = self.alone
        f = g.force[rows]
        grain = np.concatenate(
            [
                g.v[rows, :3],
                f[:, :3] * g.v[rows, 3:] + (g.v[rows, 3:] > 0.0) * world.gravity,
                f[:, 4:7] * g.spin[rows, 3:],
            ],
            axis=1,
        )
        body = np.zeros((c.n, 13))
        if c.n:
            load = np.empty((c.n, 6))
            rigid_grains.sum_forces(c.first, c.rows, c.x, g.x, g.force, load)
            omega = turned(c.q, c.L_own[:, :3] / c.moments[:, :3])
            body[:, :3] = c.v[:, :3]
            body[:, 3:6] = load[:, :3] * c.x[:, 3:] + world.gravity
            body[:, 6:10] = 0.5 * product(omega, c.q)
            body[:, 10:] = load[:, 3:]
            pushed, applied = dem.covered.pushed, dem.covered.applied
            body[pushed, 3:6] += applied[:, :3] * c.x[pushed, 3:]
            body[pushed, 10:] += applied[:, 3:]
        return [grain, body]

    def attempt(
        self, slope: list[Array], gone: float, h: float, dt: float
    ) -> tuple[list[Array], float]:
        """One step of h: the new state of fifth order, and its error in tolerances."""
        slopes = [slope]
        for stage in range(1, 6):
            y = [
                old + h * sum(a * k[part] for a, k in zip(STAGES[stage], slopes, strict=True))
                for part, old in enumerate(self.y)
            ]
            self.write(y)
            at = TIMES[stage] * h
            slopes.append(self.slope(gone + at, at, dt, keep=False))
        new, error = [], 0.0
        for part, old in enumerate(self.y):
            new.append(old + h * sum(b * k[part] for b, k in zip(FIFTH, slopes, strict=True)))
            off = h * np.asarray(sum(e * k[part] for e, k in zip(ERROR, slopes, strict=True)))
            if off.size:
                error = max(error, float(np.abs(off / self.scale[part]).max()))
        if not np.isfinite(error):
            error = 1e6
        return new, error

    def accept(self, new: list[Array]) -> None:
        """Go on from a new state."""
        self.y = new
        self.write(new)
        if self.world.clumps.n:
            self.y[1][:, 6:10] = self.world.clumps.q

    def longest(self) -> float:
        """Time (s) in which no sphere goes further than half of what the list allows."""
        g = self.world.grains
        room = np.sqrt(self.dem.pairs.ref[: g.n, 3])
        speed = np.linalg.norm(g.velocity, axis=1)
        return 0.5 * float((room / np.maximum(speed, 1e-30)).min())

    def far(self) -> bool:
        """Whether a sphere has gone half as far as the list of pairs allows."""
        g, ref = self.world.grains, self.dem.pairs.ref
        way = g.x[: g.n, :3] - ref[: g.n, :3]
        return bool(((way**2).sum(axis=1) > 0.25 * ref[: g.n, 3]).any())


def product(omega: Array, q: Array) -> Array:
    """Quaternion product (0, omega) q, row by row."""
    w, u = q[:, :1], q[:, 1:]
    return np.concatenate(
        [-(omega * u).sum(axis=1, keepdims=True), w * omega + np.cross(omega, u)], axis=1
    )
