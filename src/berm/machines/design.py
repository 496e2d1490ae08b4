"""What a machine consists of, in its own frame and in one pose: bodies, joints, actuators.

x points forward, y to the left, z up; the origin is on the ground. All places (m) and axes are
those of the authored pose; `berm.machines.assembly` finds other poses from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.errors import InputError
from berm.core.materials import Material

if TYPE_CHECKING:
    from berm.machines.actuators import Actuator
    from berm.machines.tool import Tool

Array = npt.NDArray[np.float64]
Point = Sequence[float]

POINTS = ("ball", "hinge", "weld", "universal")  # these hold a point
ALONG = ("hinge", "slider", "cylindrical")  # these have a position along or about an axis
POSITIONED = (*ALONG, "ram", "rod")
ALONE = ("ball", "weld", "universal", "rod")  # these cannot be driven
KINDS = ("ball", "hinge", "weld", "slider", "cylindrical", "universal", "ram", "rod")


@dataclass
class Part:
    """A body: shape in its own frame, mass (kg), where its origin is (m), what it is made of.

    rotation (3, 3) of its frame; centre (3,) of mass in the machine's frame, None: that of the
    shape; inertia (3, 3) or moments (3,) in kg m^2 about the centre in the body's frame, None: that
    of the shape with this mass.
    """

    shape: Any
    mass: float
    at: Point = (0.0, 0.0, 0.0)
    material: str | Material = "steel"
    rotation: npt.ArrayLike | None = None
    centre: Point | None = None
    inertia: npt.ArrayLike | None = None

    @property
    def turn(self) -> Array:
        """Rotation (3, 3) of its frame in the authored pose."""
        return np.eye(3) if self.rotation is None else np.array(self.rotation, float)


@dataclass
class Link:
    """A joint between two bodies; see `hinge`, `ball`, ... below."""

    kind: str
    a: str
    b: str
    at: Point
    at_b: Point | None = None
    axis: Point = (0.0, 1.0, 0.0)
    axis_b: Point | None = None
    limits: tuple[float, float] | None = None
    zero: float = 0.0
    friction: float = 0.0
    viscosity: float = 0.0


@dataclass
class Coupling:
    """Gear of two joints (position of one + ratio x that of the other), or differential of three.

    joints: names; of a differential the shaft, left and right: shaft = ratio x their mean.
    """

    joints: Sequence[str]
    ratio: float


def hinge(
    a: str, b: str, at: Point, axis: Point = (0.0, 1.0, 0.0),
    limits: tuple[float, float] | None = None, **more: Any,
) -> Link:  # fmt: skip
    """Let a turn in b about an axis through a point; limits in rad."""
    return Link("hinge", a, b, at, axis=axis, limits=limits, **more)


def ball(a: str, b: str, at: Point) -> Link:
    """Hold a and b together in a point."""
    return Link("ball", a, b, at)


def weld(a: str, b: str, at: Point) -> Link:
    """Hold a and b together altogether."""
    return Link("weld", a, b, at)


def slider(
    a: str, b: str, at: Point, axis: Point, limits: tuple[float, float] | None = None, **more: Any
) -> Link:
    """Let a slide in b along an axis; limits in m."""
    return Link("slider", a, b, at, axis=axis, limits=limits, **more)


def ram(a: str, b: str, at: Point, at_b: Point, closed: float, stroke: float) -> Link:
    """A cylinder without mass between a point of a and one of b: closed length and stroke, m."""
    return Link("ram", a, b, at, at_b=at_b, limits=(closed, closed + stroke))


def rod(a: str, b: str, at: Point, at_b: Point) -> Link:
    """Keep a point of a and one of b at their distance."""
    return Link("rod", a, b, at, at_b=at_b)


@dataclass
class Design:
    """A whole machine.

    bodies, joints, couplings by name, the first body being the one that it is placed by; actuators,
    which read the controls; poses: positions (m, rad) of joints by name, under a name; source:
    where dimensions come from; tools by name; load: the body whose load the sensors tell; feet: on
    which places of which bodies it stands, (body, (x, y, z)) in m.
    """

    bodies: dict[str, Part] = field(default_factory=dict)
    joints: dict[str, Link] = field(default_factory=dict)
    couplings: dict[str, Coupling] = field(default_factory=dict)
    actuators: list[Actuator] = field(default_factory=list)
    poses: dict[str, dict[str, float]] = field(default_factory=dict)
    source: dict[str, str] = field(default_factory=dict)
    load: str | None = None
    tools: dict[str, Tool] = field(default_factory=dict)
    feet: Sequence[tuple[str, Point]] = ()

    def check(self, what: str) -> None:
        """Raise an InputError that says where the design is wrong; `what` names the machine."""
        if not self.bodies:
            raise InputError(f"{what}: bodies", "none", "at least one body")
        for name, part in self.bodies.items():
            checks.number(
                f"{what}: body {name!r}: mass", part.mass, "a mass above 0 kg",
                lambda x: 0.0 < x < math.inf,
            )  # fmt: skip
            checks.vector(f"{what}: body {name!r}: at", part.at, "three finite numbers, m")
        for name, link in self.joints.items():
            self._check_joint(f"{what}: joint {name!r}", link)
        for name, coupling in self.couplings.items():
            label = f"{what}: coupling {name!r}"
            if len(coupling.joints) not in (2, 3):
                raise InputError(label, list(coupling.joints), "the names of two or three joints")
            for joint in coupling.joints:
                known = [k for k, link in self.joints.items() if link.kind in ALONG]
                _one_of(f"{label}: joint", joint, known)
        for actuator in self.actuators:
            for joint in actuator.joint_names():
                label = f"{what}: {actuator.label}: joint"
                known = [k for k, link in self.joints.items() if link.kind not in ALONE]
                _one_of(label, joint, known)
            for body in actuator.body_names():
                _one_of(f"{what}: {actuator.label}: body", body, list(self.bodies))
        for pose, positions in self.poses.items():
            for joint in positions:
                known = [k for k, link in self.joints.items() if link.kind in POSITIONED]
                _one_of(f"{what}: pose {pose!r}: joint", joint, known)
        if self.load is not None:
            _one_of(f"{what}: load: body", self.load, list(self.bodies))
        for name, tool in self.tools.items():
            tool.check(f"{what}: tool {name!r}")
            _one_of(f"{what}: tool {name!r}: body", tool.body, list(self.bodies))
        for body, place in self.feet:
            _one_of(f"{what}: feet: body", body, list(self.bodies))
            checks.vector(f"{what}: feet: {body!r}", place, "three finite numbers, m")

    def _check_joint(self, label: str, link: Link) -> None:
        _one_of(f"{label}: kind", link.kind, KINDS)
        for side in (link.a, link.b):
            _one_of(f"{label}: body", side, list(self.bodies))
        if link.a == link.b:
            raise InputError(f"{label}: bodies", link.a, "two bodies")
        here = checks.vector(f"{label}: at", link.at, "three finite numbers, m")
        if link.kind not in ("ram", "rod"):
            return
        there = checks.vector(f"{label}: at_b", link.at_b, "three finite numbers, m")
        far = float(np.linalg.norm(here - there))
        if not far > 0.0:
            raise InputError(f"{label}: at_b", there.tolist(), "a point apart from the other one")
        if link.kind == "rod":
            return
        closed, long = link.limits or (0.0, 0.0)
        stroke = long - closed
        if not 0.0 < stroke < closed:
            raise InputError(
                f"{label}: stroke", stroke, f"above 0, below the closed length, {closed:g} m"
            )
        if not closed <= far <= long:
            raise InputError(
                f"{label}: distance of its mounts", round(far, 6),
                f"{closed:g} to {long:g} m, closed length to closed length and stroke",
            )  # fmt: skip

    def controls(self) -> dict[str, str]:
        """What each control does, by name."""
        return {name: text for one in self.actuators for name, text in one.controls().items()}


def _one_of(what: str, name: Any, known: Sequence[str] | Mapping[str, Any]) -> None:
    if name not in known:
        raise InputError(what, name, ", ".join(known) or "none: there are no such")
