"""Rotations as quaternions, for formats that want them so."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def quaternions(rotations: Array) -> Array:
    """Return unit quaternions (n, 4), real part first, of rotation matrices (n, 3, 3).

    Of the two that mean the same, each is the one nearer to its predecessor, so that what is drawn
    between two frames takes the short way.
    """
    from scipy.spatial.transform import Rotation

    turns = Rotation.from_matrix(np.asarray(rotations, float).reshape(-1, 3, 3))
    out = np.roll(turns.as_quat(canonical=True).reshape(-1, 4), 1, axis=1)
    flips = np.cumprod(np.where((out[1:] * out[:-1]).sum(axis=1) < 0, -1.0, 1.0))
    out[1:] *= flips[:, None]
    return np.asarray(out)
