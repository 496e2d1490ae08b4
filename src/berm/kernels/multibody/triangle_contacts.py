"""Contacts of one body's samples with another body that is a mesh or a height field.

Such a shape is not convex. A ball touches it in up to MOST_WALLS places at once, as grains do, and
of an edge the middle and the quarters are asked.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.distance import HEIGHT, MESH, POSE, TINY
from berm.kernels.geometry.heightfield import height_distance, is_clear
from berm.kernels.geometry.mesh_grid import (
    EMPTY,
    FACE,
    closest_point,
    mesh_bound,
    mesh_distance,
)
from berm.kernels.jit import bare, inner
from berm.kernels.multibody.sample_contacts import (
    EDGE,
    POINT,
    RIM,
    SLOTS,
    is_beyond,
    moved,
    note,
    note_new,
    rim_at,
    turned,
)
from berm.kernels.walls.arrays import CELLS, FAN_STARTS, FANS, HEIGHTS, MEMBERS, STARTS, TRI
from berm.kernels.walls.mesh_contacts import (
    FEATURE,
    GAP,
    NX,
    NY,
    NZ,
    Q_SIZE,
    QX,
    QY,
    QZ,
    STATE,
    TAKEN,
    TRIANGLE,
    WAITING,
    WAY,
    gather,
    is_out_of_reach,
    push_out,
    take_best,
)

MOST_WALLS = 3  # that a ball is held by
APART_COS = 0.94  # walls whose normals differ by less than 20 degrees count as one
FEW = 3000  # triangles up to which those near a body are listed, and asked one by one
DEEP = 0.2  # of a body's size: so deep it may be in a mesh and still find the way out in the list
QUARTERS = 3  # points of an edge that are asked


@bare
def _side(gx, gy, gz):
    """Which of six sides a direction points to: a name of a wall that lasts while it is touched."""
    x, y, z = abs(gx), abs(gy), abs(gz)
    if x >= y and x >= z:
        return 0 if gx > 0.0 else 1
    if y >= z:
        return 2 if gy > 0.0 else 3
    return 4 if gz > 0.0 else 5


@inner
def ball_contacts(a, b, margin, rel, bodies, shapes, solids, contacts):
    """Contacts of a's samples, all of them balls, with b: one for each wall that they touch."""
    kind, m = shapes.kind[b], shapes.mesh[b]
    low, high, dims, frame = shapes.ranges[m], shapes.ranges[m + 1], shapes.dims[m], shapes.frame[m]
    tri, normals = shapes.tri[low[TRI] : high[TRI]], shapes.normals[low[TRI] : high[TRI]]
    starts = shapes.starts[low[STARTS] : high[STARTS]]
    members = shapes.members[low[MEMBERS] : high[MEMBERS]]
    field = shapes.field[low[CELLS] : high[CELLS]]
    corners = shapes.corners[low[TRI] : high[TRI]]
    fan_starts = shapes.fan_starts[low[FAN_STARTS] : high[FAN_STARTS]]
    fans = shapes.fans[low[FANS] : high[FANS]]
    nx, ny = (dims[0], dims[1]) if kind == HEIGHT else (0, 0)
    heights = shapes.heights[low[HEIGHTS] : high[HEIGHTS]].reshape((nx, ny))
    one_sided = kind == HEIGHT or frame[4] != 0.0
    form = HEIGHT if kind == HEIGHT else MESH
    ball = solids.ball[a]
    x, y, z = moved(rel, ball[0], ball[1], ball[2])
    if is_out_of_reach(
        form, frame, dims, field, heights, x, y, z, 0.0, 0.0, 0.0, ball[3] + margin
    ):
        return
    cand, pair, q = np.empty((64, 11)), np.empty((4, 3, 3)), np.empty(Q_SIZE)
    still = np.zeros(POSE)  # all is asked in the frame of b
    still[3], still[7], still[11], still[20] = 1.0, 1.0, 1.0, 1.0
    stamps, stamp = np.zeros(tri.shape[0], np.int32), 0
    kept, slots = np.empty(MOST_WALLS, np.int64), np.empty(MOST_WALLS, np.int64)
    for k in range(solids.first[a], solids.first[a + 1]):
        s = solids.samples[k]
        x, y, z = moved(rel, s[0], s[1], s[2])
        if is_out_of_reach(
            form, frame, dims, field, heights, x, y, z, 0.0, 0.0, 0.0, s[3] + margin
        ):
            continue
        found, c = cand, cand[0]
        inside, d, c[NX], c[NY], c[NZ], c[QX], c[QY], c[QZ] = push_out(
            form, tri, normals, frame, dims, starts, members, field, heights, x, y, z
        )
        c[WAY], c[GAP], c[FEATURE], c[TRIANGLE], c[STATE] = 0.0, d - s[3], FACE, 0.0, WAITING
        count = np.int64(1)
        if not inside:
            stamp += 1
            found, count = gather(
                form, one_sided, tri, normals, frame, dims, starts, members, corners, fan_starts,
                fans, heights, pair, stamps, stamp, cand, q, still, 0.0, x, y, z, x, y, z, s[3],
                margin, 0.0,
            )  # fmt: skip
        walls = _choose(found, count, s[3], kept, slots)
        for w in range(walls):
            c = found[kept[w]]
            note(
                a, b, k, slots[w], s, x, y, z, c[GAP] + s[3], c[NX], c[NY], c[NZ], bodies, solids,
                contacts,
            )  # fmt: skip


