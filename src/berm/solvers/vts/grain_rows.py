"""Contacts of grains with each other and with bodies, as constraints on velocities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.grains import Grains
from berm.core.materials import Material, mix
from berm.kernels.vts import contacts as vts_contacts
from berm.kernels.vts.law import PAIR, WALL
from berm.solvers.base import WorldView
from berm.solvers.multibody.multibody import Multibody
from berm.solvers.search.contact_list import ContactList
from berm.solvers.vts.rows import Rows, Unit
from berm.solvers.walls.walls import Walls

Array = npt.NDArray[Any]

SLIP = 1.5  # times g h: relative speed from which kinetic friction holds
BOUNCE_FROM = 2.0  # times g h: slower approaches do not bounce, or a bed would never rest
WALL_SKIN = 0.1  # radii: walls are found this far from a grain's way


@dataclass
class Pairing:
    """Friction and restitution of every two materials, flat over (first, second)."""

    count: int
    mu_s: Array
    mu_k: Array
    rest: Array

    @classmethod
    def of(cls, materials: list[Material], restitution: float | None, dtype: Any) -> Pairing:
        """Mix all materials; `restitution` replaces their own where it is given."""
        k = len(materials)
        table = np.zeros((3, max(k * k, 1)), dtype)
        for a, one in enumerate(materials):
            for b, two in enumerate(materials):
                law = mix(one, two, 1.0)
                e = 0.5 * ((one.restitution or 0.0) + (two.restitution or 0.0))
                table[:, a * k + b] = (
                    law.friction_static,
                    law.friction_kinetic,
                    e if restitution is None else restitution,
                )
        return cls(k, table[0], table[1], table[2])


class GrainContacts:
    """The list of pairs and the walls, and the rows that they fill.

    tolerance: gap, in radii, up to which a pair or a wall takes part although it will not touch on
    the straight way (Sec. 8.1). Impulses live in the list and in the walls between steps.
    """

    def __init__(self, dtype: npt.DTypeLike, skin: float, tolerance: float) -> None:
        self.dtype = np.dtype(dtype)
        self.skin, self.tolerance = skin, tolerance
        self.list = ContactList(dtype)
        self.walls = Walls(dtype)
        self.wall_base = 0
        self.stats: Array = np.zeros((0, vts_contacts.NSTATS))
        self.last: Array = np.zeros(0, np.int64)
        self.wall_last: Array = np.zeros(0, np.int64)

    def search(self, grains: Grains, h: float) -> bool:
        """Make the list of pairs anew if a grain has left the way that it was made for."""
        if grains.n == 0:
            return False
        fresh = self.list.is_stale(grains, h)
        if fresh:
            self.list.build(grains, h, self.skin)
        return fresh

    def find_walls(
        self, world: WorldView, multi: Multibody, poses: Array, h: float, fresh: bool
    ) -> None:
        """Find the contacts with fixed and driven bodies on the way of the coming h."""
        grains = world.grains
        if grains.n == 0:
            return
        self.walls.find(
            multi.table, multi.fixed, poses, grains.x, grains.v, grains.n, self.list.slab, h,
            (0.0, 0.0, 0.0), WALL_SKIN, self.list.came_from if fresh else None,
        )  # fmt: skip

    def law(self, world: WorldView, h: float, gamma: float, warm: float, bent: bool) -> Array:
        """Return the numbers that all contacts of a step share."""
        law = np.zeros(vts_contacts.NLAW, self.dtype)
        pull = float(np.linalg.norm(world.gravity))
        law[vts_contacts.DT], law[vts_contacts.GAMMA] = h, gamma
        law[vts_contacts.TOLERANCE] = 1.0 + self.tolerance
        law[vts_contacts.SLIP] = SLIP * pull * h
        law[vts_contacts.BOUNCE_FROM] = BOUNCE_FROM * pull * h + 1e-6
        law[vts_contacts.WARM], law[vts_contacts.BENT] = warm, bent
        return law

    def room(self) -> int:
        """Rows that pairs and walls need at most."""
        return len(self.list.nbr) + self.walls.rows.size

    def fill(
        self, world: WorldView, rows: Rows, x: Array, v: Array, law: Array, pairing: Pairing
    ) -> list[Unit]:
        """Write the rows of all contacts; return the units that sweep them."""
        list_, walls, grains = self.list, self.walls, world.grains
        slabs = list_.slabs if grains.n else 0
        self.stats = np.zeros((slabs, vts_contacts.NSTATS))
        self.last, self.wall_last = np.zeros(slabs, np.int64), np.zeros(slabs, np.int64)
        self.wall_base = len(list_.nbr)
        if not slabs:
            return []
        mixed = (pairing.mu_s, pairing.mu_k, pairing.rest, law)
        into = (rows.ends, rows.slot, rows.row, rows.imp)
        vts_contacts.pairs(
            list_.part, list_.lanes, list_.ptr, list_.nbr, list_.imp, x, v, grains.material,
            pairing.count, *mixed, *into, self.last, self.stats,
        )  # fmt: skip
        body_mat = world.bodies.material.astype(np.int32)
        vts_contacts.walls(
            self.wall_base, 0, walls.count, walls.rows, walls.body, walls.plane, walls.impulse, x,
            v, grains.material, pairing.count, body_mat, *mixed, *into, self.wall_last, self.stats,
        )  # fmt: skip
        cap = walls.rows.shape[1]
        return [
            Unit(
                [
                    (PAIR, 8 * int(list_.ptr[list_.part[s]]), int(self.last[s])),
                    (WALL, self.wall_base + s * cap, int(self.wall_last[s])),
                ],
                *(int(k) for k in list_.reach[s]),
            )
            for s in range(slabs)
        ]

    def keep(self, rows: Rows, share: float) -> None:
        """Give the impulses back to list and walls; walls feel `share` times them (1/s)."""
        list_, walls = self.list, self.walls
        real: Any = self.dtype.type
        vts_contacts.keep_pairs(list_.part, list_.ptr, rows.slot, rows.imp, self.last, list_.imp)
        vts_contacts.keep_walls(
            self.wall_base, walls.rows.shape[1], rows.slot, rows.imp, self.wall_last, real(share),
            walls.impulse, walls.total,
        )  # fmt: skip

    def state(self) -> dict[str, Any]:
        """Everything that a bit-for-bit restart needs."""
        return {"list": self.list.state(), "walls": self.walls.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.list.restore(state["list"])
        self.walls.restore(state["walls"])
