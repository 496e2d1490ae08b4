"""Motion of spheres and of rigid bodies made of spheres: kicks, drifts, and sums of forces.

Spheres: x (n, 4) position and radius; v (n, 4) velocity and inverse mass; spin (n, 4) angular
velocity and inverse moment of inertia; f (n, 8) force and torque. owner[i] < 0 for single spheres.
Bodies: place (m, 4) centre and inverse mass; pace (m, 4) velocity and the way that a sphere may
have gone since the list of pairs was made; turn (m, 4) quaternion; momentum (m, 4) angular momentum
in the body's frame and the longest arm of a sphere; inertia (m, 4) principal moments and the way
that the list allows. The spheres of body b are rows[first[b]:first[b + 1]], at offset (3) in it.
"""

from __future__ import annotations

import math

from berm.kernels.fused import inline, inner
from berm.kernels.jit import pjit, prange
from berm.kernels.rotation import free_turn, rotate, rotate_back

CHUNK = 128  # bodies that one thread moves at a time


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
    """Move a slab's single spheres, clear all its forces, note whether one has gone too far."""
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
    for k in range(first[b], first[b + 1]):
        i = rows[k]
        ux, uy, uz = f[i, 0], f[i, 1], f[i, 2]
        if ux == 0.0 and uy == 0.0 and uz == 0.0:
            continue
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
def drift_body(b, h, place, pace, turn, momentum, inertia):
    """Centre and orientation of body b by h (s), without torque."""
    for c in range(3):
        place[b, c] += h * pace[b, c]
    (turn[b, 0], turn[b, 1], turn[b, 2], turn[b, 3],
     momentum[b, 0], momentum[b, 1], momentum[b, 2]) = free_turn(
        turn[b, 0], turn[b, 1], turn[b, 2], turn[b, 3],
        momentum[b, 0], momentum[b, 1], momentum[b, 2],
        inertia[b, 0], inertia[b, 1], inertia[b, 2], h,
    )  # fmt: skip


@inline
def carry_spheres(b, first, rows, offset, place, pace, turn, momentum, inertia, x, v, spin):
    """Set the spheres of body b to its pose and velocities, [Bell05] 3.1."""
    qw, qx, qy, qz = turn[b, 0], turn[b, 1], turn[b, 2], turn[b, 3]
    wx, wy, wz = rotate(
        qw, qx, qy, qz,
        momentum[b, 0] / inertia[b, 0], momentum[b, 1] / inertia[b, 1],
        momentum[b, 2] / inertia[b, 2],
    )  # fmt: skip
    for k in range(first[b], first[b + 1]):
        i = rows[k]
        ax, ay, az = rotate(qw, qx, qy, qz, offset[k, 0], offset[k, 1], offset[k, 2])
        x[i, 0], x[i, 1], x[i, 2] = place[b, 0] + ax, place[b, 1] + ay, place[b, 2] + az
        v[i, 0] = pace[b, 0] + wy * az - wz * ay
        v[i, 1] = pace[b, 1] + wz * ax - wx * az
        v[i, 2] = pace[b, 2] + wx * ay - wy * ax
        spin[i, 0], spin[i, 1], spin[i, 2] = wx, wy, wz


@inner
def kick_chunk(c, kick, gx, gy, gz, first, rows, place, pace, turn, momentum, x, f):
    """The kick of one chunk of bodies."""
    for b in range(c * CHUNK, min((c + 1) * CHUNK, first.shape[0] - 1)):
        kick_body(b, kick, gx, gy, gz, first, rows, place, pace, turn, momentum, x, f)


@inner
def drift_chunk(
    c, h, first, rows, offset, place, pace, turn, momentum, inertia, x, v, spin, stale
):  # fmt: skip
    """Drift one chunk of bodies with their spheres; note whether a sphere may have gone too far."""
    far = False
    for b in range(c * CHUNK, min((c + 1) * CHUNK, first.shape[0] - 1)):
        drift_body(b, h, place, pace, turn, momentum, inertia)
        carry_spheres(b, first, rows, offset, place, pace, turn, momentum, inertia, x, v, spin)
        i = rows[first[b]]
        speed2 = pace[b, 0] ** 2 + pace[b, 1] ** 2 + pace[b, 2] ** 2
        rate2 = spin[i, 0] ** 2 + spin[i, 1] ** 2 + spin[i, 2] ** 2
        pace[b, 3] += h * (math.sqrt(speed2) + momentum[b, 3] * math.sqrt(rate2))
        if not pace[b, 3] <= inertia[b, 3]:
            far = True
    stale[c] = far


@inner
def _carry_chunk(c, first, rows, offset, place, pace, turn, momentum, inertia, x, v, spin):
    for b in range(c * CHUNK, min((c + 1) * CHUNK, first.shape[0] - 1)):
        carry_spheres(b, first, rows, offset, place, pace, turn, momentum, inertia, x, v, spin)


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

