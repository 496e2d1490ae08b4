"""Projected Gauss-Seidel with over-relaxation, [Francu14] (29), in parallel by colours.

A unit is a run of blocks of constraints; units of one colour share no particle, so they run side by
side, one colour after the other. The order, and with it every bit, is the same on any number of
threads. Within a unit each answer moves its particles at once. Links of one block share no particle
either: `vts_blocks` answers many together.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline, inner, pjit, prange
from berm.kernels.vts_blocks import HAND, pack, respond
from berm.kernels.vts_law import (
    BETA,
    FACE,
    FIXED,
    FORM,
    INV_H,
    K_C,
    K_V,
    LINK,
    MODE,
    MOVING,
    PAIR,
    WALL,
    answer,
    loaded,
    numbers,
)


@inline
def _pairs(first, last, ends, row, imp, v, law, friction):
    for c in range(np.uint64(first), np.uint64(last)):
        i, j = np.uint64(ends[c, 0]), np.uint64(ends[c, 1])
        px, py, pz = imp[c, 0], imp[c, 1], imp[c, 2]
        none = px - px
        ax, ay, az, wi = v[i, 0], v[i, 1], v[i, 2], v[i, 3]
        bx, by, bz, wj = v[j, 0], v[j, 1], v[j, 2], v[j, 3]
        fx, fy, fz = answer(
            PAIR, numbers(row, c), ax - bx, ay - by, az - bz, px, py, pz, none, none, none, law,
            friction,
        )  # fmt: skip
        imp[c, 0], imp[c, 1], imp[c, 2] = fx, fy, fz
        fx, fy, fz = fx - px, fy - py, fz - pz
        v[i, 0], v[i, 1], v[i, 2] = ax + wi * fx, ay + wi * fy, az + wi * fz
        v[j, 0], v[j, 1], v[j, 2] = bx - wj * fx, by - wj * fy, bz - wj * fz


@inline
def _walls(first, last, ends, row, imp, v, law, friction):
    for c in range(np.uint64(first), np.uint64(last)):
        i = np.uint64(ends[c, 0])
        px, py, pz = imp[c, 0], imp[c, 1], imp[c, 2]
        none = px - px
        r = numbers(row, c)
        ax, ay, az, wi = v[i, 0], v[i, 1], v[i, 2], v[i, 3]
        fx, fy, fz = answer(
            WALL, r, ax - r[8], ay - r[9], az - r[10], px, py, pz, none, none, none, law, friction
        )
        imp[c, 0], imp[c, 1], imp[c, 2] = fx, fy, fz
        fx, fy, fz = fx - px, fy - py, fz - pz
        v[i, 0], v[i, 1], v[i, 2] = ax + wi * fx, ay + wi * fy, az + wi * fz


@inline
def face_speed(k, quad, coef, v):
    """Velocity of a grain against the point of the cloth's face that it touches, or of edges."""
    ux = coef[k, 0] * v[quad[k, 0], 0]
    uy = coef[k, 0] * v[quad[k, 0], 1]
    uz = coef[k, 0] * v[quad[k, 0], 2]
    for m in range(1, 4):
        ux += coef[k, m] * v[quad[k, m], 0]
        uy += coef[k, m] * v[quad[k, m], 1]
        uz += coef[k, m] * v[quad[k, m], 2]
    return ux, uy, uz


@inline
def _face(c, k, quad, coef, row, imp, v, par, friction):
    px, py, pz = imp[c, 0], imp[c, 1], imp[c, 2]
    none = px - px
    ux, uy, uz = face_speed(k, quad, coef, v)
    fx, fy, fz = answer(
        FACE, numbers(row, c), ux, uy, uz, px, py, pz, none, none, none, loaded(par), friction
    )
    imp[c, 0], imp[c, 1], imp[c, 2] = fx, fy, fz
    for m in range(4):
        p = quad[k, m]
        w = coef[k, m] * v[p, 3]
        v[p, 0] += w * (fx - px)
        v[p, 1] += w * (fy - py)
        v[p, 2] += w * (fz - pz)


@inline
def form_rate(c, k, quad, grad, row, v, par):
    """Residual of a constraint given by its value and gradients; both follow the iterations."""
    speed = row[c, 0] - row[c, 0]
    for m in range(4):
        p = quad[k, m]
        if p >= 0:
            speed += grad[k, m, 0] * v[p, 0] + grad[k, m, 1] * v[p, 1] + grad[k, m, 2] * v[p, 2]
    return par[K_V] * speed + par[K_C] * par[INV_H] * row[c, 3]


@inline
def _form(c, k, quad, grad, row, imp, v, par):
    before = imp[c, 0]
    after = before - row[c, 5] * row[c, 11] * form_rate(c, k, quad, grad, row, v, par)
    after = min(max(after, row[c, 8]), row[c, 9])
    imp[c, 0] = after
    for m in range(4):
        p = quad[k, m]
        if p >= 0:
            w = v[p, 3] * (after - before)
            v[p, 0] += w * grad[k, m, 0]
            v[p, 1] += w * grad[k, m, 1]
            v[p, 2] += w * grad[k, m, 2]


@inner
def _sweep_unit(u, unit, kind, first, last, place, ends, quad, coef, grad, qbase, row, imp, block,
                v, par, friction):  # fmt: skip
    law, hand = loaded(par), np.zeros(HAND, v.dtype)
    for b in range(unit[u], unit[u + 1]):
        if kind[b] == PAIR:
            _pairs(first[b], last[b], ends, row, imp, v, law, friction)
        elif kind[b] == WALL:
            _walls(first[b], last[b], ends, row, imp, v, law, friction)
        elif kind[b] == LINK:
            respond(
                LINK, False, first[b], last[b], place[b], ends, block, hand, v, v, law, friction
            )
        elif kind[b] == FACE:
            for c in range(first[b], last[b]):
                _face(c, c - qbase, quad, coef, row, imp, v, par, friction)
        elif kind[b] == FORM:
            for c in range(first[b], last[b]):
                _form(c, c - qbase, quad, grad, row, imp, v, par)


@pjit
def sweep(
    begin, end, delay, unit, colour, turn, kind, first, last, place, ends, quad, coef, grad, qbase,
    row, imp, change, block, v, par, friction,
):  # fmt: skip
    """Iterations `begin` to `end`; turn[colour[k] : colour[k + 1]] are the units of colour k.

    SP moves positions from iteration `delay` on.
    """
    par[BETA] = 0.0
    for k in prange(kind.shape[0]):
        if kind[k] == LINK:
            pack(first[k], last[k], place[k], row, imp, change, block)
    for it in range(begin, end):
        if par[MODE] == FIXED and it >= delay:
            par[MODE] = MOVING
        for k in range(colour.shape[0] - 1):
            for m in prange(colour[k], colour[k + 1]):
                _sweep_unit(
                    turn[m], unit, kind, first, last, place, ends, quad, coef, grad, qbase, row,
                    imp, block, v, par, friction,
                )  # fmt: skip
