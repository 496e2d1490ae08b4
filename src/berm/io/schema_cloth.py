"""Model of the cloth in a scene file."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from berm.core.cloth import Cloth
from berm.core.errors import InputError
from berm.io.schema import ZERO, NotNegative, Part, Positive, RotationPart, Vec3, _number

Along = Annotated[int, Field(ge=2)]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_number)]


class ClothPart(Part):
    """A rectangle of cloth; for solvers vts and sp."""

    name: str = "cloth"
    """No other cloth has it."""
    vertices: tuple[Along, Along]
    """How many along its two edges."""
    size: tuple[Positive, Positive]
    """Length of its two edges, m."""
    position: Vec3 = ZERO
    """First corner, m; the edges lie along x and y."""
    rotation: RotationPart | None = None
    """Turn about that corner."""
    velocity: Vec3 = ZERO
    """m/s."""
    mass: Positive
    """Of all of it, kg."""
    material: str = "cloth"
    """A preset, or one of `materials`."""
    stretch: Share = 1.0
    """Part of an error along the threads that one step corrects."""
    shear: Share = 1.0
    """The same along both diagonals."""
    bend: Share = 0.05
    """The same over two threads."""
    thickness: Positive = 0.005
    """Distance that grains and bodies keep, m."""
    damping: NotNegative = 0.0
    """Rate at which velocities fade, 1/s."""
    pinned: list[tuple[int, int]] = Field(default_factory=list)
    """Vertices that are held, by their numbers along both edges; -1 is the last."""
    self_collision: bool = False
    """It meets itself, and other cloth that does."""
    self_thickness: Positive | None = None
    """Distance that its layers keep, m; without it, thickness."""
    self_friction: NotNegative = 0.3
    """Coefficient between its layers."""

    def make(self, material: Any) -> Cloth:
        """Return the cloth."""
        given = self.model_dump(
            include={
                "mass", "stretch", "shear", "bend", "thickness", "damping", "name",
                "self_collision", "self_thickness", "self_friction",
            }
        )  # fmt: skip
        cloth = Cloth.grid(self.vertices, self.size, material=material, **given)
        if self.rotation is not None:
            cloth.position[:] = cloth.position @ self.rotation.make().T
        cloth.position += np.asarray(self.position)
        cloth.velocity[:] = self.velocity
        nx, ny = self.vertices
        for i, j in self.pinned:
            if not (-nx <= i < nx and -ny <= j < ny):
                up = f"up to [{nx - 1}, {ny - 1}], or from [-{nx}, -{ny}]"
                raise InputError(f"cloth {self.name!r}: pinned", [i, j], up)
            cloth.pin(i % nx * ny + j % ny)
        return cloth
