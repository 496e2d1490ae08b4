"""The published corrections, applied one after the other: Gauss-Seidel, on one thread.

For comparison with the parallel forms ([Holz14] Fig. 1 and 5). Walls first, then the pairs in
list order, each correction at once: (23), (32)-(33), (35)-(36) with the factors (28).
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inner, jit
from berm.kernels.p2.law import (
    ADHESIVE,
    BAD,
    CONTACTS,
    ENERGY,
    EPS,
    FARTHEST2,
    FRACTION,
    GX,
    GY,
    GZ,
    INV_H,
    OVERLAP_MAX,
    OVERLAP_SUM,
    SHARE,
    SLEEP,
    T_ADHESION,
    T_C,
    T_K,
    T_MU_K,
    T_MU_S,
    UP_X,
    UP_Y,
    UP_Z,
    H,
)
from berm.kernels.p2.published_law import root_factor


@inner
def _wall_gap(s, b, i, w_plane, x, u, par):
    """Gap (m) between grain i and its wall contact b at the present displacement."""
    gap = -w_plane[s, b, 3] - x[i, 3]
    for c in range(3):
        gap += w_plane[s, b, c] * (
            x[i, c] + u[i, c] - (par[FRACTION] + par[SHARE]) * w_plane[s, b, 4 + c]
        )
    return gap


@inner
def _correct(nx, ny, nz, rx, ry, rz, gap, factor, radius, w, pair, table, flags):
    """Correction (m) of the relative displacement r of a contact: (23), (30)-(33), (35)-(36)."""
    approach = rx * nx + ry * ny + rz * nz
    k = table[T_K, pair]
    c = table[T_C, pair]
    normal = -factor * (k * gap + c * approach) / (k + c)
    cap_s = table[T_MU_S, pair] * abs(normal)
    cap_k = table[T_MU_K, pair] * abs(normal)
    if flags & ADHESIVE:
        depth = min(max(-gap, 0.0), radius) / radius
        glue = table[T_ADHESION, pair] * np.pi * radius**2 * (1.0 - (depth - 1.0) ** 2) * w
        normal -= min(max(approach + normal, 0.0), glue)
        cap_s += glue
        cap_k += glue
    sx = rx - approach * nx
    sy = ry - approach * ny
    sz = rz - approach * nz
    slide = np.sqrt(sx * sx + sy * sy + sz * sz)
    share = 1.0
    if slide > cap_s:
        share = min(cap_k / slide, 1.0)
    return normal * nx - share * sx, normal * ny - share * sy, normal * nz - share * sz


@inner
def _wall_correction(
    s, b, i, pair, w_body, w_plane, w_imp, x, u, inv_mass, table, par, flags, out
):
    """Correction (m) of grain i by its wall contact b, before averaging, into out[0:3]."""
    gap = _wall_gap(s, b, i, w_plane, x, u, par)
    nx = w_plane[s, b, 0]
    ny = w_plane[s, b, 1]
    nz = w_plane[s, b, 2]
    rx = u[i, 0] - par[SHARE] * w_plane[s, b, 4]
    ry = u[i, 1] - par[SHARE] * w_plane[s, b, 5]
    rz = u[i, 2] - par[SHARE] * w_plane[s, b, 6]
    cx, cy, cz = _correct(
        nx, ny, nz, rx, ry, rz, gap, w_imp[s, b, 3], x[i, 3], inv_mass, pair, table, flags
    )
    lean = 1.0 + par[EPS] * (nx * par[UP_X] + ny * par[UP_Y] + nz * par[UP_Z])
    out[0] = lean * cx
    out[1] = lean * cy
    out[2] = lean * cz
    return gap


@inner
def _predict_slab(s, slab, v, u, par):
    """Predicted displacement (2); the fourth column is the inverse mass."""
    for i in range(slab[s], slab[s + 1]):
        u[i, 0] = par[H] * v[i, 0] + par[GX]
        u[i, 1] = par[H] * v[i, 1] + par[GY]
        u[i, 2] = par[H] * v[i, 2] + par[GZ]
        u[i, 3] = v[i, 3]
        if v[i, 3] == 0.0:  # a fixed grain stays
            u[i, 0] = u[i, 1] = u[i, 2] = 0.0


@inner
def _integrate_slab(s, slab, x, v, u, par, stats):
    """New velocity and position from the corrected displacement (3); sleeping (Sec. 7)."""
    energy = 0.0
    largest = 0.0
    stats[s, BAD] = 0.0
    for i in range(slab[s], slab[s + 1]):
        way = u[i, 0] ** 2 + u[i, 1] ** 2 + u[i, 2] ** 2
        if way < par[SLEEP]:
            way = way - way
            for c in range(3):
                v[i, c] = 0.0
        else:
            for c in range(3):
                x[i, c] += u[i, c]
                v[i, c] = u[i, c] * par[INV_H]
        energy += way / v[i, 3] if v[i, 3] > 0.0 else 0.0
        largest = max(largest, way)
        if not np.isfinite(way) and stats[s, BAD] == 0.0:
            stats[s, BAD] = i + 1
    stats[s, ENERGY] = 0.5 * energy * par[INV_H] * par[INV_H]
    stats[s, FARTHEST2] = largest


@inner
def _pair(i, j, slot, m, imp, x, u, pair, table, flags, retest, count, stats):
    rx = u[i, 0] - u[j, 0]
    ry = u[i, 1] - u[j, 1]
    rz = u[i, 2] - u[j, 2]
    nx = x[i, 0] - x[j, 0] + rx
    ny = x[i, 1] - x[j, 1] + ry
    nz = x[i, 2] - x[j, 2] + rz
    far = np.sqrt(nx * nx + ny * ny + nz * nz)
    gap = far - x[i, 3] - x[j, 3]
    if (gap > 0.0) if retest else (imp[8 * slot + m] == 0.0):
        return
    if u[i, 3] + u[j, 3] == 0.0:  # two fixed grains do nothing
        return
    if far > 1e-20:
        nx /= far
        ny /= far
        nz /= far
    else:
        nz += 1.0
    w = u[i, 3] + u[j, 3]
    cx, cy, cz = _correct(
        nx, ny, nz, rx, ry, rz, gap, imp[8 * slot + m], min(x[i, 3], x[j, 3]), w, pair, table, flags
    )
    mine = u[i, 3] / w
    other = u[j, 3] / w
    u[i, 0] += mine * cx
    u[i, 1] += mine * cy
    u[i, 2] += mine * cz
    u[j, 0] -= other * cx
    u[j, 1] -= other * cy
    u[j, 2] -= other * cz
    if count:
        stats[0, OVERLAP_SUM] += max(-gap, 0.0)
        stats[0, OVERLAP_MAX] = max(stats[0, OVERLAP_MAX], -gap)
        stats[0, CONTACTS] += 1.0


@inner
def _prepare(lanes, ptr, nbr, imp, x, u, mat, nmat, table, iterations, retest):
    """Factor (28) of each contact, 0 where it is not active in this step."""
    known = -1.0
    known_pair = -1
    factor = 0.0
    for q in range(ptr.shape[0] - 1):
        for slot in range(ptr[q], ptr[q + 1]):
            for m in range(8):
                i = lanes[8 * q + m]
                j = nbr[8 * slot + m]
                pair = mat[i] * nmat + mat[j]
                if u[i, 3] + u[j, 3] != known or pair != known_pair:
                    known = u[i, 3] + u[j, 3]
                    known_pair = pair
                    factor = root_factor(table[T_K, pair], table[T_C, pair], known, iterations)
                far2 = 0.0
                for c in range(3):
                    far2 += (x[i, c] - x[j, c] + u[i, c] - u[j, c]) ** 2
                hit = i != j and far2 <= (x[i, 3] + x[j, 3]) ** 2
                imp[8 * slot + m] = factor if hit or retest else 0.0


@jit
def solve(
    slab, pairs, grains, soil, walls, body_mat, par, flags, iterations, begin, end, substeps,
    retest, stats,
):  # fmt: skip
    """Passes `begin` to `end` of a step, `iterations` a substep, one contact after the other.

    A call goes on where the last one ended, with the same bits as one call for all.

    Arrays that go together come as tuples, which are taken apart in the first lines.
    """
    lanes, ptr, nbr, imp = pairs
    x, v, u = grains
    mat, nmat, _, table = soil
    w_count, w_rows, w_body, w_plane, w_imp, w_total = walls
    n = slab.shape[0] - 1
    push = np.zeros(3, x.dtype)
    par[SHARE] = 1.0 / substeps
    weight = par[INV_H] * par[INV_H] * par[SHARE]
    for done in range(begin, end):
        sub = done // iterations
        it = done - sub * iterations
        par[FRACTION] = sub / substeps
        if it == 0:
            for s in range(n):
                _predict_slab(s, slab, v, u, par)
            _prepare(lanes, ptr, nbr, imp, x, u, mat, nmat, table, iterations, retest)
            for s in range(n):
                for b in range(w_count[s]):
                    i = w_rows[s, b]
                    pair = mat[i] * nmat + body_mat[w_body[s, b]]
                    w_imp[s, b, 3] = root_factor(
                        table[T_K, pair], table[T_C, pair], v[i, 3], iterations
                    )
                    hit = _wall_gap(s, b, i, w_plane, x, u, par) <= 0.0
                    w_plane[s, b, 7] = 1.0 if hit else 0.0
        count = it == iterations - 1 and sub == substeps - 1
        for s in range(n):
            for b in range(w_count[s]):
                i = w_rows[s, b]
                pair = mat[i] * nmat + body_mat[w_body[s, b]]
                gap = _wall_correction(
                    s, b, i, pair, w_body, w_plane, w_imp, x, u, v[i, 3], table, par, flags, push
                )
                if v[i, 3] == 0.0:  # fixed
                    continue
                if (gap <= 0.0) if retest else (w_plane[s, b, 7] > 0.0):
                    for c in range(3):
                        u[i, c] += push[c]
                        w_total[s, b, c] += weight * push[c] / v[i, 3]
                    if count:
                        stats[0, OVERLAP_MAX] = max(stats[0, OVERLAP_MAX], -gap)
        for q in range(ptr.shape[0] - 1):
            for slot in range(ptr[q], ptr[q + 1]):
                for m in range(8):
                    i = lanes[8 * q + m]
                    j = nbr[8 * slot + m]
                    if i != j:
                        pair = mat[i] * nmat + mat[j]
                        _pair(i, j, slot, m, imp, x, u, pair, table, flags, retest, count, stats)
        if it == iterations - 1:
            for s in range(n):
                _integrate_slab(s, slab, x, v, u, par, stats)
