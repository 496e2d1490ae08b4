"""Rotations of arrays of vectors by unit quaternions (w, x, y, z)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def turned(q: Array, v: Array) -> Array:
    """Turn vectors (..., 3) by quaternions (..., 4)."""
    t = 2.0 * np.cross(q[..., 1:], v)
    result: Array = v + q[..., :1] * t + np.cross(q[..., 1:], t)
    return result


def inverse(q: Array) -> Array:
    """Return the quaternions (..., 4) that turn back."""
    result: Array = q * np.array([1.0, -1.0, -1.0, -1.0])
    return result


def random_rotations(rng: np.random.Generator, count: int) -> Array:
    """Return quaternions (count, 4), all orientations alike."""
    q = rng.normal(size=(count, 4))
    result: Array = q / np.linalg.norm(q, axis=1, keepdims=True)
    return result
