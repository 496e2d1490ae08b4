"""Forces of all contacts, and the leap-frog that follows them; written for one choice of laws.

`compose` makes a copy of this file for another choice, with other imports in the lines marked
below; so every choice runs as fast as if it had been written by hand, and is cached on disk.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.contact_blocks import (
    FORCE,
    LANES,
    LIGHT,
    MEMORY,
    NUMBERS,
    OTHER_SPIN,
    OTHER_TORQUE,
    OVERLAP,
    RADII,
    SPEED,
    SPIN,
    TORQUE,
    WAY,
    put,
    take,
)
from berm.kernels.distance import feature, to_body, to_world
from berm.kernels.fused import inline, inner
from berm.kernels.jit import pjit, prange
from berm.kernels.mesh_contacts import GAP, NX, NY, NZ, gather, take_best
from berm.kernels.near_walls import MESH_SLOTS
from berm.kernels.rigid_grains import CHUNK, kick_chunk, kick_slab, move_chunk, move_slab
from berm.laws.cohesion_none import pull  # law: cohesion
from berm.laws.normal_linear import force as normal_force  # law: normal
from berm.laws.rolling_none import torque as rolling_torque  # law: rolling
from berm.laws.tangential_history import force as tangential_force  # law: tangential

SLIDES = True  # law: whether the tangential law remembers
ROLLS = False  # law: whether the rolling law remembers
TURNS = False  # law: whether there is a rolling law

# Columns of statistics, one row a slab.
CONTACTS, SUM, DEEPEST, WALLS = range(4)
# What a pair remembers: how far it slid, how far it rolled.
REMEMBERED = 3 * SLIDES + 3 * ROLLS
SHEAR, ROLL = MEMORY, MEMORY + 3 * LANES * SLIDES
# Below this share of its square out of the plane, what a vector loses there is not worth a root.
FLAT = 1e-12
# Planes of one mesh whose normals differ less are the same contact of a step before.
SAME_COS = 0.9


@inline
def flat(ax, ay, az, nx, ny, nz):
    """A remembered vector, turned into the plane of contact with its length kept."""
    size2 = ax * ax + ay * ay + az * az
    out = ax * nx + ay * ny + az * nz
    ax, ay, az = ax - out * nx, ay - out * ny, az - out * nz
    if out * out > FLAT * size2:
        left2 = ax * ax + ay * ay + az * az
        scale = math.sqrt(size2 / left2) if left2 > 0.0 else 0.0
        ax, ay, az = scale * ax, scale * ay, scale * az
    return ax, ay, az


@inline
def contact(
    p, at, step, nx, ny, nz, xi, vx, vy, vz, wx, wy, wz, r_eff, r_min, m_eff, elapsed,
    dx, dy, dz, ax, ay, az,
):  # fmt: skip
    """Force and rolling torque on the first partner, and what they remember, [Bell05] (3)-(6).

    n points from the first to the second; v and w: velocity and spin of the first relative to the
    second at the point of contact; elapsed (s): time since the shear d and the roll a were kept.
    Number c of the laws stands in p[at + c * step].
    """
    xi_dot = vx * nx + vy * ny + vz * nz
    f_n, k_n, c_n = normal_force(
        p[at], p[at + step], p[at + 2 * step], p[at + 3 * step], xi, xi_dot, r_eff, m_eff
    )
    tx, ty, tz = vx - xi_dot * nx, vy - xi_dot * ny, vz - xi_dot * nz
    if SLIDES:
        dx, dy, dz = flat(dx, dy, dz, nx, ny, nz)
        dx, dy, dz = dx + elapsed * tx, dy + elapsed * ty, dz + elapsed * tz
    fx, fy, fz, dx, dy, dz = tangential_force(
        p[at + 4 * step], p[at + 5 * step], p[at + 6 * step], p[at + 7 * step],
        dx, dy, dz, tx, ty, tz, f_n, k_n, c_n,
    )  # fmt: skip
    mx, my, mz = 0.0, 0.0, 0.0
    if TURNS:
        out = wx * nx + wy * ny + wz * nz
        wx, wy, wz = wx - out * nx, wy - out * ny, wz - out * nz
        if ROLLS:
            ax, ay, az = flat(ax, ay, az, nx, ny, nz)
        mx, my, mz, ax, ay, az = rolling_torque(
            p[at + 8 * step], p[at + 9 * step], p[at + 10 * step], p[at + 11 * step],
            ax, ay, az, wx, wy, wz, f_n, k_n, r_eff, elapsed,
        )  # fmt: skip
    push = f_n - pull(
        p[at + 12 * step], p[at + 13 * step], p[at + 14 * step], p[at + 15 * step],
        xi, r_eff, r_min,
    )  # fmt: skip
    return (
        fx - push * nx, fy - push * ny, fz - push * nz, mx, my, mz, dx, dy, dz, ax, ay, az,
    )  # fmt: skip


@inner
def block_forces(b, p, elapsed):
    """All pairs of a block, (1)-(6): no jumps, so that the compiler does several at a time."""
    for k in range(LANES):
        nx, ny, nz = b[WAY + k], b[WAY + LANES + k], b[WAY + 2 * LANES + k]
        r, q = b[RADII + k], b[RADII + LANES + k]
        far = math.sqrt(nx * nx + ny * ny + nz * nz)
        one = 1.0 / far if far > 0.0 else 0.0
        nx, ny, nz = nx * one, ny * one, nz * one
        if far == 0.0:  # two centres in one place: any direction parts them
            nz = 1.0
        xi = r + q - far
        g, h = r - 0.5 * xi, q - 0.5 * xi  # arms
        sx, sy, sz = b[SPIN + k], b[SPIN + LANES + k], b[SPIN + 2 * LANES + k]
        ux, uy, uz = b[OTHER_SPIN + k], b[OTHER_SPIN + LANES + k], b[OTHER_SPIN + 2 * LANES + k]
        ax, ay, az = g * sx + h * ux, g * sy + h * uy, g * sz + h * uz
        cx, cy, cz, mx, my, mz, dx, dy, dz, rx, ry, rz = contact(
            p, k, LANES, nx, ny, nz, xi,
            b[SPEED + k] + ay * nz - az * ny,
            b[SPEED + LANES + k] + az * nx - ax * nz,
            b[SPEED + 2 * LANES + k] + ax * ny - ay * nx,
            sx - ux, sy - uy, sz - uz, r * q / (r + q), min(r, q), 1.0 / b[LIGHT + k], elapsed,
            b[SHEAR + k], b[SHEAR + LANES + k], b[SHEAR + 2 * LANES + k],
            b[ROLL + k], b[ROLL + LANES + k], b[ROLL + 2 * LANES + k],
        )  # fmt: skip
        b[FORCE + k], b[FORCE + LANES + k], b[FORCE + 2 * LANES + k] = cx, cy, cz
        tx, ty, tz = ny * cz - nz * cy, nz * cx - nx * cz, nx * cy - ny * cx
        b[TORQUE + k] = g * tx + mx
        b[TORQUE + LANES + k] = g * ty + my
        b[TORQUE + 2 * LANES + k] = g * tz + mz
        b[OTHER_TORQUE + k] = h * tx - mx
        b[OTHER_TORQUE + LANES + k] = h * ty - my
        b[OTHER_TORQUE + 2 * LANES + k] = h * tz - mz
        b[OVERLAP + k] = xi
        if SLIDES:
            b[SHEAR + k], b[SHEAR + LANES + k], b[SHEAR + 2 * LANES + k] = dx, dy, dz
        if ROLLS:
            b[ROLL + k], b[ROLL + LANES + k], b[ROLL + 2 * LANES + k] = rx, ry, rz


@inline
def fill_laws(p, m, prm, kind):
    """Put the laws' numbers for a kind of pair beside pair m of a block."""
    for c in range(prm.shape[1]):
        p[c * LANES + m] = prm[kind, c]


