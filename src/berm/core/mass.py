"""Mass properties of solids, exact and per unit density: volume, centre, inertia.

[Bell05] 3.4: those of a compound grain come from its spheres, those of a body from its mesh.
Multiply volume and inertia by the density (kg/m^3) to get mass (kg) and inertia (kg m^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from berm.core.checks import check_spheres
from berm.core.errors import InputError
from berm.core.shapes import Box, Capsule, Cone, Cylinder, Mesh, Sphere, Spheres
from berm.core.union import integrals_of_union

Array = NDArray[np.float64]

# Moments closer than this share of the largest are equal: their axes are free to choose.
_EQUAL_MOMENTS = 1e-10
# A mesh that encloses less than this share of its bounding cube is flat.
_FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Volume (m^3), centre (3,) in m, and inertia (3, 3) in m^5 about the centre, density 1."""

    volume: float
    centre: Array
    inertia: Array

    def __post_init__(self) -> None:
        volume = float(self.volume)
        centre, inertia = np.array(self.centre, float), np.array(self.inertia, float)
        if not (np.isfinite(volume) and volume > 0.0):
            raise InputError("MassProperties.volume", self.volume, "a finite volume above 0 m^3")
        if centre.shape != (3,) or not np.isfinite(centre).all():
            raise InputError("MassProperties.centre", self.centre, "three finite numbers, m")
        if inertia.shape != (3, 3) or not np.isfinite(inertia).all():
            raise InputError("MassProperties.inertia", self.inertia, "finite (3, 3), m^5")
        scale = np.abs(inertia).max()
        if np.abs(inertia - inertia.T).max() > 1e-9 * scale or np.linalg.eigvalsh(inertia)[0] <= 0:
            raise InputError(
                "MassProperties.inertia", inertia.tolist(), "symmetric with moments above 0 m^5"
            )
        for name, array in (("centre", centre), ("inertia", 0.5 * (inertia + inertia.T))):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "volume", volume)

    def principal(self) -> tuple[Array, Array]:
        """Return the principal moments (3,) in m^5 and a rotation (3, 3), axes as columns.

        inertia = rotation @ diag(moments) @ rotation.T. Of all right-handed choices it is the one
        nearest to the given axes, so that a body which stands along them, or has no preferred
        axes, stays as it is.
        """
        moments, vectors = np.linalg.eigh(self.inertia)
        low, high = np.diff(moments) <= _EQUAL_MOMENTS * moments[2]
        if low and high:
            rotation: Array = np.eye(3)
        elif low or high:
            rotation = _least_turn(vectors[:, 2 if low else 0])
        else:
            rotation = _nearest_to_identity(vectors)
        return np.einsum("ji,jk,ki->i", rotation, self.inertia, rotation), rotation


