"""P2 in worlds with dynamic bodies: grains and bodies advance together, substep by substep.

With the form "sweep" all substeps are one compiled call (`kernels.p2.bodies`). The other forms go
as printed, [Holz14] Sec. 6.6: bodies are walls for the grains, and get the walls' forces after.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.bodies import GRAINS
from berm.core.report import StepReport
from berm.kernels.geometry.distance import POSE
from berm.kernels.jit import runs_alone
from berm.kernels.multibody import substep
from berm.kernels.p2 import bodies as kernel
from berm.kernels.p2 import law as at
from berm.kernels.walls.carry import sum_forces
from berm.kernels.walls.poses import flat_poses
from berm.solvers.base import Stages, WorldView
from berm.solvers.p2.law import ContactLaw
from berm.solvers.p2.start import warn_of_deep_starts

Array = npt.NDArray[Any]
P2 = Any  # berm.solvers.p2.solver.P2, which imports this module


def step_with_bodies(
    p2: P2, world: WorldView, dt: float, clock: Stages, report: StepReport
) -> StepReport:
    """Advance grains and bodies by dt (s)."""
    if world.grains.n == 0:
        with clock.stage("bodies"):
            p2.multibody.advance(world, dt, p2.taken)
        report.kinetic_energy = world.bodies.kinetic_energy()
    else:
        together = _sweep if p2.averaging == "sweep" else _as_printed
        stats = together(p2, world, dt, clock, report)
        p2.fill_report(report, stats, world)
    p2.multibody.tell(report)
    report.timings = clock.seconds
    return report


def _sweep(p2: P2, world: WorldView, dt: float, clock: Stages, report: StepReport) -> Array:
    """Contacts that move grains and bodies at once, [Holz14] with split masses; see the kernel."""
    grains, multi, form, touching = world.grains, p2.multibody, p2.form, p2.body_walls
    h, done, stats = dt / p2.taken, 0, np.zeros((1, at.NSTATS))
    by_grains = np.zeros((world.bodies.n, 6))
    touching.begin_step(multi.dynamic, world.bodies.n)
    bad = -1
    while done < p2.taken and bad < 0:  # again where a grain has left the way of its list
        left = dt - done * h
        with clock.stage("search"):
            fresh = p2.search(grains, dt, under_way=done > 0)
            report.rebuilt += fresh
        with clock.stage("walls"):
            found = p2.find_walls(world, left, 0.0, fresh)
            if p2.changed:
                warn_of_deep_starts(p2, world)
        with clock.stage("solve"):
            law = p2.laws.of(p2, world, h)
            stats = np.zeros((form.contacts.slabs, at.NSTATS))
            done, bad = _in_portions(p2, world, law, h, done, fresh, found, by_grains, stats)
            touching.end()
        with clock.stage("forces"):
            p2.walls.add_forces(world.bodies, grains.x)
    world.bodies.load[:, GRAINS] += by_grains
    multi.finish(world, bad)
    return stats


def _in_portions(
    p2: P2, world: WorldView, law: ContactLaw, h: float, first: int, fresh: bool, found: bool,
    by_grains: Array, stats: Array,
) -> tuple[int, int]:  # fmt: skip
    """Do substeps from `first` on; return the next one to do, and a body that is not finite or -1.

    What stops them in between leaves grains and bodies at the same time.
    """
    grains, multi, form, touching = world.grains, p2.multibody, p2.form, p2.body_walls
    c, portions, substeps = form.contacts, form.portions, p2.taken
    was = np.ascontiguousarray(c.came_from, np.int64) if fresh else np.zeros(0, np.int64)
    again = fresh or found
    holds, moved, keeps = not again, fresh, touching.keeps and not fresh
    before = (
        (c.slab, c.part, c.colour, c.turn), (c.lanes, c.ptr, c.nbr, c.imp),
        (grains.x, grains.v, form.row, grains.warm), law.soil(grains.material),
        form._touching(), p2.kinds, law.par, law.flags, p2.iterations,
    )  # fmt: skip
    after = (
        multi.arrays, multi.joints, world.bodies.tag, multi.table.arrays, multi.solids,
        multi.means(world.gravity, h), np.asarray(world.gravity), h,
    )  # fmt: skip
    loads = (multi.joint_load, multi.by_bodies, multi.by_joints, by_grains)

    def advance(begin: int, end: int, start: bool, leave: bool) -> tuple[int, bool, int]:
        nonlocal holds, moved, keeps
        touches, scratch, near = touching.begin_turns(grains.n, c.slab)
        search = (runs_alone(), p2.wall_skin, multi.dynamic, scratch, moved, was)
        done, multi.memory, searches, fits, holds, keeps, bad = kernel.advance(
            *before, (start, first, begin, end, substeps, leave), p2.real(p2.memory), again, holds,
            keeps, c.ref, stats, search, touches, near, *after, multi.memory, loads, multi.stats,
        )  # fmt: skip
        touching.end_turns(searches, fits, keeps)
        moved = moved and searches == 0
        return done, fits, bad

    done, start = first, True
    try:
        while True:
            begin = time.perf_counter()
            size = portions.take((substeps - done) * p2.iterations)
            now, fits, bad = advance(done, done + max(size // p2.iterations, 1), start, False)
            portions.took((now - done) * p2.iterations, time.perf_counter() - begin)
            done, start = now, False
            if done == substeps or bad >= 0 or (fits and stats[:, at.OFF].any()):
                return done, bad
            portions.tell((substeps - done) * p2.iterations, form._effort, depth=6)
    except (KeyboardInterrupt, SystemError) as error:
        # where it comes as a kernel hands its arrays over, those are lost, and Python says so
        stopped = error if isinstance(error, KeyboardInterrupt) else error.__cause__
        if not isinstance(stopped, KeyboardInterrupt):
            raise
        if stopped is error and not start:
            advance(done, done, False, True)
        elif stopped is not error:
            keeps, grains.reweighed = False, True  # which contacts there are is not known
            advance(substeps, substeps, False, True)
        raise stopped from None


def _as_printed(p2: P2, world: WorldView, dt: float, clock: Stages, report: StepReport) -> Array:
    """Bodies as walls that move as they would by themselves, pushed by the walls' forces (34)."""
    grains, multi, bodies, walls = world.grains, p2.multibody, world.bodies, p2.walls
    h, stats, off, bad = dt / p2.taken, np.zeros((1, at.NSTATS)), False, -1
    gravity, means = np.asarray(world.gravity), multi.means(world.gravity, h)
    parts = (multi.arrays, multi.joints, bodies.tag)
    loads = (multi.joint_load, multi.by_bodies, multi.by_joints)
    for done in range(p2.taken):
        fresh = False
        if done == 0 or off:
            with clock.stage("search"):
                fresh = p2.search(grains, dt, under_way=off)
                report.rebuilt += fresh
        with clock.stage("bodies"):
            opened = substep.begin(
                *parts, multi.table.arrays, multi.solids, means, gravity, h, multi.memory,
                multi.stats,
            )  # fmt: skip
            contacts, rows, of_joints, m, u0, u, plan = opened
            poses = _poses_ahead(multi.arrays, multi.which, u, h)
        with clock.stage("walls"):
            walls.find(
                multi.table, multi.which, poses, grains.x, grains.v, grains.n, p2.contacts.slab, h,
                world.gravity, p2.form.wall_margin(False),
                p2.contacts.came_from if fresh else None,
            )  # fmt: skip
            p2.walls_end = True
        with clock.stage("solve"):
            stats = np.zeros((p2.contacts.slabs, at.NSTATS))
            law = p2.laws.of(p2, world, h)
            p2.form.solve(grains, p2.kinds, law, 0, 1, True, stats)
            p2.changed = False
        with clock.stage("forces"):
            felt = np.zeros((bodies.n, 6))
            sum_forces(
                walls.rows, walls.body, walls.plane, walls.total, walls.count, grains.x,
                bodies.org, felt,
            )  # fmt: skip
            bodies.load[:, GRAINS] += felt / p2.taken
            push = h * felt
            push[:, 3:] += np.cross(bodies.org - bodies.x, push[:, :3])
        with clock.stage("bodies"):
            multi.memory, bad = substep.end(
                *parts, contacts, rows, of_joints, m, means, push, u0, u, plan, h, 1.0 / dt,
                *loads, multi.stats,
            )  # fmt: skip
        off = bool(stats[:, at.OFF].any())
    multi.finish(world, bad)
    return stats


def _poses_ahead(arrays: Any, which: Array, u: Array, h: float) -> Array:
    """Poses (nb, POSE) of bodies for the coming h (s) at the velocities u."""
    speed, poses = np.zeros((len(u), 6)), np.zeros((len(u), POSE))
    substep.velocities_of(arrays, u, speed)
    pace = speed[:, :3] + np.cross(speed[:, 3:], arrays.org - arrays.x)
    omega = np.ascontiguousarray(speed[:, 3:])
    flat_poses(which, arrays.org, arrays.rot, pace, omega, 0.0, h, poses)
    return poses
