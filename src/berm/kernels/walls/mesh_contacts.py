"""Contacts of grains with triangles: meshes and height fields.

Each triangle in reach gives at most one candidate, where the grain first touches it on its way or
else comes closest. Of these, faces are taken first; an edge or corner that lies on the plane of a
contact already taken is a seam of the same surface and no obstacle (a ghost), and is dropped.
Arrays of meshes and height fields are described in `mesh_grid` and `heightfield`.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.distance import HEIGHT, path_length, to_body
from berm.kernels.geometry.heightfield import (
    beside,
    cell_range,
    ground,
    is_clear,
    load_triangles,
)
from berm.kernels.geometry.mesh_grid import (
    CUT,
    EMPTY,
    FACE,
    LOST,
    SOLID,
    box_gap,
    cell_of,
    closest_point,
    mesh_bound,
    mesh_distance,
)
from berm.kernels.jit import bare, inner
from berm.kernels.walls.shape_contacts import BLOCK, TOUCH, block_in_body, emit, shortest_step

# A candidate: way to it (m), gap (m), normal (3), point (3), feature, triangle, state (below).
WAY, GAP, NX, NY, NZ, QX, QY, QZ, FEATURE, TRIANGLE, STATE = range(11)
WAITING, TAKEN, DROPPED = 0.0, 1.0, 2.0
# Where q keeps the way (m) to the nearest triangle that is met from behind, and q's size.
BEHIND, Q_SIZE = 6, 7

# Planes closer than this (radii), with normals closer than about 8 degrees, are one surface.
SAME_PLANE = 0.005
SAME_COS = 0.99
# An edge met within about 4 degrees of its face's normal is met like the face.
SNAP_COS = 0.9976
# A way this deep (radii) behind a plane already taken is bent away: `find_legs` follows it again.
UNREAL = 0.25
# A later plane hides an earlier edge only where it was not already pierced this deep (radii).
PIERCED = 0.1


@bare
def is_covered(kind, tri, corners, fan_starts, fans, heights, frame, pair, k, code, q, d):
    """Whether a triangle that shares the corner or edge `code` of k is closer to q than that is.

    Then the way to that edge leads through the neighbour: a grain cannot touch it as an edge.
    """
    least = d * (1.0 - 1e-7)
    if kind == HEIGHT:
        edge = 1e-6 * frame[2]
        i0, i1 = cell_range(frame[0], frame[2], heights.shape[0], q[3] - edge, q[3] + edge)
        j0, j1 = cell_range(frame[1], frame[2], heights.shape[1], q[4] - edge, q[4] + edge)
        begin, end = 0, 2 * (i1 - i0) * (j1 - j0)
    else:
        corner = corners[k, (code - 1) % 3]  # of an edge, the first: its fan holds both faces
        begin, end = fan_starts[corner], fan_starts[corner + 1]
        i0, j0, j1 = 0, 0, 1
    for p in range(begin, end):
        if kind == HEIGHT:
            cell = p // 2
            load_triangles(heights, frame, i0 + cell // (j1 - j0), j0 + cell % (j1 - j0), pair)
            x, y, z, _ = closest_point(pair, p % 2, q[0], q[1], q[2])
        else:
            x, y, z, _ = closest_point(tri, np.int64(fans[p]), q[0], q[1], q[2])
        if math.sqrt((q[0] - x) ** 2 + (q[1] - y) ** 2 + (q[2] - z) ** 2) < least:
            return True
    return False


@bare
def add_candidate(
    cand, count, tri, k, number, one_sided, normals, pose, fa, ax, ay, az, bx, by, bz, r, skin,
    length, q,
):  # fmt: skip
    """Try triangle k of tri, called `number`; append it to cand if the grain meets its front.

    The grain is advanced until it touches, or to where it comes closest. q receives the centre
    there and the closest point (body frame), and q[BEHIND]. Return the new count.
    """
    t, least = 0.0, shortest_step(r, length)
    at, d, code = 0.0, np.inf, FACE
    while True:
        x, y, z = to_body(
            pose, fa + t * (1.0 - fa), ax + t * (bx - ax), ay + t * (by - ay), az + t * (bz - az)
        )
        sx, sy, sz, feature = closest_point(tri, k, x, y, z)
        away = math.sqrt((x - sx) ** 2 + (y - sy) ** 2 + (z - sz) ** 2)
        if away < d:
            at, d, code = t, away, feature
            q[0], q[1], q[2], q[3], q[4], q[5] = x, y, z, sx, sy, sz
        gap = away - r
        if not gap > TOUCH * r or t >= 1.0 or gap - skin > (1.0 - t) * length or length == 0.0:
            break
        t = min(1.0, t + max(gap, least) / length)
    if not d - r <= skin:
        return count
    nx, ny, nz = q[0] - q[3], q[1] - q[4], q[2] - q[5]
    p = tri[k]
    ux, uy, uz = p[1, 0] - p[0, 0], p[1, 1] - p[0, 1], p[1, 2] - p[0, 2]
    wx, wy, wz = p[2, 0] - p[0, 0], p[2, 1] - p[0, 1], p[2, 2] - p[0, 2]
    fx, fy, fz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    size = math.sqrt(fx * fx + fy * fy + fz * fz)
    fx, fy, fz = fx / size, fy / size, fz / size
    front = nx * fx + ny * fy + nz * fz
    if one_sided:
        behind = front
        if code != FACE and normals.shape[0] > 0:
            n = normals[number, code]
            behind = nx * n[0] + ny * n[1] + nz * n[2]
        if behind < -1e-9 * r:
            q[BEHIND] = min(q[BEHIND], d)
            return count
    if abs(front) > SNAP_COS * d or d < 1e-9 * r:
        code, d = FACE, abs(front)
        sign = 1.0 if front >= 0.0 or (one_sided and d < 1e-8 * r) else -1.0
        nx, ny, nz = sign * fx, sign * fy, sign * fz
    else:
        nx, ny, nz = nx / d, ny / d, nz / d
    c = cand[count]
    c[WAY], c[GAP], c[FEATURE], c[TRIANGLE], c[STATE] = at * length, d - r, code, number, WAITING
    c[NX], c[NY], c[NZ], c[QX], c[QY], c[QZ] = nx, ny, nz, q[3], q[4], q[5]
    return count + 1


@bare
def is_hidden(a, b, r):
    """Whether candidate b adds nothing to contact a, which is taken: same surface, or unreal."""
    cos = a[NX] * b[NX] + a[NY] * b[NY] + a[NZ] * b[NZ]
    apart = a[NX] * (b[QX] - a[QX]) + a[NY] * (b[QY] - a[QY]) + a[NZ] * (b[QZ] - a[QZ])
    # Gap of plane a when the grain meets b.
    gap = apart + cos * (b[GAP] + r) - r
    if b[WAY] > a[WAY] and gap < min(0.0, a[GAP]) - UNREAL * r:
        return True
    if abs(apart) > SAME_PLANE * r:
        return False
    if b[FEATURE] == FACE:
        return cos > SAME_COS
    return a[WAY] <= b[WAY] or gap >= min(a[GAP], b[GAP]) - PIERCED * r


@bare
def take_best(cand, count, r):
    """Mark and return the next contact among the candidates, -1 when none is left."""
    while True:
        best = -1
        for i in range(count):
            c = cand[i]
            if c[STATE] != WAITING:
                continue
            if best < 0:
                best = i
                continue
            e = cand[best]
            c_edge, e_edge = c[FEATURE] != FACE, e[FEATURE] != FACE
            c_key, e_key = c[WAY] + c[GAP], e[WAY] + e[GAP]
            if c_edge != e_edge:
                better = e_edge
            elif c_key != e_key:
                better = c_key < e_key
            else:
                better = c[TRIANGLE] < e[TRIANGLE]
            if better:
                best = i
        if best < 0:
            return -1
        hidden = False
        for i in range(count):
            if cand[i, STATE] == TAKEN and is_hidden(cand[i], cand[best], r):
                hidden = True
                break
        cand[best, STATE] = DROPPED if hidden else TAKEN
        if not hidden:
            return best


@inner
def more_room(cand, count):
    """Return cand, or a larger copy of it when it is full."""
    if count < cand.shape[0]:
        return cand
    larger = np.empty((2 * cand.shape[0], cand.shape[1]))
    for i in range(count):
        for j in range(cand.shape[1]):
            larger[i, j] = cand[i, j]
    return larger


@inner
def gather(
    kind, one_sided, tri, normals, frame, dims, starts, members, corners, fan_starts, fans,
    heights, pair, stamps, stamp, cand, q, pose, fa, ax, ay, az, bx, by, bz, r, skin, length,
):  # fmt: skip
    """Collect the candidates of one grain from all triangles near its way."""
    q[BEHIND] = np.inf
    x, y, z = to_body(pose, fa, ax, ay, az)
    ex, ey, ez = to_body(pose, 1.0, bx, by, bz)
    wide = r + skin
    if pose[19] > 0.0:  # a curved way strays from its chord by less than half its length
        wide += 0.5 * length
    lx, hx = min(x, ex) - wide, max(x, ex) + wide
    ly, hy = min(y, ey) - wide, max(y, ey) + wide
    lz, hz = min(z, ez) - wide, max(z, ez) + wide
    count = np.int64(0)
    if kind == HEIGHT:
        i0, i1 = cell_range(frame[0], frame[2], heights.shape[0], lx, hx)
        j0, j1 = cell_range(frame[1], frame[2], heights.shape[1], ly, hy)
        m0, m1 = 0, 1
    else:
        i0, j0, m0 = cell_of(frame, dims, lx, ly, lz)
        i1, j1, m1 = cell_of(frame, dims, hx, hy, hz)
        i1, j1, m1 = i1 + 1, j1 + 1, m1 + 1
    for i in range(i0, i1):
        for j in range(j0, j1):
            if kind == HEIGHT:
                top = max(
                    max(heights[i, j], heights[i + 1, j]),
                    max(heights[i, j + 1], heights[i + 1, j + 1]),
                )
                if lz > top:
                    continue
                load_triangles(heights, frame, i, j, pair)
                begin, end = 0, 2
            else:
                cell = (i * dims[1] + j) * dims[2]  # cells along z stand one after the other
                begin, end = starts[cell + m0], starts[cell + m1]
            for p in range(begin, end):
                if kind == HEIGHT:
                    k, number = p, 2 * (i * (heights.shape[1] - 1) + j) + p
                else:
                    k = np.int64(members[p])
                    number = k
                    if stamps[k] == stamp:
                        continue
                    stamps[k] = stamp
                    # Most triangles near by are turned away by their plane.
                    a, n = tri[k, 0], normals[k, 0]
                    high = (x - a[0]) * n[0] + (y - a[1]) * n[1] + (z - a[2]) * n[2]
                    if abs(high) > r + skin + length:
                        continue
                cand = more_room(cand, count)
                found = add_candidate(
                    cand, count, pair if kind == HEIGHT else tri, k, number, one_sided, normals,
                    pose, fa, ax, ay, az, bx, by, bz, r, skin, length, q,
                )  # fmt: skip
                if found == count:
                    continue
                code = np.int64(cand[count, FEATURE])
                if code == FACE or not is_covered(
                    kind, tri, corners, fan_starts, fans, heights, frame, pair[2:],
                    number, code, q,
                    math.sqrt((q[0] - q[3]) ** 2 + (q[1] - q[4]) ** 2 + (q[2] - q[5]) ** 2),
                ):  # fmt: skip
                    count = found
    return cand, count


@bare
def push_out(kind, tri, normals, frame, dims, starts, members, field, heights, x, y, z):
    """Whether a centre is in the solid, then distance (negative), normal and surface point."""
    no = (False, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    if kind == HEIGHT:
        h, su, sw = ground(heights, frame, x, y)
        if z >= h or beside(heights, frame, x, y) > 0.0:
            return no
        up = 1.0 / math.sqrt(1.0 + su * su + sw * sw)
        return True, (z - h) * up, -su * up, -sw * up, up, x, y, h
    if frame[4] == 0.0:
        return no
    _, cell = mesh_bound(frame, dims, field, x, y, z)
    if cell == EMPTY or not box_gap(frame, dims, x, y, z) < LOST * frame[3]:
        return no
    d, gx, gy, gz, qx, qy, qz = mesh_distance(
        tri, normals, frame, dims, starts, members, field, x, y, z
    )
    if cell == CUT and d >= 0.0:
        return no
    return True, d, gx, gy, gz, qx, qy, qz


@bare
def is_out_of_reach(kind, frame, dims, field, heights, x, y, z, hx, hy, hz, reach):
    """Whether all triangles are further than `reach` (m) from a box, and it is not in the solid."""
    if kind == HEIGHT:
        return is_clear(heights, frame, field, x, y, z, hx, hy, hz, reach)
    d, cell = mesh_bound(frame, dims, field, x, y, z)
    return cell != SOLID and d > reach + math.sqrt(hx * hx + hy * hy + hz * hz)


@inner
def mesh_slab(
    s, x, v, slab_start, dt, gravity, skin, b, kind, tri, normals, frame, dims, starts, members,
    field, corners, fan_starts, fans, heights, pose, blocks, use_legs, legs, leg_count,
    rows, body, plane, impulse, total, count, first, follow,
):  # fmt: skip
    """Contacts of one slab with one mesh or height field: along its rows' ways or given legs.

    skin: in radii of a grain.
    """
    begin, end = slab_start[s], slab_start[s + 1]
    gx, gy, gz = dt * dt * gravity[0], dt * dt * gravity[1], dt * dt * gravity[2]
    cand, pair, q = np.empty((64, 11)), np.empty((4, 3, 3)), np.empty(Q_SIZE)
    stamps, stamp = np.zeros(0, np.int32), 0
    one_sided = kind == HEIGHT or frame[4] != 0.0
    nblocks = 1 if use_legs else (end - begin + BLOCK - 1) // BLOCK
    for k in range(nblocks):
        lo, hi, reach = 0, leg_count[s], np.inf
        if not use_legs:
            lo, hi = begin + k * BLOCK, min(end, begin + (k + 1) * BLOCK)
            cx, cy, cz, hx, hy, hz, reach = block_in_body(blocks[s, k], pose, dt, gravity, skin)
            if is_out_of_reach(kind, frame, dims, field, heights, cx, cy, cz, hx, hy, hz, reach):
                continue
        for i in range(lo, hi):
            if use_legs:
                leg = legs[s, i]
                row, fa = np.int64(leg[0]), leg[1]
                ax, ay, az, bx, by, bz = leg[2], leg[3], leg[4], leg[5], leg[6], leg[7]
            else:
                row, fa = i, 0.0
                ax, ay, az = np.float64(x[i, 0]), np.float64(x[i, 1]), np.float64(x[i, 2])
                bx, by, bz = ax + dt * v[i, 0] + gx, ay + dt * v[i, 1] + gy, az + dt * v[i, 2] + gz
            r = np.float64(x[row, 3])
            cx, cy, cz = to_body(pose, fa, ax, ay, az)
            if not abs(cx) + abs(cy) + abs(cz) < np.inf:  # has no cell; the solver reports it
                continue
            length = path_length(pose, fa, ax, ay, az, bx, by, bz)
            wide = r + skin * r + length
            if not length < np.inf or is_out_of_reach(
                kind, frame, dims, field, heights, cx, cy, cz, 0.0, 0.0, 0.0, wide
            ):
                continue
            if stamps.shape[0] < tri.shape[0]:
                stamps = np.zeros(tri.shape[0], np.int32)
            stamp += 1
            found = cand  # of this grain; gather may need more room for it
            c = found[0]
            inside, d, c[NX], c[NY], c[NZ], c[QX], c[QY], c[QZ] = push_out(
                kind, tri, normals, frame, dims, starts, members, field, heights, cx, cy, cz
            )
            c[WAY], c[GAP], c[FEATURE], c[TRIANGLE], c[STATE] = 0.0, d - r, FACE, 0.0, WAITING
            candidates = np.int64(1)
            if not inside:
                found, candidates = gather(
                    kind, one_sided, tri, normals, frame, dims, starts, members, corners,
                    fan_starts, fans, heights, pair, stamps, stamp, cand, q, pose, fa,
                    ax, ay, az, bx, by, bz, r, skin * r, length,
                )  # fmt: skip
            while True:
                m = take_best(found, candidates, r)
                if m < 0:
                    break
                c = found[m]
                f = fa + (1.0 - fa) * (c[WAY] / length if length > 0.0 else 0.0)
                emit(
                    s, row, b, pose, f, r, c[QX], c[QY], c[QZ], c[NX], c[NY], c[NZ],
                    rows, body, plane, impulse, total, count, first, follow,
                )  # fmt: skip
