"""Viscous shear force up to Coulomb's limit, [Bell05] (18): the paper's own choice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from berm.core.materials import Material
from berm.kernels.fused import inline
from berm.laws.base import TANGENTIAL, Law, Numbers


@TANGENTIAL.register("capped")
@dataclass(frozen=True)
class Capped(Law):
    """F_t = -min(mu f_n, k_t |V_t|) V_t / |V_t|; grains only creep, they do not stick.

    pull: share of the damper's pull, a normal force below 0 as two part, that counts too, 0 to 1.
    """

    k_t: float = 100.0
    pull: float = 0.0

    name: ClassVar[str] = "capped"
    UNITS: ClassVar[dict[str, str]] = {"k_t": "N s/m"}
    USES: ClassVar[tuple[str, ...]] = ("friction_kinetic",)

    def __post_init__(self) -> None:
        self._check("k_t", 0.0)
        self._check("pull", 0.0, 1.0)

    def numbers(self, a: Material, b: Material) -> Numbers:
        """mu of the weaker surface, k_t, share of pull."""
        return (min(a.friction_kinetic, b.friction_kinetic), self.k_t, self.pull, 0.0)

    def viscosity(self, numbers: Numbers) -> float:
        """k_t."""
        return numbers[1]


@inline
def force(mu, k_t, pull, _q, dx, dy, dz, vx, vy, vz, f_n, k_n, c_n):
    """Force (N) and displacement, which it does not use."""
    speed = math.sqrt(vx * vx + vy * vy + vz * vz)
    k = min(k_t, mu * max(f_n, -pull * f_n) / speed) if speed > 0.0 else 0.0
    return -k * vx, -k * vy, -k * vz, 0.0, 0.0, 0.0
