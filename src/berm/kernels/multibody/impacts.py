"""Impacts, in a stage of their own before the regular one: as if in no time at all.

  M v' = M v + G^T p,  G_n v' >= -e G_n v at contacts that strike, G_n v' >= 0 at those that touch,
  G v' = 0 for what joints hold, and friction within its cones.
Without the rows of joints a blow would tear mechanisms apart. Islands in which nothing strikes are
left alone. The step that follows is one without restitution. [Lacoursiere10] and its reference 4.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import bare, inner, jit
from berm.kernels.multibody.blocks import no_plan
from berm.kernels.multibody.contact_rows import (
    BOUNCE,
    GIVE,
    NORMAL,
    ROWS_A_CONTACT,
    STILL,
    rows_of,
)
from berm.kernels.multibody.islands import find_islands
from berm.kernels.multibody.joints import DRIVE, HIGH, LOW, SHARED, SPRING
from berm.kernels.multibody.motion import free_velocities, take_velocities
from berm.kernels.multibody.rows import head_for, make_rows, speed_along
from berm.kernels.multibody.solve import BLOWS, HYBRID, call_solver

HARD = 1e-3  # of a contact's compliance: a blow is answered by its restitution alone


@bare
def strikes(contacts, bodies, rows, first, last, law, par, h):
    """Whether a contact closes so fast that it bounces within h (s)."""
    k = first
    while k < last:
        if _restitution(k, contacts, bodies, rows, law, par, h) > 0.0:
            return True
        k += rows_of(rows, k)
    return False


@bare
def _restitution(k, contacts, bodies, rows, law, par, h):
    """Restitution of the contact with normal k if it strikes within h (s), else 0.

    One that has pressed before does not strike, and one that is soft bounces by itself.
    """
    a, b, at = rows.ends[k, 0], rows.ends[k, 1], rows.source[k]
    one, f = law[bodies.material[a], bodies.material[b]], contacts.impulse[at]
    if one[BOUNCE] <= 0.0 or one[GIVE] > 0.0 or f[0] != 0.0 or f[1] != 0.0 or f[2] != 0.0:
        return 0.0
    closing = speed_along(rows.G[k], a, b, bodies)
    if closing < -par[STILL] and contacts.gap[at] + h * closing <= 0.0:
        return one[BOUNCE]
    return 0.0


@inner
def _struck(contacts, bodies, rows, of_joints, m, law, par, h):
    """Rows of the islands in which something strikes, by themselves, and how many of joints.

    Returns also which units (nb,) they move.
    """
    islands = find_islands(rows, of_joints, m, bodies)
    moved = np.zeros(bodies.kind.shape[0], np.bool_)
    taken, number = np.zeros(m, np.bool_), np.full(m, -1, np.int64)
    for i in range(islands.first.shape[0] - 1):
        low, high = islands.first[i], islands.first[i + 1]
        hit = False
        for at in range(low, high):
            k = islands.heads[at]
            if rows.part[k] == NORMAL:
                hit |= _restitution(k, contacts, bodies, rows, law, par, h) > 0.0
        for at in range(low, high if hit else low):
            k = islands.heads[at]
            many = rows_of(rows, k) if rows.part[k] == NORMAL else 1
            for e in range(k, k + many):
                taken[e] = True
            k = rows.more[k]
            while k >= 0:
                taken[k] = True
                k = rows.more[k]
    count, joints = np.int64(0), np.int64(0)
    for k in range(m):
        if taken[k]:
            number[k] = count
            count += 1
            joints += 1 if k < of_joints else 0
            for side in range(2):
                moved[rows.units[k, side]] = True
    some = make_rows(count + ROWS_A_CONTACT)
    for k in range(m):
        if not taken[k]:
            continue
        at = number[k]
        for side in range(2):
            some.ends[at, side], some.units[at, side] = rows.ends[k, side], rows.units[k, side]
        for c in range(12):
            some.J[at, c], some.G[at, c] = rows.J[k, c], rows.G[k, c]
        some.rhs[at], some.sigma[at], some.mu[at] = rows.rhs[k], rows.sigma[k], rows.mu[k]
        some.lower[at], some.upper[at] = rows.lower[k], rows.upper[k]
        some.source[at], some.part[at] = rows.source[k], rows.part[k]
        some.parent[at] = number[rows.parent[k]] if rows.parent[k] >= 0 else -1
        some.more[at] = number[rows.more[k]] if rows.more[k] >= 0 else -1
    return some, joints, count, moved


@jit
def bounce(contacts, joints, bodies, all_rows, of_all, m_all, means, gravity, h, stats):
    """Give bodies the velocities after all impacts of the coming h (s)."""
    rows, of_joints, m, moved = _struck(
        contacts, bodies, all_rows, of_all, m_all, means.law, means.par, h
    )
    for k in range(of_joints):
        part = rows.part[k]
        if part < DRIVE and joints.kind[rows.source[k]] != SPRING:
            head_for(
                k, rows, _driven(k, rows, bodies), rows.sigma[k], rows.lower[k], rows.upper[k]
            )
        elif part == LOW or part == HIGH:
            touches = rows.rhs[k] >= 0.0
            most = np.inf if touches else 0.0
            head_for(k, rows, _driven(k, rows, bodies), rows.sigma[k], 0.0, most)
        elif part != SHARED:  # a force, however large, does nothing in no time
            rows.lower[k] = rows.upper[k] = 0.0
    k = of_joints
    while k < m:
        e = _restitution(k, contacts, bodies, rows, means.law, means.par, h)
        a, b = rows.ends[k, 0], rows.ends[k, 1]
        sigma = HARD * rows.sigma[k]
        if e > 0.0:
            target = -e * speed_along(rows.G[k], a, b, bodies) + _driven(k, rows, bodies)
            # what gravity takes of it in the step that follows, it took before the impact
            target += max(-_fall(k, rows, bodies, gravity, h), 0.0)
            head_for(k, rows, target, sigma, 0.0, np.inf)
        else:
            most = np.inf if contacts.gap[rows.source[k]] <= 0.0 else 0.0
            head_for(k, rows, _driven(k, rows, bodies), sigma, 0.0, most)
        for row in range(k + 1, k + rows_of(rows, k)):
            rows.sigma[row] = sigma
        k += rows_of(rows, k)
    nb = bodies.kind.shape[0]
    u0, u = np.empty((nb, 6)), np.empty((nb, 6))
    free_velocities(bodies, np.zeros(3), 0.0, u0)
    method = BLOWS if means.method == HYBRID else means.method
    call_solver(
        means.solver,
        (method, rows, of_joints, m, bodies, u0, u, no_plan(nb), means.passes, stats),
    )
    take_velocities(bodies, moved, u)


@bare
def _fall(k, rows, bodies, gravity, h):
    """What gravity adds to the rate of row k within h (s)."""
    total = 0.0
    for side in range(2):
        if bodies.root_w[rows.units[k, side]] > 0.0:
            for c in range(3):
                total += h * rows.G[k, 6 * side + c] * gravity[c]
    return total


@bare
def _driven(k, rows, bodies):
    """Part of the right side of a row that says G v' = 0 which driven bodies make."""
    total = 0.0
    for side in range(2):
        b, at = rows.ends[k, side], 6 * side
        if bodies.root_w[rows.units[k, side]] == 0.0:
            for c in range(3):
                total -= rows.G[k, at + c] * bodies.v[b, c]
                total -= rows.G[k, at + 3 + c] * bodies.omega[b, c]
    return total
