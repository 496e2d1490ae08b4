"""Contacts of grains with analytic shapes, and how a contact is stored (`Touches`)."""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.distance import (
    BORE,
    TUBE,
    box_bound,
    count_features,
    feature,
    flat_side,
    is_concave,
    path_length,
    to_body,
    to_world,
)
from berm.kernels.jit import bare

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


@bare
def shortest_step(r, length):
    """Least advancement (m) along a path of the given length."""
    return max(SHORTEST * r, length / MOST_STEPS)


@bare
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


@bare
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


@bare
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


@bare
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


@bare
def grain_contacts(
    s, row, b, kind, prm, pose, fa, ax, ay, az, bx, by, bz, r, skin,
    rows, body, plane, impulse, total, count, first, follow,
):  # fmt: skip
    """Append the contacts of a grain that goes from a (fraction fa) to b (end of the step)."""
    length = path_length(pose, fa, ax, ay, az, bx, by, bz)
    if not length < np.inf:  # the solver reports grains that are not finite
        return
    x0, y0, z0 = to_body(pose, fa, ax, ay, az)
    still = pose[19] == 0.0  # the body does not turn, and sees a straight way
    x1, y1, z1 = to_body(pose, 1.0, bx, by, bz) if still else (x0, y0, z0)
    for k in range(count_features(kind, prm)):
        # most faces are further away than the whole way: no need to trace it
        near = feature(kind, prm, k, x0, y0, z0)[0]
        if not near - r - skin <= length:
            continue
        if still:  # a plane is the same wherever it is touched: no need to trace it either
            flat, gx, gy, gz = flat_side(kind, prm, k, x0, y0, z0, x1, y1, z1)
            if flat:
                end = near + (x1 - x0) * gx + (y1 - y0) * gy + (z1 - z0) * gz
                if min(near, end) - r <= skin:
                    emit(
                        s, row, b, pose, fa, r, x0 - near * gx, y0 - near * gy, z0 - near * gz,
                        gx, gy, gz, rows, body, plane, impulse, total, count, first, follow,
                    )  # fmt: skip
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


@bare
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
