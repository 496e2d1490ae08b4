"""Keys and sticks, a motion that obeys them, and the blade that they drive."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from berm.core.errors import InputError
from berm.core.inputs import DEAD, Inputs
from berm.core.motion import Linear, Steered
from berm.core.shapes import Box
from berm.io import checkpoint
from berm.scenes.base import make_params, scene
from berm.scenes.blade import wishes
from berm.world.world import World
from tests.unit.test_checkpoint import same

SMALL = {"length": 1.0, "width": 0.6, "depth": 0.06, "blade": 0.3, "push": 0.3, "radius": 0.025}


# ---------------------------------------------------------------------- inputs


def test_keys_and_axes() -> None:
    inputs = Inputs()
    assert not inputs.any and inputs.axis("KeyA", "KeyD") == 0.0
    inputs.press(["KeyD", "ShiftLeft"], [0.05, -1.3, math.nan], [0.5])
    assert inputs.down("KeyD") and inputs.down("KeyX", "ShiftLeft") and not inputs.down("KeyX")
    assert inputs.axis("KeyA", "KeyD") == 1.0
    assert inputs.axis(("KeyD", "ArrowLeft"), ("KeyX", "ArrowRight")) == -1.0
    assert inputs.axis("KeyD", "KeyD") == 0.0
    assert inputs.axes == (0.05, -1.0, 0.0), "clipped, and what is no number is zero"
    assert inputs.stick(0) == 0.0, "a worn stick rests near zero"
    assert inputs.stick(1) == -1.0 and inputs.stick(9) == 0.0
    assert inputs.button(0) == 0.5 and inputs.button(3) == 0.0
    inputs.release()
    assert not inputs.any and inputs.keys == frozenset() and inputs.axes == ()


def test_sticks_begin_at_zero_beyond_the_dead_zone() -> None:
    inputs = Inputs()
    inputs.press(axes=[DEAD + 1e-6, (1 + DEAD) / 2])
    assert inputs.stick(0) == pytest.approx(0.0, abs=1e-5)
    assert inputs.stick(1) == pytest.approx(0.5)


def test_inputs_are_saved_and_put_back() -> None:
    one, other = Inputs(), Inputs()
    one.press(["KeyW"], [0.3], [1.0])
    one.by_hand = True
    other.restore(one.state())
    assert other.state() == one.state()


# ---------------------------------------------------------------------- motion


def test_velocity_is_followed_exactly_without_bounds() -> None:
    motion = Steered()
    dt = 1 / 60
    for k in range(60):
        motion.steer(k * dt, (1.0, 0.0, -0.5))
    shift, turn = motion.pose(1.0)
    assert shift == pytest.approx([1.0, 0.0, -0.5], abs=1e-12)
    assert np.array_equal(turn, np.eye(3))
    motion.steer(1.0)
    assert motion.pose(5.0)[0] == pytest.approx(shift)


def test_spin_turns_about_the_axis() -> None:
    motion = Steered()
    for k in range(90):
        motion.steer(k / 90, spin=(0.0, 0.0, math.pi / 2))
    _, turn = motion.pose(1.0)
    assert turn @ [1, 0, 0] == pytest.approx([0, 1, 0], abs=1e-9)
    assert turn @ turn.T == pytest.approx(np.eye(3), abs=1e-12)


def test_acceleration_and_way_are_bounded() -> None:
    motion = Steered(acceleration=2.0, low=(-1, -1, -1), high=(0.3, 1, 1))
    motion.steer(0.0, (10.0, 0, 0))
    assert motion.velocity[0] == 0.0, "no time has passed"
    motion.steer(0.1, (10.0, 0, 0))
    assert motion.velocity[0] == pytest.approx(0.2)
    for k in range(2, 100):
        motion.steer(0.1 * k, (10.0, 0, 0))
        assert motion.pose(0.1 * k + 0.1)[0][0] <= 0.3
    assert motion.pose(10.0)[0][0] == 0.3


def test_wrong_steering_is_refused() -> None:
    with pytest.raises(InputError, match="velocity"):
        Steered().steer(0.0, (math.nan, 0, 0))
    with pytest.raises(InputError, match="spin"):
        Steered().steer(0.0, spin=(0.0, 1.0))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="acceleration"):
        Steered(acceleration=0.0)
    with pytest.raises(InputError, match="around the start"):
        Steered(low=(0.1, 0, 0))


def test_a_steered_body_pushes_with_its_velocity() -> None:
    world = World()
    motion = Steered()
    blade = world.add_body(Box((0.1, 1.0, 1.0)), name="blade", motion=motion)
    world.add_grains([[0.2, 0.0, 0.0]], 0.05)
    world.control = lambda one: motion.steer(one.time, (0.6, 0.0, 0.0))
    for _ in range(30):
        world.step()
    assert blade.velocity == pytest.approx([0.6, 0, 0])
    assert world.grains.velocity[0, 0] == pytest.approx(0.6, rel=0.3)
    assert blade.position[0] == pytest.approx(29 / 60 * 0.6)


# ---------------------------------------------------------------------- the blade


def seen(world: World) -> dict[str, Any]:
    """All of the state but the solver's, whose buffers keep what was once in them."""
    state = world.state() | {"forces": [body.force for body in world.bodies]}
    del state["solver"]
    return state


