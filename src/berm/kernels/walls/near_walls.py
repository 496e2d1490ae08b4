"""Which spheres are near which bodies: the candidates of contact with walls, body by body.

Bodies: kind (nb,), prm (nb, PARAMS or more), pose (nb, POSE) as in `distance`; mesh[b] is the
number of its mesh, or -1. All meshes stand in common arrays, each in its range: see
`solvers/walls/boundaries`.
A candidate: row, body, face. A mesh takes MESH_SLOTS candidates, one for each contact at once;
their faces count from DEEP where the whole sphere may come to be within the solid.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.distance import (
    BOX,
    SPHERES,
    box_bound,
    count_features,
    feature,
    to_body,
)
from berm.kernels.geometry.mesh_solid import solid_near
from berm.kernels.jit import inline, inner, jit, pjit, prange

MESH_SLOTS = 4
DEEP = MESH_SLOTS


@inner
def _travel(pose, f, x, y, z):
    """How far (m) the surface of a body can come nearer to a point in the rest of the step."""
    ax, ay, az = x - pose[0], y - pose[1], z - pose[2]
    return (1.0 - f) * (pose[18] + pose[19] * math.sqrt(ax * ax + ay * ay + az * az))


@inline
def _near_slab(
    s, slab, x, ref, f, kind, prm, pose, mesh, ranges, tri, normals, frame, dims, starts,
    members, field, row, body, face, count,
):  # fmt: skip
    k = 0
    fits = row.shape[1]
    for i in range(slab[s], slab[s + 1]):
        r, room = x[i, 3], math.sqrt(ref[i, 3])
        px, py, pz = ref[i, 0], ref[i, 1], ref[i, 2]
        for b in range(kind.shape[0]):
            lx, ly, lz = to_body(pose[b], f, px, py, pz)
            reach = r + room + _travel(pose[b], f, px, py, pz)
            if kind[b] == BOX or kind[b] == SPHERES:
                if box_bound(kind[b], prm[b], lx, ly, lz, 0.0, 0.0, 0.0) > reach:
                    continue
            m, shift = mesh[b], 0
            if m >= 0:
                near, deep = solid_near(
                    m, r, reach, prm[b], ranges, tri, normals, frame, dims, starts, members, field,
                    lx, ly, lz,
                )  # fmt: skip
                faces, shift = MESH_SLOTS if near else 0, DEEP if deep else 0
            else:
                faces = count_features(kind[b], prm[b])
            for a in range(faces):
                if m < 0:
                    d, _, _, _ = feature(kind[b], prm[b], a, lx, ly, lz)
                    if not d <= reach:
                        continue
                if k < fits:
                    row[s, k], body[s, k], face[s, k] = i, b, shift + a
                k += 1
    count[s] = k


@pjit
def near_walls(
    slab, x, ref, f, kind, prm, pose, mesh, ranges, tri, normals, frame, dims, starts, members,
    field, row, body, face, count,
):  # fmt: skip
    """Write the candidates of each slab; count[s] may exceed the room.

    ref (n, 4): a sphere stays within the root of [3] of a place while the candidates hold.
    """
    for number in prange(slab.shape[0] - 1):
        _near_slab(
            np.int64(number), slab, x, ref, f, kind, prm, pose, mesh, ranges, tri, normals,
            frame, dims, starts, members, field, row, body, face, count,
        )  # fmt: skip


@jit
def drop_walls(owner, apart, row, body, face, count):
    """Drop candidates whose sphere's body and boundary are a row of apart (k, 2)."""
    for s in range(count.shape[0]):
        kept = 0
        for k in range(count[s]):
            meet = True
            for m in range(apart.shape[0]):
                meet &= owner[row[s, k]] != apart[m, 0] or body[s, k] != apart[m, 1]
            if meet:
                row[s, kept], body[s, kept], face[s, kept] = row[s, k], body[s, k], face[s, k]
                kept += 1
        count[s] = kept


@jit
def carry_walls(
    was, old_row, old_body, old_face, old_hist, old_count, row, body, face, hist, count
):  # fmt: skip
    """Copy what contacts remember from the candidates of before, by sphere, body and face.

    was (n,): rows of the spheres then, -1: new. Candidates stand in the order of the rows.
    """
    last = -1
    for s in range(old_count.shape[0]):
        for k in range(old_count[s]):
            last = max(last, old_row[s, k])
    start = np.zeros(last + 3, np.int64)  # of each row's candidates, as if slabs stood in one line
    for s in range(old_count.shape[0]):
        for k in range(old_count[s]):
            start[old_row[s, k] + 2] += 1
    for i in range(2, last + 3):
        start[i] += start[i - 1]
    at = np.empty((start[last + 2], 2), np.int64)
    for s in range(old_count.shape[0]):
        for k in range(old_count[s]):
            place = start[old_row[s, k] + 1]
            at[place, 0], at[place, 1] = s, k
            start[old_row[s, k] + 1] += 1
    for s in range(count.shape[0]):
        for k in range(count[s]):
            i = was[row[s, k]]
            if i < 0 or i > last:
                continue
            for m in range(start[i], start[i + 1]):
                t, n = at[m, 0], at[m, 1]
                if old_body[t, n] == body[s, k] and old_face[t, n] == face[s, k]:
                    for c in range(hist.shape[2]):
                        hist[s, k, c] = old_hist[t, n, c]
