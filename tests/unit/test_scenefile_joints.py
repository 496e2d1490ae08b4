"""Joints, motors and given inertias in scene files: built as written; wrong ones are named."""

from __future__ import annotations

import math
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from berm.core import joints as core
from berm.core.bodies import Body
from berm.core.errors import InputError
from berm.core.motion import rotation_about
from berm.core.shapes import Box
from berm.io.positions import read_yaml
from berm.io.scenefile import SceneFileError, json_schema, load_scene
from berm.world.world import World

GOOD = """
bodies:
  - {name: post, shape: {kind: box, size: [0.1, 0.1, 2]}, position: [0, 0, 1]}
  - name: boom
    shape: {kind: box, size: [2, 0.2, 0.2]}
    position: [1, 0, 2]
    dynamic: true
    mass: 120
    inertia: [1, 42, 43]
    centre: [0.1, 0, 0.02]
  - name: stick
    shape: {kind: box, size: [1, 0.1, 0.1]}
    position: [2.5, 0, 2]
    dynamic: true
    mass: 40
    inertia: [[0.5, 0.01, 0], [0.01, 4, 0], [0, 0, 4.1]]
  - {name: load, shape: {kind: sphere, radius: 0.2}, position: [3, 0, 1], dynamic: true}
joints:
  - {kind: differential, name: shares, shaft: slew, left: bend, right: turn, ratio: 4}
  - {kind: gear, name: pair, one: bend, other: slew, ratio: -2, compliance: 1e-6}
  - {kind: hinge, name: slew, body: boom, to: post, anchor: [0, 0, 2], axis: [0, 1, 0], zero: 30,
     degrees: [20, null], friction: 5, viscosity: 3, collide_connected: true,
     motor: {kind: position, degrees: 45, speed: 0.5, effort: 900, settle: 0.2}}
  - {kind: hinge, name: bend, body: stick, to: boom, anchor: [2, 0, 2], anchor_b: [2.1, 0, 2],
     axis: [0, 1, 0], axis_b: [0, 1, 0.01], speed: 1, torque: 3}
  - {kind: hinge, name: turn, body: load, axis: [0, 0, 1], motor: {kind: force, effort: -7}}
  - {kind: slider, name: slide, body: load, axis: [1, 0, 0], zero: 0.5, limits: [0.2, 0.9],
     damping: 0.1, motor: {kind: speed, speed: 0.3, effort: 20}}
  - {kind: cylindrical, name: tube, body: load, axis: [0, 0, 1], limits: [null, 2],
     motor: {kind: position, position: 1.5}}
  - {kind: universal, name: cross, body: load, to: stick, axis: [1, 0, 0], axis_b: [0, 1, 0]}
  - {kind: distance, name: ram, body: boom, to: post, anchor: [1, 0, 2], anchor_b: [0, 0, 1],
     limits: [1, 2], motor: {kind: position, position: 1.6, speed: 0.1, effort: 4e5}}
  - {kind: distance, name: rope, body: load, to: stick, anchor_b: [3, 0, 2], distance: 1.5,
     rope: true}
  - {kind: spring, name: coil, body: load, anchor_b: [3, 0, 0], stiffness: 1e4, viscosity: 50,
     distance: 0.8}
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "scene.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def world(tmp_path):
    return load_scene(write(tmp_path, GOOD)).build()


def test_each_kind_is_built_with_its_numbers(world):
    by_name = {joint.name: joint for joint in world.joints}
    assert {name: type(joint).__name__.lower() for name, joint in by_name.items()} == {
        "shares": "differential", "pair": "gear", "slew": "hinge", "bend": "hinge", "turn": "hinge",
        "slide": "slider", "tube": "cylindrical", "cross": "universal", "ram": "distance",
        "rope": "distance", "coil": "spring",
    }  # fmt: skip
    slew, bend, slide = by_name["slew"], by_name["bend"], by_name["slide"]
    assert slew.position == pytest.approx(math.radians(30))
    assert slew.limits == (pytest.approx(math.radians(20)), math.inf)
    assert slew.motor == ("position", pytest.approx(math.radians(45)), 900.0)
    row = slew.row
    table = world.joints
    assert (table.speed[row], table.settle[row]) == (0.5, 0.2)
    assert (table.friction[row], table.viscosity[row], table.collides[row]) == (5.0, 3.0, 1)
    assert bend.motor == ("speed", 1.0, 3.0)
    assert bend.error == pytest.approx(0.1)  # anchors that are not together yet
    assert by_name["turn"].motor is not None and by_name["turn"].motor[:2] == ("force", -7.0)
    assert slide.position == 0.5 and slide.limits == (0.2, 0.9)
    assert table.damping[slide.row] == 0.1
    assert by_name["tube"].limits == (-math.inf, 2.0)
    assert by_name["ram"].position == pytest.approx(math.sqrt(2))
    assert by_name["ram"].motor == ("position", 1.6, 4e5)
    assert by_name["rope"].limits == (-math.inf, 1.5)
    coil = by_name["coil"].row
    assert (table.stiffness[coil], table.viscosity[coil], table.rest[coil]) == (1e4, 50.0, 0.8)


def test_gears_may_stand_above_the_joints_that_they_name(world):
    pair, shares = (j for j in world.joints if isinstance(j, core.Gear))
    if isinstance(pair, core.Differential):
        pair, shares = shares, pair
    assert [joint.name for joint in pair.links] == ["bend", "slew"]
    assert [joint.name for joint in shares.links] == ["slew", "bend", "turn"]
    assert world.joints.ratio[pair.row].tolist() == [1.0, -2.0, 0.0]
    assert world.joints.ratio[shares.row].tolist() == [1.0, -2.0, -2.0]
    assert world.joints.compliance[pair.row].tolist() == [1e-6, 1e-6]
    linked = world.joints.linked[shares.row]
    assert [world.joints.names[row] for row in linked] == ["slew", "bend", "turn"]


def test_mass_inertia_and_centre_are_those_of_the_file(world):
    boom, stick = world.body("boom"), world.body("stick")
    assert boom.mass == pytest.approx(120.0)
    assert boom.inertia == pytest.approx(np.diag([1.0, 42.0, 43.0]))
    assert boom.centre == pytest.approx([1.1, 0.0, 2.02])
    assert stick.inertia == pytest.approx(
        np.array([[0.5, 0.01, 0], [0.01, 4, 0], [0, 0, 4.1]]), abs=1e-12
    )
    assert boom.position == pytest.approx([1.0, 0.0, 2.0])


def test_schema_takes_what_is_read():
    schema = json_schema()
    jsonschema.validate(read_yaml(GOOD, "scene.yaml").data, schema)
    kinds = schema["$defs"]["WorldFile"]["properties"]["joints"]["items"]["discriminator"]
    assert set(kinds["mapping"]) == {
        "ball", "weld", "hinge", "slider", "cylindrical", "universal", "distance", "spring", "gear",
        "differential",
    }  # fmt: skip


ARM = "bodies: [{name: arm, shape: {kind: sphere, radius: 1}, dynamic: true}]\n"
BAD = {
    "gear of nothing": (
        "joints: [{kind: hinge, name: slew, body: arm, axis: [0, 0, 1]},\n"
        "  {kind: gear, one: slew, other: slow, ratio: 2}]",
        r"3:\d+: joints\[1\].other: got 'slow'; allowed: slew \(did you mean 'slew'\?\)"),
    "gear of a ball": (
        "joints: [{kind: ball, name: a, body: arm},\n"
        "  {kind: hinge, name: b, body: arm, axis: [0, 0, 1]},\n"
        "  {kind: gear, one: a, other: b, ratio: 2}]", r"4:3: joints\[2\].*hinge, slider"),
    "ratio of nothing": (
        "joints: [{kind: hinge, name: a, body: arm, axis: [0, 0, 1]},\n"
        "  {kind: hinge, name: b, body: arm, axis: [0, 0, 1]},\n"
        "  {kind: gear, one: a, other: b, ratio: 0}]", r"joints\[2\].*other than 0"),
    "name twice": (
        "joints: [{kind: ball, name: a, body: arm},\n  {kind: weld, name: a, body: arm}]",
        r"3:\d+: joints\[1\].name: got 'a'; allowed: an unused name"),
    "hinge driven by metres": (
        "joints: [{kind: hinge, body: arm, axis: [0, 0, 1], motor: {kind: position, position: 1}}]",
        r"2:10: joints\[0\].*allowed: degrees"),
    "slider driven by degrees": (
        "joints: [{kind: slider, body: arm, axis: [0, 0, 1], motor: {kind: position, degrees: 1}}]",
        r"joints\[0\].*allowed: position, in m"),
    "no target": (
        "joints: [{kind: hinge, body: arm, axis: [0, 0, 1], motor: {kind: position}}]",
        r"joints\[0\].motor: .*either degrees"),
    "motor of no kind": (
        "joints: [{kind: hinge, body: arm, axis: [0, 0, 1], motor: {kind: sped, speed: 1}}]",
        r"joints\[0\].motor.kind: got 'sped'.*did you mean 'speed'"),
    "two motors": (
        "joints: [{kind: hinge, body: arm, axis: [0, 0, 1], speed: 1,"
        " motor: {kind: speed, speed: 1}}]", r"joints\[0\].*either motor or speed"),
    "limits the wrong way": (
        "joints: [{kind: slider, body: arm, axis: [0, 0, 1], limits: [1, -1]}]",
        r"joints\[0\].*low below high"),
    "rope with limits": (
        "joints: [{kind: distance, body: arm, anchor_b: [0, 0, 3], rope: true, limits: [1, 2]}]",
        "either rope: true or limits"),
    "distance to nowhere": ("joints: [{kind: distance, body: arm}]",
                            r"joints\[0\].anchor_b: is missing; allowed: a list of 3"),
    "points together": ("joints: [{kind: spring, body: arm, anchor_b: [0, 0, 0], stiffness: 1}]",
                        r"joints\[0\].*two points apart"),
    "axes not square": (
        "joints: [{kind: universal, body: arm, axis: [1, 0, 0], axis_b: [1, 1, 0]}]",
        r"joints\[0\].*square"),
    "axes the wrong way": (
        "joints: [{kind: hinge, body: arm, axis: [1, 0, 0], axis_b: [-2, 0, 0]}]",
        r"joints\[0\].*not opposite"),
    "key of another kind": ("joints: [{kind: ball, body: arm, axes: [1, 0, 0]}]",
                            r"joints\[0\].axes: unknown key"),
}  # fmt: skip
BODIES = {
    "inertia alone": ("inertia: [1, 1, 1]", "inertia only with mass"),
    "crooked inertia": ("mass: 1, inertia: [[1, 2, 0], [0, 1, 0], [0, 0, 1]]", "symmetric"),
    "negative moment": ("mass: 1, inertia: [1, 1, -1]", r"bodies\[0\].*moments above 0"),
    "two moments": ("mass: 1, inertia: [1, 1]", r"1:\d+: bodies\[0\].inertia"),
    "centre of two": ("centre: [1, 1]", r"bodies\[0\].centre"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_joints_are_named(name, tmp_path):
    text, says = BAD[name]
    with pytest.raises(SceneFileError, match=says):
        load_scene(write(tmp_path, ARM + text))


@pytest.mark.parametrize("name", BODIES)
def test_wrong_inertias_are_named(name, tmp_path):
    keys, says = BODIES[name]
    body = f"bodies: [{{name: a, shape: {{kind: sphere, radius: 1}}, dynamic: true, {keys}}}]"
    with pytest.raises(SceneFileError, match=says):
        load_scene(write(tmp_path, body))


def test_inertia_of_a_wall_is_refused(tmp_path):
    with pytest.raises(SceneFileError, match="only with dynamic"):
        load_scene(write(tmp_path, "bodies: [{shape: {kind: plane}, mass: 1, inertia: [1, 1, 1]}]"))


def crank(name: str, x: float) -> Body:
    body = Body(Box((1.0, 0.1, 0.1)), name, 0, (x, 0.0, 0.0))
    body.set_free(1000.0)
    return body


def test_a_gear_couples_no_distances():
    """A distance has no axis: its row would act along an axis of the other body's frame."""
    a, b = crank("a", 0.0), crank("b", 2.0)
    rod = core.Distance(a, b, anchor=(0, 0, 0), anchor_b=(2, 0, 0), limits=(1, 3))
    with pytest.raises(InputError, match="hinge, slider, cylindrical"):
        core.Gear(rod, core.Hinge(b), 2.0)


