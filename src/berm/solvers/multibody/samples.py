"""Sample points of a shape's surface, with which a body meets other bodies."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.core.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    HeightField,
    Mesh,
    Plane,
    Sphere,
    Spheres,
)
from berm.kernels.multibody.sample_contacts import EDGE, POINT, RIM

Array = NDArray[Any]

RIM_POINTS = 12  # on the rim of a cylinder or cone, beside its deepest one
ROUND = 0.02  # of the smallest half width: by this edges of a box and rims are rounded
MOST = 6000  # samples of a mesh: beyond, its vertices alone


def sample(shape: Any) -> tuple[Array, int]:
    """Return samples (k, 8) of `berm.kernels.multibody.sample_contacts`, and how many are corners.

    Corners come first; a convex body touches a flat surface with them alone. What has no end, or
    holds grains inside, has none.
    """
    if isinstance(shape, Plane | HeightField) or (
        getattr(shape, "inside", False) and not getattr(shape, "open_ends", False)
    ):
        return np.zeros((0, 8)), 0
    if isinstance(shape, Sphere):
        return _rows([[0.0, 0.0, 0.0]], shape.radius), 1
    if isinstance(shape, Spheres):
        rows = _rows(shape.centres)
        rows[:, 3] = shape.radii
        return rows, len(rows)
    if isinstance(shape, Capsule):
        low, high = [0.0, 0.0, -0.5 * shape.height], [0.0, 0.0, 0.5 * shape.height]
        return np.vstack([
            _rows([low, high], shape.radius), _rows([low], shape.radius, EDGE, [0, 0, shape.height])
        ]), 2  # fmt: skip
    if isinstance(shape, Box):
        return _box(0.5 * np.array(shape.size)), 8
    if isinstance(shape, Cylinder | Cone):
        return _turned(shape)
    assert isinstance(shape, Mesh)
    return _mesh(shape)


def _rows(points: Any, radius: float = 0.0, kind: float = POINT, more: Any = (0, 0, 0)) -> Array:
    points = np.atleast_2d(np.asarray(points, float))
    more = np.broadcast_to(np.asarray(more, float), points.shape)
    return np.column_stack([points, np.full((len(points), 2), (radius, kind)), more])


def _box(half: Array) -> Array:
    """Corners, then edges.

    Rounded: a sample on an edge proper would not know which of two faces it is to meet.
    """
    small = ROUND * float(half.min())
    half = half - small
    corners = np.array(list(product((-1.0, 1.0), repeat=3)))
    begin = [
        np.insert([u, v], axis, -1.0)
        for axis in range(3)
        for u, v in product((-1.0, 1.0), repeat=2)
    ]
    along = np.repeat(2.0 * np.diag(half), 4, axis=0)
    return np.vstack(
        [_rows(corners * half, small), _rows(np.array(begin) * half, small, EDGE, along)]
    )


def _turned(shape: Cylinder | Cone) -> tuple[Array, int]:
    """Rims, each as a whole and by points, then the middles of the ends where they are closed."""
    ends = (
        (shape.radius, shape.radius)
        if isinstance(shape, Cylinder)
        else (shape.radius_bottom, shape.radius_top)
    )
    wall = float(shape.wall or 0.0)
    small = 0.0
    if not shape.open_ends:
        small = ROUND * min(0.5 * shape.height, max(ends))
        ends = max(ends[0] - small, 0.0), max(ends[1] - small, 0.0)
    top = 0.5 * shape.height - small
    turn = 2 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
    rows = []
    for radius, z in zip(ends, (-top, top), strict=True):
        others = radius + (wall if shape.inside else -wall)
        for r in (radius, others) if shape.open_ends else (radius,):
            if r > 0:
                rows.append(_rows([[0.0, 0.0, z]], small, RIM, [r, 0, 0]))
            angles = turn if r > 0 else turn[:1]
            rows.append(_rows([[r * np.cos(a), r * np.sin(a), z] for a in angles], small))
    corners = sum(map(len, rows))
    if not shape.open_ends:
        rows.append(_rows([[0.0, 0.0, -top], [0.0, 0.0, top]], small))
    return np.vstack(rows), corners


def _mesh(shape: Mesh) -> tuple[Array, int]:
    """Vertices, then edges and the middles of faces unless these are too many."""
    vertices, faces = shape.vertices, shape.faces
    corners = len(vertices)
    if corners + 3 * len(faces) > MOST:
        return _rows(vertices), corners
    edges = np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    begin, end = vertices[edges[:, 0]], vertices[edges[:, 1]]
    parts = [_rows(vertices), _rows(begin, 0.0, EDGE, end - begin), _rows(vertices[faces].mean(1))]
    return np.vstack(parts), corners


def ball_around(shape: Any, samples: Array) -> Array:
    """Centre and radius (m) of a ball that holds the shape; radius -1: it has no end."""
    if not len(samples):
        return np.array([0.0, 0.0, 0.0, -1.0])
    points = samples[samples[:, 4] == POINT]
    low = (points[:, :3] - points[:, 3:4]).min(axis=0)
    high = (points[:, :3] + points[:, 3:4]).max(axis=0)
    centre = 0.5 * (low + high)
    if isinstance(shape, Cylinder | Cone):
        centre[:2] = 0.0
    reach = np.linalg.norm(points[:, :3] - centre, axis=1) + points[:, 3]
    return np.array([*centre, float(reach.max())])


def box_around(samples: Array) -> Array:
    """Centre and half edges (m) of the box along the shape's axes that holds all its samples."""
    if not len(samples):
        return np.zeros(6)
    reach = samples[:, 3:4] * np.ones(3)
    rims = samples[:, 4] == RIM
    reach[rims, :2] += samples[rims, 5:6]
    low, high = (samples[:, :3] - reach).min(axis=0), (samples[:, :3] + reach).max(axis=0)
    return np.concatenate([0.5 * (low + high), 0.5 * (high - low)])
