"""Rows of contacts between bodies: a normal, two tangents bounded by friction, three of turning.

Rows of a contact follow each other: NORMAL, TANGENT, OTHER and, where the materials resist rolling,
ROLL, SIDE and SPIN about the normal. A normal only pushes, or pulls up to its adhesion. What
bounces does so in a stage of its own before: `impacts`.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import bare, jit
from berm.kernels.multibody.joints import one_sided
from berm.kernels.multibody.rows import about, along, head_for, normalise

NORMAL, TANGENT, OTHER, ROLL, SIDE, SPIN = -1, -2, -3, -4, -5, -6  # parts of a contact's rows
ROWS_A_CONTACT = 6
# laws of a pair of materials: friction; restitution; compliance (m/N) and damping time (s) where
# they are given, else 0; adhesion (Pa); rolling friction; slip of tyres
MU_S, MU_K, BOUNCE, GIVE, DAMP, STICK, ROLLING, TYRE = range(8)
NLAW = 8
# parameters
EPS, TAU, SLIP, STILL, WARM = range(5)
NPAR = 5
STRAIGHT, WHIRL = 1e-6, 1.0  # rad a step: less is no turn; of more no arc can be foretold
FLANK = 0.1  # sine of the angle between axis and normal: below, a belt does not run there
CLING = 0.01  # of a body's mean radius: adhesion acts over gaps up to this


@bare
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


@bare
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


@bare
def _bend(a, b, n, own, bodies, h):
    """Way of the sample about a's centre in h (s), and what that adds to the gap.

    Corners go in arcs: along the tangents at the start of a step, those about to touch down would
    stop what rolls. Rows are written for where the sample will be, in both bodies alike, so that
    angular momentum is kept.
    """
    w, v = bodies.omega[a], bodies.omega[b]
    rate = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    if h * rate < STRAIGHT or h * rate > WHIRL:
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


@bare
def mean_radius(b, bodies):
    """Radius (m) of the ball with a body's moments and mass."""
    m = bodies.moments[b]
    return math.sqrt(5.0 / 6.0 * (m[0] + m[1] + m[2]) * bodies.w[b])


@bare
def smaller(a, b, bodies):
    """Mean radius (m) of the smaller of two bodies that can move; 0 where none can."""
    one = mean_radius(a, bodies) if bodies.w[a] > 0.0 else np.inf
    two = mean_radius(b, bodies) if bodies.w[b] > 0.0 else np.inf
    least = min(one, two)
    return least if least < np.inf else 0.0


@bare
def _sharing(contacts, out):
    """Among how many contacts of the same two bodies, that touch, each is one."""
    first, n = 0, contacts.n[0]
    while first < n:
        a, b = contacts.a[first], contacts.b[first]
        last, touching = first, 0
        while last < n and (
            (contacts.a[last] == a and contacts.b[last] == b)
            or (contacts.a[last] == b and contacts.b[last] == a)
        ):
            f = contacts.impulse[last]
            if contacts.gap[last] <= 0.0 or f[0] != 0.0 or f[1] != 0.0 or f[2] != 0.0:
                touching += 1
            last += 1
        for k in range(first, last):
            out[k] = max(touching, 1)
        first = last


@bare
def _belt(a, b, n, bodies, t):
    """Speed (m/s) of a's surface against b's that belts make, and t along it; part across, or -1.

    The surface of a track goes as the rim of a wheel about the belt's axis does.
    """
    sx, sy, sz, part = 0.0, 0.0, 0.0, -1.0
    for side in range(2):
        body = a if side == 0 else b
        f = bodies.belt[body]
        if f[0] == 0.0 and f[1] == 0.0 and f[2] == 0.0:
            continue
        r = bodies.rot[body]
        ex = r[0, 0] * f[0] + r[0, 1] * f[1] + r[0, 2] * f[2]
        ey = r[1, 0] * f[0] + r[1, 1] * f[1] + r[1, 2] * f[2]
        ez = r[2, 0] * f[0] + r[2, 1] * f[1] + r[2, 2] * f[2]
        # outwards is -n for a, n for b, and b's surface counts the other way
        dx, dy, dz = n[1] * ez - n[2] * ey, n[2] * ex - n[0] * ez, n[0] * ey - n[1] * ex
        size = math.sqrt(dx * dx + dy * dy + dz * dz)
        if size < FLANK:
            continue
        if part < 0.0:
            t[0], t[1], t[2] = dx / size, dy / size, dz / size
        part = f[4]
        sx, sy, sz = sx + f[3] * dx / size, sy + f[3] * dy / size, sz + f[3] * dz / size
    if part < 0.0:
        return 0.0, part
    return sx * t[0] + sy * t[1] + sz * t[2], part


