"""Models of a machine's own file: bodies, joints, actuators and controls (SI units, degrees)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from berm.io.schema import MaterialPart, NotNegative, Number, Part, Positive, ShapePart, Vec3
from berm.machines import actuators, design, engine, hydraulics, meshes, tracks

Pair = tuple[Number, Number]


class BlockPart(Part):
    """A block between two corners."""

    kind: Literal["block"]
    low: Vec3
    """m."""
    high: Vec3
    """m."""

    def make(self) -> meshes.Surface:
        """Return its surface."""
        return meshes.box(self.low, self.high)


class PrismPart(Part):
    """An outline, drawn out along an axis."""

    kind: Literal["prism"]
    outline: list[Pair]
    """Corners, m: (x, z) for axis y, (x, y) for z, (y, z) for x."""
    low: Number
    """m along the axis."""
    high: Number
    """m along the axis."""
    axis: Literal["x", "y", "z"] = "y"

    def make(self) -> meshes.Surface:
        """Return its surface."""
        return meshes.prism(self.outline, self.low, self.high, self.axis)


class TubePart(Part):
    """A round bar."""

    kind: Literal["tube"]
    start: Vec3
    """m."""
    end: Vec3
    """m."""
    radius: Positive
    """m."""

    def make(self) -> meshes.Surface:
        """Return its surface."""
        return meshes.tube(self.start, self.end, self.radius)


class TroughPart(Part):
    """A shell with an open mouth: a bucket, a bed."""

    kind: Literal["trough"]
    outer: list[Pair]
    """Profile (x, z) from lip to lip, m."""
    inner: list[Pair]
    """The same inside, with as many corners."""
    width: Positive
    """Over all, m."""
    wall: Positive
    """Of the sides, m."""

    def make(self) -> meshes.Surface:
        """Return its surface."""
        return meshes.trough(self.outer, self.inner, self.width, self.wall)


Piece = Annotated[BlockPart | PrismPart | TubePart | TroughPart, Field(discriminator="kind")]


class BodyOfMachine(Part):
    """A body: one shape in its own frame, or pieces in the machine's."""

    shape: ShapePart | None = None
    """About the point `at`."""
    pieces: list[Piece] = Field(default_factory=list)
    """Instead of a shape: where they are in the machine."""
    turn: Vec3 = (0.0, 0.0, 0.0)
    """Degrees about x, then y, then z, of the shape."""
    mass: Positive
    """kg."""
    at: Vec3 = (0.0, 0.0, 0.0)
    """Its origin in the machine, m."""
    material: str = "steel"
    """A preset, or one of `materials`."""
    centre: Vec3 | None = None
    """Of mass, in the machine, m; without it, the shape's."""
    inertia: Vec3 | None = None
    """Moments about the centre in the body's frame, kg m^2; without it, the shape's."""

    @model_validator(mode="after")
    def _one_shape(self) -> BodyOfMachine:
        if (self.shape is None) == (not self.pieces):
            raise ValueError("either shape or pieces")
        return self

    def make(self, name: str, folder: Path, material: Any) -> design.Part:
        """Return the body."""
        from berm.io.schema import RotationPart

        if self.shape is None:
            shape: Any = meshes.joined(*(one.make() for one in self.pieces), name=name, at=self.at)
        else:
            shape = self.shape.make(folder)
        turn = RotationPart(euler=self.turn).make()
        return design.Part(shape, self.mass, self.at, material, turn, self.centre, self.inertia)


class JointOfMachine(Part):
    """A joint of two bodies; rams and rods have two ends."""

    kind: Literal[design.KINDS]  # type: ignore[valid-type]
    a: str
    """The body that moves."""
    b: str
    """The body that it moves in."""
    at: Vec3
    """Where it is in a, m, in the machine."""
    at_b: Vec3 | None = None
    """Where it is in b, if not there too."""
    axis: Vec3 = (0.0, 1.0, 0.0)
    """Of hinges, sliders and cylindrical ones."""
    degrees: Pair | None = None
    """Limits of a hinge."""
    limits: Pair | None = None
    """Limits of a slider, m."""
    closed: Positive | None = None
    """Length of a ram, m."""
    stroke: Positive | None = None
    """Of a ram, m."""
    friction: NotNegative = 0.0
    """N m or N."""
    viscosity: NotNegative = 0.0
    """N m s/rad or N s/m."""

    @model_validator(mode="after")
    def _of_its_kind(self) -> JointOfMachine:
        ram = self.kind == "ram"
        if ram != (self.closed is not None) or ram != (self.stroke is not None):
            raise ValueError("closed and stroke for a ram, and for no other")
        if self.degrees is not None and self.kind != "hinge":
            raise ValueError("degrees for a hinge only; limits in m for others")
        if self.limits is not None and self.kind not in ("slider", "cylindrical"):
            raise ValueError("limits for sliders; degrees for a hinge, closed and stroke for a ram")
        return self

    def make(self) -> design.Link:
        """Return the joint."""
        limits = self.limits
        if self.degrees is not None:
            limits = math.radians(self.degrees[0]), math.radians(self.degrees[1])
        if self.closed is not None and self.stroke is not None:
            limits = self.closed, self.closed + self.stroke
        return design.Link(
            self.kind, self.a, self.b, self.at, self.at_b, self.axis, limits=limits,
            friction=self.friction, viscosity=self.viscosity,
        )  # fmt: skip


