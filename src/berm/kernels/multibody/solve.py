"""Solvers of rows, exchangeable by name: what they take is the same, and so is what they leave.

SWEEPS  Gauss-Seidel over all rows
DIRECT  all rows at once by Newton; friction as boxes, whose bounds follow the normals
HYBRID  sweeps over contacts, then joints and normals direct, last; mechanisms through their `port`
SPLIT   joints and normals direct, friction by Gauss-Seidel, in turns: as [Lacoursiere10] has it
AUTO    as HYBRID, but heaps of bodies without joints by sweeps alone: for small steps
BLOWS   as AUTO, and beside mechanisms too: loose bodies by sweeps, for `impacts` in a HYBRID step
Each island is solved apart. Where few bodies touch, HYBRID and AUTO are DIRECT.
A direct solve that has not converged, or that makes energy out of nothing, moves nothing: sweeps
answer in its place, and it is counted.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import Distant, bare, in_python, inner, jit
from berm.kernels.multibody.arrays import no_bodies
from berm.kernels.multibody.blocks import assemble, factor, no_plan, plan_for
from berm.kernels.multibody.contact_rows import NORMAL, rows_of
from berm.kernels.multibody.islands import find_islands
from berm.kernels.multibody.joints import SHARED
from berm.kernels.multibody.newton import FREE, make_room, newton, states
from berm.kernels.multibody.port import answer_loose, close_port, open_port
from berm.kernels.multibody.rows import make_rows, push_all
from berm.kernels.multibody.sweeps import effective, pressing, project, start_from, sweep

AUTO, SWEEPS, DIRECT, HYBRID, SPLIT, BLOWS = range(6)
MOST_NEWTON = 40  # factorisations: what has not converged by then seldom does
WHOLE = 10  # steps that a pile takes whole before it searches: DIRECT.md 2
BOX_PASSES = 4  # over the bounds of friction in a direct solve
BOX_SETTLED = 1e-3  # part by which the bounds may still change
BOX_CONTACTS = 40  # of an island: above, friction is swept
BOX_RESTLESS = 0.05  # the same after the last pass: more, and sweeps go on from there
BOX_FEW = 20  # of an island without, where there is a better way: boxes often do not converge
BOX_NEWTON = 30  # factorisations with boxes
MOST_DIRECT = 1000  # units of an island without joints: above, normals are swept
FALLBACK = 200  # sweeps in place of a direct solve that failed
MORE = 4  # times the sweeps in islands with few contacts
ROUNDS = 3  # of the split
PUSHED = 4.0  # times the energy of one contact's speed: neighbours go along
CLIPPED = 0.05  # part of friction outside of its cones after direct normals: more, and sweeps hold
THROWN, HURLED = 2.0, 2.0  # times the fastest of an island, and m/s: nothing is made faster
COOLINGS = 3  # times that impulses are looked at which would hurl something
GAIN = 1e-3  # of the energy: more out of nothing, and a solve has failed
UNEVEN = 50.0  # ratio of masses from which the hybrid goes as the split does
MOST_GRIPPED = 300  # bodies: in larger worlds grains meet each body by its own mass
# columns of the statistics
FACTORED, FAILED, SWEPT = range(3)
NSTATS = 3
# ways to go with an island
BY_SWEEPS, BY_BOXES, BY_HYBRID, BY_TURNS = range(4)


@bare
def bound_friction(rows, heads, low, high):
    """Bounds of friction from the normals of now; returns how far they moved, as a part."""
    moved, total = 0.0, 0.0
    for at in range(low, high):
        k = heads[at]
        if rows.part[k] != NORMAL:
            continue
        load = max(pressing(rows, k), 0.0)
        turns = rows_of(rows, k) > 3
        if turns:
            rows.lower[k + 5], rows.upper[k + 5] = -rows.mu[k + 5] * load, rows.mu[k + 5] * load
        for first in range(k + 1, k + (5 if turns else 3), 2):
            p, q = rows.lam[first], rows.lam[first + 1]
            size = math.sqrt(p * p + q * q)
            most = rows.mu[first] * load
            moved += abs(most - max(rows.upper[first], rows.upper[first + 1]))
            total += most
            for c in range(2):
                most = rows.mu[first + c] * load
                share = 1.0
                if size > most:  # outside its cone: the box that touches it there
                    share = abs(rows.lam[first + c]) / size
                rows.lower[first + c], rows.upper[first + c] = -most * share, most * share
    return moved / total if total > 0.0 else (1.0 if moved > 0.0 else 0.0)


@bare
def _way(method, rows, islands, i, bodies):
    """How to go with an island."""
    touching = islands.touching[i]
    if method == SWEEPS:
        return BY_SWEEPS
    if method == DIRECT:
        return BY_BOXES
    large = islands.units[i] > MOST_DIRECT
    if method == SPLIT and not large:
        return BY_TURNS
    few = BOX_CONTACTS if islands.jointed[i] or method != HYBRID else BOX_FEW
    if touching <= few and (islands.jointed[i] or not _rolls(rows, islands, i)):
        return BY_BOXES
    if not islands.jointed[i]:
        if method != HYBRID or large:
            return BY_SWEEPS
        if _uneven(rows, islands.heads, islands.first[i], islands.first[i + 1], bodies):
            return BY_TURNS  # what sweeps make of friction among uneven masses is noise
    return BY_HYBRID


@bare
def _rolls(rows, islands, i):
    """Whether a contact of an island resists rolling: boxes of that do not converge."""
    for at in range(islands.first[i], islands.first[i + 1]):
        k = islands.heads[at]
        if rows.part[k] == NORMAL and rows_of(rows, k) > 3:
            return True
    return False


@bare
def _uneven(rows, heads, low, high, bodies):
    """Whether units that touch or are joined differ in mass by more than UNEVEN."""
    light, heavy = 0.0, np.inf
    for k in range(low, high):
        for side in range(2):
            w = bodies.root_w[rows.units[heads[k], side]]
            if w > 0.0:
                light, heavy = max(light, w * w), min(heavy, w * w)
    return light > UNEVEN * heavy


@bare
def _is_direct(rows, k, way, large, arm):
    """Whether row k of an island goes into its direct solve."""
    if way == BY_SWEEPS:
        return False
    return not large or arm[rows.units[k, 0]] or arm[rows.units[k, 1]]


@bare
def _base(rows, heads, low, high, pick, first, last, u0, out):
    """Velocities of an island with the impulses of all of its rows but those that are picked."""
    _start_island(rows, heads, low, high, u0, out)
    for k in range(first, last):
        push_all(rows, pick[k], -rows.lam[pick[k]], out)


@bare
def _start_island(rows, heads, low, high, u0, out):
    """Velocities of an island with the impulses of all of its rows."""
    for at in range(low, high):
        k = heads[at]
        while k >= 0:
            for side in range(2):
                b = rows.units[k, side]
                for c in range(6):
                    out[b, c] = u0[b, c]
            k = rows.more[k]
    for at in range(low, high):
        k = heads[at]
        push_all(rows, k, rows.lam[k], out)
        if rows.part[k] == NORMAL:
            for e in range(k + 1, k + rows_of(rows, k)):
                push_all(rows, e, rows.lam[e], out)


@bare
def _cool(rows, heads, low, high, bodies, u0, u):
    """Let rows start from 0 where the last impulses would hurl what they act on.

    What is squeezed bears impulses far beyond its weight, which a turn of its contacts leaves
    without their counterpart; sweeps do not undo that. u: scratch.
    """
    for turn in range(COOLINGS):
        _start_island(rows, heads, low, high, u0, u)
        fast = 0.0
        for at in range(low, high):
            for side in range(2):
                fast = max(fast, _speed(rows.units[heads[at], side], bodies, u0))
        most, cooled = THROWN * fast + HURLED, False
        for at in range(low, high):
            k = heads[at]
            if rows.part[k] != NORMAL:
                continue
            a, b = rows.units[k, 0], rows.units[k, 1]
            if max(_speed(a, bodies, u), _speed(b, bodies, u)) <= most:
                continue
            cooled = True
            for e in range(k, k + rows_of(rows, k)):
                rows.lam[e] = 0.0
        if not cooled:
            return


@bare
def _speed(b, bodies, u):
    """Speed (m/s) of a unit's middle."""
    v = u[b]
    return bodies.root_w[b] * math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@bare
