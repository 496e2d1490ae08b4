"""Free motion of rigid bodies; how velocities and mass-normalised ones follow from each other.

Arrays as in `arrays.BodyArrays`.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.rotation import (
    axes,
    free_turn,
    multiply,
    normalise,
    rotate,
    rotate_back,
    turn_world,
)
from berm.kernels.jit import bare, inner, jit
from berm.kernels.multibody.arrays import DYNAMIC, KINEMATIC, STATIC

SOFT = 0.5  # of the inertia: a swing less stiff than this, times h^2, is left to the rows


@bare
def refresh(b, bodies):
    """Bring root, angular velocity, and the pose of the shape's frame up to date with x, q, L."""
    q, rot, root = bodies.q[b], bodies.rot[b], bodies.root[b]
    ax, ay, az, bx, by, bz, cx, cy, cz = axes(q[0], q[1], q[2], q[3])
    m, spin, e = bodies.moments[b], bodies.L[b], bodies.axes[b]
    u, v, w = (1.0 / math.sqrt(m[0]), 1.0 / math.sqrt(m[1]), 1.0 / math.sqrt(m[2]))
    root[0, 0], root[1, 0], root[2, 0] = ax * u, ay * u, az * u
    root[0, 1], root[1, 1], root[2, 1] = bx * v, by * v, bz * v
    root[0, 2], root[1, 2], root[2, 2] = cx * w, cy * w, cz * w
    for c in range(3):  # rot = frame axes^T
        rot[0, c] = ax * e[c, 0] + bx * e[c, 1] + cx * e[c, 2]
        rot[1, c] = ay * e[c, 0] + by * e[c, 1] + cy * e[c, 2]
        rot[2, c] = az * e[c, 0] + bz * e[c, 1] + cz * e[c, 2]
    p = (ax * spin[0] + ay * spin[1] + az * spin[2]) / m[0]
    r = (bx * spin[0] + by * spin[1] + bz * spin[2]) / m[1]
    s = (cx * spin[0] + cy * spin[1] + cz * spin[2]) / m[2]
    bodies.omega[b, 0] = ax * p + bx * r + cx * s
    bodies.omega[b, 1] = ay * p + by * r + cy * s
    bodies.omega[b, 2] = az * p + bz * r + cz * s
    place_frame(b, bodies)


@bare
def place_frame(b, bodies):
    """Origin of the body's frame and its velocity, from the centre's."""
    rot, off, omega = bodies.rot[b], bodies.offset[b], bodies.omega[b]
    rx = rot[0, 0] * off[0] + rot[0, 1] * off[1] + rot[0, 2] * off[2]
    ry = rot[1, 0] * off[0] + rot[1, 1] * off[1] + rot[1, 2] * off[2]
    rz = rot[2, 0] * off[0] + rot[2, 1] * off[1] + rot[2, 2] * off[2]
    bodies.org[b, 0] = bodies.x[b, 0] - rx
    bodies.org[b, 1] = bodies.x[b, 1] - ry
    bodies.org[b, 2] = bodies.x[b, 2] - rz
    bodies.pace[b, 0] = bodies.v[b, 0] - (omega[1] * rz - omega[2] * ry)
    bodies.pace[b, 1] = bodies.v[b, 1] - (omega[2] * rx - omega[0] * rz)
    bodies.pace[b, 2] = bodies.v[b, 2] - (omega[0] * ry - omega[1] * rx)


