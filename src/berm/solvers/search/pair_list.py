"""Pairs of spheres in rows with what their contacts remember, for solvers with small steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.grains import Grains
from berm.core.pages import zeros
from berm.core.saved import Facts, Saved
from berm.kernels.search import pair_rows as layout
from berm.kernels.search.rooms import note_rooms, widen
from berm.solvers.search.contact_list import ContactList
from berm.solvers.search.list_rooms import Rooms

Array = npt.NDArray[Any]


class PairList(ContactList):
    """The search of `ContactList`, laid out row by row, without pairs that never meet.

    Those are of one rigid body, or of two that joints keep apart.
    It holds while no sphere has gone further than its own room: ref (n, 4) is where it was and the
    square of that room.
    """

    STATE: tuple[str, ...] = ("slab", "ptr", "nbr", "hist", "reach", "ref")
    WIDE = 4

    def __init__(self, dtype: npt.DTypeLike, width: int) -> None:
        super().__init__(dtype, ahead=False)
        self.hist: Array = np.zeros((0, 4 * (width // 3)))  # memory of each pair: a quad a vector
        self.mine: Array = np.zeros(0, np.int32)  # the row that each pair stands in
        self.rooms = Rooms(0.0, 0.0, 0.0, np.zeros(0), 0.0)
        self.apart: Array = np.zeros(0, np.int64)  # owners that do not meet: see `pair_rows`

    def build_for(self, grains: Grains, rooms: Rooms) -> None:
        """Sort the spheres by cell, search, and carry memories over; each has its own room."""
        self.rooms = rooms
        self.build(grains, 0.0, 0.0)

    def _seen(self, grains: Grains) -> Array:
        r = self.rooms
        wide = self._room("wide", 4 * grains.n, self.dtype).reshape(-1, 4)
        widen(grains.x, grains.v, grains.n, grains.owner, r.of_body, r.time, r.least, r.most, wide)
        return wide

    def _grid(self, grains: Grains, dt: float, skin: float) -> tuple[Array, Array, float]:
        return super()._grid(grains, dt, 2.0 * self.rooms.typical)

    def _note(self, grains: Grains, dt: float, skin: float) -> None:
        self.ref = self._room("ref", 4 * grains.n, self.dtype).reshape(-1, 4)
        note_rooms(grains.x, grains.n, self._seen(grains), self.ref)

    def _slice(self, grains: Grains, found: Array, count: Array) -> None:
        n = grains.n
        ptr = np.zeros(n + 1, np.int64)
        layout.count_pairs(self.slab, found, count, grains.owner, self.apart, ptr)
        ptr = np.cumsum(ptr)
        pairs = int(ptr[-1])
        mine, nbr = np.empty(pairs, np.int32), np.empty(pairs, np.int32)
        hist = zeros((pairs, self.hist.shape[1]), np.float64)
        self.reach = np.empty((self.slabs, 2), np.int64)
        layout.fill_pairs(
            self.slab, found, count, grains.owner, self.apart, grains.was, ptr, mine, nbr, hist,
            self.ptr, self.nbr, self.hist, self.reach,
        )  # fmt: skip
        self.ptr, self.nbr, self.hist = ptr, nbr, hist
        self.mine = mine
        self._share_out()

    def check(self, saved: Saved, facts: Facts) -> int:
        """Refuse a state that is no list of these spheres; return for how many it was made."""
        rows = self._check_slabs(saved, facts)
        ptr = saved.limits("ptr", rows)
        pairs = int(ptr[-1])
        nbr = saved.array("nbr", np.int32, (pairs,), 0, rows - 1)
        slab, reach = saved.get("slab"), saved.get("reach")
        of_slab = np.repeat(np.arange(len(reach)), np.diff(ptr[slab]))
        if ((nbr < reach[of_slab, 0]) | (nbr >= reach[of_slab, 1])).any():
            raise saved.refuse("nbr", "a row far away", "rows that their slab reaches")
        saved.array("hist", np.float64, (pairs, self.hist.shape[1]))
        ref = saved.array("ref", self.dtype, (rows, 4))
        if not (ref[:, 3] >= 0).all():
            raise saved.refuse("ref", "below 0", "squares of lengths")
        self._check_order(saved)
        return rows

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        super().restore(state)
        self.mine = np.repeat(np.arange(len(self.ptr) - 1, dtype=np.int32), np.diff(self.ptr))

    def pairs(self) -> tuple[Array, Array]:
        """All candidate pairs (i, j) as row numbers, in list order."""
        return self.mine, self.nbr
