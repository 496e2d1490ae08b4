"""Contacts between bodies that are spheres or unions of spheres: each pair of spheres once."""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.distance import SPHERE, SPHERES, TINY
from berm.kernels.jit import bare
from berm.kernels.multibody.contact_list import add_contact


@bare
def is_round(b, shapes):
    """Whether body b is a solid sphere or a union of spheres."""
    kind = shapes.kind[b]
    return kind == SPHERES or (kind == SPHERE and shapes.prm[b, 0] > 0.0)


@bare
def place_spheres(pairs, count, bodies, shapes, solids, placed, out):
    """Centres in the world (ns, 3) of the samples of all round bodies in pairs; placed: scratch."""
    for at in range(2 * count):
        b = pairs[at // 2, at % 2]
        if placed[b] or not is_round(b, shapes):
            continue
        placed[b] = True
        r, o = bodies.rot[b], bodies.org[b]
        for k in range(solids.first[b], solids.first[b + 1]):
            s = solids.samples[k]
            for c in range(3):
                out[k, c] = o[c] + r[c, 0] * s[0] + r[c, 1] * s[1] + r[c, 2] * s[2]


@bare
def sphere_contacts(a, b, margin, places, balls, near, solids, contacts):
    """Append the contacts of two round bodies; feature: i k_b + j, of spheres i and j.

    places: of `place_spheres`; balls (nb, 4): around bodies in the world. Spheres out of reach of
    the other body's ball are not compared. near: room for the numbers of b's spheres.
    """
    samples, first_a, first_b = solids.samples, solids.first[a], solids.first[b]
    end_a, end_b = solids.first[a + 1], solids.first[b + 1]
    many = end_b - first_b
    count = np.int64(0)
    x, y, z, far = balls[a, 0], balls[a, 1], balls[a, 2], solids.ball[a, 3] + margin
    for j in range(first_b, end_b):
        q, reach = places[j], far + samples[j, 3]
        dx, dy, dz = q[0] - x, q[1] - y, q[2] - z
        if dx * dx + dy * dy + dz * dz < reach * reach:
            near[count] = j
            count += 1
    if count == 0:
        return
    x, y, z, far = balls[b, 0], balls[b, 1], balls[b, 2], solids.ball[b, 3] + margin
    for i in range(first_a, end_a):
        p, r = places[i], samples[i, 3]
        dx, dy, dz = p[0] - x, p[1] - y, p[2] - z
        if dx * dx + dy * dy + dz * dz >= (far + r) * (far + r):
            continue
        for at in range(count):
            j = near[at]
            q, reach = places[j], r + samples[j, 3] + margin
            dx, dy, dz = p[0] - q[0], p[1] - q[1], p[2] - q[2]
            square = dx * dx + dy * dy + dz * dz
            if square >= reach * reach:
                continue
            away = math.sqrt(square)
            nx, ny, nz = 1.0, 0.0, 0.0
            if away > TINY:
                nx, ny, nz = dx / away, dy / away, dz / away
            add_contact(
                a, b, (i - first_a) * many + j - first_b, True, p[0], p[1], p[2], r,
                away - samples[j, 3], nx, ny, nz, p[0], p[1], p[2], contacts,
            )  # fmt: skip
