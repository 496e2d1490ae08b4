"""A blade pushes soil over a long distance: ridges on both sides, [Holz14] Fig. 7."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from berm.core.motion import Linear, rotation_about
from berm.core.report import StepReport
from berm.core.shapes import Box
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.history import History
from berm.scenes.parts.params import GrainParams, inherited
from berm.world.measure import height_map
from berm.world.packings import lattice
from berm.world.world import World

Array = npt.NDArray[np.float64]
SMOOTH = 3.0  # radii over which the profile is averaged: a single grain is no ridge
THICK = 0.04  # m, of the blade
RIDGE = 0.5  # radii above the first level that count as a ridge
START = 0.25  # m, place of the blade at the start


class PushParams(GrainParams):
    """Parameters of the push."""

    friction: float | None = inherited(GrainParams, "friction", 0.4)
    length: float = Field(3.0, gt=0.2, le=100.0, description="length of the bed (m)")
    width: float = Field(1.6, gt=0.2, le=100.0, description="width of the bed (m)")
    depth: float = Field(0.14, gt=0.02, le=10.0, description="depth of the bed (m), about")
    blade: float = Field(0.6, gt=0.1, le=50.0, description="width of the blade (m)")
    height: float = Field(0.35, gt=0.05, le=10.0, description="height of the blade (m)")
    rake: float = Field(15.0, ge=-30.0, le=60.0, description="the blade leans back by (degrees)")
    cut: float = Field(0.08, ge=0.0, le=10.0, description="depth of the cut (m)")
    speed: float = Field(0.5, gt=0.0, le=10.0, description="speed of the blade (m/s)")
    settle: float = Field(0.7, ge=0.0, le=100.0, description="time before it starts (s)")

    @property
    def way(self) -> float:
        """Distance of the push, m."""
        return max(self.length - 1.0, 0.5 * self.length)


@SCENES.register("push")
class Push(Scene[PushParams]):
    """A driven blade cuts through a bed of soil and pushes it along."""

    name: ClassVar[str] = "push"
    summary: ClassVar[str] = "a blade pushes soil far; ridges are left on both sides of its cut"
    seconds: ClassVar[float] = 5.2
    Params: ClassVar[type[PushParams]] = PushParams

    def duration(self, params: PushParams) -> float:
        """Settle, push, and half a second of rest."""
        return round(params.settle + params.way / params.speed + 0.5, 1)

    def fill(self, world: World, params: PushParams) -> None:
        """Add a level bed with the blade at its near end."""
        law = params.soil(world)
        world.add_body(
            Box((params.length, params.width, 1.0), inside=True, open_top=True),
            name="bed",
            material="rough wall",
            position=(params.length / 2, 0.0, 0.5),
        )
        large = params.radii[1]
        place, radii = lattice(
            (0.0, -params.width / 2, 0.0),
            (params.length, params.width / 2, 2.5 * params.depth + 4 * large),
            (2 * params.radius - large, large), 0.02, params.seed, "hexagonal",
        )  # fmt: skip
        ball = 4 / 3 * math.pi * params.radius**3
        count = int(0.62 * params.depth * params.length * params.width / ball)
        edge = params.depth - params.cut
        turn = rotation_about((0.0, 1.0, 0.0), -math.radians(params.rake))
        middle = np.array([START, 0.0, edge + params.height / 2])
        # no grain starts in the blade
        local = np.abs((place - middle) @ turn) - 0.5 * np.array(
            [THICK, params.blade, params.height]
        )
        free = (local > radii[:, None]).any(axis=1)
        chosen = np.flatnonzero(free)[np.argsort(place[free, 2], kind="stable")[:count]]
        world.add_grains(place[chosen], radii[chosen], material=law)
        way = params.way / params.speed
        world.add_body(
            Box((THICK, params.blade, params.height)),
            name="blade",
            material="steel",
            position=middle,
            rotation=turn,
            motion=Linear((params.speed, 0.0, 0.0), params.settle, params.settle + way),
        )

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Force on the blade against its way (N) and its place (m)."""
        blade = world.body("blade")
        return {
            "resistance": -float(blade.force[0]),
            "lift": float(blade.force[2]),
            "blade": float(blade.position[0]),
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """Ridges left and right, a cut between them, and a force that opposes the blade."""
        params: PushParams = history.params
        place, height = cross_profile(world, params)
        level = far_level(place, height, params)
        half = params.blade / 2
        reach = half + 6 * params.radius
        left = float(height[(place < -half * 0.9) & (place > -reach)].max()) - level
        right = float(height[(place > half * 0.9) & (place < reach)].max()) - level
        middle = float(height[np.abs(place) < 0.6 * half].mean()) - level
        r = params.radius
        pushing = history["resistance"][history["time"] > params.settle + 0.3]
        driven = pushing[: max(1, len(pushing) - round(0.6 / params.dt))]
        force = float(driven.mean()) if len(driven) else math.nan
        return [
            Outcome("ridge on the left", left > RIDGE * r, left / r, f"above {RIDGE} radii"),
            Outcome("ridge on the right", right > RIDGE * r, right / r, f"above {RIDGE} radii"),
            Outcome("cut below the first level", middle < -0.5 * params.cut, middle,
                    f"below {-0.5 * params.cut:.3f} (cut {params.cut:g})", "m"),
            Outcome("soil resists the blade", force > 0, force, "above 0", "N"),
            Outcome("both ridges alike", 0.4 < left / max(right, 1e-9) < 2.5,
                    left / max(right, 1e-9), "0.4 to 2.5"),
        ]  # fmt: skip


def cross_profile(world: World, params: PushParams) -> tuple[Array, Array]:
    """Height (m) across the way, averaged along the cut and over a few radii."""
    first = START + 0.25 * params.way
    last = START + 0.75 * params.way
    half = params.width / 2
    grid = height_map(world, floor=0.0, low=(first, -half), high=(last, half))
    profile = grid.heights.mean(axis=0)
    width = max(1, round(SMOOTH * params.radius / grid.cell))
    count = np.convolve(np.ones(len(profile)), np.ones(width), "same")
    return grid.y, np.convolve(profile, np.ones(width), "same") / count


def far_level(place: Array, height: Array, params: PushParams) -> float:
    """Height (m) of the bed that the blade did not touch, near the side walls."""
    half = params.width / 2
    far = (np.abs(place) > 0.8 * half) & (np.abs(place) < half - 2 * params.radius)
    return float(height[far].mean())
