"""What the kernels of P2 know of a world's contacts in substeps of h: parameters and materials."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core.materials import mix
from berm.kernels.p2 import law as at
from berm.solvers.base import WorldView

if TYPE_CHECKING:
    from berm.solvers.p2.solver import P2

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ContactLaw:
    """Parameters of substeps of h (s), in the places that `kernels.p2.law` names.

    table (5, kinds^2): one column a pair of materials. common: the column of all pairs of grains,
    -1 where they differ. flags: what contacts of this world can do.
    """

    par: Array
    table: Array
    common: int
    kinds: int
    flags: int

    @classmethod
    def of(cls, p2: P2, world: WorldView, h: float) -> ContactLaw:
        """Return the law of this world's contacts."""
        kinds, only = len(world.materials), p2.only_kind
        table = _table(p2, world, h)
        flags = 0
        if table[at.T_ADHESION].any():
            flags = at.ADHESIVE | (at.WHOLE if p2.area == "whole" else 0)
        common = only * kinds + only if only >= 0 else -1
        return cls(_parameters(p2, world, h), table, common, kinds, flags)

    def soil(self, material: Array) -> tuple[Array, int, int, Array]:
        """Return what the kernels know of the grains' materials, as one argument."""
        return material, self.kinds, self.common, self.table


class KnownLaw:
    """The law of the last step, as long as nothing that it is made of changes."""

    def __init__(self) -> None:
        self.made_of: tuple[Any, ...] = ()
        self.law: ContactLaw | None = None

    def of(self, p2: P2, world: WorldView, h: float) -> ContactLaw:
        """Return the law of this world's contacts, with parameters that a kernel may write to."""
        made_of = (
            h, *world.gravity, p2.mean_mass, p2.only_kind, p2.iterations, p2.taken, p2.sleep,
            *world.materials,
        )  # fmt: skip
        if self.law is None or made_of != self.made_of:
            self.law, self.made_of = ContactLaw.of(p2, world, h), made_of
        return replace(self.law, par=self.law.par.copy())


def _parameters(p2: P2, world: WorldView, h: float) -> Array:
    par = np.zeros(at.NPAR, p2.real)
    par[at.GX : at.GZ + 1] = h * h * np.asarray(world.gravity)
    par[at.H], par[at.INV_H] = h, 1.0 / h
    par[at.RELAX], par[at.TOUCH] = p2.relaxation, p2.TOUCH
    pull = float(np.linalg.norm(world.gravity))
    slip = 1.5 * pull * h if p2.slip_speed is None else p2.slip_speed
    par[at.SLIP] = (h * slip) ** 2
    par[at.SLEEP] = (p2.sleep / p2.taken) ** 2
    par[at.EPS] = p2.eps_depth
    if pull > 0:
        par[at.UP_X : at.UP_Z + 1] = -np.asarray(world.gravity) / pull
    return par


def _table(p2: P2, world: WorldView, h: float) -> Array:
    """Contact parameters of every pair of materials, scaled to impulses of a substep (34).

    **Deviation**: the published forms cap adhesion in every iteration; each gets its share, so
    that all iterations together pull with F_a, not with n F_a.
    """
    share = 1.0 if p2.form.conserving else 1.0 / p2.iterations
    count = len(world.materials)
    table = np.zeros((5, max(count * count, 1)), p2.real)
    for a, first in enumerate(world.materials):
        for b, second in enumerate(world.materials):
            law = mix(first, second, 0.5 * p2.mean_mass)
            table[:, a * count + b] = (
                h * h * law.stiffness,
                h * law.damping,
                law.friction_static,
                law.friction_kinetic,
                h * h * law.adhesion * share,
            )
    return table
