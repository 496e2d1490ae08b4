"""Motion of spheres and of rigid bodies made of spheres: kicks, drifts, and sums of forces.

Spheres: x (n, 4) position and radius; v (n, 4) velocity and inverse mass; spin (n, 4) angular
velocity and inverse moment of inertia; f (n, 8) force, 0, torque, 0. owner[i] < 0 for single
spheres.
Bodies: place (m, 4) centre and inverse mass; pace (m, 4) velocity; turn (m, 4) quaternion; momentum
(m, 4) angular momentum in the body's frame and the longest arm of a sphere; inertia (m, 4)
principal moments; ref (m, 8) centre and quaternion when the list of pairs was made, and between
them the square of the way that a sphere may go until it is made anew. The spheres of body b are
rows[first[b]:first[b + 1]], at offset (3) in it.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.fused import inline, inner
from berm.kernels.jit import pjit, prange
from berm.kernels.rotation import free_turn, rotate, rotate_back
from berm.kernels.vec4 import FOUR, four, keep_last, next_axis, rows4, set_four, set_rows4
from berm.kernels.vec8 import fma, lane, quad, quad_of, set_quad, splat4

CHUNK = 16  # bodies that are moved at a time
BATCH = 16  # chunks that one thread moves with the same buffers
# Numbers of a block of bodies, number c of body m in b[c * CHUNK + m]: a plain loop over the bodies
# is then vector code. Those that come from one row and go to one stand together.
FORCE, TORQUE, PLACE, LIGHT, PACE, TURN, MOMENTUM = (CHUNK * c for c in (0, 4, 8, 11, 12, 16, 20))
ARM, INERTIA, REF, ALLOWED, REF_TURN, FAR = (CHUNK * c for c in (23, 24, 28, 31, 32, 36))
AXES = CHUNK * 37  # of the body in the world, one after the other, each with a number to spare
SPIN = CHUNK * 49
NUMBERS = 53 * CHUNK


@inline
def kick_and_drift(i, h, kick, gx, gy, gz, x, v, spin, f):
    """Leap-frog of one sphere: velocities by `kick` (s), then position by h (s)."""
    u, w = quad(v, i), quad(spin, i)
    u = u + quad_of(kick * gx, kick * gy, kick * gz, 0.0)
    u = fma(splat4(kick * lane(u, 3)), quad(f, 2 * i), u)
    set_quad(v, i, u)
    set_quad(spin, i, fma(splat4(kick * lane(w, 3)), quad(f, 2 * i + 1), w))
    here = fma(quad_of(h, h, h, 0.0), u, quad(x, i))
    set_quad(x, i, here)
    return here


@inner
def move_slab(s, slab, owner, h, kick, gx, gy, gz, x, v, spin, f, ref, stale):
    """Move a slab's single spheres, clear their forces, note whether one has gone too far."""
    far, nil = False, splat4(0.0)
    for i in range(slab[s], slab[s + 1]):
        if owner[i] < 0:
            way = kick_and_drift(i, h, kick, gx, gy, gz, x, v, spin, f) - quad(ref, i)
            dx, dy, dz = lane(way, 0), lane(way, 1), lane(way, 2)
            if not dx * dx + dy * dy + dz * dz <= ref[i, 3]:
                far = True
            set_quad(f, 2 * i, nil)
            set_quad(f, 2 * i + 1, nil)
    stale[s] = far


@inner
def kick_slab(s, slab, owner, kick, gx, gy, gz, x, v, spin, f):
    """The half kick that ends a step, for the single spheres of a slab."""
    for i in range(slab[s], slab[s + 1]):
        if owner[i] < 0:
            kick_and_drift(i, 0.0, kick, gx, gy, gz, x, v, spin, f)


@inline
def total_force(b, first, rows, place, x, f, clear):
    """Force and torque about the centre of body b from the forces on its spheres; clear these."""
    here, nil = quad(place, b), splat4(0.0)
    force = torque = twist = nil
    for k in range(first[b], first[b + 1]):
        i = rows[k]
        push, arm = quad(f, 2 * i), quad(x, i) - here
        force, torque = force + push, torque + quad(f, 2 * i + 1)
        if clear:
            set_quad(f, 2 * i, nil)
            set_quad(f, 2 * i + 1, nil)
        # arm x push, its axes one place on; nothing in the last lane, as there is none in push
        twist = fma(arm, next_axis(push), twist) - next_axis(arm) * push
    return force, torque + next_axis(twist)