@bare
def stiffen(joints, bodies, h):
    """Add to the moments of bodies what joints under load resist turning with, where it is stiff.

    A body that a force f holds at the arm r turns back with the stiffness k = f . r - f_c r_c about
    its axis c. Rows take the direction of f from the start of a step, so that such a swing is
    explicit, and unstable once h^2 k is a few times the inertia: a light chain under a heavy load
    in large steps. There h^2 k is taken implicitly, as an inertia that the velocity of the end of
    the step has to overcome; below half the inertia about the joint nothing is added.
    [Andrews, Teichmann, Kovecses 2017, geometric stiffness for real-time multibody dynamics]
    """
    for b in range(bodies.kind.shape[0]):
        for c in range(3):
            bodies.stiff[b, c] = 0.0
    for j in range(joints.kind.shape[0]):
        for side in range(2):
            b = joints.a[j] if side == 0 else joints.b[j]
            if bodies.kind[b] != DYNAMIC or bodies.count[b] != 1:
                continue
            sign = 1.0 if side == 0 else -1.0
            q, r, f = bodies.q[b], joints.frame[j, 3 * side : 3 * side + 3], joints.pull[j]
            fx, fy, fz = rotate_back(
                q[0], q[1], q[2], q[3], sign * f[0], sign * f[1], sign * f[2]
            )
            whole = fx * r[0] + fy * r[1] + fz * r[2]
            bodies.stiff[b, 0] += h * h * (whole - fx * r[0])
            bodies.stiff[b, 1] += h * h * (whole - fy * r[1])
            bodies.stiff[b, 2] += h * h * (whole - fz * r[2])
    for j in range(joints.kind.shape[0]):
        for side in range(2):
            b = joints.a[j] if side == 0 else joints.b[j]
            if bodies.kind[b] != DYNAMIC:
                continue
            r = joints.frame[j, 3 * side : 3 * side + 3]
            far = (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) / bodies.w[b]
            for c in range(3):
                least = SOFT * (bodies.moments[b, c] + far - r[c] * r[c] / bodies.w[b])
                if bodies.stiff[b, c] < least:
                    bodies.stiff[b, c] = 0.0
    for b in range(bodies.kind.shape[0]):
        m, s = bodies.moments[b], bodies.stiff[b]
        if bodies.kind[b] == DYNAMIC and (s[0] > 0.0 or s[1] > 0.0 or s[2] > 0.0):
            for c in range(3):
                scale = math.sqrt(m[c] / (m[c] + s[c]))
                for e in range(3):
                    bodies.root[b, e, c] *= scale


@jit
def refresh_all(bodies):
    """Bring what follows from the pose up to date for all dynamic bodies."""
    for b in range(bodies.w.shape[0]):
        bodies.root_w[b] = 0.0
        if bodies.kind[b] == DYNAMIC and bodies.kind[bodies.unit[b]] != STATIC:
            bodies.root_w[b] = math.sqrt(bodies.w[b])
            refresh(b, bodies)
    for b in range(bodies.w.shape[0]):
        if bodies.count[b] > 1:
            place_unit(b, bodies)


@bare
def place_unit(b, bodies):
    """Middle, axes and root of the unit that body b leads, from where b is."""
    if bodies.kind[b] != DYNAMIC:
        for c in range(3):
            bodies.middle[b, c] = bodies.x[b, c]
        for c in range(4):
            bodies.unit_q[b, c] = bodies.q[b, c]
        return
    q, s, p = bodies.q[b], bodies.seat[b], bodies.unit_q[b]
    p[0], p[1], p[2], p[3] = normalise(*multiply(
        q[0], q[1], q[2], q[3], s[3], -s[4], -s[5], -s[6]
    ))  # fmt: skip
    x, y, z = rotate(p[0], p[1], p[2], p[3], s[0], s[1], s[2])
    bodies.middle[b, 0] = bodies.x[b, 0] - x
    bodies.middle[b, 1] = bodies.x[b, 1] - y
    bodies.middle[b, 2] = bodies.x[b, 2] - z
    root_unit(b, bodies)


@bare
def root_unit(b, bodies):
    """Root of the inverse inertia of the unit that body b leads."""
    p, m, root = bodies.unit_q[b], bodies.unit_moments[b], bodies.root[b]
    ax, ay, az, bx, by, bz, cx, cy, cz = axes(p[0], p[1], p[2], p[3])
    u, v, w = (1.0 / math.sqrt(m[0]), 1.0 / math.sqrt(m[1]), 1.0 / math.sqrt(m[2]))
    root[0, 0], root[1, 0], root[2, 0] = ax * u, ay * u, az * u
    root[0, 1], root[1, 1], root[2, 1] = bx * v, by * v, bz * v
    root[0, 2], root[1, 2], root[2, 2] = cx * w, cy * w, cz * w
    bodies.root_w[b] = math.sqrt(bodies.unit_w[b])


