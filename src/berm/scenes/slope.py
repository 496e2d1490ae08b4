"""A plane tilts until the grains on it slip: Coulomb's law with two coefficients, (29)-(33)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.materials import Material
from berm.core.motion import Keyframes
from berm.core.report import StepReport
from berm.core.shapes import Plane
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.history import History
from berm.scenes.parts.params import SceneParams
from berm.world.world import World

GRAVITY = 9.81  # m/s^2
BEYOND = 2.0  # degrees that the plane tilts beyond the angle of slip
HOLD = 1.0  # s that the plane then stays
SLIPPED = 0.005  # m/s along the plane: a grain that is faster has slipped


class SlopeParams(SceneParams):
    """Parameters of the tilting plane."""

    grains: int = Field(25, ge=1, le=10_000, description="grains, far apart from each other")
    radius: float = Field(0.02, gt=0.0, le=1.0, description="radius of a grain (m)")
    friction_static: float = Field(0.6, gt=0.0, le=2.0, description="static friction coefficient")
    friction_kinetic: float = Field(0.5, ge=0.0, le=2.0, description="kinetic friction coefficient")
    stiffness: float = Field(1.0e5, gt=0.0, le=1.0e9, description="contact stiffness (N/m)")
    start: float = Field(5.0, ge=0.0, le=30.0, description="degrees below the slip angle at start")
    rate: float = Field(2.0, gt=0.0, le=20.0, description="tilting speed (degrees/s)")

    @property
    def slip_angle(self) -> float:
        """Angle (degrees) at which a grain must slip."""
        return math.degrees(math.atan(self.friction_static))


@SCENES.register("slope")
class Slope(Scene[SlopeParams]):
    """Single grains on a plane that tilts, then stays."""

    name: ClassVar[str] = "slope"
    summary: ClassVar[str] = "a plane tilts until grains slip: at the angle of static friction"
    seconds: ClassVar[float] = 5.5
    Params: ClassVar[type[SlopeParams]] = SlopeParams

    def duration(self, params: SlopeParams) -> float:
        """Settle, tilt, and hold."""
        return 1.0 + (params.start + BEYOND) / params.rate + HOLD

    def fill(self, world: World, params: SlopeParams) -> None:
        """Add grains at rest on a plane that is already tilted by a part of the angle."""
        first = math.radians(max(params.slip_angle - params.start, 0.0))
        last = math.radians(params.slip_angle + BEYOND)
        tilting = (last - first) / math.radians(params.rate)
        law = Material(
            "slider",
            stiffness=params.stiffness,
            friction_static=params.friction_static,
            friction_kinetic=min(params.friction_kinetic, params.friction_static),
        )
        motion = Keyframes(
            times=(0.0, 1.0, 1.0 + tilting),
            positions=((0.0, 0.0, 0.0),) * 3,
            angles=(first, first, last),
            axis=(0.0, 1.0, 0.0),
        )
        plane = world.add_body(Plane(), name="plane", material=law, motion=motion)
        side = math.ceil(math.sqrt(params.grains))
        cells = np.arange(params.grains)
        flat = np.stack([cells % side, cells // side], axis=1) - 0.5 * (side - 1)
        local = np.column_stack([4 * params.radius * flat, np.full(len(cells), params.radius)])
        world.add_grains(local @ plane.rotation.T, params.radius, material=law)

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Angle (degrees), and mean speed (m/s) of the grains down the plane."""
        body = world.body("plane")
        _, turned = body.pose_at(world.time)
        down = turned @ np.array([1.0, 0.0, 0.0])
        angle = math.degrees(math.atan2(-down[2], down[0]))
        return {
            "angle": angle,
            "speed": float((world.grains.velocity.astype(float) @ down).mean()),
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """Slip begins at atan(mu_s); then the grains accelerate as kinetic friction says."""
        params: SlopeParams = history.params
        time, speed, angle = history["time"], history["speed"], history["angle"]
        rested = int(np.searchsorted(time, 0.5))
        if rested >= len(time):
            return [Outcome("slip angle", False, math.nan, "a run of more than 0.5 s")]
        moved = np.abs(speed) > SLIPPED
        moved[:rested] = False
        slip = float(angle[int(np.argmax(moved))]) if moved.any() else math.nan
        held = history.last("time", 0.8 * HOLD)
        late = history.last("speed", 0.8 * HOLD)
        pull = float(np.polyfit(held, late, 1)[0]) if len(held) > 2 else math.nan
        theta = math.radians(float(angle[-1]))
        exact = GRAVITY * (math.sin(theta) - params.friction_kinetic * math.cos(theta))
        return [
            Outcome("slip angle", abs(slip - params.slip_angle) < 1.0, slip,
                    f"{params.slip_angle:.2f} +- 1 = atan(mu_s)", "degrees"),
            Outcome("acceleration after it", abs(pull - exact) < 0.05 * exact, pull,
                    f"{exact:.3f} +- 5 % = g (sin - mu_k cos)", "m/s^2"),
        ]  # fmt: skip
