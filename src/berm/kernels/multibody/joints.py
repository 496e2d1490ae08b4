"""Rows of joints, one function a kind of row; the kinds are those of `core.joints`.

A joint's frame has its axis first. Rows are numbered within their joint (`part`), so that their
impulses of the last step are found again: 0-5 what it holds, then DRIVE, FRICTION, LOW, HIGH.
Both bodies are pushed at one point, midway between the two anchors, so that angular momentum is
kept to rounding also while a joint is open a little.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.rotation import multiply, rotate
from berm.kernels.jit import bare
from berm.kernels.multibody.rows import about, along, head_for, hold, normalise, speed_along

BALL, HINGE, WELD, SLIDER, UNIVERSAL, CYLINDRICAL, DISTANCE, SPRING, GEAR = range(9)
NONE, SPEED, POSITION, FORCE, HOLD = range(5)
DRIVE, FRICTION, LOW, HIGH = 6, 7, 8, 9
VISCOUS = 10  # its impulse follows from the speed: none is kept
SHARED = 11  # a row whose multiplier is that of its parent: gears have several rows for one
NEAR = 2.0  # steps ahead: a limit that the joint may reach within so many has its row
STEPS = 2.0  # damping time of a joint that none was given for, in steps: [MACHINES A1]
STIFF = 1e-10  # m/N: of limits
FIRM = 1e-14  # m/N: of drives and friction, which would creep under load otherwise


@bare
def _add(rows, m, j, part, joints):
    """Take row m for part `part` of joint j."""
    rows.ends[m, 0], rows.ends[m, 1] = joints.a[j], joints.b[j]
    rows.source[m], rows.part[m] = j, part
    rows.parent[m], rows.more[m] = -1, -1
    rows.lam[m] = joints.multiplier[j, part]
    return m + 1


@bare
def _unwrap(angle, before):
    """The angle nearest to the one before, of all that differ by full turns."""
    return angle - 2.0 * math.pi * math.floor((angle - before) / (2.0 * math.pi) + 0.5)


@bare
def joint_rows(joints, bodies, h, rows, m, axes):
    """Append the rows of all joints from m on; return the next free row. axes (3, 3): scratch.

    `place_joints` was called for the present poses.
    """
    for j in range(joints.kind.shape[0]):
        if joints.kind[j] != GEAR and not is_inner(j, joints, bodies):
            m = _joint(j, joints, bodies, h, rows, m, axes)
    for j in range(joints.kind.shape[0]):
        if joints.kind[j] == GEAR:
            m = _gear(j, joints, bodies, h, rows, m, axes)
    return m


@bare
def is_inner(j, joints, bodies):
    """Whether the two bodies of a joint are merged: then there is nothing to hold."""
    return bodies.unit[joints.a[j]] == bodies.unit[joints.b[j]]


@bare
def _frames(j, joints, bodies, axes):
    """Arms of both anchors, and axes (3, 3) of the joint's frame in b, all in the world."""
    a, b, d = joints.a[j], joints.b[j], joints.frame[j]
    p, q = bodies.q[a], bodies.q[b]
    ax, ay, az = rotate(p[0], p[1], p[2], p[3], d[0], d[1], d[2])
    bx, by, bz = rotate(q[0], q[1], q[2], q[3], d[3], d[4], d[5])
    fw, fx, fy, fz = multiply(q[0], q[1], q[2], q[3], d[10], d[11], d[12], d[13])
    for c in range(3):
        one = 1.0 if c == 0 else 0.0
        two = 1.0 if c == 1 else 0.0
        three = 1.0 if c == 2 else 0.0
        axes[c, 0], axes[c, 1], axes[c, 2] = rotate(fw, fx, fy, fz, one, two, three)
    return ax, ay, az, bx, by, bz, fw, fx, fy, fz


