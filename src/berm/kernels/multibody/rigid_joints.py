"""Joints: each is a block of up to six rows that is solved exactly, one block after the other.

ends (nj, 3): kind, body a, body b. data (nj, NDATA): anchors in the principal frames of a and b
(m), joint frames in them (quaternions, first axis: the joint's), limits, motor. place (nj,): angle
(rad) or way (m), counted on. rows (nj, 6, 12): gradients for a and b, each along and about;
error (nj, 6); size (nj,): rows in use; free (nj,): -1, or the row along the free direction, the
last one, whose impulse is bounded by low and high (nj,); acc (nj, 6): impulses of the substep.

Impulses act along the gradients at the start of the substep (`push`), and bring the errors to zero
at its end, where velocities are then made to fit (RATTLE, Andersen 1983): a pendulum keeps its
energy, which it would lose if the gradients at the end were used.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.rotation import multiply, rotate
from berm.kernels.jit import inner, jit
from berm.kernels.multibody.rigid_motion import shift

BALL, HINGE, FIXED, SLIDER = range(4)
LA, LB, FA, FB, LOW, HIGH, LIMITED, MOTOR, SPEED, EFFORT = 0, 3, 6, 10, 14, 15, 16, 17, 18, 19
NDATA = 20
RECOVER = 0.2  # part of a way beyond a limit that a substep takes back


@inner
def _line(row, a_first, dx, dy, dz, rx, ry, rz, sign):
    """Gradient of the displacement along d of a point at r."""
    row[a_first], row[a_first + 1], row[a_first + 2] = sign * dx, sign * dy, sign * dz
    row[a_first + 3] = sign * (ry * dz - rz * dy)
    row[a_first + 4] = sign * (rz * dx - rx * dz)
    row[a_first + 5] = sign * (rx * dy - ry * dx)


@inner
def _turn(row, dx, dy, dz):
    """Gradient of the relative turn about d."""
    for c in range(12):
        row[c] = 0.0
    row[3], row[4], row[5] = dx, dy, dz
    row[9], row[10], row[11] = -dx, -dy, -dz


@jit
def joint_rows(ends, data, x, q, v, omega, h, place, rows, error, size, free, low, high, acc):
    """Errors and gradients of all joints at the present poses."""
    axis = np.empty((3, 3))
    for j in range(ends.shape[0]):
        kind, a, b = ends[j, 0], ends[j, 1], ends[j, 2]
        d = data[j]
        for c in range(6):
            acc[j, c] = 0.0
        ax, ay, az = rotate(q[a, 0], q[a, 1], q[a, 2], q[a, 3], d[0], d[1], d[2])
        bx, by, bz = rotate(q[b, 0], q[b, 1], q[b, 2], q[b, 3], d[3], d[4], d[5])
        ex = x[a, 0] + ax - x[b, 0] - bx
        ey = x[a, 1] + ay - x[b, 1] - by
        ez = x[a, 2] + az - x[b, 2] - bz
        if kind == SLIDER:  # both bodies are pushed at the same point
            bx, by, bz = bx + ex, by + ey, bz + ez
        gw, gx, gy, gz = multiply(
            q[a, 0], q[a, 1], q[a, 2], q[a, 3], d[FA], d[FA + 1], d[FA + 2], d[FA + 3]
        )
        fw, fx, fy, fz = multiply(
            q[b, 0], q[b, 1], q[b, 2], q[b, 3], d[FB], d[FB + 1], d[FB + 2], d[FB + 3]
        )
        for c in range(3):
            one = 1.0 if c == 0 else 0.0
            two = 1.0 if c == 1 else 0.0
            three = 1.0 if c == 2 else 0.0
            axis[c, 0], axis[c, 1], axis[c, 2] = rotate(fw, fx, fy, fz, one, two, three)
        # relative turn in the joint's frame of b
        rw, rx, ry, rz = multiply(fw, -fx, -fy, -fz, gw, gx, gy, gz)
        if rw < 0.0 and kind != HINGE:
            rw, rx, ry, rz = -rw, -rx, -ry, -rz
        n = 0
        for c in range(3):
            if kind == SLIDER and c == 0:
                continue
            dx, dy, dz = axis[c, 0], axis[c, 1], axis[c, 2]
            _line(rows[j, n], 0, dx, dy, dz, ax, ay, az, 1.0)
            _line(rows[j, n], 6, dx, dy, dz, bx, by, bz, -1.0)
            error[j, n] = dx * ex + dy * ey + dz * ez
            n += 1
        if kind == HINGE:
            ux, uy, uz = rotate(gw, gx, gy, gz, 1.0, 0.0, 0.0)
            # how far a's axis has left b's: b1 x a1
            tx = axis[0, 1] * uz - axis[0, 2] * uy
            ty = axis[0, 2] * ux - axis[0, 0] * uz
            tz = axis[0, 0] * uy - axis[0, 1] * ux
            for c in range(1, 3):
                _turn(rows[j, n], axis[c, 0], axis[c, 1], axis[c, 2])
                error[j, n] = axis[c, 0] * tx + axis[c, 1] * ty + axis[c, 2] * tz
                n += 1
        elif kind != BALL:
            for c in range(3):
                _turn(rows[j, n], axis[c, 0], axis[c, 1], axis[c, 2])
                error[j, n] = 2.0 * (rx if c == 0 else ry if c == 1 else rz)
                n += 1
        free[j] = -1
        size[j] = n
        if kind == HINGE or kind == SLIDER:
            if kind == HINGE:
                angle = 2.0 * math.atan2(rx, rw)
                turns = math.floor((angle - place[j]) / (2.0 * math.pi) + 0.5)
                place[j] = angle - 2.0 * math.pi * turns
                _turn(rows[j, n], axis[0, 0], axis[0, 1], axis[0, 2])
            else:
                place[j] = axis[0, 0] * ex + axis[0, 1] * ey + axis[0, 2] * ez
                _line(rows[j, n], 0, axis[0, 0], axis[0, 1], axis[0, 2], ax, ay, az, 1.0)
                _line(rows[j, n], 6, axis[0, 0], axis[0, 1], axis[0, 2], bx, by, bz, -1.0)
            _bounded_row(j, a, b, n, d, v, omega, h, place, rows, error, size, free, low, high)


@inner
def _bounded_row(j, a, b, n, d, v, omega, h, place, rows, error, size, free, low, high):
    """Motor or limit along the free direction; a limit that is reached goes first."""
    most = d[EFFORT] * h * h
    under = d[LIMITED] != 0.0 and place[j] <= d[LOW]
    over = d[LIMITED] != 0.0 and place[j] >= d[HIGH]
    if not (under or over or d[MOTOR] != 0.0):
        return
    free[j] = n
    size[j] = n + 1
    speed = 0.0
    for c in range(3):
        speed += rows[j, n, c] * v[a, c] + rows[j, n, 3 + c] * omega[a, c]
        speed += rows[j, n, 6 + c] * v[b, c] + rows[j, n, 9 + c] * omega[b, c]
    if under or over:
        away = d[MOTOR] != 0.0 and (d[SPEED] > 0.0 if under else d[SPEED] < 0.0)
        if not away or most < np.inf:
            # a motor that drives off the limit helps with all its effort
            most = most if away else 0.0
            low[j] = most if under else -np.inf
            high[j] = np.inf if under else -most
            beyond = place[j] - (d[LOW] if under else d[HIGH])
            before = beyond - h * speed
            # what was beyond before comes back little by little: at once, it would become speed
            if (before < 0.0) == under:
                beyond = h * speed + RECOVER * before
            error[j, n] = beyond
            return
    # the displacement of this substep, which the motor brings to its speed times h
    error[j, n] = h * (speed - d[SPEED])
    low[j], high[j] = -most, most


@inner
def _mass_row(r, a, b, w, inv, out):
    """Product of the inverse masses with a gradient."""
    for c in range(3):
        out[c] = w[a] * r[c]
        out[6 + c] = w[b] * r[6 + c]
        out[3 + c] = 0.0
        out[9 + c] = 0.0
        for e in range(3):
            if w[a] > 0.0:
                out[3 + c] += inv[a, c, e] * r[3 + e]
            if w[b] > 0.0:
                out[9 + c] += inv[b, c, e] * r[9 + e]


@jit
def joint_masses(ends, rows, push, size, w, inv, mass):
    """Fill mass (nj, 6, 6): what an impulse along each row of `push` does to each row."""
    out = np.empty(12)
    for j in range(ends.shape[0]):
        for m in range(size[j]):
            _mass_row(push[j, m], ends[j, 1], ends[j, 2], w, inv, out)
            for n in range(size[j]):
                total = 0.0
                for c in range(12):
                    total += rows[j, n, c] * out[c]
                mass[j, n, m] = total


@inner
def _solve_small(n, mass, right, out, work):
    """Gaussian elimination of a nearly symmetric positive block; dependent rows get nothing."""
    for i in range(n):
        for k in range(n):
            work[i, k] = mass[i, k]
        work[i, 6] = right[i]
    for i in range(n):
        pivot = work[i, i]
        if pivot <= 1e-13 * mass[i, i] or mass[i, i] == 0.0:
            for k in range(7):
                work[i, k] = 0.0
            continue
        for m in range(i + 1, n):
            factor = work[m, i] / pivot
            for k in range(i, n):
                work[m, k] -= factor * work[i, k]
            work[m, 6] -= factor * work[i, 6]
    for back in range(n):
        i = n - 1 - back
        total = work[i, 6]
        for k in range(i + 1, n):
            total -= work[i, k] * out[k]
        out[i] = total / work[i, i] if work[i, i] != 0.0 else 0.0


@inner
def _motion_along(row, a, b, move):
    """What the bodies' motion does to a row's error."""
    total = 0.0
    for c in range(6):
        total += row[c] * move[a, c] + row[6 + c] * move[b, c]
    return total


@inner
def sweep_joints(
    ends, rows, push, error, size, free, low, high, mass, acc, w, inv, move, velocities, right, out,
    work,
):  # fmt: skip
    """One pass over all joints; velocities: errors are those of `move` alone, motors rest."""
    for j in range(ends.shape[0]):
        a, b, n = ends[j, 1], ends[j, 2], size[j]
        if velocities and free[j] >= 0:
            n -= 1
        for i in range(n):
            right[i] = -_motion_along(rows[j, i], a, b, move)
            if not velocities:
                right[i] -= error[j, i]
        _solve_small(n, mass[j], right, out, work)
        f = free[j]
        if f >= 0 and not velocities:
            wanted = acc[j, f] + out[f]
            if wanted < low[j] or wanted > high[j]:
                change = min(max(wanted, low[j]), high[j]) - acc[j, f]
                for i in range(f):
                    right[i] -= mass[j, i, f] * change
                _solve_small(f, mass[j], right, out, work)
                out[f] = change
        for i in range(n):
            if not velocities:
                acc[j, i] += out[i]
            r = push[j, i]
            p = out[i]
            shift(a, 1.0, p * r[0], p * r[1], p * r[2], p * r[3], p * r[4], p * r[5], w, inv, move)
            shift(b, 1.0, p * r[6], p * r[7], p * r[8], p * r[9], p * r[10], p * r[11], w, inv,
                  move)  # fmt: skip


@jit
def joint_loads(ends, push, size, acc, data, q, scale, loads):
    """Add force (N) at the anchor and torque (N m) on body a to loads (nj, 6)."""
    for j in range(ends.shape[0]):
        a = ends[j, 1]
        fx, fy, fz, tx, ty, tz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(size[j]):
            p = scale * acc[j, i]
            r = push[j, i]
            fx, fy, fz = fx + p * r[0], fy + p * r[1], fz + p * r[2]
            tx, ty, tz = tx + p * r[3], ty + p * r[4], tz + p * r[5]
        ax, ay, az = rotate(
            q[a, 0], q[a, 1], q[a, 2], q[a, 3], data[j, 0], data[j, 1], data[j, 2]
        )
        loads[j, 0] += fx
        loads[j, 1] += fy
        loads[j, 2] += fz
        loads[j, 3] += tx - (ay * fz - az * fy)
        loads[j, 4] += ty - (az * fx - ax * fz)
        loads[j, 5] += tz - (ax * fy - ay * fx)
