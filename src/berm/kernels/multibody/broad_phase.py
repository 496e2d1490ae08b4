"""Which bodies may touch: a hashed grid over the balls around them; what has no end meets all.

Time and memory grow with the number of bodies and of pairs that are near. A body that is much
larger than most is asked against all others: there are few of those.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import bare, inner, jit
from berm.kernels.multibody.arrays import DYNAMIC, KINEMATIC, STATIC

LARGE = 4.0  # times the middle radius of the balls: such a body stands in no cell
FEW = 12  # bodies: below, all pairs are asked


@bare
def length(v):
    """Length of a vector."""
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@bare
def centres(bodies, ball, h, margin, pushed, out):
    """Balls (nb, 4) in the world around bodies and the way they may go in h (s); -1: no end.

    margin: part of a ball's radius by which it is blown up; pushed (nb, 3): way (m) besides.
    """
    for b in range(ball.shape[0]):
        r = ball[b, 3]
        out[b, 3] = r
        if r < 0.0:
            continue
        rot = bodies.rot[b]
        for c in range(3):
            out[b, c] = bodies.org[b, c] + (
                rot[c, 0] * ball[b, 0] + rot[c, 1] * ball[b, 1] + rot[c, 2] * ball[b, 2]
            )
        out[b, 3] = r * (1.0 + margin) + h * top_speed(b, bodies, ball) + length(pushed[b])


@bare
def top_speed(b, bodies, ball):
    """Largest speed (m/s) of a point of body b."""
    v, w = bodies.v[b], bodies.omega[b]
    turning = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    reach = ball[b, 3]
    if reach < 0.0:
        return 0.0
    ax = ball[b, 0] - bodies.offset[b, 0]
    ay = ball[b, 1] - bodies.offset[b, 1]
    az = ball[b, 2] - bodies.offset[b, 2]
    reach += math.sqrt(ax * ax + ay * ay + az * az)
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) + reach * turning


@bare
def _near(a, b, balls):
    if balls[a, 3] < 0.0 or balls[b, 3] < 0.0:
        return True
    dx, dy = balls[a, 0] - balls[b, 0], balls[a, 1] - balls[b, 1]
    dz, far = balls[a, 2] - balls[b, 2], balls[a, 3] + balls[b, 3]
    return dx * dx + dy * dy + dz * dz < far * far


@bare
def _take(a, b, bodies, shaped, balls, apart, pairs, count):
    """Append the pair (smaller row first) if it can touch; return how many there are."""
    if not (shaped[a] and shaped[b]):
        return count
    one, other = bodies.unit[a], bodies.unit[b]
    if bodies.family[a] >= 0 and bodies.family[a] == bodies.family[b]:
        return count
    if one == other or (bodies.kind[a] != DYNAMIC and bodies.kind[b] != DYNAMIC):
        return count
    if bodies.kind[one] != DYNAMIC and bodies.kind[other] != DYNAMIC:
        # merged with what does not move by forces: driven ones wake it
        if not (bodies.kind[a] == KINEMATIC or bodies.kind[b] == KINEMATIC):
            return count
    if not _near(a, b, balls):
        return count
    low, high = min(a, b), max(a, b)
    if apart.shape[0] > 0:
        key = low * np.int64(1 << 31) + high
        at = np.searchsorted(apart, key)
        if at < apart.shape[0] and apart[at] == key:
            return count
    if count < pairs.shape[0]:
        pairs[count, 0], pairs[count, 1] = low, high
    return count + 1


@bare
def _cell(value, size):
    return np.int64(math.floor(value / size))


@bare
def _slot(i, j, k, size):
    return ((i * 73856093) ^ (j * 19349663) ^ (k * 83492791)) & (size - 1)


@jit
def near_pairs(bodies, shaped, balls, apart, pairs):
    """Fill pairs (room, 2) in ascending order and return how many there are, also beyond the room.

    shaped (nb,): whether a body has a shape; apart: sorted keys (low 2^31 + high) of pairs that
    joints keep from meeting. Bodies of one unit do not meet, nor do those that are part of the
    ground.
    """
    nb, count = balls.shape[0], np.int64(0)
    if nb <= FEW:
        for a in range(1, nb):
            for b in range(a + 1, nb):
                count = _take(a, b, bodies, shaped, balls, apart, pairs, count)
        return count
    sizes = np.empty(nb)
    known = np.int64(0)
    for b in range(1, nb):
        if balls[b, 3] >= 0.0 and shaped[b]:
            sizes[known] = balls[b, 3]
            known += 1
    if known == 0:
        return count
    middle = np.sort(sizes[:known])[known // 2]
    most = LARGE * max(middle, 1e-9)
    cell = 0.0
    large = np.empty(nb, np.bool_)
    for b in range(nb):
        large[b] = balls[b, 3] < 0.0 or balls[b, 3] > most
        if not large[b]:
            cell = max(cell, 2.0 * balls[b, 3])
    cell = max(cell, 1e-9)
    for a in range(1, nb):
        if large[a]:
            for b in range(1, nb):
                if b > a or not large[b]:
                    if b != a:
                        count = _take(a, b, bodies, shaped, balls, apart, pairs, count)
    size = 64
    while size < 2 * nb:
        size *= 2
    start = np.zeros(size + 1, np.int64)
    slot = np.empty(nb, np.int64)
    for b in range(1, nb):
        if large[b] or not shaped[b]:
            continue
        slot[b] = _slot(_cell(balls[b, 0], cell), _cell(balls[b, 1], cell),
                        _cell(balls[b, 2], cell), size)  # fmt: skip
        start[slot[b] + 1] += 1
    for k in range(size):
        start[k + 1] += start[k]
    item = np.empty(start[size], np.int64)
    fill = start[:size].copy()
    for b in range(1, nb):
        if large[b] or not shaped[b]:
            continue
        item[fill[slot[b]]] = b
        fill[slot[b]] += 1
    seen = np.zeros(size, np.int64)  # two of the 27 cells may share a slot
    awake = np.empty(nb, np.bool_)
    for b in range(nb):
        awake[b] = bodies.kind[bodies.unit[b]] != STATIC
    for a in range(1, nb):
        if large[a] or not shaped[a] or not awake[a]:
            continue
        i, j, k = _cell(balls[a, 0], cell), _cell(balls[a, 1], cell), _cell(balls[a, 2], cell)
        for di in range(-1, 2):
            for dj in range(-1, 2):
                for dk in range(-1, 2):
                    s = _slot(i + di, j + dj, k + dk, size)
                    if seen[s] == a:
                        continue
                    seen[s] = a
                    for at in range(start[s], start[s + 1]):
                        b = item[at]
                        if b > a or not awake[b]:
                            count = _take(a, b, bodies, shaped, balls, apart, pairs, count)
    if count <= pairs.shape[0]:
        _sort(pairs, count)
    return count


@inner
def _sort(pairs, count):
    """Bring pairs into ascending order, so that contacts are found again by their place."""
    keys = np.empty(count, np.int64)
    for k in range(count):
        keys[k] = pairs[k, 0] * np.int64(1 << 31) + pairs[k, 1]
    keys.sort()
    for k in range(count):
        pairs[k, 0], pairs[k, 1] = keys[k] >> 31, keys[k] & ((1 << 31) - 1)
