"""Free flight of particles, [Francu14] (7) and (21), and a survey of where it led."""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import inner, pjit, prange

CHUNK = 1024  # particles of one turn; sums go chunk by chunk, whatever the threads
ENERGY, FASTEST2, BAD = range(3)
SURVEY = 3


@inner
def _fall(s, v, gx, gy, gz):
    for p in range(s * CHUNK, min((s + 1) * CHUNK, v.shape[0])):
        if v[p, 3] > 0.0:
            v[p, 0], v[p, 1], v[p, 2] = v[p, 0] + gx, v[p, 1] + gy, v[p, 2] + gz


@pjit
def fall(v, gx, gy, gz):
    """Add h g (m/s) to all that has a mass, (21); v (n, 4): velocity, inverse mass."""
    for s in prange((v.shape[0] + CHUNK - 1) // CHUNK):
        _fall(np.int64(s), v, gx, gy, gz)


@inner
def _move(s, x, v, h):
    for p in range(s * CHUNK, min((s + 1) * CHUNK, v.shape[0])):
        for e in range(3):
            x[p, e] = x[p, e] + h * v[p, e]


@pjit
def move(x, v, h):
    """x += h v, (7)."""
    for s in prange((v.shape[0] + CHUNK - 1) // CHUNK):
        _move(np.int64(s), x, v, h)


@inner
def _survey(s, v, n, found):
    energy, most, bad = 0.0, 0.0, -1
    for p in range(s * CHUNK, min((s + 1) * CHUNK, n)):
        vx, vy, vz = np.float64(v[p, 0]), np.float64(v[p, 1]), np.float64(v[p, 2])
        speed2 = vx * vx + vy * vy + vz * vz
        if not math.isfinite(speed2):
            if bad < 0:
                bad = p
            continue
        most = max(most, speed2)
        if v[p, 3] > 0.0:
            energy += 0.5 * speed2 / np.float64(v[p, 3])
    found[s, ENERGY], found[s, FASTEST2], found[s, BAD] = energy, most, bad


@pjit
def survey(v, n, found):
    """Of each chunk: kinetic energy (J), largest squared speed, first row not finite or -1."""
    for s in prange(found.shape[0]):
        _survey(np.int64(s), v, n, found)
