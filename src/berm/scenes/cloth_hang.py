"""Cloth falls from level and hangs by two corners, [Francu14] Fig. 7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.cloth import Cloth
from berm.core.report import StepReport
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.history import History
from berm.scenes.parts.params import SceneParams, inherited
from berm.world.world import World


class ClothHangParams(SceneParams):
    """Parameters of the hanging cloth."""

    dt: float = inherited(SceneParams, "dt", 0.016)
    vertices: int = Field(100, ge=5, le=500, description="vertices along an edge")
    size: float = Field(10.0, gt=0.1, le=100.0, description="edge of the cloth (m)")
    seconds: float = Field(5.0, gt=0.0, le=1000.0, description="simulated time (s)")


@SCENES.register("cloth-hang")
class ClothHang(Scene[ClothHangParams]):
    """A square cloth, two pins."""

    name: ClassVar[str] = "cloth-hang"
    summary: ClassVar[str] = "a cloth falls and hangs by two corners"
    seconds: ClassVar[float] = 5.0
    Params: ClassVar[type[ClothHangParams]] = ClothHangParams
    solver: ClassVar[str] = "pbd"
    needs: ClassVar[frozenset[str]] = frozenset({"cloth"})

    def duration(self, params: ClothHangParams) -> float:
        """As given."""
        return params.seconds

    def fill(self, world: World, params: ClothHangParams) -> None:
        """Add the cloth, level, at rest."""
        n, size = params.vertices, params.size
        sheet = Cloth.grid((n, n), (size, size), mass=0.2 * size**2, bend=0.0)
        sheet.pin([0, n - 1])
        world.add_cloth(sheet)

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """L1 norm of the links' errors (m) and the largest relative stretch."""
        sheet = world.cloths[0]
        stretch = sheet.stretch
        return {
            "error": float(np.abs(stretch * sheet.rest).sum()),
            "stretch": float(np.abs(stretch).max()),
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """Whole, and in real time."""
        mean = float(np.abs(world.cloths[0].stretch).mean())
        pace = float(np.median(history["wall_time"]) / world.dt)
        return [
            Outcome("mean stretch", mean < 0.1, mean, "below 0.1"),
            Outcome("wall time / simulated time", pace < 1.0, pace, "below 1: real time"),
        ]
