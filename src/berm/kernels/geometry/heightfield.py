"""Height fields: implicit triangles over a regular grid of heights, solid below.

heights (nx, ny) in m; frame = [0:2] x and y of heights[0, 0], [2] cell (m), [3] not used,
[4] largest height, [5] cosine of the steepest slope. Cells stand in tiles of TILE x TILE; tiles is
float32, two numbers a tile, row by row: a bound of its largest height, and of the cosine of its
steepest slope.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.mesh_grid import closest_point, most3
from berm.kernels.jit import bare, jit

TILE = 8
# A bound looks at cells one by one up to this many along an axis, and then at tiles up to as many.
MOST_ALONG = 6
CLOSE = 1e-6  # share by which bounds are rounded away


@bare
def load_triangles(heights, frame, i, j, tri):
    """Put the two triangles of cell (i, j) into tri (2, 3, 3); both wind upwards."""
    x, y, c = frame[0] + i * frame[2], frame[1] + j * frame[2], frame[2]
    for k in range(2):
        tri[k, 0, 0], tri[k, 0, 1], tri[k, 0, 2] = x, y, heights[i, j]
    tri[0, 1, 0], tri[0, 1, 1], tri[0, 1, 2] = x + c, y, heights[i + 1, j]
    tri[0, 2, 0], tri[0, 2, 1], tri[0, 2, 2] = x + c, y + c, heights[i + 1, j + 1]
    tri[1, 1, 0], tri[1, 1, 1], tri[1, 1, 2] = x + c, y + c, heights[i + 1, j + 1]
    tri[1, 2, 0], tri[1, 2, 1], tri[1, 2, 2] = x, y + c, heights[i, j + 1]


@bare
def ground(heights, frame, x, y):
    """Height (m) and slopes dh/dx, dh/dy at (x, y), taken at the nearest point of the field."""
    nx, ny = heights.shape
    u = min(max((x - frame[0]) / frame[2], 0.0), nx - 1.0)
    w = min(max((y - frame[1]) / frame[2], 0.0), ny - 1.0)
    i, j = min(int(u), nx - 2), min(int(w), ny - 2)
    u, w = u - i, w - j
    h = heights[i, j]
    if u >= w:
        su, sw = heights[i + 1, j] - h, heights[i + 1, j + 1] - heights[i + 1, j]
    else:
        su, sw = heights[i + 1, j + 1] - heights[i, j + 1], heights[i, j + 1] - h
    return h + su * u + sw * w, su / frame[2], sw / frame[2]


@jit
def ground_many(heights, frame, points, out):
    """Fill out (k,) with the height (m) of the ground at points (k, 3)."""
    for i in range(points.shape[0]):
        out[i], _, _ = ground(heights, frame, points[i, 0], points[i, 1])


@bare
def beside(heights, frame, x, y):
    """Distance (m) in the plane from (x, y) to the field's edge, 0 above or below the field."""
    dx = most3(frame[0] - x, x - frame[0] - (heights.shape[0] - 1) * frame[2], 0.0)
    dy = most3(frame[1] - y, y - frame[1] - (heights.shape[1] - 1) * frame[2], 0.0)
    return math.sqrt(dx * dx + dy * dy)


@bare
def height_bound(heights, frame, x, y, z):
    """Lower bound (m) of the distance to the surface, negative below it."""
    out = beside(heights, frame, x, y)
    if out > 0.0:
        above = max(z - frame[4], 0.0)
        return math.sqrt(out * out + above * above)
    h, _, _ = ground(heights, frame, x, y)
    # No slope is steeper than the steepest, so the surface cannot rise into this ball.
    return (z - h) * frame[5] if z > h else z - h


@jit
def tiles_along(nodes):
    """Number of tiles along an axis with so many heights."""
    return (nodes - 2) // TILE + 1