def drive(world: World, steps: int, first: int = 0) -> None:
    """Steer by hand: ahead, then to the left, then lift, with a stick in between."""
    world.inputs.by_hand = True
    for k in range(first, first + steps):
        keys = ["KeyW"] if k < 30 else ["KeyW", "KeyA"] if k < 50 else ["KeyE"]
        world.inputs.press(keys, [-0.4, -0.7] if 20 < k < 40 else [])
        world.step()


def test_checkpoint_in_the_middle_of_steering_gives_the_same_bits(tmp_path: Path) -> None:
    one = scene("blade")
    params = make_params(one, SMALL)
    whole, first, second = (one.build(params) for _ in range(3))
    drive(whole, 70)
    drive(first, 37)
    checkpoint.save(first, tmp_path / "c.npz")
    drive(first, 5, 37)  # given up
    second.restore(checkpoint.load(tmp_path / "c.npz"))
    drive(second, 33, 37)
    assert same(seen(whole), seen(second))
    blade = whole.body("blade")
    assert blade.position[0] > 0.4 and abs(blade.position[1]) > 0.01
    assert np.array_equal(blade.rotation, second.body("blade").rotation)


def test_keys_that_are_down_stay_down_over_a_restart() -> None:
    """Without a new message the restarted world goes on with what was pressed."""
    one = scene("blade")
    params = make_params(one, SMALL)
    whole, second = one.build(params), one.build(params)
    whole.inputs.by_hand = True
    whole.inputs.press(["ArrowUp"])
    whole.run(0.2)
    second.restore(whole.state())
    whole.run(0.2)
    second.run(0.2)
    assert same(seen(whole), seen(second))


def test_a_checkpoint_of_another_scene_is_refused() -> None:
    one = scene("blade")
    world = one.build(make_params(one, SMALL))
    state = world.state()
    world.body("blade").motion = Linear((0.1, 0.0, 0.0))
    with pytest.raises(InputError, match="blade"):
        world.restore(state)


def test_keys_go_where_the_panel_says() -> None:
    inputs = Inputs()
    for key, wanted in {
        "KeyW": (1, 0, 0), "ArrowUp": (1, 0, 0), "KeyS": (-1, 0, 0), "ArrowDown": (-1, 0, 0),
        "KeyA": (0, 1, 0), "ArrowLeft": (0, 1, 0), "KeyD": (0, -1, 0), "ArrowRight": (0, -1, 0),
        "KeyE": (0, 0, 1), "KeyQ": (0, 0, -1),
    }.items():  # fmt: skip
        inputs.press([key])
        assert wishes(inputs) == wanted, key
    inputs.press(axes=[-1.0, -1.0, 0.0, -1.0])
    assert wishes(inputs) == (1, 1, 1)
    inputs.press(["KeyW"], [0.0, -1.0])
    assert wishes(inputs)[0] == 1, "key and stick together are no faster"


def test_a_hand_ends_the_script() -> None:
    one = scene("blade")
    params = make_params(one, {**SMALL, "settle": 0.0})
    alone, driven = one.build(params), one.build(params)
    driven.inputs.by_hand = True
    for _ in range(20):
        alone.step()
        driven.step()
    assert alone.body("blade").position[0] > 0.32
    assert driven.body("blade").position[0] == 0.3


def test_the_blade_stays_in_its_bed() -> None:
    one = scene("blade")
    params = make_params(one, {**SMALL, "speed": 5.0, "lifting": 5.0})
    world = one.build(params)
    world.grains.remove(np.ones(world.grains.n, bool))
    world.inputs.by_hand = True
    blade = world.body("blade")
    for keys in (["KeyW"], ["KeyS"], ["KeyQ"], ["KeyE"], ["KeyW", "KeyA"]):
        world.inputs.press(keys)
        for _ in range(60):
            world.step()
        corner = np.array([[sx * 0.02, sy * 0.15, sz * 0.15] for sx in (-1, 1) for sy in (-1, 1)
                           for sz in (-1, 1)])  # fmt: skip
        reach = corner @ blade.rotation.T + blade.position
        assert reach[:, 0].min() > -0.02 and reach[:, 0].max() < 1.02, keys
        assert np.abs(reach[:, 1]).max() < 0.32 and reach[:, 2].min() > -0.02, keys
