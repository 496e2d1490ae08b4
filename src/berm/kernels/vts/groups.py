"""Seats of constraints in groups of LANES: one after the other, or such that a group shares none.

Gauss-Seidel may answer constraints together that share no particle. Each takes a seat in the first
group with room behind all groups in which its particles sit already: at every particle the order is
that of the list, so the result is that of one constraint after the other, bit for bit.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inner, pjit, prange
from berm.kernels.vts.blocks import LANES
from berm.kernels.vts.law import FACE, LINK, WALL


@inner
def _in_order(first, last, seat, filled):
    """Seats in the order of the list; returns how many groups there are."""
    for c in range(first, last):
        seat[c] = c - first
    groups = (last - first + LANES - 1) // LANES
    for g in range(groups):
        filled[first + g] = min(LANES, last - first - g * LANES)
    return groups


@inner
def _apart(kind, first, last, low, high, free, ends, seat, filled, onward):
    """Seats such that no group shares a particle; returns how many groups there are.

    free[p]: first group behind those of particle p. onward: where to look behind a full group.
    """
    for p in range(high - low):
        free[p] = 0
    groups = 0
    for c in range(first, last):
        i = ends[c, 0] - low
        j = i if kind == WALL else ends[c, 1] - low
        g = max(free[i], free[j])
        while g < groups and filled[first + g] == LANES:
            further = onward[first + g]
            if further < groups and filled[first + further] == LANES:
                onward[first + g] = onward[first + further]
            g = further
        if g == groups:
            filled[first + g] = 0
            onward[first + g] = g + 1
            groups += 1
        seat[c] = g * LANES + filled[first + g]
        filled[first + g] += 1
        free[i] = g + 1
        free[j] = g + 1
    return groups


@inner
def _unit(u, apart, unit, kind, first, last, reach, base, free, ends, seat, filled, onward, groups):
    mine = free[base[u] : base[u + 1]]
    for b in range(unit[u], unit[u + 1]):
        if kind[b] >= FACE:
            groups[b] = 0
        elif apart and kind[b] != LINK:  # links of a block share no particle as they are
            groups[b] = _apart(
                kind[b], first[b], last[b], reach[u, 0], reach[u, 1], mine, ends, seat, filled,
                onward,
            )  # fmt: skip
        else:
            groups[b] = _in_order(first[b], last[b], seat, filled)


@pjit
def seats(apart, unit, kind, first, last, reach, base, free, ends, seat, filled, onward, groups):
    """Seat of each constraint in its block, constraints in each group, groups of each block.

    Group g of block b has its numbers in filled[first[b] + g]; reach (units, 2): particles that a
    unit touches, for which it has free[base[u] : base[u + 1]].
    """
    for u in prange(reach.shape[0]):
        _unit(
            np.int64(u), apart, unit, kind, first, last, reach, base, free, ends, seat, filled,
            onward, groups,
        )  # fmt: skip
