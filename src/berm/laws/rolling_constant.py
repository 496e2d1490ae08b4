"""Rolling friction of constant size against the relative rolling (Zhou et al. 1999)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from berm.core.materials import Material
from berm.kernels.fused import inline
from berm.laws.base import ROLLING, Law, Numbers


@ROLLING.register("constant")
@dataclass(frozen=True)
class Constant(Law):
    """T = -mu_r R_eff |f_n| W / |W|, rising linearly from rest to `full` (rad/s).

    mu_r is the materials' rolling friction; the rise takes the place of the jump at W = 0.
    """

    full: float = 0.1

    name: ClassVar[str] = "constant"
    UNITS: ClassVar[dict[str, str]] = {"full": "rad/s"}
    USES: ClassVar[tuple[str, ...]] = ("rolling_friction",)

    def __post_init__(self) -> None:
        self._check("full", 0.0, open_low=True)

    def numbers(self, a: Material, b: Material) -> Numbers:
        """mu_r of the weaker surface, full."""
        return (min(a.rolling_friction, b.rolling_friction), self.full, 0.0, 0.0)


@inline
def torque(mu_r, full, _p, _q, ax, ay, az, wx, wy, wz, f_n, k_n, r_eff, elapsed):
    """Torque (N m) and angle, which it does not use."""
    rate = math.sqrt(wx * wx + wy * wy + wz * wz)
    k = mu_r * r_eff * abs(f_n) / max(rate, full)
    return -k * wx, -k * wy, -k * wz, 0.0, 0.0, 0.0
