"""Form "count", as published: the mean of a grain's corrections over their number, [Holz14] (9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core.grains import Grains
from berm.kernels.p2 import law as at
from berm.kernels.p2 import published as kernel
from berm.solvers.p2.form import FORMS, AsPrinted, room_for_sums
from berm.solvers.p2.law import ContactLaw

if TYPE_CHECKING:
    from berm.solvers.p2.solver import P2

Array = npt.NDArray[Any]


@FORMS.register("count")
class Published(AsPrinted):
    """Parallel Jacobi passes with relaxed corrections, (23), (28), (32)-(37)."""

    width = 8

    def __init__(self, p2: P2, dtype: npt.DTypeLike) -> None:
        super().__init__(p2, dtype)
        self.sums: Array = np.zeros((1, 4), self.dtype)  # of corrections, slab by slab

    def _make_room(self, n: int) -> None:
        super()._make_room(n)
        self.sums = room_for_sums(self.sums, self.contacts)

    def solve(
        self, grains: Grains, body_kinds: Array, law: ContactLaw, first: int, substeps: int,
        fresh: bool, stats: Array,
    ) -> int:  # fmt: skip
        """Do all substeps: the list holds for the whole step."""
        p2, c, w = self.p2, self.contacts, self.walls
        plain = p2.alike and not law.flags & at.ADHESIVE and not p2.retest
        arrays = (
            (c.slab, c.part), (c.lanes, c.ptr, c.nbr), c.room_for_contacts(not plain),
            (grains.x, grains.v, self.row), law.soil(grains.material), plain,
            (w.count, w.rows, w.body, w.plane, w.total), tuple(w.room_for_touching()), body_kinds,
            law.par, law.flags, p2.iterations,
        )  # fmt: skip
        rest = (substeps, p2.retest, (c.reach, c.base, self.sums), stats)

        def passes(begin: int, end: int) -> int:
            kernel.solve(*arrays, begin, end, *rest)
            return end

        return self._in_portions(passes, 0, substeps, stats)
