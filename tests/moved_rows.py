"""Grains whose rows have moved, as solvers move them."""

from __future__ import annotations

import numpy as np

from berm.core.grains import Grains


def shuffle_rows(grains: Grains, rng: np.random.Generator) -> None:
    """Put the rows of all arrays in another order; tags go with them."""
    order = rng.permutation(grains.n)
    for name in grains.FIELDS:
        array = getattr(grains, name)
        array[: grains.n] = array[order]