@bare
def place_joints(joints, bodies, axes):
    """Bring the joints' positions up to date with the bodies' poses. axes (3, 3): scratch."""
    for j in range(joints.kind.shape[0]):
        kind, a, b = joints.kind[j], joints.a[j], joints.b[j]
        if kind == BALL or kind == WELD or kind == UNIVERSAL or kind == GEAR:
            continue
        ax, ay, az, bx, by, bz, fw, fx, fy, fz = _frames(j, joints, bodies, axes)
        if kind == HINGE:
            d, p = joints.frame[j], bodies.q[a]
            gw, gx, gy, gz = multiply(p[0], p[1], p[2], p[3], d[6], d[7], d[8], d[9])
            rw, rx, _, _ = multiply(fw, -fx, -fy, -fz, gw, gx, gy, gz)
            angle = joints.zero[j] + 2.0 * math.atan2(rx, rw)
            joints.position[j] = _unwrap(angle, joints.position[j])
            continue
        ex = bodies.x[a, 0] + ax - bodies.x[b, 0] - bx
        ey = bodies.x[a, 1] + ay - bodies.x[b, 1] - by
        ez = bodies.x[a, 2] + az - bodies.x[b, 2] - bz
        if kind == DISTANCE or kind == SPRING:
            joints.position[j] = math.sqrt(ex * ex + ey * ey + ez * ez)
        else:
            way = axes[0, 0] * ex + axes[0, 1] * ey + axes[0, 2] * ez
            joints.position[j] = joints.zero[j] + way


@bare
def _joint(j, joints, bodies, h, rows, m, axes):
    kind, a, b = joints.kind[j], joints.a[j], joints.b[j]
    d, p = joints.frame[j], bodies.q[a]
    ax, ay, az, bx, by, bz, fw, fx, fy, fz = _frames(j, joints, bodies, axes)
    ex = bodies.x[a, 0] + ax - bodies.x[b, 0] - bx
    ey = bodies.x[a, 1] + ay - bodies.x[b, 1] - by
    ez = bodies.x[a, 2] + az - bodies.x[b, 2] - bz
    if kind == DISTANCE or kind == SPRING:
        return _between(j, joints, bodies, h, rows, m, axes, ax, ay, az, bx, by, bz, ex, ey, ez)
    # one point for both: midway
    ax, ay, az = ax - 0.5 * ex, ay - 0.5 * ey, az - 0.5 * ez
    bx, by, bz = bx + 0.5 * ex, by + 0.5 * ey, bz + 0.5 * ez
    eps, turn_eps = joints.compliance[j, 0], joints.compliance[j, 1]
    tau = joints.damping[j] if joints.damping[j] > 0.0 else STEPS * h
    gw, gx, gy, gz = multiply(p[0], p[1], p[2], p[3], d[6], d[7], d[8], d[9])
    part = 0
    for c in range(3):
        if c == 0 and (kind == SLIDER or kind == CYLINDRICAL):
            continue
        dx, dy, dz = axes[c, 0], axes[c, 1], axes[c, 2]
        m = _add(rows, m, j, part, joints)
        along(rows.G[m - 1], dx, dy, dz, ax, ay, az, bx, by, bz)
        hold(m - 1, rows, bodies, dx * ex + dy * ey + dz * ez, eps, tau, h)
        normalise(m - 1, rows, bodies)
        part += 1
    ux, uy, uz = rotate(gw, gx, gy, gz, 1.0, 0.0, 0.0)  # a's axis
    if kind == HINGE or kind == CYLINDRICAL:
        # how far a's axis has left b's: b1 x a1
        tx = axes[0, 1] * uz - axes[0, 2] * uy
        ty = axes[0, 2] * ux - axes[0, 0] * uz
        tz = axes[0, 0] * uy - axes[0, 1] * ux
        for c in range(1, 3):
            m = _add(rows, m, j, part, joints)
            about(rows.G[m - 1], axes[c, 0], axes[c, 1], axes[c, 2])
            wrong = axes[c, 0] * tx + axes[c, 1] * ty + axes[c, 2] * tz
            hold(m - 1, rows, bodies, wrong, turn_eps, tau, h)
            normalise(m - 1, rows, bodies)
            part += 1
    elif kind == UNIVERSAL:
        # a1 . b1 = 0; its gradient is the turn about b1 x a1
        m = _add(rows, m, j, part, joints)
        about(
            rows.G[m - 1], uy * axes[0, 2] - uz * axes[0, 1], uz * axes[0, 0] - ux * axes[0, 2],
            ux * axes[0, 1] - uy * axes[0, 0],
        )  # fmt: skip
        wrong = ux * axes[0, 0] + uy * axes[0, 1] + uz * axes[0, 2]
        hold(m - 1, rows, bodies, wrong, turn_eps, tau, h)
        normalise(m - 1, rows, bodies)
    rw, rx, ry, rz = multiply(fw, -fx, -fy, -fz, gw, gx, gy, gz)  # of a, in the joint's frame of b
    if kind == WELD or kind == SLIDER:
        if rw < 0.0:
            rw, rx, ry, rz = -rw, -rx, -ry, -rz
        for c in range(3):
            m = _add(rows, m, j, part, joints)
            about(rows.G[m - 1], axes[c, 0], axes[c, 1], axes[c, 2])
            wrong = 2.0 * (rx if c == 0 else ry if c == 1 else rz)
            hold(m - 1, rows, bodies, wrong, turn_eps, tau, h)
            normalise(m - 1, rows, bodies)
            part += 1
    if kind != HINGE and kind != SLIDER and kind != CYLINDRICAL:
        return m
    return _free_direction(j, joints, bodies, h, rows, m, axes, ax, ay, az, bx, by, bz)


