"""SP: Sequential Positions, velocity and position errors in one loop, [Francu14] Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from berm.kernels.vts import law as at
from berm.solvers.base import SOLVERS
from berm.solvers.options import number, whole
from berm.solvers.vts.solver import VTS

Array = npt.NDArray[Any]


@SOLVERS.register("sp")
@dataclass
class SP(VTS):
    """Sequential Positions: r = k_v n.u + k_c C(x) / h, both followed by the iterations.

    k_v = 0, k_c = 1 is position based dynamics (`SP.pbd`), k_v = 1, k_c = gamma a nonlinear VTS.
    The other options are those of `VTS`; gamma has no part here, omega is 1 for gs (with k_c = 1
    over-relaxation diverges in beds), warm 0.8.

    **Deviation** from print: a contact's impulse is kept as a vector and projected on the cone
    about the present normal, instead of keeping the direction of the first iteration.
    """

    k_v: float = number(0.1, 0.0, 1.0, "share of the velocity error")
    k_c: float = number(1.0, 0.0, 1.0, "share of the position error")
    delay: int = whole(0, 0, 100_000, "iterations before positions first move (end of Sec. 6)")

    name = "sp"
    variants: ClassVar[dict[str, dict[str, Any]]] = {
        "pbd": {"k_v": 0.0, "k_c": 1.0, "friction": "post", "warm": 0.0},
    }
    bent = True

    @classmethod
    def pbd(cls, **changes: Any) -> SP:
        """Return pure position based dynamics with friction afterwards, as in [MHHR07]."""
        return cls(**{**cls.variants["pbd"], **changes})

    def _parameters(self, v: Array, h: float) -> Array:
        par = super()._parameters(v, h)
        par[at.K_V], par[at.K_C] = self.k_v, self.k_c
        par[at.MODE] = at.FIXED if self.delay > 0 else at.MOVING
        return par

    def _delay(self) -> int:
        return self.delay

    def _warm(self) -> float:
        return 0.8 if self.warm is None else self.warm

    def _omega(self) -> float | None:
        return self.omega
