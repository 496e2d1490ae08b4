"""P2 with bodies that move: substeps of the sweeps in which contacts move grain and body alike.

In each substep the bodies say how they move if grains do nothing (`kernels.multibody.substep`), the
contacts with them are found (or go along with their bodies until something has moved by a quarter
of a radius), and the sweeps of `p2.sweep` are followed by passes over those
contacts, one after the other in float64: each sees the inverse mass of the grain plus that of the
whole mechanism at the contact (its mobility), and its answer moves both at once, so that light
bodies do not overshoot and momentum is handed over exactly. Python is not entered.

**Deviation** from print, Sec. 6.6: there the grains meet a wall, and (34) is then applied to the
body as an external force; that is unstable for bodies not much heavier than the grains on them.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.distance import POSE
from berm.kernels.jit import bare, inline, inner, pjit, prange
from berm.kernels.multibody.blocks import no_plan
from berm.kernels.multibody.motion import is_finite
from berm.kernels.multibody.substep import (
    MET,
    close_substep,
    mobilities,
    open_substep,
    solve_again,
    velocities,
)
from berm.kernels.p2.law import (
    ADHESIVE,
    FRACTION,
    INV_H,
    KEEP,
    LAST,
    MEMORY,
    OFF,
    OVERLAP_MAX,
    REACH,
    RELAX,
    SHARE,
    SLIP,
    STATS,
    T_ADHESION,
    T_C,
    T_K,
    T_MU_K,
    T_MU_S,
    WEIGHT,
    WHOLE,
)
from berm.kernels.p2.sweep import (
    clear_warm,
    gather_warm,
    leave_slab,
    move_slab,
    predict_slab,
    sweep_slab,
)
from berm.kernels.walls.find import find
from berm.kernels.walls.poses import flat_poses

ROOM = 0.25  # of the least radius: what may pass between two searches for contacts with bodies
PASSES = 4  # over the contacts with bodies, which are few, for one over those of the grains


@bare
def yield_to(b, ax, ay, az, px, py, pz, mobility, out):
    """What the impulse -p at the arm a does to body b: displacement and turn."""
    tx, ty, tz = ay * pz - az * py, az * px - ax * pz, ax * py - ay * px
    for i in range(6):
        m = mobility[b, i]
        out[i] = -(m[0] * px + m[1] * py + m[2] * pz + m[3] * tx + m[4] * ty + m[5] * tz)


@inner
def weigh_bodies(touches, row, centre, mobility, weights):
    """Arm (3) and inverse mass (3, 3) of each contact with a body, which hold for a substep.

    The inverse mass is that of the grain plus what the body gives way in its mechanism.
    """
    out = np.empty(6)
    for s in range(touches.count.shape[0]):
        for j in range(touches.count[s]):
            i, b, n = touches.rows[s, j], touches.body[s, j], touches.plane[s, j]
            r = np.float64(row[i, 3])
            ax = row[i, 0] - r * n[0] - centre[b, 0]
            ay = row[i, 1] - r * n[1] - centre[b, 1]
            az = row[i, 2] - r * n[2] - centre[b, 2]
            k = weights[s, j]
            k[0], k[1], k[2] = ax, ay, az
            for c in range(3):
                one = 1.0 if c == 0 else 0.0
                two = 1.0 if c == 1 else 0.0
                three = 1.0 if c == 2 else 0.0
                yield_to(b, ax, ay, az, one, two, three, mobility, out)
                k[3 + c] = -(out[0] + out[4] * az - out[5] * ay) + one * row[i, 7]
                k[6 + c] = -(out[1] + out[5] * ax - out[3] * az) + two * row[i, 7]
                k[9 + c] = -(out[2] + out[3] * ay - out[4] * ax) + three * row[i, 7]


@inline
def along(k, dx, dy, dz):
    """Inverse mass of a contact along d, from its weights."""
    return (
        dx * (k[3] * dx + k[4] * dy + k[5] * dz)
        + dy * (k[6] * dx + k[7] * dy + k[8] * dz)
        + dz * (k[9] * dx + k[10] * dy + k[11] * dz)
    )


@bare
def answer(
    nx, ny, nz, approach, rx, ry, rz, gap, w_n, w_t, px, py, pz, memory, k, c, mu_s, mu_k, glue,
    slip,
):  # fmt: skip
    """The law of `p2_law.respond` for one contact; w_n, w_t: inverse mass along and across n."""
    before = px * nx + py * ny + pz * nz
    normal = memory * before
    damp = c if gap <= w_n * max(normal, 0.0) else 0.0
    soft = 1.0 + (k + damp) * w_n
    raw = normal - (normal + k * gap + damp * approach) / soft
    fresh = max(raw, 0.0)
    along = rx * nx + ry * ny + rz * nz
    sx, sy, sz = rx - along * nx, ry - along * ny, rz - along * nz
    mu = mu_k if sx * sx + sy * sy + sz * sz > slip else mu_s
    cap = mu * fresh
    tx = px - before * nx - sx / w_t
    ty = py - before * ny - sy / w_t
    tz = pz - before * nz - sz / w_t
    if glue > 0.0:
        fresh = min(max(before - along / w_n, raw - glue / soft, -glue), fresh)
        cap = mu * max(raw + (soft - 1.0) * (raw - fresh), 0.0) + glue
    size = math.sqrt(tx * tx + ty * ty + tz * tz)
    keep = min(cap / size, 1.0) if size > 0.0 else 0.0
    return fresh * nx + keep * tx, fresh * ny + keep * ty, fresh * nz + keep * tz


@bare
def _area(gap, approach, r, flags):
    """Contact surface (36), quadratic in the penetration."""
    if flags & WHOLE:
        return math.pi * r * r if gap - max(approach, 0.0) <= REACH * r else 0.0
    depth = min(max(-gap, 0.0), r) / r
    return math.pi * r * r * (1.0 - (depth - 1.0) ** 2)


@bare
def touch_bodies(
    touches, weights, row, mat, nmat, kinds, table, par, flags, mobility, kept, full, push, stats,
    out,
):  # fmt: skip
    """One pass over the contacts with bodies.

    kept, full (nb, 6): displacement and turn of each body by the remembered part of the impulses,
    and by all of them. push (nb, 6): impulse and moment about the centre that it got so far; out
    (6,): scratch.
    """
    rows, body, plane, imp, total, count, _, _ = touches
    memory = np.float64(par[MEMORY])
    scale = np.float64(par[RELAX])
    for s in range(count.shape[0]):
        for j in range(count[s]):
            i, b = rows[s, j], body[s, j]
            p = plane[s, j]
            nx, ny, nz = np.float64(p[0]), np.float64(p[1]), np.float64(p[2])
            r = np.float64(row[i, 3])
            w = np.float64(row[i, 7])
            k = weights[s, j]
            ax, ay, az = k[0], k[1], k[2]
            u, f = kept[b], full[b]
            dx = row[i, 4] - p[4] - (u[0] + u[4] * az - u[5] * ay)
            dy = row[i, 5] - p[5] - (u[1] + u[5] * ax - u[3] * az)
            dz = row[i, 6] - p[6] - (u[2] + u[3] * ay - u[4] * ax)
            rx = row[i, 8] - p[4] - (f[0] + f[4] * az - f[5] * ay)
            ry = row[i, 9] - p[5] - (f[1] + f[5] * ax - f[3] * az)
            rz = row[i, 10] - p[6] - (f[2] + f[3] * ay - f[4] * ax)
            approach = dx * nx + dy * ny + dz * nz
            gap = row[i, 0] * nx + row[i, 1] * ny + row[i, 2] * nz - p[3] - r + approach
            px = np.float64(imp[s, j, 0])
            py = np.float64(imp[s, j, 1])
            pz = np.float64(imp[s, j, 2])
            if gap > 0.0 and px == 0.0 and py == 0.0 and pz == 0.0 and not flags & ADHESIVE:
                continue  # apart, and nothing to give back
            w_n = scale * along(k, nx, ny, nz)
            slip = rx * nx + ry * ny + rz * nz
            tx, ty, tz = rx - slip * nx, ry - slip * ny, rz - slip * nz
            size2 = tx * tx + ty * ty + tz * tz
            w_t = scale * along(k, tx, ty, tz) / size2 if size2 > 0.0 else w_n
            pair = mat[i] * nmat + kinds[b]
            glue = 0.0
            if flags & ADHESIVE:
                glue = table[T_ADHESION, pair] * _area(gap, approach, r, flags)
            fx, fy, fz = answer(
                nx, ny, nz, approach, rx, ry, rz, gap, w_n, w_t, px, py, pz, memory,
                np.float64(table[T_K, pair]), np.float64(table[T_C, pair]),
                np.float64(table[T_MU_S, pair]), np.float64(table[T_MU_K, pair]), glue,
                np.float64(par[SLIP]),
            )  # fmt: skip
            imp[s, j, 0], imp[s, j, 1], imp[s, j, 2] = fx, fy, fz
            # what the grain gets is what is stored, and the body gets the same
            fx = np.float64(imp[s, j, 0])
            fy = np.float64(imp[s, j, 1])
            fz = np.float64(imp[s, j, 2])
            kx, ky, kz = fx - memory * px, fy - memory * py, fz - memory * pz
            row[i, 4] += w * kx
            row[i, 5] += w * ky
            row[i, 6] += w * kz
            row[i, 8] += w * (fx - px)
            row[i, 9] += w * (fy - py)
            row[i, 10] += w * (fz - pz)
            if fx != 0.0 or fy != 0.0 or fz != 0.0:
                row[i, 11] += 1.0
            yield_to(b, ax, ay, az, kx, ky, kz, mobility, out)
            for c in range(6):
                kept[b, c] += out[c]
            if memory != 1.0:  # else both change alike
                yield_to(b, ax, ay, az, fx - px, fy - py, fz - pz, mobility, out)
            for c in range(6):
                full[b, c] += out[c]
            if flags & LAST:
                weight = np.float64(par[WEIGHT])
                total[s, j, 0] += weight * fx
                total[s, j, 1] += weight * fy
                total[s, j, 2] += weight * fz
                push[b, 0] -= fx
                push[b, 1] -= fy
                push[b, 2] -= fz
                push[b, 3] -= ay * fz - az * fy
                push[b, 4] -= az * fx - ax * fz
                push[b, 5] -= ax * fy - ay * fx
            if flags & STATS:
                stats[s, OVERLAP_MAX] = max(stats[s, OVERLAP_MAX], -gap)


@inner
def take_back(touches, row, memory, sign):
    """Add (sign 1) what contacts hold to their grains' rows, or take it back (-1).

    Contacts are found again in each substep: those that are gone must not push on.
    """
    for s in range(touches.count.shape[0]):
        for j in range(touches.count[s]):
            i = touches.rows[s, j]
            w = sign * row[i, 7]
            for c in range(3):
                p = touches.impulse[s, j, c]
                row[i, 4 + c] += w * memory * p
                row[i, 8 + c] += w * p


@inner
def start_bodies(touches, weights, mobility, full):
    """Displacement and turn of bodies by the impulses that contacts hold now."""
    out = np.empty(6)
    for s in range(touches.count.shape[0]):
        for j in range(touches.count[s]):
            b, k, p = touches.body[s, j], weights[s, j], touches.impulse[s, j]
            if p[0] == 0.0 and p[1] == 0.0 and p[2] == 0.0:
                continue
            yield_to(
                b, k[0], k[1], k[2], np.float64(p[0]), np.float64(p[1]), np.float64(p[2]),
                mobility, out,
            )  # fmt: skip
            for c in range(6):
                full[b, c] += out[c]


@inner
def origins(bodies, speed, pace):
    """Velocity (nb, 3) of the bodies' origins at velocities (nb, 6) of their centres."""
    for b in range(speed.shape[0]):
        ax = bodies.org[b, 0] - bodies.x[b, 0]
        ay = bodies.org[b, 1] - bodies.x[b, 1]
        az = bodies.org[b, 2] - bodies.x[b, 2]
        pace[b, 0] = speed[b, 0] + speed[b, 4] * az - speed[b, 5] * ay
        pace[b, 1] = speed[b, 1] + speed[b, 5] * ax - speed[b, 3] * az
        pace[b, 2] = speed[b, 2] + speed[b, 3] * ay - speed[b, 4] * ax


