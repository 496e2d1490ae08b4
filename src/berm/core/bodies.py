"""Bodies: boundaries that grains collide with, static or driven, and the force that they feel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError
from berm.core.motion import Fixed, Motion

Array = npt.NDArray[np.float64]


class Body:
    """A shape with a pose, a material and a prescribed motion.

    position (3,) m, rotation (3, 3), velocity (3,) m/s and angular_velocity (3,) rad/s hold for
    the coming step; force (3,) N and torque (3,) Nm about the body's origin are what the grains
    exerted, averaged over the last step.
    """

    def __init__(
        self,
        shape: Any,
        name: str,
        material: int,
        position: npt.ArrayLike = (0.0, 0.0, 0.0),
        rotation: npt.ArrayLike | None = None,
        motion: Motion | None = None,
    ) -> None:
        self.shape, self.name, self.material = shape, name, material
        self.start_position: Array = np.array(position, float)
        self.start_rotation: Array = np.eye(3) if rotation is None else np.array(rotation, float)
        if self.start_position.shape != (3,) or not np.isfinite(self.start_position).all():
            raise InputError(f"body {name!r}: position", position, "three finite numbers, m")
        if self.start_rotation.shape != (3, 3) or not np.allclose(
            self.start_rotation @ self.start_rotation.T, np.eye(3), atol=1e-6
        ):
            raise InputError(f"body {name!r}: rotation", rotation, "a 3 x 3 rotation matrix")
        self.motion: Motion = motion or Fixed()
        self.position = self.start_position.copy()
        self.rotation = self.start_rotation.copy()
        self.velocity = np.zeros(3)
        self.angular_velocity = np.zeros(3)
        self.force = np.zeros(3)
        self.torque = np.zeros(3)

    @property
    def driven(self) -> bool:
        """Whether the body has a motion of its own."""
        return not isinstance(self.motion, Fixed)

    def pose_at(self, t: float) -> tuple[Array, Array]:
        """Return position and rotation in the world at time t (s)."""
        shift, turn = self.motion.pose(t)
        if not (np.isfinite(shift).all() and np.isfinite(turn).all()):
            raise InputError(f"body {self.name!r}: motion at t = {t:g} s", shift, "finite numbers")
        return self.start_position + shift, turn @ self.start_rotation

    def prepare(self, t: float, dt: float) -> None:
        """Set the pose at t and the velocities that lead to the pose at t + dt."""
        if not self.driven:
            return
        self.position, self.rotation = self.pose_at(t)
        there, turned = self.pose_at(t + dt)
        self.velocity = (there - self.position) / dt
        self.angular_velocity = _rotation_vector(turned @ self.rotation.T) / dt


def _rotation_vector(matrix: Array) -> Array:
    """Axis times angle of a rotation matrix."""
    skew = 0.5 * np.array(
        [matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]]
    )
    sine = float(np.linalg.norm(skew))
    angle = float(np.arctan2(sine, 0.5 * (np.trace(matrix) - 1.0)))
    return np.asarray(skew * (angle / sine if sine > 1e-12 else 1.0))