@inner
def pair_slab(s, slab, ptr, nbr, hist, x, v, spin, material, nmat, prm, f, elapsed, keep, stats):
    """Contacts between the spheres of one slab and their neighbours."""
    touching, sum_xi, most_xi, m = 0, 0.0, 0.0, 0
    b, who = np.ones(NUMBERS), np.zeros(3 * LANES, np.int64)
    p, kinds = np.ones(prm.shape[1] * LANES), np.full(LANES, -1)
    for i in range(np.uint64(slab[s]), np.uint64(slab[s + 1])):  # unsigned: no test for below 0
        px, py, pz, r = x[i, 0], x[i, 1], x[i, 2], x[i, 3]
        for k in range(np.uint64(ptr[i]), np.uint64(ptr[i + np.uint64(1)])):
            j = np.uint64(nbr[k])
            dx, dy, dz, q = x[j, 0] - px, x[j, 1] - py, x[j, 2] - pz, x[j, 3]
            if dx * dx + dy * dy + dz * dz >= (r + q) * (r + q):
                if keep:
                    for c in range(REMEMBERED):
                        hist[k, c] = 0.0
                continue
            put(m, i, j, k, dx, dy, dz, r, q, v, spin, hist, REMEMBERED, who, b)
            kind = material[i] * nmat + material[j]
            if kinds[m] != kind:  # most pairs are of one kind
                kinds[m] = kind
                fill_laws(p, m, prm, kind)
            m += 1
            if m == LANES:
                block_forces(b, p, elapsed)
                total, most = take(m, REMEMBERED, keep, who, b, f, hist)
                touching, sum_xi, most_xi = touching + m, sum_xi + total, max(most_xi, most)
                m = 0
    block_forces(b, p, elapsed)  # the rest, and what is left of a block before, which nobody takes
    total, most = take(m, REMEMBERED, keep, who, b, f, hist)
    stats[s, CONTACTS], stats[s, SUM] = touching + m, sum_xi + total
    stats[s, DEEPEST] = max(most_xi, most)