@inline
def kick_body(b, kick, gx, gy, gz, first, rows, place, pace, turn, momentum, x, f):
    """Velocity and angular momentum of body b by the forces on its spheres."""
    force, torque = total_force(b, first, rows, place, x, f, False)
    w = kick * place[b, 3]
    pace[b, 0] += w * lane(force, 0) + kick * gx
    pace[b, 1] += w * lane(force, 1) + kick * gy
    pace[b, 2] += w * lane(force, 2) + kick * gz
    tx, ty, tz = rotate_back(
        turn[b, 0], turn[b, 1], turn[b, 2], turn[b, 3], lane(torque, 0), lane(torque, 1),
        lane(torque, 2),
    )  # fmt: skip
    momentum[b, 0] += kick * tx
    momentum[b, 1] += kick * ty
    momentum[b, 2] += kick * tz


@inline
def axes(qw, qx, qy, qz):
    """The axes of a body in the world, one after the other: half the work of turning three."""
    ux, uy, uz = 2.0 * qx, 2.0 * qy, 2.0 * qz
    xx, yy, zz = ux * qx, uy * qy, uz * qz
    xy, xz, yz = ux * qy, ux * qz, uy * qz
    wx, wy, wz = ux * qw, uy * qw, uz * qw
    return (
        1.0 - (yy + zz), xy + wz, xz - wy,
        xy - wz, 1.0 - (xx + zz), yz + wx,
        xz + wy, yz - wx, 1.0 - (xx + yy),
    )  # fmt: skip


@inline
def carry_spheres(k, first, rows, offset, place, pace, m, frame, x, v, spin):
    """Set the spheres of body k to its pose and motion, [Bell05] 3.1.

    frame (.., 16): its axes and its spin in the world, a quad each, in row m.
    """
    here, speed, turning = quad(place, k), quad(pace, k), quad(frame, 4 * m + 3)
    a, b, c = quad(frame, 4 * m), quad(frame, 4 * m + 1), quad(frame, 4 * m + 2)
    on = next_axis(turning)
    for at in range(first[k], first[k + 1]):
        i = rows[at]
        arm = splat4(offset[at, 2]) * c
        arm = fma(splat4(offset[at, 0]), a, fma(splat4(offset[at, 1]), b, arm))
        along = next_axis(turning * next_axis(arm) - on * arm)
        set_quad(x, i, keep_last(here + arm, quad(x, i)))
        set_quad(v, i, keep_last(speed + along, quad(v, i)))
        set_quad(spin, i, keep_last(turning, quad(spin, i)))


@inner
def kick_chunk(c, kick, gx, gy, gz, first, rows, place, pace, turn, momentum, x, f):
    """The kick of one chunk of bodies."""
    for b in range(c * CHUNK, min((c + 1) * CHUNK, first.shape[0] - 1)):
        kick_body(b, kick, gx, gy, gz, first, rows, place, pace, turn, momentum, x, f)


