"""The list of grain pairs that may touch, kept from step to step while nobody has moved far."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core import pages
from berm.core.errors import SimulationError
from berm.core.grains import LARGE, PAD, Grains
from berm.core.saved import Facts, Saved
from berm.kernels.search import neighbours
from berm.kernels.search import slices as layout

Array = npt.NDArray[Any]

ROWS_PER_SLAB = 2048
ROWS_TOGETHER = 64  # slabs begin at multiples of this
MIN_SLABS, MAX_SLABS = 4, 96
FULL = 0.85  # of the lanes that a list sorted anew fills: below, rows are sorted anew ...
CALM = 30  # ... but not sooner than so many steps after the last time: a new order is a kick
THIN = 16.0  # times as many cells as a cloud should have that a thin one may
ROOM = 1.15  # cells are wider than a grain by this, so that slow grains need no wider search


def slab_limits(n: int) -> Array:
    """Cut n rows into slabs; depends on n only, so results do not depend on the threads."""
    # a multiple of four: of two colours, two threads then have as many slabs each
    wanted = min(max((n // ROWS_PER_SLAB + 2) // 4 * 4, MIN_SLABS), MAX_SLABS)
    units = max(-(-n // ROWS_TOGETHER), 1)
    slabs = min(wanted, units)
    cuts = (np.arange(slabs + 1) * units) // slabs * ROWS_TOGETHER
    limits: Array = np.minimum(cuts, n).astype(np.int64)
    return limits


def colour_slabs(reach: Array) -> tuple[Array, Array]:
    """Colour slabs so that none meets another of its colour in the rows that they touch.

    reach (slabs, 2): first and end of those rows. Returns first place of each colour, and the
    slabs in the order of their turns.
    """
    ends: list[list[int]] = []  # slabs of each colour so far; rows rise with the slabs
    for s, (low, high) in enumerate(reach):
        for members in ends:
            if all(high <= reach[t, 0] or low >= reach[t, 1] for t in members):
                members.append(s)
                break
        else:
            ends.append([s])
    colour = np.cumsum([0] + [len(members) for members in ends])
    turn = np.array([s for members in ends for s in members])
    return colour.astype(np.int64), turn.astype(np.int64)


class ContactList:
    """Candidate pairs of the grains, in sliced ELLPACK, with the impulse that each remembers.

    Built with a skin: pairs whose gap is below skin * radius at some time in the coming dt. It
    stays valid until a grain has left its straight way by half a skin and a little more, so a
    settled bed searches rarely.
    """

    STATE: tuple[str, ...] = (
        "slab", "part", "lanes", "ptr", "nbr", "imp", "home", "reach", "ref"
    )  # fmt: skip
    WIDE = 8  # numbers of a row of ref

    def __init__(self, dtype: npt.DTypeLike, ahead: bool = True) -> None:
        self.dtype = np.dtype(dtype)
        self.ahead = ahead  # list pairs that may meet within the step, not only at its end
        self.slab: Array = np.zeros(1, np.int64)  # (slabs + 1,) row limits
        self.part: Array = np.zeros(1, np.int64)  # (slabs + 1,) slice limits
        self.lanes: Array = np.zeros(0, np.int32)  # row of each lane
        self.ptr: Array = np.zeros(1, np.int64)  # first slot of each slice
        self.nbr: Array = np.zeros(0, np.int32)  # neighbour of each slot and lane
        self.imp: Array = np.zeros(0, self.dtype)  # remembered impulse, kg m
        self.home: Array = np.zeros(0, np.int32)  # lane of each row
        self.fullness = 1.0  # share of the lanes in use when rows were last sorted by count
        self.since_sort = 0  # steps since then
        self.sparse = False  # whether too few lanes are in use now
        self.reach: Array = np.zeros((0, 2), np.int64)  # rows that a slab touches
        self.base: Array = np.zeros(0, np.int64)  # where its accumulator starts
        self.colour: Array = np.zeros(1, np.int64)  # first turn of each colour of slabs
        self.turn: Array = np.zeros(0, np.int64)  # slabs by colour
        # what it was made for: place, room, way
        self.ref: Array = np.zeros((0, self.WIDE), self.dtype)
        self.came_from: Array = np.zeros(0, np.int32)  # row before the last search, -1: new
        self.order: Array = np.zeros(0, np.int64)  # row before the last sort
        self._most = 0  # entries of the fullest slab at the last search
        self._store: dict[str, Array] = {}  # buffers kept, since fresh memory costs page faults
        self.moves = 0  # how often rows have been sorted

    def _room(self, name: str, size: int, dtype: npt.DTypeLike) -> Array:
        """A piece of a buffer that is kept and grows; what it held before is lost."""
        buffer = self._store.get(name)
        if buffer is None or len(buffer) < size:
            spare = 1.25 if size < LARGE else 1.02
            buffer = self._store[name] = pages.zeros(int(spare * size) + 64, dtype)
        return buffer[:size]

    @property
    def slabs(self) -> int:
        """Number of slabs."""
        return len(self.slab) - 1

    def is_stale(self, grains: Grains, h: float) -> bool:
        """Whether a grain will be off its way after the first substep, h; asked once a step."""
        self.since_sort += 1
        if grains.changed or len(self.ref) < grains.n or self.slabs == 0:
            return True
        if self.sparse and self.since_sort >= CALM:
            return True
        flag = np.zeros(self.slabs, np.bool_)
        real: Any = self.dtype.type
        neighbours.any_moved(self.slab, grains.x, grains.v, real(h), self.ref, flag)
        return bool(flag.any())

    def build(self, grains: Grains, dt: float, skin: float) -> None:
        """Sort the grains by cell, search, and carry the remembered impulses over."""
        n = grains.n
        if n >= LARGE:
            self.ref = np.zeros((0, self.WIDE), self.dtype)
            self._give_back("ref")
        lo, dims, cell_size = self._grid(grains, dt, skin)
        axes = np.argsort(dims, kind="stable").astype(np.int64)  # slowest: the longest
        cell = self._room("cell", n, np.int32)
        level = self._room("level", n + PAD, np.int32)  # eight are read at a time
        top = np.zeros(-(-n // neighbours.CHUNK), np.int64)
        neighbours.assign_cells(
            self._seen(grains), grains.v, n, dt, skin, self.ahead, lo, 1.0 / cell_size, dims, axes,
            cell, level, top,
        )  # fmt: skip
        ncell = int(np.prod(dims))
        start = self._room("start", ncell + 1, np.int32)
        order = self.order = self._room("order", n, np.int64)
        neighbours.sort_by_cell(cell, n, ncell, start, order)
        self._move_rows(order, *(getattr(grains, name) for name in grains.FIELDS), cell, level)
        self.slab = slab_limits(n)
        levels = bool(top.any())
        found, count = self._search(grains, dt, skin, levels, level, cell, start, dims, axes)
        if n >= LARGE:
            del cell, level, start
            self._give_back("cell", "level", "start", "sight", "spare")
        self._slice(grains, found, count)
        del found, count
        if n >= LARGE:
            self._give_back("found", "count", "queue", "rough", "width")
            last = str(1 - self.moves % 2)  # the list that impulses came from
            self._give_back("lanes" + last, "nbr" + last, "imp" + last, "home" + last)
        self.came_from = grains.was[:n].copy()
        self._note(grains, dt, skin)
        grains.was[:n] = np.arange(n, dtype=np.int32)
        grains.changed = False
        self.moves += 1

    def _move_rows(self, order: Array, *arrays: Array) -> None:
        """Move rows of all arrays in place: new row k is old row order[k]."""
        n = len(order)
        words = tuple(one[:n].reshape(-1).view(np.int32) for one in arrays)
        spare = self._room("spare", max(one.size for one in words), np.int32)
        neighbours.permute(order, words, spare)

    def _seen(self, grains: Grains) -> Array:
        """Positions and radii as the search sees them."""
        return grains.x

    def _note(self, grains: Grains, dt: float, skin: float) -> None:
        """Note where all grains are, and how far they may go."""
        real: Any = self.dtype.type
        self.ref = self._room("ref", 8 * grains.n, self.dtype).reshape(grains.n, 8)
        neighbours.note_positions(
            grains.x, grains.v, grains.n, real(dt), real(0.5 * skin), self.ahead, self.ref
        )

    def _give_back(self, *names: str) -> None:
        """Let go of buffers."""
        for name in names:
            self._store.pop(name, None)

    def _grid(self, grains: Grains, dt: float, skin: float) -> tuple[Array, Array, float]:
        """Corner, cell counts and cell size; stragglers are clamped into the outermost cells."""
        n = grains.n
        chunks = np.empty((-(-n // neighbours.CHUNK), 7))
        neighbours.bounds(grains.x, grains.v, n, dt, chunks)
        box = np.array([chunks[:, :3].min(axis=0), chunks[:, 3:6].max(axis=0)])
        if chunks[:, 6].max() >= 0:
            bad = int(chunks[chunks[:, 6] >= 0, 6][0])
            raise SimulationError(
                f"grain {int(grains.tag[bad])} has a non-finite position or velocity: "
                f"{grains.x[bad, :3].tolist()}, {grains.v[bad, :3].tolist()}"
            )
        size = 2.0 * float(grains.radius.mean(dtype=np.float64)) * (1.0 + 0.5 * skin) * ROOM
        limit = 8.0 * n + 4096.0
        if float(np.prod((box[1] - box[0]) / size + 1.0)) > limit:
            spread = np.empty((2, 3))  # of predicted positions, as the box: else it may be empty
            neighbours.moments(grains.x, grains.v, n, dt, spread)
            box[0] = np.maximum(box[0], spread[0] - 3.0 * spread[1] - size)
            box[1] = np.minimum(box[1], spread[0] + 3.0 * spread[1] + size)
        volume = float(np.prod((box[1] - box[0]) / size + 1.0))
        if volume > limit:
            size *= (volume / limit) ** (1.0 / 3.0) * 1.01
        dims = np.floor((box[1] - box[0]) / size) + 1.0
        while float(np.prod(dims)) > THIN * limit:  # the cube root is too little where it is thin
            size *= 2.0
            dims = np.floor((box[1] - box[0]) / size) + 1.0
        return box[0].copy(), dims.astype(np.int64), size

    def _search(
        self, grains: Grains, dt: float, skin: float, levels: bool, level: Array, cell: Array,
        start: Array, dims: Array, axes: Array,
    ) -> tuple[Array, Array]:  # fmt: skip
        count = self._room("count", grains.n, np.int32)
        need = np.zeros(self.slabs, np.int64)
        rows = int(np.diff(self.slab).max())
        room = max(64, 5 * rows, int(1.1 * self._most))
        sight = self._room("sight", 8 * (grains.n + PAD), self.dtype).reshape(8, -1)
        neighbours.note_sight(self._seen(grains), grains.v, grains.n, dt, skin, self.ahead, sight)
        while True:
            found = self._room("found", self.slabs * room, np.int32).reshape(self.slabs, room)
            neighbours.search(
                self.slab, sight, self.ahead, levels, level, cell, start, dims, axes, found, count,
                need,
            )  # fmt: skip
            self._most = int(need.max())
            if self._most + 8 <= room:  # eight are written at a time
                return found, count
            room = int(1.2 * self._most) + 8

    def _slice(self, grains: Grains, found: Array, count: Array) -> None:
        """Lay the pairs out in slices, in the order of the last list as far as that is good."""
        side = str(self.moves % 2)  # the other side holds the list that impulses come from
        now = np.full(len(self.home), -1, np.int32)
        was = grains.was[: grains.n]
        now[was[was >= 0]] = np.flatnonzero(was >= 0)
        kept = len(self.lanes) > 0
        rough, width, reach, part = self._arrange(count, found, now, kept)
        pairs = int(count.sum())
        self.sparse = pairs < FULL * self.fullness * 8 * sum(int(w.sum()) for w in width)
        if kept and self.sparse and self.since_sort >= CALM:
            kept = False  # rows with many and few neighbours have come together
            rough, width, reach, part = self._arrange(count, found, now, kept)
        ptr = np.concatenate([[0], np.cumsum(np.concatenate(width))]).astype(np.int64)
        if not kept:
            self.fullness = pairs / max(8 * int(ptr[-1]), 1)
            self.since_sort, self.sparse = 0, False
        lanes = self._room("lanes" + side, 8 * int(part[-1]), np.int32)
        nbr = self._room("nbr" + side, 8 * int(ptr[-1]), np.int32)
        imp = self._room("imp" + side, 24 * int(ptr[-1]), self.dtype)
        home = self._room("home" + side, grains.n, np.int32)
        layout.fill(
            self.slab, part, found, count, rough, lanes, ptr, nbr, imp, home, grains.was, now,
            self.ptr, self.nbr, self.imp, self.home, reach,
        )  # fmt: skip
        self.part, self.lanes, self.ptr, self.nbr, self.imp = part, lanes, ptr, nbr, imp
        self.home, self.reach = home, reach
        self._share_out()

    def _share_out(self) -> None:
        """Colours of the slabs, and where their accumulators start, from the rows they touch."""
        wide = self.reach[:, 1] - self.reach[:, 0]
        self.colour, self.turn = colour_slabs(self.reach)
        self.base = (np.cumsum(wide) - wide).astype(np.int64)

    def _arrange(
        self, count: Array, found: Array, now: Array, kept: bool
    ) -> tuple[Array, list[Array], Array, Array]:
        """Rows and widths of the slices, rows that each slab touches, first slice of each slab."""
        queue = self._room("queue", len(count), np.int32)
        length = np.zeros(self.slabs, np.int64)
        if kept:
            layout.keep_order(
                self.slab, ROWS_TOGETHER, count, now, self.lanes, self.home, queue, length
            )
        else:
            layout.sort_rows(self.slab, count, queue, length)
        rows = int(np.diff(self.slab).max())
        rough = self._room("rough", self.slabs * 8 * rows, np.int32).reshape(self.slabs, -1)
        width = self._room("width", self.slabs * rows, np.int32).reshape(self.slabs, -1)
        reach, part = np.empty((self.slabs, 2), np.int64), np.zeros(self.slabs + 1, np.int64)
        layout.arrange(self.slab, found, count, queue, length, rough, width, reach, part)
        used = [width[s, : part[s + 1]] for s in range(self.slabs)]
        return rough, used, reach, np.cumsum(part)

    def accumulator_rows(self) -> int:
        """Rows that the slabs' private accumulators need together."""
        return int((self.reach[:, 1] - self.reach[:, 0]).sum())

    def pairs(self) -> tuple[Array, Array]:
        """All candidate pairs (i, j) as row numbers, in list order."""
        slots = len(self.nbr) // 8
        of_slice = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))
        i = self.lanes.reshape(-1, 8)[of_slice].reshape(-1)[: 8 * slots]
        real = i != self.nbr
        return i[real], self.nbr[real]

    def state(self) -> dict[str, Any]:
        """Everything that a bit-for-bit restart needs."""
        return {name: getattr(self, name).copy() for name in self.STATE} | {
            "moves": self.moves,
            "fullness": self.fullness,
            "since_sort": self.since_sort,
            "sparse": self.sparse,
        }

    def check(self, saved: Saved, facts: Facts) -> int:
        """Refuse a state that is no list of these grains; return for how many it was made."""
        rows = self._check_slabs(saved, facts)
        slices, slots = self._check_slices(saved, rows)
        saved.array("imp", self.dtype, (24 * slots,))
        saved.array("home", np.int32, (rows,), -1, 8 * slices - 1)
        saved.array("ref", self.dtype, (rows, 8))
        self._check_order(saved)
        return rows

    def _check_slabs(self, saved: Saved, facts: Facts) -> int:
        slab = saved.array("slab", np.int64, (None,), 0)
        rows = int(slab[-1]) if len(slab) else 0
        if not self._fitting(saved, slab, rows):
            raise saved.refuse("slab", slab[:5].tolist(), "the slabs of so many grains")
        facts.check_rows(rows, saved)
        reach = saved.array("reach", np.int64, (len(slab) - 1, 2), 0, rows)
        if not ((reach[:, 0] <= slab[:-1]) & (reach[:, 1] >= slab[1:])).all():
            raise saved.refuse("reach", reach[:3].tolist(), "all rows of each slab")
        return rows

    def _fitting(self, saved: Saved, slab: Array, rows: int) -> bool:
        """Whether these are slabs of so many rows."""
        return np.array_equal(slab, slab_limits(rows) if rows else [0])

    @staticmethod
    def _check_slices(saved: Saved, rows: int) -> tuple[int, int]:
        """Refuse lanes and neighbours that their slab does not reach; return slices, slots."""
        reach = saved.get("reach")
        part = saved.limits("part", len(reach))
        ptr = saved.limits("ptr", int(part[-1]))
        lanes = saved.array("lanes", np.int32, (8 * int(part[-1]),), 0, rows - 1)
        nbr = saved.array("nbr", np.int32, (8 * int(ptr[-1]),), 0, rows - 1)
        for name, who, cuts in (("lanes", lanes, part), ("nbr", nbr, ptr[part])):
            of_slab = np.repeat(np.arange(len(reach)), 8 * np.diff(cuts))
            if ((who < reach[of_slab, 0]) | (who >= reach[of_slab, 1])).any():
                raise saved.refuse(name, "a row far away", "rows that their slab reaches")
        return int(part[-1]), int(ptr[-1])

    @staticmethod
    def _check_order(saved: Saved) -> None:
        saved.whole("moves", 0)
        saved.number("fullness", 0.0, 1.0)
        saved.whole("since_sort", 0)
        saved.flag("sparse")

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        for name in self.STATE:
            setattr(self, name, np.array(state[name], order="C"))  # the state stays as it is
        self._store.clear()
        self._share_out()
        self.moves = int(state["moves"])
        self.fullness = float(state["fullness"])
        self.since_sort = int(state["since_sort"])
        self.sparse = bool(state["sparse"])
