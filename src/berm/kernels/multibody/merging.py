"""Merge and split: bodies that rest against each other move as one, until something disturbs them.

[Lacoursiere10], Fig. 2: contacting bodies become one super-body (here: a unit) where the relative
velocity at their contacts is small and contact forces are sufficiently positive; what strikes,
slides or separates is split off. A unit is what hangs together by edges: contacts and joints inside
it. To split a body is to cut its edges; what still hangs together stays one. A unit that holds
something static is part of the ground and costs nothing; one that holds a driven body goes with it.

Each step, bodies that something restless touches are cut off on trial, one layer at a time: they
are solved with the impulses that they had when they were merged, and go back at once if nothing
moves. Merging keeps mass, momentum and angular momentum; the energy that it takes is returned.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.rotation import axes, multiply, normalise, rotate_back
from berm.kernels.jit import bare, inner, jit
from berm.kernels.multibody.arrays import DYNAMIC, KINEMATIC, STATIC
from berm.kernels.multibody.contact_list import (
    CREEPS,
    FEATURE,
    LOUD,
    MEMORY,
    OPEN,
    QUIET,
    STATE,
    STAYS,
    A,
    B,
)
from berm.kernels.multibody.contact_rows import mean_radius, rows_of
from berm.kernels.multibody.islands import find, unite
from berm.kernels.multibody.joints import GEAR, is_inner
from berm.kernels.multibody.motion import give_motion, place_frame, place_unit
from berm.kernels.multibody.rows import speed_along
from berm.kernels.multibody.sweeps import pressing

# thresholds: speed (m/s) and part of the cone to be merged and to be split, part of the weight that
# has to press, steps to be quiet for, change of apparent gravity (m/s^2), speed of joints (rad/s)
SPEED, CONE, SPLIT_SPEED, SPLIT_CONE, PRESS, STEPS, TILT, JOINT_SPEED = range(8)
NQUIET = 8
STILL, CREEP = 0.2, 0.5  # of the speed: so slow, a contact may be as good as sliding
AHEAD = 2.0  # steps: what will strike so soon is let loose before
ROTATIONS = 12  # sweeps of Jacobi's method over a symmetric 3 x 3 matrix


# ---- what disturbs --------------------------------------------------------------------------


@inner
def _rows_of(tags):
    """Row of each tag, -1 where it is gone; tags ascend."""
    last = tags[tags.shape[0] - 1]
    rows = np.full(last + 1, -1, np.int64)
    for b in range(tags.shape[0]):
        rows[tags[b]] = b
    return rows


@bare
def _row(rows, tag):
    """Row of a tag that contacts remember, -1 where it is gone."""
    at = np.int64(tag)
    return rows[at] if at < rows.shape[0] else np.int64(-1)


@bare
def _is_merged(b, bodies):
    return bodies.count[bodies.unit[b]] > 1


@bare
def is_moving(b, bodies):
    """Whether a body has a velocity."""
    total = 0.0
    for c in range(3):
        total += abs(bodies.v[b, c]) + abs(bodies.omega[b, c])
    return total > 0.0


@inner
def _touch(bodies, where, memory, calm, steps, loose):
    """Mark the merged bodies that restless ones press on."""
    for k in range(memory.shape[0]):
        if memory[k, STATE] == OPEN:
            continue
        a, b = _row(where, memory[k, A]), _row(where, memory[k, B])
        if a < 0 or b < 0:
            continue
        for side in range(2):
            one, other = (a, b) if side == 0 else (b, a)
            if bodies.kind[one] != DYNAMIC or not _is_merged(one, bodies):
                continue
            if bodies.kind[other] == DYNAMIC:
                loose[one] |= calm[other] < steps
            elif bodies.kind[other] == KINEMATIC and is_moving(other, bodies):
                loose[one] = True


@bare
def _are_one(a, b, bodies):
    """Whether two bodies are in one unit; all that does not move is one."""
    one, other = bodies.unit[a], bodies.unit[b]
    return one == other or (bodies.kind[one] == STATIC and bodies.kind[other] == STATIC)


@inner
def _command(joints, bodies, calm, freed, loose):
    """Free all joints of mechanisms of which one has a new command.

    One that stands merged with the ground comes loose as a whole: what a drive moves first may be
    coupled to it by joints of other bodies.
    """
    parent = np.arange(bodies.kind.shape[0])
    for j in range(joints.kind.shape[0]):
        a, b = joints.a[j], joints.b[j]
        if bodies.kind[a] == DYNAMIC and bodies.kind[b] == DYNAMIC:
            unite(parent, a, b)
    told = np.zeros(bodies.kind.shape[0], np.bool_)
    for j in range(joints.kind.shape[0]):
        if freed[j]:
            for side in range(2):
                b = joints.a[j] if side == 0 else joints.b[j]
                if bodies.kind[b] == DYNAMIC:
                    told[find(parent, b)] = True
                    calm[b] = 0
    for b in range(bodies.kind.shape[0]):
        if bodies.kind[b] == DYNAMIC and told[find(parent, b)]:
            if bodies.kind[bodies.unit[b]] != DYNAMIC:
                loose[b] = True
                calm[b] = 0
    for j in range(joints.kind.shape[0]):
        b = joints.a[j] if bodies.kind[joints.a[j]] == DYNAMIC else joints.b[j]
        freed[j] |= told[find(parent, b)]


@inner
def _bereave(bodies, where, inner_memory, loose):
    """Mark the merged bodies whose neighbour has gone, or was taken out of their unit."""
    for k in range(inner_memory.shape[0]):
        a, b = _row(where, inner_memory[k, A]), _row(where, inner_memory[k, B])
        if a >= 0 and b >= 0 and _are_one(a, b, bodies):
            continue
        if a >= 0:
            loose[a] = True
        if b >= 0:
            loose[b] = True


@inner
def _tilt(bodies, gravity, before, h, felt, most, loose):
    """Mark all members of units whose apparent gravity has changed since it was last looked at.

    before (nb, 3): velocities a step ago.
    """
    changed = np.zeros(bodies.kind.shape[0], np.bool_)
    any_ = False
    for b in range(bodies.kind.shape[0]):
        if bodies.count[b] <= 1 or bodies.kind[b] == STATIC:
            continue
        q = bodies.q[b]
        x, y, z = rotate_back(
            q[0], q[1], q[2], q[3],
            gravity[0] - (bodies.v[b, 0] - before[b, 0]) / h,
            gravity[1] - (bodies.v[b, 1] - before[b, 1]) / h,
            gravity[2] - (bodies.v[b, 2] - before[b, 2]) / h,
        )  # fmt: skip
        dx, dy, dz = x - felt[b, 0], y - felt[b, 1], z - felt[b, 2]
        if dx * dx + dy * dy + dz * dz > most * most:
            felt[b, 0], felt[b, 1], felt[b, 2] = x, y, z
            changed[b] = any_ = True
    if any_:
        for b in range(bodies.kind.shape[0]):
            if changed[bodies.unit[b]] and bodies.kind[b] == DYNAMIC:
                loose[b] = True


@jit
def split(bodies, joints, tags, memory, inner_memory, calm, felt, before, gravity, h, quiet,
          loose, freed):  # fmt: skip
    """Cut the edges of what is disturbed; return memory, inner memory and how many were cut off.

    loose (nb,): bodies to cut off in any case; freed (nj,): joints whose command has changed.
    """
    nb = bodies.kind.shape[0]
    steps = np.int64(quiet[STEPS])
    where = _rows_of(tags)
    _touch(bodies, where, memory, calm, steps, loose)
    _tilt(bodies, gravity, before, h, felt, quiet[TILT], loose)
    _bereave(bodies, where, inner_memory, loose)
    _command(joints, bodies, calm, freed, loose)
    cut = np.int64(0)
    for b in range(nb):
        if loose[b]:
            if bodies.kind[b] == DYNAMIC and _is_merged(b, bodies):
                cut += 1
            else:
                loose[b] = False
    edges = np.zeros(joints.kind.shape[0], np.bool_)
    for j in range(joints.kind.shape[0]):
        if joints.kind[j] == GEAR or not is_inner(j, joints, bodies):
            continue
        edges[j] = not freed[j]
        if freed[j]:
            cut += 1
    if cut == 0:
        return memory, inner_memory, cut
    parent, anchor = _alone(bodies)
    for k in range(inner_memory.shape[0]):
        a = _row(where, inner_memory[k, A])
        b = _row(where, inner_memory[k, B])
        if a >= 0 and b >= 0 and not (loose[a] or loose[b]):
            _join(parent, anchor, a, b)
    for j in range(joints.kind.shape[0]):
        if edges[j]:
            _join(parent, anchor, joints.a[j], joints.b[j])
    _regroup(bodies, parent, anchor, False)
    memory, inner_memory = _sort_memory(bodies, where, memory, inner_memory)
    return memory, inner_memory, cut


# ---- what rests -----------------------------------------------------------------------------


@jit
def merge(bodies, joints, tags, memory, inner_memory, calm, quiet, pressed, steady):
    """Merge what has been quiet for long enough.

    pressed (nb,): bodies that something else acts on, which do not merge; steady (nj,): joints
    whose commands stand still. Returns memory, inner memory, the energy (J) that was lost, and how
    many bodies were merged.
    """
    nb, steps = bodies.kind.shape[0], np.int64(quiet[STEPS])
    where = _rows_of(tags)
    held, loud = np.zeros(nb, np.bool_), pressed.copy()
    rows = np.empty((memory.shape[0], 2), np.int64)
    for k in range(memory.shape[0]):
        a, b = _row(where, memory[k, A]), _row(where, memory[k, B])
        rows[k, 0], rows[k, 1] = a, b
        state = memory[k, STATE]
        if state == OPEN:
            continue
        for side in range(2):
            one = rows[k, side]
            # a body on trial stays where the same speed would not have merged it: no flicker
            tried = calm[one] >= steps
            if state == QUIET or state == (STAYS if tried else CREEPS):
                held[one] = True
            else:
                loud[one] = True
    still = np.zeros(joints.kind.shape[0], np.bool_)
    for j in range(joints.kind.shape[0]):
        if joints.kind[j] == GEAR:
            continue
        still[j] = steady[j] and _joint_speed(j, joints, bodies) < quiet[JOINT_SPEED]
    _whole_mechanisms(joints, bodies, still, held)
    ready = False
    for b in range(nb):
        if bodies.kind[b] != DYNAMIC:
            continue
        if loud[b] or not (held[b] or _is_merged(b, bodies)):
            calm[b] = 0
        else:
            calm[b] += 1
            ready |= held[b] and calm[b] >= steps
    if not ready:
        return memory, inner_memory, 0.0, np.int64(0)
    parent, anchor = _alone(bodies)
    for b in range(nb):  # what is one stays one
        if bodies.unit[b] != b:
            _join(parent, anchor, b, bodies.unit[b])
    joined = np.int64(0)
    for k in range(memory.shape[0]):
        a, b = rows[k, 0], rows[k, 1]
        if (
            memory[k, STATE] >= STAYS
            and (bodies.kind[a] != DYNAMIC or calm[a] >= steps)
            and (bodies.kind[b] != DYNAMIC or calm[b] >= steps)
        ):
            joined += _join(parent, anchor, a, b)
    for j in range(joints.kind.shape[0]):
        a, b = joints.a[j], joints.b[j]
        if (
            still[j]
            and (bodies.kind[a] != DYNAMIC or calm[a] >= steps)
            and (bodies.kind[b] != DYNAMIC or calm[b] >= steps)
        ):  # fmt: skip
            joined += _join(parent, anchor, a, b)
    if joined == 0:
        return memory, inner_memory, 0.0, joined
    lost = _regroup(bodies, parent, anchor, True)
    memory, inner_memory = _sort_memory(bodies, where, memory, inner_memory)
    return memory, inner_memory, lost, joined


@inner
def _whole_mechanisms(joints, bodies, still, held):
    """Let joints be still only where all of their mechanism are; they hold the bodies they join.

    A free hinge inside a mechanism that moves would bear whatever comes. One that moves keeps its
    bodies apart, not each of them from what lies on it.
    """
    parent = np.arange(bodies.kind.shape[0])
    for j in range(joints.kind.shape[0]):
        if bodies.kind[joints.a[j]] == DYNAMIC and bodies.kind[joints.b[j]] == DYNAMIC:
            unite(parent, joints.a[j], joints.b[j])
    moves = np.zeros(bodies.kind.shape[0], np.bool_)
    for j in range(joints.kind.shape[0]):
        b = joints.a[j] if bodies.kind[joints.a[j]] == DYNAMIC else joints.b[j]
        if joints.kind[j] != GEAR and not still[j]:
            moves[find(parent, b)] = True
    for j in range(joints.kind.shape[0]):
        a, b = joints.a[j], joints.b[j]
        still[j] &= not moves[find(parent, a if bodies.kind[a] == DYNAMIC else b)]
        if still[j]:
            held[a] = held[b] = True


@bare
def _joint_speed(j, joints, bodies):
    """Relative angular speed of the bodies of a joint and of their points at it, as one (1/s)."""
    a, b = joints.a[j], joints.b[j]
    total = 0.0
    for c in range(3):
        total += (bodies.omega[a, c] - bodies.omega[b, c]) ** 2
    dx = bodies.x[b, 0] - bodies.x[a, 0]
    dy = bodies.x[b, 1] - bodies.x[a, 1]
    dz = bodies.x[b, 2] - bodies.x[a, 2]
    w = bodies.omega[a]
    x = bodies.v[b, 0] - bodies.v[a, 0] - (w[1] * dz - w[2] * dy)
    y = bodies.v[b, 1] - bodies.v[a, 1] - (w[2] * dx - w[0] * dz)
    z = bodies.v[b, 2] - bodies.v[a, 2] - (w[0] * dy - w[1] * dx)
    return math.sqrt(total + x * x + y * y + z * z)


@bare
def judge(contacts, rows, first, last, bodies, gravity, h, quiet, memory):
    """Say of each contact in memory (k, MEMORY) how quiet it is.

    Bodies have the velocities of the end of the step. One that will strike is restless, too; those
    between bodies that do not move by forces have no rows, and stay as they are.
    """
    pull = h * math.sqrt(gravity[0] ** 2 + gravity[1] ** 2 + gravity[2] ** 2)
    k = first
    while k < last:
        a, b = rows.ends[k, 0], rows.ends[k, 1]
        light = np.inf
        size = 0.0
        for side in range(2):
            w = bodies.w[rows.ends[k, side]]
            if w > 0.0 and 1.0 / w < light:
                light, size = 1.0 / w, mean_radius(rows.ends[k, side], bodies)
        at = rows.source[k]
        if rows.lam[k] <= quiet[PRESS] * pull * light:
            closing = speed_along(rows.G[k], a, b, bodies)
            strikes = closing < -quiet[SPEED] and contacts.gap[at] + AHEAD * h * closing < 0.0
            memory[at, STATE] = LOUD if strikes else OPEN
        else:
            fast, turn = 0.0, 0.0
            for c in range(3):
                fast += speed_along(rows.G[k + c], a, b, bodies) ** 2
                turn += (bodies.omega[a, c] - bodies.omega[b, c]) ** 2
            fast = math.sqrt(max(fast, turn * size * size))  # what rolls is not at rest
            rub = math.sqrt(rows.lam[k + 1] ** 2 + rows.lam[k + 2] ** 2)
            most = max(rows.mu[k + 1], rows.mu[k + 2]) * pressing(rows, k)
            if fast < quiet[SPEED] and (rub <= quiet[CONE] * most or fast < STILL * quiet[SPEED]):
                memory[at, STATE] = QUIET
            elif fast < quiet[SPLIT_SPEED] and rub <= quiet[SPLIT_CONE] * most:
                memory[at, STATE] = STAYS
            elif fast < CREEP * quiet[SPEED]:
                memory[at, STATE] = CREEPS
            else:
                memory[at, STATE] = LOUD
        k += rows_of(rows, k)


# ---- groups ---------------------------------------------------------------------------------


@inner
def _alone(bodies):
    """Each body by itself; anchor: the row that a group cannot leave, -1: none. 0: the ground."""
    nb = bodies.kind.shape[0]
    parent, anchor = np.arange(nb), np.full(nb, -1, np.int64)
    for b in range(nb):
        if bodies.kind[b] == STATIC:
            parent[b] = 0
            anchor[b] = 0
        elif bodies.kind[b] != DYNAMIC:
            anchor[b] = b
    return parent, anchor


@bare
def _join(parent, anchor, a, b):
    """Make one group of two, unless they hang on different anchors; return whether it is new."""
    a, b = find(parent, a), find(parent, b)
    if a == b or (anchor[a] >= 0 and anchor[b] >= 0):
        return 0
    low, high = min(a, b), max(a, b)
    parent[high] = low
    anchor[low] = max(anchor[a], anchor[b])
    return 1


@inner
def _regroup(bodies, parent, anchor, moves):
    """Take over the groups as units; those that are new get mass, seats and, if `moves`, motion.

    Returns the energy (J) that merging took: momentum and angular momentum are kept.
    """
    nb = bodies.kind.shape[0]
    leader, size = np.empty(nb, np.int64), np.zeros(nb, np.int64)
    head = np.full(nb, -1, np.int64)
    for b in range(nb):
        root = find(parent, b)
        if anchor[root] >= 0:
            leader[b] = anchor[root]
        else:
            if head[root] < 0:
                head[root] = b  # the first of them
            leader[b] = head[root]
        if bodies.kind[b] == STATIC:
            leader[b] = b
        size[leader[b]] += 1
    fresh = np.zeros(nb, np.bool_)
    for b in range(nb):
        if size[b] > 1 and (bodies.count[b] != size[b] or moves):
            fresh[b] = bodies.count[b] != size[b]
    for b in range(nb):  # as many, but others: a member went as another came
        if bodies.unit[b] != leader[b]:
            fresh[leader[b]] = size[leader[b]] > 1
    for b in range(nb):
        if bodies.kind[b] == DYNAMIC:
            bodies.unit[b] = leader[b]
            bodies.count[b] = size[b] if leader[b] == b else 0
        else:
            bodies.unit[b], bodies.count[b] = b, size[b]
    return _form(bodies, fresh, moves)


@inner
def _form(bodies, fresh, moves):
    """Mass, middle, moments, seats and motion of the units that are fresh (nb,)."""
    nb, lost = bodies.kind.shape[0], 0.0
    mass, first, speed = np.zeros(nb), np.zeros((nb, 3)), np.zeros((nb, 3))
    for b in range(nb):
        unit = bodies.unit[b]
        if fresh[unit] and bodies.kind[unit] == DYNAMIC:
            m = 1.0 / bodies.w[b]
            mass[unit] += m
            for c in range(3):
                first[unit, c] += m * bodies.x[b, c]
                speed[unit, c] += m * bodies.v[b, c]
    inertia, turning = np.zeros((nb, 3, 3)), np.zeros((nb, 3))
    for b in range(nb):
        unit = bodies.unit[b]
        if not fresh[unit] or bodies.kind[unit] != DYNAMIC:
            continue
        m, own, q = 1.0 / bodies.w[b], bodies.moments[b], bodies.q[b]
        r0 = bodies.x[b, 0] - first[unit, 0] / mass[unit]
        r1 = bodies.x[b, 1] - first[unit, 1] / mass[unit]
        r2 = bodies.x[b, 2] - first[unit, 2] / mass[unit]
        v0 = bodies.v[b, 0] - speed[unit, 0] / mass[unit]
        v1 = bodies.v[b, 1] - speed[unit, 1] / mass[unit]
        v2 = bodies.v[b, 2] - speed[unit, 2] / mass[unit]
        turning[unit, 0] += bodies.L[b, 0] + m * (r1 * v2 - r2 * v1)
        turning[unit, 1] += bodies.L[b, 1] + m * (r2 * v0 - r0 * v2)
        turning[unit, 2] += bodies.L[b, 2] + m * (r0 * v1 - r1 * v0)
        ax, ay, az, bx, by, bz, cx, cy, cz = axes(q[0], q[1], q[2], q[3])
        one = inertia[unit]
        i0, i1, i2 = own[0], own[1], own[2]
        one[0, 0] += i0 * ax * ax + i1 * bx * bx + i2 * cx * cx + m * (r1 * r1 + r2 * r2)
        one[1, 1] += i0 * ay * ay + i1 * by * by + i2 * cy * cy + m * (r0 * r0 + r2 * r2)
        one[2, 2] += i0 * az * az + i1 * bz * bz + i2 * cz * cz + m * (r0 * r0 + r1 * r1)
        one[0, 1] += i0 * ax * ay + i1 * bx * by + i2 * cx * cy - m * r0 * r1
        one[0, 2] += i0 * ax * az + i1 * bx * bz + i2 * cx * cz - m * r0 * r2
        one[1, 2] += i0 * ay * az + i1 * by * bz + i2 * cy * cz - m * r1 * r2
    spin, frame = np.zeros((nb, 3)), np.empty((3, 3))
    for b in range(nb):
        if not fresh[b]:
            continue
        if bodies.kind[b] == STATIC:
            continue
        if bodies.kind[b] != DYNAMIC:
            place_unit(b, bodies)
            for c in range(3):
                speed[b, c], spin[b, c] = bodies.v[b, c], bodies.omega[b, c]
            continue
        one = inertia[b]
        one[1, 0], one[2, 0], one[2, 1] = one[0, 1], one[0, 2], one[1, 2]
        _principal(one, frame)
        p = bodies.unit_q[b]
        _set_turn(frame, p)
        bodies.unit_w[b] = 1.0 / mass[b]
        for c in range(3):
            bodies.middle[b, c] = first[b, c] / mass[b]
            bodies.unit_moments[b, c] = one[c, c]
            speed[b, c] /= mass[b]
        for c in range(3):
            along = (
                frame[0, c] * turning[b, 0] + frame[1, c] * turning[b, 1]
                + frame[2, c] * turning[b, 2]
            ) / one[c, c]  # fmt: skip
            for e in range(3):
                spin[b, e] += along * frame[e, c]
    motion = np.empty(6)
    for b in range(nb):
        unit = bodies.unit[b]
        if bodies.kind[b] != DYNAMIC or not fresh[unit]:
            continue
        if bodies.kind[unit] == STATIC:  # it stays where it is
            if moves and is_moving(b, bodies):
                lost += _energy(b, bodies)
                motion[:] = 0.0
                give_motion(b, bodies, motion)
                place_frame(b, bodies)
            continue
        p, s, q = bodies.unit_q[unit], bodies.seat[b], bodies.q[b]
        x = bodies.x[b, 0] - bodies.middle[unit, 0]
        y = bodies.x[b, 1] - bodies.middle[unit, 1]
        z = bodies.x[b, 2] - bodies.middle[unit, 2]
        s[0], s[1], s[2] = rotate_back(p[0], p[1], p[2], p[3], x, y, z)
        s[3], s[4], s[5], s[6] = normalise(*multiply(
            p[0], -p[1], -p[2], -p[3], q[0], q[1], q[2], q[3]
        ))  # fmt: skip
        if moves:
            w = spin[unit]
            motion[0] = speed[unit, 0] + w[1] * z - w[2] * y
            motion[1] = speed[unit, 1] + w[2] * x - w[0] * z
            motion[2] = speed[unit, 2] + w[0] * y - w[1] * x
            motion[3], motion[4], motion[5] = w[0], w[1], w[2]
            lost += _energy(b, bodies)
            give_motion(b, bodies, motion)
            place_frame(b, bodies)
            lost -= _energy(b, bodies)
    return lost


@bare
def _energy(b, bodies):
    """Kinetic energy (J) of a body."""
    v, w, turn = bodies.v[b], bodies.omega[b], bodies.L[b]
    straight = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / bodies.w[b]
    return 0.5 * (straight + turn[0] * w[0] + turn[1] * w[1] + turn[2] * w[2])


@bare
def _set_turn(r, q):
    """Set the quaternion q (4,) to the rotation r (3, 3)."""
    w = r[0, 0] + r[1, 1] + r[2, 2]
    best, most = 3, w
    for c in range(3):
        if r[c, c] > most:
            best, most = c, r[c, c]
    if best == 3:
        q[0] = 1.0 + w
        q[1], q[2], q[3] = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    else:
        i, j, k = best, (best + 1) % 3, (best + 2) % 3
        q[0] = r[k, j] - r[j, k]
        q[1 + i] = 1.0 + r[i, i] - r[j, j] - r[k, k]
        q[1 + j] = r[i, j] + r[j, i]
        q[1 + k] = r[k, i] + r[i, k]
    q[0], q[1], q[2], q[3] = normalise(q[0], q[1], q[2], q[3])


@bare
def _principal(a, frame):
    """Diagonalise a symmetric a (3, 3) in place by Jacobi's rotations; frame: its axes."""
    for i in range(3):
        for j in range(3):
            frame[i, j] = 1.0 if i == j else 0.0
    for _ in range(ROTATIONS):
        off = abs(a[0, 1]) + abs(a[0, 2]) + abs(a[1, 2])
        if off <= 1e-16 * (abs(a[0, 0]) + abs(a[1, 1]) + abs(a[2, 2])):
            break
        for p in range(2):
            for q in range(p + 1, 3):
                if a[p, q] == 0.0:
                    continue
                theta = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
                t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
                if theta < 0.0:
                    t = -t
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(3):
                    x, y = a[k, p], a[k, q]
                    a[k, p], a[k, q] = c * x - s * y, s * x + c * y
                for k in range(3):
                    x, y = a[p, k], a[q, k]
                    a[p, k], a[q, k] = c * x - s * y, s * x + c * y
                for k in range(3):
                    x, y = frame[k, p], frame[k, q]
                    frame[k, p], frame[k, q] = c * x - s * y, s * x + c * y