@inner
def _move_block(h, kick, gx, gy, gz, b):
    """Kick a block of bodies and let them drift, free of torque: plain arithmetic, vector code."""
    for m in range(CHUNK):
        w = kick * b[LIGHT + m]
        ux = b[PACE + m] + w * b[FORCE + m] + kick * gx
        uy = b[PACE + CHUNK + m] + w * b[FORCE + CHUNK + m] + kick * gy
        uz = b[PACE + 2 * CHUNK + m] + w * b[FORCE + 2 * CHUNK + m] + kick * gz
        b[PACE + m], b[PACE + CHUNK + m], b[PACE + 2 * CHUNK + m] = ux, uy, uz
        px, py = b[PLACE + m] + h * ux, b[PLACE + CHUNK + m] + h * uy
        pz = b[PLACE + 2 * CHUNK + m] + h * uz
        b[PLACE + m], b[PLACE + CHUNK + m], b[PLACE + 2 * CHUNK + m] = px, py, pz
        qw, qx = b[TURN + m], b[TURN + CHUNK + m]
        qy, qz = b[TURN + 2 * CHUNK + m], b[TURN + 3 * CHUNK + m]
        tx, ty, tz = rotate_back(
            qw, qx, qy, qz, b[TORQUE + m], b[TORQUE + CHUNK + m], b[TORQUE + 2 * CHUNK + m]
        )
        ix, iy, iz = b[INERTIA + m], b[INERTIA + CHUNK + m], b[INERTIA + 2 * CHUNK + m]
        qw, qx, qy, qz, lx, ly, lz = free_turn(
            qw, qx, qy, qz, b[MOMENTUM + m] + kick * tx, b[MOMENTUM + CHUNK + m] + kick * ty,
            b[MOMENTUM + 2 * CHUNK + m] + kick * tz, ix, iy, iz, h,
        )  # fmt: skip
        b[TURN + m], b[TURN + CHUNK + m] = qw, qx
        b[TURN + 2 * CHUNK + m], b[TURN + 3 * CHUNK + m] = qy, qz
        b[MOMENTUM + m], b[MOMENTUM + CHUNK + m], b[MOMENTUM + 2 * CHUNK + m] = lx, ly, lz
        ax, ay, az, bx, by, bz, cx, cy, cz = axes(qw, qx, qy, qz)
        b[AXES + m], b[AXES + CHUNK + m], b[AXES + 2 * CHUNK + m] = ax, ay, az
        b[AXES + 4 * CHUNK + m], b[AXES + 5 * CHUNK + m], b[AXES + 6 * CHUNK + m] = bx, by, bz
        b[AXES + 8 * CHUNK + m], b[AXES + 9 * CHUNK + m], b[AXES + 10 * CHUNK + m] = cx, cy, cz
        lx, ly, lz = lx / ix, ly / iy, lz / iz
        b[SPIN + m] = ax * lx + bx * ly + cx * lz
        b[SPIN + CHUNK + m] = ay * lx + by * ly + cy * lz
        b[SPIN + 2 * CHUNK + m] = az * lx + bz * ly + cz * lz
        # a sphere has gone |dc| + 2 arm sin(angle / 2) at most
        px, py, pz = px - b[REF + m], py - b[REF + CHUNK + m], pz - b[REF + 2 * CHUNK + m]
        along = (
            qw * b[REF_TURN + m] + qx * b[REF_TURN + CHUNK + m]
            + qy * b[REF_TURN + 2 * CHUNK + m] + qz * b[REF_TURN + 3 * CHUNK + m]
        )  # fmt: skip
        went2 = px * px + py * py + pz * pz
        turned2 = 4.0 * b[ARM + m] * b[ARM + m] * max(1.0 - along * along, 0.0)
        b[FAR + m] = went2 + turned2 + 2.0 * math.sqrt(went2 * turned2) - b[ALLOWED + m]


@inline
def _put_quads(columns, at, b):
    """Write four vectors, numbers of four bodies, to a block."""
    for a in range(FOUR):
        set_four(b, at + a * CHUNK, columns[a])


@inline
def _quads(at, b):
    """Four vectors of a block."""
    return (
        four(b, at), four(b, at + CHUNK), four(b, at + 2 * CHUNK), four(b, at + 3 * CHUNK)
    )  # fmt: skip


@inline
def _move_chunk(
    start, count, h, kick, gx, gy, gz, first, rows, offset, place, pace, turn, momentum, inertia,
    ref, x, v, spin, f, b, load, frame, who, lanes,
):  # fmt: skip
    """Move `count` bodies from `start` on; whether a sphere may have gone too far for the list."""
    for m in range(CHUNK):
        # a block that is not full ends with its last body over and over, and one result
        lanes[m] = m
        who[m] = start + min(m, count - 1)
    for m in range(count):
        force, torque = total_force(start + m, first, rows, place, x, f, True)
        set_quad(load, 2 * m, force)
        set_quad(load, 2 * m + 1, torque)
    for m in range(count, CHUNK):
        for a in range(8):
            load[m, a] = load[count - 1, a]
    for m in range(0, CHUNK, FOUR):
        _put_quads(rows4(load, lanes, m, 2, 0), FORCE + m, b)
        _put_quads(rows4(load, lanes, m, 2, 1), TORQUE + m, b)
        _put_quads(rows4(place, who, m, 1, 0), PLACE + m, b)
        _put_quads(rows4(pace, who, m, 1, 0), PACE + m, b)
        _put_quads(rows4(turn, who, m, 1, 0), TURN + m, b)
        _put_quads(rows4(momentum, who, m, 1, 0), MOMENTUM + m, b)
        _put_quads(rows4(inertia, who, m, 1, 0), INERTIA + m, b)
        _put_quads(rows4(ref, who, m, 2, 0), REF + m, b)
        _put_quads(rows4(ref, who, m, 2, 1), REF_TURN + m, b)
    _move_block(h, kick, gx, gy, gz, b)
    far = False
    for m in range(0, CHUNK, FOUR):
        set_rows4(place, who, m, 1, 0, _quads(PLACE + m, b))
        set_rows4(pace, who, m, 1, 0, _quads(PACE + m, b))
        set_rows4(turn, who, m, 1, 0, _quads(TURN + m, b))
        set_rows4(momentum, who, m, 1, 0, _quads(MOMENTUM + m, b))
        for a in range(3):
            set_rows4(frame, lanes, m, 4, a, _quads(AXES + 4 * CHUNK * a + m, b))
        set_rows4(frame, lanes, m, 4, 3, _quads(SPIN + m, b))
    for m in range(count):
        carry_spheres(start + m, first, rows, offset, place, pace, m, frame, x, v, spin)
        if not b[FAR + m] <= 0.0:
            far = True
    return far


