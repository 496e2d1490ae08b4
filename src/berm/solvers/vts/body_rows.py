"""Dynamic bodies among the constraints on velocities: what particles touch of them.

Joints and contacts of bodies with each other are solved by the multibody core: at the start of a
substep as if particles did nothing, a few times between the iterations and at the end with what
particles gave. A solver calls in each substep `open`, `find`, `fill`, `start`, then iterates with
`touching` and `meet` on the way, `keep` and `close`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.bodies import GRAINS, Bodies
from berm.kernels.multibody import substep
from berm.kernels.vts import bodies as vb
from berm.kernels.vts.contacts import WARM
from berm.kernels.walls.poses import flat_poses
from berm.solvers.base import WorldView
from berm.solvers.multibody.multibody import Multibody
from berm.solvers.search.contact_list import ContactList
from berm.solvers.vts.grain_rows import WALL_SKIN, Pairing
from berm.solvers.walls.walls import Walls

Array = npt.NDArray[Any]

ROUNDS = 3  # solves of the core a substep: contacts and limits of bodies may open and close
WARM_MOST = 0.8  # of the last impulses: more shakes plates among grains
PAD = 8  # particles are read eight at a time


class BodyRows:
    """Contacts of particles with dynamic bodies (`kernels.vts.bodies`) in a substep of the core."""

    def __init__(self, dtype: npt.DTypeLike, multi: Multibody) -> None:
        self.multi = multi
        self.walls = Walls(dtype)
        self.touching = vb.make_touching(0, 0)
        self.grains_then = 0
        self.warm = False

    @property
    def count(self) -> int:
        """Contacts of particles with dynamic bodies."""
        return int(self.touching.count[0])

    def clear(self) -> None:
        """Forget the contacts of the last substep."""
        self.touching.count[0] = 0

    # ---- a substep ------------------------------------------------------------------------

    def open(self, world: WorldView, h: float) -> None:
        """Let bodies say how they will move in the coming h (s) if particles do nothing."""
        multi, bodies = self.multi, world.bodies
        gravity = np.asarray(world.gravity)
        self.means = multi.means(gravity, h)
        self.opened = substep.begin(
            multi.arrays, multi.joints, bodies.tag, multi.table.arrays, multi.solids, self.means,
            gravity, h, multi.memory, multi.stats,
        )  # fmt: skip
        self.free, self.push = np.zeros((bodies.n, 6)), np.zeros((bodies.n, 6))
        substep.velocities_of(multi.arrays, self.opened[5], self.free)
        self.touched = np.zeros(bodies.n, bool)

    def find(
        self, world: WorldView, x: Array, v: Array, list_: ContactList, h: float, fresh: bool
    ) -> None:
        """Find what touches dynamic bodies on the way of the coming h."""
        n, grains = len(x), world.grains
        slab = list_.slab if grains.n else np.zeros(1, np.int64)
        came = list_.came_from[: grains.n] if fresh else None
        if n > grains.n:  # cloth stands behind the grains
            slab = np.append(slab, n)
            before = np.arange(grains.n) if came is None else came
            came = np.append(before, self.grains_then + np.arange(n - grains.n))
            x, v = (np.concatenate([a, np.zeros((PAD, 4), a.dtype)]) for a in (x, v))
        else:
            x, v = grains.x, grains.v
        self.walls.find(
            self.multi.table, self.multi.dynamic, self._poses(world.bodies, h), x, v, n, slab, h,
            (0.0, 0.0, 0.0), WALL_SKIN, came,
        )  # fmt: skip
        self.grains_then = grains.n

    def _poses(self, bodies: Bodies, h: float) -> Array:
        """Poses (nb, POSE) of the dynamic bodies, and their way in the coming h (s)."""
        poses = self.multi.poses(bodies, self.multi.dynamic[:0], 0.0, h)
        omega = np.ascontiguousarray(self.free[:, 3:])
        pace = self.free[:, :3] + np.cross(omega, bodies.org - bodies.x)
        flat_poses(self.multi.dynamic, bodies.org, bodies.rot, pace, omega, 0.0, h, poses)
        return poses

    def fill(
        self, world: WorldView, x: Array, v: Array, material: Array, law: Array, pairing: Pairing
    ) -> None:
        """Write the rows, with the impulses that they start from."""
        walls, bodies, part = self.walls, world.bodies, min(float(law[WARM]), WARM_MOST)
        room = len(self.touching.slot)
        if room < walls.contacts or len(self.touching.fly) != bodies.n:
            more = room if room >= walls.contacts else int(1.2 * walls.contacts) + 8
            self.touching = vb.make_touching(more, bodies.n)
        touching = self.touching
        touching.fly[:] = self.free
        vb.fill(
            walls.count, walls.rows, walls.body, walls.plane, walls.impulse, x, v, material,
            pairing.count, bodies.material, pairing.mu_s, pairing.mu_k, pairing.rest, part,
            law.astype(np.float64), bodies.x, touching, self.touched,
        )  # fmt: skip
        self.warm = part > 0.0

    def start(self, v: Array, friction: int) -> None:
        """See the mobilities of the touched bodies, and push all by the last impulses."""
        if not self.count:
            return
        _, rows, _, m, *_ = self.opened
        touching = self.touching
        substep.mobilities_of(self.multi.arrays, rows, m, self.touched, touching.mobility)
        vb.weigh(touching, v)
        if self.warm:
            vb.start_from(touching, v, friction)

    def meet(self, v: Array) -> None:
        """Let joints and contacts of the bodies answer to what particles have given so far."""
        _, rows, of_joints, m, u0, u, plan = self.opened
        touching, multi = self.touching, self.multi
        if not self.count or not m:
            return
        vb.pushed(touching, self.push)
        substep.meet(
            multi.arrays, rows, of_joints, m, self.means, self.push, u0, u, plan, self.touched,
            touching.fly, touching.mobility, multi.stats,
        )  # fmt: skip
        vb.weigh(touching, v)

    def rub(self, v: Array) -> None:
        """Friction after the solver, one pass at constant push (Sec. 5)."""
        vb.rub(self.touching, v)

    def keep(self, world: WorldView, share: float) -> None:
        """Keep impulses for the next step; bodies feel `share` (1/s) times them."""
        if not self.count:
            return
        bodies = world.bodies
        vb.keep(self.touching, share, self.walls.impulse, self.walls.total)
        vb.pushed(self.touching, self.push)
        force = share * self.push
        force[:, 3:] += np.cross(bodies.x - bodies.org, force[:, :3])
        bodies.load[:, GRAINS] += force

    def close(self, world: WorldView, h: float, share: float) -> int:
        """Solve with what particles gave, and move all bodies; return a bad one, or -1."""
        multi = self.multi
        contacts, rows, of_joints, m, u0, u, plan = self.opened
        multi.memory, bad = substep.end(
            multi.arrays, multi.joints, world.bodies.tag, contacts, rows, of_joints, m, self.means,
            self.push, u0, u, plan, h, share, multi.joint_load, multi.by_bodies, multi.by_joints,
            multi.stats,
        )  # fmt: skip
        return int(bad)

    def state(self) -> dict[str, Any]:
        """Everything that a bit-for-bit restart needs beside the bodies' own state."""
        return {"walls": self.walls.state(), "grains_then": self.grains_then}

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.walls.restore(state["walls"])
        self.grains_then = int(state["grains_then"])
