"""Simplified JKR: pull in proportion to the disc that Hertz contact presses flat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from berm.core.materials import Material
from berm.kernels.fused import inline
from berm.laws.base import COHESION, Law, Numbers


@COHESION.register("sjkr")
@dataclass(frozen=True)
class SimplifiedJKR(Law):
    """f_c = density pi a^2 with a^2 = R_eff xi; density: cohesion energy density (J/m^3).

    None: the materials' adhesion.
    """

    density: float | None = None

    name: ClassVar[str] = "sjkr"
    UNITS: ClassVar[dict[str, str]] = {"density": "J/m^3"}
    USES: ClassVar[tuple[str, ...]] = ("adhesion",)

    def __post_init__(self) -> None:
        self._check("density", 0.0)

    def numbers(self, a: Material, b: Material) -> Numbers:
        """The energy density."""
        given = min(a.adhesion, b.adhesion) if self.density is None else self.density
        return (given, 0.0, 0.0, 0.0)


@inline
def pull(density, _q, _s, _t, xi, r_eff, r_min):
    """Pull (N)."""
    return density * math.pi * r_eff * xi
