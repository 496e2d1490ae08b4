"""What a step of spheres and bodies made of spheres asks of all of them at once, in one pass each.

Arrays as in `rigid_grains`.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import jit


@jit
def grain_totals(n, x, v, spin, owner, material, used):
    """Return kinetic energy (J), largest speed (m/s) and inverse mass, least radius, first bad row.

    Energy and mass are those of single spheres; the row is -1 where all positions and velocities
    are finite. used[m] is set where a sphere is of material m.
    """
    energy, fastest, lightest, smallest, bad = 0.0, 0.0, 0.0, np.inf, -1
    for i in range(n):
        square = v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2
        fastest, smallest = max(fastest, square), min(smallest, x[i, 3])
        used[material[i]] = True
        if owner[i] < 0:
            turning = spin[i, 0] ** 2 + spin[i, 1] ** 2 + spin[i, 2] ** 2
            if v[i, 3] > 0.0:  # not fixed
                energy += 0.5 * (square / v[i, 3] + turning / spin[i, 3])
            lightest = max(lightest, v[i, 3])
        if bad < 0 and not math.isfinite(x[i, 0] + x[i, 1] + x[i, 2] + x[i, 3] + square):
            bad = i
    return energy, math.sqrt(fastest), lightest, smallest, bad


@jit
def body_energy(centre, velocity, momentum, inertia):
    """Return kinetic energy (J) of bodies."""
    energy = 0.0
    for b in range(centre.shape[0]):
        square = velocity[b, 0] ** 2 + velocity[b, 1] ** 2 + velocity[b, 2] ** 2
        energy += 0.5 * square / centre[b, 3]
        for c in range(3):
            energy += 0.5 * momentum[b, c] ** 2 / inertia[b, c]
    return energy


@jit
def lightest_body(first, centre, momentum, inertia, all_to_touching):
    """Return the largest inverse mass (1/kg) that a contact of a body sees.

    A push off the centre also turns a body, which makes it seem lighter; the spheres that touch at
    once each see a share of it.
    """
    lightest = 0.0
    for b in range(first.shape[0] - 1):
        least = min(inertia[b, 0], min(inertia[b, 1], inertia[b, 2]))
        seen = centre[b, 3] + momentum[b, 3] ** 2 / least
        lightest = max(lightest, seen * max(1.0, (first[b + 1] - first[b]) / all_to_touching))
    return lightest