@jit
def fill_tiles(heights, cell, i0, i1, j0, j1, tiles):
    """Write the tiles whose cells touch heights[i0:i1, j0:j1]."""
    nx, ny = heights.shape
    across = tiles_along(ny)
    for a in range(max(i0 - 1, 0) // TILE, min(i1 - 1, nx - 2) // TILE + 1):
        for b in range(max(j0 - 1, 0) // TILE, min(j1 - 1, ny - 2) // TILE + 1):
            top, steep = -np.inf, 0.0
            for i in range(a * TILE, min((a + 1) * TILE, nx - 1)):
                for j in range(b * TILE, min((b + 1) * TILE, ny - 1)):
                    h, hx, hy = heights[i, j], heights[i + 1, j], heights[i, j + 1]
                    far = heights[i + 1, j + 1]
                    top = max(top, max(max(h, hx), max(hy, far)))
                    steep = max(steep, (hx - h) ** 2 + (far - hx) ** 2)
                    steep = max(steep, (far - hy) ** 2 + (hy - h) ** 2)
            k = 2 * (a * across + b)
            tiles[k] = top + CLOSE * abs(top)
            tiles[k + 1] = (1.0 - CLOSE) / math.sqrt(1.0 + steep / (cell * cell))


@bare
def is_clear(heights, frame, tiles, x, y, z, hx, hy, hz, reach):
    """Whether the surface is further than `reach` (m) from all of a box: centre, half edges.

    True is sure, False is not. Only what is near counts: a steep cell far away does not.
    """
    half = math.sqrt(hx * hx + hy * hy + hz * hz)
    if height_bound(heights, frame, x, y, z) > reach + half:
        return True
    if not beside(heights, frame, x, y) == 0.0:
        return False
    h, _, _ = ground(heights, frame, x, y)
    if not z > h:
        return False
    nx, ny = heights.shape
    i0, i1 = cell_range(frame[0], frame[2], nx, x - hx - reach, x + hx + reach)
    j0, j1 = cell_range(frame[1], frame[2], ny, y - hy - reach, y + hy + reach)
    if max(i1 - i0, j1 - j0) <= MOST_ALONG:
        top = -np.inf
        for i in range(i0, i1 + 1):
            for j in range(j0, j1 + 1):
                top = max(top, heights[i, j])
        if z - hz - reach > top:
            return True
    wide = reach + half
    i0, i1 = cell_range(frame[0], frame[2], nx, x - wide, x + wide)
    j0, j1 = cell_range(frame[1], frame[2], ny, y - wide, y + wide)
    i0, i1, j0, j1 = i0 // TILE, (i1 - 1) // TILE + 1, j0 // TILE, (j1 - 1) // TILE + 1
    if max(i1 - i0, j1 - j0) > MOST_ALONG:
        return False
    across = tiles_along(ny)
    top, least = -np.inf, 1.0
    for a in range(i0, i1):
        for b in range(j0, j1):
            k = 2 * (a * across + b)
            top = max(top, np.float64(tiles[k]))
            least = min(least, np.float64(tiles[k + 1]))
    return z - hz - reach > top or (z - h) * least > wide


@bare
def cell_range(origin, edge, nodes, low, high):
    """First and one past the last cell along an axis that [low, high] overlaps, at least one."""
    first = min(max((low - origin) / edge, 0.0), nodes - 2.0)
    last = min(max((high - origin) / edge, 0.0), nodes - 2.0)
    return np.int64(first), np.int64(last) + 1


@bare
def cell_bound(heights, frame, i, j, x, y, z):
    """Lower bound of the squared distance (m^2) to the surface of a cell."""
    c = frame[2]
    west, south = frame[0] + i * c, frame[1] + j * c
    dx, dy = most3(west - x, x - west - c, 0.0), most3(south - y, y - south - c, 0.0)
    a, b = heights[i, j], heights[i + 1, j]
    p, q = heights[i, j + 1], heights[i + 1, j + 1]
    dz = most3(z - max(max(a, b), max(p, q)), min(min(a, b), min(p, q)) - z, 0.0)
    return dx * dx + dy * dy + dz * dz


@bare
def height_distance(heights, frame, x, y, z, tri):
    """Signed distance (m) and gradient: negative below the surface; tri is scratch (2, 3, 3)."""
    h, su, sw = ground(heights, frame, x, y)
    out = beside(heights, frame, x, y)
    reach = 1.001 * math.sqrt((z - h) ** 2 + out * out) + 1e-9 * frame[2]
    i0, i1 = cell_range(frame[0], frame[2], heights.shape[0], x - reach, x + reach)
    j0, j1 = cell_range(frame[1], frame[2], heights.shape[1], y - reach, y + reach)
    best, qx, qy, qz = np.inf, 0.0, 0.0, 0.0
    if out == 0.0:
        best, qx, qy, qz = (z - h) ** 2, x, y, h
    for i in range(i0, i1):
        for j in range(j0, j1):
            if cell_bound(heights, frame, i, j, x, y, z) >= best:
                continue
            load_triangles(heights, frame, i, j, tri)
            for k in range(2):
                sx, sy, sz, _ = closest_point(tri, k, x, y, z)
                d2 = (x - sx) ** 2 + (y - sy) ** 2 + (z - sz) ** 2
                if d2 < best:
                    best, qx, qy, qz = d2, sx, sy, sz
    d = math.sqrt(best)
    if d < 1e-12:
        up = 1.0 / math.sqrt(1.0 + su * su + sw * sw)
        return 0.0, -su * up, -sw * up, up
    sign = -1.0 if z < h and out == 0.0 else 1.0
    return sign * d, sign * (x - qx) / d, sign * (y - qy) / d, sign * (z - qz) / d


@jit
def height_distance_many(heights, frame, points, out):
    """Fill out (k, 4) with distance (m) and gradient at points (k, 3)."""
    tri = np.empty((2, 3, 3))
    for i in range(points.shape[0]):
        d, gx, gy, gz = height_distance(
            heights, frame, points[i, 0], points[i, 1], points[i, 2], tri
        )
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = d, gx, gy, gz
