"""The upper surface of a heap: height map, profiles and slope angles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError

if TYPE_CHECKING:
    from berm.world.world import World

Array = npt.NDArray[np.float64]
Source = Any  # a world, or positions (n, 3) with radii given beside them
AXES = {"x": 0, "y": 1}
CELL = 0.5  # edge of a cell of the height map, in mean radii
FLAT = 5.0  # mean radii: a lower heap has no flank to lay a line on
MOST, STRAY = 0.9, 5.0  # beyond so many times the distance of most grains, one is a stray
SECTORS = 8  # parts of the full circle whose scatter tells how round the cone is


def spheres(source: Source, radius: npt.ArrayLike | None = None) -> tuple[Array, Array]:
    """Return positions (n, 3) and radii (n,) of a world's grains, or of given positions."""
    if hasattr(source, "grains"):
        position, radii = source.grains.position, source.grains.radius
    else:
        position = np.asarray(source, float)
        if position.ndim != 2 or position.shape[1] not in (3, 4):
            raise InputError("positions", np.shape(source), "shape (n, 3), or (n, 4) with radius")
        if radius is None and position.shape[1] == 3:
            raise InputError("radius", None, "radii (m) beside positions of shape (n, 3)")
        radii = position[:, 3] if radius is None else radius
        position = position[:, :3]
    where = np.asarray(position, float)
    return where, np.broadcast_to(np.asarray(radii, float), (len(where),))


@dataclass(frozen=True)
class HeightMap:
    """Height (m) of the upper surface above (x, y): heights[i, j] at x[i], y[j]; bare: floor."""

    x: Array
    y: Array
    heights: Array
    floor: float
    cell: float

    @property
    def volume(self) -> float:
        """Volume under the surface, pores included, m^3."""
        return float((self.heights - self.floor).sum() * self.cell**2)


def height_map(
    source: World | npt.ArrayLike,
    radius: npt.ArrayLike | None = None,
    cell: float | None = None,
    floor: float | None = None,
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
) -> HeightMap:
    """Height of the upper envelope of the spheres, as vertical rays on a grid see it.

    cell: distance of the rays, m (default half a mean radius); floor: height where no grain is
    (default the lowest point of a grain); low, high: corners (x, y) of the grid (default all).
    """
    where, radii = spheres(source, radius)
    if not len(where):
        raise InputError("height map", 0, "at least one grain")
    step = CELL * float(radii.mean()) if cell is None else float(cell)
    if not step > 0:
        raise InputError("height map: cell", cell, "a length above 0, m")
    base = float((where[:, 2] - radii).min()) if floor is None else float(floor)
    reach = radii.max() + step
    first = where[:, :2].min(axis=0) - reach if low is None else np.asarray(low, float)
    last = where[:, :2].max(axis=0) + reach if high is None else np.asarray(high, float)
    shape = np.maximum(np.ceil((last - first) / step).astype(int) + 1, 1)
    heights = np.full((shape[0], shape[1]), base)
    near = np.rint((where[:, :2] - first) / step).astype(int)
    width = int(np.ceil(radii.max() / step))
    for i in range(-width, width + 1):
        for j in range(-width, width + 1):
            a, b = near[:, 0] + i, near[:, 1] + j
            off2 = (first[0] + a * step - where[:, 0]) ** 2
            off2 += (first[1] + b * step - where[:, 1]) ** 2
            hit = (off2 < radii**2) & (a >= 0) & (b >= 0) & (a < shape[0]) & (b < shape[1])
            top = where[hit, 2] + np.sqrt(radii[hit] ** 2 - off2[hit])
            np.maximum.at(heights, (a[hit], b[hit]), top)
    axes = [first[c] + step * np.arange(shape[c]) for c in range(2)]
    return HeightMap(axes[0], axes[1], heights, base, step)


def height_profile(
    source: World | npt.ArrayLike,
    radius: npt.ArrayLike | None = None,
    along: str = "x",
    across: tuple[float, float] | None = None,
    floor: float | None = None,
    cell: float | None = None,
) -> tuple[Array, Array]:
    """Mean height (m) of the surface along a horizontal axis: (coordinate, height).

    The surface is averaged over the other axis: over what the grains cover, or over `across`.
    """
    if along not in AXES:
        raise InputError("profile: along", along, ", ".join(AXES))
    where, radii = spheres(source, radius)
    if not len(where):
        raise InputError("profile", 0, "at least one grain")
    other = 1 - AXES[along]
    if across is None:
        across = (float(where[:, other].min()), float(where[:, other].max()))
    low, high = where[:, :2].min(axis=0), where[:, :2].max(axis=0)
    low[AXES[along]] -= radii.max()
    high[AXES[along]] += radii.max()
    low[other], high[other] = across
    grid = height_map(where, radii, cell, floor, tuple(low), tuple(high))
    mean: Array = grid.heights.mean(axis=other)
    return (grid.x if along == "x" else grid.y), mean


@dataclass(frozen=True)
class Slope:
    """A straight line laid on a surface profile: height = top - tan(angle) * distance."""

    degrees: float
    top: float  # m above the floor, where the line meets the axis
    r2: float  # share of the variance that the line explains
    spread: float  # standard deviation between the parts (sectors, flanks), degrees
    distance: Array  # m, profile
    height: Array  # m above the floor, profile
    used: npt.NDArray[np.bool_]  # points of the profile that the line was fitted to

    def __float__(self) -> float:
        return self.degrees

    def line(self, distance: npt.ArrayLike) -> Array:
        """Height (m above the floor) of the fitted line."""
        return self.top - math.tan(math.radians(self.degrees)) * np.asarray(distance, float)


