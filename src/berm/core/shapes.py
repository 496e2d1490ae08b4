"""Shapes of the boundaries that grains collide with, each in its body's own frame, in metres.

A shape only describes: distances live in `berm.kernels.geometry.distance`, contacts in
`berm.solvers.walls.walls`. `inside=True` turns a solid inside out: grains live inside it and
everything outside is solid.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from berm.core.checks import check_spheres
from berm.core.errors import InputError

MESH_SUFFIXES = (".stl", ".obj", ".ply")

# Below this ratio of area to squared longest edge a triangle has no usable normal.
_SLIVER = 1e-12


def _number(shape: str, name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        raise InputError(f"{shape}.{name}", value, "a finite number of metres")
    return number


def _positive(shape: str, name: str, value: Any) -> float:
    number = _number(shape, name, value)
    if number <= 0.0:
        raise InputError(f"{shape}.{name}", value, "a length above 0 m")
    return number


def _array(shape: str, name: str, value: Any, columns: int) -> NDArray[np.float64]:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{shape}.{name}", value, f"numbers of shape (n, {columns})") from None
    if array.ndim != 2 or array.shape[1] != columns:
        raise InputError(f"{shape}.{name} shape", array.shape, f"(n, {columns})")
    return array


@dataclass(frozen=True)
class Plane:
    """Half-space: z < 0 is solid, the normal is +z."""


@dataclass(frozen=True)
class Sphere:
    """Ball about the origin, or with `inside` a spherical container."""

    radius: float
    inside: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive("Sphere", "radius", self.radius))


@dataclass(frozen=True)
class Box:
    """Box centred on the origin; `size` holds its full edge lengths.

    With `inside` it is a container; `open_top` takes away its lid, and its four walls then go
    up without end, so that nothing leaves over the rim.
    """

    size: tuple[float, float, float]
    inside: bool = False
    open_top: bool = False

    def __post_init__(self) -> None:
        try:
            edges = tuple(self.size)
        except TypeError:
            edges = ()
        if len(edges) != 3:
            raise InputError("Box.size", self.size, "three edge lengths (x, y, z) above 0 m")
        a, b, c = (_positive("Box", "size", edge) for edge in edges)
        object.__setattr__(self, "size", (a, b, c))
        if self.open_top and not self.inside:
            raise InputError("Box.open_top", True, "only together with inside=True")


@dataclass(frozen=True)
class Cone:
    """Truncated cone about z, centred: `radius_bottom` at -height/2, `radius_top` at +height/2.

    With `open_ends` it is a tube of thickness `wall` (default a tenth of the larger radius): the
    radii are those of the bore when `inside`, else those of the outer face.
    """

    radius_bottom: float
    radius_top: float
    height: float
    inside: bool = False
    open_ends: bool = False
    wall: float | None = None

    def __post_init__(self) -> None:
        _check_turned(self, "Cone", ("radius_bottom", "radius_top"))


@dataclass(frozen=True)
class Cylinder:
    """Cylinder about z, centred; `open_ends` and `wall` as for `Cone`."""

    radius: float
    height: float
    inside: bool = False
    open_ends: bool = False
    wall: float | None = None

    def __post_init__(self) -> None:
        _check_turned(self, "Cylinder", ("radius",))


def _check_turned(shape: Any, kind: str, names: tuple[str, ...]) -> None:
    """Check what cones and cylinders share, and settle the default wall thickness."""
    radii = []
    for name in names:
        number = _number(kind, name, getattr(shape, name))
        if number < 0.0 or (len(names) == 1 and number == 0.0):
            raise InputError(f"{kind}.{name}", getattr(shape, name), "a radius above 0 m")
        radii.append(number)
        object.__setattr__(shape, name, number)
    if max(radii) == 0.0:
        raise InputError(f"{kind} radii", tuple(radii), "at least one radius above 0 m")
    object.__setattr__(shape, "height", _positive(kind, "height", shape.height))
    if not shape.open_ends:
        if shape.wall is not None:
            raise InputError(f"{kind}.wall", shape.wall, "only together with open_ends=True")
        return
    default = 0.1 * max(radii)
    if not shape.inside:
        default = min(default, 0.5 * min(radii))
    wall = default if shape.wall is None else shape.wall
    if not shape.inside and not 0.0 < _number(kind, "wall", wall) < min(radii):
        raise InputError(f"{kind}.wall", wall, f"between 0 and the smaller radius, {min(radii)} m")
    object.__setattr__(shape, "wall", _positive(kind, "wall", wall))


@dataclass(frozen=True)
class Capsule:
    """Capsule about z: `height` is the length of its straight part, between the cap centres."""

    radius: float
    height: float
    inside: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive("Capsule", "radius", self.radius))
        object.__setattr__(self, "height", _positive("Capsule", "height", self.height))


MOST_SPHERES = 200  # of one shape


@dataclass(frozen=True, eq=False)
class Spheres:
    """Union of up to 200 spheres: `centres` (k, 3) and `radii` (k,) in m; one radius fits all.

    A rock of a few that overlap costs little wherever bodies meet.
    """

    centres: NDArray[np.float64]
    radii: NDArray[np.float64]

    def __post_init__(self) -> None:
        centres, radii = check_spheres("Spheres", self.centres, self.radii, "centres")
        if len(radii) > MOST_SPHERES:
            raise InputError("Spheres: number of spheres", len(radii), f"1..{MOST_SPHERES}")
        for name, array in (("centres", centres), ("radii", radii)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)


CHANGES_KEPT = 256  # updates of a height field that are known one by one
Region = tuple[int, int, int, int]  # i0, i1, j0, j1: heights[i0:i1, j0:j1]
_versions = itertools.count()  # of all height fields


@dataclass(frozen=True, eq=False)
class HeightField:
    """Ground: solid below the triangulated heights, nothing beyond its edges.

    `heights` (nx, ny) in m stands at x = origin[0] + i cell, y = origin[1] + j cell; each cell is
    cut along the diagonal from (i, j) to (i+1, j+1). Heights change by `update` only.
    """

    heights: NDArray[np.float64]
    cell: float
    origin: tuple[float, float] = (0.0, 0.0)
    _updates: int = field(init=False, default=0, repr=False)
    _version: int = field(init=False, default_factory=lambda: next(_versions), repr=False)
    _changes: list[tuple[int, Region]] = field(init=False, default_factory=list, repr=False)
    _first: NDArray[np.float64] = field(
        init=False, default_factory=lambda: np.zeros((0, 0)), repr=False
    )  # heights of the beginning, once they have changed

    def __post_init__(self) -> None:
        try:
            heights = np.array(self.heights, dtype=np.float64, order="C")
        except (TypeError, ValueError):
            raise InputError("HeightField.heights", self.heights, "numbers (nx, ny)") from None
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise InputError("HeightField.heights shape", heights.shape, "(nx, ny), each >= 2")
        bad = np.argwhere(~np.isfinite(heights))
        if len(bad):
            i, j = (int(k) for k in bad[0])
            raise InputError(
                f"HeightField.heights[{i}, {j}]", float(heights[i, j]), "finite heights in m"
            )
        heights.flags.writeable = False
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "cell", _positive("HeightField", "cell", self.cell))
        try:
            x, y = self.origin
        except (TypeError, ValueError):
            raise InputError("HeightField.origin", self.origin, "(x, y) in m") from None
        pair = (_number("HeightField", "origin", x), _number("HeightField", "origin", y))
        object.__setattr__(self, "origin", pair)

    @property
    def updates(self) -> int:
        """How often the heights were updated."""
        return self._updates

    @property
    def version(self) -> int:
        """A number that no other heights have or had, of this field or another."""
        return self._version

    def update(self, region: tuple[tuple[int, int], tuple[int, int]], heights: ArrayLike) -> None:
        """Give heights[i0:i1, j0:j1] other values (m); region: ((i0, i1), (j0, j1)).

        Solvers take it over before their next step, at a cost that follows the region. Ground that
        is raised under grains throws them out.
        """
        try:
            (i0, i1), (j0, j1) = ((int(low), int(high)) for low, high in region)
            whole = region == ((i0, i1), (j0, j1))
        except (TypeError, ValueError):
            raise InputError(
                "HeightField.update: region", region, "((i0, i1), (j0, j1)), whole numbers"
            ) from None
        nx, ny = self.heights.shape
        if not (whole and 0 <= i0 < i1 <= nx and 0 <= j0 < j1 <= ny):
            raise InputError(
                "HeightField.update: region", region,
                f"((i0, i1), (j0, j1)) with 0 <= i0 < i1 <= {nx} and 0 <= j0 < j1 <= {ny}",
            )  # fmt: skip
        try:
            given = np.broadcast_to(np.asarray(heights, np.float64), (i1 - i0, j1 - j0))
        except (TypeError, ValueError):
            raise InputError(
                "HeightField.update: heights", np.shape(heights), f"numbers {(i1 - i0, j1 - j0)}"
            ) from None
        if not np.isfinite(given).all():
            raise InputError("HeightField.update: heights", "not finite", "finite heights in m")
        if not len(self._first):
            object.__setattr__(self, "_first", self.heights.copy())
        self._changes.append((self.version, (i0, i1, j0, j1)))
        del self._changes[:-CHANGES_KEPT]
        self._write(i0, i1, j0, j1, given, self.updates + 1)

    def _write(self, i0: int, i1: int, j0: int, j1: int, given: ArrayLike, updates: int) -> None:
        self.heights.flags.writeable = True
        self.heights[i0:i1, j0:j1] = given
        self.heights.flags.writeable = False
        object.__setattr__(self, "_updates", updates)
        object.__setattr__(self, "_version", next(_versions))

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs; no heights where they are those of the beginning."""
        return {"updates": self.updates} | (
            {"heights": self.heights.copy()} if self.updates else {}
        )

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        if not state["updates"] and not self.updates:
            return
        self._changes.clear()
        heights = state["heights"] if state["updates"] else self._first
        self._write(0, len(self.heights), 0, self.heights.shape[1], heights, int(state["updates"]))

    def changes_since(self, version: int) -> list[Region]:
        """Regions that were updated since `version`; all where that is not known one by one."""
        if version == self.version:
            return []
        for k, (before, _) in enumerate(self._changes):
            if before == version:
                return [region for _, region in self._changes[k:]]
        return [(0, self.heights.shape[0], 0, self.heights.shape[1])]


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangle mesh: `vertices` (nv, 3) in m, `faces` (nt, 3) vertex numbers.

    A closed mesh is a solid (with `inside`, a cavity in a solid); an open one is a thin sheet
    that grains meet on the side on which they are. `two_sided=True` makes a sheet of a closed
    mesh too. Equal vertices are merged; faces of a solid are turned to point to the grains.
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    two_sided: bool | None = None
    inside: bool = False
    name: str = "Mesh"
    closed: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        vertices = _array(self.name, "vertices", self.vertices, 3)
        raw = _array(self.name, "faces", self.faces, 3)
        if len(raw) == 0:
            raise InputError(f"{self.name}.faces", "no triangles", "at least one triangle")
        bad = np.flatnonzero(~np.isfinite(vertices).all(axis=1))
        if len(bad):
            k = int(bad[0])
            raise InputError(
                f"{self.name}.vertices[{k}]", vertices[k].tolist(), "finite coordinates in m"
            )
        bad = np.flatnonzero(((raw < 0) | (raw >= len(vertices)) | (raw % 1 != 0)).any(axis=1))
        if len(bad):
            k = int(bad[0])
            raise InputError(
                f"{self.name}.faces[{k}]", raw[k].tolist(), f"whole numbers 0..{len(vertices) - 1}"
            )
        flat = np.flatnonzero(degenerate(vertices, raw.astype(np.int64)))
        if len(flat):
            k = int(flat[0])
            raise InputError(
                f"{self.name}.faces[{k}]",
                vertices[raw[k].astype(np.int64)].tolist(),
                "triangles with an area above 0",
            )
        vertices, merged = np.unique(vertices, axis=0, return_inverse=True)
        faces = merged.reshape(-1)[raw.astype(np.int64)]
        closed, faces = _orient(vertices, faces)
        two_sided = not closed if self.two_sided is None else bool(self.two_sided)
        if not two_sided and not closed:
            raise InputError(
                f"{self.name}.two_sided", False, "True or None: the mesh is open, it has no inside"
            )
        if self.inside and two_sided:
            raise InputError(f"{self.name}.inside", True, "only for a closed, one-sided mesh")
        if self.inside:
            faces = np.ascontiguousarray(faces[:, ::-1])
        vertices.flags.writeable = False
        faces.flags.writeable = False
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)
        object.__setattr__(self, "two_sided", two_sided)
        object.__setattr__(self, "closed", closed)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        scale: float = 1.0,
        two_sided: bool | None = None,
        inside: bool = False,
    ) -> Mesh:
        """Read an STL, OBJ or PLY file; `scale` turns its unit into metres.

        Triangles without area, which CAD programs often write, are left out.
        """
        file = Path(path)
        if file.suffix.lower() not in MESH_SUFFIXES:
            raise InputError("mesh file", str(path), "a name ending in " + ", ".join(MESH_SUFFIXES))
        if not file.is_file():
            raise InputError("mesh file", str(path), "a file that exists")
        scale = _positive("Mesh", "scale", scale)
        import trimesh  # costs a second, so only where a mesh is read

        try:
            read = trimesh.load(str(file), force="mesh", process=False)
            vertices = np.asarray(read.vertices, dtype=np.float64)
            faces = np.asarray(read.faces, dtype=np.int64)
        except Exception as error:  # each of trimesh's readers fails in its own way
            raise InputError(
                "mesh file", str(path), f"a readable {file.suffix[1:].upper()} file", str(error)
            ) from error
        if vertices.size and np.isfinite(vertices).all() and faces.size:
            faces = faces[~degenerate(vertices, faces)]
        if not faces.size:
            raise InputError("mesh file", str(path), "a file with at least one triangle with area")
        return cls(vertices * scale, faces, two_sided, inside, file.name)


