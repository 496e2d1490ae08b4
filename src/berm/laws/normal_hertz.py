"""Hertz contact of elastic spheres with damping xi^alpha, [Bell05] (12)-(15)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from berm.core.materials import Material
from berm.kernels.fused import inline
from berm.laws.base import NORMAL, NormalLaw, Numbers, pair_damping, pair_restitution
from berm.laws.normal_linear import damping_ratio

CONSTANT_E = 0.25  # the exponent at which restitution does not depend on speed


def effective_modulus(a: Material, b: Material) -> float:
    """E_eff of two materials (Pa), (14)."""
    return 1.0 / (
        (1.0 - a.poisson_ratio**2) / a.young_modulus + (1.0 - b.poisson_ratio**2) / b.young_modulus
    )


@NORMAL.register("hertz")
@dataclass(frozen=True)
class Hertz(NormalLaw):
    """f_n = k_r xi^(3/2) + k_d xi^alpha xi_dot, k_r = 4/3 E_eff sqrt(R_eff) (15).

    alpha 1/4: restitution as given by the materials, at any speed (the equation of motion becomes
    that of the linear oscillator in xi^(5/4); Antypov, Elliott, EPL 94, 2011). Other alpha: k_d is
    the materials' damping (N s/m^(1+alpha)), or follows from `dissipation` (s) by
    k_d = 3/2 dissipation k_r, which for alpha 1/2 is the visco-elastic sphere [SP98]. stiffness
    (N/m^1.5) replaces (15) where it is given.
    """

    alpha: float = CONSTANT_E
    dissipation: float | None = None
    stiffness: float | None = None

    name: ClassVar[str] = "hertz"
    UNITS: ClassVar[dict[str, str]] = {"dissipation": "s", "stiffness": "N/m^1.5"}
    USES: ClassVar[tuple[str, ...]] = ("young_modulus", "poisson_ratio", "restitution", "damping")

    def __post_init__(self) -> None:
        self._check("alpha", 0.0, 2.0)
        self._check("dissipation", 0.0)
        self._check("stiffness", 0.0, open_low=True)

    def numbers(self, a: Material, b: Material) -> Numbers:
        """k_r / sqrt(R_eff), or -k_r; alpha; k_d; share of critical damping."""
        k_r = 4.0 / 3.0 * effective_modulus(a, b) if self.stiffness is None else -self.stiffness
        restitution = pair_restitution(a, b)
        if self.dissipation is not None:
            return (k_r, self.alpha, -1.5 * self.dissipation, 0.0)
        if restitution is not None and self.alpha == CONSTANT_E:
            return (k_r, self.alpha, 0.0, math.sqrt(5.0) * damping_ratio(restitution))
        return (k_r, self.alpha, pair_damping(a, b, self.name), 0.0)

    def contact_time(self, numbers: Numbers, r_eff: float, m_eff: float, speed: float) -> float:
        """Duration of the elastic collision, 2.943 xi_max / v (Hertz)."""
        _, deepest = self._deepest(numbers, r_eff, m_eff, speed)
        return 2.9432 * deepest / speed

    def damping(self, numbers: Numbers, r_eff: float, m_eff: float, speed: float) -> float:
        """k_d xi^alpha where the elastic collision is deepest."""
        k_r, deepest = self._deepest(numbers, r_eff, m_eff, speed)
        k_d = numbers[2] if numbers[2] >= 0.0 else -numbers[2] * k_r
        return k_d * deepest**self.alpha

    def _deepest(
        self, numbers: Numbers, r_eff: float, m_eff: float, speed: float
    ) -> tuple[float, float]:
        """k_r and the overlap (m) at which an elastic collision turns."""
        k_r = numbers[0] * math.sqrt(r_eff) if numbers[0] > 0.0 else -numbers[0]
        return k_r, (1.25 * m_eff * speed**2 / k_r) ** 0.4

    def elastic(self, numbers: Any, xi: Any, r_eff: Any, m_eff: Any) -> tuple[Any, Any]:
        """k_r xi^(3/2) and its integral."""
        k_r = np.where(numbers[0] > 0.0, numbers[0] * np.sqrt(r_eff), -numbers[0])
        return k_r * xi**1.5, 0.4 * k_r * xi**2.5


@inline
def force(k, alpha, k_d, ratio, xi, xi_dot, r_eff, m_eff):
    """Force (N), tangent stiffness (N/m) and damping (N s/m) at overlap xi (m)."""
    k_r = k * math.sqrt(r_eff) if k > 0.0 else -k
    root = math.sqrt(xi)
    k_n = k_r * root
    if k_d < 0.0:
        k_d = -k_d * k_r
    c_n = ratio * math.sqrt(m_eff * k_n)
    if k_d > 0.0:
        c_n += k_d * xi**alpha
    return k_n * xi + c_n * xi_dot, 1.5 * k_n, c_n
