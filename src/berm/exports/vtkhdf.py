"""VTKHDF for ParaView: grains as points that change in number, bodies as triangles beside them.

`out.vtkhdf` holds the grains, `out_fixed_bodies.vtkhdf` and `out_moving_bodies.vtkhdf` the bodies
that stay and those that move.  One file with all of them would be a transient collection, which
VTK 9.3 (ParaView 5.12) does not read and VTK 9.7 reads without its time; transient PolyData is read
by all.  The layout is that of VTK's file format specification, version 2.0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import ArrayLike, NDArray

from berm.exports.base import FORMATS
from berm.exports.selection import OF_BODY, BodyMesh, Selection
from berm.io.layout import berm_version
from berm.io.reading import Frame

Array = NDArray[Any]
VERSION = (2, 0)
CELLS = ("Vertices", "Lines", "Polygons", "Strips")  # the order of the columns of the offsets
CHUNKS = 1 << 10, 1 << 17  # smallest and largest size of a chunk, bytes


@FORMATS.register("vtkhdf")
@dataclass(frozen=True)
class VtkHdf:
    """Transient PolyData: a file for the grains and one for each kind of body."""

    def paths(self, out: Path, selection: Selection) -> list[Path]:
        """Return the grains' file and those of the bodies that there are."""
        kinds = [body.fixed for body in selection.bodies]
        names = [""] + ["_fixed_bodies"] * (True in kinds) + ["_moving_bodies"] * (False in kinds)
        return [out.with_name(out.stem + name + out.suffix) for name in names]

    def write(self, selection: Selection, paths: list[Path]) -> None:
        """Write all files in one pass over the frames."""
        about = {
            "berm": berm_version(),
            "scene": selection.recording.scene,
            "materials": selection.material_names,
            "bodies": [body["name"] for body in selection.recording.bodies],
        }
        kinds = [[b for b in selection.bodies if b.fixed is fixed] for fixed in (True, False)]
        files: list[_Grains | _Bodies] = [_Grains(paths[0], about, selection)]
        try:
            for path, bodies in zip(paths[1:], filter(None, kinds), strict=True):
                files.append(_Bodies(path, about, bodies))
            for frame in selection:
                for file in files:
                    file.add(frame)
        finally:
            for file in files:
                file.data.close()


class _Grains:
    """Writes each grain as a point with a vertex cell, so that every filter takes it."""

    def __init__(self, path: Path, about: Mapping[str, Any], selection: Selection) -> None:
        self.data = _PolyData(path, "Vertices", about, int(selection.counts.max()))
        self.names = ("radius", "tag", "material", *selection.fields)
        self.parts: dict[int, _Part | None] = {}  # by number of grains

    def add(self, frame: Frame) -> None:
        count = len(frame)
        if count not in self.parts:
            self.parts[count] = self.data.new_part(count, np.arange(count), np.arange(count + 1))
        self.data.part = self.parts[count]
        self.data.put("Points", frame.position)
        for name in self.names:
            self.data.put(f"PointData/{name}", getattr(frame, name))
        self.data.add_step(frame.time)


class _Bodies:
    """Writes the triangles of bodies where they are; what does not change is written once."""

    def __init__(self, path: Path, about: Mapping[str, Any], bodies: Sequence[BodyMesh]) -> None:
        rows = sum(len(body.surface.vertices) for body in bodies)
        self.data = _PolyData(path, "Polygons", about, rows)
        self.bodies = bodies
        self.shown: list[BodyMesh] | None = None

    def add(self, frame: Frame) -> None:
        there = [body for body in self.bodies if body.name in frame.bodies]
        poses = [frame.bodies[body.name] for body in there]
        if there != self.shown or not all(body.fixed for body in there):
            placed = [
                body.surface.vertices @ pose.rotation.T + pose.position
                for body, pose in zip(there, poses, strict=True)
            ]
            points = np.concatenate([np.zeros((0, 3)), *placed]).astype(np.float32)
            self.data.put("Points", points)
            if there != self.shown:
                self._new_part(there, len(points))
        self.shown = there
        for name in OF_BODY:
            values = np.array([getattr(pose, name).ravel() for pose in poses])
            columns = 9 if name == "rotation" else 3
            self.data.put(f"FieldData/{name}", values.reshape(-1, columns))
        self.data.add_step(frame.time)

    def _new_part(self, bodies: Sequence[BodyMesh], points: int) -> None:
        """Write the triangles of these bodies, and of each triangle its body and material."""
        sizes = [len(body.surface.faces) for body in bodies]
        starts = np.cumsum([0, *(len(body.surface.vertices) for body in bodies)])[:-1]
        faces = [
            body.surface.faces.astype(np.int64) + start
            for body, start in zip(bodies, starts, strict=True)
        ]
        corners = np.concatenate([np.zeros((0, 3), np.int64), *faces])
        offsets = np.arange(0, corners.size + 1, 3)
        self.data.part = self.data.new_part(points, corners.ravel(), offsets)
        for name, number in (("body", "number"), ("material", "material")):
            numbers = np.array([getattr(body, number) for body in bodies], np.int32)
            self.data.put(f"CellData/{name}", np.repeat(numbers, sizes))


