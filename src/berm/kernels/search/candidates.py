"""Pairs of grains that may touch in the coming steps, laid out for solvers that add contacts up.

Every grain has room around the place where it is expected, the fast ones more, and pairs whose
rooms meet are listed; so the list holds until a grain leaves its room. wide (n, 4) is that place
and the radius with the room added, as the search sees a grain.

Eight rows make a slice, slot k of slice q holds eight neighbours at nbr[8 * (ptr[q] + k) + lane],
and a lane without one holds its own row, as in `slices`; but here rows of a slice may share grains.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline, inner, pjit, prange
from berm.kernels.search.neighbours import CHUNK
from berm.kernels.simd.vec8 import bits, load4, splat

WINDOW = 512  # rows that are sorted by the number of their contacts: neighbours stay near
MOST_KEY = 255
ALL_LANES = 255


@inner
def _length(v, i):
    return np.sqrt(v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2])


@inner
def _paces_chunk(c, n, x, v):
    total = 0.0
    for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
        total += _length(v, i) / x[i, 3]
    return total


@pjit
def paces(n, x, v, total):
    """Sum of the speeds of each chunk, in radii a second."""
    for number in prange(total.shape[0]):
        c = np.int64(number)  # one type, one compile
        total[c] = _paces_chunk(c, n, x, v)


@inner
def _widen_chunk(c, n, x, v, dt, least, linger, most, whole, wide):
    for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
        for k in range(3):
            wide[i, k] = x[i, k] + dt * v[i, k]
        way = dt * _length(v, i)
        room = min(least * x[i, 3] + linger * way, most * x[i, 3])
        if whole:
            room = max(room, least * x[i, 3] + way)
        wide[i, 3] = x[i, 3] + room


@pjit
def widen(n, x, v, dt, least, linger, most, whole, wide):
    """Fill wide: room is `least` radii and the way in `linger` steps, at most `most` radii.

    whole: but the way in dt at least.
    """
    for number in prange((n + CHUNK - 1) // CHUNK):
        _widen_chunk(np.int64(number), n, x, v, dt, least, linger, most, whole, wide)


@inner
def _rooms_chunk(c, n, x, wide, ref):
    for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
        for k in range(3):
            ref[i, k] = wide[i, k]
        ref[i, 3] = (wide[i, 3] - x[i, 3]) ** 2


@pjit
def note_rooms(n, x, wide, ref):
    """Note what the list is made for, ref (n, 4): place and squared room."""
    for number in prange((n + CHUNK - 1) // CHUNK):
        _rooms_chunk(np.int64(number), n, x, wide, ref)


@inline
def _inside(dx, dy, dz, room2):
    """Whether they are within their rooms, one or eight; numbers that are none are not."""
    return dx * dx + dy * dy + dz * dz <= room2


@inner
def _left_chunk(c, n, x, v, dt, whole, ref):
    time = splat(dt)
    last = min(n, (c + 1) * CHUNK)
    eights = last - last % 8
    for b in range(c * CHUNK, eights, 8):
        px, py, pz, _ = load4(x, b)
        vx, vy, vz, _ = load4(v, b)
        rx, ry, rz, room2 = load4(ref, b)
        dx, dy, dz = px - rx, py - ry, pz - rz
        inside = _inside(dx + time * vx, dy + time * vy, dz + time * vz, room2)
        if whole:
            inside = inside & _inside(dx, dy, dz, room2)
        if bits(inside) != ALL_LANES:
            return True
    for i in range(eights, last):
        ex, ey, ez = x[i, 0] - ref[i, 0], x[i, 1] - ref[i, 1], x[i, 2] - ref[i, 2]
        alone = _inside(ex + dt * v[i, 0], ey + dt * v[i, 1], ez + dt * v[i, 2], ref[i, 3])
        if not alone or (whole and not _inside(ex, ey, ez, ref[i, 3])):
            return True
    return False


@pjit
def any_left(n, x, v, dt, whole, ref, flag):
    """Set flag where a grain of the chunk will be outside its room in dt; whole: or is now."""
    for number in prange(flag.shape[0]):
        c = np.int64(number)
        flag[c] = _left_chunk(c, n, x, v, dt, whole, ref)


@inner
def _touches(i, first, last, found, x, wide):
    """How many of the candidates found[first:last] touch row i where they are expected."""
    several = 0
    for k in range(first, last):
        j = found[k]
        dx = wide[i, 0] - wide[j, 0]
        dy = wide[i, 1] - wide[j, 1]
        dz = wide[i, 2] - wide[j, 2]
        limit = x[i, 3] + x[j, 3]
        several += dx * dx + dy * dy + dz * dz <= limit * limit
    return several


@inner
def _queue_window(low, high, count, key, rising, queue, at):
    """Append the rows that have candidates, by their keys; return the new length."""
    start = np.zeros(MOST_KEY + 2, np.int64)
    for i in range(low, high):
        if count[i] > 0:
            start[(key[i - low] if rising else MOST_KEY - key[i - low]) + 1] += 1
    for b in range(MOST_KEY + 1):
        start[b + 1] += start[b]
    for i in range(low, high):
        if count[i] > 0:
            b = key[i - low] if rising else MOST_KEY - key[i - low]
            queue[at + start[b]] = i
            start[b] += 1
    return at + start[MOST_KEY]


@inner
def _group_slab(s, slab, found, count, x, wide, roomy, queue, width, reach):
    """Rows of a slab, eight by eight, those with as many contacts together; how many slices."""
    low, high = slab[s], slab[s + 1] - 1
    key = np.empty(WINDOW, np.int64)
    first = np.int64(0)
    at = np.int64(0)
    for begin in range(slab[s], slab[s + 1], WINDOW):
        end = min(begin + WINDOW, slab[s + 1])
        for i in range(begin, end):
            last = first + count[i]
            several = count[i]
            if roomy:
                several += 8 * _touches(i, first, last, found, x, wide)
            key[i - begin] = min(several, MOST_KEY)
            for k in range(first, last):
                low, high = min(low, np.int64(found[k])), max(high, np.int64(found[k]))
            first = last
        # falling and rising in turns: where windows meet, rows are alike too
        at = _queue_window(begin, end, count, key, (begin - slab[s]) // WINDOW % 2, queue, at)
    reach[s, 0], reach[s, 1] = low, high + 1
    slices = (at + 7) // 8
    for k in range(at, 8 * slices):
        queue[k] = -1
    for q in range(slices):
        width[q] = 0
        for k in range(8 * q, 8 * q + 8):
            if queue[k] >= 0:
                width[q] = max(width[q], count[queue[k]])
    return slices


@pjit
def group(slab, found, count, x, wide, roomy, queue, width, reach, part):
    """Slices of each slab into queue[s] (-1: idle) and width[s]; their number to part[s + 1].

    roomy: candidates need not touch.
    """
    for number in prange(slab.shape[0] - 1):
        s = np.int64(number)
        part[s + 1] = _group_slab(
            s, slab, found[s], count, x, wide, roomy, queue[s], width[s], reach
        )


@inner
def _fill_slab(s, slab, part, found, count, queue, lanes, ptr, nbr):
    base = slab[s]
    first = np.empty(slab[s + 1] - base, np.int64)
    at = np.int64(0)
    for i in range(base, slab[s + 1]):
        first[i - base] = at
        at += count[i]
    for q in range(part[s], part[s + 1]):
        for lane in range(8):
            row = queue[8 * (q - part[s]) + lane]
            own = row if row >= 0 else queue[8 * (q - part[s])]
            lanes[8 * q + lane] = own
            slot = ptr[q]
            if row >= 0:
                for k in range(first[row - base], first[row - base] + count[row]):
                    nbr[8 * slot + lane] = found[k]
                    slot += 1
            while slot < ptr[q + 1]:
                nbr[8 * slot + lane] = own
                slot += 1


@pjit
def fill(slab, part, found, count, queue, lanes, ptr, nbr):
    """Write the slices' rows and neighbours."""
    for number in prange(slab.shape[0] - 1):
        s = np.int64(number)
        _fill_slab(s, slab, part, found[s], count, queue[s], lanes, ptr, nbr)
