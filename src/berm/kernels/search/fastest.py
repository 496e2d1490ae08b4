"""How fast the fastest grain is."""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import jit
from berm.kernels.simd.vec8 import fma, lane, load4, splat, vmax


@jit
def fastest(v, n):
    """Largest squared speed of n grains, (m/s)^2; v (>= n, 4): velocity, any."""
    most = v[0, 0] - v[0, 0]
    eight = splat(most)
    whole = n - n % 8
    for b in range(0, whole, 8):
        x, y, z, _ = load4(v, b)
        eight = vmax(fma(x, x, fma(y, y, z * z)), eight)
    for i in range(whole, n):
        most = max(most, v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2])
    for m in range(8):
        most = max(most, lane(eight, m))
    return most


@jit
def within(x, v, n, dt, most):
    """First of n rows that is, or may be in dt (s), as far as `most` (m) from 0, or -1."""
    for i in range(n):
        far = max(abs(x[i, 0]), abs(x[i, 1]), abs(x[i, 2]))
        fast = max(abs(v[i, 0]), abs(v[i, 1]), abs(v[i, 2]))
        total = abs(x[i, 0] + x[i, 1] + x[i, 2]) + abs(v[i, 0] + v[i, 1] + v[i, 2])
        if not (far + dt * fast < most and total < np.inf):
            return i
    return -1
