"""Models of the top of a scene file: grains, emitters, sinks, the run, and the whole."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from berm.io.schema import (
    ZERO,
    MaterialPart,
    NotNegative,
    Number,
    Part,
    Positive,
    Vec3,
    _number,
)
from berm.io.schema_bodies import BodyPart
from berm.io.schema_cloth import ClothPart
from berm.io.schema_clusters import ClusterPart, ClustersPart
from berm.io.schema_joints import AnyJoint
from berm.io.schema_machines import MachinePart
from berm.io.schema_terrain import TerrainPart
from berm.io.schema_urdf import UrdfPart


def _pair(value: Any) -> Any:
    """Let one radius stand for the smallest and the largest."""
    return value if isinstance(value, list | tuple) else (value, value)


def _rising(value: tuple[float, float]) -> tuple[float, float]:
    if value[0] > value[1]:
        raise ValueError("smallest radius first")
    return value


_NUMBER_SCHEMA: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0}
Radii = Annotated[
    tuple[Positive, Positive],
    BeforeValidator(_pair),
    AfterValidator(_rising),
    WithJsonSchema(
        {
            "anyOf": [
                _NUMBER_SCHEMA,
                {"type": "array", "items": _NUMBER_SCHEMA, "minItems": 2, "maxItems": 2},
            ]
        }
    ),
]
_LENGTH: dict[str, Any] = {"type": "number", "minimum": 0}
Sizes = Annotated[
    list[NotNegative],
    BeforeValidator(lambda value: value if isinstance(value, list | tuple) else [value]),
    WithJsonSchema({"anyOf": [_LENGTH, {"type": "array", "items": _LENGTH}]}),
]
FrameField = Literal[
    "position", "velocity", "bodies", "cloths", "ground", "overlap", "force", "rotation"
]
Packed = tuple[np.ndarray, np.ndarray, Any]


class PackPart(Part):
    """What all packings of grains have."""

    material: str = "gravel"
    """A preset, or one of `materials`."""
    velocity: Vec3 = ZERO
    """m/s."""


class LatticePart(PackPart):
    """Grains on a lattice in a box, each moved a little at random."""

    kind: Literal["lattice"]
    low: Vec3
    """Corner of the box that the grains fill, m."""
    high: Vec3
    """Opposite corner, m."""
    radius: Radii
    """m; one number, or smallest and largest."""
    jitter: Annotated[float, Field(ge=0, le=1), BeforeValidator(_number)] = 0.1
    """Largest random displacement, in radii."""
    arrangement: Literal["cubic", "hexagonal"] = "cubic"
    """hexagonal: close packed, sinks little when let go."""
    count: Annotated[int, Field(ge=1)] | None = None
    """At most so many, the lowest ones."""

    def make(self, seed: int) -> Packed:
        """Return positions, radii and velocity."""
        from berm.world.packings import lattice

        place, radius = lattice(
            self.low, self.high, self.radius, self.jitter, seed, self.arrangement
        )
        lowest = np.argsort(place[:, 2], kind="stable")[: self.count]
        return place[lowest], radius[lowest], self.velocity


class RandomPart(PackPart):
    """Grains at random places in a box, none inside another."""

    kind: Literal["random"]
    low: Vec3
    """Corner of the box that the grains fill, m."""
    high: Vec3
    """Opposite corner, m."""
    count: Annotated[int, Field(ge=1)]
    """How many."""
    radius: Radii
    """m; one number, or smallest and largest."""

    def make(self, seed: int) -> Packed:
        """Return positions, radii and velocity."""
        from berm.world.packings import random_drop

        return *random_drop(self.low, self.high, self.radius, self.count, seed), self.velocity


class ExplicitPart(PackPart):
    """Grains at given places."""

    kind: Literal["explicit"]
    positions: list[Vec3]
    """m."""
    radius: Positive | None = None
    """m, of all."""
    radii: list[Positive] | None = None
    """m, one a grain, instead of radius."""
    velocities: list[Vec3] | None = None
    """m/s, one a grain, instead of velocity."""

    @model_validator(mode="after")
    def _lengths(self) -> ExplicitPart:
        if (self.radius is None) == (self.radii is None):
            raise ValueError("either radius or radii")
        for name in ("radii", "velocities"):
            given = getattr(self, name)
            if given is not None and len(given) != len(self.positions):
                raise ValueError(f"as many {name} as positions ({len(self.positions)})")
        return self

    def make(self, seed: int) -> Packed:
        """Return positions, radii and velocity."""
        places = np.array(self.positions, dtype=np.float64).reshape(-1, 3)
        radii = np.full(len(places), self.radius) if self.radii is None else np.array(self.radii)
        return places, radii, self.velocity if self.velocities is None else self.velocities


GrainsPart = Annotated[LatticePart | RandomPart | ExplicitPart, Field(discriminator="kind")]


class EmitterPart(Part):
    """Pours grains from a region at a rate."""

    rate: NotNegative
    """Grains a second."""
    position: Vec3
    """Middle of the region, m."""
    region: Literal["box", "disc", "sphere"] = "disc"
    """box: size is three edges; disc: radius and height; sphere: radius."""
    size: Sizes = Field(default_factory=lambda: [0.1])
    """m."""
    radius: Radii = (0.02, 0.02)
    """Of the grains, m; one number, or smallest and largest."""
    velocity: Vec3 = ZERO
    """m/s."""
    material: str = "gravel"
    """A preset, or one of `materials`."""
    total: Annotated[int, Field(ge=0)] | None = None
    """Stop after so many."""
    start: Number = 0.0
    """s."""
    stop: Number | None = None
    """s."""
    seed: int | None = None
    """Of its random places; without it, from the world's seed."""
    cluster: ClusterPart | None = None
    """Compound grains of this shape instead of spheres; for solver dem."""

    def make(self, material: Any, folder: Path) -> Any:
        """Return the emitter."""
        from berm.world.emitters import Emitter

        values = self.model_dump(exclude={"material", "stop", "cluster"})
        stop = math.inf if self.stop is None else self.stop
        cluster = None if self.cluster is None else self.cluster.make(folder)
        return Emitter(material=material, stop=stop, cluster=cluster, **values)


