"""The contact laws, composed: forces of a block of contacts, for one choice of laws.

`compose` makes a copy of this file for another choice, with other imports in the lines marked
below. It is all that is compiled for a choice; kernels call it by its address, a block at a time.
"""

from __future__ import annotations

import math

from berm.kernels.dem.contact_blocks import (
    FORCE,
    LANES,
    LAW_NUMBERS,
    LIGHT,
    MEMORY,
    NUMBERS,
    OTHER_SPIN,
    OTHER_TORQUE,
    OVERLAP,
    RADII,
    SPEED,
    SPIN,
    TORQUE,
    WAY,
)
from berm.kernels.fused import inline
from berm.kernels.jit import block_law, carray
from berm.laws.cohesion_none import pull  # law: cohesion
from berm.laws.normal_linear import force as normal_force  # law: normal
from berm.laws.rolling_none import torque as rolling_torque  # law: rolling
from berm.laws.tangential_history import force as tangential_force  # law: tangential

SLIDES = True  # law: whether the tangential law remembers
ROLLS = False  # law: whether the rolling law remembers
TURNS = False  # law: whether there is a rolling law

# What a contact remembers: how far it slid, how far it rolled.
SHEAR, ROLL = MEMORY, MEMORY + 3 * LANES * SLIDES
# Below this share of its square out of the plane, what a vector loses there is not worth a root.
FLAT = 1e-12


@inline
def flat(ax, ay, az, nx, ny, nz):
    """A remembered vector, turned into the plane of contact with its length kept."""
    size2 = ax * ax + ay * ay + az * az
    out = ax * nx + ay * ny + az * nz
    ax, ay, az = ax - out * nx, ay - out * ny, az - out * nz
    if out * out > FLAT * size2:
        left2 = ax * ax + ay * ay + az * az
        scale = math.sqrt(size2 / left2) if left2 > 0.0 else 0.0
        ax, ay, az = scale * ax, scale * ay, scale * az
    return ax, ay, az


@inline
def contact(
    p, k, nx, ny, nz, xi, vx, vy, vz, wx, wy, wz, r_eff, r_min, m_eff, elapsed,
    dx, dy, dz, ax, ay, az,
):  # fmt: skip
    """Force and rolling torque on the first partner, and what they remember, [Bell05] (3)-(6).

    n points from the first to the second; v and w: velocity and spin of the first relative to the
    second at the point of contact; elapsed (s): time since the shear d and the roll a were kept.
    Number c of the laws stands in p[c * LANES + k].
    """
    xi_dot = vx * nx + vy * ny + vz * nz
    f_n, k_n, c_n = normal_force(
        p[k], p[LANES + k], p[2 * LANES + k], p[3 * LANES + k], xi, xi_dot, r_eff, m_eff
    )
    tx, ty, tz = vx - xi_dot * nx, vy - xi_dot * ny, vz - xi_dot * nz
    if SLIDES:
        dx, dy, dz = flat(dx, dy, dz, nx, ny, nz)
        dx, dy, dz = dx + elapsed * tx, dy + elapsed * ty, dz + elapsed * tz
    fx, fy, fz, dx, dy, dz = tangential_force(
        p[4 * LANES + k], p[5 * LANES + k], p[6 * LANES + k], p[7 * LANES + k],
        dx, dy, dz, tx, ty, tz, f_n, k_n, c_n,
    )  # fmt: skip
    mx, my, mz = 0.0, 0.0, 0.0
    if TURNS:
        out = wx * nx + wy * ny + wz * nz
        wx, wy, wz = wx - out * nx, wy - out * ny, wz - out * nz
        if ROLLS:
            ax, ay, az = flat(ax, ay, az, nx, ny, nz)
        mx, my, mz, ax, ay, az = rolling_torque(
            p[8 * LANES + k], p[9 * LANES + k], p[10 * LANES + k], p[11 * LANES + k],
            ax, ay, az, wx, wy, wz, f_n, k_n, r_eff, elapsed,
        )  # fmt: skip
    push = f_n - pull(
        p[12 * LANES + k], p[13 * LANES + k], p[14 * LANES + k], p[15 * LANES + k],
        xi, r_eff, r_min,
    )  # fmt: skip
    return (
        fx - push * nx, fy - push * ny, fz - push * nz, mx, my, mz, dx, dy, dz, ax, ay, az,
    )  # fmt: skip


