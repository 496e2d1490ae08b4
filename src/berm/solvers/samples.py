"""Sample points of a shape's surface, with which a body meets other bodies."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.core.shapes import Box, Capsule, Cone, Cylinder, HeightField, Mesh, Plane, Sphere

Array = NDArray[Any]

RIM = 24  # points on the rim of a cylinder or cone
ALONG = 4  # pieces of a box's edge, or of a capsule
ROUND = 0.02  # of the smallest half width: by this edges of a box and rims are rounded
MOST = 6000  # samples of a mesh: beyond, its vertices alone


def sample(shape: Any) -> tuple[Array, int]:
    """Return samples (k, 4): point and radius (m) in the body's frame, and how many are corners.

    Corners come first; a convex body touches a flat surface with them alone. What has no end, or
    holds grains inside, has none.
    """
    if isinstance(shape, Plane | HeightField) or (
        getattr(shape, "inside", False) and not getattr(shape, "open_ends", False)
    ):
        return np.zeros((0, 4)), 0
    if isinstance(shape, Sphere):
        return np.array([[0.0, 0.0, 0.0, shape.radius]]), 1
    if isinstance(shape, Capsule):
        z = 0.5 * shape.height * np.concatenate([[-1, 1], np.linspace(-1, 1, ALONG + 1)[1:-1]])
        return np.column_stack([np.zeros((len(z), 2)), z, np.full(len(z), shape.radius)]), 2
    if isinstance(shape, Box):
        return _box(0.5 * np.array(shape.size)), 8
    if isinstance(shape, Cylinder | Cone):
        return _turned(shape)
    assert isinstance(shape, Mesh)
    return _mesh(shape)


def _points(points: Any, radius: float = 0.0) -> Array:
    points = np.atleast_2d(np.asarray(points, float))
    return np.column_stack([points, np.full(len(points), radius)])


def _box(half: Array) -> Array:
    """Corners, then points on the edges, then the middles of the faces."""
    corners = np.array(list(product((-1.0, 1.0), repeat=3)))
    steps = np.linspace(-1, 1, ALONG + 1)[1:-1]
    edges = [
        np.insert([u, v], axis, step)
        for axis in range(3)
        for u, v in product((-1.0, 1.0), repeat=2)
        for step in steps
    ]
    faces = np.vstack([np.eye(3), -np.eye(3)])
    # rounded: a sample on an edge proper would not know which of two faces it is to meet
    small = ROUND * float(half.min())
    return _points(np.vstack([corners, edges, faces]) * (half - small), small)


def _turned(shape: Cylinder | Cone) -> tuple[Array, int]:
    """Rims, then the middles of the ends where they are closed."""
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
    turn = 2 * np.pi * np.arange(RIM) / RIM
    points = []
    for radius, z in zip(ends, (-top, top), strict=True):
        others = radius + (wall if shape.inside else -wall)
        for r in (radius, others) if shape.open_ends else (radius,):
            points += [[r * np.cos(a), r * np.sin(a), z] for a in (turn if r > 0 else turn[:1])]
    corners = len(points)
    if not shape.open_ends:
        points += [[0.0, 0.0, -top], [0.0, 0.0, top]]
    return _points(points, small), corners


def _mesh(shape: Mesh) -> tuple[Array, int]:
    """Vertices, then the middles of edges and faces unless these are too many."""
    vertices, faces = shape.vertices, shape.faces
    corners = len(vertices)
    if corners + 3 * len(faces) > MOST:
        return _points(vertices), corners
    edges = np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    middles = vertices[edges].mean(axis=1), vertices[faces].mean(axis=1)
    return _points(np.vstack([vertices, *middles])), corners


def ball_around(shape: Any, samples: Array) -> Array:
    """Centre and radius (m) of a ball that holds the shape; radius -1: it has no end."""
    if not len(samples):
        return np.array([0.0, 0.0, 0.0, -1.0])
    low = (samples[:, :3] - samples[:, 3:]).min(axis=0)
    high = (samples[:, :3] + samples[:, 3:]).max(axis=0)
    if isinstance(shape, Cylinder | Cone):  # rims are polygons
        far = float(np.abs(np.concatenate([low[:2], high[:2]])).max())
        low[:2], high[:2] = -far, far
    centre = 0.5 * (low + high)
    reach = np.linalg.norm(samples[:, :3] - centre, axis=1) + samples[:, 3]
    return np.array([*centre, float(reach.max())])
