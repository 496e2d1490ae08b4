"""Rows of contacts between bodies: a normal that only pushes, two tangents bounded by friction.

A contact that closes faster than it would by its weight alone bounces back with its restitution in
the same solve as the joints, so that a blow does not tear mechanisms apart.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import inner, jit
from berm.kernels.multibody.arrays import DYNAMIC
from berm.kernels.multibody.joints import one_sided
from berm.kernels.multibody.rows import along, head_for, normalise, speed_along

NORMAL, TANGENT, OTHER = -1, -2, -3  # parts of a contact's rows
# laws of a pair of materials
MU_S, MU_K, BOUNCE = range(3)
# parameters
EPS, TAU, SLIP, STILL = range(4)
NPAR = 4
HARD = 1e-3  # of the compliance: a blow is answered by its restitution alone
STRAIGHT = 1e-6  # rad: less is no turn


@inner
def _rate(k, a, b, contacts, bodies, out):
    """Velocity (3) of a against b at the contact."""
    p = contacts.point[k]
    for c in range(3):
        out[c] = bodies.v[a, c] - bodies.v[b, c]
    for side in range(2):
        body = a if side == 0 else b
        sign = 1.0 if side == 0 else -1.0
        w = bodies.omega[body]
        rx, ry, rz = (
            p[0] - bodies.x[body, 0], p[1] - bodies.x[body, 1], p[2] - bodies.x[body, 2]
        )  # fmt: skip
        out[0] += sign * (w[1] * rz - w[2] * ry)
        out[1] += sign * (w[2] * rx - w[0] * rz)
        out[2] += sign * (w[0] * ry - w[1] * rx)


@inner
def _tangent(n, rate, impulse, fall, out):
    """Unit vector across n along which the contact tends to slide.

    Along the present slip with what gravity adds to it, else along the last friction, else any.
    With it, a box of bounds is the cone along the way that matters.
    """
    for turn in range(3):
        for c in range(3):
            out[c] = rate[c] + fall[c] if turn == 0 else impulse[c]
        if turn == 2:
            out[0], out[1], out[2] = (0.0, 1.0, 0.0) if abs(n[0]) > 0.6 else (1.0, 0.0, 0.0)
        s = out[0] * n[0] + out[1] * n[1] + out[2] * n[2]
        for c in range(3):
            out[c] -= s * n[c]
        size = math.sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2])
        if size > 1e-9:
            for c in range(3):
                out[c] /= size
            return


@inner
def _bend(a, b, n, own, bodies, h):
    """Way of the sample about a's centre in h (s), and what that adds to the gap.

    Corners go in arcs: along the tangents at the start of a step, those about to touch down would
    stop what rolls. Rows are written for where the sample will be, in both bodies alike, so that
    angular momentum is kept.
    """
    w, v = bodies.omega[a], bodies.omega[b]
    rate = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    if h * rate < STRAIGHT:
        return 0.0, 0.0, 0.0, 0.0
    rx, ry, rz = own[0] - bodies.x[a, 0], own[1] - bodies.x[a, 1], own[2] - bodies.x[a, 2]
    tx, ty, tz = w[1] * rz - w[2] * ry, w[2] * rx - w[0] * rz, w[0] * ry - w[1] * rx
    cx, cy, cz = w[1] * tz - w[2] * ty, w[2] * tx - w[0] * tz, w[0] * ty - w[1] * tx
    ahead, aside = math.sin(h * rate) / rate, (1.0 - math.cos(h * rate)) / (rate * rate)
    dx, dy, dz = ahead * tx + aside * cx, ahead * ty + aside * cy, ahead * tz + aside * cz
    rx, ry, rz = rx + dx, ry + dy, rz + dz
    more = (
        n[0] * (dx - h * (w[1] * rz - w[2] * ry - v[1] * dz + v[2] * dy))
        + n[1] * (dy - h * (w[2] * rx - w[0] * rz - v[2] * dx + v[0] * dz))
        + n[2] * (dz - h * (w[0] * ry - w[1] * rx - v[0] * dy + v[1] * dx))
    )
    return dx, dy, dz, more


@jit
def contact_rows(contacts, bodies, law, gravity, h, par, rows, m):
    """Append three rows a contact from m on, warm from its impulse; return the next free row.

    law (nm, nm, 3): static and kinetic friction, restitution of two materials. par: compliance
    (m/N), damping time (s), slip above which friction is kinetic, speed below which nothing
    bounces (m/s).
    """
    rate, t, fall = np.empty(3), np.empty(3), np.empty(3)
    damp = 1.0 / (1.0 + 4.0 * par[TAU] / h)
    sigma = 4.0 / (h * h) * par[EPS] * damp
    for k in range(contacts.n[0]):
        a, b, n, p = contacts.a[k], contacts.b[k], contacts.normal[k], contacts.point[k]
        dx, dy, dz, more = _bend(a, b, n, contacts.own[k], bodies, h)
        px, py, pz, gap = p[0] + dx, p[1] + dy, p[2] + dz, contacts.gap[k] + more
        ax, ay, az = px - bodies.x[a, 0], py - bodies.x[a, 1], pz - bodies.x[a, 2]
        bx, by, bz = px - bodies.x[b, 0], py - bodies.x[b, 1], pz - bodies.x[b, 2]
        one = law[bodies.material[a], bodies.material[b]]
        f = contacts.impulse[k]
        for c in range(3):
            rows.ends[m + c, 0], rows.ends[m + c, 1] = a, b
            rows.source[m + c], rows.part[m + c] = k, NORMAL - c
            rows.parent[m + c], rows.more[m + c] = m if c > 0 else -1, -1
        along(rows.G[m], n[0], n[1], n[2], ax, ay, az, bx, by, bz)
        one_sided(m, rows, bodies, gap, par[EPS], par[TAU], h)
        closing = speed_along(rows.G[m], a, b, bodies)
        if one[BOUNCE] > 0.0 and closing < -par[STILL] and gap + h * closing <= 0.0:
            head_for(m, rows, -one[BOUNCE] * closing, HARD * sigma, 0.0, np.inf)
        normalise(m, rows, bodies)
        pushed = max(f[0] * n[0] + f[1] * n[1] + f[2] * n[2], 0.0)
        rows.lam[m] = pushed
        _rate(k, a, b, contacts, bodies, rate)
        drop = 0.0
        if bodies.kind[a] == DYNAMIC:
            drop += h
        if bodies.kind[b] == DYNAMIC:
            drop -= h
        for c in range(3):
            fall[c] = drop * gravity[c]
        _tangent(n, rate, f, fall, t)
        s = rate[0] * n[0] + rate[1] * n[1] + rate[2] * n[2]
        slip = 0.0
        for c in range(3):
            slip += (rate[c] - s * n[c]) ** 2
        mu = one[MU_K] if slip > par[SLIP] * par[SLIP] else one[MU_S]
        for c in range(1, 3):
            dx, dy, dz = t[0], t[1], t[2]
            if c == 2:
                dx, dy, dz = (
                    n[1] * t[2] - n[2] * t[1], n[2] * t[0] - n[0] * t[2], n[0] * t[1] - n[1] * t[0]
                )  # fmt: skip
            along(rows.G[m + c], dx, dy, dz, ax, ay, az, bx, by, bz)
            head_for(m + c, rows, 0.0, sigma, -mu * pushed, mu * pushed)
            normalise(m + c, rows, bodies)
            rows.mu[m + c] = mu
            rows.lam[m + c] = f[0] * dx + f[1] * dy + f[2] * dz
        m += 3
    return m


@inner
def keep_contacts(contacts, bodies, rows, first, last, scale, felt):
    """Keep the impulses of the contacts; add scale (1/s) times them to felt (nb, 6)."""
    k = first
    while k < last:
        at = rows.source[k]
        for c in range(3):
            contacts.impulse[at, c] = 0.0
        for e in range(3):
            for c in range(3):
                contacts.impulse[at, c] += rows.lam[k + e] * rows.G[k + e, c]
        for side in range(2):
            b = rows.ends[k, side]
            rx = bodies.x[b, 0] - bodies.org[b, 0]
            ry = bodies.x[b, 1] - bodies.org[b, 1]
            rz = bodies.x[b, 2] - bodies.org[b, 2]
            for e in range(3):
                g, s = rows.G[k + e, 6 * side : 6 * side + 6], scale * rows.lam[k + e]
                felt[b, 0] += s * g[0]
                felt[b, 1] += s * g[1]
                felt[b, 2] += s * g[2]
                felt[b, 3] += s * (g[3] + ry * g[2] - rz * g[1])
                felt[b, 4] += s * (g[4] + rz * g[0] - rx * g[2])
                felt[b, 5] += s * (g[5] + rx * g[1] - ry * g[0])
        k += 3
