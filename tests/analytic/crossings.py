"""Exact tests, in NumPy, for what of a triangle mesh passes through itself or through another."""

from __future__ import annotations

import numpy as np


def edges_of(faces: np.ndarray) -> np.ndarray:
    """Return the edges (m, 2) of triangles (f, 3), each once."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    return np.unique(np.sort(sides, axis=1), axis=0)


def crossings(x: np.ndarray, faces: np.ndarray) -> int:
    """Return how many edges pass through faces that have none of their vertices."""
    x, edges = np.asarray(x, float), edges_of(faces)
    corner = x[faces]
    low, high = corner.min(axis=1).T.copy(), corner.max(axis=1).T.copy()
    hits = 0
    for some in np.array_split(edges, max(len(edges) // 128, 1)):
        ends = x[some]
        near = np.ones((len(some), len(faces)), dtype=bool)
        for axis, (a, b) in enumerate(zip(ends.min(axis=1).T, ends.max(axis=1).T, strict=True)):
            near &= (a[:, None] <= high[axis]) & (b[:, None] >= low[axis])
        e, f = np.nonzero(near)
        apart = ~(faces[f][:, :, None] == some[e][:, None, :]).any(axis=(1, 2))
        e, f = e[apart], f[apart]
        hits += int(_segment_meets_triangle(ends[e], corner[f]).sum())
    return hits


def _segment_meets_triangle(segment: np.ndarray, triangle: np.ndarray) -> np.ndarray:
    """Signs of the volumes of the five tetrahedra: ends on two sides, line within."""
    (p, q), (a, b, c) = np.moveaxis(segment, 1, 0), np.moveaxis(triangle, 1, 0)

    def volume(d: np.ndarray, e: np.ndarray, f: np.ndarray, g: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->i", np.cross(e - d, f - d), g - d)

    parted = volume(a, b, c, p) * volume(a, b, c, q) < 0.0
    one, two, three = volume(p, q, a, b), volume(p, q, b, c), volume(p, q, c, a)
    inside = ((one > 0) & (two > 0) & (three > 0)) | ((one < 0) & (two < 0) & (three < 0))
    return np.asarray(parted & inside)
