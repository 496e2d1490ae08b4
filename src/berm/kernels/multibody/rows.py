"""Rows of constraints: made, normalised by mass, multiplied and applied, all by one effective mass.

The regularised stepper of [Lacoursiere10], (1), with compliance eps and damping time tau:
  G v+ + sigma lam = -(4/h) Y g + Y G v,  sigma = (4/h^2) eps Y,  Y = 1 / (1 + 4 tau/h)
for a violation g, lam in N s. A row of velocities alone: G v+ + sigma lam = target.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import bare, inline, inner
from berm.kernels.multibody.arrays import DYNAMIC, Rows

FREE = np.inf


@inner
def make_rows(room):
    """Rows with room for so many; leave that of one contact, for `rows_of` looks ahead."""
    return Rows(
        np.zeros((room, 2), np.int64), np.zeros((room, 2), np.int64), np.zeros((room, 12)),
        np.zeros((room, 12)), np.zeros(room),
        np.zeros(room), np.zeros(room), np.zeros(room), np.zeros(room), np.zeros(room, np.int64),
        np.zeros(room, np.int64), np.full(room, -1, np.int64), np.zeros(room),
        np.full(room, -1, np.int64),
    )  # fmt: skip


@bare
def along(row, dx, dy, dz, ax, ay, az, bx, by, bz):
    """Gradient of the displacement of a against b along d, at arms a and b from their centres."""
    row[0], row[1], row[2] = dx, dy, dz
    row[3], row[4], row[5] = ay * dz - az * dy, az * dx - ax * dz, ax * dy - ay * dx
    row[6], row[7], row[8] = -dx, -dy, -dz
    row[9], row[10], row[11] = bz * dy - by * dz, bx * dz - bz * dx, by * dx - bx * dy


@bare
def about(row, dx, dy, dz):
    """Gradient of the turn of a against b about d."""
    row[0] = row[1] = row[2] = row[6] = row[7] = row[8] = 0.0
    row[3], row[4], row[5] = dx, dy, dz
    row[9], row[10], row[11] = -dx, -dy, -dz


@bare
def speed_along(row, a, b, bodies):
    """Rate G v of a row at the present velocities."""
    total = 0.0
    for c in range(3):
        total += row[c] * bodies.v[a, c] + row[3 + c] * bodies.omega[a, c]
        total += row[6 + c] * bodies.v[b, c] + row[9 + c] * bodies.omega[b, c]
    return total


@bare
def normalise(k, rows, bodies):
    """Fill J[k] from G[k]; what driven bodies do goes to the right side."""
    for side in range(2):
        b = rows.ends[k, side]
        unit = bodies.unit[b]
        rows.units[k, side] = unit
        at = 6 * side
        g = rows.G[k]
        if bodies.kind[unit] != DYNAMIC:
            moved = 0.0
            for c in range(3):
                moved += g[at + c] * bodies.v[b, c] + g[at + 3 + c] * bodies.omega[b, c]
                rows.J[k, at + c] = rows.J[k, at + 3 + c] = 0.0
            rows.rhs[k] -= moved
            continue
        root, scale = bodies.root[unit], bodies.root_w[unit]
        tx, ty, tz = g[at + 3], g[at + 4], g[at + 5]
        if bodies.count[unit] > 1:  # about the middle of the unit
            dx = bodies.x[b, 0] - bodies.middle[unit, 0]
            dy = bodies.x[b, 1] - bodies.middle[unit, 1]
            dz = bodies.x[b, 2] - bodies.middle[unit, 2]
            tx += dy * g[at + 2] - dz * g[at + 1]
            ty += dz * g[at] - dx * g[at + 2]
            tz += dx * g[at + 1] - dy * g[at]
        for c in range(3):
            rows.J[k, at + c] = scale * g[at + c]
            rows.J[k, at + 3 + c] = root[0, c] * tx + root[1, c] * ty + root[2, c] * tz


@bare
def hold(k, rows, bodies, g, eps, tau, h):
    """Make row k keep g at 0: regularised and stabilised, see the module."""
    a, b = rows.ends[k, 0], rows.ends[k, 1]
    damp = 1.0 / (1.0 + 4.0 * tau / h)
    rows.sigma[k] = 4.0 / (h * h) * eps * damp
    rows.rhs[k] = damp * (speed_along(rows.G[k], a, b, bodies) - 4.0 / h * g)
    rows.lower[k], rows.upper[k] = -FREE, FREE


@bare
def head_for(k, rows, target, sigma, least, most):
    """Make row k reach a speed with an impulse between two bounds (N s)."""
    rows.rhs[k], rows.sigma[k] = target, sigma
    rows.lower[k], rows.upper[k] = least, most


@inline
def dot(rows, k, u):
    """J u of a row."""
    j, a, b = rows.J, rows.units[k, 0], rows.units[k, 1]
    return (
        (j[k, 0] * u[a, 0] + j[k, 1] * u[a, 1] + j[k, 2] * u[a, 2])
        + (j[k, 3] * u[a, 3] + j[k, 4] * u[a, 4] + j[k, 5] * u[a, 5])
    ) + (
        (j[k, 6] * u[b, 0] + j[k, 7] * u[b, 1] + j[k, 8] * u[b, 2])
        + (j[k, 9] * u[b, 3] + j[k, 10] * u[b, 4] + j[k, 11] * u[b, 5])
    )


@inline
def push(rows, k, p, u):
    """Add what the impulse p along row k does to u."""
    a, b = rows.units[k, 0], rows.units[k, 1]
    for c in range(6):
        u[a, c] += p * rows.J[k, c]
        u[b, c] += p * rows.J[k, 6 + c]


@bare
def dot_all(rows, k, u):
    """J u of a row and of those that share its multiplier."""
    total = dot(rows, k, u)
    k = rows.more[k]
    while k >= 0:
        total += dot(rows, k, u)
        k = rows.more[k]
    return total


@bare
def push_all(rows, k, p, u):
    """Add what the impulse p along row k, and those that share it, does to u."""
    while k >= 0:
        push(rows, k, p, u)
        k = rows.more[k]


@bare
def give(rows, k):
    """Inverse effective mass of a row: |J|^2, with those that share its multiplier."""
    total = 0.0
    one = k
    while one >= 0:
        other = k
        while other >= 0:
            for s in range(2):
                for t in range(2):
                    if rows.units[one, s] == rows.units[other, t]:
                        for c in range(6):
                            total += rows.J[one, 6 * s + c] * rows.J[other, 6 * t + c]
            other = rows.more[other]
        one = rows.more[one]
    return total
