"""Residuals of all constraints, products with A = J W J^T (16), and their inner products.

For minimum residual (30)-(31), conjugate residuals (33)-(35), power iteration and the residual
history of [Francu14]. Vectors have three numbers a constraint, as impulses do.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import inline, inner, pjit, prange
from berm.kernels.vts.law import FACE, FORM, LINK, NONE, RELAXED, WALL, project, residual
from berm.kernels.vts.sweep import face_speed, form_rate


@inline
def _speed(c, what, ends, quad, coef, qbase, row, v, bodies):
    """Relative velocity at a constraint; bodies = 0 leaves the bodies' own motion out."""
    i = ends[c, 0]
    if what == WALL:
        if bodies:
            return v[i, 0] - row[c, 8], v[i, 1] - row[c, 9], v[i, 2] - row[c, 10]
        return v[i, 0], v[i, 1], v[i, 2]
    if what == FACE:
        return face_speed(c - qbase, quad, coef, v)
    j = ends[c, 1]
    return v[i, 0] - v[j, 0], v[i, 1] - v[j, 1], v[i, 2] - v[j, 2]


@inner
def _residuals(b, kind, first, last, ends, quad, coef, grad, qbase, row, imp, v, par, friction,
               res, sums):  # fmt: skip
    """R of each constraint, and how far P is from proj(P - alpha R), per alpha."""
    what = kind[b]
    one = 0.0
    most = 0.0
    for c in range(first[b], last[b]):
        px, py, pz = imp[c, 0], imp[c, 1], imp[c, 2]
        none = px - px
        if what == FORM:
            rate = form_rate(c, c - qbase, quad, grad, row, v, par)
            to = min(max(px - row[c, 5] * rate, row[c, 8]), row[c, 9])
            res[c, 0] = rate if to != px else none
            size = abs(to - px) / max(row[c, 5], np.float32(1e-30))
            one += size
            most = max(most, size)
            continue
        ux, uy, uz = _speed(c, what, ends, quad, coef, qbase, row, v, 1)
        nx, ny, nz, rate = residual(what, row, c, ux, uy, uz, par)
        speed = nx * ux + ny * uy + nz * uz
        tx, ty, tz = ux - speed * nx, uy - speed * ny, uz - speed * nz
        if what == LINK or friction == NONE or row[c, 6] == 0.0:
            tx, ty, tz = none, none, none
        if friction == RELAXED and what != LINK:
            rate -= row[c, 6] * math.sqrt(tx * tx + ty * ty + tz * tz)
        rx, ry, rz = rate * nx + tx, rate * ny + ty, rate * nz + tz
        alpha = max(row[c, 5], np.float32(1e-30))
        if what == LINK:
            size = abs(rate)
        else:
            fx, fy, fz = project(
                px - alpha * rx, py - alpha * ry, pz - alpha * rz, nx, ny, nz, row[c, 6], friction
            )
            fx, fy, fz = (fx - px) / alpha, (fy - py) / alpha, (fz - pz) / alpha
            size = math.sqrt(fx * fx + fy * fy + fz * fz)
            if not px * nx + py * ny + pz * nz > 0.0 and rate > 0.0:
                rx, ry, rz = none, none, none  # open: takes no part
        one += size
        most = max(most, size)
        res[c, 0], res[c, 1], res[c, 2] = rx, ry, rz
    sums[b, 0] = one
    sums[b, 1] = most


@pjit
def residuals(kind, first, last, ends, quad, coef, grad, qbase, row, imp, v, par, friction, res,
              sums):  # fmt: skip
    """Residuals of all constraints; sums (blocks, 2): L1 norm and largest, m/s."""
    for b in prange(kind.shape[0]):
        _residuals(
            np.int64(b), kind, first, last, ends, quad, coef, grad, qbase, row, imp, v, par,
            friction, res, sums,
        )  # fmt: skip


@inner
def _product(b, kind, first, last, ends, quad, coef, grad, qbase, row, given, y, friction, out):
    """J y, for constraints that take part in `given` and in the directions that it has."""
    what = kind[b]
    for c in range(first[b], last[b]):
        none = row[c, 0] - row[c, 0]
        if what == FORM:
            out[c, 0] = none
            for m in range(4):
                p = quad[c - qbase, m]
                if p >= 0 and given[c, 0] != 0.0:
                    for e in range(3):
                        out[c, 0] += grad[c - qbase, m, e] * y[p, e]
            continue
        gx, gy, gz = given[c, 0], given[c, 1], given[c, 2]
        if gx == 0.0 and gy == 0.0 and gz == 0.0:
            out[c, 0], out[c, 1], out[c, 2] = none, none, none
            continue
        ux, uy, uz = _speed(c, what, ends, quad, coef, qbase, row, y, 0)
        if what == LINK or friction == NONE or row[c, 6] == 0.0:
            size2 = gx * gx + gy * gy + gz * gz  # along its own direction only
            s = (gx * ux + gy * uy + gz * uz) / size2
            ux, uy, uz = s * gx, s * gy, s * gz
        out[c, 0], out[c, 1], out[c, 2] = ux, uy, uz


