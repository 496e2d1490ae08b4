"""A list of pairs that is patched where a few grains came, went or strayed, not made anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core import pages
from berm.core.grains import LARGE, Grains
from berm.core.saved import Facts, Saved
from berm.kernels.search import patch
from berm.kernels.search import slices as layout
from berm.solvers.search.contact_list import CALM, ContactList

Array = npt.NDArray[Any]

MOST_LATE = 0.05  # of the grains: their slab, the last, runs by itself ...
FEW = 64  # ... or so many, in small worlds
MOST_GONE = 0.1  # of the grains: lanes that stay idle
LEAST = 4000  # grains: a list of fewer is made anew as fast, and then holds for all
A_ROW = 24  # pairs of a grain that there is room for at first


class PatchedList(ContactList):
    """`ContactList` with a slab at the end for grains that came or strayed since it was made.

    late: whether there is one; gone: how many grains went since.
    """

    least = LEAST

    def __init__(self, dtype: npt.DTypeLike) -> None:
        super().__init__(dtype)
        self.late = False
        self.gone = 0

    def is_stale(self, grains: Grains, h: float, dt: float = 0.0) -> bool:
        """Whether a grain will be off its way after the first substep, h (s); asked once a step.

        Or at the end of the step, dt (s), where those that will are so few that a patch will do.
        """
        if super().is_stale(grains, h):
            return True
        if grains.n < self.least:
            return False
        off = self._strayed(grains, grains.n, dt, True, self.ref)
        return len(off) > 0 and self._fits(off, self._held(), grains.n)

    def _held(self) -> Array:
        """Whether each row stands in the last slab (n,)."""
        if not self.late:
            return np.zeros(len(self.home), np.bool_)
        held: Array = self.home >= 8 * int(self.part[-2])
        return held

    def _fits(self, off: Array, held: Array, n: int) -> bool:
        """Whether the last slab may take rows `off` (of those held) and all that are not known."""
        both = int(held.sum()) + len(off) - int(held[off].sum()) + n - len(held)
        return both <= max(MOST_LATE * n, FEW)

    def _strayed(self, grains: Grains, n: int, ahead: float, strict: bool, ref: Array) -> Array:
        """Rows below n that will be off their way in `ahead` (s)."""
        rows = self._room("strayed", n, np.int32)
        real: Any = self.dtype.type
        count = patch.strayed_rows(n, grains.x, grains.v, real(ahead), strict, ref, rows)
        return rows[:count]

    def renew(self, grains: Grains, dt: float, h: float, skin: float) -> None:
        """Patch the list for a step of dt in substeps of h (s), or make it anew."""
        if not self._patch(grains, dt, h, skin):
            self.late, self.gone = False, 0
            self.build(grains, dt, skin)

    def _patch(self, grains: Grains, dt: float, h: float, skin: float) -> bool:
        """Take over who went, came and strayed; return False, with nothing done, where not."""
        n, old = grains.n, int(self.slab[-1])
        if self.slabs == 0 or old == 0 or len(self.ref) != old or not self.least <= n < LARGE:
            return False
        if self.sparse and self.since_sort >= CALM:
            return False
        was, ref, limits, stay, held = grains.was[:n], self.ref, self.slab, n, self._held()
        if grains.changed:
            stay = int(np.count_nonzero(was >= 0))
            known = was[:stay]
            if self.gone + old - stay > MOST_GONE * n or not self._fits(known[:0], held[:stay], n):
                return False
            if stay == 0 or known[0] < 0 or (np.diff(known) <= 0).any():
                return False  # somebody has moved rows otherwise
            limits, held = np.searchsorted(known, self.slab).astype(np.int64), held[known]
            ref = np.empty((n, 8), self.dtype)
            ref[:stay] = self.ref[known]
        off = self._strayed(grains, stay, dt, True, ref)
        if not grains.changed and not self._fits(off, held, n):
            off = self._strayed(grains, stay, h, False, ref)
        if not self._fits(off, held, n):
            return False
        if grains.changed:
            self.gone += old - stay
            self._renumber(was, stay, n, limits)
        self.ref = ref
        due = np.zeros(n, np.bool_)  # whose pairs are searched for
        due[off], due[stay:] = True, True
        late = due.copy()
        late[:stay] |= held
        self._put_last(grains, np.flatnonzero(late).astype(np.int32), due, dt, skin)
        self.came_from = was.copy()
        grains.was[:n] = np.arange(n, dtype=np.int32)
        grains.changed = False
        self._share_out()
        return True

    def _renumber(self, was: Array, stay: int, n: int, limits: Array) -> None:
        now = np.full(len(self.home), -1, np.int32)
        now[was[:stay]] = np.arange(stay, dtype=np.int32)
        home = np.full(n, -1, np.int32)
        patch.renumber(
            limits, self.part, self.lanes, self.ptr, self.nbr, self.imp, now, self.home, home,
            self.reach,
        )  # fmt: skip
        self.slab, self.home = limits, home

    def _put_last(self, grains: Grains, late: Array, due: Array, dt: float, skin: float) -> None:
        """Lay rows `late` with all their pairs out in the last slab; due (n,): search for those."""
        n = grains.n
        real: Any = self.dtype.type
        if not self.late:
            self.slab, self.late = np.append(self.slab, n), True
            self.part = np.append(self.part, self.part[-1])
            self.reach = np.vstack([self.reach, [[0, n]]])
        self.slab[-1], self.reach[-1] = n, (0, n)
        if len(late) == 0:
            return
        first, room = np.zeros(len(late) + 1, np.int64), A_ROW * len(late)
        while True:
            found, push = np.zeros((1, room), np.int32), np.zeros((room, 3), self.dtype)
            need = patch.pairs_of(
                late, due, n, grains.x, grains.v, real(dt), real(0.5 * skin), self.home, self.ptr,
                self.nbr, self.imp, self.ref, found[0], push, first,
            )  # fmt: skip
            if need <= room:
                break
            room = need
        patch.lift(late, self.lanes, self.ptr, self.nbr, self.imp, self.home)
        base = int(self.part[-2])  # what was in the last slab is laid out again
        self.part[-1], self.ptr = base, self.ptr[: base + 1]
        self.lanes, self.nbr = self.lanes[: 8 * base], self.nbr[: 8 * int(self.ptr[-1])]
        self.imp = self.imp[: 24 * int(self.ptr[-1])]
        count = np.zeros(n, np.int32)
        count[late] = np.diff(first)
        whole, queue, length = np.array([0, n], np.int64), np.zeros(n, np.int32), np.zeros(1, int)
        layout.sort_rows(whole, count, queue, length)
        rough = np.zeros((1, 8 * len(late)), np.int32)
        width, part = np.zeros((1, len(late)), np.int32), np.zeros(2, np.int64)
        reach = np.empty((1, 2), np.int64)
        layout.arrange(whole, found, count, queue, length, rough, width, reach, part)
        slices = int(part[1])
        ptr = np.concatenate([[0], np.cumsum(width[0, :slices])]).astype(np.int64)
        lanes, nbr = np.zeros(8 * slices, np.int32), np.zeros(8 * int(ptr[-1]), np.int32)
        imp = np.zeros(24 * int(ptr[-1]), self.dtype)
        patch.fill_late(
            late, first, found[0], push, rough[0, : 8 * slices].reshape(-1, 8),
            base, n, lanes, ptr, nbr, imp, self.home,
        )  # fmt: skip
        self.part[-1] += slices
        self.ptr = np.concatenate([self.ptr, self.ptr[-1] + ptr[1:]])
        self.lanes = self._longer("lanes", self.lanes, lanes)
        self.nbr = self._longer("nbr", self.nbr, nbr)
        self.imp = self._longer("imp", self.imp, imp)

    def _longer(self, name: str, array: Array, more: Array) -> Array:
        """An array with more behind it, in the buffer that it stands in while that has room."""
        name, size = name + str((self.moves + 1) % 2), len(array) + len(more)
        buffer = self._store.get(name)
        inside = buffer is not None and np.shares_memory(buffer[:1], array[:1])
        if buffer is None or not inside or len(buffer) < size:
            fresh = pages.zeros(int(1.25 * size) + 64, array.dtype)
            fresh[: len(array)] = array
            buffer = self._store[name] = fresh
        buffer[len(array) : size] = more
        return buffer[:size]

    def state(self) -> dict[str, Any]:
        """Everything that a bit-for-bit restart needs."""
        return super().state() | {"late": self.late, "gone": self.gone}

    def check(self, saved: Saved, facts: Facts) -> int:
        """Refuse a state that is no list of these grains; return for how many it was made."""
        saved.flag("late")
        saved.whole("gone", 0)
        return super().check(saved, facts)

    def _fitting(self, saved: Saved, slab: Array, rows: int) -> bool:
        if not saved.get("late") and not saved.get("gone"):
            return super()._fitting(saved, slab, rows)
        return len(slab) > 1 and slab[0] == 0 and not (np.diff(slab) < 0).any()

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        super().restore(state)
        self.late, self.gone = bool(state["late"]), int(state["gone"])
