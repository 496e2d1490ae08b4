"""Spheres in a periodic box that push each other apart: forces of one configuration."""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import jit


@jit
def push(x, r, box, dims, head, after, force):
    """Fill force (n, 3) with overlaps along their normals; return energy, largest overlap, touches.

    x (n, 3) in a periodic box of edges (3,), r (n,) radii; dims (3,), head, after: room for cells.
    Stiffness is 1, so energy is half the sum of squared overlaps.
    """
    n = x.shape[0]
    head[:] = -1
    force[:] = 0.0
    cell = np.empty((n, 3), np.int64)
    for i in range(n):
        for a in range(3):
            cell[i, a] = int(x[i, a] / box[a] * dims[a]) % dims[a]
        k = (cell[i, 0] * dims[1] + cell[i, 1]) * dims[2] + cell[i, 2]
        after[i] = head[k]
        head[k] = i
    energy, most, touches = 0.0, 0.0, 0
    gap = np.empty(3)
    for i in range(n):
        for da in range(-1, 2):
            for db in range(-1, 2):
                for dc in range(-1, 2):
                    p, q = (cell[i, 0] + da) % dims[0], (cell[i, 1] + db) % dims[1]
                    j = head[(p * dims[1] + q) * dims[2] + (cell[i, 2] + dc) % dims[2]]
                    while j >= 0:
                        if j > i:
                            d2 = 0.0
                            for a in range(3):
                                gap[a] = x[i, a] - x[j, a]
                                gap[a] -= box[a] * np.round(gap[a] / box[a])
                                d2 += gap[a] * gap[a]
                            far = r[i] + r[j]
                            if d2 < far * far:
                                d = math.sqrt(d2)
                                over = far - d
                                energy += 0.5 * over * over
                                most = max(most, over)
                                touches += 1
                                for a in range(3):
                                    f = over * gap[a] / max(d, 1e-9)
                                    force[i, a] += f
                                    force[j, a] -= f
                        j = after[j]
    return energy, most, touches
