"""Contacts between bodies: sample points of one body's surface against the other's distance.

A sample is x, y, z, radius in its body's frame, its kind, and three numbers more: a POINT; an EDGE,
of which those three are the way to its end; a RIM about z, of which the first is the radius.
Of edges and rims the deepest point counts. Samples of body b are samples[first[b]:first[b+1]], the
convex corners of them first. A pair (a, b) asks for a's samples in b's distance. A contact is a
row of NROW numbers, and the two bodies; its normal points from b to a. memory[pair's first slot +
sample] keeps the impulse for the next substep.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.distance import distance
from berm.kernels.geometry.heightfield import height_distance
from berm.kernels.geometry.mesh_grid import EMPTY, mesh_bound, mesh_distance
from berm.kernels.jit import inner, jit
from berm.kernels.multibody.rigid_motion import at_point, shift

# columns of a contact: normal, arms of a and b, gap, friction, restitution, motion of the substep,
# approach, impulses, place in memory, inverse masses along and across the normal
GAP, MU_S, MU_K, BOUNCE, T0, VN0, LN, LT, SLOT, W_N, W_T = 9, 10, 11, 12, 13, 16, 17, 18, 21, 22, 23
CORNER = 24
NROW = 25
MARGIN = 0.01  # of the sampled body's size: samples nearer than this may come into contact
POINT, EDGE, RIM = 0.0, 1.0, 2.0
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
SEARCH = 16  # cuts of an edge: its deepest point is known to 0.05 % of its length
AT_END = 0.02  # of an edge: nearer to its end, the corner stands for it
FLAT = 1e-3  # sine of the angle below which a rim lies flat
ENOUGH = 3  # corners that carry a body
WARM = 0.8  # part of its last impulse that a contact starts from; all of it shakes tall stacks
RECOVER = 0.2  # part of an overlap that a substep takes away
SETTLE = 2.0  # a contact slower than so many h g does not bounce


@inner
def approach_speed(a, b, row, v, omega):
    """Velocity of a against b at the contact."""
    return (
        v[a, 0]
        + omega[a, 1] * row[5]
        - omega[a, 2] * row[4]
        - v[b, 0]
        - omega[b, 1] * row[8]
        + omega[b, 2] * row[7],
        v[a, 1]
        + omega[a, 2] * row[3]
        - omega[a, 0] * row[5]
        - v[b, 1]
        - omega[b, 2] * row[6]
        + omega[b, 0] * row[8],
        v[a, 2]
        + omega[a, 0] * row[4]
        - omega[a, 1] * row[3]
        - v[b, 2]
        - omega[b, 0] * row[7]
        + omega[b, 1] * row[6],
    )


@inner
def add_contact(
    a, b, px, py, pz, r, d, nx, ny, nz, corner, law, pair, slot, x, v, omega, start, h, rows, who,
    count,
):  # fmt: skip
    """Append a contact of the sample at p (world), at distance d, unit normal n (world)."""
    k = count[0]
    count[0] = k + 1
    if k >= rows.shape[0]:  # the caller grows the arrays and starts again
        return
    gap = d - r
    row = rows[k]
    who[k, 0], who[k, 1] = a, b
    reach = r + 0.5 * gap  # one point for both bodies, so that friction has no couple
    cx, cy, cz = px - reach * nx, py - reach * ny, pz - reach * nz
    row[0], row[1], row[2] = nx, ny, nz
    row[3], row[4], row[5] = cx - x[a, 0], cy - x[a, 1], cz - x[a, 2]
    row[6], row[7], row[8] = cx - x[b, 0], cy - x[b, 1], cz - x[b, 2]
    row[GAP], row[MU_S], row[MU_K], row[BOUNCE] = gap, law[pair, 0], law[pair, 1], law[pair, 2]
    ux, uy, uz = approach_speed(a, b, row, v, omega)
    row[T0], row[T0 + 1], row[T0 + 2] = h * ux, h * uy, h * uz
    closing = nx * ux + ny * uy + nz * uz
    # an overlap from before goes little by little: at once, it would become speed
    before = gap - h * closing
    if before < 0.0:
        row[GAP] = h * closing + RECOVER * before
    # what bounces is the speed before the substep: a load that presses down does not
    ux, uy, uz = approach_speed(a, b, row, start[0], start[1])
    row[VN0] = nx * ux + ny * uy + nz * uz
    row[SLOT], row[CORNER] = slot, 1.0 if corner else 0.0


@inner
def to_shape(b, rot, org, x, y, z):
    """World point to the frame of body b's shape."""
    ux, uy, uz = x - org[b, 0], y - org[b, 1], z - org[b, 2]
    return (
        rot[b, 0, 0] * ux + rot[b, 1, 0] * uy + rot[b, 2, 0] * uz,
        rot[b, 0, 1] * ux + rot[b, 1, 1] * uy + rot[b, 2, 1] * uz,
        rot[b, 0, 2] * ux + rot[b, 1, 2] * uy + rot[b, 2, 2] * uz,
    )


