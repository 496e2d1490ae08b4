"""Direct solve of rows with bounds: Newton with an exact line search on the convex primal problem.

  min |u - u0|^2 / 2 + sum_i phi_i(rhs_i - J_i u),  phi' = clip(. / sigma_i, lower_i, upper_i)
Its solution solves the mixed complementarity problem of [Lacoursiere10], (1). Rows inside their
bounds enter H (`blocks`); the others push with their bound. It ends when the solution agrees with
the set that it was solved with: the function is convex, so that a search along each step ends.
Where rounding lets it stall, at a kink, it goes on by pivots on single rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from berm.kernels.jit import bare, inner
from berm.kernels.multibody.blocks import assemble, factor, solve
from berm.kernels.multibody.rows import dot_all, push_all

FREE, AT_LOWER, AT_UPPER = 0, -1, 1
CUTS = 80  # of one line search, at most
PATIENT = 20  # factorisations after which a row may be wrong by rounding
ROUNDING = 1e-13  # of the speeds that make a row's own


class Room(NamedTuple):
    """Arrays to work in: y, here (nd, 6) by turns; new, step (nb, 6); the others by picked row."""

    y: Any
    here: Any
    new: Any
    step: Any
    gap: Any
    change: Any
    lam: Any
    left: Any


@inner
def make_room(nb, nd, count):
    """Room for so many bodies, bodies of a plan, and rows."""
    return Room(
        np.empty((nd, 6)), np.empty((nd, 6)), np.zeros((nb, 6)), np.zeros((nb, 6)),
        np.empty(count), np.empty(count), np.empty(count), np.empty(count),
    )  # fmt: skip


@bare
def _slope(step, at_zero, square, gap, change, rows, pick, low, high):
    """Derivative of the function along the step, and its own derivative."""
    f, d = at_zero + step * square, square
    for k in range(low, high):
        row = pick[k]
        p = (gap[k] - step * change[k]) / rows.sigma[row]
        if p <= rows.lower[row]:
            p = rows.lower[row]
        elif p >= rows.upper[row]:
            p = rows.upper[row]
        else:
            d += change[k] * change[k] / rows.sigma[row]
        f -= change[k] * p
    return f, d


@bare
def _search(at_zero, square, gap, change, rows, pick, low, high):
    """Where the derivative along the step is zero."""
    least, most, step = 0.0, -1.0, 1.0
    for _ in range(CUTS):
        f, d = _slope(step, at_zero, square, gap, change, rows, pick, low, high)
        if f > 0.0:
            most = step
        else:
            least = step
        best = step - f / d
        if most > 0.0:
            if best <= least or best >= most:
                best = 0.5 * (least + most)
        elif best <= least:
            best = 2.0 * step
        if abs(best - step) < 1e-13 * max(1.0, step):
            break
        step = best
    return step


@bare
def _side(p, lower, upper):
    if p <= lower or lower == upper:
        return AT_LOWER, lower
    if p >= upper:
        return AT_UPPER, upper
    return FREE, p


@bare
def _nearly(row, rows, gap, p, state, u0, u):
    """Whether a row is in its state but for rounding; gap (m/s): what is left for its compliance.

    Of rows that hang together and hardly give, the last digits say which ones press.
    """
    size = abs(rows.rhs[row])
    for side in range(2):
        b = rows.units[row, side]
        for c in range(6):
            size += abs(rows.J[row, 6 * side + c]) * (abs(u0[b, c]) + abs(u[b, c]))
    at = rows.upper[row] if state == AT_UPPER else rows.lower[row]
    if state == FREE:
        at = p
    return abs(gap - rows.sigma[row] * at) <= ROUNDING * size


@bare
def _take(plan, g, velocities, y):
    """Velocities of the bodies of group g, by turns."""
    for t in range(plan.span[g], plan.span[g + 1]):
        b = plan.body[t]
        for c in range(6):
            y[t, c] = velocities[b, c]


@bare
def _put(plan, g, y, velocities):
    """Give the bodies of group g velocities by turns."""
    for t in range(plan.span[g], plan.span[g + 1]):
        b = plan.body[t]
        for c in range(6):
            velocities[b, c] = y[t, c]


@bare
def _copy(plan, g, source, target):
    """Copy the velocities of the bodies of group g."""
    for t in range(plan.span[g], plan.span[g + 1]):
        b = plan.body[t]
        for c in range(6):
            target[b, c] = source[b, c]


@bare
def _refine(rows, pick, low, high, plan, g, blocks, free, u0, room):
    """Correct impulses once by what they leave of their rows; `new` is what they make of u0.

    An impulse follows from a small difference over a small sigma, so that rounding is large in it;
    of what is left, it is small.
    """
    lam, new, left, step = room.lam, room.new, room.left, room.step
    for turn in range(2):
        _copy(plan, g, u0, new)
        for k in range(low, high):
            if lam[k] != 0.0:
                push_all(rows, pick[k], lam[k], new)
        if turn == 1:
            return
        for t in range(plan.span[g], plan.span[g + 1]):
            for c in range(6):
                step[plan.body[t], c] = 0.0
        for k in range(low, high):
            if free[k] == FREE:
                row = pick[k]
                left[k] = rows.rhs[row] - dot_all(rows, row, new) - rows.sigma[row] * lam[k]
                push_all(rows, row, left[k] / rows.sigma[row], step)
        _take(plan, g, step, room.y)
        solve(plan, g, blocks, room.y)
        _put(plan, g, room.y, step)
        for k in range(low, high):
            if free[k] == FREE:
                row = pick[k]
                p = lam[k] + (left[k] - dot_all(rows, row, step)) / rows.sigma[row]
                lam[k] = min(max(p, rows.lower[row]), rows.upper[row])


@bare
def newton(rows, pick, low, high, plan, g, blocks, free, u0, u, room, whole, most):
    """Solve rows pick[low:high], group g of the plan, from the velocities u0 (nb, 6).

    u and rows.lam receive the solution. free: states by picked row, from which it starts and in
    which it ends; blocks holds the factor of the last ones. whole: steps taken whole before
    searching. Returns how many factorisations it took, negative where it has not converged: then u
    and lam are as before. Bodies that rows push but that do not move have rows of zeros.
    """
    y, here, new = room.y, room.here, room.new
    gap, change, lam = room.gap, room.change, room.lam
    first, last = plan.span[g], plan.span[g + 1]
    stalled = False
    for turn in range(most):
        assemble(plan, g, rows, pick, low, high, free, blocks)
        if not factor(plan, g, blocks):
            return -turn - 1
        _copy(plan, g, u0, new)
        for k in range(low, high):
            row = pick[k]
            if free[k] == FREE:
                push_all(rows, row, rows.rhs[row] / rows.sigma[row], new)
            else:
                p = rows.lower[row] if free[k] == AT_LOWER else rows.upper[row]
                if p != 0.0:
                    push_all(rows, row, p, new)
        _take(plan, g, new, y)
        solve(plan, g, blocks, y)
        _put(plan, g, y, new)
        wrong, worst = 0, low
        for k in range(low, high):
            row = pick[k]
            change[k] = rows.rhs[row] - dot_all(rows, row, new)
            side, lam[k] = _side(change[k] / rows.sigma[row], rows.lower[row], rows.upper[row])
            if side != free[k]:
                if turn >= PATIENT and _nearly(row, rows, change[k], lam[k], free[k], u0, new):
                    if free[k] != FREE:
                        lam[k] = rows.lower[row] if free[k] == AT_LOWER else rows.upper[row]
                else:
                    wrong, worst = wrong + 1, k
        if wrong == 0:
            _refine(rows, pick, low, high, plan, g, blocks, free, u0, room)
            _copy(plan, g, new, u)
            for k in range(low, high):
                rows.lam[pick[k]] = lam[k]
            return turn + 1
        if stalled:  # pivots on the last row that is wrong end: Murty, Opsearch 11, 1974
            row = pick[worst]
            p = change[worst] / rows.sigma[row]
            free[worst], _ = _side(p, rows.lower[row], rows.upper[row])
            continue
        if turn <= whole:
            for t in range(first, last):
                for c in range(6):
                    here[t, c] = y[t, c]
            for k in range(low, high):
                gap[k] = change[k]
        else:
            at_zero, square = 0.0, 0.0
            for t in range(first, last):
                b = plan.body[t]
                for c in range(6):
                    d = y[t, c] - here[t, c]
                    at_zero += d * (here[t, c] - u0[b, c])
                    square += d * d
            for k in range(low, high):
                change[k] = gap[k] - change[k]  # J of the step
            step = _search(at_zero, square, gap, change, rows, pick, low, high)
            for t in range(first, last):
                for c in range(6):
                    here[t, c] += step * (y[t, c] - here[t, c])
            for k in range(low, high):
                gap[k] -= step * change[k]
        stalled = turn >= PATIENT
        for k in range(low, high):
            row = pick[k]
            side, _ = _side(gap[k] / rows.sigma[row], rows.lower[row], rows.upper[row])
            stalled &= side == free[k]
            free[k] = side
    return -most


@bare
def states(rows, pick, low, high, free):
    """Guess the states from the impulses that rows start from."""
    for k in range(low, high):
        row = pick[k]
        lower, upper, p = rows.lower[row], rows.upper[row], rows.lam[row]
        if lower == upper:
            free[k] = AT_LOWER
        elif p <= lower and p != 0.0:
            free[k] = AT_LOWER
        elif p >= upper and p != 0.0:
            free[k] = AT_UPPER
        elif lower == 0.0 and p <= 0.0:
            free[k] = AT_LOWER if rows.rhs[row] < 0.0 else FREE
        else:
            free[k] = FREE


@bare
def yielding(b, plan, g, blocks, y, out):
    """What a push of body b's unit does to its own mass-normalised velocities: out (6, 6).

    The block of H^-1, from the factor of group g; y (nd, 6): scratch.
    """
    t = plan.turn[b]
    for c in range(6):
        for k in range(plan.span[g], plan.span[g + 1]):
            for e in range(6):
                y[k, e] = 0.0
        y[t, c] = 1.0
        solve(plan, g, blocks, y)
        for e in range(6):
            out[e, c] = y[t, e]


@inner
def mobility(b, bodies, plan, blocks, out):
    """What an impulse and moment at body b's centre do to its velocities: out (6, 6), 1/kg etc.

    From the factor of a plan of one group: the inertia of the mechanism as b's grains meet it.
    """
    unit = bodies.unit[b]
    root, scale, t = bodies.root[unit], bodies.root_w[unit], plan.turn[unit]
    inner_ = np.zeros((6, 6))
    if t < 0:
        for c in range(6):
            inner_[c, c] = 1.0
    else:
        yielding(unit, plan, 0, blocks, np.empty((plan.body.shape[0], 6)), inner_)
    # out = S inner S^T, where S leads from the unit's normalised velocities to those of b
    full = np.zeros((6, 6))
    dx, dy, dz = 0.0, 0.0, 0.0
    if bodies.count[unit] > 1:
        dx = bodies.x[b, 0] - bodies.middle[unit, 0]
        dy = bodies.x[b, 1] - bodies.middle[unit, 1]
        dz = bodies.x[b, 2] - bodies.middle[unit, 2]
    for c in range(3):
        full[c, c] = scale
        wx, wy, wz = root[0, c], root[1, c], root[2, c]
        full[0, 3 + c], full[1, 3 + c], full[2, 3 + c] = (
            wy * dz - wz * dy, wz * dx - wx * dz, wx * dy - wy * dx
        )  # fmt: skip
        full[3, 3 + c], full[4, 3 + c], full[5, 3 + c] = wx, wy, wz
    half = np.zeros((6, 6))
    for e in range(6):
        for c in range(6):
            for k in range(6):
                half[e, c] += full[e, k] * inner_[k, c]
    for e in range(6):
        for c in range(6):
            total = 0.0
            for k in range(6):
                total += half[e, k] * full[c, k]
            out[e, c] = total
    for e in range(6):  # the same both ways, to the last bit
        for c in range(e):
            out[e, c] = out[c, e] = 0.5 * (out[e, c] + out[c, e])
