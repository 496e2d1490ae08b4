"""P2 with mass splitting: Jacobi passes that conserve momentum, optionally accelerated.

The contact law of [Holz14] on impulses that are kept from substep to substep (`p2_law`). Each
contact of a grain with n contacts sees the mass m/n ([Tonge12], named by Holz in Sec. 9 as the way
to go), so that the two grains of a pair get equal and opposite impulses and the sum still cannot
overshoot. With several iterations a substep, improved Jacobi speeds them up, [Francu14] (36)-(38).
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inner, pjit, prange
from berm.kernels.p2.contacts import (
    astray,
    constants,
    gravity_of,
    note_overlaps,
    pair_response,
    predict_row,
    set_row,
    wall_response,
)
from berm.kernels.p2.law import (
    ACCELERATED,
    BAD,
    BETA,
    CONTACTS,
    ENERGY,
    FARTHEST2,
    FRACTION,
    GX,
    INV_H,
    KEEP,
    LAST,
    MEMORY,
    OFF,
    OVERLAP_MAX,
    OVERLAP_SUM,
    RELAX,
    SHARE,
    SLEEP,
    STATS,
    TOUCH,
    WEIGHT,
    H,
)
from berm.kernels.search.slabs import clear_slab, sum_slab
from berm.kernels.simd.vec8 import (
    fma,
    gather12,
    lane,
    load,
    quad,
    scatter_add4,
    select,
    set_quad,
    splat4,
    vmax,
    vmin,
    with_last,
)


@inner
def _pairs_slab(
    s, part, lanes, ptr, nbr, imp, last, row, mat, nmat, common, table, par, flags, shift, acc,
    stats,
):  # fmt: skip
    law = constants(par, table, common)
    zero, one, _, _, _, _, _, _, touch, _, _, _, _, _ = law
    total = zero
    most = zero
    number = zero
    for q in range(part[s], part[s + 1]):
        if ptr[q] == ptr[q + 1]:
            continue
        rows = load(lanes, 8 * q)
        own = gather12(row, rows)
        ax = zero
        ay = zero
        az = zero
        count = zero
        for slot in range(ptr[q], ptr[q + 1]):
            j = load(nbr, 8 * slot)
            fx, fy, fz, _, _, _, gap, approach = pair_response(
                rows, own, j, gather12(row, j), slot, law, one, imp, last, mat, nmat, common,
                table, flags,
            )  # fmt: skip
            # idle lanes have a gap of 1 m
            ones = select(gap + vmin(approach, zero) <= touch * own[3], one, zero)
            scatter_add4(acc, j, shift, (zero - fx, zero - fy, zero - fz, ones))
            ax = ax + fx
            ay = ay + fy
            az = az + fz
            count = count + ones
            if flags & STATS:
                depth = vmax(zero - gap, zero)
                total = total + depth
                most = vmax(depth, most)
                number = number + select(depth > zero, one, zero)
        scatter_add4(acc, rows, shift, (ax, ay, az, count))
    if flags & STATS:
        note_overlaps(s, total, most, number, stats)


@inner
def _walls_slab(
    s, w_count, w_rows, w_body, w_plane, w_imp, w_total, row, mat, nmat, body_mat, table, par,
    flags, shift, acc, stats,
):  # fmt: skip
    law = constants(par, table, 0)
    zero, one, _, _, _, _, _, _, touch, _, _, _, _, _ = law
    for b in range(0, w_count[s], 8):
        rows, valid, fx, fy, fz, _, _, _, _, r, gap, approach = wall_response(
            b, w_count[s], -1, law, one, w_rows[s], w_body[s], w_plane[s], w_imp[s], w_total[s],
            row, mat, nmat, body_mat, table, par, flags,
        )  # fmt: skip
        near = (gap + vmin(approach, zero) <= touch * r) & valid
        scatter_add4(acc, rows, shift, (fx, fy, fz, select(near, one, zero)))
        if flags & STATS:
            for m in range(min(8, w_count[s] - b)):
                stats[s, OVERLAP_MAX] = max(stats[s, OVERLAP_MAX], -lane(gap, m))


@inner
def _contact_slab(
    s, part, lanes, ptr, nbr, imp, last, row, mat, nmat, common, table, w_count, w_rows, w_body,
    w_plane, w_imp, w_total, body_mat, par, flags, reach, base, acc, stats,
):  # fmt: skip
    clear_slab(s, reach, base, acc)
    for c in (OVERLAP_SUM, OVERLAP_MAX, CONTACTS, BAD):
        stats[s, c] = 0.0
    shift = base[s] - reach[s, 0]
    _pairs_slab(
        s, part, lanes, ptr, nbr, imp, last, row, mat, nmat, common, table, par, flags, shift, acc,
        stats,
    )  # fmt: skip
    if w_count[s] > 0:
        _walls_slab(
            s, w_count, w_rows, w_body, w_plane, w_imp, w_total, row, mat, nmat, body_mat, table,
            par, flags, shift, acc, stats,
        )  # fmt: skip


@inner
def _move_slab(s, slab, x, v, warm, row, par, flags, reach, base, acc, ref, stats):
    """Sum the impulses of each grain and move it: (2), (3) at the end of a substep."""
    sum_slab(s, slab, reach, base, acc)
    shift = base[s] - reach[s, 0]
    pull = gravity_of(par)
    step = splat4(par[H])
    rate = splat4(par[INV_H])
    keep = splat4(par[KEEP])
    energy = 0.0
    largest = 0.0
    off = False
    for i in range(slab[s], slab[s + 1]):
        total = quad(acc, shift + i)
        count = lane(total, 3)
        old = quad(v, i)
        w = lane(old, 3)
        split = w * max(par[RELAX] * count, np.float32(1.0))
        pushed = with_last(splat4(w) * total, par[H] - par[H])
        fall = pull if w > 0.0 else pull - pull  # a fixed grain stays
        moved = with_last(fma(step, old, pushed + fall), par[H] - par[H])
        if not flags & LAST:
            set_row(i, quad(x, i), with_last(moved, split), moved, row)
            continue
        ux = lane(moved, 0)
        uy = lane(moved, 1)
        uz = lane(moved, 2)
        size = ux * ux + uy * uy + uz * uz
        speed = fma(rate, pushed + fall, old)
        if size < par[SLEEP] and count > 0.0:  # only what rests on something
            moved = moved - moved
            speed = moved
            size = size - size
        here = quad(x, i) + moved
        set_quad(x, i, here)
        set_quad(v, i, with_last(speed, w))
        set_quad(warm, i, with_last(pushed, count))
        free = with_last(fma(step, speed, fall), par[H] - par[H])
        set_row(i, here, with_last(fma(keep, pushed, free), split), free + pushed, row)
        off = off or astray(i, here, moved, ref)
        if flags & STATS:
            energy += size / w if w > 0.0 else 0.0
            largest = max(largest, size)
            if not np.isfinite(size) and stats[s, BAD] == 0.0:
                stats[s, BAD] = i + 1
    stats[s, ENERGY] = 0.5 * energy * par[INV_H] * par[INV_H]
    stats[s, FARTHEST2] = largest
    stats[s, OFF] = 1.0 if off else 0.0


@inner
def _predict_slab(s, slab, x, v, warm, row, par):
    for i in range(slab[s], slab[s + 1]):
        split = v[i, 3] * max(par[RELAX] * warm[i, 3], np.float32(1.0))
        predict_row(i, x, v, warm, row, par, split)


@inner
def _touch_slab(s, part, lanes, ptr, nbr, row, w_count, w_rows, w_plane, par, reach, base, acc):
    """Count the contacts of each row at the predicted positions."""
    clear_slab(s, reach, base, acc)
    shift = base[s] - reach[s, 0]
    for q in range(part[s], part[s + 1]):
        for slot in range(ptr[q], ptr[q + 1]):
            for m in range(8):
                i = lanes[8 * q + m]
                j = nbr[8 * slot + m]
                if i == j:
                    continue
                far2 = par[GX] - par[GX]
                for c in range(3):
                    d = row[i, c] - row[j, c] + row[i, 4 + c] - row[j, 4 + c]
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
                row[i, c] + row[i, 4 + c] - (par[FRACTION] + par[SHARE]) * w_plane[s, b, 4 + c]
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
def solve(
    slabs, pairs, grains, soil, walls, body_mat, par, base_flags, iterations, first, begin, end,
    substeps, memory, acceleration, recount, sums, ref, stats,
):  # fmt: skip
    """Passes `begin` to `end` of a step, `iterations` a substep; return the next one to do.

    Substeps begin with `first`; where it does not begin with that, a call goes on where the last
    one ended, with the same bits as one call for all.

    Arrays that go together come as tuples, which are taken apart in the first lines.
    recount: grains are new, so that their contacts have to be counted before the first pass. A
    grain that was knocked off the way that the list covers ends the call early. Contacts with
    bodies were found at `first`.
    """
    slab, part = slabs
    lanes, ptr, nbr, imp, last = pairs
    x, v, row, warm = grains
    mat, nmat, common, table = soil
    w_count, w_rows, w_body, w_plane, w_imp, w_total = walls
    reach, base, acc = sums
    n = slab.shape[0] - 1
    par[WEIGHT] = par[INV_H] * par[INV_H] / substeps
    par[FRACTION] = 0.0
    ahead = substeps - first
    par[SHARE] = 1.0 / ahead
    par[KEEP] = memory
    par[MEMORY] = memory
    if begin == first * iterations:
        for number in prange(n):
            s = np.int64(number)  # one type, one compile
            _predict_slab(s, slab, x, v, warm, row, par)
        if recount:
            for number in prange(n):
                s = np.int64(number)
                _touch_slab(
                    s, part, lanes, ptr, nbr, row, w_count, w_rows, w_plane, par, reach, base, acc
                )
            for number in prange(n):
                s = np.int64(number)
                _recount_slab(s, slab, v, row, warm, par, reach, base, acc)
    done, off = begin, 0.0
    while done < end and off == 0.0:
        sub = done // iterations
        it = done - sub * iterations
        par[FRACTION] = (sub - first) / ahead
        flags = base_flags
        par[MEMORY] = memory if it == 0 else 1.0
        par[BETA] = acceleration * min((it / iterations) ** 0.6, 1.0)  # [Francu14] (36)
        if acceleration > 0.0 and it > 0:
            flags |= ACCELERATED
        if it == iterations - 1:
            flags |= LAST
            if sub == substeps - 1:
                flags |= STATS
        for number in prange(n):
            s = np.int64(number)
            _contact_slab(
                s, part, lanes, ptr, nbr, imp, last, row, mat, nmat, common, table, w_count,
                w_rows, w_body, w_plane, w_imp, w_total, body_mat, par, flags, reach, base, acc,
                stats,
            )  # fmt: skip
        for number in prange(n):
            s = np.int64(number)
            _move_slab(
                s, slab, x, v, warm, row, par, flags, reach, base, acc, ref, stats
            )
        if it == iterations - 1:
            for s in range(n):
                off += stats[s, OFF]
        done += 1
    return done
