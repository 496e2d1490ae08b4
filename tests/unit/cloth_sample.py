"""A world with two cloths that wave by formula, and its recording; no solver takes a step."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import berm
from berm.core.cloth import Cloth
from berm.io.recording import Recorder, Recording

DT, LATE = 1 / 30, 3  # s; step at which the second cloth comes
FLAG, BANNER = "flag", "banner, 2"  # the second has what formats forbid in names
STEPS = 6


def make_world() -> berm.World:
    """Return a flag of 6 x 4 vertices, a floor and a grain."""
    world = berm.World(dt=DT, solver="sp")
    world.add_body(berm.Plane(), name="floor", material="rough wall")
    world.add_grains([[0.5, 0.3, 0.8]], 0.05)
    world.add_cloth(Cloth.grid((6, 4), (1.0, 0.6), (0.0, 0.0, 0.5), name=FLAG))
    wave(world, 0)
    return world


def wave(world: berm.World, step: int) -> None:
    """Put the world and its cloths where they are at a step."""
    world.step_count, world.time = step, step * world.dt
    for k, cloth in enumerate(world.cloths):
        along = cloth.position[:, 0]
        cloth.position[:, 2] = 0.5 + k + 0.1 * np.sin(6.0 * along + 5.0 * world.time)


def add_banner(world: berm.World) -> None:
    """Add the second cloth: two triangles, of another material."""
    corners = [[0, 1, 1], [0.5, 1, 1], [0.5, 1.4, 1], [0, 1.4, 1]]
    faces = [[0, 1, 2], [0, 2, 3]]
    world.add_cloth(Cloth(corners, faces, 0.1, material="steel", name=BANNER))


def record(path: Path, steps: int = STEPS) -> tuple[Recording, list[list[np.ndarray]]]:
    """Record every step; return the recording and the cloths' vertices of each frame."""
    world = make_world()
    truth = [[cloth.position.astype(np.float32) for cloth in world.cloths]]
    with Recorder(path, every=0.0, scene="sample") as recorder:
        recorder.start(world)
        for step in range(1, steps + 1):
            if step == LATE:
                add_banner(world)
            wave(world, step)
            recorder.record(world)
            truth.append([cloth.position.astype(np.float32) for cloth in world.cloths])
    return Recording(path), truth
