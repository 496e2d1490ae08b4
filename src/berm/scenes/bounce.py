"""A ball bounces on the floor: [Holz14] Fig. 2, spring and damper against implicit Euler."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from berm.core.materials import Material
from berm.core.report import StepReport
from berm.core.shapes import Plane
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.history import History
from berm.scenes.parts.params import SceneParams
from berm.world.world import World

Array = npt.NDArray[np.float64]
GRAVITY = 9.81  # m/s^2


class BounceParams(SceneParams):
    """Parameters of the bounce."""

    radius: float = Field(0.05, gt=0.0, le=10.0, description="radius of the ball (m)")
    mass: float = Field(1.0, gt=0.0, le=1.0e6, description="mass of the ball (kg)")
    stiffness: float = Field(1000.0, gt=0.0, le=1.0e9, description="stiffness of the contact (N/m)")
    damping: float = Field(5.0, ge=0.0, le=1.0e6, description="damping of the contact (N s/m)")
    drop: float = Field(0.5, ge=0.0, le=100.0, description="free height below the ball (m)")

    def make_material(self) -> Material:
        """Return the material of ball and floor: their contact has the given law."""
        volume = 4.0 / 3.0 * math.pi * self.radius**3
        return Material(
            "ball",
            density=self.mass / volume,
            stiffness=self.stiffness,
            damping=self.damping,
            friction_static=0.0,
            friction_kinetic=0.0,
        )

    def soil(self, world: World) -> Material:
        """Return the same, which can be changed while it bounces."""
        return self.make_material()


def implicit_euler(params: BounceParams, steps: int, parts: int) -> Array:
    """Heights (m) of the ball's centre after each of `steps` steps of `parts` parts, (19).

    The contact is decided once a part from the predicted position, as P2 does.
    """
    h = params.dt / parts
    r, m, k, c = params.radius, params.mass, params.stiffness, params.damping
    factor = 1.0 + h * c / m + h * h * k / m
    y, v = r + params.drop, 0.0
    heights = np.empty(steps)
    for step in range(steps):
        for _ in range(parts):
            if y + h * v - h * h * GRAVITY <= r:
                v = (v - h * GRAVITY - h * k / m * (y - r)) / factor
            else:
                v -= h * GRAVITY
            y += h * v
        heights[step] = y
    return heights


@SCENES.register("bounce")
class Bounce(Scene[BounceParams]):
    """One ball, one floor."""

    name: ClassVar[str] = "bounce"
    summary: ClassVar[str] = "a ball bounces and comes to rest where its spring carries it"
    seconds: ClassVar[float] = 6.0
    Params: ClassVar[type[BounceParams]] = BounceParams
    live: ClassVar[tuple[str, ...]] = ("stiffness", "damping")

    def fill(self, world: World, params: BounceParams) -> None:
        """Add a ball above a floor."""
        world.add_body(Plane(), name="floor", material=params.soil(world))
        start = params.radius + params.drop
        world.add_grains([[0.0, 0.0, start]], params.radius, material=params.soil(world))

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Height of the ball (m) and force on the floor (N)."""
        return {
            "height": float(world.grains.position[0, 2]),
            "floor_force": -float(world.body("floor").force[2]),
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """Rest height m g / k below touch, weight on the floor, rebound as implicit Euler's."""
        params: BounceParams = history.params
        height = history["height"]
        weight = params.mass * GRAVITY
        rest = params.radius - weight / params.stiffness
        final = float(history.last("height", 0.5).mean())
        force = float(history.last("floor_force", 0.5).mean())
        exact = implicit_euler(params, len(height), getattr(world.solver, "substeps", 1))
        apex, same = _first_apex(height), _first_apex(exact)
        room = 0.01 * params.radius
        spring = weight / params.stiffness
        still = params.damping > 0
        outcomes = [
            Outcome("first rebound", abs(apex - same) < 0.05 * params.drop + room, apex,
                    f"{same:.4f} +- 5 % of the drop", "m"),
        ]  # fmt: skip
        if still:
            outcomes += [
                Outcome("rest height", abs(final - rest) < max(0.02 * spring, 1e-5), final,
                        f"{rest:.5f} = r - m g / k", "m"),
                Outcome("force on the floor", abs(force - weight) < 0.01 * weight, force,
                        f"{weight:.3f} +- 1 %", "N"),
            ]  # fmt: skip
        return outcomes


def _first_apex(height: Array) -> float:
    """Largest height after the first turn-around."""
    lowest = int(np.argmax(np.diff(height) > 0)) if (np.diff(height) > 0).any() else len(height) - 1
    falls = np.diff(height[lowest:]) < 0
    end = int(np.argmax(falls)) if falls.any() else len(falls)
    return float(height[lowest + end])
