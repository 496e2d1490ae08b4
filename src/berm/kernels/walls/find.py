"""All contacts of grains with bodies for given poses, in one compiled call.

Slabs do not touch each other's arrays, so that each is searched from beginning to end on its own:
bounds, all bodies, the bent ways, and what the contacts of before leave to the new ones. `find` can
be called from another kernel, between its parallel loops.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.geometry.distance import HEIGHT
from berm.kernels.jit import inner, pjit, prange
from berm.kernels.walls.arrays import (
    CELLS,
    FAN_STARTS,
    FANS,
    HEIGHTS,
    MEMBERS,
    STARTS,
    TRI,
)
from berm.kernels.walls.bent_ways import legs_slab
from berm.kernels.walls.carry import match_slab, turns_slab
from berm.kernels.walls.mesh_contacts import mesh_slab
from berm.kernels.walls.shape_contacts import bounds_slab, shape_slab

# A way that walls bend more often than this within one step is not followed further.
MOST_BENDS = 4


@inner
def _body_slab(
    s, x, v, slab_start, dt, gravity, skin, b, pose, shapes, scratch, use_legs, touches
):
    """Contacts of one slab with body b, along its rows' ways or along the bent ones."""
    blocks, legs, leg_count, _ = scratch
    rows, body, plane, impulse, total, count, first, follow = touches
    m = shapes.mesh[b]
    if m < 0:
        shape_slab(
            s, x, v, slab_start, dt, gravity, skin, b, shapes.kind[b], shapes.prm[b], pose, blocks,
            use_legs, legs, leg_count, rows, body, plane, impulse, total, count, first, follow,
        )  # fmt: skip
        return
    low, high, dims = shapes.ranges[m], shapes.ranges[m + 1], shapes.dims[m]
    nx, ny = (dims[0], dims[1]) if shapes.kind[b] == HEIGHT else (0, 0)
    mesh_slab(
        s, x, v, slab_start, dt, gravity, skin, b, shapes.kind[b],
        shapes.tri[low[TRI] : high[TRI]], shapes.normals[low[TRI] : high[TRI]], shapes.frame[m],
        dims, shapes.starts[low[STARTS] : high[STARTS]],
        shapes.members[low[MEMBERS] : high[MEMBERS]], shapes.field[low[CELLS] : high[CELLS]],
        shapes.corners[low[TRI] : high[TRI]],
        shapes.fan_starts[low[FAN_STARTS] : high[FAN_STARTS]],
        shapes.fans[low[FANS] : high[FANS]],
        shapes.heights[low[HEIGHTS] : high[HEIGHTS]].reshape((nx, ny)), pose, blocks,
        use_legs, legs, leg_count, rows, body, plane, impulse, total, count, first, follow,
    )  # fmt: skip


@inner
def find_slab(
    s, x, v, slab_start, dt, gravity, skin, which, poses, shapes, scratch, use_old_row, old_row,
    new, old,
):  # fmt: skip
    """Find the contacts of one slab; new.count[s] is above the room where they do not fit."""
    count, cap = new.count, new.rows.shape[1]
    bounds_slab(s, x, v, slab_start, scratch.blocks, new.first)
    count[s], scratch.leg_count[s] = 0, 0
    for bends in range(MOST_BENDS + 1):
        for k in range(which.shape[0]):
            b = np.int64(which[k])
            _body_slab(
                s, x, v, slab_start, dt, gravity, skin, b, poses[b], shapes, scratch, bends > 0, new
            )
        if count[s] > cap:
            return
        legs_slab(
            s, x, v, dt, gravity, new.rows, new.plane, count, new.first, new.follow, bends > 0,
            scratch.legs, scratch.leg_count,
        )  # fmt: skip
        if scratch.leg_count[s] == 0:
            break
    turns_slab(s, new.rows, new.plane, count)
    match_slab(
        s, new.rows, new.body, new.plane, new.impulse, count, use_old_row, old_row,
        old.body.reshape(-1), old.plane.reshape(-1, 8), old.impulse.reshape(-1, 4), old.first,
        old.follow.reshape(-1), scratch.claim,
    )  # fmt: skip


@pjit
def find(
    alone, x, v, slab_start, dt, gravity, skin, which, poses, shapes, scratch, use_old_row, old_row,
    new, old,
):  # fmt: skip
    """Find the contacts of all slabs with bodies `which`; return whether all have found room.

    x (>= n, 4) = position, radius (m); v (>= n, 4) = velocity (m/s), any. Grains go from x to
    x + dt v + dt^2 gravity, bodies as poses (nb, POSE) say; skin: in radii of a grain. which
    int64 (m,): bodies that are looked at, by their numbers in poses and shapes. use_old_row:
    old_row int64 (n,) gives the row that a grain had when `old` was found, -1: none. new, old:
    `Touches`; where all fit, each contact starts from the impulse of the old one that it goes on
    from. alone: on this thread only, which small worlds and callers within a parallel loop want.
    """
    slabs = slab_start.shape[0] - 1
    if alone:
        for s in range(slabs):
            find_slab(
                np.int64(s), x, v, slab_start, dt, gravity, skin, which, poses, shapes, scratch,
                use_old_row, old_row, new, old,
            )  # fmt: skip
    else:
        for number in prange(slabs):
            find_slab(
                np.int64(number), x, v, slab_start, dt, gravity, skin, which, poses, shapes,
                scratch, use_old_row, old_row, new, old,
            )  # fmt: skip
    most = np.int64(0)
    for s in range(slabs):
        most = max(most, new.count[s])
    return most <= new.rows.shape[1]
