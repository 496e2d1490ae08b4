"""Terrain in recordings and checkpoints: only what changed is written, and nothing is lost."""

from __future__ import annotations

import shutil

import h5py
import numpy as np
import pytest

import berm
from berm.core.errors import InputError
from berm.io import checkpoint, layout
from berm.io.ground import COLUMN
from tests.unit.terrain_dig import blade_world, recorded


def test_every_frame_has_its_ground_in_any_order():
    path, seen = recorded()
    with berm.Recording(path) as film:
        assert film.terrain["soils"] == ["loam"] and film.terrain["shape"] == [31, 21]
        for step in (60, 12, 48, 24, 36, 12):
            heights, loose, ledger, tags = seen[step]
            frame = film.frame(step)
            np.testing.assert_array_equal(frame.ground.heights, heights.astype(np.float32))
            np.testing.assert_array_equal(frame.ground.loose, loose)
            assert frame.ground.ledger["ground"] == ledger.ground
            assert frame.ground.ledger["live"] == ledger.live
            assert set(frame.tag) == set(tags)  # nothing of the shell
        assert np.abs(film.frame(60).ground.heights).max() > 0.05


def test_only_what_changed_is_written():
    path, _ = recorded()
    with berm.Recording(path) as film:
        rows, columns = len(film.file["ground"]), 31 * 21
        counts = film._index["ground"]
        assert counts[0] == columns and counts.max() <= 2 * columns
        assert rows < 0.15 * columns * len(film), rows
    assert COLUMN.itemsize == 13


def test_a_recording_goes_on_with_its_ground(tmp_path):
    path, seen = recorded()
    copy = shutil.copy(path, tmp_path / "dig.h5")
    world = blade_world()
    while world.step_count < 24:
        world.step()
    with berm.Recorder(copy, every=0, append=True) as recorder:
        recorder.start(world)
        while world.step_count < 36:
            recorder.record(world, world.step())
    with berm.Recording(copy) as film:
        assert len(film) == 37
        for step in (12, 24, 36):
            heights = seen[step][0].astype(np.float32)
            np.testing.assert_array_equal(film.frame(step).ground.heights, heights)


def test_recordings_without_ground_open_as_ever(tmp_path):
    path = tmp_path / "heap.h5"
    world = berm.World()
    world.add_grains([[0, 0, 1]], 0.1)
    world.run(0.1, recorders=[berm.Recorder(path)])
    with h5py.File(path, "r+") as file:  # as berm wrote it before there was terrain
        index = file["frames"][:]
        names = [
            name for name in index.dtype.names if not name.startswith(("ground", "soils", "led"))
        ]
        old = np.zeros(len(index), [(name, index.dtype[name]) for name in names])
        for name in names:
            old[name] = index[name]
        del file["frames"], file["ground"], file["ledger"]
        file.create_dataset("frames", data=old, maxshape=(None,), chunks=(512,))
        fields = [name for name in layout.USUAL_FIELDS if name != "ground"]
        file.attrs["fields"] = layout.to_json(fields)
    with berm.Recording(path) as film:
        assert film.terrain is None and film.frame(-1).ground is None
        assert len(film.frame(-1)) == 1
    with berm.Recorder(path, append=True) as recorder:
        recorder.start(world)
        recorder.record(world, world.step())
    with berm.Recording(path) as film:
        assert film.frame(-1).ground is None


def run_to(world, step):
    while world.step_count < step:
        world.step()
    return world


def test_a_checkpoint_in_the_middle_of_a_dig_goes_on_bit_for_bit(tmp_path):
    layers = [("topsoil", 0.05), ("dry sand", None)]
    world = run_to(blade_world(layers), 40)
    assert world.terrain.zone.live > 100 and world.grains.fixed.any()
    checkpoint.save(world, tmp_path / "mid.npz")
    again = blade_world(layers)
    again.restore(checkpoint.load(tmp_path / "mid.npz"))
    # the same ledger before a step is done
    for one, other in zip(
        vars(world.terrain.ledger(world)).values(), vars(again.terrain.ledger(again)).values(),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(one, other)
    run_to(world, 70), run_to(again, 70)
    assert_same(world.state(), again.state())


def assert_same(one, other, where="state"):
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            if key not in ("timings", "wall"):
                assert_same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}[{k}]")
    else:
        np.testing.assert_array_equal(one, other, err_msg=where)


def test_a_checkpoint_of_another_terrain_is_refused(tmp_path):
    world = run_to(blade_world(), 3)
    state = world.state()
    other = berm.World()
    other.add_terrain(berm.Terrain.flat((3.0, 1.0)))
    other.add_body(berm.Box((0.06, 0.8, 0.5)), name="blade", motion=berm.Linear((0.5, 0, 0)))
    with pytest.raises(InputError):
        other.restore(state)
    assert other.step_count == 0
