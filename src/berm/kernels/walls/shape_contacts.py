"""Contacts of grains with analytic shapes, and the store of all wall contacts.

Contacts of one grain are chained: first[row] is the flat slot (slab * cap + k) of its newest
contact, follow[slab, k] the slot before that one, -1 the end.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.distance import (
    BORE,
    TUBE,
    box_bound,
    count_features,
    feature,
    is_concave,
    path_length,
    to_body,
    to_world,
)
from berm.kernels.jit import inner, jit, pjit, prange

BLOCK = 32

# Advancement stops at a gap of TOUCH radii and never steps less than SHORTEST radii, so that a
# path that grazes a wall ends; both are far below a radius, so nothing slips through.
TOUCH = 1e-3
SHORTEST = 0.05
MOST_STEPS = 2000.0

# Tangent planes of a curved wall further apart than this angle are two contacts.
BEND_COS = 0.9962

# Two contacts whose normals and planes (per radius) agree this well are one contact.
SAME_COS = 0.9986
SAME_PLANE = 0.005

# A path that walls bend by more than this many radii is followed again, along the walls.
BEND = 0.25
PROJECTIONS = 4

# Normals of unit length that differ by less than this squared are within 25 degrees.
MATCH = 2.0 - 2.0 * math.cos(math.radians(25.0))


@inner
def shortest_step(r, length):
    """Least advancement (m) along a path of the given length."""
    return max(SHORTEST * r, length / MOST_STEPS)


@inner
def bounds_slab(s, x, v, slab_start, blocks, first):
    """Bound each BLOCK rows of a slab and clear its chains.

    blocks[s, k] = least x, y, z, radius, largest x, y, z, radius, largest speed squared.
    """
    begin, end = slab_start[s], slab_start[s + 1]
    for i in range(begin, end):
        first[i] = -1
    for k in range((end - begin + BLOCK - 1) // BLOCK):
        i = begin + k * BLOCK
        # Written as min and max of whole rows, which the compiler turns into vector code.
        a0, a1, a2, a3 = x[i, 0], x[i, 1], x[i, 2], x[i, 3]
        b0, b1, b2, b3 = a0, a1, a2, a3
        fastest = v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2]
        for i in range(begin + k * BLOCK + 1, min(end, begin + (k + 1) * BLOCK)):
            c0, c1, c2, c3 = x[i, 0], x[i, 1], x[i, 2], x[i, 3]
            a0 = c0 if c0 < a0 else a0
            a1 = c1 if c1 < a1 else a1
            a2 = c2 if c2 < a2 else a2
            a3 = c3 if c3 < a3 else a3
            b0 = c0 if c0 > b0 else b0
            b1 = c1 if c1 > b1 else b1
            b2 = c2 if c2 > b2 else b2
            b3 = c3 if c3 > b3 else b3
            square = v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2]
            fastest = square if square > fastest else fastest
        out = blocks[s, k]
        out[0], out[1], out[2], out[3] = a0, a1, a2, a3
        out[4], out[5], out[6], out[7] = b0, b1, b2, b3
        out[8] = fastest


@pjit
def bounds(x, v, slab_start, blocks, first):
    """Bound the blocks of all slabs."""
    for s in prange(slab_start.shape[0] - 1):
        bounds_slab(np.int64(s), x, v, slab_start, blocks, first)


@inner
def block_in_body(block, pose, dt, gravity, skin):
    """Centre and half edges of a block in the body's frame at the start, and its reach (m).

    skin: in radii of a grain.
    """
    ex = 0.5 * (np.float64(block[4]) - block[0])
    ey = 0.5 * (np.float64(block[5]) - block[1])
    ez = 0.5 * (np.float64(block[6]) - block[2])
    cx, cy, cz = to_body(pose, 0.0, block[0] + ex, block[1] + ey, block[2] + ez)
    hx = abs(pose[3]) * ex + abs(pose[6]) * ey + abs(pose[9]) * ez
    hy = abs(pose[4]) * ex + abs(pose[7]) * ey + abs(pose[10]) * ez
    hz = abs(pose[5]) * ex + abs(pose[8]) * ey + abs(pose[11]) * ez
    fall = math.sqrt(gravity[0] * gravity[0] + gravity[1] * gravity[1] + gravity[2] * gravity[2])
    way = dt * math.sqrt(np.float64(block[8])) + dt * dt * fall + pose[18]
    reach = block[7] * (1.0 + skin) + way
    if pose[19] > 0.0:
        arm = math.sqrt(cx * cx + cy * cy + cz * cz) + math.sqrt(hx * hx + hy * hy + hz * hz)
        reach += pose[19] * (arm + way)
    return cx, cy, cz, hx, hy, hz, reach


@inner
def emit(
    s, row, b, pose, f, r,
    qx, qy, qz, mx, my, mz,
    rows, body, plane, impulse, total, count, first, follow,
):  # fmt: skip
    """Append a contact of grain `row` (radius r) with body b unless it has the same one already.

    (q, m) is the surface point and unit normal in the body's frame at the fraction f. Over the
    step the plane's gap is n.(x+u) - offset - r - f n.s; it is exact at f.
    """
    ux, uy, uz = to_world(pose, f, qx, qy, qz)
    nx, ny, nz = to_world(pose, f, mx, my, mz)
    sx = pose[12] + pose[16] * uz - pose[17] * uy
    sy = pose[13] + pose[17] * ux - pose[15] * uz
    sz = pose[14] + pose[15] * uy - pose[16] * ux
    ux += pose[0] + f * pose[12]
    uy += pose[1] + f * pose[13]
    uz += pose[2] + f * pose[14]
    offset = nx * (ux - f * sx) + ny * (uy - f * sy) + nz * (uz - f * sz)
    cap = rows.shape[1]
    j = first[row]
    while j >= 0:
        k = j - s * cap
        p = plane[s, k]
        if body[s, k] == b and nx * p[0] + ny * p[1] + nz * p[2] > SAME_COS:
            # The same surface again: the new point lies on the known plane.
            apart = p[0] * (ux - f * p[4]) + p[1] * (uy - f * p[5]) + p[2] * (uz - f * p[6]) - p[3]
            if abs(apart) < SAME_PLANE * r:
                return
        j = follow[s, k]
    k = count[s]
    count[s] = k + 1
    if k >= cap:  # the caller grows the arrays and starts again
        return
    rows[s, k] = row
    body[s, k] = b
    p = plane[s, k]
    p[0], p[1], p[2], p[3] = nx, ny, nz, offset
    p[4], p[5], p[6], p[7] = sx, sy, sz, 0.0
    for c in range(4):
        impulse[s, k, c] = 0.0
        total[s, k, c] = 0.0
    follow[s, k] = first[row]
    first[row] = s * cap + k


@jit
def trace(kind, prm, k, pose, fa, ax, ay, az, bx, by, bz, r, skin, length, t):
    """Advance a grain on its way from a to b, from t in [0, 1] on, until it touches face k.

    Sphere tracing [Hart 1996]: return t, the gap there, centre and gradient (body frame) at the
    first touch, or else at the closest approach: there the way is tangent to the plane.
    """
    least = shortest_step(r, length)
    best = (t, np.inf, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    while True:
        x, y, z = to_body(
            pose, fa + t * (1.0 - fa), ax + t * (bx - ax), ay + t * (by - ay), az + t * (bz - az)
        )
        d, gx, gy, gz = feature(kind, prm, k, x, y, z)
        gap = d - r
        if gap < best[1]:
            best = (t, gap, x, y, z, gx, gy, gz)
        if not gap > TOUCH * r or t >= 1.0 or gap - skin > (1.0 - t) * length or length == 0.0:
            return best
        t = min(1.0, t + max(gap, least) / length)


@inner
def grain_contacts(
    s, row, b, kind, prm, pose, fa, ax, ay, az, bx, by, bz, r, skin,
    rows, body, plane, impulse, total, count, first, follow,
):  # fmt: skip
    """Append the contacts of a grain that goes from a (fraction fa) to b (end of the step)."""
    length = path_length(pose, fa, ax, ay, az, bx, by, bz)
    if not length < np.inf:  # the solver reports grains that are not finite
        return
    x0, y0, z0 = to_body(pose, fa, ax, ay, az)
    for k in range(count_features(kind, prm)):
        # most faces are further away than the whole way: no need to trace it
        near = feature(kind, prm, k, x0, y0, z0)[0]
        if not near - r - skin <= length:
            continue
        t = 0.0
        mx, my, mz = 0.0, 0.0, 0.0
        ox, oy, oz = 0.0, 0.0, 0.0
        face = k
        for end in range(2 if is_concave(kind, prm, k) else 1):
            t, gap, x, y, z, gx, gy, gz = trace(
                kind, prm, face, pose, fa, ax, ay, az, bx, by, bz, r, skin, length, t
            )
            if not gap <= skin:
                break
            d = gap + r
            near = min(near, d)
            qx, qy, qz = x - d * gx, y - d * gy, z - d * gz
            if end == 1:
                # The end plane must hold at the start and where the grain is met, as it does in
                # a bore but not beyond its rim, and must not be the same again.
                at_start = (x0 - qx) * gx + (y0 - qy) * gy + (z0 - qz) * gz
                at_touch = (ox - qx) * gx + (oy - qy) * gy + (oz - qz) * gz
                over = min(at_start, at_touch) < min(near, r) - TOUCH * r
                if over or gx * mx + gy * my + gz * mz > BEND_COS:
                    break
            emit(
                s, row, b, pose, fa + t * (1.0 - fa), r, qx, qy, qz, gx, gy, gz,
                rows, body, plane, impulse, total, count, first, follow,
            )  # fmt: skip
            mx, my, mz = gx, gy, gz
            ox, oy, oz = x, y, z
            if t >= 1.0:
                break
            t = 1.0
            if kind == TUBE:  # only the bore is concave, and beyond it lies the outer face
                face = BORE
                if gx * x + gy * y >= 0.0:
                    break


@inner
def shape_slab(
    s, x, v, slab_start, dt, gravity, skin, b, kind, prm, pose, blocks, use_legs, legs, leg_count,
    rows, body, plane, impulse, total, count, first, follow,
):  # fmt: skip
    """Contacts of one slab with one analytic shape: along its rows' ways, or along given legs.

    skin: in radii of a grain.
    """
    if use_legs:
        for i in range(leg_count[s]):
            leg = legs[s, i]
            row = int(leg[0])
            grain_contacts(
                s, row, b, kind, prm, pose, leg[1], leg[2], leg[3], leg[4], leg[5], leg[6], leg[7],
                np.float64(x[row, 3]), skin * x[row, 3],
                rows, body, plane, impulse, total, count, first, follow,
            )  # fmt: skip
        return
    begin, end = slab_start[s], slab_start[s + 1]
    gx, gy, gz = dt * dt * gravity[0], dt * dt * gravity[1], dt * dt * gravity[2]
    for k in range((end - begin + BLOCK - 1) // BLOCK):
        cx, cy, cz, hx, hy, hz, reach = block_in_body(blocks[s, k], pose, dt, gravity, skin)
        if box_bound(kind, prm, cx, cy, cz, hx, hy, hz) > reach:
            continue
        for i in range(begin + k * BLOCK, min(end, begin + (k + 1) * BLOCK)):
            px, py, pz = np.float64(x[i, 0]), np.float64(x[i, 1]), np.float64(x[i, 2])
            cx, cy, cz = to_body(pose, 0.0, px, py, pz)
            if box_bound(kind, prm, cx, cy, cz, 0.0, 0.0, 0.0) > reach:
                continue
            grain_contacts(
                s, i, b, kind, prm, pose, 0.0, px, py, pz,
                px + dt * v[i, 0] + gx, py + dt * v[i, 1] + gy, pz + dt * v[i, 2] + gz,
                np.float64(x[i, 3]), skin * x[i, 3],
                rows, body, plane, impulse, total, count, first, follow,
            )  # fmt: skip


@pjit
def shape_contacts(
    x, v, slab_start, dt, gravity, skin, b, kind, prm, pose, blocks, use_legs, legs, leg_count,
    rows, body, plane, impulse, total, count, first, follow,
):  # fmt: skip
    """Append the contacts of all slabs with body b of an analytic shape."""
    for s in prange(slab_start.shape[0] - 1):
        shape_slab(
            np.int64(s), x, v, slab_start, dt, gravity, skin, b, kind, prm, pose, blocks, use_legs,
            legs, leg_count, rows, body, plane, impulse, total, count, first, follow,
        )  # fmt: skip


@inner
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


@inner
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


@pjit
def find_legs(
    x, v, dt, gravity, rows, plane, count, first, follow, again, legs, leg_count
):
    """Find the bent ways of all slabs."""
    for s in prange(count.shape[0]):
        legs_slab(
            np.int64(s), x, v, dt, gravity, rows, plane, count, first, follow, again,
            legs, leg_count,
        )  # fmt: skip


@inner
def mismatch(a, b):
    """Squared difference of two planes' normals; unlike a cosine, exact where they are equal."""
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2


