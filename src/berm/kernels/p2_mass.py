"""P2 with mass splitting: the conserving form of the solver, berm's default.

[Holz14] contact model, (17), (21)-(23), (30)-(36), on contact impulses P (kg m, force times h^2)
that are kept from substep to substep. Each contact of a grain with n contacts sees the mass m/n
([Tonge12], named by Holz in Sec. 9 as the way to go), so that the two grains of a pair get equal
and opposite impulses and the sum still cannot overshoot.

**Deviation** from print: implicit Euler for spring and damper is solved for the impulse,
L = -(h^2 k C_s + h c C_d), instead of scaling a correction (21)-(28); friction is capped on the
accumulated impulse (ERRATA, (33)); friction opposes motion (ERRATA, (31)).
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline, inner, pjit, prange
from berm.kernels.slabs import clear_slab, sum_slab
from berm.kernels.vec8 import (
    fma,
    gather4,
    halves,
    iota32,
    lane,
    load,
    load4,
    load8,
    row4,
    row8,
    scatter_add8,
    select,
    set_row4,
    splat,
    splat4,
    store,
    take,
    vmax,
    vmin,
    vsqrt,
    with_last,
)

# places in the parameter vector
GX, GY, GZ = 0, 1, 2  # h^2 g
H, INV_H = 3, 4
RELAX = 5  # share of the split mass (below 1: over-relaxation)
KEEP_N, KEEP_T = 6, 7  # memory of the normal and tangential impulse
TOUCH = 8  # counts as a contact when the gap is below TOUCH * radius
SLIP = 9  # (h v_slip)^2: slower than this is "at rest" for static friction
SLEEP = 10  # squared displacement below which a grain stays where it is
BETA = 11  # improved-Jacobi factor of this iteration, [Francu14] (36)
FRACTION = 12  # part of the step that is gone at the start of this substep
SHARE = 13  # part of the step that one substep is
EPS = 14  # error reduction by depth (37), published form
UP_X, UP_Y, UP_Z = 15, 16, 17  # unit vector against gravity
NPAR = 18

# rows of the material table, one column a pair of materials
T_K, T_C, T_MU_S, T_MU_K, T_ADHESION = 0, 1, 2, 3, 4  # h^2 k, h c, -, -, h^2 a

# flags: LAST iteration of a substep, STATS wanted
ADHESIVE, ACCELERATED, LAST, STATS = 1, 2, 4, 8


@inline
def respond(
    nx, ny, nz, rx, ry, rz, gap, mass, px, py, pz, k, c, mu_s, mu_k, glue, slip, keep_n, keep_t,
    dx, dy, dz, beta, zero, one, flags,
):  # fmt: skip
    """New impulse of eight contacts and the part of it that is kept.

    n: normal; r: relative displacement in this substep; mass: inverse split mass; p: impulse so
    far; glue: cap of the adhesive impulse (34)-(35); d: last change of p, for acceleration.
    """
    approach = fma(rx, nx, fma(ry, ny, rz * nz))  # C_d, (17)
    normal = fma(px, nx, fma(py, ny, pz * nz))
    # in contact where the prediction (2), without the remembered impulse, overlaps
    touching = gap <= mass * vmax(normal, zero)
    damp = select(touching, c, zero)
    stiff = k + damp
    # implicit spring-damper (19): L = -(K C_s + C C_d) at the end of the substep;
    # one quotient serves 1 / (1 + D w) and 1 / w
    soft = fma(stiff, mass, one)
    shared = one / (soft * mass)
    inverse = shared * soft
    fresh = fma(
        zero - shared * mass, normal + fma(k, gap, damp * approach), normal
    )
    tx = fma(zero - normal, nx, px)
    ty = fma(zero - normal, ny, py)
    tz = fma(zero - normal, nz, pz)
    sx = fma(zero - approach, nx, rx)
    sy = fma(zero - approach, ny, ry)
    sz = fma(zero - approach, nz, rz)
    if flags & ACCELERATED:
        # [Francu14] (38) with a plus (ERRATA)
        turn = fma(dx, nx, fma(dy, ny, dz * nz))
        fresh = fma(beta, turn, fresh)
        tx = fma(beta, fma(zero - turn, nx, dx), tx)
        ty = fma(beta, fma(zero - turn, ny, dy), ty)
        tz = fma(beta, fma(zero - turn, nz, dz), tz)
    fresh = vmax(fresh, zero)
    slide = fma(sx, sx, fma(sy, sy, sz * sz))
    mu = select(slide > slip, mu_k, mu_s)  # (29)
    cap = mu * fresh  # (33)
    tx = fma(zero - inverse, sx, tx)  # (30), (31)
    ty = fma(zero - inverse, sy, ty)
    tz = fma(zero - inverse, sz, tz)
    if flags & ADHESIVE:
        # a damper that resists separation, capped by the adhesive force (Sec. 6.5.2)
        leaving = fma(mass, fresh - normal, approach)
        pull = vmin(vmax(leaving * inverse, zero), glue)
        fresh = fresh - pull
        cap = cap + glue
    size2 = fma(tx, tx, fma(ty, ty, tz * tz))
    keep = vmin(cap * vsqrt(size2) * (one / size2), one)  # root and quotient side by side
    tx = tx * keep
    ty = ty * keep
    tz = tz * keep
    fx = fma(fresh, nx, tx)
    fy = fma(fresh, ny, ty)
    fz = fma(fresh, nz, tz)
    fresh = fresh * keep_n
    return (
        fx, fy, fz,
        fma(fresh, nx, keep_t * tx), fma(fresh, ny, keep_t * ty), fma(fresh, nz, keep_t * tz),
        approach,
    )  # fmt: skip


@inline
def contact_area(gap, ri, rj, zero, one):
    """Contact surface over pi (36), quadratic in the penetration."""
    small = vmin(ri, rj)
    depth = vmin(vmax(zero - gap, zero), small) / small
    return small * small * (one - (depth - one) * (depth - one))


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
def _pairs_slab(
    s, slab, lanes, ptr, nbr, imp, last, x, u, mat, nmat, common, table, par, flags, reach, base,
    acc, stats
):
    zero = splat(par[GX] - par[GX])
    one = splat(par[GX] - par[GX] + np.float32(1.0))
    tiny = splat(par[GX] - par[GX] + np.float32(1e-20))
    shift = base[s] - reach[s, 0]
    slip = splat(par[SLIP])
    keep_n = splat(par[KEEP_N])
    keep_t = splat(par[KEEP_T])
    touch = splat(par[TOUCH])
    beta = splat(par[BETA])
    pi = splat(par[GX] - par[GX] + np.float32(np.pi))
    k = splat(table[T_K, max(common, 0)])
    c = splat(table[T_C, max(common, 0)])
    mu_s = splat(table[T_MU_S, max(common, 0)])
    mu_k = splat(table[T_MU_K, max(common, 0)])
    stick = splat(table[T_ADHESION, max(common, 0)])
    dx = zero
    dy = zero
    dz = zero
    glue = zero
    total = zero
    most = zero
    number = zero
    for q in range(slab[s] // 8, (slab[s + 1] + 7) // 8):
        if ptr[q] == ptr[q + 1]:
            continue
        rows = load(lanes, 8 * q)
        xi, yi, zi, ri = gather4(x, rows)
        ui, vi, wi, mi = gather4(u, rows)
        ax = zero
        ay = zero
        az = zero
        an = zero
        bx = zero
        by = zero
        bz = zero
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
            px = load(imp, 24 * slot)
            py = load(imp, 24 * slot + 8)
            pz = load(imp, 24 * slot + 16)
            if common < 0:
                pair = take(mat, rows) * splat(np.int32(nmat)) + take(mat, j)
                k = take(table[T_K], pair)
                c = take(table[T_C], pair)
                mu_s = take(table[T_MU_S], pair)
                mu_k = take(table[T_MU_K], pair)
                stick = take(table[T_ADHESION], pair)
            if flags & ADHESIVE:
                glue = stick * pi * contact_area(gap, ri, rj, zero, one)
            if flags & ACCELERATED:
                dx = load(last, 24 * slot)
                dy = load(last, 24 * slot + 8)
                dz = load(last, 24 * slot + 16)
            fx, fy, fz, sx, sy, sz, approach = respond(
                nx, ny, nz, rx, ry, rz, gap, mi + mj, px, py, pz, k, c, mu_s, mu_k, glue, slip,
                keep_n, keep_t, dx, dy, dz, beta, zero, one, flags,
            )  # fmt: skip
            if last.shape[0] > 0:
                store(last, 24 * slot, fx - px)
                store(last, 24 * slot + 8, fy - py)
                store(last, 24 * slot + 16, fz - pz)
            store(imp, 24 * slot, sx)
            store(imp, 24 * slot + 8, sy)
            store(imp, 24 * slot + 16, sz)
            # idle lanes have a gap of 1 m
            ones = select(gap + vmin(approach, zero) <= touch * ri, one, zero)
            if flags & STATS:
                depth = vmax(zero - gap, zero)
                total = total + depth
                most = vmax(depth, most)
                number = number + select(depth > zero, one, zero)
            ax = ax + fx
            ay = ay + fy
            az = az + fz
            an = an + ones
            bx = bx + sx
            by = by + sy
            bz = bz + sz
            scatter_add8(
                acc, j, shift,
                (zero - fx, zero - fy, zero - fz, ones, zero - sx, zero - sy, zero - sz, zero),
            )  # fmt: skip
            j = j_next
            nx, ny, nz, rx, ry, rz, gap, mj, rj = after
        scatter_add8(acc, rows, shift, (ax, ay, az, an, bx, by, bz, zero))
    if flags & STATS:
        for m in range(8):
            stats[s, 0] += lane(total, m)
            stats[s, 1] = max(stats[s, 1], lane(most, m))
            stats[s, 2] += lane(number, m)


@inner
def _walls_slab(
    s, w_count, w_rows, w_body, w_plane, w_imp, w_total, x, u, mat, nmat, body_mat, table, par,
    flags, shift, acc, stats,
):  # fmt: skip
    zero = splat(par[GX] - par[GX])
    one = splat(par[GX] - par[GX] + np.float32(1.0))
    slip = splat(par[SLIP])
    keep_n = splat(par[KEEP_N])
    keep_t = splat(par[KEEP_T])
    touch = splat(par[TOUCH])
    fraction = splat(par[FRACTION])
    share = splat(par[SHARE])
    pi = splat(par[GX] - par[GX] + np.float32(np.pi))
    weight = splat(par[INV_H] * par[INV_H] * par[SHARE])
    number = w_count[s]
    rows_of = w_rows[s]
    bodies = w_body[s]
    planes = w_plane[s]
    imps = w_imp[s]
    totals = w_total[s]
    index = splat(np.int32(number))
    for b in range(0, number, 8):
        valid = iota32(b) < index
        rows = load(rows_of, b)
        rows = select(valid, rows, splat(rows_of[b]))
        pair = take(mat, rows) * splat(np.int32(nmat)) + take(
            body_mat, select(valid, load(bodies, b), splat(bodies[b]))
        )
        nx, ny, nz, offset, mx, my, mz, _ = load8(planes, b)
        px, py, pz, _ = load4(imps, b)
        xi, yi, zi, ri = gather4(x, rows)
        ui, vi, wi, mi = gather4(u, rows)
        gap = fma(nx, xi, fma(ny, yi, fma(nz, zi, zero - offset))) - ri
        moved = fma(nx, mx, fma(ny, my, nz * mz))
        gap = gap - (fraction + share) * moved
        gap = gap + fma(nx, ui, fma(ny, vi, nz * wi))
        gap = select(valid, gap, one)
        rx = fma(zero - share, mx, ui)
        ry = fma(zero - share, my, vi)
        rz = fma(zero - share, mz, wi)
        glue = zero
        if flags & ADHESIVE:
            glue = take(table[T_ADHESION], pair) * pi * contact_area(gap, ri, ri, zero, one)
        fx, fy, fz, sx, sy, sz, approach = respond(
            nx, ny, nz, rx, ry, rz, gap, mi, px, py, pz,
            take(table[T_K], pair), take(table[T_C], pair), take(table[T_MU_S], pair),
            take(table[T_MU_K], pair), glue, slip, keep_n, keep_t, zero, zero, zero, zero,
            zero, one, flags & ~ACCELERATED,
        )  # fmt: skip
        near = (gap + vmin(approach, zero) <= touch * ri) & valid
        ones = select(near, one, zero)
        fx = select(valid, fx, zero)
        fy = select(valid, fy, zero)
        fz = select(valid, fz, zero)
        sx = select(valid, sx, zero)
        sy = select(valid, sy, zero)
        sz = select(valid, sz, zero)
        for m in range(min(8, number - b)):
            imps[b + m, 0] = lane(sx, m)
            imps[b + m, 1] = lane(sy, m)
            imps[b + m, 2] = lane(sz, m)
            if flags & LAST:
                totals[b + m, 0] += lane(fx * weight, m)
                totals[b + m, 1] += lane(fy * weight, m)
                totals[b + m, 2] += lane(fz * weight, m)
            if flags & STATS:
                stats[s, 1] = max(stats[s, 1], -lane(gap, m))
        scatter_add8(acc, rows, shift, (fx, fy, fz, ones, sx, sy, sz, zero))


@inner
def _contact_slab(
    s, slab, lanes, ptr, nbr, imp, last, x, u, mat, nmat, common, table, w_count, w_rows, w_body,
    w_plane,
    w_imp, w_total, body_mat, par, flags, reach, base, acc, stats,
):  # fmt: skip
    clear_slab(s, reach, base, acc)
    stats[s, 0] = 0.0
    stats[s, 1] = 0.0
    stats[s, 2] = 0.0
    stats[s, 5] = 0.0
    _pairs_slab(
        s, slab, lanes, ptr, nbr, imp, last, x, u, mat, nmat, common, table, par, flags, reach,
        base, acc,
        stats,
    )  # fmt: skip
    if w_count[s] > 0:
        _walls_slab(
            s, w_count, w_rows, w_body, w_plane, w_imp, w_total, x, u, mat, nmat, body_mat, table,
            par, flags, base[s] - reach[s, 0], acc, stats,
        )  # fmt: skip


@inner
def _update_slab(s, slab, x, v, u, warm, par, flags, reach, base, acc, stats):
    """Sum the impulses of each row and move it: (2), (3) at the end of a substep."""
    sum_slab(s, slab, reach, base, acc)
    shift = base[s] - reach[s, 0]
    h = par[H]
    gravity = np.zeros((1, 4), x.dtype)
    for c in range(3):
        gravity[0, c] = par[GX + c]
    energy = 0.0
    largest = 0.0
    pull = row4(gravity, 0)
    step = splat4(h)
    rate = splat4(par[INV_H])
    for i in range(slab[s], slab[s + 1]):
        full, kept = halves(row8(acc, shift + i))
        count = lane(full, 3)
        vel = row4(v, i)
        w = lane(vel, 3)
        mobility = splat4(w)
        way = fma(step, vel, fma(mobility, full, pull))
        split = w * max(par[RELAX] * count, np.float32(1.0))
        if flags & LAST:
            ux = lane(way, 0)
            uy = lane(way, 1)
            uz = lane(way, 2)
            size = ux * ux + uy * uy + uz * uz
            if size < par[SLEEP]:
                way = way - way
                size = size - size
            set_row4(x, i, row4(x, i) + with_last(way, h - h))
            set_row4(v, i, with_last(rate * way, w))
            set_row4(warm, i, with_last(kept, count))
            if flags & STATS:
                energy += size / w
                largest = max(largest, size)
                if not np.isfinite(size) and stats[s, 5] == 0.0:
                    stats[s, 5] = i + 1
            way = way + fma(mobility, kept, pull)
        set_row4(u, i, with_last(way, split))
    stats[s, 3] = 0.5 * energy * par[INV_H] * par[INV_H]
    stats[s, 4] = largest


@inner
def _predict_slab(s, slab, v, warm, u, par):
    h = par[H]
    for i in range(slab[s], slab[s + 1]):
        w = v[i, 3]
        u[i, 0] = h * v[i, 0] + par[GX] + w * warm[i, 0]
        u[i, 1] = h * v[i, 1] + par[GY] + w * warm[i, 1]
        u[i, 2] = h * v[i, 2] + par[GZ] + w * warm[i, 2]
        u[i, 3] = w * max(par[RELAX] * warm[i, 3], np.float32(1.0))


@pjit
def predict(slab, v, warm, u, par):
    """Displacement before contacts, (2), plus what the remembered impulses do."""
    for s in prange(slab.shape[0] - 1):
        _predict_slab(s, slab, v, warm, u, par)


@pjit
def solve(
    slab, lanes, ptr, nbr, imp, last, x, v, u, warm, mat, nmat, common, table, w_count, w_rows,
    w_body,
    w_plane, w_imp, w_total, body_mat, par, base_flags, iterations, substeps, keep_n, keep_t,
    acceleration, reach, base, acc, stats,
):  # fmt: skip
    """All substeps of a step: Jacobi passes over the contacts, then the rows' displacements."""
    n = slab.shape[0] - 1
    for sub in range(substeps):
        for it in range(iterations):
            flags = base_flags
            par[FRACTION] = sub / substeps
            par[SHARE] = 1.0 / substeps
            par[KEEP_N] = 1.0
            par[KEEP_T] = 1.0
            par[BETA] = acceleration * min((it / iterations) ** 0.6, 1.0)  # [Francu14] (36)
            if acceleration > 0.0 and it > 0:
                flags |= ACCELERATED
            if it == iterations - 1:
                flags |= LAST
                par[KEEP_N] = keep_n
                par[KEEP_T] = keep_t
                if sub == substeps - 1:
                    flags |= STATS
            for s in prange(n):
                _contact_slab(
                    s, slab, lanes, ptr, nbr, imp, last, x, u, mat, nmat, common, table, w_count,
                    w_rows,
                    w_body, w_plane, w_imp, w_total, body_mat, par, flags, reach, base, acc, stats,
                )  # fmt: skip
            for s in prange(n):
                _update_slab(s, slab, x, v, u, warm, par, flags, reach, base, acc, stats)


