"""Direct solve of rows with bounds: Newton with an exact line search on the convex primal problem.

  min |u - u0|^2 / 2 + sum_i phi_i(rhs_i - J_i u),  phi' = clip(. / sigma_i, lower_i, upper_i)
Its solution solves the mixed complementarity problem of [Lacoursiere10], (1). Rows inside their
bounds enter H (`blocks`); the others push with their bound. It ends when the solution agrees with
the set that it was solved with: the function is convex, so that a search along each step ends.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import inner, jit
from berm.kernels.multibody.blocks import assemble, factor, solve
from berm.kernels.multibody.rows import dot_all, push_all

FREE, AT_LOWER, AT_UPPER = 0, -1, 1
CUTS = 80  # of one line search, at most


@inner
def _slope(step, at_zero, square, gap, change, rows, pick, count):
    """Derivative of the function along the step, and its own derivative."""
    f, d = at_zero + step * square, square
    for k in range(count):
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


@inner
def _search(at_zero, square, gap, change, rows, pick, count):
    """Where the derivative along the step is zero."""
    low, high, step = 0.0, -1.0, 1.0
    for _ in range(CUTS):
        f, d = _slope(step, at_zero, square, gap, change, rows, pick, count)
        if f > 0.0:
            high = step
        else:
            low = step
        best = step - f / d
        if high > 0.0:
            if best <= low or best >= high:
                best = 0.5 * (low + high)
        elif best <= low:
            best = 2.0 * step
        if abs(best - step) < 1e-13 * max(1.0, step):
            break
        step = best
    return step


@inner
def _side(p, lower, upper):
    if p <= lower:
        return AT_LOWER, lower
    if p >= upper:
        return AT_UPPER, upper
    return FREE, p


@inner
def _refine(rows, pick, count, plan, blocks, free, u0, lam, new, y):
    """Correct impulses once by what they leave of their rows; new becomes what they make of u0.

    An impulse follows from a small difference over a small sigma, so that rounding is large in it;
    of what is left, it is small.
    """
    nd = plan.order.shape[0]
    for turn in range(2):
        for t in range(nd):
            b = plan.ids[plan.order[t]]
            for c in range(6):
                new[b, c] = u0[b, c]
        for k in range(count):
            if lam[k] != 0.0:
                push_all(rows, pick[k], lam[k], new)
        if turn == 1:
            return
        left = np.zeros(count)
        change = np.zeros_like(new)
        for k in range(count):
            if free[k] == FREE:
                row = pick[k]
                left[k] = rows.rhs[row] - dot_all(rows, row, new) - rows.sigma[row] * lam[k]
                push_all(rows, row, left[k] / rows.sigma[row], change)
        for t in range(nd):
            b = plan.ids[plan.order[t]]
            for c in range(6):
                y[t, c] = change[b, c]
        solve(plan, blocks, y)
        for t in range(nd):
            b = plan.ids[plan.order[t]]
            for c in range(6):
                change[b, c] = y[t, c]
        for k in range(count):
            if free[k] == FREE:
                row = pick[k]
                lam[k] += (left[k] - dot_all(rows, row, change)) / rows.sigma[row]


@jit
def newton(rows, pick, count, plan, blocks, free, u0, u, whole, most):
    """Solve rows pick[:count] from the velocities u0; u and rows.lam receive the solution.

    u0, u (nb, 6). free (count,): states, from which it starts and in which it ends; blocks holds
    the factor of the last ones. whole: steps taken whole before searching. Returns how many
    factorisations it took, negative where it has not converged: then u and lam are as before.
    """
    nd = plan.order.shape[0]
    y, here = np.empty((nd, 6)), np.empty((nd, 6))
    gap, change, lam = np.empty(count), np.empty(count), np.empty(count)
    new = u0.copy()
    for turn in range(most):
        assemble(plan, rows, pick, count, free, blocks)
        if not factor(plan, blocks):
            return -turn - 1
        for t in range(nd):
            b = plan.ids[plan.order[t]]
            for c in range(6):
                new[b, c] = u0[b, c]
        for k in range(count):
            row = pick[k]
            if free[k] == FREE:
                push_all(rows, row, rows.rhs[row] / rows.sigma[row], new)
            else:
                p = rows.lower[row] if free[k] == AT_LOWER else rows.upper[row]
                if p != 0.0:
                    push_all(rows, row, p, new)
        for t in range(nd):
            b = plan.ids[plan.order[t]]
            for c in range(6):
                y[t, c] = new[b, c]
        solve(plan, blocks, y)
        for t in range(nd):
            b = plan.ids[plan.order[t]]
            for c in range(6):
                new[b, c] = y[t, c]
        wrong = 0
        for k in range(count):
            row = pick[k]
            change[k] = rows.rhs[row] - dot_all(rows, row, new)
            side, lam[k] = _side(change[k] / rows.sigma[row], rows.lower[row], rows.upper[row])
            if side != free[k]:
                wrong += 1
        if wrong == 0:
            _refine(rows, pick, count, plan, blocks, free, u0, lam, new, y)
            for t in range(nd):
                b = plan.ids[plan.order[t]]
                for c in range(6):
                    u[b, c] = new[b, c]
            for k in range(count):
                rows.lam[pick[k]] = lam[k]
            return turn + 1
        if turn <= whole:
            for t in range(nd):
                for c in range(6):
                    here[t, c] = y[t, c]
            for k in range(count):
                gap[k] = change[k]
        else:
            at_zero, square = 0.0, 0.0
            for t in range(nd):
                b = plan.ids[plan.order[t]]
                for c in range(6):
                    d = y[t, c] - here[t, c]
                    at_zero += d * (here[t, c] - u0[b, c])
                    square += d * d
            for k in range(count):
                change[k] = gap[k] - change[k]  # J of the step
            step = _search(at_zero, square, gap, change, rows, pick, count)
            for t in range(nd):
                for c in range(6):
                    here[t, c] += step * (y[t, c] - here[t, c])
            for k in range(count):
                gap[k] -= step * change[k]
        for k in range(count):
            row = pick[k]
            free[k], _ = _side(gap[k] / rows.sigma[row], rows.lower[row], rows.upper[row])
    return -most


@inner
def states(rows, pick, count, free):
    """Guess the states from the impulses that rows start from."""
    for k in range(count):
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


@inner
def mobility(b, bodies, plan, blocks, out):
    """What an impulse and moment at body b's centre do to its velocities: out (6, 6), 1/kg etc.

    From the factor of the last solve: the inertia of the whole mechanism as b's grains meet it.
    """
    root, scale, i = bodies.root[b], bodies.root_w[b], plan.local[b]
    inner_ = np.zeros((6, 6))
    if i < 0:
        for c in range(6):
            inner_[c, c] = 1.0
    else:
        nd, t = plan.order.shape[0], plan.place[i]
        y = np.empty((nd, 6))
        for c in range(6):
            for k in range(nd):
                for e in range(6):
                    y[k, e] = 0.0
            y[t, c] = 1.0
            solve(plan, blocks, y)
            for e in range(6):
                inner_[e, c] = y[t, e]
    # out = S inner S^T, S = diag(scale, root)
    half = np.empty((6, 6))
    for e in range(6):
        for c in range(3):
            half[e, c] = scale * inner_[e, c]
            half[e, 3 + c] = (
                inner_[e, 3] * root[c, 0] + inner_[e, 4] * root[c, 1] + inner_[e, 5] * root[c, 2]
            )
    for e in range(3):
        for c in range(6):
            out[e, c] = scale * half[e, c]
            out[3 + e, c] = (
                root[e, 0] * half[3, c] + root[e, 1] * half[4, c] + root[e, 2] * half[5, c]
            )
    for e in range(6):  # the same both ways, to the last bit
        for c in range(e):
            out[e, c] = out[c, e] = 0.5 * (out[e, c] + out[c, e])
