"""A recording that another run goes on with: cut where that run begins."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from berm.core.errors import StorageError
from berm.io import layout, storage
from berm.io.reading import Recording

TIME_SLACK = 1e-6  # of `every`: a step that ends this little before its frame is due counts
_COPY_ROWS = 1 << 18
# bytes: two chunks of each table, what a frame may take beside its own size
CHUNKS = 2 * sum(t.itemsize * math.prod(row) * chunk for t, row, chunk in layout.TABLES.values())


@dataclass
class Kept:
    """What a writer has to know of the file that it goes on with."""

    fields: tuple[str, ...]
    last_time: float  # s, of the last frame
    wall: float  # s of wall time spent
    bodies: list[str]
    cloths: list[str]
    terrain: str  # its name, if there is one
    materials: list[Any]
    extra: dict[str, int]  # columns of the steps beside the usual ones


def make_tables(file: h5py.File, fields: Iterable[str]) -> None:
    """Make the datasets that these fields need, all empty."""
    for name, (dtype, row, chunk) in layout.TABLES.items():
        if name not in layout.OPTIONAL_TABLES or layout.OPTIONAL_TABLES[name] in fields:
            shape = {"shape": (0, *row), "maxshape": (None, *row), "chunks": (chunk, *row)}
            file.create_dataset(name, dtype=dtype, **shape)


def keep_until(path: Path, time: float) -> Kept:
    """Copy what is not later than `time` to a new file, and put that in the old one's place.

    A copy, because HDF5 refuses to write to a file whose writer was killed.
    """
    part = path.with_name(path.name + ".part")
    needed, left = path.stat().st_size + CHUNKS, storage.room(part)
    if left < needed:
        raise StorageError(
            f"no room to go on with {path}, which is copied for that: {left / 1e6:.1f} MB are "
            f"free, it may take {needed / 1e6:.1f} MB"
        )
    try:
        with Recording(path) as old, h5py.File(part, "w", libver="latest") as new:
            kept = _copy_until(old, new, time)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return kept


def _copy_until(old: Recording, new: h5py.File, time: float) -> Kept:
    slack, last_time = 1e-9 * max(1.0, abs(time)), -math.inf
    make_tables(new, old.fields)
    new.attrs.update(old.file.attrs.items())
    frames = int(np.searchsorted(old.times, time + slack, side="right"))
    frames -= _ends_between(old.times[:frames], float(old.file.attrs["every"]))
    steps = int(np.searchsorted(old.columns["time"], time + slack, side="right"))
    rows = {"frames": frames, "steps": steps, "shapes": old.file["shapes"].shape[0]}
    if frames:
        index = old.file["frames"][:frames]
        last = int(index["row"][-1] + index["grains"][-1])
        rows.update(dict.fromkeys(("position", *layout.OPTIONAL_OF_GRAINS), last))
        rows["bodies"] = int(index["body_row"][-1] + index["bodies"][-1])
        rows["cloths"] = old.cloth_rows(frames - 1).stop
        rows["ground"], rows["ledger"] = old.ground_ends(frames - 1)
        rows["population"] = int((index["population"] + index["grains"]).max())
        last_time = float(index["time"][-1])
    for name, table in new.items():
        _copy(old.file[name], table, rows.get(name, 0))
    given_up = [n for n in old.notes if (n.get("time") or 0.0) > time + slack]
    kept = [entry for entry in old.log if entry not in given_up]
    lines = "".join(json.dumps(entry) + "\n" for entry in kept).encode()
    new["log"].resize(len(lines), axis=0)
    new["log"][:] = np.frombuffer(lines, dtype=np.uint8)
    return Kept(
        fields=tuple(old.fields),
        last_time=last_time,
        wall=float(new["steps"]["wall"][-1]) if steps else 0.0,
        bodies=[body["name"] for body in old.bodies],
        cloths=[cloth["name"] for cloth in old.cloths],
        terrain="" if old.terrain is None else str(old.terrain["name"]),
        materials=list(old.materials),
        extra={name: k for k, name in enumerate(old.extra_names)},
    )


def interval(time: float, every: float) -> int:
    """Return the number of the interval between frames that a time (s) lies in."""
    return math.floor(time / every + TIME_SLACK)


def _ends_between(times: np.ndarray, every: float) -> bool:
    """Return whether the last frame is the end of a run rather than one that was due.

    A run that goes on leaves it out, so that its frames are those of a run in one go.
    """
    return (
        len(times) > 1
        and every > 0
        and interval(float(times[-1]), every) == interval(float(times[-2]), every)
    )


def _copy(source: h5py.Dataset, target: h5py.Dataset, rows: int) -> None:
    target.resize(rows, axis=0)
    for start in range(0, rows, _COPY_ROWS):
        stop = min(start + _COPY_ROWS, rows)
        values = source[start:stop]
        if values.dtype.names != target.dtype.names:  # written before there were all columns
            whole = np.zeros(len(values), target.dtype)
            for name in set(layout.ABSENT) & set(whole.dtype.names or ()):
                whole[name] = layout.ABSENT[name]
            for name in values.dtype.names:
                whole[name] = values[name]
            values = whole
        target[start:stop] = values