@inner
def fastest_row(slab, row):
    """Largest speed (m/s) of a grain."""
    most = row[0, 12] * row[0, 12] * 0
    for i in range(slab[slab.shape[0] - 1]):
        here = row[i, 12] * row[i, 12] + row[i, 13] * row[i, 13] + row[i, 14] * row[i, 14]
        most = here if here > most else most
    return math.sqrt(most)


@inner
def fastest_body(which, bodies, ball, speed):
    """Largest speed (m/s) of a point of bodies `which` at velocities (nb, 6) of their centres."""
    most = 0.0
    for k in range(which.shape[0]):
        b = which[k]
        s, off = speed[b], bodies.offset[b]
        reach = max(ball[b, 3], 0.0) + math.sqrt(
            (ball[b, 0] - off[0]) ** 2 + (ball[b, 1] - off[1]) ** 2 + (ball[b, 2] - off[2]) ** 2
        )
        straight = math.sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2])
        turning = math.sqrt(s[3] * s[3] + s[4] * s[4] + s[5] * s[5])
        most = max(most, straight + reach * turning)
    return most


@inner
def smallest(slab, row):
    """Least radius (m) of a grain."""
    least = row[0, 3]
    for i in range(slab[slab.shape[0] - 1]):
        least = row[i, 3] if row[i, 3] < least else least
    return np.float64(least)


