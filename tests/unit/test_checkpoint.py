"""Checkpoints: every bit comes back, and a file that is not whole is refused."""

from __future__ import annotations

import errno
import math
import os
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from berm.core.errors import InputError, StorageError
from berm.io import checkpoint


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return bool(
            isinstance(b, np.ndarray)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and a.tobytes() == b.tobytes()
        )
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and math.isnan(a):
        return type(a) is type(b) and math.isnan(b)
    return type(a) is type(b) and bool(a == b)


def test_round_trip_bit_for_bit(tmp_path: Path) -> None:
    rng, draw = np.random.default_rng(3), np.random.default_rng(4)
    rng.standard_normal(5)
    state = {
        "time": 0.1 + 0.2,
        "odd": [math.inf, math.nan, -0.0, 5e-324, None, True, "text"],
        "rng": rng.bit_generator.state,  # has 128-bit integers
        "x": draw.standard_normal((7, 4)).astype(np.float32),
        "f": np.asfortranarray(draw.standard_normal((3, 4))),
        "nan": np.array([np.nan, -np.nan, np.inf]),
        "empty": np.zeros((0, 3), dtype=np.int32),
        "mask": np.array([True, False]),
        "big": np.array([1, 2], dtype=">u2"),
        "record": np.zeros(2, dtype=[("a", "i4"), ("b", "f8", 3)]),
        "scalar": np.float32(0.1),
        "nested": {"deep": {"er": (1, (2.5, np.arange(3)))}, 5: "five", "$array": "a0"},
        "bytes": b"\x00\xff",
    }
    path = tmp_path / "deep" / "c.npz"
    world: Any = SimpleNamespace(state=lambda: state)
    checkpoint.save(world, path, about={"scene": "pile", "parameters": {"n": 3}})
    back = checkpoint.load(path)
    assert same(state, back)
    assert back["f"].flags.f_contiguous
    other = np.random.default_rng()
    other.bit_generator.state = back["rng"]
    assert rng.random() == other.random()
    about = checkpoint.about(path)
    assert about["scene"] == "pile" and about["parameters"] == {"n": 3}
    assert [p.name for p in path.parent.iterdir()] == ["c.npz"]


@settings(max_examples=12, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
            | hnp.arrays(hnp.floating_dtypes() | hnp.integer_dtypes(), hnp.array_shapes()),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
            max_leaves=5,
        ),
        max_size=4,
    )
)  # fmt: skip
def test_any_state(tmp_path_factory: pytest.TempPathFactory, state: dict[str, Any]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.npz"
    checkpoint.save_state(state, path)
    assert same(state, checkpoint.load(path))


def test_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.npz"
    checkpoint.save_state({"a": 1}, path)
    with pytest.raises(InputError, match=r"state\.b\[1\].*object"):
        checkpoint.save_state({"b": [1, object()]}, path)
    with pytest.raises(InputError, match="arrays of numbers"):
        checkpoint.save_state({"b": np.array([None])}, path)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "disk is full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"c\.npz cannot be written: No space .* before stays"):
        checkpoint.save_state({"a": 2}, path)
    assert checkpoint.load(path) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["c.npz"]


@pytest.mark.skipif(os.name != "posix", reason="file modes are of POSIX")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_mode_is_that_of_any_new_file(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        checkpoint.save_state({"x": 1}, tmp_path / "c.npz")
    finally:
        os.umask(before)
    assert (tmp_path / "c.npz").stat().st_mode & 0o777 == mode


def test_wrong_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.npz"
    with pytest.raises(InputError, match="no such checkpoint"):
        checkpoint.load(path)
    path.write_text("hello")
    with pytest.raises(InputError, match="not a checkpoint"):
        checkpoint.load(path)
    np.savez(path, x=np.zeros(3))
    with pytest.raises(InputError, match="not a checkpoint of berm"):
        checkpoint.load(path)
    checkpoint.save_state({"x": np.arange(1000)}, path)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match="truncated"):
            checkpoint.load(path)
    monkeypatch.setattr(checkpoint, "VERSION", 99)
    checkpoint.save_state({"x": 1}, path)
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"version.*got 99; allowed: 2"):
        checkpoint.load(path)
    monkeypatch.setattr(checkpoint, "VERSION", 1)  # that of before
    checkpoint.save_state({"x": 1}, path)
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"version.*got 1; allowed: 2 \(written by berm"):
        checkpoint.load(path)


def test_tampering_is_noticed(tmp_path: Path) -> None:
    path, other = tmp_path / "c.npz", tmp_path / "d.npz"
    checkpoint.save_state({"x": np.arange(10), "y": 1}, path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'"y": 1', b'"y": 2'))
    with pytest.raises(InputError, match="damaged"):
        checkpoint.load(other)
    data = bytearray(path.read_bytes())
    data[data.index(np.arange(10).tobytes()) + 3] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError):
        checkpoint.load(path)


def test_world_continues_bit_for_bit(tmp_path: Path) -> None:
    """A restart from a file gives the same bits, and the same recording, as a run in one go."""
    from berm.core.shapes import Box
    from berm.io.recording import Recorder, Recording
    from berm.world.emitters import Emitter
    from berm.world.world import World

    def build() -> World:
        world = World(seed=5)
        world.add_body(Box((0.4, 0.4, 0.4), inside=True, open_top=True), name="bin")
        world.add_grains([[0, 0, 0], [0.05, 0, 0.1]], [0.03, 0.02])
        world.add_emitter(Emitter(200.0, (0, 0, 0.1), size=0.1, radius=(0.01, 0.02)))
        return world

    whole, first, second = build(), build(), build()
    whole.run(0.5, recorders=[Recorder(tmp_path / "whole.h5", every=0.1)])
    recorder = Recorder(tmp_path / "parts.h5", every=0.1)
    first.run(0.25, recorders=[recorder])
    checkpoint.save(first, tmp_path / "c.npz")
    first.run(0.2, recorders=[recorder])  # given up: what comes after the checkpoint is dropped
    second.restore(checkpoint.load(tmp_path / "c.npz"))
    report = second.report  # what a check reads where no step is left to do
    assert (report.step, report.grains) == (15, second.grains.n)
    assert report.contacts + report.wall_contacts > 0 and report.kinetic_energy > 0
    second.run(0.25, recorders=[Recorder(tmp_path / "parts.h5", every=0.1, append=True)])
    assert same(whole.state(), second.state())
    with Recording(tmp_path / "whole.h5") as a, Recording(tmp_path / "parts.h5") as b:
        np.testing.assert_array_equal(a.times, b.times)
        np.testing.assert_array_equal(a.columns["contacts"], b.columns["contacts"])
        for one, other in zip(a, b, strict=True):
            np.testing.assert_array_equal(one.position, other.position)
            np.testing.assert_array_equal(one.tag, other.tag)
            np.testing.assert_array_equal(one.bodies["bin"].force, other.bodies["bin"].force)
        assert [m["name"] for m in b.materials] == ["steel", "gravel"]
