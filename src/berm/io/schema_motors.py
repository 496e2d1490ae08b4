"""Models of what drives a joint: by speed, position or force (SI units, angles in degrees)."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from berm.core.errors import InputError
from berm.core.joints import SETTLE, Driven, Hinge
from berm.io.schema import NotNegative, Number, Part, Positive

Effort = NotNegative | tuple[NotNegative, NotNegative]


class SpeedMotor(Part):
    """Heads for a speed."""

    kind: Literal["speed"]
    speed: Number
    """rad/s or m/s."""
    effort: Effort | None = None
    """Largest torque or force, N m or N, or [pull, push]; without it, any."""

    def drive(self, joint: Driven, speed: float = math.inf, effort: float = math.inf) -> None:
        """Drive the joint; speed and effort are what it can do where this says nothing."""
        joint.drive(self.speed, effort if self.effort is None else self.effort)


class HoldMotor(Part):
    """Keeps the position that the joint has, as a closed valve; gives way beyond its effort."""

    kind: Literal["hold"]
    effort: Effort | None = None
    """Largest torque or force, N m or N, or [pull, push]; without it, any."""
    compliance: NotNegative = 0.0
    """m/N or rad/(N m)."""

    def drive(self, joint: Driven, speed: float = math.inf, effort: float = math.inf) -> None:
        """Hold the joint; effort is what it can do where this says nothing."""
        joint.hold(effort if self.effort is None else self.effort, self.compliance)


class PositionMotor(Part):
    """Heads for a position."""

    kind: Literal["position"]
    degrees: Number | None = None
    """Of a hinge."""
    position: Number | None = None
    """Of every other joint, m."""
    speed: Positive | None = None
    """Largest speed on the way, rad/s or m/s; without it, any."""
    effort: Effort | None = None
    """Largest torque or force, N m or N, or [pull, push]; without it, any."""
    settle: Positive = SETTLE
    """Near its target the speed is the distance over this time, s."""

    @model_validator(mode="after")
    def _one_target(self) -> PositionMotor:
        if (self.degrees is None) == (self.position is None):
            raise ValueError("either degrees, of a hinge, or position, in m")
        return self

    def drive(self, joint: Driven, speed: float = math.inf, effort: float = math.inf) -> None:
        """Drive the joint; speed and effort are what it can do where this says nothing."""
        turns = isinstance(joint, Hinge)
        target = self.degrees if turns else self.position
        if target is None:
            given, needed = ("position", "degrees") if turns else ("degrees", "position, in m")
            raise InputError(f"{joint.label}: motor", given, needed)
        joint.drive_to(
            math.radians(target) if turns else target,
            speed if self.speed is None else self.speed,
            effort if self.effort is None else self.effort,
            self.settle,
        )


class ForceMotor(Part):
    """Exerts a constant torque or force."""

    kind: Literal["force"]
    effort: Number
    """N m or N."""

    def drive(self, joint: Driven, speed: float = math.inf, effort: float = math.inf) -> None:
        """Drive the joint; more than the effort that it can do is refused."""
        if abs(self.effort) > effort:
            raise InputError(f"{joint.label}: motor: effort", self.effort, f"at most {effort:g}")
        joint.push(self.effort)


AnyMotor = Annotated[
    SpeedMotor | PositionMotor | ForceMotor | HoldMotor, Field(discriminator="kind")
]