class CouplingPart(Part):
    """A gear of two joints, or a differential of a shaft and two sides."""

    joints: list[str]
    """Two names, or three: shaft, left, right."""
    ratio: Number
    """Position of one + ratio x that of the other stays; shaft = ratio x mean of the sides."""


class CylinderPart(Part):
    """Hydraulic cylinders."""

    bore: Positive
    """m."""
    rod: NotNegative
    """m."""
    relief: Positive
    """Pa."""
    count: Annotated[int, Field(ge=1)] = 1
    """Side by side."""


class RotaryPart(Part):
    """A hydraulic motor, or steering cylinders."""

    displacement: Positive
    """m^3/rad."""
    volume: Positive
    """Oil inside, m^3."""
    relief: Positive
    """Pa."""


class LeverPart(Part):
    """A control, its valve and what that moves."""

    control: str
    joint: str
    cylinder: CylinderPart | None = None
    """Of a ram or slider."""
    rotary: RotaryPart | None = None
    """Of a hinge."""
    flow: Positive | tuple[Positive, Positive]
    """m^3/s through the open valve, or [out, in]."""
    priority: bool = False
    """Served before the others."""
    reverse: bool = False
    """Whether the control pulls in."""

    @model_validator(mode="after")
    def _one_mover(self) -> LeverPart:
        if (self.cylinder is None) == (self.rotary is None):
            raise ValueError("either cylinder or rotary")
        return self

    def make(self) -> hydraulics.Lever:
        """Return the lever."""
        moves: hydraulics.Cylinder | hydraulics.Rotary
        if self.cylinder is not None:
            moves = hydraulics.Cylinder(**self.cylinder.model_dump())
        else:
            assert self.rotary is not None
            moves = hydraulics.Rotary(**self.rotary.model_dump())
        return hydraulics.Lever(
            self.control, self.joint, moves, self.flow, self.priority, -1.0 if self.reverse else 1.0
        )


class EnginePart(Part):
    """A diesel engine."""

    curve: list[Pair]
    """Speed (1/min) and torque (N m) at full load."""
    inertia: Positive
    """kg m^2."""
    idle: Positive
    """1/min."""
    high: Positive
    """1/min, without load at full throttle."""
    droop: Positive = 120.0
    """1/min from no load to full load."""
    drag: NotNegative = 150.0
    """N m."""


class HydraulicsPart(Part):
    """Levers on a pump."""

    kind: Literal["hydraulics"]
    levers: list[LeverPart]
    flow: Positive | None = None
    """m^3/s, of a pump that turns by itself."""
    displacement: Positive | None = None
    """m^3 a turn of the engine."""

    def make(self, motor: engine.Engine | None) -> actuators.Actuator:
        """Return the actuator."""
        levers = [lever.make() for lever in self.levers]
        own = None if self.displacement is None else motor
        return hydraulics.Hydraulics(levers, own, self.displacement, self.flow)


class DrivelinePart(Part):
    """Torque converter, gears and a shaft."""

    kind: Literal["driveline"]
    shaft: str
    """Its hinge."""
    gears: list[Positive]
    """Ratios, the largest first."""
    ratio: list[Pair]
    """Torque ratio of the converter over the ratio of speeds."""
    capacity: list[Pair]
    """Its capacity, N m s^2, over the ratio of speeds."""
    reduction: Positive = 1.0
    """From the gearbox to the shaft."""

    def make(self, motor: engine.Engine | None) -> actuators.Actuator:
        """Return the actuator."""
        if motor is None:
            from berm.core.errors import InputError

            raise InputError("driveline: engine", None, "a file with an engine")
        converter = engine.Converter(self.ratio, self.capacity)
        return engine.Driveline(motor, converter, self.shaft, self.gears, self.reduction)


class BrakePart(Part):
    """Friction in hinges."""

    kind: Literal["brake"]
    joints: list[str]
    torque: Positive
    """N m each."""
    control: str = "brake"

    def make(self, motor: engine.Engine | None) -> actuators.Actuator:
        """Return the actuator."""
        return actuators.Brake(tuple(self.joints), self.torque, self.control)


class TracksPart(Part):
    """Two tracks."""

    kind: Literal["tracks"]
    left: str
    """Body."""
    right: str
    """Body."""
    speed: Positive
    """m/s."""

    def make(self, motor: engine.Engine | None) -> actuators.Actuator:
        """Return the actuator."""
        return tracks.Tracks(self.left, self.right, self.speed)


AnyActuator = Annotated[
    HydraulicsPart | DrivelinePart | BrakePart | TracksPart, Field(discriminator="kind")
]


class MachineFile(Part):
    """A whole machine, drawn in one pose: x forward, y left, z up, the origin on the ground."""

    materials: list[MaterialPart] = Field(default_factory=list)
    """Materials beside the presets."""
    bodies: dict[str, BodyOfMachine]
    """By name; the machine is placed by the first."""
    joints: dict[str, JointOfMachine] = Field(default_factory=dict)
    couplings: dict[str, CouplingPart] = Field(default_factory=dict)
    engine: EnginePart | None = None
    actuators: list[AnyActuator] = Field(default_factory=list)
    poses: dict[str, dict[str, Number]] = Field(default_factory=dict)
    """Positions of joints by name, under a name: degrees of hinges, m of others."""
    source: dict[str, str] = Field(default_factory=dict)
    """Where dimensions come from."""
    load: str | None = None
    """The body whose load the sensors tell."""