@inner
def from_shape(b, rot, x, y, z):
    """Vector of the shape's frame to the world."""
    return (
        rot[b, 0, 0] * x + rot[b, 0, 1] * y + rot[b, 0, 2] * z,
        rot[b, 1, 0] * x + rot[b, 1, 1] * y + rot[b, 1, 2] * z,
        rot[b, 2, 0] * x + rot[b, 2, 1] * y + rot[b, 2, 2] * z,
    )


@inner
def near_ball(b, ball, rot, org, x, y, z, more):
    """Whether a world point lies within `more` of the ball around body b."""
    if ball[b, 3] < 0.0:  # it has no end
        return True
    cx, cy, cz = from_shape(b, rot, ball[b, 0], ball[b, 1], ball[b, 2])
    cx, cy, cz = cx + org[b, 0] - x, cy + org[b, 1] - y, cz + org[b, 2] - z
    far = ball[b, 3] + more
    return cx * cx + cy * cy + cz * cz < far * far


@inner
def apart(a, b, ball, ahead, rot, org):
    """Whether the balls around two bodies are apart, also by what they may go."""
    if ball[a, 3] < 0.0:
        return False
    cx, cy, cz = from_shape(a, rot, ball[a, 0], ball[a, 1], ball[a, 2])
    more = (1.0 + MARGIN) * ball[a, 3] + ahead[a] + ahead[b]
    return not near_ball(b, ball, rot, org, cx + org[a, 0], cy + org[a, 1], cz + org[a, 2], more)


@inner
def sample_in(a, b, s, rot, org):
    """Place of a sample of a in the frame of b's shape."""
    px, py, pz = from_shape(a, rot, s[0], s[1], s[2])
    return to_shape(b, rot, org, px + org[a, 0], py + org[a, 1], pz + org[a, 2])


@inner
def edge_in(a, b, s, rot):
    """Direction of an edge of a in the frame of b's shape."""
    px, py, pz = from_shape(a, rot, s[5], s[6], s[7])
    return (
        rot[b, 0, 0] * px + rot[b, 1, 0] * py + rot[b, 2, 0] * pz,
        rot[b, 0, 1] * px + rot[b, 1, 1] * py + rot[b, 2, 1] * pz,
        rot[b, 0, 2] * px + rot[b, 1, 2] * py + rot[b, 2, 2] * pz,
    )


