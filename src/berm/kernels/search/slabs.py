"""Slabs: private accumulators over the rows that a slab touches, summed in slab order.

A slab is a contiguous range of rows. Their number depends on the number of grains only, never on
the number of threads, so sums come out the same on 1, 2 or 16 threads.
"""

from __future__ import annotations

from berm.kernels.jit import inner
from berm.kernels.simd.vec8 import quad, set_quad, splat4


@inner
def clear_slab(s, reach, base, acc):
    """Zero the accumulator of slab s (rows reach[s, 0] to reach[s, 1], from acc[base[s]])."""
    zero = splat4(acc[0, 0] - acc[0, 0])
    for r in range(base[s], base[s] + reach[s, 1] - reach[s, 0]):
        set_quad(acc, r, zero)


@inner
def sum_slab(s, slab, reach, base, acc):
    """Add what other slabs gathered for the rows of slab s to its own sums, in slab order."""
    mine = base[s] - reach[s, 0]
    for t in range(slab.shape[0] - 1):
        if t == s:
            continue
        first = max(slab[s], reach[t, 0])
        last = min(slab[s + 1], reach[t, 1])
        other = base[t] - reach[t, 0]
        for r in range(first, last):
            set_quad(acc, mine + r, quad(acc, mine + r) + quad(acc, other + r))
