"""Form "sweep": each correction acts at once, parallel by colours of slabs; conserves momentum."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from berm.core.grains import Grains
from berm.kernels.jit import runs_alone
from berm.kernels.p2 import sweep as kernel
from berm.solvers.p2.form import FORMS, Conserving
from berm.solvers.p2.law import ContactLaw

Array = npt.NDArray[Any]


@FORMS.register("sweep")
class Sweep(Conserving):
    """Gauss-Seidel passes over impulses that are kept, slabs of one colour side by side."""

    def solve(
        self, grains: Grains, body_kinds: Array, law: ContactLaw, first: int, substeps: int,
        fresh: bool, stats: Array,
    ) -> int:  # fmt: skip
        """Do substeps from `first` on; return the next one to do."""
        p2, c = self.p2, self.contacts
        arrays = (
            (c.slab, c.part, c.colour, c.turn), (c.lanes, c.ptr, c.nbr, c.imp),
            (grains.x, grains.v, self.row, grains.warm), law.soil(grains.material),
            self._touching(), body_kinds, law.par, law.flags, p2.iterations, first,
        )  # fmt: skip
        rest = (substeps, p2.real(p2.memory), fresh, c.ref, stats, runs_alone())
        return self._in_portions(
            lambda begin, end: kernel.solve(*arrays, begin, end, *rest), first, substeps, stats
        )
