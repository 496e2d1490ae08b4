"""Contacts of spheres with bodies: exact distances, meshes triangle by triangle, and a law."""

from __future__ import annotations

import numpy as np

from berm.kernels.contact_blocks import (
    LANES,
    LAW_NUMBERS,
    NUMBERS,
    forget,
    put_kind,
    put_wall,
    take_walls,
)
from berm.kernels.distance import feature, to_body, to_world
from berm.kernels.fused import inline, inner
from berm.kernels.jit import call_block
from berm.kernels.mesh_contacts import Q_SIZE
from berm.kernels.mesh_touches import mesh_touches
from berm.kernels.near_walls import DEEP, MESH_SLOTS
from berm.kernels.pair_forces import DEEPEST, WALLS


@inline
def wall_distance(body, shapes, shape, face, pose, f_step, x, y, z):
    """Distance (m) of a point to a face of a body, and the direction away from it."""
    lx, ly, lz = to_body(pose[body], f_step, x, y, z)
    d, gx, gy, gz = feature(shapes[body], shape[body], face, lx, ly, lz)
    gx, gy, gz = to_world(pose[body], f_step, gx, gy, gz)
    return d, gx, gy, gz


@inner
def wall_slab(
    s, law, x, v, spin, material, nmat, prm, f, elapsed, keep, f_step, per_second, row, body, face,
    count, hist, total, shapes, shape, pose, substance, mesh, ranges, tri, normals, frame, dims,
    starts, members, field, corners, fan_starts, fans, stats,
):  # fmt: skip
    """Contacts of one slab's spheres with bodies."""
    touching, most_xi, m, own = 0, 0.0, 0, hist.shape[2] - 3
    b, who = np.ones(NUMBERS), np.zeros(3 * LANES, np.int64)
    p, kinds = np.ones(LAW_NUMBERS * LANES), np.full(LANES, -1)
    touch, kept, felt = np.zeros((MESH_SLOTS, 5)), hist[s], total[s]
    cand, pair, q = np.empty((0, 11)), np.empty((0, 3, 3)), np.empty(0)
    stamps, stamp, heights = np.zeros(0, np.int32), 0, np.zeros((0, 0))
    k = 0
    while k < count[s]:
        i, at = np.uint64(row[s, k]), np.uint64(body[s, k])  # unsigned: no test for below 0
        if mesh[at] >= 0:
            if cand.shape[0] == 0:
                cand, pair, q = np.empty((64, 11)), np.empty((4, 3, 3)), np.empty(Q_SIZE)
                stamps = np.zeros(tri.shape[0], np.int32)
            stamp += 1
            slots = MESH_SLOTS
            touches = mesh_touches(
                i, k, mesh[at], face[s, k] >= DEEP, f_step, pose[at], shape[at], x, keep, kept,
                ranges, tri, normals, frame, dims, starts, members, field, corners, fan_starts,
                fans, stamps, stamp, cand, pair, q, heights, touch,
            )  # fmt: skip
        else:
            slots = 1
            d, gx, gy, gz = wall_distance(
                at, shapes, shape, face[s, k], pose, f_step, x[i, 0], x[i, 1], x[i, 2]
            )
            touches = 1 if d < x[i, 3] else 0
            touch[0, 0], touch[0, 1], touch[0, 2], touch[0, 3], touch[0, 4] = 0.0, d, gx, gy, gz
            if touches == 0 and keep:
                forget(k, own, kept)
        for t in range(touches):
            slot = np.uint64(k + int(touch[t, 0]))
            put_wall(
                m, i, at, slot, touch[t, 1], touch[t, 2], touch[t, 3], touch[t, 4], f_step, pose,
                per_second, x, v, spin, kept, own, who, b,
            )  # fmt: skip
            put_kind(m, material[i] * nmat + substance[at], prm, kinds, p)
            m += 1
            touching += 1
            most_xi = max(most_xi, x[i, 3] - touch[t, 1])
            if m == LANES:
                call_block(law, b, p, elapsed)
                take_walls(m, keep, own, who, b, f, felt, kept)
                m = 0
        k += slots
    if m > 0:
        call_block(law, b, p, elapsed)
        take_walls(m, keep, own, who, b, f, felt, kept)
    stats[s, WALLS] = touching
    stats[s, DEEPEST] = max(stats[s, DEEPEST], most_xi)
