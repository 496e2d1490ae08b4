"""Pairs of spheres in rows with what their contacts remember, for solvers with small steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.grains import Grains
from berm.kernels import pair_list as layout
from berm.solvers.contact_list import ContactList, colour_slabs

Array = npt.NDArray[Any]


class PairList(ContactList):
    """The search of `ContactList`, laid out row by row, without pairs of one rigid body.

    It holds while no sphere has moved by half a skin (in its radii): ref (n, 4) is where it was
    and the square of that way.
    """

    STATE: tuple[str, ...] = ("slab", "ptr", "nbr", "hist", "reach", "ref", "colour", "turn")

    def __init__(self, dtype: npt.DTypeLike, width: int) -> None:
        super().__init__(dtype, ahead=False)
        self.hist: Array = np.zeros((0, width))  # memory of each pair

    def _slice(self, grains: Grains, found: Array, count: Array) -> None:
        n = grains.n
        ptr = np.zeros(n + 1, np.int64)
        layout.count_pairs(self.slab, found, count, grains.owner, ptr)
        ptr = np.cumsum(ptr)
        pairs = int(ptr[-1])
        nbr, hist = np.empty(pairs, np.int32), np.empty((pairs, self.hist.shape[1]))
        self.reach = np.empty((self.slabs, 2), np.int64)
        layout.fill_pairs(
            self.slab, found, count, grains.owner, grains.was, ptr, nbr, hist, self.ptr, self.nbr,
            self.hist, self.reach,
        )  # fmt: skip
        self.ptr, self.nbr, self.hist = ptr, nbr, hist
        self.colour, self.turn = colour_slabs(self.reach)

    def pairs(self) -> tuple[Array, Array]:
        """All candidate pairs (i, j) as row numbers, in list order."""
        i = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))
        return i, self.nbr
