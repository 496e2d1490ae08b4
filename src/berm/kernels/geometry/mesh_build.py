"""Build once a mesh what its kernels search: pseudonormals, fans, the grid and its distances.

Plain NumPy around the jitted loops of `mesh_grid`, where the arrays are described.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from berm.kernels.geometry.mesh_grid import fill_grid, mesh_distance_many
from berm.kernels.jit import JIT_ON

# Cells are about as large as triangles, but a coarse mesh gets this many along it, so that most
# grains near it are turned away by their cell alone. Without the JIT, building them takes too long.
CELLS_ALONG = 48 if JIT_ON else 6
MOST_CELLS = 500_000
# Distances are exact at the centres of cells this near (cells) to the mesh.
BAND = 3.0


def pseudonormals(vertices, faces):
    """Return unit normals (nt, 7, 3) of each triangle's face, edges ab, bc, ca and corners.

    Weighted by angle at corners, they give the sign of the distance [Baerentzen & Aanaes 2005].
    """
    tri = vertices[faces]
    edges = np.roll(tri, -1, axis=1) - tri
    face = np.cross(edges[:, 0], edges[:, 1])
    face /= np.linalg.norm(face, axis=1, keepdims=True)
    unit = edges / np.linalg.norm(edges, axis=2, keepdims=True)
    angle = np.arccos(np.clip(-(unit * np.roll(unit, 1, axis=1)).sum(axis=2), -1.0, 1.0))
    corner = np.zeros((len(vertices), 3))
    np.add.at(corner, faces, angle[:, :, None] * face[:, None, :])
    pairs = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2), axis=2).reshape(-1, 2)
    _, number = np.unique(pairs, axis=0, return_inverse=True)
    number = number.reshape(-1, 3)
    edge = np.zeros((number.max() + 1, 3))
    np.add.at(edge, number, np.broadcast_to(face[:, None, :], tri.shape))
    out = np.concatenate([face[:, None, :], edge[number], corner[faces]], axis=1)
    size = np.linalg.norm(out, axis=2, keepdims=True)
    # Where faces cancel (a fold of a sheet) no side is better: keep the face's own normal.
    return np.where(size > 1e-12, out / np.maximum(size, 1e-12), face[:, None, :])


def build_mesh(vertices: Any, faces: Any, solid: bool, inside: bool) -> tuple[Any, ...]:
    """Return tri, normals, frame, dims, starts, members, field, corners, fan_starts, fans.

    solid: faces point out of a closed solid; inside: that solid fills all space but a cavity.
    """
    from scipy import ndimage  # slow to import, so only where there is a mesh

    tri = np.ascontiguousarray(vertices[faces])
    normals = pseudonormals(vertices, faces)
    low, high = tri.min(axis=(0, 1)), tri.max(axis=(0, 1))
    extent = high - low
    area = 0.5 * np.linalg.norm(np.cross(tri[:, 1] - tri[:, 0], tri[:, 2] - tri[:, 0]), axis=1)
    cell = min(1.5 * np.sqrt(area.sum() / len(tri)), extent.max() / CELLS_ALONG)
    while np.prod(np.ceil(extent / cell) + 2) > MOST_CELLS:
        cell *= 1.1
    dims = (np.ceil(extent / cell) + 2).astype(np.int64)
    origin = 0.5 * (low + high) - 0.5 * cell * dims
    frame = np.array([*origin, cell, solid, solid and inside, 1.0 / cell], np.float64)

    starts = np.zeros(int(np.prod(dims)) + 1, np.int64)
    fill_grid(tri, frame, dims, starts, np.zeros(0, np.int32), False)
    starts = np.cumsum(starts)
    members = np.empty(int(starts[-1]), np.int32)
    fill_grid(tri, frame, dims, starts.copy(), members, True)

    cut = (np.diff(starts) > 0).reshape(dims)
    cells_away = ndimage.distance_transform_edt(~cut)
    # A cut cell's triangles are up to half a diagonal from its centre.
    field = (np.maximum(cells_away - 0.5 * np.sqrt(3.0), 0.0) * cell).astype(np.float32)
    if solid:  # all cells of a part that no triangle cuts lie on the same side
        part, _ = ndimage.label(~cut)
        number, sample = np.unique(part, return_index=True)
        sample = sample[number > 0]
        sign = distances_at(sample, tri, normals, frame, dims, starts, members, field) < 0.0
        inner = np.zeros(part.max() + 1, bool)
        inner[number[number > 0]] = sign
        field[inner[part]] *= -1.0
    near = np.flatnonzero(cells_away <= BAND)
    field.reshape(-1)[near] = distances_at(
        near, tri, normals, frame, dims, starts, members, np.zeros_like(field)
    )

    uses = np.bincount(faces.reshape(-1), minlength=len(vertices))
    fan_starts = np.concatenate([[0], np.cumsum(uses)])
    fans = np.argsort(faces.reshape(-1), kind="stable") // 3
    return (
        tri, normals, frame, dims, starts, members, field.reshape(-1),
        np.array(faces), fan_starts, fans,
    )  # fmt: skip


def distances_at(cells, tri, normals, frame, dims, starts, members, field):
    """Signed distance (m) at the centres of cells, given by their flat numbers."""
    points = frame[:3] + frame[3] * (np.array(np.unravel_index(cells, dims)).T + 0.5)
    out = np.empty((len(points), 4))
    mesh_distance_many(
        tri, normals, frame, dims, starts, members, field.reshape(-1), points, out
    )
    return out[:, 0]
