"""Which boxes overlap: a uniform grid, hashed, so that time and memory grow with their number.

box (m, 6): lower and upper corner, finite. Every box is listed in all cells that it touches; a pair
counts only in the cell with the lower corner of what the two share, so it counts once.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import inner, jit, pjit, prange

TOGETHER = 256  # boxes that one turn asks for


@inner
def _slot(i, j, k, size):
    """Place of a cell in a table whose size is a power of two."""
    return ((i * 73856093) ^ (j * 19349663) ^ (k * 83492791)) & (size - 1)


@jit
def list_boxes(box, cell, start, item):
    """Sort boxes by cell: item[start[slot] : start[slot + 1]]; return how many items there are.

    start (size + 1,). With too little room in `item` they are counted only.
    """
    size = start.shape[0] - 1
    for k in range(size + 1):
        start[k] = 0
    low = np.empty(3, np.int64)
    high = np.empty(3, np.int64)
    total = 0
    for turn in range(2):
        for b in range(box.shape[0]):
            for e in range(3):
                low[e] = math.floor(box[b, e] / cell)
                high[e] = math.floor(box[b, 3 + e] / cell)
            for i in range(low[0], high[0] + 1):
                for j in range(low[1], high[1] + 1):
                    for k in range(low[2], high[2] + 1):
                        slot = _slot(i, j, k, size)
                        if turn == 0:
                            start[slot + 1] += 1
                            total += 1
                        else:
                            item[start[slot]] = b
                            start[slot] += 1
        if turn == 0:
            if total > item.shape[0]:
                return total
            for k in range(size):
                start[k + 1] += start[k]
    for k in range(size, 0, -1):
        start[k] = start[k - 1]
    start[0] = 0
    return total


@inner
def _of_one(a, mine, other, same, cell, start, item, out, at):
    """Overlaps of box a; written to `out` from `at` on where there is room. Return their number."""
    size = start.shape[0] - 1
    found = 0
    x0, y0, z0 = mine[a, 0], mine[a, 1], mine[a, 2]
    x1, y1, z1 = mine[a, 3], mine[a, 4], mine[a, 5]
    for i in range(math.floor(x0 / cell), math.floor(x1 / cell) + 1):
        for j in range(math.floor(y0 / cell), math.floor(y1 / cell) + 1):
            for k in range(math.floor(z0 / cell), math.floor(z1 / cell) + 1):
                slot = _slot(i, j, k, size)
                last = -1
                for m in range(start[slot], start[slot + 1]):
                    b = item[m]
                    if b == last or (same and b <= a):  # two cells of b may share a slot
                        continue
                    last = b
                    lx, ly, lz = max(x0, other[b, 0]), max(y0, other[b, 1]), max(z0, other[b, 2])
                    if lx > min(x1, other[b, 3]) or ly > min(y1, other[b, 4]):
                        continue
                    if lz > min(z1, other[b, 5]):
                        continue
                    if math.floor(lx / cell) != i or math.floor(ly / cell) != j:
                        continue
                    if math.floor(lz / cell) != k:
                        continue
                    if at + found < out.shape[0]:
                        out[at + found, 0], out[at + found, 1] = a, b
                    found += 1
    return found


@inner
def _of_some(s, mine, other, same, cell, start, item, first, out, write):
    for a in range(s * TOGETHER, min((s + 1) * TOGETHER, mine.shape[0])):
        if write:
            _of_one(a, mine, other, same, cell, start, item, out, first[a])
        else:
            first[a + 1] = _of_one(a, mine, other, same, cell, start, item, out, out.shape[0])


@pjit
def overlaps(mine, other, same, cell, start, item, first, out, write):
    """Pairs (a, b) of overlapping boxes; same: both are one set, and only b > a counts.

    Without `write` first[a + 1] gets the number of pairs of a; with it, pairs go to out (m, 2) from
    first[a] on, where first (n + 1,) then holds sums.
    """
    for s in prange((mine.shape[0] + TOGETHER - 1) // TOGETHER):
        _of_some(np.int64(s), mine, other, same, cell, start, item, first, out, write)
