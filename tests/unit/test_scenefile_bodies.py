"""Dynamic bodies and joints in scene files: built as written; wrong ones are named, and where."""

from __future__ import annotations

import math

import pytest

from berm.core.joints import Ball, Hinge, Slider, Weld
from berm.io.scenefile import SceneFileError, json_schema, load_scene

GOOD = """
bodies:
  - {name: floor, shape: {kind: plane}}
  - name: arm
    shape: {kind: box, size: [1, 0.1, 0.1]}
    position: [0.5, 0, 1]
    dynamic: true
    density: 700
  - {name: bob, shape: {kind: sphere, radius: 0.1}, position: [1, 0, 1], dynamic: true, mass: 2,
     velocity: [0, 1, 0], angular_velocity: [0, 0, 3]}
joints:
  - {kind: hinge, body: arm, anchor: [0, 0, 1], axis: [0, 1, 0], degrees: [-90, 45], speed: 1,
     torque: 3}
  - {kind: ball, body: bob, to: arm}
  - {kind: weld, body: bob, to: arm}
  - {kind: slider, body: bob, axis: [1, 0, 0], limits: [-0.1, 0.2]}
run: {seconds: 0.1}
"""


def write(tmp_path, text):
    path = tmp_path / "scene.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_bodies_and_joints_are_built(tmp_path):
    world = load_scene(write(tmp_path, GOOD)).build()
    arm, bob = world.body("arm"), world.body("bob")
    assert arm.dynamic and arm.mass == pytest.approx(7.0)
    assert bob.mass == pytest.approx(2.0)
    assert bob.velocity.tolist() == pytest.approx([0, 1, 0])
    assert bob.angular_velocity.tolist() == pytest.approx([0, 0, 3])
    hinge = world.joints[0]
    assert [type(joint) for joint in world.joints] == [Hinge, Ball, Weld, Slider]
    assert hinge.body_b is None and world.joints[1].body_b is arm
    assert hinge.limits == pytest.approx((-math.pi / 2, math.pi / 4))
    assert hinge.motor == ("speed", 1.0, 3.0)
    world.step()


BAD = {
    "dynamic plane": ("bodies: [{name: a, shape: {kind: plane}, dynamic: true}]",
                      r"1:10: bodies\[0\].*finite solid"),
    "motion too": ("bodies: [{shape: {kind: sphere, radius: 1}, dynamic: true,"
                   " motion: {kind: linear, velocity: [1, 0, 0]}}]", r"bodies\[0\].*either motion"),
    "mass of a wall": ("bodies: [{shape: {kind: sphere, radius: 1}, mass: 3}]",
                       "mass only with dynamic"),
    "mass and density": ("bodies: [{shape: {kind: sphere, radius: 1}, dynamic: true, mass: 3,"
                         " density: 4}]", "either density or mass"),
    "no mass": ("bodies: [{shape: {kind: sphere, radius: 1}, dynamic: true, mass: 0}]",
                r"bodies\[0\].mass"),
    "unknown body": ("bodies: [{name: arm, shape: {kind: sphere, radius: 1}, dynamic: true}]\n"
                     "joints: [{kind: ball, body: amr}]",
                     r"2:\d+: joints\[0\].body: got 'amr'.*did you mean 'arm'"),
    "no axis": ("bodies: [{name: arm, shape: {kind: sphere, radius: 1}, dynamic: true}]\n"
                "joints: [{kind: hinge, body: arm, axis: [0, 0, 0]}]", r"joints\[0\].*not zero"),
    "fixed both": ("bodies: [{name: arm, shape: {kind: sphere, radius: 1}}]\n"
                   "joints: [{kind: ball, body: arm}]", r"joints\[0\].*at least one dynamic"),
    "torque alone": ("bodies: [{name: arm, shape: {kind: sphere, radius: 1}, dynamic: true}]\n"
                     "joints: [{kind: hinge, body: arm, axis: [0, 0, 1], torque: 2}]",
                     r"joints\[0\].*speed of a motor"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_wrong_ones_are_named(name, tmp_path):
    text, says = BAD[name]
    with pytest.raises(SceneFileError, match=says):
        load_scene(write(tmp_path, text))


def test_schema_knows_them():
    known = json_schema()["$defs"]
    assert {"HingePart", "BallPart", "WeldPart", "SliderPart"} <= set(known)
    assert "dynamic" in known["BodyPart"]["properties"]
