"""Grains with inverse masses from 0.01 to 1000 in a box, [Francu14] Fig. 9."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.materials import material
from berm.core.report import StepReport
from berm.core.shapes import Box
from berm.scenes.base import SCENES, USUAL, Outcome, Scene, Usual
from berm.scenes.parts.history import History
from berm.scenes.parts.params import SceneParams
from berm.world.world import World


class MassRatiosParams(SceneParams):
    """Parameters of the grains in a box."""

    friction: float = Field(0.2, ge=0.0, le=10.0, description="friction coefficient")
    grains: int = Field(3000, ge=10, le=200_000, description="grains")
    lightest: float = Field(1000.0, gt=0.0, le=1e6, description="largest inverse mass (1/kg)")
    heaviest: float = Field(0.01, gt=0.0, le=1e6, description="smallest inverse mass (1/kg)")
    radius: float = Field(0.02, gt=0.0, le=1.0, description="radius of all grains (m)")
    seconds: float = Field(4.0, gt=0.0, le=1000.0, description="simulated time (s)")


@SCENES.register("mass-ratios")
class MassRatios(Scene[MassRatiosParams]):
    """Equal spheres whose masses differ by five orders of magnitude."""

    name: ClassVar[str] = "mass-ratios"
    summary: ClassVar[str] = "grains whose masses differ 100,000 times fall in a box"
    seconds: ClassVar[float] = 4.0
    Params: ClassVar[type[MassRatiosParams]] = MassRatiosParams
    solver: ClassVar[str] = "vts"
    usual: ClassVar[Usual] = {**USUAL, "vts": {"substeps": 4}, "sp": {"substeps": 4}}

    def duration(self, params: MassRatiosParams) -> float:
        """As given."""
        return params.seconds

    def fill(self, world: World, params: MassRatiosParams) -> None:
        """Add the box with a lattice of grains in it."""
        smooth = material("gravel", friction=params.friction, restitution=0.01)
        r, side = params.radius, max(round((params.grains / 1.2) ** (1 / 3)), 2)
        edge = 2.1 * r * side
        box = Box((edge, edge, 10 * edge), inside=True, open_top=True)
        world.add_body(box, name="box", position=(0, 0, 5 * edge), material=smooth)
        layers = -(-params.grains // side**2)
        at = np.stack(np.unravel_index(np.arange(params.grains), (layers, side, side)), -1)
        place = (at[:, ::-1] + 0.5) * 2.1 * r - [edge / 2, edge / 2, 0]
        place = place + world.rng.uniform(-0.03 * r, 0.03 * r, place.shape)
        low, high = np.log(params.heaviest), np.log(params.lightest)
        mass = 1.0 / np.exp(world.rng.uniform(low, high, params.grains))
        world.add_grains(place, r, material=smooth, mass=mass)

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """L1 norm of the overlaps (m)."""
        return {"error": report.overlap_mean * report.contacts}

    def check(self, world: World, history: History) -> list[Outcome]:
        """Nothing explodes, nothing leaves."""
        params: MassRatiosParams = history.params
        x = world.grains.position
        edge = np.abs(x[:, :2]).max() / params.radius
        side = 1.05 * max(round((params.grains / 1.2) ** (1 / 3)), 2)
        speed = float(np.median(np.linalg.norm(world.grains.velocity, axis=1)))
        return [
            Outcome("farthest grain", bool(edge < side), float(edge), f"below {side:.0f} radii"),
            Outcome("median speed at the end", speed < 0.3, speed, "below 0.3", "m/s"),
        ]
