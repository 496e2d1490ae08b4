"""Models of the joints in a scene file (SI units, angles in degrees)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from berm.core import joints
from berm.core.bodies import Body
from berm.io.frames import Frame
from berm.io.schema import ZERO, NotNegative, Number, Part, Positive, Vec3
from berm.io.schema_motors import AnyMotor, SpeedMotor

Bodies = Mapping[str, Body | None]
Joints = Mapping[str, Any]  # gears themselves refuse those without a position
Range = tuple[Number | None, Number | None]


class AnyPart(Part):
    """What all joints have, gears among them."""

    name: str = ""
    """How messages, gears and drives call it."""
    compliance: NotNegative | None = None
    """How much it gives way, m/N and rad/(N m); without it, next to nothing."""
    damping: NotNegative | None = None
    """Time in which it comes back, s; without it, two steps."""

    def names(self) -> dict[str, str]:
        """Return the names of the bodies that it needs, by key."""
        return {}

    def links(self) -> dict[str, str]:
        """Return the names of the joints that it needs, by key."""
        return {}

    def placed(self, frames: Mapping[str | None, Frame]) -> Self:
        """Return it with what is given in frames of the bodies (None: the world) in the world's."""
        return self

    def _more(self) -> dict[str, Any]:
        return {"name": self.name, "compliance": self.compliance, "damping": self.damping}


class JointPart(AnyPart):
    """What all joints between two bodies have."""

    body: str
    """Name of the body that is held, turned or guided."""
    to: str | None = None
    """Name of the other body; without it, the world."""
    anchor: Vec3 | None = None
    """Where, m, in the world at the start; without it, the body's origin."""
    anchor_b: Vec3 | None = None
    """Where in the other body, m, in the world at the start, if the two are not together yet."""
    collide_connected: bool = False
    """Whether the two bodies meet each other."""
    make_of: ClassVar[Any]

    def names(self) -> dict[str, str]:
        """Return the names of the bodies that it needs, by key."""
        return {"body": self.body} | ({} if self.to is None else {"to": self.to})

    def placed(self, frames: Mapping[str | None, Frame]) -> Self:
        """Return it with what is given in frames of the bodies (None: the world) in the world's."""
        mine, theirs = frames[self.body], frames[self.to]
        new: dict[str, Any] = {"anchor": mine.point(self.anchor or ZERO)}
        if self.anchor_b is not None:
            new["anchor_b"] = theirs.point(self.anchor_b)
        for key, frame in (("axis", mine), ("axis_b", theirs)):
            if getattr(self, key, None) is not None:
                new[key] = frame.direction(getattr(self, key))
        return self.model_copy(update=new)

    def make(self, bodies: Bodies, others: Joints) -> joints.Joint:
        """Return the joint; `others` are the joints there are, by name."""
        made: joints.Joint = self.make_of(
            bodies[self.body], None if self.to is None else bodies[self.to], **self._more()
        )
        return made

    def _more(self) -> dict[str, Any]:
        more = super()._more() | {
            "anchor": self.anchor, "collide_connected": self.collide_connected
        }  # fmt: skip
        return more if self.anchor_b is None else more | {"anchor_b": self.anchor_b}


class BallPart(JointPart):
    """Holds one point."""

    kind: Literal["ball"]
    make_of: ClassVar[Any] = joints.Ball


class WeldPart(JointPart):
    """Holds two bodies together."""

    kind: Literal["weld"]
    make_of: ClassVar[Any] = joints.Weld


class UniversalPart(JointPart):
    """Holds one point, and keeps an axis of the one body square to one of the other."""

    kind: Literal["universal"]
    axis: Vec3
    """Of the body; its length does not matter."""
    axis_b: Vec3
    """Of the other body, square to `axis`."""
    make_of: ClassVar[Any] = joints.Universal

    def _more(self) -> dict[str, Any]:
        return super()._more() | {"axis": self.axis, "axis_b": self.axis_b}


# ---------------------------------------------------------------------- with a free direction


class DrivenPart(JointPart):
    """What all joints with a free direction have."""

    friction: NotNegative = 0.0
    """Along the free direction, N m or N."""
    viscosity: NotNegative = 0.0
    """Along the free direction, N m s/rad or N s/m."""
    motor: AnyMotor | None = None
    """What drives it."""

    def make(self, bodies: Bodies, others: Joints) -> joints.Joint:
        """Return the joint; `others` are the joints there are, by name."""
        joint = super().make(bodies, others)
        motor = self._motor()
        if motor is not None:
            assert isinstance(joint, joints.Driven)
            motor.drive(joint)
        return joint

    def _motor(self) -> Any:
        return self.motor

    def _more(self) -> dict[str, Any]:
        return super()._more() | {"friction": self.friction, "viscosity": self.viscosity}


class AlongPart(DrivenPart):
    """What all joints with an axis and a free direction have."""

    axis: Vec3
    """Direction; its length does not matter."""
    axis_b: Vec3 | None = None
    """Where it is in the other body, if the two are not together yet."""

    def _more(self) -> dict[str, Any]:
        return super()._more() | {"axis": self.axis, "axis_b": self.axis_b}


