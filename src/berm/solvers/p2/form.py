"""Forms of P2: how the corrections of one grain's contacts come together. One form a file.

A form owns the list of pairs, the contacts with bodies, its arrays and the call of its kernel.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from berm.core import pages
from berm.core.errors import SimulationError
from berm.core.grains import LARGE, Grains
from berm.core.registry import Registry
from berm.kernels.p2.law import OFF
from berm.kernels.search.fastest import within
from berm.solvers.base import WorldView
from berm.solvers.p2.law import ContactLaw
from berm.solvers.portions import Portions
from berm.solvers.search.candidate_list import CandidateList
from berm.solvers.search.contact_list import ContactList
from berm.solvers.search.patched_list import PatchedList
from berm.solvers.walls.kept_walls import KeptWalls
from berm.solvers.walls.walls import Walls

if TYPE_CHECKING:
    from berm.solvers.p2.solver import P2

Array = npt.NDArray[Any]
FORMS: Registry[type[Form]] = Registry("form of p2")
FARTHEST = 1e18  # m: beyond, a grain is lost


class Form(ABC):
    """What all forms share: made once for a solver in its world.

    conserving: each pair gets equal and opposite impulses, which are kept from substep to substep.
    areas: adhesive surfaces that it knows, the default first. width: numbers of a grain's row.
    """

    conserving: ClassVar[bool]
    areas: ClassVar[tuple[str, ...]]
    width: ClassVar[int] = 16
    contacts: ContactList
    walls: Walls

    def __init__(self, p2: P2, dtype: npt.DTypeLike) -> None:
        self.p2, self.dtype = p2, np.dtype(dtype)
        self.row: Array = np.zeros((0, self.width), self.dtype)  # what a grain's substep needs
        self.portions = Portions()  # of the passes over the contacts

    def search(self, grains: Grains, dt: float, under_way: bool) -> bool:
        """Rebuild the list of pairs if it has to be; `under_way`: a grain has left its way."""
        stale = self._is_stale(grains, dt, under_way)
        if stale:
            check_within_reach(grains, dt)
            if grains.n >= LARGE:
                self.row = np.zeros((0, self.width), self.dtype)  # not needed before the solve
            self._build(grains, dt)
        self._make_room(grains.n)
        return stale

    @abstractmethod
    def _is_stale(self, grains: Grains, dt: float, under_way: bool) -> bool: ...

    @abstractmethod
    def _build(self, grains: Grains, dt: float) -> None: ...

    def _make_room(self, n: int) -> None:
        if len(self.row) < n:
            self.row = pages.zeros((int(1.2 * n) + 8, self.width), self.dtype)

    def find_walls(
        self, world: WorldView, ahead: float, gone: float, fresh: bool, again: bool
    ) -> bool:
        """Find the contacts with fixed and driven bodies for `ahead` (s), where they are not known.

        again: in any case; gone (s): part of the step by which driven bodies are further than they
        say; fresh: rows have moved. Tells if they were found.
        """
        grains, walls = world.grains, self.walls
        again = again or self._walls_are_left(grains, ahead)
        if again:
            margin = self.wall_margin(not self.p2.multibody.driven)
            multi = self.p2.multibody
            walls.find(
                multi.table, multi.fixed, multi.poses(world.bodies, multi.fixed, gone, ahead),
                grains.x, grains.v, grains.n, self.contacts.slab, ahead, world.gravity, margin,
                self.contacts.came_from if fresh else None,
            )  # fmt: skip
            self._note_walls(world, ahead, margin)
        else:
            walls.total[:] = 0.0
        return again

    def wall_margin(self, kept: bool) -> float:
        """How near, in radii, a wall is looked for; kept: for more than the next step."""
        return self.p2.wall_skin

    def _walls_are_left(self, grains: Grains, ahead: float) -> bool:
        """Whether a grain will be where its contacts with bodies no longer hold."""
        return False

    def _note_walls(self, world: WorldView, ahead: float, margin: float) -> None:
        """Note what contacts with bodies were found for."""
        return

    @abstractmethod
    def solve(
        self, grains: Grains, body_kinds: Array, law: ContactLaw, first: int, substeps: int,
        fresh: bool, stats: Array,
    ) -> int:  # fmt: skip
        """Do substeps from `first` on; return the next one to do.

        body_kinds: material of each body; fresh: contacts were found since the last call; stats
        (slabs, NSTATS) is filled.
        """

    def _in_portions(
        self, passes: Callable[[int, int], int], first: int, substeps: int, stats: Array
    ) -> int:
        """Do all passes over the contacts from substep `first` on; return the next substep to do.

        passes(begin, end) does some and returns the next to do. A grain that has left the way that
        the list covers ends them, as it ends each call.
        """
        size, portions = self.p2.iterations, self.portions
        done, last = first * size, substeps * size
        while True:
            begin = time.perf_counter()
            now = passes(done, done + portions.take(last - done))
            portions.took(now - done, time.perf_counter() - begin)
            done = now
            if done == last or (done % size == 0 and stats[:, OFF].any()):
                return done // size
            portions.tell(last - done, self._effort, depth=6)

    def _effort(self) -> str:
        p2 = self.p2
        return (
            f"solver {p2.name}: a step takes {p2.taken:,} substeps of {p2.iterations:,} iterations"
        )

    def state(self) -> dict[str, Any]:
        """Return everything that a bit-for-bit restart needs."""
        return {"contacts": self.contacts.state(), "walls": self.walls.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.row = np.zeros((0, self.width), self.dtype)  # rows know their rooms in another list
        self.contacts.restore(state["contacts"])
        self.walls.restore(state["walls"])


class Conserving(Form):
    """Forms that keep impulses: pairs and walls remember them from substep to substep."""

    conserving = True
    areas = ("whole", "overlap")
    contacts: PatchedList

    def __init__(self, p2: P2, dtype: npt.DTypeLike) -> None:
        super().__init__(p2, dtype)
        self.contacts, self.walls = PatchedList(dtype), Walls(dtype)

    def _is_stale(self, grains: Grains, dt: float, under_way: bool) -> bool:
        return under_way or self.contacts.is_stale(grains, dt / self.p2.taken, dt)

    def _build(self, grains: Grains, dt: float) -> None:
        self.contacts.renew(grains, dt, dt / self.p2.taken, self.p2.skin)

    def _touching(self) -> tuple[Array, ...]:
        w = self.walls
        return w.count, w.rows, w.body, w.plane, w.impulse, w.total


class AsPrinted(Form):
    """Forms with the corrections of the paper: nothing is remembered, contact is decided once.

    Once a substep, that is, unless `retest` is set.
    """

    conserving = False
    areas = ("overlap",)
    contacts: CandidateList
    walls: KeptWalls

    def __init__(self, p2: P2, dtype: npt.DTypeLike) -> None:
        super().__init__(p2, dtype)
        self.contacts, self.walls = CandidateList(dtype), KeptWalls(dtype)

    @property
    def _whole_way(self) -> bool:
        """Whether what touches is decided on the way too, not at the end of the step only."""
        return self.p2.retest or self.p2.taken > 1

    def _is_stale(self, grains: Grains, dt: float, under_way: bool) -> bool:
        return self.contacts.has_left(grains, dt, self._whole_way)

    def _build(self, grains: Grains, dt: float) -> None:
        self.contacts.build_for(grains, dt, self.p2.skin, self._whole_way)

    def wall_margin(self, kept: bool) -> float:
        """How near, in radii, a wall is looked for; kept: for more than the next step."""
        if self._whole_way:
            return self.p2.wall_skin
        lasting = kept and self.contacts.typical > 0.0
        return self.p2.wall_skin * (1.0 if lasting else self.p2.TOUCH)

    def _walls_are_left(self, grains: Grains, ahead: float) -> bool:
        return self.walls.are_left(grains, ahead, self._whole_way)

    def _note_walls(self, world: WorldView, ahead: float, margin: float) -> None:
        self.walls.note(world, ahead, margin)


def check_within_reach(grains: Grains, dt: float) -> None:
    """Stop where a grain is, or will be in dt (s), too far away for a search to number its cell."""
    row = within(grains.x, grains.v, grains.n, float(dt), FARTHEST)
    if row >= 0:
        raise SimulationError(
            f"grain {int(grains.tag[row])} became non-finite, or went astray "
            f"(position {grains.x[row, :3].tolist()}, velocity {grains.v[row, :3].tolist()})"
        )


def room_for_sums(sums: Array, contacts: ContactList) -> Array:
    """Return an accumulator for all slabs: the same while it is large enough."""
    rows = contacts.accumulator_rows() + 1
    return sums if len(sums) >= rows else np.zeros((int(1.1 * rows) + 8, 4), sums.dtype)
