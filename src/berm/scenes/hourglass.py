"""An hourglass: the flow through the neck does not depend on the filling (CASES B4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.materials import material
from berm.core.report import StepReport
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.glass import add_gate, add_glass, beverloo
from berm.scenes.parts.history import History
from berm.scenes.parts.params import GrainParams, inherited
from berm.world.measure import steady_rate
from berm.world.packings import lattice
from berm.world.world import World

LOOSE = 0.5  # packing fraction of the filling, for its height and for Beverloo's law


class HourglassParams(GrainParams):
    """Parameters of the hourglass."""

    friction: float | None = inherited(GrainParams, "friction", 0.3)
    grains: int = Field(3000, ge=200, le=1_000_000, description="grains in the upper bulb, about")
    radius: float = inherited(GrainParams, "radius", 0.01)
    spread: float = inherited(GrainParams, "spread", 0.1)
    neck: float = Field(
        6.0, ge=3.0, le=50.0, description="diameter of the neck, in mean grain diameters"
    )
    bulb: float = Field(3.0, ge=1.5, le=20.0, description="diameter of a bulb, in neck diameters")
    slope: float = Field(50.0, ge=10.0, le=80.0, description="angle of the cones (degrees)")
    settle: float = Field(0.7, ge=0.0, le=100.0, description="time before the neck is opened (s)")

    @property
    def neck_radius(self) -> float:
        """Radius of the neck, m."""
        return self.neck * self.radius

    def beverloo(self) -> float:
        """Mass flow (kg/s) by Beverloo's law, C = 0.58, k = 1.4."""
        return beverloo(self.neck_radius, self.radius, self.make_material().density)


@SCENES.register("hourglass")
class Hourglass(Scene[HourglassParams]):
    """Two bulbs, a neck, and a gate that opens."""

    name: ClassVar[str] = "hourglass"
    summary: ClassVar[str] = "grains run through a neck at a constant rate"
    seconds: ClassVar[float] = 10.0
    Params: ClassVar[type[HourglassParams]] = HourglassParams

    def duration(self, params: HourglassParams) -> float:
        """Settle, and twice as long as Beverloo's law needs."""
        ball = 4.0 / 3.0 * math.pi * params.radius**3 * params.make_material().density
        flow = 2.0 * params.grains * ball / params.beverloo()
        return round(params.settle + max(flow, 1.0), 1)

    def fill(self, world: World, params: HourglassParams) -> None:
        """Add the glass with a full upper bulb and a closed neck."""
        law = params.soil(world)
        small, wide = params.neck_radius, params.bulb * params.neck_radius
        rise = (wide - small) * math.tan(math.radians(params.slope))
        large = params.radii[1]
        ball = 4.0 / 3.0 * math.pi * params.radius**3
        tall = 2.2 * params.grains * ball / (LOOSE * math.pi * wide**2) + 20 * large
        glass = material("rough wall", friction=0.25)
        add_glass(world, small, wide, rise, tall, glass)
        add_gate(world, small, 2 * large, params.settle, glass)
        place, radii = self._filling(params, small, wide, rise, tall)
        world.add_grains(place, radii, material=law)

    @staticmethod
    def _filling(
        params: HourglassParams, small: float, wide: float, rise: float, tall: float
    ) -> tuple[np.ndarray, np.ndarray]:
        low, high = params.radii
        place, radii = lattice(
            (-wide, -wide, 0.0),
            (wide, wide, rise + tall),
            (low, high),
            0.02,
            params.seed,
            "hexagonal",
        )
        room = np.minimum(wide, small + (wide - small) * place[:, 2] / rise)
        lean = high / math.sin(math.radians(params.slope))  # distance to a cone's side
        inside = np.hypot(place[:, 0], place[:, 1]) < room - lean
        order = np.argsort(place[inside, 2], kind="stable")[: params.grains]
        return place[inside][order], radii[inside][order]

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Mass below the neck, kg."""
        grains = world.grains
        return {"passed": float(grains.mass[grains.position[:, 2] < 0].sum())}

    def check(self, world: World, history: History) -> list[Outcome]:
        """A constant rate, near Beverloo's law, all through, none lost."""
        params: HourglassParams = history.params
        time, passed = history["time"], history["passed"]
        rate, r2 = steady_rate(time, passed)
        first, _ = steady_rate(time, passed, 0.1, 0.5)
        second, _ = steady_rate(time, passed, 0.5, 0.9)
        total = float(world.grains.mass.sum())
        through = passed[-1] / total if len(passed) else math.nan
        law = params.beverloo()
        wide = params.bulb * params.neck_radius
        where = world.grains.position
        out = int((np.hypot(where[:, 0], where[:, 1]) > wide).sum())
        return [
            Outcome("flow is steady, R2", r2 >= 0.99, r2, "at least 0.99 from 10 to 90 %"),
            Outcome("second half / first half", 0.8 < second / max(first, 1e-12) < 1.2,
                    second / max(first, 1e-12), "1 +- 0.2: not the filling's height"),
            Outcome("flow rate", 0.5 * law < rate < 1.6 * law, rate,
                    f"{0.5 * law:.1f} to {1.6 * law:.1f} (Beverloo {law:.1f})", "kg/s"),
            Outcome("run through", through > 0.98, through, "above 0.98 of the mass"),
            Outcome("grains outside the glass", out == 0, out, "0"),
        ]  # fmt: skip
