"""How much loose soil lies in a bucket as it stands: what its shell bears, and a heap on it."""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import bare, jit

STRIPS = 24
MOST_CROSSED = 8  # sides that an upright line may cross


@bare
def held_section(profile, count, edge, lip, tangent, crossed, is_mouth):
    """Area (m^2) of soil in a section of a bucket, and its middle (m).

    profile (count, 2): s (level) and z of the shell from the edge to the lip; the mouth is between
    the two. Soil lies where shell is below it, and slopes by `tangent` at most down to the edge and
    the lip, over which it runs: at heights `edge` and `lip` (m), those of the soil in which they
    are. crossed, is_mouth (MOST_CROSSED,): scratch.
    """
    if count < 3:
        return 0.0, profile[0, 0], profile[0, 1]
    low, high = profile[0, 0], profile[0, 0]
    for k in range(1, count):
        low, high = min(low, profile[k, 0]), max(high, profile[k, 0])
    step = (high - low) / STRIPS
    area, of_s, of_z = 0.0, 0.0, 0.0
    last = count - 1
    for strip in range(STRIPS):
        s = low + (strip + 0.5) * step
        n = 0
        for k in range(count):
            a, b = k, k + 1 if k < last else 0
            start, end = profile[a, 0], profile[b, 0]
            if (start <= s) == (end <= s) or n == MOST_CROSSED:
                continue
            z = profile[a, 1] + (s - start) / (end - start) * (profile[b, 1] - profile[a, 1])
            at = n
            while at > 0 and crossed[at - 1] > z:
                crossed[at], is_mouth[at] = crossed[at - 1], is_mouth[at - 1]
                at -= 1
            crossed[at], is_mouth[at] = z, k == last
            n += 1
        surface = min(edge + tangent * abs(s - profile[0, 0]),
                      lip + tangent * abs(s - profile[last, 0]))  # fmt: skip
        for k in range(0, n - 1, 2):
            if is_mouth[k]:
                continue
            top = surface if is_mouth[k + 1] else min(surface, crossed[k + 1])
            high_ = max(top - crossed[k], 0.0)
            area += high_ * step
            of_s += high_ * step * s
            of_z += high_ * step * (crossed[k] + 0.5 * high_)
    if area <= 0.0:
        return 0.0, profile[0, 0], profile[0, 1]
    return area, of_s / area, of_z / area


@jit
def sections(profiles, tangent, out):
    """Fill out (k, 3) with `held_section` of profiles (k, count, 2)."""
    crossed, is_mouth = np.empty(MOST_CROSSED), np.empty(MOST_CROSSED, np.bool_)
    for k in range(profiles.shape[0]):
        p = profiles[k]
        out[k, 0], out[k, 1], out[k, 2] = held_section(
            p, p.shape[0], p[0, 1], p[p.shape[0] - 1, 1], tangent, crossed, is_mouth
        )