@inner
def rim_in(a, b, s, gx, gy, gz, rot):
    """Way from the middle of a rim of a to its point farthest against g, in b's frame; found."""
    nx, ny, nz = from_shape(b, rot, gx, gy, gz)
    ux = -(rot[a, 0, 0] * nx + rot[a, 1, 0] * ny + rot[a, 2, 0] * nz)
    uy = -(rot[a, 0, 1] * nx + rot[a, 1, 1] * ny + rot[a, 2, 1] * nz)
    size = math.sqrt(ux * ux + uy * uy)
    if size < FLAT:
        return False, 0.0, 0.0, 0.0
    px, py, pz = from_shape(a, rot, s[5] * ux / size, s[5] * uy / size, 0.0)
    return (
        True,
        rot[b, 0, 0] * px + rot[b, 1, 0] * py + rot[b, 2, 0] * pz,
        rot[b, 0, 1] * px + rot[b, 1, 1] * py + rot[b, 2, 1] * pz,
        rot[b, 0, 2] * px + rot[b, 1, 2] * py + rot[b, 2, 2] * pz,
    )


@inner
def reach_of(s):
    """How far (m) a sample reaches from its place."""
    if s[4] == EDGE:
        return math.sqrt(s[5] * s[5] + s[6] * s[6] + s[7] * s[7])
    return s[5] if s[4] == RIM else 0.0


@inner
def note(
    a, b, k, s, ux, uy, uz, d, gx, gy, gz, rot, org, corners, law, pair, slots, first, x, v, omega,
    start, h, rows, who, count,
):  # fmt: skip
    """Append the contact at the point u of b's frame, with distance d and gradient g."""
    px, py, pz = from_shape(b, rot, ux, uy, uz)
    nx, ny, nz = from_shape(b, rot, gx, gy, gz)
    add_contact(
        a, b, px + org[b, 0], py + org[b, 1], pz + org[b, 2], s[3], d, nx, ny, nz, k < corners[a],
        law, pair, slots[pair] + k - first[a], x, v, omega, start, h, rows, who, count,
    )  # fmt: skip


@jit
def shape_pairs(
    pairs, slots, law, kinds, prm, samples, first, corners, ball, ahead, rot, org, x, v, omega,
    start, h, rows, who, count,
):  # fmt: skip
    """Contacts of all pairs (np, 2) whose second body has an analytic shape.

    ahead (nb,): how much farther than the margin (m) each body looks.
    """
    for pair in range(pairs.shape[0]):
        a, b = pairs[pair, 0], pairs[pair, 1]
        if kinds[b] < 0 or apart(a, b, ball, ahead, rot, org):
            continue
        margin = MARGIN * ball[a, 3] + ahead[a] + ahead[b]
        # against a flat or hollow shape a body touches with its corners only
        last = corners[a] if prm[b, 0] < 0.0 or ball[b, 3] < 0.0 else first[a + 1]
        for k in range(first[a], last):
            s = samples[k]
            ux, uy, uz = sample_in(a, b, s, rot, org)
            d, gx, gy, gz = distance(kinds[b], prm[b], ux, uy, uz)
            if d - s[3] - reach_of(s) >= margin:
                continue
            if s[4] == EDGE:
                ex, ey, ez = edge_in(a, b, s, rot)
                low, high = 0.0, 1.0
                one, two = 1.0 - GOLDEN, GOLDEN
                d_one = distance(kinds[b], prm[b], ux + one * ex, uy + one * ey, uz + one * ez)[0]
                d_two = distance(kinds[b], prm[b], ux + two * ex, uy + two * ey, uz + two * ez)[0]
                for _ in range(SEARCH):
                    if d_one <= d_two:
                        high, two, d_two = two, one, d_one
                        one = high - GOLDEN * (high - low)
                        d_one = distance(
                            kinds[b], prm[b], ux + one * ex, uy + one * ey, uz + one * ez
                        )[0]
                    else:
                        low, one, d_one = one, two, d_two
                        two = low + GOLDEN * (high - low)
                        d_two = distance(
                            kinds[b], prm[b], ux + two * ex, uy + two * ey, uz + two * ez
                        )[0]
                t = 0.5 * (low + high)
                if t < AT_END or t > 1.0 - AT_END:  # the corner is there
                    continue
                ux, uy, uz = ux + t * ex, uy + t * ey, uz + t * ez
                d, gx, gy, gz = distance(kinds[b], prm[b], ux, uy, uz)
            elif s[4] == RIM:
                found, ex, ey, ez = rim_in(a, b, s, gx, gy, gz, rot)
                if not found:
                    continue
                for _ in range(2):  # where b is bent, the direction is another at the rim
                    d, gx, gy, gz = distance(kinds[b], prm[b], ux + ex, uy + ey, uz + ez)
                    found, fx, fy, fz = rim_in(a, b, s, gx, gy, gz, rot)
                    if found:
                        ex, ey, ez = fx, fy, fz
                ux, uy, uz = ux + ex, uy + ey, uz + ez
                d, gx, gy, gz = distance(kinds[b], prm[b], ux, uy, uz)
            if d - s[3] < margin:
                note(
                    a, b, k, s, ux, uy, uz, d, gx, gy, gz, rot, org, corners, law, pair, slots,
                    first, x, v, omega, start, h, rows, who, count,
                )  # fmt: skip


