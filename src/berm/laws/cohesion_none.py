"""Clean, dry grains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from berm.kernels.fused import inline
from berm.laws.base import COHESION, Law


@COHESION.register("none")
@dataclass(frozen=True)
class Clean(Law):
    """f_c = 0."""

    name: ClassVar[str] = "none"


@inline
def pull(_p, _q, _s, _t, xi, r_eff, r_min):
    """No pull."""
    return 0.0
