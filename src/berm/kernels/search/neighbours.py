"""Neighbour search on a uniform grid: the pairs that may touch, each found once.

Rows are sorted by cell, so that the three cells along the fast axis are one contiguous range of
rows, tested eight at a time. Each pair is found once: by the grain with the larger reach, or, at
equal reach, by the one with the lower row. Reach is radius plus skin plus the way that the grain
will go in this step, in whole cells; so a fast grain or a big rock looks further without making
the cells, and so the work of all others, larger. `slices` lays the pairs out for the solvers.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import bare, inline, inner, jit, pjit, prange
from berm.kernels.simd.vec8 import (
    bits,
    fma,
    iota32,
    load,
    quad,
    set_quad,
    splat,
    store_places,
    vmax,
    vmin,
)

CHUNK = 2048  # rows that a thread takes at a time where rows do not depend on each other
# For each mask of eight lanes: the lanes that hit, a byte each, from the lowest byte on; how many.
LANES_HIT = np.array(
    [
        sum(k << 8 * at for at, k in enumerate([k for k in range(8) if mask >> k & 1]))
        for mask in range(256)
    ],
    np.int64,
)
HITS = np.array([mask.bit_count() for mask in range(256)], np.int64)
ONE, SHORTEST = np.float32(1.0), np.float32(1e-30)  # -, m^2: shorter ways have no direction
AHEAD = 4.0  # steps that the list of a slow grain looks ahead ...
AHEAD_MOST = 0.25  # ... but no further than this, in radii
KNOCK = 0.1  # radii that a grain may be knocked off its way before the list is made anew, and ...
KNOCK_FAST = 0.5  # ... of its way in a step besides, but no more than this in radii either


@inner
def _bounds_chunk(c, x, v, n, dt, out):
    a0 = a1 = a2 = np.inf
    b0 = b1 = b2 = -np.inf
    bad = -1
    for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
        p0, p1, p2 = x[i, 0] + dt * v[i, 0], x[i, 1] + dt * v[i, 1], x[i, 2] + dt * v[i, 2]
        if not np.isfinite(p0 + p1 + p2) and bad < 0:
            bad = i
        a0, a1, a2 = min(a0, p0), min(a1, p1), min(a2, p2)
        b0, b1, b2 = max(b0, p0), max(b1, p1), max(b2, p2)
    out[c, 0], out[c, 1], out[c, 2] = a0, a1, a2
    out[c, 3], out[c, 4], out[c, 5] = b0, b1, b2
    out[c, 6] = bad


@pjit
def bounds(x, v, n, dt, out):
    """Least and largest predicted position of each chunk, out (chunks, 7), and its first bad row.

    The last column is -1 where all of the chunk's numbers are finite.
    """
    for number in prange(out.shape[0]):
        _bounds_chunk(np.int64(number), x, v, n, dt, out)  # one type, one compile


@jit
def moments(x, v, n, dt, out):
    """Write mean and standard deviation of the predicted positions to out (2, 3)."""
    for c in range(3):
        mean = 0.0
        for i in range(n):
            mean += x[i, c] + dt * v[i, c]
        mean /= n
        var = 0.0
        for i in range(n):
            var += (x[i, c] + dt * v[i, c] - mean) ** 2
        out[0, c] = mean
        out[1, c] = np.sqrt(var / n)


@bare
def spare_of(way, radius):
    """Room beyond one step's way that a slow grain may use before the list is stale, m."""
    return max(min(AHEAD * way, AHEAD_MOST * radius) - way, 0.0)


@inner
def _cells_chunk(
    chunk, x, v, n, dt, skin, ahead_on, lo, inv_cell, dims, axes, cell, level, top
):  # fmt: skip
    most = 0
    for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
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
            reach += way + spare_of(way, x[i, 3])
        cells = min(np.int64(np.ceil(2.0 * reach * inv_cell - 1e-4)), np.int64(1000))
        level[i] = max(cells - 1, 0)
        most = max(most, level[i])
    top[chunk] = most


@pjit
def assign_cells(x, v, n, dt, skin, ahead_on, lo, inv_cell, dims, axes, cell, level, top):
    """Cell number (fast axis first in `axes`) and search level of rows; top level of chunks."""
    for number in prange(top.shape[0]):
        _cells_chunk(
            np.int64(number), x, v, n, dt, skin, ahead_on, lo, inv_cell, dims, axes, cell, level,
            top,
        )  # fmt: skip


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