def _clip(rows, heads, low, high):
    """Bring friction back into the cones of the normals of now; return the part that was cut.

    Where a normal was unloaded by the direct solve, friction that was swept before would throw what
    it acts on: where much is cut, normals and friction do not belong together.
    """
    cut, total = 0.0, 0.0
    for at in range(low, high):
        k = heads[at]
        if rows.part[k] != NORMAL:
            continue
        load = max(pressing(rows, k), 0.0)
        turns = rows_of(rows, k) > 3
        if turns:
            most = rows.mu[k + 5] * load
            rows.lam[k + 5] = min(max(rows.lam[k + 5], -most), most)
        for first in range(k + 1, k + (5 if turns else 3), 2):
            p, q = rows.lam[first], rows.lam[first + 1]
            size = math.sqrt(p * p + q * q)
            p, q = project(p, q, rows.mu[first] * load, rows.mu[first + 1] * load)
            cut += size - math.sqrt(p * p + q * q)
            total += size
            rows.lam[first], rows.lam[first + 1] = p, q
    return cut / total if total > 0.0 else 0.0


@bare
def _keep(rows, heads, low, high, out):
    """Note the impulses of an island."""
    for at in range(low, high):
        k = heads[at]
        for e in range(k, k + (rows_of(rows, k) if rows.part[k] == NORMAL else 1)):
            out[e] = rows.lam[e]


