"""Contacts of particles with dynamic bodies, one after the other: Gauss-Seidel, [Francu14] (29).

A body is met through the 6 x 6 mobility W of the mechanism that it is part of
(`kernels.multibody.newton.mobility`): at the arm r from its centre the inverse mass of a contact is
  K = w 1 + [1, -[r]] W [1, -[r]]^T
and the impulse -p that a body gets changes its velocities by -W (p, r x p). Contacts and joints of
bodies with each other are not here: `kernels.multibody.substep` solves them before and after.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from berm.kernels.jit import inner, jit
from berm.kernels.vts.contacts import BENT, BOUNCE_FROM, DT, GAMMA, SLIP, TOLERANCE
from berm.kernels.vts.law import (
    CONE,
    INV_H,
    K_C,
    K_V,
    LINEAR,
    MODE,
    MOVING,
    RELAXED,
    ROW,
    H,
    project,
    tangents,
)

ARM, MASS = ROW, ROW + 3  # arm of the body (m), K (3, 3) (1/kg)
W_N, W_T = ROW + 12, ROW + 13  # K along the normal, and its largest across
WIDTH = ROW + 14
PASSES = 8  # over these contacts, which are few, for one over all others


class Touching(NamedTuple):
    """Contacts of particles with dynamic bodies: the first `count[0]` rows; all float64 or int64.

    ends (m, 2)    particle and body              slot (m,)   place in the walls that found it
    row (m, WIDTH) as `vts.law` has it, and more  imp (m, 3)  impulse on the particle, N s
    fly (nb, 6)    velocities of the bodies' centres and angular velocities, as iterations go
    mobility (nb, 6, 6)  of the touched bodies
    """

    count: Any
    ends: Any
    slot: Any
    row: Any
    imp: Any
    fly: Any
    mobility: Any


def make_touching(room: int, bodies: int) -> Touching:
    """Room for so many contacts."""
    return Touching(
        np.zeros(1, np.int64), np.zeros((room, 2), np.int64), np.zeros(room, np.int64),
        np.zeros((room, WIDTH)), np.zeros((room, 3)), np.zeros((bodies, 6)),
        np.zeros((bodies, 6, 6)),
    )  # fmt: skip


@inner
def _bias(gap, speed, e, law):
    """Row entries [3] and [7], as `vts.contacts._bias`, but an open gap may close in full.

    What would overlap by no more than gravity does in a step closes first and bounces in the next.
    """
    share = law[GAMMA] if gap < 0.0 else 1.0
    bounce = 0.0
    least = 0.5 * law[DT] * law[BOUNCE_FROM]
    if speed < -law[BOUNCE_FROM] and share * gap + law[DT] * speed < -least:
        bounce = e * speed
    if law[BENT] != 0.0:
        return gap, bounce
    return min(share * gap / law[DT], bounce) if bounce < 0.0 else share * gap / law[DT], bounce


@inner
def _speed(c, touching, v):
    """Velocity of the particle against the body at the contact."""
    a, b, row = touching.ends[c, 0], touching.ends[c, 1], touching.row
    u = touching.fly[b]
    rx, ry, rz = row[c, ARM], row[c, ARM + 1], row[c, ARM + 2]
    return (
        np.float64(v[a, 0]) - row[c, 8] - (u[0] + u[4] * rz - u[5] * ry),
        np.float64(v[a, 1]) - row[c, 9] - (u[1] + u[5] * rx - u[3] * rz),
        np.float64(v[a, 2]) - row[c, 10] - (u[2] + u[3] * ry - u[4] * rx),
    )


@inner
def _weigh(c, touching, v):
    """Fill K, and of it the part along the normal and the largest across."""
    a, b, row = touching.ends[c, 0], touching.ends[c, 1], touching.row
    w = touching.mobility[b]
    rx, ry, rz = row[c, ARM], row[c, ARM + 1], row[c, ARM + 2]
    for j in range(3):
        ex = 1.0 if j == 0 else 0.0
        ey = 1.0 if j == 1 else 0.0
        ez = 1.0 if j == 2 else 0.0
        tx, ty, tz = ry * ez - rz * ey, rz * ex - rx * ez, rx * ey - ry * ex
        ox = w[3, j] + w[3, 3] * tx + w[3, 4] * ty + w[3, 5] * tz
        oy = w[4, j] + w[4, 3] * tx + w[4, 4] * ty + w[4, 5] * tz
        oz = w[5, j] + w[5, 3] * tx + w[5, 4] * ty + w[5, 5] * tz
        for i in range(3):
            row[c, MASS + 3 * i + j] = w[i, j] + w[i, 3] * tx + w[i, 4] * ty + w[i, 5] * tz
        row[c, MASS + j] += oy * rz - oz * ry
        row[c, MASS + 3 + j] += oz * rx - ox * rz
        row[c, MASS + 6 + j] += ox * ry - oy * rx
        row[c, MASS + 4 * j] += np.float64(v[a, 3])
    ax, ay, az, bx, by, bz = tangents(row[c, 0], row[c, 1], row[c, 2])
    normal, one, two, mixed = 0.0, 0.0, 0.0, 0.0
    n, s, t = row[c, :3], (ax, ay, az), (bx, by, bz)
    for i in range(3):
        for j in range(3):
            k = row[c, MASS + 3 * i + j]
            normal += n[i] * k * n[j]
            one += s[i] * k * s[j]
            two += t[i] * k * t[j]
            mixed += s[i] * k * t[j]
    row[c, W_N] = normal
    row[c, W_T] = 0.5 * (one + two) + math.sqrt(0.25 * (one - two) ** 2 + mixed * mixed)


@inner
def _push(c, px, py, pz, touching, v):
    """Impulse p (N s) on the particle, -p on the body."""
    a, b, row = touching.ends[c, 0], touching.ends[c, 1], touching.row
    light = np.float64(v[a, 3])
    v[a, 0] += light * px
    v[a, 1] += light * py
    v[a, 2] += light * pz
    rx, ry, rz = row[c, ARM], row[c, ARM + 1], row[c, ARM + 2]
    tx, ty, tz = ry * pz - rz * py, rz * px - rx * pz, rx * py - ry * px
    w = touching.mobility[b]
    for i in range(6):
        touching.fly[b, i] -= (
            (w[i, 0] * px + w[i, 1] * py + w[i, 2] * pz)
            + (w[i, 3] * tx + w[i, 4] * ty + w[i, 5] * tz)
        )  # fmt: skip


@jit
def fill(
    w_count, w_rows, w_body, w_plane, w_imp, x, v, mat, nmat, kinds, mu_s, mu_k, rest, part, law,
    centre, touching, touched,
):  # fmt: skip
    """Write the rows of contacts that the walls found; touched (nb,): the bodies of these.

    part: of the last impulses, to start from. The plane's own motion leads to where the body will
    be if nothing touches it; what impulses change of that follows from fly. `weigh` comes next.
    """
    row, ends, c = touching.row, touching.ends, 0
    cap = w_rows.shape[1]
    touched[:] = False
    for s in range(w_count.shape[0]):
        for k in range(w_count[s]):
            i, b = w_rows[s, k], w_body[s, k]
            p, u = w_plane[s, k], touching.fly[b]
            nx, ny, nz = np.float64(p[0]), np.float64(p[1]), np.float64(p[2])
            r = np.float64(x[i, 3])
            gap = nx * x[i, 0] + ny * x[i, 1] + nz * x[i, 2] - p[3] - r
            ends[c, 0], ends[c, 1] = i, b
            row[c, 0], row[c, 1], row[c, 2], row[c, 4] = nx, ny, nz, r
            for e in range(3):
                row[c, ARM + e] = x[i, e] - (r + gap) * row[c, e] - centre[b, e]
            rx, ry, rz = row[c, ARM], row[c, ARM + 1], row[c, ARM + 2]
            row[c, 8] = p[4] / law[DT] - (u[0] + u[4] * rz - u[5] * ry)
            row[c, 9] = p[5] / law[DT] - (u[1] + u[5] * rx - u[3] * rz)
            row[c, 10] = p[6] / law[DT] - (u[2] + u[3] * ry - u[4] * rx)
            ux, uy, uz = _speed(c, touching, v)
            speed = nx * ux + ny * uy + nz * uz
            limit = r * (law[TOLERANCE] - 1.0)
            if gap > limit and gap + law[DT] * speed > limit:
                for e in range(3):
                    w_imp[s, k, e] = 0.0
                continue
            pair = mat[i] * nmat + kinds[b]
            row[c, 3], row[c, 7] = _bias(gap, speed, np.float64(rest[pair]), law)
            slip2 = ux * ux + uy * uy + uz * uz - speed * speed
            row[c, 6] = mu_k[pair] if slip2 > law[SLIP] * law[SLIP] else mu_s[pair]
            row[c, 11] = 1.0
            touching.slot[c] = s * cap + k
            touched[b] = True
            for e in range(3):
                touching.imp[c, e] = part * w_imp[s, k, e]
            c += 1
    touching.count[0] = c


@jit
def weigh(touching, v):
    """Inverse masses of all contacts from the mobilities."""
    for c in range(touching.count[0]):
        _weigh(c, touching, v)


@jit
def start_from(touching, v, friction):
    """Start from the last impulses, without their friction where iterations have none."""
    row, imp = touching.row, touching.imp
    for c in range(touching.count[0]):
        imp[c, 0], imp[c, 1], imp[c, 2] = project(
            imp[c, 0], imp[c, 1], imp[c, 2], row[c, 0], row[c, 1], row[c, 2], row[c, 6], friction
        )
        _push(c, imp[c, 0], imp[c, 1], imp[c, 2], touching, v)


@inner
def _answer(c, touching, v, mode, h, k_v, k_c, friction, rub):
    """Push first, then friction at that push, for their inverse masses differ."""
    row, imp = touching.row, touching.imp
    nx, ny, nz = row[c, 0], row[c, 1], row[c, 2]
    px, py, pz = imp[c, 0], imp[c, 1], imp[c, 2]
    ux, uy, uz = _speed(c, touching, v)
    speed = nx * ux + ny * uy + nz * uz
    before = px * nx + py * ny + pz * nz
    more = 0.0
    if not rub:
        rate = speed + row[c, 3]  # (28), or Alg. 1 for a plane
        if mode != LINEAR:
            rate = k_v * speed + k_c * (row[c, 3] + (h * speed if mode == MOVING else 0.0))
            if row[c, 7] < 0.0:
                rate = min(rate, speed + row[c, 7])
        if friction == RELAXED:
            slip2 = ux * ux + uy * uy + uz * uz - speed * speed
            rate -= row[c, 6] * math.sqrt(max(slip2, 0.0))
        more = max(before - rate / row[c, W_N], 0.0) - before
    if before + more <= 0.0 and before == 0.0:
        return
    dx, dy, dz = more * nx, more * ny, more * nz
    m = MASS
    ux += row[c, m] * dx + row[c, m + 1] * dy + row[c, m + 2] * dz
    uy += row[c, m + 3] * dx + row[c, m + 4] * dy + row[c, m + 5] * dz
    uz += row[c, m + 6] * dx + row[c, m + 7] * dy + row[c, m + 8] * dz
    speed = nx * ux + ny * uy + nz * uz
    give = row[c, W_T]
    fx, fy, fz = project(
        px + dx - (ux - speed * nx) / give, py + dy - (uy - speed * ny) / give,
        pz + dz - (uz - speed * nz) / give, nx, ny, nz, row[c, 6], friction,
    )  # fmt: skip
    imp[c, 0], imp[c, 1], imp[c, 2] = fx, fy, fz
    _push(c, fx - px, fy - py, fz - pz, touching, v)


@inner
def touch_bodies(touching, v, par, friction, it):
    """Iteration `it`: passes over all contacts, forwards and backwards in turns."""
    mode, h = np.int64(par[MODE]), np.float64(par[H])
    k_v, k_c = np.float64(par[K_V]), np.float64(par[K_C]) * np.float64(par[INV_H])
    count = touching.count[0]
    for turn in range(PASSES * count):
        c = turn % count
        if (it * PASSES + turn // count) % 2 == 1:
            c = count - 1 - c
        _answer(c, touching, v, mode, h, k_v, k_c, friction, False)


@jit
def iterate(touching, v, par, friction, it):
    """`touch_bodies` by itself, for iterations that go through Python."""
    touch_bodies(touching, v, par, friction, it)


@jit
def rub(touching, v):
    """Friction after the solver, one pass at constant push (Sec. 5)."""
    for c in range(touching.count[0]):
        _answer(c, touching, v, LINEAR, 0.0, 0.0, 0.0, CONE, True)


@jit
def pushed(touching, push):
    """Impulse and moment about its centre (nb, 6) that each body got, N s and N m s."""
    push[:] = 0.0
    for c in range(touching.count[0]):
        b, row = touching.ends[c, 1], touching.row
        px, py, pz = touching.imp[c, 0], touching.imp[c, 1], touching.imp[c, 2]
        rx, ry, rz = row[c, ARM], row[c, ARM + 1], row[c, ARM + 2]
        push[b, 0] -= px
        push[b, 1] -= py
        push[b, 2] -= pz
        push[b, 3] -= ry * pz - rz * py
        push[b, 4] -= rz * px - rx * pz
        push[b, 5] -= rx * py - ry * px


@jit
def keep(touching, share, w_imp, w_total):
    """Give the impulses back to the walls, and add share (1/s) times them to the mean forces."""
    for c in range(touching.count[0]):
        s, k = touching.slot[c] // w_imp.shape[1], touching.slot[c] % w_imp.shape[1]
        for e in range(3):
            w_imp[s, k, e] = touching.imp[c, e]
            w_total[s, k, e] += share * touching.imp[c, e]
