"""P2 with mass splitting: the conserving form of the solver, berm's default.

Jacobi passes over the contacts of [Holz14] (law in `p2_law`) on impulses that are kept from substep
to substep. Each contact of a grain with n contacts sees the mass m/n ([Tonge12], named by Holz in
Sec. 9 as the way to go), so that the two grains of a pair get equal and opposite impulses and the
sum still cannot overshoot.

A grain's row holds what its contacts need, in 32 bytes: predicted position p (2) with the
remembered part of the impulses, radius, displacement u that the full impulses of the last pass lead
to, inverse split mass.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline, inner, pjit, prange
from berm.kernels.p2_law import (
    ACCELERATED,
    ADHESIVE,
    BETA,
    FRACTION,
    GX,
    INV_H,
    KEEP_N,
    KEEP_T,
    LAST,
    RECALL,
    RELAX,
    SHARE,
    SLEEP,
    SLIP,
    STATS,
    T_ADHESION,
    T_C,
    T_K,
    T_MU_K,
    T_MU_S,
    TOUCH,
    WEIGHT,
    H,
    contact_area,
    respond,
)
from berm.kernels.slabs import clear_slab, sum_slab
from berm.kernels.vec8 import (
    fma,
    gather8,
    halves,
    iota32,
    joined,
    lane,
    load,
    load4,
    load8,
    row4,
    row8,
    scatter_add8,
    select,
    set_row4,
    set_row8,
    splat,
    splat4,
    store,
    take,
    vmax,
    vmin,
    vsqrt,
    with_last,
)


@inline
def pair_geometry(rows, j, xi, yi, zi, ri, ui, vi, wi, row, zero, one, tiny):
    """Normal, relative displacement, gap (22), inverse mass and radius of eight partners."""
    xj, yj, zj, rj, uj, vj, wj, mj = gather8(row, j)
    nx = xi - xj
    ny = yi - yj
    nz = zi - zj
    far2 = vmax(fma(nx, nx, fma(ny, ny, nz * nz)), tiny)
    far = vsqrt(far2)
    over = far * (one / far2)
    # idle lanes hold their own row; coincident centres have no normal: take up
    nz = select(far2 > tiny, nz * over, one)
    gap = select(rows != j, far - (ri + rj), one)
    return nx * over, ny * over, nz, ui - uj, vi - vj, wi - wj, gap, mj, rj


@inner
def _pairs_slab(
    s, slab, lanes, ptr, nbr, imp, last, row, mat, nmat, common, table, par, flags, reach, base,
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
    recall = splat(par[RECALL])
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
        xi, yi, zi, ri, ui, vi, wi, mi = gather8(row, rows)
        ax = zero
        ay = zero
        az = zero
        an = zero
        bx = zero
        by = zero
        bz = zero
        j = load(nbr, 8 * ptr[q])
        nx, ny, nz, rx, ry, rz, gap, mj, rj = pair_geometry(
            rows, j, xi, yi, zi, ri, ui, vi, wi, row, zero, one, tiny
        )
        for slot in range(ptr[q], ptr[q + 1]):
            # the next slot's geometry is under way while this one's friction waits for roots
            j_next = load(nbr, 8 * min(slot + 1, ptr[q + 1] - 1))
            after = pair_geometry(
                rows, j_next, xi, yi, zi, ri, ui, vi, wi, row, zero, one, tiny
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
                nx, ny, nz, rx, ry, rz, gap, mi + mj, px, py, pz, recall, k, c, mu_s, mu_k,
                glue, slip, keep_n, keep_t, dx, dy, dz, beta, zero, one, flags,
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
    s, w_count, w_rows, w_body, w_plane, w_imp, w_total, row, mat, nmat, body_mat, table, par,
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
    recall = splat(par[RECALL])
    weight = splat(par[WEIGHT])
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
        xi, yi, zi, ri, ui, vi, wi, mi = gather8(row, rows)
        gap = fma(nx, xi, fma(ny, yi, fma(nz, zi, zero - offset))) - ri
        moved = fma(nx, mx, fma(ny, my, nz * mz))
        gap = gap - (fraction + share) * moved
        gap = select(valid, gap, one)
        rx = fma(zero - share, mx, ui)
        ry = fma(zero - share, my, vi)
        rz = fma(zero - share, mz, wi)
        glue = zero
        if flags & ADHESIVE:
            glue = take(table[T_ADHESION], pair) * pi * contact_area(gap, ri, ri, zero, one)
        fx, fy, fz, sx, sy, sz, approach = respond(
            nx, ny, nz, rx, ry, rz, gap, mi, px, py, pz, recall,
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
    s, slab, lanes, ptr, nbr, imp, last, row, mat, nmat, common, table, w_count, w_rows, w_body,
    w_plane, w_imp, w_total, body_mat, par, flags, reach, base, acc, stats,
):  # fmt: skip
    clear_slab(s, reach, base, acc)
    stats[s, 0] = 0.0
    stats[s, 1] = 0.0
    stats[s, 2] = 0.0
    stats[s, 5] = 0.0
    _pairs_slab(
        s, slab, lanes, ptr, nbr, imp, last, row, mat, nmat, common, table, par, flags, reach, base,
        acc, stats,
    )  # fmt: skip
    if w_count[s] > 0:
        _walls_slab(
            s, w_count, w_rows, w_body, w_plane, w_imp, w_total, row, mat, nmat, body_mat, table,
            par, flags, base[s] - reach[s, 0], acc, stats,
        )  # fmt: skip


@inner
def _update_slab(s, slab, x, v, row, par, flags, reach, base, acc, ref, way, left, stats):
    """Sum the impulses of each grain and move it: (2), (3) at the end of a substep."""
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
    rest = splat4(left * par[INV_H])
    astray = False
    for i in range(slab[s], slab[s + 1]):
        full, kept = halves(row8(acc, shift + i))
        count = lane(full, 3)
        vel = row4(v, i)
        w = lane(vel, 3)
        mobility = splat4(w)
        here = row4(x, i)
        moved = fma(step, vel, fma(mobility, full, pull))
        split = w * max(par[RELAX] * count, np.float32(1.0))
        if flags & LAST:
            ux = lane(moved, 0)
            uy = lane(moved, 1)
            uz = lane(moved, 2)
            size = ux * ux + uy * uy + uz * uz
            if size < par[SLEEP] and count > 0.0:
                moved = moved - moved
                size = size - size
            here = here + with_last(moved, h - h)
            set_row4(x, i, here)
            set_row4(v, i, with_last(rate * moved, w))
            if flags & STATS:
                energy += size / w
                largest = max(largest, size)
                if not np.isfinite(size) and stats[s, 5] == 0.0:
                    stats[s, 5] = i + 1
            # where it will be at the end of the step, against what the list was made for
            off = fma(rest, moved, here) - row4(ref, i)
            dx = lane(off, 0)
            dy = lane(off, 1)
            dz = lane(off, 2)
            if not (dx * dx + dy * dy + dz * dz <= way[i]):
                astray = True
            kept = fma(mobility, kept, pull) + moved
            moved = fma(mobility, full, pull) + moved
            set_row8(row, i, joined(here + with_last(kept, h - h), with_last(moved, split)))
        else:
            set_row8(row, i, joined(here + with_last(moved, h - h), with_last(moved, split)))
    stats[s, 3] = 0.5 * energy * par[INV_H] * par[INV_H]
    stats[s, 4] = largest
    stats[s, 6] = 1.0 if astray else 0.0


@inner
def _predict_slab(s, slab, x, v, warm, row, par):
    for i in range(slab[s], slab[s + 1]):
        w = v[i, 3]
        for c in range(3):
            free = par[H] * v[i, c] + par[GX + c]
            row[i, c] = x[i, c] + (free + w * warm[i, 4 + c])
            row[i, 4 + c] = free + w * warm[i, c]
        row[i, 3] = x[i, 3]
        row[i, 7] = w * max(par[RELAX] * warm[i, 3], np.float32(1.0))


@pjit
def predict(slab, x, v, warm, row, par):
    """Rows before contacts, (2), plus what the remembered impulses do."""
    for s in prange(slab.shape[0] - 1):
        _predict_slab(s, slab, x, v, warm, row, par)


@inner
def _remember_slab(s, slab, reach, base, acc, warm):
    shift = base[s] - reach[s, 0]
    for i in range(slab[s], slab[s + 1]):
        set_row8(warm, i, row8(acc, shift + i))


@pjit
def solve(
    slab, lanes, ptr, nbr, imp, last, x, v, row, warm, mat, nmat, common, table, w_count, w_rows,
    w_body, w_plane, w_imp, w_total, body_mat, par, base_flags, iterations, first, substeps, keep_n,
    keep_t, acceleration, reach, base, acc, ref, way, stats,
):  # fmt: skip
    """Substeps of a step: Jacobi passes over the contacts, then the grains' displacements.

    Begins with substep `first` and returns the next one to do: a grain that was knocked off the
    way that the list covers ends the call early. Contacts with bodies were found at `first`.
    """
    n = slab.shape[0] - 1
    ahead = substeps - first
    par[WEIGHT] = par[INV_H] * par[INV_H] / substeps
    par[SHARE] = 1.0 / ahead
    done = first
    while done < substeps:
        par[FRACTION] = (done - first) / ahead
        for it in range(iterations):
            flags = base_flags
            par[KEEP_N] = 1.0
            par[KEEP_T] = 1.0
            par[RECALL] = 1.0 / keep_n if it == 0 and keep_n > 0.0 else 1.0
            par[BETA] = acceleration * min((it / iterations) ** 0.6, 1.0)  # [Francu14] (36)
            if acceleration > 0.0 and it > 0:
                flags |= ACCELERATED
            if it == iterations - 1:
                flags |= LAST
                par[KEEP_N] = keep_n
                par[KEEP_T] = keep_t
                if done == substeps - 1:
                    flags |= STATS
            for s in prange(n):
                _contact_slab(
                    s, slab, lanes, ptr, nbr, imp, last, row, mat, nmat, common, table, w_count,
                    w_rows, w_body, w_plane, w_imp, w_total, body_mat, par, flags, reach, base, acc,
                    stats,
                )  # fmt: skip
            left = np.float32(par[H] * (substeps - 1 - done))
            for s in prange(n):
                _update_slab(
                    s, slab, x, v, row, par, flags, reach, base, acc, ref, way, left, stats
                )
        done += 1
        astray = 0.0
        for s in range(n):
            astray += stats[s, 6]
        if astray > 0.0:
            break
    for s in prange(n):
        _remember_slab(s, slab, reach, base, acc, warm)
    return done


@inner
def _touch_slab(s, slab, lanes, ptr, nbr, row, w_count, w_rows, w_plane, par, reach, base, acc):
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
                    d = row[i, c] - row[j, c]
                    far2 += d * d
                limit = (np.float32(1.0) + par[TOUCH]) * row[i, 3] + row[j, 3]
                if far2 <= limit * limit:
                    acc[shift + i, 3] += np.float32(1.0)
                    acc[shift + j, 3] += np.float32(1.0)
    for b in range(w_count[s]):
        i = w_rows[s, b]
        gap = -w_plane[s, b, 3] - row[i, 3]
        for c in range(3):
            gap += w_plane[s, b, c] * (
                row[i, c] - (par[FRACTION] + par[SHARE]) * w_plane[s, b, 4 + c]
            )
        if gap <= par[TOUCH] * row[i, 3]:
            acc[shift + i, 3] += np.float32(1.0)


@inner
def _recount_slab(s, slab, v, row, warm, par, reach, base, acc):
    sum_slab(s, slab, reach, base, acc)
    shift = base[s] - reach[s, 0]
    for i in range(slab[s], slab[s + 1]):
        warm[i, 3] = acc[shift + i, 3]
        row[i, 7] = v[i, 3] * max(par[RELAX] * warm[i, 3], np.float32(1.0))


@pjit
def recount(slab, lanes, ptr, nbr, v, row, warm, w_count, w_rows, w_plane, par, reach, base, acc):
    """Number of contacts of each row from scratch, for the split masses of the next pass."""
    n = slab.shape[0] - 1
    for s in prange(n):
        _touch_slab(
            s, slab, lanes, ptr, nbr, row, w_count, w_rows, w_plane, par, reach, base, acc
        )
    for s in prange(n):
        _recount_slab(s, slab, v, row, warm, par, reach, base, acc)