@bare
def _direction(j, joints, rows, m, axes, ax, ay, az, bx, by, bz):
    """Gradient of the joint's position."""
    dx, dy, dz = axes[0, 0], axes[0, 1], axes[0, 2]
    if joints.kind[j] == HINGE:
        about(rows.G[m], dx, dy, dz)
    else:
        along(rows.G[m], dx, dy, dz, ax, ay, az, bx, by, bz)


@bare
def _free_direction(j, joints, bodies, h, rows, m, axes, ax, ay, az, bx, by, bz):
    """Drive, friction and limits along the free direction; each has a row of its own."""
    a, b, here = joints.a[j], joints.b[j], joints.position[j]
    sigma = 4.0 / (h * h) * FIRM / (1.0 + 4.0 * STEPS)
    mode = joints.drive[j]
    if mode != NONE:
        m = _add(rows, m, j, DRIVE, joints)
        _direction(j, joints, rows, m - 1, axes, ax, ay, az, bx, by, bz)
        least, most = -h * joints.effort[j, 0], h * joints.effort[j, 1]
        if mode == SPEED:
            head_for(m - 1, rows, joints.target[j], sigma, least, most)
        elif mode == HOLD:
            tau = max(joints.settle[j], STEPS * h)
            hold(m - 1, rows, bodies, here - joints.target[j], joints.give[j] + FIRM, tau, h)
            rows.lower[m - 1], rows.upper[m - 1] = least, most
        elif mode == POSITION:
            wanted = (joints.target[j] - here) / max(joints.settle[j], h)
            fast = joints.speed[j]
            head_for(m - 1, rows, min(max(wanted, -fast), fast), sigma, least, most)
        else:
            given = h * joints.target[j]
            head_for(m - 1, rows, 0.0, sigma, given, given)
            rows.lam[m - 1] = given
        normalise(m - 1, rows, bodies)
    if joints.friction[j] > 0.0:
        m = _add(rows, m, j, FRICTION, joints)
        _direction(j, joints, rows, m - 1, axes, ax, ay, az, bx, by, bz)
        most = h * joints.friction[j]
        head_for(m - 1, rows, 0.0, sigma, -most, most)
        normalise(m - 1, rows, bodies)
    if joints.viscosity[j] > 0.0:
        m = _add(rows, m, j, VISCOUS, joints)
        _direction(j, joints, rows, m - 1, axes, ax, ay, az, bx, by, bz)
        head_for(m - 1, rows, 0.0, 1.0 / (h * joints.viscosity[j]), -np.inf, np.inf)
        normalise(m - 1, rows, bodies)
    for side in range(2):
        bound = joints.low[j] if side == 0 else joints.high[j]
        if not abs(bound) < np.inf:
            continue
        sign = 1.0 if side == 0 else -1.0
        gap = sign * (here - bound)
        _direction(j, joints, rows, m, axes, ax, ay, az, bx, by, bz)
        speed = sign * speed_along(rows.G[m], a, b, bodies)
        if gap > NEAR * h * max(-speed, 0.0) + 1e-3:
            continue
        m = _add(rows, m, j, LOW + side, joints)
        for c in range(12):
            rows.G[m - 1, c] *= sign
        one_sided(m - 1, rows, bodies, gap, STIFF, STEPS * h, h)
        normalise(m - 1, rows, bodies)
    return m


