"""Links of cloth as rows of constraints."""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import jit, pjit, prange

CLOSE = 1e-30  # m: ends that are closer have no direction


@jit
def turns(pairs, unit, free, turn):
    """Find the turn of each link in its unit: after all before it that share a vertex with it.

    Links of one turn share none, so that answering turn by turn is answering link by link. Units
    come one after the other; free (vertices, 2): unit that was last there, and its next turn.
    """
    for k in range(pairs.shape[0]):
        now = 0
        for m in range(2):
            p = pairs[k, m]
            if free[p, 0] == unit[k]:
                now = max(now, free[p, 1])
        turn[k] = now
        for m in range(2):
            p = pairs[k, m]
            free[p, 0] = unit[k]
            free[p, 1] = now + 1


@pjit
def links(at, first, pairs, rest, share, x, ends, row, imp):
    """Write the rows of `vts_law` of all links from place `at` on.

    pairs (m, 2): particles, counted from `first`; rest: lengths, m; share: of the correction.
    """
    for k in prange(pairs.shape[0]):
        c, i, j = at + k, first + pairs[k, 0], first + pairs[k, 1]
        dx = np.float64(x[i, 0]) - x[j, 0]
        dy = np.float64(x[i, 1]) - x[j, 1]
        dz = np.float64(x[i, 2]) - x[j, 2]
        far = math.sqrt(dx * dx + dy * dy + dz * dz)
        over = 1.0 / max(far, CLOSE)
        ends[c, 0], ends[c, 1] = i, j
        row[c, 0], row[c, 1], row[c, 2] = dx * over, dy * over, dz * over
        row[c, 3], row[c, 4], row[c, 11] = far - rest[k], rest[k], share[k]
        for e in range(6, 11):
            row[c, e] = 0.0
        for e in range(3):
            imp[c, e] = 0.0
