"""What follows from triangles alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def vertex_normals(vertices: Array, faces: Array) -> Array:
    """Return unit normals (nv, 3) float32: the mean over a vertex's faces, weighted by area."""
    corners = vertices.astype(np.float64)[faces.astype(np.int64)]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.zeros((len(vertices), 3))
    for k in range(3):
        np.add.at(total, faces[:, k].astype(np.int64), area)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    out: Array = (total / np.where(length > 0, length, 1.0)).astype(np.float32)
    return out
