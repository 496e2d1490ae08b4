"""The zone around tools where ground is grains: how deep it goes, and what may become ground again.

Everything is asked of a window of columns, numbered from its corner; frame as in
`geometry.heightfield`. A grain with inverse mass 0 is part of the zone's shell.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.heightfield import ground
from berm.kernels.jit import bare, jit


@bare
def node_of(frame, x, y):
    """Column that a point stands in; may be off the window."""
    return (
        np.int64(math.floor((x - frame[0]) / frame[2] + 0.5)),
        np.int64(math.floor((y - frame[1]) / frame[2] + 0.5)),
    )


@jit
def wish(surface, frame, tool, reach, depth, flat, rise, clear, scale, floor):
    """Lower `floor` (m) to where tools want it: `depth` (m) below each of their points.

    tool (m, 3): points of tools now and soon; reach, depth (m,) of each; flat (m): so far around it
    the floor stays level, beyond it rises by `rise`; points higher than `clear` (m) above the
    surface want nothing. scale shrinks reach and depth where grains run out.
    """
    nx, ny = surface.shape
    c = frame[2]
    for p in range(tool.shape[0]):
        x, y, z = tool[p, 0], tool[p, 1], tool[p, 2]
        i0, j0 = node_of(frame, x, y)
        if i0 < 0 or j0 < 0 or i0 >= nx or j0 >= ny or z > surface[i0, j0] + clear:
            continue
        far = scale * reach[p]
        k = int(far / c) + 1
        for i in range(max(i0 - k, 0), min(i0 + k + 1, nx)):
            for j in range(max(j0 - k, 0), min(j0 + k + 1, ny)):
                dx, dy = frame[0] + i * c - x, frame[1] + j * c - y
                d2 = dx * dx + dy * dy
                if d2 <= far * far:
                    f = z - scale * depth[p] + max(0.0, math.sqrt(d2) - flat) * rise
                    if f < floor[i, j]:
                        floor[i, j] = f


@jit
def near_tools(frame, tool, reach, more, near):
    """Mark columns within `reach` + `more` (m) of a point of a tool, at any height."""
    nx, ny = near.shape
    c = frame[2]
    for p in range(tool.shape[0]):
        i0, j0 = node_of(frame, tool[p, 0], tool[p, 1])
        far = reach[p] + more
        k = int(far / c) + 1
        for i in range(max(i0 - k, 0), min(i0 + k + 1, nx)):
            for j in range(max(j0 - k, 0), min(j0 + k + 1, ny)):
                if near[i, j]:
                    continue
                dx, dy = frame[0] + i * c - tool[p, 0], frame[1] + j * c - tool[p, 1]
                near[i, j] = dx * dx + dy * dy <= far * far


@jit
def to_thaw(x, v, n, kinds, own, frame, floor, lowered, out):
    """Rows of fixed grains of our soils (own, by material) above the floor of lowered columns."""
    nx, ny = floor.shape
    k = 0
    for i in range(n):
        if v[i, 3] != 0.0 or own[kinds[i]] < 0:
            continue
        a, b = node_of(frame, x[i, 0], x[i, 1])
        if a < 0 or b < 0 or a >= nx or b >= ny or not lowered[a, b]:
            continue
        g, _, _ = ground(floor, frame, x[i, 0], x[i, 1])
        if x[i, 2] >= g:
            out[k] = i
            k += 1
    return k


@jit
def extent(x, v, n, kinds, own, box):
    """Box (4,) around the live grains of our soils: x and y, low and high; returns their number."""
    box[0], box[1], box[2], box[3] = np.inf, -np.inf, np.inf, -np.inf
    k = 0
    for i in range(n):
        if v[i, 3] == 0.0 or own[kinds[i]] < 0:
            continue
        k += 1
        box[0], box[1] = min(box[0], np.float64(x[i, 0])), max(box[1], np.float64(x[i, 0]))
        box[2], box[3] = min(box[2], np.float64(x[i, 1])), max(box[3], np.float64(x[i, 1]))
    return k


@jit
def watch(x, v, n, kinds, own, still, slow, frame, calm, count, busy, cover, lowest, top):
    """Ask live grains how long they have rested, and columns what stands on them.

    still (n,): times that a grain was slower than `slow` (m/s), in a row. Of each column: how many
    live grains, whether one within a column of it has rested for less than `calm` times, whether
    there is one at all, lowest and highest centre (m).
    """
    nx, ny = count.shape
    count[:] = 0
    busy[:] = False
    cover[:] = False
    lowest[:] = np.inf
    top[:] = -np.inf
    for i in range(n):
        if v[i, 3] == 0.0:
            continue
        speed2 = v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2]
        still[i] = min(still[i] + 1, 1 << 20) if speed2 < slow * slow else 0
        a, b = node_of(frame, x[i, 0], x[i, 1])
        moving = still[i] < calm or own[kinds[i]] < 0
        for p in range(max(a - 1, 0), min(a + 2, nx)):
            for q in range(max(b - 1, 0), min(b + 2, ny)):
                cover[p, q] = True
                if moving:
                    busy[p, q] = True
        if a < 0 or b < 0 or a >= nx or b >= ny:
            continue
        count[a, b] += 1
        lowest[a, b] = min(lowest[a, b], np.float64(x[i, 2]))
        top[a, b] = max(top[a, b], np.float64(x[i, 2]))


@jit
def gather(
    x, v, m, n, kinds, own, home, near, frame, given, placed, gone, intact, moved, top
):  # fmt: skip
    """Mark the live grains of columns that are given back; add up masses by soil and column.

    intact: of grains within `near` radii of where they were ground, in the column that they were
    of, while that remembers what was placed there; moved: of all others, in the column that they
    are in, up to their highest centre, top (m).
    """
    nx, ny = given.shape
    top[:] = -np.inf
    for i in range(n):
        k = own[kinds[i]]
        if v[i, 3] == 0.0 or k < 0:
            continue
        d2 = 0.0
        for c in range(3):
            d2 += (x[i, c] - home[i, c]) ** 2
        stayed = home[i, 3] > 0.0 and d2 < (near * home[i, 3]) ** 2
        a, b = node_of(frame, home[i, 0], home[i, 1])
        stayed = stayed and 0 <= a < nx and 0 <= b < ny and placed[a, b] > 0.0
        if not stayed:
            a, b = node_of(frame, x[i, 0], x[i, 1])
        if a < 0 or b < 0 or a >= nx or b >= ny or not given[a, b]:
            continue
        gone[i] = True
        if stayed:
            intact[k, a, b] += m[i]
        else:
            moved[k, a, b] += m[i]
            top[a, b] = max(top[a, b], np.float64(x[i, 2]))


@jit
def place(home, m, rows, frame, placed):
    """Add the masses of grains in `rows` to the columns that they were of."""
    nx, ny = placed.shape
    for i in rows:
        a, b = node_of(frame, home[i, 0], home[i, 1])
        if 0 <= a < nx and 0 <= b < ny:
            placed[a, b] += m[i]


@jit
def buried(x, v, m, n, kinds, own, frame, height, given, deep, gone, masses):
    """The same for live grains beside such columns that the new surface buries by `deep` radii."""
    nx, ny = given.shape
    k = 0
    for i in range(n):
        if gone[i] or v[i, 3] == 0.0 or own[kinds[i]] < 0:
            continue
        a, b = node_of(frame, x[i, 0], x[i, 1])
        if a < 1 or b < 1 or a >= nx - 1 or b >= ny - 1:
            continue
        beside = False
        for p in range(a - 1, a + 2):
            for q in range(b - 1, b + 2):
                beside |= given[p, q]
        if not beside:
            continue
        g, su, sw = ground(height, frame, x[i, 0], x[i, 1])
        if (x[i, 2] - g) / math.sqrt(1.0 + su * su + sw * sw) < -deep * x[i, 3]:
            gone[i] = True
            masses[own[kinds[i]], a, b] += m[i]
            k += 1
    return k


@jit
def lonely(x, v, n, kinds, own, reach, gone):
    """Mark fixed grains of the shell without a live grain within `reach` (m); return how many."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    live = 0
    for i in range(n):
        if v[i, 3] != 0.0:
            live += 1
            for a in range(3):
                low[a] = min(low[a], np.float64(x[i, a]))
                high[a] = max(high[a], np.float64(x[i, a]))
    dims = np.ones(3, np.int64)
    edge = reach
    if live > 0:
        while True:  # grains that fly far make wide cells
            cells = 1.0
            for a in range(3):
                dims[a] = int((high[a] - low[a]) / edge) + 1
                cells *= (high[a] - low[a]) / edge + 1.0
            if cells < 8.0 * n + 4096.0:
                break
            edge *= 2.0
    head = np.full(dims[0] * dims[1] * dims[2], -1, np.int64)
    after = np.empty(n, np.int64)
    cell = np.empty(3, np.int64)
    for i in range(n):
        if v[i, 3] == 0.0:
            continue
        for a in range(3):
            cell[a] = int((x[i, a] - low[a]) / edge)
        k = (cell[0] * dims[1] + cell[1]) * dims[2] + cell[2]
        after[i] = head[k]
        head[k] = i
    count = 0
    for i in range(n):
        if v[i, 3] != 0.0 or own[kinds[i]] < 0:
            continue
        found = False
        if live > 0:
            inside = True
            for a in range(3):
                at = np.float64(x[i, a])
                inside &= low[a] - reach <= at <= high[a] + reach
                if inside:
                    cell[a] = np.int64(math.floor((at - low[a]) / edge))
            if inside:
                for p in range(max(cell[0] - 1, 0), min(cell[0] + 2, dims[0])):
                    for q in range(max(cell[1] - 1, 0), min(cell[1] + 2, dims[1])):
                        for u in range(max(cell[2] - 1, 0), min(cell[2] + 2, dims[2])):
                            j = head[(p * dims[1] + q) * dims[2] + u]
                            while j >= 0 and not found:
                                d2 = 0.0
                                for a in range(3):
                                    d2 += (np.float64(x[i, a]) - np.float64(x[j, a])) ** 2
                                found = d2 < reach * reach
                                j = after[j]
        if not found:
            gone[i] = True
            count += 1
    return count


