"""What makes a body move by itself: mass, inertia, and its state as a free rigid body."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError
from berm.core.mass import of_shape

Array = npt.NDArray[np.float64]


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


class Dynamics:
    """Mass properties of a body and its state, all float64.

    mass (kg); offset (3,): centre of mass in the body's frame (m); axes (3, 3): columns are the
    principal axes in the body's frame; moments (3,): principal moments (kg m^2).
    State: centre (3,) of mass in the world (m), turn (4,): quaternion from the principal axes to
    the world, speed (3,): velocity of the centre (m/s), spin (3,): angular momentum about the
    centre, in the world's axes (kg m^2/s).
    """

    STATE = ("centre", "turn", "speed", "spin", "load")

    def __init__(
        self, name: str, shape: Any, density: float, mass: float | None, position: Array,
        rotation: Array, velocity: npt.ArrayLike, angular_velocity: npt.ArrayLike,
    ) -> None:  # fmt: skip
        try:
            of = of_shape(shape)
        except InputError as error:
            raise InputError(f"body {name!r}: dynamic, but no {error.what}", allowed=error.allowed
                             ) from error  # fmt: skip
        for label, value in (("density", density), ("mass", mass)):
            if value is not None and not (np.isfinite(value) and value > 0.0):
                raise InputError(f"body {name!r}: {label}", value, "a finite number above 0")
        if mass is not None:
            density = float(mass) / of.volume
        self.mass = density * of.volume
        moments, axes = of.principal()
        self.offset, self.axes, self.moments = of.centre.copy(), axes, density * moments
        self.inertia = density * of.inertia
        self.centre: Array = position + rotation @ self.offset
        self.turn: Array = quaternion_of(rotation @ axes)
        self.speed: Array = np.zeros(3)
        self.spin: Array = np.zeros(3)
        # force and torque (N, N m) of joints and other bodies in the last two substeps
        self.load: Array = np.zeros((2, 6))
        self.set_velocity(name, velocity, angular_velocity)

    def set_velocity(
        self, name: str, velocity: npt.ArrayLike, angular_velocity: npt.ArrayLike
    ) -> None:
        """Give the body's origin this velocity (m/s), and the body this spin (rad/s)."""
        v, omega = np.array(velocity, float), np.array(angular_velocity, float)
        for label, value in (("velocity", v), ("angular_velocity", omega)):
            if value.shape != (3,) or not np.isfinite(value).all():
                raise InputError(f"body {name!r}: {label}", value.tolist(), "three finite numbers")
        frame = matrix_of(self.turn)
        arm = frame @ self.axes.T @ self.offset
        self.speed = v + np.cross(omega, arm)
        self.spin = frame @ (self.moments * (frame.T @ omega))

    def pose(self) -> tuple[Array, Array, Array, Array]:
        """Position of the body's origin, rotation, and the velocities of both."""
        frame = matrix_of(self.turn)
        rotation = frame @ self.axes.T
        arm = rotation @ self.offset
        omega = frame @ ((frame.T @ self.spin) / self.moments)
        return self.centre - arm, rotation, self.speed - np.cross(omega, arm), omega

    @property
    def kinetic_energy(self) -> float:
        """Of translation and rotation, J."""
        frame = matrix_of(self.turn)
        turning = (frame.T @ self.spin) ** 2 / self.moments
        return float(0.5 * self.mass * (self.speed @ self.speed) + 0.5 * turning.sum())

    def state(self) -> dict[str, Array]:
        """Everything that a restart needs."""
        return {name: getattr(self, name).copy() for name in self.STATE}

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        for name in self.STATE:
            setattr(self, name, np.array(state[name], float))
