"""Grains run through an hourglass that is one triangle mesh, [Francu14] Fig. 4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from berm.core.materials import material
from berm.core.report import StepReport
from berm.core.shapes import Mesh
from berm.scenes.base import SCENES, Outcome, Scene
from berm.scenes.parts.history import History
from berm.scenes.parts.params import SceneParams
from berm.world.measure import steady_rate
from berm.world.world import World


class MeshGlassParams(SceneParams):
    """Parameters of the glass."""

    friction: float = Field(0.2, ge=0.0, le=10.0, description="friction coefficient")
    grains: int = Field(1500, ge=50, le=100_000, description="grains in the upper half")
    radius: float = Field(0.02, gt=0.0, le=0.1, description="radius of a grain (m)")
    neck: float = Field(6.0, ge=3.5, le=30.0, description="diameter of the neck, in diameters")
    around: int = Field(32, ge=6, le=200, description="edges of a circle of the mesh")
    seconds: float = Field(8.0, gt=0.0, le=1000.0, description="simulated time (s)")


def revolved(profile: np.ndarray, around: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and faces of a closed surface of revolution; profile (k, 2): rho, z."""
    turn = 2 * math.pi * np.arange(around) / around
    rings = np.stack(
        [np.outer(profile[:, 0], np.cos(turn)), np.outer(profile[:, 0], np.sin(turn)),
         np.repeat(profile[:, 1:], around, axis=1)], -1,
    ).reshape(-1, 3)  # fmt: skip
    k = len(profile)
    ends = np.array([[0, 0, profile[0, 1]], [0, 0, profile[-1, 1]]])
    low, high = k * around, k * around + 1
    faces = []
    for j in range(around):
        n = (j + 1) % around
        for i in range(k - 1):
            a, b = i * around + j, i * around + n
            faces += [(a, b, b + around), (a, b + around, a + around)]
        faces += [(low, n, j), (high, (k - 1) * around + j, (k - 1) * around + n)]
    return np.concatenate([rings, ends]), np.array(faces)


@SCENES.register("mesh-glass")
class MeshGlass(Scene[MeshGlassParams]):
    """A closed mesh with a narrow waist; everything starts above it."""

    name: ClassVar[str] = "mesh-glass"
    summary: ClassVar[str] = "grains run through an hourglass made of triangles; none leaks"
    seconds: ClassVar[float] = 8.0
    Params: ClassVar[type[MeshGlassParams]] = MeshGlassParams
    solver: ClassVar[str] = "vts"

    def duration(self, params: MeshGlassParams) -> float:
        """As given."""
        return params.seconds

    @staticmethod
    def sizes(params: MeshGlassParams) -> tuple[float, float, float]:
        """Radius of the neck, of the bulbs, and height of half a glass (m)."""
        neck = params.neck * params.radius
        volume = params.grains * 4 / 3 * math.pi * params.radius**3 / 0.45
        wide = max(2.5 * neck, 0.9 * volume ** (1 / 3))
        rise = 1.2 * (wide - neck)
        return neck, wide, rise + 1.3 * volume / (math.pi * wide**2) + 4 * params.radius

    def fill(self, world: World, params: MeshGlassParams) -> None:
        """Add the glass with grains in its upper half."""
        neck, wide, tall = self.sizes(params)
        rise = 1.2 * (wide - neck)
        profile = np.array([(wide, -tall), (wide, -rise), (neck, 0), (wide, rise), (wide, tall)])
        vertices, faces = revolved(profile, params.around)
        glass = material("rough wall", friction=params.friction)
        world.add_body(Mesh(vertices, faces, inside=True), name="glass", material=glass)
        r, step = params.radius, 2.1 * params.radius
        span = np.arange(-int(wide / step), int(wide / step) + 1) * step
        levels = np.arange(0.4 * rise, tall - 2 * r, step)
        place = np.stack(np.meshgrid(span, span, levels, indexing="ij"), -1).reshape(-1, 3)
        room = np.minimum(wide, neck + (wide - neck) * place[:, 2] / rise)
        inside = (
            np.hypot(place[:, 0], place[:, 1]) < math.cos(math.pi / params.around) * room - 2 * r
        )
        place = place[inside][np.argsort(place[inside, 2], kind="stable")][: params.grains]
        place = place + world.rng.uniform(-0.03 * r, 0.03 * r, place.shape)
        world.add_grains(place, r, material=material("gravel", friction=params.friction))

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Grains below the neck."""
        return {"passed": float((world.grains.position[:, 2] < 0).sum())}

    def check(self, world: World, history: History) -> list[Outcome]:
        """None outside, a steady flow, and all through in the end."""
        params: MeshGlassParams = history.params
        _, wide, tall = self.sizes(params)
        x = world.grains.position
        out = int(((np.hypot(x[:, 0], x[:, 1]) > wide) | (np.abs(x[:, 2]) > tall)).sum())
        _, r2 = steady_rate(history["time"], history["passed"])
        share = float(history["passed"][-1] / world.grains.n)
        return [
            Outcome("grains through the mesh", out == 0, out, "0"),
            Outcome("flow is steady, R2", r2 > 0.98, r2, "above 0.98"),
            Outcome("run through", share > 0.95, share, "above 0.95"),
        ]