@pjit
def product(kind, first, last, ends, quad, coef, grad, qbase, row, given, y, friction, out):
    """out = A given, where y = W J^T given was gathered before."""
    for b in prange(kind.shape[0]):
        _product(
            np.int64(b), kind, first, last, ends, quad, coef, grad, qbase, row, given, y, friction,
            out,
        )  # fmt: skip


@inner
def _dot(b, kind, first, last, one, two, sums):
    total = 0.0
    width = 1 if kind[b] == FORM else 3
    for c in range(first[b], last[b]):
        for e in range(width):
            total += np.float64(one[c, e]) * two[c, e]
    sums[b, 0] = total


@pjit
def dot(kind, first, last, one, two, sums):
    """Inner product of two vectors over constraints, a block each."""
    for b in prange(kind.shape[0]):
        _dot(np.int64(b), kind, first, last, one, two, sums)


@inner
def _descend(b, alpha, kind, first, last, ends, quad, coef, grad, qbase, row, imp, v, par,
             friction, way, change):  # fmt: skip
    what = kind[b]
    for c in range(first[b], last[b]):
        px, py, pz = imp[c, 0], imp[c, 1], imp[c, 2]
        if what == FORM:
            to = min(max(px - alpha * row[c, 11] * way[c, 0], row[c, 8]), row[c, 9])
            change[c, 0] = to - px
            imp[c, 0] = to
            continue
        fx, fy, fz = px - alpha * way[c, 0], py - alpha * way[c, 1], pz - alpha * way[c, 2]
        if what != LINK:
            ux, uy, uz = _speed(c, what, ends, quad, coef, qbase, row, v, 1)
            nx, ny, nz, _ = residual(what, row, c, ux, uy, uz, par)
            fx, fy, fz = project(fx, fy, fz, nx, ny, nz, row[c, 6], friction)
        imp[c, 0], imp[c, 1], imp[c, 2] = fx, fy, fz
        change[c, 0], change[c, 1], change[c, 2] = fx - px, fy - py, fz - pz


@pjit
def descend(alpha, kind, first, last, ends, quad, coef, grad, qbase, row, imp, v, par, friction,
            way, change):  # fmt: skip
    """P = proj(P - alpha way), (30) and (33); `change` gets the difference."""
    for b in prange(kind.shape[0]):
        _descend(
            np.int64(b), alpha, kind, first, last, ends, quad, coef, grad, qbase, row, imp, v, par,
            friction, way, change,
        )  # fmt: skip


@pjit
def combine(kind, first, last, res, beta, way):
    """way = res + beta way, (34)."""
    for b in prange(kind.shape[0]):
        for c in range(first[b], last[b]):
            for e in range(3):
                way[c, e] = res[c, e] + beta * way[c, e]


@inner
def _post(b, kind, first, last, ends, quad, coef, qbase, row, imp, v, friction, change, par):
    """Friction of one contact after the solver, with the push that it ended with (Sec. 5)."""
    what = kind[b]
    for c in range(first[b], last[b]):
        none = row[c, 0] - row[c, 0]
        change[c, 0], change[c, 1], change[c, 2] = none, none, none
        if what == LINK or what == FORM:
            continue
        px, py, pz = imp[c, 0], imp[c, 1], imp[c, 2]
        push = math.sqrt(px * px + py * py + pz * pz)
        if push == 0.0:
            continue
        nx, ny, nz = px / push, py / push, pz / push
        ux, uy, uz = _speed(c, what, ends, quad, coef, qbase, row, v, 1)
        speed = nx * ux + ny * uy + nz * uz
        a = row[c, 5]
        fx, fy, fz = project(
            px - a * (ux - speed * nx), py - a * (uy - speed * ny), pz - a * (uz - speed * nz),
            nx, ny, nz, row[c, 6], friction,
        )  # fmt: skip
        imp[c, 0], imp[c, 1], imp[c, 2] = fx, fy, fz
        change[c, 0], change[c, 1], change[c, 2] = fx - px, fy - py, fz - pz


@pjit
def post(kind, first, last, ends, quad, coef, qbase, row, imp, v, friction, change, par):
    """Tangential impulses of all contacts at once, capped by mu times the push."""
    for b in prange(kind.shape[0]):
        _post(
            np.int64(b), kind, first, last, ends, quad, coef, qbase, row, imp, v, friction, change,
            par,
        )  # fmt: skip
