"""Contacts, a block at a time and number by number: what contact laws compute with.

A block b holds LANES contacts, number c of contact m in b[c * LANES + m], so that a plain loop over
them becomes vector code; p holds the laws' numbers for each in the same way, and kinds which pair
of materials they are for. who holds rows and numbers of the partners, and where memory is kept.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.fused import inline
from berm.kernels.simd.vec4 import FOUR, add_rows4, four, rows4, set_four, set_rows4, where_equal
from berm.kernels.simd.vec8 import lane, splat4, vmax

LANES = 32
LAW_NUMBERS = 16
# What goes in for two spheres: the way from the first to the second (m), radii, velocity of the
# first relative to the second, sum of the inverse masses, spins of both, what they remember.
WAY, RADII, SPEED, LIGHT, SPIN, OTHER_SPIN, MEMORY = (LANES * c for c in (0, 3, 5, 8, 9, 12, 15))
# What comes out: force on the first, torques on both, overlap (m).
FORCE, TORQUE, OTHER_TORQUE, OVERLAP = (LANES * c for c in (21, 24, 27, 30))
NUMBERS = 31 * LANES
WHO = 3 * LANES + FOUR  # four are noted at a time


@inline
def put_kind(m, kind, prm, kinds, p):
    """Give contact m of a block the laws' numbers for a pair of materials; most have one kind."""
    if kinds[m] != kind:
        kinds[m] = kind
        for c in range(LAW_NUMBERS):
            p[c * LANES + m] = prm[kind, c]


@inline
def put_three(columns, at, b):
    """Write the first three of four vectors to a block."""
    set_four(b, at, columns[0])
    set_four(b, at + LANES, columns[1])
    set_four(b, at + 2 * LANES, columns[2])


@inline
def three(at, b):
    """Three vectors of a block, and nothing in a fourth."""
    return four(b, at), four(b, at + LANES), four(b, at + 2 * LANES), splat4(0.0)


@inline
def put_memory(columns, valid, last, at, b):
    """Write what contacts remember to a block, nothing for those that did not touch at last."""
    put_three(
        (
            where_equal(valid, last, columns[0]), where_equal(valid, last, columns[1]),
            where_equal(valid, last, columns[2]),
        ), at, b,
    )  # fmt: skip


@inline
def put_pairs(count, stamp, x, v, spin, hist, who, b):
    """Fill a block with `count` pairs of rows who[m] and who[LANES + m], four at a time.

    What they remember is in rows who[2 * LANES + m] of hist, a quad for each vector, and behind the
    first when it was kept: before the present `stamp`, or the contact was lost in between. Where
    they are not four by four, the last one is repeated: one of before may not touch any more, and
    laws take roots of overlaps.
    """
    for m in range(count, -(-count // FOUR) * FOUR):
        for c in range(3):
            who[c * LANES + m] = who[c * LANES + count - 1]
    quads, last = hist.shape[1] // FOUR, splat4(stamp - 1.0)
    nil, one = splat4(0.0), splat4(1.0)
    for m in range(0, count, FOUR):
        px, py, pz, r = rows4(x, who, m, 1, 0)
        qx, qy, qz, q = rows4(x, who, LANES + m, 1, 0)
        put_three((qx - px, qy - py, qz - pz), WAY + m, b)
        set_four(b, RADII + m, r)
        set_four(b, RADII + LANES + m, q)
        vx, vy, vz, w = rows4(v, who, m, 1, 0)
        ux, uy, uz, light = rows4(v, who, LANES + m, 1, 0)
        put_three((vx - ux, vy - uy, vz - uz), SPEED + m, b)
        light = w + light
        light = light + where_equal(light, nil, one)  # two fixed spheres; nothing moves them
        set_four(b, LIGHT + m, light)
        put_three(rows4(spin, who, m, 1, 0), SPIN + m, b)
        put_three(rows4(spin, who, LANES + m, 1, 0), OTHER_SPIN + m, b)
        if quads > 0:
            dx, dy, dz, when = rows4(hist, who, 2 * LANES + m, quads, 0)
            put_memory((dx, dy, dz), when, last, MEMORY + m, b)
            if quads > 1:
                roll = rows4(hist, who, 2 * LANES + m, quads, 1)
                put_memory(roll, when, last, MEMORY + 3 * LANES + m, b)


@inline
def take_pairs(count, stamp, keep, who, b, f, hist):
    """Add what came out of a block's first pairs to f, keep what they remember; sum, most overlap.

    In the order of the list, whatever the threads do. f holds force and torque, a quad each.
    """
    quads, whole = hist.shape[1] // FOUR, count - count % FOUR
    sums = tops = splat4(0.0)
    now = splat4(stamp)
    for m in range(0, whole, FOUR):
        fx, fy, fz, nil = three(FORCE + m, b)
        add_rows4(f, who, m, 2, 0, (fx, fy, fz, nil))
        add_rows4(f, who, m, 2, 1, three(TORQUE + m, b))
        add_rows4(f, who, LANES + m, 2, 0, (nil - fx, nil - fy, nil - fz, nil))
        add_rows4(f, who, LANES + m, 2, 1, three(OTHER_TORQUE + m, b))
        if keep and quads > 0:
            dx, dy, dz, _ = three(MEMORY + m, b)
            set_rows4(hist, who, 2 * LANES + m, quads, 0, (dx, dy, dz, now))
        if keep and quads > 1:
            set_rows4(hist, who, 2 * LANES + m, quads, 1, three(MEMORY + 3 * LANES + m, b))
        sums = sums + four(b, OVERLAP + m)
        tops = vmax(four(b, OVERLAP + m), tops)
    total, most = 0.0, 0.0
    for c in range(FOUR):
        total, most = total + lane(sums, c), max(most, lane(tops, c))
    for m in range(whole, count):
        i, j = np.uint64(who[m]), np.uint64(who[LANES + m])
        for c in range(3):
            f[i, c] += b[FORCE + c * LANES + m]
            f[j, c] -= b[FORCE + c * LANES + m]
            f[i, 4 + c] += b[TORQUE + c * LANES + m]
            f[j, 4 + c] += b[OTHER_TORQUE + c * LANES + m]
        if keep:
            k = np.uint64(who[2 * LANES + m])
            for c in range(3 * quads):
                hist[k, c + c // 3] = b[MEMORY + c * LANES + m]
            if quads > 0:
                hist[k, 3] = stamp
        total += b[OVERLAP + m]
        most = max(most, b[OVERLAP + m])
    return total, most
