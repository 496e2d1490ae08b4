"""A sandglass with compound grains: constant flow, [Bell05] Fig. 1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.report import StepReport
from berm.scenes.base import SCENES, Outcome
from berm.scenes.parts.compound import CompoundParams, CompoundScene, pieces
from berm.scenes.parts.glass import add_gate, add_glass, beverloo
from berm.scenes.parts.history import History
from berm.world.measure import steady_rate
from berm.world.world import World

STREWN = 0.6  # share of the room that balls around grains fill on the lattice that they start on
SMALL, PAPER = 1500, 27_427  # grains; [Bell05] 4: 109,708 spheres
SMOOTH = 0.0  # friction of the gate, which must not drag grains along


class SandglassParams(CompoundParams):
    """Parameters of the sandglass."""

    grains: int | None = Field(
        None, ge=100, le=1_000_000, description="grains; none: 1,500, or 27,427 as in print"
    )
    neck: float = Field(
        7.0, ge=3.0, le=50.0, description="diameter of the neck, in diameters of a grain's ball"
    )
    slope: float = Field(50.0, ge=10.0, le=80.0, description="angle of the cones (degrees)")
    glass: float = Field(0.25, ge=0.0, le=10.0, description="friction coefficient of the glass")
    settle: float = Field(0.6, ge=0.0, le=100.0, description="time before the neck is opened (s)")

    @property
    def number(self) -> int:
        """Grains in the upper bulb."""
        return self.grains or (PAPER if self.size == "paper" else SMALL)

    @property
    def neck_radius(self) -> float:
        """Radius of the neck, m."""
        return self.neck * self.radius

    @property
    def bulb_radius(self) -> float:
        """Radius of a bulb, m: the filling, as strewn, would be a cylinder as tall as wide."""
        volume = self.number * self.grain_volume * (self.reach / self.radius) ** 3 / STREWN
        return max(0.5 * (4.0 / math.pi * volume) ** (1.0 / 3.0), 1.5 * self.neck_radius)

    def beverloo(self) -> float:
        """Mass flow (kg/s) by Beverloo's law, C = 0.58, k = 1.4, of balls of the same volume."""
        return beverloo(self.neck_radius, self.radius, self.make_material().density)


@SCENES.register("sandglass")
class Sandglass(CompoundScene[SandglassParams]):
    """Two bulbs, a neck, and a gate that opens; grains with corners.

    **Deviation**: the glass is a smooth surface with friction; in print particles cover it.
    """

    name: ClassVar[str] = "sandglass"
    summary: ClassVar[str] = "grains with corners run through a neck at a constant rate"
    seconds: ClassVar[float] = 4.3
    Params: ClassVar[type[SandglassParams]] = SandglassParams

    def duration(self, params: SandglassParams) -> float:
        """Settle, and twice as long as Beverloo's law needs."""
        mass = params.number * params.grain_volume * params.make_material().density
        return round(params.settle + max(2.0 * mass / params.beverloo(), 1.0), 1)

    def fill(self, world: World, params: SandglassParams) -> None:
        """Add the glass with a full upper bulb and a closed neck."""
        small, wide = params.neck_radius, params.bulb_radius
        rise = (wide - small) * math.tan(math.radians(params.slope))
        where = self._filling(params, small, wide, rise)
        tall = max(float(where[:, 2].max()) + 2 * params.reach - rise, wide)
        add_glass(world, small, wide, rise, tall, params.wall(params.glass, "bulb"))
        gate = params.wall(SMOOTH, "gate")
        add_gate(world, small, 2 * params.reach, params.settle, gate)
        params.put(world, where)

    @staticmethod
    def _filling(params: SandglassParams, small: float, wide: float, rise: float) -> np.ndarray:
        reach = params.reach
        # the lattice is at most 0.74 dense in the balls around grains, of which some miss the rim
        share = 0.5 * (params.radius / reach) ** 3
        area = math.pi * (wide - reach) ** 2
        tall = 1.3 * rise + params.number * params.grain_volume / (share * area) + 8 * reach
        where = params.places(np.array([-wide, -wide, 0.0]), np.array([wide, wide, tall]))
        room = np.minimum(wide, small + (wide - small) * where[:, 2] / rise)
        lean = 1.02 * reach / math.sin(math.radians(params.slope))  # distance to a cone's side
        inside = np.hypot(where[:, 0], where[:, 1]) < room - lean
        order = np.argsort(where[inside, 2], kind="stable")[: params.number]
        chosen: np.ndarray = where[inside][order]
        return chosen

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Mass below the neck, kg."""
        all_ = pieces(world)
        return {"passed": float(all_.mass[all_.position[:, 2] < 0].sum())}

    def check(self, world: World, history: History) -> list[Outcome]:
        """A constant rate, near Beverloo's law, all through, none lost."""
        params: SandglassParams = history.params
        time, passed = history["time"], history["passed"]
        rate, r2 = steady_rate(time, passed)
        first, _ = steady_rate(time, passed, 0.1, 0.5)
        second, _ = steady_rate(time, passed, 0.5, 0.9)
        there = pieces(world)
        through = passed[-1] / float(there.mass.sum()) if len(passed) else math.nan
        law = params.beverloo()
        where = there.position
        out = int((np.hypot(where[:, 0], where[:, 1]) > params.bulb_radius).sum())
        return [
            Outcome("grains", len(where) == params.number, len(where), f"{params.number}"),
            Outcome("flow is steady, R2", r2 >= 0.99, r2, "at least 0.99 from 10 to 90 %"),
            Outcome("second half / first half", 0.8 < second / max(first, 1e-12) < 1.2,
                    second / max(first, 1e-12), "1 +- 0.2: not the filling's height"),
            # corners slow a flow down: the law's constants are those of balls
            Outcome("flow rate", 0.4 * law < rate < 1.3 * law, rate,
                    f"{0.4 * law:.1f} to {1.3 * law:.1f} (Beverloo, for balls: {law:.1f})", "kg/s"),
            Outcome("run through", through > 0.98, through, "above 0.98 of the mass"),
            Outcome("grains outside the glass", out == 0, out, "0"),
        ]  # fmt: skip
