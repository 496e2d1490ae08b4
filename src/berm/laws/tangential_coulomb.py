"""Coulomb's law with its jump at rest, [Bell05] (17)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from berm.core.materials import Material
from berm.kernels.fused import inline
from berm.laws.base import TANGENTIAL, Law, Numbers


@TANGENTIAL.register("coulomb")
@dataclass(frozen=True)
class Coulomb(Law):
    """F_t = -mu f_n V_t / |V_t|.

    pull: share of the damper's pull, a normal force below 0 as two part, that counts too, 0 to 1.

    **Deviation**: (17) prints f_n, which (7) makes negative where it pushes.
    """

    pull: float = 0.0

    name: ClassVar[str] = "coulomb"
    USES: ClassVar[tuple[str, ...]] = ("friction_kinetic",)

    def __post_init__(self) -> None:
        self._check("pull", 0.0, 1.0)

    def numbers(self, a: Material, b: Material) -> Numbers:
        """mu of the weaker surface, share of pull."""
        return (min(a.friction_kinetic, b.friction_kinetic), self.pull, 0.0, 0.0)


@inline
def force(mu, pull, _q, _s, dx, dy, dz, vx, vy, vz, f_n, k_n, c_n):
    """Force (N) and displacement, which it does not use."""
    speed = math.sqrt(vx * vx + vy * vy + vz * vz)
    k = mu * max(f_n, -pull * f_n) / speed if speed > 0.0 else 0.0
    return -k * vx, -k * vy, -k * vz, 0.0, 0.0, 0.0
