"""Models of the joints in a scene file (SI units, angles in degrees)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from berm.core import joints
from berm.core.bodies import Body
from berm.io.schema import NotNegative, Number, Part, Vec3


class JointPart(Part):
    """What all joints have."""

    body: str
    """Name of the body that is held, turned or guided."""
    to: str | None = None
    """Name of the other body; without it, the world."""
    anchor: Vec3 | None = None
    """Where, m, in the world at the start; without it, the body's origin."""
    name: str = ""
    """How messages call it."""

    def names(self) -> dict[str, str]:
        """Return the names of bodies that it needs, by key."""
        return {"body": self.body} | ({} if self.to is None else {"to": self.to})

    def _common(self, bodies: Mapping[str, Body]) -> dict[str, Any]:
        other = None if self.to is None else bodies[self.to]
        return {
            "body_a": bodies[self.body], "body_b": other, "anchor": self.anchor, "name": self.name
        }  # fmt: skip


class BallPart(JointPart):
    """Holds one point."""

    kind: Literal["ball"]

    def make(self, bodies: Mapping[str, Body]) -> joints.Joint:
        """Return the joint."""
        return joints.Ball(**self._common(bodies))


class WeldPart(JointPart):
    """Holds two bodies together."""

    kind: Literal["weld"]

    def make(self, bodies: Mapping[str, Body]) -> joints.Joint:
        """Return the joint."""
        return joints.Weld(**self._common(bodies))


class HingePart(JointPart):
    """Lets the body turn about an axis."""

    kind: Literal["hinge"]
    axis: Vec3
    """Direction; its length does not matter."""
    degrees: tuple[Number, Number] | None = None
    """Smallest and largest angle, around the start, 0."""
    speed: Number | None = None
    """Of its motor, rad/s."""
    torque: NotNegative | None = None
    """Largest torque of its motor, N m; without it, any."""

    @model_validator(mode="after")
    def _motor(self) -> HingePart:
        if self.torque is not None and self.speed is None:
            raise ValueError("torque only with the speed of a motor")
        return self

    def make(self, bodies: Mapping[str, Body]) -> joints.Joint:
        """Return the joint."""
        limits = None
        if self.degrees is not None:
            limits = (math.radians(self.degrees[0]), math.radians(self.degrees[1]))
        return joints.Hinge(
            **self._common(bodies), axis=self.axis, limits=limits,
            motor=_motor(self.speed, self.torque),
        )  # fmt: skip


class SliderPart(JointPart):
    """Lets the body slide along an axis."""

    kind: Literal["slider"]
    axis: Vec3
    """Direction; its length does not matter."""
    limits: tuple[Number, Number] | None = None
    """Smallest and largest way, m, around the start, 0."""
    speed: Number | None = None
    """Of its motor, m/s."""
    force: NotNegative | None = None
    """Largest force of its motor, N; without it, any."""

    @model_validator(mode="after")
    def _motor(self) -> SliderPart:
        if self.force is not None and self.speed is None:
            raise ValueError("force only with the speed of a motor")
        return self

    def make(self, bodies: Mapping[str, Body]) -> joints.Joint:
        """Return the joint."""
        return joints.Slider(
            **self._common(bodies), axis=self.axis, limits=self.limits,
            motor=_motor(self.speed, self.force),
        )  # fmt: skip


def _motor(speed: float | None, effort: float | None) -> tuple[float, float] | None:
    return None if speed is None else (speed, math.inf if effort is None else effort)


AnyJoint = Annotated[BallPart | WeldPart | HingePart | SliderPart, Field(discriminator="kind")]
