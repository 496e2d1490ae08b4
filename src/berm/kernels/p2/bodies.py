"""P2 with bodies that move: one substep of the sweeps in which contacts move grain and body alike.

As `p2_sweep`, and then the contacts with dynamic bodies, one after the other in float64: each sees
the inverse mass of the grain plus that of the body at the contact, and its answer moves both at
once, so that light bodies do not overshoot and momentum is handed over exactly.

**Deviation** from print, Sec. 6.6: there the grains meet a wall, and (34) is then applied to the
body as an external force; that is unstable for bodies not much heavier than the grains on them.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import inner, pjit, prange
from berm.kernels.p2.law import (
    ADHESIVE,
    FRACTION,
    INV_H,
    KEEP,
    LAST,
    MEMORY,
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

PASSES = 4  # over the contacts with bodies, which are few, for one over those of the grains


@inner
def yield_to(b, ax, ay, az, px, py, pz, mobility, out):
    """What the impulse -p at the arm a does to body b: displacement and turn."""
    tx, ty, tz = ay * pz - az * py, az * px - ax * pz, ax * py - ay * px
    for i in range(6):
        m = mobility[b, i]
        out[i] = -(m[0] * px + m[1] * py + m[2] * pz + m[3] * tx + m[4] * ty + m[5] * tz)


@inner
def give(b, ax, ay, az, dx, dy, dz, mobility, out):
    """Inverse mass of body b at the arm a along the unit vector d."""
    yield_to(b, ax, ay, az, dx, dy, dz, mobility, out)
    return -(
        dx * (out[0] + out[4] * az - out[5] * ay)
        + dy * (out[1] + out[5] * ax - out[3] * az)
        + dz * (out[2] + out[3] * ay - out[4] * ax)
    )


@inner
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


@inner
def _area(gap, approach, r, flags):
    """Contact surface (36), quadratic in the penetration."""
    if flags & WHOLE:
        return math.pi * r * r if gap - max(approach, 0.0) <= REACH * r else 0.0
    depth = min(max(-gap, 0.0), r) / r
    return math.pi * r * r * (1.0 - (depth - 1.0) ** 2)


@inner
def touch_bodies(
    count, rows, body, plane, imp, total, x, row, mat, nmat, kinds, table, par, flags, centre,
    mobility, kept, full, push, stats,
):  # fmt: skip
    """One pass over the contacts with bodies.

    kept, full (nb, 6): displacement and turn of each body by the remembered part of the impulses,
    and by all of them. push (nb, 6): impulse and moment about the centre that it got so far.
    """
    out = np.empty(6)
    memory = np.float64(par[MEMORY])
    scale = np.float64(par[RELAX])
    for s in range(count.shape[0]):
        for j in range(count[s]):
            i, b = rows[s, j], body[s, j]
            p = plane[s, j]
            nx, ny, nz = np.float64(p[0]), np.float64(p[1]), np.float64(p[2])
            r = np.float64(row[i, 3])
            w = np.float64(row[i, 7])
            ax = row[i, 0] - r * nx - centre[b, 0]
            ay = row[i, 1] - r * ny - centre[b, 1]
            az = row[i, 2] - r * nz - centre[b, 2]
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
            w_n = scale * (w + give(b, ax, ay, az, nx, ny, nz, mobility, out))
            along = rx * nx + ry * ny + rz * nz
            tx, ty, tz = rx - along * nx, ry - along * ny, rz - along * nz
            size = math.sqrt(tx * tx + ty * ty + tz * tz)
            w_t = w
            if size > 0.0:
                w_t = scale * (
                    w + give(b, ax, ay, az, tx / size, ty / size, tz / size, mobility, out)
                )
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
                stats[s, 1] = max(stats[s, 1], -gap)


@inner
def warm_bodies(count, rows, body, plane, imp, x, v, warm, centre, mobility, full):
    """Displacement of grains and bodies by the impulses that the contacts hold now."""
    out = np.empty(6)
    for s in range(count.shape[0]):
        for j in range(count[s]):
            i, b = rows[s, j], body[s, j]
            r = np.float64(x[i, 3])
            p = imp[s, j]
            for c in range(3):
                warm[i, c] += v[i, 3] * p[c]
            yield_to(
                b, x[i, 0] - r * plane[s, j, 0] - centre[b, 0],
                x[i, 1] - r * plane[s, j, 1] - centre[b, 1],
                x[i, 2] - r * plane[s, j, 2] - centre[b, 2],
                np.float64(p[0]), np.float64(p[1]), np.float64(p[2]), mobility, out,
            )  # fmt: skip
            for c in range(6):
                full[b, c] += out[c]


@pjit
def solve(
    slab, part, colour, turn, lanes, ptr, nbr, imp, x, v, row, warm, mat, nmat, common, table,
    w_count, w_rows, w_body, w_plane, w_imp, w_total, body_mat, par, base_flags, iterations,
    share, memory, ref, stats, d_count, d_rows, d_body, d_plane, d_imp, d_total, kinds,
    centre, mobility, push,
):  # fmt: skip
    """One substep; both lists of contacts with bodies were found for it.

    share: part of the step that it is, for mean forces. d_*: contacts with dynamic bodies; kinds
    (nb,): their materials; centre (nb, 3), mobility (nb, 6, 6): of dynamic bodies; push (nb, 6)
    receives the impulse on each body (kg m) and its moment about the centre.
    """
    n = slab.shape[0] - 1
    par[WEIGHT] = par[INV_H] * par[INV_H] * share
    par[FRACTION] = 0.0
    par[SHARE] = 1.0
    par[KEEP] = memory
    par[MEMORY] = memory
    full = np.zeros((centre.shape[0], 6))
    for number in prange(n):
        s = np.int64(number)  # one type, one compile
        clear_warm(s, slab, warm)
    for c in range(colour.shape[0] - 1):
        for k in prange(colour[c], colour[c + 1]):
            gather_warm(turn[k], part, lanes, ptr, nbr, imp, v, warm, w_count, w_rows, w_imp)
    warm_bodies(d_count, d_rows, d_body, d_plane, d_imp, x, v, warm, centre, mobility, full)
    kept = memory * full
    for number in prange(n):
        s = np.int64(number)
        predict_slab(s, slab, x, v, warm, row, par, True)
    flags = base_flags
    for it in range(iterations):
        flags = base_flags
        par[MEMORY] = memory if it == 0 else 1.0
        if it == iterations - 1:
            flags |= LAST | STATS
        for c in range(colour.shape[0] - 1):
            for k in prange(colour[c], colour[c + 1]):
                sweep_slab(
                    turn[k], part, lanes, ptr, nbr, imp, row, mat, nmat, common, table,
                    w_count, w_rows, w_body, w_plane, w_imp, w_total, body_mat, par, flags,
                    stats,
                )  # fmt: skip
        for again in range(PASSES):
            last = again == PASSES - 1
            touch_bodies(
                d_count, d_rows, d_body, d_plane, d_imp, d_total, x, row, mat, nmat, kinds, table,
                par, flags if last else flags & ~(LAST | STATS), centre, mobility, kept, full,
                push, stats,
            )  # fmt: skip
            par[MEMORY] = 1.0
    for number in prange(n):
        s = np.int64(number)
        move_slab(s, slab, row, par, flags, ref, stats)
        leave_slab(s, slab, x, v, warm, row, par)
