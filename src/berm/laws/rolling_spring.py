"""Rolling friction with a spring, so that a pile of spheres comes to rest (Ai et al. 2011, C)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from berm.core.materials import Material
from berm.kernels.fused import inline
from berm.laws.base import ROLLING, Law, Numbers


@ROLLING.register("spring")
@dataclass(frozen=True)
class Spring(Law):
    """T = -k A, at most mu_r R_eff |f_n|, with the rolling angle A since the first touch.

    k = stiffness k_n (mu_r R_eff)^2, 2.25 as in the source; where the limit is reached, A follows.
    """

    stiffness: float = 2.25

    name: ClassVar[str] = "spring"
    history: ClassVar[int] = 3
    USES: ClassVar[tuple[str, ...]] = ("rolling_friction",)

    def __post_init__(self) -> None:
        self._check("stiffness", 0.0, open_low=True)

    def numbers(self, a: Material, b: Material) -> Numbers:
        """mu_r of the weaker surface, stiffness."""
        return (min(a.rolling_friction, b.rolling_friction), self.stiffness, 0.0, 0.0)


@inline
def torque(mu_r, stiffness, _p, _q, ax, ay, az, wx, wy, wz, f_n, k_n, r_eff, elapsed):
    """Torque (N m) and the angle (rad) that the contact remembers."""
    arm = mu_r * r_eff
    k = stiffness * k_n * arm * arm
    ax, ay, az = ax + elapsed * wx, ay + elapsed * wy, az + elapsed * wz
    size = k * math.sqrt(ax * ax + ay * ay + az * az)
    limit = arm * abs(f_n)
    if size > limit:
        scale = limit / size
        ax, ay, az = scale * ax, scale * ay, scale * az
    return -k * ax, -k * ay, -k * az, ax, ay, az
