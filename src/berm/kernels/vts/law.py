"""One constraint's answer in an iteration: residual, correction, projection, [Francu14] Sec. 3-6.

Every constraint is a row of twelve numbers and an impulse P (N s), kept as a vector:
  [0:3] n, direction at the start of the step   [3] gap C (m); linear contacts: bias delta (m/s)
  [4] size: radii or rest length (m)            [5] alpha: omega over inverse mass d_i, (32)
  [6] friction coefficient                      [7] bounce: e times approach speed, <= 0 (m/s)
  [8:11] velocity of the body (m/s)             [11] share of the correction, stiffness of cloth
Those of a pair of grains have nothing in [8:12].
As x = x0 + h v holds all through a step (Alg. 1 moves both by the same impulse), the position error
of an iteration follows from velocities alone.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import inline

PAIR, WALL, LINK, FACE, FORM = range(5)  # what a block of constraints is made of
NONE, BOX, CONE, RELAXED = range(4)  # friction inside the iterations

H, INV_H, BETA, K_V, K_C, MODE = range(6)
NPAR = 6
LINEAR, FIXED, MOVING = range(3)  # MODE: VTS; SP before positions move, and after
ROW = 12
TINY = 1e-30


@inline
def numbers(row, c):
    """Return constraint c as numbers: an array that is handed on costs a count of references."""
    return (
        row[c, 0], row[c, 1], row[c, 2], row[c, 3], row[c, 4], row[c, 5], row[c, 6], row[c, 7],
        row[c, 8], row[c, 9], row[c, 10], row[c, 11],
    )  # fmt: skip


@inline
def loaded(par):
    """Return the step's parameters as numbers, which a store to an array cannot change."""
    return par[H], par[INV_H], par[BETA], par[K_V], par[K_C], par[MODE]


@inline
def rate_of(kind, r, ux, uy, uz, par):
    """Direction n and residual r of a constraint with relative velocity u.

    Linear, (28): r = n.u + delta. Else Alg. 1: r = k_v n.u + k_c C(x) / h with n = grad C(x).
    """
    nx, ny, nz = r[0], r[1], r[2]
    speed = nx * ux + ny * uy + nz * uz
    if par[MODE] == LINEAR and kind != LINK:
        return nx, ny, nz, speed + r[3]
    if kind == WALL or kind == FACE or par[MODE] != MOVING:  # planes, and all before x moves
        gap = r[3]
        if par[MODE] == MOVING:
            gap += par[H] * speed
        rate = par[K_V] * speed + par[K_C] * par[INV_H] * gap
        if kind != LINK and r[7] < 0.0:
            rate = min(rate, speed + r[7])
        return nx, ny, nz, rate
    reach = r[3] + r[4]
    dx = reach * nx + par[H] * ux
    dy = reach * ny + par[H] * uy
    dz = reach * nz + par[H] * uz
    far2 = dx * dx + dy * dy + dz * dz
    if far2 > np.float32(TINY):
        far = math.sqrt(far2)
        nx = dx / far
        ny = dy / far
        nz = dz / far
    else:
        far = far2 - far2
    gap = far - r[4]
    speed = nx * ux + ny * uy + nz * uz
    rate = par[K_V] * speed + par[K_C] * par[INV_H] * gap
    if kind != LINK and r[7] < 0.0:
        rate = min(rate, speed + r[7])
    return nx, ny, nz, rate


@inline
def residual(kind, row, c, ux, uy, uz, par):
    """Direction and residual of constraint c."""
    return rate_of(kind, numbers(row, c), ux, uy, uz, loaded(par))


@inline
def tangents(nx, ny, nz):
    """Two unit vectors that make a frame with n, the pyramid's axes (10)."""
    one = nx - nx + np.float32(1.0)
    if abs(nx) > abs(nz):
        over = one / math.sqrt(nx * nx + ny * ny)
        ax, ay, az = -ny * over, nx * over, nx - nx
    else:
        over = one / math.sqrt(ny * ny + nz * nz)
        ax, ay, az = nx - nx, -nz * over, ny * over
    return ax, ay, az, ny * az - nz * ay, nz * ax - nx * az, nx * ay - ny * ax


@inline
def project(px, py, pz, nx, ny, nz, mu, friction):
    """Nearest allowed impulse: no pull, and friction within the cone (12) or the pyramid (15)."""
    push = px * nx + py * ny + pz * nz
    none = push - push
    if not push > 0.0:
        return none, none, none
    if friction == NONE or mu == 0.0:
        return push * nx, push * ny, push * nz
    tx = px - push * nx
    ty = py - push * ny
    tz = pz - push * nz
    most = mu * push
    if friction == BOX:
        ax, ay, az, bx, by, bz = tangents(nx, ny, nz)
        one = min(max(tx * ax + ty * ay + tz * az, -most), most)
        two = min(max(tx * bx + ty * by + tz * bz, -most), most)
        return (
            push * nx + one * ax + two * bx,
            push * ny + one * ay + two * by,
            push * nz + one * az + two * bz,
        )
    size2 = tx * tx + ty * ty + tz * tz
    if size2 > most * most:
        scale = most / math.sqrt(size2)
        tx *= scale
        ty *= scale
        tz *= scale
    return push * nx + tx, push * ny + ty, push * nz + tz


@inline
def answer(kind, r, ux, uy, uz, px, py, pz, qx, qy, qz, par, friction):
    """New impulse proj(P - alpha R + beta dP), (26), (29), (38); Q is the last change dP.

    **Deviation** from print: plus beta, as (33)-(34) give it (ERRATA). The relaxation of (39) is
    taken with the speed of the iteration.
    """
    nx, ny, nz, rate = rate_of(kind, r, ux, uy, uz, par)
    alpha, beta = r[5], par[BETA]
    if kind == LINK:
        change = beta * (qx * nx + qy * ny + qz * nz) - alpha * r[11] * rate
        return px + change * nx, py + change * ny, pz + change * nz
    speed = nx * ux + ny * uy + nz * uz
    tx = ux - speed * nx
    ty = uy - speed * ny
    tz = uz - speed * nz
    if friction == RELAXED:
        rate -= r[6] * math.sqrt(tx * tx + ty * ty + tz * tz)
    return project(
        px - alpha * (rate * nx + tx) + beta * qx,
        py - alpha * (rate * ny + ty) + beta * qy,
        pz - alpha * (rate * nz + tz) + beta * qz,
        nx, ny, nz, r[6], friction,
    )  # fmt: skip
