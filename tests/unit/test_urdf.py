"""URDF files: bodies and joints as the file has them; what is wrong or not supported is named."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh

import berm
from berm.core.errors import InputError
from berm.core.joints import Distance, Gear, Hinge, Slider, Weld
from berm.io.scenefile import SceneFileError, load_scene

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.4 0 0" rpy="0 0 0.3"/>
      <mass value="10"/>
      <inertia ixx="0.1" ixy="0.02" ixz="0" iyy="0.9" iyz="0.01" izz="0.95"/>
    </inertial>
    <visual><geometry><box size="1 1 1"/></geometry></visual>
    <collision><origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.05" length="1"/></geometry></collision>
  </link>
  <link name="fore">
    <inertial><origin xyz="0.3 0 0"/><mass value="4"/>
      <inertia ixx="0.02" iyy="0.15" izz="0.16"/></inertial>
    <collision><geometry><mesh filename="package://parts/box.stl" scale="0.001 0.001 0.001"/>
      </geometry></collision>
  </link>
  <link name="tool">
    <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>
  </link>
  <link name="tip"/>
  <link name="finger">
    <inertial><mass value="0.5"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3"/></inertial>
    <collision><geometry><box size="0.02 0.02 0.1"/></geometry></collision>
  </link>
  <link name="thumb">
    <inertial><mass value="0.5"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3"/></inertial>
    <collision><geometry><box size="0.02 0.02 0.1"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>
    <axis xyz="0 2 0"/><limit lower="-1.2" upper="-0.2" effort="500" velocity="1.5"/>
    <dynamics damping="3" friction="2"/>
    <safety_controller k_velocity="1"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="fore"/><origin xyz="1 0 0"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="flange" type="fixed">
    <parent link="fore"/><child link="tool"/><origin xyz="0.6 0 0"/>
  </joint>
  <joint name="point" type="fixed">
    <parent link="tool"/><child link="tip"/><origin xyz="0.1 0 0" rpy="0 0 1.5707963267948966"/>
  </joint>
  <joint name="grip" type="prismatic">
    <parent link="tool"/><child link="finger"/><origin xyz="0 0.05 0"/><axis xyz="0 1 0"/>
    <limit lower="0.01" upper="0.04" effort="20" velocity="0.1"/>
  </joint>
  <joint name="grip2" type="prismatic">
    <parent link="tool"/><child link="thumb"/><origin xyz="0 -0.05 0"/><axis xyz="0 1 0"/>
    <limit lower="-0.05" upper="0" effort="20" velocity="0.1"/>
    <mimic joint="grip" multiplier="-1" offset="0.002"/>
  </joint>
  <transmission name="one"/><transmission name="two"/><gazebo reference="base"/>
</robot>
"""


def write(folder: Path, text: str, name: str = "arm.urdf") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path):
    (tmp_path / "parts").mkdir()
    trimesh.creation.box((600, 80, 80)).export(tmp_path / "parts" / "box.stl")
    return write(tmp_path, ARM, "robots/arm.urdf")


def load(path: Path, **options):
    world = berm.World()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return world, berm.load_urdf(world, path, **options)


def about(axis, angle):
    return berm.core.motion.rotation_about(axis, angle)


# ---- what is read -------------------------------------------------------------------------------


def test_masses_and_inertias_are_those_of_the_file(file):
    _, arm = load(file)
    upper = arm.bodies["upper"]
    assert upper.mass == pytest.approx(10.0)
    place, turn = arm.frame("upper")
    assert (upper.centre - place) @ turn == pytest.approx([0.4, 0, 0])
    inertia = turn.T @ upper.rotation @ upper.inertia @ upper.rotation.T @ turn
    given = np.array([[0.1, 0.02, 0], [0.02, 0.9, 0.01], [0, 0.01, 0.95]])
    spin = about((0, 0, 1), 0.3)
    assert inertia == pytest.approx(spin @ given @ spin.T, abs=1e-12)


def test_links_with_fixed_joints_are_one_body(file):
    world, arm = load(file)
    fore = arm.bodies["fore"]
    assert arm.bodies["tool"] is fore and arm.bodies["tip"] is fore
    assert fore.mass == pytest.approx(5.0)
    # 4 kg at 0.3 m and 1 kg at 0.6 m
    place, turn = arm.frame("fore")
    assert (fore.centre - place) @ turn == pytest.approx([0.36, 0, 0])
    steiner = 4 * 0.06**2 + 1 * 0.24**2
    expected = np.diag([0.03, 0.16 + steiner, 0.17 + steiner])
    assert turn.T @ fore.rotation @ fore.inertia @ fore.rotation.T @ turn == pytest.approx(
        expected, abs=1e-12
    )
    tip, along = arm.frame("tip")
    assert (tip - place) @ turn == pytest.approx([0.7, 0, 0])
    assert turn.T @ along == pytest.approx(about((0, 0, 1), math.pi / 2), abs=1e-12)
    assert [body.name for body in world.bodies] == ["upper", "fore", "finger", "thumb"]


