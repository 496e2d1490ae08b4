"""Pull in proportion to the contact's area, [Holz14] (35)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from berm.core.materials import Material
from berm.kernels.fused import inline
from berm.laws.base import COHESION, Law, Numbers


@COHESION.register("area")
@dataclass(frozen=True)
class Area(Law):
    """f_c = a A, with the adhesion a of the materials (Pa) and A = pi r^2 (1 - (xi / r - 1)^2).

    r is the smaller radius of the two.
    """

    name: ClassVar[str] = "area"
    USES: ClassVar[tuple[str, ...]] = ("adhesion",)

    def numbers(self, a: Material, b: Material) -> Numbers:
        """a, that of the weaker surface."""
        return (min(a.adhesion, b.adhesion), 0.0, 0.0, 0.0)


@inline
def pull(a, _q, _s, _t, xi, r_eff, r_min):
    """Pull (N)."""
    deep = min(xi / r_min, 1.0)
    return a * math.pi * r_min * r_min * (2.0 * deep - deep * deep)
