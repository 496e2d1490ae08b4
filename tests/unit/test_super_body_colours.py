"""Bodies coloured by what they are merged into: live, recorded, in frames and in pictures."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import berm
from berm.apps.viewer.frames import MomentFrames, unpack
from berm.core.errors import InputError
from berm.io.recording import Recorder, Recording
from berm.render.api import Drawing
from berm.render.context import available as can_draw
from berm.solvers.nonsmooth.solver import Nonsmooth
from berm.stage import colours
from berm.stage.stage import moment_of, stage_of
from tests.unit.viewer_tools import live_pile


def resting(merging: bool = True) -> berm.World:
    """Two boxes lie on the floor, one is still in the air; those that rest are merged."""
    world = berm.World(dt=1 / 60, solver=Nonsmooth(merging=merging, merge_steps=3))
    world.add_body(berm.Plane(), name="floor", material="steel")
    for k, height in enumerate((0.1, 0.1, 30.0)):
        world.add_body(
            berm.Box((0.2, 0.2, 0.2)), name=f"box {k}", material="steel", dynamic=True,
            position=(0.5 * k, 0.0, height),
        )  # fmt: skip
    return world


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("merged") / "run.h5"
    world = resting()
    with Recorder(path) as recorder:
        recorder.start(world)
        for _ in range(20):
            recorder.record(world, world.step())
    return path


def test_each_super_body_has_a_colour_of_its_own() -> None:
    assert colours.group_colour(None) is None and colours.group_colour(-1) is None
    assert colours.group_colour(0) == colours.IN_GROUND
    many = {colours.group_colour(tag) for tag in range(1, 40)}
    assert len(many) == 39 and colours.IN_GROUND not in many


def test_a_moment_knows_what_bodies_are_merged_into() -> None:
    world = resting()
    assert moment_of(world).groups == (-1, -1, -1, -1)
    for _ in range(20):
        world.step()
    assert moment_of(world).groups == (-1, 0, 0, -1)
    assert "merged" in colours.available(moment_of(world))


def test_where_nothing_is_ever_merged_nothing_is_coloured_so() -> None:
    world = resting(merging=False)
    world.step()
    assert moment_of(world).groups is None and "merged" not in colours.available(moment_of(world))
    with pytest.raises(InputError, match="merged"):
        colours.values(moment_of(world), "merged")


def test_a_recording_keeps_it(recorded: Path) -> None:
    with Recording(recorded) as recording:
        assert [b.super_body for b in recording.frame(0).bodies.values()] == [-1, -1, -1, -1]
        assert moment_of(recording).groups == (-1, 0, 0, -1)
        assert "merged" in colours.available(moment_of(recording))


def test_a_recording_from_before_is_read_and_continued(recorded: Path, tmp_path: Path) -> None:
    """Without the column all bodies are by themselves; what is added later has it."""
    path = tmp_path / "old.h5"
    path.write_bytes(recorded.read_bytes())
    with h5py.File(path, "r+") as file:
        rows = file["bodies"][:]
        names = [name for name in rows.dtype.names if name != "super_body"]
        old = np.zeros(len(rows), [(name, rows.dtype[name]) for name in names])
        for name in names:
            old[name] = rows[name]
        del file["bodies"]
        file.create_dataset("bodies", data=old, maxshape=(None,), chunks=(128,))
    with Recording(path) as recording:
        assert moment_of(recording).groups == (-1, -1, -1, -1)
        last = float(recording.times[-1])
    world = resting()
    for _ in range(30):
        report = world.step()
    assert world.time > last
    with Recorder(path, append=True) as recorder:
        recorder.start(world)
        recorder.record(world, report)
    with Recording(path) as recording:
        assert moment_of(recording, 0).groups == (-1, -1, -1, -1)
        assert moment_of(recording).groups == (-1, 0, 0, -1)


def test_frames_tell_the_page(recorded: Path) -> None:
    with Recording(recorded) as recording:
        frames = MomentFrames(moment_of(recording), 1, 1)
    header, _ = unpack(frames.coloured_by("merged"))
    grey = "#{:02x}{:02x}{:02x}".format(*colours.IN_GROUND)
    assert header["colour"] == "merged"
    assert [body["colour"] for body in header["bodies"]] == [None, grey, grey, None]
    header, _ = unpack(frames.coloured_by("material"))
    assert "colour" not in header["bodies"][0]


@pytest.mark.skipif(not can_draw(), reason="no pictures can be drawn here")
def test_pictures_show_it(recorded: Path) -> None:
    with Recording(recorded) as recording:
        stage, moment = stage_of(recording), moment_of(recording)
    view = "fixed:0.1,-1.5,0.6,0.1,0,0.1"
    plain = Drawing(stage, camera=view).picture(moment, (160, 90)).astype(int)
    merged = Drawing(stage, colour="merged", camera=view).picture(moment, (160, 90)).astype(int)
    box = np.abs(plain - merged).sum(axis=2)[40:60, 70:90]
    assert box.max() > 30, "the boxes on the floor are as grey as what is merged with it"


def test_the_page_is_offered_it_only_where_bodies_merge() -> None:
    live = live_pile()
    assert "merged" not in live.colours() and "speed" in live.colours()
    live.world = resting()
    assert "merged" in live.colours()
