"""Motion of rigid bodies made of spheres, in blocks that stay as they are from step to step.

Bodies: centre (m, 4) and inverse mass; velocity (m, 4); attitude (m, 4) quaternion; momentum
(m, 4) angular momentum in the body's frame and the longest arm of a sphere; inertia (m, 4)
principal moments; ref (m, 8) centre and quaternion when the list of pairs was made, and between
them the square of the way that a sphere may go until it is made anew. The spheres of body b are
rows[first[b]:first[b + 1]], at offset (3) in it; x, v, spin and f are those of `rigid_grains`.

A block holds CHUNK bodies, number c of body m in b[c * CHUNK + m]: a plain loop over the bodies is
then vector code. A block that is not full ends with its last body over and over.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.dem.sphere_motion import total_force
from berm.kernels.fused import inline, inner
from berm.kernels.geometry.rotation import axes, free_turn, round_turn
from berm.kernels.jit import jit
from berm.kernels.simd.vec4 import FOUR, four, rows4, set_four, set_rows4, transposed
from berm.kernels.simd.vec8 import fma, quad_of, set_quad, splat4

CHUNK = 16
BATCH = 16  # blocks that one thread moves with the same buffers
# What stays: what one row of a body's arrays holds stands together. SEEN and SHARE are the inverse
# masses that each of its spheres has behind its velocity and its spin.
CENTRE, LIGHT, MOTION, QUAT, MOMENTUM, ARM = (CHUNK * c for c in (0, 3, 4, 8, 12, 15))
INVERSE, SEEN, REF, ALLOWED, REF_TURN = (CHUNK * c for c in (16, 19, 20, 23, 24))
AXES, SHARE = (CHUNK * c for c in (28, 37))
STATE = 38 * CHUNK
# What is worked out anew in each step: force, torque, spin in the world, and how much further a
# sphere may have gone than the list allows (m^2).
FORCE, TORQUE, SPIN, FAR = (CHUNK * c for c in (0, 4, 8, 11))
SCRATCH = 12 * CHUNK
ROUND = 1e-12  # relative difference of moments below which they count as one


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
def _who(c, first, who):
    """Note the bodies of block c; returns the first, and how many they are."""
    start = c * CHUNK
    count = min(CHUNK, first.shape[0] - 1 - start)
    for m in range(CHUNK):
        who[m] = start + min(m, count - 1)
    return start, count


@inline
def _refresh(b):
    """The axes of the bodies of a block, from their quaternions."""
    for m in range(CHUNK):
        ax, ay, az, bx, by, bz, cx, cy, cz = axes(
            b[QUAT + m], b[QUAT + CHUNK + m], b[QUAT + 2 * CHUNK + m], b[QUAT + 3 * CHUNK + m]
        )
        b[AXES + m], b[AXES + CHUNK + m], b[AXES + 2 * CHUNK + m] = ax, ay, az
        b[AXES + 3 * CHUNK + m], b[AXES + 4 * CHUNK + m], b[AXES + 5 * CHUNK + m] = bx, by, bz
        b[AXES + 6 * CHUNK + m], b[AXES + 7 * CHUNK + m], b[AXES + 8 * CHUNK + m] = cx, cy, cz


@jit
def count_seats(first, kind, elsewhere, seat, form):
    """Count the spheres of bodies four by four: those of body k are seat[k] to seat[k + 1].

    form[k]: the seat of the first body of its kind, for both have the same arms. A body that is
    moved elsewhere has no seats: what its block does with it reaches no sphere.
    """
    known = np.full(1 + max(kind) if kind.shape[0] > 0 else 0, -1)
    seat[0] = 0
    for k in range(kind.shape[0]):
        if elsewhere[k]:
            seat[k + 1] = form[k] = seat[k]
            continue
        seat[k + 1] = seat[k] + (first[k + 1] - first[k] + FOUR - 1) // FOUR
        if known[kind[k]] < 0:
            known[kind[k]] = seat[k]
        form[k] = known[kind[k]]


@inline
def _seat(k, first, rows, offset, x, seat, form, seats, arms):
    """Note rows, arms and radii of the spheres of body k four by four, the last one repeated."""
    begin, last = first[k], np.uint64(first[k + 1] - 1)
    for n in range(np.uint64(FOUR * (seat[k + 1] - seat[k]))):
        at = min(np.uint64(begin) + n, last)
        i = np.uint64(rows[at])
        seats[np.uint64(FOUR * seat[k]) + n] = i
        if form[k] == seat[k]:
            to = 16 * (seat[k] + n // FOUR) + n % FOUR
            for a in range(3):
                arms[to + FOUR * a] = offset[at, a]
            arms[to + 12] = x[i, 3]


@inner
def _seat_block(
    c, first, rows, offset, inertia, ref, x, v, spin, seat, form, seats, arms, blocks, alike
):
    b, who = blocks[c], np.empty(CHUNK, np.int64)
    start, count = _who(c, first, who)
    for m in range(0, CHUNK, FOUR):
        _put_quads(rows4(ref, who, m, 2, 0), REF + m, b)
        _put_quads(rows4(ref, who, m, 2, 1), REF_TURN + m, b)
    same = True
    for m in range(CHUNK):
        k = who[m]
        i = rows[first[k]]
        b[SEEN + m], b[SHARE + m] = v[i, 3], spin[i, 3]
        least = min(inertia[k, 0], inertia[k, 1], inertia[k, 2])
        for a in range(3):
            b[INVERSE + a * CHUNK + m] = 1.0 / inertia[k, a]
            same &= inertia[k, a] - least <= ROUND * least
    alike[c] = same
    for m in range(count):
        _seat(start + m, first, rows, offset, x, seat, form, seats, arms)


@jit
def seat_bodies(
    first, rows, offset, inertia, ref, x, v, spin, seat, form, seats, arms, blocks, alike
):
    """Bring into all blocks what stays as long as the list of pairs, after `count_seats`.

    alike[c]: all bodies of block c turn about any axis as easily.
    """
    for c in range(blocks.shape[0]):
        _seat_block(
            c, first, rows, offset, inertia, ref, x, v, spin, seat, form, seats, arms, blocks,
            alike,
        )  # fmt: skip


@inner
def fill_block(c, first, centre, velocity, attitude, momentum, blocks):
    """Bring centre and motion of the bodies of block c in."""
    b, who = blocks[c], np.empty(CHUNK, np.int64)
    _who(c, first, who)
    for m in range(0, CHUNK, FOUR):
        _put_quads(rows4(centre, who, m, 1, 0), CENTRE + m, b)
        _put_quads(rows4(velocity, who, m, 1, 0), MOTION + m, b)
        _put_quads(rows4(attitude, who, m, 1, 0), QUAT + m, b)
        _put_quads(rows4(momentum, who, m, 1, 0), MOMENTUM + m, b)
    _refresh(b)


@inner
def drain_block(c, first, centre, velocity, attitude, momentum, blocks):
    """Bring block c of the bodies out again."""
    b, who = blocks[c], np.empty(CHUNK, np.int64)
    _who(c, first, who)
    for m in range(0, CHUNK, FOUR):
        set_rows4(centre, who, m, 1, 0, _quads(CENTRE + m, b))
        set_rows4(velocity, who, m, 1, 0, _quads(MOTION + m, b))
        set_rows4(attitude, who, m, 1, 0, _quads(QUAT + m, b))
        set_rows4(momentum, who, m, 1, 0, _quads(MOMENTUM + m, b))


@inline
def _kick(kick, gx, gy, gz, b, s):
    """Velocities and angular momenta of a block by its forces and torques."""
    for m in range(CHUNK):
        w = kick * b[LIGHT + m]
        b[MOTION + m] += w * s[FORCE + m] + kick * gx
        b[MOTION + CHUNK + m] += w * s[FORCE + CHUNK + m] + kick * gy
        b[MOTION + 2 * CHUNK + m] += w * s[FORCE + 2 * CHUNK + m] + kick * gz
        tx, ty = kick * s[TORQUE + m], kick * s[TORQUE + CHUNK + m]
        tz = kick * s[TORQUE + 2 * CHUNK + m]
        b[MOMENTUM + m] += (
            b[AXES + m] * tx + b[AXES + CHUNK + m] * ty + b[AXES + 2 * CHUNK + m] * tz
        )
        b[MOMENTUM + CHUNK + m] += (
            b[AXES + 3 * CHUNK + m] * tx + b[AXES + 4 * CHUNK + m] * ty
            + b[AXES + 5 * CHUNK + m] * tz
        )  # fmt: skip
        b[MOMENTUM + 2 * CHUNK + m] += (
            b[AXES + 6 * CHUNK + m] * tx + b[AXES + 7 * CHUNK + m] * ty
            + b[AXES + 8 * CHUNK + m] * tz
        )  # fmt: skip


@inline
def _turn_round(h, b):
    """Turn bodies that have one moment about all axes: their angular momenta stay."""
    for m in range(CHUNK):
        w = b[INVERSE + m]
        (
            b[QUAT + m], b[QUAT + CHUNK + m], b[QUAT + 2 * CHUNK + m], b[QUAT + 3 * CHUNK + m]
        ) = round_turn(
            b[QUAT + m], b[QUAT + CHUNK + m], b[QUAT + 2 * CHUNK + m], b[QUAT + 3 * CHUNK + m],
            w * b[MOMENTUM + m], w * b[MOMENTUM + CHUNK + m], w * b[MOMENTUM + 2 * CHUNK + m], h,
        )  # fmt: skip


@inline
def _turn_any(h, b):
    """Turn any bodies, free of torque."""
    for m in range(CHUNK):
        qw, qx, qy, qz, lx, ly, lz = free_turn(
            b[QUAT + m], b[QUAT + CHUNK + m], b[QUAT + 2 * CHUNK + m], b[QUAT + 3 * CHUNK + m],
            b[MOMENTUM + m], b[MOMENTUM + CHUNK + m], b[MOMENTUM + 2 * CHUNK + m],
            b[INVERSE + m], b[INVERSE + CHUNK + m], b[INVERSE + 2 * CHUNK + m], h,
        )  # fmt: skip
        b[QUAT + m], b[QUAT + CHUNK + m] = qw, qx
        b[QUAT + 2 * CHUNK + m], b[QUAT + 3 * CHUNK + m] = qy, qz
        b[MOMENTUM + m], b[MOMENTUM + CHUNK + m], b[MOMENTUM + 2 * CHUNK + m] = lx, ly, lz


@inline
def _spins(b, s):
    """Spins of a block in the world."""
    for m in range(CHUNK):
        lx, ly = b[MOMENTUM + m] * b[INVERSE + m], b[MOMENTUM + CHUNK + m] * b[INVERSE + CHUNK + m]
        lz = b[MOMENTUM + 2 * CHUNK + m] * b[INVERSE + 2 * CHUNK + m]
        for a in range(3):
            s[SPIN + a * CHUNK + m] = (
                b[AXES + a * CHUNK + m] * lx + b[AXES + (3 + a) * CHUNK + m] * ly
                + b[AXES + (6 + a) * CHUNK + m] * lz
            )  # fmt: skip


@inline
def _drift(h, b, s):
    """Centres of a block, and whether a sphere may have gone too far."""
    for m in range(CHUNK):
        px = b[CENTRE + m] + h * b[MOTION + m]
        py = b[CENTRE + CHUNK + m] + h * b[MOTION + CHUNK + m]
        pz = b[CENTRE + 2 * CHUNK + m] + h * b[MOTION + 2 * CHUNK + m]
        b[CENTRE + m], b[CENTRE + CHUNK + m], b[CENTRE + 2 * CHUNK + m] = px, py, pz
        # a sphere has gone |dc| + 2 arm sin(angle / 2) at most; without roots, that is
        # left >= 0 and left^2 >= 4 |dc|^2 turned^2, with what both leave of the squared room
        px, py, pz = px - b[REF + m], py - b[REF + CHUNK + m], pz - b[REF + 2 * CHUNK + m]
        along = (
            b[QUAT + m] * b[REF_TURN + m] + b[QUAT + CHUNK + m] * b[REF_TURN + CHUNK + m]
            + b[QUAT + 2 * CHUNK + m] * b[REF_TURN + 2 * CHUNK + m]
            + b[QUAT + 3 * CHUNK + m] * b[REF_TURN + 3 * CHUNK + m]
        )  # fmt: skip
        went2 = px * px + py * py + pz * pz
        turned2 = 4.0 * b[ARM + m] * b[ARM + m] * max(1.0 - along * along, 0.0)
        left = b[ALLOWED + m] - went2 - turned2
        s[FAR + m] = min(left, left * left - 4.0 * went2 * turned2)


@inline
def _load(start, count, first, rows, x, f, b, s):
    """Bring forces and torques about the centres of a block's bodies in."""
    last = start + count - 1
    for m in range(0, CHUNK, FOUR):
        k = start + m
        px, py, pz, light = _quads(CENTRE + m, b)
        p0, p1, p2, p3 = transposed(px, py, pz, light)
        f0, t0 = total_force(min(k, last), p0, first, rows, x, f)
        f1, t1 = total_force(min(k + 1, last), p1, first, rows, x, f)
        f2, t2 = total_force(min(k + 2, last), p2, first, rows, x, f)
        f3, t3 = total_force(min(k + 3, last), p3, first, rows, x, f)
        _put_quads(transposed(f0, f1, f2, f3), FORCE + m, s)
        _put_quads(transposed(t0, t1, t2, t3), TORQUE + m, s)