@bare
def _choose(found, count, r, kept, slots):
    """The nearest walls among the candidates whose directions differ; return how many.

    kept: their rows; slots: what they are called, ascending.
    """
    walls = 0
    while take_best(found, count, r) >= 0:
        pass
    while walls < MOST_WALLS:
        best = -1
        for i in range(count):
            c = found[i]
            if c[STATE] != TAKEN or (best >= 0 and c[GAP] >= found[best, GAP]):
                continue
            fits = True
            for w in range(walls):
                e = found[kept[w]]
                fits &= i != kept[w]
                fits &= c[NX] * e[NX] + c[NY] * e[NY] + c[NZ] * e[NZ] < APART_COS
            if fits:
                best = i
        if best < 0:
            break
        kept[walls] = best
        walls += 1
    for w in range(walls):
        c = found[kept[w]]
        slot = _side(c[NX], c[NY], c[NZ])
        free = False
        while not free:  # two walls may face the same side
            free = True
            for e in range(w):
                if slots[e] == slot:
                    free, slot = False, (slot + 1) % SLOTS
        at = w
        while at > 0 and slots[at - 1] > slot:
            slots[at], swap = slots[at - 1], kept[at]
            kept[at], kept[at - 1] = kept[at - 1], swap
            at -= 1
        slots[at] = slot
    return walls


@inner
def triangle_contacts(a, b, margin, near, rel, begin, bodies, shapes, solids, contacts):
    """Contacts of a's samples with b; begin: where the contacts of the pair begin.

    near (m): farther away, corners alone are looked at.
    """
    m = shapes.mesh[b]
    low, high, dims, frame = shapes.ranges[m], shapes.ranges[m + 1], shapes.dims[m], shapes.frame[m]
    is_mesh = shapes.kind[b] != HEIGHT
    tri, normals = shapes.tri[low[TRI] : high[TRI]], shapes.normals[low[TRI] : high[TRI]]
    starts = shapes.starts[low[STARTS] : high[STARTS]]
    members = shapes.members[low[MEMBERS] : high[MEMBERS]]
    field = shapes.field[low[CELLS] : high[CELLS]]
    nx, ny = (0, 0) if is_mesh else (dims[0], dims[1])
    heights = shapes.heights[low[HEIGHTS] : high[HEIGHTS]].reshape((nx, ny))
    listed = is_mesh and tri.shape[0] <= FEW
    room = tri.shape[0] if listed else 0
    close, rounds = np.empty(room, np.int64), np.empty((room, 4))
    count = np.int64(0)
    if listed:
        reach = margin + solids.ball[a, 3] * DEEP
        count = _close_triangles(tri, rel, solids.box[a], reach, close, rounds)
        if count == 0:
            return
    _samples_in(
        a, b, margin, near, rel, begin, is_mesh, listed, tri, normals, frame, dims, starts,
        members, field, heights, np.empty((2, 3, 3)), close, rounds, count, bodies, solids,
        contacts,
    )  # fmt: skip


@bare
def _close_triangles(tri, rel, box, reach, close, rounds):
    """List the triangles of b within `reach` (m) of the box (6,) around a; return how many.

    rounds (nt, 4): a ball around each of those.
    """
    count = 0
    for k in range(tri.shape[0]):
        p = tri[k]
        x = (p[0, 0] + p[1, 0] + p[2, 0]) / 3.0
        y = (p[0, 1] + p[1, 1] + p[2, 1]) / 3.0
        z = (p[0, 2] + p[1, 2] + p[2, 2]) / 3.0
        square = 0.0
        for c in range(3):
            dx, dy, dz = p[c, 0] - x, p[c, 1] - y, p[c, 2] - z
            square = max(square, dx * dx + dy * dy + dz * dz)
        r = math.sqrt(square)
        ux, uy, uz = x - rel[0, 3], y - rel[1, 3], z - rel[2, 3]
        far = reach + r
        if (
            abs(rel[0, 0] * ux + rel[1, 0] * uy + rel[2, 0] * uz - box[0]) > box[3] + far
            or abs(rel[0, 1] * ux + rel[1, 1] * uy + rel[2, 1] * uz - box[1]) > box[4] + far
            or abs(rel[0, 2] * ux + rel[1, 2] * uy + rel[2, 2] * uz - box[2]) > box[5] + far
        ):
            continue
        close[count] = k
        rounds[count, 0], rounds[count, 1], rounds[count, 2], rounds[count, 3] = x, y, z, r
        count += 1
    return count