class HingePart(AlongPart):
    """Lets the body turn about an axis."""

    kind: Literal["hinge"]
    zero: Number = 0.0
    """Angle at the start, degrees."""
    degrees: Range | None = None
    """Smallest and largest angle; null where there is none."""
    speed: Number | None = None
    """Of a motor, rad/s; short for a motor of kind speed."""
    torque: NotNegative | None = None
    """Largest torque of that motor, N m; without it, any."""
    make_of: ClassVar[Any] = joints.Hinge

    @model_validator(mode="after")
    def _one_motor(self) -> HingePart:
        _check_short(self.speed, self.torque, "torque", self.motor)
        return self

    def _motor(self) -> Any:
        return self.motor or _short(self.speed, self.torque)

    def _more(self) -> dict[str, Any]:
        return super()._more() | {
            "zero": math.radians(self.zero), "limits": _limits(self.degrees, math.pi / 180.0)
        }  # fmt: skip


class SlidingPart(AlongPart):
    """What slides along an axis has."""

    zero: Number = 0.0
    """Place along the axis at the start, m."""
    limits: Range | None = None
    """Smallest and largest place along the axis, m; null where there is none."""

    def _more(self) -> dict[str, Any]:
        return super()._more() | {"zero": self.zero, "limits": _limits(self.limits)}


class SliderPart(SlidingPart):
    """Lets the body slide along an axis."""

    kind: Literal["slider"]
    speed: Number | None = None
    """Of a motor, m/s; short for a motor of kind speed."""
    force: NotNegative | None = None
    """Largest force of that motor, N; without it, any."""
    make_of: ClassVar[Any] = joints.Slider

    @model_validator(mode="after")
    def _one_motor(self) -> SliderPart:
        _check_short(self.speed, self.force, "force", self.motor)
        return self

    def _motor(self) -> Any:
        return self.motor or _short(self.speed, self.force)


class CylindricalPart(SlidingPart):
    """Lets the body slide along an axis and turn about it."""

    kind: Literal["cylindrical"]
    make_of: ClassVar[Any] = joints.Cylindrical


class DistancePart(DrivenPart):
    """Holds two points at a distance; with limits or a motor, a ram or cylinder without bodies."""

    kind: Literal["distance"]
    anchor_b: Vec3
    """The point of the other body, m, in the world at the start."""
    distance: NotNegative | None = None
    """m; without it, that of the start."""
    rope: bool = False
    """At most that far, instead of just so far."""
    limits: Range | None = None
    """Smallest and largest distance, m; null where there is none."""
    make_of: ClassVar[Any] = joints.Distance

    @model_validator(mode="after")
    def _one_limit(self) -> DistancePart:
        if self.rope and self.limits is not None:
            raise ValueError("either rope: true or limits")
        return self

    def _more(self) -> dict[str, Any]:
        return super()._more() | {
            "distance": self.distance, "rope": self.rope, "limits": _limits(self.limits)
        }  # fmt: skip


class SpringPart(JointPart):
    """Pulls two points to a distance, with a dashpot beside it."""

    kind: Literal["spring"]
    anchor_b: Vec3
    """The point of the other body, m, in the world at the start."""
    stiffness: Positive
    """N/m."""
    viscosity: NotNegative = 0.0
    """N s/m."""
    distance: NotNegative | None = None
    """At which it pulls no more, m; without it, that of the start."""
    make_of: ClassVar[Any] = joints.Spring

    def _more(self) -> dict[str, Any]:
        own = ("stiffness", "viscosity", "distance")
        return super()._more() | {name: getattr(self, name) for name in own}


# ---------------------------------------------------------------------- between joints


class GearPart(AnyPart):
    """Keeps position of joint `one` + ratio x position of joint `other` (rad or m)."""

    kind: Literal["gear"]
    one: str
    """Name of a hinge, slider or cylindrical joint."""
    other: str
    """Name of another one."""
    ratio: Number
    """Positive: against each other, as two wheels; rad/m or m/rad of a rack."""

    def links(self) -> dict[str, str]:
        """Return the names of the joints that it needs, by key."""
        return {"one": self.one, "other": self.other}

    def make(self, bodies: Bodies, others: Joints) -> joints.Joint:
        """Return the joint; `others` are the joints there are, by name."""
        return joints.Gear(others[self.one], others[self.other], self.ratio, **self._more())


class DifferentialPart(AnyPart):
    """Keeps the position of joint `shaft` at ratio x the mean of `left` and `right`."""

    kind: Literal["differential"]
    shaft: str
    """Name of the hinge that drives."""
    left: str
    """Name of the hinge on one side."""
    right: str
    """Name of the hinge on the other side."""
    ratio: Number = 1.0
    """Turns of the shaft to one of both sides."""

    def links(self) -> dict[str, str]:
        """Return the names of the joints that it needs, by key."""
        return {"shaft": self.shaft, "left": self.left, "right": self.right}

    def make(self, bodies: Bodies, others: Joints) -> joints.Joint:
        """Return the joint; `others` are the joints there are, by name."""
        shaft, left, right = (others[name] for name in self.links().values())
        return joints.Differential(shaft, left, right, self.ratio, **self._more())


def _limits(given: Range | None, unit: float = 1.0) -> tuple[float, float] | None:
    if given is None:
        return None
    low, high = given
    return (-math.inf if low is None else low * unit, math.inf if high is None else high * unit)


def _check_short(speed: Any, effort: Any, name: str, motor: Any) -> None:
    if effort is not None and speed is None:
        raise ValueError(f"{name} only with the speed of a motor")
    if speed is not None and motor is not None:
        raise ValueError("either motor or speed")


def _short(speed: float | None, effort: float | None) -> SpeedMotor | None:
    return None if speed is None else SpeedMotor(kind="speed", speed=speed, effort=effort)


AnyJoint = Annotated[
    BallPart | WeldPart | HingePart | SliderPart | CylindricalPart | UniversalPart | DistancePart
    | SpringPart | GearPart | DifferentialPart,
    Field(discriminator="kind"),
]  # fmt: skip
