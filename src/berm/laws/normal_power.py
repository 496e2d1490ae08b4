"""Any exponents: f_n = k_r xi^beta + k_d xi^alpha xi_dot, [Bell05] (7)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from berm.core.materials import Material
from berm.kernels.fused import inline
from berm.laws.base import NORMAL, NormalLaw, Numbers


@NORMAL.register("power")
@dataclass(frozen=True)
class Power(NormalLaw):
    """k_r (N/m^beta), k_d (N s/m^(1+alpha)) and both exponents as given."""

    k_r: float = 1.0e6
    k_d: float = 100.0
    alpha: float = 0.5
    beta: float = 1.5

    name: ClassVar[str] = "power"
    UNITS: ClassVar[dict[str, str]] = {"k_r": "N/m^beta", "k_d": "N s/m^(1+alpha)"}

    def __post_init__(self) -> None:
        self._check("k_r", 0.0, open_low=True)
        self._check("k_d", 0.0)
        self._check("alpha", 0.0, 4.0)
        self._check("beta", 1.0, 4.0)

    def numbers(self, a: Material, b: Material) -> Numbers:
        """The same for every pair."""
        return (self.k_r, self.k_d, self.alpha, self.beta)

    def contact_time(self, numbers: Numbers, r_eff: float, m_eff: float, speed: float) -> float:
        """Of the undamped collision, bounded from below by that of the linear spring as stiff."""
        deepest = self._deepest(m_eff, speed)
        stiffest = self.beta * self.k_r * deepest ** (self.beta - 1.0)
        return math.pi * math.sqrt(m_eff / stiffest)

    def damping(self, numbers: Numbers, r_eff: float, m_eff: float, speed: float) -> float:
        """k_d xi^alpha where the undamped collision is deepest."""
        return self.k_d * self._deepest(m_eff, speed) ** self.alpha

    def _deepest(self, m_eff: float, speed: float) -> float:
        """Return the overlap (m) at which an undamped collision turns."""
        power = self.beta + 1.0
        return float((0.5 * power * m_eff * speed**2 / self.k_r) ** (1.0 / power))

    def elastic(self, numbers: Any, xi: Any, r_eff: Any, m_eff: Any) -> tuple[Any, Any]:
        """k_r xi^beta and its integral."""
        return self.k_r * xi**self.beta, self.k_r * xi ** (self.beta + 1.0) / (self.beta + 1.0)


@inline
def force(k_r, k_d, alpha, beta, xi, xi_dot, r_eff, m_eff):
    """Force (N), tangent stiffness (N/m) and damping (N s/m) at overlap xi (m)."""
    k_n = k_r * xi ** (beta - 1.0)
    c_n = k_d * xi**alpha
    return k_n * xi + c_n * xi_dot, beta * k_n, c_n
