"""Motion of spheres and of rigid bodies made of spheres: kicks, drifts, and sums of forces.

Spheres: x (n, 4) position and radius; v (n, 4) velocity and inverse mass; spin (n, 4) angular
velocity and inverse moment of inertia; f (n, 8) force and torque. owner[i] < 0 for single spheres.
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

CHUNK = 32  # bodies that are moved at a time
# Numbers of a block of bodies, number c of body m in b[c * CHUNK + m]: a plain loop over the bodies
# is then vector code.
FORCE, TORQUE, PLACE, LIGHT, PACE, TURN, MOMENTUM = (CHUNK * c for c in (0, 3, 6, 9, 10, 13, 17))
ARM, INERTIA, REF, ALLOWED, REF_TURN, SPIN, FAR = (CHUNK * c for c in (20, 21, 24, 27, 28, 32, 35))
AXES = CHUNK * 36  # of the body in the world, one after the other
NUMBERS = 45 * CHUNK


@inline
def kick_and_drift(i, h, kick, gx, gy, gz, x, v, spin, f):
    """Leap-frog of one sphere: velocities by `kick` (s), then position by h (s)."""
    w = kick * v[i, 3]
    v[i, 0] += w * f[i, 0] + kick * gx
    v[i, 1] += w * f[i, 1] + kick * gy
    v[i, 2] += w * f[i, 2] + kick * gz
    w = kick * spin[i, 3]
    spin[i, 0] += w * f[i, 3]
    spin[i, 1] += w * f[i, 4]
    spin[i, 2] += w * f[i, 5]
    x[i, 0] += h * v[i, 0]
    x[i, 1] += h * v[i, 1]
    x[i, 2] += h * v[i, 2]


@inner
def move_slab(s, slab, owner, h, kick, gx, gy, gz, x, v, spin, f, ref, stale):
    """Move a slab's single spheres, clear their forces, note whether one has gone too far."""
    far = False
    for i in range(slab[s], slab[s + 1]):
        if owner[i] < 0:
            kick_and_drift(i, h, kick, gx, gy, gz, x, v, spin, f)
            dx, dy, dz = x[i, 0] - ref[i, 0], x[i, 1] - ref[i, 1], x[i, 2] - ref[i, 2]
            if not dx * dx + dy * dy + dz * dz <= ref[i, 3]:
                far = True
            for c in range(6):
                f[i, c] = 0.0
    stale[s] = far


@inner
def kick_slab(s, slab, owner, kick, gx, gy, gz, x, v, spin, f):
    """The half kick that ends a step, for the single spheres of a slab."""
    for i in range(slab[s], slab[s + 1]):
        if owner[i] < 0:
            kick_and_drift(i, 0.0, kick, gx, gy, gz, x, v, spin, f)


@inline
def total_force(b, first, rows, place, x, f):
    """Force and torque about the centre of body b from the forces on its spheres."""
    fx, fy, fz, tx, ty, tz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(np.uint64(first[b]), np.uint64(first[b + 1])):  # unsigned: no test for below 0
        i = np.uint64(rows[k])
        ux, uy, uz = f[i, 0], f[i, 1], f[i, 2]
        ax, ay, az = x[i, 0] - place[b, 0], x[i, 1] - place[b, 1], x[i, 2] - place[b, 2]
        fx, fy, fz = fx + ux, fy + uy, fz + uz
        tx += f[i, 3] + ay * uz - az * uy
        ty += f[i, 4] + az * ux - ax * uz
        tz += f[i, 5] + ax * uy - ay * ux
    return fx, fy, fz, tx, ty, tz


@inline
def kick_body(b, kick, gx, gy, gz, first, rows, place, pace, turn, momentum, x, f):
    """Velocity and angular momentum of body b by the forces on its spheres."""
    fx, fy, fz, tx, ty, tz = total_force(b, first, rows, place, x, f)
    w = kick * place[b, 3]
    pace[b, 0] += w * fx + kick * gx
    pace[b, 1] += w * fy + kick * gy
    pace[b, 2] += w * fz + kick * gz
    tx, ty, tz = rotate_back(turn[b, 0], turn[b, 1], turn[b, 2], turn[b, 3], tx, ty, tz)
    momentum[b, 0] += kick * tx
    momentum[b, 1] += kick * ty
    momentum[b, 2] += kick * tz


