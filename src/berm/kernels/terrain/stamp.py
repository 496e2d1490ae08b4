"""Grains for ground: points of a periodic packing that lies fixed in the world.

The packing: points (k, 3) and radii (k,) in a box of edges (3,), in units of the mean radius.
Ground: heights of a window of columns, with its frame as `geometry.heightfield` has it.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.heightfield import ground
from berm.kernels.jit import bare, jit

GROUND, SHELL = 1, 2  # what becomes a live grain, and what a fixed one below the zone's floor
AROUND = 8  # directions in which a grain looks for a wall beside it


@bare
def in_shell(floor, frame, below, x, y, shell):
    """Whether a point `below` (m, height) is within `shell` (m) of the floor above or beside it."""
    b, su, sw = ground(floor, frame, x, y)
    if (b - below) < shell * math.sqrt(1.0 + su * su + sw * sw):
        return True
    for q in range(AROUND):
        angle = 2.0 * math.pi * q / AROUND
        beside, _, _ = ground(
            floor, frame, x + shell * math.cos(angle), y + shell * math.sin(angle)
        )
        if beside <= below:
            return True
    return False


@jit
def candidates(points, radii, box, r, floor, top, frame, edged, low, high, shell, out, kind):
    """Points of the packing between `floor` and `top`, and those of the shell below the floor.

    A grain belongs to what its centre is in. low, high (3,): where to look; edged: columns that
    are near a pit and need a shell; out (m, 4) position and radius, kind (m,). Returns how many
    there are, which may be more than there is room for.
    """
    n = 0
    nx, ny = floor.shape
    first, last = np.empty(3, np.int64), np.empty(3, np.int64)
    for a in range(3):
        first[a] = math.floor(low[a] / (box[a] * r))
        last[a] = math.floor(high[a] / (box[a] * r))
    for ka in range(first[0], last[0] + 1):
        for kb in range(first[1], last[1] + 1):
            for kc in range(first[2], last[2] + 1):
                for s in range(points.shape[0]):
                    x = (points[s, 0] + ka * box[0]) * r
                    y = (points[s, 1] + kb * box[1]) * r
                    z = (points[s, 2] + kc * box[2]) * r
                    if x < low[0] or x > high[0] or y < low[1] or y > high[1]:
                        continue
                    if z < low[2] or z > high[2]:
                        continue
                    above, _, _ = ground(top, frame, x, y)
                    below, _, _ = ground(floor, frame, x, y)
                    what = 0
                    if z >= below:
                        if z < above:
                            what = GROUND
                    else:
                        i = min(max(np.int64(round((x - frame[0]) / frame[2])), 0), nx - 1)
                        j = min(max(np.int64(round((y - frame[1]) / frame[2])), 0), ny - 1)
                        if edged[i, j] and z < above and in_shell(floor, frame, z, x, y, shell):
                            what = SHELL
                    if what == 0:
                        continue
                    if n < out.shape[0]:
                        out[n, 0], out[n, 1], out[n, 2], out[n, 3] = x, y, z, radii[s] * r
                        kind[n] = what
                    n += 1
    return n


@jit
def crowded(found, count, x, n, tool, reach, most, bad):
    """Mark candidates that overlap one of n grains by more than `most` radii, or touch a tool.

    found (count, 4): position and radius of the candidates; tool (m, 3): points of tools' surfaces;
    reach (m): the largest distance at which two grains can touch.
    """
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for s in range(count):
        for a in range(3):
            low[a] = min(low[a], found[s, a] - reach)
            high[a] = max(high[a], found[s, a] + reach)
    dims = np.empty(3, np.int64)
    for a in range(3):
        dims[a] = int((high[a] - low[a]) / reach) + 1
    head = np.full(dims[0] * dims[1] * dims[2], -1, np.int64)
    after = np.empty(n + tool.shape[0], np.int64)
    cell = np.empty(3, np.int64)
    for k in range(n + tool.shape[0]):
        inside = True
        for a in range(3):
            at = np.float64(x[k, a]) if k < n else tool[k - n, a]
            if not low[a] <= at <= high[a]:
                inside = False
                break
            cell[a] = int((at - low[a]) / reach)
        if inside:
            at = (cell[0] * dims[1] + cell[1]) * dims[2] + cell[2]
            after[k] = head[at]
            head[at] = k
    for s in range(count):
        bad[s] = False
        for a in range(3):
            cell[a] = int((found[s, a] - low[a]) / reach)
        for p in range(max(cell[0] - 1, 0), min(cell[0] + 2, dims[0])):
            for q in range(max(cell[1] - 1, 0), min(cell[1] + 2, dims[1])):
                for u in range(max(cell[2] - 1, 0), min(cell[2] + 2, dims[2])):
                    k = head[(p * dims[1] + q) * dims[2] + u]
                    while k >= 0 and not bad[s]:
                        d2, far = 0.0, found[s, 3]
                        if k < n:
                            for a in range(3):
                                d2 += (found[s, a] - np.float64(x[k, a])) ** 2
                            far += np.float64(x[k, 3]) - most * found[s, 3]
                        else:
                            for a in range(3):
                                d2 += (found[s, a] - tool[k - n, a]) ** 2
                        if d2 < far * far:
                            bad[s] = True
                        k = after[k]