Shape = Plane | Sphere | Spheres | Box | Cylinder | Cone | Capsule | HeightField | Mesh


def degenerate(vertices: ArrayLike, faces: ArrayLike) -> NDArray[np.bool_]:
    """Return which triangles have no area, compared with their longest edge."""
    corners = np.asarray(vertices, dtype=np.float64)[np.asarray(faces, dtype=np.int64)]
    edges = np.roll(corners, -1, axis=1) - corners
    longest = (edges**2).sum(axis=2).max(axis=1)
    area = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    return ~(area > _SLIVER * longest)


def _volume(corners: NDArray[np.float64]) -> float:
    """Return the signed volume (m^3) that oriented triangles (nt, 3, 3) enclose."""
    corners = corners - corners.mean(axis=(0, 1))
    product = np.cross(corners[:, 0], corners[:, 1])
    return float((product * corners[:, 2]).sum() / 6.0)


def _orient(
    vertices: NDArray[np.float64], faces: NDArray[np.int64]
) -> tuple[bool, NDArray[np.int64]]:
    """Return whether each edge joins two faces, and then the faces turned to point outwards."""
    directed = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    _, edge, uses = np.unique(
        np.sort(directed, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    if not (uses == 2).all():
        return False, faces
    edge = edge.reshape(-1)
    pairs = np.argsort(edge, kind="stable").reshape(-1, 2)
    same = directed[pairs[:, 0], 0] == directed[pairs[:, 1], 0]
    if same.any():
        faces = _wind_alike(vertices, faces, pairs // 3, same)
    elif _volume(vertices[faces]) < 0.0:
        faces = faces[:, ::-1]
    return True, np.ascontiguousarray(faces)


def _wind_alike(
    vertices: NDArray[np.float64],
    faces: NDArray[np.int64],
    pairs: NDArray[np.int64],
    same: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Turn faces until neighbours agree, each connected part with a positive volume."""
    near: list[list[tuple[int, bool]]] = [[] for _ in faces]
    for (a, b), clash in zip(pairs.tolist(), same.tolist(), strict=True):
        near[a].append((b, clash))
        near[b].append((a, clash))
    turned = np.full(len(faces), -1)
    faces = faces.copy()
    for seed in range(len(faces)):
        if turned[seed] >= 0:
            continue
        turned[seed] = 0
        part = [seed]
        for face in part:  # grows while we walk it
            for other, clash in near[face]:
                if turned[other] < 0:
                    turned[other] = turned[face] ^ clash
                    part.append(other)
        members = np.array(part)
        flip = members[turned[members] == 1]
        faces[flip] = faces[flip][:, ::-1]
        if _volume(vertices[faces[members]]) < 0.0:
            faces[members] = faces[members][:, ::-1]
    return faces
