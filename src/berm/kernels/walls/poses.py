"""Poses of bodies for the search for contacts, from arrays of their state."""

from __future__ import annotations

import math

from berm.kernels.jit import jit


@jit
def flat_poses(which, origin, rotation, velocity, omega, gone, ahead, poses):
    """Write poses[b] (see `distance`) of bodies b in `which`: when `gone` (s) is over, for `ahead`.

    origin (nb, 3) m, rotation (nb, 3, 3) body to world, velocity of the origin (nb, 3) m/s and
    omega (nb, 3) rad/s in the world; all are constant while the time `gone` passes.
    """
    for k in range(which.shape[0]):
        b = which[k]
        p = poses[b]
        wx, wy, wz = omega[b, 0], omega[b, 1], omega[b, 2]
        rate = math.sqrt(wx * wx + wy * wy + wz * wz)
        for c in range(3):
            p[c] = origin[b, c] + gone * velocity[b, c]
            p[12 + c], p[15 + c] = ahead * velocity[b, c], ahead * omega[b, c]
            for r in range(3):
                p[3 + 3 * r + c] = rotation[b, r, c]
        if gone > 0.0 and rate > 0.0:
            ux, uy, uz = wx / rate, wy / rate, wz / rate
            cosine, sine = math.cos(gone * rate), math.sin(gone * rate)
            for c in range(3):  # Rodrigues, column by column
                x, y, z = rotation[b, 0, c], rotation[b, 1, c], rotation[b, 2, c]
                along = (ux * x + uy * y + uz * z) * (1.0 - cosine)
                p[3 + c] = cosine * x + sine * (uy * z - uz * y) + along * ux
                p[6 + c] = cosine * y + sine * (uz * x - ux * z) + along * uy
                p[9 + c] = cosine * z + sine * (ux * y - uy * x) + along * uz
        p[18] = math.sqrt(p[12] * p[12] + p[13] * p[13] + p[14] * p[14])
        p[19] = math.sqrt(p[15] * p[15] + p[16] * p[16] + p[17] * p[17])
        p[20], p[21] = math.cos(p[19]), math.sin(p[19])
        p[22], p[23] = 1.0 / p[19] if p[19] > 0.0 else 0.0, 0.0