class _Part(NamedTuple):
    """A number of points and the cells on them, which any number of steps may use."""

    number: int
    cells: int  # before it
    ids: int  # of points in the cells before it


class _PolyData:
    """A transient PolyData file: what a step does not set stays as it was in the step before."""

    def __init__(self, path: Path, kind: str, about: Mapping[str, Any], rows: int) -> None:
        self.file = h5py.File(path, "w")
        self.root = self.file.create_group("VTKHDF")
        self.root.attrs["Version"] = np.array(VERSION)
        self.root.attrs["Type"] = np.bytes_("PolyData")  # VTK wants it in ASCII
        texts = {key: v if isinstance(v, str) else json.dumps(v) for key, v in about.items()}
        self.file.create_group("berm").attrs.update(texts)  # VTK passes other groups over
        self.kind = kind
        self.rows = rows  # of the arrays of a step, more or less
        self.part: _Part | None = None  # of the coming step; None: without points
        self.next_part = _Part(0, 0, 0)
        self.times: list[float] = []
        self.parts: list[_Part | None] = []
        self.at: dict[str, int] = {}  # where the present values of a dataset begin
        self.size: dict[str, int] = {}  # and how many rows they have
        self.offsets: dict[str, list[Any]] = {}  # both, of each step

    def new_part(self, points: int, connectivity: Array, offsets: Array) -> _Part | None:
        """Write cells on so many points; set `part` to the result to use them."""
        return self._write_part(points, connectivity, offsets) if points else None

    def put(self, path: str, values: Array) -> None:
        """Take new Points, or values of an array of PointData, CellData or FieldData."""
        self.at[path], self.size[path] = self._append(path, values), len(values)

    def add_step(self, time: float) -> None:
        """End the step at `time` (s)."""
        self.times.append(float(time))
        self.parts.append(self.part)
        for path, start in self.at.items():
            where, _, name = path.partition("/")
            offsets = f"{where}Offsets/{name}" if name else "PointOffsets"
            self.offsets.setdefault(offsets, []).append(start)
            if where == "FieldData":
                size = [self.root[path].shape[1], self.size[path]]
                self.offsets.setdefault(f"FieldDataSizes/{name}", []).append(size)

    def close(self) -> None:
        """Write where each step's data begin, and close the file."""
        if self.times:
            self._write_steps()
        self.file.close()

    def _write_steps(self) -> None:
        # Last, because VTK from 9.4 on finds the cells of a part by counting those before it, and
        # miscounts after one without cells.
        if None in self.parts:
            empty = self._write_part(0, np.zeros(0), np.zeros(1))
            self.parts = [part or empty for part in self.parts]
        numbers, cells, ids = np.array(self.parts).T
        own = np.array([kind == self.kind for kind in CELLS], np.int64)
        steps = self.root.create_group("Steps")
        steps.attrs["NSteps"] = len(self.times)
        steps["Values"] = np.array(self.times)
        steps["PartOffsets"] = numbers
        steps["NumberOfParts"] = np.ones_like(numbers)
        steps["CellOffsets"] = cells[:, None] * own
        steps["ConnectivityIdOffsets"] = ids[:, None] * own
        for name, rows in self.offsets.items():
            steps[name] = np.array(rows)

    def _write_part(self, points: int, connectivity: Array, offsets: Array) -> _Part:
        part = self.next_part
        self._append("NumberOfPoints", [points])
        for kind in CELLS:
            own = kind == self.kind
            ids = connectivity if own else np.zeros(0)
            ends = offsets if own else np.zeros(1)  # one more than cells, in every part
            self._append(f"{kind}/NumberOfCells", [len(ends) - 1])
            self._append(f"{kind}/NumberOfConnectivityIds", [len(ids)])
            self._append(f"{kind}/Connectivity", ids.astype(np.int64))
            self._append(f"{kind}/Offsets", ends.astype(np.int64))
        cells, ids_so_far = part.cells + len(offsets) - 1, part.ids + len(connectivity)
        self.next_part = _Part(part.number + 1, cells, ids_so_far)
        return part

    def _append(self, path: str, rows: ArrayLike) -> int:
        """Append rows to a dataset, which the first call makes, and return the first new row."""
        values = np.asarray(rows)
        if path not in self.root:
            row = values.shape[1:]
            width = values.dtype.itemsize * int(np.prod(row, dtype=int))
            shape = {"shape": (0, *row), "maxshape": (None, *row)}
            size = min(max(width * self.rows, CHUNKS[0]), CHUNKS[1])
            chunks = (max(1, size // width), *row)
            self.root.create_dataset(path, dtype=values.dtype, chunks=chunks, **shape)
        table = self.root[path]
        start = int(table.shape[0])
        table.resize(start + len(values), axis=0)
        table[start:] = values
        return start