@inline
def _put_sphere(i, centre, velocity, turning, clear, x, v, spin, f):
    """Set all that sphere i has, and clear its force and torque or not."""
    set_quad(x, i, centre)
    set_quad(v, i, velocity)
    set_quad(spin, i, turning)
    if clear:
        set_quad(f, 2 * i, splat4(0.0))
        set_quad(f, 2 * i + 1, splat4(0.0))


@inline
def _carry(m, begin, end, form, clear, seats, arms, b, s, x, v, spin, f):
    """Set the spheres of body m of a block to its pose and motion, [Bell05] 3.1."""
    ax, ay, az = splat4(b[AXES + m]), splat4(b[AXES + CHUNK + m]), splat4(b[AXES + 2 * CHUNK + m])
    bx, by = splat4(b[AXES + 3 * CHUNK + m]), splat4(b[AXES + 4 * CHUNK + m])
    bz, cx = splat4(b[AXES + 5 * CHUNK + m]), splat4(b[AXES + 6 * CHUNK + m])
    cy, cz = splat4(b[AXES + 7 * CHUNK + m]), splat4(b[AXES + 8 * CHUNK + m])
    px, py = splat4(b[CENTRE + m]), splat4(b[CENTRE + CHUNK + m])
    pz, seen = splat4(b[CENTRE + 2 * CHUNK + m]), splat4(b[SEEN + m])
    ux, uy = splat4(b[MOTION + m]), splat4(b[MOTION + CHUNK + m])
    uz = splat4(b[MOTION + 2 * CHUNK + m])
    wx, wy, wz = splat4(s[SPIN + m]), splat4(s[SPIN + CHUNK + m]), splat4(s[SPIN + 2 * CHUNK + m])
    turning = quad_of(s[SPIN + m], s[SPIN + CHUNK + m], s[SPIN + 2 * CHUNK + m], b[SHARE + m])
    for q in range(end - begin):
        at = np.uint64(FOUR * (begin + q))  # unsigned: no test for below 0
        i, j = seats[at], seats[at + np.uint64(1)]
        k, n = seats[at + np.uint64(2)], seats[at + np.uint64(3)]
        to = form + 16 * q
        ox, oy, oz = four(arms, to), four(arms, to + 4), four(arms, to + 8)
        dx = fma(ax, ox, fma(bx, oy, cx * oz))
        dy = fma(ay, ox, fma(by, oy, cy * oz))
        dz = fma(az, ox, fma(bz, oy, cz * oz))
        to_i, to_j, to_k, to_n = transposed(px + dx, py + dy, pz + dz, four(arms, to + 12))
        vx, vy, vz = fma(wy, dz, ux) - wz * dy, fma(wz, dx, uy) - wx * dz, fma(wx, dy, uz) - wy * dx
        of_i, of_j, of_k, of_n = transposed(vx, vy, vz, seen)
        _put_sphere(i, to_i, of_i, turning, clear, x, v, spin, f)
        _put_sphere(j, to_j, of_j, turning, clear, x, v, spin, f)
        _put_sphere(k, to_k, of_k, turning, clear, x, v, spin, f)
        _put_sphere(n, to_n, of_n, turning, clear, x, v, spin, f)


