"""Cholesky of H = 1 + J^T sigma^-1 J in 6 x 6 blocks, one a body: an order, a plan, numbers.

The order is exact minimum degree on bitsets; the plan is a flat list of block updates. Both depend
on which bodies the rows join, and are kept while that stays. H = U^T U, U upper in the order.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from berm.kernels.jit import inline, inner, jit
from berm.kernels.multibody.arrays import DYNAMIC


class Plan(NamedTuple):
    """How to eliminate the bodies that a choice of rows joins.

    keys (k, 2)    what it was made for          local (nb,)   number of each body, -1: not there
    ids (nd,)      body of each number           order, place  numbers by turn, and turn by number
    first (nd + 1,), turn   blocks of each row of U, diagonal first, and the turns of their columns
    update         destination of each block update, in the order in which they are done
    at (k,)        block that the coupling of each row goes to, -1: none
    """

    keys: Any
    local: Any
    ids: Any
    order: Any
    place: Any
    first: Any
    turn: Any
    update: Any
    at: Any


@inner
def _lowest(x):
    """Number of the lowest bit that is set."""
    y = (x & (~x + np.uint64(1))) - np.uint64(1)
    y = y - ((y >> np.uint64(1)) & np.uint64(0x5555555555555555))
    y = (y & np.uint64(0x3333333333333333)) + ((y >> np.uint64(2)) & np.uint64(0x3333333333333333))
    y = (y + (y >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((y * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def _count(x):
    """How many bits are set."""
    y = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    y = (y & np.uint64(0x3333333333333333)) + ((y >> np.uint64(2)) & np.uint64(0x3333333333333333))
    y = (y + (y >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((y * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
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


@inner
def _key(rows, row, side):
    """A number for the bodies at one side of a row and of those that share its multiplier."""
    key = rows.ends[row, side]
    row = rows.more[row]
    while row >= 0:
        key = key * np.int64(1000003) + rows.ends[row, side] + 1
        row = rows.more[row]
    return key


@inner
def _fits(plan, rows, pick, count):
    if plan.keys.shape[0] != count:
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
        np.zeros((0, 2), np.int64), np.full(nb, -1, np.int64), none, none, none,
        np.zeros(1, np.int64), none, none, none,
    )  # fmt: skip


@inner
def block_of(plan, i, j):
    """Block of U that couples the numbers i and j."""
    p, q = plan.place[i], plan.place[j]
    if p > q:
        p, q = q, p
    low, high = plan.first[p], plan.first[p + 1]
    while low < high:
        middle = (low + high) // 2
        if plan.turn[middle] < q:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def plan_for(plan, rows, pick, count, bodies):
    """The plan for rows pick[:count]; the given one where it still holds."""
    nb = bodies.kind.shape[0]
    if plan.local.shape[0] == nb and _fits(plan, rows, pick, count):
        return plan
    keys = np.empty((count, 2), np.int64)
    local, ids, nd = np.full(nb, -1, np.int64), np.empty(nb, np.int64), 0
    for k in range(count):
        row = pick[k]
        keys[k, 0], keys[k, 1] = _key(rows, row, 0), _key(rows, row, 1)
        while row >= 0:
            for side in range(2):
                b = rows.ends[row, side]
                if bodies.kind[b] == DYNAMIC and local[b] < 0:
                    local[b], ids[nd] = nd, b
                    nd += 1
            row = rows.more[row]
    near = np.zeros((nd, (nd + 63) // 64), np.uint64)
    for k in range(count):
        one = pick[k]
        while one >= 0:
            other = one
            while other >= 0:
                for s in range(2):
                    for t in range(2):
                        i, j = local[rows.ends[one, s]], local[rows.ends[other, t]]
                        if i >= 0 and j >= 0 and i != j:
                            _set(near, i, j)
                other = rows.more[other]
            one = rows.more[one]
    order = _minimum_degree(near)
    place = np.empty(nd, np.int64)
    for t in range(nd):
        place[order[t]] = t
    first = np.zeros(nd + 1, np.int64)
    for t in range(nd):
        total = 1
        for w in range(near.shape[1]):
            total += _count(near[order[t], w])
        first[t + 1] = first[t] + total
    turn = np.empty(first[nd], np.int64)
    updates = 0
    for t in range(nd):
        at = first[t]
        turn[at] = t
        at += 1
        for w in range(near.shape[1]):
            x = near[order[t], w]
            while x != np.uint64(0):
                turn[at] = place[(w << 6) + _lowest(x)]
                at += 1
                x &= x - np.uint64(1)
        turn[first[t] : first[t + 1]].sort()
        wide = first[t + 1] - first[t] - 1
        updates += wide * (wide + 1) // 2
    update = np.empty(updates, np.int64)
    done = 0
    for t in range(nd):
        for e in range(first[t] + 1, first[t + 1]):
            z = first[turn[e]]
            for f in range(e, first[t + 1]):
                while turn[z] != turn[f]:
                    z += 1
                update[done] = z
                done += 1
    new = Plan(keys, local, ids[:nd].copy(), order, place, first, turn, update,
               np.full(count, -1, np.int64))  # fmt: skip
    for k in range(count):
        i, j = local[rows.ends[pick[k], 0]], local[rows.ends[pick[k], 1]]
        if i >= 0 and j >= 0 and i != j:
            new.at[k] = block_of(new, i, j)
    return new


# ---- numbers --------------------------------------------------------------------------------


@inline
def _add_outer(blocks, at, J, k, s, m, t, factor):
    """Add factor x y^T with x the side s of row k and y the side t of row m."""
    for i in range(6):
        g = factor * J[k, 6 * s + i]
        for j in range(6):
            blocks[at, i, j] += g * J[m, 6 * t + j]


@inner
def assemble(plan, rows, pick, count, free, blocks):
    """Write H for the rows that are free (state 0)."""
    for e in range(blocks.shape[0]):
        for i in range(6):
            for j in range(6):
                blocks[e, i, j] = 0.0
    for t in range(plan.order.shape[0]):
        for i in range(6):
            blocks[plan.first[t], i, i] = 1.0
    for k in range(count):
        if free[k] != 0:
            continue
        row = pick[k]
        factor = 1.0 / rows.sigma[row]
        if rows.more[row] >= 0:
            _assemble_shared(plan, rows, row, factor, blocks)
            continue
        i, j = plan.local[rows.ends[row, 0]], plan.local[rows.ends[row, 1]]
        if i >= 0:
            _add_outer(blocks, plan.first[plan.place[i]], rows.J, row, 0, row, 0, factor)
        if j >= 0:
            _add_outer(blocks, plan.first[plan.place[j]], rows.J, row, 1, row, 1, factor)
        at = plan.at[k]
        if at >= 0:
            if plan.place[i] < plan.place[j]:
                _add_outer(blocks, at, rows.J, row, 0, row, 1, factor)
            else:
                _add_outer(blocks, at, rows.J, row, 1, row, 0, factor)


@inner
def _assemble_shared(plan, rows, head, factor, blocks):
    """Add a row that goes over several pairs of bodies."""
    one = head
    while one >= 0:
        other = head
        while other >= 0:
            for s in range(2):
                for t in range(2):
                    i, j = plan.local[rows.ends[one, s]], plan.local[rows.ends[other, t]]
                    if i < 0 or j < 0:
                        continue
                    if i == j:
                        at = plan.first[plan.place[i]]
                        _add_outer(blocks, at, rows.J, one, s, other, t, factor)
                    elif plan.place[i] < plan.place[j]:
                        at = block_of(plan, i, j)
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


@inner
def factor(plan, blocks):
    """Turn H into U in place; False where it is not positive."""
    done = 0
    for t in range(plan.order.shape[0]):
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


@inner
def solve(plan, blocks, y):
    """Solve U^T U y = y in place; y (nd, 6) by turns."""
    nd = plan.order.shape[0]
    for t in range(nd):
        p = plan.first[t]
        for k in range(6):
            x = y[t, k] / blocks[p, k, k]
            y[t, k] = x
            for j in range(k + 1, 6):
                y[t, j] -= blocks[p, k, j] * x
        for e in range(p + 1, plan.first[t + 1]):
            r = plan.turn[e]
            for k in range(6):
                x = y[t, k]
                for j in range(6):
                    y[r, j] -= blocks[e, k, j] * x
    for back in range(nd):
        t = nd - 1 - back
        p = plan.first[t]
        for e in range(p + 1, plan.first[t + 1]):
            r = plan.turn[e]
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
