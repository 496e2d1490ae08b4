"""A recording with everything that exports must cope with, made without a step of a solver."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import berm
from berm.core.report import StepReport
from berm.io.recording import Recorder, Recording
from berm.solvers.base import Solver
from tests.moved_rows import shuffle_rows

DT, EVERY = 1 / 60, 1 / 30
ALL_FIELDS = ("velocity", "bodies", "overlap", "force")


@dataclass
class Telling(Solver):
    """A solver that never steps and tells numbers that depend on the grain's tag."""

    name = "telling"
    can = frozenset({"grains", "adhesion"})  # or wet sand would be warned of

    def _make_arrays(self, world: Any) -> None:
        """Nothing to make room for."""

    def step(self, world: Any, dt: float) -> StepReport:
        return StepReport()

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing was kept."""

    def grain_fields(self, world: Any) -> dict[str, np.ndarray]:
        tags = world.grains.tags
        return {"overlap": 1e-4 * tags + 1e-3 * world.time, "force": 10.0 * tags}


def make(path: Path, fields: tuple[str, ...] = ALL_FIELDS, steps: int = 13) -> Recording:
    """Record frames at 30 Hz and the last step between two frames.

    Frame 0 has no grain; grains come and go at the same time, so that equal numbers are not equal
    grains; one body moves and turns, one appears late, names hold what formats forbid.
    """
    world = berm.World(dt=DT, solver=Telling())
    world.add_body(berm.Plane(), name="floor", material="rough wall")
    turn = berm.Keyframes((0.0, 1.0), ((0.0, 0.0, 0.1), (1.0, 0.0, 0.1)), (0.0, 20.0), (0, 1, 0))
    world.add_body(berm.Box((0.4, 0.1, 0.2)), name="blade, 1 m/s", motion=turn)
    rng = np.random.default_rng(5)
    with Recorder(path, EVERY, fields, scene="sample") as recorder:
        recorder.start(world)
        for step in range(1, steps + 1):
            if step == 2:
                world.add_grains(rng.normal(size=(40, 3)), rng.uniform(0.01, 0.02, 40))
            if step == 4:
                world.remove_grains(tags=[3, 5, 7])
                where, radius = rng.normal(size=(3, 3)), rng.uniform(0.03, 0.04, 3)
                world.add_grains(where, radius, (0.0, 1.0, 0.0), berm.material("wet sand"))
            if step == 8:
                world.remove_grains(mask=np.arange(world.grains.n) % 4 == 0)
            if step == 6:
                world.add_body(berm.Sphere(0.3), name="late", position=(0.0, 0.0, 2.0))
            grains = world.grains
            grains.velocity[:] = rng.normal(size=(grains.n, 3))
            grains.position[:] += DT * grains.velocity
            shuffle_rows(grains, rng)  # tags do not move
            world.step_count, world.time = step, step * DT
            for body in world.bodies:
                body.prepare(world.time, DT)
                body.bodies.load[body.row, 0] = rng.normal(size=6)
            recorder.record(world, StepReport(step=step, time=world.time, grains=grains.n))
    return Recording(path)
