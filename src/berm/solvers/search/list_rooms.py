"""How far spheres and bodies may go before the list of pairs is made anew.

A list for which everything has the same room lives as long as the fastest needs to use it up: in a
bed at rest a few grains that rattle have it made anew for all. With room by speed, all use up
theirs at about the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.clumps import Clumps
from berm.core.grains import Grains
from berm.kernels.search.rooms import speeds

Array = npt.NDArray[Any]

LEAST = 0.5  # of half a skin: the room of what does not move
MOST = 1.0  # radius: the room of the fastest
SPARE = 1.25  # of its way until then: speeds change


@dataclass
class Rooms:
    """time (s) after which the list is to be made anew; rooms between least and most radii.

    of_body: room of each clump (m). typical: the mean of all rooms, in radii.
    """

    time: float
    least: float
    most: float
    of_body: Array
    typical: float


def rooms(grains: Grains, clumps: Clumps, skin: float) -> Rooms:
    """Share out room so that the mean is half a skin (radii) where all move alike."""
    c, small = clumps, np.empty(clumps.n)
    both = np.empty(grains.n + clumps.n)
    alone = speeds(
        grains.n, grains.x, grains.v, grains.owner, c.first, c.rows, c.v, c.L_own, c.moments,
        small, both,
    )  # fmt: skip
    both = both[: alone + clumps.n]
    top, mean = float(both.max(initial=0.0)), float(both.mean()) if len(both) else 0.0
    time = SPARE * min(MOST / max(top, 1e-9), 0.5 * skin / max(mean, 1e-9))
    least = LEAST * 0.5 * skin
    share = np.clip(time * both, least, MOST)
    return Rooms(time, least, MOST, share[alone:] * small, float(share.mean()))
