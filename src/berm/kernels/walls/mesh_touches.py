"""Where a sphere touches a mesh, and which of its contacts of a step before these are."""

from __future__ import annotations

import numpy as np

from berm.kernels.dem.wall_blocks import forget
from berm.kernels.fused import inner
from berm.kernels.geometry.distance import MESH, to_body, to_world
from berm.kernels.geometry.mesh_solid import has_inside, solid_distance
from berm.kernels.walls.mesh_contacts import (
    BEHIND,
    FACE,
    FEATURE,
    GAP,
    NX,
    NY,
    NZ,
    STATE,
    WAITING,
    WAY,
    gather,
    take_best,
)
from berm.kernels.walls.near_walls import MESH_SLOTS

# Planes of one mesh whose normals differ less are the same contact of a step before.
SAME_COS = 0.9


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
def mesh_touches(
    i, k, m, deep, f_step, pose, shape, x, keep, hist, ranges, tri, normals, frame, dims, starts,
    members, field, corners, fan_starts, fans, stamps, stamp, cand, pair, q, heights, touch,
):  # fmt: skip
    """Write where sphere i touches mesh m: slot, distance (m), direction to it; return how often.

    A centre in the solid is pushed out by the shortest way, and by nothing else. hist[k + slot] is
    the memory of a slot, and its last three numbers are the normal it was for.
    """
    r, last = x[i, 3], hist.shape[1] - 3
    lx, ly, lz = to_body(pose, f_step, x[i, 0], x[i, 1], x[i, 2])
    solid = has_inside(shape, frame[m], lx, ly)
    found, count = gather(
        MESH, solid, tri[ranges[m, 0] : ranges[m + 1, 0]],
        normals[ranges[m, 0] : ranges[m + 1, 0]], frame[m], dims[m],
        starts[ranges[m, 1] : ranges[m + 1, 1]], members[ranges[m, 2] : ranges[m + 1, 2]],
        corners[ranges[m, 0] : ranges[m + 1, 0]], fan_starts[ranges[m, 4] : ranges[m + 1, 4]],
        fans[ranges[m, 5] : ranges[m + 1, 5]], heights, pair, stamps, stamp, cand, q, pose, f_step,
        x[i, 0], x[i, 1], x[i, 2], x[i, 0], x[i, 1], x[i, 2], r, 0.0, 0.0,
    )  # fmt: skip
    nearest = np.inf
    for n in range(count):
        nearest = min(nearest, r + found[n, GAP])
    # the centre may be within: the nearest triangle is met from behind, or none is within reach
    if solid and (q[BEHIND] < nearest or (deep and nearest == np.inf)):
        d, gx, gy, gz = solid_distance(
            m, shape, ranges, tri, normals, frame, dims, starts, members, field, lx, ly, lz
        )
        if d < 0.0:
            count, c = 1, found[0]
            c[WAY], c[GAP], c[FEATURE], c[STATE] = 0.0, d - r, FACE, WAITING
            c[NX], c[NY], c[NZ] = gx, gy, gz
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
            forget(k + slot, last, hist)
            hist[k + slot, last], hist[k + slot, last + 1], hist[k + slot, last + 2] = 0.0, 0.0, 0.0
    return touches
