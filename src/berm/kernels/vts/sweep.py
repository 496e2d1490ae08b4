"""Projected Gauss-Seidel with over-relaxation, [Francu14] (29), in parallel by colours.

A unit is a run of blocks of constraints; units of one colour share no particle, so they run side by
side, one colour after the other. The order, and with it every bit, is the same on any number of
threads. Within a unit each answer moves its particles at once. What shares no particle is answered
together (`vts_blocks`), in groups that keep the order at every particle (`vts_groups`).
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline, inner, pjit, prange
from berm.kernels.vts.blocks import FORGET, HAND, pack, respond, unpack
from berm.kernels.vts.bodies import touch_bodies
from berm.kernels.vts.law import (
    BETA,
    FACE,
    FIXED,
    FORM,
    INV_H,
    K_C,
    K_V,
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
def _sweep_unit(u, unit, kind, first, last, place, groups, who, ends, quad, coef, grad, qbase, row,
                imp, block, extra, v, par, friction):  # fmt: skip
    law, hand = loaded(par), np.zeros(HAND, v.dtype)
    for b in range(unit[u], unit[u + 1]):
        if kind[b] == PAIR:
            respond(PAIR, False, place[b], groups[b], who, block, extra, hand, v, v, law, friction)
        elif kind[b] == WALL:
            respond(WALL, False, place[b], groups[b], who, block, extra, hand, v, v, law, friction)
        elif kind[b] == LINK:
            respond(LINK, False, place[b], groups[b], who, block, extra, hand, v, v, law, friction)
        elif kind[b] == FACE:
            for c in range(first[b], last[b]):
                _face(c, c - qbase, quad, coef, row, imp, v, par, friction)
        elif kind[b] == FORM:
            for c in range(first[b], last[b]):
                _form(c, c - qbase, quad, grad, row, imp, v, par)


@pjit
def sweep(
    begin, end, delay, unit, colour, turn, kind, first, last, place, groups, seat, filled, who,
    ends, quad, coef, grad, qbase, row, imp, change, block, extra, v, par, friction, touching,
):  # fmt: skip
    """Iterations `begin` to `end`; turn[colour[k] : colour[k + 1]] are the units of colour k.

    SP moves positions from iteration `delay` on. touching: contacts with dynamic bodies.
    """
    par[BETA] = 0.0
    for k in prange(kind.shape[0]):
        if kind[k] < FACE:
            pack(kind[k], par[MODE] == LINEAR, first[k], last[k], place[k], groups[k], FORGET, seat,
                 filled, ends, row, imp, change, who, block, extra)  # fmt: skip
    for it in range(begin, end):
        if par[MODE] == FIXED and it >= delay:
            par[MODE] = MOVING
        for k in range(colour.shape[0] - 1):
            for m in prange(colour[k], colour[k + 1]):
                _sweep_unit(
                    turn[m], unit, kind, first, last, place, groups, who, ends, quad, coef, grad,
                    qbase, row, imp, block, extra, v, par, friction,
                )  # fmt: skip
        touch_bodies(touching, v, par, friction, it)
    for k in prange(kind.shape[0]):
        if kind[k] < LINK:
            unpack(False, first[k], last[k], place[k], seat, block, imp, change)