@inner
def _touch_slab(s, slab, lanes, ptr, nbr, x, u, w_count, w_rows, w_plane, par, reach, base, acc):
    """Count the contacts of each row at the predicted positions."""
    clear_slab(s, reach, base, acc)
    shift = base[s] - reach[s, 0]
    for q in range(slab[s] // 8, (slab[s + 1] + 7) // 8):
        for slot in range(ptr[q], ptr[q + 1]):
            for m in range(8):
                i = lanes[8 * q + m]
                j = nbr[8 * slot + m]
                if i == j:
                    continue
                far2 = par[GX] - par[GX]
                for c in range(3):
                    d = x[i, c] - x[j, c] + u[i, c] - u[j, c]
                    far2 += d * d
                limit = (np.float32(1.0) + par[TOUCH]) * x[i, 3] + x[j, 3]
                if far2 <= limit * limit:
                    acc[shift + i, 3] += np.float32(1.0)
                    acc[shift + j, 3] += np.float32(1.0)
    for b in range(w_count[s]):
        i = w_rows[s, b]
        gap = -w_plane[s, b, 3] - x[i, 3]
        for c in range(3):
            gap += w_plane[s, b, c] * (
                x[i, c] + u[i, c] - (par[FRACTION] + par[SHARE]) * w_plane[s, b, 4 + c]
            )
        if gap <= par[TOUCH] * x[i, 3]:
            acc[shift + i, 3] += np.float32(1.0)


@inner
def _recount_slab(s, slab, v, u, warm, par, reach, base, acc):
    sum_slab(s, slab, reach, base, acc)
    shift = base[s] - reach[s, 0]
    for i in range(slab[s], slab[s + 1]):
        warm[i, 3] = acc[shift + i, 3]
        u[i, 3] = v[i, 3] * max(par[RELAX] * warm[i, 3], np.float32(1.0))


@pjit
def recount(slab, lanes, ptr, nbr, x, v, u, warm, w_count, w_rows, w_plane, par, reach, base, acc):
    """Number of contacts of each row from scratch, for the split masses of the next pass."""
    n = slab.shape[0] - 1
    for s in prange(n):
        _touch_slab(
            s, slab, lanes, ptr, nbr, x, u, w_count, w_rows, w_plane, par, reach, base, acc
        )
    for s in prange(n):
        _recount_slab(s, slab, v, u, warm, par, reach, base, acc)