@inner
def free_velocities(bodies, gravity, h, u):
    """Mass-normalised velocities (nb, 6) after h (s) of gravity and applied forces."""
    if _free_single(bodies, gravity, h, u):
        _free_units(bodies, gravity, h, u)


@bare
def _free_single(bodies, gravity, h, u):
    """The same for units of one body; return whether there are others."""
    several = False
    for b in range(u.shape[0]):
        if bodies.kind[b] != DYNAMIC or bodies.count[b] != 1:
            for c in range(6):
                u[b, c] = 0.0
            several |= bodies.kind[b] == DYNAMIC and bodies.count[b] > 1
            continue
        scale, w = 1.0 / bodies.root_w[b], bodies.w[b]
        root, force = bodies.root[b], bodies.applied[b]
        for c in range(3):
            u[b, c] = scale * (bodies.v[b, c] + h * (gravity[c] + w * force[c]))
        lx = bodies.L[b, 0] + h * force[3]
        ly = bodies.L[b, 1] + h * force[4]
        lz = bodies.L[b, 2] + h * force[5]
        for c in range(3):  # root^-1 omega = root^T L
            u[b, 3 + c] = root[0, c] * lx + root[1, c] * ly + root[2, c] * lz
    return several


@inner
def _free_units(bodies, gravity, h, u):
    """The same for units of several bodies, from the motion of the one that leads."""
    push = np.empty(6)
    for b in range(u.shape[0]):
        if bodies.kind[b] != DYNAMIC or bodies.count[b] <= 1:
            continue
        w, m, p = bodies.omega[b], bodies.unit_moments[b], bodies.unit_q[b]
        dx = bodies.middle[b, 0] - bodies.x[b, 0]
        dy = bodies.middle[b, 1] - bodies.x[b, 1]
        dz = bodies.middle[b, 2] - bodies.x[b, 2]
        scale = 1.0 / bodies.root_w[b]
        u[b, 0] = scale * (bodies.v[b, 0] + w[1] * dz - w[2] * dy + h * gravity[0])
        u[b, 1] = scale * (bodies.v[b, 1] + w[2] * dx - w[0] * dz + h * gravity[1])
        u[b, 2] = scale * (bodies.v[b, 2] + w[0] * dy - w[1] * dx + h * gravity[2])
        wx, wy, wz = rotate_back(p[0], p[1], p[2], p[3], w[0], w[1], w[2])
        u[b, 3], u[b, 4], u[b, 5] = (
            math.sqrt(m[0]) * wx, math.sqrt(m[1]) * wy, math.sqrt(m[2]) * wz
        )  # fmt: skip
    for b in range(u.shape[0]):
        unit = bodies.unit[b]
        if bodies.kind[unit] != DYNAMIC or bodies.count[unit] <= 1:
            continue
        for c in range(6):
            push[c] = h * bodies.applied[b, c]
        add_impulse(b, bodies, push, u)


@bare
def add_impulse(b, bodies, p, u):
    """Add an impulse (3) and its moment about the centre (3) of body b to its unit's velocity."""
    unit = bodies.unit[b]
    root, scale = bodies.root[unit], bodies.root_w[unit]
    tx, ty, tz = p[3], p[4], p[5]
    if bodies.count[unit] > 1:
        dx = bodies.x[b, 0] - bodies.middle[unit, 0]
        dy = bodies.x[b, 1] - bodies.middle[unit, 1]
        dz = bodies.x[b, 2] - bodies.middle[unit, 2]
        tx, ty, tz = (
            tx + dy * p[2] - dz * p[1], ty + dz * p[0] - dx * p[2], tz + dx * p[1] - dy * p[0]
        )  # fmt: skip
    for c in range(3):
        u[unit, c] += scale * p[c]
        u[unit, 3 + c] += root[0, c] * tx + root[1, c] * ty + root[2, c] * tz


