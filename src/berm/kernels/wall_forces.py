"""Contacts of spheres with bodies: exact distances, meshes triangle by triangle, and a law."""

from __future__ import annotations

import numpy as np

from berm.kernels.contact_blocks import (
    LANES,
    LAW_NUMBERS,
    NUMBERS,
    put_kind,
    put_wall,
    take_walls,
)
from berm.kernels.distance import feature, to_body, to_world
from berm.kernels.fused import inline, inner
from berm.kernels.jit import call_block
from berm.kernels.mesh_contacts import GAP, NX, NY, NZ, gather, take_best
from berm.kernels.near_walls import MESH_SLOTS
from berm.kernels.pair_forces import DEEPEST, WALLS

# Planes of one mesh whose normals differ less are the same contact of a step before.
SAME_COS = 0.9


@inline
def wall_distance(body, shapes, shape, face, pose, f_step, x, y, z):
    """Distance (m) of a point to a face of a body, and the direction away from it."""
    lx, ly, lz = to_body(pose[body], f_step, x, y, z)
    d, gx, gy, gz = feature(shapes[body], shape[body], face, lx, ly, lz)
    gx, gy, gz = to_world(pose[body], f_step, gx, gy, gz)
    return d, gx, gy, gz


@inner
def match_slot(hist, k, used, gx, gy, gz):
    """The slot of a mesh contact: the one whose last normal was the most alike, else a free one."""
    last = hist.shape[1] - 3
    best, slot = SAME_COS, -1
    for m in range(MESH_SLOTS):
        if used & (1 << m):
            continue
        alike = hist[k + m, last] * gx + hist[k + m, last + 1] * gy + hist[k + m, last + 2] * gz
        if alike > best:
            best, slot = alike, m
    if slot >= 0:
        return slot
    for m in range(MESH_SLOTS):
        alike = abs(hist[k + m, last]) + abs(hist[k + m, last + 1]) + abs(hist[k + m, last + 2])
        if not used & (1 << m) and alike == 0.0:
            return m
    for m in range(MESH_SLOTS):
        if not used & (1 << m):
            return m
    return -1


@inner
def forget(hist, k):
    """A contact is lost, and all that it remembers."""
    for c in range(hist.shape[1]):
        hist[k, c] = 0.0


@inner
def mesh_touches(
    i, k, m, f_step, pose, x, keep, hist, ranges, tri, normals, frame, dims, starts, members,
    corners, fan_starts, fans, stamps, stamp, cand, pair, q, heights, touch,
):  # fmt: skip
    """Write where sphere i touches mesh m: slot, distance (m), direction to it; return how often.

    hist[k + slot] is the memory of a slot, and its last three numbers are the normal it was for.
    """
    r, last = x[i, 3], hist.shape[1] - 3
    found, count = gather(
        6, tri[ranges[m, 0] : ranges[m + 1, 0]], normals[ranges[m, 0] : ranges[m + 1, 0]],
        frame[m], dims[m], starts[ranges[m, 1] : ranges[m + 1, 1]],
        members[ranges[m, 2] : ranges[m + 1, 2]], corners[ranges[m, 0] : ranges[m + 1, 0]],
        fan_starts[ranges[m, 4] : ranges[m + 1, 4]], fans[ranges[m, 5] : ranges[m + 1, 5]],
        heights, pair, stamps, stamp, cand, q, pose, f_step,
        x[i, 0], x[i, 1], x[i, 2], x[i, 0], x[i, 1], x[i, 2], r, 0.0, 0.0,
    )  # fmt: skip
    used, touches = 0, 0
    while True:
        best = take_best(found, count, r)
        if best < 0:
            break
        c = found[best]
        if not c[GAP] < 0.0:
            continue
        gx, gy, gz = to_world(pose, f_step, c[NX], c[NY], c[NZ])
        slot = match_slot(hist, k, used, gx, gy, gz)
        if slot < 0:
            break
        used |= 1 << slot
        touch[touches, 0], touch[touches, 1] = slot, r + c[GAP]
        touch[touches, 2], touch[touches, 3], touch[touches, 4] = gx, gy, gz
        touches += 1
        if keep:
            hist[k + slot, last], hist[k + slot, last + 1], hist[k + slot, last + 2] = gx, gy, gz
    for slot in range(MESH_SLOTS):
        if keep and not used & (1 << slot):
            forget(hist, k + slot)
    return touches


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
        i, at = row[s, k], body[s, k]
        if mesh[at] >= 0:
            if cand.shape[0] == 0:
                cand, pair, q = np.empty((64, 11)), np.empty((4, 3, 3)), np.empty(6)
                stamps = np.zeros(tri.shape[0], np.int32)
            stamp += 1
            slots = MESH_SLOTS
            touches = mesh_touches(
                i, k, mesh[at], f_step, pose[at], x, keep, kept, ranges, tri, normals, frame,
                dims, starts, members, corners, fan_starts, fans, stamps, stamp, cand, pair, q,
                heights, touch,
            )  # fmt: skip
        else:
            slots = 1
            d, gx, gy, gz = wall_distance(
                at, shapes, shape, face[s, k], pose, f_step, x[i, 0], x[i, 1], x[i, 2]
            )
            touches = 1 if d < x[i, 3] else 0
            touch[0, 0], touch[0, 1], touch[0, 2], touch[0, 3], touch[0, 4] = 0.0, d, gx, gy, gz
            if touches == 0 and keep:
                forget(kept, k)
        for t in range(touches):
            put_wall(
                m, i, at, k + int(touch[t, 0]), touch[t, 1], touch[t, 2], touch[t, 3], touch[t, 4],
                f_step, pose, per_second, x, v, spin, kept, own, who, b,
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