@jit
def swell(x, v, n, kinds, own, home, far, most, rate):
    """Let grains that were displaced by more than `far` radii grow; their masses stay.

    home (n, 4): where a grain became one, and its radius then (0: not of the ground); most (K,):
    how often that radius by soil; rate: the share that it grows by in a step.
    """
    for i in range(n):
        k = own[kinds[i]]
        if v[i, 3] == 0.0 or k < 0 or home[i, 3] <= 0.0:
            continue
        limit = home[i, 3] * most[k]
        if x[i, 3] >= limit:
            continue
        d2 = 0.0
        for a in range(3):
            d2 += (x[i, a] - home[i, a]) ** 2
        if d2 > (far * home[i, 3]) ** 2:
            x[i, 3] = min(x[i, 3] * rate, limit)


@jit
def astray(x, v, n, kinds, own, frame, height, deep, gone):
    """Mark live grains that left over the field's edge and fell `deep` (m) below it."""
    nx, ny = height.shape
    k = 0
    for i in range(n):
        if v[i, 3] == 0.0 or own[kinds[i]] < 0:
            continue
        u, w = (x[i, 0] - frame[0]) / frame[2], (x[i, 1] - frame[1]) / frame[2]
        if 0.0 <= u <= nx - 1 and 0.0 <= w <= ny - 1:
            continue
        g, _, _ = ground(height, frame, x[i, 0], x[i, 1])
        if x[i, 2] < g - deep:
            gone[i] = True
            k += 1
    return k