@bare
def _rolling_speed(a, b, px, py, pz, bodies):
    """Speed (m/s) at which the faster of two surfaces goes round its body's centre."""
    fast = 0.0
    for side in range(2):
        body = a if side == 0 else b
        w = bodies.omega[body]
        rx, ry, rz = px - bodies.x[body, 0], py - bodies.x[body, 1], pz - bodies.x[body, 2]
        x, y, z = w[1] * rz - w[2] * ry, w[2] * rx - w[0] * rz, w[0] * ry - w[1] * rx
        fast = max(fast, x * x + y * y + z * z)
    return math.sqrt(fast)


@bare
def _resist(k, rows, bodies, f, dx, dy, dz, arm, press, sigma):
    """Make row k resist turning about d, at most by arm (m) times what presses."""
    about(rows.G[k], dx, dy, dz)
    head_for(k, rows, 0.0, sigma, -arm * press, arm * press)
    normalise(k, rows, bodies)
    rows.mu[k], rows.lam[k] = arm, f[3] * dx + f[4] * dy + f[5] * dz


@jit
def contact_rows(contacts, bodies, law, gravity, h, par, rows, m):
    """Append the rows of all contacts from m on, warm from their impulses; return the next free.

    law (nm, nm, NLAW): of two materials. par: compliance (m/N), damping time (s), slip above which
    friction is kinetic, speed below which nothing bounces (m/s), part of the last impulses that
    rows start from.
    """
    rate, t, fall, arm = np.empty(3), np.empty(3), np.empty(3), 0.0
    sharing = np.empty(contacts.n[0], np.int64)
    _sharing(contacts, sharing)
    for k in range(contacts.n[0]):
        a, b, n, p = contacts.a[k], contacts.b[k], contacts.normal[k], contacts.point[k]
        if bodies.root_w[bodies.unit[a]] == 0.0 and bodies.root_w[bodies.unit[b]] == 0.0:
            continue  # a driven body at one that is merged with the ground
        dx, dy, dz, more = _bend(a, b, n, contacts.own[k], bodies, h)
        px, py, pz, gap = p[0] + dx, p[1] + dy, p[2] + dz, contacts.gap[k] + more
        ax, ay, az = px - bodies.x[a, 0], py - bodies.x[a, 1], pz - bodies.x[a, 2]
        bx, by, bz = px - bodies.x[b, 0], py - bodies.x[b, 1], pz - bodies.x[b, 2]
        one = law[bodies.material[a], bodies.material[b]]
        # what is given is of the two bodies, and shared by the points at which they touch
        eps = par[EPS] + one[GIVE] * sharing[k]
        tau = one[DAMP] if one[DAMP] > 0.0 else par[TAU]
        # friction is as firm as ever: what is soft across would creep along
        sigma = 4.0 / (h * h) * par[EPS] / (1.0 + 4.0 * par[TAU] / h)
        f = contacts.impulse[k]
        for c in range(6):
            f[c] *= par[WARM]
        resists = one[ROLLING] > 0.0
        for c in range(ROWS_A_CONTACT if resists else 3):
            rows.ends[m + c, 0], rows.ends[m + c, 1] = a, b
            rows.source[m + c], rows.part[m + c] = k, NORMAL - c
            rows.parent[m + c], rows.more[m + c] = m if c > 0 else -1, -1
        along(rows.G[m], n[0], n[1], n[2], ax, ay, az, bx, by, bz)
        one_sided(m, rows, bodies, gap, eps, tau, h)
        if one[STICK] > 0.0:
            size = smaller(a, b, bodies)
            if contacts.gap[k] < CLING * size:
                rows.lower[m] = -h * one[STICK] * math.pi * size * size / sharing[k]
        normalise(m, rows, bodies)
        pushed = max(f[0] * n[0] + f[1] * n[1] + f[2] * n[2], rows.lower[m])
        rows.lam[m] = pushed
        _rate(k, a, b, contacts, bodies, rate)
        drop = 0.0
        if bodies.w[a] > 0.0:
            drop += h
        if bodies.w[b] > 0.0:
            drop -= h
        for c in range(3):
            fall[c] = drop * gravity[c]
        runs, part = _belt(a, b, n, bodies, t)
        if part < 0.0:
            _tangent(n, rate, f, fall, t)
        s = rate[0] * n[0] + rate[1] * n[1] + rate[2] * n[2]
        slip = 0.0
        for c in range(3):
            slip += (rate[c] - s * n[c] + runs * t[c]) ** 2
        mu = one[MU_K] if slip > par[SLIP] * par[SLIP] else one[MU_S]
        press = pushed - rows.lower[m]
        if one[TYRE] > 0.0 and mu * press > 0.0:  # friction grows with the slip of what rolls
            sigma += one[TYRE] * _rolling_speed(a, b, px, py, pz, bodies) / (mu * press)
        for c in range(1, 3):
            dx, dy, dz = t[0], t[1], t[2]
            target, rough = -runs, mu
            if c == 2:
                dx, dy, dz = (
                    n[1] * t[2] - n[2] * t[1], n[2] * t[0] - n[0] * t[2], n[0] * t[1] - n[1] * t[0]
                )  # fmt: skip
                target = 0.0
                if part >= 0.0:
                    rough = mu * part
            along(rows.G[m + c], dx, dy, dz, ax, ay, az, bx, by, bz)
            head_for(m + c, rows, target, sigma, -rough * press, rough * press)
            normalise(m + c, rows, bodies)
            rows.mu[m + c] = rough
            rows.lam[m + c] = f[0] * dx + f[1] * dy + f[2] * dz
            if resists:
                arm = one[ROLLING] * smaller(a, b, bodies)
                _resist(m + 2 + c, rows, bodies, f, dx, dy, dz, arm, press, sigma)
        if resists:
            _resist(m + 5, rows, bodies, f, n[0], n[1], n[2], arm, press, sigma)
        m += ROWS_A_CONTACT if resists else 3
    return m


