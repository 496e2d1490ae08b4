"""Contacts of a step as rows of constraints: from the list of pairs and from the walls' planes."""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inline, inner, pjit, prange
from berm.kernels.simd.vec8 import (
    bits,
    count_zeros,
    gather4,
    load,
    select,
    splat,
    store,
    vmin,
    vsqrt,
)

# numbers of `law` for the whole step
DT, GAMMA, TOLERANCE, SLIP, BOUNCE_FROM, WARM, BENT = range(7)
NLAW = 7
# columns of the statistics, one row a slab
OVERLAP_SUM, OVERLAP_MAX, CONTACTS = range(3)  # m, m, touching pairs
NSTATS = 3
FAR = 1e-20  # m^2: closer centres have no direction


@inline
def _bias(gap, speed, e, law):
    """Row entries [3] and [7]: delta of (28), or the gap where it follows the iterations.

    An approach faster than law[BOUNCE_FROM] that the constraint would slow down is answered by e
    times it (Newton's law of impact).
    """
    none = gap - gap
    bounce = none
    if speed < -law[BOUNCE_FROM] and law[GAMMA] * gap + law[DT] * speed < 0.0:
        bounce = e * speed
    if law[BENT] != 0.0:
        return gap, bounce
    delta = law[GAMMA] * gap / law[DT]
    if bounce < 0.0:
        delta = min(delta, bounce)
    return delta, bounce


@inline
def _look(i, xi, vi, j, x, v, law, hand):
    """Eight pairs on their straight way: what rows need of them in `hand`, and who stays apart."""
    xj, vj = gather4(x, j), gather4(v, j)
    none = law[DT] - law[DT]
    zero, one, h = splat(none), splat(none + np.float32(1.0)), splat(law[DT])
    size = xi[3] + xj[3]
    dx, dy, dz = xi[0] - xj[0], xi[1] - xj[1], xi[2] - xj[2]
    ux, uy, uz = vi[0] - vj[0], vi[1] - vj[1], vi[2] - vj[2]
    far2 = dx * dx + dy * dy + dz * dz
    along = h * (dx * ux + dy * uy + dz * uz)
    speed2 = ux * ux + uy * uy + uz * uz
    way2 = h * h * speed2
    t = select(along < zero, vmin((zero - along) / way2, one), zero)
    near2 = far2 + t * (along + along + t * way2)
    limit = size * splat(law[TOLERANCE])
    apart = (near2 > limit * limit) | (i == j) | (vi[3] + vj[3] == zero)  # both fixed: nothing
    far = vsqrt(far2)
    far_enough = far2 > splat(none + np.float32(FAR))
    dx = select(far_enough, dx / far, zero)
    dy = select(far_enough, dy / far, zero)
    dz = select(far_enough, dz / far, one)  # coincident centres: part them upwards
    speed = dx * ux + dy * uy + dz * uz
    store(hand, 0, dx)
    store(hand, 8, dy)
    store(hand, 16, dz)
    store(hand, 24, far - size)
    store(hand, 32, size)
    store(hand, 40, speed)
    store(hand, 48, speed2 - speed * speed)
    return apart


@inner
def _pairs_slab(
    s, part, lanes, ptr, nbr, kept, x, v, mat, nmat, mu_s, mu_k, rest, law, ends, slot_of, row, imp,
    stats,
):  # fmt: skip
    """Fill the constraints of a slab from its first place on; return the place after the last."""
    c = 8 * ptr[part[s]]
    hand = np.zeros(7 * 8, x.dtype)
    zero = splat(law[DT] - law[DT])
    slips2 = law[SLIP] * law[SLIP]
    total, most, count = 0.0, 0.0, 0
    for q in range(part[s], part[s + 1]):
        i = load(lanes, 8 * q)
        xi, vi = gather4(x, i), gather4(v, i)
        for slot in range(ptr[q], ptr[q + 1]):
            j = load(nbr, 8 * slot)
            apart = _look(i, xi, vi, j, x, v, law, hand)
            for e in range(24 * slot, 24 * slot + 24, 8):
                store(kept, e, select(apart, zero, load(kept, e)))
            left = 255 - bits(apart)
            while left:
                m = count_zeros(left)
                left &= left - 1
                a, b = lanes[8 * q + m], nbr[8 * slot + m]
                gap, speed = hand[24 + m], hand[40 + m]
                pair = mat[a] * nmat + mat[b]
                row[c, 0], row[c, 1], row[c, 2] = hand[m], hand[8 + m], hand[16 + m]
                row[c, 3], row[c, 7] = _bias(gap, speed, rest[pair], law)
                row[c, 4] = hand[32 + m]
                row[c, 6] = mu_k[pair] if hand[48 + m] > slips2 else mu_s[pair]
                ends[c, 0] = a
                ends[c, 1] = b
                slot_of[c] = 24 * slot + m
                for e in range(3):
                    imp[c, e] = law[WARM] * kept[24 * slot + m + 8 * e]
                if gap < 0.0:
                    total -= gap
                    most = max(most, -gap)
                    count += 1
                c += 1
    stats[s, OVERLAP_SUM], stats[s, OVERLAP_MAX] = total, most
    stats[s, CONTACTS] = count
    return c


