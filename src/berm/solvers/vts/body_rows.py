"""Dynamic bodies among the constraints on velocities: what they touch, solved serially.

Bodies' tables, the search for contacts between them and their free rotation are those of `Rigid`.
A solver calls `begin` once a step; in each substep `predict`, `find`, `fill`, `start`, `sweep` once
an iteration, `move` and `keep`; then `finish`. In worlds without dynamic bodies all do nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.kernels.multibody import rigid_motion as rm
from berm.kernels.vts import bodies as vb
from berm.kernels.vts.contacts import WARM
from berm.kernels.vts.law import CONE
from berm.solvers.base import WorldView
from berm.solvers.multibody.rigid import Moving, Rigid
from berm.solvers.search.contact_list import ContactList
from berm.solvers.vts.grain_rows import WALL_SKIN, Pairing
from berm.solvers.walls.walls import Walls

Array = npt.NDArray[Any]

PASSES = 8  # over the contacts of bodies, which are few, for one over those of the grains
WARM_MOST = 0.8  # of the last impulses: more shakes tall stacks, and plates among grains
PAD = 8  # particles are read eight at a time


class Held:
    """A world without its dynamic bodies: grains and cloth meet the others as walls."""

    def __init__(self, world: WorldView) -> None:
        self._world = world
        self.bodies = [body for body in world.bodies if not body.dynamic]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)


class BodyRows:
    """The dynamic bodies of a world and the rows of their contacts (`kernels.vts_bodies`).

    count: rows in use; first: how many of them join a particle and a body.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.rigid = Rigid()
        self.walls = Walls(dtype)
        self.active = False
        self.grains_then = 0
        self.count = self.first = 0
        self._reserve(0)

    def _reserve(self, room: int) -> None:
        if not hasattr(self, "row") or len(self.row) < room:
            room = int(1.2 * room) + 8
            self.ends: Array = np.zeros((room, 2), np.int64)
            self.slot: Array = np.zeros(room, np.int64)
            self.row: Array = np.zeros((room, vb.WIDTH))
            self.imp: Array = np.zeros((room, 3))

    # ---- a step ---------------------------------------------------------------------------

    def begin(self, world: WorldView) -> WorldView:
        """Take over the bodies' state; return the world as the other constraints see it."""
        self.active = any(body.dynamic for body in world.bodies)
        self.count = self.first = 0
        if not self.active:
            return world
        self.rigid.begin(world)
        self.which = np.array(self.rigid.dynamic, np.int64)
        self.kinds = np.array([body.material for body in world.bodies], np.int64)
        held: Any = Held(world)
        return held

    def finish(self, world: WorldView) -> None:
        """Give the bodies what the step has come to."""
        if self.active:
            self.rigid.finish(world)

    # ---- a substep ------------------------------------------------------------------------

    def predict(self, gravity: npt.ArrayLike, h: float) -> None:
        """Free velocities of the coming h (s), (6)."""
        if not self.active:
            return
        rigid = self.rigid
        rigid.v[self.which] += h * np.asarray(gravity, float)
        rm.place_shapes(rigid.x, rigid.q, rigid.axes, rigid.offset, rigid.rot, rigid.org)
        self.fly = np.concatenate([rigid.v, rigid.omega, np.zeros_like(rigid.v)], axis=1)
        self.free = self.fly.copy()

    def rewind(self) -> None:
        """Go back to the free velocities: the substep is solved again."""
        if self.active:
            self.fly = self.free.copy()

    def find(
        self, world: WorldView, x: Array, v: Array, list_: ContactList, h: float, fresh: bool
    ) -> None:
        """Find what touches dynamic bodies on the way of the coming h: particles, and bodies."""
        if not self.active:
            return
        rigid, n, grains = self.rigid, len(x), world.grains
        reach = np.where(rigid.ball[:, 3] < 0.0, 0.0, rigid.ball[:, 3])
        reach += np.linalg.norm(rigid.ball[:, :3] - rigid.offset, axis=1)
        speed = np.linalg.norm(rigid.v, axis=1) + reach * np.linalg.norm(rigid.omega, axis=1)
        rigid.ahead[:] = h * speed
        rigid._find(np.stack([rigid.v, rigid.omega]), 0.0)
        if n:
            slab = list_.slab if grains.n else np.zeros(1, np.int64)
            came = list_.came_from[: grains.n] if fresh else None
            if n > grains.n:  # cloth stands behind the grains
                slab = np.append(slab, n)
                before = np.arange(grains.n) if came is None else came
                came = np.append(before, self.grains_then + np.arange(n - grains.n))
                x, v = (np.concatenate([a, np.zeros((PAD, 4), a.dtype)]) for a in (x, v))
            else:
                x, v = grains.x, grains.v
            self.walls.find_bodies(
                self._moving(), x, v, n, slab, h, (0.0, 0.0, 0.0), WALL_SKIN, came,
            )  # fmt: skip
        self.grains_then = grains.n

    def _moving(self) -> list[Moving]:
        """The dynamic bodies as particles meet them."""
        rigid = self.rigid
        return [
            Moving(
                rigid.bodies[k].shape, rigid.org[k].copy(), rigid.rot[k].copy(),
                rigid.v[k] + np.cross(rigid.omega[k], rigid.org[k] - rigid.x[k]),
                rigid.omega[k].copy(),
            )
            for k in self.which
        ]  # fmt: skip

    def fill(
        self, x: Array, v: Array, material: Array, law: Array, pairing: Pairing,
        restitution: float | None,
    ) -> None:  # fmt: skip
        """Write the rows, with the impulses that they start from."""
        if not self.active:
            return
        rigid, walls = self.rigid, self.walls
        law, part = law.astype(np.float64), min(float(law[WARM]), WARM_MOST)
        self._reserve((walls.contacts if len(x) else 0) + rigid.contacts)
        masses = (self.fly, rigid.w, rigid.inv)
        into = (self.ends, self.slot, self.row, self.imp)
        self.first = 0
        if len(x) and walls.contacts:
            self.first = vb.particle_rows(
                walls.count, walls.rows, walls.body, walls.plane, walls.impulse, self.which, x, v,
                material, pairing.count, self.kinds, pairing.mu_s, pairing.mu_k, pairing.rest, part,
                law, rigid.x, *masses, *into,
            )  # fmt: skip
        self.count = vb.body_rows(
            rigid.rows, rigid.who, rigid.contacts, rigid.memory, rigid.slots, rigid.pairs,
            rigid.samples, rigid.first, rigid.rot, rigid.org, rigid.x,
            -1.0 if restitution is None else restitution, part, law, v, *masses, self.first, *into,
        )  # fmt: skip
        self.warm = part > 0.0

    def _rows(self, v: Array) -> tuple[Any, ...]:
        rigid = self.rigid
        return (
            self.count, self.first, self.ends, self.row, self.imp, v, self.fly, rigid.w, rigid.inv,
        )  # fmt: skip

    def start(self, v: Array, friction: int) -> None:
        """Push particles and bodies by the last impulses."""
        if self.count and self.warm:
            vb.warm(*self._rows(v), friction)

    def sweep(self, v: Array, par: Array, friction: int, it: int) -> None:
        """Answer all contacts of bodies, one after the other; v and the bodies follow at once."""
        if self.count:
            vb.sweep(*self._rows(v), par.astype(np.float64), friction, PASSES, it, False)

    def rub(self, v: Array, par: Array) -> None:
        """Friction after the solver, one pass at constant push (Sec. 5)."""
        if self.count:
            vb.sweep(*self._rows(v), par.astype(np.float64), CONE, 1, 0, True)

    def move(self, h: float) -> None:
        """New poses, (7); free rotation keeps |L|."""
        if not self.active:
            return
        rigid = self.rigid
        self.centre_then = rigid.x.copy()
        rigid.v[self.which] = self.fly[self.which, :3]
        rigid.spin[self.which] += self.fly[self.which, 6:]
        none = np.zeros((len(rigid.w), 6))
        rm.move_free(
            rigid.x, rigid.q, rigid.v, rigid.spin, rigid.w, rigid.moments, rigid.omega, rigid.inv,
            none, np.zeros(3), h,
        )  # fmt: skip

    def keep(self, share: float) -> None:
        """Keep impulses for the next step; all bodies feel `share` (1/s) times them."""
        if not self.active:
            return
        rigid, force = self.rigid, np.zeros((len(self.rigid.w), 6))
        vb.keep(
            self.count, self.first, self.ends, self.slot, self.row, self.imp, share,
            self.walls.impulse, self.walls.total, rigid.memory, force,
        )  # fmt: skip
        for k, body in enumerate(rigid.bodies):
            arm = self.centre_then[k] - rigid.org[k]
            body.force = body.force + force[k, :3]
            body.torque = body.torque + force[k, 3:] + np.cross(arm, force[k, :3])

    def state(self) -> dict[str, Any]:
        """Everything that a bit-for-bit restart needs beside the bodies' own state."""
        return {
            "rigid": self.rigid.state(),
            "walls": self.walls.state(),
            "grains_then": self.grains_then,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.rigid.restore(state["rigid"])
        self.walls.restore(state["walls"])
        self.grains_then = int(state["grains_then"])