@jit
def triangle_pair(
    pair, a, b, is_mesh, tri, normals, frame, dims, starts, members, field, heights,
    slots, law, samples, first, corners, ball, ahead, rot, org, x, v, omega, start, h, rows, who,
    count,
):  # fmt: skip
    """Contacts of one pair whose second body is a mesh or a height field.

    Such a shape is not convex: of an edge, the middle and the quarters are asked.
    """
    if apart(a, b, ball, ahead, rot, org):
        return
    margin = MARGIN * ball[a, 3] + ahead[a] + ahead[b]
    scratch = np.empty((2, 3, 3))
    for k in range(first[a], first[a + 1]):
        s = samples[k]
        px, py, pz = from_shape(a, rot, s[0], s[1], s[2])
        if not near_ball(
            b, ball, rot, org, px + org[a, 0], py + org[a, 1], pz + org[a, 2],
            margin + s[3] + reach_of(s),
        ):  # fmt: skip
            continue
        ux, uy, uz = sample_in(a, b, s, rot, org)
        ex, ey, ez = 0.0, 0.0, 0.0
        tries = 1
        if s[4] == EDGE:
            ex, ey, ez = edge_in(a, b, s, rot)
            tries = 3
        best, bx, by, bz, fx, fy, fz = np.inf, ux, uy, uz, 0.0, 0.0, 1.0
        for turn in range(tries):
            t = 0.25 * (turn + 1.0)
            wx, wy, wz = ux + t * ex, uy + t * ey, uz + t * ez
            d, gx, gy, gz = np.inf, 0.0, 0.0, 1.0
            if is_mesh:  # the exact distance costs the more the farther away
                least, state = mesh_bound(frame, dims, field, wx, wy, wz)
                far = margin + s[3] + (s[5] if s[4] == RIM else 0.0)
                if state == EMPTY and least > far:
                    continue
            for again in range(2 if s[4] == RIM else 1):
                if is_mesh:
                    d, gx, gy, gz, _, _, _ = mesh_distance(
                        tri, normals, frame, dims, starts, members, field, wx, wy, wz
                    )
                else:
                    d, gx, gy, gz = height_distance(heights, frame, wx, wy, wz, scratch)
                if s[4] == RIM and again == 0:
                    found, ex, ey, ez = rim_in(a, b, s, gx, gy, gz, rot)
                    if not found:
                        d = np.inf
                        break
                    wx, wy, wz = ux + ex, uy + ey, uz + ez
            if d < best:
                best, bx, by, bz, fx, fy, fz = d, wx, wy, wz, gx, gy, gz
        if best - s[3] < margin:
            note(
                a, b, k, s, bx, by, bz, best, fx, fy, fz, rot, org, corners, law, pair, slots,
                first, x, v, omega, start, h, rows, who, count,
            )  # fmt: skip