@inline
def wall_force(
    i, b, k, hist, d, gx, gy, gz, f_step, pose, per_second, x, v, spin, kind, prm, f, total,
    elapsed, keep,
):  # fmt: skip
    """Contact of sphere i with body b at distance d (m); g points from the wall to the sphere."""
    nx, ny, nz = -gx, -gy, -gz
    qx, qy, qz = x[i, 0] + d * nx, x[i, 1] + d * ny, x[i, 2] + d * nz
    ox = qx - pose[0] - f_step * pose[12]
    oy = qy - pose[1] - f_step * pose[13]
    oz = qz - pose[2] - f_step * pose[14]
    wx, wy, wz = per_second * pose[15], per_second * pose[16], per_second * pose[17]
    sx, sy, sz = spin[i, 0], spin[i, 1], spin[i, 2]
    vx = v[i, 0] + d * (sy * nz - sz * ny) - per_second * pose[12] - (wy * oz - wz * oy)
    vy = v[i, 1] + d * (sz * nx - sx * nz) - per_second * pose[13] - (wz * ox - wx * oz)
    vz = v[i, 2] + d * (sx * ny - sy * nx) - per_second * pose[14] - (wx * oy - wy * ox)
    r, own = x[i, 3], 3 if SLIDES else 0
    dx, dy, dz, ax, ay, az = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if SLIDES:
        dx, dy, dz = hist[k, 0], hist[k, 1], hist[k, 2]
    if ROLLS:
        ax, ay, az = hist[k, own], hist[k, own + 1], hist[k, own + 2]
    fx, fy, fz, mx, my, mz, dx, dy, dz, ax, ay, az = contact(
        prm[kind], 0, 1, nx, ny, nz, r - d, vx, vy, vz, sx - wx, sy - wy, sz - wz, r, r,
        1.0 / v[i, 3], elapsed, dx, dy, dz, ax, ay, az,
    )  # fmt: skip
    if SLIDES and keep:
        hist[k, 0], hist[k, 1], hist[k, 2] = dx, dy, dz
    if ROLLS and keep:
        hist[k, own], hist[k, own + 1], hist[k, own + 2] = ax, ay, az
    f[i, 0] += fx
    f[i, 1] += fy
    f[i, 2] += fz
    f[i, 3] += d * (ny * fz - nz * fy) + mx
    f[i, 4] += d * (nz * fx - nx * fz) + my
    f[i, 5] += d * (nx * fy - ny * fx) + mz
    total[b, 0] -= fx
    total[b, 1] -= fy
    total[b, 2] -= fz
    total[b, 3] -= oy * fz - oz * fy + mx
    total[b, 4] -= oz * fx - ox * fz + my
    total[b, 5] -= ox * fy - oy * fx + mz