def fit_slope(
    distance: Array, height: Array, weight: Array, part: tuple[float, float], spread: float = 0.0
) -> Slope:
    """Fit the flank of a falling profile between two shares of its largest height.

    The tip, which is rounded, and the toe, which is a single layer, lie outside `part`.
    """
    top = float(height.max()) if len(height) else 0.0
    used = (height > part[0] * top) & (height < part[1] * top) & (weight > 0)
    crest = int(np.argmax(height))
    used[:crest] = False
    beyond = np.flatnonzero((height <= part[0] * top) & (np.arange(len(height)) > crest))
    if beyond.size:
        used[beyond[0] :] = False  # strays behind the toe
    if used.sum() < 3:
        return Slope(math.nan, top, math.nan, spread, distance, height, used)
    d, h, w = distance[used], height[used], weight[used]
    d0, h0 = np.average(d, weights=w), np.average(h, weights=w)
    variance = np.average((d - d0) ** 2, weights=w)
    gradient = np.average((d - d0) * (h - h0), weights=w) / variance
    rest = h - h0 - gradient * (d - d0)
    total = np.average((h - h0) ** 2, weights=w)
    r2 = 1.0 - float(np.average(rest**2, weights=w) / total) if total > 0 else math.nan
    return Slope(
        math.degrees(math.atan(-gradient)), h0 - gradient * d0, r2, spread, distance, height, used
    )


def angle_of_repose(
    source: World | npt.ArrayLike,
    radius: npt.ArrayLike | None = None,
    part: tuple[float, float] = (0.15, 0.85),
    floor: float | None = None,
) -> Slope:
    """Angle of repose of a conical heap, degrees, with the line that was fitted.

    Rays on a grid give the height map; its centre of volume is the axis; heights are averaged
    over rings one radius wide (bare floor counts, so a stray grain weighs little); a line is
    fitted by area-weighted least squares to the rings between 15 % and 85 % of the height, which
    leaves out the rounded tip and the toe. `spread` is the scatter between eight sectors.
    Grains that lie far off the heap are left out: they would shift its axis. A layer without a
    flank (lower than five radii) gets the angle of the cone that has its volume and its second
    moment; its r2 is NaN.
    """
    where, radii = spheres(source, radius)
    if len(where):
        apart = np.linalg.norm(where[:, :2] - np.median(where[:, :2], axis=0), axis=1)
        near = apart <= STRAY * (np.quantile(apart, MOST) + radii.mean())
        where, radii = where[near], radii[near]
    grid = height_map(where, radii, floor=floor)
    above = grid.heights - grid.floor
    if not above.sum() > 0:
        raise InputError("angle of repose", "no heap", "grains above the floor")
    x, y = np.meshgrid(grid.x, grid.y, indexing="ij")
    cx, cy = float((x * above).sum() / above.sum()), float((y * above).sum() / above.sum())
    far, turn = np.hypot(x - cx, y - cy), np.arctan2(y - cy, x - cx)
    ring = np.floor(far / radii.mean()).astype(int)
    sector = np.minimum(((turn + np.pi) / (2 * np.pi) * SECTORS).astype(int), SECTORS - 1)

    def profile(chosen: npt.NDArray[np.bool_]) -> tuple[Array, Array, Array]:
        count = np.bincount(ring[chosen], minlength=ring.max() + 1).astype(float)
        sums = np.bincount(ring[chosen], above[chosen], minlength=len(count))
        reach = np.bincount(ring[chosen], far[chosen], minlength=len(count))
        safe = np.maximum(count, 1.0)
        return reach / safe, sums / safe, count

    parts = [fit_slope(*profile(sector == s), part).degrees for s in range(SECTORS)]
    known = [angle for angle in parts if math.isfinite(angle)]
    spread = float(np.std(known)) if len(known) > 1 else math.nan
    slope = fit_slope(*profile(np.ones(ring.shape, bool)), part, spread)
    if math.isfinite(slope.degrees) and slope.height.max() >= FLAT * radii.mean():
        return slope
    # of a cone: mean square distance 3/10 R^2, volume pi R^2 H / 3
    reach = math.sqrt(float((above * far**2).sum() / above.sum()) * 10.0 / 3.0)
    tall = 3.0 * grid.volume / (math.pi * reach**2)
    degrees = math.degrees(math.atan2(tall, reach))
    return Slope(degrees, tall, math.nan, spread, slope.distance, slope.height, slope.used)


def slope_angle(
    source: World | npt.ArrayLike,
    radius: npt.ArrayLike | None = None,
    along: str = "x",
    side: str = "both",
    across: tuple[float, float] | None = None,
    part: tuple[float, float] = (0.15, 0.85),
    floor: float | None = None,
) -> Slope:
    """Slope of a heap that is a strip: profile along one axis, averaged over the other.

    side: "right" (falls along +axis), "left", or "both" (the mean of the two flanks' angles).
    """
    if side not in ("left", "right", "both"):
        raise InputError("slope: side", side, "left, right, both")
    where, radii = spheres(source, radius)
    if not len(where):
        raise InputError("slope", 0, "at least one grain")
    base = float((where[:, 2] - radii).min()) if floor is None else float(floor)
    place, height = height_profile(where, radii, along, across, base)
    height = height - base
    ones = np.ones(len(place))
    right = fit_slope(place, height, ones, part)
    if side == "right":
        return right
    left = fit_slope(-place[::-1], height[::-1].copy(), ones, part)
    if side == "left":
        return left
    pair = np.array([left.degrees, right.degrees])
    return Slope(
        float(pair.mean()), right.top, min(left.r2, right.r2), float(pair.std()),
        place, height, left.used[::-1] | right.used,
    )  # fmt: skip
