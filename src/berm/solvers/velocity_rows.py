"""All constraints of a step in flat arrays, and the order in which they are answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.kernels import vts_blocks, vts_jacobi
from berm.kernels.vts_law import FORM, LINK, ROW
from berm.solvers.contact_list import colour_slabs

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
    change: what the last iteration added. Units of one colour share no particle. block: rows as
    `kernels.vts_blocks` has them, from place[b] on; old (n, 4): velocities of an iteration's start.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.n = 0
        self.block: Array = np.zeros((0, vts_blocks.NUMBERS), self.dtype)
        self.old: Array = np.zeros((0, 4), self.dtype)
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
        if not hasattr(self, "quad") or len(self.quad) < quads:
            room = int(1.2 * quads)
            self.quad: Array = np.full((room, 4), -1, np.int32)
            self.coef: Array = np.zeros((room, 4), self.dtype)
            self.grad: Array = np.zeros((room, 4, 3), self.dtype)

    def arrange(self, units: list[Unit], n: int) -> None:
        """Set the order: units by colour for sweeps, equal chunks for passes over everything."""
        self.n = n
        blocks = [np.zeros((0, 3), np.int64), *(np.asarray(unit.blocks) for unit in units)]
        self.unit = np.cumsum([len(some) for some in blocks]).astype(np.int64)
        self.kind, self.first, self.last = np.ascontiguousarray(np.concatenate(blocks).T)
        reach = np.array([(unit.low, unit.high) for unit in units], np.int64).reshape(-1, 2)
        self.colour, self.turn = colour_slabs(reach)
        needed = -(-(self.last - self.first) // vts_blocks.LANES)
        self.place = np.cumsum([0, *needed]).astype(np.int64)[:-1]
        if len(self.block) < needed.sum():
            self.block = np.zeros((int(1.2 * needed.sum()), vts_blocks.NUMBERS), self.dtype)
        if len(self.old) != n:
            self.old = np.zeros((n, 4), self.dtype)
        parts = -(-(self.last - self.first) // CHUNK)
        b = np.repeat(np.arange(len(parts)), parts)
        at = self.first[b] + CHUNK * (
            np.arange(len(b)) - np.repeat(np.cumsum(parts) - parts, parts)
        )
        self.chunks = self.kind[b], at, np.minimum(at + CHUNK, self.last[b])
        self.sums: Array = np.zeros((max(len(b), 1), 2))
        self.start: Array = np.zeros(1, np.int64)
        self.item: Array = np.zeros(0, np.int64)

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

    def set_alpha(self, v: Array, omega: float, safe: float) -> None:
        """Set each constraint's step, (32)."""
        vts_jacobi.set_alpha(
            self.kind, self.first, self.last, *self.shape, v, self.start, omega, safe, self.row
        )

    def clear_change(self) -> None:
        """Forget what the last iteration did."""
        self.change[:] = 0

    def push(self, v: Array, given: Array) -> None:
        """Add W J^T of impulses to velocities, (27)."""
        vts_jacobi.apply(
            self.n, self.start, self.item, self.quad, self.coef, self.grad, self.qbase, self.faces,
            given, v,
        )  # fmt: skip

    @property
    def order(self) -> tuple[Array, ...]:
        """Units by colour and their blocks of constraints: for the kernels."""
        return self.unit, self.colour, self.turn, self.kind, self.first, self.last, self.place

    @property
    def shape(self) -> tuple[Any, ...]:
        """What says where constraints act: for the kernels."""
        return self.ends, self.quad, self.coef, self.grad, self.qbase
