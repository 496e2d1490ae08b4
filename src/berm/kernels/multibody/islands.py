"""Islands: rows that hang together over bodies that can move, to be solved apart from others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from berm.kernels.jit import bare, inner
from berm.kernels.multibody.arrays import DYNAMIC
from berm.kernels.multibody.contact_rows import NORMAL
from berm.kernels.multibody.joints import SHARED


class Islands(NamedTuple):
    """Rows by island, in ascending order in each.

    heads            rows that are answered by themselves: of joints, and normals for their contacts
    first (ni + 1,)  bounds of the islands in them
    jointed (ni,)    whether there are joints      touching (ni,)   how many contacts
    units (ni,)      how many units can move       arm (nb,)        whether joints hold a unit
    """

    heads: Any
    first: Any
    jointed: Any
    touching: Any
    units: Any
    arm: Any


@bare
def find(parent, i):
    """The first of those that hang together with i."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@bare
def unite(parent, i, j):
    """Let i and j hang together."""
    i, j = find(parent, i), find(parent, j)
    if i < j:
        parent[j] = i
    elif j < i:
        parent[i] = j


@inner
def find_islands(rows, joint_rows, m, bodies):
    """Sort rows 0 to m by islands, those of joints first in `rows`."""
    nb = bodies.kind.shape[0]
    parent, arm = np.arange(nb), np.zeros(nb, np.bool_)
    count = np.int64(0)
    for k in range(m):
        if rows.part[k] < NORMAL:
            continue
        head = rows.parent[k] if rows.part[k] == SHARED else k
        count += 1 if head == k else 0
        last = np.int64(-1)
        for side in range(4):
            b = rows.units[head, side] if side < 2 else rows.units[k, side - 2]
            if bodies.kind[b] == DYNAMIC:
                if k < joint_rows:
                    arm[b] = True
                if last >= 0:
                    unite(parent, last, b)
                last = b
    number, ni = np.full(nb, -1, np.int64), np.int64(0)
    of = np.empty(m, np.int64)
    for k in range(m):
        if rows.part[k] < NORMAL or rows.part[k] == SHARED:
            continue
        b = rows.units[k, 0]
        if bodies.kind[b] != DYNAMIC:
            b = rows.units[k, 1]
        root = find(parent, b)
        if number[root] < 0:
            number[root] = ni
            ni += 1
        of[k] = number[root]
    first = np.zeros(ni + 1, np.int64)
    jointed, touching = np.zeros(ni, np.bool_), np.zeros(ni, np.int64)
    for k in range(m):
        if rows.part[k] < NORMAL or rows.part[k] == SHARED:
            continue
        first[of[k] + 1] += 1
        if rows.part[k] == NORMAL:
            touching[of[k]] += 1
        else:
            jointed[of[k]] = True
    for i in range(ni):
        first[i + 1] += first[i]
    heads, at = np.empty(count, np.int64), first[:ni].copy()
    for k in range(m):
        if rows.part[k] < NORMAL or rows.part[k] == SHARED:
            continue
        heads[at[of[k]]] = k
        at[of[k]] += 1
    units = np.zeros(ni, np.int64)
    for b in range(nb):
        if bodies.kind[b] == DYNAMIC and bodies.unit[b] == b:
            i = number[find(parent, b)]
            if i >= 0:
                units[i] += 1
    return Islands(heads, first, jointed, touching, units, arm)
