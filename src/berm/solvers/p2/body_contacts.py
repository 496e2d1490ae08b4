"""Contacts of grains with dynamic bodies, kept over steps for as long as they hold."""

from __future__ import annotations

from operator import is_
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.grains import LARGE
from berm.core.saved import Saved
from berm.kernels.p2.body_ways import Near
from berm.kernels.walls.arrays import Scratch, Touches
from berm.solvers.walls.check import check_walls
from berm.solvers.walls.walls import Walls

Array = npt.NDArray[Any]


class BodyContacts(Walls):
    """`Walls` that a kernel finds as often as it has to, with two sets of contacts in turns.

    near: where all stood at the last search; keeps: contacts may be kept as far as that says;
    which: bodies that were looked at.
    """

    def __init__(self, dtype: Any = np.float32) -> None:
        super().__init__(dtype)
        self.near = Near(np.zeros((0, 3), self.dtype), np.zeros((0, 12)), np.zeros((0, 0, 8)))
        self.keeps = False
        self.which: Array = np.zeros(0, np.int64)
        self._turns = (self.touches, self.touches)
        self._cap = self.rows.shape[1]
        self._fitted: tuple[Any, ...] = ()  # what the room was made for

    def begin_step(self, which: Array, bodies: int) -> None:
        """Forces from 0; nothing is kept where other bodies are looked at than before."""
        self.total[:] = 0.0
        if len(self.near.place) != bodies or which.tobytes() != self.which.tobytes():
            self.keeps, self.which = False, which.copy()
            self.near = self.near._replace(place=np.zeros((bodies, 12)))

    def begin_turns(
        self, n: int, slab_start: Array
    ) -> tuple[tuple[Touches, Touches, Touches], Scratch, Near]:
        """Return what a kernel fills in turns, what it begins from, its room, and what it notes."""
        slabs, cap, old = len(slab_start) - 1, self._cap, self.touches
        fitted = (n, slab_start, cap, old, *self._turns)
        if len(fitted) == len(self._fitted) and all(map(is_, fitted, self._fitted)):
            return (*self._turns, old), self._scratch, self.near
        have = [one for one in self._turns if one is not old and one.rows.shape == (slabs, cap)]
        sets = [
            one if len(one.first) == n else one._replace(first=np.empty(n, np.int32))
            for one in have
        ]
        while len(sets) < 2:
            sets.append(self._allocate(slabs, cap, n))
        self._turns = (sets[0], sets[1])
        self.slab_start = slab_start
        slots = max(old.body.size, sets[0].body.size)
        self._scratch = self._room_for_search(sets[0], self._blocks(), slots)
        x, place, frames = self.near
        if len(x) != n:
            x = np.zeros((n, 3), self.dtype)
        if len(frames) != slabs or frames.shape[1] < cap:
            frames = np.zeros((slabs, cap, 8))
        self.near = Near(x, place, frames)
        self._fitted = (n, slab_start, cap, old, *self._turns)
        return (*self._turns, old), self._scratch, self.near

    def end_turns(self, searches: int, fits: bool, keeps: bool) -> None:
        """Take over how many searches of the kernel fitted, and whether the last one did."""
        self.keeps = keeps
        if searches > 0:
            last, spare = self._turns if searches % 2 else self._turns[::-1]
            self._turns, self.touches = (spare, self.touches), last
            self._publish()
        if not fits:  # the one that is next was tried
            self._cap = -(-int(1.25 * int(self._turns[0].count.max())) // 8) * 8

    def end(self) -> None:
        """Let go of what large worlds need only while they search."""
        self._spare = self.touches
        super().end()
        if len(self.touches.first) >= LARGE:
            self._turns = (self.touches, self.touches)

    def state(self) -> dict[str, Any]:
        """Return everything that a restart needs to go on bit for bit."""
        state = super().state() | {"keeps": self.keeps, "which": self.which.copy()}
        n, bodies, used = len(self.near.x), len(self.near.place), int(self.count.max(initial=0))
        if not self.keeps:
            n = bodies = used = 0
        frames = np.zeros((len(self.count), used, 8))
        held = (
            np.arange(used) < self.count[:, None] if used else np.zeros((len(self.count), 0), bool)
        )
        frames[held] = self.near.frames[:, :used][held]
        return state | {
            "near_x": self.near.x[:n].copy(),
            "near_place": self.near.place[:bodies].copy(),
            "near_frames": frames,
        }

    def check(self, saved: Saved, bodies: int, rows: int, slab: Array) -> None:
        """Refuse a state that is not of `rows` grains in these slabs and these bodies."""
        check_walls(saved, self.dtype, bodies, rows, slab, sure=False)
        count = saved.get("count")
        kept, used = saved.flag("keeps"), int(count.max(initial=0))
        saved.array("which", np.int64, (None,), 0, bodies - 1)
        saved.array("near_x", self.dtype, (rows if kept else 0, 3))
        saved.array("near_place", np.float64, (bodies if kept else 0, 12))
        saved.array("near_frames", np.float64, (len(count), used if kept else 0, 8))
        if kept and rows and not len(count):
            raise saved.refuse("keeps", True, "False: nothing was found yet")

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` returned."""
        super().restore(state)
        self.keeps, self.which = bool(state["keeps"]), np.array(state["which"], np.int64)
        self._turns, self._cap = (self.touches, self.touches), self.rows.shape[1]
        frames = np.zeros((*self.rows.shape, 8))
        used = state["near_frames"].shape[1]
        frames[:, :used] = state["near_frames"]
        self.near = Near(
            np.array(state["near_x"], self.dtype), np.array(state["near_place"], float), frames
        )
