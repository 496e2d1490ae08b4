"""A tall tube of grains: its wall carries most of the weight (Janssen; [Bell05] 2, CASES J1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from berm.core.motion import Linear
from berm.core.report import StepReport
from berm.core.shapes import Cylinder, Plane
from berm.scenes.base import SCENES, Outcome, Scene, Usual
from berm.scenes.parts.history import History
from berm.scenes.parts.params import GrainParams, inherited
from berm.solvers.dem.solver import DEM
from berm.world.packings import lattice
from berm.world.world import World

GRAVITY = 9.81  # m/s^2
LOOSE = 0.6  # packing fraction from which the number of grains is estimated
ACROSS = {"small": 9.0, "paper": 29.0}  # grains across the tube; paper: as many as its hourglass
DEEP = 5.0  # diameters from which on the floor must not feel more
SINKING = 0.02  # m/s, speed of the floor
REST = 0.7  # s, at the end, over which forces are averaged: two swings of a smooth column
CARRIED = {"history": 0.5, "capped": 0.85}  # most of the weight on the floor, J1


class SiloParams(GrainParams):
    """Parameters of the silo."""

    LIVE: ClassVar[tuple[str, ...]] = ("friction", "friction_kinetic", "restitution")

    friction: float | None = inherited(GrainParams, "friction", 0.5)
    friction_kinetic: float | None = inherited(GrainParams, "friction_kinetic", 0.5)
    wall_friction: float = Field(0.5, ge=0.0, le=10.0, description="friction of tube and grains")
    size: Literal["small", "paper"] = Field(
        "small", description="small: 9 grains across; paper: 29, about 110,000 at height 5"
    )
    height: float = Field(5.0, ge=0.5, le=20.0, description="height of the filling, in diameters")
    settle: float = Field(1.2, gt=0.1, le=100.0, description="time before the floor sinks (s)")
    lower: float = Field(
        0.5,
        ge=0.0,
        le=20.0,
        description="the floor sinks by so many radii, which mobilises the wall's friction, as in "
        "experiments (Ovarlez et al. 2003); 0: it depends on how the tube was filled",
    )

    @property
    def tube(self) -> float:
        """Inner radius of the tube, m."""
        return ACROSS[self.size] * self.radius

    @property
    def sinks_until(self) -> float:
        """Time at which the floor has sunk, s."""
        return self.settle + self.lower * self.radius / SINKING


@SCENES.register("silo")
class Silo(Scene[SiloParams]):
    """A tube on a floor that it does not touch: the two feel their shares of the weight."""

    name: ClassVar[str] = "silo"
    summary: ClassVar[str] = "a tall tube of grains: the wall carries most of the weight (Janssen)"
    seconds: ClassVar[float] = 2.4
    Params: ClassVar[type[SiloParams]] = SiloParams
    solver: ClassVar[str] = "dem"
    usual: ClassVar[Usual] = {"dem": {"rolling": "none", "cohesion": "area"}}

    def duration(self, params: SiloParams) -> float:
        """Settle, sink, rest."""
        return round(params.sinks_until + REST, 2)

    def fill(self, world: World, params: SiloParams) -> None:
        """Add the tube, filled a little more loosely than it will be."""
        law = params.soil(world)
        large, tube = params.radii[1], params.tube
        filled = 2.0 * tube * params.height
        count = int(LOOSE * math.pi * tube**2 * filled / (4 / 3 * math.pi * params.radius**3))
        length = 3.0 * filled + 40 * large
        down = Linear((0.0, 0.0, -SINKING), params.settle, params.sinks_until)
        world.add_body(
            Plane(), name="floor", material=law.replace(name="floor"),
            motion=down if params.lower > 0 else None,
        )  # fmt: skip
        world.add_body(
            Cylinder(tube, length, inside=True, open_ends=True, wall=tube), name="tube",
            material=law.replace(name="tube", friction=params.wall_friction, adhesion=0.0),
            position=(0.0, 0.0, length / 2 - 20 * large),
        )  # fmt: skip
        place, radii = lattice(
            (-tube, -tube, 0.0),
            (tube, tube, length - 20 * large),
            params.radii,
            0.1,
            params.seed,
            "hexagonal",
        )
        inside = np.hypot(place[:, 0], place[:, 1]) < tube - large
        chosen = np.flatnonzero(inside)[np.argsort(place[inside, 2], kind="stable")[:count]]
        world.add_grains(place[chosen], radii[chosen], material=law)

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Shares of the weight that floor and tube carry, and the height of the filling (m)."""
        weight = GRAVITY * float(world.grains.mass.sum())
        return {
            "floor": -float(world.body("floor").force[2]) / weight,
            "tube": -float(world.body("tube").force[2]) / weight,
            "height": float(np.quantile(world.grains.position[:, 2], 0.995)),
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """Floor and tube carry it together; the floor as little as J1 says."""
        params: SiloParams = history.params
        floor, tube = (float(history.last(name, REST).mean()) for name in ("floor", "tube"))
        diameters = float(history["height"][-1]) / (2 * params.tube)
        where, floor_z = world.grains.position, float(world.body("floor").position[2])
        out = int(
            (np.hypot(where[:, 0], where[:, 1]) > params.tube).sum() + (where[:, 2] < floor_z).sum()
        )
        speed = float(np.sqrt((world.grains.velocity.astype(float) ** 2).sum(axis=1).mean()))
        outcomes = [
            Outcome("floor and tube / weight", abs(floor + tube - 1) < 0.01, floor + tube,
                    "1 +- 1 %"),
            Outcome("speed at the end", speed < 0.01, speed, "below 0.01 (rms)", "m/s"),
            Outcome("grains outside", out == 0, out, "0"),
        ]  # fmt: skip
        shear = world.solver.tangential.name if isinstance(world.solver, DEM) else "history"
        smooth = params.wall_friction == 0.0 or shear == "none"
        if smooth:
            outcomes.append(Outcome("floor / weight", abs(floor - 1) < 0.02, floor,
                                    "1 +- 2 %: a smooth wall carries nothing"))  # fmt: skip
        elif params.height >= DEEP and params.wall_friction >= 0.5:
            most = CARRIED.get(shear, CARRIED["capped"])
            outcomes.append(Outcome("floor / weight", floor <= most, floor,
                                    f"at most {most} at {diameters:.1f} diameters"))  # fmt: skip
        else:
            outcomes.append(Outcome("floor / weight", floor < 1.0, floor, "below 1"))
        return outcomes
