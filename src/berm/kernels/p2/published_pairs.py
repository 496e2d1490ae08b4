"""Contacts between grains in the published form of P2: which are active, and their corrections.

A grain's row of eight numbers holds what an iteration needs: position at the start of the substep
and radius, displacement and inverse mass. Active contacts stand packed, in the slices of the
candidates: those of slab s from slice part[s] on, slots of slice q from ptr[q + s] to
ptr[q + s + 1].
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline, inner
from berm.kernels.p2.contacts import note_overlaps
from berm.kernels.p2.law import (
    ADHESIVE,
    DAMPER,
    EPS,
    GX,
    SPRING,
    STATS,
    T_ADHESION,
    T_C,
    T_K,
    T_MU_K,
    T_MU_S,
    UP_X,
    UP_Y,
    UP_Z,
    contact_area,
)
from berm.kernels.p2.published_law import excess, root_factor, shares
from berm.kernels.simd.vec8 import (
    bits,
    fma,
    gather4_at,
    gather8_at,
    load,
    scatter_add4_at,
    select,
    splat,
    store,
    take,
    vmax,
    vsqrt,
)

NUDGE = 1e-18  # m: coincident centres have no normal, and get the one that points up


@inner
def choose_pairs(
    s, part, lanes, ptr, nbr, t_used, t_lanes, t_ptr, t_nbr, factor, place, row, mat, nmat, plain,
    table, iterations, retest,
):  # fmt: skip
    """Pack the candidates that touch, or all where contact is tested anew in each iteration.

    place (n, 4): predicted position and radius; factor: that of (28) of each contact, in the plain
    case all have the same.
    """
    known = -1.0
    known_pair = -1
    root = 0.0
    length = np.zeros(8, np.int64)  # of each lane
    t = part[s]
    slot = ptr[part[s]]
    t_ptr[t + s] = slot
    for q in range(part[s], part[s + 1]):
        rows = load(lanes, 8 * q)
        xi, yi, zi, ri = gather4_at(place, lanes, 8 * q)
        for m in range(8):
            length[m] = 0
        for k in range(8 * ptr[q], 8 * ptr[q + 1], 8):
            touching = rows != load(nbr, k)
            if not retest:
                xj, yj, zj, rj = gather4_at(place, nbr, k)
                nx = xi - xj
                ny = yi - yj
                nz = zi - zj
                limit = ri + rj
                touching = touching & (fma(nx, nx, fma(ny, ny, nz * nz)) <= limit * limit)
            hits = bits(touching)
            for m in range(8):  # no jumps: hits cannot be foreseen, so the next one overwrites
                at = 8 * (slot + length[m]) + m
                hit = hits >> m & 1
                t_nbr[at] = nbr[k + m]
                if not plain:
                    i = lanes[8 * q + m]
                    j = nbr[k + m]
                    w = row[i, 7] + row[j, 7]
                    pair = mat[i] * nmat + mat[j]
                    if w != known or pair != known_pair:
                        known = w
                        known_pair = pair
                        root = root_factor(table[T_K, pair], table[T_C, pair], w, iterations)
                    factor[at] = root
                    hit *= w > 0.0  # two fixed grains do nothing
                length[m] += hit
        longest = np.int64(0)
        for m in range(8):
            longest = max(longest, length[m])
        if longest == 0:
            continue
        for m in range(8):
            for k in range(length[m], longest):
                t_nbr[8 * (slot + k) + m] = lanes[8 * q + m]
                if not plain:
                    factor[8 * (slot + k) + m] = 0.0
        store(t_lanes, 8 * t, rows)
        slot += longest
        t += 1
        t_ptr[t + s] = slot
    t_used[s] = t - part[s]


@inline
def _geometry(own, partner, both, plain, nudge, one):
    """Normal, relative displacement and gap (22) of eight pairs; both: sum of equal radii."""
    xi, yi, zi, ri, ui, vi, wi, _ = own
    xj, yj, zj, rj, uj, vj, wj, _ = partner
    rx = ui - uj
    ry = vi - vj
    rz = wi - wj
    nx = (xi - xj) + rx
    ny = (yi - yj) + ry
    nz = (zi - zj) + rz + nudge
    far2 = fma(nx, nx, fma(ny, ny, nz * nz))
    far = vsqrt(far2)
    over = far * (one / far2)
    if not plain:
        both = ri + rj
    return nx * over, ny * over, nz * over, rx, ry, rz, far - both


@inline
def _law_of(pair, table, one):
    """Shares of spring and damper, friction and adhesion of eight pairs of materials."""
    k = take(table[T_K], pair)
    c = take(table[T_C], pair)
    return (
        k / (k + c), c / (k + c), take(table[T_MU_K], pair), one / take(table[T_MU_S], pair),
        take(table[T_ADHESION], pair),
    )  # fmt: skip


@inline
def _correct_pairs(
    s, part, used, lanes, ptr, nbr, factor, row, mat, nmat, plain, common, table, par, flags,
    retest, shift, acc, stats,
):  # fmt: skip
    none = par[GX] - par[GX]
    zero = splat(none)
    one = splat(none + np.float32(1.0))
    half = splat(none + np.float32(0.5))
    nudge = splat(none + np.float32(NUDGE))
    pi = splat(none + np.float32(np.pi))
    up_x = splat(par[EPS] * par[UP_X])
    up_y = splat(par[EPS] * par[UP_Y])
    up_z = splat(par[EPS] * par[UP_Z])
    kind = max(common, 0)
    k = splat(par[SPRING])
    c = splat(par[DAMPER])
    spring, damper = shares(table, kind)
    spring = splat(spring)
    damper = splat(damper)
    mu_k = splat(table[T_MU_K, kind])
    free = one / splat(table[T_MU_S, kind])
    stick = splat(table[T_ADHESION, kind])
    begin = part[s]
    end = part[s] + used[s]
    last = ptr[end + s] - 1
    both = splat(row[lanes[8 * begin], 3] + row[lanes[8 * begin], 3])
    glue = zero
    total = zero
    most = zero
    number = zero
    own = gather8_at(row, lanes, 8 * begin)
    partner = gather8_at(row, nbr, 8 * ptr[begin + s])
    now = _geometry(own, partner, both, plain, nudge, one)
    for q in range(begin, end):
        rows = load(lanes, 8 * q)
        ri = own[3]
        mi = own[7]
        ax = zero
        ay = zero
        az = zero
        an = zero
        stop = ptr[q + s + 1]
        for slot in range(ptr[q + s], stop):
            nx, ny, nz, rx, ry, rz, gap = now
            rj = partner[3]
            mj = partner[7]
            # the next slot's geometry is under way while this one's friction waits for roots
            if slot + 1 == stop:
                own = gather8_at(row, lanes, 8 * min(q + 1, end - 1))
            partner = gather8_at(row, nbr, 8 * min(slot + 1, last))
            now = _geometry(own, partner, both, plain, nudge, one)
            j = load(nbr, 8 * slot)
            touching = rows != j
            if retest:
                touching = touching & (gap <= zero)
            on = select(touching, one, zero)
            if plain:
                upper = select(touching, half, zero)
                lower = upper
            else:
                if common < 0:
                    pair = take(mat, rows) * splat(np.int32(nmat)) + take(mat, j)
                    spring, damper, mu_k, free, stick = _law_of(pair, table, one)
                root = load(factor, 8 * slot)
                k = root * spring
                c = root * damper
                both_w = mi + mj
                each = on / select(both_w > zero, both_w, one)  # idle lanes may hold a fixed grain
                upper = mi * each
                lower = mj * each
                if flags & ADHESIVE:
                    glue = stick * pi * contact_area(gap, zero, ri, rj, zero, one) * (mi + mj)
            lx, ly, lz = excess(
                nx, ny, nz, rx, ry, rz, gap, k, c, mu_k, free, glue, one, flags
            )
            # (37): n points to i; up is against gravity
            lean = fma(nx, up_x, fma(ny, up_y, nz * up_z))
            upper = fma(upper, lean, upper)
            lower = fma(-lower, lean, lower)
            ax = fma(-upper, lx, ax)
            ay = fma(-upper, ly, ay)
            az = fma(-upper, lz, az)
            an = an + on
            if flags & STATS:
                depth = on * vmax(-gap, zero)
                total = total + depth
                most = vmax(depth, most)
                number = number + select(depth > zero, one, zero)
            scatter_add4_at(acc, nbr, 8 * slot, shift, (lower * lx, lower * ly, lower * lz, on))
        scatter_add4_at(acc, lanes, 8 * q, shift, (ax, ay, az, an))
    if flags & STATS:
        note_overlaps(s, total, most, number, stats)


@inner
def correct_pairs(
    s, part, used, lanes, ptr, nbr, factor, row, mat, nmat, plain, common, table, par, flags,
    retest, shift, acc, stats,
):  # fmt: skip
    """Add the corrections of a slab's active pairs to its sums, and how many they are."""
    if used[s] == 0:
        return
    if plain:  # as a loop of its own, without what it does not need
        _correct_pairs(
            s, part, used, lanes, ptr, nbr, factor, row, mat, nmat, True, common, table, par,
            flags & STATS, False, shift, acc, stats,
        )  # fmt: skip
    else:
        _correct_pairs(
            s, part, used, lanes, ptr, nbr, factor, row, mat, nmat, False, common, table, par,
            flags, retest, shift, acc, stats,
        )  # fmt: skip
