"""A substep of rigid bodies: contacts and rows at the present poses, solve, move, keep.

`open_substep` says how the bodies would move if grains did nothing; a grain solver then asks for
the mobilities of those that it touches, and `close_substep` moves them all with what grains gave.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from berm.kernels.jit import inner, jit
from berm.kernels.multibody.blocks import no_plan
from berm.kernels.multibody.broad_phase import centres, near_pairs
from berm.kernels.multibody.contact_list import blows
from berm.kernels.multibody.contact_rows import (
    GIVE,
    ROWS_A_CONTACT,
    contact_rows,
    keep_contacts,
    smaller,
)
from berm.kernels.multibody.impacts import bounce, strikes
from berm.kernels.multibody.joints import add_loads, joint_rows, keep_joints, place_joints
from berm.kernels.multibody.merging import judge
from berm.kernels.multibody.motion import (
    add_impulse,
    free_velocities,
    is_finite,
    move_bodies,
    stiffen,
    velocity_of,
)
from berm.kernels.multibody.narrow_phase import (
    MARGIN,
    find_contacts,
    make_contacts,
    recall,
    remember,
)
from berm.kernels.multibody.newton import mobility
from berm.kernels.multibody.rows import make_rows
from berm.kernels.multibody.solve import NSTATS, call_solver, grip
from berm.kernels.multibody.sweeps import effective, residual

ROWS_A_JOINT = 12
PASSED_ON = 2  # times that a blow is passed on to the next body within a substep
# columns of the statistics behind those of `solve`: of the last solve, m/s; contacts of bodies; the
# deepest, m; and the same as part of the smaller body's size, of those that are not soft on purpose
RESIDUAL, MET, DEEPEST, SHARE = range(NSTATS, NSTATS + 4)
NSTATS_A_STEP = NSTATS + 4


class Solids(NamedTuple):
    """Surfaces of bodies as other bodies meet them: see `sample_contacts`.

    ball (nb, 4), box (nb, 6): around a shape, in its frame; ball[b, 3] < 0: it has no end.
    apart: see `near_pairs`; group (nb,): bodies of one group from 0 up do not meet, -1 meets all.
    """

    samples: Any
    first: Any
    corners: Any
    ball: Any
    shaped: Any
    apart: Any
    box: Any


class Means(NamedTuple):
    """How rows are made and solved.

    solver: address of `solve.solve_rows`; method, passes: see there; law, par: see `contact_rows`;
    meet: whether bodies are looked at for contacts with each other; quiet: thresholds of `merging`,
    zeros where nothing is merged.
    """

    solver: Any
    method: Any
    passes: Any
    law: Any
    par: Any
    meet: Any
    quiet: Any


@jit
def touching(bodies, shapes, solids, h, meet):
    """All contacts between bodies within h (s)."""
    if not meet:
        return make_contacts(1)
    nb = bodies.kind.shape[0]
    balls, pushed = np.empty((nb, 4)), np.zeros((nb, 3))
    pairs, contacts = np.empty((8 * nb + 16, 2), np.int64), make_contacts(1)
    anew = np.ones(nb, np.bool_)
    for turn in range(PASSED_ON + 1):
        centres(bodies, solids.ball, h, MARGIN, pushed, balls)
        count = near_pairs(bodies, solids.shaped, balls, solids.apart, pairs)
        if count > pairs.shape[0]:
            pairs = np.empty((count, 2), np.int64)
            count = near_pairs(bodies, solids.shaped, balls, solids.apart, pairs)
        old, contacts = contacts, make_contacts(8 * count + 16)
        find_contacts(pairs, count, balls, bodies, shapes, solids, h, pushed, old, anew, contacts)
        if contacts.n[0] > contacts.gap.shape[0]:
            contacts = make_contacts(contacts.n[0])
            find_contacts(
                pairs, count, balls, bodies, shapes, solids, h, pushed, old, anew, contacts
            )
        if turn == PASSED_ON or not blows(
            contacts, bodies, solids.ball, h, MARGIN, pushed, anew
        ):
            break
    return contacts


@jit
def open_substep(bodies, joints, tags, shapes, solids, means, gravity, h, memory, plan, stats):
    """Rows at the present poses, and the velocities u of the coming h (s) if grains do nothing.

    memory: what `close_substep` returned last. Returns contacts, rows, how many of them are of
    joints and in all, the free velocities u0, u, and the plan.
    """
    nb, nj = bodies.kind.shape[0], joints.kind.shape[0]
    axes = np.empty((3, 3))
    place_joints(joints, bodies, axes)
    stiffen(joints, bodies, h)
    contacts = touching(bodies, shapes, solids, h, means.meet)
    recall(contacts, tags, memory)
    rows = make_rows(ROWS_A_JOINT * nj + ROWS_A_CONTACT * contacts.n[0] + ROWS_A_CONTACT)
    of_joints, m = np.int64(0), np.int64(0)
    for turn in range(2):
        of_joints = joint_rows(joints, bodies, h, rows, np.int64(0), axes)
        m = contact_rows(contacts, bodies, means.law, gravity, h, means.par, rows, of_joints)
        if turn == 1 or not strikes(
            contacts, bodies, rows, of_joints, m, means.law, means.par, h
        ):
            break
        bounce(contacts, joints, bodies, rows, of_joints, m, means, gravity, h, stats)
    u0, u = np.empty((nb, 6)), np.empty((nb, 6))
    free_velocities(bodies, gravity, h, u0)
    plan = call_solver(
        means.solver, (means.method, rows, of_joints, m, bodies, u0, u, plan, means.passes, stats)
    )
    return contacts, rows, of_joints, m, u0, u, plan


@jit
def solve_again(bodies, rows, of_joints, m, means, push, u0, u, plan, stats):
    """Solve once more, with the impulses (nb, 6) that grains gave about the centres."""
    for b in range(bodies.kind.shape[0]):
        if bodies.w[b] > 0.0:
            add_impulse(b, bodies, push[b], u0)
    return call_solver(
        means.solver, (means.method, rows, of_joints, m, bodies, u0, u, plan, means.passes, stats)
    )


@jit
def close_substep(
    bodies, joints, tags, contacts, rows, of_joints, m, u, h, share, joint_load, by_bodies,
    by_joints,
):  # fmt: skip
    """Keep impulses, note mean forces (share: 1 / step, 1/s), and move; return the new memory."""
    keep_joints(joints, bodies, rows, 0, of_joints, h)
    add_loads(joints, bodies, rows, 0, of_joints, share, joint_load, by_joints)
    keep_contacts(contacts, bodies, rows, of_joints, m, share, by_bodies)
    memory = remember(contacts, tags, bodies)
    move_bodies(bodies, u, h)
    place_joints(joints, bodies, np.empty((3, 3)))
    return memory


@jit
def advance(
    bodies, joints, tags, shapes, solids, means, gravity, h, substeps, share, memory, joint_load,
    by_bodies, by_joints, stats,
):  # fmt: skip
    """Advance bodies alone by substeps of h (s); return the memory and the first bad body or -1.

    share (1/s): of an impulse in the mean forces. stats: of `solve`, the residual of the last solve
    (m/s), how many contacts, and the deepest of them (m, and of the smaller body's size).
    """
    plan = no_plan(bodies.kind.shape[0])
    for turn in range(substeps):
        contacts, rows, of_joints, m, _, u, plan = open_substep(
            bodies, joints, tags, shapes, solids, means, gravity, h, memory, plan, stats
        )
        if turn == substeps - 1 and m > 0:
            mass = np.empty(m)
            effective(rows, 0, m, mass)
            stats[RESIDUAL] = residual(rows, 0, m, mass, u)
        stats[MET] = contacts.n[0]
        for k in range(contacts.n[0]):
            stats[DEEPEST] = max(stats[DEEPEST], -contacts.gap[k])
            a, b = contacts.a[k], contacts.b[k]
            soft = means.law[bodies.material[a], bodies.material[b], GIVE] > 0.0
            if contacts.gap[k] < 0.0 and not soft:
                part = -contacts.gap[k] / (2.0 * smaller(a, b, bodies))
                stats[SHARE] = max(stats[SHARE], part)
        memory = close_substep(
            bodies, joints, tags, contacts, rows, of_joints, m, u, h, share, joint_load, by_bodies,
            by_joints,
        )  # fmt: skip
        if means.quiet[0] > 0.0:
            judge(contacts, rows, of_joints, m, bodies, gravity, h, means.quiet, memory)
    return memory, is_finite(bodies)


@jit
def deepest(bodies, shapes, solids, new):
    """Rows and overlap (m) of the deepest contact of which one body is new; -1: none."""
    contacts = touching(bodies, shapes, solids, 0.0, new.shape[0] > 0)
    a, b, most = -1, -1, 0.0
    for k in range(contacts.n[0]):
        i, j = contacts.a[k], contacts.b[k]
        if -contacts.gap[k] > most and (new[i] or new[j]):
            a, b, most = i, j, -contacts.gap[k]
    return a, b, most


# ---- for solvers that go through substeps in Python -----------------------------------------


@jit
def begin(bodies, joints, tags, shapes, solids, means, gravity, h, memory, stats):
    """`open_substep` by itself; see there."""
    plan = no_plan(bodies.kind.shape[0])
    return open_substep(
        bodies, joints, tags, shapes, solids, means, gravity, h, memory, plan, stats
    )


@jit
def end(
    bodies, joints, tags, contacts, rows, of_joints, m, means, push, u0, u, plan, h, share,
    joint_load, by_bodies, by_joints, stats,
):  # fmt: skip
    """Solve again with what grains gave (N s) and close; return memory, first bad body or -1."""
    solve_again(bodies, rows, of_joints, m, means, push, u0, u, plan, stats)
    memory = close_substep(
        bodies, joints, tags, contacts, rows, of_joints, m, u, h, share, joint_load, by_bodies,
        by_joints,
    )  # fmt: skip
    stats[MET] = contacts.n[0]
    return memory, is_finite(bodies)


@inner
def velocities(bodies, u, out):
    """Velocities and angular velocities (nb, 6) of all bodies from u."""
    for b in range(u.shape[0]):
        velocity_of(b, bodies, u, out[b])


@jit
def velocities_of(bodies, u, out):
    """`velocities` by itself."""
    velocities(bodies, u, out)


@jit
def mobilities(bodies, rows, m, plan, touched, out):
    """Fill out (nb, 6, 6) for the bodies that are touched; see `newton.mobility`."""
    plan, blocks = grip(rows, m, bodies, plan)
    for b in range(touched.shape[0]):
        if touched[b]:
            mobility(b, bodies, plan, blocks, out[b])


@jit
def mobilities_of(bodies, rows, m, touched, out):
    """`mobilities` by itself."""
    mobilities(bodies, rows, m, no_plan(bodies.kind.shape[0]), touched, out)


@jit
def meet(bodies, rows, of_joints, m, means, push, u0, u, plan, touched, speed, mobility, stats):
    """How bodies move with what grains gave so far (N s), and what a further push would meet.

    u0 stays what it is; speed (nb, 6) and mobility (nb, 6, 6) receive the answer.
    """
    solve_again(bodies, rows, of_joints, m, means, push, u0.copy(), u, plan, stats)
    velocities(bodies, u, speed)
    mobilities(bodies, rows, m, no_plan(bodies.kind.shape[0]), touched, mobility)
