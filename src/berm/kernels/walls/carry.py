"""What a new set of contacts takes over from the one before, and what the solvers read of it."""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import bare, jit

# Normals of unit length that differ by less than this squared are within 25 degrees.
MATCH = 2.0 - 2.0 * math.cos(math.radians(25.0))


@bare
def mismatch(a, b):
    """Squared difference of two planes' normals; unlike a cosine, exact where they are equal."""
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2


@bare
def match_slab(
    s, rows, body, plane, impulse, count, use_old_row, old_row,
    old_body, old_plane, old_impulse, old_first, old_follow, old_claim,
):  # fmt: skip
    """Give each new contact of a slab the impulse of its best old one, each used at most once.

    Old arrays are flat over slabs. A grain's old chain is read by its own new contacts only, so
    slabs do not race. Who finds the better match keeps it, the other looks on (stable matching).
    """
    for k in range(count[s]):
        row = np.int64(rows[s, k])
        if use_old_row:
            row = old_row[row]
        j = old_first[row] if 0 <= row < old_first.shape[0] else -1
        while j >= 0:
            old_claim[j] = -1
            j = old_follow[j]
    for k in range(count[s]):
        mine = k
        while mine >= 0:
            row = np.int64(rows[s, mine])
            if use_old_row:
                row = old_row[row]
            best, least, loser = -1, MATCH, -1
            j = old_first[row] if 0 <= row < old_first.shape[0] else -1
            while j >= 0:
                if old_body[j] == body[s, mine]:
                    c = mismatch(plane[s, mine], old_plane[j])
                    owner = old_claim[j]
                    if c < least and (owner < 0 or c < mismatch(plane[s, owner], old_plane[j])):
                        best, least, loser = j, c, owner
                j = old_follow[j]
            if best >= 0:
                old_claim[best] = mine
                for c in range(4):
                    impulse[s, mine, c] = old_impulse[best, c]
                    if loser >= 0:
                        impulse[s, loser, c] = 0.0
            mine = loser


@bare
def turns_slab(s, rows, plane, count):
    """Note how many contacts before it in its block of eight are of the same grain."""
    for b in range(0, count[s], 8):
        for k in range(b, min(b + 8, count[s])):
            before = 0
            for other in range(b, k):
                if rows[s, other] == rows[s, k]:
                    before += 1
            plane[s, k, 7] = before


@jit
def sum_forces(rows, body, plane, total, count, x, origin, out):
    """Add force and torque about the body's origin of all contacts to out (bodies, 6)."""
    for s in range(rows.shape[0]):
        for k in range(count[s]):
            i, b = rows[s, k], body[s, k]
            fx = -np.float64(total[s, k, 0])
            fy = -np.float64(total[s, k, 1])
            fz = -np.float64(total[s, k, 2])
            r = np.float64(x[i, 3])
            ax = x[i, 0] - r * plane[s, k, 0] - origin[b, 0]
            ay = x[i, 1] - r * plane[s, k, 1] - origin[b, 1]
            az = x[i, 2] - r * plane[s, k, 2] - origin[b, 2]
            out[b, 0] += fx
            out[b, 1] += fy
            out[b, 2] += fz
            out[b, 3] += ay * fz - az * fy
            out[b, 4] += az * fx - ax * fz
            out[b, 5] += ax * fy - ay * fx
