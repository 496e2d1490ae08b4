"""Motion of spheres: kicks, drifts, and what they and the rigid bodies made of them share.

Spheres: x (n, 4) position and radius; v (n, 4) velocity and inverse mass; spin (n, 4) angular
velocity and inverse moment of inertia; f (n, 8) force, 0, torque, 0. owner[i] < 0 for single
spheres.
Bodies: as in `body_blocks`.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.fused import inline, inner
from berm.kernels.geometry.rotation import axes, rotate
from berm.kernels.jit import pjit, prange
from berm.kernels.simd.vec4 import FOUR, keep_last, next_axis
from berm.kernels.simd.vec8 import fma, lane, quad, quad_of, set_quad, splat4

CHUNK = 16  # bodies that are seen to at a time


@inline
def kick_and_drift(i, h, kick, gx, gy, gz, x, v, spin, f):
    """Leap-frog of one sphere: velocities by `kick` (s), then position by h (s)."""
    u, w = quad(v, i), quad(spin, i)
    fall = kick if lane(u, 3) > 0.0 else 0.0  # a fixed one stays
    u = u + quad_of(fall * gx, fall * gy, fall * gz, 0.0)
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
def total_force(b, here, first, rows, x, f):
    """Force on body b and torque about its centre `here` from the forces on its spheres."""
    nil = splat4(0.0)
    force = torque = twist = back = nil
    # unsigned: no test for below 0
    k, end = np.uint64(first[np.uint64(b)]), np.uint64(first[np.uint64(b + 1)])
    while k + np.uint64(FOUR) <= end:
        i, j, m, n = rows[k], rows[k + np.uint64(1)], rows[k + np.uint64(2)], rows[k + np.uint64(3)]
        p, q, r, s = quad(f, 2 * i), quad(f, 2 * j), quad(f, 2 * m), quad(f, 2 * n)
        a, c, d, e = quad(x, i) - here, quad(x, j) - here, quad(x, m) - here, quad(x, n) - here
        force = force + ((p + q) + (r + s))
        torque = torque + (
            (quad(f, 2 * i + 1) + quad(f, 2 * j + 1)) + (quad(f, 2 * m + 1) + quad(f, 2 * n + 1))
        )
        # arm x push, its axes one place on; nothing in the last lane, as there is none in push
        twist = fma(a, next_axis(p), fma(c, next_axis(q), twist))
        back = fma(next_axis(a), p, fma(next_axis(c), q, back))
        twist = fma(d, next_axis(r), fma(e, next_axis(s), twist))
        back = fma(next_axis(d), r, fma(next_axis(e), s, back))
        k += np.uint64(FOUR)
    while k < end:
        i = rows[k]
        push, arm = quad(f, 2 * i), quad(x, i) - here
        force, torque = force + push, torque + quad(f, 2 * i + 1)
        twist, back = fma(arm, next_axis(push), twist), fma(next_axis(arm), push, back)
        k += np.uint64(1)
    return force, torque + next_axis(twist - back)


@inline
def carry_spheres(k, first, rows, offset, centre, velocity, m, frame, x, v, spin):
    """Set the spheres of body k to its pose and motion, [Bell05] 3.1.

    frame (.., 16): its axes and its spin in the world, a quad each, in row m.
    """
    here, speed, turning = quad(centre, k), quad(velocity, k), quad(frame, 4 * m + 3)
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
def _carry_chunk(c, first, rows, offset, centre, velocity, attitude, momentum, inertia, x, v, spin):
    frame = np.zeros((1, 16))
    for k in range(c * CHUNK, min((c + 1) * CHUNK, first.shape[0] - 1)):
        qw, qx, qy, qz = attitude[k, 0], attitude[k, 1], attitude[k, 2], attitude[k, 3]
        wx, wy, wz = rotate(
            qw, qx, qy, qz, momentum[k, 0] / inertia[k, 0], momentum[k, 1] / inertia[k, 1],
            momentum[k, 2] / inertia[k, 2],
        )  # fmt: skip
        ax, ay, az, bx, by, bz, cx, cy, cz = axes(qw, qx, qy, qz)
        set_quad(frame, 0, quad_of(ax, ay, az, 0.0))
        set_quad(frame, 1, quad_of(bx, by, bz, 0.0))
        set_quad(frame, 2, quad_of(cx, cy, cz, 0.0))
        set_quad(frame, 3, quad_of(wx, wy, wz, 0.0))
        carry_spheres(k, first, rows, offset, centre, velocity, 0, frame, x, v, spin)


@pjit
def carry_all(first, rows, offset, centre, velocity, attitude, momentum, inertia, x, v, spin):
    """Set the spheres of all bodies to their bodies' poses and velocities."""
    for c in prange((first.shape[0] - 1 + CHUNK - 1) // CHUNK):
        _carry_chunk(
            c, first, rows, offset, centre, velocity, attitude, momentum, inertia, x, v, spin
        )


@inner
def _sum_chunk(c, first, rows, centre, x, f, out):
    for b in range(c * CHUNK, min((c + 1) * CHUNK, first.shape[0] - 1)):
        force, torque = total_force(b, quad(centre, b), first, rows, x, f)
        for a in range(3):
            out[b, a], out[b, 3 + a] = lane(force, a), lane(torque, a)


@pjit
def sum_forces(first, rows, centre, x, f, out):
    """Force and torque (m, 6) of all bodies."""
    for c in prange((first.shape[0] - 1 + CHUNK - 1) // CHUNK):
        _sum_chunk(c, first, rows, centre, x, f, out)