@bare
def velocity_of(b, bodies, u, out):
    """Velocity and angular velocity (6) of a body from u; of a driven one its own."""
    unit = bodies.unit[b]
    if bodies.kind[unit] != DYNAMIC:
        for c in range(3):
            out[c], out[3 + c] = bodies.v[b, c], bodies.omega[b, c]
        return
    root, scale = bodies.root[unit], bodies.root_w[unit]
    for c in range(3):
        out[c] = scale * u[unit, c]
        out[3 + c] = root[c, 0] * u[unit, 3] + root[c, 1] * u[unit, 4] + root[c, 2] * u[unit, 5]
    if bodies.count[unit] > 1:
        dx = bodies.x[b, 0] - bodies.middle[unit, 0]
        dy = bodies.x[b, 1] - bodies.middle[unit, 1]
        dz = bodies.x[b, 2] - bodies.middle[unit, 2]
        out[0] += out[4] * dz - out[5] * dy
        out[1] += out[5] * dx - out[3] * dz
        out[2] += out[3] * dy - out[4] * dx


@bare
def give_motion(b, bodies, motion):
    """Let body b move with a velocity and angular velocity (6)."""
    q, m = bodies.q[b], bodies.moments[b]
    ax, ay, az, bx, by, bz, cx, cy, cz = axes(q[0], q[1], q[2], q[3])
    x, y, z = motion[3], motion[4], motion[5]
    lx, ly, lz = (
        m[0] * (ax * x + ay * y + az * z),
        m[1] * (bx * x + by * y + bz * z),
        m[2] * (cx * x + cy * y + cz * z),
    )
    bodies.L[b, 0] = ax * lx + bx * ly + cx * lz
    bodies.L[b, 1] = ay * lx + by * ly + cy * lz
    bodies.L[b, 2] = az * lx + bz * ly + cz * lz
    for c in range(3):
        bodies.v[b, c], bodies.omega[b, c] = motion[c], motion[3 + c]


@inner
def take_velocities(bodies, moved, u):
    """Let the bodies of the units that were moved (nb,) have the velocities of u."""
    motion = np.empty(6)
    for b in range(u.shape[0]):
        unit = bodies.unit[b]
        if bodies.kind[b] == DYNAMIC and bodies.kind[unit] == DYNAMIC and moved[unit]:
            velocity_of(b, bodies, u, motion)
            give_motion(b, bodies, motion)
            place_frame(b, bodies)


@inner
def move_bodies(bodies, u, h):
    """Take velocities over from u and advance all poses by h (s); free rotation keeps |L|."""
    if _move_single(bodies, u, h):
        _move_units(bodies, u, h)


@bare
def _move_single(bodies, u, h):
    """The same for units of one body; return whether there are others that move."""
    carried = False
    for b in range(u.shape[0]):
        q = bodies.q[b]
        carried |= bodies.count[b] > 1 and bodies.kind[b] != STATIC
        if bodies.kind[b] == DYNAMIC and bodies.count[b] == 1:
            m, scale = bodies.moments[b], bodies.root_w[b]
            # angular momentum in the principal axes
            s = bodies.stiff[b]
            lx = u[b, 3] * m[0] / math.sqrt(m[0] + s[0])
            ly = u[b, 4] * m[1] / math.sqrt(m[1] + s[1])
            lz = u[b, 5] * m[2] / math.sqrt(m[2] + s[2])
            ax, ay, az, bx, by, bz, cx, cy, cz = axes(q[0], q[1], q[2], q[3])
            bodies.L[b, 0] = ax * lx + bx * ly + cx * lz
            bodies.L[b, 1] = ay * lx + by * ly + cy * lz
            bodies.L[b, 2] = az * lx + bz * ly + cz * lz
            for c in range(3):
                bodies.v[b, c] = scale * u[b, c]
                bodies.x[b, c] += h * bodies.v[b, c]
            lx, ly, lz = rotate_back(
                q[0], q[1], q[2], q[3], bodies.L[b, 0], bodies.L[b, 1], bodies.L[b, 2]
            )
            q[0], q[1], q[2], q[3], lx, ly, lz = free_turn(
                q[0], q[1], q[2], q[3], lx, ly, lz, 1.0 / m[0], 1.0 / m[1], 1.0 / m[2], h
            )
            refresh(b, bodies)
        elif bodies.kind[b] == KINEMATIC:
            q[0], q[1], q[2], q[3] = normalise(*turn_world(
                q[0], q[1], q[2], q[3],
                h * bodies.omega[b, 0], h * bodies.omega[b, 1], h * bodies.omega[b, 2],
            ))  # fmt: skip
            ax, ay, az, bx, by, bz, cx, cy, cz = axes(q[0], q[1], q[2], q[3])
            rot = bodies.rot[b]
            rot[0, 0], rot[1, 0], rot[2, 0] = ax, ay, az
            rot[0, 1], rot[1, 1], rot[2, 1] = bx, by, bz
            rot[0, 2], rot[1, 2], rot[2, 2] = cx, cy, cz
            for c in range(3):
                bodies.x[b, c] += h * bodies.v[b, c]
                bodies.org[b, c] = bodies.x[b, c]
    return carried


