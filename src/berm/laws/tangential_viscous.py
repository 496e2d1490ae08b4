"""Viscous shear force without a limit, [Bell05] (16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from berm.core.materials import Material
from berm.kernels.fused import inline
from berm.laws.base import TANGENTIAL, Law, Numbers


@TANGENTIAL.register("viscous")
@dataclass(frozen=True)
class Viscous(Law):
    """F_t = -k_t V_t."""

    k_t: float = 10.0

    name: ClassVar[str] = "viscous"
    UNITS: ClassVar[dict[str, str]] = {"k_t": "N s/m"}

    def __post_init__(self) -> None:
        self._check("k_t", 0.0)

    def numbers(self, a: Material, b: Material) -> Numbers:
        """k_t."""
        return (self.k_t, 0.0, 0.0, 0.0)

    def viscosity(self, numbers: Numbers) -> float:
        """k_t."""
        return numbers[0]


@inline
def force(k_t, _p, _q, _s, dx, dy, dz, vx, vy, vz, f_n, k_n, c_n):
    """Force (N) and displacement, which it does not use."""
    return -k_t * vx, -k_t * vy, -k_t * vz, 0.0, 0.0, 0.0
