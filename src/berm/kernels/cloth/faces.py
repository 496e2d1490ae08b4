"""Grains near the faces of cloth: candidates by a grid, closest points, [Francu14] Sec. 8.1-8.2."""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import inner, jit

SAME = 0.8  # cosine above which two contacts of a grain or vertex with one cloth are one
MOST = 4  # contacts of a grain or vertex with one cloth


@inner
def closest(px, py, pz, a, b, c):
    """Weights of the corners (3 x 3 rows a, b, c) at the point of a triangle closest to p.

    [Ericson 2005, 5.1.5].
    """
    abx, aby, abz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    acx, acy, acz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    apx, apy, apz = px - a[0], py - a[1], pz - a[2]
    d1 = abx * apx + aby * apy + abz * apz
    d2 = acx * apx + acy * apy + acz * apz
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    bpx, bpy, bpz = px - b[0], py - b[1], pz - b[2]
    d3 = abx * bpx + aby * bpy + abz * bpz
    d4 = acx * bpx + acy * bpy + acz * bpz
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3)
        return 1.0 - t, t, 0.0
    cpx, cpy, cpz = px - c[0], py - c[1], pz - c[2]
    d5 = abx * cpx + aby * cpy + abz * cpz
    d6 = acx * cpx + acy * cpy + acz * cpz
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6)
        return 1.0 - t, 0.0, t
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 0.0, 1.0 - t, t
    scale = 1.0 / (va + vb + vc)
    return 1.0 - vb * scale - vc * scale, vb * scale, vc * scale


@jit
def into_cells(x, n, lo, cell, dims, start, order, number):
    """Sort grains by cell; those outside the grid are left out (number -1)."""
    for k in range(start.shape[0]):
        start[k] = 0
    for i in range(n):
        number[i] = -1
        at = 0
        out = False
        for c in range(3):
            k = math.floor((x[i, c] - lo[c]) / cell)
            if k < 0 or k >= dims[c]:
                out = True
            at = at * dims[c] + k
        if not out:
            number[i] = at
            start[at + 1] += 1
    for k in range(start.shape[0] - 1):
        start[k + 1] += start[k]
    for i in range(n):
        if number[i] >= 0:
            order[start[number[i]]] = i
            start[number[i]] += 1
    for k in range(start.shape[0] - 1, 0, -1):
        start[k] = start[k - 1]
    start[0] = 0


@jit
def find(
    x, v, first, faces, thick, h, slack, widest, fastest, side, lo, cell, dims, start, order, out,
    meta,
):  # fmt: skip
    """Write contacts that touch or may touch within h; return how many there are.

    Vertices of the cloth are rows first + k of x and v. side (rows,): +1 or -1 once a grain is
    known to be on one side of the cloth, 0 before. meta (cap, 2): grain, face; out (cap, 8):
    weights of the corners, unit normal towards the grain's side, gap, distance.
    """
    count = 0
    low = np.empty(3)
    high = np.empty(3)
    for f in range(faces.shape[0]):
        ia, ib, ic = first + faces[f, 0], first + faces[f, 1], first + faces[f, 2]
        a, b, c = x[ia], x[ib], x[ic]
        fast = 0.0
        for k in (ia, ib, ic):
            fast = max(fast, v[k, 0] ** 2 + v[k, 1] ** 2 + v[k, 2] ** 2)
        fast = math.sqrt(fast)
        reach = widest + thick + h * (2.0 * fast + fastest) + slack * widest
        empty = False
        for e in range(3):
            low[e] = math.floor((min(a[e], b[e], c[e]) - reach - lo[e]) / cell)
            high[e] = math.floor((max(a[e], b[e], c[e]) + reach - lo[e]) / cell)
            low[e] = max(low[e], 0)
            high[e] = min(high[e], dims[e] - 1)
            empty = empty or high[e] < low[e]
        if empty:
            continue
        nx = (b[1] - a[1]) * (c[2] - a[2]) - (b[2] - a[2]) * (c[1] - a[1])
        ny = (b[2] - a[2]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[2] - a[2])
        nz = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        size = math.sqrt(nx * nx + ny * ny + nz * nz)
        if size == 0.0:
            continue
        nx, ny, nz = nx / size, ny / size, nz / size
        for k0 in range(int(low[0]), int(high[0]) + 1):
            for k1 in range(int(low[1]), int(high[1]) + 1):
                row = (k0 * dims[1] + k1) * dims[2]
                for m in range(start[row + int(low[2])], start[row + int(high[2]) + 1]):
                    i = order[m]
                    px, py, pz = x[i, 0], x[i, 1], x[i, 2]
                    wa, wb, wc = closest(px, py, pz, a, b, c)
                    dx = px - wa * a[0] - wb * b[0] - wc * c[0]
                    dy = py - wa * a[1] - wb * b[1] - wc * c[1]
                    dz = pz - wa * a[2] - wb * b[2] - wc * c[2]
                    far = math.sqrt(dx * dx + dy * dy + dz * dz)
                    above = 1.0 if dx * nx + dy * ny + dz * nz >= 0.0 else -1.0
                    mine = side[i] if side[i] != 0 else above
                    limit = x[i, 3] + thick
                    if mine != above and (far > limit or min(wa, wb, wc) <= 0.0):
                        continue  # it has crossed another face, or none: sides mean little here
                    if far > 1e-9 * limit:
                        s = (1.0 if mine == above else -1.0) / far
                        dx, dy, dz = s * dx, s * dy, s * dz
                    else:
                        dx, dy, dz = mine * nx, mine * ny, mine * nz
                    gap = (far if mine == above else -far) - limit
                    ux = v[i, 0] - wa * v[ia, 0] - wb * v[ib, 0] - wc * v[ic, 0]
                    uy = v[i, 1] - wa * v[ia, 1] - wb * v[ib, 1] - wc * v[ic, 1]
                    uz = v[i, 2] - wa * v[ia, 2] - wb * v[ib, 2] - wc * v[ic, 2]
                    speed = ux * dx + uy * dy + uz * dz
                    # links may stop a face within the step
                    if gap + min(h * speed, 0.0) > slack * x[i, 3] + h * fast:
                        continue
                    if count < out.shape[0]:
                        meta[count, 0], meta[count, 1] = i, f
                        o = out[count]
                        o[0], o[1], o[2] = wa, wb, wc
                        o[3], o[4], o[5] = dx, dy, dz
                        o[6], o[7] = gap, far
                        if side[i] == 0 and gap < slack * x[i, 3]:
                            meta[count, 2] = int(above)
                        else:
                            meta[count, 2] = side[i]
                    count += 1
    return count


@jit
def thin(order, who, normal, keep):
    """Keep the nearest contact of each, and others whose normals differ; return how many.

    order: contacts by who (m,), the grain or vertex that has them, then by what comes first.
    """
    kept = np.empty(MOST, np.int64)
    many = 0
    total = 0
    mine = -1
    for k in order:
        if who[k] != mine:
            mine = who[k]
            many = 0
        fits = many < MOST
        for m in range(many):
            o = normal[kept[m]]
            if normal[k, 0] * o[0] + normal[k, 1] * o[1] + normal[k, 2] * o[2] > SAME:
                fits = False
        if fits:
            kept[many] = k
            many += 1
            keep[total] = k
            total += 1
    return total
