"""Form "mass": all corrections side by side, each seeing its share of a grain's mass, [Tonge12]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core.grains import Grains
from berm.kernels.p2 import mass as kernel
from berm.solvers.p2.form import FORMS, Conserving, room_for_sums
from berm.solvers.p2.law import ContactLaw

if TYPE_CHECKING:
    from berm.solvers.p2.solver import P2

Array = npt.NDArray[Any]


@FORMS.register("mass")
class Mass(Conserving):
    """Jacobi passes with split masses, with improved-Jacobi acceleration on request."""

    def __init__(self, p2: P2, dtype: npt.DTypeLike) -> None:
        super().__init__(p2, dtype)
        self.sums: Array = np.zeros((1, 4), self.dtype)  # of impulses, slab by slab
        self.change: Array = np.zeros(0, self.dtype)  # last change of each impulse

    def _make_room(self, n: int) -> None:
        super()._make_room(n)
        self.sums = room_for_sums(self.sums, self.contacts)
        if self.p2.acceleration and len(self.change) < len(self.contacts.imp):
            self.change = np.zeros(len(self.contacts.imp), self.dtype)

    def solve(
        self, grains: Grains, body_kinds: Array, law: ContactLaw, first: int, substeps: int,
        fresh: bool, stats: Array,
    ) -> int:  # fmt: skip
        """Do substeps from `first` on; return the next one to do."""
        p2, c = self.p2, self.contacts
        arrays = (
            (c.slab, c.part), (c.lanes, c.ptr, c.nbr, c.imp, self.change),
            (grains.x, grains.v, self.row, grains.warm), law.soil(grains.material),
            self._touching(), body_kinds, law.par, law.flags, p2.iterations, first,
        )  # fmt: skip
        rest = (
            substeps, p2.real(p2.memory), p2.real(p2.acceleration), p2.changed,
            (c.reach, c.base, self.sums), c.ref, stats,
        )  # fmt: skip
        return self._in_portions(
            lambda begin, end: kernel.solve(*arrays, begin, end, *rest), first, substeps, stats
        )
