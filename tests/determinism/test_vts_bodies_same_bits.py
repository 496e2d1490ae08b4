"""VTS and SP with dynamic bodies: the same bits on any number of threads, and after a restart."""

from __future__ import annotations

import numpy as np
import pytest

import berm
from berm.core.joints import Hinge
from tests.same_bits import assert_goes_on, assert_same_on_threads

SOLVERS = {
    "vts gs": lambda: berm.VTS(iterations=6),
    "vts ij": lambda: berm.VTS(iteration="ij", iterations=6, substeps=2),
    "vts cr": lambda: berm.VTS(iteration="cr", iterations=4),
    "sp gs": lambda: berm.SP(iterations=6, delay=2),
    "pbd": lambda: berm.SP.pbd(iterations=5),
}


def busy(solver):
    """Grains poured on a paddle, boxes in a stack, a hinged plank, a ball and cloth."""
    world = berm.World(solver=solver, seed=3)
    rng = np.random.default_rng(3)
    grid = np.stack(np.meshgrid(*[np.arange(11)] * 3, indexing="ij"), -1).reshape(-1, 3)
    where = 0.045 * grid + rng.uniform(-0.002, 0.002, grid.shape) + 0.03
    world.add_grains(where, 0.015 + 0.008 * rng.random(len(where)), material="gravel")
    world.add_body(
        berm.Box((0.6, 0.6, 2.0), inside=True, open_top=True), position=(0.26, 0.26, 1.0)
    )
    world.add_body(
        berm.Box((0.3, 0.04, 0.1)), position=(0.26, 0.26, 0.1), motion=berm.Spin((0, 0, 1), 3.0)
    )
    for k in range(2):
        world.add_body(
            berm.Box((0.15, 0.15, 0.08)), name=f"box {k}", dynamic=True, density=900,
            position=(0.2, 0.2, 0.57 + 0.08 * k),
        )  # fmt: skip
    world.add_body(
        berm.Sphere(0.06), dynamic=True, density=5000, position=(0.4, 0.4, 0.6), velocity=(0, 0, -2)
    )
    plank = world.add_body(
        berm.Box((0.2, 0.1, 0.02)), dynamic=True, density=700, position=(0.4, 0.15, 0.62)
    )
    world.add_joint(Hinge(plank, axis=(0, 1, 0), limits=(-0.5, 0.5)))
    world.add_cloth(berm.Cloth.grid((6, 6), (0.2, 0.2), (0.3, 0.3, 0.68), mass=0.2, thickness=0.01))
    world.add_emitter(
        berm.Emitter(200, (0.28, 0.28, 0.9), "disc", (0.15, 0.1), radius=(0.01, 0.02))
    )
    return world


def advance(world, steps, start=0):
    prints = []
    for k in range(start, start + steps):
        if k == 4:
            world.remove_grains(tags=np.sort(world.grains.tags)[5:15])
        world.step()
        g = world.grains
        prints.append(
            (
                g.tags.tobytes(), g.x[: g.n].tobytes(), g.v[: g.n].tobytes(),
                world.cloths[0].position.tobytes(),
                *(getattr(world.bodies, name).tobytes() for name in ("x", "q", "v", "L", "load")),
                world.joints.load.tobytes(),
            )
        )  # fmt: skip
    return prints


@pytest.mark.parametrize("name", SOLVERS)
def test_threads_do_not_change_a_bit(name):
    assert_same_on_threads(lambda: advance(busy(SOLVERS[name]()), 14))


@pytest.mark.parametrize("name", SOLVERS)
def test_restart_continues_bit_for_bit(name, tmp_path):
    whole = busy(SOLVERS[name]())
    advance(whole, 8)
    assert whole.solver.bodies.count > 0  # grains touch bodies
    assert whole.report.body_contacts > 0  # and these each other
    assert_goes_on(whole, busy(SOLVERS[name]()), lambda world: advance(world, 6, start=8), tmp_path)