@inner
def frame_planes(touches, bodies, frames):
    """Normal and offset of each contact's plane in the frame of its body, as it stands now."""
    for s in range(touches.count.shape[0]):
        for j in range(touches.count[s]):
            b, p, f = touches.body[s, j], touches.plane[s, j], frames[s, j]
            r, o = bodies.rot[b], bodies.org[b]
            for c in range(3):
                f[c] = r[0, c] * p[0] + r[1, c] * p[1] + r[2, c] * p[2]
            f[3] = p[3] - (p[0] * o[0] + p[1] * o[1] + p[2] * o[2])


@inner
def move_planes(touches, bodies, pace, omega, h, row, frames):
    """Take the planes of contacts along with their bodies, instead of finding them again."""
    for s in range(touches.count.shape[0]):
        for j in range(touches.count[s]):
            i, b = touches.rows[s, j], touches.body[s, j]
            p, f, r, o = touches.plane[s, j], frames[s, j], bodies.rot[b], bodies.org[b]
            nx = r[0, 0] * f[0] + r[0, 1] * f[1] + r[0, 2] * f[2]
            ny = r[1, 0] * f[0] + r[1, 1] * f[1] + r[1, 2] * f[2]
            nz = r[2, 0] * f[0] + r[2, 1] * f[1] + r[2, 2] * f[2]
            ax = row[i, 0] - row[i, 3] * nx - o[0]
            ay = row[i, 1] - row[i, 3] * ny - o[1]
            az = row[i, 2] - row[i, 3] * nz - o[2]
            w, v = omega[b], pace[b]
            p[0], p[1], p[2] = nx, ny, nz
            p[3] = f[3] + nx * o[0] + ny * o[1] + nz * o[2]
            p[4] = h * (v[0] + w[1] * az - w[2] * ay)
            p[5] = h * (v[1] + w[2] * ax - w[0] * az)
            p[6] = h * (v[2] + w[0] * ay - w[1] * ax)