@inner
def wall_distance(kind, shape, face, pose, f_step, x, y, z):
    """Distance (m) of a point to a face of a body, and the direction away from it."""
    lx, ly, lz = to_body(pose, f_step, x, y, z)
    d, gx, gy, gz = feature(kind, shape, face, lx, ly, lz)
    gx, gy, gz = to_world(pose, f_step, gx, gy, gz)
    return d, gx, gy, gz


@inner
def match_slot(hist, k, used, gx, gy, gz):
    """The slot of a mesh contact: the one whose last normal was the most alike, else a free one."""
    last = hist.shape[1] - 3
    best, slot = SAME_COS, -1
    for m in range(MESH_SLOTS):
        if used & (1 << m):
            continue
        alike = hist[k + m, last] * gx + hist[k + m, last + 1] * gy + hist[k + m, last + 2] * gz
        if alike > best:
            best, slot = alike, m
    if slot >= 0:
        return slot
    for m in range(MESH_SLOTS):
        alike = abs(hist[k + m, last]) + abs(hist[k + m, last + 1]) + abs(hist[k + m, last + 2])
        if not used & (1 << m) and alike == 0.0:
            return m
    for m in range(MESH_SLOTS):
        if not used & (1 << m):
            return m
    return -1


@inner
def forget(hist, k):
    """A contact is lost, and all that it remembers."""
    for c in range(hist.shape[1]):
        hist[k, c] = 0.0


@inner
def mesh_contacts(
    i, b, k, m, f_step, pose, per_second, x, v, spin, kind, prm, f, total, elapsed, keep, hist,
    ranges, tri, normals, frame, dims, starts, members, field, corners, fan_starts, fans,
    stamps, stamp, cand, pair, q, heights,
):  # fmt: skip
    """All contacts of sphere i with mesh m of body b; return their number and the deepest."""
    r = x[i, 3]
    found, count = gather(
        6, tri[ranges[m, 0] : ranges[m + 1, 0]], normals[ranges[m, 0] : ranges[m + 1, 0]],
        frame[m], dims[m], starts[ranges[m, 1] : ranges[m + 1, 1]],
        members[ranges[m, 2] : ranges[m + 1, 2]], corners[ranges[m, 0] : ranges[m + 1, 0]],
        fan_starts[ranges[m, 4] : ranges[m + 1, 4]], fans[ranges[m, 5] : ranges[m + 1, 5]],
        heights, pair, stamps, stamp, cand, q, pose, f_step,
        x[i, 0], x[i, 1], x[i, 2], x[i, 0], x[i, 1], x[i, 2], r, 0.0, 0.0,
    )  # fmt: skip
    used, touching, deepest = 0, 0, 0.0
    last = hist.shape[1] - 3
    while True:
        best = take_best(found, count, r)
        if best < 0:
            break
        c = found[best]
        if not c[GAP] < 0.0:
            continue
        gx, gy, gz = to_world(pose, f_step, c[NX], c[NY], c[NZ])
        slot = match_slot(hist, k, used, gx, gy, gz)
        if slot < 0:
            break
        used |= 1 << slot
        wall_force(
            i, b, k + slot, hist, r + c[GAP], gx, gy, gz, f_step, pose, per_second, x, v, spin,
            kind, prm, f, total, elapsed, keep,
        )  # fmt: skip
        if keep:
            hist[k + slot, last] = gx
            hist[k + slot, last + 1] = gy
            hist[k + slot, last + 2] = gz
        touching += 1
        deepest = max(deepest, -c[GAP])
    for m in range(MESH_SLOTS):
        if keep and not used & (1 << m):
            forget(hist, k + m)
    return touching, deepest