@bare
def _forget(rows, heads, low, high):
    """Let the rows of an island start from 0."""
    for at in range(low, high):
        k = heads[at]
        for e in range(k, k + (rows_of(rows, k) if rows.part[k] == NORMAL else 1)):
            rows.lam[e] = 0.0


@bare
def _put_back(rows, heads, low, high, kept):
    """Give an island impulses that were noted."""
    for at in range(low, high):
        k = heads[at]
        for e in range(k, k + (rows_of(rows, k) if rows.part[k] == NORMAL else 1)):
            rows.lam[e] = kept[e]


@bare
def _gains(rows, heads, low, high, bodies, mass, u0, u, seen, mark):
    """Whether an island without joints has gained energy that none of its rows can have given.

    Friction that was swept before the normals were solved may push along the slip. seen (nb,):
    scratch, in which units of this island become mark.
    """
    before, after, given, fast, faster = 0.0, 0.0, 0.0, 0.0, 0.0
    for at in range(low, high):
        k = heads[at]
        if rows.part[k] != NORMAL:
            given += max(rows.lam[k] * rows.rhs[k], 0.0)
        else:  # overlaps are pushed apart with the speed of the right side
            given += PUSHED * max(rows.rhs[k], 0.0) ** 2 / mass[k]
            for e in range(k + 1, k + rows_of(rows, k)):
                given += max(rows.lam[e] * rows.rhs[e], 0.0)
        while k >= 0:
            for side in range(2):
                b = rows.units[k, side]
                if seen[b] != mark:
                    seen[b] = mark
                    w = bodies.root_w[b] * bodies.root_w[b]
                    for c in range(6):
                        before += u0[b, c] * u0[b, c]
                        after += u[b, c] * u[b, c]
                    fast = max(fast, w * (u0[b, 0] ** 2 + u0[b, 1] ** 2 + u0[b, 2] ** 2))
                    faster = max(faster, w * (u[b, 0] ** 2 + u[b, 1] ** 2 + u[b, 2] ** 2))
            k = rows.more[k]
    if math.sqrt(faster) > THROWN * math.sqrt(fast) + HURLED:
        return True
    return 0.5 * after > (1.0 + GAIN) * 0.5 * before + given


