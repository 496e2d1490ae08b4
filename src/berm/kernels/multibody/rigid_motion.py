"""Free motion of rigid bodies, and how impulses change it; float64.

Bodies are rows of flat arrays: x (nb, 3) centre of mass (m), q (nb, 4) principal axes to world,
v (nb, 3) m/s, spin (nb, 3) angular momentum about the centre in the world's axes (kg m^2/s),
omega (nb, 3) rad/s, w (nb,) inverse mass, 0 for bodies that forces do not move, moments (nb, 3),
inv (nb, 3, 3) inverse inertia in the world's axes. Bodies of given motion have v and omega only.
The last row stands for the world itself. axes (nb, 3, 3) and offset (nb, 3) lead to the shape's
frame: rot (nb, 3, 3), org (nb, 3).
"""

from __future__ import annotations

import numpy as np

from berm.kernels.geometry.rotation import free_turn, normalise, rotate, rotate_back, turn_world
from berm.kernels.jit import inner, jit


@inner
def frame_of(b, q, out):
    """Write the rotation matrix of body b's quaternion."""
    for c in range(3):
        ex = 1.0 if c == 0 else 0.0
        ey = 1.0 if c == 1 else 0.0
        ez = 1.0 if c == 2 else 0.0
        out[0, c], out[1, c], out[2, c] = rotate(q[b, 0], q[b, 1], q[b, 2], q[b, 3], ex, ey, ez)


@inner
def refresh(b, q, spin, w, moments, omega, inv, frame):
    """Inverse inertia in the world's axes, and angular velocity, after a turn of body b."""
    if w[b] == 0.0:
        return
    frame_of(b, q, frame)
    for i in range(3):
        for j in range(3):
            total = 0.0
            for c in range(3):
                total += frame[i, c] * frame[j, c] / moments[b, c]
            inv[b, i, j] = total
    for i in range(3):
        total = 0.0
        for c in range(3):
            total += inv[b, i, c] * spin[b, c]
        omega[b, i] = total


@jit
def refresh_all(q, spin, w, moments, omega, inv):
    """Bring `omega` and `inv` up to date."""
    frame = np.empty((3, 3))
    for b in range(w.shape[0]):
        refresh(b, q, spin, w, moments, omega, inv, frame)


@jit
def move_free(x, q, v, spin, w, moments, omega, inv, push, gravity, h):
    """Advance all bodies by h (s) without contacts and joints.

    push (nb, 6): momentum and angular momentum about the centre that each has received.
    """
    frame = np.empty((3, 3))
    for b in range(w.shape[0]):
        if w[b] > 0.0:
            for c in range(3):
                v[b, c] += h * gravity[c] + w[b] * push[b, c]
                spin[b, c] += push[b, 3 + c]
            lx, ly, lz = rotate_back(
                q[b, 0], q[b, 1], q[b, 2], q[b, 3], spin[b, 0], spin[b, 1], spin[b, 2]
            )
            q[b, 0], q[b, 1], q[b, 2], q[b, 3], lx, ly, lz = free_turn(
                q[b, 0], q[b, 1], q[b, 2], q[b, 3], lx, ly, lz,
                1.0 / moments[b, 0], 1.0 / moments[b, 1], 1.0 / moments[b, 2], h,
            )  # fmt: skip
            refresh(b, q, spin, w, moments, omega, inv, frame)
        else:
            q[b, 0], q[b, 1], q[b, 2], q[b, 3] = normalise(*turn_world(
                q[b, 0], q[b, 1], q[b, 2], q[b, 3],
                h * omega[b, 0], h * omega[b, 1], h * omega[b, 2],
            ))  # fmt: skip
        for c in range(3):
            x[b, c] += h * v[b, c]


@jit
def place_shapes(x, q, axes, offset, rot, org):
    """Rotation and origin of each body's shape in the world."""
    frame = np.empty((3, 3))
    for b in range(x.shape[0]):
        frame_of(b, q, frame)
        for i in range(3):
            for j in range(3):
                total = 0.0
                for c in range(3):
                    total += frame[i, c] * axes[b, j, c]
                rot[b, i, j] = total
        for i in range(3):
            arm = 0.0
            for j in range(3):
                arm += rot[b, i, j] * offset[b, j]
            org[b, i] = x[b, i] - arm


@inner
def shift(b, sign, px, py, pz, tx, ty, tz, w, inv, move):
    """Add what impulse p (kg m) and its moment t (kg m^2) do to body b.

    move (nb, 9): displacement (m), turn (rad), and the sum of the moments.
    """
    if w[b] == 0.0:
        return
    move[b, 0] += sign * w[b] * px
    move[b, 1] += sign * w[b] * py
    move[b, 2] += sign * w[b] * pz
    for i in range(3):
        move[b, 3 + i] += sign * (inv[b, i, 0] * tx + inv[b, i, 1] * ty + inv[b, i, 2] * tz)
    move[b, 6] += sign * tx
    move[b, 7] += sign * ty
    move[b, 8] += sign * tz


@inner
def at_point(b, m, rx, ry, rz):
    """What displacement and turn m[b, :6] do to the point r (m) from the centre."""
    return (
        m[b, 0] + m[b, 4] * rz - m[b, 5] * ry,
        m[b, 1] + m[b, 5] * rx - m[b, 3] * rz,
        m[b, 2] + m[b, 3] * ry - m[b, 4] * rx,
    )


@jit
def apply_moves(x, q, v, spin, w, moments, omega, inv, move, h):
    """Take the corrections over into poses and velocities."""
    frame = np.empty((3, 3))
    for b in range(w.shape[0]):
        if w[b] == 0.0:
            continue
        for c in range(3):
            x[b, c] += move[b, c]
            v[b, c] += move[b, c] / h
            spin[b, c] += move[b, 6 + c] / h
        q[b, 0], q[b, 1], q[b, 2], q[b, 3] = normalise(*turn_world(
            q[b, 0], q[b, 1], q[b, 2], q[b, 3], move[b, 3], move[b, 4], move[b, 5]
        ))
        refresh(b, q, spin, w, moments, omega, inv, frame)
