"""Earthwork: cut and fill against a design surface, profiles, volumes between two states.

The surface that is measured is the ground with the grains that stand on it, which take the room
that they have in the packing they come from, evened out over neighbours so that no volume is lost.
Grains in the air, in a bucket or on a truck do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.errors import InputError

if TYPE_CHECKING:
    from berm.world.terrain.terrain import Terrain
    from berm.world.world import World

Array = npt.NDArray[Any]
Design = float | npt.ArrayLike | Callable[[Array, Array], Any]

AIR = 4.0  # grain radii between two grains, one above the other, from which on the upper one is
# held by something else
EVEN = 6  # rounds in which columns with grains level out: a grain is a third of a column's height


@dataclass(frozen=True)
class Earthwork:
    """Volumes in m^3: cut, of what is missing below a surface; fill, of what lies above it."""

    cut: float
    fill: float

    @property
    def net(self) -> float:
        """Fill less cut."""
        return self.fill - self.cut


@dataclass(frozen=True, eq=False)
class Profile:
    """Heights (m) along a line, by the distance (m) from its start."""

    distance: Array
    height: Array


def terrain_of(world: World) -> Terrain:
    """Return the terrain of a world, or say that it has none."""
    if world.terrain is None:
        raise InputError("earthwork", "a world without terrain", "one with add_terrain")
    return world.terrain


def ground_surface(world: World) -> Array:
    """Heights (nx, ny) m of ground and of the grains that stand on it; a copy."""
    terrain = terrain_of(world)
    ground, g = terrain.heights.copy(), world.grains
    rows = np.flatnonzero(~g.fixed & np.isin(g.material[: g.n], terrain.zone.kinds))
    where = g.position[rows].astype(float)
    nx, ny = ground.shape
    i, j = (
        np.floor((where[:, k] - terrain.origin[k]) / terrain.cell + 0.5).astype(int) for k in (0, 1)
    )
    inside = (i >= 0) & (j >= 0) & (i < nx) & (j < ny)
    column, z = (i * ny + j)[inside], where[inside, 2]
    if not len(z):
        return ground
    order = np.lexsort((z, column))
    column, z = column[order], z[order]
    first = np.r_[True, column[1:] != column[:-1]]
    below = np.where(first, ground.reshape(-1)[column], np.r_[z[0], z[:-1]])
    # a grain stands if neither it nor one below it in its column has air under it
    holes = np.cumsum(z - below > AIR * terrain.grain)
    start = np.maximum.accumulate(np.where(first, np.arange(len(z)), 0))
    before = np.where(start > 0, holes[start - 1], 0)
    stands = holes == before
    room = 4.0 / 3.0 * np.pi * g.radius[rows][inside][order].astype(float) ** 3
    room /= terrain.zone.packing.density * terrain.columns.area
    heaped = np.bincount(column[stands], weights=room[stands], minlength=ground.size)
    heaped = heaped.reshape(nx, ny)
    return _evened(ground + heaped, (heaped > 0.0) | terrain.zone.pit)


def _evened(heights: Array, mask: Array) -> Array:
    """Let columns of a mask level out with their neighbours in it; the volume stays."""
    for _ in range(EVEN):
        change = np.zeros_like(heights)
        for axis in (0, 1):
            high, low = (_cut(heights, axis, side) for side in (1, -1))
            both = _cut(mask, axis, 1) & _cut(mask, axis, -1)
            flow = np.where(both, 0.125 * (high - low), 0.0)
            _cut(change, axis, -1)[...] += flow
            _cut(change, axis, 1)[...] -= flow
        heights = heights + change
    return heights


def _cut(values: Array, axis: int, side: int) -> Array:
    """All but the first (1) or the last (-1) row along an axis: a view."""
    part = [slice(None)] * 2
    part[axis] = slice(1, None) if side > 0 else slice(None, -1)
    return values[tuple(part)]


def cut_and_fill(
    world: World, design: Design, region: tuple[Sequence[float], Sequence[float]] | None = None
) -> Earthwork:
    """Volumes (m^3) below and above a design surface.

    design: a height (m), heights (nx, ny), or a function of arrays x and y (m); region: corners
    (low, high) in x and y, m; by default the whole field. Each column counts with its area.
    """
    terrain = terrain_of(world)
    x, y = _nodes(terrain)
    given = design(*np.meshgrid(x, y, indexing="ij")) if callable(design) else design
    try:
        wanted = np.broadcast_to(np.asarray(given, float), terrain.heights.shape)
    except (TypeError, ValueError):
        shape = terrain.heights.shape
        raise InputError("cut and fill: design", np.shape(given), f"a height, or {shape}") from None
    if not np.isfinite(wanted).all():
        raise InputError("cut and fill: design", "not finite", "finite heights in m")
    return _earthwork(terrain, ground_surface(world) - wanted, region)


def between(
    world: World,
    before: npt.ArrayLike,
    region: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Earthwork:
    """Volumes (m^3) dug and heaped since a state whose `ground_surface` was `before` (nx, ny) m."""
    surface = np.asarray(before, float)
    if surface.shape != terrain_of(world).heights.shape:
        shape = terrain_of(world).heights.shape
        raise InputError("volume between states: before", surface.shape, f"heights {shape}")
    return cut_and_fill(world, surface, region)


def profile(
    world: World, start: Sequence[float], stop: Sequence[float], step: float | None = None
) -> Profile:
    """Heights along a line from start to stop (x, y in m), linear between columns.

    step (m): between points; by default half a column.
    """
    terrain = terrain_of(world)
    wide = 0.5 * terrain.cell if step is None else step
    checks.number("profile: step", wide, "above 0 m", lambda s: 0.0 < s < np.inf)
    ends = np.array([_pair("profile: start", start), _pair("profile: stop", stop)])
    length = float(np.linalg.norm(ends[1] - ends[0]))
    nx, ny = terrain.heights.shape
    at = (ends - terrain.origin) / terrain.cell
    if (at < -1e-9).any() or (at > np.array([nx - 1, ny - 1]) + 1e-9).any() or not length > 0.0:
        low = np.array(terrain.origin)
        high = low + terrain.cell * np.array([nx - 1, ny - 1])
        allowed = f"two different places from {low.tolist()} to {high.round(9).tolist()}"
        raise InputError("profile: start, stop", ends.tolist(), allowed)
    share = np.linspace(0.0, 1.0, round(length / wide) + 1) if length > wide else np.array([0, 1.0])
    u, v = (at[0] + share[:, None] * (at[1] - at[0])).T
    i = np.clip(np.floor(u).astype(int), 0, nx - 2)
    j = np.clip(np.floor(v).astype(int), 0, ny - 2)
    a, b, z = u - i, v - j, ground_surface(world)
    low = (1.0 - a) * z[i, j] + a * z[i + 1, j]
    high = (1.0 - a) * z[i, j + 1] + a * z[i + 1, j + 1]
    return Profile(share * length, (1.0 - b) * low + b * high)


def _pair(what: str, given: Sequence[float]) -> Array:
    try:
        found = np.array(given, float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (2,) or not np.isfinite(found).all():
        raise InputError(what, given, "(x, y) in m")
    return found


def _nodes(terrain: Terrain) -> tuple[Array, Array]:
    x, y = (
        o + terrain.cell * np.arange(n)
        for o, n in zip(terrain.origin, terrain.heights.shape, strict=True)
    )
    return x, y


def _earthwork(
    terrain: Terrain, above: Array, region: tuple[Sequence[float], Sequence[float]] | None
) -> Earthwork:
    inside = np.ones(above.shape, bool)
    if region is not None:
        low, high = (_pair("cut and fill: region", corner) for corner in region)
        if not (low < high).all():
            raise InputError(
                "cut and fill: region", (low.tolist(), high.tolist()), "low below high, (x, y) each"
            )
        x, y = _nodes(terrain)
        inside = np.outer((x >= low[0]) & (x <= high[0]), (y >= low[1]) & (y <= high[1]))
    volumes = terrain.columns.area * above[inside]
    return Earthwork(float(-volumes[volumes < 0.0].sum()), float(volumes[volumes > 0.0].sum()))
