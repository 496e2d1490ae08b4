"""P2 as published: relaxed corrections, averaged over the constraints of a grain, [Holz14].

(2)-(3) prediction and integration, (9) averaging; the corrections with depth weighting (37) are in
`published_pairs` and `published_walls`, their law is in `published_law`.

**Deviation**: contact is decided once a step unless `retest` is set.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inner, pjit, prange
from berm.kernels.p2.contacts import gravity_of
from berm.kernels.p2.law import (
    BAD,
    CONTACTS,
    DAMPER,
    ENERGY,
    FARTHEST2,
    FRACTION,
    GX,
    INV_H,
    OVERLAP_MAX,
    OVERLAP_SUM,
    SHARE,
    SLEEP,
    SPRING,
    STATS,
    T_C,
    T_K,
    H,
)
from berm.kernels.p2.published_law import root_factor, shares
from berm.kernels.p2.published_pairs import choose_pairs, correct_pairs
from berm.kernels.p2.published_walls import choose_walls, correct_walls, note_forces
from berm.kernels.search.slabs import clear_slab, sum_slab
from berm.kernels.simd.vec8 import fma, lane, quad, set_quad, splat4, with_last


@inner
def predict_slab(s, slab, x, v, row, place, par):
    """Position and predicted displacement (2); place (n, 4): predicted position and radius."""
    step = splat4(par[H])
    pull = gravity_of(par)
    none = par[GX] - par[GX]
    for i in range(slab[s], slab[s + 1]):
        speed = quad(v, i)
        way = fma(step, speed, pull) if lane(speed, 3) > 0.0 else pull - pull  # fixed: it stays
        set_quad(row, 2 * i, quad(x, i))
        set_quad(row, 2 * i + 1, with_last(way, lane(speed, 3)))
        set_quad(place, i, quad(x, i) + with_last(way, none))


@inner
def _average_slab(s, slab, row, par, shift, acc):
    """Mean of the corrections of each grain (9)."""
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
    stats[s, BAD] = 0.0
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
        energy += way / w if w > 0.0 else 0.0
        largest = max(largest, way)
        if not np.isfinite(way) and stats[s, BAD] == 0.0:
            stats[s, BAD] = i + 1
    stats[s, ENERGY] = 0.5 * energy * par[INV_H] * par[INV_H]
    stats[s, FARTHEST2] = largest


@inner
def _choose_slab(
    s, part, lanes, ptr, nbr, t_used, t_lanes, t_ptr, t_nbr, factor, acc, row, mat, nmat, plain,
    table, w_count, w_rows, w_body, w_plane, t_count, t_rows, t_from, t_face, t_law, t_push,
    body_mat, par, iterations, retest,
):  # fmt: skip
    choose_pairs(
        s, part, lanes, ptr, nbr, t_used, t_lanes, t_ptr, t_nbr, factor, acc, row, mat, nmat, plain,
        table, iterations, retest,
    )  # fmt: skip
    choose_walls(
        s, w_count, w_rows, w_body, w_plane, t_count, t_rows, t_from, t_face, t_law, t_push, row,
        mat, nmat, body_mat, table, par, iterations, retest,
    )  # fmt: skip


@inner
def _contact_slab(
    s, part, t_used, t_lanes, t_ptr, t_nbr, factor, row, mat, nmat, plain, common, table, t_count,
    t_rows, t_face, t_law, t_push, par, flags, retest, reach, base, acc, stats,
):  # fmt: skip
    clear_slab(s, reach, base, acc)
    for c in (OVERLAP_SUM, OVERLAP_MAX, CONTACTS):
        stats[s, c] = 0.0
    shift = base[s] - reach[s, 0]
    correct_pairs(
        s, part, t_used, t_lanes, t_ptr, t_nbr, factor, row, mat, nmat, plain, common, table, par,
        flags, retest, shift, acc, stats,
    )  # fmt: skip
    correct_walls(
        s, t_count[s], t_rows[s], t_face[s], t_law[s], t_push[s], row, par, flags, retest, shift,
        acc, stats,
    )  # fmt: skip


@inner
def _update_slab(
    s, slab, x, v, row, t_count, t_rows, t_from, t_push, w_total, par, last, retest, reach, base,
    acc, stats,
):  # fmt: skip
    sum_slab(s, slab, reach, base, acc)
    shift = base[s] - reach[s, 0]
    if last or retest:  # in between, as many contacts share a grain
        note_forces(s, t_count[s], t_rows[s], t_from[s], t_push[s], row, w_total, par, shift, acc)
    _average_slab(s, slab, row, par, shift, acc)
    if last:
        integrate_slab(s, slab, x, v, row, par, stats)


@pjit
def solve(
    slabs, pairs, touching_pairs, grains, soil, plain, walls, touching_walls, body_mat, par,
    base_flags, iterations, begin, end, substeps, retest, sums, stats,
):  # fmt: skip
    """Passes `begin` to `end` of a step: every contact by itself, then a grain's average.

    `iterations` passes are a substep; a call goes on where the last one ended, with the same bits
    as one call for all.

    Arrays that go together come as tuples; t_...: room for the pairs and contacts with bodies that
    are active in a substep.
    common: the pair of materials of all grains, -1 where there are several; plain: they have one
    radius and one mass too, do not stick, and contacts are not tested anew.
    """
    slab, part = slabs
    lanes, ptr, nbr = pairs
    t_used, t_lanes, t_ptr, t_nbr, factor = touching_pairs
    x, v, row = grains
    mat, nmat, common, table = soil
    w_count, w_rows, w_body, w_plane, w_total = walls
    t_count, t_rows, t_from, t_face, t_law, t_push = touching_walls
    reach, base, acc = sums
    n = slab.shape[0] - 1
    kind = max(common, 0)
    root = root_factor(table[T_K, kind], table[T_C, kind], v[0, 3] + v[0, 3], iterations)
    par[SPRING], par[DAMPER] = shares(table, kind)
    par[SPRING] *= root
    par[DAMPER] *= root
    par[SHARE] = 1.0 / substeps
    for done in range(begin, end):
        sub = done // iterations
        it = done - sub * iterations
        par[FRACTION] = sub / substeps
        if it == 0:
            for number in prange(n):
                s = np.int64(number)  # one type, one compile
                predict_slab(s, slab, x, v, row, acc, par)  # sums are not begun
            for number in prange(n):
                s = np.int64(number)
                _choose_slab(
                    s, part, lanes, ptr, nbr, t_used, t_lanes, t_ptr, t_nbr, factor, acc, row, mat,
                    nmat, plain, table, w_count, w_rows, w_body, w_plane, t_count, t_rows, t_from,
                    t_face, t_law, t_push, body_mat, par, iterations, retest,
                )  # fmt: skip
        last = it == iterations - 1
        flags = base_flags | (STATS if last and sub == substeps - 1 else 0)
        for number in prange(n):
            s = np.int64(number)
            _contact_slab(
                s, part, t_used, t_lanes, t_ptr, t_nbr, factor, row, mat, nmat, plain, common,
                table, t_count, t_rows, t_face, t_law, t_push, par, flags, retest, reach, base,
                acc, stats,
            )  # fmt: skip
        for number in prange(n):
            s = np.int64(number)
            _update_slab(
                s, slab, x, v, row, t_count, t_rows, t_from, t_push, w_total, par, last, retest,
                reach, base, acc, stats,
            )  # fmt: skip