@inner
def _gather_rows(first, last, order, words, width, spare):
    if width == 1:
        for k in range(first, last):
            spare[k] = words[order[k]]
    elif width % 4 == 0:  # a loop over few words is slow
        for k in range(first, last):
            i, j = width // 4 * order[k], width // 4 * k
            for m in range(width // 4):
                set_quad(spare, j + m, quad(words, i + m))
    else:
        for k in range(first, last):
            for c in range(width):
                spare[width * k + c] = words[width * order[k] + c]


@inner
def _put_back(first, last, words, spare):
    for k in range(np.uint64(first), np.uint64(last)):  # unsigned: no test for below 0
        words[k] = spare[k]


@pjit
def permute(order, arrays, spare):
    """Move the rows of all arrays in place: new row k is old row order[k].

    arrays: a tuple of flat int32, whatever the words of a row mean; spare: room for the longest.
    """
    n = order.shape[0]
    chunks = (n + CHUNK - 1) // CHUNK
    for a in range(len(arrays)):
        width = arrays[a].shape[0] // n
        for number in prange(chunks):
            c = np.int64(number)
            _gather_rows(c * CHUNK, min(n, (c + 1) * CHUNK), order, arrays[a], width, spare)
        for number in prange(chunks):
            c = np.int64(number)
            _put_back(c * CHUNK * width, min(n, (c + 1) * CHUNK) * width, arrays[a], spare)


@inner
def _sight_chunk(chunk, x, v, n, dt, skin, ahead_on, sight):
    for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
        way = dt * np.sqrt(v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
        for c in range(3):
            sight[c, i] = x[i, c] if ahead_on else x[i, c] + dt * v[i, c]
            sight[5 + c, i] = dt * v[i, c]
        sight[3, i] = x[i, 3] * (1.0 + 0.5 * skin)
        sight[4, i] = way
        if ahead_on:
            sight[3, i] += way + spare_of(way, x[i, 3])


@pjit
def note_sight(x, v, n, dt, skin, ahead_on, sight):
    """What the search reads of each row, sight (8, n + 8): position, reach, way in dt and length.

    Two grains may meet only if their reaches do.
    """
    for number in prange((n + CHUNK - 1) // CHUNK):
        _sight_chunk(np.int64(number), x, v, n, dt, skin, ahead_on, sight)
    for i in range(n, n + 8):  # eight are read at a time
        for c in range(8):
            sight[c, i] = 0.0


@inline
def _scan(
    i, first, last, sx, sy, sz, reach, way, ex, ey, ez, ahead_on, levels, level, out, at
):  # fmt: skip
    """Test rows [first, last) against row i, eight at a time; append hits; return new length.

    Past the end of `out` hits are counted only.
    """
    xi = splat(sx[i])
    yi = splat(sy[i])
    zi = splat(sz[i])
    ri = splat(reach[i])
    end = splat(np.int32(last))
    for b in range(first, last, 8):
        dx = load(sx, b) - xi
        dy = load(sy, b) - yi
        dz = load(sz, b) - zi
        limit = ri + load(reach, b)
        far2 = fma(dx, dx, fma(dy, dy, dz * dz))
        row = iota32(b)
        hits = bits((far2 <= limit * limit) & (row < end))
        if levels:  # the one that looks further finds the pair
            theirs = load(level, b)
            ours = splat(level[i])
            hits &= bits((theirs < ours) | ((theirs == ours) & (row > splat(np.int32(i)))))
        if ahead_on:
            # one of the two may be stopped by a third within the step, and the other goes alone
            mine = splat(way[i])
            other = load(way, b)
            alone = limit - vmin(mine, other)
            sure = bits(far2 <= alone * alone)
            if hits & ~sure:  # or they meet on their straight ways
                vx = load(ex, b) - splat(ex[i])
                vy = load(ey, b) - splat(ey[i])
                vz = load(ez, b) - splat(ez[i])
                zero = xi - xi
                along = fma(dx, vx, fma(dy, vy, dz * vz))
                length = vmax(fma(vx, vx, fma(vy, vy, vz * vz)), splat(sx[i] - sx[i] + SHORTEST))
                t = vmin(vmax((zero - along) / length, zero), splat(sx[i] - sx[i] + ONE))
                close = limit - (mine + other)
                sure |= bits(fma(t, fma(t, length, along + along), far2) <= close * close)
            hits &= sure
        if at + 8 <= out.shape[0]:
            store_places(out, at, b, LANES_HIT[hits])  # no jumps: hits cannot be foreseen
        at += HITS[hits]
    return at


@inner
def _search_slab(
    s, slab, sx, sy, sz, reach, way, ex, ey, ez, ahead_on, levels, level, cell, start, dims, axes,
    out, count,
):  # fmt: skip
    at = np.int64(0)
    d0 = dims[axes[0]]
    d1 = dims[axes[1]]
    d2 = dims[axes[2]]
    runs = np.zeros((5, 2), np.int64)  # of rows, the same for all rows of a cell
    number = np.int64(0)
    known = np.int64(-1)
    for i in range(slab[s], slab[s + 1]):
        before = at
        if cell[i] != known:
            known = cell[i]
            c0 = known % d0
            c1 = (known // d0) % d1
            c2 = known // (d0 * d1)
            left = max(c0 - 1, 0)
            right = min(c0 + 1, d0 - 1)
            runs[0, 1] = start[(c2 * d1 + c1) * d0 + right + 1]
            number = 1
            for a2, a1 in ((0, 1), (1, -1), (1, 0), (1, 1)):
                if c2 + a2 >= d2 or c1 + a1 < 0 or c1 + a1 >= d1:
                    continue
                base = ((c2 + a2) * d1 + c1 + a1) * d0
                runs[number, 0] = start[base + left]
                runs[number, 1] = start[base + right + 1]
                if runs[number, 0] < runs[number, 1]:
                    number += 1
        if level[i] == 0:
            runs[0, 0] = i + 1
            for k in range(number):
                at = _scan(
                    i, runs[k, 0], runs[k, 1], sx, sy, sz, reach, way, ex, ey, ez, ahead_on,
                    levels, level, out, at,
                )  # fmt: skip
        else:
            c0 = known % d0
            c1 = (known // d0) % d1
            c2 = known // (d0 * d1)
            m = level[i] + 1
            left = max(c0 - m, 0)
            right = min(c0 + m, d0 - 1)
            for b2 in range(max(c2 - m, 0), min(c2 + m, d2 - 1) + 1):
                for b1 in range(max(c1 - m, 0), min(c1 + m, d1 - 1) + 1):
                    base = (b2 * d1 + b1) * d0
                    at = _scan(
                        i, start[base + left], start[base + right + 1], sx, sy, sz, reach, way,
                        ex, ey, ez, ahead_on, levels, level, out, at,
                    )  # fmt: skip
        count[i] = at - before
    return at


@pjit
def search(
    slab, sight, ahead_on, levels, level, cell, start, dims, axes, found, count, need
):  # fmt: skip
    """Half neighbour list of each slab into found[s]; need[s] = entries (may exceed the room)."""
    for number in prange(slab.shape[0] - 1):
        s = np.int64(number)
        need[s] = _search_slab(
            s, slab, sight[0], sight[1], sight[2], sight[3], sight[4], sight[5], sight[6], sight[7],
            ahead_on, levels, level, cell, start, dims, axes, found[s], count,
        )  # fmt: skip


@bare
def note_row(i, x, v, dt, half_skin, ahead_on, ref):
    """Note what the list is made for of one row; see `note_positions`."""
    way2 = 0.0
    for c in range(3):
        way = dt * v[i, c]
        ref[i, c] = x[i, c] if ahead_on else x[i, c] + way
        ref[i, 4 + c] = way if ahead_on else 0.0
        way2 += way * way
    room = half_skin * x[i, 3]
    if ahead_on:
        far = np.sqrt(way2)
        room += KNOCK * x[i, 3] + spare_of(far, x[i, 3]) + KNOCK_FAST * min(far, x[i, 3])
    ref[i, 3] = room * room
    ref[i, 7] = 1.0 / max(way2, 1e-30)


@bare
def _note_chunk(chunk, x, v, n, dt, half_skin, ahead_on, ref):
    for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
        note_row(i, x, v, dt, half_skin, ahead_on, ref)


@pjit
def note_positions(x, v, n, dt, half_skin, ahead_on, ref):
    """Note what the list was made for, ref (n, 8): position, squared room, way in dt, 1 / way^2.

    The list holds while each grain is within its room of the straight way from where it was to
    where it would be after dt: it may go on, be stopped, or be knocked aside a little. Without
    `ahead_on` it holds for the predicted positions only, and the way is that point.
    """
    for number in prange((n + CHUNK - 1) // CHUNK):
        _note_chunk(np.int64(number), x, v, n, dt, half_skin, ahead_on, ref)


@inline
def off_way2(i, px, py, pz, ref):
    """Squared distance of p from the straight way of grain i."""
    px -= ref[i, 0]
    py -= ref[i, 1]
    pz -= ref[i, 2]
    along = (px * ref[i, 4] + py * ref[i, 5] + pz * ref[i, 6]) * ref[i, 7]
    along = min(max(along, ref[i, 3] - ref[i, 3]), np.float32(1.0))
    px -= along * ref[i, 4]
    py -= along * ref[i, 5]
    pz -= along * ref[i, 6]
    return px * px + py * py + pz * pz


@bare
def off_its_way(i, px, py, pz, ref):
    """Whether grain i, at p, is further from its straight way than the list allows."""
    return not (off_way2(i, px, py, pz, ref) <= ref[i, 3])


@bare
def room_left(i, px, py, pz, ref):
    """How far (m) grain i, at p, may go in any direction before it is off its way."""
    return np.sqrt(ref[i, 3]) - np.sqrt(off_way2(i, px, py, pz, ref))


@bare
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
