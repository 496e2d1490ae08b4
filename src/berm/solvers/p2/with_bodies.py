"""P2 in worlds with dynamic bodies: grains and bodies advance together, substep by substep.

In each substep: predict the bodies, find their contacts with grains, solve, hand over to each body
what the grains pushed (34), and let `Rigid` advance the bodies by the same time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.report import StepReport
from berm.kernels.p2 import bodies as p2_bodies
from berm.solvers.base import Stages, WorldView
from berm.solvers.multibody.rigid import Moving
from berm.solvers.p2.start import warn_of_deep_starts

Array = npt.NDArray[Any]
P2 = Any  # berm.solvers.p2.solver.P2, which imports this module


def step_with_bodies(p2: P2, world: WorldView, dt: float) -> StepReport:
    """Advance grains and bodies by dt (s)."""
    clock, grains, rigid = Stages(), world.grains, p2.rigid
    p2.last_dt = dt
    report = StepReport(iterations=p2.iterations, substeps=p2.substeps, grains=grains.n)
    gravity, h = np.asarray(world.gravity, float), dt / p2.substeps
    for body in world.bodies:
        body.force, body.torque = np.zeros(3), np.zeros(3)
    rigid.begin(world)
    stats = np.zeros((1, 8))
    off = False  # a grain has left the way that the list of pairs covers
    touch = _touch_both if p2.averaging == "sweep" else _touch_walls
    for done in range(p2.substeps):
        with clock.stage("bodies"):
            moving = rigid.predict(gravity, h)
            push = np.zeros((len(world.bodies) + 1, 6))
        if grains.n:
            fresh = False
            if done == 0 or off:
                with clock.stage("search"):
                    fresh = p2._search(grains, dt, under_way=off)
                    report.rebuilt += fresh
            stats = touch(p2, world, moving, h, done, fresh, push, clock)
            off = bool(stats[:, 6].any())
        with clock.stage("bodies"):
            _note_forces(p2, world, push, h)
            rigid.advance(gravity, h, push / h, 1.0 / p2.substeps)
    rigid.finish(world)
    if grains.n:
        p2._fill_report(report, stats, world)
    report.timings = clock.seconds
    return report


def _touch_both(
    p2: P2, world: WorldView, moving: list[Moving], h: float, done: int, fresh: bool, push: Array,
    clock: Stages,
) -> Array:  # fmt: skip
    """Contacts that move grains and bodies at once; push (nb, 6) receives what bodies get."""
    grains, list_, walls, touching = world.grains, p2.contacts, p2.walls, p2.body_walls
    fixed = [body for body in world.bodies if not body.dynamic]
    came = list_.came_from if fresh else None
    with clock.stage("walls"):
        driven = any(body.driven for body in fixed)
        if done == 0 or fresh or driven:
            ahead = h if driven else h * (p2.substeps - done)
            walls.find_bodies(
                fixed, grains.x, grains.v, grains.n, list_.slab, ahead, world.gravity, p2.wall_skin,
                came, h * done,
            )  # fmt: skip
            p2.walls_end = True
            if p2.changed:
                warn_of_deep_starts(p2, world, fixed)
        else:
            walls.total[:] = 0.0
        touching.find_bodies(
            moving, grains.x, grains.v, grains.n, list_.slab, h, world.gravity, p2.wall_skin, came
        )
    with clock.stage("solve"):
        rigid = p2.rigid
        table, nmat = p2._table(world, h), len(world.materials)
        common = p2.only_kind * nmat + p2.only_kind if p2.only_kind >= 0 else -1
        stats, given = np.zeros((list_.slabs, 8)), np.zeros((len(moving), 6))
        kinds = [world.bodies[k].material for k in rigid.dynamic]
        p2_bodies.solve(
            list_.slab, list_.part, list_.colour, list_.turn, list_.lanes, list_.ptr, list_.nbr,
            list_.imp, grains.x, grains.v, p2.row, grains.warm, grains.material, nmat, common,
            table, walls.count, walls.rows, walls.body, walls.plane, walls.impulse, walls.total,
            np.array([body.material for body in fixed] or [0], np.int32), p2._parameters(world, h),
            p2._flags(table), p2.iterations, 1.0 / p2.substeps,
            p2.real(p2.memory), list_.ref, stats, touching.count, touching.rows, touching.body,
            touching.plane, touching.impulse, touching.total, np.array(kinds, np.int32),
            rigid.x[rigid.dynamic], rigid.mobility[rigid.dynamic], given,
        )  # fmt: skip
    with clock.stage("forces"):
        walls.add_forces(fixed, grains.x)
        push[rigid.dynamic] = given
    return stats


def _touch_walls(
    p2: P2, world: WorldView, moving: list[Moving], h: float, done: int, fresh: bool, push: Array,
    clock: Stages,
) -> Array:  # fmt: skip
    """As printed, Sec. 6.6: bodies are walls for the grains, and get the walls' forces after."""
    grains, list_, walls, rigid = world.grains, p2.contacts, p2.walls, p2.rigid
    bodies: list[Any] = list(world.bodies)
    for k, one in zip(rigid.dynamic, moving, strict=True):
        bodies[k] = one
    with clock.stage("walls"):
        walls.find_bodies(
            bodies, grains.x, grains.v, grains.n, list_.slab, h, world.gravity,
            p2.wall_margin(False), list_.came_from if fresh else None, h * done,
        )  # fmt: skip
        p2.walls_end = True
    with clock.stage("solve"):
        stats, _ = p2._solve(world, world.bodies, h, 0, 1, True)
        p2.changed = False
    with clock.stage("forces"):
        walls.total *= p2.real(1.0 / p2.substeps)
        walls.add_forces(bodies, grains.x)
        for k, one in zip(rigid.dynamic, moving, strict=True):
            scale = h * h * p2.substeps
            push[k, :3] = one.force * scale
            arm = one.position - rigid.x[k]
            push[k, 3:] = (one.torque + np.cross(arm, one.force)) * scale
    return stats


def _note_forces(p2: P2, world: WorldView, push: Array, h: float) -> None:
    """Add a substep's share to the mean force on each dynamic body, about its origin."""
    scale = 1.0 / (h * h * p2.substeps)
    rigid = p2.rigid
    for k in rigid.dynamic:
        body = world.bodies[k]
        force = scale * push[k, :3]
        body.force = body.force + force
        arm = rigid.x[k] - rigid.org[k]
        body.torque = body.torque + scale * push[k, 3:] + np.cross(arm, force)
