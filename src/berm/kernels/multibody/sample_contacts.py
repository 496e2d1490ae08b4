"""Contacts of one body's samples with another body's exact distance, in that other body's frame.

A sample is x, y, z, radius in its body's frame, its kind, and three numbers more: a POINT; an EDGE,
of which those three are the way to its end; a RIM about z, of which the first is the radius.
Of edges and rims the deepest point counts; an edge that lies along the other body counts with both
ends of the part that does. Samples of body b are samples[first[b]:first[b+1]], the convex corners
of them first (`corners`). The number of a contact's feature is that of the sample times SLOTS, and
which of its contacts it is.
"""

from __future__ import annotations

import math

from berm.kernels.geometry.distance import TUBE, count_features, distance, feature
from berm.kernels.jit import bare
from berm.kernels.multibody.contact_list import SLACK, add_contact, is_known

POINT, EDGE, RIM = 0.0, 1.0, 2.0
SLOTS = 8  # contacts of one sample at most
CUTS = 24  # of an edge at most
FINE = 1e-3  # of an edge: its deepest point is known as well as that
AT_END = 0.02  # of an edge: nearer to its end, the corner stands for it
LONG = 0.1  # of an edge: a part that lies along the other body and is longer counts at both ends
SAME = 0.02  # of a body's size: two contacts that are nearer are one
LYING = 0.7  # cosine between axis and normal: below, what has rims lies on them
FLAT = 1e-3  # sine of the angle below which a rim lies flat
OPPOSED = 0.1  # of a sum of unit vectors: shorter, they point against each other
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
SEARCH = 16  # cuts of an edge where distances are not convex


@bare
def relative(a, b, bodies, rel):
    """Pose of a's shape in the frame of b's: rel (3, 4), rotation and place."""
    p, q = bodies.rot[a], bodies.rot[b]
    o, w = bodies.org[a], bodies.org[b]
    x, y, z = o[0] - w[0], o[1] - w[1], o[2] - w[2]
    for i in range(3):
        for j in range(3):
            rel[i, j] = q[0, i] * p[0, j] + q[1, i] * p[1, j] + q[2, i] * p[2, j]
        rel[i, 3] = q[0, i] * x + q[1, i] * y + q[2, i] * z


@bare
def moved(rel, x, y, z):
    """A point of a's frame in b's."""
    return (
        rel[0, 0] * x + rel[0, 1] * y + rel[0, 2] * z + rel[0, 3],
        rel[1, 0] * x + rel[1, 1] * y + rel[1, 2] * z + rel[1, 3],
        rel[2, 0] * x + rel[2, 1] * y + rel[2, 2] * z + rel[2, 3],
    )


@bare
def turned(rel, x, y, z):
    """A vector of a's frame in b's."""
    return (
        rel[0, 0] * x + rel[0, 1] * y + rel[0, 2] * z,
        rel[1, 0] * x + rel[1, 1] * y + rel[1, 2] * z,
        rel[2, 0] * x + rel[2, 1] * y + rel[2, 2] * z,
    )


@bare
def speeds_in(a, b, bodies, out):
    """Velocities (m/s) of the centres of a and b in the frame of b's shape: out (2, 3)."""
    q = bodies.rot[b]
    for side in range(2):
        v = bodies.v[a if side == 0 else b]
        for c in range(3):
            out[side, c] = q[0, c] * v[0] + q[1, c] * v[1] + q[2, c] * v[2]


@bare
def are_apart(a, b, rel, speeds, h, reach, box):
    """Whether the boxes around two shapes stay apart in h (s) along one of their axes.

    speeds: of `speeds_in`; each of the bodies may go on or be stopped. reach (m): how far they may
    come nearer besides. box (nb, 6): centre and half edges in the shape's frame.
    """
    p, q = box[a], box[b]
    x, y, z = moved(rel, p[0], p[1], p[2])
    x, y, z = x - q[0], y - q[1], z - q[2]
    for i in range(6):
        if i < 3:  # axes of b, then those of a
            nx, ny, nz = 1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0
            wide = abs(rel[i, 0]) * p[3] + abs(rel[i, 1]) * p[4] + abs(rel[i, 2]) * p[5] + q[3 + i]
        else:
            j = i - 3
            nx, ny, nz = rel[0, j], rel[1, j], rel[2, j]
            wide = abs(nx) * q[3] + abs(ny) * q[4] + abs(nz) * q[5] + p[i]
        away = nx * x + ny * y + nz * z
        side = 1.0 if away > 0.0 else -1.0
        one = side * (nx * speeds[0, 0] + ny * speeds[0, 1] + nz * speeds[0, 2])
        two = side * (nx * speeds[1, 0] + ny * speeds[1, 1] + nz * speeds[1, 2])
        if side * away - wide > reach + h * (max(-one, 0.0) + max(two, 0.0)):
            return True
    return False


