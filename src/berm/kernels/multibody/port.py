"""A mechanism as loose bodies meet it: condensed to the units at which they touch it.

Gauss-Seidel cannot solve a machine, but the stones in its bucket need no more of it than how the
bucket gives way: u' = u + C C^T J^T p, with C C^T the block of H^-1 of the whole mechanism. So the
mechanism is solved direct with the impulses that loose bodies gave so far, rows on the units that
they touch are multiplied by C, and sweeps go over the contacts of loose bodies alone. Two touched
units of one mechanism see each other in the direct solve that follows only.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from berm.kernels.jit import bare, inner
from berm.kernels.multibody.arrays import DYNAMIC
from berm.kernels.multibody.blocks import no_plan, plan_for
from berm.kernels.multibody.contact_rows import NORMAL, rows_of
from berm.kernels.multibody.newton import make_room, newton, states, yielding
from berm.kernels.multibody.rows import push_all
from berm.kernels.multibody.sweeps import pressing

MOST_NEWTON = 50  # factorisations of the mechanism alone


class Port(NamedTuple):
    """How loose bodies and mechanisms of an island meet.

    loose: contacts of loose bodies, by their normals; rows (k,), J (k, 12): as they were; own: rows
    of the mechanisms alone, with friction of their own contacts, and the plan of their factor.
    """

    loose: Any
    rows: Any
    J: Any
    own: Any
    plan: Any


@bare
def is_loose(rows, k, arm, bodies):
    """Whether row k is the normal of a contact of a body that no joint holds."""
    a, b = rows.units[k, 0], rows.units[k, 1]
    return rows.part[k] == NORMAL and (
        (bodies.kind[a] == DYNAMIC and not arm[a]) or (bodies.kind[b] == DYNAMIC and not arm[b])
    )


@bare
def _box(rows, k):
    """Bounds of a contact's friction and rolling from its normal of now."""
    load = max(pressing(rows, k), 0.0)
    for e in range(k + 1, k + rows_of(rows, k)):
        rows.lower[e], rows.upper[e] = -rows.mu[e] * load, rows.mu[e] * load


@bare
def _root(a):
    """Lower C with C C^T = a (6, 6), in place; False where a is not positive."""
    for j in range(6):
        for e in range(j):
            for i in range(j, 6):
                a[i, j] -= a[i, e] * a[j, e]
        if not a[j, j] > 0.0:
            return False
        scale = 1.0 / math.sqrt(a[j, j])
        for i in range(j, 6):
            a[i, j] *= scale
        for i in range(j):
            a[i, j] = 0.0
    return True


@inner
def _solve_own(rows, own, plan, blocks, room, u, stats):
    """Solve the mechanisms direct, friction in boxes, with what loose bodies gave to u so far."""
    count = own.shape[0]
    base, free = u.copy(), np.empty(count, np.int64)
    for k in range(count):
        push_all(rows, own[k], -rows.lam[own[k]], base)
        if rows.part[own[k]] == NORMAL:
            _box(rows, own[k])
    states(rows, own, 0, count, free)
    took = newton(
        rows, own, 0, count, plan, 0, blocks, free, base, u, room, np.int64(0), MOST_NEWTON
    )
    stats[0] += abs(took)


@inner
def open_port(rows, heads, low, high, arm, bodies, u0, u, stats):
    """Solve the mechanisms of an island alone; give rows and u of the units that loose ones touch.

    arm (nb,): units that joints hold. u has the impulses of all rows; that of touched units is
    divided by C. Returns what `close_port` needs.
    """
    nb = bodies.kind.shape[0]
    pick, loose = np.empty(6 * (high - low), np.int64), np.empty(high - low, np.int64)
    count, n, shared = np.int64(0), np.int64(0), np.int64(0)
    touched = np.zeros(nb, np.bool_)
    for at in range(low, high):
        k = heads[at]
        a, b = rows.units[k, 0], rows.units[k, 1]
        if is_loose(rows, k, arm, bodies):
            loose[n] = k
            n += 1
            touched[a] |= arm[a]
            touched[b] |= arm[b]
            if arm[a] or arm[b]:
                shared += 1
            continue
        pick[count] = k
        count += 1
        if rows.part[k] == NORMAL:
            for e in range(k + 1, k + rows_of(rows, k)):
                pick[count] = e
                count += 1
    at_rows, keep = np.empty(6 * shared, np.int64), np.empty((6 * shared, 12))
    own, plan = pick[:count].copy(), no_plan(nb)
    if shared == 0 or count == 0:
        return Port(loose[:n], at_rows[:0], keep[:0], own[:0], plan)
    plan = plan_for(plan, rows, own, np.array([0, count]), bodies)
    blocks = np.empty((plan.column.shape[0], 6, 6))
    room = make_room(nb, plan.body.shape[0], count)
    _solve_own(rows, own, plan, blocks, room, u, stats)
    done = np.int64(0)
    block, turned = np.empty((6, 6)), np.empty(6)
    for b in range(nb):
        if not touched[b] or plan.turn[b] < 0:
            continue
        yielding(b, plan, 0, blocks, room.y, block)
        if not _root(block):
            continue
        for j in range(6):  # C^-1 u
            x = u[b, j]
            for e in range(j):
                x -= block[j, e] * u[b, e]
            u[b, j] = x / block[j, j]
        for at in range(n):
            k = loose[at]
            for side in range(2):
                if rows.units[k, side] != b:
                    continue
                for e in range(k, k + rows_of(rows, k)):
                    at_rows[done] = e
                    for c in range(12):
                        keep[done, c] = rows.J[e, c]
                    done += 1
                    for c in range(6):
                        turned[c] = 0.0
                        for i in range(c, 6):
                            turned[c] += rows.J[e, 6 * side + i] * block[i, c]
                    for c in range(6):
                        rows.J[e, 6 * side + c] = turned[c]
    return Port(loose[:n], at_rows[:done], keep[:done], own, plan)


@inner
def answer_loose(rows, port, u, stats):
    """Solve the mechanisms again, for what loose bodies gave since; u has all impulses."""
    count = port.own.shape[0]
    if count > 0:
        blocks = np.empty((port.plan.column.shape[0], 6, 6))
        room = make_room(u.shape[0], port.plan.body.shape[0], count)
        _solve_own(rows, port.own, port.plan, blocks, room, u, stats)


@bare
def close_port(rows, port):
    """Give rows back as they were."""
    for at in range(port.rows.shape[0]):
        for c in range(12):
            rows.J[port.rows[at], c] = port.J[at, c]
