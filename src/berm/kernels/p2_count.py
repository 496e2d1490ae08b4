"""P2 as published: relaxed corrections, averaged over the constraints of a grain, [Holz14].

(2)-(3) prediction and integration, (9) averaging, (17), (22)-(23) spring-damper with the
iteration-independent factors (28), (30)-(33) friction, (35)-(36) adhesion, (37) depth weighting.
A grain's row of eight numbers holds what an iteration needs: position at the start of the substep
and radius, displacement and inverse mass.

**Deviation**: m_eff = 1 / (w_i + w_j) in (21), (34), a minus in (31) (ERRATA); contact is decided
once a step unless `retest` is set.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline, inner, pjit, prange
from berm.kernels.p2_contacts import TINY, gravity_of, note_overlaps
from berm.kernels.p2_law import (
    ADHESIVE,
    EPS,
    FRACTION,
    GX,
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
    gather8,
    gather8_at,
    iota32,
    lane,
    load,
    load4,
    load8,
    quad,
    scatter_add4,
    scatter_add4_at,
    select,
    set_quad,
    splat,
    splat4,
    store,
    store4,
    take,
    vabs,
    vmax,
    vmin,
    vsqrt,
    with_last,
)

ALL_LANES = 255


@inner
def root_factor(k, c, w, iterations):
    """1 - alpha^(1/n) of (28), with alpha = 1 - k_pb - c_pb = 1 / (1 + (h^2 k + h c) w)."""
    return 1.0 - (1.0 + (k + c) * w) ** (-1.0 / iterations)


@inline
def constants(par, table, common):
    """What all contacts share, in eight lanes each: numbers, (37), and the law of one material."""
    zero = par[GX] - par[GX]
    pair = max(common, 0)
    both = table[T_K, pair] + table[T_C, pair]
    return (
        splat(zero), splat(zero + np.float32(1.0)), splat(zero + np.float32(TINY)),
        splat(zero + np.float32(np.pi)),
        splat(par[EPS] * par[UP_X]), splat(par[EPS] * par[UP_Y]), splat(par[EPS] * par[UP_Z]),
        splat(table[T_K, pair] / both), splat(table[T_C, pair] / both),
        splat(table[T_MU_S, pair]), splat(table[T_MU_K, pair]), splat(table[T_ADHESION, pair]),
    )  # fmt: skip


@inline
def law_of(pair, table):
    """Shares of spring and damper, friction and adhesion of eight pairs of materials."""
    k = take(table[T_K], pair)
    c = take(table[T_C], pair)
    return (
        k / (k + c), c / (k + c), take(table[T_MU_S], pair), take(table[T_MU_K], pair),
        take(table[T_ADHESION], pair),
    )  # fmt: skip


@inline
def geometry(rows, own, j, partner, zero, one, tiny):
    """Normal, relative displacement and gap (22) of eight pairs."""
    xi, yi, zi, ri, ui, vi, wi, _ = own
    xj, yj, zj, rj, uj, vj, wj, _ = partner
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
    return nx * over, ny * over, nz, rx, ry, rz, gap


@inline
def correct(nx, ny, nz, rx, ry, rz, gap, factor, k, c, mu_s, mu_k, glue, zero, one, flags):
    """Correction of the relative displacement r of eight contacts: (23), (30)-(33), (36).

    k, c: shares of spring and damper in (21); factor: that of (28); glue: cap of adhesion (35).
    """
    approach = fma(rx, nx, fma(ry, ny, rz * nz))  # C_d (17)
    normal = zero - factor * fma(k, gap, c * approach)
    size = vabs(normal)
    cap_s = mu_s * size
    cap_k = mu_k * size
    if flags & ADHESIVE:
        normal = normal - vmin(vmax(approach + normal, zero), glue)
        cap_s = cap_s + glue
        cap_k = cap_k + glue
    sx = fma(zero - approach, nx, rx)
    sy = fma(zero - approach, ny, ry)
    sz = fma(zero - approach, nz, rz)
    slide2 = fma(sx, sx, fma(sy, sy, sz * sz))
    kinetic = vmin(cap_k * vsqrt(slide2) * (one / slide2), one)  # root and quotient side by side
    share = zero - select(slide2 <= cap_s * cap_s, one, kinetic)
    return fma(normal, nx, share * sx), fma(normal, ny, share * sy), fma(normal, nz, share * sz)


@inner
def _prepare_pairs(
    s, part, lanes, ptr, nbr, imp, row, mat, nmat, common, table, par, iterations, retest
):
    """Factor (28) of each contact, into imp[8 * slot + lane]; 0 where it is not active."""
    memo = np.zeros(2, row.dtype)  # last inverse mass and its factor: mostly all are equal
    memo[0] = -1.0
    known = -1
    zero = splat(par[GX] - par[GX])
    for q in range(part[s], part[s + 1]):
        rows = load(lanes, 8 * q)
        xi, yi, zi, ri, ui, vi, wi, mi = gather8_at(row, lanes, 8 * q)
        for slot in range(ptr[q], ptr[q + 1]):
            j = load(nbr, 8 * slot)
            xj, yj, zj, rj, uj, vj, wj, mj = gather8_at(row, nbr, 8 * slot)
            w = mi + mj
            if common < 0 or bits(w == splat(memo[0])) != ALL_LANES:
                for m in range(8):
                    pair = mat[lane(rows, m)] * nmat + mat[lane(j, m)]
                    if lane(w, m) != memo[0] or pair != known:
                        memo[0] = lane(w, m)
                        known = pair
                        memo[1] = root_factor(
                            table[T_K, pair], table[T_C, pair], memo[0], iterations
                        )
                    imp[8 * slot + m] = memo[1]
                factor = load(imp, 8 * slot)
            else:
                factor = splat(memo[1])
            if not retest:
                nx = (xi - xj) + (ui - uj)
                ny = (yi - yj) + (vi - vj)
                nz = (zi - zj) + (wi - wj)
                limit = ri + rj
                hit = (fma(nx, nx, fma(ny, ny, nz * nz)) <= limit * limit) & (rows != j)
                factor = select(hit, factor, zero)
            store(imp, 8 * slot, factor)


@inline
def wall_gap(planes, own, b, par, zero):
    """Normal, motion of the wall in this substep, and gap of eight contacts with bodies."""
    x, y, z, r, ux, uy, uz, _ = own
    nx, ny, nz, offset, mx, my, mz, active = load8(planes, b)
    share = splat(par[SHARE])
    gap = fma(nx, x, fma(ny, y, fma(nz, z, zero - offset))) - r
    gap = gap + fma(nx, ux, fma(ny, uy, nz * uz))
    gap = gap - (splat(par[FRACTION]) + share) * fma(nx, mx, fma(ny, my, nz * mz))
    return nx, ny, nz, share * mx, share * my, share * mz, gap, active


@inline
def wall_rows(b, number, rows_of):
    """Which of eight contacts there are, and their grains."""
    valid = iota32(b) < splat(np.int32(number))
    return valid, select(valid, load(rows_of, b), splat(rows_of[b]))


@inner
def _prepare_walls(
    number, rows_of, bodies, planes, imps, row, mat, nmat, body_mat, table, par, iterations
):
    """Factor (28) of each contact with a body, and whether it is active in this step."""
    zero = splat(par[GX] - par[GX])
    for b in range(number):
        i = rows_of[b]
        pair = mat[i] * nmat + body_mat[bodies[b]]
        imps[b, 3] = root_factor(table[T_K, pair], table[T_C, pair], row[i, 7], iterations)
    for b in range(0, number, 8):
        _, rows = wall_rows(b, number, rows_of)
        _, _, _, _, _, _, gap, _ = wall_gap(planes, gather8(row, rows), b, par, zero)
        for m in range(min(8, number - b)):
            planes[b + m, 7] = 1.0 if lane(gap, m) <= 0.0 else 0.0


@inner
def _pairs_slab(
    s, part, lanes, ptr, nbr, imp, row, mat, nmat, common, table, par, flags, retest, shift, acc,
    stats,
):  # fmt: skip
    zero, one, tiny, pi, up_x, up_y, up_z, k, c, mu_s, mu_k, stick = constants(par, table, common)
    glue = zero
    total = zero
    most = zero
    number = zero
    for q in range(part[s], part[s + 1]):
        if ptr[q] == ptr[q + 1]:
            continue
        rows = load(lanes, 8 * q)
        own = gather8_at(row, lanes, 8 * q)
        mi = own[7]
        ax = zero
        ay = zero
        az = zero
        an = zero
        j = load(nbr, 8 * ptr[q])
        partner = gather8_at(row, nbr, 8 * ptr[q])
        now = geometry(rows, own, j, partner, zero, one, tiny)
        for slot in range(ptr[q], ptr[q + 1]):
            # the next slot's geometry is under way while this one's friction waits for roots
            after = 8 * min(slot + 1, ptr[q + 1] - 1)
            j_next = load(nbr, after)
            partner_next = gather8_at(row, nbr, after)
            following = geometry(rows, own, j_next, partner_next, zero, one, tiny)
            nx, ny, nz, rx, ry, rz, gap = now
            factor = load(imp, 8 * slot)
            if retest:
                on = select(gap <= zero, one, zero)
            else:
                on = select(factor > zero, one, zero)
            if common < 0:
                pair = take(mat, rows) * splat(np.int32(nmat)) + take(mat, j)
                k, c, mu_s, mu_k, stick = law_of(pair, table)
            mj = partner[7]
            w = mi + mj
            if flags & ADHESIVE:
                glue = stick * pi * contact_area(gap, own[3], partner[3], zero, one) * w
            lx, ly, lz = correct(
                nx, ny, nz, rx, ry, rz, gap, factor, k, c, mu_s, mu_k, glue, zero, one, flags
            )
            # (37): n points to i; up is against gravity
            lean = fma(nx, up_x, fma(ny, up_y, nz * up_z))
            each = on / w
            upper = mi * each
            lower = mj * each
            upper = fma(upper, lean, upper)
            lower = fma(lower, lean, zero - lower)
            ax = fma(upper, lx, ax)
            ay = fma(upper, ly, ay)
            az = fma(upper, lz, az)
            an = an + on
            if flags & STATS:
                depth = on * vmax(zero - gap, zero)
                total = total + depth
                most = vmax(depth, most)
                number = number + select(depth > zero, one, zero)
            scatter_add4_at(acc, nbr, 8 * slot, shift, (lower * lx, lower * ly, lower * lz, on))
            j = j_next
            partner = partner_next
            now = following
        scatter_add4_at(acc, lanes, 8 * q, shift, (ax, ay, az, an))
    if flags & STATS:
        note_overlaps(s, total, most, number, stats)


@inner
def _walls_slab(
    s, count, rows_of, bodies, planes, imps, row, mat, nmat, body_mat, table, par, flags, retest,
    shift, acc, stats,
):  # fmt: skip
    """Corrections by bodies, before averaging, into imps[:, :3] and the sums."""
    zero, one, _, pi, up_x, up_y, up_z, _, _, _, _, _ = constants(par, table, 0)
    glue = zero
    for b in range(0, count, 8):
        valid, rows = wall_rows(b, count, rows_of)
        own = gather8(row, rows)
        nx, ny, nz, mx, my, mz, gap, active = wall_gap(planes, own, b, par, zero)
        if retest:
            on = select(valid & (gap <= zero), one, zero)
        else:
            on = select(valid & (active > zero), one, zero)
        kinds = take(body_mat, select(valid, load(bodies, b), splat(bodies[b])))
        k, c, mu_s, mu_k, stick = law_of(take(mat, rows) * splat(np.int32(nmat)) + kinds, table)
        if flags & ADHESIVE:
            glue = stick * pi * contact_area(gap, own[3], own[3], zero, one) * own[7]
        _, _, _, factor = load4(imps, b)
        px, py, pz = correct(
            nx, ny, nz, own[4] - mx, own[5] - my, own[6] - mz, gap, factor, k, c, mu_s, mu_k,
            glue, zero, one, flags,
        )  # fmt: skip
        lean = on * (one + fma(nx, up_x, fma(ny, up_y, nz * up_z)))
        # what lanes without a contact hold may be no number: choose, do not multiply
        px = select(on > zero, lean * px, zero)
        py = select(on > zero, lean * py, zero)
        pz = select(on > zero, lean * pz, zero)
        store4(imps, b, (px, py, pz, factor))
        scatter_add4(acc, rows, shift, (px, py, pz, on))
        if flags & STATS:
            for m in range(8):
                if lane(on, m) > 0.0:
                    stats[s, 1] = max(stats[s, 1], -lane(gap, m))


@inner
def _contact_slab(
    s, part, lanes, ptr, nbr, imp, row, mat, nmat, common, table, w_count, w_rows, w_body,
    w_plane, w_imp, body_mat, par, flags, retest, reach, base, acc, stats,
):  # fmt: skip
    clear_slab(s, reach, base, acc)
    for c in range(3):
        stats[s, c] = 0.0
    shift = base[s] - reach[s, 0]
    _pairs_slab(
        s, part, lanes, ptr, nbr, imp, row, mat, nmat, common, table, par, flags, retest, shift,
        acc, stats,
    )  # fmt: skip
    if w_count[s] > 0:
        _walls_slab(
            s, w_count[s], w_rows[s], w_body[s], w_plane[s], w_imp[s], row, mat, nmat, body_mat,
            table, par, flags, retest, shift, acc, stats,
        )  # fmt: skip


@inner
def _update_slab(
    s, slab, row, w_count, w_rows, w_imp, w_total, par, reach, base, acc
):
    """Average the corrections of each grain (9), and what they push bodies with (34)."""
    sum_slab(s, slab, reach, base, acc)
    shift = base[s] - reach[s, 0]
    weight = par[INV_H] * par[INV_H] * par[SHARE]
    for b in range(w_count[s]):
        i = w_rows[s, b]
        scale = weight / (row[i, 7] * max(acc[shift + i, 3], np.float32(1.0)))
        for c in range(3):
            w_total[s, b, c] += scale * w_imp[s, b, c]
    none = par[GX] - par[GX]
    for i in range(slab[s], slab[s + 1]):
        sums = quad(acc, shift + i)
        number = lane(sums, 3)
        if number > 0.0:
            mean = with_last(sums / splat4(number), none)
            set_quad(row, 2 * i + 1, quad(row, 2 * i + 1) + mean)


@inner
def integrate_slab(s, slab, x, v, row, par, stats):
    """New velocity and position from the corrected displacement (3); sleeping (Sec. 7)."""
    energy = 0.0
    largest = 0.0
    stats[s, 5] = 0.0
    rate = splat4(par[INV_H])
    none = par[GX] - par[GX]
    for i in range(slab[s], slab[s + 1]):
        u = quad(row, 2 * i + 1)
        w = lane(u, 3)
        way = lane(u, 0) * lane(u, 0) + lane(u, 1) * lane(u, 1) + lane(u, 2) * lane(u, 2)
        if way < par[SLEEP]:
            way = way - way
            u = u - u
        set_quad(x, i, quad(x, i) + with_last(u, none))
        set_quad(v, i, with_last(u * rate, w))
        energy += way / w
        largest = max(largest, way)
        if not np.isfinite(way) and stats[s, 5] == 0.0:
            stats[s, 5] = i + 1
    stats[s, 3] = 0.5 * energy * par[INV_H] * par[INV_H]
    stats[s, 4] = largest


@inner
def predict_slab(s, slab, x, v, row, par):
    """Position and predicted displacement (2)."""
    step = splat4(par[H])
    pull = gravity_of(par)
    for i in range(slab[s], slab[s + 1]):
        speed = quad(v, i)
        set_quad(row, 2 * i, quad(x, i))
        set_quad(row, 2 * i + 1, with_last(fma(step, speed, pull), lane(speed, 3)))


@inner
def _prepare_slab(
    s, part, lanes, ptr, nbr, imp, row, mat, nmat, common, table, w_count, w_rows, w_body, w_plane,
    w_imp, body_mat, par, iterations, retest,
):  # fmt: skip
    _prepare_pairs(
        s, part, lanes, ptr, nbr, imp, row, mat, nmat, common, table, par, iterations, retest
    )
    if w_count[s] > 0:
        _prepare_walls(
            w_count[s], w_rows[s], w_body[s], w_plane[s], w_imp[s], row, mat, nmat, body_mat,
            table, par, iterations,
        )  # fmt: skip


@pjit
def solve(
    slab, part, lanes, ptr, nbr, imp, x, v, row, mat, nmat, common, table, w_count, w_rows, w_body,
    w_plane, w_imp, w_total, body_mat, par, base_flags, iterations, substeps, retest, reach, base,
    acc, stats,
):  # fmt: skip
    """All iterations of a step: every grain by itself, then the average of its corrections."""
    n = slab.shape[0] - 1
    for sub in range(substeps):
        par[FRACTION] = sub / substeps
        par[SHARE] = 1.0 / substeps
        for number in prange(n):
            s = np.int64(number)  # one type, one compile
            predict_slab(s, slab, x, v, row, par)
        for number in prange(n):
            s = np.int64(number)
            _prepare_slab(
                s, part, lanes, ptr, nbr, imp, row, mat, nmat, common, table, w_count, w_rows,
                w_body, w_plane, w_imp, body_mat, par, iterations, retest,
            )  # fmt: skip
        for it in range(iterations):
            last = it == iterations - 1
            flags = base_flags | (STATS if last and sub == substeps - 1 else 0)
            for number in prange(n):
                s = np.int64(number)
                _contact_slab(
                    s, part, lanes, ptr, nbr, imp, row, mat, nmat, common, table, w_count, w_rows,
                    w_body, w_plane, w_imp, body_mat, par, flags, retest, reach, base, acc, stats,
                )  # fmt: skip
            for number in prange(n):
                s = np.int64(number)
                _update_slab(
                    s, slab, row, w_count, w_rows, w_imp, w_total, par, reach, base, acc
                )
                if last:
                    integrate_slab(s, slab, x, v, row, par, stats)