@inner
def wall_slab(
    s, x, v, spin, material, nmat, prm, f, elapsed, keep, f_step, per_second, row, body, face,
    count, hist, total, kinds, shape, pose, substance, mesh, ranges, tri, normals, frame, dims,
    starts, members, field, corners, fan_starts, fans, stats,
):  # fmt: skip
    """Contacts of one slab's spheres with bodies."""
    touching, most_xi = 0, 0.0
    cand, pair, q = np.empty((0, 11)), np.empty((0, 3, 3)), np.empty(0)
    stamps, stamp, heights = np.zeros(0, np.int32), 0, np.zeros((0, 0))
    k = 0
    while k < count[s]:
        i, b = row[s, k], body[s, k]
        kind = material[i] * nmat + substance[b]
        if mesh[b] >= 0:
            if cand.shape[0] == 0:
                cand, pair, q = np.empty((64, 11)), np.empty((4, 3, 3)), np.empty(6)
                stamps = np.zeros(tri.shape[0], np.int32)
            stamp += 1
            number, deep = mesh_contacts(
                i, b, k, mesh[b], f_step, pose[b], per_second, x, v, spin, kind, prm, f, total[s],
                elapsed, keep, hist[s], ranges, tri, normals, frame, dims, starts, members, field,
                corners, fan_starts, fans, stamps, stamp, cand, pair, q, heights,
            )  # fmt: skip
            touching += number
            most_xi = max(most_xi, deep)
            k += MESH_SLOTS
            continue
        d, gx, gy, gz = wall_distance(
            kinds[b], shape[b], face[s, k], pose[b], f_step, x[i, 0], x[i, 1], x[i, 2]
        )
        if d < x[i, 3]:
            wall_force(
                i, b, k, hist[s], d, gx, gy, gz, f_step, pose[b], per_second, x, v, spin, kind,
                prm, f, total[s], elapsed, keep,
            )  # fmt: skip
            touching += 1
            most_xi = max(most_xi, x[i, 3] - d)
        elif keep:
            forget(hist[s], k)
        k += 1
    stats[s, WALLS] = touching
    stats[s, DEEPEST] = max(stats[s, DEEPEST], most_xi)


@pjit
def advance(
    done, steps, due, h, gravity, owner, ref, stale, only_forces, elapsed, keep, fraction,
    slab, colour, turn, ptr, nbr, hist, x, v, spin, material, nmat, prm, f,
    per_second, row, body, face, count, wall_hist, total, kinds, shape, pose, substance,
    mesh, ranges, tri, normals, frame, dims, starts, members, field, corners, fan_starts, fans,
    first, rows, offset, place, pace, attitude, momentum, inertia, body_ref, stats,
):  # fmt: skip
    """Leap-frog from step `done` to `steps` of a world step; stop early where the list is stale.

    due: the list was made anew in the middle of a step, and its forces are still to be found.
    only_forces: add the forces of all contacts at the `fraction` of the world step to f (n, 8) and
    to what bodies feel, total (slabs, nb, 6), `elapsed` (s) after contacts last kept their memory;
    keep it now or not; and return. Returns the steps that are done; where it is less than `steps`,
    forces are due.
    """
    gx, gy, gz = gravity[0], gravity[1], gravity[2]
    chunks = (first.shape[0] - 1 + CHUNK - 1) // CHUNK
    nslab = slab.shape[0] - 1
    while done < steps or due or only_forces:
        if not due and not only_forces:
            kick = h if done > 0 else 0.5 * h  # two half kicks in one but for the first
            for c in prange(chunks):
                move_chunk(
                    c, h, kick, gx, gy, gz, first, rows, offset, place, pace, attitude, momentum,
                    inertia, body_ref, x, v, spin, f, stale[nslab:],
                )  # fmt: skip
            for number in prange(nslab):
                move_slab(
                    np.int64(number), slab, owner, h, kick, gx, gy, gz, x, v, spin, f, ref, stale
                )
            far = False
            for k in range(nslab + chunks):
                far |= stale[k]
            if far:
                return done
        due = False
        if not only_forces:
            fraction = (done + 1.0) / steps
        for c in range(colour.shape[0] - 1):
            for at in prange(colour[c], colour[c + 1]):
                pair_slab(
                    turn[at], slab, ptr, nbr, hist, x, v, spin, material, nmat, prm, f, elapsed,
                    keep, stats,
                )  # fmt: skip
        for number in prange(nslab):
            wall_slab(
                np.int64(number), x, v, spin, material, nmat, prm, f, elapsed, keep, fraction,
                per_second, row, body, face, count, wall_hist, total, kinds, shape, pose,
                substance, mesh, ranges, tri, normals, frame, dims, starts, members, field,
                corners, fan_starts, fans, stats,
            )  # fmt: skip
        if only_forces:
            return done
        done += 1
    for c in prange(chunks):
        kick_chunk(c, 0.5 * h, gx, gy, gz, first, rows, place, pace, attitude, momentum, x, f)
    for number in prange(nslab):
        kick_slab(np.int64(number), slab, owner, 0.5 * h, gx, gy, gz, x, v, spin, f)
    return done
