"""Damped linear spring from stiffness and restitution of the materials, [Bell05] (8)-(11)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from berm.core.materials import Material
from berm.kernels.fused import inline
from berm.laws.base import NORMAL, NormalLaw, Numbers, pair_damping, pair_restitution


def damping_ratio(restitution: float) -> float:
    """Share of critical damping at which a linear contact rebounds with `restitution`, (9)-(10)."""
    if restitution >= 1.0:
        return 0.0
    return -math.log(restitution) / math.hypot(math.pi, math.log(restitution))


@NORMAL.register("linear")
@dataclass(frozen=True)
class Linear(NormalLaw):
    """f_n = k_r xi + k_d xi_dot.

    **Deviation**: (8) prints k_d xi; damping needs the rate.
    """

    name: ClassVar[str] = "linear"
    USES: ClassVar[tuple[str, ...]] = ("stiffness", "restitution", "damping")

    def numbers(self, a: Material, b: Material) -> Numbers:
        """k_r (N/m), share of 2 sqrt(k_r m_eff) that is damped, k_d (N s/m) where it is given."""
        stiffness = 2.0 * a.stiffness * b.stiffness / (a.stiffness + b.stiffness)
        restitution = pair_restitution(a, b)
        if restitution is None:
            return (stiffness, 0.0, pair_damping(a, b, self.name), 0.0)
        return (stiffness, damping_ratio(restitution), 0.0, 0.0)

    def contact_time(self, numbers: Numbers, r_eff: float, m_eff: float, speed: float) -> float:
        """Half a period of the undamped oscillator."""
        return math.pi * math.sqrt(m_eff / numbers[0])

    def damping(self, numbers: Numbers, r_eff: float, m_eff: float, speed: float) -> float:
        """k_d, the same at any speed."""
        return numbers[2]

    def elastic(self, numbers: Any, xi: Any, r_eff: Any, m_eff: Any) -> tuple[Any, Any]:
        """k_r xi and its integral."""
        return numbers[0] * xi, 0.5 * numbers[0] * xi**2


@inline
def force(k_r, ratio, k_d, _, xi, xi_dot, r_eff, m_eff):
    """Force (N), stiffness (N/m) and damping (N s/m) at overlap xi (m), closing at xi_dot (m/s)."""
    c_n = k_d + 2.0 * ratio * math.sqrt(k_r * m_eff)
    return k_r * xi + c_n * xi_dot, k_r, c_n