@inner
def place_rows(slab, row, x, v):
    """Positions and velocities of the rows of all slabs, as the search for contacts reads them."""
    for i in range(slab[slab.shape[0] - 1]):
        for c in range(3):
            x[i, c] = row[i, c]
            v[i, c] = row[i, 12 + c]


@pjit
def advance(
    slabs, pairs, grains, soil, walls, kinds, par, base_flags, iterations, first, substeps, memory,
    again, holds, ref, stats, search, touches, bodies, joints, tags, shapes, solids, means, gravity,
    h, known, loads, multi_stats,
):  # fmt: skip
    """Substeps of grains and bodies from `first` on; return the next one to do, and the memory.

    As `p2.sweep.solve`. again: contacts of pairs or walls were found since, so that what they do is
    summed again; holds: rows hold what the contacts of touches[2] do. search = (alone, skin, which,
    scratch, use_old_row, old_row): how contacts with the dynamic bodies `which` are found. touches:
    three `Touches`; the first two are filled in turns, beginning from the third. known: memory of
    the contacts between bodies. loads = (joint_load, by_bodies, by_joints, by_grains).

    Returns the next substep, the memory, how many searches found room, whether the last one did,
    `holds`, and the first body that is not finite or -1. Ends early where a grain has left the way
    that the list covers, or contacts found no room: then nothing of that substep was done.
    """
    slab, part, colour, turn = slabs
    lanes, ptr, nbr, imp = pairs
    x, v, row, warm = grains
    mat, nmat, common, table = soil
    w_count, w_rows, w_body, w_plane, w_imp, w_total = walls
    alone, skin, which, scratch, use_old_row, old_row = search
    joint_load, by_bodies, by_joints, by_grains = loads
    n, nb = slab.shape[0] - 1, bodies.kind.shape[0]
    par[WEIGHT] = par[INV_H] * par[INV_H] / substeps
    ahead = substeps - first
    par[SHARE] = 1.0 / ahead
    par[KEEP] = memory
    par[MEMORY] = memory
    if again:
        for number in prange(n):
            s = np.int64(number)  # one type, one compile
            clear_warm(s, slab, warm)
        for c in range(colour.shape[0] - 1):
            for k in prange(colour[c], colour[c + 1]):
                gather_warm(turn[k], part, lanes, ptr, nbr, imp, v, warm, w_count, w_rows, w_imp)
    for number in prange(n):
        s = np.int64(number)
        predict_slab(s, slab, x, v, warm, row, par, again)
    plan, gripped = no_plan(nb), no_plan(nb)
    poses, speed, pace = np.zeros((nb, POSE)), np.zeros((nb, 6)), np.zeros((nb, 3))
    mobility, centre = np.zeros((nb, 6, 6)), bodies.x
    touched, push = np.zeros(nb, np.bool_), np.zeros((nb, 6))
    weights, six = np.empty((0, 0, 12)), np.empty(6)
    omega, share = np.zeros((nb, 3)), 1.0 / (h * substeps)
    new, other, old = touches
    frames = np.empty((0, 0, 4))
    done, fits, searches, drift = first, True, 0, 0.0
    room = ROOM * smallest(slab, row)
    while done < substeps:
        contacts, rows, of_joints, m, u0, u, plan = open_substep(
            bodies, joints, tags, shapes, solids, means, gravity, h, known, plan, multi_stats
        )
        velocities(bodies, u, speed)
        origins(bodies, speed, pace)
        for b in range(nb):
            for c in range(3):
                omega[b, c] = speed[b, 3 + c]
        drift += h * (fastest_row(slab, row) + fastest_body(which, bodies, solids.ball, speed))
        if searches == 0 or drift > room:
            flat_poses(which, bodies.org, bodies.rot, pace, omega, 0.0, h, poses)
            if done > first:
                place_rows(slab, row, x, v)
            if holds:
                take_back(old, row, memory, np.float32(-1.0))
            fits = find(
                alone, x, v, slab, h, gravity, skin, which, poses, shapes, scratch, use_old_row,
                old_row, new, old,
            )  # fmt: skip
            if not fits:
                if holds:
                    take_back(old, row, memory, np.float32(1.0))
                break
            take_back(new, row, memory, np.float32(1.0))
            use_old_row, holds, drift = False, True, 0.0
            new, other, old = other, new, new
            searches += 1
            if frames.shape[0] != n or frames.shape[1] < old.rows.shape[1]:
                frames = np.empty((n, old.rows.shape[1], 4))
            frame_planes(old, bodies, frames)
        else:
            move_planes(old, bodies, pace, omega, h, row, frames)
        touched[:] = False
        some = False
        for s in range(n):
            for j in range(old.count[s]):
                touched[old.body[s, j]] = True
                some = True
        push[:] = 0.0
        full = np.zeros((nb, 6))
        if some:
            mobilities(bodies, rows, m, gripped, touched, mobility)
            if weights.shape[0] != n or weights.shape[1] < old.rows.shape[1]:
                weights = np.empty((n, old.rows.shape[1], 12))
            weigh_bodies(old, row, centre, mobility, weights)
            start_bodies(old, weights, mobility, full)
        kept = np.float64(memory) * full
        par[FRACTION] = (done - first) / ahead
        flags = base_flags
        for it in range(iterations):
            flags = base_flags
            par[MEMORY] = memory if it == 0 else 1.0
            if it == iterations - 1:
                flags |= LAST
                if done == substeps - 1:
                    flags |= STATS
            for c in range(colour.shape[0] - 1):
                for k in prange(colour[c], colour[c + 1]):
                    sweep_slab(
                        turn[k], part, lanes, ptr, nbr, imp, row, mat, nmat, common, table,
                        w_count, w_rows, w_body, w_plane, w_imp, w_total, kinds, par, flags, stats,
                    )  # fmt: skip
            if some:
                for again in range(PASSES):
                    last = again == PASSES - 1
                    touch_bodies(
                        old, weights, row, mat, nmat, kinds, table, par,
                        flags if last else flags & ~(LAST | STATS), mobility, kept, full, push,
                        stats, six,
                    )  # fmt: skip
                    par[MEMORY] = 1.0
        for number in prange(n):
            s = np.int64(number)
            move_slab(s, slab, row, par, flags, ref, stats)
        if some:
            for b in range(nb):
                for c in range(6):
                    push[b, c] /= h
                if touched[b]:
                    _note_load(b, bodies, push, share, by_grains)
            plan = solve_again(bodies, rows, of_joints, m, means, push, u0, u, plan, multi_stats)
        known = close_substep(
            bodies, joints, tags, contacts, rows, of_joints, m, u, h, share, joint_load, by_bodies,
            by_joints,
        )  # fmt: skip
        multi_stats[MET] = contacts.n[0]
        done += 1
        off = 0.0
        for s in range(n):
            off += stats[s, OFF]
        if off > 0.0:
            break
    for number in prange(n):
        s = np.int64(number)
        leave_slab(s, slab, x, v, warm, row, par)
    return done, known, searches, fits, holds, is_finite(bodies)


@inner
def _note_load(b, bodies, push, share, load):
    """Add share (1/s) times the impulse on body b to its mean force, about its origin."""
    rx = bodies.x[b, 0] - bodies.org[b, 0]
    ry = bodies.x[b, 1] - bodies.org[b, 1]
    rz = bodies.x[b, 2] - bodies.org[b, 2]
    fx, fy, fz = share * push[b, 0], share * push[b, 1], share * push[b, 2]
    load[b, 0] += fx
    load[b, 1] += fy
    load[b, 2] += fz
    load[b, 3] += share * push[b, 3] + ry * fz - rz * fy
    load[b, 4] += share * push[b, 4] + rz * fx - rx * fz
    load[b, 5] += share * push[b, 5] + rx * fy - ry * fx
