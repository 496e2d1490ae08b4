"""Pairs of grains that may touch in the coming steps, for solvers that add contacts up."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.grains import LARGE, Grains
from berm.core.saved import Facts, Saved
from berm.kernels.search import candidates as layout
from berm.kernels.search.neighbours import CHUNK
from berm.solvers.search.contact_list import ContactList

Array = npt.NDArray[Any]

LINGER = 12.0  # steps whose way a grain has room for besides half a skin, as far as that ...
MOST = 2.0  # ... is no more than so many radii, and no more than half a skin on average
FLOW = 0.25  # half skins a step: where grains go further on average, no list lives, and room costs


class CandidateList(ContactList):
    """The search of `ContactList`, with nothing remembered and no order kept.

    It holds while no grain has left its room: ref (n, 4) is the middle of that and the square of
    its size.
    """

    STATE: tuple[str, ...] = ("slab", "part", "lanes", "ptr", "nbr", "reach", "ref")
    WIDE = 4

    def __init__(self, dtype: npt.DTypeLike) -> None:
        super().__init__(dtype, ahead=False)
        self._view = (0.0, 0.0, 0.0)  # s ahead, least room (radii), steps ahead
        self._whole = False
        self.typical = 0.0  # room, in radii

    def has_left(self, grains: Grains, dt: float, whole: bool) -> bool:
        """Whether grains came or went, or one will be outside its room; whole: on its way, too."""
        if grains.changed or len(self.ref) < grains.n or self.slabs == 0:
            return True
        real: Any = self.dtype.type
        return outside(grains, real(dt), whole, self.ref)

    def build_for(self, grains: Grains, dt: float, skin: float, whole: bool) -> None:
        """Sort the grains by cell and list the pairs; whole: for the way there, too."""
        least, pace = 0.5 * skin, dt * mean_pace(grains)
        linger = min(LINGER, least / max(pace, 1e-9))
        if pace > FLOW * least and not whole:
            least = linger = 0.0
        self._whole, self._view = whole, (dt, least, linger)
        self.typical = least + linger * pace
        self.build(grains, 0.0, 0.0)
        if grains.n >= LARGE:
            self._give_back("wide")

    def _seen(self, grains: Grains) -> Array:
        real: Any = self.dtype.type
        wide = self._room("wide", 4 * grains.n, self.dtype).reshape(-1, 4)
        dt, least, linger = (real(one) for one in self._view)
        layout.widen(grains.n, grains.x, grains.v, dt, least, linger, real(MOST), self._whole, wide)
        return wide

    def _grid(self, grains: Grains, dt: float, skin: float) -> tuple[Array, Array, float]:
        return super()._grid(grains, self._view[0], 2.0 * self.typical)

    def _note(self, grains: Grains, dt: float, skin: float) -> None:
        self.ref = self._room("ref", 4 * grains.n, self.dtype).reshape(-1, 4)
        layout.note_rooms(grains.n, grains.x, self._seen(grains), self.ref)

    def _slice(self, grains: Grains, found: Array, count: Array) -> None:
        rows = int(np.diff(self.slab).max()) + 8
        queue = self._room("queue", self.slabs * rows, np.int32).reshape(self.slabs, -1)
        width = self._room("width", self.slabs * rows, np.int32).reshape(self.slabs, -1)
        reach, part = np.empty((self.slabs, 2), np.int64), np.zeros(self.slabs + 1, np.int64)
        layout.group(
            self.slab, found, count, grains.x, self._seen(grains), self.typical > 0.0, queue,
            width, reach, part,
        )  # fmt: skip
        used = [width[s, : part[s + 1]] for s in range(self.slabs)]
        self.reach, self.part = reach, np.cumsum(part)
        self.ptr = np.concatenate([[0], np.cumsum(np.concatenate(used))]).astype(np.int64)
        self._share_out()
        self.lanes = self._room("lanes", 8 * int(self.part[-1]), np.int32)
        self.nbr = self._room("nbr", 8 * int(self.ptr[-1]), np.int32)
        layout.fill(self.slab, self.part, found, count, queue, self.lanes, self.ptr, self.nbr)

    def state(self) -> dict[str, Any]:
        """Everything that a bit-for-bit restart needs."""
        return {name: getattr(self, name).copy() for name in self.STATE} | {
            "moves": self.moves,
            "typical": self.typical,
        }

    def check(self, saved: Saved, facts: Facts) -> int:
        """Refuse a state that is no list of these grains; return for how many it was made."""
        rows = self._check_slabs(saved, facts)
        self._check_slices(saved, rows)
        saved.array("ref", self.dtype, (rows, 4))
        saved.whole("moves", 0)
        saved.number("typical", 0.0)
        return rows

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        for name in self.STATE:
            setattr(self, name, np.array(state[name], order="C"))  # the state stays as it is
        self._store.clear()
        self._share_out()
        self.moves = int(state["moves"])
        self.typical = float(state["typical"])

    def room_for_contacts(self, numbers: bool) -> tuple[Array, Array, Array, Array, Array]:
        """Room for those that touch: slices in use, rows, slots, neighbours, a number for each.

        Without `numbers`, for none of the last.
        """
        return (
            self._room("used", self.slabs, np.int64),
            self._room("touching lanes", len(self.lanes), np.int32),
            self._room("touching slots", int(self.part[-1]) + self.slabs, np.int64),
            self._room("touching", len(self.nbr), np.int32),
            self._room("numbers", len(self.nbr) if numbers else 0, self.dtype),
        )


def outside(grains: Grains, dt: Any, whole: bool, ref: Array) -> bool:
    """Whether a grain will be outside its room, ref (n, 4), in dt; whole: or is now."""
    flag = np.zeros(-(-grains.n // CHUNK), np.bool_)
    layout.any_left(grains.n, grains.x, grains.v, dt, whole, ref, flag)
    return bool(flag.any())


def mean_pace(grains: Grains) -> float:
    """Mean speed of the grains, in radii a second."""
    total = np.zeros(-(-grains.n // CHUNK))
    layout.paces(grains.n, grains.x, grains.v, total)
    return float(total.sum()) / grains.n
