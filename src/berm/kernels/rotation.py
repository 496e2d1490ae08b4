"""Rotations as unit quaternions (w, x, y, z), body to world, and the free motion of a rigid body.

The angular momentum in the body's frame turns about one principal axis after the other, each turn
exact: x/2, y/2, z, y/2, x/2 (Dullweber, Leimkuhler, McLachlan, J. Chem. Phys. 107, 1997). |L| is
kept to rounding, energy stays within a bound that shrinks with dt^2, and time can be reversed.
"""

from __future__ import annotations

import math

from berm.kernels.jit import inline


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
def free_turn(qw, qx, qy, qz, lx, ly, lz, ix, iy, iz, dt):
    """Turn a body that no torque acts on for dt (s).

    l: angular momentum in the body's frame (kg m^2/s); i: principal moments (kg m^2). Returns the
    quaternion and the angular momentum in the new body's frame.
    """
    h = 0.5 * dt
    a = h * lx / ix
    c, s = math.cos(a), math.sin(a)
    ly, lz = c * ly + s * lz, c * lz - s * ly
    qw, qx, qy, qz = multiply(qw, qx, qy, qz, math.cos(0.5 * a), math.sin(0.5 * a), 0.0, 0.0)
    a = h * ly / iy
    c, s = math.cos(a), math.sin(a)
    lx, lz = c * lx - s * lz, c * lz + s * lx
    qw, qx, qy, qz = multiply(qw, qx, qy, qz, math.cos(0.5 * a), 0.0, math.sin(0.5 * a), 0.0)
    a = dt * lz / iz
    c, s = math.cos(a), math.sin(a)
    lx, ly = c * lx + s * ly, c * ly - s * lx
    qw, qx, qy, qz = multiply(qw, qx, qy, qz, math.cos(0.5 * a), 0.0, 0.0, math.sin(0.5 * a))
    a = h * ly / iy
    c, s = math.cos(a), math.sin(a)
    lx, lz = c * lx - s * lz, c * lz + s * lx
    qw, qx, qy, qz = multiply(qw, qx, qy, qz, math.cos(0.5 * a), 0.0, math.sin(0.5 * a), 0.0)
    a = h * lx / ix
    c, s = math.cos(a), math.sin(a)
    ly, lz = c * ly + s * lz, c * lz - s * ly
    qw, qx, qy, qz = multiply(qw, qx, qy, qz, math.cos(0.5 * a), math.sin(0.5 * a), 0.0, 0.0)
    qw, qx, qy, qz = normalise(qw, qx, qy, qz)
    return qw, qx, qy, qz, lx, ly, lz
