"""Rotations as unit quaternions (w, x, y, z), body to world, and the free motion of a rigid body.

The angular momentum in the body's frame turns about one principal axis after the other: x/2, y/2,
z, y/2, x/2 (Dullweber, Leimkuhler, McLachlan, J. Chem. Phys. 107, 1997). |L| is
kept to rounding, energy stays within a bound that shrinks with dt^2, and time can be reversed.
"""

from __future__ import annotations

import math

from berm.kernels.jit import inline

THIRD = 1.0 / 3.0  # a product takes a fraction of the time of a division


@inline
def rotate(qw, qx, qy, qz, x, y, z):
    """Turn a vector of the body's frame into the world."""
    tx = 2.0 * (qy * z - qz * y)
    ty = 2.0 * (qz * x - qx * z)
    tz = 2.0 * (qx * y - qy * x)
    return (
        x + qw * tx + qy * tz - qz * ty,
        y + qw * ty + qz * tx - qx * tz,
        z + qw * tz + qx * ty - qy * tx,
    )


@inline
def rotate_back(qw, qx, qy, qz, x, y, z):
    """Turn a vector of the world into the body's frame."""
    return rotate(qw, -qx, -qy, -qz, x, y, z)


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
def multiply(aw, ax, ay, az, bw, bx, by, bz):
    """Product a b: first b, then a."""
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


@inline
def normalise(qw, qx, qy, qz):
    """Bring a quaternion that rounding has stretched back to length 1."""
    scale = 1.0 / math.sqrt(qw * qw + qx * qx + qy * qy + qz * qz)
    return scale * qw, scale * qx, scale * qy, scale * qz


@inline
def turn_world(qw, qx, qy, qz, rx, ry, rz):
    """Turn by a rotation vector (rad) of the world's frame."""
    angle = math.sqrt(rx * rx + ry * ry + rz * rz)
    if angle == 0.0:
        return qw, qx, qy, qz
    s = math.sin(0.5 * angle) / angle
    return multiply(math.cos(0.5 * angle), s * rx, s * ry, s * rz, qw, qx, qy, qz)


@inline
def turn_pair(t, a, b):
    """Turn the vector (a, b) by the angle 2 atan t, back: the frame turns forward."""
    one = 1.0 / (1.0 + t * t)
    c, s = (1.0 - t * t) * one, 2.0 * t * one
    return c * a + s * b, c * b - s * a


@inline
def free_turn(qw, qx, qy, qz, lx, ly, lz, wx, wy, wz, dt):
    """Turn a body that no torque acts on for dt (s).

    l: angular momentum in the body's frame (kg m^2/s); w: inverses of the principal moments,
    1/(kg m^2). Returns the quaternion and the angular momentum in the new body's frame. A turn by
    the angle a is taken as 2 atan(a / 2), which keeps lengths exactly and needs no sine: the error
    is of the order of the splitting's own.
    """
    h = 0.25 * dt
    jx, jy, jz = h * wx, h * wy, 2.0 * h * wz
    t = lx * jx
    ly, lz = turn_pair(t, ly, lz)
    qw, qx, qy, qz = qw - t * qx, qx + t * qw, qy + t * qz, qz - t * qy
    t = ly * jy
    lz, lx = turn_pair(t, lz, lx)
    qw, qx, qy, qz = qw - t * qy, qx - t * qz, qy + t * qw, qz + t * qx
    t = lz * jz
    lx, ly = turn_pair(t, lx, ly)
    qw, qx, qy, qz = qw - t * qz, qx + t * qy, qy - t * qx, qz + t * qw
    t = ly * jy
    lz, lx = turn_pair(t, lz, lx)
    qw, qx, qy, qz = qw - t * qy, qx - t * qz, qy + t * qw, qz + t * qx
    t = lx * jx
    ly, lz = turn_pair(t, ly, lz)
    qw, qx, qy, qz = qw - t * qx, qx + t * qw, qy + t * qz, qz - t * qy
    qw, qx, qy, qz = normalise(qw, qx, qy, qz)
    return qw, qx, qy, qz, lx, ly, lz


@inline
def round_turn(qw, qx, qy, qz, wx, wy, wz, dt):
    """Turn a body with one moment about all axes for dt (s): it keeps its angular velocity w.

    w (rad/s) is in the body's frame. The tangent of half the angle is taken to third order.
    """
    wx, wy, wz = 0.5 * dt * wx, 0.5 * dt * wy, 0.5 * dt * wz
    more = 1.0 + (wx * wx + wy * wy + wz * wz) * THIRD
    qw, qx, qy, qz = multiply(qw, qx, qy, qz, 1.0, more * wx, more * wy, more * wz)
    return normalise(qw, qx, qy, qz)