class SinkPart(Part):
    """Removes grains in a box; a corner's coordinate may be null: no limit there."""

    low: tuple[Number | None, Number | None, Number | None] = (None, None, None)
    """Lower corner, m."""
    high: tuple[Number | None, Number | None, Number | None] = (None, None, None)
    """Upper corner, m."""

    def make(self) -> Any:
        """Return the sink."""
        from berm.world.emitters import Sink

        return Sink(
            [-math.inf if x is None else x for x in self.low],
            [math.inf if x is None else x for x in self.high],
        )


class RunPart(Part):
    """How long to run and what to keep."""

    seconds: NotNegative | None = None
    """Simulated time, s."""
    record_every: NotNegative = 1 / 30
    """Simulated time between frames, s; 0 records each step."""
    record_fields: tuple[FrameField, ...] = ("velocity", "bodies", "cloths", "ground")
    """What each frame holds of grains beside their positions, of bodies, cloths and terrain."""


class SceneFile(Part):
    """A registered scene with parameters."""

    scene: str
    """Name of the scene."""
    parameters: Any = None
    """Parameters of the scene; what is left out keeps its default."""
    solver: Any = None
    """Name of a solver, or a map of name and options; without it, the scene's own."""
    run: RunPart = RunPart()
    """How long to run and what to keep."""


class WorldFile(Part):
    """A whole world."""

    name: str = ""
    """Without it, the name of the file."""
    gravity: Vec3 = (0.0, 0.0, -9.81)
    """m/s^2."""
    dt: Positive = 1 / 60
    """Time step, s."""
    precision: Literal["float32", "float64"] | None = None
    """Of the grains' numbers; without it, what the solver likes best."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Makes everything random repeatable."""
    solver: Any = None
    """Name of a solver, or a map of name and options."""
    materials: list[MaterialPart] = Field(default_factory=list)
    """Materials beside the presets."""
    terrain: TerrainPart | None = None
    """Ground that is dug; one a world."""
    bodies: list[BodyPart] = Field(default_factory=list)
    """What grains collide with."""
    joints: list[AnyJoint] = Field(default_factory=list)
    """What holds bodies together."""
    urdf: list[UrdfPart] = Field(default_factory=list)
    """Machines from URDF files: more bodies and joints."""
    machines: list[MachinePart] = Field(default_factory=list)
    """Machines of berm's own, with their controls."""
    grains: list[GrainsPart] = Field(default_factory=list)
    """Grains that are there at the start."""
    clusters: list[ClustersPart] = Field(default_factory=list)
    """Compound grains that are there at the start."""
    cloths: list[ClothPart] = Field(default_factory=list)
    """Cloth, for solvers vts and sp."""
    emitters: list[EmitterPart] = Field(default_factory=list)
    """What pours grains."""
    sinks: list[SinkPart] = Field(default_factory=list)
    """What removes grains."""
    run: RunPart = RunPart()
    """How long to run and what to keep."""
