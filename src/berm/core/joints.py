"""Joints between bodies: plain data that the rigid-body solver reads and fills.

Each joins body_a to body_b, or to the world where body_b is None, at `anchor` (3,) in m and along
`axis` (3,), both in the world's frame at the time at which the joint is added. After each step
`force` (3,) N at the anchor and `torque` (3,) N m are what the joint exerted on body_a, averaged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from berm.core.bodies import Body
from berm.core.dynamics import matrix_of, quaternion_of
from berm.core.errors import InputError

Array = npt.NDArray[np.float64]
Vector = npt.ArrayLike
BALL, HINGE, FIXED, SLIDER = range(4)


@dataclass(eq=False)
class Joint:
    """What all joints have; see the module."""

    body_a: Body
    body_b: Body | None = None
    anchor: Vector | None = None  # none: the origin of body_a
    name: str = ""
    kind: ClassVar[int] = FIXED
    force: Array = field(init=False, default_factory=lambda: np.zeros(3))
    torque: Array = field(init=False, default_factory=lambda: np.zeros(3))
    place: float = field(init=False, default=0.0)  # rad or m along the free direction
    local: tuple[Array, ...] = field(init=False, default=(), repr=False)

    def __post_init__(self) -> None:
        label = self.label
        if self.body_a is self.body_b:
            raise InputError(f"{label}: body_b", self.body_a.name, "another body, or None")
        if not (self.body_a.dynamic or (self.body_b is not None and self.body_b.dynamic)):
            raise InputError(f"{label}: bodies", "none is dynamic", "at least one dynamic body")
        where = self.body_a.position if self.anchor is None else self.anchor
        self.anchor = self._vector("anchor", where)

    @property
    def label(self) -> str:
        """How errors call it."""
        return self.name or f"{type(self).__name__.lower()} of {self.body_a.name!r}"

    def _vector(self, what: str, value: Any) -> Array:
        try:
            vector = np.array(value, float)
        except (TypeError, ValueError):
            vector = np.zeros(0)
        if vector.shape != (3,) or not np.isfinite(vector).all():
            raise InputError(f"{self.label}: {what}", value, "three finite numbers")
        return vector

    def attach(self) -> None:
        """Note anchor and axis in the frames of both bodies as they stand now.

        local: anchors (3,) from the centres of mass (m), and quaternions of the joint's frame,
        whose first axis is the joint's, all in the bodies' principal axes.
        """
        x = self.direction
        y = np.cross(np.eye(3)[int(np.argmin(np.abs(x)))], x)
        y /= np.linalg.norm(y)
        frame = np.column_stack([x, y, np.cross(x, y)])
        anchor = np.asarray(self.anchor, float)
        ends = [_frame(body) for body in (self.body_a, self.body_b)]
        self.local = (
            *(turn.T @ (anchor - centre) for centre, turn in ends),
            *(quaternion_of(turn.T @ frame) for _, turn in ends),
        )
        self.place = 0.0

    @property
    def limited(self) -> tuple[float, float] | None:
        """Bounds of the free direction, if there are any."""
        return None

    @property
    def driven_by(self) -> tuple[float, float] | None:
        """Target speed and largest effort of the motor, if there is one."""
        return None

    @property
    def direction(self) -> Array:
        """Axis (3,) in the world when the joint is added."""
        return np.array([1.0, 0.0, 0.0])


def _frame(body: Body | None) -> tuple[Array, Array]:
    """Centre and principal axes of a body in the world; of the world itself where there is none."""
    if body is None:
        return np.zeros(3), np.eye(3)
    if body.dynamics is None:
        return body.position, body.rotation
    return body.dynamics.centre, matrix_of(body.dynamics.turn)


@dataclass(eq=False)
class Ball(Joint):
    """Holds one point; the bodies turn freely about it."""

    kind: ClassVar[int] = BALL


@dataclass(eq=False)
class Weld(Joint):
    """Holds two bodies together: a fixed joint."""

    kind: ClassVar[int] = FIXED


@dataclass(eq=False)
class _Along(Joint):
    """A joint with an axis, limits and a motor."""

    axis: Vector = (0.0, 0.0, 1.0)
    limits: tuple[float, float] | None = None
    motor: tuple[float, float] | None = None  # target speed, largest torque or force

    def __post_init__(self) -> None:
        super().__post_init__()
        axis = self._vector("axis", self.axis)
        length = float(np.linalg.norm(axis))
        if not length > 0.0:
            raise InputError(f"{self.label}: axis", axis.tolist(), "an axis that is not zero")
        self.axis = axis / length
        if self.limits is not None:
            low, high = (float(value) for value in self.limits)
            if not low <= 0.0 <= high or low == high:
                raise InputError(
                    f"{self.label}: limits", self.limits, "(low, high) around the start, 0"
                )
            self.limits = (low, high)
        if self.motor is not None:
            self.drive(*self.motor)

    def drive(self, speed: float, effort: float = math.inf) -> None:
        """Head for a speed (rad/s or m/s) with at most this effort (N m or N) from now on."""
        if not math.isfinite(speed) or not effort >= 0.0:
            raise InputError(
                f"{self.label}: motor", (speed, effort), "a finite speed and an effort from 0 up"
            )
        self.motor = (float(speed), float(effort))

    def release(self) -> None:
        """Take the motor away."""
        self.motor = None

    @property
    def limited(self) -> tuple[float, float] | None:
        """Bounds of the free direction, if there are any."""
        return self.limits

    @property
    def driven_by(self) -> tuple[float, float] | None:
        """Target speed and largest effort of the motor, if there is one."""
        return self.motor

    @property
    def direction(self) -> Array:
        """Axis (3,) in the world when the joint is added."""
        return np.asarray(self.axis, float)


@dataclass(eq=False)
class Hinge(_Along):
    """Lets body_a turn about one axis; limits in rad, motor (rad/s, N m)."""

    kind: ClassVar[int] = HINGE

    @property
    def angle(self) -> float:
        """Angle (rad) that body_a has turned against body_b since the start; counts full turns."""
        return self.place


@dataclass(eq=False)
class Slider(_Along):
    """Lets body_a slide along one axis; limits in m, motor (m/s, N)."""

    kind: ClassVar[int] = SLIDER

    @property
    def position(self) -> float:
        """Way (m) of body_a along the axis since the start."""
        return self.place
