"""Parameters that scenes share: solver, seed, and what the grains are made of."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from berm.core.materials import MATERIALS, Material, calibrate, material
from berm.solvers.base import Solver
from berm.solvers.dem.solver import DEM
from berm.solvers.p2.solver import P2
from berm.world.world import World

# measured with 2,000 grains: docs/theory/p2.md
STEEPER = "grains that do not turn pile up at 15/33/45/55 degrees with 0.2/0.3/0.4/0.5"


FIXED = ("p2", "published", "serial")  # solvers whose grains do not turn
SOILS = ("gravel", "dry sand", "wet sand", "loam", "clay")  # presets with the bulk's friction
SOFT = 1.0e7  # Pa: much softer than rock, so that steps are longer, [Bell05] 4


def inherited(base: type[BaseModel], name: str, default: Any, note: str = "") -> Any:
    """Return the field `name` of a base class with another default, and a note to its description.

    Bounds, unit and text stay those of the base, so that they are written once.
    """
    field = copy.copy(base.model_fields[name])
    field.default = default
    if note:
        field.description = f"{field.description}; {note}"
    return field


class SceneParams(BaseModel):
    """Parameters of every scene: solver, step and seed.

    LIVE: those that act on a running world. SLIDERS: where a person would look for a value, which
    is less than what is allowed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    LIVE: ClassVar[tuple[str, ...]] = ("iterations", "substeps", "sleep")
    SLIDERS: ClassVar[dict[str, tuple[float, float]]] = {
        "iterations": (1, 50),
        "substeps": (1, 50),
        "sleep": (0.0, 2.0e-3),
    }

    solver: Literal["p2", "published", "serial", "dem"] = Field(
        "p2",
        description="p2: conserving, the default; published: Holz 2014 as printed; "
        "serial: Gauss-Seidel; dem: discrete elements that turn, Bell 2005",
    )
    normal: Literal["hertz", "linear"] = Field("hertz", description="dem: normal law")
    tangential: Literal["history", "capped", "none"] = Field(
        "history", description="dem: shear law; capped: as in the paper, without static friction"
    )
    rolling: Literal["none", "constant", "spring"] = Field(
        "spring", description="dem: rolling friction law"
    )
    integrator: Literal["verlet", "rkf45"] = Field(
        "verlet", description="dem: fixed or adaptive steps"
    )
    steps_a_contact: int = Field(
        25, ge=10, le=10_000, description="dem: steps in the shortest contact time"
    )
    iterations: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="passes over the contacts; none: the solver's default",
    )
    substeps: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="substeps a step; none: the solver's default",
    )
    sleep: float = Field(
        0.0,
        ge=0.0,
        le=0.1,
        description="a grain that moves less than this in a step stays where it is (m); 0: off",
    )
    dt: float = Field(1.0 / 60.0, gt=0.0, le=0.1, description="step (s)")
    precision: Literal["float32", "float64"] | None = Field(
        None,
        description="float32: fast; float64: for comparisons with closed forms; none: float32, and "
        "float64 for dem",
    )
    seed: int = Field(0, ge=0, description="seed of everything random")

    @field_validator("tangential", "rolling", "cohesion", mode="before", check_fields=False)
    @classmethod
    def _no_law(cls, value: Any) -> Any:
        """Take None, which "none" becomes on the command line, for the law of that name."""
        return "none" if value is None else value

    def make_world(self) -> World:
        """Return an empty world with this solver, step, precision and seed."""
        return World(
            dt=self.dt, solver=self.make_solver(), seed=self.seed, precision=self.precision
        )

    def make_solver(self) -> Solver:
        """Return a new solver with these options."""
        if self.solver == "dem":
            return DEM(**self.dem_options())
        changes: dict[str, Any] = {"sleep": self.sleep}
        if self.iterations is not None:
            changes["iterations"] = self.iterations
        if self.substeps is not None:
            changes["substeps"] = self.substeps
        if self.solver == "published":
            return P2.published(**changes)
        if self.solver == "serial":
            return P2(**{"averaging": "serial", "iterations": 10, "substeps": 1, **changes})
        return P2(**changes)

    def dem_options(self) -> dict[str, Any]:
        """Return the options of discrete elements."""
        names = ("normal", "tangential", "rolling", "integrator", "steps_a_contact")
        return {name: getattr(self, name) for name in names}

    def in_effect(self) -> dict[str, Any]:
        """Return all values, and where one is none, what the solver takes instead."""
        solver = self.make_solver()
        options = {"precision": getattr(solver, "precision", "float32"), **solver.options()}
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return {k: options.get(k) if value is None else value for k, value in given.items()}