@inner
def match_slab(
    s, rows, body, plane, impulse, count, use_old_row, old_row,
    old_body, old_plane, old_impulse, old_first, old_follow, old_claim,
):  # fmt: skip
    """Give each new contact of a slab the impulse of its best old one, each used at most once.

    Old arrays are flat over slabs. A grain's old chain is read by its own new contacts only, so
    slabs do not race. Who finds the better match keeps it, the other looks on (stable matching).
    """
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


@pjit
def match_contacts(
    rows, body, plane, impulse, count, use_old_row, old_row,
    old_body, old_plane, old_impulse, old_first, old_follow, old_claim,
):  # fmt: skip
    """Carry the impulses of the previous step over to the contacts of this one."""
    for s in prange(count.shape[0]):
        match_slab(
            np.int64(s), rows, body, plane, impulse, count, use_old_row, old_row,
            old_body, old_plane, old_impulse, old_first, old_follow, old_claim,
        )  # fmt: skip


@inner
def _turns_slab(s, rows, plane, count):
    for b in range(0, count[s], 8):
        for k in range(b, min(b + 8, count[s])):
            before = 0
            for other in range(b, k):
                if rows[s, other] == rows[s, k]:
                    before += 1
            plane[s, k, 7] = before


@pjit
def note_turns(rows, plane, count):
    """Note how many contacts before it in its block of eight are of the same grain."""
    for s in prange(count.shape[0]):
        _turns_slab(s, rows, plane, count)


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
