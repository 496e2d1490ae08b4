"""Neighbour search on a uniform grid: the pairs that may touch, each found once.

Rows are sorted by cell, so that the three cells along the fast axis are one contiguous range of
rows, tested eight at a time. Each pair is found once: by the grain with the larger reach, or, at
equal reach, by the one with the lower row. Reach is radius plus skin plus the way that the grain
will go in this step, in whole cells; so a fast grain or a big rock looks further without making
the cells, and so the work of all others, larger. `slices` lays the pairs out for the solvers.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline, inner, jit, pjit, prange
from berm.kernels.vec8 import bits, count_zeros, fma, iota32, load4, splat

AHEAD = 4.0  # steps that the list of a slow grain looks ahead ...
AHEAD_MOST = 0.25  # ... but no further than this, in radii
KNOCK = 0.1  # radii that a grain may be knocked off its way before the list is made anew, and ...
KNOCK_FAST = 0.5  # ... of its way in a step besides, but no more than this in radii either


@jit
def bounds(x, v, n, dt, out):
    """Write min and max of predicted positions to out (2, 3); return the first bad row or -1."""
    for c in range(3):
        out[0, c] = np.inf
        out[1, c] = -np.inf
    bad = -1
    for i in range(n):
        for c in range(3):
            p = x[i, c] + dt * v[i, c]
            if not np.isfinite(p) and bad < 0:
                bad = i
            out[0, c] = min(out[0, c], p)
            out[1, c] = max(out[1, c], p)
    return bad


@jit
def moments(x, n, out):
    """Write mean and standard deviation of the positions to out (2, 3)."""
    for c in range(3):
        mean = 0.0
        for i in range(n):
            mean += x[i, c]
        mean /= n
        var = 0.0
        for i in range(n):
            var += (x[i, c] - mean) ** 2
        out[0, c] = mean
        out[1, c] = np.sqrt(var / n)


@inner
def _spare(way, radius):
    """Room beyond one step's way that a slow grain may use before the list is stale, m."""
    return max(min(AHEAD * way, AHEAD_MOST * radius) - way, 0.0)


