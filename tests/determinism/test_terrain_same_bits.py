"""A dig has the same bits on one thread and on two, and after a restart in its midst."""

from __future__ import annotations

import numpy as np

import berm
from berm.kernels.jit import get_threads, max_threads, set_threads

STEPS, MIDDLE = 150, 90


def world() -> berm.World:
    made = berm.World()
    ground = made.add_terrain(
        berm.Terrain.flat((4.0, 3.0), 0.125, grain=0.05, depth=1.2, layers="loam")
    )
    blade = made.add_body(
        berm.Box((0.06, 0.8, 0.6)), name="blade", material="steel", position=(-1.0, 0.0, 0.15),
        motion=berm.Linear((0.5, 0.0, 0.0)),
    )  # fmt: skip
    ground.add_tool(blade)
    return made


def outcome(one: berm.World) -> dict[str, bytes]:
    order = np.argsort(one.grains.tags)
    return {
        "position": one.grains.position[order].tobytes(),
        "velocity": one.grains.velocity[order].tobytes(),
        "heights": one.terrain.heights.tobytes(),
        "mass": one.terrain.columns.mass.tobytes(),
        "force": one.body("blade").force.tobytes(),
    }


def test_a_dig_has_the_same_bits_on_any_number_of_threads_and_after_a_restart() -> None:
    before, found = get_threads(), []
    try:
        for threads, restart in ((1, False), (max_threads(), False), (1, True)):
            set_threads(threads, always=True)
            one = world()
            for k in range(STEPS):
                if restart and k == MIDDLE:
                    state, one = one.state(), world()
                    one.restore(state)
                one.step()
            assert 0 < one.grains.fixed.sum() < one.grains.n
            found.append(outcome(one))
    finally:
        set_threads(before)
    assert found[1] == found[0]
    assert found[2] == found[0]