@inner
def _in_turns(
    rows, heads, low, high, pick, first, last, plan, g, blocks, free, mass, passes, u0, base, u,
    room, stats,
):  # fmt: skip
    """Solve an island as the paper's split does, friction fixed in direct solves; say whether."""
    for turn in range(ROUNDS + 1):
        if turn > 0:
            _start_island(rows, heads, low, high, u0, u)
            sweep(rows, heads, low, high, mass, u, passes, False)
        _clip(rows, heads, low, high)
        for k in range(first, last):
            row = pick[k]
            if rows.part[row] < NORMAL:
                rows.lower[row] = rows.upper[row] = rows.lam[row]
        _base(rows, heads, low, high, pick, first, last, u0, base)
        states(rows, pick, first, last, free)
        took = newton(
            rows, pick, first, last, plan, g, blocks, free, base, u, room, WHOLE, MOST_NEWTON
        )
        stats[FACTORED] += abs(took)
        if took < 0:
            return False
    return True


@jit
def solve_rows(method, rows, joint_rows, m, bodies, u0, u, plan, passes, stats):
    """Solve rows 0 to m from the free velocities u0; u receives the velocities. Returns the plan.

    Rows start from the impulses that they hold, and end with those of the solution. Velocities are
    those that the impulses make, so that momentum is kept to rounding whatever the solver.
    """
    nb = bodies.kind.shape[0]
    mass = np.empty(m)
    effective(rows, 0, m, mass)
    islands = find_islands(rows, joint_rows, m, bodies)
    heads, ni = islands.heads, islands.first.shape[0] - 1
    ways, groups = np.empty(ni, np.int64), np.zeros(ni + 1, np.int64)
    pick, count = np.empty(m, np.int64), np.int64(0)
    for i in range(ni):
        way = ways[i] = _way(method, rows, islands, i, bodies)
        # beside mechanisms, whose own rows go direct, loose bodies are swept
        large = way == BY_HYBRID and (
            islands.jointed[i] or islands.units[i] > MOST_DIRECT or method == BLOWS
        )
        for at in range(islands.first[i], islands.first[i + 1]):
            k = heads[at]
            if not _is_direct(rows, k, way, large, islands.arm):
                continue
            pick[count] = k
            count += 1
            if way == BY_BOXES and rows.part[k] == NORMAL:
                for e in range(k + 1, k + rows_of(rows, k)):
                    pick[count] = e
                    count += 1
        groups[i + 1] = count
    if count > 0:
        plan = plan_for(plan, rows, pick, groups, bodies)
    blocks = np.empty((plan.column.shape[0], 6, 6))
    room = make_room(nb, plan.body.shape[0], count)
    base, free = np.zeros((nb, 6)), np.empty(count, np.int64)
    for i in range(ni):
        _cool(rows, heads, islands.first[i], islands.first[i + 1], bodies, u0, u)
    kept, swept = rows.lam.copy(), np.empty_like(rows.lam)
    u[:] = 0.0
    seen = np.full(nb, -1, np.int64)
    for i in range(ni):
        low, high = islands.first[i], islands.first[i + 1]
        way, jointed = ways[i], islands.jointed[i]
        turns, whole, failed = np.int64(1), WHOLE, False
        many = passes * (MORE if islands.touching[i] <= BOX_CONTACTS else 1)  # they cost little
        if way == BY_BOXES:
            turns, whole = BOX_PASSES if islands.touching[i] > 0 else 1, 0
        elif way == BY_TURNS:
            turns = ROUNDS + 1
        for turn in range(turns):
            if way == BY_SWEEPS or way == BY_HYBRID or (way == BY_TURNS and turn > 0):
                _start_island(rows, heads, low, high, u0, u)
                if way == BY_HYBRID and jointed:
                    port = open_port(rows, heads, low, high, islands.arm, bodies, u0, u, stats)
                    effective(rows, joint_rows, m, mass)
                    sweep(rows, port.loose, 0, port.loose.shape[0], mass, u, many, True)
                    close_port(rows, port)
                    effective(rows, joint_rows, m, mass)
                    _start_island(rows, heads, low, high, u0, u)
                    answer_loose(rows, port, u, stats)
                else:
                    sweep(rows, heads, low, high, mass, u, many, way != BY_TURNS)
                stats[SWEPT] += many
                if way == BY_HYBRID:
                    _keep(rows, heads, low, high, swept)
            if groups[i] == groups[i + 1]:
                break
            if way == BY_BOXES:
                moved = bound_friction(rows, heads, low, high)
                if turn > 0 and moved < BOX_SETTLED:
                    break
            _base(rows, heads, low, high, pick, groups[i], groups[i + 1], u0, base)
            states(rows, pick, groups[i], groups[i + 1], free)
            took = newton(
                rows, pick, groups[i], groups[i + 1], plan, i, blocks, free, base, u, room, whole,
                BOX_NEWTON if way == BY_BOXES and not jointed else MOST_NEWTON,
            )  # fmt: skip
            stats[FACTORED] += abs(took)
            if took < 0:
                failed = True
                break
        if way != BY_SWEEPS and islands.touching[i] > 0 and not failed:
            if way == BY_BOXES and not jointed:
                if bound_friction(rows, heads, low, high) > BOX_RESTLESS:
                    _start_island(rows, heads, low, high, u0, u)
                    sweep(rows, heads, low, high, mass, u, many, True)
            if not jointed:  # joints come last: what is cut after them would open them
                cut = _clip(rows, heads, low, high)
                if way == BY_HYBRID and cut > CLIPPED:
                    _put_back(rows, heads, low, high, swept)
                _start_island(rows, heads, low, high, u0, u)
                failed = _gains(rows, heads, low, high, bodies, mass, u0, u, seen, i)
        if failed:
            stats[FAILED] += 1
            _put_back(rows, heads, low, high, kept)
            done = False
            if jointed:  # sweeps would tear it apart
                done = _in_turns(
                    rows, heads, low, high, pick, groups[i], groups[i + 1], plan, i, blocks, free,
                    mass, passes, u0, base, u, room, stats,
                )  # fmt: skip
            if not done:
                _put_back(rows, heads, low, high, kept)
                _start_island(rows, heads, low, high, u0, u)
                sweep(rows, heads, low, high, mass, u, FALLBACK if jointed else 2 * many, True)
                if not jointed and _gains(
                    rows, heads, low, high, bodies, mass, u0, u, seen, ni + i
                ):
                    _forget(rows, heads, low, high)
                    _start_island(rows, heads, low, high, u0, u)
                    sweep(rows, heads, low, high, mass, u, 2 * many, True)
    u[:] = u0
    start_from(rows, 0, m, u)
    return plan


