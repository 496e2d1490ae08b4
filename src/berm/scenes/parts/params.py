"""Parameters that scenes share: step, seed, and what the grains are made of."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from berm.core.materials import MATERIALS, Material, calibrate, material
from berm.solvers.base import Solver
from berm.world.world import World

# measured with 2,000 grains: docs/theory/p2.md
STEEPER = "grains that do not turn pile up at 15/33/45/55 degrees with 0.2/0.3/0.4/0.5"


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


def allowed(schema: dict[str, Any]) -> str:
    """Return in a few words what a parameter's JSON schema allows."""
    options = [o for o in schema.get("anyOf", []) if o.get("type") != "null"]
    if len(options) == 1:
        schema = options[0]
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    above = "> " if "exclusiveMinimum" in schema else ""
    below = "< " if "exclusiveMaximum" in schema else ""
    if low is not None and high is not None:
        return f"{above}{low:g} to {below}{high:g}"
    if low is not None:
        return f"{above or 'from '}{low:g}"
    if high is not None:
        return f"{below or 'up to '}{high:g}"
    kind = str(schema.get("type", ""))
    return {"string": "text", "boolean": "true | false", "array": "a list"}.get(kind, kind)


class SceneParams(BaseModel):
    """Parameters of every scene: step, precision and seed. The solver is chosen beside them.

    LIVE: those that act on a running world. SLIDERS: where a person would look for a value, which
    is less than what is allowed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    LIVE: ClassVar[tuple[str, ...]] = ()
    SLIDERS: ClassVar[dict[str, tuple[float, float]]] = {}

    dt: float = Field(1.0 / 60.0, gt=0.0, le=0.1, description="step (s)")
    precision: Literal["float32", "float64"] | None = Field(
        None,
        description="float32: fast; float64: for comparisons with closed forms; none: float32, and "
        "float64 for dem",
    )
    seed: int = Field(0, ge=0, description="seed of everything random")

    def in_effect(self, solver: Solver) -> dict[str, Any]:
        """Return all values, and where one is none, what is taken instead with this solver."""
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return given | {"precision": self.precision or solver.precision}


class GrainParams(SceneParams):
    """Parameters of scenes with many grains: their sizes and the material."""

    LIVE: ClassVar[tuple[str, ...]] = (
        "friction", "friction_kinetic", "adhesion", "stiffness", "restitution",
    )  # fmt: skip
    SLIDERS: ClassVar[dict[str, tuple[float, float]]] = {
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

    def make_material(self, turning: bool = True) -> Material:
        """Return the grains' material; where they do not turn, a preset's friction is calibrated.

        It is then that with which such grains heap up at the preset's friction angle.
        """
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
        if not given and not turning and preset.name in SOILS:
            preset = calibrate(preset)
        return preset.replace(**changes)

    def soil(self, world: World) -> Material:
        """Return what the grains of this world are made of."""
        return self.make_material(world.grains.rotating)

    def in_effect(self, solver: Solver) -> dict[str, Any]:
        """Return all values, and where one is none, what the preset has instead."""
        law = self.make_material("rotation" in solver.can)
        names = {"friction": "friction_static"}
        return {
            name: getattr(law, names.get(name, name), None) if value is None else value
            for name, value in super().in_effect(solver).items()
        }