@bare
def is_beyond(box, far, x, y, z, ex, ey, ez):
    """Whether all of the way from (x, y, z) along e is farther than `far` from one side of a box.

    box (6,): centre and half edges.
    """
    x, y, z = x - box[0], y - box[1], z - box[2]
    return (
        min(x, x + ex) > box[3] + far or max(x, x + ex) < -box[3] - far
        or min(y, y + ey) > box[4] + far or max(y, y + ey) < -box[4] - far
        or min(z, z + ez) > box[5] + far or max(z, z + ez) < -box[5] - far
    )  # fmt: skip


@bare
def rim_at(s, rel, gx, gy, gz):
    """Way from the middle of a rim of a to its point farthest against g, in b's frame; found."""
    ux = -(rel[0, 0] * gx + rel[1, 0] * gy + rel[2, 0] * gz)
    uy = -(rel[0, 1] * gx + rel[1, 1] * gy + rel[2, 1] * gz)
    size = math.sqrt(ux * ux + uy * uy)
    if size < FLAT:
        return False, 0.0, 0.0, 0.0
    x, y, z = turned(rel, s[5] * ux / size, s[5] * uy / size, 0.0)
    return True, x, y, z


@bare
def note(a, b, k, slot, s, x, y, z, d, gx, gy, gz, bodies, solids, contacts):
    """Append the contact of sample k at the point (x, y, z) of b's frame, gradient g."""
    rot, org = bodies.rot[b], bodies.org[b]
    px = rot[0, 0] * x + rot[0, 1] * y + rot[0, 2] * z + org[0]
    py = rot[1, 0] * x + rot[1, 1] * y + rot[1, 2] * z + org[1]
    pz = rot[2, 0] * x + rot[2, 1] * y + rot[2, 2] * z + org[2]
    nx = rot[0, 0] * gx + rot[0, 1] * gy + rot[0, 2] * gz
    ny = rot[1, 0] * gx + rot[1, 1] * gy + rot[1, 2] * gz
    nz = rot[2, 0] * gx + rot[2, 1] * gy + rot[2, 2] * gz
    ox, oy, oz = px, py, pz
    if s[4] == RIM:
        rot, org = bodies.rot[a], bodies.org[a]
        ox = rot[0, 0] * s[0] + rot[0, 1] * s[1] + rot[0, 2] * s[2] + org[0]
        oy = rot[1, 0] * s[0] + rot[1, 1] * s[1] + rot[1, 2] * s[2] + org[1]
        oz = rot[2, 0] * s[0] + rot[2, 1] * s[1] + rot[2, 2] * s[2] + org[2]
    at = k - solids.first[a]
    add_contact(
        a, b, SLOTS * at + slot, at < solids.corners[a], px, py, pz, s[3], d, nx, ny, nz,
        ox, oy, oz, contacts,
    )  # fmt: skip


@bare
def note_new(a, b, k, slot, s, x, y, z, d, gx, gy, gz, begin, bodies, solids, contacts):
    """`note`, unless a contact of the pair, from `begin` on, stands there already."""
    rot, org = bodies.rot[b], bodies.org[b]
    reach = 0.5 * (d + s[3])
    x, y, z = x - reach * gx, y - reach * gy, z - reach * gz
    px = rot[0, 0] * x + rot[0, 1] * y + rot[0, 2] * z + org[0]
    py = rot[1, 0] * x + rot[1, 1] * y + rot[1, 2] * z + org[1]
    pz = rot[2, 0] * x + rot[2, 1] * y + rot[2, 2] * z + org[2]
    nx = rot[0, 0] * gx + rot[0, 1] * gy + rot[0, 2] * gz
    ny = rot[1, 0] * gx + rot[1, 1] * gy + rot[1, 2] * gz
    nz = rot[2, 0] * gx + rot[2, 1] * gy + rot[2, 2] * gz
    near = SAME * solids.ball[a, 3]
    if not is_known(begin, px, py, pz, nx, ny, nz, near, contacts):
        x, y, z = x + reach * gx, y + reach * gy, z + reach * gz
        note(a, b, k, slot, s, x, y, z, d, gx, gy, gz, bodies, solids, contacts)