@inline
def _carry_block(start, count, clear, seat, form, seats, arms, b, s, x, v, spin, f):
    """Set the spheres of a block."""
    for m in range(count):
        at = np.uint64(start + m)
        begin, end = seat[at], seat[at + np.uint64(1)]
        _carry(m, begin, end, 16 * form[at], clear, seats, arms, b, s, x, v, spin, f)


@inner
def move_batch(
    c, h, kick, gx, gy, gz, first, rows, seat, form, seats, arms, blocks, alike, x, v, spin,
    f, stale,
):  # fmt: skip
    """Move one batch of blocks with their spheres, and clear the forces on these.

    Notes whether a sphere may have gone too far for the list of pairs.
    """
    s, far = np.empty(SCRATCH), False
    for k in range(c * BATCH, min((c + 1) * BATCH, alike.shape[0])):
        b = blocks[k]
        start = k * CHUNK
        count = min(CHUNK, first.shape[0] - 1 - start)
        _load(start, count, first, rows, x, f, b, s)
        _kick(kick, gx, gy, gz, b, s)
        if alike[k]:
            _turn_round(h, b)
        else:
            _turn_any(h, b)
        _refresh(b)
        _spins(b, s)
        _drift(h, b, s)
        _carry_block(start, count, True, seat, form, seats, arms, b, s, x, v, spin, f)
        for m in range(count):
            far |= not s[FAR + m] >= 0.0
    stale[c] = far


