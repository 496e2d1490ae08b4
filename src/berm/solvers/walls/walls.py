"""Contacts between grains and the bodies that bound them, found for the coming step.

`find` follows each grain's centre from x to x + dt v + dt^2 g in the frame of each moving body and
stores the tangent plane where it first touches, so that neither a fast grain nor a fast body slips
through a thin wall. Where walls bend that way, the bent way is followed as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from berm.core import pages
from berm.core.bodies import GRAINS, Bodies
from berm.core.grains import LARGE
from berm.kernels.jit import runs_alone
from berm.kernels.walls import find as kf
from berm.kernels.walls.arrays import Scratch, Touches
from berm.kernels.walls.carry import sum_forces
from berm.kernels.walls.shape_contacts import BLOCK
from berm.solvers.walls.shapes import ShapeTable

Array = NDArray[Any]

FIRST_CAPACITY = 64


class Walls:
    """All contacts of grains with bodies in the coming step, by slab; arrays change at each `find`.

    rows, body   int32 (nslabs, cap)     grain row, body index
    plane        real  (nslabs, cap, 8)  nx, ny, nz, offset (m), sx, sy, sz (m), how many
                                         of the same grain come before it in its eight
    impulse      real  (nslabs, cap, 4)  what the solver keeps for its warm start
    total        real  (nslabs, cap, 4)  mean force on the grain over the step (N), from the solver
    count        int64 (nslabs,)         contacts in use
    With the fraction f of the step gone and the grain displaced by u, the gap is
    n.(x + u) - offset - radius - f n.s.
    """

    def __init__(self, dtype: Any = np.float32, capacity: int = FIRST_CAPACITY) -> None:
        self.dtype = np.dtype(dtype)
        self.slab_start: Array = np.zeros(1, np.int64)
        self._scratch = Scratch(
            np.empty((0, 0, 9), self.dtype), np.empty((0, 0, 8)), np.zeros(0, np.int64),
            np.zeros(0, np.int32),
        )  # fmt: skip
        self.touches = self._allocate(0, -(-max(1, capacity) // 8) * 8, 0)
        self._spare = self.touches
        self._publish()

    def _allocate(self, nslabs: int, cap: int, n: int) -> Touches:
        return Touches(
            pages.zeros((nslabs, cap), np.int32),
            pages.zeros((nslabs, cap), np.int32),
            pages.zeros((nslabs, cap, 8), self.dtype),
            pages.zeros((nslabs, cap, 4), self.dtype),
            pages.zeros((nslabs, cap, 4), self.dtype),
            np.zeros(nslabs, np.int64),
            np.full(n, -1, np.int32),
            np.full((nslabs, cap), -1, np.int32),
        )

    def _publish(self) -> None:
        self.rows, self.body, self.plane, self.impulse, self.total, self.count = self.touches[:6]

    @property
    def contacts(self) -> int:
        """Number of contacts found for this step."""
        return int(self.count.sum())

    def find(
        self,
        table: ShapeTable,
        which: Array,
        poses: Array,
        x: Array,
        v: Array,
        n: int,
        slab_start: Array,
        dt: float,
        gravity: ArrayLike,
        skin: float,
        old_row: Array | None = None,
    ) -> int:
        """Find all contacts of the coming time dt (s) with bodies `which`; return how many.

        table, poses (nb, POSE): of all bodies; which int64: numbers of those that are looked at.
        x (>= n, 4) = position, radius (m); v (>= n, 4) = velocity (m/s), any; skin: grains
        that come within so many of their radii of a wall get a contact. old_row (n,) gives the row
        that a grain had at the previous call (-1: none), None where rows have not moved.
        """
        pull = np.asarray(gravity, np.float64)
        moved = old_row is not None
        was = np.ascontiguousarray(old_row, np.int64) if moved else np.zeros(0, np.int64)
        new, old, scratch = self.begin(n, slab_start)
        while not kf.find(
            runs_alone(), x, v, self.slab_start, float(dt), pull, float(skin), which, poses,
            table.arrays, scratch, moved, was, new, old,
        ):  # fmt: skip
            new, old, scratch = self.grow()
        self.end()
        return self.contacts

    def begin(self, n: int, slab_start: Array) -> tuple[Touches, Touches, Scratch]:
        """Return what `kernels.walls.find` fills, goes on from and needs for itself."""
        old, new = self.touches, self._spare
        nslabs, cap = len(slab_start) - 1, old.rows.shape[1]
        self.slab_start = np.array(slab_start, np.int64)
        if new is old or new.rows.shape != (nslabs, cap):
            new = self._allocate(nslabs, cap, n)
        elif len(new.first) != n:
            new = new._replace(first=np.empty(n, np.int32))
        self.touches, self._spare = new, old
        self._publish()
        slots = max(old.body.size, new.body.size)
        self._scratch = self._room_for_search(new, self._blocks(), slots)
        return new, old, self._scratch

    def _blocks(self) -> int:
        """How many blocks of rows the longest slab has."""
        return -(-int(np.diff(self.slab_start).max(initial=0)) // BLOCK)

    def grow(self) -> tuple[Touches, Touches, Scratch]:
        """Return the same with more room, where the contacts did not fit."""
        cap = -(-int(1.25 * int(self.count.max())) // 8) * 8
        self.touches = self._allocate(len(self.count), cap, len(self.touches.first))
        self._publish()
        self._scratch = self._room_for_search(self.touches, 0, 0)
        return self.touches, self._spare, self._scratch

    def end(self) -> None:
        """Let go of what large worlds need only while they search."""
        if len(self.touches.first) >= LARGE:
            self._spare = self.touches
            self._scratch = self._scratch._replace(legs=np.empty((0, 0, 8)))

    def _room_for_search(self, new: Touches, nblocks: int, slots: int) -> Scratch:
        nslabs, cap = new.rows.shape
        blocks, legs, leg_count, claim = self._scratch
        if len(blocks) != nslabs or blocks.shape[1] < nblocks:
            blocks = np.empty((nslabs, nblocks + nblocks // 4, 9), self.dtype)
        if legs.shape[:2] != (nslabs, cap):
            legs = pages.zeros((nslabs, cap, 8), np.float64)
        if len(leg_count) != nslabs:
            leg_count = np.zeros(nslabs, np.int64)
        if len(claim) < slots:
            claim = np.zeros(slots, np.int32)
        return Scratch(blocks, legs, leg_count, claim)

    def add_forces(self, bodies: Bodies, x: Array) -> None:
        """Add `total` to what bodies feel of grains: force (N), torque about the origin (N m)."""
        if self.contacts:
            out = np.zeros((bodies.n, 6))
            sum_forces(self.rows, self.body, self.plane, self.total, self.count, x, bodies.org, out)
            bodies.load[:, GRAINS] += out

    def renumber(self, rows: Array) -> None:
        """Take over that bodies have other rows: row k is rows[k] now, -1 where it is gone."""
        used = np.arange(self.body.shape[1]) < self.count[:, None]
        self.body[used] = rows[self.body[used]]

    def state(self) -> dict[str, Array]:
        """Return everything that a restart needs to go on bit for bit."""
        used = int(self.count.max(initial=0))
        names = ("rows", "body", "plane", "impulse", "total")
        arrays = {name: getattr(self, name)[:, :used].copy() for name in names}
        for array in arrays.values():  # what earlier steps left behind is no part of the state
            array[np.arange(used) >= self.count[:, None]] = 0
        return {
            **arrays,
            "count": self.count.copy(),
            "slab_start": self.slab_start.copy(),
            "grains": np.array(len(self.touches.first)),
        }

    def restore(self, state: dict[str, Array]) -> None:
        """Take over what `state` returned."""
        count = np.asarray(state["count"], np.int64)
        used = int(count.max(initial=0))
        cap = max(-(-used // 8) * 8, FIRST_CAPACITY)
        self.touches = self._allocate(len(count), cap, int(state["grains"]))
        self._publish()
        for name in ("rows", "body", "plane", "impulse", "total"):
            getattr(self, name)[:, :used] = state[name]
        self.count[:] = count
        self.slab_start = np.array(state["slab_start"], np.int64)
        first, follow = self.touches.first, self.touches.follow
        for s, k in np.argwhere(np.arange(cap) < count[:, None]):
            follow[s, k] = first[self.rows[s, k]]
            first[self.rows[s, k]] = s * cap + k