@bare
def _lowest(kind, prm, x, y, z, ex, ey, ez, enough):
    """Where along x + t e, 0 <= t <= 1, a convex distance is least: t, distance, direction away.

    Tangents from both sides bound it from below, and meet where it is asked next; the search ends
    where the bound says that it stays at `enough` or above. Deep within, the least distance is
    where two faces are equally far: the direction is then between theirs and across the edge, as it
    is where two edges cross outside.
    """
    low, high = 0.0, 1.0
    d_low, ax, ay, az = distance(kind, prm, x, y, z)
    s_low = ax * ex + ay * ey + az * ez
    if s_low >= 0.0:
        return low, d_low, ax, ay, az
    d_high, bx, by, bz = distance(kind, prm, x + ex, y + ey, z + ez)
    s_high = bx * ex + by * ey + bz * ez
    if s_high <= 0.0:
        return high, d_high, bx, by, bz
    for _ in range(CUTS):
        wide = high - low
        if wide < FINE:
            break
        t = (d_low - d_high + s_high * high - s_low * low) / (s_high - s_low)
        if d_low + s_low * (t - low) >= enough:
            return t, enough, ax, ay, az
        t = min(max(t, low + 0.01 * wide), high - 0.01 * wide)
        d, gx, gy, gz = distance(kind, prm, x + t * ex, y + t * ey, z + t * ez)
        slope = gx * ex + gy * ey + gz * ez
        if slope == 0.0:
            return t, d, gx, gy, gz
        if slope < 0.0:
            low, d_low, s_low, ax, ay, az = t, d, slope, gx, gy, gz
        else:
            high, d_high, s_high, bx, by, bz = t, d, slope, gx, gy, gz
    t, d = (low, d_low) if d_low <= d_high else (high, d_high)
    share = s_high / (s_high - s_low)
    gx, gy, gz = (
        share * ax + (1.0 - share) * bx, share * ay + (1.0 - share) * by,
        share * az + (1.0 - share) * bz,
    )  # fmt: skip
    size = math.sqrt(gx * gx + gy * gy + gz * gz)
    if high - low >= FINE or size < OPPOSED:
        return (t, d, ax, ay, az) if t == low else (t, d, bx, by, bz)
    return t, d, gx / size, gy / size, gz / size


@bare
def _golden(kind, prm, x, y, z, ex, ey, ez):
    """`_lowest` where the distance is not convex: one of its hollows."""
    low, high = 0.0, 1.0
    one, two = 1.0 - GOLDEN, GOLDEN
    d_one = distance(kind, prm, x + one * ex, y + one * ey, z + one * ez)[0]
    d_two = distance(kind, prm, x + two * ex, y + two * ey, z + two * ez)[0]
    for _ in range(SEARCH):
        if d_one <= d_two:
            high, two, d_two = two, one, d_one
            one = high - GOLDEN * (high - low)
            d_one = distance(kind, prm, x + one * ex, y + one * ey, z + one * ez)[0]
        else:
            low, one, d_one = one, two, d_two
            two = low + GOLDEN * (high - low)
            d_two = distance(kind, prm, x + two * ex, y + two * ey, z + two * ez)[0]
    t = 0.5 * (low + high)
    d, gx, gy, gz = distance(kind, prm, x + t * ex, y + t * ey, z + t * ez)
    return t, d, gx, gy, gz


@bare
def _reaches(kind, prm, x, y, z, ex, ey, ez, t, end, level):
    """How far from t towards `end` (0 or 1) a convex distance stays at `level` or below."""
    if distance(kind, prm, x + end * ex, y + end * ey, z + end * ez)[0] <= level:
        return end
    low, high = t, end
    while abs(high - low) > 0.5 * AT_END:
        middle = 0.5 * (low + high)
        if distance(kind, prm, x + middle * ex, y + middle * ey, z + middle * ez)[0] <= level:
            low = middle
        else:
            high = middle
    return low


