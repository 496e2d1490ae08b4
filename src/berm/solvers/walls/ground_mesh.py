"""A height field as a mesh that knows what is below it, for kernels that take meshes only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.shapes import HeightField
from berm.kernels.geometry import distance as kd
from berm.kernels.geometry.heightfield import ground_many
from berm.kernels.geometry.mesh_build import build_mesh
from berm.solvers.walls.shapes import Packed

Array = npt.NDArray[Any]


def ground_mesh(shape: HeightField) -> Packed:
    """Flatten a height field as `kernels/mesh_solid` takes it; cut as `HeightField` says."""
    nx, ny = shape.heights.shape
    i, j = np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij")
    x, y = shape.origin[0] + shape.cell * i, shape.origin[1] + shape.cell * j
    vertices = np.stack([x, y, shape.heights], axis=2).reshape(-1, 3)
    corner = (i * ny + j)[:-1, :-1].reshape(-1)
    lower = np.stack([corner, corner + ny, corner + ny + 1], axis=1)
    upper = np.stack([corner, corner + ny + 1, corner + 1], axis=1)
    mesh = build_mesh(vertices, np.concatenate([lower, upper]), solid=False, inside=False)
    prm = np.zeros(kd.PARAMS)
    prm[:6] = 1.0, 1.0, x.min(), x.max(), y.min(), y.max()
    _sign(mesh, shape, prm)
    return Packed(shape, kd.MESH, prm, (*mesh, np.zeros((0, 0))), shape.version)


def _sign(mesh: tuple[Any, ...], shape: HeightField, prm: Array) -> None:
    """Make the distances of the grid's cells negative below the ground."""
    frame, dims, field = mesh[2], mesh[3], mesh[6]
    points = frame[:3] + frame[3] * (np.indices(dims).reshape(3, -1).T + 0.5)
    points[:, 0] = np.clip(points[:, 0], prm[2], prm[3])
    points[:, 1] = np.clip(points[:, 1], prm[4], prm[5])
    level = np.empty(len(points))
    ground_many(shape.heights, np.array([*shape.origin, shape.cell]), points, level)
    field[points[:, 2] < level] *= -1.0
