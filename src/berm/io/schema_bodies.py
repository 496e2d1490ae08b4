"""Models of the bodies in a scene file (SI units, angles in degrees)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from berm.io.schema import ZERO, MotionPart, Part, Positive, RotationPart, ShapePart, Vec3


def _matrix(value: Any) -> Any:
    """Let three moments stand for the matrix that has them on its diagonal."""
    if isinstance(value, list | tuple) and not any(isinstance(row, list | tuple) for row in value):
        return [[x if k == j else 0.0 for j in range(len(value))] for k, x in enumerate(value)]
    return value


_ROW: dict[str, Any] = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}
Inertia = Annotated[
    tuple[Vec3, Vec3, Vec3],
    BeforeValidator(_matrix),
    WithJsonSchema(
        {"anyOf": [_ROW, {"type": "array", "items": _ROW, "minItems": 3, "maxItems": 3}]}
    ),
]
_FREE = ("density", "mass", "inertia", "centre", "velocity", "angular_velocity")


class BodyPart(Part):
    """A body that grains collide with: at rest, driven by a motion, or dynamic."""

    name: str | None = None
    """Without it, the kind of its shape and a number."""
    shape: ShapePart
    material: str = "steel"
    """A preset, or one of `materials`."""
    position: Vec3 = ZERO
    """m."""
    rotation: RotationPart | None = None
    motion: MotionPart | None = None
    dynamic: bool = False
    """Forces move it; only without a motion."""
    density: Positive | None = None
    """Of a dynamic body, kg/m^3; without it, the material's."""
    mass: Positive | None = None
    """Of a dynamic body, kg, instead of density."""
    inertia: Inertia | None = None
    """Of a dynamic body about its centre of mass, kg m^2, with mass: moments, or a 3 x 3 matrix."""
    centre: Vec3 | None = None
    """Centre of mass of a dynamic body, m, in its frame; default the shape's, with inertia 0."""
    velocity: Vec3 = ZERO
    """Of a dynamic body at the start, m/s."""
    angular_velocity: Vec3 = ZERO
    """Of a dynamic body at the start, rad/s."""

    @model_validator(mode="after")
    def _one_kind(self) -> BodyPart:
        if self.dynamic and self.motion is not None and self.motion.kind != "fixed":
            raise ValueError("either motion or dynamic: true")
        if self.density is not None and self.mass is not None:
            raise ValueError("either density or mass")
        if self.inertia is not None and self.mass is None:
            raise ValueError("inertia only with mass")
        if not self.dynamic:
            for name in _FREE:
                if name in self.model_fields_set:
                    raise ValueError(f"{name} only with dynamic: true")
        return self

    def free(self) -> dict[str, Any]:
        """Return what a dynamic body has beside the others, as `World.add_body` calls it."""
        if not self.dynamic:
            return {}
        return {"dynamic": True} | {name: getattr(self, name) for name in _FREE}
