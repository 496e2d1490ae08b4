"""Bodies that grains collide with, static, driven or free to move, and what they feel of it."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.dynamics import Dynamics
from berm.core.errors import InputError
from berm.core.motion import Fixed, Motion, is_rotation
from berm.core.shapes import Shape

Array = npt.NDArray[np.float64]


class Body:
    """A shape with a pose, a material, and a prescribed motion or one of its own (`dynamics`).

    position (3,) m and velocity (3,) m/s of the shape's origin, rotation (3, 3) and
    angular_velocity (3,) rad/s hold for the coming step; force (3,) N and torque (3,) Nm about the
    origin are what the grains exerted, averaged over the last step; with solvers "vts" and "sp"
    also what other bodies did. kind: "static", "kinematic" (has a motion) or "dynamic".
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
        if not isinstance(shape, Shape):
            kinds = ", ".join(kind.__name__ for kind in get_args(Shape))
            raise InputError(f"body {name!r}: shape", shape, f"one of {kinds}, with its sizes")
        if motion is not None and not hasattr(motion, "pose"):
            raise InputError(
                f"body {name!r}: motion", motion, "Linear, Spin, Keyframes, Steered or Function(f)"
            )
        self.shape: Any = shape
        self.name, self.material = name, material
        self.start_position = checks.vector(
            f"body {name!r}: position", position, "three finite numbers, m"
        )
        if rotation is not None and not is_rotation(rotation):
            raise InputError(f"body {name!r}: rotation", rotation, "a 3 x 3 rotation matrix")
        self.start_rotation: Array = np.eye(3) if rotation is None else np.array(rotation, float)
        self.motion: Motion = motion or Fixed()
        self.position = self.start_position.copy()
        self.rotation = self.start_rotation.copy()
        self.velocity = np.zeros(3)
        self.angular_velocity = np.zeros(3)
        self.force = np.zeros(3)
        self.torque = np.zeros(3)
        self.dynamics: Dynamics | None = None

    def set_free(
        self,
        density: float,
        mass: float | None = None,
        velocity: npt.ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: npt.ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        """Make the body dynamic: mass (kg) and inertia from shape and density (kg/m^3), or mass."""
        if self.driven:
            raise InputError(
                f"body {self.name!r}: motion", type(self.motion).__name__,
                "either a motion or dynamic=True",
            )  # fmt: skip
        self.dynamics = Dynamics(
            self.name, self.shape, density, mass, self.position, self.rotation, velocity,
            angular_velocity,
        )  # fmt: skip
        self.follow()

    def follow(self) -> None:
        """Take pose and velocities over from the dynamic state."""
        if self.dynamics is not None:
            pose = self.dynamics.pose()
            self.position, self.rotation, self.velocity, self.angular_velocity = pose

    def set_velocity(
        self, velocity: npt.ArrayLike, angular_velocity: npt.ArrayLike = (0.0, 0.0, 0.0)
    ) -> None:
        """Give a dynamic body's origin a velocity (m/s), and the body an angular one (rad/s)."""
        self._free().set_velocity(self.name, velocity, angular_velocity)
        self.follow()

    def _free(self) -> Dynamics:
        if self.dynamics is None:
            raise InputError(f"body {self.name!r}", self.kind, "a dynamic body")
        return self.dynamics

    @property
    def dynamic(self) -> bool:
        """Whether forces move the body."""
        return self.dynamics is not None

    @property
    def kind(self) -> str:
        """One of "static", "kinematic" and "dynamic"."""
        return "dynamic" if self.dynamic else "kinematic" if self.driven else "static"

    @property
    def mass(self) -> float:
        """Mass (kg); infinite where forces do not move the body."""
        return np.inf if self.dynamics is None else self.dynamics.mass

    @property
    def inertia(self) -> Array:
        """Inertia (3, 3) about the centre of mass, in the body's frame, kg m^2."""
        return self._free().inertia

    @property
    def centre(self) -> Array:
        """Centre of mass (3,) of a dynamic body in the world, m."""
        return self._free().centre

    @property
    def momentum(self) -> Array:
        """Linear momentum (3,) of a dynamic body, kg m/s."""
        free = self._free()
        return free.mass * free.speed

    @property
    def angular_momentum(self) -> Array:
        """Angular momentum (3,) of a dynamic body about its centre of mass, kg m^2/s."""
        return self._free().spin

    @property
    def kinetic_energy(self) -> float:
        """Kinetic energy of a dynamic body, J."""
        return self._free().kinetic_energy

    @property
    def driven(self) -> bool:
        """Whether the body has a motion of its own."""
        return not isinstance(self.motion, Fixed)

    def pose_at(self, t: float) -> tuple[Array, Array]:
        """Return position and rotation in the world at time t (s)."""
        shift, turn = self.motion.pose(t)
        what = f"body {self.name!r}: motion at t = {t:g} s"
        shift = checks.vector(what, shift, "a displacement of three finite numbers, m")
        if not np.isfinite(turn).all():
            raise InputError(what, turn, "a rotation matrix of finite numbers")
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