@block_law
def pair_forces(block, numbers, elapsed):
    """Two spheres, (1)-(6): no jumps, so that the compiler does several pairs at a time."""
    b, p = carray(block, NUMBERS), carray(numbers, LAW_NUMBERS * LANES)
    for k in range(LANES):
        nx, ny, nz = b[WAY + k], b[WAY + LANES + k], b[WAY + 2 * LANES + k]
        r, q = b[RADII + k], b[RADII + LANES + k]
        far = math.sqrt(nx * nx + ny * ny + nz * nz)
        one = 1.0 / far if far > 0.0 else 0.0
        nx, ny, nz = nx * one, ny * one, nz * one
        if far == 0.0:  # two centres in one place: any direction parts them
            nz = 1.0
        xi = r + q - far
        g, h = r - 0.5 * xi, q - 0.5 * xi  # arms
        sx, sy, sz = b[SPIN + k], b[SPIN + LANES + k], b[SPIN + 2 * LANES + k]
        ux, uy, uz = b[OTHER_SPIN + k], b[OTHER_SPIN + LANES + k], b[OTHER_SPIN + 2 * LANES + k]
        ax, ay, az = g * sx + h * ux, g * sy + h * uy, g * sz + h * uz
        cx, cy, cz, mx, my, mz, dx, dy, dz, rx, ry, rz = contact(
            p, k, nx, ny, nz, xi,
            b[SPEED + k] + ay * nz - az * ny,
            b[SPEED + LANES + k] + az * nx - ax * nz,
            b[SPEED + 2 * LANES + k] + ax * ny - ay * nx,
            sx - ux, sy - uy, sz - uz, r * q / (r + q), min(r, q), 1.0 / b[LIGHT + k], elapsed,
            b[SHEAR + k], b[SHEAR + LANES + k], b[SHEAR + 2 * LANES + k],
            b[ROLL + k], b[ROLL + LANES + k], b[ROLL + 2 * LANES + k],
        )  # fmt: skip
        b[FORCE + k], b[FORCE + LANES + k], b[FORCE + 2 * LANES + k] = cx, cy, cz
        tx, ty, tz = ny * cz - nz * cy, nz * cx - nx * cz, nx * cy - ny * cx
        b[TORQUE + k] = g * tx + mx
        b[TORQUE + LANES + k] = g * ty + my
        b[TORQUE + 2 * LANES + k] = g * tz + mz
        b[OTHER_TORQUE + k] = h * tx - mx
        b[OTHER_TORQUE + LANES + k] = h * ty - my
        b[OTHER_TORQUE + 2 * LANES + k] = h * tz - mz
        b[OVERLAP + k] = xi
        if SLIDES:
            b[SHEAR + k], b[SHEAR + LANES + k], b[SHEAR + 2 * LANES + k] = dx, dy, dz
        if ROLLS:
            b[ROLL + k], b[ROLL + LANES + k], b[ROLL + 2 * LANES + k] = rx, ry, rz


@block_law
def wall_forces(block, numbers, elapsed):
    """A sphere and a wall, which has no radius and a mass without end."""
    b, p = carray(block, NUMBERS), carray(numbers, LAW_NUMBERS * LANES)
    for k in range(LANES):
        r = b[RADII + k]
        cx, cy, cz, mx, my, mz, dx, dy, dz, rx, ry, rz = contact(
            p, k, b[WAY + k], b[WAY + LANES + k], b[WAY + 2 * LANES + k], b[OVERLAP + k],
            b[SPEED + k], b[SPEED + LANES + k], b[SPEED + 2 * LANES + k],
            b[SPIN + k], b[SPIN + LANES + k], b[SPIN + 2 * LANES + k],
            r, r, 1.0 / b[LIGHT + k], elapsed,
            b[SHEAR + k], b[SHEAR + LANES + k], b[SHEAR + 2 * LANES + k],
            b[ROLL + k], b[ROLL + LANES + k], b[ROLL + 2 * LANES + k],
        )  # fmt: skip
        b[FORCE + k], b[FORCE + LANES + k], b[FORCE + 2 * LANES + k] = cx, cy, cz
        b[TORQUE + k], b[TORQUE + LANES + k], b[TORQUE + 2 * LANES + k] = mx, my, mz
        if SLIDES:
            b[SHEAR + k], b[SHEAR + LANES + k], b[SHEAR + 2 * LANES + k] = dx, dy, dz
        if ROLLS:
            b[ROLL + k], b[ROLL + LANES + k], b[ROLL + 2 * LANES + k] = rx, ry, rz
