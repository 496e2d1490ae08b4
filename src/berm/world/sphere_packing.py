"""Compound grains from solids: a body filled with the largest spheres that fit into it."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from berm.core.clusters import Cluster
from berm.core.errors import InputError
from berm.core.mass import of_shape
from berm.core.shapes import Mesh, Shape
from berm.world.band import Surface, samples

Array = NDArray[np.float64]

NODES = 15_000  # of the grid that fills the body, where only a count is given
HALVINGS = 2  # of that grid, where it does not hold as many spheres
SKIN = 0.25  # squared edges of surface for each point on it
FINENESS = 0.5  # edge of the grid, of the smallest radius
CLIMBS = 8  # steps of a sphere to where more fits
_WAYS = np.array([w for w in product((-1.0, 0.0, 1.0), repeat=3) if any(w)])


def pack_spheres(
    shape: Shape, radius: float | None = None, count: int | None = None, name: str | None = None
) -> Cluster:
    """Fill a closed mesh or a solid with spheres: a cluster with the mass of the solid itself.

    Greedy: of all places that no sphere holds yet, the deepest gets the largest sphere that fits.
    Spheres lie within the solid and may overlap. radius (m): smallest sphere, count: most spheres;
    give one of them or both.
    """
    if radius is None and count is None:
        raise InputError("pack_spheres: radius, count", None, "one of them or both")
    if radius is not None and not (np.isfinite(radius) and radius > 0.0):
        raise InputError("pack_spheres: radius", radius, "a finite length above 0 m")
    if count is not None and (isinstance(count, bool) or int(count) != count or count < 1):
        raise InputError("pack_spheres: count", count, "a whole number from 1 up")
    own = of_shape(shape)
    edge = np.cbrt(own.volume / NODES) if radius is None else FINENESS * radius
    for _ in range(1 if radius is not None else 1 + HALVINGS):
        centres, radii = _fill(shape, edge, radius or 0.0, count)
        if count is None or len(radii) >= count:
            break
        edge *= 0.5  # thin bodies need finer voxels
    if radius is not None and len(radii) == 0:
        raise InputError("pack_spheres: radius", radius, "one that fits into the body")
    if radius is None and count is not None and len(radii) < count:
        raise InputError("pack_spheres: count", count, f"at most {len(radii)} for this body")
    label = name or (shape.name if isinstance(shape, Mesh) else type(shape).__name__.lower())
    mesh = (shape.vertices, shape.faces) if isinstance(shape, Mesh) else None
    return Cluster(centres, radii, label, own, mesh)


def _fill(shape: Shape, edge: float, smallest: float, count: int | None) -> tuple[Array, Array]:
    """Return centres (k, 3) and radii (k,), largest first."""
    surface = Surface(shape, 0.0, edge)
    skin, _ = samples(surface, surface.exact, SKIN * edge**2, np.random.default_rng(0))
    places = surface.inside()
    if len(places) == 0:
        return places, np.zeros(0)
    # to the nearest of many points of the surface: deep inside, exact distances take long
    tree = cKDTree(skin)
    depth = tree.query(places)[0]
    fits = depth >= max(smallest, edge)
    places, depth = places[fits], depth[fits]
    free = np.ones(len(places), bool)
    taken: list[int] = []
    for i in np.argsort(-depth, kind="stable").tolist():
        if free[i]:
            taken.append(i)
            if len(taken) == count:
                break
            gap = places - places[i]
            free &= np.einsum("ij,ij->i", gap, gap) > depth[i] ** 2
    centres = _climb(tree, places[taken], depth[taken], edge)
    radii = -surface.exact(centres)[0]
    kept = (radii >= smallest) & (radii > 0.0)
    order = np.argsort(-radii[kept], kind="stable")
    return centres[kept][order], radii[kept][order]


def _climb(skin: cKDTree, places: Array, depth: Array, edge: float) -> Array:
    """Return places moved to where they are deepest, each within its voxel, lest it leave a gap."""
    start, size = places, np.full(len(places), 0.25 * edge)
    for _ in range(CLIMBS):
        trial = places[:, None] + size[:, None, None] * _WAYS
        trial = np.clip(trial, start[:, None] - 0.5 * edge, start[:, None] + 0.5 * edge)
        new = skin.query(trial)[0]
        best = new.argmax(axis=1)
        row = np.arange(len(places))
        better = new[row, best] > depth
        places = np.where(better[:, None], trial[row, best], places)
        depth = np.where(better, new[row, best], depth)
        size = np.where(better, size, 0.5 * size)
    return places
