"""Models of a scene file: a whole world in words and numbers (SI units, angles in degrees)."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from berm.core import motion as motions
from berm.core import shapes
from berm.core.errors import InputError
from berm.core.materials import MATERIALS, Material


def _number(value: Any) -> Any:
    """Let 1e-3 (text to PyYAML) and 1/60 be numbers, and true and false not."""
    if isinstance(value, bool):
        raise ValueError("a number")
    if isinstance(value, str):
        try:
            return float(Fraction(value.replace(" ", ""))) if "/" in value else float(value)
        except (ValueError, ZeroDivisionError):
            raise ValueError("a number") from None
    return value


Number = Annotated[float, BeforeValidator(_number)]
Positive = Annotated[float, Field(gt=0), BeforeValidator(_number)]
NotNegative = Annotated[float, Field(ge=0), BeforeValidator(_number)]
Vec3 = tuple[Number, Number, Number]
Size3 = tuple[Positive, Positive, Positive]
ZERO = (0.0, 0.0, 0.0)


class Part(BaseModel):
    """A part of a scene file: unknown keys and numbers that are not finite are errors."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


# ---------------------------------------------------------------------- materials


class MaterialPart(Part):
    """A material: a preset with changes."""

    name: str
    """What bodies and grains call it."""
    preset: str = "gravel"
    """The material to start from."""
    density: Positive | None = None
    """kg/m^3, of the grain itself."""
    stiffness: Positive | None = None
    """N/m, of a contact between two grains."""
    damping: NotNegative | None = None
    """N s/m."""
    restitution: Annotated[float, Field(gt=0, le=1), BeforeValidator(_number)] | None = None
    """Used where damping is not given."""
    friction: NotNegative | None = None
    """Static and kinetic friction in one."""
    friction_static: NotNegative | None = None
    """Coefficient at rest."""
    friction_kinetic: NotNegative | None = None
    """Coefficient in motion, at most the static one."""
    rolling_friction: NotNegative | None = None
    """For grains that turn, and between bodies."""
    adhesion: NotNegative | None = None
    """Pa."""
    young_modulus: Positive | None = None
    """Pa."""
    poisson_ratio: Annotated[float, Field(gt=-1, lt=0.5), BeforeValidator(_number)] | None = None
    """Poisson's ratio."""
    contact_compliance: NotNegative | None = None
    """m/N, of a body against a rigid one."""
    contact_damping: NotNegative | None = None
    """s, in which such a contact comes to rest."""
    slip: NotNegative | None = None
    """Of tyres: part of the rolling speed at which friction is full."""

    def make(self) -> Material:
        """Return the material."""
        changes = self.model_dump(exclude={"preset"}, exclude_none=True)
        return MATERIALS.get(self.preset).replace(**changes)


# ---------------------------------------------------------------------- shapes


class PlanePart(Part):
    """A half space: solid below z = 0 of the body, its normal is +z."""

    kind: Literal["plane"]

    def make(self, folder: Path) -> shapes.Plane:
        """Return the shape."""
        return shapes.Plane()


class SpherePart(Part):
    """A ball, or a hollow one."""

    kind: Literal["sphere"]
    radius: Positive
    """m."""
    inside: bool = False
    """Grains live inside."""

    def make(self, folder: Path) -> shapes.Sphere:
        """Return the shape."""
        return shapes.Sphere(self.radius, self.inside)


class SpheresPart(Part):
    """A rigid union of spheres, such as a rock."""

    kind: Literal["spheres"]
    centres: list[Vec3]
    """m."""
    radii: Positive | list[Positive]
    """m, one for each centre, or one for all."""

    def make(self, folder: Path) -> shapes.Spheres:
        """Return the shape."""
        return shapes.Spheres(np.array(self.centres), np.array(self.radii))


class BoxPart(Part):
    """A block, or a container."""

    kind: Literal["box"]
    size: Size3
    """Full edge lengths, m."""
    inside: bool = False
    """Grains live inside."""
    open_top: bool = False
    """A container without a lid."""

    def make(self, folder: Path) -> shapes.Box:
        """Return the shape."""
        return shapes.Box(self.size, self.inside, self.open_top)


class CylinderPart(Part):
    """A cylinder about z, centred."""

    kind: Literal["cylinder"]
    radius: Positive
    """m."""
    height: Positive
    """m."""
    inside: bool = False
    """Grains live inside."""
    open_ends: bool = False
    """A pipe."""
    wall: Positive | None = None
    """Thickness of a pipe's wall, m."""

    def make(self, folder: Path) -> shapes.Cylinder:
        """Return the shape."""
        return shapes.Cylinder(self.radius, self.height, self.inside, self.open_ends, self.wall)


class ConePart(Part):
    """A truncated cone about z, centred."""

    kind: Literal["cone"]
    radius_bottom: NotNegative
    """m."""
    radius_top: NotNegative
    """m."""
    height: Positive
    """m."""
    inside: bool = False
    """Grains live inside."""
    open_ends: bool = False
    """A funnel."""
    wall: Positive | None = None
    """Thickness of a funnel's wall, m."""

    def make(self, folder: Path) -> shapes.Cone:
        """Return the shape."""
        return shapes.Cone(
            self.radius_bottom, self.radius_top, self.height, self.inside, self.open_ends, self.wall
        )


class CapsulePart(Part):
    """A capsule about z."""

    kind: Literal["capsule"]
    radius: Positive
    """m."""
    height: Positive
    """Length of the straight part, m."""
    inside: bool = False
    """Grains live inside."""

    def make(self, folder: Path) -> shapes.Capsule:
        """Return the shape."""
        return shapes.Capsule(self.radius, self.height, self.inside)


