"""Tools: capacity, what is inside, forces in their own frame, support; by hand-made geometry."""

from __future__ import annotations

import math

import numpy as np
import pytest

import berm
from berm.core.errors import InputError
from berm.core.inputs import Inputs
from berm.core.motion import Linear
from berm.machines import Design, Part, Tool, add, add_tool, design_of
from berm.machines.meshes import joined, trough
from berm.machines.stability import hull
from berm.scenes.parts.driving import drive_dozer, drive_excavator

CORNERS = [(1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]  # open ahead, edge at the bottom


def cube(**more) -> Tool:
    return Tool("box", CORNERS, 2.0, **more)


def bin_() -> Design:
    """A box of 1 x 2 x 1 m, open ahead."""
    outer = [(1.0, -0.05), (-0.05, -0.05), (-0.05, 1.05), (1.0, 1.05)]
    shape = joined(trough(outer, CORNERS, 2.1, 0.05), name="bin")
    return Design({"box": Part(shape, 500.0)}, tools={"bin": cube()})


def test_capacity_is_that_of_the_profile_and_of_a_hip_roof():
    tool = cube()
    assert tool.struck == pytest.approx(2.0) and tool.mouth == pytest.approx(1.0)
    for slope in (1.0, 0.5):
        x, y = np.meshgrid(np.linspace(-0.5, 0.5, 401), np.linspace(-1.0, 1.0, 801))
        roof = slope * np.minimum(0.5 - np.abs(x), 1.0 - np.abs(y))
        assert cube(slope=slope).heaped - 2.0 == pytest.approx(2.0 * roof.mean(), rel=0.01)
    assert cube(blade=True).heaped == pytest.approx(0.8 * 2.0 * 1.0)  # SAE J1265


@pytest.mark.parametrize(
    ("machine", "struck", "heaped"),
    [("excavator", 0.70, 0.98), ("loader", 2.6, 3.3), ("truck", 10.0, 13.5), ("dozer", 0.62, 4.1)],
)
def test_tools_of_machines_hold_what_their_class_does(machine, struck, heaped):
    tool = next(iter(design_of(machine).tools.values()))
    assert tool.struck == pytest.approx(struck, rel=0.03)
    assert tool.heaped == pytest.approx(heaped, rel=0.03)


def test_what_is_inside_and_what_stands_on_the_mouth():
    world = berm.World()
    tool = add_tool(world, bin_(), position=(5.0, 1.0, 2.0))
    assert tool.tip == pytest.approx((5.0, 1.0, 2.0))
    assert tool.edge == pytest.approx(np.array([(5.0, 0.0, 2.0), (5.0, 2.0, 2.0)]))
    points = np.array([(-0.5, 0, 0.5), (-0.99, 0.99, 0.01), (-0.5, 1.01, 0.5), (-0.5, 0, 1.1),
                       (0.2, 0, 0.5), (0.6, 0, 0.5)]) + tool.tip  # fmt: skip
    assert tool.inside(points).tolist() == [True, True, False, False, False, False]
    assert tool.inside(points, 0.5).tolist() == [True, True, False, False, True, False]
    assert tool.depth(2.25) == pytest.approx(0.25)
    seen = np.random.default_rng(1).uniform((-1.2, -1.2, -0.2), (0.2, 1.2, 1.2), (20000, 3))
    share = tool.inside(seen + tool.tip).mean() * 1.4 * 2.4 * 1.4
    assert share == pytest.approx(tool.tool.struck, rel=0.03)


def test_rake_and_heading_turn_a_tool_about_its_edge():
    world = berm.World()
    tool = add_tool(world, "excavator", position=(1, 2, 3), rake=40.0, heading=90.0)
    ahead = (0.0, math.cos(math.radians(40)), -math.sin(math.radians(40)))
    assert tool.axes[:, 0] == pytest.approx(ahead, abs=1e-12)
    assert tool.axes[2, 2] > 0.0 and np.linalg.det(tool.axes) == pytest.approx(1.0)
    assert tool.tip == pytest.approx((1, 2, 3))
    blade = add_tool(world, "dozer", position=(9, 0, 0), rake=60.0)
    assert blade.axes[0, 2] > 0.5  # soil lies ahead of a blade that stands


def weighed(turn: float) -> tuple[float, dict]:
    """Grains in a bin that lies on its back, turned: weight, and what is measured."""
    world = berm.World(dt=1 / 60)
    tool = add_tool(world, bin_(), position=(0, 0, 2.0), rake=turn)
    rng = np.random.default_rng(3)
    middle = tool.tip + tool.axes @ np.array([-0.5, 0.0, 0.5])
    places = np.array([(x, y, z) for z in (-0.2, 0.0, 0.2) for y in np.arange(-0.8, 0.9, 0.2)
                       for x in (-0.2, 0.0, 0.2)])  # fmt: skip
    places = middle + (places + rng.uniform(-0.01, 0.01, places.shape))
    world.add_grains(places, 0.08, material="gravel")
    for _ in range(150):
        world.step()
    mass = float(world.grains.mass.sum())
    assert tool.load == pytest.approx(mass, rel=1e-6)
    return mass * 9.81, tool.sensors()


def test_forces_are_those_of_the_weight_in_its_own_frame():
    weight, found = weighed(0.0)
    assert found["lift"] == pytest.approx(weight, rel=0.02)
    assert abs(found["penetration"]) < 0.02 * weight and found["cutting"] == 0.0
    weight, found = weighed(-90.0)  # the mouth up: the weight pulls the plate backwards
    assert found["penetration"] == pytest.approx(weight, rel=0.02)
    assert abs(found["lift"]) < 0.03 * weight and abs(found["side"]) < 0.03 * weight


def test_cutting_is_against_the_way_of_the_edge():
    """Grains that are dragged on a plane: friction and their weight against the motion."""
    world = berm.World(dt=1 / 60)
    world.add_body(berm.Plane(), name="ground", material="rough wall")
    tool = add_tool(world, bin_(), Linear(velocity=(0.5, 0, 0)), position=(0, 0, 0.1))
    x, y = np.meshgrid(np.arange(0.3, 0.8, 0.2), np.arange(-0.8, 0.9, 0.2))
    world.add_grains(np.column_stack([x.ravel(), y.ravel(), 0 * x.ravel() + 0.08]), 0.08,
                     material="gravel")  # fmt: skip
    for _ in range(240):
        world.step()
    assert tool.velocity == pytest.approx((0.5, 0, 0))
    force = tool.body.force_from("grains")
    assert tool.sensors()["cutting"] == pytest.approx(-force[0]) and force[0] <= 0.0


def pour(world, tool, count: int, radius: float, spread: float) -> None:
    """Grains over the middle of a tool's mouth, in layers."""
    shape = tool.tool.shown
    middle = tool.tip + tool.axes @ np.array([*shape.mean(axis=0)[:1], 0.0, shape[:, 1].mean()])
    side = np.arange(-spread, spread + 1e-9, 2.1 * radius)
    x, y = (one.ravel() for one in np.meshgrid(side, side))
    layers = math.ceil(count / len(x))
    places = np.vstack([
        np.column_stack([x, y, 0 * x + 2.1 * radius * k]) for k in range(layers)
    ])[:count]  # fmt: skip
    world.add_grains(middle + places, radius, material="gravel")


def test_a_bucket_holds_grains_of_2_cm_while_it_is_shaken():
    world = berm.World(dt=1 / 60)
    shape = design_of("excavator").tools["bucket"].shown
    along = shape[-1] - shape[0]
    rake = math.degrees(math.atan2(along[1], along[0]) - math.pi)  # the mouth up and level

    def motion(t: float):
        return np.array([0.1 * math.sin(9.0 * t), 0.05 * math.sin(7.0 * t), 0.0]), np.eye(3)

    tool = add_tool(world, "excavator", berm.Function(motion), position=(0, 0, 2.0), rake=rake)
    pour(world, tool, 1500, 0.02, 0.2)
    for _ in range(150):
        world.step()
    assert tool.inside(world.grains.position, 0.3).all()
    assert tool.load == pytest.approx(float(world.grains.mass.sum()), rel=1e-6)


def test_the_trucks_bed_keeps_grains_of_2_cm_until_it_tips():
    world = berm.World(dt=1 / 60)
    world.add_body(berm.Plane(), name="ground", material="rough wall")
    truck = add(world, "truck")
    bed = truck.tools["bed"]
    pour(world, bed, 500, 0.02, 0.6)
    truck.command(throttle=1, brake=1)
    for _ in range(90):
        world.step()
    mass = float(world.grains.mass.sum())
    assert bed.inside(world.grains.position).all() and bed.load == pytest.approx(mass, rel=1e-6)
    truck.command(dump=1)
    for _ in range(60):
        for _ in range(15):
            world.step()
        out = world.grains.position[~bed.inside(world.grains.position, 0.5)]
        own = (out - bed.tip) @ bed.axes  # x: out over the tail
        assert (own[:, 0] > -0.2).all()  # nothing leaves but over the tail
        if bed.load < 0.05 * mass:
            break
    assert bed.load < 0.05 * mass


def test_a_machine_tells_of_its_tool():
    world = berm.World(dt=1 / 60)
    world.add_body(berm.Plane(), name="ground")
    machine = add(world, "excavator", pose="carry")
    world.step()
    found = machine.sensors()
    for name in ("load", "cutting", "penetration", "lift", "side", "tip"):
        assert f"bucket.{name}" in found
    assert found["load"] == 0.0 and found["tip_over"] > 1.0
    assert machine.tools["bucket"].tip == pytest.approx(found["bucket.tip"])


def test_the_hull_of_a_square_with_a_point_inside():
    points = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0.4, 0.6), (0.5, 0.0)], float)
    assert sorted(map(tuple, hull(points).tolist())) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_keys_are_those_of_iso_10968():
    world = berm.World()
    digger, dozer, keys = add(world, "excavator"), add(world, "dozer", (20, 0, 0)), Inputs()
    keys.press(["KeyA", "KeyW", "ArrowDown", "ArrowLeft", "KeyR", "KeyG"])
    drive_excavator(digger, keys)
    assert dict(digger.controls) == {
        "swing": 1, "stick": -1, "boom": 1, "bucket": 1, "left_track": 1, "right_track": -1,
        "throttle": 1,
    }  # fmt: skip
    keys.press(["KeyS", "KeyD", "KeyR", "KeyQ"], axes=(0.0, 0.0, 0.0, 0.0), buttons=(0.0,) * 8)
    drive_dozer(dozer, keys)
    assert dict(dozer.controls) == {"drive": -1, "steer": -1, "lift": 1, "tilt": 1, "angle": 0}


def test_wrong_tools_are_told():
    world = berm.World()
    with pytest.raises(InputError, match=r"add_tool: machine: got 'crawler'"):
        add_tool(world, "crawler")
    with pytest.raises(InputError, match=r"add_tool: tool of excavator: got 'fork'; allowed: buc"):
        add_tool(world, "excavator", tool="fork")
    with pytest.raises(InputError, match=r"tool 'bucket': rake: got nan"):
        add_tool(world, "excavator", rake=math.nan)
    for change, told in (
        ({"profile": [(0, 0), (1, 1)]}, "three or more corners"), ({"width": 0.0}, "width: got"),
        ({"body": "jaw"}, r"tool 'bin': body: got 'jaw'"), ({"slope": -1.0}, "slope: got"),
    ):  # fmt: skip
        given = {"body": "box", "profile": CORNERS, "width": 2.0} | change
        design = bin_()
        design.tools["bin"] = Tool(**given)
        with pytest.raises(InputError, match=told):
            add(berm.World(), design, name="bin")
    design = bin_()
    design.feet = [("leg", (0, 0, 0))]
    with pytest.raises(InputError, match=r"feet: body: got 'leg'"):
        add(world, design, name="bin")
