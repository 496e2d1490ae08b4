"""Models of compound grains in a scene file: their shapes, and where they are at the start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from berm.core import clusters, shapes
from berm.io.schema import ZERO, Number, Part, Positive, Vec3

Count = Annotated[int, Field(ge=1)]


class TetrahedronPart(Part):
    """Four spheres."""

    kind: Literal["tetrahedron"]
    radius: Positive
    """Of a sphere, m."""
    spacing: Positive = clusters.TOUCHING
    """Of neighbours, in radii; 2: they touch."""

    def make(self, folder: Path) -> clusters.Cluster:
        """Return the cluster."""
        return clusters.tetrahedron(self.radius, self.spacing)


class CubePart(Part):
    """Eight spheres."""

    kind: Literal["cube"]
    radius: Positive
    """Of a sphere, m."""
    spacing: Positive = clusters.TOUCHING
    """Of neighbours, in radii; 2: they touch."""

    def make(self, folder: Path) -> clusters.Cluster:
        """Return the cluster."""
        return clusters.cube(self.radius, self.spacing)


class RodPart(Part):
    """Spheres in a row."""

    kind: Literal["rod"]
    radius: Positive
    """Of a sphere, m."""
    count: Count = 3
    """Spheres."""
    spacing: Positive = clusters.TOUCHING
    """Of neighbours, in radii; 2: they touch."""

    def make(self, folder: Path) -> clusters.Cluster:
        """Return the cluster."""
        return clusters.rod(self.radius, self.count, self.spacing)


class RingPart(Part):
    """Spheres in a circle."""

    kind: Literal["ring"]
    radius: Positive
    """Of a sphere, m."""
    ring_radius: Positive | None = None
    """Of the circle, m."""
    count: Count = 110
    """Spheres."""

    def make(self, folder: Path) -> clusters.Cluster:
        """Return the cluster."""
        return clusters.ring(self.radius, self.ring_radius, self.count)


class SpheresPart(Part):
    """Any spheres that move together."""

    kind: Literal["spheres"]
    offsets: list[Vec3]
    """Centres, m."""
    radii: list[Positive]
    """m, one a sphere or one for all."""

    def make(self, folder: Path) -> clusters.Cluster:
        """Return the cluster."""
        return clusters.from_spheres(self.offsets, self.radii)


class MeshClusterPart(Part):
    """A closed mesh from an STL, OBJ or PLY file, as spheres."""

    kind: Literal["covered", "filled"]
    """covered: spheres within its surface, [Bell05] 3.3.1; filled: spheres of all sizes inside."""
    file: str
    """Relative to the scene file."""
    scale: Positive = 1.0
    """Turns the file's unit into metres."""
    radius: Positive
    """Of a sphere, m; filled: of the smallest."""

    def make(self, folder: Path) -> clusters.Cluster:
        """Return the cluster."""
        from berm.world.cover import cover, pack_spheres

        mesh = shapes.Mesh.load(folder / self.file, self.scale)
        if self.kind == "covered":
            return cover(mesh, self.radius, -self.radius)
        return pack_spheres(mesh, self.radius)


ClusterPart = Annotated[
    TetrahedronPart | CubePart | RodPart | RingPart | SpheresPart | MeshClusterPart,
    Field(discriminator="kind"),
]


class ClustersPart(Part):
    """Compound grains at given places, or at random ones in a box; for solver dem."""

    shape: ClusterPart
    positions: list[Vec3] | None = None
    """Centres of mass, m."""
    low: Vec3 | None = None
    """Without positions: corner of the box that they fill, m."""
    high: Vec3 | None = None
    """Opposite corner, m."""
    count: Count | None = None
    """How many in the box."""
    rotation: Literal["random"] | tuple[Number, Number, Number, Number] = "random"
    """Or one quaternion (w, x, y, z) for all."""
    velocity: Vec3 = ZERO
    """m/s."""
    spin: Vec3 = ZERO
    """rad/s."""
    material: str = "gravel"
    """A preset, or one of `materials`."""

    @model_validator(mode="after")
    def _one_way(self) -> ClustersPart:
        box = (self.low, self.high, self.count)
        if (self.positions is None) == (None in box) or (
            self.positions is not None and any(part is not None for part in box)
        ):
            raise ValueError("either positions, or low, high and count")
        return self

    def places(self, cluster: clusters.Cluster, seed: int) -> Any:
        """Return centres (k, 3), none inside another."""
        if self.positions is not None:
            return np.array(self.positions, float).reshape(-1, 3)
        from berm.world.packings import random_drop

        assert self.low is not None and self.high is not None and self.count is not None
        return random_drop(self.low, self.high, cluster.bounding_radius, self.count, seed)[0]
