"""The distance to a surface in a narrow band of voxels, and points spread evenly over it.

[Bell05] 3.3.1: exact distances at the nodes of a voxel grid near the surface, interpolated
trilinearly in between. Offsets (m) count outwards, to where grains live.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from berm.core.errors import InputError
from berm.core.shapes import Box, Capsule, Cone, Cylinder, Mesh, Shape, Sphere, Spheres
from berm.solvers.walls.shapes import Packed, pack, signed_distance

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Field = Callable[[Array], tuple[Array, Array]]

_CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
_AROUND = np.array([[i, j, k] for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)])
_COARSE = 8  # the search for cells starts with about this many along the longest side
_LAYER = 0.5  # of a voxel's edge: half the thickness of the layer that is cut into cells
_CLOSE = 1e-6  # of an edge: a point this near is on the surface
_MOST_CELLS = 3_000_000
_STRAY = 0.5  # of a cell: samples thrown farther from the surface are left out


def bounds(shape: Shape) -> tuple[Array, Array]:
    """Return the corners (3,), (3,) of the box around a finite shape (m)."""
    if isinstance(shape, Mesh):
        return shape.vertices.min(axis=0), shape.vertices.max(axis=0)
    if isinstance(shape, Spheres):
        radii = shape.radii[:, None]
        return (shape.centres - radii).min(axis=0), (shape.centres + radii).max(axis=0)
    half: list[float] | None = None
    if isinstance(shape, Sphere):
        half = [shape.radius] * 3
    elif isinstance(shape, Box) and not shape.open_top:
        half = [0.5 * edge for edge in shape.size]
    elif isinstance(shape, Capsule):
        half = [shape.radius, shape.radius, 0.5 * shape.height + shape.radius]
    elif isinstance(shape, Cylinder | Cone):
        wide = shape.radius if isinstance(shape, Cylinder) else 0.0
        if isinstance(shape, Cone):
            wide = max(shape.radius_bottom, shape.radius_top)
        wide += (shape.wall or 0.0) if shape.inside else 0.0
        half = [wide, wide, 0.5 * shape.height]
    if half is None:
        raise InputError(
            "surface of shape", type(shape).__name__, "a shape whose surface is finite and closed"
        )
    return -np.array(half), np.array(half)


class Surface:
    """The surface at `offset` (m) from a shape: exact distances to it, and the cells around it.

    edge (m): of the voxels; cells (n, 3): whole numbers of all voxels that reach within half an
    edge of the surface; phi (n,) m: distance of their centres.
    """

    def __init__(self, shape: Shape, offset: float, edge: float) -> None:
        self.shape, self.offset, self.edge = shape, offset, edge
        low, high = bounds(shape)
        self.packed: Packed = pack(shape)
        pad = abs(offset) + edge
        self.low: Array = low - pad
        self._whole: list[tuple[Index, int]] = []  # cells wholly inside, and their edge in voxels
        self.cells, self.phi = self._around(high - low + 2.0 * pad)

    def exact(self, points: Array) -> tuple[Array, Array]:
        """Return the distance (n,) in m to the offset surface, and the normals (n, 3)."""
        phi, normal = signed_distance(self.packed, points)
        return phi - self.offset, normal

    def _around(self, size: Array) -> tuple[Index, Array]:
        """Halve cells down to `edge`; none is lost, since |grad phi| = 1."""
        halvings = max(0, int(np.ceil(np.log2(size.max() / self.edge / _COARSE))))
        edge = self.edge * 2**halvings
        count = np.ceil(size / edge).astype(np.int64)
        cells = np.stack(np.meshgrid(*map(np.arange, count), indexing="ij"), axis=-1).reshape(-1, 3)
        while True:
            phi = self.exact(self.low + edge * (cells + 0.5))[0]
            near = np.abs(phi) <= 0.5 * np.sqrt(3.0) * edge + _LAYER * self.edge
            self._whole.append((cells[~near & (phi < 0.0)], 2**halvings))
            cells = cells[near]
            if halvings == 0:
                return cells, phi[near]
            if 8 * len(cells) > _MOST_CELLS:
                raise InputError(
                    "voxels around the surface: edge", self.edge, "a larger radius for this body"
                )
            cells = (2 * cells[:, None] + _CORNERS).reshape(-1, 3)
            halvings, edge = halvings - 1, 0.5 * edge

    def inside(self) -> Array:
        """Return the centres (n, 3) in m of all voxels whose centre is inside."""
        parts = [self.cells[self.phi < 0.0]]
        for cells, times in self._whole:
            if len(cells) * times**3 > _MOST_CELLS:
                raise InputError("voxels inside: edge", self.edge, "a larger one for this body")
            block = np.stack(np.meshgrid(*3 * [np.arange(times)], indexing="ij"), axis=-1)
            parts.append((times * cells[:, None] + block.reshape(-1, 3)).reshape(-1, 3))
        centres: Array = self.low + self.edge * (np.concatenate(parts) + 0.5)
        return centres

    def project(self, points: Array, times: int) -> tuple[Array, Array]:
        """Return points (n, 3) moved onto the surface by exact distances, and what is left (n,).

        Inside an acute edge a point goes to and fro between two faces, ever closer.
        """
        points = points.copy()
        phi, normal = self.exact(points)
        for _ in range(times):
            off = np.flatnonzero(np.abs(phi) > _CLOSE * self.edge)
            if len(off) == 0:
                break
            points[off] -= phi[off, None] * normal[off]
            phi[off], normal[off] = self.exact(points[off])
        return points, phi


class Band:
    """Distances and normals of a `Surface` by trilinear interpolation. [Bell05] 3.3.1."""

    def __init__(self, surface: Surface) -> None:
        self.surface, self.edge = surface, surface.edge
        cells = surface.cells + 1  # the ring around may be at -1
        self.low = surface.low - self.edge
        self.shape = cells.max(axis=0, initial=0) + 3
        ring = self._key((cells[:, None] + _AROUND).reshape(-1, 3))
        self.keys = np.unique(ring)
        corners = self._cells(self.keys)[:, None] + _CORNERS
        nodes, number = np.unique(self._key(corners.reshape(-1, 3)), return_inverse=True)
        phi = surface.exact(self.low + self.edge * self._cells(nodes))[0]
        self.phi = phi[number.reshape(-1, 8)]

    def misfit(self) -> float:
        """Return the share of cells whose centre is wrong by more than a quarter of an edge.

        A body thinner than a voxel falls between the nodes.
        """
        centres = self.low + self.edge * (self.surface.cells + 1.5)
        error = np.abs(self(centres)[0] - self.surface.phi)
        return float(np.mean(error > 0.25 * self.edge)) if len(error) else 0.0

    def _cells(self, keys: Index) -> Index:
        return np.stack(np.unravel_index(keys, tuple(self.shape)), axis=1)

    def _key(self, cells: Index) -> Index:
        return (cells[:, 0] * self.shape[1] + cells[:, 1]) * self.shape[2] + cells[:, 2]

    def __call__(self, points: Array) -> tuple[Array, Array]:
        """Return distance (n,) in m and unit normals (n, 3); exact ones outside of the band."""
        scaled = (points - self.low) / self.edge
        cell = np.floor(scaled).astype(np.int64)
        x, y, z = (scaled - cell).T
        key = self._key(cell)
        row = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        c = self.phi[row].T.reshape(2, 2, 2, -1)
        cx, dx = c[0] + x * (c[1] - c[0]), c[1] - c[0]
        cy, dy = cx[0] + y * (cx[1] - cx[0]), cx[1] - cx[0]
        dxy = dx[0] + y * (dx[1] - dx[0])
        phi = cy[0] + z * (cy[1] - cy[0])
        slope = np.stack(
            [dxy[0] + z * (dxy[1] - dxy[0]), dy[0] + z * (dy[1] - dy[0]), cy[1] - cy[0]], axis=1
        )
        length = np.linalg.norm(slope, axis=1)
        normal = slope / np.maximum(length, 1e-300)[:, None]
        in_grid = ((cell >= 0) & (cell < self.shape)).all(axis=1)
        lost = ~in_grid | (self.keys[row] != key) | (length < 1e-3 * self.edge)
        if lost.any():
            phi[lost], normal[lost] = self.surface.exact(points[lost])
        return phi, normal


def samples(
    surface: Surface, field: Field, each: float, rng: np.random.Generator
) -> tuple[Array, float]:
    """Return points (n, 3) spread evenly over a surface, and its area (m^2), about.

    each (m^2): area for one point. Points are thrown into the cells; those that `field` sees
    in the layer around the surface go to the nearest point of it.
    """
    edge, cells = surface.edge, surface.cells
    total = int(np.ceil(len(cells) * edge**2 / each))  # the layer is as thick as an edge
    if total == 0:
        return np.zeros((0, 3)), 0.0
    host = cells[rng.integers(0, len(cells), total)]
    points = surface.low + edge * (host + rng.random((total, 3)))
    phi, normal = field(points)
    kept = np.abs(phi) < _LAYER * edge
    area = float(kept.mean()) * len(cells) * edge**2
    points = points[kept] - phi[kept, None] * normal[kept]
    phi, normal = surface.exact(points)
    good = np.abs(phi) < _STRAY * edge
    return (points - phi[:, None] * normal)[good], area
