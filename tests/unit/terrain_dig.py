"""A small dig for tests: a blade pushed through loam in a world of p2."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import berm


def blade_world(layers="loam", speed=0.5, start=-0.9):
    """A level field of 3 x 2 m and a blade that goes through it."""
    world = berm.World()
    ground = world.add_terrain(berm.Terrain.flat((3.0, 2.0), cell=0.1, layers=layers))
    blade = world.add_body(
        berm.Box((0.06, 0.8, 0.5)),
        name="blade",
        position=(start, 0, 0.1),
        motion=berm.Linear((speed, 0, 0)),
    )
    ground.add_tool(blade)
    return world


@cache
def recorded():
    """Path of a recording of the dig, every step a frame; also worlds' grounds at some steps."""
    path = Path(mkdtemp()) / "dig.h5"
    world, seen = blade_world(), {}
    with berm.Recorder(path, every=0) as recorder:
        recorder.start(world)
        for step in range(1, 61):
            recorder.record(world, world.step())
            if step % 12 == 0:
                ground = world.terrain
                seen[step] = (
                    ground.heights.copy(),
                    ground.sight.look().loose.copy(),
                    ground.ledger(world),
                    world.grains.tags[~world.grains.fixed].copy(),
                )
    return path, seen
