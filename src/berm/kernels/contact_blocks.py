"""Contacts, a block at a time and number by number: what contact laws compute with.

A block b holds LANES contacts, number c of contact m in b[c * LANES + m], so that a plain loop over
them becomes vector code; p holds the laws' numbers for each in the same way, and kinds which pair
of materials they are for. who holds rows and numbers of the partners, and where memory is kept.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.fused import inline

LANES = 32
LAW_NUMBERS = 16
# What goes in for two spheres: the way from the first to the second (m), radii, velocity of the
# first relative to the second, sum of the inverse masses, spins of both, what they remember.
WAY, RADII, SPEED, LIGHT, SPIN, OTHER_SPIN, MEMORY = (LANES * c for c in (0, 3, 5, 8, 9, 12, 15))
# What comes out: force on the first, torques on both, overlap (m).
FORCE, TORQUE, OTHER_TORQUE, OVERLAP = (LANES * c for c in (21, 24, 27, 30))
# For a sphere and a wall the way is the unit normal into the wall, velocity and spin are relative
# at the point of contact, the overlap goes in, and only a torque of rolling comes out. The distance
# of the centre to the wall and the arm from the body's origin to the contact wait beside them.
DISTANCE, ARM = LANES * 4, OTHER_SPIN
NUMBERS = 31 * LANES


@inline
def put_kind(m, kind, prm, kinds, p):
    """Give contact m of a block the laws' numbers for a pair of materials; most have one kind."""
    if kinds[m] != kind:
        kinds[m] = kind
        for c in range(LAW_NUMBERS):
            p[c * LANES + m] = prm[kind, c]


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
def put_pair(m, i, j, k, dx, dy, dz, r, q, v, spin, hist, who, b):
    """Make pair k of rows i and j, d apart, number m of a block."""
    who[m], who[LANES + m], who[2 * LANES + m] = i, j, k
    b[WAY + m], b[WAY + LANES + m], b[WAY + 2 * LANES + m] = dx, dy, dz
    b[RADII + m], b[RADII + LANES + m] = r, q
    b[LIGHT + m] = v[i, 3] + v[j, 3]
    for c in range(3):
        b[SPEED + c * LANES + m] = v[i, c] - v[j, c]
        b[SPIN + c * LANES + m] = spin[i, c]
        b[OTHER_SPIN + c * LANES + m] = spin[j, c]
    recall(m, k, hist.shape[1], hist, b)


@inline
def take_pairs(count, keep, who, b, f, hist):
    """Add what came out of a block's first pairs to f, keep what they remember; sum, most overlap.

    In the order of the list, whatever the threads do.
    """
    total, most = 0.0, 0.0
    for m in range(count):
        i, j = np.uint64(who[m]), np.uint64(who[LANES + m])
        for c in range(3):
            f[i, c] += b[FORCE + c * LANES + m]
            f[j, c] -= b[FORCE + c * LANES + m]
            f[i, 3 + c] += b[TORQUE + c * LANES + m]
            f[j, 3 + c] += b[OTHER_TORQUE + c * LANES + m]
        if keep:
            retain(m, np.uint64(who[2 * LANES + m]), hist.shape[1], hist, b)
        total += b[OVERLAP + m]
        most = max(most, b[OVERLAP + m])
    return total, most


@inline
def put_wall(m, i, body, k, d, gx, gy, gz, f_step, pose, per_second, x, v, spin, hist, own, who, b):
    """Make the contact of sphere i with a body, d (m) away, number m of a block.

    g points from the wall to the sphere; the first `own` numbers of hist[k] are remembered.
    """
    who[m], who[LANES + m], who[2 * LANES + m] = i, body, k
    nx, ny, nz = -gx, -gy, -gz
    ox = x[i, 0] + d * nx - pose[body, 0] - f_step * pose[body, 12]
    oy = x[i, 1] + d * ny - pose[body, 1] - f_step * pose[body, 13]
    oz = x[i, 2] + d * nz - pose[body, 2] - f_step * pose[body, 14]
    ux, uy = per_second * pose[body, 12], per_second * pose[body, 13]
    uz, wx = per_second * pose[body, 14], per_second * pose[body, 15]
    wy, wz = per_second * pose[body, 16], per_second * pose[body, 17]
    sx, sy, sz = spin[i, 0], spin[i, 1], spin[i, 2]
    b[WAY + m], b[WAY + LANES + m], b[WAY + 2 * LANES + m] = nx, ny, nz
    b[RADII + m], b[DISTANCE + m], b[OVERLAP + m] = x[i, 3], d, x[i, 3] - d
    b[LIGHT + m] = v[i, 3]
    b[SPEED + m] = v[i, 0] - ux + d * (sy * nz - sz * ny) - (wy * oz - wz * oy)
    b[SPEED + LANES + m] = v[i, 1] - uy + d * (sz * nx - sx * nz) - (wz * ox - wx * oz)
    b[SPEED + 2 * LANES + m] = v[i, 2] - uz + d * (sx * ny - sy * nx) - (wx * oy - wy * ox)
    b[SPIN + m], b[SPIN + LANES + m], b[SPIN + 2 * LANES + m] = sx - wx, sy - wy, sz - wz
    b[ARM + m], b[ARM + LANES + m], b[ARM + 2 * LANES + m] = ox, oy, oz
    recall(m, k, own, hist, b)


@inline
def take_walls(count, keep, own, who, b, f, total, hist):
    """Add what came out of a block's first contacts to f and to what bodies feel."""
    for m in range(count):
        i, body = np.uint64(who[m]), np.uint64(who[LANES + m])
        nx, ny, nz = b[WAY + m], b[WAY + LANES + m], b[WAY + 2 * LANES + m]
        fx, fy, fz = b[FORCE + m], b[FORCE + LANES + m], b[FORCE + 2 * LANES + m]
        mx, my, mz = b[TORQUE + m], b[TORQUE + LANES + m], b[TORQUE + 2 * LANES + m]
        ox, oy, oz = b[ARM + m], b[ARM + LANES + m], b[ARM + 2 * LANES + m]
        d = b[DISTANCE + m]
        f[i, 0] += fx
        f[i, 1] += fy
        f[i, 2] += fz
        f[i, 3] += d * (ny * fz - nz * fy) + mx
        f[i, 4] += d * (nz * fx - nx * fz) + my
        f[i, 5] += d * (nx * fy - ny * fx) + mz
        total[body, 0] -= fx
        total[body, 1] -= fy
        total[body, 2] -= fz
        total[body, 3] -= oy * fz - oz * fy + mx
        total[body, 4] -= oz * fx - ox * fz + my
        total[body, 5] -= ox * fy - oy * fx + mz
        if keep:
            retain(m, np.uint64(who[2 * LANES + m]), own, hist, b)
