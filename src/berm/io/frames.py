"""Frames: where something stands and how it is turned, one within another."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frame:
    """Origin (3,) in m and rotation (3, 3), as seen from another frame."""

    origin: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))

    def __matmul__(self, inner: Frame) -> Frame:
        """Return a frame that is given in this one, as seen from where this one is given."""
        return Frame(self.point(inner.origin), self.rotation @ inner.rotation)

    def inverse(self) -> Frame:
        """Return where this was given, as seen from this one."""
        return Frame(-self.rotation.T @ self.origin, self.rotation.T)

    def point(self, place: npt.ArrayLike) -> Array:
        """Return points (..., 3) of this frame, as seen from outside."""
        return np.asarray(place, float) @ self.rotation.T + self.origin

    def direction(self, vector: npt.ArrayLike) -> Array:
        """Return a direction (3,) of this frame, as seen from outside."""
        return self.rotation @ np.asarray(vector, float)

    @property
    def plain(self) -> bool:
        """Whether it is where and as the outer frame is."""
        return not self.origin.any() and np.array_equal(self.rotation, np.eye(3))
