"""Machines in files of their own, and in scene files."""

from __future__ import annotations

import math

import numpy as np
import pytest

import berm
from berm.core.errors import InputError
from berm.io.problems import SceneFileError
from berm.io.scenefile import json_schema, load_scene

CRANE = """
materials: [{name: rust, preset: steel, friction: 0.5}]
bodies:
  base: {shape: {kind: box, size: [2, 2, 0.5]}, mass: 5000, at: [0, 0, 0.25]}
  drum: {shape: {kind: cylinder, radius: 0.3, height: 0.4}, turn: [90, 0, 0], mass: 100,
         at: [-0.6, 0, 1]}
  boom:
    pieces:
      - {kind: block, low: [0, -0.2, 0.9], high: [3, 0.2, 1.2]}
      - {kind: prism, outline: [[3.01, 0.9], [3.5, 1.0], [3.01, 1.2]], low: -0.2, high: 0.2}
      - {kind: tube, start: [3.2, -0.5, 1], end: [3.2, 0.5, 1], radius: 0.05}
    mass: 300
    at: [0, 0, 1]
    material: rust
    centre: [1.5, 0, 1]
joints:
  pin: {kind: hinge, a: boom, b: base, at: [0, 0, 1], axis: [0, -1, 0], degrees: [-20, 70]}
  drum: {kind: hinge, a: drum, b: base, at: [-0.6, 0, 1], friction: 50}
  ram: {kind: ram, a: boom, b: base, at: [1, 0, 1], at_b: [0.2, 0, 0.4], closed: 0.9, stroke: 0.8}
engine: {curve: [[600, 300], [1500, 500], [2200, 350]], inertia: 2, idle: 700, high: 2000}
actuators:
  - kind: hydraulics
    displacement: 1e-4
    levers:
      - {control: lift, joint: ram, cylinder: {bore: 0.1, rod: 0.06, relief: 2e7},
         flow: [1e-3, 2e-3]}
      - {control: wind, joint: drum, rotary: {displacement: 1e-3, volume: 1e-3, relief: 2e7},
         flow: 5e-4, reverse: true}
  - {kind: brake, joints: [drum], torque: 800}
poses: {up: {pin: 40}}
source: {all: invented}
load: boom
"""


@pytest.fixture
def crane(tmp_path):
    (tmp_path / "crane.yaml").write_text(CRANE)
    return tmp_path / "crane.yaml"


def test_a_machine_comes_from_its_file(crane):
    world = berm.World()
    machine = berm.machines.add(world, berm.load_machine(crane), name="crane", pose="up")
    assert list(machine.controls) == ["lift", "wind", "brake", "throttle"]
    assert machine.joints["pin"].position == pytest.approx(math.radians(40))
    assert machine.joints["pin"].limits == pytest.approx((math.radians(-20), math.radians(70)))
    assert machine.joints["ram"].limits == pytest.approx((0.9, 1.7))
    assert machine.mass == 5400.0
    boom = machine.bodies["boom"]
    turn = math.radians(40)
    assert boom.centre == pytest.approx((1.5 * math.cos(turn), 0, 1 + 1.5 * math.sin(turn)))
    assert world.materials[boom.material].friction_static == 0.5
    assert machine.design.source == {"all": "invented"}
    assert machine.sensors()["engine_speed"] == pytest.approx(700 * math.tau / 60)
    assert np.allclose(np.abs(machine.bodies["drum"].rotation[:, 2]), (0, 1, 0))


