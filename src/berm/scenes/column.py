"""A column of grains: what the floor feels must be the weight (CASES A24)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.materials import Material
from berm.core.report import StepReport
from berm.core.shapes import Plane
from berm.scenes.base import SCENES, USUAL, Outcome, Scene, Usual
from berm.scenes.parts.history import History
from berm.scenes.parts.params import SceneParams
from berm.world.world import World

GRAVITY = 9.81  # m/s^2
PASSES = 2  # of p2 in a substep: 2 to 4 % too soft from 12 to 50 grains; one pass is 17 %
GRAINS = 20


class ColumnParams(SceneParams):
    """Parameters of the column."""

    grains: int = Field(GRAINS, ge=1, le=500, description="grains on top of each other")
    radius: float = Field(0.05, gt=0.0, le=1.0, description="radius of a grain (m)")
    mass: float = Field(1.0, gt=0.0, le=1.0e4, description="mass of a grain (kg)")
    stiffness: float = Field(1.0e4, gt=0.0, le=1.0e9, description="contact stiffness (N/m)")
    damping: float = Field(200.0, ge=0.0, le=1.0e6, description="contact damping (N s/m)")


@SCENES.register("column")
class Column(Scene[ColumnParams]):
    """Grains in a row above each other settle under their own weight."""

    name: ClassVar[str] = "column"
    summary: ClassVar[str] = "a stack of grains presses on the floor with its weight"
    seconds: ClassVar[float] = 6.0
    Params: ClassVar[type[ColumnParams]] = ColumnParams
    usual: ClassVar[Usual] = {**USUAL, "p2": {"iterations": PASSES}}  # springs are its subject

    def duration(self, params: ColumnParams) -> float:
        """As long as the slowest wave needs to die out: it goes with the square of the height."""
        taller = (2 * params.grains + 1) / (2 * GRAINS + 1)
        return round(self.seconds * max(taller, 1.0) ** 2, 1)

    def fill(self, world: World, params: ColumnParams) -> None:
        """Add a stack whose grains just touch."""
        law = Material(
            "column",
            density=params.mass / (4.0 / 3.0 * math.pi * params.radius**3),
            stiffness=params.stiffness,
            damping=params.damping,
        )
        world.add_body(Plane(), name="floor", material=law)
        place = np.zeros((params.grains, 3))
        place[:, 2] = params.radius * (2 * np.arange(params.grains) + 1)
        world.add_grains(place, params.radius, material=law)

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Force on the floor (N) and height of the topmost centre (m)."""
        return {
            "floor_force": -float(world.body("floor").force[2]),
            "top": float(world.grains.position[:, 2].max()),
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """The floor feels the weight, and the springs are as short as the load makes them."""
        params: ColumnParams = history.params
        n = params.grains
        weight = n * params.mass * GRAVITY
        force = float(history.last("floor_force", 1.0).mean())
        sunk = params.radius * (2 * n - 1) - float(history.last("top", 1.0).mean())
        exact = params.mass * GRAVITY / params.stiffness * n * (n + 1) / 2
        place = world.grains.position
        aside = float(np.hypot(place[:, 0], place[:, 1]).max() / params.radius)
        return [
            Outcome("force on the floor / weight", abs(force / weight - 1) < 0.01, force / weight,
                    "1 +- 1 %"),
            Outcome("compression", abs(sunk - exact) < 0.05 * exact, sunk,
                    f"{exact:.4f} +- 5 % = sum of m g i / k", "m"),
            Outcome("sideways", aside < 0.01, aside, "below 0.01 radii"),
        ]  # fmt: skip