def _sample():
    """Arguments of the types that `solve_rows` is for."""
    rows, plan = in_python(make_rows)(1), in_python(no_plan)(1)
    u = np.zeros((1, 6))
    return AUTO, rows, 0, 0, no_bodies(), u, u, plan, 0, np.zeros(NSTATS)


DISTANT = Distant(solve_rows, _sample)
call_solver = DISTANT.call


@jit
def grip(rows, m, bodies, plan):
    """Factor of the rows that hold at the present impulses: what a further push would meet.

    Joints within their bounds, contacts that press, and friction that sticks. Returns the plan and
    its blocks for `newton.mobility`, all in one group.
    """
    pick, n = np.empty(m, np.int64), np.int64(0)
    if bodies.kind.shape[0] <= MOST_GRIPPED:
        for k in range(m):
            p = rows.lam[k]
            if rows.part[k] == SHARED:
                continue
            if rows.part[k] < NORMAL:
                normal = rows.parent[k]
                one = k if (k - normal) % 2 == 1 else k - 1
                most = rows.mu[one] * pressing(rows, normal)
                two = 0.0 if k == normal + 5 else rows.lam[one + 1]
                holds = math.hypot(rows.lam[one], two) < 0.999 * most
            else:
                holds = rows.lower[k] < p < rows.upper[k]
            if holds:
                pick[n] = k
                n += 1
    groups = np.array([0, n])
    plan = plan_for(plan, rows, pick, groups, bodies)
    blocks = np.empty((plan.column.shape[0], 6, 6))
    free = np.full(n, FREE, np.int64)
    assemble(plan, 0, rows, pick, 0, n, free, blocks)
    if not factor(plan, 0, blocks):  # cannot be: 1 + a square; then each by its own mass
        plan.turn[:] = -1
    return plan, blocks
