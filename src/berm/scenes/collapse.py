"""A column of grains collapses when its cylinder is lifted: run-out by Lube et al. 2004."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.motion import Linear
from berm.core.report import StepReport
from berm.core.shapes import Cylinder, Plane
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.history import History
from berm.scenes.parts.params import GrainParams, inherited
from berm.world.measure import height_map
from berm.world.packings import lattice
from berm.world.world import World

LOOSE = 0.64  # packing fraction from which the number of grains is estimated


class CollapseParams(GrainParams):
    """Parameters of the collapse."""

    material: str = inherited(GrainParams, "material", "dry sand")
    aspect: float = Field(1.5, ge=0.3, le=10.0, description="height over radius of the column")
    column: float = Field(0.16, gt=0.0, le=10.0, description="radius of the column (m)")
    radius: float = inherited(GrainParams, "radius", 0.01)
    settle: float = Field(1.0, ge=0.1, le=100.0, description="time before the cylinder rises (s)")
    lift: float = Field(4.0, gt=0.0, le=100.0, description="speed of the rising cylinder (m/s)")


def lube_runout(aspect: float) -> float:
    """(r_end - r_0) / r_0 of an axisymmetric collapse, Lube et al. 2004 (J. Fluid Mech. 508)."""
    return 1.24 * aspect if aspect < 1.7 else 1.6 * math.sqrt(aspect)


@SCENES.register("collapse")
class Collapse(Scene[CollapseParams]):
    """A full cylinder is lifted off its grains."""

    name: ClassVar[str] = "collapse"
    summary: ClassVar[str] = "a column of grains collapses; its run-out follows Lube's law"
    seconds: ClassVar[float] = 4.0
    Params: ClassVar[type[CollapseParams]] = CollapseParams

    def duration(self, params: CollapseParams) -> float:
        """Settle, collapse, and come to rest."""
        tall = params.aspect * params.column
        return round(params.settle + 1.0 + 9.0 * math.sqrt(2 * tall / 9.81), 1)

    def fill(self, world: World, params: CollapseParams) -> None:
        """Add a cylinder full of grains on a rough floor."""
        large = params.radii[1]
        height = params.aspect * params.column
        count = int(
            LOOSE * math.pi * params.column**2 * height / (4 / 3 * math.pi * params.radius**3)
        )
        world.add_body(Plane(), name="floor", material="rough wall")
        length = 8.0 * height + 100 * large  # what splashes up while it settles falls back
        world.add_body(
            Cylinder(params.column, length, inside=True, open_ends=True, wall=params.column),
            name="cylinder",
            material=params.soil(world).replace(friction=0.05),
            position=(0.0, 0.0, length / 2),
            motion=Linear((0.0, 0.0, params.lift), start=params.settle),
        )
        edge = params.column
        place, radii = lattice(
            (-edge, -edge, 0.0), (edge, edge, 3.0 * height + 20 * large),
            (2 * params.radius - large, large), 0.02, params.seed, "hexagonal",
        )  # fmt: skip
        inside = np.hypot(place[:, 0], place[:, 1]) < params.column - large
        chosen = np.argsort(place[inside, 2], kind="stable")[:count]
        world.add_grains(place[inside][chosen], radii[inside][chosen], material=params.soil(world))

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Mean height of the centres, half the column's while it stands, and of the topmost, m."""
        height = world.grains.position[:, 2]
        return {"centre_height": float(height.mean(dtype=float)), "top": float(height.max())}

    def check(self, world: World, history: History) -> list[Outcome]:
        """Run-out against Lube's law, at rest, with a heap in the middle, and nothing thrown up."""
        params: CollapseParams = history.params
        centre = history["centre_height"]
        before = int(np.searchsorted(history["time"], params.settle)) - 1
        if before >= len(centre) - 1:
            return [Outcome("run-out", False, math.nan, "a run that lasts beyond the lift")]
        # as many centres below the middle as above: the column's height is twice the mean
        aspect = 2 * float(centre[before]) / params.column
        reach = _deposit_radius(world, params.radius)
        runout = reach / params.column - 1.0
        exact = lube_runout(aspect)
        top = _middle_height(world, 0.25 * params.column)
        moved = history.last("centre_height", 0.5)
        creep = float(abs(moved[-1] - moved[0]) / params.radius)
        thrown = float(history["top"][before:].max() - history["top"][before]) / params.radius
        return [
            Outcome("run-out", abs(runout / exact - 1) < 0.35, runout,
                    f"{exact:.2f} +- 35 % at aspect {aspect:.2f}, Lube 2004"),
            Outcome("height of the heap / radius of the column",
                    0.2 < top / params.column < aspect, top / params.column,
                    f"0.2 to {aspect:.2f}"),
            Outcome("creep of the last half second", creep < 0.1, creep, "below 0.1 radii"),
            Outcome("thrown above the column", thrown < 2.0, thrown, "below 2 radii"),
        ]  # fmt: skip


def _middle_height(world: World, reach: float) -> float:
    """Mean height (m) of the surface within `reach` of the axis."""
    grid = height_map(world, floor=0.0, low=(-reach, -reach), high=(reach, reach))
    return float(grid.heights.mean())


def _deposit_radius(world: World, radius: float) -> float:
    """Radius (m) up to which a layer of grains lies: where half of a ring is covered."""
    grid = height_map(world, floor=0.0)
    x, y = np.meshgrid(grid.x, grid.y, indexing="ij")
    ring = np.floor(np.hypot(x, y) / (2 * radius)).astype(int)
    covered = np.bincount(ring.ravel(), (grid.heights > 0).ravel()) / np.bincount(ring.ravel())
    covered = np.append(covered, 0.0)
    bare = int(np.flatnonzero(covered < 0.5)[0])
    if bare == 0:
        return 0.0
    inner, outer = covered[bare - 1], covered[bare]
    return 2 * radius * (bare - 0.5 + float((inner - 0.5) / (inner - outer)))
