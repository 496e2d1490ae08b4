"""How long contacts of grains with bodies that move hold: planes go along with their bodies.

What was found is kept, also over steps, until a grain has moved by a part of its radius in the
frame of a body that it is near, or another has come by most of the way within which contacts were
looked for. `Near` is where all stood when contacts were found, so that whatever moves them counts.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from berm.kernels.jit import bare, pjit, prange
from berm.kernels.multibody.contact_rows import FLANK
from berm.kernels.multibody.motion import velocity_of

ROOM = 0.25  # radii that a grain may go in the frame of a body while its plane is taken as flat
FAR = 0.75  # of the margin of the search: what grains and bodies may go before they meet unseen


class Near(NamedTuple):
    """Where grains and bodies were when contacts were found.

    x real (n, 3); place float64 (nb, 12): centre and rotation; frames float64 (nslabs, cap, 8):
    normal and offset of a contact's plane, and place of its grain, in the frame of its body.
    """

    x: Any
    place: Any
    frames: Any


@bare
def paces(bodies, u, speed, pace, omega):
    """Velocities of bodies at u: speed (nb, 6) of centres, pace (nb, 3) of origins, omega."""
    for b in range(speed.shape[0]):
        s = speed[b]
        velocity_of(b, bodies, u, s)
        ax = bodies.org[b, 0] - bodies.x[b, 0]
        ay = bodies.org[b, 1] - bodies.x[b, 1]
        az = bodies.org[b, 2] - bodies.x[b, 2]
        pace[b, 0] = s[0] + s[4] * az - s[5] * ay
        pace[b, 1] = s[1] + s[5] * ax - s[3] * az
        pace[b, 2] = s[2] + s[3] * ay - s[4] * ax
        for c in range(3):
            omega[b, c] = s[3 + c]


@bare
def note_near(touches, slab, row, which, bodies, near):
    """Note where all stand, and each contact's plane and grain in the frame of its body."""
    for i in range(slab[slab.shape[0] - 1]):
        for c in range(3):
            near.x[i, c] = row[i, c]
    for k in range(which.shape[0]):
        b = which[k]
        for c in range(3):
            near.place[b, c] = bodies.x[b, c]
            for e in range(3):
                near.place[b, 3 + 3 * c + e] = bodies.rot[b, c, e]
    for s in range(touches.count.shape[0]):
        for j in range(touches.count[s]):
            i, b = touches.rows[s, j], touches.body[s, j]
            p, f, r, o = touches.plane[s, j], near.frames[s, j], bodies.rot[b], bodies.org[b]
            ax, ay, az = row[i, 0] - o[0], row[i, 1] - o[1], row[i, 2] - o[2]
            for c in range(3):
                f[c] = r[0, c] * p[0] + r[1, c] * p[1] + r[2, c] * p[2]
                f[4 + c] = r[0, c] * ax + r[1, c] * ay + r[2, c] * az
            f[3] = p[3] - (p[0] * o[0] + p[1] * o[1] + p[2] * o[2])


@bare
def way_of_bodies(which, bodies, ball, speed, h, place):
    """How far (m) a point of a body will be at most, after h (s), from where it was noted."""
    most = 0.0
    for k in range(which.shape[0]):
        b = which[k]
        s, off, was, r = speed[b], bodies.offset[b], place[b], bodies.rot[b]
        reach = max(ball[b, 3], 0.0) + math.sqrt(
            (ball[b, 0] - off[0]) ** 2 + (ball[b, 1] - off[1]) ** 2 + (ball[b, 2] - off[2]) ** 2
        )
        far2, turned2 = 0.0, 0.0
        for c in range(3):
            far2 += (bodies.x[b, c] - was[c]) ** 2
            for e in range(3):
                turned2 += (r[c, e] - was[3 + 3 * c + e]) ** 2
        # the difference of two rotations stretches by its Frobenius norm over root 2
        straight = math.sqrt(far2) + h * math.sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2])
        turning = math.sqrt(0.5 * turned2) + h * math.sqrt(
            s[3] * s[3] + s[4] * s[4] + s[5] * s[5]
        )
        most = max(most, straight + reach * turning)
    return most


