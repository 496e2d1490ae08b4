"""Rotations: unit quaternions (w, x, y, z), matrices, and arrays of vectors turned by them."""

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


def quaternion_of(matrix: npt.ArrayLike) -> Array:
    """Unit quaternion (w, x, y, z), w >= 0, of a rotation matrix [Shepperd 1978]."""
    m = np.asarray(matrix, float)
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    k = int(np.argmax([trace, m[0, 0], m[1, 1], m[2, 2]]))
    if k == 0:
        q = np.array([1 + trace, m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])
    else:
        i, j, l = k - 1, k % 3, (k + 1) % 3  # noqa: E741
        q = np.zeros(4)
        q[0] = m[l, j] - m[j, l]
        q[1 + i] = 1 + m[i, i] - m[j, j] - m[l, l]
        q[1 + j] = m[j, i] + m[i, j]
        q[1 + l] = m[l, i] + m[i, l]
    q *= 1.0 / np.linalg.norm(q)
    return q if q[0] >= 0 else -q


def matrix_of(quaternion: npt.ArrayLike) -> Array:
    """Rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = np.asarray(quaternion, float)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def rotation_vector(matrix: Array) -> Array:
    """Axis times angle of a rotation matrix."""
    skew = 0.5 * np.array(
        [matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]]
    )
    sine = float(np.linalg.norm(skew))
    angle = float(np.arctan2(sine, 0.5 * (np.trace(matrix) - 1.0)))
    return np.asarray(skew * (angle / sine if sine > 1e-12 else 1.0))