@inline
def put_axes(m, qw, qx, qy, qz, b):
    """Write the axes of body m of a block, as they stand in the world."""
    ax, ay, az = rotate(qw, qx, qy, qz, 1.0, 0.0, 0.0)
    bx, by, bz = rotate(qw, qx, qy, qz, 0.0, 1.0, 0.0)
    cx, cy, cz = rotate(qw, qx, qy, qz, 0.0, 0.0, 1.0)
    b[AXES + m], b[AXES + CHUNK + m], b[AXES + 2 * CHUNK + m] = ax, ay, az
    b[AXES + 3 * CHUNK + m], b[AXES + 4 * CHUNK + m], b[AXES + 5 * CHUNK + m] = bx, by, bz
    b[AXES + 6 * CHUNK + m], b[AXES + 7 * CHUNK + m], b[AXES + 8 * CHUNK + m] = cx, cy, cz


@inline
def carry_spheres(m, begin, end, rows, offset, b, x, v, spin):
    """Set the spheres begin to end of body m of a block to its pose and motion, [Bell05] 3.1."""
    px, py, pz = b[PLACE + m], b[PLACE + CHUNK + m], b[PLACE + 2 * CHUNK + m]
    vx, vy, vz = b[PACE + m], b[PACE + CHUNK + m], b[PACE + 2 * CHUNK + m]
    wx, wy, wz = b[SPIN + m], b[SPIN + CHUNK + m], b[SPIN + 2 * CHUNK + m]
    ax, ay, az = b[AXES + m], b[AXES + CHUNK + m], b[AXES + 2 * CHUNK + m]
    bx, by, bz = b[AXES + 3 * CHUNK + m], b[AXES + 4 * CHUNK + m], b[AXES + 5 * CHUNK + m]
    cx, cy, cz = b[AXES + 6 * CHUNK + m], b[AXES + 7 * CHUNK + m], b[AXES + 8 * CHUNK + m]
    for k in range(np.uint64(begin), np.uint64(end)):  # unsigned: no test for below 0
        i = np.uint64(rows[k])
        u, s, t = offset[k, 0], offset[k, 1], offset[k, 2]
        ox = ax * u + bx * s + cx * t
        oy = ay * u + by * s + cy * t
        oz = az * u + bz * s + cz * t
        x[i, 0], x[i, 1], x[i, 2] = px + ox, py + oy, pz + oz
        v[i, 0] = vx + wy * oz - wz * oy
        v[i, 1] = vy + wz * ox - wx * oz
        v[i, 2] = vz + wx * oy - wy * ox
        spin[i, 0], spin[i, 1], spin[i, 2] = wx, wy, wz


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
        wx, wy, wz = rotate(qw, qx, qy, qz, lx / ix, ly / iy, lz / iz)
        b[SPIN + m], b[SPIN + CHUNK + m], b[SPIN + 2 * CHUNK + m] = wx, wy, wz
        put_axes(m, qw, qx, qy, qz, b)
        # a sphere has gone |dc| + 2 arm sin(angle / 2) at most
        px, py, pz = px - b[REF + m], py - b[REF + CHUNK + m], pz - b[REF + 2 * CHUNK + m]
        along = (
            qw * b[REF_TURN + m] + qx * b[REF_TURN + CHUNK + m]
            + qy * b[REF_TURN + 2 * CHUNK + m] + qz * b[REF_TURN + 3 * CHUNK + m]
        )  # fmt: skip
        turned = math.sqrt(max(1.0 - along * along, 0.0))
        way = math.sqrt(px * px + py * py + pz * pz) + 2.0 * b[ARM + m] * turned
        b[FAR + m] = way * way - b[ALLOWED + m]


