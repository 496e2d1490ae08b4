"""Triangles of every shape, in its body's frame, for whoever draws or exports a body.

Faces turn counter-clockwise as seen from where the grains live. Vertices are doubled along
creases, so that the mean of the normals of a vertex's faces is the normal to shade with.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
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
    Shape,
    Sphere,
    Spheres,
)
from berm.core.triangles import vertex_normals

Array = NDArray[Any]

ROUND = 96  # edges of a circle: the chord is off by 5e-4 of the radius
COARSEST = 16  # edges of a circle of a union of many spheres
HIDDEN = 1e-6  # of a radius: deeper in another sphere, a point is not seen
RIM = 0.06  # of a tube's bore: what is drawn of its wall at the ends
CREASE = 35.0  # degrees between two faces of a mesh from which on their edge is sharp


@dataclass(frozen=True, eq=False)
class Triangles:
    """A surface: vertices (nv, 3) float32 in m, normals (nv, 3) float32, faces (nf, 3) uint32.

    container: grains are inside, so a face that is seen from its back is left out and one looks in.
    """

    vertices: Array
    normals: Array
    faces: Array
    container: bool = False

    @property
    def two_sided(self) -> bool:
        """Whether faces are drawn from both sides."""
        return not self.container


def triangles(
    shape: Shape, half_width: float = 1.0, centre: ArrayLike = (0.0, 0.0), around: int = ROUND
) -> Triangles:
    """Return the surface of `shape`; a plane becomes a square patch.

    half_width (m) and centre (x, y in m, in the plane's own frame) place the patch; around is the
    number of edges of a circle.
    """
    if isinstance(shape, Plane):
        return _patch(half_width, np.asarray(centre, float))
    if isinstance(shape, Box):
        return _box(shape)
    if isinstance(shape, Sphere):
        return _turned([_arc(shape.radius, 0.0, -90.0, 90.0, around)], around, shape.inside)
    if isinstance(shape, Spheres):
        return _spheres(shape, around)
    if isinstance(shape, Capsule):
        return _capsule(shape, around)
    if isinstance(shape, Cylinder | Cone):
        return _cone(shape, around)
    if isinstance(shape, HeightField):
        return _heights(shape)
    if isinstance(shape, Mesh):
        return _mesh(shape)
    raise InputError("shape to draw", type(shape).__name__, "one of berm.core.shapes")


def sheet(vertices: Array, faces: Array) -> Triangles:
    """Return a surface through vertices (nv, 3), smooth and seen from both sides, such as cloth."""
    return _make(vertices, faces, container=False)


def _make(
    vertices: Array, faces: Array, container: bool, normals: Array | None = None
) -> Triangles:
    points = np.ascontiguousarray(vertices, np.float32)
    corners = np.ascontiguousarray(faces, np.uint32)
    if normals is None:
        normals = vertex_normals(vertices, corners)
    return Triangles(points, np.ascontiguousarray(normals, np.float32), corners, container)


def _patch(half_width: float, centre: Array) -> Triangles:
    if not (np.isfinite(half_width) and half_width > 0):
        raise InputError("half-width of a plane's patch", half_width, "a length above 0 m")
    x, y = centre
    a = half_width
    vertices = np.array(
        [[x - a, y - a, 0], [x + a, y - a, 0], [x + a, y + a, 0], [x - a, y + a, 0]]
    )
    return _make(vertices, np.array([[0, 1, 2], [0, 2, 3]]), container=True)


def _box(shape: Box) -> Triangles:
    half = 0.5 * np.array(shape.size)
    vertices: list[Array] = []
    faces: list[list[int]] = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            if shape.open_top and axis == 2 and side > 0:
                continue
            u, v = np.zeros(3), np.zeros(3)
            u[(axis + 1) % 3], v[(axis + 2) % 3] = 1.0, side  # u x v points along side * axis
            middle = np.zeros(3)
            middle[axis] = side
            corners = [middle - u - v, middle + u - v, middle + u + v, middle - u + v]
            first = 4 * len(vertices)
            vertices.append(np.array(corners) * half)
            faces += [[first, first + 1, first + 2], [first, first + 2, first + 3]]
    made = np.array(faces)
    return _make(np.vstack(vertices), made[:, ::-1] if shape.inside else made, shape.inside)


# ---- solids of revolution: lines of a section in (rho, z), outside on the right ---------------


def _arc(radius: float, z: float, start: float, stop: float, around: int) -> tuple[Array, Array]:
    """Return points and normals of a circular arc (degrees of latitude) about (0, z)."""
    steps = max(2, round(around * (stop - start) / 360.0))
    angle = np.radians(np.linspace(start, stop, steps + 1))
    normal = np.column_stack([np.cos(angle), np.sin(angle)])
    normal[np.abs(normal) < 1e-12] = 0.0  # a pole lies on the axis
    return radius * normal + (0.0, z), normal


def _line(a: tuple[float, float], b: tuple[float, float]) -> tuple[Array, Array]:
    """Return points and normals of a straight line from a to b."""
    along = np.array(b) - np.array(a)
    normal = np.array([along[1], -along[0]]) / np.hypot(*along)
    return np.array([a, b], float), np.tile(normal, (2, 1))


def _turned(section: list[tuple[Array, Array]], around: int, inside: bool) -> Triangles:
    """Turn the lines of a section about z; with `inside` the surface faces the other way."""
    turn = 2 * np.pi * np.arange(around) / around
    cos, sin = np.cos(turn)[:, None], np.sin(turn)[:, None]
    vertices: list[Array] = []
    normals: list[Array] = []
    faces: list[Array] = []
    first = 0
    for points, facing in section:
        rings = len(points)
        for target, line in ((vertices, points), (normals, facing)):
            rho, z = line[:, 0], np.tile(line[:, 1], (around, 1))
            target.append(np.stack([rho * cos, rho * sin, z], axis=2).reshape(-1, 3))
        i, j = (index.ravel() for index in np.meshgrid(range(around), range(rings - 1)))
        a, b = first + i * rings + j, first + (i + 1) % around * rings + j
        low, high = points[j, 0] > 0, points[j + 1, 0] > 0  # on the axis a quad is a triangle
        faces.append(np.column_stack([a, b, b + 1])[low])
        faces.append(np.column_stack([a, b + 1, a + 1])[high])
        first += around * rings
    made, facing = np.vstack(faces), np.vstack(normals)
    if inside:
        made, facing = made[:, ::-1], -facing
    return _make(np.vstack(vertices), made, inside, facing)


def _spheres(shape: Spheres, around: int) -> Triangles:
    """Return the spheres of a union, coarser the more there are, without what is hidden in others.

    Faces that reach out of the others stay whole, and cut into each other.
    """
    count = len(shape.radii)
    around = max(min(around, COARSEST), round(around / count ** (2.0 / 3.0)))
    ball = _turned([_arc(1.0, 0.0, -90.0, 90.0, around)], around, False)
    vertices, normals, faces, first = [], [], [], 0
    for k in range(count):
        points = shape.centres[k] + shape.radii[k] * ball.vertices.astype(float)
        away = np.linalg.norm(points[:, None] - shape.centres[None], axis=2)
        away[:, k] = np.inf
        hidden = away < shape.radii * (1.0 - HIDDEN)
        # a face with all corners in one other sphere is within it, for spheres are convex
        shown = ball.faces[~hidden[ball.faces].all(axis=1).any(axis=1)]
        used, corners = np.unique(shown, return_inverse=True)
        vertices.append(points[used])
        normals.append(ball.normals[used])
        faces.append(first + corners.reshape(-1, 3))
        first += len(used)
    return _make(np.vstack(vertices), np.vstack(faces), False, np.vstack(normals))


def _capsule(shape: Capsule, around: int) -> Triangles:
    h, r = 0.5 * shape.height, shape.radius
    section = [
        _arc(r, -h, -90.0, 0.0, around),
        _line((r, -h), (r, h)),
        _arc(r, h, 0.0, 90.0, around),
    ]
    return _turned(section, around, shape.inside)


def _cone(shape: Cylinder | Cone, around: int) -> Triangles:
    """Return a closed cone or a tube; a tube that holds grains shows its bore and its rims."""
    h = 0.5 * shape.height
    bottom, top = (
        (shape.radius, shape.radius)
        if isinstance(shape, Cylinder)
        else (shape.radius_bottom, shape.radius_top)
    )
    if not shape.open_ends:
        corners = [(0.0, -h), (bottom, -h), (top, h), (0.0, h)]
        lines = [_line(a, b) for a, b in pairwise(corners) if a != b]
        return _turned(lines, around, shape.inside)
    wall = float(shape.wall or 0.0)
    if shape.inside:
        inner, outer = (bottom, top), (bottom + wall, top + wall)
    else:
        inner, outer = (bottom - wall, top - wall), (bottom, top)
    lines = [
        _line((inner[0], -h), (outer[0], -h)),
        _line((outer[0], -h), (outer[1], h)),
        _line((outer[1], h), (inner[1], h)),
        _line((inner[1], h), (inner[0], -h)),
    ]
    if not shape.inside:
        return _turned(lines, around, False)
    # without the outer face one looks in, and a narrow rim is enough to see the edge
    rim = min(wall, RIM * max(inner))
    bore = [
        _line((inner[0], -h), (inner[0] + rim, -h)),
        _line((inner[1] + rim, h), (inner[1], h)),
        _line((inner[1], h), (inner[0], -h)),
    ]
    made = _turned(bore, around, False)
    return Triangles(made.vertices, made.normals, made.faces, container=True)


# ---- triangle shapes -------------------------------------------------------------------------


def _heights(shape: HeightField) -> Triangles:
    nx, ny = shape.heights.shape
    i, j = np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij")
    x, y = shape.origin[0] + shape.cell * i, shape.origin[1] + shape.cell * j
    vertices = np.stack([x, y, shape.heights], axis=2).reshape(-1, 3)
    a = (i[:-1, :-1] * ny + j[:-1, :-1]).ravel()
    faces = np.vstack(
        [np.column_stack([a, a + ny, a + ny + 1]), np.column_stack([a, a + ny + 1, a + 1])]
    )
    return _make(vertices, faces, container=True, normals=_height_normals(shape))


def _height_normals(shape: HeightField) -> Array:
    """Return unit normals (nx ny, 3): means over a node's faces, as `vertex_normals` has."""
    h, c = shape.heights, shape.cell
    below = np.stack([h[:-1, :-1] - h[1:, :-1], h[1:, :-1] - h[1:, 1:], np.full(_less(h), c)], 2)
    above = np.stack([h[:-1, 1:] - h[1:, 1:], h[:-1, :-1] - h[:-1, 1:], np.full(_less(h), c)], 2)
    total = np.zeros((*h.shape, 3))
    total[:-1, :-1] += below + above
    total[1:, 1:] += below + above
    total[1:, :-1] += below
    total[:-1, 1:] += above
    flat: Array = total.reshape(-1, 3)
    return flat / np.linalg.norm(flat, axis=1, keepdims=True)


def _less(heights: Array) -> tuple[int, int]:
    """Numbers of cells of a grid of nodes."""
    return heights.shape[0] - 1, heights.shape[1] - 1


def _mesh(shape: Mesh) -> Triangles:
    vertices, faces = _split_creases(shape.vertices, shape.faces)
    return _make(vertices, faces, container=shape.inside)


def _split_creases(vertices: Array, faces: Array) -> tuple[Array, Array]:
    """Double each vertex for every group of its faces that meet smoothly."""
    corners = vertices[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    corner_vertex = faces.ravel()
    order = np.argsort(corner_vertex, kind="stable")  # corners grouped by their vertex
    start = np.searchsorted(corner_vertex[order], np.arange(len(vertices) + 1))
    flat = np.cos(np.radians(CREASE))
    new_vertex = np.empty(faces.size, np.int64)
    source: list[int] = []
    for vertex in range(len(vertices)):
        mine = order[start[vertex] : start[vertex + 1]]
        facing = normal[mine // 3]
        groups: list[tuple[Array, int]] = []
        for corner, direction in zip(mine, facing, strict=True):
            near = next((group for lead, group in groups if lead @ direction > flat), None)
            if near is None:
                near = len(source)
                groups.append((direction, near))
                source.append(vertex)
            new_vertex[corner] = near
    return vertices[np.array(source)], new_vertex.reshape(faces.shape)