@inner
def move_batch(
    c, h, kick, gx, gy, gz, first, rows, offset, place, pace, turn, momentum, inertia, ref, x, v,
    spin, f, stale,
):  # fmt: skip
    """Move one batch of bodies with their spheres, and clear the forces on these.

    Notes whether a sphere may have gone too far for the list of pairs.
    """
    b, load, frame = np.zeros(NUMBERS), np.empty((CHUNK, 8)), np.empty((CHUNK, 16))
    who, lanes = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
    far, end = False, min((c + 1) * BATCH * CHUNK, first.shape[0] - 1)
    for start in range(c * BATCH * CHUNK, end, CHUNK):
        far |= _move_chunk(
            start, min(CHUNK, end - start), h, kick, gx, gy, gz, first, rows, offset, place, pace,
            turn, momentum, inertia, ref, x, v, spin, f, b, load, frame, who, lanes,
        )  # fmt: skip
    stale[c] = far


@inner
def _carry_chunk(c, first, rows, offset, place, pace, turn, momentum, inertia, x, v, spin):
    frame = np.zeros((1, 16))
    for k in range(c * CHUNK, min((c + 1) * CHUNK, first.shape[0] - 1)):
        qw, qx, qy, qz = turn[k, 0], turn[k, 1], turn[k, 2], turn[k, 3]
        wx, wy, wz = rotate(
            qw, qx, qy, qz, momentum[k, 0] / inertia[k, 0], momentum[k, 1] / inertia[k, 1],
            momentum[k, 2] / inertia[k, 2],
        )  # fmt: skip
        ax, ay, az, bx, by, bz, cx, cy, cz = axes(qw, qx, qy, qz)
        set_quad(frame, 0, quad_of(ax, ay, az, 0.0))
        set_quad(frame, 1, quad_of(bx, by, bz, 0.0))
        set_quad(frame, 2, quad_of(cx, cy, cz, 0.0))
        set_quad(frame, 3, quad_of(wx, wy, wz, 0.0))
        carry_spheres(k, first, rows, offset, place, pace, 0, frame, x, v, spin)


@pjit
def carry_all(first, rows, offset, place, pace, turn, momentum, inertia, x, v, spin):
    """Set the spheres of all bodies to their bodies' poses and velocities."""
    for c in prange((first.shape[0] - 1 + CHUNK - 1) // CHUNK):
        _carry_chunk(c, first, rows, offset, place, pace, turn, momentum, inertia, x, v, spin)


@inner
def _sum_chunk(c, first, rows, place, x, f, out):
    for b in range(c * CHUNK, min((c + 1) * CHUNK, first.shape[0] - 1)):
        force, torque = total_force(b, first, rows, place, x, f, False)
        for a in range(3):
            out[b, a], out[b, 3 + a] = lane(force, a), lane(torque, a)


@pjit
def sum_forces(first, rows, place, x, f, out):
    """Force and torque (m, 6) of all bodies."""
    for c in prange((first.shape[0] - 1 + CHUNK - 1) // CHUNK):
        _sum_chunk(c, first, rows, place, x, f, out)
