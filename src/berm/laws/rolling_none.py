"""No rolling friction: spheres roll for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from berm.kernels.fused import inline
from berm.laws.base import ROLLING, Law


@ROLLING.register("none")
@dataclass(frozen=True)
class Free(Law):
    """T = 0."""

    name: ClassVar[str] = "none"


@inline
def torque(_p, _q, _s, _t, ax, ay, az, wx, wy, wz, f_n, k_n, r_eff, elapsed):
    """No torque, no angle."""
    return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
