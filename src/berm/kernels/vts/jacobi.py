"""Projected Jacobi and its improved form, [Francu14] (26)-(27), (36)-(38), and their linear parts.

What sets Jacobi apart from the sweeps of Gauss-Seidel is that a constraint sees the velocities with
which the iteration began. So both go through the units of constraints by colours, without races and
with the same bits on any number of threads; here plain loops over blocks become vector code.

**Deviation** from Sec. 7, which gathers the impulses at each particle in a second pass: they are
added where they arise, in a fixed order. Linear parts of other iterations still gather.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline, inner, jit, pjit, prange
from berm.kernels.vts.blocks import GO_ON, HAND, START, pack, respond, unpack
from berm.kernels.vts.bodies import touch_bodies
from berm.kernels.vts.law import (
    BETA,
    FACE,
    FIXED,
    FORM,
    LINEAR,
    LINK,
    MODE,
    MOVING,
    PAIR,
    WALL,
    answer,
    loaded,
    numbers,
)
from berm.kernels.vts.sweep import face_speed, form_rate

GATHER = 512  # particles that one turn gathers for or copies


@jit
def adjacency(kind, first, last, ends, quad, qbase, n, start, item):
    """Constraints of each particle: item[start[p] : start[p + 1]] = 4 c + place in c."""
    for p in range(n + 1):
        start[p] = 0
    for b in range(kind.shape[0]):
        for c in range(first[b], last[b]):
            if kind[b] == WALL:
                start[ends[c, 0] + 1] += 1
            elif kind[b] == PAIR or kind[b] == LINK:
                start[ends[c, 0] + 1] += 1
                start[ends[c, 1] + 1] += 1
            else:
                for m in range(4):
                    if quad[c - qbase, m] >= 0:
                        start[quad[c - qbase, m] + 1] += 1
    for p in range(n):
        start[p + 1] += start[p]
    for b in range(kind.shape[0]):
        for c in range(first[b], last[b]):
            if kind[b] == WALL:
                item[start[ends[c, 0]]] = 4 * c
                start[ends[c, 0]] += 1
            elif kind[b] == PAIR or kind[b] == LINK:
                for m in range(2):
                    item[start[ends[c, m]]] = 4 * c + m
                    start[ends[c, m]] += 1
            else:
                for m in range(4):
                    p = quad[c - qbase, m]
                    if p >= 0:
                        item[start[p]] = 4 * c + m
                        start[p] += 1
    for p in range(n, 0, -1):
        start[p] = start[p - 1]
    start[0] = 0


@inner
def _set_alpha(
    b, kind, first, last, ends, quad, coef, grad, qbase, v, degree, omega, safe, row
):  # fmt: skip
    for c in range(first[b], last[b]):
        d = 0.0
        split = 0.0
        for m in range(1 if kind[b] == WALL else 2 if kind[b] < FACE else 4):
            p = ends[c, m] if kind[b] < FACE else quad[c - qbase, m]
            if p < 0:
                continue
            size = 1.0
            if kind[b] == FACE:
                size = coef[c - qbase, m] ** 2
            elif kind[b] == FORM:
                size = 0.0
                for e in range(3):
                    size += grad[c - qbase, m, e] ** 2
            d += size * v[p, 3]
            if safe > 0.0:
                split += degree[p] * size * v[p, 3]
        alpha = omega / d if d > 0.0 else 0.0
        if safe > 0.0 and split > 0.0:
            alpha = min(alpha, safe / split)
        row[c, 5] = alpha


@pjit
def set_alpha(kind, first, last, ends, quad, coef, grad, qbase, v, degree, omega, safe, row):
    """Steps alpha_i = omega / d_i (32), no larger than safe / sum n_b w_b J_b^2 where safe > 0.

    With n_b constraints at body b, its `degree`, that sum bounds A from above:
    A <= diag(sum n_b w_b J_b^2), so Jacobi with safe < 2 never grows. It is what each constraint
    sees of masses split evenly among the constraints of a body; with omega infinite it is the
    printed division by n_b, but equal and opposite for the two bodies.
    """
    for b in prange(kind.shape[0]):
        _set_alpha(
            np.int64(b), kind, first, last, ends, quad, coef, grad, qbase, v, degree, omega, safe,
            row,
        )  # fmt: skip


@inline
def _face(c, k, quad, coef, row, imp, change, old, v, law, friction):
    px, py, pz = imp[c, 0], imp[c, 1], imp[c, 2]
    ux, uy, uz = face_speed(k, quad, coef, old)
    fx, fy, fz = answer(
        FACE, numbers(row, c), ux, uy, uz, px, py, pz, change[c, 0], change[c, 1], change[c, 2],
        law, friction,
    )  # fmt: skip
    imp[c, 0], imp[c, 1], imp[c, 2] = fx, fy, fz
    change[c, 0], change[c, 1], change[c, 2] = fx - px, fy - py, fz - pz
    for m in range(4):
        p = quad[k, m]
        for e in range(3):
            v[p, e] += coef[k, m] * v[p, 3] * change[c, e]


@inline
def _form(c, k, quad, grad, row, imp, change, old, v, par):
    before = imp[c, 0]
    rate = form_rate(c, k, quad, grad, row, old, par)
    after = before - row[c, 5] * row[c, 11] * rate + par[BETA] * change[c, 0]
    after = min(max(after, row[c, 8]), row[c, 9])
    imp[c, 0], change[c, 0] = after, after - before
    for m in range(4):
        p = quad[k, m]
        if p >= 0:
            for e in range(3):
                v[p, e] += v[p, 3] * change[c, 0] * grad[k, m, e]


@inner
def _respond_unit(u, unit, kind, first, last, place, groups, who, quad, coef, grad, qbase, row, imp,
                  change, block, extra, old, v, par, friction):  # fmt: skip
    """New impulses of a unit from velocities `old`, added to v."""
    law, hand = loaded(par), np.zeros(HAND, v.dtype)
    for b in range(unit[u], unit[u + 1]):
        if kind[b] == PAIR:
            respond(PAIR, True, place[b], groups[b], who, block, extra, hand, old, v, law, friction)
        elif kind[b] == WALL:
            respond(WALL, True, place[b], groups[b], who, block, extra, hand, old, v, law, friction)
        elif kind[b] == LINK:
            respond(LINK, True, place[b], groups[b], who, block, extra, hand, old, v, law, friction)
        elif kind[b] == FACE:
            for c in range(first[b], last[b]):
                _face(c, c - qbase, quad, coef, row, imp, change, old, v, law, friction)
        elif kind[b] == FORM:
            for c in range(first[b], last[b]):
                _form(c, c - qbase, quad, grad, row, imp, change, old, v, par)


@inner
def gather(s, n, start, item, quad, coef, grad, qbase, faces, change, out):
    """Add W J^T of what constraints hold in `change` to rows of `out` (27)."""
    for p in range(s * GATHER, min((s + 1) * GATHER, n)):
        sx = change[0, 0] - change[0, 0]
        sy = sx
        sz = sx
        for a in range(start[p], start[p + 1]):
            c = item[a] >> 2
            m = item[a] & 3
            if c < qbase:
                if m == 0:
                    sx += change[c, 0]
                    sy += change[c, 1]
                    sz += change[c, 2]
                else:
                    sx -= change[c, 0]
                    sy -= change[c, 1]
                    sz -= change[c, 2]
            elif c < qbase + faces:
                k = coef[c - qbase, m]
                sx += k * change[c, 0]
                sy += k * change[c, 1]
                sz += k * change[c, 2]
            else:
                sx += grad[c - qbase, m, 0] * change[c, 0]
                sy += grad[c - qbase, m, 1] * change[c, 0]
                sz += grad[c - qbase, m, 2] * change[c, 0]
        w = out[p, 3]
        out[p, 0] += w * sx
        out[p, 1] += w * sy
        out[p, 2] += w * sz


@pjit
def apply(n, start, item, quad, coef, grad, qbase, faces, change, out):
    """out += W J^T change for all particles; out[:, 3] holds inverse masses."""
    for s in prange((n + GATHER - 1) // GATHER):
        gather(np.int64(s), n, start, item, quad, coef, grad, qbase, faces, change, out)


@inner
def _copy(s, v, old):
    for p in range(s * GATHER, min((s + 1) * GATHER, v.shape[0])):
        for e in range(4):
            old[p, e] = v[p, e]


@pjit
def iterate(
    begin, end, most, delay, a, b, unit, colour, turn, kind, first, last, place, groups, seat,
    filled, who, ends, quad, coef, grad, qbase, row, imp, change, block, extra, v, old, par,
    friction, touching,
):  # fmt: skip
    """Iterations `begin` to `end` of `most`; beta = min(a (l / most)^b, 1) (36), a = 0: plain.

    touching: contacts with dynamic bodies, which are few, by Gauss-Seidel after each iteration.
    """
    memory = START if begin == 0 else GO_ON
    for k in prange(kind.shape[0]):
        if kind[k] < FACE:
            pack(kind[k], par[MODE] == LINEAR, first[k], last[k], place[k], groups[k], memory, seat,
                 filled, ends, row, imp, change, who, block, extra)  # fmt: skip
    for it in range(begin, end):
        par[BETA] = min(a * (it / most) ** b, 1.0) if a > 0.0 else 0.0
        if par[MODE] == FIXED and it >= delay:
            par[MODE] = MOVING
        for s in prange((v.shape[0] + GATHER - 1) // GATHER):
            _copy(np.int64(s), v, old)
        for k in range(colour.shape[0] - 1):
            for m in prange(colour[k], colour[k + 1]):
                _respond_unit(
                    turn[m], unit, kind, first, last, place, groups, who, quad, coef, grad, qbase,
                    row, imp, change, block, extra, old, v, par, friction,
                )  # fmt: skip
        touch_bodies(touching, v, par, friction, it)
    for k in prange(kind.shape[0]):
        if kind[k] < FACE:
            unpack(True, first[k], last[k], place[k], seat, block, imp, change)
