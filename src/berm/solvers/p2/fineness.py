"""How many substeps a step takes: as many as the contacts' loads ask for, docs/theory/p2.md.

One sweep does not find the impulses of a bed anew, and what is missing shows as softness: under a
load F a contact gives way by about (1 - memory) / 2 h^2 F (w_i + w_j) more than its stiffness says.
Grains that give way by a few per cent of their radius slip past each other, and a bed has lost
strength. The number of substeps keeps this below what the solver was given.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from berm.kernels.p2 import law as at

Array = npt.NDArray[Any]
FADES = 0.5  # s in which a load that is gone is forgotten
SPARE = 1.1  # substeps over those asked for, when their number changes
SLACK = 1.6  # as many times too many are left as they are: a change shakes the bed
DEEP = 0.3  # radii: grains that overlap by more on the mean slip through each other


@dataclass
class Fineness:
    """What the last steps told of the contacts' loads.

    taken: substeps of this step; h (s): that of the last one, for which impulses are kept; load
    (1/s^2): what contacts give way by, in radii, over h^2.
    """

    taken: int
    h: float = 0.0
    load: float = 0.0
    warned: bool = False

    def choose(self, dt: float, give: float | None, fewest: int, most: int) -> None:
        """Choose the substeps of a step of dt (s): contacts are to give way by `give` radii."""
        if give is None:
            self.taken = fewest
            return
        wanted = dt * math.sqrt(self.load / give)
        if not self.taken / SLACK <= wanted <= self.taken:
            self.taken = math.ceil(min(SPARE * wanted, most))
        self.taken = min(max(self.taken, fewest), max(most, fewest))

    def note(self, stats: Array, memory: float, dt: float) -> float:
        """Note the loads at the end of a step; return by how much contacts give way, in radii.

        The mean over contacts, each weighted by the square of what it gives way: those that carry
        a tool count, though most of the bed rests.
        """
        squares = float(stats[:, at.GIVE2].sum())
        give = 0.0
        if squares > 0.0:
            give = 0.5 * (1.0 - memory) * float(stats[:, at.GIVE3].sum()) / squares
        h = dt / self.taken
        self.load = max(give / (h * h), self.load * math.exp(-dt / FADES))
        return give

    def rescale(self, dt: float) -> float:
        """Return by what impulses, which are forces times h^2, grow as h changes."""
        before, self.h = self.h, dt / self.taken
        return (self.h / before) ** 2 if before > 0.0 else 1.0

    def warn_of_overlaps(self, overlap: float, radius: float) -> None:
        """Warn once where grains overlap so far on the mean that they slip through each other."""
        if overlap > DEEP * radius and not self.warned:
            self.warned = True
            warnings.warn(
                f"grains overlap by {overlap / radius:.2g} radii on the mean, and slip through "
                f"each other: take more substeps (now {self.taken}), stiffer materials or larger "
                "grains",
                stacklevel=6,
            )