@bare
def one_sided(k, rows, bodies, gap, eps, tau, h):
    """Make row k keep a gap from closing; what overlaps parts at the rate of its damping."""
    if gap > 0.0:
        damp = 1.0 / (1.0 + 4.0 * tau / h)
        head_for(k, rows, -gap / h, 4.0 / (h * h) * eps * damp, 0.0, np.inf)
    else:
        hold(k, rows, bodies, gap, eps, tau, h)
        rows.lower[k] = 0.0


@bare
def _between(j, joints, bodies, h, rows, m, axes, ax, ay, az, bx, by, bz, ex, ey, ez):
    """A distance that is held, limited or driven, or a spring, along a line between two points."""
    far = joints.position[j]
    if far < 1e-12:
        return m
    dx, dy, dz = ex / far, ey / far, ez / far
    # the line of action is one for both bodies, so that the arms may differ along it
    eps = joints.compliance[j, 0]
    tau = joints.damping[j] if joints.damping[j] > 0.0 else STEPS * h
    plain = joints.drive[j] == NONE and not (
        abs(joints.low[j]) < np.inf or abs(joints.high[j]) < np.inf
    )
    if joints.kind[j] == SPRING:
        eps, tau = 1.0 / joints.stiffness[j], joints.viscosity[j] / joints.stiffness[j]
    if joints.kind[j] == SPRING or plain:
        m = _add(rows, m, j, 0, joints)
        along(rows.G[m - 1], dx, dy, dz, ax, ay, az, bx, by, bz)
        hold(m - 1, rows, bodies, far - joints.rest[j], eps, tau, h)
        normalise(m - 1, rows, bodies)
        if joints.kind[j] == SPRING:
            return m
    axes[0, 0], axes[0, 1], axes[0, 2] = dx, dy, dz
    return _free_direction(j, joints, bodies, h, rows, m, axes, ax, ay, az, bx, by, bz)


@bare
def _gear(j, joints, bodies, h, rows, m, axes):
    """One row over the free directions of several joints: sum of ratio x position = rest."""
    head = m
    wrong, rate = -joints.rest[j], 0.0
    for k in range(joints.linked.shape[1]):
        other = joints.linked[j, k]
        if other < 0:
            continue
        if is_inner(other, joints, bodies):
            wrong += joints.ratio[j, k] * joints.position[other]
            continue
        ratio = joints.ratio[j, k]
        ax, ay, az, bx, by, bz, _, _, _, _ = _frames(other, joints, bodies, axes)
        a, b = joints.a[other], joints.b[other]
        m = _add(rows, m, j, 0, joints)
        rows.ends[m - 1, 0], rows.ends[m - 1, 1] = a, b
        if m - 1 > head:
            rows.more[m - 2] = m - 1
            rows.part[m - 1], rows.parent[m - 1] = SHARED, head
            rows.lower[m - 1] = rows.upper[m - 1] = rows.lam[m - 1] = 0.0
            rows.sigma[m - 1] = 1.0
        _direction(other, joints, rows, m - 1, axes, ax, ay, az, bx, by, bz)
        for c in range(12):
            rows.G[m - 1, c] *= ratio
        wrong += ratio * joints.position[other]
        rate += speed_along(rows.G[m - 1], a, b, bodies)
    if m == head:
        return m
    tau = joints.damping[j] if joints.damping[j] > 0.0 else STEPS * h
    damp = 1.0 / (1.0 + 4.0 * tau / h)
    rows.sigma[head] = 4.0 / (h * h) * joints.compliance[j, 0] * damp
    rows.rhs[head] = damp * (rate - 4.0 / h * wrong)
    rows.lower[head], rows.upper[head] = -np.inf, np.inf
    normalise(head, rows, bodies)
    for k in range(head + 1, m):
        rows.rhs[k] = 0.0
        normalise(k, rows, bodies)
        rows.rhs[head] += rows.rhs[k]
        rows.rhs[k] = 0.0
    return m