class HeightFieldPart(Part):
    """Ground: heights on a grid, written here or read from a .npy or .csv file."""

    kind: Literal["height_field"]
    heights: list[list[Number]] | None = None
    """m, (nx, ny)."""
    file: str | None = None
    """A .npy or .csv file of heights, relative to the scene file."""
    cell: Positive
    """Distance of the grid's points, m."""
    origin: tuple[Number, Number] = (0.0, 0.0)
    """x and y of the first point, m."""

    @model_validator(mode="after")
    def _one_source(self) -> HeightFieldPart:
        if (self.heights is None) == (self.file is None):
            raise ValueError("either heights or file")
        return self

    def make(self, folder: Path) -> shapes.HeightField:
        """Return the shape."""
        if self.file is None:
            return shapes.HeightField(np.array(self.heights), self.cell, self.origin)
        file = folder / self.file
        try:
            if file.suffix == ".npy":
                heights = np.load(file, allow_pickle=False)
            else:
                heights = np.loadtxt(file, delimiter=",", ndmin=2)
        except (OSError, ValueError) as error:
            allowed = "a .npy or .csv file of numbers"
            raise InputError("file of heights", str(file), allowed, str(error)) from error
        return shapes.HeightField(heights, self.cell, self.origin)


class MeshPart(Part):
    """Triangles from an STL, OBJ or PLY file."""

    kind: Literal["mesh"]
    file: str
    """Relative to the scene file."""
    scale: Positive = 1.0
    """Turns the file's unit into metres."""
    two_sided: bool | None = None
    """A sheet with two sides; by default an open mesh is one, a closed one is not."""
    inside: bool = False
    """Grains live inside."""

    def make(self, folder: Path) -> shapes.Mesh:
        """Return the shape."""
        return shapes.Mesh.load(folder / self.file, self.scale, self.two_sided, self.inside)


ShapePart = Annotated[
    PlanePart | SpherePart | SpheresPart | BoxPart | CylinderPart | ConePart | CapsulePart
    | HeightFieldPart | MeshPart,
    Field(discriminator="kind"),
]  # fmt: skip


# ---------------------------------------------------------------------- pose and motion


class RotationPart(Part):
    """A turn: about an axis, or about x, then y, then z of the world (euler)."""

    axis: Vec3 | None = None
    """Together with degrees."""
    degrees: Number | None = None
    """Angle about the axis."""
    euler: Vec3 | None = None
    """Degrees about x, then y, then z."""

    @model_validator(mode="after")
    def _one_way(self) -> RotationPart:
        turn = self.axis is not None and self.degrees is not None
        parts = (self.axis is not None) + (self.degrees is not None)
        if not ((turn and self.euler is None) or (parts == 0 and self.euler is not None)):
            raise ValueError("either axis and degrees, or euler")
        if self.axis is not None and not any(self.axis):
            raise ValueError("an axis that is not zero")
        return self

    def make(self) -> np.ndarray:
        """Return the rotation matrix."""
        if self.euler is None:
            assert self.axis is not None and self.degrees is not None
            return motions.rotation_about(self.axis, math.radians(self.degrees))
        out = np.eye(3)
        for axis, degrees in zip(np.eye(3).tolist(), self.euler, strict=True):
            out = motions.rotation_about(axis, math.radians(degrees)) @ out
        return out


class FixedPart(Part):
    """No motion."""

    kind: Literal["fixed"]

    def make(self) -> motions.Motion:
        """Return the motion."""
        return motions.Fixed()


class LinearPart(Part):
    """Constant velocity between two times."""

    kind: Literal["linear"]
    velocity: Vec3
    """m/s."""
    start: Number = 0.0
    """s."""
    stop: Number | None = None
    """s; without it, for ever."""

    def make(self) -> motions.Motion:
        """Return the motion."""
        return motions.Linear(
            self.velocity, self.start, math.inf if self.stop is None else self.stop
        )


class SpinPart(Part):
    """Turning about an axis through the body's origin between two times."""

    kind: Literal["spin"]
    axis: Vec3
    """Direction; its length does not matter."""
    rate: Number | None = None
    """rad/s."""
    rpm: Number | None = None
    """Turns a minute, instead of rate."""
    start: Number = 0.0
    """s."""
    stop: Number | None = None
    """s; without it, for ever."""

    @model_validator(mode="after")
    def _one_rate(self) -> SpinPart:
        if (self.rate is None) == (self.rpm is None):
            raise ValueError("either rate or rpm")
        if not any(self.axis):
            raise ValueError("an axis that is not zero")
        return self

    def make(self) -> motions.Motion:
        """Return the motion."""
        rate = self.rate if self.rate is not None else (self.rpm or 0.0) * math.tau / 60
        return motions.Spin(
            self.axis, rate, self.start, math.inf if self.stop is None else self.stop
        )


class KeyframesPart(Part):
    """Displacements, and angles about one axis, at given times; linear between them."""

    kind: Literal["keyframes"]
    times: list[Number]
    """s, rising."""
    positions: list[Vec3]
    """m, relative to the start."""
    degrees: list[Number] | None = None
    """Angles about the axis."""
    axis: Vec3 = (0.0, 0.0, 1.0)
    """Axis of the angles."""

    def make(self) -> motions.Motion:
        """Return the motion."""
        angles = None if self.degrees is None else [math.radians(d) for d in self.degrees]
        return motions.Keyframes(self.times, self.positions, angles, self.axis)


MotionPart = Annotated[
    FixedPart | LinearPart | SpinPart | KeyframesPart, Field(discriminator="kind")
]