class GrainParams(SceneParams):
    """Parameters of scenes with many grains: their sizes and the material."""

    LIVE: ClassVar[tuple[str, ...]] = (
        "friction", "friction_kinetic", "adhesion", "stiffness", "restitution",
        *SceneParams.LIVE,
    )  # fmt: skip
    SLIDERS: ClassVar[dict[str, tuple[float, float]]] = {
        **SceneParams.SLIDERS,
        "friction": (0.0, 1.5),
        "friction_kinetic": (0.0, 1.5),
        "adhesion": (0.0, 3.0e4),
        "stiffness": (1.0e3, 1.0e6),
        "restitution": (0.01, 1.0),
        "density": (500.0, 8000.0),
    }

    radius: float = Field(0.02, gt=0.0, le=1.0, description="mean radius of a grain (m)")
    spread: float = Field(
        0.2, ge=0.0, le=0.66, description="radii vary by this share to both sides (0.66: 1 to 5)"
    )
    material: str = Field(
        "gravel",
        description="preset that the grains' values start from; its friction is that of the bulk",
        json_schema_extra={"choices": list(MATERIALS.names())},
    )
    friction: float | None = Field(
        None,
        ge=0.0,
        le=10.0,
        description="static friction coefficient; none: the preset's, and where grains do not turn "
        "that with which they heap up at the preset's friction angle",
    )
    friction_kinetic: float | None = Field(
        None,
        ge=0.0,
        le=10.0,
        description="kinetic friction coefficient; none: the preset's, or 0.9 times friction",
    )
    adhesion: float | None = Field(
        None, ge=0.0, le=1.0e7, description="adhesion (Pa); none: the preset's"
    )
    cohesion: Literal["none", "area", "sjkr"] = Field(
        "area", description="dem: law by which the grains' adhesion pulls; none: it does not"
    )
    stiffness: float | None = Field(
        None, gt=0.0, le=1.0e9, description="contact stiffness (N/m); none: the preset's"
    )
    restitution: float | None = Field(
        None, gt=0.0, le=1.0, description="restitution coefficient; none: the preset's"
    )
    young_modulus: float | None = Field(
        None, gt=0.0, le=1.0e12, description="dem: Young's modulus (Pa); none: 10 MPa, as Bell 2005"
    )
    rolling_friction: float | None = Field(
        None, ge=0.0, le=10.0, description="dem: rolling friction coefficient; none: the preset's"
    )
    density: float | None = Field(
        None, gt=0.0, le=1.0e5, description="density of a grain (kg/m^3); none: the preset's"
    )

    @property
    def radii(self) -> tuple[float, float]:
        """Smallest and largest radius, m."""
        return self.radius * (1 - self.spread), self.radius * (1 + self.spread)

    def make_material(self) -> Material:
        """Return the grains' material."""
        changes: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("adhesion", "stiffness", "restitution", "density", "rolling_friction")
            if getattr(self, name) is not None
        }
        changes["young_modulus"] = self.young_modulus or SOFT
        kinetic = self.friction_kinetic
        if self.friction is not None:
            changes["friction_static"] = self.friction
            kinetic = 0.9 * self.friction if kinetic is None else kinetic
        if kinetic is not None:
            changes["friction_kinetic"] = kinetic
        preset = material(self.material)
        given = self.friction is not None or self.friction_kinetic is not None
        if not given and self.solver in FIXED and preset.name in SOILS:
            preset = calibrate(preset)
        return preset.replace(**changes)

    def dem_options(self) -> dict[str, Any]:
        """Return the options of discrete elements."""
        return {**super().dem_options(), "cohesion": self.cohesion}

    def in_effect(self) -> dict[str, Any]:
        """Return all values, and where one is none, what the preset has instead."""
        law = self.make_material()
        names = {"friction": "friction_static"}
        return {
            name: getattr(law, names.get(name, name), None) if value is None else value
            for name, value in super().in_effect().items()
        }
