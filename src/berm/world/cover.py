"""Surface particles: spheres that cover a body, so that it meets grains as they meet each other.

[Bell05] 3.3.1, after [WH94] Witkin and Heckbert, Using particles to sample and control implicit
surfaces, SIGGRAPH 1994: floaters are held on an offset of the surface and repel each other until
they are spread evenly; crowded ones are taken out, and gaps are filled.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from berm.core.clusters import Cluster
from berm.core.errors import InputError
from berm.core.mass import MassProperties, of_shape
from berm.core.shapes import Mesh, Shape
from berm.world.band import Band, Field, Surface, samples
from berm.world.sphere_packing import pack_spheres

__all__ = ["cover", "pack_spheres", "spacing", "surface_particles"]

Array = NDArray[np.float64]

DENSITY = 1.5  # the paper's D: centres about 1.4 radii apart, so that hardly a hole is left
SAMPLES = 10  # points on the surface for each floater, to find gaps
MISFIT = 0.06  # of the voxels: above, exact distances are used throughout
OFF = 0.1  # radii: a floater farther from the surface is dropped
DISORDER = 0.85  # floaters that a relaxed cover holds, of those in a perfect hexagonal one
# all distances below in units of the spacing that floaters should have
DART = 0.75  # seeds no closer than this: about as many as wanted then fit
REACH = 1.5  # where the repulsion ends
PUSH = 0.25  # speed at no distance
LONGEST = 0.15  # of a step
CROWDED = 0.68  # of two closer than this one goes
GAP = 0.82  # a point farther than this from all floaters gets one
CALM = 0.002  # mean step at which floaters have come to rest
ROUNDS, STEPS, LAST_STEPS = 8, 30, 60
PROJECTIONS = 40  # at most
TOO_DEEP = "one that leaves something of the body: go less deep"
BARE, BARE_TRIES = 0.01, 2000  # share of the surface, points tried
EXACT_STEPS = 6  # last of all, on exact distances


def _check(what: str, value: float, zero: bool = False) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number) or (not zero and number <= 0.0):
        raise InputError(what, value, "a finite number" + ("" if zero else " above 0"))
    return number


def spacing(radius: float, density: float) -> float:
    """Return the distance (m) of neighbours in a cover with D / (pi r^2) floaters a unit area."""
    return float(radius * np.sqrt(DISORDER * 2.0 * np.pi / (np.sqrt(3.0) * density)))


def surface_particles(
    shape: Shape,
    radius: float,
    offset: float = 0.0,
    density: float = DENSITY,
    seed: int = 0,
) -> tuple[Array, Array]:
    """Return floaters (n, 3) in m, spread evenly at `offset` from a surface, and phi (n,) in m.

    offset (m): distance of the centres from the surface, negative into the body. density: the
    paper's D, about D A / (pi radius^2) floaters on an area A. phi: exact distance to the offset
    surface, what is left of it.

    **Deviation**: seeds are thrown by area but no closer than DART, not at random in triangles,
    the repulsion keeps its tangential part only ([WH94]), and the last steps use exact distances,
    since interpolated ones are rounded at edges.
    """
    radius = _check("surface particles: radius", radius)
    offset = _check("surface particles: offset", offset, zero=True)
    density = _check("surface particles: density", density)
    if isinstance(shape, Mesh) and shape.two_sided:
        raise InputError(
            f"surface particles: mesh {shape.name!r}", "a sheet", "a closed, one-sided mesh"
        )
    rng = np.random.default_rng(seed)
    far = spacing(radius, density)
    surface = Surface(shape, offset, radius)
    band = Band(surface)
    field: Field = band if band.misfit() < MISFIT else surface.exact
    places, _ = samples(surface, field, np.pi * radius**2 / density / SAMPLES, rng)
    if len(places) == 0:
        raise InputError("surface particles: offset", offset, TOO_DEEP)
    tree = cKDTree(places)
    points = places[_darts(tree, rng.permutation(len(places)), DART * far)]
    for turn in range(ROUNDS):
        points = _float(points, field, far, STEPS)
        thinner = _thin(points, far)
        new = _gaps(thinner, tree, far)
        if len(new) == 0 and len(thinner) == len(points):
            break
        points = thinner if turn == ROUNDS - 1 else np.concatenate([thinner, places[new]])
    points = _float(points, field, far, LAST_STEPS)
    points, _ = surface.project(points, 1)
    points, phi = surface.project(_float(points, surface.exact, far, EXACT_STEPS), PROJECTIONS)
    held = np.abs(phi) < OFF * radius  # where the body ends in a ridge, one may hang in the air
    if not held.any():
        raise InputError("surface particles: offset", offset, TOO_DEEP)
    return points[held], phi[held]


def _darts(tree: cKDTree, order: NDArray[np.int64], apart: float) -> list[int]:
    """Take points in the given order, each if none within `apart` (m) has been taken."""
    free = np.ones(tree.n, bool)
    taken = []
    for i in order.tolist():
        if free[i]:
            taken.append(i)
            free[tree.query_ball_point(tree.data[i], apart)] = False
    return taken


def _float(points: Array, field: Field, far: float, steps: int) -> Array:
    """Let floaters drift by V = V_F + V_R, [Bell05] (20), until they rest."""
    reach = REACH * far
    moved = np.inf
    for _ in range(steps):
        if moved > 0.2 * far:  # since the pairs were found
            pairs = cKDTree(points).query_pairs(reach + 0.4 * far, output_type="ndarray")
            moved = 0.0
        a, b = pairs.T
        gap = points[a] - points[b]
        length = np.sqrt(np.einsum("ij,ij->i", gap, gap)) + 1e-12 * far
        push = PUSH * far * np.maximum(0.0, 1.0 - length / reach) ** 2 / length
        away = push[:, None] * gap
        drift = np.stack(
            [np.bincount(a, v, len(points)) - np.bincount(b, v, len(points)) for v in away.T],
            axis=1,
            dtype=np.float64,  # of no pairs bincount makes whole numbers
            casting="unsafe",
        )
        phi, normal = field(points)
        drift -= np.einsum("ij,ij->i", drift, normal)[:, None] * normal
        drift *= np.minimum(1.0, LONGEST * far / (np.linalg.norm(drift, axis=1) + 1e-300))[:, None]
        points = points + drift - phi[:, None] * normal
        step = np.linalg.norm(drift, axis=1)
        moved += float(step.max(initial=0.0))
        if step.mean() < CALM * far:
            break
    return points


def _thin(points: Array, far: float) -> Array:
    """Take out the more crowded of each pair that is too close. [WH94] death."""
    tree = cKDTree(points)
    pairs = tree.query_pairs(CROWDED * far, output_type="ndarray")
    if len(pairs) == 0:
        return points
    near = tree.query(points, k=min(4, len(points)))[0].sum(axis=1)
    kept = np.ones(len(points), bool)
    order = np.argsort(near[pairs].min(axis=1), kind="stable")
    for i, j in pairs[order].tolist():
        if kept[i] and kept[j]:
            kept[i if near[i] <= near[j] else j] = False
    return points[kept]


def _gaps(points: Array, places: cKDTree, far: float) -> list[int]:
    """Return places where floaters are missing, none close to another. [WH94] fission."""
    distance = cKDTree(points).query(places.data)[0]
    order = np.argsort(-distance, kind="stable")
    return _darts(places, order[distance[order] > GAP * far], GAP * far)


def cover(
    shape: Shape,
    radius: float,
    offset: float = 0.0,
    density: float = DENSITY,
    seed: int = 0,
    name: str | None = None,
    properties: MassProperties | None = None,
) -> Cluster:
    """Cover a body with spheres of `radius` (m): a cluster with the mass of the body itself.

    offset (m): of the centres; -radius: the spheres lie within the body and touch its surface.
    properties: mass of something else than the shape itself ([Bell05] 3.4), as for a container.
    The rest as in `surface_particles`.
    """
    own = of_shape(shape) if properties is None else properties
    points, _ = surface_particles(shape, radius, offset, density, seed)
    label = name or (shape.name if isinstance(shape, Mesh) else type(shape).__name__.lower())
    mesh = (shape.vertices, shape.faces) if isinstance(shape, Mesh) else None
    if isinstance(shape, Mesh):
        _tell_bare(shape, points, abs(offset), spacing(radius, density))
    return Cluster(points, np.full(len(points), float(radius)), label, own, mesh)


def _tell_bare(mesh: Mesh, points: Array, depth: float, far: float) -> None:
    """Warn where parts of a mesh have no floater, since they are too thin for the offset."""
    rng = np.random.default_rng(0)
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    hit = rng.choice(len(area), BARE_TRIES, p=area / area.sum())
    u, v = rng.random((2, BARE_TRIES, 1))
    root = np.sqrt(u)
    tries = (1 - root) * a[hit] + root * (1 - v) * b[hit] + root * v * c[hit]
    away = cKDTree(points).query(tries)[0]
    bare = float(np.mean(away > np.sqrt(3.0) * depth + far))  # a cube's corner is sqrt(3) away
    if bare > BARE:
        warnings.warn(
            f"cover of mesh {mesh.name!r}: {bare:.0%} of its surface have no particle, being "
            f"thinner than offset = {-depth:g} m asks for; go less deep or take a smaller radius",
            stacklevel=3,
        )
