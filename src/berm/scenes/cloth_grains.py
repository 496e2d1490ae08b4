"""Grains fall on cloth that is held at its corners, [Francu14] Fig. 6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.cloth import Cloth
from berm.core.materials import material
from berm.core.report import StepReport
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.history import History
from berm.scenes.parts.params import SceneParams
from berm.world.world import World


class ClothGrainsParams(SceneParams):
    """Parameters of the grains on cloth."""

    friction: float = Field(0.3, ge=0.0, le=10.0, description="friction coefficient")
    grains: int = Field(1000, ge=1, le=100_000, description="grains")
    vertices: int = Field(20, ge=5, le=300, description="vertices along an edge of the cloth")
    radius: float = Field(0.012, gt=0.0, le=0.1, description="radius of a grain (m)")
    density: float = Field(300.0, gt=0.0, le=1.0e5, description="density of a grain (kg/m^3)")
    seconds: float = Field(6.0, gt=0.0, le=1000.0, description="simulated time (s)")


@SCENES.register("cloth-grains")
class ClothGrains(Scene[ClothGrainsParams]):
    """A square metre of cloth of 1 kg and a block of grains above it."""

    name: ClassVar[str] = "cloth-grains"
    summary: ClassVar[str] = "grains bounce on a cloth held at its corners, then rest in it"
    seconds: ClassVar[float] = 6.0
    Params: ClassVar[type[ClothGrainsParams]] = ClothGrainsParams
    solver: ClassVar[str] = "sp"
    needs: ClassVar[frozenset[str]] = frozenset({"grains", "cloth"})

    def duration(self, params: ClothGrainsParams) -> float:
        """As given."""
        return params.seconds

    def fill(self, world: World, params: ClothGrainsParams) -> None:
        """Add the cloth with the grains above."""
        n = params.vertices
        sheet = Cloth.grid((n, n), (1.0, 1.0), (-0.5, -0.5, 0.5), mass=1.0, thickness=0.01)
        sheet.pin([0, n - 1, n * n - n, n * n - 1])
        world.add_cloth(sheet)
        side = max(round(params.grains ** (1 / 3)), 1)
        layers = -(-params.grains // side**2)
        at = np.stack(np.unravel_index(np.arange(params.grains), (layers, side, side)), -1)
        gap = 2.4 * params.radius
        place = (at[:, ::-1] - [(side - 1) / 2, (side - 1) / 2, 0]) * gap
        place[:, 2] += 0.54
        place += world.rng.uniform(-1e-3, 1e-3, place.shape)
        world.add_grains(
            place, params.radius,
            material=material("gravel", friction=params.friction, density=params.density),
        )  # fmt: skip

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Grains below the cloth."""
        low = world.cloths[0].position[:, 2].min() - 0.05
        return {"lost": float((world.grains.position[:, 2] < low).sum())}

    def check(self, world: World, history: History) -> list[Outcome]:
        """At rest in the cloth, none through it."""
        energy = history["kinetic_energy"]
        share = float(energy[-30:].mean() / energy.max())
        lost = int(history["lost"][-1])
        return [
            Outcome("grains lost", lost == 0, lost, "0"),
            Outcome("kinetic energy / peak", share < 0.01, share, "below 0.01"),
        ]
