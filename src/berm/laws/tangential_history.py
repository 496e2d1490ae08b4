"""A spring from the first point of contact, up to Coulomb's limit, [Bell05] (19): the default."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from berm.core.materials import Material
from berm.kernels.fused import inline
from berm.laws.base import TANGENTIAL, Law, Numbers
from berm.laws.normal_hertz import effective_modulus


def shear_ratio(a: Material, b: Material) -> float:
    """k_t / k_n = 4 G_eff / E_eff of two elastic spheres that do not slip (Mindlin)."""
    compliance = sum((2.0 - m.poisson_ratio) / shear_modulus(m) for m in (a, b))
    return 4.0 / compliance / effective_modulus(a, b)


def shear_modulus(m: Material) -> float:
    """G of an isotropic material (Pa)."""
    return m.young_modulus / (2.0 * (1.0 + m.poisson_ratio))


@TANGENTIAL.register("history")
@dataclass(frozen=True)
class History(Law):
    """F_t = -(k_t D + c_t V_t), at most mu f_n, with the displacement D since the first touch.

    stiffness: k_t as a share of the normal stiffness; None: Mindlin's, from the materials.
    damping: c_t as a share of the normal damping. Where the limit is reached, D follows, so that
    the spring slides with the contact (Cundall, Strack 1979).
    pull: share of the damper's pull, a normal force below 0 as two part, that counts too, 0 to 1.
    """

    stiffness: float | None = None
    damping: float = 0.5
    pull: float = 0.0

    name: ClassVar[str] = "history"
    history: ClassVar[int] = 3
    USES: ClassVar[tuple[str, ...]] = ("friction_kinetic", "young_modulus", "poisson_ratio")

    def __post_init__(self) -> None:
        self._check("stiffness", 0.0, open_low=True)
        self._check("damping", 0.0)
        self._check("pull", 0.0, 1.0)

    def numbers(self, a: Material, b: Material) -> Numbers:
        """mu of the weaker surface, k_t / k_n, c_t / c_n, share of pull."""
        ratio = shear_ratio(a, b) if self.stiffness is None else self.stiffness
        return (min(a.friction_kinetic, b.friction_kinetic), ratio, self.damping, self.pull)


@inline
def force(mu, ratio, damping, pull, dx, dy, dz, vx, vy, vz, f_n, k_n, c_n):
    """Force (N) and the displacement (m) that the contact remembers."""
    k_t, c_t = ratio * k_n, damping * c_n
    fx = -k_t * dx - c_t * vx
    fy = -k_t * dy - c_t * vy
    fz = -k_t * dz - c_t * vz
    size2 = fx * fx + fy * fy + fz * fz
    limit = mu * max(f_n, -pull * f_n)
    if size2 > limit * limit:
        scale = limit / math.sqrt(size2)
        fx, fy, fz = scale * fx, scale * fy, scale * fz
        back = -1.0 / k_t
        dx, dy, dz = back * (fx + c_t * vx), back * (fy + c_t * vy), back * (fz + c_t * vz)
    return fx, fy, fz, dx, dy, dz
