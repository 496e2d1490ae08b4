"""Cameras against closed forms."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import berm
from berm.core.errors import InputError
from berm.render import camera as cam
from berm.stage.stage import BodyMoment, Moment, Stage, moment_of, stage_of

SIZE = (800, 600)


@pytest.fixture
def world() -> berm.World:
    made = berm.World()
    made.add_body(berm.Plane(), name="floor")
    made.add_body(berm.Box((0.1, 0.2, 0.3)), name="blade", position=(0.3, 0.1, 0.2))
    made.add_grains([[-0.5, -0.4, 0.1], [0.5, 0.4, 0.1], [0.0, 0.0, 0.6]], 0.05)
    return made


@pytest.fixture
def stage(world: berm.World) -> Stage:
    return stage_of(world)


def at(time: float, pose: BodyMoment | None = None) -> Moment:
    none = np.zeros((0, 3), np.float32)
    empty = np.zeros(0, np.int32)
    return Moment(time, 0, none, none[:, 0], empty, empty, () if pose is None else (pose,))


def test_what_is_looked_at_is_in_the_middle() -> None:
    one = cam.Camera(np.array([3.0, -2.0, 1.5]), np.array([0.2, 0.1, 0.4]), np.array([0, 0, 1.0]))
    pixels, distance = one.project([one.target], SIZE)
    assert pixels[0] == pytest.approx([400, 300])
    assert distance[0] == pytest.approx(np.linalg.norm(one.eye - one.target))


def test_a_point_aside_is_where_trigonometry_says() -> None:
    # from -y, +x is to the right and +z up; fov 60 degrees: 300 pixels are tan(30 degrees)
    one = cam.Camera(np.array([0, -4.0, 0]), np.zeros(3), np.array([0, 0, 1.0]), fov=60.0)
    scale = 300 / math.tan(math.radians(30))
    pixels, distance = one.project([[1.0, 1.0, 0.0], [0.0, -2.0, 0.5]], SIZE)
    assert pixels[0] == pytest.approx([400 + scale * 1.0 / 5.0, 300])
    assert pixels[1] == pytest.approx([400, 300 - scale * 0.5 / 2.0])
    assert distance == pytest.approx([5.0, 2.0])


def test_matrices_agree_with_project() -> None:
    one = cam.Camera(np.array([2.0, -3.0, 2.0]), np.array([0.1, 0.2, 0.3]), np.array([0, 0, 1.0]))
    points = np.random.default_rng(1).uniform(-0.5, 0.5, (20, 3))
    clip = np.column_stack([points, np.ones(20)]) @ (one.projection(4 / 3) @ one.view).T
    seen = clip[:, :3] / clip[:, 3:]
    pixels, distance = one.project(points, SIZE)
    assert 400 + 400 * seen[:, 0] == pytest.approx(pixels[:, 0])
    assert 300 - 300 * seen[:, 1] == pytest.approx(pixels[:, 1])
    assert clip[:, 3] == pytest.approx(distance)
    ends = [[0, 0, -one.near, 1], [0, 0, -one.far, 1]] @ one.projection(1.0).T
    assert ends[:, 2] / ends[:, 3] == pytest.approx([-1, 1])


def test_looking_straight_down_works() -> None:
    one = cam.Camera(np.array([0, 0, 5.0]), np.zeros(3), np.array([0, 0, 1.0]))
    assert np.isfinite(one.view).all()
    assert one.axes @ one.axes.T == pytest.approx(np.eye(3))


@pytest.mark.parametrize("azimuth", [-60.0, 0.0, 45.0, 130.0])
@pytest.mark.parametrize("aspect", [16 / 9, 1.0, 0.5])
def test_frame_all_holds_all_grains_and_wastes_little(
    stage: Stage, world: berm.World, azimuth: float, aspect: float
) -> None:
    one = cam.frame_all(stage, azimuth, 20.0, aspect)
    size = (round(600 * aspect), 600)
    pixels, distance = one.project(moment_of(world).position, size)
    assert (pixels > 0).all() and (pixels < size).all()
    low, high = stage.bounds
    corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1])
                        for z in (low[2], high[2])])  # fmt: skip
    pixels, distance = one.project(corners, size)
    share = np.ptp(pixels, axis=0) / size
    assert 0.75 < share.max() < 1.1
    assert (distance > one.near).all() and (distance < one.far).all()


def test_azimuth_and_elevation(stage: Stage) -> None:
    direction = cam.towards(np.array([0, 0, 1.0]), -90.0, 30.0)
    assert direction == pytest.approx([0, -math.cos(math.pi / 6), 0.5])
    sideways = replace(stage, gravity=np.array([-9.81, 0, 0]))
    one = cam.frame_all(sideways, 0.0, 40.0)
    assert (one.eye - one.target)[0] > 0  # above, which is +x there
    assert one.axes[1] @ [1, 0, 0] == pytest.approx(math.cos(math.radians(40)))


def test_orbit_turns_at_its_rate_and_comes_back(stage: Stage) -> None:
    path = cam.path_of(stage, "orbit:36", 1.5)
    first, quarter, round_ = path(at(0.0)), path(at(2.5)), path(at(10.0))
    assert round_.eye == pytest.approx(first.eye)
    a, b = first.eye - first.target, quarter.eye - quarter.target
    assert np.linalg.norm(a) == pytest.approx(np.linalg.norm(b))
    turned = math.degrees(math.atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1]))
    assert turned == pytest.approx(90.0)


def test_follow_keeps_the_body_in_the_middle(stage: Stage) -> None:
    path = cam.path_of(stage, "follow:blade", 1.5)
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    for place in ([0.3, 0.1, 0.2], [5.0, -2.0, 0.1]):
        pose = BodyMoment(1, np.array(place), turn, np.zeros(3), np.zeros(3))
        one = path(at(1.0, pose))
        pixels, _ = one.project([place], SIZE)
        assert pixels[0] == pytest.approx([400, 300])
    with pytest.raises(InputError, match="camera: body 'blade': got 'no pose at t = 1 s'"):
        path(at(1.0))


def test_keyframes_pass_through_their_keys(stage: Stage, tmp_path: Path) -> None:
    keys = [
        {"time": 0, "eye": [3, 0, 1], "target": [0, 0, 0]},
        {"time": 2, "eye": [0, 3, 2], "target": [0, 0, 0.2], "fov": 20},
    ]
    file = tmp_path / "keys.json"
    file.write_text(json.dumps(keys))
    path = cam.path_of(stage, str(file), 1.5)
    assert path(at(-1.0)).eye == pytest.approx([3, 0, 1])
    assert path(at(1.0)).eye == pytest.approx([1.5, 1.5, 1.5])
    assert path(at(2.0)).eye == pytest.approx([0, 3, 2])
    assert path(at(9.0)).fov == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spin", "camera: got 'spin'; allowed: orbit:"),
        ("orbit:fast", "camera: got 'orbit:fast'"),
        ("fixed:1,2,3", "camera: got 'fixed:1,2,3'"),
        ("view:1", "camera: got 'view:1'"),
        ("follow:spade", "unknown body: got 'spade'; allowed: floor, blade"),
        ("nowhere.yaml", "camera file: got 'nowhere.yaml'"),
        ("fixed:1,1,1,1,1,1", "camera: eye: got .* a place other than its target"),
    ],
)
def test_wishes_that_cannot_be_met(stage: Stage, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        cam.path_of(stage, text, 1.5)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ([], "at least one"),
        ([{"time": 0, "eye": [1, 0, 0]}], "keyframe 0"),
        ([{"time": 0, "eye": [1, 0, 0], "target": [0, 0, 0], "roll": 3}], "keyframe 0"),
        ([{"time": 1, "eye": [1, 0, 0], "target": [0, 0, 0]}] * 2, "rising"),
        ([{"time": 1, "eye": [1, 0], "target": [0, 0, 0]}], "camera: eye"),
    ],
)
def test_keyframes_that_make_no_sense(stage: Stage, keys: list[dict], said: str) -> None:
    with pytest.raises(InputError, match=said):
        cam.keyframes(stage, keys)