@pjit
def pairs(
    part, lanes, ptr, nbr, kept, x, v, mat, nmat, mu_s, mu_k, rest, law, ends, slot_of, row, imp,
    last, stats,
):  # fmt: skip
    """Constraints of all pairs that touch or may touch within the step, by slab.

    Slab s fills places from 8 ptr[part[s]] to last[s]; kept: impulses of the list, N s.
    """
    for number in prange(part.shape[0] - 1):
        s = np.int64(number)  # one type, one compile
        last[s] = _pairs_slab(
            s, part, lanes, ptr, nbr, kept, x, v, mat, nmat, mu_s, mu_k, rest, law, ends, slot_of,
            row, imp, stats,
        )  # fmt: skip


@inner
def _walls_slab(
    s, base, shift, w_count, w_rows, w_body, w_plane, w_imp, x, v, mat, nmat, body_mat, mu_s, mu_k,
    rest, law, ends, slot_of, row, imp, stats,
):  # fmt: skip
    cap = w_rows.shape[1]
    c = base + s * cap
    h = law[DT]
    for k in range(w_count[s]):
        i = w_rows[s, k] + shift
        nx, ny, nz = w_plane[s, k, 0], w_plane[s, k, 1], w_plane[s, k, 2]
        gap = nx * x[i, 0] + ny * x[i, 1] + nz * x[i, 2] - w_plane[s, k, 3] - x[i, 3]
        sx, sy, sz = w_plane[s, k, 4] / h, w_plane[s, k, 5] / h, w_plane[s, k, 6] / h
        ux, uy, uz = v[i, 0] - sx, v[i, 1] - sy, v[i, 2] - sz
        speed = nx * ux + ny * uy + nz * uz
        limit = x[i, 3] * (law[TOLERANCE] - np.float32(1.0))
        if v[i, 3] == 0.0 or (gap + h * speed > limit and gap > limit):
            for e in range(3):
                w_imp[s, k, e] = 0.0
            continue
        pair = mat[i] * nmat + body_mat[w_body[s, k]]
        row[c, 0], row[c, 1], row[c, 2] = nx, ny, nz
        row[c, 3], row[c, 7] = _bias(gap, speed, rest[pair], law)
        row[c, 4] = x[i, 3]
        slip2 = ux * ux + uy * uy + uz * uz - speed * speed
        row[c, 6] = mu_k[pair] if slip2 > law[SLIP] * law[SLIP] else mu_s[pair]
        row[c, 8], row[c, 9], row[c, 10] = sx, sy, sz
        row[c, 11] = gap - gap + np.float32(1.0)
        ends[c, 0] = i
        ends[c, 1] = -1
        slot_of[c] = k
        for e in range(3):
            imp[c, e] = law[WARM] * w_imp[s, k, e]
        stats[s, OVERLAP_MAX] = max(stats[s, OVERLAP_MAX], -gap)
        c += 1
    return c


@pjit
def walls(
    base, shift, w_count, w_rows, w_body, w_plane, w_imp, x, v, mat, nmat, body_mat, mu_s, mu_k,
    rest, law, ends, slot_of, row, imp, last, stats,
):  # fmt: skip
    """Constraints with bodies; slab s fills places from base + s cap to last[s].

    shift: added to the walls' rows, for particles that stand behind the grains.
    """
    for number in prange(w_count.shape[0]):
        s = np.int64(number)
        last[s] = _walls_slab(
            s, base, shift, w_count, w_rows, w_body, w_plane, w_imp, x, v, mat, nmat, body_mat,
            mu_s, mu_k, rest, law, ends, slot_of, row, imp, stats,
        )  # fmt: skip


@pjit
def keep_pairs(part, ptr, slot_of, imp, last, kept):
    """Write the pairs' impulses back to the list."""
    for s in prange(last.shape[0]):
        for c in range(8 * ptr[part[s]], last[s]):
            for e in range(3):
                kept[slot_of[c] + 8 * e] = imp[c, e]


@pjit
def keep_walls(base, cap, slot_of, imp, last, share, w_imp, w_total):
    """Write the impulses of bodies' contacts back, and add their mean force, share times P."""
    for s in prange(last.shape[0]):
        for c in range(base + s * cap, last[s]):
            for e in range(3):
                w_imp[s, slot_of[c], e] = imp[c, e]
                w_total[s, slot_of[c], e] += share * imp[c, e]
