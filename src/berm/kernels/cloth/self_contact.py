"""Cloth that meets cloth: vertices against faces, edges against edges, each pair with its side.

A pair's side says on which side of the face the vertex belongs: where it was when the pair was
first met, for as long as it is near. So what got through is pushed back. Of edges the direction
from one to the other is followed from step to step, for it turns over as they become parallel.
Tables of the vertices, in float64: x (n, 3) m; v (k, n, 3) m/s: before anything is solved, and what
solving came to; shape (n, 3) m, as the cloth was made; owner (n,): their cloth; thick (n,):
distance they keep, m. What is found of a pair, (WIDTH,): four
weights, first those of the vertex or the first edge; unit normal; gap (m); the least gap to be
expected within the step. A side of 0 says that the pair is not near; for edges 1 says
that it is, and that the normal, if given, is that of the last step.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.cloth.faces import closest
from berm.kernels.jit import inner, pjit, prange

N, GAP, SOON, WIDTH = 4, 7, 8, 9
TURNED = 0.5  # cosine: beyond a face's border, what turns about by more in a step went through
PARALLEL = 0.1  # sine: edges at smaller angles have no side, their vertices meet the faces
TOGETHER = 256  # pairs that one turn looks at


@inner
def _soon(out, a, b, c, d, v, h):
    """Least gap to be expected: at first either partner may be stopped by others, too."""
    least = 0.0
    for turn in range(v.shape[0]):
        mine, other = 0.0, 0.0
        for k, w in ((a, out[0]), (b, out[1]), (c, out[2]), (d, out[3])):
            u = v[turn, k]
            speed = out[N] * u[0] + out[N + 1] * u[1] + out[N + 2] * u[2]
            if w > 0.0:
                mine += w * speed
            else:
                other -= w * speed
        least = min(least, mine - other)
        if turn == 0:
            least = min(least, mine, -other)
    return out[GAP] + h * least


@inner
def _length(u):
    return math.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])


@inner
def _fall_on(p, a, b, c, side, limit, x, v, h, nx, ny, nz, out):
    """Least gap between a vertex beside a face, not touching it, and that face at the step's end.

    Point and direction become those of the end: those of the start, to the face's border, would
    hold what only slides past it. A face that the vertex will be over acts as its plane.
    """
    none = out[GAP] - 1e-6 * limit  # what goes by is no contact, rounding or not
    least = none
    way, corner = np.empty(3), np.empty((3, 3))
    for turn in range(v.shape[0]):
        for stopped in range(3 if turn == 0 else 1):  # nobody, the vertex, the face
            for e in range(3):
                way[e] = x[p, e] + (0.0 if stopped == 1 else h * v[turn, p, e])
                for k, q in ((0, a), (1, b), (2, c)):
                    corner[k, e] = x[q, e] + (0.0 if stopped == 2 else h * v[turn, q, e])
            wa, wb, wc = closest(way[0], way[1], way[2], corner[0], corner[1], corner[2])
            for e in range(3):
                way[e] -= wa * corner[0, e] + wb * corner[1, e] + wc * corner[2, e]
            far = _length(way)
            gap = far - limit
            if min(wa, wb, wc) > 0.0:  # over the face, or under it
                if side * (way[0] * nx + way[1] * ny + way[2] * nz) < 0.0:
                    gap = -far - limit
                way[0], way[1], way[2] = side * nx, side * ny, side * nz
                far = 1.0
            back = out[N] * way[0] + out[N + 1] * way[1] + out[N + 2] * way[2] < 0.0
            if gap >= least:
                continue
            least = gap
            if back or far <= 1e-9 * limit:
                continue
            out[1], out[2], out[3], out[GAP] = -wa, -wb, -wc, -limit
            for e in range(3):
                out[N + e] = way[e] / far
                apart = x[p, e] - wa * x[a, e] - wb * x[b, e] - wc * x[c, e]
                out[GAP] += out[N + e] * apart
    return least if least < none else np.inf


@inner
def _vertex_face(p, a, b, c, side, x, v, shape, owner, thick, h, margin, out):
    """Meet vertex p and face (a, b, c); return the side of the pair."""
    if p == a or p == b or p == c:
        return 0
    limit = 0.5 * (thick[p] + thick[a])
    wa, wb, wc = closest(x[p, 0], x[p, 1], x[p, 2], x[a], x[b], x[c])
    out[0], out[1], out[2], out[3] = 1.0, -wa, -wb, -wc
    dx = x[p, 0] - wa * x[a, 0] - wb * x[b, 0] - wc * x[c, 0]
    dy = x[p, 1] - wa * x[a, 1] - wb * x[b, 1] - wc * x[c, 1]
    dz = x[p, 2] - wa * x[a, 2] - wb * x[b, 2] - wc * x[c, 2]
    far = math.sqrt(dx * dx + dy * dy + dz * dz)
    abx, aby, abz = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
    acx, acy, acz = x[c, 0] - x[a, 0], x[c, 1] - x[a, 1], x[c, 2] - x[a, 2]
    nx, ny, nz = aby * acz - abz * acy, abz * acx - abx * acz, abx * acy - aby * acx
    size = math.sqrt(nx * nx + ny * ny + nz * nz)
    if size == 0.0:
        return 0
    nx, ny, nz = nx / size, ny / size, nz / size
    lift = dx * nx + dy * ny + dz * nz
    above = 1 if lift >= 0.0 else -1
    if side == 0:
        side = above
    elif side != above and min(wa, wb, wc) <= 0.0:  # it may have come round the border
        turned = out[N] * dx + out[N + 1] * dy + out[N + 2] * dz < -TURNED * far
        if far > limit or not turned:
            side = above
    if far > 1e-9 * limit:
        s = (1.0 if side == above else -1.0) / far
        out[N], out[N + 1], out[N + 2] = s * dx, s * dy, s * dz
    else:
        out[N], out[N + 1], out[N + 2] = side * nx, side * ny, side * nz
    out[GAP] = (far if side == above else -far) - limit
    if min(wa, wb, wc) > 0.0 or out[GAP] <= 0.0:
        out[SOON] = _soon(out, p, a, b, c, v, h)
    else:
        fast = 0.0
        for turn in range(v.shape[0]):
            most = max(_length(v[turn, a]), _length(v[turn, b]), _length(v[turn, c]))
            fast = max(fast, _length(v[turn, p]) + most)
        out[SOON] = out[GAP] - h * fast
        if out[SOON] < margin:  # else it is near at most
            out[SOON] = _fall_on(p, a, b, c, side, limit, x, v, h, nx, ny, nz, out)
    if far > limit + margin and (side != above or out[SOON] > margin):
        return 0
    if owner[p] == owner[a]:
        wa, wb, wc = closest(shape[p, 0], shape[p, 1], shape[p, 2], shape[a], shape[b], shape[c])
        far2 = 0.0
        for e in range(3):
            far2 += (shape[p, e] - wa * shape[a, e] - wb * shape[b, e] - wc * shape[c, e]) ** 2
        if far2 < limit * limit:
            return 0
    return side


@inner
def _nearest(p, q, r, s, x, crossing):
    """Weights of q and s at the closest points of segments p-q and r-s, [Ericson 2005, 5.1.9].

    With `crossing` only where both are inside, else (-1, -1).
    """
    a, b, c, d, e = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        one, two, way = x[q, k] - x[p, k], x[s, k] - x[r, k], x[p, k] - x[r, k]
        a += one * one
        b += one * two
        e += two * two
        c += one * way
        d += two * way
    area2 = a * e - b * b
    if crossing:
        if area2 <= PARALLEL * PARALLEL * a * e:
            return -1.0, -1.0
        t, u = (b * d - c * e) / area2, (a * d - b * c) / area2
        if t <= 0.0 or t >= 1.0 or u <= 0.0 or u >= 1.0:
            return -1.0, -1.0
        return t, u
    t = min(max((b * d - c * e) / area2, 0.0), 1.0) if area2 > 0.0 else 0.0
    u = (b * t + d) / e if e > 0.0 else 0.0
    if u < 0.0:
        u = 0.0
        t = min(max(-c / a, 0.0), 1.0) if a > 0.0 else 0.0
    elif u > 1.0:
        u = 1.0
        t = min(max((b - c) / a, 0.0), 1.0) if a > 0.0 else 0.0
    return t, u


@inner
def _edge_edge(p, q, r, s, side, x, v, shape, owner, thick, h, margin, out):
    """Meet edges p-q and r-s where they cross; return the side of the pair."""
    if p == r or p == s or q == r or q == s:
        return 0
    limit = 0.5 * (thick[p] + thick[r])
    t, u = _nearest(p, q, r, s, x, True)
    if t < 0.0:
        return 0
    out[0], out[1], out[2], out[3] = 1.0 - t, t, u - 1.0, -u
    ax, ay, az = x[q, 0] - x[p, 0], x[q, 1] - x[p, 1], x[q, 2] - x[p, 2]
    bx, by, bz = x[s, 0] - x[r, 0], x[s, 1] - x[r, 1], x[s, 2] - x[r, 2]
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    size = math.sqrt(nx * nx + ny * ny + nz * nz)
    nx, ny, nz = nx / size, ny / size, nz / size
    lift = (x[p, 0] - x[r, 0]) * nx + (x[p, 1] - x[r, 1]) * ny + (x[p, 2] - x[r, 2]) * nz
    along = lift if side == 0 else out[N] * nx + out[N + 1] * ny + out[N + 2] * nz
    if along < 0.0:
        nx, ny, nz, lift = -nx, -ny, -nz, -lift
    out[N], out[N + 1], out[N + 2] = nx, ny, nz
    out[GAP] = lift - limit
    out[SOON] = _soon(out, p, q, r, s, v, h)
    if abs(lift) > limit + margin and (lift < 0.0 or out[SOON] > margin):
        return 0
    if owner[p] == owner[r]:
        t, u = _nearest(p, q, r, s, shape, False)
        far2 = 0.0
        for e in range(3):
            one = (1.0 - t) * shape[p, e] + t * shape[q, e]
            far2 += (one - (1.0 - u) * shape[r, e] - u * shape[s, e]) ** 2
        if far2 < limit * limit:
            return 0
    return 1


@inner
def _meet_some(turn, pairs, first, second, side, x, v, shape, owner, thick, h, margin, out):
    for k in range(turn * TOGETHER, min((turn + 1) * TOGETHER, pairs.shape[0])):
        one, two = first[pairs[k, 0]], second[pairs[k, 1]]
        if first.shape[1] == 1:
            side[k] = _vertex_face(
                one[0], two[0], two[1], two[2], side[k], x, v, shape, owner, thick, h, margin,
                out[k],
            )  # fmt: skip
        else:
            side[k] = _edge_edge(
                one[0], one[1], two[0], two[1], side[k], x, v, shape, owner, thick, h, margin,
                out[k],
            )  # fmt: skip


@pjit
def meet(pairs, first, second, side, x, v, shape, owner, thick, h, margin, out):
    """Look at pairs of first (m, 1) and second (f, 3): vertices, faces; or (m, 2) twice: edges.

    side (pairs,): as remembered, 0 for new pairs; becomes what it is now, 0 where not near.
    """
    for turn in prange((pairs.shape[0] + TOGETHER - 1) // TOGETHER):
        _meet_some(
            np.int64(turn), pairs, first, second, side, x, v, shape, owner, thick, h, margin, out
        )
