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
    """F_t = -mu |f_n| V_t / |V_t|.

    **Deviation**: (17) prints f_n, which (7) makes negative.
    """

    name: ClassVar[str] = "coulomb"
    USES: ClassVar[tuple[str, ...]] = ("friction_kinetic",)

    def numbers(self, a: Material, b: Material) -> Numbers:
        """mu of the weaker surface."""
        return (min(a.friction_kinetic, b.friction_kinetic), 0.0, 0.0, 0.0)


@inline
def force(mu, _p, _q, _s, dx, dy, dz, vx, vy, vz, f_n, k_n, c_n):
    """Force (N) and displacement, which it does not use."""
    speed = math.sqrt(vx * vx + vy * vy + vz * vz)
    k = mu * abs(f_n) / speed if speed > 0.0 else 0.0
    return -k * vx, -k * vy, -k * vz, 0.0, 0.0, 0.0
