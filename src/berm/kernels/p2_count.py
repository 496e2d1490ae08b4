"""P2 as published: relaxed corrections, averaged over the constraints of a grain, [Holz14].

(2)-(3) prediction and integration, (9) averaging, (17), (22)-(23) spring-damper with the
iteration-independent factors (28), (30)-(33) friction, (35)-(36) adhesion, (37) depth weighting.

**Deviation**: m_eff = 1 / (w_i + w_j) in (21), (34), a minus in (31) (ERRATA); contact is decided
once a step unless `retest` is set.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline, inner, pjit, prange
from berm.kernels.p2_law import (
    ADHESIVE,
    EPS,
    FRACTION,
    GX,
    GY,
    GZ,
    INV_H,
    SHARE,
    SLEEP,
    STATS,
    T_ADHESION,
    T_C,
    T_K,
    T_MU_K,
    T_MU_S,
    UP_X,
    UP_Y,
    UP_Z,
    H,
    contact_area,
)
from berm.kernels.slabs import clear_slab, sum_slab
from berm.kernels.vec8 import (
    bits,
    fma,
    gather4,
    lane,
    load,
    scatter_add4,
    select,
    splat,
    store,
    take,
    vabs,
    vmax,
    vmin,
    vsqrt,
)

ALL_LANES = 255


@inline
def pair_geometry(rows, j, xi, yi, zi, ri, ui, vi, wi, x, u, zero, one, tiny):
    """Normal, relative displacement, gap (22), inverse mass and radius of eight partners."""
    xj, yj, zj, rj = gather4(x, j)
    uj, vj, wj, mj = gather4(u, j)
    rx = ui - uj
    ry = vi - vj
    rz = wi - wj
    nx = (xi - xj) + rx
    ny = (yi - yj) + ry
    nz = (zi - zj) + rz
    far2 = vmax(fma(nx, nx, fma(ny, ny, nz * nz)), tiny)
    far = vsqrt(far2)
    over = far * (one / far2)
    # idle lanes hold their own row; coincident centres have no normal: take up
    nz = select(far2 > tiny, nz * over, one)
    gap = select(rows != j, far - (ri + rj), one)
    return nx * over, ny * over, nz, rx, ry, rz, gap, mj, rj


@inner
def root_factor(k, c, w, iterations):
    """1 - alpha^(1/n) of (28), with alpha = 1 - k_pb - c_pb = 1 / (1 + (h^2 k + h c) w)."""
    return 1.0 - (1.0 + (k + c) * w) ** (-1.0 / iterations)


@inner
def _prepare_slab(
    s, part, lanes, ptr, nbr, imp, x, v, u, mat, nmat, common, table, w_count, w_rows, w_body,
    w_plane,
    w_imp, body_mat, par, iterations,
):  # fmt: skip
    """Per contact: root factor of (28) and whether it is active in this step."""
    memo = np.zeros(2, x.dtype)  # last inverse mass and its factor: mostly all are equal
    memo[0] = -1.0
    known_pair = -1
    one = splat(par[GX] - par[GX] + np.float32(1.0))
    zero = splat(par[GX] - par[GX])
    for q in range(part[s], part[s + 1]):
        rows = load(lanes, 8 * q)
        xi, yi, zi, ri = gather4(x, rows)
        ui, vi, wi, mi = gather4(u, rows)
        for slot in range(ptr[q], ptr[q + 1]):
            j = load(nbr, 8 * slot)
            xj, yj, zj, rj = gather4(x, j)
            uj, vj, wj, mj = gather4(u, j)
            nx = (xi - xj) + (ui - uj)
            ny = (yi - yj) + (vi - vj)
            nz = (zi - zj) + (wi - wj)
            limit = ri + rj
            hit = (fma(nx, nx, fma(ny, ny, nz * nz)) <= limit * limit) & (rows != j)
            w = mi + mj
            if common >= 0 and bits(w == splat(memo[0])) == ALL_LANES:
                store(imp, 24 * slot, splat(memo[1]))
            else:
                for m in range(8):
                    pair = mat[lane(rows, m)] * nmat + mat[lane(j, m)]
                    if lane(w, m) != memo[0] or pair != known_pair:
                        memo[0] = lane(w, m)
                        known_pair = pair
                        memo[1] = root_factor(
                            table[T_K, pair], table[T_C, pair], memo[0], iterations
                        )
                    imp[24 * slot + m] = memo[1]
            store(imp, 24 * slot + 8, select(hit, one, zero))
    for b in range(w_count[s]):
        i = w_rows[s, b]
        pair = mat[i] * nmat + body_mat[w_body[s, b]]
        w_imp[s, b, 3] = root_factor(table[T_K, pair], table[T_C, pair], v[i, 3], iterations)
        gap = wall_gap(s, b, i, w_plane, x, u, par)
        w_plane[s, b, 7] = 1.0 if gap <= 0.0 else 0.0


@inner
def wall_gap(s, b, i, w_plane, x, u, par):
    """Gap (m) between grain i and its wall contact b at the present displacement."""
    gap = -w_plane[s, b, 3] - x[i, 3]
    for c in range(3):
        gap += w_plane[s, b, c] * (
            x[i, c] + u[i, c] - (par[FRACTION] + par[SHARE]) * w_plane[s, b, 4 + c]
        )
    return gap


@inline
def correct(gap, approach, slide2, factor, k, c, mu_s, mu_k, glue, zero, one, flags):
    """Normal correction and friction share of eight contacts: (23), (33), (36)."""
    normal = zero - factor * (k * gap + c * approach) / (k + c)
    cap_s = mu_s * vabs(normal)
    cap_k = mu_k * vabs(normal)
    if flags & ADHESIVE:
        pull = vmin(vmax(approach + normal, zero), glue)
        normal = normal - pull
        cap_s = cap_s + glue
        cap_k = cap_k + glue
    slide = vsqrt(slide2)
    share = select(slide <= cap_s, one, vmin(cap_k * slide * (one / slide2), one))
    return normal, share


@inner
def _pairs_slab(
    s, part, lanes, ptr, nbr, imp, x, u, mat, nmat, common, table, par, flags, retest, shift, acc,
    stats
):
    zero = splat(par[GX] - par[GX])
    one = splat(par[GX] - par[GX] + np.float32(1.0))
    tiny = splat(par[GX] - par[GX] + np.float32(1e-20))
    pi = splat(par[GX] - par[GX] + np.float32(np.pi))
    eps = splat(par[EPS])
    up_x = splat(par[UP_X])
    up_y = splat(par[UP_Y])
    up_z = splat(par[UP_Z])
    k = splat(table[T_K, max(common, 0)])
    c = splat(table[T_C, max(common, 0)])
    mu_s = splat(table[T_MU_S, max(common, 0)])
    mu_k = splat(table[T_MU_K, max(common, 0)])
    stick = splat(table[T_ADHESION, max(common, 0)])
    glue = zero
    total = zero
    most = zero
    number = zero
    for q in range(part[s], part[s + 1]):
        if ptr[q] == ptr[q + 1]:
            continue
        rows = load(lanes, 8 * q)
        xi, yi, zi, ri = gather4(x, rows)
        ui, vi, wi, mi = gather4(u, rows)
        ax = zero
        ay = zero
        az = zero
        an = zero
        j = load(nbr, 8 * ptr[q])
        nx, ny, nz, rx, ry, rz, gap, mj, rj = pair_geometry(
            rows, j, xi, yi, zi, ri, ui, vi, wi, x, u, zero, one, tiny
        )
        for slot in range(ptr[q], ptr[q + 1]):
            # the next slot's geometry is under way while this one's friction waits for roots
            j_next = load(nbr, 8 * min(slot + 1, ptr[q + 1] - 1))
            after = pair_geometry(
                rows, j_next, xi, yi, zi, ri, ui, vi, wi, x, u, zero, one, tiny
            )
            if retest:
                on = select(gap <= zero, one, zero)
            else:
                on = load(imp, 24 * slot + 8)
            if common < 0:
                pair = take(mat, rows) * splat(np.int32(nmat)) + take(mat, j)
                k = take(table[T_K], pair)
                c = take(table[T_C], pair)
                mu_s = take(table[T_MU_S], pair)
                mu_k = take(table[T_MU_K], pair)
                stick = take(table[T_ADHESION], pair)
            w = mi + mj
            if flags & ADHESIVE:
                glue = stick * pi * contact_area(gap, ri, rj, zero, one) * w
            approach = fma(rx, nx, fma(ry, ny, rz * nz))
            sx = fma(zero - approach, nx, rx)
            sy = fma(zero - approach, ny, ry)
            sz = fma(zero - approach, nz, rz)
            slide2 = fma(sx, sx, fma(sy, sy, sz * sz))
            normal, share = correct(
                gap, approach, slide2, load(imp, 24 * slot), k, c, mu_s, mu_k, glue,
                zero, one, flags,
            )  # fmt: skip
            scale = on / w
            lx = scale * fma(normal, nx, zero - share * sx)
            ly = scale * fma(normal, ny, zero - share * sy)
            lz = scale * fma(normal, nz, zero - share * sz)
            # (37): n points to i; up is against gravity
            lean = eps * fma(nx, up_x, fma(ny, up_y, nz * up_z))
            upper = mi * (one + lean)
            lower = zero - mj * (one - lean)
            ax = fma(upper, lx, ax)
            ay = fma(upper, ly, ay)
            az = fma(upper, lz, az)
            an = an + on
            if flags & STATS:
                depth = on * vmax(zero - gap, zero)
                total = total + depth
                most = vmax(depth, most)
                number = number + select(depth > zero, one, zero)
            scatter_add4(acc, j, shift, (lower * lx, lower * ly, lower * lz, on))
            j = j_next
            nx, ny, nz, rx, ry, rz, gap, mj, rj = after
        scatter_add4(acc, rows, shift, (ax, ay, az, an))
    if flags & STATS:
        for m in range(8):
            stats[s, 0] += lane(total, m)
            stats[s, 1] = max(stats[s, 1], lane(most, m))
            stats[s, 2] += lane(number, m)


@inner
def wall_correction(
    s, b, i, pair, w_body, w_plane, w_imp, x, u, inv_mass, table, par, flags, out
):
    """Correction (m) of grain i by its wall contact b, before averaging, into out[0:3]."""
    gap = wall_gap(s, b, i, w_plane, x, u, par)
    nx = w_plane[s, b, 0]
    ny = w_plane[s, b, 1]
    nz = w_plane[s, b, 2]
    rx = u[i, 0] - par[SHARE] * w_plane[s, b, 4]
    ry = u[i, 1] - par[SHARE] * w_plane[s, b, 5]
    rz = u[i, 2] - par[SHARE] * w_plane[s, b, 6]
    approach = rx * nx + ry * ny + rz * nz
    k = table[T_K, pair]
    c = table[T_C, pair]
    normal = -w_imp[s, b, 3] * (k * gap + c * approach) / max(k + c, 1e-30)
    cap_s = table[T_MU_S, pair] * abs(normal)
    cap_k = table[T_MU_K, pair] * abs(normal)
    if flags & ADHESIVE:
        depth = min(max(-gap, 0.0), x[i, 3]) / x[i, 3]
        area = np.pi * x[i, 3] * x[i, 3] * (1.0 - (depth - 1.0) ** 2)
        glue = table[T_ADHESION, pair] * area * inv_mass
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
    lean = 1.0 + par[EPS] * (nx * par[UP_X] + ny * par[UP_Y] + nz * par[UP_Z])
    out[0] = lean * (normal * nx - share * sx)
    out[1] = lean * (normal * ny - share * sy)
    out[2] = lean * (normal * nz - share * sz)
    return gap


@inner
def _contact_slab(
    s, part, lanes, ptr, nbr, imp, x, v, u, mat, nmat, common, table, w_count, w_rows, w_body,
    w_plane,
    w_imp, body_mat, par, flags, retest, reach, base, acc, stats,
):  # fmt: skip
    clear_slab(s, reach, base, acc)
    for c in range(3):
        stats[s, c] = 0.0
    shift = base[s] - reach[s, 0]
    _pairs_slab(
        s, part, lanes, ptr, nbr, imp, x, u, mat, nmat, common, table, par, flags, retest, shift,
        acc,
        stats,
    )  # fmt: skip
    push = np.zeros(3, x.dtype)
    for b in range(w_count[s]):
        i = w_rows[s, b]
        pair = mat[i] * nmat + body_mat[w_body[s, b]]
        gap = wall_correction(
            s, b, i, pair, w_body, w_plane, w_imp, x, u, v[i, 3], table, par, flags, push
        )
        on = gap <= 0.0 if retest else w_plane[s, b, 7] > 0.0
        for c in range(3):
            w_imp[s, b, c] = push[c] if on else 0.0
        if on:
            for c in range(3):
                acc[shift + i, c] += push[c]
            acc[shift + i, 3] += np.float32(1.0)
            if flags & STATS:
                stats[s, 1] = max(stats[s, 1], -gap)


@inner
def _update_slab(
    s, slab, x, v, u, w_count, w_rows, w_imp, w_total, par, last, reach, base, acc, stats
):
    """Average (9); at the end of the substep integrate (3)."""
    sum_slab(s, slab, reach, base, acc)
    shift = base[s] - reach[s, 0]
    weight = par[INV_H] * par[INV_H] * par[SHARE]
    for b in range(w_count[s]):
        i = w_rows[s, b]
        scale = weight / (v[i, 3] * max(acc[shift + i, 3], np.float32(1.0)))
        for c in range(3):
            w_total[s, b, c] += scale * w_imp[s, b, c]
    for i in range(slab[s], slab[s + 1]):
        if acc[shift + i, 3] > 0.0:
            for c in range(3):
                u[i, c] += acc[shift + i, c] / acc[shift + i, 3]
    if last:
        integrate_slab(s, slab, x, v, u, par, stats)


@inner
def integrate_slab(s, slab, x, v, u, par, stats):
    """New velocity and position from the corrected displacement (3); sleeping (Sec. 7)."""
    energy = 0.0
    largest = 0.0
    stats[s, 5] = 0.0
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
        energy += way / v[i, 3]
        largest = max(largest, way)
        if not np.isfinite(way) and stats[s, 5] == 0.0:
            stats[s, 5] = i + 1
    stats[s, 3] = 0.5 * energy * par[INV_H] * par[INV_H]
    stats[s, 4] = largest


@inner
def predict_slab(s, slab, v, u, par):
    """Predicted displacement (2); the fourth column is the inverse mass."""
    for i in range(slab[s], slab[s + 1]):
        u[i, 0] = par[H] * v[i, 0] + par[GX]
        u[i, 1] = par[H] * v[i, 1] + par[GY]
        u[i, 2] = par[H] * v[i, 2] + par[GZ]
        u[i, 3] = v[i, 3]


@pjit
def solve(
    slab, part, lanes, ptr, nbr, imp, x, v, u, mat, nmat, common, table, w_count, w_rows, w_body,
    w_plane, w_imp,
    w_total, body_mat, par, base_flags, iterations, substeps, retest, reach, base, acc, stats,
):  # fmt: skip
    """All iterations of a step: every grain by itself, then the average of its corrections."""
    n = slab.shape[0] - 1
    for sub in range(substeps):
        par[FRACTION] = sub / substeps
        par[SHARE] = 1.0 / substeps
        for number in prange(n):
            s = np.int64(number)  # one type, one compile
            predict_slab(s, slab, v, u, par)
        for number in prange(n):
            s = np.int64(number)
            _prepare_slab(
                s, part, lanes, ptr, nbr, imp, x, v, u, mat, nmat, common, table, w_count, w_rows,
                w_body,
                w_plane, w_imp, body_mat, par, iterations,
            )  # fmt: skip
        for it in range(iterations):
            last = it == iterations - 1
            flags = base_flags | (STATS if last and sub == substeps - 1 else 0)
            for number in prange(n):
                s = np.int64(number)
                _contact_slab(
                    s, part, lanes, ptr, nbr, imp, x, v, u, mat, nmat, common, table, w_count,
                    w_rows,
                    w_body, w_plane, w_imp, body_mat, par, flags, retest, reach, base, acc, stats,
                )  # fmt: skip
            for number in prange(n):
                s = np.int64(number)
                _update_slab(
                    s, slab, x, v, u, w_count, w_rows, w_imp, w_total, par, last, reach, base, acc,
                    stats,
                )  # fmt: skip
