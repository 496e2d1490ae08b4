"""Damped linear spring from restitution and contact time, [Bell05] (9)-(11)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from berm.core.errors import InputError
from berm.core.materials import Material
from berm.kernels.fused import inline
from berm.laws.base import NORMAL, NormalLaw, Numbers, pair_restitution


@NORMAL.register("timed")
@dataclass(frozen=True)
class Timed(NormalLaw):
    """Every collision of a pair lasts `time` (s), whatever its masses."""

    time: float = 1e-3

    name: ClassVar[str] = "timed"
    UNITS: ClassVar[dict[str, str]] = {"time": "s"}
    USES: ClassVar[tuple[str, ...]] = ("restitution",)

    def __post_init__(self) -> None:
        self._check("time", 0.0, open_low=True)

    def numbers(self, a: Material, b: Material) -> Numbers:
        """k_r and k_d for each kg of reduced mass."""
        restitution = pair_restitution(a, b)
        if restitution is None:
            raise InputError(
                f"law 'timed': materials {a.name!r}, {b.name!r}", "damping", "restitution instead"
            )
        log_e = math.log(restitution)
        return ((log_e**2 + math.pi**2) / self.time**2, -2.0 * log_e / self.time, 0.0, 0.0)

    def contact_time(self, numbers: Numbers, r_eff: float, m_eff: float, speed: float) -> float:
        """As given."""
        return self.time

    def damping(self, numbers: Numbers, r_eff: float, m_eff: float, speed: float) -> float:
        """k_d: next to no restitution within a given time is many times critical."""
        return m_eff * numbers[1]

    def elastic(self, numbers: Any, xi: Any, r_eff: Any, m_eff: Any) -> tuple[Any, Any]:
        """k_r xi and its integral."""
        return m_eff * numbers[0] * xi, 0.5 * m_eff * numbers[0] * xi**2


@inline
def force(k_r, k_d, _p, _q, xi, xi_dot, r_eff, m_eff):
    """Force (N), stiffness (N/m) and damping (N s/m) at overlap xi (m), closing at xi_dot (m/s)."""
    return m_eff * (k_r * xi + k_d * xi_dot), m_eff * k_r, m_eff * k_d
