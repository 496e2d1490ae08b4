"""Pairs of grains that may touch, row by row, and what each remembers from the list before.

ptr (n + 1,): the pairs of row i are nbr[ptr[i]:ptr[i + 1]]; each pair stands once. hist (pairs, h)
is what a contact remembers, seen from the row that the pair stands in: one or two vectors in four
columns each, and in the fourth when that was. mine[k] is the row that pair k stands in.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline, pjit, prange
from berm.kernels.simd.vec4 import FOUR, keep_last
from berm.kernels.simd.vec8 import quad, set_quad, splat4


@inline
def _parted(a, b, apart):
    """Whether bodies a and b do not meet: they are one, or min << 32 | max is in apart (sorted)."""
    if a == b:
        return True
    if b < 0 or apart.shape[0] == 0:
        return False
    key = (np.int64(min(a, b)) << 32) | np.int64(max(a, b))
    low, high = 0, apart.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if apart[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < apart.shape[0] and apart[low] == key


@inline
def _count_slab(s, slab, found, count, owner, apart, kept):
    at = 0
    for i in range(slab[s], slab[s + 1]):
        body, several = owner[i], count[i]
        if body >= 0:
            for k in range(at, at + count[i]):
                if _parted(body, owner[found[s, k]], apart):
                    several -= 1
        kept[i + 1] = several
        at += count[i]


@pjit
def count_pairs(slab, found, count, owner, apart, kept):
    """Write to kept[i + 1] how many of row i's pairs are of bodies that meet: see `_parted`."""
    for number in prange(slab.shape[0] - 1):
        _count_slab(np.int64(number), slab, found, count, owner, apart, kept)


@inline
def _remembered(i, j, was, old_ptr, old_nbr, old_hist, hist, k):
    """Copy what the pair (i, j) remembers into hist[k], or zero."""
    a, b = was[i], was[j]
    quads, nil = hist.shape[1] // FOUR, splat4(0.0)
    if a >= 0 and b >= 0:
        for m in range(np.uint64(old_ptr[a]), np.uint64(old_ptr[a + 1])):  # unsigned: no test
            if old_nbr[m] == b:
                for c in range(quads):
                    set_quad(hist, k * quads + c, quad(old_hist, np.int64(m) * quads + c))
                return
        for m in range(np.uint64(old_ptr[b]), np.uint64(old_ptr[b + 1])):
            if old_nbr[m] == a:  # it stood in the other's row: all that it remembers turns round
                for c in range(quads):
                    old = quad(old_hist, np.int64(m) * quads + c)
                    set_quad(hist, k * quads + c, keep_last(nil - old, old))
                return
    for c in range(quads):
        set_quad(hist, k * quads + c, nil)


@inline
def _fill_slab(
    s, slab, found, count, owner, apart, was, ptr, mine, nbr, hist, old_ptr, old_nbr, old_hist,
    reach,
):  # fmt: skip
    low, high = slab[s], slab[s + 1]
    at = 0
    for i in range(slab[s], slab[s + 1]):
        k = ptr[i]
        for m in range(at, at + count[i]):
            j = found[s, m]
            if owner[i] < 0 or not _parted(owner[i], owner[j], apart):
                mine[k], nbr[k] = i, j
                low, high = min(low, j), max(high, j + 1)
                _remembered(i, j, was, old_ptr, old_nbr, old_hist, hist, k)
                k += 1
        at += count[i]
    reach[s, 0], reach[s, 1] = low, high


@pjit
def fill_pairs(
    slab, found, count, owner, apart, was, ptr, mine, nbr, hist, old_ptr, old_nbr, old_hist, reach
):  # fmt: skip
    """Fill mine, nbr and hist, and the rows that each slab touches."""
    for number in prange(slab.shape[0] - 1):
        _fill_slab(
            np.int64(number), slab, found, count, owner, apart, was, ptr, mine, nbr, hist,
            old_ptr, old_nbr, old_hist, reach,
        )  # fmt: skip
