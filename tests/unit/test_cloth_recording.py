"""Cloth in recordings: vertices of every frame, faces once, old files, runs that go on."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import berm
from berm.core.cloth import Cloth
from berm.core.errors import InputError
from berm.io import layout
from berm.io.recording import Recorder, Recording
from tests.unit import cloth_sample as sample


def check(recording: Recording, truth: list[list[np.ndarray]]) -> None:
    assert len(recording) == len(truth)
    for k, expected in enumerate(truth):
        found = recording.frame(k).cloths
        assert list(found) == [sample.FLAG, sample.BANNER][: len(expected)]
        for vertices, want in zip(found.values(), expected, strict=True):
            assert vertices.dtype == np.float32
            np.testing.assert_array_equal(vertices, want)
        np.testing.assert_array_equal(recording.cloth_frames(k)[sample.FLAG], expected[0])


def test_vertices_come_back_and_faces_are_written_once(tmp_path: Path) -> None:
    recording, truth = sample.record(tmp_path / "run.h5")
    with recording:
        check(recording, truth)
        world = sample.make_world()
        sample.add_banner(world)
        for cloth in world.cloths:
            np.testing.assert_array_equal(recording.cloth_faces(cloth.name), cloth.faces)
        flag, banner = recording.cloths
        assert (flag["name"], flag["vertices"], flag["thickness"]) == (sample.FLAG, 24, 0.005)
        names = [recording.materials[cloth["material"]]["name"] for cloth in (flag, banner)]
        assert names == ["cloth", "steel"]
        assert recording.file["shapes"].shape[0] == 3 * (30 + 2)
        assert recording.file["cloths"].chunks == (layout.TABLES["cloths"][2], 3)
        with pytest.raises(InputError, match="recorded cloth: got 'sail'; allowed: flag, banner"):
            recording.cloth_faces("sail")


def test_a_run_that_goes_on_keeps_its_cloths(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    recording, truth = sample.record(path)
    recording.close()
    world = sample.make_world()
    sample.add_banner(world)
    sample.wave(world, 4)  # the two frames after it are given up
    with Recorder(path, every=0.0, append=True) as recorder:
        recorder.start(world)
        for step in (5, 6):
            sample.wave(world, step)
            recorder.record(world)
    with Recording(path) as again:
        assert len(again.cloths) == 2
        check(again, truth)


def test_cloth_is_left_out_on_request(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with Recorder(path, every=0.0, fields=("velocity", "bodies")) as recorder:
        recorder.start(sample.make_world())
    with Recording(path) as recording:
        assert recording.cloths == [] and recording.frame(0).cloths == {}
        assert "cloths" not in recording.file


def without_cloth(path: Path) -> None:
    """Make a file what it would have been before recordings held cloth."""
    with h5py.File(path, "r+") as file:
        frames = file["frames"][:]
        old = [name for name in frames.dtype.names if not name.startswith("cloth")]
        del file["frames"], file["cloths"]
        rows = np.zeros(len(frames), [(name, frames.dtype[name]) for name in old])
        for name in old:
            rows[name] = frames[name]
        file.create_dataset("frames", data=rows, maxshape=(None,), chunks=(512,))
        fields = [name for name in layout.USUAL_FIELDS if name != "cloths"]
        file.attrs["fields"] = layout.to_json(fields)
        lines = [s for s in file["log"][:].tobytes().split(b"\n")[:-1] if b'"cloth"' not in s]
        text = b"".join(line + b"\n" for line in lines)
        file["log"].resize(len(text), axis=0)
        file["log"][:] = np.frombuffer(text, np.uint8)


def test_recordings_from_before_there_was_cloth_open_and_go_on(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    recording, _ = sample.record(path, steps=2)
    recording.close()
    without_cloth(path)
    with Recording(path) as old:
        assert len(old) == 3 and old.cloths == [] and old.frame(2).cloths == {}
        assert len(old.frame(2).position) == 1
    world = sample.make_world()
    sample.wave(world, 2)
    with Recorder(path, every=0.0, append=True) as recorder:
        recorder.start(world)
        sample.wave(world, 3)
        recorder.record(world)
    with Recording(path) as longer:
        assert len(longer) == 4 and [frame.cloths for frame in longer] == [{}] * 4
        assert [frame.time for frame in longer] == pytest.approx([k / 30 for k in range(4)])


def test_two_cloths_of_one_name_are_refused() -> None:
    world = berm.World(solver="sp")
    world.add_cloth(Cloth.grid((2, 2), (1.0, 1.0)))
    with pytest.raises(InputError, match="cloth name: got 'cloth'"):
        world.add_cloth(Cloth.grid((2, 2), (1.0, 1.0)))
