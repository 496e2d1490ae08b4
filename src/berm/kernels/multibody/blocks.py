"""Cholesky of H = 1 + J^T sigma^-1 J in 6 x 6 blocks, one a body: an order, a plan, numbers.

Rows come in groups that have no body in common: islands. The bodies of each stand together in the
order, so that each can be factored and solved by itself. The order is exact minimum degree on
bitsets; the plan is a flat list of block updates. Both depend on which bodies the rows join, and
are kept while that stays. H = U^T U, U upper in the order.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from berm.kernels.jit import bare, inline, inner, jit
from berm.kernels.multibody.arrays import DYNAMIC


class Plan(NamedTuple):
    """How to eliminate the bodies that a choice of rows joins, in groups.

    keys (k, 2)    what it was made for
    turn (nb,)     when each body is eliminated, -1: not there      body (nd,)   the body of a turn
    first (nd + 1,), column   blocks of each row of U, diagonal first, and turns of their columns
    update         destination of each block update, in the order in which they are done
    at (k,)        block that the coupling of each row goes to, -1: none
    span (ng + 1,), work (ng + 1,)   turns and updates of each group
    """

    keys: Any
    turn: Any
    body: Any
    first: Any
    column: Any
    update: Any
    at: Any
    span: Any
    work: Any


@bare
def _lowest(x):
    """Number of the lowest bit that is set."""
    y = (x & (~x + np.uint64(1))) - np.uint64(1)
    y = y - ((y >> np.uint64(1)) & np.uint64(0x5555555555555555))
    y = (y & np.uint64(0x3333333333333333)) + ((y >> np.uint64(2)) & np.uint64(0x3333333333333333))
    y = (y + (y >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((y * np.uint64(0x0101010101010101)) >> np.uint64(56))


@bare
def _count(x):
    """How many bits are set."""
    y = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    y = (y & np.uint64(0x3333333333333333)) + ((y >> np.uint64(2)) & np.uint64(0x3333333333333333))
    y = (y + (y >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((y * np.uint64(0x0101010101010101)) >> np.uint64(56))


@bare
def _set(near, i, j):
    near[i, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
    near[j, i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@inner
def _minimum_degree(near):
    """Order of elimination; near (nd, words) becomes the pattern of each column as it goes."""
    nd, words = near.shape
    degree = np.zeros(nd, np.int64)
    for i in range(nd):
        for w in range(words):
            degree[i] += _count(near[i, w])
    order = np.empty(nd, np.int64)
    alive = np.ones(nd, np.bool_)
    for k in range(nd):
        best, p = np.int64(1) << 60, 0
        for i in range(nd):
            if alive[i] and degree[i] < best:
                best, p = degree[i], i
        order[k] = p
        alive[p] = False
        word, rest = p >> 6, ~(np.uint64(1) << np.uint64(p & 63))
        for w in range(words):
            x = near[p, w]
            while x != np.uint64(0):
                j = (w << 6) + _lowest(x)
                x &= x - np.uint64(1)
                for z in range(words):
                    near[j, z] |= near[p, z]
                near[j, word] &= rest
                near[j, j >> 6] &= ~(np.uint64(1) << np.uint64(j & 63))
                total = 0
                for z in range(words):
                    total += _count(near[j, z])
                degree[j] = total
    return order


@bare
def _key(rows, row, side):
    """A number for the bodies at one side of a row and of those that share its multiplier."""
    key = rows.units[row, side]
    row = rows.more[row]
    while row >= 0:
        key = key * np.int64(1000003) + rows.units[row, side] + 1
        row = rows.more[row]
    return key


@bare
def _fits(plan, rows, pick, groups):
    count = groups[groups.shape[0] - 1]
    if plan.keys.shape[0] != count or plan.span.shape[0] != groups.shape[0]:
        return False
    for k in range(count):
        for side in range(2):
            if plan.keys[k, side] != _key(rows, pick[k], side):
                return False
    return True


@inner
def no_plan(nb):
    """A plan for nothing."""
    none = np.zeros(0, np.int64)
    return Plan(
        np.zeros((0, 2), np.int64), np.full(nb, -1, np.int64), none, np.zeros(1, np.int64), none,
        none, none, np.zeros(1, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip


@bare
def block_of(plan, p, q):
    """Block of U that couples the turns p and q."""
    if p > q:
        p, q = q, p
    low, high = plan.first[p], plan.first[p + 1]
    while low < high:
        middle = (low + high) // 2
        if plan.column[middle] < q:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _neighbours(rows, pick, low, high, number, size):
    """Bitsets (size, words) of which of a group's bodies, by number (nb,), are joined."""
    near = np.zeros((size, (size + 63) // 64), np.uint64)
    for k in range(low, high):
        one = pick[k]
        while one >= 0:
            other = one
            while other >= 0:
                for s in range(2):
                    for t in range(2):
                        i, j = number[rows.units[one, s]], number[rows.units[other, t]]
                        if i >= 0 and j >= 0 and i != j:
                            _set(near, i, j)
                other = rows.more[other]
            one = rows.more[one]
    return near


@inner
def _grown(array, used, more):
    """The array with room for so many more."""
    if used + more <= array.shape[0]:
        return array
    bigger = np.empty(2 * (used + more), np.int64)
    bigger[:used] = array[:used]
    return bigger


@jit
def plan_for(plan, rows, pick, groups, bodies):
    """The plan for rows pick, in groups with bounds groups (ng + 1,); the given one if it fits."""
    nb = bodies.kind.shape[0]
    if plan.turn.shape[0] == nb and _fits(plan, rows, pick, groups):
        return plan
    ng = groups.shape[0] - 1
    count = groups[ng]
    keys = np.empty((count, 2), np.int64)
    turn, number = np.full(nb, -1, np.int64), np.full(nb, -1, np.int64)
    ids, body = np.empty(nb, np.int64), np.empty(nb, np.int64)
    first = np.zeros(nb + 1, np.int64)
    column, update = np.empty(64, np.int64), np.empty(64, np.int64)
    span, work = np.zeros(ng + 1, np.int64), np.zeros(ng + 1, np.int64)
    done, start = np.int64(0), np.int64(0)
    for g in range(ng):
        size = 0
        for k in range(groups[g], groups[g + 1]):
            row = pick[k]
            keys[k, 0], keys[k, 1] = _key(rows, row, 0), _key(rows, row, 1)
            while row >= 0:
                for side in range(2):
                    b = rows.units[row, side]
                    if bodies.kind[b] == DYNAMIC and number[b] < 0:
                        number[b], ids[size] = size, b
                        size += 1
                row = rows.more[row]
        near = _neighbours(rows, pick, groups[g], groups[g + 1], number, size)
        order = _minimum_degree(near)
        for t in range(size):
            turn[ids[order[t]]], body[start + t] = start + t, ids[order[t]]
        for t in range(start, start + size):
            p = order[t - start]
            used = first[t]
            column = _grown(column, used, size + 1)
            column[used] = t
            used += 1
            for w in range(near.shape[1]):
                x = near[p, w]
                while x != np.uint64(0):
                    column[used] = turn[ids[(w << 6) + _lowest(x)]]
                    used += 1
                    x &= x - np.uint64(1)
            column[first[t] : used].sort()
            first[t + 1] = used
        for t in range(start, start + size):
            wide = first[t + 1] - first[t] - 1
            update = _grown(update, done, wide * (wide + 1) // 2)
            for e in range(first[t] + 1, first[t + 1]):
                z = first[column[e]]
                for f in range(e, first[t + 1]):
                    while column[z] != column[f]:
                        z += 1
                    update[done] = z
                    done += 1
        start += size
        span[g + 1], work[g + 1] = start, done
    new = Plan(
        keys, turn, body[:start].copy(), first[: start + 1].copy(), column[: first[start]].copy(),
        update[:done].copy(), np.full(count, -1, np.int64), span, work,
    )  # fmt: skip
    for k in range(count):
        p, q = turn[rows.units[pick[k], 0]], turn[rows.units[pick[k], 1]]
        if p >= 0 and q >= 0 and p != q:
            new.at[k] = block_of(new, p, q)
    return new


# ---- numbers --------------------------------------------------------------------------------


@inline
def _add_outer(blocks, at, J, k, s, m, t, factor):
    """Add factor x y^T with x the side s of row k and y the side t of row m."""
    for i in range(6):
        g = factor * J[k, 6 * s + i]
        for j in range(6):
            blocks[at, i, j] += g * J[m, 6 * t + j]


@bare
def assemble(plan, g, rows, pick, low, high, free, blocks):
    """Write H of group g for those of the rows pick[low:high] that are free (state 0)."""
    for e in range(plan.first[plan.span[g]], plan.first[plan.span[g + 1]]):
        for i in range(6):
            for j in range(6):
                blocks[e, i, j] = 0.0
    for t in range(plan.span[g], plan.span[g + 1]):
        for i in range(6):
            blocks[plan.first[t], i, i] = 1.0
    for k in range(low, high):
        if free[k] != 0:
            continue
        row = pick[k]
        factor = 1.0 / rows.sigma[row]
        if rows.more[row] >= 0:
            _assemble_shared(plan, rows, row, factor, blocks)
            continue
        p, q = plan.turn[rows.units[row, 0]], plan.turn[rows.units[row, 1]]
        if p >= 0:
            _add_outer(blocks, plan.first[p], rows.J, row, 0, row, 0, factor)
        if q >= 0:
            _add_outer(blocks, plan.first[q], rows.J, row, 1, row, 1, factor)
        at = plan.at[k]
        if at >= 0:
            if p < q:
                _add_outer(blocks, at, rows.J, row, 0, row, 1, factor)
            else:
                _add_outer(blocks, at, rows.J, row, 1, row, 0, factor)


@bare
def _assemble_shared(plan, rows, head, factor, blocks):
    """Add a row that goes over several pairs of bodies."""
    one = head
    while one >= 0:
        other = head
        while other >= 0:
            for s in range(2):
                for t in range(2):
                    p, q = plan.turn[rows.units[one, s]], plan.turn[rows.units[other, t]]
                    if p < 0 or q < 0:
                        continue
                    if p == q:
                        at = plan.first[p]
                        _add_outer(blocks, at, rows.J, one, s, other, t, factor)
                    elif p < q:
                        at = block_of(plan, p, q)
                        _add_outer(blocks, at, rows.J, one, s, other, t, factor)
            other = rows.more[other]
        one = rows.more[one]


@inline
def _subtract(blocks, a, b, c):
    """blocks[c] -= blocks[a]^T blocks[b]."""
    for i in range(6):
        x0, x1, x2 = blocks[a, 0, i], blocks[a, 1, i], blocks[a, 2, i]
        x3, x4, x5 = blocks[a, 3, i], blocks[a, 4, i], blocks[a, 5, i]
        for j in range(6):
            blocks[c, i, j] -= (
                (x0 * blocks[b, 0, j] + x1 * blocks[b, 1, j])
                + (x2 * blocks[b, 2, j] + x3 * blocks[b, 3, j])
            ) + (x4 * blocks[b, 4, j] + x5 * blocks[b, 5, j])


@bare
def factor(plan, g, blocks):
    """Turn H of group g into U in place; False where it is not positive."""
    done = plan.work[g]
    for t in range(plan.span[g], plan.span[g + 1]):
        p, last = plan.first[t], plan.first[t + 1]
        for k in range(6):
            for e in range(k):
                x = blocks[p, e, k]
                for j in range(k, 6):
                    blocks[p, k, j] -= x * blocks[p, e, j]
            d = blocks[p, k, k]
            if not d > 0.0:
                return False
            scale = 1.0 / math.sqrt(d)
            for j in range(k, 6):
                blocks[p, k, j] *= scale
        for e in range(p + 1, last):
            for k in range(6):
                for i in range(k):
                    x = blocks[p, i, k]
                    for j in range(6):
                        blocks[e, k, j] -= x * blocks[e, i, j]
                scale = 1.0 / blocks[p, k, k]
                for j in range(6):
                    blocks[e, k, j] *= scale
        for e in range(p + 1, last):
            for f in range(e, last):
                _subtract(blocks, e, f, plan.update[done])
                done += 1
    return True


@bare
def solve(plan, g, blocks, y):
    """Solve U^T U y = y of group g in place; y (nd, 6) by turns."""
    low, high = plan.span[g], plan.span[g + 1]
    for t in range(low, high):
        p = plan.first[t]
        for k in range(6):
            x = y[t, k] / blocks[p, k, k]
            y[t, k] = x
            for j in range(k + 1, 6):
                y[t, j] -= blocks[p, k, j] * x
        for e in range(p + 1, plan.first[t + 1]):
            r = plan.column[e]
            for k in range(6):
                x = y[t, k]
                for j in range(6):
                    y[r, j] -= blocks[e, k, j] * x
    for back in range(high - low):
        t = high - 1 - back
        p = plan.first[t]
        for e in range(p + 1, plan.first[t + 1]):
            r = plan.column[e]
            for k in range(6):
                y[t, k] -= (
                    (blocks[e, k, 0] * y[r, 0] + blocks[e, k, 1] * y[r, 1])
                    + (blocks[e, k, 2] * y[r, 2] + blocks[e, k, 3] * y[r, 3])
                ) + (blocks[e, k, 4] * y[r, 4] + blocks[e, k, 5] * y[r, 5])
        for up in range(6):
            k = 5 - up
            x = y[t, k]
            for j in range(k + 1, 6):
                x -= blocks[p, k, j] * y[t, j]
            y[t, k] = x / blocks[p, k, k]
