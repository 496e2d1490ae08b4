"""Parameters of scenes with compound grains, and what such grains are at any moment. [Bell05]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from berm.core.clusters import Cluster, cube, tetrahedron
from berm.core.materials import Material, material
from berm.laws.normal_hertz import Hertz
from berm.scenes.base import Scene, Usual
from berm.scenes.parts.params import GrainParams, inherited
from berm.solvers.base import Solver
from berm.solvers.dem.solver import DEM
from berm.world.packings import lattice
from berm.world.world import World

Array = npt.NDArray[np.float64]

SPHERES = {"sphere": 1, "tetrahedron": 4, "cube": 8}
GAP = 0.02  # between grains that start on a lattice, in radii
TYPICAL = 1.0  # m/s: of collisions, for the viscosity of capped friction
FRAME = 1.0 / 30.0  # s: a frame; not printed
LAWS = {"tangential": "capped", "rolling": "none", "steps_a_contact": 15, "cohesion": "area"}


class CompoundParams(GrainParams):
    """Grains of several spheres each, which need a solver in which they turn."""

    LIVE: ClassVar[tuple[str, ...]] = ("friction", "friction_kinetic", "restitution")

    material: str = inherited(GrainParams, "material", "dry sand")
    friction: float | None = inherited(GrainParams, "friction", 0.5)
    restitution: float | None = inherited(GrainParams, "restitution", 0.3)
    radius: float = Field(
        0.016, gt=0.0, le=1.0, description="radius of the ball as large as a grain (m)"
    )
    spread: float = inherited(GrainParams, "spread", 0.0, "compound grains are all alike")
    shape: Literal["tetrahedron", "cube", "sphere"] = Field(
        "tetrahedron", description="what a grain is made of: 4, 8 spheres, or 1"
    )
    size: Literal["small", "paper"] = Field(
        "small", description="paper: as many grains as in print, for hours"
    )

    @property
    def sphere_radius(self) -> float:
        """Radius of one sphere of a grain, m; spheres touch, so that volumes add."""
        return self.radius / float(np.cbrt(SPHERES[self.shape]))

    def cluster(self) -> Cluster | None:
        """Return the shape of a grain; None: a single sphere."""
        if self.shape == "sphere":
            return None
        return (tetrahedron if self.shape == "tetrahedron" else cube)(self.sphere_radius)

    @property
    def reach(self) -> float:
        """Radius of the ball around a grain, m."""
        shape = self.cluster()
        return self.radius if shape is None else shape.bounding_radius

    @property
    def grain_volume(self) -> float:
        """Volume of a grain, m^3."""
        return 4.0 / 3.0 * math.pi * self.radius**3

    def wall(self, friction: float, name: str = "glass") -> Material:
        """Return what a boundary is made of: as stiff as the grains, [Bell05] 4."""
        own = self.make_material()
        return material("rough wall").replace(
            name=name, friction=friction, young_modulus=own.young_modulus,
            restitution=own.restitution,
        )  # fmt: skip

    def places(self, low: Array, high: Array) -> Array:
        """Return a lattice (n, 3) of grains that do not touch, however they are turned, m."""
        where, _ = lattice(tuple(low), tuple(high), self.reach, GAP, self.seed, "hexagonal")
        return where

    def put(self, world: World, where: Array) -> None:
        """Add grains at these places, turned at random."""
        shape, law = self.cluster(), self.make_material()
        if shape is None:
            world.add_grains(where, self.radius, material=law)
        else:
            world.add_clusters(shape, where, "random", material=law)


C = TypeVar("C", bound=CompoundParams)


class CompoundScene(Scene[C]):
    """A scene of compound grains, by default without static friction: their corners hold a heap."""

    solver: ClassVar[str] = "dem"
    needs: ClassVar[frozenset[str]] = frozenset({"clusters"})
    usual: ClassVar[Usual] = {"dem": LAWS}

    def solver_options(
        self, kind: type[Solver], params: C, given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the laws; a viscosity of capped friction that fits the grains."""
        options = super().solver_options(kind, params, given)
        return fitted(options, params.make_material(), params.sphere_radius, params.grain_volume)


def fitted(options: dict[str, Any], law: Material, radius: float, volume: float) -> dict[str, Any]:
    """Return options in which capped friction, where it was named, has a viscosity that fits."""
    if options.get("tangential") != "capped":
        return options
    return {**options, "tangential": capped(law, radius, volume)}


def empty_world(params: CompoundParams, **options: Any) -> World:
    """Return a world of discrete elements for such grains, with nothing in it."""
    given = fitted(
        {**LAWS, **options}, params.make_material(), params.sphere_radius, params.grain_volume
    )
    return World(dt=params.dt, solver=DEM(**given), seed=params.seed, precision=params.precision)


def capped(law: Material, radius: float, volume: float) -> dict[str, Any]:
    """Friction (18) whose viscosity is that of critical damping in a typical collision.

    k_t is not printed; "large enough that (18) resembles (17)". Larger needs smaller steps.
    """
    mass = 0.5 * law.density * volume
    time = Hertz().contact_time(Hertz().numbers(law, law), 0.5 * radius, mass, TYPICAL)
    return {"law": "capped", "k_t": 2.0 * math.pi * mass / time}


@dataclass(frozen=True)
class Pieces:
    """Compound grains and single ones alike: position (n, 3) m, velocity (n, 3) m/s, mass kg."""

    position: Array
    velocity: Array
    mass: Array


def pieces(world: World, most: int | None = None, least: int = 1) -> Pieces:
    """Return all bodies of a world of discrete elements, of `least` to `most` spheres."""
    grains, clumps = world.grains, world.clumps
    if grains.changed:
        clumps.find_rows(grains)  # else only the next step tells spheres whose they are
    count = np.diff(clumps.first)
    chosen = (count >= least) & (count <= (math.inf if most is None else most))
    alone = (grains.owner[: grains.n] < 0) & (least <= 1)
    return Pieces(
        np.concatenate([grains.position[alone], clumps.position[chosen]]).astype(float),
        np.concatenate([grains.velocity[alone], clumps.velocity[chosen]]).astype(float),
        np.concatenate([grains.mass[alone], clumps.mass[chosen]]).astype(float),
    )