@bare
def _listed_distance(tri, normals, frame, close, rounds, count, most, x, y, z):
    """`mesh_distance` over listed triangles; inf where none is nearer than `most` (m)."""
    best, which, code = most, np.int64(-1), 0
    qx, qy, qz = 0.0, 0.0, 0.0
    for at in range(count):
        c = rounds[at]
        dx, dy, dz = x - c[0], y - c[1], z - c[2]
        far = best + c[3]
        if dx * dx + dy * dy + dz * dz >= far * far:
            continue
        sx, sy, sz, feature = closest_point(tri, close[at], x, y, z)
        d = math.sqrt((x - sx) ** 2 + (y - sy) ** 2 + (z - sz) ** 2)
        if d < best:
            best, which, code, qx, qy, qz = d, close[at], feature, sx, sy, sz
    if which < 0:
        return np.inf, 0.0, 0.0, 1.0
    n = normals[which, code]
    dx, dy, dz = x - qx, y - qy, z - qz
    sign = 1.0
    if frame[4] != 0.0 and dx * n[0] + dy * n[1] + dz * n[2] < 0.0:
        sign = -1.0
    if best > TINY:
        return sign * best, sign * dx / best, sign * dy / best, sign * dz / best
    return 0.0, n[0], n[1], n[2]


@bare
def _samples_in(
    a, b, margin, near, rel, begin, is_mesh, listed, tri, normals, frame, dims, starts, members,
    field, heights, scratch, close, rounds, count, bodies, solids, contacts,
):  # fmt: skip
    """`triangle_contacts` on the arrays of b, and on its triangles that are close."""
    depth = DEEP * solids.ball[a, 3]
    bounded = solids.ball[b, 3] >= 0.0
    first = solids.first[a]
    for k in range(first, solids.first[a + 1]):
        s = solids.samples[k]
        reach = margin if k - first < solids.corners[a] else near
        x, y, z = moved(rel, s[0], s[1], s[2])
        ex, ey, ez = 0.0, 0.0, 0.0
        tries = 1
        if s[4] == EDGE:
            ex, ey, ez = turned(rel, s[5], s[6], s[7])
            tries = QUARTERS
        far = reach + s[3] + (s[5] if s[4] == RIM else 0.0)
        if bounded and is_beyond(solids.box[b], far, x, y, z, ex, ey, ez):
            continue
        best, bx, by, bz, fx, fy, fz = np.inf, x, y, z, 0.0, 0.0, 1.0
        for turn in range(tries):
            t = (turn + 1.0) / (QUARTERS + 1.0)
            wx, wy, wz = x + t * ex, y + t * ey, z + t * ez
            d, gx, gy, gz = np.inf, 0.0, 0.0, 1.0
            state = EMPTY
            if is_mesh:  # the exact distance costs the more the farther away
                least, state = mesh_bound(frame, dims, field, wx, wy, wz)
                if state == EMPTY and least > far:
                    continue
            elif is_clear(heights, frame, field, wx, wy, wz, 0.0, 0.0, 0.0, far):
                continue
            for again in range(2 if s[4] == RIM else 1):
                if listed:
                    d, gx, gy, gz = _listed_distance(
                        tri, normals, frame, close, rounds, count, max(far, depth), wx, wy, wz
                    )
                if is_mesh and (not listed or (d == np.inf and state != EMPTY)):
                    d, gx, gy, gz, _, _, _ = mesh_distance(
                        tri, normals, frame, dims, starts, members, field, wx, wy, wz
                    )
                elif not is_mesh:
                    d, gx, gy, gz = height_distance(heights, frame, wx, wy, wz, scratch)
                if s[4] == RIM and again == 0:
                    found, ex, ey, ez = rim_at(s, rel, gx, gy, gz)
                    if not found:
                        d = np.inf
                        break
                    wx, wy, wz = x + ex, y + ey, z + ez
            if d < best:
                best, bx, by, bz, fx, fy, fz = d, wx, wy, wz, gx, gy, gz
        if best - s[3] < reach:
            if s[4] == POINT:
                note(a, b, k, 0, s, bx, by, bz, best, fx, fy, fz, bodies, solids, contacts)
            else:
                note_new(
                    a, b, k, 0, s, bx, by, bz, best, fx, fy, fz, begin, bodies, solids, contacts
                )