@bare
def keep_joints(joints, bodies, rows, first, last, h):
    """Keep the impulses of the joints' rows for the next step, and the forces that they make.

    Joints inside a unit keep what they bore when it was merged.
    """
    for j in range(joints.kind.shape[0]):
        if joints.kind[j] != GEAR and is_inner(j, joints, bodies):
            continue
        for c in range(joints.multiplier.shape[1]):
            joints.multiplier[j, c] = 0.0
        for c in range(3):
            joints.pull[j, c] = 0.0
    for k in range(first, last):
        if joints.kind[rows.source[k]] != GEAR:
            for c in range(3):
                joints.pull[rows.source[k], c] += rows.lam[k] * rows.G[k, c] / h
        if rows.part[k] < VISCOUS:
            joints.multiplier[rows.source[k], rows.part[k]] = rows.lam[k]
        if rows.part[k] == DRIVE and joints.drive[rows.source[k]] == HOLD:
            _give_way(rows.source[k], k, joints, rows, h)


@bare
def _give_way(j, k, joints, rows, h):
    """What holds with all its effort holds anew where it is now: a relief valve."""
    if rows.lam[k] <= rows.lower[k] or rows.lam[k] >= rows.upper[k]:
        joints.target[j] = joints.position[j] + joints.give[j] * rows.lam[k] / h


@bare
def add_loads(joints, bodies, rows, first, last, scale, load, felt):
    """Add scale (1/s) times the impulses: load (nj, 6) on body a, felt (nb, 6) on all bodies.

    load: at the anchor; felt: about each body's origin.
    """
    for k in range(first, last):
        j = rows.source[k]
        p = scale * rows.lam[rows.parent[k] if rows.part[k] == SHARED else k]
        g = rows.G[k]
        for side in range(2):
            b, at = rows.ends[k, side], 6 * side
            fx, fy, fz = p * g[at], p * g[at + 1], p * g[at + 2]
            tx, ty, tz = p * g[at + 3], p * g[at + 4], p * g[at + 5]
            if side == 0 and b == joints.a[j]:
                q, d = bodies.q[b], joints.frame[j]
                ax, ay, az = rotate(q[0], q[1], q[2], q[3], d[0], d[1], d[2])
                load[j, 0] += fx
                load[j, 1] += fy
                load[j, 2] += fz
                load[j, 3] += tx - (ay * fz - az * fy)
                load[j, 4] += ty - (az * fx - ax * fz)
                load[j, 5] += tz - (ax * fy - ay * fx)
            rx = bodies.x[b, 0] - bodies.org[b, 0]
            ry = bodies.x[b, 1] - bodies.org[b, 1]
            rz = bodies.x[b, 2] - bodies.org[b, 2]
            felt[b, 0] += fx
            felt[b, 1] += fy
            felt[b, 2] += fz
            felt[b, 3] += tx + ry * fz - rz * fy
            felt[b, 4] += ty + rz * fx - rx * fz
            felt[b, 5] += tz + rx * fy - ry * fx
