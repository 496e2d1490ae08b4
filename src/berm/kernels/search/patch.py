"""A list of pairs as it stands, for a few grains that went, came, or have left their way.

Lanes of grains that are gone stay idle. Those that came or strayed stand in slices of their own, at
the end, with all that they may meet: as far as the others may go while the list holds, not only
from where they are now. Rows stay where they are, and all others are answered as before.

[Ericson05] C. Ericson: Real-Time Collision Detection, 2005.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import bare, jit, pjit, prange
from berm.kernels.search.neighbours import KNOCK, KNOCK_FAST, note_row, off_way2

TOGETHER = 64  # rows that have one box around them
TINY = 1e-30  # m^2: shorter ways have no direction


@bare
def _move_lane(q, lane, ptr, nbr, imp):
    """Put the contacts of a lane into lane 0 of slice q."""
    for k in range(ptr[q], ptr[q + 1]):
        nbr[8 * k] = nbr[8 * k + lane]
        for c in range(3):
            imp[24 * k + 8 * c] = imp[24 * k + 8 * c + lane]


@bare
def _renumber_lane(q, lane, old, ptr, nbr, imp, now):
    """Neighbours of a lane under their new numbers, without those that are gone."""
    at = ptr[q]
    for k in range(ptr[q], ptr[q + 1]):
        b = nbr[8 * k + lane]
        if b == old:
            break
        if now[b] >= 0:
            nbr[8 * at + lane] = now[b]
            for c in range(3):
                imp[24 * at + 8 * c + lane] = imp[24 * k + 8 * c + lane]
            at += 1
    return at


@bare
def _idle(q, lane, first, row, ptr, nbr, imp):
    """Leave the slots of a lane from `first` on idle: they hold `row`."""
    for k in range(first, ptr[q + 1]):
        nbr[8 * k + lane] = row
        for c in range(3):
            imp[24 * k + 8 * c + lane] = 0.0


@bare
def _renumber_slab(s, slab, part, lanes, ptr, nbr, imp, now, was_home, home, reach):
    low, high = slab[s], slab[s + 1]
    for q in range(part[s], part[s + 1]):
        used = 0  # a bit for each lane that is still in use
        for lane in range(8):
            old = lanes[8 * q + lane]
            if was_home[old] == 8 * q + lane and now[old] >= 0:
                used |= 1 << lane
        if used and not used & 1:  # idle lanes repeat the first one, which therefore is none
            lane = 7
            while not used >> lane & 1:
                lane -= 1
            lanes[8 * q] = lanes[8 * q + lane]
            _move_lane(q, lane, ptr, nbr, imp)
            used ^= 1 << lane | 1
        head = now[lanes[8 * q]] if used else min(slab[s], home.shape[0] - 1)
        low, high = min(low, np.int64(head)), max(high, np.int64(head) + 1)
        for lane in range(8):
            row, first = head, ptr[q]
            if used >> lane & 1:
                old = lanes[8 * q + lane]
                row = now[old]
                first = _renumber_lane(q, lane, old, ptr, nbr, imp, now)
                home[row] = 8 * q + lane
                for k in range(ptr[q], first):
                    low = min(low, np.int64(nbr[8 * k + lane]))
                    high = max(high, np.int64(nbr[8 * k + lane]) + 1)
            _idle(q, lane, first, row, ptr, nbr, imp)
            lanes[8 * q + lane] = row
    reach[s, 0], reach[s, 1] = low, high


@pjit
def renumber(slab, part, lanes, ptr, nbr, imp, now, was_home, home, reach):
    """Take over new row numbers, in place: now[old row] is the new one, -1 where it is gone.

    slab: limits of the new rows, as many slabs as part has; was_home, home: lanes by old and new
    rows, the latter -1 to begin with; reach (slabs, 2): rows that each slab touches.
    """
    for number in prange(part.shape[0] - 1):
        _renumber_slab(
            np.int64(number), slab, part, lanes, ptr, nbr, imp, now, was_home, home, reach
        )


@bare
def _room_of(i, x, ref):
    """How far (m) a row may be from its way at the end of a step, and the length of that way.

    Within a step it may go further where it is knocked away: that is gone at the next.
    """
    way = np.sqrt(ref[i, 4] ** 2 + ref[i, 5] ** 2 + ref[i, 6] ** 2)
    return np.sqrt(ref[i, 3]) - KNOCK_FAST * min(way, x[i, 3]), way


@bare
def _far_of(i, x, ref):
    """How far (m) the surface of a row may be from where it was noted."""
    room, way = _room_of(i, x, ref)
    return x[i, 3] + room + way


@bare
def _apart2(i, j, ref):
    """Squared distance (m^2) of the straight ways of two rows [Ericson05, Sec. 5.1.9]."""
    ax, ay, az = np.float64(ref[i, 4]), np.float64(ref[i, 5]), np.float64(ref[i, 6])
    bx, by, bz = np.float64(ref[j, 4]), np.float64(ref[j, 5]), np.float64(ref[j, 6])
    dx = np.float64(ref[i, 0]) - ref[j, 0]
    dy = np.float64(ref[i, 1]) - ref[j, 1]
    dz = np.float64(ref[i, 2]) - ref[j, 2]
    a, b = max(ax * ax + ay * ay + az * az, TINY), ax * bx + ay * by + az * bz
    e = max(bx * bx + by * by + bz * bz, TINY)
    c, f = ax * dx + ay * dy + az * dz, bx * dx + by * dy + bz * dz
    flat = a * e - b * b
    s = min(max((b * f - c * e) / flat, 0.0), 1.0) if flat > 1e-12 * a * e else 0.0
    t = (b * s + f) / e
    if t < 0.0:
        t, s = 0.0, min(max(-c / a, 0.0), 1.0)
    elif t > 1.0:
        t, s = 1.0, min(max((b - c) / a, 0.0), 1.0)
    dx, dy, dz = dx + s * ax - t * bx, dy + s * ay - t * by, dz + s * az - t * bz
    return dx * dx + dy * dy + dz * dz


@bare
def _may_meet(i, j, x, ref):
    """Whether two rows may touch while both are within their rooms."""
    mine, _ = _room_of(i, x, ref)
    theirs, _ = _room_of(j, x, ref)
    limit = x[i, 3] + x[j, 3] + mine + theirs
    return _apart2(i, j, ref) <= limit * limit


@jit
def strayed_rows(n, x, v, ahead, strict, ref, out):
    """Write the rows that will be off their way in `ahead` (s) to out (n,); return how many.

    strict: by more than they may be at the end of a step.
    """
    count = 0
    for i in range(n):
        px, py, pz = x[i, 0] + ahead * v[i, 0], x[i, 1] + ahead * v[i, 1], x[i, 2] + ahead * v[i, 2]
        far2 = off_way2(i, px, py, pz, ref)
        if far2 <= (KNOCK * x[i, 3]) ** 2:
            continue  # within the least room that there is
        off = not far2 <= ref[i, 3]
        if strict and not off:
            room, _ = _room_of(i, x, ref)
            off = not far2 <= room * room
        if off:
            out[count] = i
            count += 1
    return count


@bare
def _listed(i, j, home, ptr, nbr):
    """Whether row j stands in the lane of row i."""
    if home[i] < 0:
        return False
    for k in range(ptr[home[i] // 8], ptr[home[i] // 8 + 1]):
        b = nbr[8 * k + home[i] % 8]
        if b == j:
            return True
        if b == i:
            return False
    return False


@bare
def _box_of(k, n, far, ref, box):
    """Bounds of all that TOGETHER rows may reach."""
    for c in range(3):
        box[c], box[3 + c] = np.inf, -np.inf
    for i in range(k * TOGETHER, min(n, (k + 1) * TOGETHER)):
        for c in range(3):
            box[c] = min(box[c], ref[i, c] - far[i])
            box[3 + c] = max(box[3 + c], ref[i, c] + far[i])


@jit
def pairs_of(late, due, n, x, v, dt, half_skin, home, ptr, nbr, imp, ref, found, push, first):
    """Gather the pairs of rows `late` (sorted); note those that are due (n,) as they are now.

    Pairs that their lanes hold, with what they remember; then those that the rows that are due may
    meet besides and that stand nowhere yet. Fills ref of these rows, found (any,), push (any, 3)
    and the limits first (late + 1,); returns how many pairs there are, which may be more than there
    is room for.
    """
    place = np.full(n, -1, np.int64)
    for m in range(late.shape[0]):
        if due[late[m]]:
            note_row(late[m], x, v, dt, half_skin, True, ref)
            place[late[m]] = m
    far = np.empty(n, ref.dtype)
    for i in range(n):
        far[i] = _far_of(i, x, ref)
    boxes = np.empty(((n + TOGETHER - 1) // TOGETHER, 6), ref.dtype)
    for k in range(boxes.shape[0]):
        _box_of(k, n, far, ref, boxes[k])
    at, room = 0, found.shape[0]
    for m in range(late.shape[0]):
        i = late[m]
        first[m] = at
        if home[i] >= 0:
            lane = home[i] % 8
            for k in range(ptr[home[i] // 8], ptr[home[i] // 8 + 1]):
                if nbr[8 * k + lane] == i:
                    break
                if at < room:
                    found[at] = nbr[8 * k + lane]
                    for c in range(3):
                        push[at, c] = imp[24 * k + 8 * c + lane]
                at += 1
        if not due[i]:
            continue
        px, py, pz, own = ref[i, 0], ref[i, 1], ref[i, 2], far[i]
        for k in range(boxes.shape[0]):
            b = boxes[k]
            if px - own > b[3] or py - own > b[4] or pz - own > b[5]:
                continue
            if px + own < b[0] or py + own < b[1] or pz + own < b[2]:
                continue
            for j in range(k * TOGETHER, min(n, (k + 1) * TOGETHER)):
                dx, dy, dz, both = ref[j, 0] - px, ref[j, 1] - py, ref[j, 2] - pz, own + far[j]
                if dx * dx + dy * dy + dz * dz > both * both:
                    continue
                if j == i or 0 <= place[j] < m or not _may_meet(i, j, x, ref):
                    continue
                if _listed(i, j, home, ptr, nbr) or _listed(j, i, home, ptr, nbr):
                    continue
                if at < room:
                    found[at] = j
                    for c in range(3):
                        push[at, c] = 0.0
                at += 1
    first[late.shape[0]] = at
    return at


@bare
def _lift(i, lanes, ptr, nbr, imp, home):
    """Leave the lane of row i idle."""
    q, lane = home[i] // 8, home[i] % 8
    home[i] = -1
    if lane == 0:
        for other in range(7, 0, -1):
            row = lanes[8 * q + other]
            if home[row] == 8 * q + other:
                lanes[8 * q], home[row] = row, 8 * q
                _move_lane(q, other, ptr, nbr, imp)
                break
    head = lanes[8 * q]
    for other in range(8):
        if home[lanes[8 * q + other]] != 8 * q + other:
            lanes[8 * q + other] = head
            _idle(q, other, ptr[q], head, ptr, nbr, imp)


@jit
def lift(late, lanes, ptr, nbr, imp, home):
    """Leave the lanes of rows `late` idle: they get others."""
    for m in range(late.shape[0]):
        if home[late[m]] >= 0:
            _lift(late[m], lanes, ptr, nbr, imp, home)


@jit
def fill_late(late, first, found, push, rough, base, n, lanes, ptr, nbr, imp, home):
    """Write slices of rows `late`; rough (slices, 8): their rows, -1: idle; base: slices before."""
    place = np.full(n, -1, np.int64)
    for m in range(late.shape[0]):
        place[late[m]] = m
    for q in range(rough.shape[0]):
        for lane in range(8):
            row, at = rough[q, lane], ptr[q]
            if row >= 0:
                home[row] = 8 * (base + q) + lane
                for k in range(first[place[row]], first[place[row] + 1]):
                    nbr[8 * at + lane] = found[k]
                    for c in range(3):
                        imp[24 * at + 8 * c + lane] = push[k, c]
                    at += 1
            else:
                row = rough[q, 0]
            lanes[8 * q + lane] = row
            _idle(q, lane, at, row, ptr, nbr, imp)
