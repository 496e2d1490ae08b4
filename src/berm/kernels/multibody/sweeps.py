"""Projected Gauss-Seidel over rows: one after the other, each at once felt by the next.

Friction is projected on the cone of its contact, whose two tangents are answered together.
"""

from __future__ import annotations

import math

from berm.kernels.jit import inner
from berm.kernels.multibody.contact_rows import NORMAL
from berm.kernels.multibody.joints import SHARED
from berm.kernels.multibody.rows import dot, dot_all, give, push, push_all


@inner
def effective(rows, first, last, out):
    """Inverse effective mass of each row with its compliance; of tangents the larger of the two."""
    for k in range(first, last):
        out[k] = give(rows, k) + rows.sigma[k]
    k = first
    while k < last:
        if rows.part[k] == NORMAL:
            mixed = 0.0
            for c in range(12):
                mixed += rows.J[k + 1, c] * rows.J[k + 2, c]
            half = 0.5 * (out[k + 1] - out[k + 2])
            large = 0.5 * (out[k + 1] + out[k + 2]) + math.sqrt(half * half + mixed * mixed)
            out[k + 1] = out[k + 2] = large
            k += 3
        else:
            k += 1


@inner
def rub(rows, k, mass, u):
    """Answer the two tangents of the contact whose normal is row k, within its cone."""
    most = rows.mu[k + 1] * rows.lam[k]
    one, two = rows.lam[k + 1], rows.lam[k + 2]
    if most == 0.0 and one == 0.0 and two == 0.0:
        return
    p = one + (rows.rhs[k + 1] - dot(rows, k + 1, u) - rows.sigma[k + 1] * one) / mass[k + 1]
    q = two + (rows.rhs[k + 2] - dot(rows, k + 2, u) - rows.sigma[k + 2] * two) / mass[k + 2]
    size = math.sqrt(p * p + q * q)
    if size > most:
        p, q = p * most / size, q * most / size
    push(rows, k + 1, p - one, u)
    push(rows, k + 2, q - two, u)
    rows.lam[k + 1], rows.lam[k + 2] = p, q


@inner
def press(rows, k, mass, u):
    """Answer row k within its bounds."""
    before = rows.lam[k]
    p = before + (rows.rhs[k] - dot_all(rows, k, u) - rows.sigma[k] * before) / mass[k]
    p = min(max(p, rows.lower[k]), rows.upper[k])
    if p != before:
        push_all(rows, k, p - before, u)
        rows.lam[k] = p


@inner
def sweep(rows, heads, count, mass, u, passes, normals):
    """Passes over rows heads[:count], a contact by its normal; normals: false: friction alone.

    Forwards and backwards in turns: what is left over in symmetric stacks is symmetric, too.
    """
    for turn in range(passes):
        for at in range(count):
            k = heads[at] if turn % 2 == 0 else heads[count - 1 - at]
            if normals:
                press(rows, k, mass, u)
            if rows.part[k] == NORMAL:
                rub(rows, k, mass, u)


@inner
def heads_of(rows, first, last, out):
    """Rows that are answered by themselves: those of joints, and normals; return how many."""
    count = 0
    for k in range(first, last):
        if rows.part[k] >= NORMAL and rows.part[k] != SHARED:
            out[count] = k
            count += 1
    return count


@inner
def residual(rows, first, last, mass, u):
    """Largest error (m/s) of the natural map of all rows: what one more answer would change."""
    most = 0.0
    for k in range(first, last):
        if rows.part[k] == SHARED:
            continue
        wrong = rows.rhs[k] - dot_all(rows, k, u) - rows.sigma[k] * rows.lam[k]
        p = rows.lam[k] + wrong / mass[k]
        if rows.part[k] < NORMAL:
            bound = rows.mu[k] * rows.lam[rows.parent[k]]
            # of a contact that slides, the component along the slip may fill the cone alone
            p = min(max(p, -bound), bound)
        else:
            p = min(max(p, rows.lower[k]), rows.upper[k])
        most = max(most, abs(p - rows.lam[k]) * mass[k])
    return most


@inner
def start_from(rows, first, last, u):
    """Add what the impulses that rows hold do to u."""
    for k in range(first, last):
        if rows.part[k] != SHARED and rows.lam[k] != 0.0:
            push_all(rows, k, rows.lam[k], u)
