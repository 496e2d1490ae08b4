"""Rocks from a seed: composite spheres, convex and concave meshes, boxes; and heaps of them.

Composite spheres after [Lacoursiere10] C. Lacoursiere, M. Servin, A. Backman: Fast and stable
simulation of granular matter and machines, DEM5, 2010: a few spheres that overlap.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull

from berm.core import checks
from berm.core.errors import InputError
from berm.core.mass import of_shape
from berm.core.rotations import matrix_of, random_rotations
from berm.core.shapes import Box, Mesh, Shape, Spheres

if TYPE_CHECKING:
    from berm.core.bodies import Body
    from berm.core.materials import Material
    from berm.world.world import World

Array = npt.NDArray[np.float64]

KINDS = ("spheres", "convex", "concave", "box")
TEMPLATES = 24  # different rocks in a heap: more take room in every table
FLATNESS = ((0.7, 1.0), (0.5, 0.9))  # middle and shortest axis, of the longest
SPHERES = (4, 8)  # of a composite rock
THICK = (0.48, 0.66)  # radii of its spheres, of half its longest axis
INNERMOST = 0.9  # of its radius: a sphere is no farther out, so that no hole is left in the middle
CONVEX_POINTS, CONCAVE_POINTS = 80, 100
ROUGH = 0.12  # of the radius: how much convex rocks differ from an ellipsoid
DENTS, DEEP, WIDE = 4, (0.15, 0.35), (0.4, 0.7)  # of a concave rock: depth in radii, width in rad
ROOM = 1.01  # between rocks at the start, of the largest one's ball


def rock(seed: int, size: float, kind: str = "spheres") -> Shape:
    """Return the same rock for the same seed; size (m): its longest extent along its axes.

    kind: spheres (4 to 8 that overlap), convex or concave (closed meshes), box. Its centre of mass
    is its origin.
    """
    wanted = checks.number("rock: size", size, "finite, above 0 m", lambda x: 0.0 < x < math.inf)
    rng = np.random.default_rng(checks.whole("rock: seed", seed, 0))
    axes = np.array([1.0, *(rng.uniform(low, high) for low, high in FLATNESS)])
    if kind == "box":
        x, y, z = (wanted * axes).tolist()
        return Box((x, y, z))
    if kind == "spheres":
        centres, radii = _spheres(rng, axes)
        reach = np.ptp(np.stack([centres - radii[:, None], centres + radii[:, None]]), axis=(0, 1))
        scale = wanted / float(reach.max())
        made = Spheres(scale * centres, scale * radii)
        return Spheres(made.centres - of_shape(made).centre, made.radii)
    if kind not in KINDS:
        raise InputError("rock: kind", kind, ", ".join(KINDS))
    vertices, faces = (_convex if kind == "convex" else _concave)(rng, axes)
    vertices = vertices * (wanted / float(np.ptp(vertices, axis=0).max()))
    mesh = Mesh(vertices, faces, name="rock")
    return Mesh(mesh.vertices - of_shape(mesh).centre, mesh.faces, name="rock")


def _directions(rng: np.random.Generator, count: int) -> Array:
    """Unit vectors that repel each other until they are spread about evenly."""
    d = rng.normal(size=(count, 3))
    d /= np.linalg.norm(d, axis=1)[:, None]
    for _ in range(60):
        apart = d[:, None] - d[None]
        square = (apart**2).sum(axis=2) + 1e-3
        d += 0.3 / count * (apart / square[..., None] ** 1.5).sum(axis=1)
        d /= np.linalg.norm(d, axis=1)[:, None]
    return d


def _spheres(rng: np.random.Generator, axes: Array) -> tuple[Array, Array]:
    count = int(rng.integers(SPHERES[0], SPHERES[1] + 1))
    radii = rng.uniform(*THICK, count) * axes.mean()
    away = np.minimum(1.0 - radii, INNERMOST * radii)
    return _directions(rng, count) * axes * away[:, None], radii


def _convex(rng: np.random.Generator, axes: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """Hull of points about an ellipsoid."""
    points = _directions(rng, CONVEX_POINTS) * axes
    points *= 1.0 + rng.uniform(-ROUGH, ROUGH, (CONVEX_POINTS, 1))
    return _hull(points)


def _concave(rng: np.random.Generator, axes: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """Points about an ellipsoid with dents, joined as on a sphere: seen whole from the middle."""
    d, faces = _hull(_directions(rng, CONCAVE_POINTS))
    radius = 1.0 + rng.uniform(-0.5 * ROUGH, 0.5 * ROUGH, len(d))
    for middle in _directions(rng, DENTS):
        deep, wide = rng.uniform(*DEEP), rng.uniform(*WIDE)
        angle = np.arccos(np.clip(d @ middle, -1.0, 1.0))
        radius -= deep * np.exp(-((angle / wide) ** 2))
    return d * radius[:, None] * axes, faces


def _hull(points: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """Vertices and faces of the convex hull."""
    simplices = ConvexHull(points).simplices
    used, faces = np.unique(simplices, return_inverse=True)
    return points[used], faces.reshape(-1, 3).astype(np.int64)


def add_rocks(
    world: World,
    count: int,
    size: float | tuple[float, float],
    kind: str = "spheres",
    seed: int = 0,
    base: npt.ArrayLike = (0.0, 0.0, 0.0),
    across: tuple[int, int] | None = None,
    material: str | Material = "gravel",
    name: str = "rock",
    **more: Any,
) -> list[Body]:
    """Add dynamic rocks that do not overlap, on a lattice above `base` and turned at random.

    size (m): that of all, or (smallest, largest). base (m): the middle of the lattice's floor,
    which no rock reaches through; across: rocks along x and y, without it as many as upwards. Rocks
    share a few dozen shapes. more: of `World.add_body`, such as velocity.
    """
    many = checks.whole("add_rocks: count", count, 0)
    low, high = _sizes(size)
    origin = checks.vector("add_rocks: base", base, "three finite numbers, m")
    if kind not in KINDS:
        raise InputError("add_rocks: kind", kind, ", ".join(KINDS))
    side = max(1, math.ceil(many ** (1.0 / 3.0) - 1e-9))
    nx, ny = (side, side) if across is None else _across(across)
    if many == 0:
        return []
    rng = np.random.default_rng(checks.whole("add_rocks: seed", seed, 0))
    kinds = min(many, TEMPLATES)
    sizes = np.linspace(low, high, kinds)
    seeds = rng.integers(2**31, size=kinds)
    shapes = [rock(int(s), float(w), kind) for s, w in zip(seeds, sizes, strict=True)]
    pitch = ROOM * 2.0 * max(reach(shape) for shape in shapes)
    which = np.concatenate([rng.permutation(kinds) for _ in range(-(-many // kinds))])[:many]
    poses = random_rotations(rng, many)
    bodies = []
    for k in range(many):
        i, j, layer = k % nx, k // nx % ny, k // (nx * ny)
        place = np.array([i - 0.5 * (nx - 1), j - 0.5 * (ny - 1), layer + 0.5])
        bodies.append(
            world.add_body(
                shapes[which[k]],
                name=_free(world, name, k),
                material=material,
                dynamic=True,
                position=origin + pitch * place,
                rotation=matrix_of(poses[k]),
                **more,
            )
        )
    return bodies


def reach(shape: Shape) -> float:
    """How far (m) a rock reaches from its origin."""
    if isinstance(shape, Spheres):
        return float((np.linalg.norm(shape.centres, axis=1) + shape.radii).max())
    if isinstance(shape, Box):
        return 0.5 * math.hypot(*shape.size)
    assert isinstance(shape, Mesh)
    return float(np.linalg.norm(shape.vertices, axis=1).max())


def _free(world: World, name: str, k: int) -> str:
    """A name that no other body has."""
    taken = world.bodies.names
    label = f"{name} {k}"
    more = 1
    while label in taken:
        more += 1
        label = f"{name} {k}, {more}"
    return label


def _sizes(size: Any) -> tuple[float, float]:
    given = size if isinstance(size, tuple | list) else (size, size)
    if len(given) != 2:
        raise InputError("add_rocks: size", size, "a number, or (smallest, largest), m")
    low, high = (
        checks.number("add_rocks: size", one, "finite, above 0 m", lambda x: 0.0 < x < math.inf)
        for one in given
    )
    if low > high:
        raise InputError("add_rocks: size", size, "(smallest, largest)")
    return low, high


def _across(across: Any) -> tuple[int, int]:
    try:
        nx, ny = across
    except (TypeError, ValueError):
        raise InputError("add_rocks: across", across, "two whole numbers from 1 up") from None
    allowed = "two whole numbers from 1 up"
    return (
        checks.whole("add_rocks: across", nx, 1, allowed),
        checks.whole("add_rocks: across", ny, 1, allowed),
    )