@inner
def _move_units(bodies, u, h):
    """Advance units of several bodies by h (s), and take their members along."""
    pace = np.empty((u.shape[0], 6))
    for b in range(u.shape[0]):
        if bodies.count[b] <= 1 or bodies.kind[b] == STATIC:
            continue
        if bodies.kind[b] == KINEMATIC:
            place_unit(b, bodies)
            for c in range(3):
                pace[b, c], pace[b, 3 + c] = bodies.v[b, c], bodies.omega[b, c]
            continue
        m, p, scale = bodies.unit_moments[b], bodies.unit_q[b], bodies.root_w[b]
        lx, ly, lz = (
            u[b, 3] * math.sqrt(m[0]), u[b, 4] * math.sqrt(m[1]), u[b, 5] * math.sqrt(m[2])
        )  # fmt: skip
        for c in range(3):
            pace[b, c] = scale * u[b, c]
            bodies.middle[b, c] += h * pace[b, c]
        p[0], p[1], p[2], p[3], lx, ly, lz = free_turn(
            p[0], p[1], p[2], p[3], lx, ly, lz, 1.0 / m[0], 1.0 / m[1], 1.0 / m[2], h
        )
        pace[b, 3], pace[b, 4], pace[b, 5] = rotate(
            p[0], p[1], p[2], p[3], lx / m[0], ly / m[1], lz / m[2]
        )
    motion = np.empty(6)
    for b in range(u.shape[0]):
        unit = bodies.unit[b]
        if bodies.kind[b] != DYNAMIC or bodies.count[unit] <= 1 or bodies.kind[unit] == STATIC:
            continue
        p, s, w = bodies.unit_q[unit], bodies.seat[b], pace[unit]
        x, y, z = rotate(p[0], p[1], p[2], p[3], s[0], s[1], s[2])
        bodies.x[b, 0] = bodies.middle[unit, 0] + x
        bodies.x[b, 1] = bodies.middle[unit, 1] + y
        bodies.x[b, 2] = bodies.middle[unit, 2] + z
        q = bodies.q[b]
        q[0], q[1], q[2], q[3] = normalise(*multiply(
            p[0], p[1], p[2], p[3], s[3], s[4], s[5], s[6]
        ))  # fmt: skip
        motion[0] = w[0] + w[4] * z - w[5] * y
        motion[1] = w[1] + w[5] * x - w[3] * z
        motion[2] = w[2] + w[3] * y - w[4] * x
        motion[3], motion[4], motion[5] = w[3], w[4], w[5]
        give_motion(b, bodies, motion)
        refresh(b, bodies)
    for b in range(u.shape[0]):
        if bodies.count[b] > 1 and bodies.kind[b] == DYNAMIC:
            root_unit(b, bodies)


@bare
def is_finite(bodies):
    """First dynamic body whose state is not finite, or -1."""
    for b in range(bodies.w.shape[0]):
        if bodies.kind[b] == DYNAMIC:
            total = 0.0
            for c in range(3):
                total += bodies.x[b, c] + bodies.v[b, c] + bodies.L[b, c]
            if not np.isfinite(total):
                return b
    return -1
