"""Room: how far a sphere may go before the list of pairs is made anew, the fast ones further.

wide (n, 4) is position and radius with the room added, as the search sees a sphere.
"""

from __future__ import annotations

import math

from berm.kernels.jit import inline, jit


@inline
def room_of(i, x, v, owner, of_body, time, least, most):
    """Room (m) of sphere i: its way in `time` (s), within bounds (radii); or that of its body."""
    if owner[i] >= 0:
        return of_body[owner[i]]
    way = time * math.sqrt(v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
    return min(max(way, least * x[i, 3]), most * x[i, 3])


@jit
def speeds(n, x, v, owner, first, rows, pace, momentum, inertia, small, out):
    """Speeds in radii a second (1/s), first of single spheres, then of bodies; how many of these.

    Fills small (bodies,) with the radius (m) of each body's smallest sphere. A body's speed is that
    of the sphere furthest out.
    """
    count = 0
    for i in range(n):
        if owner[i] < 0:
            out[count] = math.sqrt(v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2) / x[i, 3]
            count += 1
    for b in range(first.shape[0] - 1):
        least = x[rows[first[b]], 3]
        for k in range(first[b] + 1, first[b + 1]):
            least = min(least, x[rows[k], 3])
        spin = 0.0
        for c in range(3):
            spin += (momentum[b, c] / inertia[b, c]) ** 2
        way = math.sqrt(pace[b, 0] ** 2 + pace[b, 1] ** 2 + pace[b, 2] ** 2)
        small[b] = least
        out[count + b] = (way + math.sqrt(spin) * momentum[b, 3]) / least
    return count


@jit
def widen(x, v, n, owner, of_body, time, least, most, wide):
    """Fill wide for the spheres as they stand."""
    for i in range(n):
        for c in range(3):
            wide[i, c] = x[i, c]
        wide[i, 3] = x[i, 3] + room_of(i, x, v, owner, of_body, time, least, most)


@jit
def note_rooms(x, n, wide, ref):
    """Note what the list is made for, ref (n, 4): position and squared room."""
    for i in range(n):
        for c in range(3):
            ref[i, c] = x[i, c]
        ref[i, 3] = (wide[i, 3] - x[i, 3]) ** 2
