"""Solvers of rows, exchangeable by name: what they take is the same, and so is what they leave.

SWEEPS  Gauss-Seidel over all rows
DIRECT  all rows at once by Newton; friction as boxes, whose bounds follow the normals
HYBRID  sweeps over all rows, then joints and normals direct, last
SPLIT   joints and normals direct, friction by Gauss-Seidel, in turns: as [Lacoursiere10] has it
AUTO    mechanisms, and other bodies of which few hang together, direct (hybrid where they touch
        much); heaps of bodies without joints by sweeps
A direct solve that has not converged moves nothing: sweeps answer in its place, and it is counted.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import inner, jit
from berm.kernels.multibody.arrays import DYNAMIC
from berm.kernels.multibody.blocks import assemble, factor, plan_for
from berm.kernels.multibody.contact_rows import NORMAL
from berm.kernels.multibody.joints import SHARED
from berm.kernels.multibody.newton import AT_LOWER, FREE, newton, states
from berm.kernels.multibody.rows import push_all
from berm.kernels.multibody.sweeps import effective, start_from, sweep

AUTO, SWEEPS, DIRECT, HYBRID, SPLIT = range(5)
MOST_NEWTON = 100  # factorisations
WHOLE = 10  # steps that a pile takes whole before it searches: DIRECT.md 2
BOX_PASSES = 4  # over the bounds of friction in a direct solve
BOX_SETTLED = 1e-3  # part by which the bounds may still change
BOX_CONTACTS = 40  # contacts of mechanisms: above, their friction is swept
HEAP = 200  # contacts of bodies that hang together without joints: above, they are swept
MOST_DIRECT = 1000  # contacts of all such groups: what is beyond is swept
FALLBACK = 200  # sweeps in place of a direct solve that failed
ROUNDS = 3  # of the split
UNEVEN = 50.0  # ratio of masses from which the hybrid goes as the split does
MOST_GRIPPED = 300  # bodies: in larger worlds grains meet each body by its own mass
# columns of the statistics
FACTORED, FAILED, SWEPT = range(3)
NSTATS = 3


@inner
def _find(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@inner
def mechanisms(rows, joint_rows, m, bodies, few, jointed):
    """Mark the bodies that hang together with a joint, and other groups with few contacts."""
    nb = bodies.kind.shape[0]
    parent = np.arange(nb)
    for k in range(m):
        head = rows.parent[k] if rows.part[k] == SHARED else k
        a, b = rows.ends[k, 0], rows.ends[k, 1]
        for side in range(2):
            e = rows.ends[head, side]
            for other in (a, b):
                if bodies.kind[e] == DYNAMIC and bodies.kind[other] == DYNAMIC:
                    parent[_find(parent, e)] = _find(parent, other)
    has = np.zeros(nb, np.bool_)
    for k in range(joint_rows):
        for side in range(2):
            e = rows.ends[k, side]
            if bodies.kind[e] == DYNAMIC:
                has[_find(parent, e)] = True
    touching = np.zeros(nb, np.int64)
    for k in range(joint_rows, m):
        if rows.part[k] == NORMAL:
            e = rows.ends[k, 0] if bodies.kind[rows.ends[k, 0]] == DYNAMIC else rows.ends[k, 1]
            touching[_find(parent, e)] += 1
    total = 0
    for b in range(nb):
        if touching[b] <= few and total + touching[b] <= MOST_DIRECT:
            total += touching[b]
            has[b] = True
    for b in range(nb):
        jointed[b] = bodies.kind[b] == DYNAMIC and has[_find(parent, b)]


@inner
def _bounds(rows, first, last):
    """Bounds of friction from the normals of now; returns how far they moved, as a part."""
    moved, total = 0.0, 0.0
    for k in range(first, last):
        if rows.part[k] != NORMAL:
            continue
        most = rows.mu[k + 1] * rows.lam[k]
        p, q = rows.lam[k + 1], rows.lam[k + 2]
        size = math.sqrt(p * p + q * q)
        moved += abs(most - max(rows.upper[k + 1], rows.upper[k + 2]))
        total += most
        for c in range(1, 3):
            share = 1.0
            if size > most:  # outside its cone: the box that touches it there
                share = abs(rows.lam[k + c]) / size
            rows.lower[k + c], rows.upper[k + c] = -most * share, most * share
    return moved / total if total > 0.0 else (1.0 if moved > 0.0 else 0.0)


@inner
def _base(rows, m, pick, count, u0, out):
    """Velocities with the impulses of all rows but those that are picked."""
    out[:] = u0
    start_from(rows, 0, m, out)
    for k in range(count):
        push_all(rows, pick[k], -rows.lam[pick[k]], out)


@inner
def _sort_rows(method, rows, joint_rows, m, bodies, heads, others):
    """Rows that are answered by themselves: which go direct (or all alike), and which by sweeps.

    Joints, and normals for the whole contact. Returns how many there are of each, and how many of
    the first are contacts.
    """
    n, rest, touching = np.int64(0), np.int64(0), np.int64(0)
    jointed = np.zeros(bodies.kind.shape[0], np.bool_)
    automatic = method == AUTO
    if automatic:
        mechanisms(rows, joint_rows, m, bodies, HEAP, jointed)
    for k in range(m):
        if rows.part[k] < NORMAL or rows.part[k] == SHARED:
            continue
        apart = automatic and not (jointed[rows.ends[k, 0]] or jointed[rows.ends[k, 1]])
        if method == SWEEPS or (apart and rows.part[k] == NORMAL):
            others[rest] = k
            rest += 1
        else:
            heads[n] = k
            n += 1
            if rows.part[k] == NORMAL:
                touching += 1
    return n, rest, touching


@jit
def solve_rows(method, rows, joint_rows, m, bodies, u0, u, plan, passes, stats):
    """Solve rows 0 to m from the free velocities u0; u receives the velocities. Returns the plan.

    Rows start from the impulses that they hold, and end with those of the solution. Velocities are
    those that the impulses make, so that momentum is kept to rounding whatever the solver.
    """
    mass = np.empty(m)
    effective(rows, 0, m, mass)
    heads, others = np.empty(m, np.int64), np.empty(m, np.int64)
    n, rest, touching = _sort_rows(method, rows, joint_rows, m, bodies, heads, others)
    boxes = method == DIRECT or (method != HYBRID and method != SPLIT and touching <= BOX_CONTACTS)
    turns, whole, by_turns = np.int64(1), WHOLE, False
    if boxes:
        turns, whole = BOX_PASSES if touching > 0 else 1, 0
    elif method == SPLIT or (touching > 0 and _uneven(rows, heads, n, bodies)):
        # what sweeps over all rows make of friction among uneven masses is noise
        turns, by_turns = ROUNDS + 1, True
    pick, count = np.empty(3 * n, np.int64), np.int64(0)
    for k in range(n):
        pick[count] = heads[k]
        count += 1
        if boxes and rows.part[heads[k]] == NORMAL:
            pick[count], pick[count + 1] = heads[k] + 1, heads[k] + 2
            count += 2
    base, free, kept = np.empty_like(u0), np.empty(count, np.int64), rows.lam.copy()
    for turn in range(-1, turns if n > 0 else 0):
        # sweeps: first over those that are not direct and, of the hybrid, over all; of the split,
        # over friction between two direct solves
        first = turn < 0
        swept = others if first else heads
        size = rest if first else (n if by_turns and turn > 0 else np.int64(0))
        if first and n > 0 and not boxes and not by_turns:
            for k in range(n):
                others[rest + k] = heads[k]
            size = rest + n
        if size > 0:
            if first:
                u[:] = u0
                start_from(rows, 0, m, u)
            sweep(rows, swept, size, mass, u, passes, first)
            stats[SWEPT] += passes
        if first:
            continue
        if boxes:
            moved = _bounds(rows, 0, m)
            if turn > 0 and moved < BOX_SETTLED:
                break
        plan = plan_for(plan, rows, pick, count, bodies)
        blocks = np.empty((plan.turn.shape[0], 6, 6))
        _base(rows, m, pick, count, u0, base)
        states(rows, pick, count, free)
        u[:] = base
        took = newton(rows, pick, count, plan, blocks, free, base, u, whole, MOST_NEWTON)
        stats[FACTORED] += abs(took)
        if took < 0:
            stats[FAILED] += 1
            rows.lam[:] = kept
            u[:] = u0
            start_from(rows, 0, m, u)
            sweep(rows, heads, n, mass, u, FALLBACK, True)
            break
    u[:] = u0
    start_from(rows, 0, m, u)
    return plan


@inner
def _uneven(rows, heads, count, bodies):
    """Whether bodies that touch or are joined differ in mass by more than UNEVEN."""
    light, heavy = 0.0, np.inf
    for k in range(count):
        for side in range(2):
            w = bodies.w[rows.ends[heads[k], side]]
            if w > 0.0:
                light, heavy = max(light, w), min(heavy, w)
    return light > UNEVEN * heavy


@jit
def grip(rows, m, bodies, plan):
    """Factor of the rows that hold at the present impulses: what a further push would meet.

    Joints within their bounds, contacts that press, and friction that sticks. Returns the plan and
    its blocks for `newton.mobility`.
    """
    pick, n = np.empty(m, np.int64), np.int64(0)
    if bodies.kind.shape[0] <= MOST_GRIPPED:
        for k in range(m):
            p = rows.lam[k]
            if rows.part[k] == SHARED:
                continue
            if rows.part[k] < NORMAL:
                one = rows.parent[k] + 1
                most = rows.mu[one] * rows.lam[rows.parent[k]]
                holds = math.hypot(rows.lam[one], rows.lam[one + 1]) < 0.999 * most
            elif rows.part[k] == NORMAL:
                holds = p > 0.0
            else:
                holds = rows.lower[k] < p < rows.upper[k]
            if holds:
                pick[n] = k
                n += 1
    plan = plan_for(plan, rows, pick, n, bodies)
    blocks = np.empty((plan.turn.shape[0], 6, 6))
    free = np.full(n, FREE, np.int64)
    assemble(plan, rows, pick, n, free, blocks)
    if not factor(plan, blocks):  # cannot be: 1 + a square; then each by its own mass
        plan.local[:] = AT_LOWER
    return plan, blocks
