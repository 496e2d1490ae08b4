"""Contacts between spheres: a list of pairs, and a law that answers to those that touch."""

from __future__ import annotations

import numpy as np

from berm.kernels.contact_blocks import (
    LANES,
    LAW_NUMBERS,
    NUMBERS,
    forget,
    put_kind,
    put_pair,
    take_pairs,
)
from berm.kernels.fused import inner
from berm.kernels.jit import call_block

# Columns of statistics, one row a slab.
CONTACTS, SUM, DEEPEST, WALLS = range(4)


@inner
def pair_slab(
    s, law, slab, ptr, nbr, hist, x, v, spin, material, nmat, prm, f, elapsed, keep, stats
):  # fmt: skip
    """Contacts between the spheres of one slab and their neighbours, [Bell05] (1)-(2)."""
    touching, sum_xi, most_xi, m = 0, 0.0, 0.0, 0
    b, who = np.ones(NUMBERS), np.zeros(3 * LANES, np.int64)
    p, kinds = np.ones(LAW_NUMBERS * LANES), np.full(LANES, -1)
    for i in range(np.uint64(slab[s]), np.uint64(slab[s + 1])):  # unsigned: no test for below 0
        px, py, pz, r = x[i, 0], x[i, 1], x[i, 2], x[i, 3]
        for k in range(np.uint64(ptr[i]), np.uint64(ptr[i + np.uint64(1)])):
            j = np.uint64(nbr[k])
            dx, dy, dz, q = x[j, 0] - px, x[j, 1] - py, x[j, 2] - pz, x[j, 3]
            if dx * dx + dy * dy + dz * dz >= (r + q) * (r + q):
                if keep:
                    forget(k, hist.shape[1], hist)
                continue
            put_pair(m, i, j, k, dx, dy, dz, r, q, v, spin, hist, who, b)
            put_kind(m, material[i] * nmat + material[j], prm, kinds, p)
            m += 1
            if m == LANES:
                call_block(law, b, p, elapsed)
                total, most = take_pairs(m, keep, who, b, f, hist)
                touching, sum_xi, most_xi = touching + m, sum_xi + total, max(most_xi, most)
                m = 0
    call_block(law, b, p, elapsed)  # the rest; what is left of a block before is not taken
    total, most = take_pairs(m, keep, who, b, f, hist)
    stats[s, CONTACTS], stats[s, SUM] = touching + m, sum_xi + total
    stats[s, DEEPEST] = max(most_xi, most)