def _least_turn(axis: Array) -> Array:
    """Return the smallest rotation that brings a coordinate axis to the line of a unit vector."""
    k = int(np.argmax(np.abs(axis)))
    axis = axis * np.sign(axis[k])
    x, y, z = np.cross(np.eye(3)[k], axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation: Array = np.eye(3) + cross + cross @ cross / (1.0 + axis[k])
    return rotation


def _nearest_to_identity(vectors: Array) -> Array:
    """Return the columns, reordered and with new signs, as the rotation of largest trace."""
    candidates = [
        vectors[:, order] * signs
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    turns = [c for c in candidates if np.linalg.det(c) > 0.0]
    return max(turns, key=lambda c: float(np.trace(c)))


def _from_moments(volume: float, first: Array, second: Array) -> MassProperties:
    """Combine integrals over the solid: 1, x (3,) and x x^T (3, 3), about any origin."""
    centre = first / volume
    about = second - volume * np.outer(centre, centre)
    return MassProperties(volume, centre, np.trace(about) * np.eye(3) - about)


def of_spheres(offsets: ArrayLike, radii: ArrayLike) -> MassProperties:
    """Return the sum over solid spheres: centres (k, 3) in m, radii (k,) in m. [Bell05] 3.4.

    Where spheres overlap, what they share counts for each of them.
    """
    places, sizes = check_spheres("spheres", offsets, radii)
    volumes = 4.0 / 3.0 * np.pi * sizes**3
    volume = float(volumes.sum())
    centre = volumes @ places / volume
    away = places - centre
    # parallel axes (Steiner): own 2/5 m r^2 and m (d^2 1 - d d^T)
    round_part = (volumes * (0.4 * sizes**2 + (away**2).sum(axis=1))).sum()
    inertia = round_part * np.eye(3) - (volumes[:, None] * away).T @ away
    return MassProperties(volume, centre, inertia)


def of_mesh(vertices: ArrayLike, faces: ArrayLike, name: str = "mesh") -> MassProperties:
    """Return the integrals over a closed mesh: vertices (nv, 3) in m, faces (nt, 3). [Mirtich96].

    Faces turn counter-clockwise seen from outside. **Deviation**: the same polynomials are summed
    over the signed tetrahedra from one point to each face, not reduced to edges.
    """
    places = np.array(vertices, np.float64)
    corners = np.array(faces, np.int64)
    if places.ndim != 2 or places.shape[1] != 3 or not np.isfinite(places).all():
        raise InputError(f"{name}: vertices", places.shape, "finite numbers of shape (nv, 3), m")
    if corners.ndim != 2 or corners.shape[1] != 3 or len(corners) == 0:
        raise InputError(f"{name}: shape of faces", corners.shape, "(nt, 3), at least one triangle")
    if corners.min() < 0 or corners.max() >= len(places):
        raise InputError(
            f"{name}: faces", [int(corners.min()), int(corners.max())], f"0..{len(places) - 1}"
        )
    open_edges = _open_edges(places, corners)
    if open_edges:
        raise InputError(
            f"{name}: mesh", f"{open_edges} edges without a partner", "a closed mesh, faces alike"
        )
    apex = places.mean(axis=0)  # near the body: far from the origin digits would be lost
    a, b, c = np.moveaxis(places[corners] - apex, 1, 0)
    det = np.einsum("ij,ij->i", a, np.cross(b, c))
    total = a + b + c
    volume = float(det.sum() / 6.0)
    cube = float(np.ptp(places, axis=0).max() ** 3)
    if not volume > _FLAT * cube:
        what = "no volume" if abs(volume) <= _FLAT * cube else f"volume {volume:.6g} m^3"
        raise InputError(f"{name}: mesh", what, "above 0: faces counter-clockwise from outside")
    first = det @ total / 24.0
    second = sum((det[:, None] * p).T @ p for p in (a, b, c, total)) / 120.0
    own = _from_moments(volume, first, second)
    return MassProperties(volume, apex + own.centre, own.inertia)


def _open_edges(vertices: Array, faces: NDArray[np.int64]) -> int:
    """Count directed edges (a, b) that no face passes as (b, a); equal vertices are one."""
    _, merged = np.unique(vertices, axis=0, return_inverse=True)
    corners = merged.reshape(-1)[faces]
    directed = corners[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    way = np.sign(directed[:, 1] - directed[:, 0])
    _, edge = np.unique(np.sort(directed, axis=1), axis=0, return_inverse=True)
    return int(np.abs(np.bincount(edge.reshape(-1), weights=way)).sum())


def _frustum(bottom: float, top: float, height: float) -> tuple[float, Array, Array]:
    """Integrate 1, x, x x^T over a truncated cone about z, from -height/2 to height/2."""
    a, b, h = bottom, top, height
    area = np.pi * h * np.array(  # integrals of t^k r(t)^2, t from 0 to 1
        [(a * a + a * b + b * b) / 3, (a * a + 2 * a * b + 3 * b * b) / 12,
         (a * a + 3 * a * b + 6 * b * b) / 30]
    )  # fmt: skip
    z1 = h * (area[1] - 0.5 * area[0])
    z2 = h * h * (area[2] - area[1] + 0.25 * area[0])
    x2 = np.pi * h / 20 * (a**4 + a**3 * b + a * a * b * b + a * b**3 + b**4)
    return float(area[0]), np.array([0.0, 0.0, z1]), np.diag([x2, x2, z2])


def _turned(shape: Cylinder | Cone) -> MassProperties:
    """Integrate over a cylinder, a cone, or the tube between two of them."""
    if isinstance(shape, Cylinder):
        bottom = top = shape.radius
    else:
        bottom, top = shape.radius_bottom, shape.radius_top
    if not shape.open_ends:
        return _from_moments(*_frustum(bottom, top, shape.height))
    wall = float(shape.wall or 0.0)
    bore = (bottom, top) if shape.inside else (bottom - wall, top - wall)
    outer = _frustum(bore[0] + wall, bore[1] + wall, shape.height)
    inner = _frustum(*bore, shape.height)
    return _from_moments(outer[0] - inner[0], outer[1] - inner[1], outer[2] - inner[2])


def of_torus(ring_radius: float, radius: float) -> MassProperties:
    """Return those of a solid ring about z: circle of `ring_radius`, thickness 2 `radius` (m)."""
    volume = 2.0 * np.pi**2 * ring_radius * radius**2
    along = ring_radius**2 + 0.75 * radius**2
    across = 0.5 * ring_radius**2 + 0.625 * radius**2
    return MassProperties(volume, np.zeros(3), volume * np.diag([across, across, along]))


@lru_cache(maxsize=256)
def _of_union(shape: Spheres) -> MassProperties:
    """Return those of a union of spheres; many bodies may share one shape."""
    return _from_moments(*integrals_of_union(shape.centres, shape.radii))


def of_shape(shape: Any) -> MassProperties:
    """Return those of a solid from `berm.core.shapes`; one without a finite solid is refused.

    A tube (`open_ends`) is a solid whichever of its faces the radius names.
    """
    kind = type(shape).__name__
    tube = isinstance(shape, Cylinder | Cone) and shape.open_ends
    if getattr(shape, "inside", False) and not tube:
        raise InputError(f"mass of {kind}", "inside=True", "a solid: what is around has no end")
    if isinstance(shape, Sphere):
        return of_spheres(np.zeros((1, 3)), shape.radius)
    if isinstance(shape, Spheres):
        return _of_union(shape)
    if isinstance(shape, Box):
        squares = np.array(shape.size) ** 2 / 12.0
        volume = float(np.prod(shape.size))
        return _from_moments(volume, np.zeros(3), volume * np.diag(squares))
    if isinstance(shape, Cylinder | Cone):
        return _turned(shape)
    if isinstance(shape, Capsule):
        r, h = shape.radius, shape.height
        volume, first, second = _frustum(r, r, h)
        ball = 4.0 / 3.0 * np.pi * r**3
        caps = ball * np.array([r * r / 5, r * r / 5, h * h / 4 + 3 * h * r / 8 + r * r / 5])
        return _from_moments(volume + ball, first, second + np.diag(caps))
    if isinstance(shape, Mesh):
        if shape.two_sided:
            what = "two_sided=True" if shape.closed else "an open mesh"
            raise InputError(f"mass of mesh {shape.name!r}", what, "a closed, one-sided mesh")
        return of_mesh(shape.vertices, shape.faces, shape.name)
    solids = "Sphere, Spheres, Box, Cylinder, Cone, Capsule, closed Mesh"
    raise InputError("mass of shape", kind, f"a finite solid: {solids}")
