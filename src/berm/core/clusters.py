"""Compound grains: spheres that move together as one rigid body. [Bell05] 3.1, Fig. 4.

A cluster is the shape alone, in the frame in which a rigid body turns most simply: about its
centre of mass, along its principal axes. Many grains may share one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from berm.core.checks import check_spheres
from berm.core.errors import InputError
from berm.core.mass import MassProperties, of_shape, of_spheres, of_torus
from berm.core.registry import Registry
from berm.core.shapes import Capsule

Array = NDArray[np.float64]
TOUCHING = 2.0  # distance of centres, in radii


@dataclass(frozen=True, eq=False)
class Cluster:
    """Spheres fixed to each other: offsets (k, 3) and radii (k,) in m, one radius fits all.

    Give offsets, `properties` and `mesh` (vertices (nv, 3), faces (nt, 3), only drawn) in any
    frame of your own; they are kept in the principal frame, and
    own frame = origin + axes @ principal frame.

    volume      m^3, by default the sum of the spheres; `properties` replace that, and the inertia
    inertia     (3,) principal moments per unit density, m^5
    origin      (3,) centre of mass in the user's frame, m
    axes        (3, 3) principal axes as columns, in the user's frame
    """

    offsets: Array
    radii: Array
    name: str = "cluster"
    properties: MassProperties | None = None
    mesh: tuple[Array, NDArray[np.int64]] | None = None
    volume: float = field(init=False, default=0.0)
    inertia: Array = field(init=False, default_factory=lambda: np.zeros(3))
    origin: Array = field(init=False, default_factory=lambda: np.zeros(3))
    axes: Array = field(init=False, default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        offsets, radii = check_spheres(f"cluster {self.name!r}", self.offsets, self.radii)
        own = of_spheres(offsets, radii) if self.properties is None else self.properties
        if not isinstance(own, MassProperties):
            raise InputError(
                f"cluster {self.name!r}: properties", type(own).__name__, "MassProperties or None"
            )
        moments, axes = own.principal()
        origin = np.array(own.centre)
        values: dict[str, Any] = {
            "offsets": (offsets - origin) @ axes,
            "radii": radii,
            "inertia": moments,
            "origin": origin,
            "axes": axes,
        }
        for array in values.values():
            array.flags.writeable = False
        values["volume"] = own.volume
        values["properties"] = MassProperties(own.volume, np.zeros(3), np.diag(moments))
        if self.mesh is not None:
            values["mesh"] = self._turned_mesh(origin, axes)
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _turned_mesh(self, origin: Array, axes: Array) -> tuple[Array, NDArray[np.int64]]:
        try:
            vertices, faces = self.mesh  # type: ignore[misc]
            places, corners = np.array(vertices, np.float64), np.array(faces, np.int64)
            good = places.shape[1:] == (3,) == corners.shape[1:] and np.isfinite(places).all()
            good = good and corners.min() >= 0 and corners.max() < len(places)
        except (TypeError, ValueError):
            good = False
        if not good:
            raise InputError(
                f"cluster {self.name!r}: mesh", "something else", "vertices (nv, 3), faces (nt, 3)"
            )
        places = (places - origin) @ axes
        places.flags.writeable = corners.flags.writeable = False
        return places, corners

    def __len__(self) -> int:
        return len(self.radii)

    @property
    def bounding_radius(self) -> float:
        """Distance (m) from the centre of mass to the farthest point of the spheres."""
        return float((np.linalg.norm(self.offsets, axis=1) + self.radii).max())

    def placed(self, position: ArrayLike, rotation: ArrayLike) -> Array:
        """Return the spheres' centres (k, 3) for a pose: x + R o_i. [Bell05] 3.1."""
        centres: Array = np.asarray(position, float) + self.offsets @ np.asarray(rotation, float).T
        return centres


Builder = Callable[..., Cluster]
CLUSTERS: Registry[Builder] = Registry("cluster")


def _length(what: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not (np.isfinite(number) and number > 0.0):
        raise InputError(what, value, "a finite length above 0 m")
    return number


def _count(what: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(what, value, "a whole number from 1 up")
    return int(value)


def _spacing(what: str, value: Any) -> float:
    number = _length(what, value)
    if number > TOUCHING:
        raise InputError(what, value, "above 0, at most 2 radii: the spheres touch or overlap")
    return number


@CLUSTERS.register("from_spheres")
def from_spheres(offsets: ArrayLike, radii: ArrayLike, name: str = "cluster") -> Cluster:
    """Return a cluster of any spheres: offsets (k, 3) and radii (k,) in m, one radius fits all."""
    return Cluster(np.asarray(offsets), np.asarray(radii), name)


@CLUSTERS.register("tetrahedron")
def tetrahedron(radius: float, spacing: float = TOUCHING) -> Cluster:
    """Four spheres of `radius` (m), neighbours `spacing` radii apart. [Bell05] Fig. 4, left."""
    r, s = _length("tetrahedron: radius", radius), _spacing("tetrahedron: spacing", spacing)
    corners = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    return Cluster(corners * (s * r / np.sqrt(8.0)), np.full(4, r), "tetrahedron")


@CLUSTERS.register("cube")
def cube(radius: float, spacing: float = TOUCHING) -> Cluster:
    """Eight spheres of `radius` (m), neighbours `spacing` radii apart. [Bell05] Fig. 4, right."""
    r, s = _length("cube: radius", radius), _spacing("cube: spacing", spacing)
    corners = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    return Cluster(corners * (0.5 * s * r), np.full(8, r), "cube")


@CLUSTERS.register("rod")
def rod(radius: float, count: int = 3, spacing: float = TOUCHING) -> Cluster:
    """`count` spheres of `radius` (m) in a row along x, `spacing` radii apart.

    Spheres that overlap would count twice what they share: such a rod weighs what a capsule does.
    """
    r, k = _length("rod: radius", radius), _count("rod: count", count)
    step = _spacing("rod: spacing", spacing) * r
    offsets = np.zeros((k, 3))
    offsets[:, 0] = step * (np.arange(k) - 0.5 * (k - 1))
    properties = None
    if k > 1 and step < TOUCHING * r:
        along_z = of_shape(Capsule(r, (k - 1) * step))
        inertia = along_z.inertia[[2, 1, 0]][:, [2, 1, 0]]
        properties = MassProperties(along_z.volume, along_z.centre, inertia)
    return Cluster(offsets, np.full(k, r), "rod", properties)


@CLUSTERS.register("ring")
def ring(radius: float, ring_radius: float | None = None, count: int = 110) -> Cluster:
    """`count` spheres of `radius` (m) on a circle of `ring_radius` (m) about z. [Bell05] Fig. 9.

    Default ring_radius: neighbours touch. Spheres that overlap would count twice what they share:
    such a ring weighs what a torus does.
    """
    r, k = _length("ring: radius", radius), _count("ring: count", count)
    if k < 3:
        raise InputError("ring: count", count, "3 or more")
    touching = r / np.sin(np.pi / k)
    big = touching if ring_radius is None else _length("ring: ring_radius", ring_radius)
    if big <= r:
        raise InputError("ring: ring_radius", ring_radius, f"above radius = {r} m, or no hole")
    if big > touching * (1 + 1e-9):
        raise InputError(
            "ring: ring_radius", ring_radius, f"at most {touching:.6g} m, where {k} spheres touch"
        )
    angle = 2.0 * np.pi * np.arange(k) / k
    offsets = big * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(k)])
    overlap = big < touching * (1 - 1e-9)
    return Cluster(offsets, np.full(k, r), "ring", of_torus(big, r) if overlap else None)