@bare
def _strayed_slab(s, slab, touches, row, bodies, pace, omega, h, skin, way, near):
    """Whether contacts of a slab have to be found again before the coming h (s).

    skin: margin of the search, in radii; way (m): of the bodies.
    """
    for i in range(slab[s], slab[s + 1]):
        dx = row[i, 0] + h * row[i, 12] - near.x[i, 0]
        dy = row[i, 1] + h * row[i, 13] - near.x[i, 1]
        dz = row[i, 2] + h * row[i, 14] - near.x[i, 2]
        room = FAR * skin * row[i, 3] - way
        if not (room > 0.0 and dx * dx + dy * dy + dz * dz <= room * room):
            return True
    for j in range(touches.count[s]):
        i, b, f = touches.rows[s, j], touches.body[s, j], near.frames[s, j]
        r, o, v, w = bodies.rot[b], bodies.org[b], pace[b], omega[b]
        ax, ay, az = row[i, 0] - o[0], row[i, 1] - o[1], row[i, 2] - o[2]
        bx = ax + h * (row[i, 12] - v[0] - (w[1] * az - w[2] * ay))
        by = ay + h * (row[i, 13] - v[1] - (w[2] * ax - w[0] * az))
        bz = az + h * (row[i, 14] - v[2] - (w[0] * ay - w[1] * ax))
        dx = r[0, 0] * bx + r[1, 0] * by + r[2, 0] * bz - f[4]
        dy = r[0, 1] * bx + r[1, 1] * by + r[2, 1] * bz - f[5]
        dz = r[0, 2] * bx + r[1, 2] * by + r[2, 2] * bz - f[6]
        room = ROOM * row[i, 3]
        if not dx * dx + dy * dy + dz * dz <= room * room:
            return True
    return False


@pjit
def strayed(alone, slab, touches, row, bodies, pace, omega, h, skin, way, near, left):
    """Whether contacts of any slab have to be found again; left (slabs,): scratch."""
    some = False
    if alone:
        for s in range(left.shape[0]):
            some = some or _strayed_slab(
                s, slab, touches, row, bodies, pace, omega, h, skin, way, near
            )
        return some
    for number in prange(left.shape[0]):
        s = np.int64(number)  # one type, one compile
        left[s] = _strayed_slab(s, slab, touches, row, bodies, pace, omega, h, skin, way, near)
    for s in range(left.shape[0]):
        some = some or left[s]
    return some


@bare
def move_planes(touches, bodies, pace, omega, h, row, frames):
    """Take the planes of contacts along with their bodies, instead of finding them again."""
    for s in range(touches.count.shape[0]):
        for j in range(touches.count[s]):
            i, b = touches.rows[s, j], touches.body[s, j]
            p, f, r, o = touches.plane[s, j], frames[s, j], bodies.rot[b], bodies.org[b]
            nx = r[0, 0] * f[0] + r[0, 1] * f[1] + r[0, 2] * f[2]
            ny = r[1, 0] * f[0] + r[1, 1] * f[1] + r[1, 2] * f[2]
            nz = r[2, 0] * f[0] + r[2, 1] * f[1] + r[2, 2] * f[2]
            ax = row[i, 0] - row[i, 3] * nx - o[0]
            ay = row[i, 1] - row[i, 3] * ny - o[1]
            az = row[i, 2] - row[i, 3] * nz - o[2]
            w, v = omega[b], pace[b]
            p[0], p[1], p[2] = nx, ny, nz
            p[3] = f[3] + nx * o[0] + ny * o[1] + nz * o[2]
            p[4] = h * (v[0] + w[1] * az - w[2] * ay)
            p[5] = h * (v[1] + w[2] * ax - w[0] * az)
            p[6] = h * (v[2] + w[0] * ay - w[1] * ax)


@bare
def run_belts(touches, bodies, h):
    """Let planes of contacts go along with the belts of their bodies, as the rims of wheels do."""
    for s in range(touches.count.shape[0]):
        for j in range(touches.count[s]):
            b, p = touches.body[s, j], touches.plane[s, j]
            f, r = bodies.belt[b], bodies.rot[b]
            if f[3] == 0.0:
                continue
            ex = r[0, 0] * f[0] + r[0, 1] * f[1] + r[0, 2] * f[2]
            ey = r[1, 0] * f[0] + r[1, 1] * f[1] + r[1, 2] * f[2]
            ez = r[2, 0] * f[0] + r[2, 1] * f[1] + r[2, 2] * f[2]
            dx, dy, dz = ey * p[2] - ez * p[1], ez * p[0] - ex * p[2], ex * p[1] - ey * p[0]
            size = math.sqrt(dx * dx + dy * dy + dz * dz)
            if size >= FLANK:
                p[4] += h * f[3] * dx / size
                p[5] += h * f[3] * dy / size
                p[6] += h * f[3] * dz / size


@bare
def place_rows(slab, row, x, v):
    """Positions and velocities of the rows of all slabs, as the search for contacts reads them."""
    for i in range(slab[slab.shape[0] - 1]):
        for c in range(3):
            x[i, c] = row[i, c]
            v[i, c] = row[i, 12 + c]
