"""No shear force: frictionless contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from berm.kernels.fused import inline
from berm.laws.base import TANGENTIAL, Law


@TANGENTIAL.register("none")
@dataclass(frozen=True)
class NoFriction(Law):
    """F_t = 0."""

    name: ClassVar[str] = "none"


@inline
def force(_p, _q, _s, _t, dx, dy, dz, vx, vy, vz, f_n, k_n, c_n):
    """No force, no displacement."""
    return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
