"""Small builders of meshes: boxes, prisms, tubes and shells, in metres.

Everything is a closed surface. Parts of one body stay a hair apart or reach into each other: faces
that coincide would share edges, and the surface would not be closed any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError
from berm.core.shapes import Mesh

Array = npt.NDArray[Any]
Outline = npt.ArrayLike  # corners (n, 2)
Surface = tuple[Array, Array]  # vertices (nv, 3), faces (nf, 3)

AXES = {"x": 0, "y": 1, "z": 2}


def box(low: Sequence[float], high: Sequence[float]) -> Surface:
    """A block between two corners (m)."""
    (x0, y0, z0), (x1, y1, z1) = low, high
    return prism([(x0, z0), (x1, z0), (x1, z1), (x0, z1)], y0, y1)


def prism(outline: Outline, low: float, high: float, axis: str = "y") -> Surface:
    """An outline in the plane square to `axis`, drawn out along it from low to high (m).

    The outline's coordinates are (x, z) for axis y, (x, y) for z, (y, z) for x.
    """
    corners = np.asarray(outline, float)
    if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
        raise InputError("prism: outline", outline, "three or more corners of two numbers, m")
    if not low < high:
        raise InputError("prism: low, high", (low, high), "low below high, m")
    if axis not in AXES:
        raise InputError("prism: axis", axis, ", ".join(AXES))
    n, along = len(corners), AXES[axis]
    vertices = np.zeros((2 * n, 3))
    others = [k for k in range(3) if k != along]
    for side, value in enumerate((low, high)):
        rows = slice(side * n, (side + 1) * n)
        vertices[rows, others[0]], vertices[rows, others[1]] = corners[:, 0], corners[:, 1]
        vertices[rows, along] = value
    caps = cut(corners)
    faces = [*caps.tolist(), *(caps[:, ::-1] + n).tolist()]
    for k in range(n):
        after = (k + 1) % n
        faces += [[k, n + k, n + after], [k, n + after, after]]
    return vertices, np.array(faces)


def tube(start: Sequence[float], end: Sequence[float], radius: float, around: int = 12) -> Surface:
    """A round bar between two points (m)."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    way = b - a
    length = float(np.linalg.norm(way))
    if not (length > 0.0 and radius > 0.0):
        raise InputError("tube", (start, end, radius), "two points apart, and a radius above 0 m")
    along = way / length
    side = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    side /= np.linalg.norm(side)
    turn = 2.0 * np.pi * np.arange(around) / around
    ring = radius * (np.outer(np.cos(turn), side) + np.outer(np.sin(turn), np.cross(along, side)))
    vertices = np.vstack([a + ring, b + ring])
    faces = []
    for k in range(around):
        after = (k + 1) % around
        faces += [[k, after, around + after], [k, around + after, around + k]]
    for k in range(1, around - 1):
        faces += [[0, k + 1, k], [around, around + k, around + k + 1]]
    return vertices, np.array(faces)


def trough(outer: Outline, inner: Outline, width: float, wall: float) -> Surface:
    """A shell with closed sides and an open mouth, drawn out along y: a bucket, a truck's bed.

    outer, inner: profiles (x, z) from one lip to the other, with as many corners; the mouth is the
    line between the two ends, on which the ends of both lie. width (m) over all, wall (m) of the
    sides.
    """
    out, inn = np.asarray(outer, float), np.asarray(inner, float)
    if out.shape != inn.shape or out.ndim != 2 or len(out) < 3:
        raise InputError("trough: profiles", (len(out), len(inn)), "two of as many corners, 3 up")
    if not 0.0 < 2.0 * wall < width:
        raise InputError("trough: wall", wall, f"above 0, below half the width, {0.5 * width} m")
    n = len(out)
    rows = []
    for profile, half in ((out, 0.5 * width), (inn, 0.5 * width - wall)):
        for y in (-half, half):
            rows.append(np.column_stack([profile[:, 0], np.full(n, y), profile[:, 1]]))
    vertices = np.vstack(rows)
    right, left, inner_right, inner_left = (k * n for k in range(4))
    faces: list[list[int]] = []
    for k in range(n - 1):
        faces += _quad(right + k, right + k + 1, left + k + 1, left + k)
        faces += _quad(inner_right + k, inner_left + k, inner_left + k + 1, inner_right + k + 1)
    for first, profile in ((right, out), (left, out), (inner_right, inn), (inner_left, inn)):
        faces += (cut(profile) + first).tolist()
    end = n - 1
    rim = [right, left, left + end, right + end]
    bore = [inner_right, inner_left, inner_left + end, inner_right + end]
    for k in range(4):
        after = (k + 1) % 4
        faces += _quad(rim[k], rim[after], bore[after], bore[k])
    return vertices, np.array(faces)


def _quad(a: int, b: int, c: int, d: int) -> list[list[int]]:
    return [[a, b, c], [a, c, d]]


def joined(*parts: Surface, name: str = "Mesh", at: Sequence[float] = (0.0, 0.0, 0.0)) -> Mesh:
    """One mesh of several closed surfaces, seen from the point `at` (m): its new origin."""
    vertices, faces, first = [], [], 0
    for points, corners in parts:
        vertices.append(points)
        faces.append(corners + first)
        first += len(points)
    return Mesh(np.vstack(vertices) - np.asarray(at, float), np.vstack(faces), name=name)


def cut(outline: Outline) -> Array:
    """Triangles (n - 2, 3) of a simple outline, by cutting off its ears [Meisters 1975]."""
    corners = np.asarray(outline, float)
    order = list(range(len(corners)))
    if _area(corners) < 0.0:
        order.reverse()
    faces: list[tuple[int, int, int]] = []
    while len(order) > 3:
        for k in range(len(order)):
            before, here, after = order[k - 1], order[k], order[(k + 1) % len(order)]
            ear = corners[[before, here, after]]
            others = [j for j in order if j not in (before, here, after)]
            if _area(ear) > 1e-12 and not any(_within(ear, corners[j]) for j in others):
                faces.append((before, here, after))
                order.pop(k)
                break
        else:
            break
    faces.append((order[0], order[1], order[2]))
    whole = abs(_area(corners))
    found = sum(abs(_area(corners[list(face)])) for face in faces)
    if len(order) > 3 or not abs(found - whole) <= 1e-9 * whole:
        raise InputError(
            "outline", corners.tolist(), "corners of a line that does not cross itself"
        )
    return np.array(faces)


def _area(corners: Array) -> float:
    """Area (m^2) inside, below 0 where corners go clockwise."""
    x, y = corners[:, 0], corners[:, 1]
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def _within(ear: Array, point: Array) -> bool:
    """Whether a point is in a triangle that turns counter-clockwise, its edges included."""
    return all(_area(np.array([ear[k], ear[(k + 1) % 3], point])) > -1e-12 for k in range(3))


def area(outline: Outline) -> float:
    """Area (m^2) inside an outline."""
    return abs(_area(np.asarray(outline, float)))
