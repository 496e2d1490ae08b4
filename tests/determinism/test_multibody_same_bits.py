"""A heap of bodies with mechanisms: the same bits on any number of threads and after a restart."""

import numpy as np
import pytest

import berm
from berm.core.joints import Hinge, Slider
from berm.stage.meshes import triangles
from berm.world.rocks import KINDS
from tests.same_bits import assert_same_on_threads


def heap():
    """Boxes and spheres that fall on a floor beside a driven arm."""
    world = berm.World(dt=1 / 60, solver=berm.P2(substeps=4))
    world.add_body(berm.Plane(), name="floor")
    rng = np.random.default_rng(2)
    for k in range(40):
        shape = berm.Box((0.2, 0.16, 0.12)) if k % 2 else berm.Sphere(0.09)
        where = (0.22 * (k % 3), 0.22 * (k // 3 % 3), 0.15 + 0.22 * (k // 9))
        world.add_body(
            shape, name=f"piece {k}", dynamic=True, density=2000.0,
            position=np.array(where) + rng.uniform(-0.01, 0.01, 3),
        )  # fmt: skip
    arm = world.add_body(
        berm.Box((0.8, 0.1, 0.1)),
        name="arm",
        dynamic=True,
        density=2000.0,
        position=(-0.8, 0.2, 0.3),
    )
    world.add_joint(Hinge(arm, None, (-1.2, 0.2, 0.3), axis=(0, 0, 1), motor=(1.0, 200.0)))
    return world


def quarry():
    """Rocks of all kinds that fall into a mesh: every way in which bodies find each other."""
    world = berm.World(dt=1 / 60, solver=berm.P2(substeps=1))
    floor = berm.Box((4.0, 4.0, 0.1))
    drawn = triangles(floor)
    world.add_body(berm.Mesh(drawn.vertices, drawn.faces), name="floor")
    for k, kind in enumerate(KINDS):
        berm.add_rocks(world, 6, (0.2, 0.3), kind, seed=k, base=(0.6 * k - 0.9, 0, 0.05),
                       across=(1, 2), name=kind, velocity=(0.5 - k / 3.0, 0, -1.0))  # fmt: skip
    return world


def roll(world, steps):
    """Step; return one hash a step."""
    prints = []
    for _ in range(steps):
        world.step()
        prints.append(tuple(np.asarray(one).tobytes() for one in world.bodies.state().values()))
    return prints


def test_rocks_take_the_same_way_on_any_threads_and_after_a_restart():
    assert_same_on_threads(lambda: roll(quarry(), 25))
    world = quarry()
    roll(world, 15)
    assert world.report.body_contacts > 20
    state = world.state()
    first = roll(world, 10)
    fresh = quarry()
    fresh.restore(state)
    assert roll(fresh, 10) == first


def advance(world, steps, start=0):
    """Step, while a body with a rail comes and goes; return one hash a step."""
    prints = []
    for k in range(start, start + steps):
        if k == 5:
            late = world.add_body(
                berm.Sphere(0.1), name="late", dynamic=True, mass=5.0, position=(0.3, 0.3, 2.0)
            )
            world.add_joint(Slider(late, None, axis=(0, 0, 1), name="rail"))
        if k == 20:
            world.remove_joint(next(joint for joint in world.joints if joint.name == "rail"))
            world.remove_body(world.body("late"))
        world.step()
        state = {**world.bodies.state(), **{f"j {n}": v for n, v in world.joints.state().items()}}
        prints.append(tuple(np.asarray(value).tobytes() for value in state.values()))
    return prints


def test_threads_do_not_change_a_bit():
    assert_same_on_threads(lambda: advance(heap(), 30))


@pytest.mark.parametrize("at", [3, 25])
def test_restart_goes_on_bit_for_bit(at):
    world = heap()
    advance(world, at)
    if at > 20:  # what came and went has left no trace but its tags
        assert len(world.bodies) == 42
    state = world.state()
    first = advance(world, 5, start=30)
    world.restore(state)
    assert advance(world, 5, start=30) == first


def test_a_body_that_came_is_part_of_the_scene():
    world = heap()
    state = world.state()
    advance(world, 8)
    with pytest.raises(berm.core.errors.InputError, match="another scene"):
        world.restore(state)