# ---- what contacts remember -----------------------------------------------------------------


@bare
def _before(p, q):
    """Whether what p remembers comes before q: by smaller tag, larger tag, way, feature."""
    a, b = min(p[A], p[B]), min(q[A], q[B])
    if a != b:
        return a < b
    a, b = max(p[A], p[B]), max(q[A], q[B])
    if a != b:
        return a < b
    a, b = 0 if p[A] < p[B] else 1, 0 if q[A] < q[B] else 1
    if a != b:
        return a < b
    return p[FEATURE] < q[FEATURE]


@inner
def _sort_memory(bodies, where, memory, inner_memory):
    """Part what is remembered anew: of contacts between units, and of those inside."""
    total = memory.shape[0] + inner_memory.shape[0]
    outside, inside = np.empty((total, MEMORY)), np.empty((total, MEMORY))
    n, m, i, j = 0, 0, 0, 0
    while i < memory.shape[0] or j < inner_memory.shape[0]:
        if j == inner_memory.shape[0]:
            one = memory[i]
            i += 1
        elif i == memory.shape[0] or _before(inner_memory[j], memory[i]):
            one = inner_memory[j]
            j += 1
        else:
            one = memory[i]
            i += 1
        a, b = _row(where, one[A]), _row(where, one[B])
        if a < 0 or b < 0:
            continue
        same = _are_one(a, b, bodies)
        if same and one[STATE] != OPEN:
            inside[m] = one
            m += 1
        elif not same:
            outside[n] = one
            n += 1
    return outside[:n].copy(), inside[:m].copy()
