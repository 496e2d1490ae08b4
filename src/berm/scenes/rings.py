"""Rings fall on poles in a box, with little or much friction and dissipation, [Bell05] Fig. 9."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from berm.core.clusters import Cluster, ring
from berm.core.materials import Material
from berm.core.report import StepReport
from berm.core.rotations import random_rotations, turned
from berm.core.shapes import Box, Capsule
from berm.laws.normal_hertz import effective_modulus
from berm.scenes.base import SCENES, Outcome, Scene, Usual
from berm.scenes.parts.compound import Array, fitted
from berm.scenes.parts.history import History
from berm.scenes.parts.params import SceneParams
from berm.solvers.base import Solver
from berm.world.world import World

GRAVITY = 9.81  # m/s^2
POLES = 5  # in a row: 25
SETTINGS = {"low": (0.05, 0.85), "high": (0.6, 0.2)}  # friction, restitution; not printed
SMALL, PAPER = (100, 24), (1000, 110)  # rings, spheres of a ring
SKIN = 1.0  # radii: rings fly far between contacts, and a list lasts for half of it
CALM = 0.1  # m/s, root mean square of the rings at the end


class RingsParams(SceneParams):
    """Parameters of the rings; sizes are not printed."""

    LIVE: ClassVar[tuple[str, ...]] = ()

    size: Literal["small", "paper"] = Field(
        "small", description="small: 100 rings of 24 spheres; paper: 1,000 of 110, for hours"
    )
    friction: Literal["low", "high"] = Field(
        "high", description="low: coefficient 0.05, restitution 0.85; high: 0.6 and 0.2"
    )
    rings: int | None = Field(None, ge=1, le=100_000, description="rings; none: by size")
    spheres: int | None = Field(None, ge=3, le=1000, description="spheres of a ring; none: by size")
    radius: float = Field(0.02, gt=0.0, le=1.0, description="radius of a ring's tube (m)")
    ring: float = Field(5.0, gt=1.5, le=50.0, description="radius of a ring, in those of its tube")
    pole: float = Field(0.35, gt=0.0, le=0.9, description="radius of a pole, in that of the hole")
    pitch: float = Field(
        2.6, ge=1.0, le=50.0, description="distance of the poles, in outer radii of a ring"
    )
    tall: float = Field(3.5, gt=0.0, le=50.0, description="height of a pole, in radii of a ring")
    margin: float = Field(
        7.0, ge=1.0, le=100.0, description="from the outer poles to the walls, in radii of a ring"
    )
    young_modulus: float = Field(
        1.0e8, gt=0.0, le=1.0e12, description="Young's modulus (Pa); in print 100 MPa"
    )
    density: float = Field(2600.0, gt=0.0, le=1.0e5, description="of the rings (kg/m^3)")
    seconds: float = Field(3.0, gt=0.0, le=1000.0, description="time simulated (s)")

    @property
    def counts(self) -> tuple[int, int]:
        """Rings, and spheres of each."""
        rings, spheres = PAPER if self.size == "paper" else SMALL
        return self.rings or rings, self.spheres or spheres

    def cluster(self) -> Cluster:
        """Return a ring."""
        return ring(self.radius, self.ring * self.radius, self.counts[1])

    @property
    def outer(self) -> float:
        """Outer radius of a ring, m."""
        return (self.ring + 1.0) * self.radius

    @property
    def half_box(self) -> float:
        """Half an edge of the box, m."""
        return 0.5 * (POLES - 1) * self.pitch * self.outer + self.margin * self.outer

    def poles(self) -> Array:
        """Return the poles' places (25, 2), m."""
        line = (np.arange(POLES) - 0.5 * (POLES - 1)) * self.pitch * self.outer
        return np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)

    def make_material(self) -> Material:
        """Return what rings, poles and box are made of."""
        friction, restitution = SETTINGS[self.friction]
        return Material(
            "ring", density=self.density, restitution=restitution, friction_static=friction,
            friction_kinetic=friction, young_modulus=self.young_modulus,
        )  # fmt: skip


