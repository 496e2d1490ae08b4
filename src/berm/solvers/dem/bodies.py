"""Dynamic bodies in discrete elements: covered by spheres, and moved as the clumps of these.

Bodies that joints hold together are moved by the multibody core, see `kernels.dem.mechanisms`; all
others are moved in blocks like compound grains. Either way their state is that of `Bodies`, and the
clump is brought along: `follow` at the start of a step, `lead` at its end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.bodies import DYNAMIC, GRAINS, STATIC, Bodies
from berm.core.joints import Joints
from berm.core.report import StepReport
from berm.core.rotations import inverse, turned
from berm.kernels.dem.mechanisms import Mechanisms
from berm.kernels.dem.sphere_motion import carry_all
from berm.kernels.multibody import solve
from berm.solvers.base import WorldView
from berm.solvers.multibody.multibody import Multibody

Array = npt.NDArray[Any]
SAME = 1e-12  # part by which an angular momentum may change on the way to the clump and back


class CoveredBodies:
    """Which clump covers which body, and which of them joints hold."""

    def __init__(self) -> None:
        self.core = Multibody("direct", contacts=False)
        self.mechanisms: Mechanisms | None = None
        self.any = False  # there are, or were, such bodies
        self.elsewhere: Array = np.zeros(0, np.bool_)  # clumps that are in mechanisms
        self.free: Array = np.zeros((0, 2), np.int64)  # rows and clumps of the other bodies
        self.pushed: Array = np.zeros(0, np.int64)  # clumps on which a force is applied
        self.applied: Array = np.zeros((0, 6))

        # clumps that joints keep from meeting: min << 32 | max; and clumps with boundaries (k, 2)
        self.apart: Array = np.zeros(0, np.int64)
        self.apart_from_walls: Array = np.zeros((0, 2), np.int64)

    # ---- before the step ------------------------------------------------------------------

    def follow(self, world: WorldView) -> bool:
        """Bring clumps to where their bodies are now; return whether pairs have to be searched.

        Notes which bodies joints hold, what is applied to the others, and how fast these are.
        """
        bodies, clumps, joints = world.bodies, world.clumps, world.joints
        self.pushed = np.flatnonzero(clumps.applied.any(axis=1))
        self.applied = clumps.applied[self.pushed]
        if not (joints.n or self.any or (clumps.body >= 0).any()):
            bodies.load[:] = 0.0
            if len(self.elsewhere) != clumps.n:
                self.elsewhere = np.zeros(clumps.n, np.bool_)
            return False
        self.any = True
        covering = np.flatnonzero(clumps.body >= 0)
        rows = np.searchsorted(bodies.tag, clumps.body[covering])
        held = np.zeros(bodies.n, np.bool_)
        if joints.n:
            self.core.follow(world)
            held[joints.a] = held[joints.b] = True
            held &= bodies.kind == DYNAMIC
        else:
            bodies.load[:] = 0.0
        jointed = held[rows]
        self.elsewhere = np.zeros(clumps.n, np.bool_)
        self.elsewhere[covering[jointed]] = True
        self.free = np.column_stack([rows, covering])[~jointed]
        self.mechanisms = self._mechanisms(bodies, held, rows, covering) if joints.n else None
        searched = self._keep_apart(bodies, joints, rows, covering)
        if len(rows):
            searched |= self._take_over(world, rows, covering)
        self._note_free(bodies)
        return searched

    def _keep_apart(self, bodies: Bodies, joints: Joints, rows: Array, covering: Array) -> bool:
        """Note what joints keep from meeting; returns whether that has changed."""
        if not (joints.n or len(self.apart) or len(self.apart_from_walls)):
            return False
        clump_of = np.full(bodies.n, -1)
        clump_of[rows] = covering
        wall_of = (
            np.where(bodies.dynamic, 0, np.cumsum(~bodies.dynamic) - 1) - 1
        )  # none: the ground
        ends = np.column_stack([joints.a, joints.b])[joints.collides == 0]
        one, two = clump_of[ends].T
        both = (one >= 0) & (two >= 0)
        low, high = np.minimum(one, two)[both], np.maximum(one, two)[both]
        apart = np.unique((low << 32) | high)
        sides = [np.column_stack([clump_of[ends[:, k]], wall_of[ends[:, 1 - k]]]) for k in range(2)]
        walls = np.concatenate(sides)
        walls = walls[(walls >= 0).all(axis=1)]
        same = np.array_equal(apart, self.apart) and np.array_equal(walls, self.apart_from_walls)
        self.apart, self.apart_from_walls = apart, walls
        return not same

    def _mechanisms(self, bodies: Bodies, held: Array, rows: Array, covering: Array) -> Mechanisms:
        """Arrays for the kernel, in which all bodies but those that joints hold stand still."""
        clump_of = np.full(bodies.n, -1)
        clump_of[rows] = covering
        which = np.flatnonzero(held)
        kind = np.where((bodies.kind == DYNAMIC) & ~held, STATIC, bodies.kind)
        core = self.core
        return Mechanisms(
            core.arrays._replace(kind=kind), core.joints, np.column_stack([which, clump_of[which]]),
            np.zeros((bodies.n, 6)), core.by_joints, core.joint_load, core.stats,
            solve.DISTANT.address,
        )  # fmt: skip

    def _take_over(self, world: WorldView, rows: Array, at: Array) -> bool:
        """Bring what somebody has put elsewhere, or given another velocity, to its clump."""
        b, c, g = world.bodies, world.clumps, world.grains
        moved = (b.x[rows] != c.position[at]).any(axis=1) | (b.q[rows] != c.q[at]).any(axis=1)
        turning = turned(c.q[at], c.L_own[at, :3])
        size = np.linalg.norm(b.L[rows], axis=1) + np.linalg.norm(turning, axis=1)
        other = np.linalg.norm(b.L[rows] - turning, axis=1) > SAME * size
        other |= moved | (b.v[rows] != c.velocity[at]).any(axis=1)
        if not other.any():
            return False
        rows, at = rows[other], at[other]
        c.x[at, :3], c.v[at, :3], c.q[at] = b.x[rows], b.v[rows], b.q[rows]
        c.L_own[at, :3] = turned(inverse(c.q[at]), b.L[rows])
        if g.changed:  # spheres were added or sorted since
            c.find_rows(g)
        carry_all(c.first, c.rows, c.offset, c.x, c.v, c.q, c.L_own, c.moments, g.x, g.v, g.spin)
        return bool(moved.any())

    def _note_free(self, bodies: Bodies) -> None:
        rows, at = self.free.T
        if not len(rows):
            return
        self.before = bodies.mass[rows, None] * bodies.v[rows], bodies.L[rows].copy()
        some = bodies.applied[rows].any(axis=1)
        self.pushed = np.concatenate([self.pushed, at[some]])
        self.applied = np.concatenate([self.applied, bodies.applied[rows[some]]])

    # ---- after the step -------------------------------------------------------------------

    def lead(self, world: WorldView, dt: float) -> None:
        """Bring bodies to where their clumps are, and give all the mean forces of the step."""
        bodies, clumps = world.bodies, world.clumps
        rows, at = self.free.T
        if len(rows):
            bodies.x[rows], bodies.v[rows] = clumps.position[at], clumps.velocity[at]
            bodies.q[rows] = clumps.q[at]
            bodies.L[rows] = turned(clumps.q[at], clumps.L_own[at, :3])
            for row in rows:
                bodies.follow_row(int(row))
            self._forces_of_free(bodies, rows, np.asarray(world.gravity), dt)
        if self.mechanisms is not None:
            held = self.mechanisms.held[:, 0]
            bodies.load[held, GRAINS] = self.mechanisms.by_grains[held]
            state = np.concatenate([bodies.x[held], bodies.v[held], bodies.L[held]], axis=1)
            bad = np.flatnonzero(~np.isfinite(state).all(axis=1))
            self.core.finish(world, int(held[bad[0]]) if len(bad) else -1)
        bodies.applied[:] = 0.0
        clumps.applied[:] = 0.0

    def _forces_of_free(self, bodies: Bodies, rows: Array, gravity: Array, dt: float) -> None:
        """Mean forces of all contacts: what changed the momenta beside gravity and applied ones."""
        mass, own = bodies.mass[rows, None], bodies.applied[rows]
        force = (mass * bodies.v[rows] - self.before[0]) / dt - mass * gravity - own[:, :3]
        torque = (bodies.L[rows] - self.before[1]) / dt - own[:, 3:]
        arm = bodies.x[rows] - bodies.org[rows]
        bodies.load[rows, GRAINS, :3] = force
        bodies.load[rows, GRAINS, 3:] = torque + np.cross(arm, force)

    def tell(self, report: StepReport) -> None:
        """Say in the report how the joints were solved."""
        if self.mechanisms is not None:
            self.core.tell(report)

    def state(self) -> dict[str, Any]:
        """What the present lists of pairs were made for."""
        return {"apart": self.apart.copy(), "apart_from_walls": self.apart_from_walls.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.apart = np.array(state["apart"], np.int64)
        self.apart_from_walls = np.array(state["apart_from_walls"], np.int64).reshape(-1, 2)