@jit
def assign_cells(x, v, n, dt, skin, ahead_on, lo, inv_cell, dims, axes, cell, level):
    """Cell number (fast axis first in `axes`) and search level of rows; return the top level."""
    top = 0
    for i in range(n):
        number = np.int64(0)
        for k in range(2, -1, -1):
            c = axes[k]
            at = np.int64((x[i, c] + dt * v[i, c] - lo[c]) * inv_cell)
            at = min(max(at, 0), dims[c] - 1)
            number = number * dims[c] + at
        cell[i] = number
        way = dt * np.sqrt(v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
        reach = x[i, 3] * (1.0 + 0.5 * skin)
        if ahead_on:
            reach += way + _spare(way, x[i, 3])
        cells = min(np.int64(np.ceil(2.0 * reach * inv_cell - 1e-4)), np.int64(1000))
        level[i] = max(cells - 1, 0)
        top = max(top, level[i])
    return top


@jit
def sort_by_cell(cell, n, ncell, start, order):
    """Stable counting sort: order[new row] = old row; start[cell] = first new row of the cell."""
    for c in range(ncell + 1):
        start[c] = 0
    for i in range(n):
        start[cell[i] + 1] += 1
    for c in range(ncell):
        start[c + 1] += start[c]
    for i in range(n):
        c = cell[i]
        order[start[c]] = i
        start[c] += 1
    for c in range(ncell, 0, -1):
        start[c] = start[c - 1]
    start[0] = 0


@jit
def pack_rows(x, v, n, dt, skin, ahead_on, packed):
    """Rows for the coarse test: position and reach; two grains may meet only if reaches do."""
    for i in range(n):
        way = dt * np.sqrt(v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
        for c in range(3):
            packed[i, c] = x[i, c] if ahead_on else x[i, c] + dt * v[i, c]
        packed[i, 3] = x[i, 3] * (1.0 + 0.5 * skin)
        if ahead_on:
            packed[i, 3] += way + _spare(way, x[i, 3])
    for i in range(n, n + 8):
        for c in range(4):
            packed[i, c] = 0.0


@inner
def _may_meet(i, j, x, v, dt, widen):
    """The exact test for grains that move: near within the step, on any way that they may take."""
    fast_i = dt * np.sqrt(v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
    fast_j = dt * np.sqrt(v[j, 0] ** 2 + v[j, 1] ** 2 + v[j, 2] ** 2)
    limit = widen * (x[i, 3] + x[j, 3]) + _spare(fast_i, x[i, 3]) + _spare(fast_j, x[j, 3])
    # one of the two may be stopped by a third within the step: the faster one's whole way
    around = limit + max(fast_i, fast_j)
    far2 = 0.0
    along = 0.0
    length = 1e-30
    for c in range(3):
        d = x[j, c] - x[i, c]
        e = dt * (v[j, c] - v[i, c])
        far2 += d * d
        along += d * e
        length += e * e
    if far2 <= around * around:
        return True
    # or they meet on their straight ways
    t = min(max(-along / length, 0.0), 1.0)
    return far2 + 2.0 * t * along + t * t * length <= limit * limit


@inline
def _scan_range(i, first, last, packed, x, v, dt, widen, refine, levels, level, found, s, at):
    """Test rows [first, last) against row i, eight at a time; append hits; return new length."""
    xi = splat(packed[i, 0])
    yi = splat(packed[i, 1])
    zi = splat(packed[i, 2])
    ri = splat(packed[i, 3])
    mine = level[i]
    end = splat(np.int32(last))
    for b in range(first, last, 8):
        xj, yj, zj, rj = load4(packed, b)
        dx = xj - xi
        dy = yj - yi
        dz = zj - zi
        limit = ri + rj
        near = fma(dx, dx, fma(dy, dy, dz * dz)) <= limit * limit
        hits = bits(near & (iota32(b) < end))
        while hits:
            j = b + count_zeros(hits)
            hits &= hits - 1
            if levels and not (level[j] < mine or (level[j] == mine and j > i)):
                continue
            if refine and not _may_meet(i, j, x, v, dt, widen):
                continue
            if at < found.shape[1]:
                found[s, at] = j
            at += 1
    return at


@inner
def _search_slab(
    s, slab, packed, x, v, dt, widen, ahead_on, levels, level, cell, start, dims, axes, found, count
):
    at = np.int64(0)
    d0 = dims[axes[0]]
    d1 = dims[axes[1]]
    d2 = dims[axes[2]]
    for i in range(slab[s], slab[s + 1]):
        before = at
        number = cell[i]
        c0 = number % d0
        c1 = (number // d0) % d1
        c2 = number // (d0 * d1)
        if level[i] == 0:
            left = max(c0 - 1, 0)
            right = min(c0 + 1, d0 - 1)
            base = (c2 * d1 + c1) * d0
            at = _scan_range(
                i, i + 1, start[base + right + 1], packed, x, v, dt, widen, ahead_on, levels,
                level, found, s, at,
            )
            for a2, a1 in ((0, 1), (1, -1), (1, 0), (1, 1)):
                if c2 + a2 >= d2 or c1 + a1 < 0 or c1 + a1 >= d1:
                    continue
                base = ((c2 + a2) * d1 + c1 + a1) * d0
                first = start[base + left]
                last = start[base + right + 1]
                if first < last:
                    at = _scan_range(
                        i, first, last, packed, x, v, dt, widen, ahead_on, levels,
                level, found, s, at,
                    )
        else:
            m = level[i] + 1
            left = max(c0 - m, 0)
            right = min(c0 + m, d0 - 1)
            for b2 in range(max(c2 - m, 0), min(c2 + m, d2 - 1) + 1):
                for b1 in range(max(c1 - m, 0), min(c1 + m, d1 - 1) + 1):
                    base = (b2 * d1 + b1) * d0
                    first = start[base + left]
                    last = start[base + right + 1]
                    if first < last:
                        at = _scan_range(
                            i, first, last, packed, x, v, dt, widen, ahead_on, levels,
                level, found, s, at,
                        )
        count[i] = at - before
    return at


@pjit
def search(
    slab, packed, x, v, dt, widen, ahead_on, levels, level, cell, start, dims, axes, found, count,
    need,
):  # fmt: skip
    """Half neighbour list of each slab into found[s]; need[s] = entries (may exceed the room)."""
    for number in prange(slab.shape[0] - 1):
        s = np.int64(number)  # one type, one compile
        need[s] = _search_slab(
            s, slab, packed, x, v, dt, widen, ahead_on, levels, level, cell, start, dims, axes,
            found,
            count,
        )


@jit
def note_positions(x, v, n, dt, half_skin, ahead_on, ref):
    """Note what the list was made for, ref (n, 8): position, squared room, way in dt, 1 / way^2.

    The list holds while each grain is within its room of the straight way from where it was to
    where it would be after dt: it may go on, be stopped, or be knocked aside a little. Without
    `ahead_on` it holds for the predicted positions only, and the way is that point.
    """
    for i in range(n):
        way2 = 0.0
        for c in range(3):
            way = dt * v[i, c]
            ref[i, c] = x[i, c] if ahead_on else x[i, c] + way
            ref[i, 4 + c] = way if ahead_on else 0.0
            way2 += way * way
        room = half_skin * x[i, 3]
        if ahead_on:
            far = np.sqrt(way2)
            room += KNOCK * x[i, 3] + _spare(far, x[i, 3]) + KNOCK_FAST * min(far, x[i, 3])
        ref[i, 3] = room * room
        ref[i, 7] = 1.0 / max(way2, 1e-30)


@inner
def off_its_way(i, px, py, pz, ref):
    """Whether grain i, at p, is further from its straight way than the list allows."""
    px -= ref[i, 0]
    py -= ref[i, 1]
    pz -= ref[i, 2]
    if px * px + py * py + pz * pz <= ref[i, 3]:
        return False
    along = (px * ref[i, 4] + py * ref[i, 5] + pz * ref[i, 6]) * ref[i, 7]
    along = min(max(along, ref[i, 3] - ref[i, 3]), np.float32(1.0))
    px -= along * ref[i, 4]
    py -= along * ref[i, 5]
    pz -= along * ref[i, 6]
    return not (px * px + py * py + pz * pz <= ref[i, 3])


@inner
def _moved_slab(s, slab, x, v, h, ref):
    for i in range(slab[s], slab[s + 1]):
        px = x[i, 0] + h * v[i, 0]
        py = x[i, 1] + h * v[i, 1]
        pz = x[i, 2] + h * v[i, 2]
        if off_its_way(i, px, py, pz, ref):
            return True
    return False


@pjit
def any_moved(slab, x, v, h, ref, flag):
    """Set flag[s] where a grain will be off its way in h."""
    for number in prange(slab.shape[0] - 1):
        s = np.int64(number)
        flag[s] = _moved_slab(s, slab, x, v, h, ref)
