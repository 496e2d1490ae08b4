"""Touching pairs, a block at a time and number by number: what contact laws compute with.

A block b holds LANES pairs, number c of pair m in b[c * LANES + m], so that a plain loop over the
pairs becomes vector code; who holds the rows of both grains and the pair's number in the list.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.fused import inline

LANES = 32
# What goes in: the way from the first to the second (m), radii, velocity of the first relative to
# the second, sum of the inverse masses, spins of both, and what the pair remembers.
WAY, RADII, SPEED, LIGHT, SPIN, OTHER_SPIN, MEMORY = (LANES * c for c in (0, 3, 5, 8, 9, 12, 15))
# What comes out: force on the first, torques on both, overlap (m).
FORCE, TORQUE, OTHER_TORQUE, OVERLAP = (LANES * c for c in (21, 24, 27, 30))
NUMBERS = 31 * LANES


@inline
def put(m, i, j, k, dx, dy, dz, r, q, v, spin, hist, remembered, who, b):
    """Make pair k of rows i and j, d apart, number m of a block."""
    who[m], who[LANES + m], who[2 * LANES + m] = i, j, k
    b[WAY + m], b[WAY + LANES + m], b[WAY + 2 * LANES + m] = dx, dy, dz
    b[RADII + m], b[RADII + LANES + m] = r, q
    b[LIGHT + m] = v[i, 3] + v[j, 3]
    for c in range(3):
        b[SPEED + c * LANES + m] = v[i, c] - v[j, c]
        b[SPIN + c * LANES + m] = spin[i, c]
        b[OTHER_SPIN + c * LANES + m] = spin[j, c]
    for c in range(remembered):
        b[MEMORY + c * LANES + m] = hist[k, c]


@inline
def take(count, remembered, keep, who, b, f, hist):
    """Add what came out of a block's first pairs to f, keep what they remember; sum, most overlap.

    In the order of the list, whatever the threads do.
    """
    total, most = 0.0, 0.0
    for m in range(count):
        i, j = np.uint64(who[m]), np.uint64(who[LANES + m])
        for c in range(3):
            f[i, c] += b[FORCE + c * LANES + m]
            f[j, c] -= b[FORCE + c * LANES + m]
            f[i, 3 + c] += b[TORQUE + c * LANES + m]
            f[j, 3 + c] += b[OTHER_TORQUE + c * LANES + m]
        if keep:
            for c in range(remembered):
                hist[np.uint64(who[2 * LANES + m]), c] = b[MEMORY + c * LANES + m]
        total += b[OVERLAP + m]
        most = max(most, b[OVERLAP + m])
    return total, most
