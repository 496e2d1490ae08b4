"""Ways of grains that walls bend: found from the planes met so far, and followed again."""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import bare

# A path that walls bend by more than this many radii is followed again, along the walls.
BEND = 0.25
PROJECTIONS = 4


@bare
def bend_path(s, row, fa, ax, ay, az, bx, by, bz, r, plane, first, follow, leg):
    """Slide the end of a grain's way along the planes it meets; return whether that is a new way.

    leg receives row, fraction, start (3), end (3): from the first plane met to the slid end.
    """
    cap = plane.shape[1]
    ex, ey, ez = bx, by, bz
    t = 1.0
    for sweep in range(PROJECTIONS):
        slid = False
        j = first[row]
        while j >= 0:
            p = plane[s, j - s * cap]
            drift = p[0] * p[4] + p[1] * p[5] + p[2] * p[6]
            gap = p[0] * ex + p[1] * ey + p[2] * ez - p[3] - r - drift
            if gap < 0.0:
                ex, ey, ez = ex - gap * p[0], ey - gap * p[1], ez - gap * p[2]
                slid = True
            if sweep == 0:
                start = p[0] * ax + p[1] * ay + p[2] * az - p[3] - r - fa * drift
                end = p[0] * bx + p[1] * by + p[2] * bz - p[3] - r - drift
                if end < 0.0 and end < start:
                    t = min(t, max(0.0, start / (start - end)))
            j = follow[s, j - s * cap]
        if not slid:  # most grains near a wall do not meet it
            break
    least = (BEND * r) ** 2
    if not (ex - bx) ** 2 + (ey - by) ** 2 + (ez - bz) ** 2 > least:
        return False
    leg[0], leg[1] = row, fa + t * (1.0 - fa)
    leg[2], leg[3], leg[4] = ax + t * (bx - ax), ay + t * (by - ay), az + t * (bz - az)
    leg[5], leg[6], leg[7] = ex, ey, ez
    return (ex - leg[2]) ** 2 + (ey - leg[3]) ** 2 + (ez - leg[4]) ** 2 > least


@bare
def legs_slab(
    s, x, v, dt, gravity, rows, plane, count, first, follow, again, legs, leg_count
):
    """Find the bent ways of a slab: of all grains in contact, or `again` of the legs before."""
    cap = rows.shape[1]
    found = 0
    if again:
        for i in range(leg_count[s]):
            q = legs[s, i]
            row = int(q[0])
            # found <= i, so a leg is written only once it has been read.
            if bend_path(
                s, row, q[1], q[2], q[3], q[4], q[5], q[6], q[7], np.float64(x[row, 3]),
                plane, first, follow, legs[s, found],
            ):  # fmt: skip
                found += 1
    else:
        for k in range(count[s]):
            i = np.int64(rows[s, k])
            if first[i] != s * cap + k:  # once a grain
                continue
            ax, ay, az = np.float64(x[i, 0]), np.float64(x[i, 1]), np.float64(x[i, 2])
            if bend_path(
                s, i, 0.0, ax, ay, az, ax + dt * v[i, 0] + dt * dt * gravity[0],
                ay + dt * v[i, 1] + dt * dt * gravity[1], az + dt * v[i, 2] + dt * dt * gravity[2],
                np.float64(x[i, 3]), plane, first, follow, legs[s, found],
            ):  # fmt: skip
                found += 1
    leg_count[s] = found