@bare
def _edge(a, b, k, s, margin, x, y, z, ex, ey, ez, begin, bodies, shapes, solids, contacts):
    """Contacts of an edge that starts at (x, y, z) in b's frame and goes along e."""
    kind, prm = shapes.kind[b], shapes.prm[b]
    if kind == TUBE:
        t, d, gx, gy, gz = _golden(kind, prm, x, y, z, ex, ey, ez)
    else:
        t, d, gx, gy, gz = _lowest(kind, prm, x, y, z, ex, ey, ez, margin + s[3])
    if d - s[3] >= margin:
        return
    one, two = t, t
    if kind != TUBE:
        level = d + SLACK * solids.ball[a, 3]
        one = _reaches(kind, prm, x, y, z, ex, ey, ez, t, 0.0, level)
        two = _reaches(kind, prm, x, y, z, ex, ey, ez, t, 1.0, level)
        if two - one < LONG:
            one, two = t, t
    if two > one:  # at its ends the direction is already that of b's next side
        t = 0.5 * (one + two)
        d, gx, gy, gz = distance(kind, prm, x + t * ex, y + t * ey, z + t * ez)
    for slot in range(2):
        t = one if slot == 0 else two
        if (slot == 1 and two == one) or t < AT_END or t > 1.0 - AT_END:  # the corner is there
            continue
        note_new(
            a, b, k, slot, s, x + t * ex, y + t * ey, z + t * ez, d, gx, gy, gz, begin, bodies,
            solids, contacts,
        )  # fmt: skip


@bare
def analytic_contacts(a, b, margin, rel, begin, bodies, shapes, solids, contacts):
    """Contacts of a's samples with b, whose shape has a closed distance.

    rel: of `relative`; begin: where the contacts of the pair begin.
    """
    kind, prm = shapes.kind[b], shapes.prm[b]
    first = solids.first[a]
    ball, bounded = solids.ball[a], solids.ball[b, 3] >= 0.0
    # distances change no faster than the place does
    x, y, z = moved(rel, ball[0], ball[1], ball[2])
    if distance(kind, prm, x, y, z)[0] - ball[3] >= margin:
        return
    # against a flat or hollow shape a body touches with its corners only
    last = solids.first[a + 1]
    if prm[0] < 0.0 or not bounded:
        last = first + solids.corners[a]
    faces = count_features(kind, prm)
    rimmed = last > first and solids.samples[first, 4] == RIM
    ax, ay, az = turned(rel, 0.0, 0.0, 1.0)
    for k in range(first, last):
        s = solids.samples[k]
        x, y, z = moved(rel, s[0], s[1], s[2])
        ex, ey, ez = 0.0, 0.0, 0.0
        if s[4] == EDGE:
            ex, ey, ez = turned(rel, s[5], s[6], s[7])
        far = margin + s[3] + (s[5] if s[4] == RIM else 0.0)
        if bounded and is_beyond(solids.box[b], far, x, y, z, ex, ey, ez):
            continue
        if s[4] == EDGE:
            _edge(
                a, b, k, s, margin, x, y, z, ex, ey, ez, begin, bodies, shapes, solids, contacts
            )
            continue
        if faces > 1 and s[4] == POINT:
            for face in range(min(faces, SLOTS)):
                d, gx, gy, gz = feature(kind, prm, face, x, y, z)
                if d - s[3] < margin:
                    note(a, b, k, face, s, x, y, z, d, gx, gy, gz, bodies, solids, contacts)
            continue
        d, gx, gy, gz = distance(kind, prm, x, y, z)
        if s[4] == RIM:
            if d >= far:
                continue
            found, ex, ey, ez = rim_at(s, rel, gx, gy, gz)
            if not found:
                continue
            for _ in range(2):  # where b is bent, the direction is another at the rim
                d, gx, gy, gz = distance(kind, prm, x + ex, y + ey, z + ez)
                found, fx, fy, fz = rim_at(s, rel, gx, gy, gz)
                if found:
                    ex, ey, ez = fx, fy, fz
            x, y, z = x + ex, y + ey, z + ez
            d, gx, gy, gz = distance(kind, prm, x, y, z)
        elif rimmed and abs(ax * gx + ay * gy + az * gz) < LYING:
            continue  # the lowest point of the rim is there, and goes round as it rolls
        if d - s[3] < margin:
            note(a, b, k, 0, s, x, y, z, d, gx, gy, gz, bodies, solids, contacts)