@jit
def thin_contacts(rows, who, count, size):
    """Where corners carry two bodies, leave out the samples between them; return the new count.

    Such samples stay if they are deeper than any corner by a part of the margin. Fewer contacts
    make the passes converge faster; the choice must not flicker, so depth alone does not decide.
    """
    state = np.zeros(count, np.int8)  # 1: kept, 2: left out
    for k in range(count):
        if state[k] != 0:
            continue
        a, b = who[k, 0], who[k, 1]
        corners = 0
        deepest = np.inf
        for phase in range(2):
            for m in range(k, count):
                same = who[m, 0] == a and who[m, 1] == b
                if not (same or (who[m, 0] == b and who[m, 1] == a)):
                    continue
                corner = rows[m, CORNER] != 0.0
                if phase == 0 and corner:
                    corners += 1
                    deepest = min(deepest, rows[m, GAP])
                elif phase == 1:
                    slack = 0.1 * MARGIN * abs(size[a, 3])
                    out = not corner and corners >= ENOUGH and rows[m, GAP] > deepest - slack
                    state[m] = 2 if out else 1
    kept = 0
    for k in range(count):
        if state[k] == 1:
            if kept < k:
                rows[kept] = rows[k]
                who[kept] = who[k]
            kept += 1
    return kept


@inner
def softness(b, rx, ry, rz, nx, ny, nz, w, inv):
    """Generalised inverse mass of body b at r along n, [Mueller20] (2)."""
    if w[b] == 0.0:
        return 0.0
    tx, ty, tz = ry * nz - rz * ny, rz * nx - rx * nz, rx * ny - ry * nx
    return (
        w[b]
        + tx * (inv[b, 0, 0] * tx + inv[b, 0, 1] * ty + inv[b, 0, 2] * tz)
        + ty * (inv[b, 1, 0] * tx + inv[b, 1, 1] * ty + inv[b, 1, 2] * tz)
        + tz * (inv[b, 2, 0] * tx + inv[b, 2, 1] * ty + inv[b, 2, 2] * tz)
    )


@inner
def push_both(row, a, b, px, py, pz, w, inv, move):
    """Equal and opposite impulse p (kg m) on both bodies of a contact."""
    shift(
        a, 1.0, px, py, pz, row[4] * pz - row[5] * py, row[5] * px - row[3] * pz,
        row[3] * py - row[4] * px, w, inv, move,
    )  # fmt: skip
    shift(
        b, -1.0, px, py, pz, row[7] * pz - row[8] * py, row[8] * px - row[6] * pz,
        row[6] * py - row[7] * px, w, inv, move,
    )  # fmt: skip


@inner
def relative(row, a, b, move):
    """Displacement of a against b at the contact."""
    ax, ay, az = at_point(a, move, row[3], row[4], row[5])
    bx, by, bz = at_point(b, move, row[6], row[7], row[8])
    return ax - bx, ay - by, az - bz


@inner
def weigh_contacts(rows, who, count, w, inv):
    """Inverse mass of each contact along its normal, and the largest across it."""
    for k in range(count):
        row = rows[k]
        nx, ny, nz = row[0], row[1], row[2]
        if abs(nx) < 0.6:
            size = math.sqrt(ny * ny + nz * nz)
            tx, ty, tz = 0.0, nz / size, -ny / size
        else:
            size = math.sqrt(nx * nx + ny * ny)
            tx, ty, tz = ny / size, -nx / size, 0.0
        sx, sy, sz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
        half = math.sqrt(0.5)
        normal, one, two, both = 0.0, 0.0, 0.0, 0.0
        for side in range(2):
            b, r = who[k, side], 3 + 3 * side
            rx, ry, rz = row[r], row[r + 1], row[r + 2]
            normal += softness(b, rx, ry, rz, nx, ny, nz, w, inv)
            one += softness(b, rx, ry, rz, tx, ty, tz, w, inv)
            two += softness(b, rx, ry, rz, sx, sy, sz, w, inv)
            both += softness(
                b, rx, ry, rz, half * (tx + sx), half * (ty + sy), half * (tz + sz), w, inv
            )
        mixed = both - 0.5 * (one + two)
        row[W_N] = normal
        row[W_T] = 0.5 * (one + two) + math.sqrt(0.25 * (one - two) ** 2 + mixed * mixed)


