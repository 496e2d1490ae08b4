"""Contacts of spheres with bodies: exact distances, meshes triangle by triangle, and a law."""

from __future__ import annotations

import numpy as np

from berm.kernels.dem.contact_blocks import LANES, put_kind
from berm.kernels.dem.pair_forces import DEEPEST, WALLS
from berm.kernels.dem.wall_blocks import fill_walls, forget, put_wall, take_walls
from berm.kernels.fused import inline, inner
from berm.kernels.geometry.distance import BOX, PLANE, feature, to_body, to_world
from berm.kernels.jit import call_block
from berm.kernels.walls.mesh_contacts import Q_SIZE
from berm.kernels.walls.mesh_touches import mesh_touches
from berm.kernels.walls.near_walls import DEEP, MESH_SLOTS


@inline
def flat_distance(body, shapes, shape, face, pose, f_step, x, y, z):
    """As `wall_distance` for a face of a container, or a plane, that does not turn.

    Most walls are such; the way to the body's frame and back costs as much as the contact.
    """
    plane = shapes[body] == PLANE
    axis = np.uint64(2 if plane else face // 2)  # of the body, along which the face looks
    sign = -1.0 if plane or face % 2 == 0 else 1.0
    half = 0.0 if plane else shape[body, np.uint64(1) + axis]
    gx, gy = pose[body, np.uint64(3) + axis], pose[body, np.uint64(6) + axis]
    gz = pose[body, np.uint64(9) + axis]
    ux = x - pose[body, 0] - f_step * pose[body, 12]
    uy = y - pose[body, 1] - f_step * pose[body, 13]
    uz = z - pose[body, 2] - f_step * pose[body, 14]
    d = half - sign * (gx * ux + gy * uy + gz * uz)
    return d, -sign * gx, -sign * gy, -sign * gz


@inline
def wall_distance(body, shapes, shape, face, pose, f_step, x, y, z):
    """Distance (m) of a point to a face of a body, and the direction away from it."""
    lx, ly, lz = to_body(pose[body], f_step, x, y, z)
    d, gx, gy, gz = feature(shapes[body], shape[body], face, lx, ly, lz)
    gx, gy, gz = to_world(pose[body], f_step, gx, gy, gz)
    return d, gx, gy, gz


@inline
def answer(
    count, law, f_step, per_second, pose, x, v, spin, f, felt, elapsed, keep, own, kept, who, b, p
):
    """Forces of the first contacts of a block."""
    fill_walls(count, f_step, per_second, pose, x, v, spin, who, b)
    call_block(law, b, p, elapsed)  # what is left of a block before is not taken
    take_walls(count, keep, own, who, b, f, felt, kept)


@inline
def shape_walls(
    s, law, x, v, spin, material, nmat, prm, f, elapsed, keep, f_step, per_second, row, body, face,
    count, kept, felt, shapes, shape, pose, substance, mesh, b, who, p, kinds,
):  # fmt: skip
    """Contacts of one slab's spheres with all bodies but meshes; their number, most overlap."""
    touching, most_xi, m, own = 0, 0.0, 0, kept.shape[1] - 3
    for k in range(np.uint64(count[s])):
        i, at = np.uint64(row[s, k]), np.uint64(body[s, k])  # unsigned: no test for below 0
        if mesh[at] >= 0:
            continue
        if pose[at, 19] == 0.0 and (
            shapes[at] == PLANE or (shapes[at] == BOX and shape[at, 0] < 0.0)
        ):
            d, gx, gy, gz = flat_distance(
                at, shapes, shape, face[s, k], pose, f_step, x[i, 0], x[i, 1], x[i, 2]
            )
        else:
            d, gx, gy, gz = wall_distance(
                at, shapes, shape, face[s, k], pose, f_step, x[i, 0], x[i, 1], x[i, 2]
            )
        if not d < x[i, 3] or v[i, 3] == 0.0:  # a fixed one does not meet them
            if keep:
                forget(k, own, kept)
            continue
        put_wall(m, i, at, k, d, gx, gy, gz, kept, own, who, b)
        put_kind(m, material[i] * nmat + substance[at], prm, kinds, p)
        m += 1
        touching += 1
        most_xi = max(most_xi, x[i, 3] - d)
        if m == LANES:
            answer(
                m, law, f_step, per_second, pose, x, v, spin, f, felt, elapsed, keep, own, kept,
                who, b, p,
            )  # fmt: skip
            m = 0
    if m > 0:
        answer(
            m, law, f_step, per_second, pose, x, v, spin, f, felt, elapsed, keep, own, kept, who,
            b, p,
        )  # fmt: skip
    return touching, most_xi


@inner
def mesh_walls(
    s, law, x, v, spin, material, nmat, prm, f, elapsed, keep, f_step, per_second, row, body, face,
    count, kept, felt, shape, pose, substance, mesh, ranges, tri, normals, frame, dims, starts,
    members, field, corners, fan_starts, fans, b, who, p, kinds,
):  # fmt: skip
    """Contacts of one slab's spheres with meshes; their number, most overlap."""
    touching, most_xi, m, own = 0, 0.0, 0, kept.shape[1] - 3
    touch, stamps, stamp = np.zeros((MESH_SLOTS, 5)), np.zeros(tri.shape[0], np.int32), 0
    cand, pair, q = np.empty((64, 11)), np.empty((4, 3, 3)), np.empty(Q_SIZE)
    heights, k = np.zeros((0, 0)), 0
    while k < count[s]:
        i, at = np.uint64(row[s, k]), np.uint64(body[s, k])  # unsigned: no test for below 0
        if mesh[at] < 0:
            k += 1
            continue
        stamp += 1
        touches = mesh_touches(
            i, k, mesh[at], face[s, k] >= DEEP, f_step, pose[at], shape[at], x, keep, kept,
            ranges, tri, normals, frame, dims, starts, members, field, corners, fan_starts,
            fans, stamps, stamp, cand, pair, q, heights, touch,
        )  # fmt: skip
        for t in range(touches if v[i, 3] > 0.0 else 0):  # a fixed one does not meet them
            slot = np.uint64(k + int(touch[t, 0]))
            put_wall(
                m, i, at, slot, touch[t, 1], touch[t, 2], touch[t, 3], touch[t, 4], kept, own,
                who, b,
            )  # fmt: skip
            put_kind(m, material[i] * nmat + substance[at], prm, kinds, p)
            m += 1
            touching += 1
            most_xi = max(most_xi, x[i, 3] - touch[t, 1])
            if m == LANES:
                answer(
                    m, law, f_step, per_second, pose, x, v, spin, f, felt, elapsed, keep, own,
                    kept, who, b, p,
                )  # fmt: skip
                m = 0
        k += MESH_SLOTS
    if m > 0:
        answer(
            m, law, f_step, per_second, pose, x, v, spin, f, felt, elapsed, keep, own, kept, who,
            b, p,
        )  # fmt: skip
    return touching, most_xi


@inner
def wall_slab(
    s, law, x, v, spin, material, nmat, prm, f, elapsed, keep, f_step, per_second, row, body, face,
    count, hist, total, shapes, shape, pose, substance, mesh, ranges, tri, normals, frame, dims,
    starts, members, field, corners, fan_starts, fans, block, whos, numbers, known, stats,
):  # fmt: skip
    """Contacts of one slab's spheres with bodies, first with shapes, then with meshes.

    One loop over both would count references to the buffers of meshes at every contact.
    """
    b, who, p, kinds = block[s], whos[s], numbers[s], known[s]
    touching, most_xi = shape_walls(
        s, law, x, v, spin, material, nmat, prm, f, elapsed, keep, f_step, per_second, row, body,
        face, count, hist[s], total[s], shapes, shape, pose, substance, mesh, b, who, p, kinds,
    )  # fmt: skip
    if tri.shape[0] > 0:
        more, most = mesh_walls(
            s, law, x, v, spin, material, nmat, prm, f, elapsed, keep, f_step, per_second, row,
            body, face, count, hist[s], total[s], shape, pose, substance, mesh, ranges, tri,
            normals, frame, dims, starts, members, field, corners, fan_starts, fans, b, who, p,
            kinds,
        )  # fmt: skip
        touching, most_xi = touching + more, max(most_xi, most)
    stats[s, WALLS] = touching
    stats[s, DEEPEST] = max(stats[s, DEEPEST], most_xi)