def test_a_gear_leaves_it_to_its_joints_whether_bodies_meet():
    a, b = crank("a", 0.0), crank("b", 2.0)
    one, other = core.Hinge(a, b, collide_connected=True), core.Hinge(b)
    gear = core.Gear(one, other, 2.0)
    assert gear.joints.collides[gear.row] == 1


def test_positions_of_joints_are_those_of_the_bodies_now():
    """Not those of the last substep's start: a gear that is added later would start open."""
    world = World()
    arm = world.add_body(Box((1.0, 0.1, 0.1)), name="arm", dynamic=True)
    hinge = world.add_joint(core.Hinge(arm, None, (-0.5, 0, 0), (0, 0, 1), zero=2.5))
    rail = world.add_joint(core.Slider(arm, None, axis=(1, 0, 0), zero=0.2))
    ram = world.add_joint(core.Distance(arm, None, (0, 0, 0), (0, 0, -3), limits=(1, 9)))
    assert (hinge.position, rail.position, ram.position) == pytest.approx((2.5, 0.2, 3.0))
    for angle in (1.0, 2.0, 4.0, 7.0):  # counts on past pi and a full turn
        arm.move_to((0.5 * angle, 0, 1), rotation_about((0, 0, 1), angle))
        assert hinge.position == pytest.approx(2.5 + angle)
        world.joints.position[hinge.row] = hinge.position  # as a step does
        assert rail.position == pytest.approx(0.2 + 0.5 * angle)
        assert ram.position == pytest.approx(math.hypot(0.5 * angle, 4.0))
