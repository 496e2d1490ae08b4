"""Contacts between spheres: a list of pairs, and a law that answers to those that touch."""

from __future__ import annotations

import numpy as np

from berm.kernels.dem.contact_blocks import LANES, put_kind, put_pairs, take_pairs
from berm.kernels.fused import inline, inner
from berm.kernels.jit import call_block
from berm.kernels.simd.vec4 import FOUR, note_below, rows4
from berm.kernels.simd.vec8 import fma

# Columns of statistics, one row a slab.
CONTACTS, SUM, DEEPEST, WALLS = range(4)


@inline
def answer(
    count, law, alike, mine, nbr, who, b, kinds, p, hist, x, v, spin, material, nmat, prm, f,
    elapsed, stamp, keep,
):  # fmt: skip
    """Forces of the first pairs of a block; returns sum and most of their overlaps."""
    for m in range(count):
        k = np.uint64(who[2 * LANES + m])
        who[m], who[LANES + m] = mine[k], nbr[k]
    if not alike:
        for m in range(count):
            i, j = np.uint64(who[m]), np.uint64(who[LANES + m])
            put_kind(m, material[i] * nmat + material[j], prm, kinds, p)
    put_pairs(count, stamp, x, v, spin, hist, who, b)
    call_block(law, b, p, elapsed)  # what is left of a block before is not taken
    return take_pairs(count, stamp, keep, who, b, f, hist)


@inline
def note_touching(k, end, mine, nbr, x, who, m):
    """Note which of up to four pairs from k on touch, (1); returns how many are noted now."""
    if k + FOUR <= end:
        px, py, pz, r = rows4(x, mine, k, 1, 0)
        qx, qy, qz, q = rows4(x, nbr, k, 1, 0)
        dx, dy, dz, q = qx - px, qy - py, qz - pz, q + r
        return note_below(who, m, k, fma(dx, dx, fma(dy, dy, dz * dz)), q * q)
    for n in range(np.uint64(k), np.uint64(end)):
        i, j = np.uint64(mine[n]), np.uint64(nbr[n])
        dx, dy, dz, q = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2], x[j, 3] + x[i, 3]
        who[m] = n
        m += 0 if dx * dx + dy * dy + dz * dz >= q * q else 1
    return m


@inner
def pair_slab(
    s, law, slab, ptr, mine, nbr, hist, x, v, spin, material, alike, nmat, prm, f, elapsed, stamp,
    keep, block, whos, numbers, known, stats,
):  # fmt: skip
    """Contacts between the spheres of one slab and their neighbours, [Bell05] (1)-(2).

    Pair k is of rows mine[k] and nbr[k]. alike: all spheres are of one material. Most time goes
    into moving numbers, so four pairs are moved at a time; whether one touches is no jump, which
    would be guessed wrong for a third of them.
    """
    touching, sum_xi, most_xi, m = 0, 0.0, 0.0, 0
    b, who, p, kinds = block[s], whos[s], numbers[s], known[s]
    noted = who[2 * LANES :]
    if alike:
        for n in range(LANES):
            put_kind(n, material[0] * (nmat + 1), prm, kinds, p)
    end = ptr[slab[s + 1]]
    for k in range(ptr[slab[s]], end, FOUR):
        m = note_touching(k, end, mine, nbr, x, noted, m)
        if m < LANES and k + FOUR < end:
            continue
        count = min(m, LANES)
        if count > 0:
            total, most = answer(
                count, law, alike, mine, nbr, who, b, kinds, p, hist, x, v, spin, material, nmat,
                prm, f, elapsed, stamp, keep,
            )  # fmt: skip
            touching, sum_xi, most_xi = touching + count, sum_xi + total, max(most_xi, most)
            for n in range(FOUR):
                noted[n] = noted[LANES + n]
        m -= count
    if m > 0:
        total, most = answer(
            m, law, alike, mine, nbr, who, b, kinds, p, hist, x, v, spin, material, nmat, prm, f,
            elapsed, stamp, keep,
        )  # fmt: skip
        touching, sum_xi, most_xi = touching + m, sum_xi + total, max(most_xi, most)
    stats[s, CONTACTS], stats[s, SUM] = touching, sum_xi
    stats[s, DEEPEST] = most_xi
