"""VTKHDF for ParaView: grains as points that change in number, all else as triangles.

`out.vtkhdf` holds the grains, `out_fixed_bodies.vtkhdf` and `out_moving_bodies.vtkhdf` the bodies
that stay and those that move, `out_cloths.vtkhdf` the cloths, `out_ground.vtkhdf` a terrain.  One
file with all would be a transient collection, which VTK 9.3 (ParaView 5.12) does not read and VTK
9.7 reads without its time; transient PolyData is read by all.  The layout is that of VTK's file
format specification, version 2.0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import ArrayLike, NDArray

from berm.exports.base import FORMATS
from berm.exports.selection import OF_BODY, BodyMesh, Selection
from berm.io.ground import GroundFrame
from berm.io.layout import berm_version
from berm.io.reading import Frame
from berm.stage.ground import StageGround, surface
from berm.stage.stage import StageCloth

Array = NDArray[Any]
VERSION = (2, 0)
CELLS = ("Vertices", "Lines", "Polygons", "Strips")  # the order of the columns of the offsets
CHUNKS = 1 << 10, 1 << 17  # smallest and largest size of a chunk, bytes


@FORMATS.register("vtkhdf")
@dataclass(frozen=True)
class VtkHdf:
    """Transient PolyData: a file for the grains, one for each kind of body, one for cloths."""

    def paths(self, out: Path, selection: Selection) -> list[Path]:
        """Return the grains' file and those of the bodies and cloths that there are."""
        names = ["", *(name for name, _ in _triangle_files(selection))]
        return [out.with_name(out.stem + name + out.suffix) for name in names]

    def write(self, selection: Selection, paths: list[Path]) -> None:
        """Write all files in one pass over the frames."""
        about = {
            "berm": berm_version(),
            "scene": selection.recording.scene,
            "materials": selection.material_names,
            "bodies": [body["name"] for body in selection.recording.bodies],
            "cloths": [cloth["name"] for cloth in selection.recording.cloths],
        }
        files: list[_Grains | _Triangles] = [_Grains(paths[0], about, selection)]
        try:
            for path, (_, make) in zip(paths[1:], _triangle_files(selection), strict=True):
                files.append(make(path, about))
            for frame in selection:
                for file in files:
                    file.add(frame)
        finally:
            for file in files:
                file.data.close()


def _triangle_files(selection: Selection) -> list[tuple[str, Callable[..., _Triangles]]]:
    """Return the ends of the names of the files beside the grains', and who writes them."""
    fixed = [body for body in selection.bodies if body.fixed]
    moving = [body for body in selection.bodies if not body.fixed]
    files: list[tuple[str, Callable[..., _Triangles]]] = []
    if fixed:
        files.append(("_fixed_bodies", partial(_Bodies, bodies=fixed)))
    if moving:
        files.append(("_moving_bodies", partial(_Bodies, bodies=moving)))
    if selection.cloths:
        files.append(("_cloths", partial(_Cloths, cloths=selection.cloths)))
    if selection.ground is not None:
        files.append(("_ground", partial(_Ground, ground=selection.ground)))
    return files


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
                faces = [body.surface.faces for body in there]
                counts = [len(body.surface.vertices) for body in there]
                numbers = {
                    "body": [body.number for body in there],
                    "material": [body.material for body in there],
                }
                self.data.set_triangles(counts, faces, numbers)
        self.shown = there
        for name in OF_BODY:
            values = np.array([getattr(pose, name).ravel() for pose in poses])
            columns = 9 if name == "rotation" else 3
            self.data.put(f"FieldData/{name}", values.reshape(-1, columns))
        self.data.add_step(frame.time)


class _Cloths:
    """Writes the vertices of cloths in each frame, and their triangles when a cloth comes."""

    def __init__(self, path: Path, about: Mapping[str, Any], cloths: Sequence[StageCloth]) -> None:
        rows = sum(int(cloth.faces.max(initial=0)) + 1 for cloth in cloths)
        self.data = _PolyData(path, "Polygons", about, rows)
        self.cloths = cloths
        self.shown: list[StageCloth] | None = None

    def add(self, frame: Frame) -> None:
        there = [cloth for cloth in self.cloths if cloth.name in frame.cloths]
        places = [frame.cloths[cloth.name] for cloth in there]
        self.data.put("Points", np.concatenate([np.zeros((0, 3), np.float32), *places]))
        if there != self.shown:
            numbers = {
                "cloth": [cloth.id for cloth in there],
                "material": [cloth.material for cloth in there],
            }
            counts, faces = [len(place) for place in places], [cloth.faces for cloth in there]
            self.data.set_triangles(counts, faces, numbers)
        self.shown = there
        self.data.add_step(frame.time)


class _Ground:
    """Writes the ground of a terrain where it has changed: mesh, loose soil (m), soil's number."""

    def __init__(self, path: Path, about: Mapping[str, Any], ground: StageGround) -> None:
        self.ground = ground
        self.shown: GroundFrame | None = None
        self.data = _PolyData(path, "Polygons", about, 4096)

    def add(self, frame: Frame) -> None:
        now, known = frame.ground, self.shown
        assert now is not None
        if known is None or not np.array_equal(now.heights, known.heights):
            mesh = surface(self.ground, now.heights)
            self.data.put("Points", mesh.vertices)
            if known is None:
                self.data.set_triangles([len(mesh.vertices)], [mesh.faces], {})
        if known is None or not np.array_equal(now.loose, known.loose):
            self.data.put("PointData/loose", now.loose.ravel())
        if known is None or not np.array_equal(now.soil, known.soil):
            self.data.put("PointData/soil", now.soil.ravel())
        self.shown = now
        self.data.add_step(frame.time)


_Triangles = _Bodies | _Cloths | _Ground


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

    def set_triangles(
        self, counts: Sequence[int], faces: Sequence[Array], numbers: Mapping[str, Sequence[int]]
    ) -> None:
        """Take the triangles of several things from the coming step on.

        counts: vertices of each; faces: of each, counting from its first vertex; numbers: what
        cell data say of all triangles of each.
        """
        starts = np.cumsum([0, *counts])
        moved = [own.astype(np.int64) + start for own, start in zip(faces, starts, strict=False)]
        corners = np.concatenate([np.zeros((0, 3), np.int64), *moved])
        offsets = np.arange(0, corners.size + 1, 3)
        self.part = self.new_part(int(starts[-1]), corners.ravel(), offsets)
        for name, values in numbers.items():
            each = np.repeat(np.array(values, np.int32), [len(own) for own in faces])
            self.put(f"CellData/{name}", each)

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
