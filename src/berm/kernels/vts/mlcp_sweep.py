"""Projected Gauss-Seidel and products on a sparse matrix, for complementarity problems as such."""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import jit


@jit
def project_rows(z, mu, lo, hi):
    """Project in place: blocks of a normal and two tangents where mu (nb,) is given, else a box.

    **Deviation** from the nearest point of the cone: first no pull, then the disc at that push,
    (12); its fixed points with y unchanged are those of Coulomb's law.
    """
    for b in range(mu.shape[0]):
        push = max(z[3 * b], 0.0)
        z[3 * b] = push
        size = math.hypot(z[3 * b + 1], z[3 * b + 2])
        most = mu[b] * push
        if size > most:
            scale = most / size
            z[3 * b + 1] *= scale
            z[3 * b + 2] *= scale
    for k in range(3 * mu.shape[0], z.shape[0]):
        z[k] = min(max(z[k], lo[k]), hi[k])


@jit
def sweep(ptr, col, val, q, mu, lo, hi, alpha, omega, inner_steps, z):
    """One pass of (29) over all rows; each contact's three rows are answered together.

    inner_steps: projections a contact takes against its own 3 x 3 block before the next one.
    """
    nb = mu.shape[0]
    own = np.zeros(3)
    block = np.zeros(9)
    for b in range(nb):
        y0 = q[3 * b]
        y1 = q[3 * b + 1]
        y2 = q[3 * b + 2]
        block[:] = 0.0
        for e in range(3):
            y = 0.0
            for k in range(ptr[3 * b + e], ptr[3 * b + e + 1]):
                c = col[k]
                y += val[k] * z[c]
                if c // 3 == b:
                    block[3 * e + c % 3] = val[k]
            own[e] = y
        y0 += own[0]
        y1 += own[1]
        y2 += own[2]
        a = alpha[3 * b] * omega
        for _ in range(inner_steps):
            n = z[3 * b] - a * y0
            s = z[3 * b + 1] - a * y1
            t = z[3 * b + 2] - a * y2
            n = max(n, 0.0)
            size = math.hypot(s, t)
            if size > mu[b] * n:
                scale = mu[b] * n / size
                s *= scale
                t *= scale
            dn = n - z[3 * b]
            ds = s - z[3 * b + 1]
            dt = t - z[3 * b + 2]
            z[3 * b], z[3 * b + 1], z[3 * b + 2] = n, s, t
            y0 += block[0] * dn + block[1] * ds + block[2] * dt
            y1 += block[3] * dn + block[4] * ds + block[5] * dt
            y2 += block[6] * dn + block[7] * ds + block[8] * dt
    for r in range(3 * nb, z.shape[0]):
        y = q[r]
        for k in range(ptr[r], ptr[r + 1]):
            y += val[k] * z[col[k]]
        z[r] = min(max(z[r] - omega * alpha[r] * y, lo[r]), hi[r])
