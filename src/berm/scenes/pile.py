"""Pour grains to a heap and let it come to rest: [Holz14] Fig. 3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.report import StepReport
from berm.core.shapes import Plane
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.history import History
from berm.scenes.parts.params import GrainParams
from berm.world.emitters import Emitter
from berm.world.measure import angle_of_repose
from berm.world.world import World

PACKED = 0.6  # packing fraction of the heap, for the height of the spout
STEEP = math.radians(38.0)  # and its slope


class PileParams(GrainParams):
    """Parameters of the pile."""

    grains: int = Field(2000, ge=50, le=5_000_000, description="grains poured")
    rate: float = Field(400.0, gt=0.0, le=1.0e6, description="grains a second")
    drop: float | None = Field(
        None,
        ge=0.0,
        le=1000.0,
        description="height of the spout (m); none: 1.4 times that of the heap to come",
    )
    spout: float = Field(0.12, gt=0.0, le=10.0, description="radius of the spout (m)")
    settle: float = Field(3.0, ge=0.0, le=1000.0, description="time to come to rest after it (s)")

    @property
    def spout_height(self) -> float:
        """Height of the spout above the floor, m."""
        if self.drop is not None:
            return self.drop
        volume = self.grains * 4.0 / 3.0 * math.pi * self.radius**3 / PACKED
        # of a cone: V = pi H^3 / (3 tan^2)
        return 1.4 * (3.0 * volume * math.tan(STEEP) ** 2 / math.pi) ** (1.0 / 3.0)


@SCENES.register("pile")
class Pile(Scene[PileParams]):
    """Grains fall from a spout on a rough floor."""

    name: ClassVar[str] = "pile"
    summary: ClassVar[str] = "pour grains to a heap; its angle of repose is measured"
    seconds: ClassVar[float] = 8.0
    Params: ClassVar[type[PileParams]] = PileParams
    live: ClassVar[tuple[str, ...]] = ("rate", "grains")

    def duration(self, params: PileParams) -> float:
        """Pouring and settling."""
        return params.grains / params.rate + params.settle

    def fill(self, world: World, params: PileParams) -> None:
        """Add the empty floor under a spout."""
        world.add_body(Plane(), name="floor", material="rough wall")
        world.add_emitter(
            Emitter(
                rate=params.rate,
                position=(0.0, 0.0, params.spout_height),
                region="disc",
                size=(params.spout, 4 * params.radius),
                radius=params.radii,
                velocity=(0.0, 0.0, -1.0),
                material=params.soil(world),
                total=params.grains,
            )
        )

    def retune(self, world: World, old: PileParams, new: PileParams) -> None:
        """Pour at another rate or more grains, beside what every scene can change."""
        super().retune(world, old, new)
        for spout in world.emitters:
            spout.rate, spout.total = new.rate, new.grains

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Height of the grains' common centre, m."""
        if not world.grains.n:
            return {}
        return {"centre_height": float(world.grains.position[:, 2].mean(dtype=np.float64))}

    def check(self, world: World, history: History) -> list[Outcome]:
        """Everything poured, at rest, and as steep as its friction says."""
        params: PileParams = history.params
        slope = angle_of_repose(world, floor=0.0)
        law = params.soil(world)
        low = 0.6 * math.degrees(math.atan(law.friction_kinetic))
        height = history.last("centre_height", 1.0)
        creep = float(abs(height[-1] - height[0]) / params.radius) if len(height) else math.nan
        overlap = world.report.overlap_mean / params.radius
        return [
            Outcome("grains poured", world.grains.n == params.grains, world.grains.n,
                    f"{params.grains}"),
            Outcome("angle of repose", low <= slope.degrees <= 50.0, slope.degrees,
                    f"{low:.0f} to 50", "degrees"),
            Outcome("straight flank, R2", slope.r2 > 0.97, slope.r2, "above 0.97"),
            Outcome("creep of the last second", creep < 0.01, creep, "below 0.01 radii"),
            Outcome("mean overlap", overlap < 0.02, overlap, "below 0.02 radii"),
        ]  # fmt: skip
