"""Constraints of one or two particles, LANES at a time: plain loops that become vector code.

A block b holds number k of its constraint m in b[k * LANES + m]: first the row of `vts_law`, then
the impulse and its last change. Rows are packed into blocks once a solve. A hand s holds what is
under way: relative velocities, and then what changes. Links accumulate no impulse: nothing bounds
it, so nothing asks for it.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline, inner
from berm.kernels.vts_law import CONE, LINEAR, LINK, MODE, MOVING, NONE, ROW, WALL, answer

LANES = 16
IMPULSE, CHANGE = LANES * ROW, LANES * (ROW + 3)
NUMBERS = LANES * (ROW + 6)
SPEED, NEW = 0, 3 * LANES
HAND = 6 * LANES


@inner
def pack(first, last, place, row, imp, change, block):
    """Write constraints `first` to `last` into blocks from `place` on."""
    for c in range(first, last):
        b, m = block[place + (c - first) // LANES], (c - first) % LANES
        for k in range(ROW):
            b[k * LANES + m] = row[c, k]
        for e in range(3):
            b[IMPULSE + e * LANES + m] = imp[c, e]
            b[CHANGE + e * LANES + m] = change[c, e]


@inner
def unpack(first, last, place, block, imp, change):
    """Give impulses and their last changes back."""
    for c in range(first, last):
        b, m = block[place + (c - first) // LANES], (c - first) % LANES
        for e in range(3):
            imp[c, e] = b[IMPULSE + e * LANES + m]
            change[c, e] = b[CHANGE + e * LANES + m]


@inline
def _answers(kind, memory, b, s, law, friction):
    """New impulses of a whole block, and their changes."""
    for m in range(LANES):
        r = (
            b[m], b[LANES + m], b[2 * LANES + m], b[3 * LANES + m], b[4 * LANES + m],
            b[5 * LANES + m], b[6 * LANES + m], b[7 * LANES + m], b[8 * LANES + m],
            b[9 * LANES + m], b[10 * LANES + m], b[11 * LANES + m],
        )  # fmt: skip
        none = r[5] - r[5]
        px, py, pz, qx, qy, qz = none, none, none, none, none, none
        if kind != LINK:
            px, py, pz = b[IMPULSE + m], b[IMPULSE + LANES + m], b[IMPULSE + 2 * LANES + m]
        if memory:
            qx, qy, qz = b[CHANGE + m], b[CHANGE + LANES + m], b[CHANGE + 2 * LANES + m]
        fx, fy, fz = answer(
            kind, r, s[SPEED + m], s[SPEED + LANES + m], s[SPEED + 2 * LANES + m], px, py, pz, qx,
            qy, qz, law, friction,
        )  # fmt: skip
        if kind != LINK:
            b[IMPULSE + m], b[IMPULSE + LANES + m], b[IMPULSE + 2 * LANES + m] = fx, fy, fz
        fx, fy, fz = fx - px, fy - py, fz - pz
        s[NEW + m], s[NEW + LANES + m], s[NEW + 2 * LANES + m] = fx, fy, fz
        if memory:
            b[CHANGE + m], b[CHANGE + LANES + m], b[CHANGE + 2 * LANES + m] = fx, fy, fz


@inline
def respond(kind, memory, first, last, place, ends, block, s, old, v, law, friction):
    """Answer constraints `first` to `last`: impulses from velocities `old`, which move v.

    memory: whether they remember their last change. With v for `old` too it is a sweep of
    Gauss-Seidel, if no two of them share a particle.
    """
    for k in range((last - first + LANES - 1) // LANES):
        b, c = block[place + k], first + k * LANES
        count = min(LANES, last - c)
        for m in range(count):
            at = np.uint64(c + m)
            i = np.uint64(ends[at, 0])
            if kind == WALL:
                for e in range(3):
                    s[SPEED + e * LANES + m] = old[i, e] - b[(8 + e) * LANES + m]
            else:
                j = np.uint64(ends[at, 1])
                for e in range(3):
                    s[SPEED + e * LANES + m] = old[i, e] - old[j, e]
        # the usual cases, with nothing left to ask inside the loop
        if kind == LINK and law[MODE] == MOVING:
            _answers(kind, memory, b, s, (law[0], law[1], law[2], law[3], law[4], MOVING), NONE)
        elif friction == CONE and law[MODE] == LINEAR:
            _answers(kind, memory, b, s, (law[0], law[1], law[2], law[3], law[4], LINEAR), CONE)
        else:
            _answers(kind, memory, b, s, law, friction)
        for m in range(count):
            at = np.uint64(c + m)
            i = np.uint64(ends[at, 0])
            fx, fy, fz = s[NEW + m], s[NEW + LANES + m], s[NEW + 2 * LANES + m]
            w = v[i, 3]
            v[i, 0], v[i, 1], v[i, 2] = v[i, 0] + w * fx, v[i, 1] + w * fy, v[i, 2] + w * fz
            if kind != WALL:
                j = np.uint64(ends[at, 1])
                w = v[j, 3]
                v[j, 0], v[j, 1], v[j, 2] = v[j, 0] - w * fx, v[j, 1] - w * fy, v[j, 2] - w * fz