@bare
def rows_of(rows, k):
    """How many rows the contact has whose normal is row k."""
    return ROWS_A_CONTACT if rows.part[k + 3] == ROLL else 3


@bare
def keep_contacts(contacts, bodies, rows, first, last, scale, felt):
    """Keep the impulses of the contacts; add scale (1/s) times them to felt (nb, 6)."""
    k = first
    while k < last:
        at, many = rows.source[k], rows_of(rows, k)
        for c in range(6):
            contacts.impulse[at, c] = 0.0
        for e in range(many):
            for c in range(3):
                if e < 3:
                    contacts.impulse[at, c] += rows.lam[k + e] * rows.G[k + e, c]
                else:
                    contacts.impulse[at, 3 + c] += rows.lam[k + e] * rows.G[k + e, 3 + c]
        for side in range(2):
            b = rows.ends[k, side]
            rx = bodies.x[b, 0] - bodies.org[b, 0]
            ry = bodies.x[b, 1] - bodies.org[b, 1]
            rz = bodies.x[b, 2] - bodies.org[b, 2]
            for e in range(many):
                g, s = rows.G[k + e, 6 * side : 6 * side + 6], scale * rows.lam[k + e]
                felt[b, 0] += s * g[0]
                felt[b, 1] += s * g[1]
                felt[b, 2] += s * g[2]
                felt[b, 3] += s * (g[3] + ry * g[2] - rz * g[1])
                felt[b, 4] += s * (g[4] + rz * g[0] - rx * g[2])
                felt[b, 5] += s * (g[5] + rx * g[1] - ry * g[0])
        k += many
