"""The bulldozer against statics and the figures of its class."""

from __future__ import annotations

import math

import numpy as np
import pytest

import berm
from berm.machines import add, design_of
from berm.machines.assembly import Assembly
from berm.machines.dozer import ANGLE, POWER, SPEED, TILT

G = 9.81


def yard(pose="carry", solver: str = "p2"):
    world = berm.World(dt=1 / 60, solver=solver)
    world.add_body(berm.Plane(), name="ground", material="rough wall")
    return world, add(world, "dozer", pose=pose)


def steps(world, seconds: float) -> None:
    for _ in range(round(seconds / world.dt)):
        world.step()


def worst(machine) -> float:
    return max(one.error for name, one in machine.joints.items() if name not in ("lift", "tilt"))


def time_to(world, machine, control: str, value: float, joint: str, end: float) -> float:
    """Seconds until a joint has come near `end`."""
    machine.command(**{control: value})
    start, far = world.time, abs(machine.position(joint) - end)
    while abs(machine.position(joint) - end) > 0.02 * far and world.time - start < 9.0:
        world.step()
    machine.command(**{control: 0.0})
    return world.time - start


@pytest.mark.parametrize("solver", ["p2", "nonsmooth"])
def test_it_stands_still_whole_and_heavy(solver):
    world, machine = yard(solver=solver)
    steps(world, 1.0)
    before = np.array([body.position for body in machine.bodies.values()])
    steps(world, 1.0)
    after = np.array([body.position for body in machine.bodies.values()])
    assert np.abs(after - before).max() < 1e-4
    assert worst(machine) < 1e-4
    carried = sum(float(body.force_from("bodies")[2]) for body in machine.bodies.values())
    assert carried == pytest.approx(machine.mass * G, rel=1e-3)
    assert 19e3 < machine.mass < 22e3
    shoes = 2.0 * 2.9 * 0.56  # m^2
    assert 55e3 < machine.mass * G / shoes < 65e3  # Pa, of the class


def test_its_blade_goes_below_the_ground_and_above_it():
    """0.5 m down and 1.1 m up; angle 24, tilt 7.8 degrees either way."""
    assembly = Assembly("dozer", design_of("dozer"))
    part, tool = assembly.design.bodies["blade"], assembly.design.tools["blade"]
    own = tool.teeth - np.asarray(part.at)
    heights = []
    for lift in (0.906, 1.784):
        frame = assembly.pose({"lift": lift})["blade"]
        heights.append((frame.origin + frame.turn @ own)[2])
    assert heights[0] == pytest.approx(1.1, abs=0.06)
    assert heights[1] == pytest.approx(-0.5, abs=0.08)
    for tilt, sign in ((0.844, 1.0), (0.971, -1.0)):
        found = assembly.positions(assembly.pose({"tilt": tilt}))["swivel"]
        assert sign * found == pytest.approx(TILT, rel=0.1)


def test_its_levers_take_a_few_seconds_and_hold():
    world, machine = yard()
    assert time_to(world, machine, "lift", 1.0, "lift", 0.905) < 2.0
    steps(world, 0.5)
    high = machine.tools["blade"].tip[2]
    assert high > 1.0
    steps(world, 1.0)
    assert machine.tools["blade"].tip[2] == pytest.approx(high, abs=2e-3)
    assert 0.8 < time_to(world, machine, "lift", -1.0, "lift", 1.2) < 3.0
    assert 1.0 < time_to(world, machine, "angle", 1.0, "angle", ANGLE) < 3.0
    steps(world, 0.3)
    left, right = machine.tools["blade"].edge
    x, y, _ = np.abs(left - right)
    assert math.atan2(x, y) == pytest.approx(ANGLE, rel=0.05)
    assert 0.5 < time_to(world, machine, "tilt", 1.0, "tilt", 0.965) < 2.5
    steps(world, 0.3)
    assert machine.position("swivel") == pytest.approx(-TILT, rel=0.15)
    assert worst(machine) < 1e-4


def test_it_drives_straight_and_turns():
    world, machine = yard()
    steps(world, 0.2)
    machine.command(drive=1)
    steps(world, 4.0)
    found = machine.sensors()
    assert found["speed"] == pytest.approx(SPEED, rel=0.02) and abs(found["heading"]) < 0.2
    machine.command(drive=0)
    steps(world, 2.5)
    start = machine.sensors()
    assert abs(start["speed"]) < 0.02
    machine.command(steer=1)
    steps(world, 2.0)
    found = machine.sensors()
    assert 20.0 < found["heading"] - start["heading"] < 120.0
    assert np.linalg.norm(found["position"] - start["position"]) < 0.3


def test_it_pushes_with_what_its_tracks_hold_and_no_more_than_its_power():
    """Drawbar pull of 0.7 to 0.8 of the weight; then the belts slip at the speed that is left."""
    world, machine = yard()
    smooth = berm.material("steel", friction=0.0)
    world.add_body(berm.Box((1, 6, 3)), name="wall", position=(4.2, 0, 1.5), material=smooth)
    machine.command(drive=1)
    steps(world, 4.0)
    found = machine.sensors()
    pull = found["left_traction"] + found["right_traction"]
    ground = sum(float(machine.bodies[f"track_{s}"].force_from("bodies")[2]) for s in "lr")
    assert abs(found["speed"]) < 0.01
    assert 0.65 * ground < pull < 0.85 * ground
    power = sum(found[f"{side}_traction"] * found[f"{side}_belt"] for side in ("left", "right"))
    assert power == pytest.approx(POWER, rel=0.05)
    wall = -float(world.body("wall").force_from("bodies")[0])
    assert abs(wall) == pytest.approx(pull, rel=0.02)


def test_the_same_drive_gives_the_same_bits():
    found = []
    for _ in range(2):
        world, machine = yard()
        machine.command(drive=1, steer=0.3, lift=-0.4, angle=0.5)
        steps(world, 1.5)
        found.append(world.bodies)
    for column in ("x", "q", "v", "L"):
        assert np.array_equal(getattr(found[0], column), getattr(found[1], column)), column
