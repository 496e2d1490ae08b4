"""P2 with bodies that move: substeps of the sweeps in which contacts move grain and body alike.

In each substep the bodies say how they move if grains do nothing (`kernels.multibody.substep`), the
contacts with them are found (or go along with their bodies while they hold, `p2.body_ways`), and
the sweeps of `p2.sweep` are followed by passes over those contacts, one after the other in float64
(`p2.body_contacts`), so that light bodies do not overshoot and momentum is handed over exactly.
Python is not entered.

**Deviation** from print, Sec. 6.6: there the grains meet a wall, and (34) is then applied to the
body as an external force; that is unstable for bodies not much heavier than the grains on them.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.geometry.distance import POSE
from berm.kernels.jit import bare, inner, pjit, prange
from berm.kernels.multibody.blocks import no_plan
from berm.kernels.multibody.motion import is_finite
from berm.kernels.multibody.newton import mobility
from berm.kernels.multibody.solve import grip
from berm.kernels.multibody.substep import MET, close_substep, open_substep, solve_again
from berm.kernels.p2.body_contacts import start_bodies, take_back, touch_bodies, weigh_bodies
from berm.kernels.p2.body_ways import (
    move_planes,
    note_near,
    paces,
    place_rows,
    run_belts,
    strayed,
    way_of_bodies,
)
from berm.kernels.p2.law import FRACTION, INV_H, KEEP, LAST, MEMORY, OFF, SHARE, STATS, WEIGHT
from berm.kernels.p2.sweep import (
    clear_warm,
    gather_warm,
    leave_slab,
    move_slab,
    predict_slab,
    sweep_slab,
)
from berm.kernels.walls.find import find
from berm.kernels.walls.poses import flat_poses

PASSES = 4  # over the contacts with bodies, which are few, for one over those of the grains


@inner
def _bench(nb):
    """Room for what a substep needs of each body; not made in a parallel function, see `advance`.

    Poses, speeds, paces, turning, mobilities, displacement by the remembered part of the impulses
    and by all of them, impulses, whether touched, scratch.
    """
    return (
        np.zeros((nb, POSE)), np.zeros((nb, 6)), np.zeros((nb, 3)), np.zeros((nb, 3)),
        np.zeros((nb, 6, 6)), np.zeros((nb, 6)), np.zeros((nb, 6)), np.zeros((nb, 6)),
        np.zeros(nb, np.bool_), np.empty(6),
    )  # fmt: skip


@bare
def _touched_by(touches, touched):
    """Mark the bodies that contacts are with; return whether there are any."""
    for b in range(touched.shape[0]):
        touched[b] = False
    some = False
    for s in range(touches.count.shape[0]):
        for j in range(touches.count[s]):
            touched[touches.body[s, j]] = True
            some = True
    return some


@inner
def _mobilities(bodies, rows, m, plan, touched, out):
    """Fill out (nb, 6, 6) for the bodies that are touched; return the plan, for the next time."""
    plan, blocks = grip(rows, m, bodies, plan)
    for b in range(touched.shape[0]):
        if touched[b]:
            mobility(b, bodies, plan, blocks, out[b])
    return plan


@bare
def _clear(kept, full, push):
    for b in range(push.shape[0]):
        for c in range(6):
            kept[b, c], full[b, c], push[b, c] = 0.0, 0.0, 0.0


@bare
def _remember(memory, full, kept):
    for b in range(full.shape[0]):
        for c in range(6):
            kept[b, c] = memory * full[b, c]


@inner
def _room_for(weights, touches):
    """Room for the weights of all contacts: the same while it is large enough."""
    n, cap = touches.rows.shape
    if weights.shape[0] == n and weights.shape[1] >= cap:
        return weights
    return np.empty((n, cap, 12))


@bare
def _given(bodies, touched, push, h, share, load):
    """From displacements to impulses (N s), and their mean forces; whether there are any."""
    some = False
    for b in range(push.shape[0]):
        for c in range(6):
            push[b, c] /= h
            some = some or push[b, c] != 0.0
        if touched[b]:
            _note_load(b, bodies, push, share, load)
    return some


@bare
def _note_load(b, bodies, push, share, load):
    """Add share (1/s) times the impulse on body b to its mean force, about its origin."""
    rx = bodies.x[b, 0] - bodies.org[b, 0]
    ry = bodies.x[b, 1] - bodies.org[b, 1]
    rz = bodies.x[b, 2] - bodies.org[b, 2]
    fx, fy, fz = share * push[b, 0], share * push[b, 1], share * push[b, 2]
    load[b, 0] += fx
    load[b, 1] += fy
    load[b, 2] += fz
    load[b, 3] += share * push[b, 3] + ry * fz - rz * fy
    load[b, 4] += share * push[b, 4] + rz * fx - rx * fz
    load[b, 5] += share * push[b, 5] + rx * fy - ry * fx


@pjit
def advance(
    slabs, pairs, grains, soil, walls, kinds, par, base_flags, iterations, span, memory, again,
    holds, keeps, ref, stats, search, touches, near, bodies, joints, tags, shapes, solids, means,
    gravity, h, known, loads, multi_stats,
):  # fmt: skip
    """Substeps `begin` to `end` of grains and bodies; return the next one to do, and the memory.

    As `p2.sweep.solve`. span = (start, first, begin, end, substeps, leave): at the start, rows are
    made of x and v; contacts with walls were found at `first`; to leave is to write x and v, as
    the last substep does. again: contacts of pairs or walls were found since, so that what they do
    is summed again; holds: rows hold what the contacts of touches[2] do; keeps: those still hold
    as far as `near` says. search = (alone, skin, which, scratch, use_old_row, old_row): how
    contacts with the dynamic bodies `which` are found. touches: three `Touches`; the first two are
    filled in turns, beginning from the third. known: memory of the contacts between bodies.
    loads = (joint_load, by_bodies, by_joints, by_grains).

    Returns the next substep, the memory, how many searches found room, whether the last one did,
    `holds`, `keeps`, and the first body that is not finite or -1. Ends early where a grain has left
    the way that the list covers, or contacts found no room: then nothing of that substep was done.

    Loops over bodies are in functions of their own: here numba would make each line about arrays a
    parallel loop, at more than its cost.
    """
    slab, part, colour, turn = slabs
    lanes, ptr, nbr, imp = pairs
    x, v, row, warm = grains
    mat, nmat, common, table = soil
    w_count, w_rows, w_body, w_plane, w_imp, w_total = walls
    start, first, begin, end, substeps, leave = span
    alone, skin, which, scratch, use_old_row, old_row = search
    joint_load, by_bodies, by_joints, by_grains = loads
    n, nb = slab.shape[0] - 1, bodies.kind.shape[0]
    par[WEIGHT] = par[INV_H] * par[INV_H] / substeps
    ahead = substeps - first
    par[SHARE] = 1.0 / ahead
    par[KEEP] = memory
    par[MEMORY] = memory
    if start and again:
        for number in prange(n):
            s = np.int64(number)  # one type, one compile
            clear_warm(s, slab, warm)
        for c in range(colour.shape[0] - 1):
            for k in prange(colour[c], colour[c + 1]):
                gather_warm(turn[k], part, lanes, ptr, nbr, imp, v, warm, w_count, w_rows, w_imp)
    if start:
        for number in prange(n):
            s = np.int64(number)
            predict_slab(s, slab, x, v, warm, row, par, again)
    plan, gripped = no_plan(nb), no_plan(nb)
    poses, speed, pace, omega, give, kept, full, push, touched, six = _bench(nb)
    weights, share = np.empty((0, 0, 12)), 1.0 / (h * substeps)
    left = np.empty(n, np.bool_)
    new, other, old = touches
    done, fits, searches, off = begin, True, 0, 0.0
    while done < end and off == 0.0:
        contacts, rows, of_joints, m, u0, u, plan = open_substep(
            bodies, joints, tags, shapes, solids, means, gravity, h, known, plan, multi_stats
        )
        paces(bodies, u, speed, pace, omega)
        seek = not keeps
        if keeps:
            way = way_of_bodies(which, bodies, solids.ball, speed, h, near.place)
            seek = strayed(
                alone, slab, old, row, bodies, pace, omega, h, skin, way, near, left
            )
        if seek:
            flat_poses(which, bodies.org, bodies.rot, pace, omega, 0.0, h, poses)
            if done > first:
                place_rows(slab, row, x, v)
            if holds:
                take_back(old, row, memory, np.float32(-1.0))
            fits = find(
                alone, x, v, slab, h, gravity, skin, which, poses, shapes, scratch, use_old_row,
                old_row, new, old,
            )  # fmt: skip
            keeps = fits
            if not fits:
                if holds:
                    take_back(old, row, memory, np.float32(1.0))
                break
            take_back(new, row, memory, np.float32(1.0))
            use_old_row, holds = False, True
            new, other, old = other, new, new
            searches += 1
            note_near(old, slab, row, which, bodies, near)
        else:
            if not holds:
                take_back(old, row, memory, np.float32(1.0))
                holds = True
            move_planes(old, bodies, pace, omega, h, row, near.frames)
        run_belts(old, bodies, h)
        some = _touched_by(old, touched)
        _clear(kept, full, push)
        if some:
            gripped = _mobilities(bodies, rows, m, gripped, touched, give)
            weights = _room_for(weights, old)
            weigh_bodies(old, row, bodies.x, give, weights, six)
            start_bodies(old, weights, give, full, six)
            _remember(np.float64(memory), full, kept)
        par[FRACTION] = (done - first) / ahead
        flags = base_flags
        for it in range(iterations):
            flags = base_flags
            par[MEMORY] = memory if it == 0 else 1.0
            if it == iterations - 1:
                flags |= LAST
                if done == substeps - 1:
                    flags |= STATS
            if alone:
                for k in range(n):
                    sweep_slab(
                        turn[k], part, lanes, ptr, nbr, imp, row, mat, nmat, common, table,
                        w_count, w_rows, w_body, w_plane, w_imp, w_total, kinds, par, flags, stats,
                    )  # fmt: skip
            else:
                for c in range(colour.shape[0] - 1):
                    for k in prange(colour[c], colour[c + 1]):
                        sweep_slab(
                            turn[k], part, lanes, ptr, nbr, imp, row, mat, nmat, common, table,
                            w_count, w_rows, w_body, w_plane, w_imp, w_total, kinds, par, flags,
                            stats,
                        )  # fmt: skip
            if some:
                for turns in range(PASSES):
                    last = turns == PASSES - 1
                    touch_bodies(
                        old, weights, row, mat, nmat, kinds, table, par,
                        flags if last else flags & ~(LAST | STATS), give, kept, full, push,
                        stats, six,
                    )  # fmt: skip
                    par[MEMORY] = 1.0
        if alone:
            for s in range(n):
                move_slab(s, slab, row, par, flags, ref, stats)
        else:
            for number in prange(n):
                s = np.int64(number)
                move_slab(s, slab, row, par, flags, ref, stats)
        # where grains gave nothing, the first solve is the answer
        if some and _given(bodies, touched, push, h, share, by_grains):
            plan = solve_again(bodies, rows, of_joints, m, means, push, u0, u, plan, multi_stats)
        known = close_substep(
            bodies, joints, tags, contacts, rows, of_joints, m, u, h, share, joint_load, by_bodies,
            by_joints,
        )  # fmt: skip
        multi_stats[MET] = contacts.n[0]
        done += 1
        for s in range(n):
            off += stats[s, OFF]
    if leave or done == substeps or off > 0.0:
        for number in prange(n):
            s = np.int64(number)
            leave_slab(s, slab, x, v, warm, row, par)
    return done, known, searches, fits, holds, keeps, is_finite(bodies)
