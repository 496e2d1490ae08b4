"""Pushing overlapping grains apart before a run, so that stiff contacts do not explode."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from berm.core import checks
from berm.core.errors import InputError

if TYPE_CHECKING:
    from berm.world.world import World

PASSES = 500
SHARE = 0.5  # of an overlap that is removed in a pass


def separate(world: World, overlap: float) -> float:
    """Move grains apart; see `World.separate`."""
    from scipy.spatial import cKDTree

    grains = world.grains
    if world.clumps.n:
        raise InputError("separate", f"{world.clumps.n} compound bodies", "single grains only")
    checks.number("separate: overlap", overlap, "0 or more, in radii", lambda x: x >= 0)
    if grains.n < 2:
        return 0.0
    x, r = grains.position.astype(np.float64), grains.radius.astype(np.float64)
    w = np.where(grains.fixed, 0.0, 1.0 / grains.mass)
    worst = 0.0
    for attempt in range(PASSES):
        pairs = cKDTree(x).query_pairs(2.0 * float(r.max()), output_type="ndarray")
        i, j = pairs[:, 0], pairs[:, 1]
        way = x[j] - x[i]
        far = np.linalg.norm(way, axis=1)
        deep = r[i] + r[j] - far
        share = deep / np.minimum(r[i], r[j])
        worst = float(share.max(initial=0.0))
        if worst <= overlap:
            break
        if attempt == 0:
            warnings.warn(
                f"{int((share > overlap).sum())} pairs of grains overlap by up to {worst:.2g} "
                "radii at the start; they are moved apart",
                stacklevel=3,
            )
        touch = (deep > 0.0) & (w[i] + w[j] > 0.0)
        i, j, deep, far, way = i[touch], j[touch], deep[touch], far[touch], way[touch]
        n = np.where(far[:, None] > 0.0, way / np.maximum(far, 1e-300)[:, None], [0.0, 0.0, 1.0])
        push = SHARE * deep[:, None] * n
        total = (w[i] + w[j])[:, None]
        np.subtract.at(x, i, push * w[i][:, None] / total)
        np.add.at(x, j, push * w[j][:, None] / total)
    grains.position[:] = x
    grains.changed = True
    return worst