@inner
def finish_block(
    c, kick, gx, gy, gz, first, rows, centre, velocity, attitude, momentum, seat, form, seats, arms,
    blocks, x, v, spin, f,
):  # fmt: skip
    """The half kick that ends a step, for block c, and bring it out."""
    b, s, start = blocks[c], np.empty(SCRATCH), c * CHUNK
    count = min(CHUNK, first.shape[0] - 1 - start)
    _load(start, count, first, rows, x, f, b, s)
    _kick(kick, gx, gy, gz, b, s)
    _spins(b, s)
    _carry_block(start, count, False, seat, form, seats, arms, b, s, x, v, spin, f)
    drain_block(c, first, centre, velocity, attitude, momentum, blocks)


@inner
def push_bodies(which, applied, sign, first, rows, blocks, x, f):
    """Add forces and torques (k, 6) about the centres of bodies, `sign` times, to a sphere each."""
    for k in range(which.shape[0]):
        b, m = blocks[which[k] // CHUNK], which[k] % CHUNK
        i, p = rows[first[which[k]]], applied[k]
        ax, ay = x[i, 0] - b[CENTRE + m], x[i, 1] - b[CENTRE + CHUNK + m]
        az = x[i, 2] - b[CENTRE + 2 * CHUNK + m]
        for c in range(3):
            f[i, c] += sign * p[c]
        f[i, 4] += sign * (p[3] - (ay * p[2] - az * p[1]))
        f[i, 5] += sign * (p[4] - (az * p[0] - ax * p[2]))
        f[i, 6] += sign * (p[5] - (ax * p[1] - ay * p[0]))
