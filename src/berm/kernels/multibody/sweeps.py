"""Projected Gauss-Seidel over rows: one after the other, each at once felt by the next.

Friction is projected on the cone of its contact, whose two tangents are answered together, and so
is the resistance to rolling.
"""

from __future__ import annotations

import math

from berm.kernels.jit import bare, inline
from berm.kernels.multibody.contact_rows import NORMAL, ROLL
from berm.kernels.multibody.joints import SHARED
from berm.kernels.multibody.rows import dot, dot_all, give, push, push_all


@bare
def effective(rows, first, last, out):
    """Inverse effective mass of each row with its compliance; of tangents the larger of the two."""
    k = first
    while k < last:
        out[k] = give(rows, k) + rows.sigma[k]
        if rows.part[k] == NORMAL:
            _both(rows, k + 1, out)
            if rows.part[k + 3] == ROLL:
                _both(rows, k + 3, out)
                out[k + 5] = give(rows, k + 5) + rows.sigma[k + 5]
                k += 3
            k += 3
        else:
            k += 1


@bare
def _both(rows, k, out):
    """Inverse effective mass of rows k and k + 1 in whatever direction they act together."""
    one, two, mixed = 0.0, 0.0, 0.0
    for c in range(12):
        one += rows.J[k, c] * rows.J[k, c]
        two += rows.J[k + 1, c] * rows.J[k + 1, c]
        mixed += rows.J[k, c] * rows.J[k + 1, c]
    half = 0.5 * (one - two)
    large = 0.5 * (one + two) + math.sqrt(half * half + mixed * mixed)
    out[k] = out[k + 1] = large + rows.sigma[k]


@bare
def pressing(rows, k):
    """Impulse (N s) that the friction of the contact with normal k goes with: adhesion counts."""
    return rows.lam[k] - rows.lower[k]


@inline
def project(p, q, most, across):
    """The impulse (p, q) within the ellipse of two bounds."""
    if most == across:
        square = p * p + q * q
        if square > most * most:
            scale = most / math.sqrt(square)
            p, q = p * scale, q * scale
    elif most <= 0.0 or across <= 0.0:
        p, q = min(max(p, -most), most), min(max(q, -across), across)
    else:
        size = math.sqrt((p / most) * (p / most) + (q / across) * (q / across))
        if size > 1.0:
            p, q = p / size, q / size
    return p, q


@inline
def rub(rows, k, normal, mass, u):
    """Answer rows k and k + 1, friction or rolling of the contact, within its cone."""
    one, two = rows.lam[k], rows.lam[k + 1]
    load = rows.lam[normal] - rows.lower[normal]
    if load <= 0.0 and one == 0.0 and two == 0.0:
        return
    give = 1.0 / mass[k]
    p = one + (rows.rhs[k] - dot(rows, k, u) - rows.sigma[k] * one) * give
    q = two + (rows.rhs[k + 1] - dot(rows, k + 1, u) - rows.sigma[k + 1] * two) * give
    p, q = project(p, q, rows.mu[k] * load, rows.mu[k + 1] * load)
    a, b, j = rows.units[k, 0], rows.units[k, 1], rows.J
    one, two = p - one, q - two
    for c in range(6):
        u[a, c] += one * j[k, c] + two * j[k + 1, c]
        u[b, c] += one * j[k, 6 + c] + two * j[k + 1, 6 + c]
    rows.lam[k], rows.lam[k + 1] = p, q


@inline
def _spin(rows, k, normal, mass, u):
    """Answer row k, which resists turning about the normal of its contact."""
    before, most = rows.lam[k], rows.mu[k] * (rows.lam[normal] - rows.lower[normal])
    p = before + (rows.rhs[k] - dot(rows, k, u) - rows.sigma[k] * before) / mass[k]
    p = min(max(p, -most), most)
    if p != before:
        push(rows, k, p - before, u)
        rows.lam[k] = p


@inline
def _press_contact(rows, k, mass, u):
    """Answer the normal k of a contact."""
    before = rows.lam[k]
    p = before + (rows.rhs[k] - dot(rows, k, u) - rows.sigma[k] * before) / mass[k]
    p = min(max(p, rows.lower[k]), rows.upper[k])
    if p != before:
        push(rows, k, p - before, u)
        rows.lam[k] = p


@bare
def press(rows, k, mass, u):
    """Answer row k within its bounds."""
    before = rows.lam[k]
    p = before + (rows.rhs[k] - dot_all(rows, k, u) - rows.sigma[k] * before) / mass[k]
    p = min(max(p, rows.lower[k]), rows.upper[k])
    if p != before:
        push_all(rows, k, p - before, u)
        rows.lam[k] = p


@bare
def sweep(rows, heads, low, high, mass, u, passes, normals):
    """Passes over rows heads[low:high], a contact by its normal; normals: false: friction alone.

    Forwards and backwards in turns: what is left over in symmetric stacks is symmetric, too.
    """
    for turn in range(passes):
        for at in range(low, high):
            k = heads[at] if turn % 2 == 0 else heads[high - 1 + low - at]
            if rows.part[k] == NORMAL:
                if normals:
                    _press_contact(rows, k, mass, u)
                rub(rows, k + 1, k, mass, u)
                if rows.part[k + 3] == ROLL:
                    rub(rows, k + 3, k, mass, u)
                    _spin(rows, k + 5, k, mass, u)
            elif normals:
                press(rows, k, mass, u)


@bare
def residual(rows, first, last, mass, u):
    """Largest error (m/s) of the natural map of all rows: what one more answer would change."""
    most = 0.0
    for k in range(first, last):
        if rows.part[k] == SHARED:
            continue
        wrong = rows.rhs[k] - dot_all(rows, k, u) - rows.sigma[k] * rows.lam[k]
        p = rows.lam[k] + wrong / mass[k]
        if rows.part[k] < NORMAL:
            bound = rows.mu[k] * pressing(rows, rows.parent[k])
            # of a contact that slides, the component along the slip may fill the cone alone
            p = min(max(p, -bound), bound)
        else:
            p = min(max(p, rows.lower[k]), rows.upper[k])
        most = max(most, abs(p - rows.lam[k]) * mass[k])
    return most


@bare
def start_from(rows, first, last, u):
    """Add what the impulses that rows hold do to u."""
    for k in range(first, last):
        if rows.part[k] != SHARED and rows.lam[k] != 0.0:
            push_all(rows, k, rows.lam[k], u)
