"""Shapes as flat arrays for the kernels: one by one, and all of a world in one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from berm.core.errors import InputError
from berm.core.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    HeightField,
    Mesh,
    Plane,
    Region,
    Shape,
    Sphere,
    Spheres,
)
from berm.kernels.geometry import distance as kd
from berm.kernels.geometry import heightfield as kh
from berm.kernels.geometry import mesh_grid as kg
from berm.kernels.geometry.mesh_build import build_mesh
from berm.kernels.walls.arrays import CELLS, FRAME, HEIGHTS, Shapes

Array = NDArray[Any]


@dataclass
class Packed:
    """A shape as flat arrays for the kernels; `mesh` holds those of triangle shapes."""

    shape: Shape | None
    kind: int
    prm: Array
    mesh: tuple[Any, ...] = ()
    version: int = 0  # of a height field


def pack(shape: Shape) -> Packed:
    """Flatten a shape for the kernels; triangle shapes get their search grid here."""
    prm = np.zeros(kd.PARAMS)
    prm[0] = -1.0 if getattr(shape, "inside", False) else 1.0
    if isinstance(shape, Plane):
        return Packed(shape, kd.PLANE, prm)
    if isinstance(shape, Sphere):
        prm[1] = shape.radius
        return Packed(shape, kd.SPHERE, prm)
    if isinstance(shape, Spheres):
        return _pack_spheres(shape)
    if isinstance(shape, Box):
        prm[1:4] = 0.5 * np.array(shape.size)
        prm[4] = shape.open_top
        return Packed(shape, kd.BOX, prm)
    if isinstance(shape, Capsule):
        prm[1:3] = shape.radius, 0.5 * shape.height
        return Packed(shape, kd.CAPSULE, prm)
    if isinstance(shape, Cylinder | Cone):
        return _pack_turned(shape, prm)
    if isinstance(shape, HeightField):
        return _pack_heights(shape, prm)
    if isinstance(shape, Mesh):
        return _pack_mesh(shape, prm)
    raise InputError("shape", type(shape).__name__, "one of berm.core.shapes")


def _pack_spheres(shape: Spheres) -> Packed:
    """Flatten a union of spheres, with the ball around them all in front."""
    each = np.column_stack([shape.centres, shape.radii])
    low, high = (each[:, :3] - each[:, 3:]).min(axis=0), (each[:, :3] + each[:, 3:]).max(axis=0)
    middle = 0.5 * (low + high)
    reach = (np.linalg.norm(each[:, :3] - middle, axis=1) + each[:, 3]).max()
    prm = np.concatenate([[1.0, len(each)], middle, [reach], each.ravel()])
    return Packed(shape, kd.SPHERES, np.pad(prm, (0, max(0, kd.PARAMS - len(prm)))))


def _pack_turned(shape: Cylinder | Cone, prm: Array) -> Packed:
    """Flatten a cylinder or cone to the corners of its section, counter-clockwise in (rho, z)."""
    bottom, top = (
        (shape.radius, shape.radius)
        if isinstance(shape, Cylinder)
        else (shape.radius_bottom, shape.radius_top)
    )
    h = 0.5 * shape.height
    slant = np.hypot(bottom - top, 2.0 * h)
    prm[9:11] = 2.0 * h / slant, (bottom - top) / slant
    if not shape.open_ends:
        prm[1:9] = -bottom, -h, bottom, -h, top, h, -top, h
        return Packed(shape, kd.CONE, prm)
    wall = float(shape.wall or 0.0)
    if not shape.inside:
        bottom, top = bottom - wall, top - wall
    prm[0] = 1.0  # a tube is a solid whichever face its radius names
    prm[1:9] = bottom, -h, bottom + wall, -h, top + wall, h, top, h
    return Packed(shape, kd.TUBE, prm)


def _pack_heights(shape: HeightField, prm: Array) -> Packed:
    """Flatten a height field; its triangles stay implicit, and its tiles stand for a field."""
    nx, ny = shape.heights.shape
    frame, heights = np.zeros(FRAME), np.empty((nx, ny))
    tiles = np.zeros(2 * int(kh.tiles_along(nx)) * int(kh.tiles_along(ny)), np.float32)
    mesh = (
        np.zeros((0, 3, 3)), np.zeros((0, 7, 3)), frame, np.array([nx, ny, 0], np.int64),
        np.zeros(1, np.int64), np.zeros(0, np.int32), tiles,
        np.zeros((0, 3), np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64),
        heights,
    )  # fmt: skip
    frame[:3] = *shape.origin, shape.cell
    _write_heights(shape, (0, nx, 0, ny), frame, tiles, heights)
    return Packed(shape, kd.HEIGHT, prm, mesh, shape.version)


def _write_heights(
    shape: HeightField, region: Region, frame: Array, tiles: Array, kept: Array
) -> None:
    """Copy a region of a height field, and what follows from it."""
    i0, i1, j0, j1 = region
    kept[i0:i1, j0:j1] = shape.heights[i0:i1, j0:j1]
    kh.fill_tiles(kept, shape.cell, i0, i1, j0, j1, tiles)
    frame[4], frame[5] = tiles[::2].max(), tiles[1::2].min()


def _pack_mesh(shape: Mesh, prm: Array) -> Packed:
    """Flatten a mesh and build its search grid."""
    mesh = build_mesh(shape.vertices, shape.faces, not shape.two_sided, shape.inside)
    return Packed(shape, kd.MESH, prm, (*mesh, np.zeros((0, 0))))


def signed_distance(shape: Shape | Packed, points: ArrayLike) -> tuple[Array, Array]:
    """Return distance (k,) in m, positive where grains live, and its gradient (k, 3).

    points (k, 3) are in the body's frame. A sheet (two-sided mesh) has no inside: its distance is
    never negative. `pack` a mesh first where it is asked often: its grid takes time to build.
    """
    where = np.ascontiguousarray(np.atleast_2d(points), dtype=np.float64)
    packed = shape if isinstance(shape, Packed) else pack(shape)
    out = np.empty((len(where), 4))
    if packed.kind == kd.MESH:
        kg.mesh_distance_many(*packed.mesh[:7], where, out)
    elif packed.kind == kd.HEIGHT:
        kh.height_distance_many(packed.mesh[-1], packed.mesh[2], where, out)
    else:
        kd.distance_many(packed.kind, packed.prm, where, out)
    return out[:, 0], out[:, 1:]


class ShapeTable:
    """The shapes of all bodies of a world, in the order of the bodies, as `arrays`.

    A shape is packed when it comes and kept while a body has it; bodies that share one share its
    triangles. `pack_one` says how a single shape is flattened.
    """

    def __init__(self, pack_one: Callable[[Any], Packed] = pack) -> None:
        self._pack_one = pack_one
        self._packed: dict[int, Packed] = {}  # by id, which Packed keeps from being used again
        self.shapes: list[Any] = []
        self._meshes: list[int] = []
        self._columns = _join([])
        self._fill([])

    def __len__(self) -> int:
        return len(self.shapes)

    def follow(self, shapes: Sequence[Any]) -> bool:
        """Take over the shapes of all bodies; return whether any are others than before."""
        changed = self._follow_ground()
        if len(shapes) == len(self.shapes) and all(map(is_same, shapes, self.shapes)):
            return changed
        old, self._packed = self._packed, {}
        for shape in shapes:
            key = id(shape)
            if key not in self._packed:
                self._packed[key] = old[key] if key in old else self._pack_one(shape)
        self.shapes = list(shapes)
        meshes = [key for key, one in self._packed.items() if one.mesh]
        if meshes != self._meshes:
            self._meshes, self._columns = meshes, _join([self._packed[key] for key in meshes])
        self._fill([self._packed[id(shape)] for shape in shapes])
        return True

    def _follow_ground(self) -> bool:
        """Take over what was updated of height fields; return whether anything was."""
        changed = False
        for m, key in enumerate(self._meshes):
            one = self._packed[key]
            shape = one.shape
            if not isinstance(shape, HeightField) or shape.version == one.version:
                continue
            changed = True
            if one.kind != kd.HEIGHT:  # its triangles are listed
                self._packed[key] = self._pack_one(shape)
                self._columns = _join([self._packed[other] for other in self._meshes])
                self._fill([self._packed[id(other)] for other in self.shapes])
                continue
            ranges, frame, tiles, heights = (self._columns[c] for c in (0, 3, 7, 11))
            low, high = ranges[m], ranges[m + 1]
            flat = heights[low[HEIGHTS] : high[HEIGHTS]].reshape(one.mesh[10].shape)
            for region in shape.changes_since(one.version):
                _write_heights(shape, region, one.mesh[2], one.mesh[6], one.mesh[10])
                _write_heights(shape, region, frame[m], tiles[low[CELLS] : high[CELLS]], flat)
            one.version = shape.version
        return changed

    def _fill(self, packed: list[Packed]) -> None:
        number = {key: k for k, key in enumerate(self._meshes)}
        wide = max([kd.PARAMS, *(len(one.prm) for one in packed)])
        prm = np.zeros((len(packed), wide))
        for row, one in zip(prm, packed, strict=True):
            row[: len(one.prm)] = one.prm
        self.arrays = Shapes(
            np.array([one.kind for one in packed], np.int64),
            prm,
            np.array([number.get(id(one.shape), -1) for one in packed], np.int64),
            *self._columns,
        )


def updates_of(shapes: Sequence[Any]) -> int:
    """How often the height fields among these shapes were updated, in all."""
    return sum(shape.updates for shape in shapes if isinstance(shape, HeightField))


def is_same(one: Any, other: Any) -> bool:
    """Whether two names stand for one object."""
    return one is other


def _join(meshes: list[Packed]) -> tuple[Array, ...]:
    """Return ranges and common arrays of all meshes and height fields, as `Shapes` has them."""
    empty = (
        np.zeros((0, 3, 3)), np.zeros((0, 7, 3)), np.zeros(FRAME), np.zeros(3, np.int64),
        np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32),
        np.zeros((0, 3), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0),
    )  # fmt: skip
    parts = [(*one.mesh[:10], one.mesh[10].reshape(-1)) for one in meshes] or [empty]
    columns = list(zip(*parts, strict=True))
    frame, dims = np.array(columns[2]), np.array(columns[3])
    tri, normals, starts, members, field, corners, fan_starts, fans, heights = (
        np.concatenate(columns[c]) for c in (0, 1, 4, 5, 6, 7, 8, 9, 10)
    )
    sizes = [[len(part[c]) for c in (0, 4, 5, 6, 8, 9, 10)] for part in parts]
    ranges = np.concatenate([[[0] * 7], np.cumsum(sizes, axis=0)]).astype(np.int64)
    return (
        ranges, tri, normals, frame, dims, starts, members, field, corners, fan_starts, fans,
        heights,
    )  # fmt: skip