@inner
def move_chunk(
    c, h, kick, gx, gy, gz, first, rows, offset, place, pace, turn, momentum, inertia, ref, x, v,
    spin, f, stale,
):  # fmt: skip
    """Move one chunk of bodies with their spheres, and clear the forces on these.

    Notes whether a sphere may have gone too far for the list of pairs.
    """
    b = np.ones(NUMBERS)
    start, end = c * CHUNK, min((c + 1) * CHUNK, first.shape[0] - 1)
    for k in range(start, end):
        m = k - start
        fx, fy, fz, tx, ty, tz = total_force(k, first, rows, place, x, f)
        for at in range(np.uint64(first[k]), np.uint64(first[k + 1])):
            i = np.uint64(rows[at])
            for a in range(6):
                f[i, a] = 0.0
        b[FORCE + m], b[FORCE + CHUNK + m], b[FORCE + 2 * CHUNK + m] = fx, fy, fz
        b[TORQUE + m], b[TORQUE + CHUNK + m], b[TORQUE + 2 * CHUNK + m] = tx, ty, tz
        b[LIGHT + m], b[ARM + m], b[ALLOWED + m] = place[k, 3], momentum[k, 3], ref[k, 3]
        for a in range(3):
            b[PLACE + a * CHUNK + m] = place[k, a]
            b[PACE + a * CHUNK + m] = pace[k, a]
            b[MOMENTUM + a * CHUNK + m] = momentum[k, a]
            b[INERTIA + a * CHUNK + m] = inertia[k, a]
            b[REF + a * CHUNK + m] = ref[k, a]
        for a in range(4):
            b[TURN + a * CHUNK + m] = turn[k, a]
            b[REF_TURN + a * CHUNK + m] = ref[k, 4 + a]
    _move_block(h, kick, gx, gy, gz, b)
    far = False
    for k in range(start, end):
        m = k - start
        for a in range(3):
            place[k, a] = b[PLACE + a * CHUNK + m]
            pace[k, a] = b[PACE + a * CHUNK + m]
            momentum[k, a] = b[MOMENTUM + a * CHUNK + m]
        for a in range(4):
            turn[k, a] = b[TURN + a * CHUNK + m]
        carry_spheres(m, first[k], first[k + 1], rows, offset, b, x, v, spin)
        if not b[FAR + m] <= 0.0:
            far = True
    stale[c] = far


@inner
def _carry_chunk(c, first, rows, offset, place, pace, turn, momentum, inertia, x, v, spin):
    b = np.ones(NUMBERS)
    for k in range(c * CHUNK, min((c + 1) * CHUNK, first.shape[0] - 1)):
        qw, qx, qy, qz = turn[k, 0], turn[k, 1], turn[k, 2], turn[k, 3]
        wx, wy, wz = rotate(
            qw, qx, qy, qz, momentum[k, 0] / inertia[k, 0], momentum[k, 1] / inertia[k, 1],
            momentum[k, 2] / inertia[k, 2],
        )  # fmt: skip
        b[SPIN], b[SPIN + CHUNK], b[SPIN + 2 * CHUNK] = wx, wy, wz
        for a in range(3):
            b[PLACE + a * CHUNK] = place[k, a]
            b[PACE + a * CHUNK] = pace[k, a]
        put_axes(0, qw, qx, qy, qz, b)
        carry_spheres(0, first[k], first[k + 1], rows, offset, b, x, v, spin)


@pjit
def carry_all(first, rows, offset, place, pace, turn, momentum, inertia, x, v, spin):
    """Set the spheres of all bodies to their bodies' poses and velocities."""
    for c in prange((first.shape[0] - 1 + CHUNK - 1) // CHUNK):
        _carry_chunk(c, first, rows, offset, place, pace, turn, momentum, inertia, x, v, spin)


@inner
def _sum_chunk(c, first, rows, place, x, f, out):
    for b in range(c * CHUNK, min((c + 1) * CHUNK, first.shape[0] - 1)):
        fx, fy, fz, tx, ty, tz = total_force(b, first, rows, place, x, f)
        out[b, 0], out[b, 1], out[b, 2] = fx, fy, fz
        out[b, 3], out[b, 4], out[b, 5] = tx, ty, tz


@pjit
def sum_forces(first, rows, place, x, f, out):
    """Force and torque (m, 6) of all bodies."""
    for c in prange((first.shape[0] - 1 + CHUNK - 1) // CHUNK):
        _sum_chunk(c, first, rows, place, x, f, out)
