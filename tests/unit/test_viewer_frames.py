"""A frame gives back the moment that it was made of, to within its steps."""

from __future__ import annotations

import base64
import dataclasses
import json

import numpy as np
import pytest

from berm.apps.viewer.frames import MomentFrames, pack, positions, stage_json, unpack
from berm.core.errors import InputError
from berm.stage import colours
from berm.stage.stage import Moment
from tests.unit.viewer_tools import stage_and_moment


def moment(n: int = 500, seed: int = 3) -> Moment:
    made = stage_and_moment(n, seed)[1]
    draw = np.random.default_rng(seed)
    return dataclasses.replace(
        made,
        force=draw.exponential(50.0, n).astype(np.float32),
        overlap=draw.exponential(1e-6, n).astype(np.float32),
    )


def test_positions_within_half_a_step() -> None:
    one = moment()
    header, arrays = unpack(MomentFrames(one, 5, 2).coloured_by("material"))
    assert header["stream"] == "moment" and header["seq"] == 5 and header["stage"] == 2
    assert header["n"] == 500 and header["time"] == one.time and header["step"] == one.step
    assert arrays["position"].dtype == np.uint16 and arrays["position"].shape == (500, 3)
    error = np.abs(positions(header, arrays) - one.position)
    assert error.max() <= 0.5 * header["scale"] * 1.01 + 1e-7
    assert header["scale"] < 2e-5  # a cube of 1 m in 65535 steps


def test_radius_material_and_scatter() -> None:
    one = moment()
    header, arrays = unpack(MomentFrames(one, 1, 1).coloured_by("id"))
    radius = header["radius_min"] + header["radius_scale"] * arrays["radius"].astype(float)
    assert np.abs(radius - one.radius).max() <= 0.51 * header["radius_scale"]
    assert np.array_equal(arrays["material"], one.material)
    assert np.array_equal(arrays["scatter"], colours.scatter(one.tag))
    assert "value" not in arrays


@pytest.mark.parametrize("name", ["speed", "force", "overlap", "age"])
def test_values_keep_three_digits_at_every_size(name: str) -> None:
    one = moment()
    header, arrays = unpack(MomentFrames(one, 1, 1).coloured_by(name))
    wanted = colours.values(one, name)
    value = header["value_scale"] * arrays["value"].astype(float)
    assert header["colour"] == name
    assert np.allclose(value, wanted, rtol=1e-3, atol=1e-6 * float(wanted.max() or 1.0))
    low, high = header["range"]
    assert low == 0.0 and high > 0.0
    assert high >= np.percentile(wanted, 99)


def test_what_is_not_known_is_drawn_by_material() -> None:
    one = dataclasses.replace(moment(), force=None)
    header, arrays = unpack(MomentFrames(one, 1, 1).coloured_by("force"))
    assert header["colour"] == "material" and "value" not in arrays


def test_a_stray_does_not_make_the_others_jitter() -> None:
    one = moment()
    far = one.position.copy()
    far[7] = (0.0, 0.0, -900.0)
    header, arrays = unpack(
        MomentFrames(dataclasses.replace(one, position=far), 1, 1).coloured_by("material")
    )
    assert arrays["position"].dtype == np.float32
    error = np.abs(positions(header, arrays) - far)
    assert np.delete(error, 7, axis=0).max() < 1e-6


def test_lost_grains_are_left_out() -> None:
    one = moment()
    lost = one.position.copy()
    lost[3, 1], lost[9] = np.nan, np.inf
    one = dataclasses.replace(one, position=lost)
    header, arrays = unpack(MomentFrames(one, 1, 1).coloured_by("speed"))
    assert header["n"] == 498 and len(arrays["value"]) == 498
    assert np.abs(positions(header, arrays) - np.delete(one.position, [3, 9], axis=0)).max() < 1e-4


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_any_grains(n: int) -> None:
    one = moment(n)
    for name in colours.MODES:
        header, arrays = unpack(MomentFrames(one, 1, 1).coloured_by(name))
        assert header["n"] == n and arrays["position"].shape == (n, 3)
        assert np.allclose(positions(header, arrays), one.position, atol=1e-6)


def test_grains_in_one_place_and_of_one_size() -> None:
    one = moment(4)
    one = dataclasses.replace(one, position=np.ones((4, 3), np.float32), radius=one.radius * 0 + 1)
    header, arrays = unpack(MomentFrames(one, 1, 1).coloured_by("material"))
    assert np.allclose(positions(header, arrays), 1.0)
    assert header["radius_min"] == 1.0 and header["radius_scale"] == 0.0


def test_bodies_and_alignment() -> None:
    one = moment(7)
    data = MomentFrames(one, 1, 1, frame=12).coloured_by("speed")
    header, _ = unpack(data)
    assert header["frame"] == 12
    assert all(entry["offset"] % 4 == 0 for entry in header["arrays"])
    assert len(data) % 4 == 0
    (floor,) = header["bodies"]
    assert floor["id"] == 0 and floor["position"] == [0, 0, 0]
    assert floor["rotation"] == np.eye(3).ravel().tolist()


def test_frames_of_one_moment_are_made_once() -> None:
    frames = MomentFrames(moment(), 1, 1)
    assert frames.coloured_by("speed") is frames.coloured_by("speed")


def test_bytes_a_grain() -> None:
    data = MomentFrames(moment(5000), 1, 1).coloured_by("speed")
    assert len(data) / 5000 < 11.5  # 6 + 1 + 1 + 1 + 2, and the header


def test_other_streams_use_the_same_envelope() -> None:
    heights = np.linspace(0, 1, 6, dtype=np.float32)
    header, arrays = unpack(pack({"stream": "height", "version": 3, "n": 6}, {"z": heights}))
    assert header["stream"] == "height" and header["version"] == 3
    assert np.array_equal(arrays["z"], heights)


def test_foreign_bytes_are_refused() -> None:
    with pytest.raises(InputError, match="BRM1"):
        unpack(b"PNG....")


def test_stage_message() -> None:
    stage, _ = stage_and_moment()
    message = json.loads(stage_json(stage, 4))
    assert message["type"] == "stage" and message["version"] == 4
    (floor,) = message["bodies"]
    assert floor["name"] == "floor" and floor["ground"] is True
    mesh = message["meshes"][floor["mesh"]]
    vertices = np.frombuffer(base64.b64decode(mesh["vertices"]), "<f4").reshape(-1, 3)
    faces = np.frombuffer(base64.b64decode(mesh["faces"]), "<u4").reshape(-1, 3)
    assert np.array_equal(vertices, stage.meshes[0].vertices) and faces.max() < len(vertices)
    assert [m["name"] for m in message["materials"]] == ["rough wall", "gravel"]
    assert all(len(m["colour"]) == 7 and m["colour"][0] == "#" for m in message["materials"])
    assert np.shape(message["bounds"]) == (2, 3)
