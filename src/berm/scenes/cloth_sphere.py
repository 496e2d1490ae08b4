"""Cloth falls on a sphere: friction inside the iterations holds it, [Francu14] Fig. 5."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from berm.core.cloth import Cloth
from berm.core.materials import material
from berm.core.report import StepReport
from berm.core.shapes import Sphere
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.history import History
from berm.scenes.parts.params import SceneParams
from berm.solvers.vts.solver import VTS
from berm.world.world import World

THICK = 0.02  # m: half of the cloth's thickness


class ClothSphereParams(SceneParams):
    """Parameters of the cloth on a sphere."""

    friction: float = Field(0.5, ge=0.0, le=10.0, description="friction coefficient")
    vertices: int = Field(30, ge=5, le=300, description="vertices along an edge")
    size: float = Field(2.0, gt=0.1, le=20.0, description="edge of the cloth (m)")
    ball: float = Field(0.5, gt=0.05, le=5.0, description="radius of the sphere (m)")
    aside: float = Field(0.1, ge=-5.0, le=5.0, description="cloth beside the middle (m)")
    seconds: float = Field(5.0, gt=0.0, le=1000.0, description="simulated time (s)")


@SCENES.register("cloth-sphere")
class ClothSphere(Scene[ClothSphereParams]):
    """A square cloth, a little beside the middle, and a rough ball."""

    name: ClassVar[str] = "cloth-sphere"
    summary: ClassVar[str] = "cloth falls on a ball and stays (sp) or slides off (pbd)"
    seconds: ClassVar[float] = 5.0
    Params: ClassVar[type[ClothSphereParams]] = ClothSphereParams
    solver: ClassVar[str] = "sp"
    needs: ClassVar[frozenset[str]] = frozenset({"cloth"})

    def duration(self, params: ClothSphereParams) -> float:
        """As given."""
        return params.seconds

    def fill(self, world: World, params: ClothSphereParams) -> None:
        """Add the cloth above the ball."""
        rough = material("rough wall", friction=params.friction)
        half = 0.5 * params.size
        corner = (params.aside - half, -half, params.ball + 1.5 * THICK)
        n = params.vertices
        sheet = Cloth.grid(
            (n, n), (params.size, params.size), corner, mass=1.0, bend=0.02, thickness=THICK,
            material=material("cloth", friction=params.friction),
        )  # fmt: skip
        world.add_cloth(sheet)
        world.add_body(Sphere(params.ball), name="ball", material=rough)

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Height of the cloth's centre of mass, and how far it is beside the ball (m)."""
        middle = world.cloths[0].position.mean(axis=0)
        return {"height": float(middle[2]), "beside": float(math.hypot(middle[0], middle[1]))}

    def check(self, world: World, history: History) -> list[Outcome]:
        """It stays with friction in the loop; after the solver it does not hold (Sec. 8.2)."""
        params: ClothSphereParams = history.params
        time, height = history["time"], history["height"]
        draped = height[min(int((time < 1.5).sum()), len(height) - 1)]
        drop = float(draped - height[-1]) / params.ball
        if isinstance(world.solver, VTS) and world.solver.friction != "post":
            return [Outcome("drop after it is draped", drop < 0.2, drop, "below 0.2 radii")]
        return [Outcome("drop after it is draped", drop > 1.0, drop, "above 1 radius: slides off")]
