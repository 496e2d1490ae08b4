"""Prescribed motions of boundaries: where a body is at time t."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError

Array = npt.NDArray[np.float64]
Vector = Sequence[float]
Pose = tuple[Array, Array]


class Motion(Protocol):
    """Gives position (3,) and rotation (3, 3) of a body at time t, relative to its start pose."""

    def pose(self, t: float) -> Pose:
        """Return displacement (m) and rotation matrix at time t (s)."""
        ...


def rotation_about(axis: Vector, angle: float) -> Array:
    """Rotation matrix about `axis` by `angle` (rad), Rodrigues' formula."""
    a = np.asarray(axis, float)
    length = float(np.linalg.norm(a))
    if not length > 0 or not np.isfinite(angle):
        raise InputError("rotation axis or angle", (list(map(float, a)), angle), "a non-zero axis")
    x, y, z = a / length
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def turned(vector: Vector | Array) -> Array:
    """Rotation matrix of a rotation vector (axis times angle, rad)."""
    angle = float(np.linalg.norm(vector))
    return rotation_about(list(vector), angle) if angle > 0.0 else np.eye(3)


@dataclass(frozen=True)
class Fixed:
    """Stays where it is."""

    def pose(self, t: float) -> Pose:
        """Return the start pose."""
        return np.zeros(3), np.eye(3)


@dataclass(frozen=True)
class Linear:
    """Moves at a constant velocity (m/s) between `start` and `stop` (s)."""

    velocity: Vector
    start: float = 0.0
    stop: float = float("inf")

    def pose(self, t: float) -> Pose:
        """Return displacement and rotation at time t."""
        return np.asarray(self.velocity, float) * (
            min(max(t, self.start), self.stop) - self.start
        ), np.eye(3)


@dataclass(frozen=True)
class Spin:
    """Turns about an axis through the body's origin at `rate` (rad/s) from `start` to `stop`."""

    axis: Vector
    rate: float
    start: float = 0.0
    stop: float = float("inf")

    def pose(self, t: float) -> Pose:
        """Return displacement and rotation at time t."""
        return np.zeros(3), rotation_about(
            self.axis, self.rate * (min(max(t, self.start), self.stop) - self.start)
        )


@dataclass(frozen=True)
class Keyframes:
    """Displacements (m), and angles (rad) about one axis if given, at times (s); linear between."""

    times: Sequence[float]
    positions: Sequence[Vector]
    angles: Sequence[float] | None = None
    axis: Vector = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        if len(self.times) < 1 or np.any(np.diff(self.times) <= 0):
            raise InputError("keyframes: times", list(self.times), "at least one, rising")
        if np.shape(self.positions) != (len(self.times), 3):
            raise InputError(
                "keyframes: positions", np.shape(self.positions), f"shape ({len(self.times)}, 3)"
            )
        if self.angles is not None and len(self.angles) != len(self.times):
            raise InputError("keyframes: angles", len(self.angles), f"{len(self.times)} numbers")

    def pose(self, t: float) -> Pose:
        """Return displacement and rotation at time t."""
        where = np.asarray(self.positions, float)
        position = np.array([np.interp(t, self.times, where[:, c]) for c in range(3)])
        if self.angles is None:
            return position, np.eye(3)
        return position, rotation_about(self.axis, float(np.interp(t, self.times, self.angles)))


@dataclass(frozen=True)
class Function:
    """Any function of time that returns a displacement, or displacement and rotation matrix."""

    function: Callable[[float], Any] = field(repr=False)

    def pose(self, t: float) -> Pose:
        """Return displacement and rotation at time t."""
        result = self.function(t)
        if isinstance(result, tuple) and len(result) == 2 and np.shape(result[1]) == (3, 3):
            return np.asarray(result[0], float), np.asarray(result[1], float)
        return np.asarray(result, float), np.eye(3)