@inner
def warm_contacts(rows, who, count, memory, w, inv, move):
    """Start from the impulses of the last substep."""
    for k in range(count):
        row = rows[k]
        kept = memory[int(row[SLOT])]
        row[LN] = WARM * kept[0]
        px, py, pz = WARM * kept[1], WARM * kept[2], WARM * kept[3]
        along = px * row[0] + py * row[1] + pz * row[2]
        row[LT] = px - along * row[0]
        row[LT + 1] = py - along * row[1]
        row[LT + 2] = pz - along * row[2]
        push_both(
            row, who[k, 0], who[k, 1], row[LN] * row[0] + row[LT],
            row[LN] * row[1] + row[LT + 1], row[LN] * row[2] + row[LT + 2], w, inv, move,
        )  # fmt: skip


@inner
def keep_contacts(rows, count, memory):
    """Note the impulses for the next substep."""
    for k in range(memory.shape[0]):
        for c in range(4):
            memory[k, c] = 0.0
    for k in range(count):
        kept = memory[int(rows[k, SLOT])]
        kept[0] = rows[k, LN]
        for c in range(3):
            kept[1 + c] = rows[k, LT + c]


@inner
def sweep_contacts(rows, who, count, w, inv, move, backwards):
    """One pass: no overlap at the end of the substep, and Coulomb friction on its way."""
    for turn in range(count):
        k = count - 1 - turn if backwards else turn
        row = rows[k]
        a, b = who[k, 0], who[k, 1]
        nx, ny, nz = row[0], row[1], row[2]
        ux, uy, uz = relative(row, a, b, move)
        before = row[LN]
        row[LN] = max(before - (row[GAP] + nx * ux + ny * uy + nz * uz) / row[W_N], 0.0)
        if row[LN] == 0.0 and before == 0.0:
            continue
        change = row[LN] - before
        if change != 0.0:
            push_both(row, a, b, change * nx, change * ny, change * nz, w, inv, move)
            ux, uy, uz = relative(row, a, b, move)
        tx, ty, tz = row[T0] + ux, row[T0 + 1] + uy, row[T0 + 2] + uz
        along = tx * nx + ty * ny + tz * nz
        tx, ty, tz = tx - along * nx, ty - along * ny, tz - along * nz
        px, py, pz = row[LT], row[LT + 1], row[LT + 2]
        fx, fy, fz = px - tx / row[W_T], py - ty / row[W_T], pz - tz / row[W_T]
        most = math.sqrt(fx * fx + fy * fy + fz * fz)
        if most > row[MU_S] * row[LN]:
            scale = row[MU_K] * row[LN] / most
            fx, fy, fz = scale * fx, scale * fy, scale * fz
        row[LT], row[LT + 1], row[LT + 2] = fx, fy, fz
        push_both(row, a, b, fx - px, fy - py, fz - pz, w, inv, move)


@inner
def bounce_contacts(rows, who, count, w, inv, fly, h, still):
    """One pass over normal velocities, [Mueller20] (34): restitution, and nothing from overlap.

    fly (nb, 9): velocity, angular velocity, and the sum of angular impulses. LN becomes kg m/s.
    """
    for k in range(count):
        row = rows[k]
        if row[LN] == 0.0:
            continue
        a, b = who[k, 0], who[k, 1]
        nx, ny, nz = row[0], row[1], row[2]
        ux, uy, uz = relative(row, a, b, fly)
        wanted = -row[BOUNCE] * row[VN0] if row[VN0] < -still else 0.0
        before = row[LN] / h
        now = max(before - (nx * ux + ny * uy + nz * uz - wanted) / row[W_N], 0.0)
        change = now - before
        row[LN] = h * now
        push_both(row, a, b, change * nx, change * ny, change * nz, w, inv, fly)
