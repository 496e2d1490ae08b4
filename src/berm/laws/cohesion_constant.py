"""A constant pull while two grains touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from berm.core.materials import Material
from berm.kernels.fused import inline
from berm.laws.base import COHESION, Law, Numbers


@COHESION.register("constant")
@dataclass(frozen=True)
class ConstantPull(Law):
    """f_c = force (N)."""

    force: float = 1.0

    name: ClassVar[str] = "constant"
    UNITS: ClassVar[dict[str, str]] = {"force": "N"}

    def __post_init__(self) -> None:
        self._check("force", 0.0)

    def numbers(self, a: Material, b: Material) -> Numbers:
        """The force."""
        return (self.force, 0.0, 0.0, 0.0)


@inline
def pull(force, _q, _s, _t, xi, r_eff, r_min):
    """Pull (N)."""
    return force