def test_toml_will_do(tmp_path):
    file = tmp_path / "post.toml"
    file.write_text("""
[bodies.post]
mass = 10
shape = {kind = "box", size = [1, 1, 1]}
""")
    assert list(berm.load_machine(file).bodies) == ["post"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("mass: 300", "mass: 0", r"crane.yaml:\d+:\d+: bodies.boom.mass"),
        ("kind: tube", "kind: tubes", r"bodies.boom.pieces\[2\]"),
        ("material: rust", "material: ruts", r"bodies.boom.material: got 'ruts'.*did you mean"),
        ("stroke: 0.8", "stroke: 0.95", r"joint 'ram': stroke: got 0.95"),
        ("closed: 0.9", "closed: 1.2", r"joint 'ram': distance of its mounts"),
        ("b: base, at: [0, 0, 1]", "b: bas, at: [0, 0, 1]", r"joint 'pin': body: got 'bas'"),
        ("joint: ram", "joint: rum", r"hydraulics: joint: got 'rum'"),
        ("degrees: [-20, 70]", "limits: [0, 1]", r"joints.pin.*degrees for a hinge"),
        ("rod: 0.06", "rod: 0.2", r"actuators\[0\].*cylinder: rod: got 0.2"),
        ("high: 2000", "high: 500", r"engine: engine: high: got 500"),
        ("load: boom", "load: hook", r"load: body: got 'hook'"),
        ("torque: 800", "torque: 800, colour: red", r"actuators\[1\].*colour"),
        ("poses: {up: {pin: 40}}", "poses: {up: {pen: 40}}", r"pose 'up': joint: got 'pen'"),
    ],
)
def test_a_wrong_file_says_where_and_what(crane, old, new, told):
    assert old in CRANE
    crane.write_text(CRANE.replace(old, new, 1))
    with pytest.raises(SceneFileError, match=told):
        berm.load_machine(crane)


def test_files_that_are_none(tmp_path):
    with pytest.raises(InputError, match="a name ending in"):
        berm.load_machine(tmp_path / "crane.txt")
    with pytest.raises(InputError, match="a readable text file"):
        berm.load_machine(tmp_path / "crane.yaml")
    (tmp_path / "list.yaml").write_text("[1, 2]")
    with pytest.raises(SceneFileError, match="a map of keys"):
        berm.load_machine(tmp_path / "list.yaml")


SCENE = """
bodies: [{name: ground, shape: {kind: plane}, material: rough wall}]
machines:
  - {kind: loader, position: [1, 2, 0], heading: 90, pose: {articulation: 20, lift: 1.3},
     commands: [[0, {throttle: 1}], [1.0, {gear: 1, lift: 0.5}]]}
  - {file: crane.yaml, name: crane, position: [9, 0, 0], pose: up}
"""


def test_machines_stand_in_scene_files(crane):
    file = crane.with_name("yard.yaml")
    file.write_text(SCENE)
    world = load_scene(file).build()
    loader, other = world.machines
    assert (loader.name, other.name) == ("loader", "crane")
    assert loader.joints["articulation"].position == pytest.approx(math.radians(20))
    assert loader.sensors()["heading"] == pytest.approx(90)
    assert loader.commands == [(0.0, {"throttle": 1.0}), (1.0, {"gear": 1.0, "lift": 0.5})]
    loader.act(world)
    assert loader.controls["throttle"] == 1.0 and loader.controls["gear"] == 0.0
    assert "machines" in str(json_schema())


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("kind: loader", "kind: lodaer", r"machines\[0\]: unknown machine.*loader"),
        ("kind: loader", "kind: loader, file: crane.yaml", r"machines\[0\].*either kind or file"),
        ("lift: 1.3", "lift: 3", r"machines\[0\].*joint 'lift': got 3.0; allowed: 1.09 to 1.92"),
        ("{throttle: 1}", "{throtle: 1}", r"machines\[0\].*control: got 'throtle'"),
        ("[1.0, {gear", "[-1.0, {gear", r"time: got -1.0; allowed: 0 s or later"),
        ("name: crane", "name: loader", r"machines\[1\].name: got 'loader'; allowed: an unused"),
        ("pose: up", "pose: upp", r"machines\[1\].*pose: got 'upp'; allowed: up"),
    ],
)
def test_wrong_machines_in_scene_files_are_told(crane, old, new, told):
    file = crane.with_name("yard.yaml")
    assert old in SCENE
    file.write_text(SCENE.replace(old, new, 1))
    with pytest.raises(SceneFileError, match=told):
        load_scene(file).build()
