"""Form "serial": the published corrections one after the other, on one thread, for comparison."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from berm.core.grains import Grains
from berm.kernels.p2 import serial as kernel
from berm.solvers.p2.form import FORMS, AsPrinted
from berm.solvers.p2.law import ContactLaw

Array = npt.NDArray[Any]


@FORMS.register("serial")
class Serial(AsPrinted):
    """Gauss-Seidel passes with the corrections (23), (28), (32)-(36), each applied at once."""

    width = 4

    def solve(
        self, grains: Grains, body_kinds: Array, law: ContactLaw, first: int, substeps: int,
        fresh: bool, stats: Array,
    ) -> int:  # fmt: skip
        """Do all substeps: the list holds for the whole step."""
        p2, c, w = self.p2, self.contacts, self.walls
        factor = c.room_for_contacts(True)[-1]
        arrays = (
            c.slab, (c.lanes, c.ptr, c.nbr, factor), (grains.x, grains.v, self.row),
            law.soil(grains.material), (w.count, w.rows, w.body, w.plane, w.impulse, w.total),
            body_kinds, law.par, law.flags, p2.iterations,
        )  # fmt: skip

        def passes(begin: int, end: int) -> int:
            kernel.solve(*arrays, begin, end, substeps, p2.retest, stats)
            return end

        return self._in_portions(passes, 0, substeps, stats)