@SCENES.register("rings")
class Rings(Scene[RingsParams]):
    """Rings in layers above 25 poles fall, and scatter or stay."""

    name: ClassVar[str] = "rings"
    summary: ClassVar[str] = "rings fall on 25 poles and scatter, or clump around them"
    seconds: ClassVar[float] = 3.0
    Params: ClassVar[type[RingsParams]] = RingsParams
    solver: ClassVar[str] = "dem"
    needs: ClassVar[frozenset[str]] = frozenset({"clusters"})
    usual: ClassVar[Usual] = {
        "dem": {"tangential": "capped", "rolling": "none", "steps_a_contact": 15, "skin": SKIN}
    }

    def solver_options(
        self, kind: type[Solver], params: RingsParams, given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the laws; a viscosity of capped friction that fits the rings."""
        options = super().solver_options(kind, params, given)
        return fitted(options, params.make_material(), params.radius, params.cluster().volume)

    def duration(self, params: RingsParams) -> float:
        """As given."""
        return params.seconds

    def fill(self, world: World, params: RingsParams) -> None:
        """Add the box, the poles, and the rings in the air."""
        law = params.make_material()
        half, shape = params.half_box, params.cluster()
        world.add_body(
            Box((2 * half, 2 * half, half), inside=True, open_top=True), name="box",
            material=law.replace(name="box"), position=(0.0, 0.0, 0.5 * half),
        )  # fmt: skip
        thick = params.pole * (params.ring - 1.0) * params.radius
        tall = params.tall * params.outer
        for k, (x, y) in enumerate(params.poles()):
            world.add_body(
                Capsule(thick, tall), name=f"pole {k + 1}", material=law.replace(name="box"),
                position=(x, y, 0.5 * tall - thick),
            )  # fmt: skip
        where = self._start(params, tall)
        # nearly flat, each by some degrees in its own direction
        rng = np.random.default_rng(params.seed)
        flat = np.array([1.0, 0.0, 0.0, 0.0]) + 0.15 * random_rotations(rng, len(where))
        world.add_clusters(shape, where, flat, material=law)

    @staticmethod
    def _start(params: RingsParams, tall: float) -> Array:
        """Return layers of rings over the poles, each layer shifted at random, (n, 3) m."""
        rng = np.random.default_rng(params.seed + 1)
        rings, outer = params.counts[0], params.outer
        step = 2.1 * outer
        across = max(int((POLES - 1) * params.pitch * outer / step) + 1, 1)
        line = (np.arange(across) - 0.5 * (across - 1)) * step
        layer = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
        lean = 2.0 * outer * 0.3 + 2.5 * params.radius  # of rings that are a little turned
        result = []
        for k in range(-(-rings // len(layer))):
            shift = rng.uniform(-0.5, 0.5, 2) * outer
            here = rng.permutation(layer) + shift
            level = np.full((len(here), 1), tall + 1.5 * outer + k * lean)
            result.append(np.hstack([here, level]))
        places: Array = np.concatenate(result)[:rings]
        return places

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Mean distance of the rings from the middle (m), their speed (m/s)."""
        clumps = world.clumps
        return {
            "distance": float(np.hypot(clumps.position[:, 0], clumps.position[:, 1]).mean()),
            "speed": float(np.sqrt((clumps.velocity**2).sum(axis=1).mean())),
        }

    def check(self, world: World, history: History) -> list[Outcome]:
        """None lost, hardly any overlap, less energy than at the start, some on poles."""
        params: RingsParams = history.params
        clumps = world.clumps
        where = clumps.position
        half = params.half_box
        out = int(((np.abs(where[:, :2]) > half).any(axis=1) | (where[:, 2] < 0)).sum())
        overlap = float(history["overlap_max"].max()) / params.radius if len(history) else math.nan
        start = self._start(params, params.tall * params.outer)
        deepest = self._deepest(params, float(start[:, 2].max())) / params.radius
        fall = GRAVITY * float(start[:, 2].mean() - where[:, 2].mean())
        speed = float(history["speed"][-1]) if len(history) else math.nan
        on = int(caught(world, params).sum())
        limit = CALM if params.friction == "high" else math.sqrt(2 * max(fall, 0.0))
        return [
            Outcome("rings", clumps.n == params.counts[0], clumps.n, f"{params.counts[0]}"),
            Outcome("rings outside the box", out == 0, out, "0"),
            Outcome("largest overlap", overlap < 1.1 * deepest, overlap,
                    f"below {1.1 * deepest:.2f} tube radii: Hertz, a ring that falls all the way "
                    "on one sphere, + 10 %"),
            Outcome("speed at the end", speed < limit, speed,
                    f"below {limit:.2g}" + ("" if limit == CALM else ", that of the fall"), "m/s"),
            Outcome("rings on poles", on > 0, on, "some"),
        ]  # fmt: skip

    @staticmethod
    def _deepest(params: RingsParams, height: float) -> float:
        """Overlap (m) by Hertz of a ring that falls from a height (m) on one of its spheres."""
        law = params.make_material()
        k_r = 4.0 / 3.0 * effective_modulus(law, law) * math.sqrt(params.radius)
        mass = law.density * params.cluster().volume
        return float((1.25 * mass * 2.0 * GRAVITY * height / k_r) ** 0.4)


def caught(world: World, params: RingsParams) -> np.ndarray:
    """Tell of each ring whether a pole goes through its hole."""
    clumps = world.clumps
    axis = turned(clumps.q, np.tile([0.0, 0.0, 1.0], (clumps.n, 1)))
    spread = np.argmax(clumps.moments[:, :3], axis=1)
    axis = turned(clumps.q, np.eye(3)[spread])  # about which a ring's moment is the largest
    hole = (params.ring - 1.0) * params.radius
    tall = params.tall * params.outer
    inside = np.zeros(clumps.n, bool)
    for x, y in params.poles():
        # where the pole's line meets the plane of the ring
        off = np.array([x, y]) - clumps.position[:, :2]
        steep = np.abs(axis[:, 2]) > 0.1
        rise = -(off * axis[:, :2]).sum(axis=1) / np.where(steep, axis[:, 2], 1.0)
        far = np.sqrt((off**2).sum(axis=1) + rise**2)
        height = clumps.position[:, 2] + rise
        inside |= steep & (far < hole) & (height > 0.0) & (height < tall)
    result: np.ndarray = inside
    return result
