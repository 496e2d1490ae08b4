"""All constraints of a step in flat arrays, and the order in which they are answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core import pages
from berm.kernels.vts import blocks as vts_blocks
from berm.kernels.vts import groups as vts_groups
from berm.kernels.vts import jacobi as vts_jacobi
from berm.kernels.vts import start as vts_start
from berm.kernels.vts.law import FACE, FORM, LINK, ROW
from berm.solvers.search.contact_list import colour_slabs

Array = npt.NDArray[Any]
CHUNK = 256  # constraints that one turn of a parallel pass answers


@dataclass
class Unit:
    """Blocks (kind, first, last) that one thread sweeps, and the range of particles they touch."""

    blocks: Array | list[tuple[int, int, int]]
    low: int
    high: int


class Rows:
    """Constraints as rows (`kernels.vts_law`), impulses, and who shares a particle with whom.

    ends (m, 2) int32: particles of contacts and links. quad (q, 4) int32: those of faces and of
    constraints with gradients, which stand from row `qbase` on, faces first; coef (q, 4): weights
    of a face's corners, 1 for the grain; grad (q, 4, 3): gradients. imp (m, 4): impulses, N s;
    change: what the last iteration added. Units of one colour share no particle. block, extra, who:
    rows as `kernels.vts_blocks` has them, from place[b] on, groups[b] of them, each constraint in
    its seat; old (n, 4): velocities of an iteration's start.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.n = 0
        self._make_blocks(0, vts_blocks.NUMBERS)
        self.free: Array = np.zeros(0, np.int32)
        self.old: Array = np.zeros((0, 4), self.dtype)
        self.reach: Array = np.full((1, 2), -1, np.int64)
        self.reserve(0, 0)
        self.arrange([], 0)

    def reserve(self, two: int, quads: int) -> None:
        """Make room for constraints of one or two particles and of four; all before is lost."""
        self.qbase, self.faces = two, 0
        if not hasattr(self, "row") or len(self.row) < two + quads + 1:
            room = int(1.2 * (two + quads)) + 8
            self.ends: Array = np.zeros((room, 2), np.int32)
            self.slot: Array = np.zeros(room, np.int64)
            self.row: Array = np.zeros((room, ROW), self.dtype)
            self.imp: Array = np.zeros((room, 4), self.dtype)
            self.change: Array = np.zeros((room, 4), self.dtype)
            self.seat, self.filled, self.onward = (np.zeros(room, np.int32) for _ in range(3))
        if not hasattr(self, "quad") or len(self.quad) < quads:
            room = int(1.2 * quads)
            self.quad: Array = np.full((room, 4), -1, np.int32)
            self.coef: Array = np.zeros((room, 4), self.dtype)
            self.grad: Array = np.zeros((room, 4, 3), self.dtype)

    def arrange(self, units: list[Unit], n: int) -> None:
        """Set the order: units by colour for sweeps and Jacobi, chunks for other passes."""
        self.n = n
        blocks = [np.zeros((0, 3), np.int64), *(np.asarray(unit.blocks) for unit in units)]
        self.unit = np.cumsum([len(some) for some in blocks]).astype(np.int64)
        self.kind, self.first, self.last = np.ascontiguousarray(np.concatenate(blocks).T)
        before = self.reach
        self.reach = np.array([(unit.low, unit.high) for unit in units], np.int64).reshape(-1, 2)
        if not np.array_equal(self.reach, before):
            self.colour, self.turn = colour_slabs(self.reach)
        self.groups = np.zeros(len(self.kind), np.int64)
        self.place = np.zeros(len(self.kind), np.int64)
        if len(self.old) != n:
            self.old = np.zeros((n, 4), self.dtype)
        self._chunks: tuple[Array, Array, Array] | None = None  # made where they are asked for
        self._sums: Array | None = None
        self.start: Array = np.zeros(1, np.int64)
        self.item: Array = np.zeros(0, np.int64)
        self.degree: Array = np.zeros(0, np.int32)

    def _make_blocks(self, count: int, width: int) -> None:
        """Make room for blocks."""
        self.block: Array = pages.zeros((count, width), self.dtype)
        self.extra: Array = pages.zeros((count, vts_blocks.EXTRA), self.dtype)
        self.who: Array = pages.zeros(2 * count * vts_blocks.LANES, np.int32)

    def find_seats(self, apart: bool, memory: bool) -> None:
        """Seat constraints in blocks; apart: those of a block share no particle.

        memory: blocks have room for the last changes.
        """
        base = np.concatenate([[0], np.cumsum(self.reach[:, 1] - self.reach[:, 0])])
        if apart and len(self.free) < base[-1]:
            self.free = np.zeros(int(1.2 * base[-1]), np.int32)
        vts_groups.seats(
            apart, self.unit, self.kind, self.first, self.last, self.reach, base, self.free,
            self.ends, self.seat, self.filled, self.onward, self.groups,
        )  # fmt: skip
        ends = np.cumsum(self.groups)
        self.place = ends - self.groups
        width = vts_blocks.NUMBERS if memory else vts_blocks.CHANGE
        if len(ends) and (len(self.block) < ends[-1] or self.block.shape[1] != width):
            self._make_blocks(int(1.2 * ends[-1]), width)

    @property
    def chunks(self) -> tuple[Array, Array, Array]:
        """Kind, first and last constraint of equal parts of all blocks."""
        if self._chunks is None:
            parts = -(-(self.last - self.first) // CHUNK)
            b = np.repeat(np.arange(len(parts)), parts)
            nth = np.arange(len(b)) - np.repeat(np.cumsum(parts) - parts, parts)
            at = self.first[b] + CHUNK * nth
            self._chunks = self.kind[b], at, np.minimum(at + CHUNK, self.last[b])
        return self._chunks

    @property
    def sums(self) -> Array:
        """Room for two numbers of each chunk."""
        if self._sums is None or len(self._sums) != max(len(self.chunks[0]), 1):
            self._sums = np.zeros((max(len(self.chunks[0]), 1), 2))
        return self._sums

    @property
    def count(self) -> int:
        """Number of constraints."""
        return int((self.last - self.first).sum())

    @property
    def used(self) -> Array:
        """Places of all constraints, in the order of their blocks."""
        many = self.last - self.first
        return np.arange(self.count) + np.repeat(self.first - np.cumsum(many) + many, many)

    @property
    def contacts(self) -> int:
        """Number of constraints that may rub."""
        rubs = (self.kind != LINK) & (self.kind != FORM)
        return int((self.last - self.first)[rubs].sum())

    def find_neighbours(self) -> None:
        """List the constraints of each particle."""
        ends = 2 * int((self.last - self.first)[self.kind < 3].sum())
        quads = 4 * int((self.last - self.first)[self.kind >= 3].sum())
        self.start = np.empty(self.n + 1, np.int64)
        self.item = np.empty(ends + quads, np.int64)
        vts_jacobi.adjacency(
            self.kind, self.first, self.last, self.ends, self.quad, self.qbase, self.n,
            self.start, self.item,
        )  # fmt: skip

    def count_all(self) -> None:
        """Count the constraints of each particle."""
        self.degree = np.zeros(self.n, np.int32)
        ends, quad, _, _, qbase = self.shape
        vts_start.count(*self.order[:6], ends, quad, qbase, self.degree)

    def set_alpha(self, v: Array, omega: float, safe: float) -> None:
        """Set each constraint's step, (32); with `safe` constraints are counted before."""
        vts_jacobi.set_alpha(
            self.kind, self.first, self.last, *self.shape, v, self.degree, float(omega),
            float(safe), self.row,
        )  # fmt: skip

    def start_from(self, v: Array) -> None:
        """Give the impulses that constraints start from to their particles."""
        vts_start.push(*self.order[:6], *self.shape, self.imp, v)

    def clear_change(self) -> None:
        """Forget what the last iteration did."""
        self.change[:] = 0

    def clear_change_of_four(self) -> None:
        """Forget it of constraints of four particles: the others start anew with their blocks."""
        self.change[self.qbase : self.last[self.kind >= FACE].max(initial=self.qbase)] = 0

    def push(self, v: Array, given: Array) -> None:
        """Add W J^T of impulses to velocities, (27)."""
        vts_jacobi.apply(
            self.n, self.start, self.item, self.quad, self.coef, self.grad, self.qbase, self.faces,
            given, v,
        )  # fmt: skip

    @property
    def order(self) -> tuple[Array, ...]:
        """Units by colour and their blocks of constraints: for the kernels."""
        return (
            self.unit, self.colour, self.turn, self.kind, self.first, self.last, self.place,
            self.groups, self.seat, self.filled, self.who,
        )  # fmt: skip

    @property
    def shape(self) -> tuple[Any, ...]:
        """What says where constraints act: for the kernels."""
        return self.ends, self.quad, self.coef, self.grad, self.qbase
