"""Bodies that joints hold together, moved by the multibody core between the forces of spheres.

Such bodies are covered by spheres like all others, but sit in no block of `body_blocks`: in each
small step of h they are moved here. Spheres and blocks go by leap-frog, half kicks at the ends of
a world's step; a mechanism goes by the core's step, v+ = v + h M^-1 (f(x) + g + what joints give),
x+ = x + h v+, with the forces f at the poses from which the step starts. So each f is used once and
for the whole of h, and the forces at the last poses of a world's step are left to the next one;
what they give to the spheres that touch a mechanism is half done by then: the momenta of both sides
differ by h f / 2 while they touch, at any time, and by nothing when they part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from berm.kernels.dem.sphere_motion import carry_spheres, total_force
from berm.kernels.geometry.rotation import axes, rotate_back
from berm.kernels.jit import bare, inner, jit
from berm.kernels.multibody.joints import add_loads, joint_rows, keep_joints, place_joints
from berm.kernels.multibody.motion import add_impulse, free_velocities, move_bodies, stiffen
from berm.kernels.multibody.rows import make_rows
from berm.kernels.multibody.solve import DIRECT, call_solver
from berm.kernels.multibody.substep import ROWS_A_JOINT
from berm.kernels.simd.vec8 import lane, quad, quad_of, set_quad


class Mechanisms(NamedTuple):
    """Bodies (BodyArrays, of which only those in mechanisms are of the kind DYNAMIC) and joints.

    held (k, 2)      row of each such body, and its clump (-1: it has no spheres)
    by_grains (nb, 6), by_joints (nb, 6), load (nj, 6)   sums, as mean forces over the world's step
    stats, solver    of `multibody.solve`: statistics, and its address
    """

    bodies: Any
    joints: Any
    held: Any
    by_grains: Any
    by_joints: Any
    load: Any
    stats: Any
    solver: Any


@jit
def move_mechanisms(
    one, h, per_second, gravity, plan, first, rows, offset, centre, velocity, attitude, momentum,
    ref, x, v, spin, f,
):  # fmt: skip
    """One small step of h (s), with the forces on the spheres, which are cleared.

    per_second: 1 / the world's step. Returns the plan of the factors for the next step, and whether
    a sphere has gone too far for the list of pairs, ref (n, 4).
    """
    bodies, joints = one.bodies, one.joints
    nb = bodies.kind.shape[0]
    u0, u = np.empty((nb, 6)), np.empty((nb, 6))
    frame = np.empty((3, 3))
    place_joints(joints, bodies, frame)
    stiffen(joints, bodies, h)
    free_velocities(bodies, gravity, h, u0)
    push = np.empty(6)
    for k in range(one.held.shape[0]):
        b, at = one.held[k, 0], one.held[k, 1]
        if at >= 0:
            force, torque = total_force(at, quad(centre, at), first, rows, x, f)
            for c in range(3):
                push[c], push[3 + c] = h * lane(force, c), h * lane(torque, c)
            add_impulse(b, bodies, push, u0)
            _note(b, bodies, push, per_second, one.by_grains)
    lines = make_rows(ROWS_A_JOINT * joints.kind.shape[0])
    m = joint_rows(joints, bodies, h, lines, np.int64(0), frame)
    plan = call_solver(one.solver, (DIRECT, lines, m, m, bodies, u0, u, plan, 0, one.stats))
    keep_joints(joints, bodies, lines, 0, m, h)
    add_loads(joints, bodies, lines, 0, m, per_second, one.load, one.by_joints)
    move_bodies(bodies, u, h)
    place_joints(joints, bodies, frame)
    far = False
    for k in range(one.held.shape[0]):
        b, at = one.held[k, 0], one.held[k, 1]
        if at >= 0:
            _lead(b, at, bodies, centre, velocity, attitude, momentum)
            far |= _carry(b, at, bodies, first, rows, offset, centre, velocity, ref, x, v, spin, f)
    return plan, far


@bare
def _note(b, bodies, push, per_second, felt):
    """Add an impulse about the centre to the mean force and torque about the body's origin."""
    rx = bodies.x[b, 0] - bodies.org[b, 0]
    ry = bodies.x[b, 1] - bodies.org[b, 1]
    rz = bodies.x[b, 2] - bodies.org[b, 2]
    for c in range(3):
        felt[b, c] += per_second * push[c]
    felt[b, 3] += per_second * (push[3] + ry * push[2] - rz * push[1])
    felt[b, 4] += per_second * (push[4] + rz * push[0] - rx * push[2])
    felt[b, 5] += per_second * (push[5] + rx * push[1] - ry * push[0])


@bare
def _lead(b, at, bodies, centre, velocity, attitude, momentum):
    """Bring pose and motion of a body to the clump that covers it."""
    q, spin = bodies.q[b], bodies.L[b]
    for c in range(3):
        centre[at, c], velocity[at, c] = bodies.x[b, c], bodies.v[b, c]
    for c in range(4):
        attitude[at, c] = q[c]
    momentum[at, 0], momentum[at, 1], momentum[at, 2] = rotate_back(
        q[0], q[1], q[2], q[3], spin[0], spin[1], spin[2]
    )


@inner
def _carry(b, at, bodies, first, rows, offset, centre, velocity, ref, x, v, spin, f):
    """Set the spheres of a body to its pose and motion; return whether one has gone too far."""
    q, omega, frame, far = bodies.q[b], bodies.omega[b], np.zeros((1, 16)), False
    ax, ay, az, bx, by, bz, cx, cy, cz = axes(q[0], q[1], q[2], q[3])
    set_quad(frame, 0, quad_of(ax, ay, az, 0.0))
    set_quad(frame, 1, quad_of(bx, by, bz, 0.0))
    set_quad(frame, 2, quad_of(cx, cy, cz, 0.0))
    set_quad(frame, 3, quad_of(omega[0], omega[1], omega[2], 0.0))
    carry_spheres(at, first, rows, offset, centre, velocity, 0, frame, x, v, spin)
    for k in range(first[at], first[at + 1]):
        i = rows[k]
        for c in range(8):
            f[i, c] = 0.0
        dx, dy, dz = x[i, 0] - ref[i, 0], x[i, 1] - ref[i, 1], x[i, 2] - ref[i, 2]
        far |= not dx * dx + dy * dy + dz * dz <= ref[i, 3]
    return far


@inner
def lead_clumps(one, centre, velocity, attitude, momentum):
    """Bring pose and motion of all mechanisms to their clumps, which blocks have overwritten."""
    for k in range(one.held.shape[0]):
        if one.held[k, 1] >= 0:
            _lead(one.held[k, 0], one.held[k, 1], one.bodies, centre, velocity, attitude, momentum)


