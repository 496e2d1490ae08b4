"""Contacts of grains with bodies that move: weights, the law in float64, and passes over them.

Each contact sees the inverse mass of the grain plus that of the whole mechanism there (its
mobility), and its answer moves both at once, one contact after the other.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import bare, inline
from berm.kernels.p2.law import (
    ADHESIVE,
    LAST,
    MEMORY,
    OVERLAP_MAX,
    REACH,
    RELAX,
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


@bare
def yield_to(b, ax, ay, az, px, py, pz, mobility, out):
    """What the impulse -p at the arm a does to body b: displacement and turn."""
    tx, ty, tz = ay * pz - az * py, az * px - ax * pz, ax * py - ay * px
    for i in range(6):
        m = mobility[b, i]
        out[i] = -(m[0] * px + m[1] * py + m[2] * pz + m[3] * tx + m[4] * ty + m[5] * tz)


@bare
def weigh_bodies(touches, row, centre, mobility, weights, out):
    """Arm (3) and inverse mass (3, 3) of each contact with a body, which hold for a substep.

    The inverse mass is that of the grain plus what the body gives way in its mechanism. out (6,):
    scratch.
    """
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


@bare
def take_back(touches, row, memory, sign):
    """Add (sign 1) what contacts hold to their grains' rows, or take it back (-1).

    Where contacts are found again, those that are gone must not push on.
    """
    for s in range(touches.count.shape[0]):
        for j in range(touches.count[s]):
            i = touches.rows[s, j]
            w = sign * row[i, 7]
            for c in range(3):
                p = touches.impulse[s, j, c]
                row[i, 4 + c] += w * memory * p
                row[i, 8 + c] += w * p


@bare
def start_bodies(touches, weights, mobility, full, out):
    """Displacement and turn of bodies by the impulses that contacts hold now; out: scratch."""
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
