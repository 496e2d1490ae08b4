"""P2 by sweeps: Gauss-Seidel over the contacts, in parallel; berm's default.

The contact law of [Holz14] on impulses that are kept from substep to substep (`p2_law`). Contacts
are taken eight at a time, one of each lane of the list, whose grains lie far apart; each answer
moves both grains at once, so that the next contact sees it. Slabs whose rows do not meet run side
by side, one colour after the other, so the order, and with it every bit, is the same on any number
of threads.

**Deviation** from print: corrections are applied at once instead of averaged (9). A pair's two
corrections are equal and opposite; averaging breaks that.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import bare, inline, pjit, prange
from berm.kernels.p2.contacts import (
    ROOM,
    astray,
    constants,
    gravity_of,
    note_give,
    note_overlaps,
    pair_response,
    predict_row,
    set_row,
    wall_response,
)
from berm.kernels.p2.law import (
    BAD,
    CONTACTS,
    ENERGY,
    FARTHEST2,
    FRACTION,
    GIVE2,
    GIVE3,
    INV_H,
    KEEP,
    LAST,
    MEMORY,
    OFF,
    OVERLAP_MAX,
    OVERLAP_SUM,
    SHARE,
    SLEEP,
    STATS,
    WEIGHT,
    H,
)
from berm.kernels.search.neighbours import room_left
from berm.kernels.simd.vec8 import (
    fetch8_at,
    fma,
    gather12_at,
    lane,
    load,
    quad,
    quad_of,
    scatter_add_tail8,
    scatter_tail8_at,
    select,
    set_quad,
    splat4,
    vmax,
    vsqrt,
    with_last,
)

# Rows are in no order that the processor could guess, so it is told what comes so much later:
# in a million grains, which no cache holds, a sweep takes half the time
SLOTS_AHEAD, SLICES_AHEAD = 4, 2
SURE = np.float32(0.999)  # of the room that is left: rounding must not make it more than it is


@inline
def pushing(fx, fy, fz, zero, one):
    """1 where a contact has an impulse, else 0."""
    return select(fma(fx, fx, fma(fy, fy, fz * fz)) > zero, one, zero)


@bare
def _pairs_slab(s, part, lanes, ptr, nbr, imp, row, mat, nmat, common, table, par, flags, stats):
    law = constants(par, table, common)
    zero, one, _, _, memory, scale, _, _, _, _, _, _, _, _ = law
    none = imp[:0]
    total = zero
    most = zero
    number = zero
    squares = zero
    cubes = zero
    last_slice = part[s + 1] - 1
    last_slot = ptr[last_slice + 1] - 1
    for q in range(part[s], part[s + 1]):
        if ptr[q] == ptr[q + 1]:
            continue
        fetch8_at(row, lanes, 8 * min(q + SLICES_AHEAD, last_slice))
        rows = load(lanes, 8 * q)
        x, y, z, r, ax, ay, az, w, bx, by, bz, count = gather12_at(row, lanes, 8 * q)
        at = 8 * ptr[q]
        partner = gather12_at(row, nbr, at)
        for slot in range(ptr[q], ptr[q + 1]):
            # the rows of a slice share no grain, so the next partners can be fetched before
            # these have moved, and what was fetched is still true: memory and arithmetic overlap
            after = 8 * min(slot + 1, ptr[q + 1] - 1)
            fetch8_at(row, nbr, 8 * min(slot + SLOTS_AHEAD, last_slot))
            partner_next = gather12_at(row, nbr, after)
            fx, fy, fz, px, py, pz, gap, _ = pair_response(
                rows, (x, y, z, r, ax, ay, az, w, bx, by, bz, zero), load(nbr, at), partner, slot,
                law, scale, imp, none, mat, nmat, common, table, flags,
            )  # fmt: skip
            ones = pushing(fx, fy, fz, zero, one)
            if flags & STATS:
                give = (w + partner[7]) * vsqrt(fma(fx, fx, fma(fy, fy, fz * fz))) / r
                squares = fma(give, give, squares)
                cubes = fma(give, give * give, cubes)
            kx = fma(zero - memory, px, fx)
            ky = fma(zero - memory, py, fy)
            kz = fma(zero - memory, pz, fz)
            fx = fx - px
            fy = fy - py
            fz = fz - pz
            _, _, _, _, cx, cy, cz, wj, dx, dy, dz, others = partner
            against = zero - wj
            scatter_tail8_at(
                row, nbr, at,
                (
                    fma(against, kx, cx), fma(against, ky, cy), fma(against, kz, cz), wj,
                    fma(against, fx, dx), fma(against, fy, dy), fma(against, fz, dz),
                    others + ones,
                ),
            )  # fmt: skip
            ax = fma(w, kx, ax)
            ay = fma(w, ky, ay)
            az = fma(w, kz, az)
            bx = fma(w, fx, bx)
            by = fma(w, fy, by)
            bz = fma(w, fz, bz)
            count = count + ones
            if flags & STATS:
                depth = vmax(zero - gap, zero)
                total = total + depth
                most = vmax(depth, most)
                number = number + select(depth > zero, one, zero)
            at = after
            partner = partner_next
        scatter_tail8_at(row, lanes, 8 * q, (ax, ay, az, w, bx, by, bz, count))
    if flags & STATS:
        note_overlaps(s, total, most, number, stats)
        note_give(s, squares, cubes, stats)


@bare
def _walls_slab(
    s, w_count, w_rows, w_body, w_plane, w_imp, w_total, row, mat, nmat, body_mat, table, par,
    flags, stats,
):  # fmt: skip
    law = constants(par, table, 0)
    zero, one, _, _, memory, scale, _, _, _, _, _, _, _, _ = law
    for b in range(0, w_count[s], 8):
        turns = 0
        for m in range(b, min(b + 8, w_count[s])):
            turns = max(turns, int(w_plane[s, m, 7]))
        for turn in range(turns + 1):
            rows, valid, fx, fy, fz, px, py, pz, w, _, gap, _ = wall_response(
                b, w_count[s], turn, law, scale, w_rows[s], w_body[s], w_plane[s], w_imp[s],
                w_total[s], row, mat, nmat, body_mat, table, par, flags,
            )  # fmt: skip
            w = select(valid, w, zero)
            scatter_add_tail8(
                row, rows,
                (
                    w * fma(zero - memory, px, fx), w * fma(zero - memory, py, fy),
                    w * fma(zero - memory, pz, fz), zero,
                    w * (fx - px), w * (fy - py), w * (fz - pz), pushing(fx, fy, fz, zero, one),
                ),
            )  # fmt: skip
            if flags & STATS:
                for m in range(8):
                    stats[s, OVERLAP_MAX] = max(stats[s, OVERLAP_MAX], -lane(gap, m))


@bare
def sweep_slab(
    s, part, lanes, ptr, nbr, imp, row, mat, nmat, common, table, w_count, w_rows, w_body, w_plane,
    w_imp, w_total, body_mat, par, flags, stats,
):  # fmt: skip
    """One pass over the contacts of a slab: pairs, then bodies."""
    for c in (OVERLAP_SUM, OVERLAP_MAX, CONTACTS, BAD, GIVE2, GIVE3):
        stats[s, c] = 0.0
    _pairs_slab(
        s, part, lanes, ptr, nbr, imp, row, mat, nmat, common, table, par, flags, stats
    )
    if w_count[s] > 0:
        _walls_slab(
            s, w_count, w_rows, w_body, w_plane, w_imp, w_total, row, mat, nmat, body_mat, table,
            par, flags, stats,
        )  # fmt: skip


@bare
def move_slab(s, slab, row, par, flags, ref, stats):
    """End of a substep: displacement to velocity and position (3), prediction of the next (2)."""
    none = par[H] - par[H]
    step = quad_of(par[H], par[H], par[H], none)  # behind the velocity stands the room
    rate = splat4(par[INV_H])
    keep = splat4(par[KEEP])
    pull = gravity_of(par)
    still = pull - pull
    energy = 0.0
    largest = 0.0
    off = False
    for i in range(slab[s], slab[s + 1]):
        w = lane(quad(row, 4 * i + 1), 3)
        moved = quad(row, 4 * i + 2)
        old = quad(row, 4 * i + 3)
        count = lane(moved, 3)
        fall = pull if w > 0.0 else still  # a fixed grain stays
        free = fma(step, old, fall)
        pushed = with_last(moved, none) - free  # what contacts did: exactly nothing without one
        if count == 0.0:
            pushed = still
        moved = free + pushed
        ux = lane(moved, 0)
        uy = lane(moved, 1)
        uz = lane(moved, 2)
        size = ux * ux + uy * uy + uz * uz
        speed = fma(rate, pushed + fall, old)
        if size < par[SLEEP] and count > 0.0:  # only what rests on something
            moved = still
            speed = still
            size = size - size
        here = quad(row, 4 * i) + moved
        free = fma(step, speed, fall)
        set_row(i, here, with_last(fma(keep, pushed, free), w), free + pushed, row)
        # most grains stay where they are sure to be on their way, and `ref` is not read
        way = abs(ux) + abs(uy) + abs(uz)
        room = lane(old, 3) - way
        if not room >= way:
            off = off or astray(i, here, moved, ref)
            room = SURE * room_left(i, lane(here, 0), lane(here, 1), lane(here, 2), ref)
        set_quad(row, 4 * i + 3, with_last(speed, room))
        if flags & STATS:
            energy += size / w if w > 0.0 else 0.0
            largest = max(largest, size)
            if not np.isfinite(size) and stats[s, BAD] == 0.0:
                stats[s, BAD] = i + 1
    stats[s, ENERGY] = 0.5 * energy * par[INV_H] * par[INV_H]
    stats[s, FARTHEST2] = largest
    stats[s, OFF] = 1.0 if off else 0.0


@bare
def leave_slab(s, slab, x, v, warm, row, par):
    """Write what the rows hold after the last substep: positions, velocities, what contacts do."""
    step = quad_of(par[H], par[H], par[H], par[H] - par[H])
    pull = gravity_of(par)
    for i in range(slab[s], slab[s + 1]):
        speed = quad(row, 4 * i + 3)
        w = lane(quad(row, 4 * i + 1), 3)
        fall = pull if w > 0.0 else pull - pull
        set_quad(x, i, quad(row, 4 * i))
        set_quad(v, i, with_last(speed, w))
        set_quad(warm, i, quad(row, 4 * i + 2) - fma(step, speed, fall))


@bare
def clear_warm(s, slab, warm):
    for i in range(slab[s], slab[s + 1]):
        for c in range(4):
            warm[i, c] = 0.0


@bare
def gather_warm(s, part, lanes, ptr, nbr, imp, v, warm, w_count, w_rows, w_imp):
    """Displacement of each grain by the impulses that the lists hold now."""
    for q in range(part[s], part[s + 1]):
        for slot in range(ptr[q], ptr[q + 1]):
            for m in range(8):
                i = lanes[8 * q + m]
                j = nbr[8 * slot + m]
                if i != j:
                    for c in range(3):
                        p = imp[24 * slot + 8 * c + m]
                        warm[i, c] += v[i, 3] * p
                        warm[j, c] -= v[j, 3] * p
    for b in range(w_count[s]):
        i = w_rows[s, b]
        for c in range(3):
            warm[i, c] += v[i, 3] * w_imp[s, b, c]


@bare
def predict_slab(s, slab, x, v, warm, row, par, fresh):
    """Rows before the first substep; a grain that nobody has moved since keeps its room."""
    for i in range(slab[s], slab[s + 1]):
        room = row[i, ROOM]
        if fresh or row[i, 0] != x[i, 0] or row[i, 1] != x[i, 1] or row[i, 2] != x[i, 2]:
            room = par[H] - par[H]  # not known yet
        predict_row(i, x, v, warm, row, par, v[i, 3])
        row[i, ROOM] = room


@pjit
def solve(
    slabs, pairs, grains, soil, walls, body_mat, par, base_flags, iterations, first, begin, end,
    substeps, memory, fresh, ref, stats, alone,
):  # fmt: skip
    """Passes `begin` to `end` of a step, `iterations` a substep; return the next one to do.

    Substeps begin with `first`; where it does not begin with that, a call goes on where the last
    one ended, with the same bits as one call for all. Before the end of the step, or a call that
    ends early, x and v are not written.

    Arrays that go together come as tuples, which are taken apart in the first lines.
    turn[colour[c] : colour[c + 1]] are the slabs of colour c. fresh: contacts were found anew, so
    what they do to each grain is summed again, without those that are gone. A grain that was
    knocked off the way that the list covers ends the call early. Contacts with bodies were found
    at `first`. alone: on this thread only, where a parallel loop would cost as much as its work.
    """
    slab, part, colour, turn = slabs
    lanes, ptr, nbr, imp = pairs
    x, v, row, warm = grains
    mat, nmat, common, table = soil
    w_count, w_rows, w_body, w_plane, w_imp, w_total = walls
    n = slab.shape[0] - 1
    par[WEIGHT] = par[INV_H] * par[INV_H] / substeps
    ahead = substeps - first
    par[SHARE] = 1.0 / ahead
    par[KEEP] = memory
    par[MEMORY] = memory
    if fresh and begin == first * iterations:
        for number in prange(n):
            s = np.int64(number)  # one type, one compile
            clear_warm(s, slab, warm)
        for c in range(colour.shape[0] - 1):
            for k in prange(colour[c], colour[c + 1]):
                gather_warm(
                    turn[k], part, lanes, ptr, nbr, imp, v, warm, w_count, w_rows, w_imp
                )
    if begin == first * iterations:
        for number in prange(n):
            s = np.int64(number)
            predict_slab(s, slab, x, v, warm, row, par, fresh)
    done, off = begin, 0.0
    while done < end and off == 0.0:
        sub = done // iterations
        it = done - sub * iterations
        par[FRACTION] = (sub - first) / ahead
        flags = base_flags
        par[MEMORY] = memory if it == 0 else 1.0
        if it == iterations - 1:
            flags |= LAST
            if sub == substeps - 1:
                flags |= STATS
        if alone:
            for k in range(n):
                sweep_slab(
                    turn[k], part, lanes, ptr, nbr, imp, row, mat, nmat, common, table, w_count,
                    w_rows, w_body, w_plane, w_imp, w_total, body_mat, par, flags, stats,
                )  # fmt: skip
        else:
            for c in range(colour.shape[0] - 1):
                for k in prange(colour[c], colour[c + 1]):
                    sweep_slab(
                        turn[k], part, lanes, ptr, nbr, imp, row, mat, nmat, common, table,
                        w_count, w_rows, w_body, w_plane, w_imp, w_total, body_mat, par, flags,
                        stats,
                    )  # fmt: skip
        if it == iterations - 1:
            if alone:
                for s in range(n):
                    move_slab(s, slab, row, par, flags, ref, stats)
            else:
                for number in prange(n):
                    s = np.int64(number)
                    move_slab(s, slab, row, par, flags, ref, stats)
            for s in range(n):
                off += stats[s, OFF]
        done += 1
    if done == substeps * iterations or off > 0.0:
        for number in prange(n):
            s = np.int64(number)
            leave_slab(s, slab, x, v, warm, row, par)
    return done