def test_fixed_joints_can_be_welds(file):
    text = file.read_text().replace(
        '<link name="tip"/>', '<link name="tip"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    )  # fmt: skip
    _, arm = load(write(file.parent, text, "welded.urdf"), merge_fixed=False)
    assert isinstance(arm.joints["flange"], Weld) and isinstance(arm.joints["point"], Weld)
    assert arm.bodies["tool"].mass == pytest.approx(1.0)
    assert arm.bodies["tool"].position == pytest.approx(arm.frame("tool")[0])


def test_shapes_stand_where_the_file_has_them(file):
    _, arm = load(file, positions={"shoulder": -0.5})
    upper = arm.bodies["upper"]
    assert isinstance(upper.shape, berm.Cylinder)  # a primitive stays one
    place, turn = arm.frame("upper")
    assert upper.position == pytest.approx(place + turn @ [0.5, 0, 0])
    assert abs(upper.rotation[:, 2] @ turn[:, 0]) == pytest.approx(1.0)
    shape = arm.bodies["fore"].shape  # a mesh and a sphere: one closed mesh
    assert isinstance(shape, berm.Mesh) and shape.closed
    low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
    assert low == pytest.approx([-0.3, -0.1, -0.1], abs=1e-3)
    assert high == pytest.approx([0.7, 0.1, 0.1], abs=1e-3)


def test_parts_whose_faces_meet_stay_solid(tmp_path):
    parts = "".join(
        f'<collision><origin xyz="{x} 0 0"/><geometry><box size="1 1 1"/></geometry></collision>'
        for x in (0, 1)
    )
    _, one = load(write(tmp_path, f'<robot name="a"><link name="b">{parts}</link></robot>'))
    shape = one.bodies["b"].shape
    assert shape.closed and not shape.two_sided
    assert shape.vertices.max(axis=0) == pytest.approx([1.5, 0.5, 0.5], abs=1e-6)


def test_joints_have_axes_limits_friction_and_the_most_that_they_can(file):
    world, arm = load(file)
    shoulder, elbow, grip = (arm.joints[name] for name in ("shoulder", "elbow", "grip"))
    assert isinstance(shoulder, Hinge) and isinstance(elbow, Hinge) and isinstance(grip, Slider)
    assert shoulder.body_b is None and elbow.body_b is arm.bodies["upper"]
    assert shoulder.limits == (-1.2, -0.2) and elbow.limits is None and grip.limits == (0.01, 0.04)
    assert shoulder.axes is not None
    assert shoulder.axes[0] == pytest.approx([-1, 0, 0], abs=1e-12)  # y, turned by 90 degrees
    row = shoulder.row
    assert (world.joints.viscosity[row], world.joints.friction[row]) == (3.0, 2.0)
    assert shoulder.motor is None
    arm.drive_to("shoulder", -0.7)
    assert shoulder.motor == ("position", -0.7, 500.0) and world.joints.speed[row] == 1.5
    arm.drive("shoulder", 0.1, effort=1e9)
    assert shoulder.motor == ("speed", 0.1, 500.0)
    arm.push("grip", -900.0)
    assert grip.motor is not None and grip.motor[:2] == ("force", -20.0)
    arm.drive("elbow", 1.0)
    assert elbow.motor == ("speed", 1.0, math.inf)
    with pytest.raises(InputError, match=r"'elbo'.*did you mean 'elbow'"):
        arm.drive("elbo", 1.0)


def test_joints_start_at_0_or_at_the_limit_next_to_it_or_as_asked(file):
    _, arm = load(file)
    assert arm.positions == pytest.approx(
        {"shoulder": -0.2, "elbow": 0.0, "grip": 0.01, "grip2": -0.008}
    )
    start = {"shoulder": -1.0, "elbow": 0.6, "grip": 0.03}
    _, arm = load(file, positions=start)
    assert arm.positions == pytest.approx({**start, "grip2": -0.028})
    # R_z(90) R_y(-1): 1 m of upper arm goes up along y; then the elbow turns back by 0.6
    place, turn = arm.frame("fore")
    assert place == pytest.approx([0, math.cos(1), 1 + math.sin(1)])
    assert turn == pytest.approx(about((0, 0, 1), math.pi / 2) @ about((0, 1, 0), -0.4))
    assert arm.frame("finger")[0] == pytest.approx(place + turn @ [0.6, 0.08, 0])


def test_a_mimic_is_a_gear(file):
    world, arm = load(file, positions={"grip": 0.03})
    gear = arm.joints["mimic of grip2"]
    assert isinstance(gear, Gear)
    assert [joint.name for joint in gear.links] == ["grip2", "grip"]
    assert world.joints.ratio[gear.row].tolist() == [1.0, 1.0, 0.0]
    assert world.joints.rest[gear.row] == pytest.approx(0.002)  # the offset


def test_base_is_placed_and_names_have_a_prefix(file):
    world = berm.World()
    with pytest.warns(UserWarning, match="left out"):
        arm = berm.load_urdf(
            world, file, position=(1, 2, 3), rotation=about((0, 0, 1), 0.5), prefix="left_",
            packages={"parts": file.parents[1] / "parts"},
        )  # fmt: skip
    assert arm.frame("base")[0].tolist() == [1, 2, 3]
    assert arm.frame("upper")[0] == pytest.approx([1, 2, 4])
    assert world.body("left_upper") is arm.bodies["upper"]
    assert arm.joints["shoulder"].name == "left_shoulder"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        berm.load_urdf(world, file, prefix="right_")
        with pytest.raises(InputError, match="left_upper"):
            berm.load_urdf(world, file, prefix="left_")
    assert len(world.bodies) == 8  # what could not be loaded left nothing behind


def test_a_floating_base_is_a_body(tmp_path):
    text = (
        '<robot name="cart"><link name="frame"><inertial><mass value="3"/>'
        '<inertia ixx="1" iyy="1" izz="1"/></inertial><collision><geometry><box size="1 1 1"/>'
        "</geometry></collision></link></robot>"
    )
    _, cart = load(write(tmp_path, text), fixed=False)
    assert cart.bodies["frame"].dynamic
    _, cart = load(tmp_path / "arm.urdf")
    assert not cart.bodies["frame"].dynamic
    with pytest.raises(InputError, match=r":1: link 'base': mass.*fixed=False"):
        load(write(tmp_path, '<robot name="a"><link name="base"/></robot>'), fixed=False)


def test_a_floating_joint_holds_nothing(tmp_path):
    text = (
        '<robot name="a"><link name="world"/><link name="b"><inertial><mass value="3"/>'
        '<inertia ixx="1" iyy="1" izz="1"/></inertial><collision><geometry><sphere radius="1"/>'
        '</geometry></collision></link><joint name="j" type="floating"><parent link="world"/>'
        '<child link="b"/><origin xyz="0 0 2"/></joint></robot>'
    )
    world, one = load(write(tmp_path, text))
    assert len(world.joints) == 0 and one.bodies["b"].dynamic
    assert one.bodies["b"].position.tolist() == [0, 0, 2]


# ---- what is not --------------------------------------------------------------------------------


def test_what_is_not_supported_is_named_in_one_warning(file):
    with pytest.warns(UserWarning, match="not supported") as told:
        berm.load_urdf(berm.World(), file)
    assert len(told) == 1
    text = str(told[0].message)
    for word in ("safety_controller of joint 'shoulder'", "2 x transmission", "gazebo"):
        assert word in text
    assert told[0].filename == __file__


def test_what_stands_for_a_link_without_geometry_is_told(tmp_path):
    text = (
        '<robot name="a"><link name="b"><inertial><origin xyz="1 0 0"/><mass value="3"/>'
        '<inertia ixx="1" iyy="1" izz="3"/></inertial></link></robot>'
    )
    world = berm.World()
    with pytest.warns(UserWarning, match=r"not that of any solid; .*'b' has no collision"):
        one = berm.load_urdf(world, write(tmp_path, text), fixed=False)
    assert one.bodies["b"].centre == pytest.approx([1, 0, 0])
    assert one.frame("b")[0] == pytest.approx([0, 0, 0])


BAD = {
    "planar": ('type="continuous"', 'type="planar"', r"arm.urdf:40: joint 'elbow': type: got 'pl"),
    "no number": ('value="10"', 'value="ten"', r"arm.urdf:8: link 'upper': <mass value=...>: got"),
    "no mass": ('value="10"', 'value="0"', r"arm.urdf:5: link 'upper': mass.*'shoulder' lets"),
    "no inertia": ('ixx="0.1" ixy', 'ixx="-0.1" ixy', r"arm.urdf:5: link 'upper': inertia"),
    "unknown link": ('<parent link="upper"/>', '<parent link="uper"/>',
                     r"arm.urdf:40: joint 'elbow': parent: got 'uper'.*did you mean 'upper'"),
    "loop": ('<child link="tip"/>', '<child link="upper"/>', r"arm.urdf:46: .*tree.*extra file"),
    "two roots": ('<link name="tip"/>', '<link name="tip"/><link name="stray"/>',
                  r"without a parent: got 'base, stray'"),
    "ring": ('<parent link="base"/>', '<parent link="tip"/>',
             r"arm.urdf:5: link 'upper': got 'in a ring of joints'"),
    "same name": ('<link name="tip"/>', '<link name="tool"/>', r"arm.urdf:25: .*again \(first at"),
    "no axis": ('<axis xyz="0 2 0"/>', '<axis xyz="0 0 0"/>', r"joint 'shoulder': axis"),
    "limits": ('lower="-1.2" upper="-0.2"', 'lower="1" upper="-1"', r"lower below upper"),
    "no limit": ('<limit lower="0.01" upper="0.04" effort="20" velocity="0.1"/>', "",
                 r"joint 'grip': limit: got 'none'"),
    "mimic": ('mimic joint="grip"', 'mimic joint="grp"', r"mimic.*did you mean 'grip'"),
    "no mesh": ("box.stl", "ball.stl", r"arm.urdf:\d+: mesh file: got 'package://parts/ball.stl'"),
    "shape": ('<sphere radius="0.1"/>', '<torus radius="0.1"/>', r"geometry: got '<torus>'"),
    "size": ('<sphere radius="0.1"/>', '<sphere radius="-1"/>', r"arm.urdf:23: Sphere.radius"),
    "xacro": ('<link name="tip"/>', "<xacro:tip/>", r"arm.urdf:25: .*expand the file with xacro"),
    "not closed": ('<link name="tip"/>', '<link name="tip">', r"not valid XML: mismatched tag"),
    "entities": ('<robot name="arm">', '<!DOCTYPE a [<!ENTITY b "c">]><robot name="arm">',
                 r"arm.urdf:2: URDF file: got '<!DOCTYPE"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_wrong_files_are_named_with_their_line(name, file):
    good, bad, says = BAD[name]
    assert good in ARM
    with pytest.raises(InputError, match=says):
        load(write(file.parent, ARM.replace(good, bad)))


@pytest.mark.parametrize(("positions", "says"), [
    ({"shoulder": 0.0}, r"'shoulder'.*got 0.0; allowed: -1.2 to -0.2"),
    ({"grip2": 0.0}, r"positions: got 'grip2'; allowed: shoulder, elbow, grip"),
    ({"elbow": "up"}, "'elbow'"),
])  # fmt: skip
def test_wrong_positions_are_named(positions, says, file):
    with pytest.raises(InputError, match=says):
        load(file, positions=positions)


# ---- the extra file -----------------------------------------------------------------------------

EXTRA = """
joints:
  - {kind: distance, name: ram, body: fore, anchor: [0.2, 0, 0.1], to: upper,
     anchor_b: [0.1, 0, 0.1], limits: [0.5, 1.5]}
  - {kind: hinge, name: loop, body: tip, to: base, anchor: [0, 0.1, 0], anchor_b: [0, 2, 1.5],
     axis: [1, 0, 0], axis_b: [-1, 0, 0]}
  - {kind: gear, name: both, one: elbow, other: shoulder, ratio: 2}
drives:
  shoulder: {kind: position, degrees: -40}
  ram: {kind: speed, speed: 0.1, effort: 5000}
  grip: {kind: force, effort: 15}
"""


def test_extra_file_adds_loops_and_drives(file):
    extra = write(file.parent, EXTRA, "arm.yaml")
    world, arm = load(file, extra=extra, prefix="a_", positions={"shoulder": -0.6, "elbow": 0.3})
    ram, loop = arm.joints["ram"], arm.joints["loop"]
    assert isinstance(ram, Distance) and ram.name == "a_ram"
    (fore, turn), (upper, turn_b) = arm.frame("fore"), arm.frame("upper")
    ends = fore + turn @ [0.2, 0, 0.1], upper + turn_b @ [0.1, 0, 0.1]
    assert np.array(ram.anchors) == pytest.approx(np.array(ends))
    assert ram.position == pytest.approx(float(np.linalg.norm(ends[0] - ends[1])))
    assert ram.motor == ("speed", 0.1, 5000.0) and ram.limits == (0.5, 1.5)
    assert loop.body_a is arm.bodies["fore"] and loop.body_b is None
    tip, turn = arm.frame("tip")
    assert loop.anchors[0] == pytest.approx(tip + turn @ [0, 0.1, 0])
    assert loop.anchors[1] == pytest.approx([0, 2, 1.5])
    assert arm.joints["shoulder"].motor == ("position", pytest.approx(math.radians(-40)), 500.0)
    assert world.joints.speed[arm.joints["shoulder"].row] == 1.5  # the file's
    assert [joint.name for joint in arm.joints["both"].links] == ["a_elbow", "a_shoulder"]


EXTRAS = {
    "unknown link": ("body: fore,", "body: for,", r"x.yaml:3:\d+: joints\[0\].body: got 'for'"),
    "the base": ("body: tip, to: base", "body: base, to: tip", r"x.yaml:5:\d+: .*fixed to the wor"),
    "unknown joint": ("other: shoulder", "other: sholder", r"joints\[2\].other.*mean 'shoulder'"),
    "unknown drive": ("  grip:", "  gripp:", r"x.yaml:11:3: drives.gripp: .*did you mean 'grip'"),
    "too strong": ("effort: 15", "effort: 50", r"drives.grip: .*at most 20"),
    "metres": ("degrees: -40", "position: 1", r"drives.shoulder: .*allowed: degrees"),
    "name of the other file": ("name: loop", "name: elbow", r"joints\[1\].name: .*unused"),
    "unknown key": ("drives:", "drive:", r"x.yaml:8:1: drive: unknown key.*mean 'drives'"),
}


@pytest.mark.parametrize("name", EXTRAS)
def test_wrong_extra_files_are_named_with_their_line(name, file):
    good, bad, says = EXTRAS[name]
    assert good in EXTRA
    extra = write(file.parent, EXTRA.replace(good, bad), "x.yaml")
    with pytest.raises(SceneFileError, match=says):
        load(file, extra=extra)


# ---- in scene files -----------------------------------------------------------------------------

SCENE = """
bodies: [{name: post, shape: {kind: box, size: [1, 1, 1]}, position: [0, 0, -1]}]
urdf:
  - {file: robots/arm.urdf, extra: robots/arm.yaml, prefix: a_, position: [0, 0, 1],
     rotation: {euler: [0, 0, 90]}, positions: {shoulder: -45, grip: 0.02}, material: plastic}
joints:
  - {kind: spring, body: a_fore, to: post, anchor_b: [0, 0, 0], stiffness: 100}
  - {kind: gear, one: a_elbow, other: a_shoulder, ratio: 3}
materials: [{name: plastic, preset: steel, density: 900}]
"""


@pytest.mark.filterwarnings("ignore:.*left out")
def test_scene_files_take_machines(file):
    write(file.parent, EXTRA, "arm.yaml")
    scene = load_scene(write(file.parents[1], SCENE, "scene.yaml"))
    for _ in range(2):  # each build is a world of its own
        world = scene.build()
        names = {joint.name: joint for joint in world.joints}
        assert names["a_shoulder"].position == pytest.approx(-math.pi / 4)
        assert names["a_grip"].position == pytest.approx(0.02)
        assert [body.name for body in world.bodies][:2] == ["post", "a_upper"]
        assert world.materials[world.body("a_fore").material].name == "plastic"
        assert [one.name for one in world.joints[-1].links] == ["a_elbow", "a_shoulder"]
        assert world.body("a_upper").position == pytest.approx(
            [-0.5 * math.cos(math.pi / 4), 0, 2 + 0.5 * math.sin(math.pi / 4)]
        )


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize(("good", "bad", "says"), [
    ("arm.urdf", "leg.urdf", r"scene.yaml:4:5: urdf\[0\]: .*leg.urdf"),
    ("prefix: a_", "prefx: a_", r"scene.yaml:4:\d+: urdf\[0\].prefx: unknown key"),
    ("grip: 0.02", "grap: 0.02", r"urdf\[0\]: .*got 'grap'.*did you mean 'grip'"),
    ("material: plastic", "material: plastik", r"urdf\[0\].material.*did you mean 'plastic'"),
    ("name: post", "name: a_fore", r"scene.yaml:4:5: urdf\[0\]: body 'a_fore' is there already"),
    ("body: a_fore", "body: a_for", r"joints\[0\].body: got 'a_for'.*did you mean 'a_fore'"),
])  # fmt: skip
def test_wrong_machines_in_scene_files_are_named(good, bad, says, file):
    write(file.parent, EXTRA, "arm.yaml")
    assert good in SCENE
    with pytest.raises(SceneFileError, match=says):
        load_scene(write(file.parents[1], SCENE.replace(good, bad), "scene.yaml"))
