"""Contacts of spheres with walls, a block at a time: into `contact_blocks` and out, four by four.

The way is the unit normal into the wall, velocity and spin are relative at the point of contact,
the overlap goes in, and only a torque of rolling comes out. The distance of the centre to the wall
and the arm from the body's origin to the contact wait beside them. who holds the sphere, the body,
and where memory is kept; a body's pose is six quads: origin, axes, way and turn of a step.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.dem.contact_blocks import (
    FORCE,
    LANES,
    LIGHT,
    MEMORY,
    OTHER_SPIN,
    OVERLAP,
    RADII,
    SPEED,
    SPIN,
    TORQUE,
    WAY,
    put_three,
    three,
)
from berm.kernels.fused import inline
from berm.kernels.simd.vec4 import FOUR, add_rows4, four, rows4, set_four
from berm.kernels.simd.vec8 import fma, splat4

DISTANCE, ARM = LANES * 4, OTHER_SPIN
POSE = 6  # quads


@inline
def recall(m, k, own, hist, b):
    """Bring the one or two vectors that are remembered in hist[k] into a block.

    A loop up to `own` would be made into vector code for many numbers, and be slow with three.
    """
    if own > 0:
        for c in range(3):
            b[MEMORY + c * LANES + m] = hist[k, c]
    if own > 3:
        for c in range(3, 6):
            b[MEMORY + c * LANES + m] = hist[k, c]


@inline
def retain(m, k, own, hist, b):
    """Bring what a contact remembers from a block to hist[k]."""
    if own > 0:
        for c in range(3):
            hist[k, c] = b[MEMORY + c * LANES + m]
    if own > 3:
        for c in range(3, 6):
            hist[k, c] = b[MEMORY + c * LANES + m]


@inline
def forget(k, own, hist):
    """A contact is lost, and all that it remembers."""
    if own > 0:
        for c in range(3):
            hist[k, c] = 0.0
    if own > 3:
        for c in range(3, 6):
            hist[k, c] = 0.0


@inline
def cross(ax, ay, az, bx, by, bz):
    """a x b of four vectors at a time."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@inline
def put_wall(m, i, body, k, d, gx, gy, gz, hist, own, who, b):
    """Make the contact of sphere i with a body, d (m) away, number m of a block.

    g points from the wall to the sphere; the first `own` numbers of hist[k] are remembered.
    """
    who[m], who[LANES + m], who[2 * LANES + m] = i, body, k
    b[WAY + m], b[WAY + LANES + m], b[WAY + 2 * LANES + m] = -gx, -gy, -gz
    b[DISTANCE + m] = d
    recall(m, k, own, hist, b)


@inline
def fill_walls(count, f_step, per_second, pose, x, v, spin, who, b):
    """Fill in velocities, spins and the rest of a block's first contacts.

    Where they are not four by four, the last one is repeated.
    """
    for m in range(count, -(-count // FOUR) * FOUR):
        who[m], who[LANES + m] = who[count - 1], who[LANES + count - 1]
        b[DISTANCE + m] = b[DISTANCE + count - 1]
    share, rate = splat4(f_step), splat4(per_second)
    for m in range(0, count, FOUR):
        nx, ny, nz, _ = three(WAY + m, b)
        d = four(b, DISTANCE + m)
        px, py, pz, r = rows4(x, who, m, 1, 0)
        ox, oy, oz, _ = rows4(pose, who, LANES + m, POSE, 0)
        tx, ty, tz, wx = rows4(pose, who, LANES + m, POSE, 3)
        wy, wz, _, _ = rows4(pose, who, LANES + m, POSE, 4)
        wx, wy, wz = rate * wx, rate * wy, rate * wz
        ox = fma(d, nx, px) - fma(share, tx, ox)
        oy = fma(d, ny, py) - fma(share, ty, oy)
        oz = fma(d, nz, pz) - fma(share, tz, oz)
        vx, vy, vz, light = rows4(v, who, m, 1, 0)
        sx, sy, sz, _ = rows4(spin, who, m, 1, 0)
        ax, ay, az = cross(sx, sy, sz, nx, ny, nz)
        cx, cy, cz = cross(wx, wy, wz, ox, oy, oz)
        vx = fma(d, ax, vx) - fma(rate, tx, cx)
        vy = fma(d, ay, vy) - fma(rate, ty, cy)
        vz = fma(d, az, vz) - fma(rate, tz, cz)
        put_three((vx, vy, vz), SPEED + m, b)
        put_three((sx - wx, sy - wy, sz - wz), SPIN + m, b)
        put_three((ox, oy, oz), ARM + m, b)
        set_four(b, RADII + m, r)
        set_four(b, OVERLAP + m, r - d)
        set_four(b, LIGHT + m, light)


@inline
def take_walls(count, keep, own, who, b, f, felt, hist):
    """Add what came out of a block's first contacts to f and to what bodies feel, (nb, 8) as f."""
    for m in range(count, -(-count // FOUR) * FOUR):
        for c in range(3):
            b[FORCE + c * LANES + m] = b[TORQUE + c * LANES + m] = 0.0
    for m in range(0, count, FOUR):
        fx, fy, fz, nil = three(FORCE + m, b)
        mx, my, mz, nil = three(TORQUE + m, b)
        nx, ny, nz, nil = three(WAY + m, b)
        ox, oy, oz, nil = three(ARM + m, b)
        d = four(b, DISTANCE + m)
        nx, ny, nz = cross(nx, ny, nz, fx, fy, fz)
        ox, oy, oz = cross(ox, oy, oz, fx, fy, fz)
        add_rows4(f, who, m, 2, 0, (fx, fy, fz, nil))
        add_rows4(f, who, m, 2, 1, (fma(d, nx, mx), fma(d, ny, my), fma(d, nz, mz), nil))
        add_rows4(felt, who, LANES + m, 2, 0, (nil - fx, nil - fy, nil - fz, nil))
        add_rows4(
            felt, who, LANES + m, 2, 1, (nil - ox - mx, nil - oy - my, nil - oz - mz, nil)
        )
    if keep:
        for m in range(count):
            retain(m, np.uint64(who[2 * LANES + m]), own, hist, b)
