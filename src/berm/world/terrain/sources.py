"""Where ground comes from: files, noise by a seed; brought to a cell, holes filled or refused."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.errors import InputError
from berm.world.terrain import height_maps

Array = npt.NDArray[Any]

ABOVE_0 = ("above 0 m", lambda x: 0.0 < x < math.inf)
MOST_CELLS = 16_000_000  # of a field: 4,000 x 4,000
HOLES = ("error", "fill")  # what is done with cells that have no height
CORNERS = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio's, of splitmix64


# ---- grids -----------------------------------------------------------------------------------


def nodes(
    size: tuple[float, float], cell: float, middle: tuple[float, float] = (0.0, 0.0)
) -> tuple[Array, Array]:
    """Return x and y (m) of a grid's nodes over `size` (m) about `middle`."""
    wide = checks.number("terrain: cell", cell, *ABOVE_0)
    try:
        extents = [checks.number("terrain: size", along, *ABOVE_0) for along in size]
        centre = [checks.number("terrain: middle", m, "finite, m", math.isfinite) for m in middle]
        (_, _), (_, _) = extents, centre
    except (TypeError, ValueError):
        raise InputError("terrain: size, middle", (size, middle), "two lengths (m) each") from None
    count = [round(extent / wide) + 1 for extent in extents]
    if min(count) < 2 or math.prod(count) > MOST_CELLS:
        raise InputError(
            "terrain: size over cell", f"{count[0]} x {count[1]} columns",
            f"at least 2 x 2, at most {MOST_CELLS:,} in all",
        )  # fmt: skip
    x, y = (
        m - 0.5 * (n - 1) * wide + wide * np.arange(n) for m, n in zip(centre, count, strict=True)
    )
    return x, y


def resample(heights: Array, cell: float, wanted: float) -> Array:
    """Return heights (m) on a grid of another cell (m) with the same first node.

    Linear between nodes; to a coarser cell, means over the cell, so that no hill is missed.
    """
    step = checks.number("terrain: cell", wanted, *ABOVE_0) / cell
    if abs(step - 1.0) < 1e-9:
        return heights
    for axis in (0, 1):
        heights = _along(heights, step, axis)
    return heights


def _along(values: Array, step: float, axis: int) -> Array:
    values = np.moveaxis(values, axis, 0)
    last = len(values) - 1
    at = step * np.arange(math.floor(last / step + 1e-9) + 1)
    if len(at) < 2:
        raise InputError("terrain: cell", "larger than the field", "at most half of its extent")
    if step <= 1.0:
        k = np.minimum(at.astype(int), last - 1)
        share = np.minimum(at - k, 1.0)[:, None]
        found = values[k] + share * (values[k + 1] - values[k])
    else:  # the mean of the line through the nodes over one new cell, by its integral
        total = np.concatenate([np.zeros((1, values.shape[1])),
                                np.cumsum(0.5 * (values[1:] + values[:-1]), axis=0)])  # fmt: skip

        def until(s: Array) -> Array:
            k = np.minimum(s.astype(int), last - 1)
            part = (s - k)[:, None]
            slope = values[k + 1] - values[k]
            whole: Array = total[k] + part * values[k] + 0.5 * part**2 * slope
            return whole

        low, high = np.maximum(at - 0.5 * step, 0.0), np.minimum(at + 0.5 * step, float(last))
        found = (until(high) - until(low)) / (high - low)[:, None]
    return np.ascontiguousarray(np.moveaxis(found, 0, axis))


# ---- holes -----------------------------------------------------------------------------------


def without_holes(heights: Array, holes: str, where: str) -> Array:
    """Refuse cells without a height, or fill them smoothly from what is around ("fill")."""
    if holes not in HOLES:
        raise InputError("terrain: holes", holes, ", ".join(HOLES))
    missing = ~np.isfinite(heights)
    count = int(missing.sum())
    if not count:
        return heights
    i, j = (int(k) for k in np.argwhere(missing)[0])
    if holes == "error" or count == missing.size:
        told = f"{count} of {missing.size} cells have no height, the first is [{i}, {j}]"
        raise InputError(where, told, "heights everywhere, or holes='fill' where some are known")
    return _filled(heights, missing)


def _filled(heights: Array, missing: Array) -> Array:
    """Fill from coarser and coarser means of what is known."""
    known = np.where(missing, 0.0, heights)
    weight = (~missing).astype(float)
    if min(heights.shape) <= 1:
        return np.where(missing, known.sum() / weight.sum(), heights)
    coarse, share = _halved(known), _halved(weight)
    means = np.where(share > 0.0, coarse / np.maximum(share, 1e-300), np.nan)
    gaps = ~np.isfinite(means)
    if gaps.any():
        means = _filled(means, gaps)
    i, j = np.ogrid[: heights.shape[0], : heights.shape[1]]
    return np.where(missing, means[i // 2, j // 2], heights)


def _halved(values: Array) -> Array:
    """Sums over blocks of 2 x 2."""
    n, m = values.shape
    padded = np.pad(values, ((0, n % 2), (0, m % 2)))
    blocks: Array = padded.reshape((n + 1) // 2, 2, (m + 1) // 2, 2).sum(axis=(1, 3))
    return blocks


# ---- files -----------------------------------------------------------------------------------


def from_file(
    path: str | os.PathLike[str],
    cell: float | None = None,
    pixel: float | None = None,
    low: float = 0.0,
    high: float = 1.0,
    holes: str = "error",
) -> tuple[Array, float, tuple[float, float]]:
    """Return heights (nx, ny), cell (m) and origin of a file, its middle at the origin.

    cell: what it is resampled to; pixel (m): of a file that does not say; low, high (m): heights
    of black and white in an image.
    """
    read = height_maps.read(path, low, high)
    name = f"terrain: {os.fspath(path)}"
    if read.cell is not None and pixel is not None:
        raise InputError(f"{name}: pixel", pixel, f"none: the file says {read.cell:g} m")
    own = read.cell if read.cell is not None else pixel if pixel is not None else cell
    if own is None:
        raise InputError(f"{name}: cell or pixel", None, "a width in m: the file does not say")
    own = checks.number("terrain: pixel", own, *ABOVE_0)
    heights = without_holes(read.heights, holes, name)
    wide = own if cell is None else cell
    size = [math.floor((n - 1) * own / wide + 1e-9) + 1 for n in heights.shape]
    if math.prod(size) > MOST_CELLS:
        raise InputError(f"{name}: columns", f"{size[0]} x {size[1]}", f"at most {MOST_CELLS:,}")
    heights = resample(heights, own, wide)
    nx, ny = heights.shape
    return heights, wide, (-0.5 * (nx - 1) * wide, -0.5 * (ny - 1) * wide)


# ---- noise -----------------------------------------------------------------------------------


def noise(
    x: Array, y: Array, seed: int, height: float, wave: float, octaves: int = 5, rough: float = 0.5
) -> Array:
    """Return fractal hills at x, y (m): sums of value noise, each octave of half the wave length.

    height (m): standard deviation, about; wave (m): length of the largest hills; rough: share of
    its height that the next octave has. The same on every machine: whole numbers, + - * only.
    """
    checks.whole("terrain: seed", seed, 0)
    checks.number("terrain: height", height, "a number from 0 up, m", lambda h: 0.0 <= h < math.inf)
    checks.number("terrain: wave", wave, *ABOVE_0)
    checks.whole("terrain: octaves", octaves, 1)
    checks.number("terrain: rough", rough, "from 0 to 1", lambda r: 0.0 <= r <= 1.0)
    total, size, power = np.zeros(np.broadcast(x, y).shape), 1.0, 0.0
    for octave in range(octaves):
        total += size * _hills(x / wave, y / wave, seed, octave)
        power += size * size
        size, wave = size * rough, 0.5 * wave
    return height * total / math.sqrt(power)


def _hills(u: Array, v: Array, seed: int, octave: int) -> Array:
    """Value noise of mean 0 and deviation about 1: smooth between random corners."""
    i, j = np.floor(u), np.floor(v)
    a, b = u - i, v - j
    a, b = a * a * a * (10.0 + a * (6.0 * a - 15.0)), b * b * b * (10.0 + b * (6.0 * b - 15.0))
    i, j = i.astype(np.int64), j.astype(np.int64)
    low = (1.0 - a) * _corner(i, j, seed, octave) + a * _corner(i + 1, j, seed, octave)
    high = (1.0 - a) * _corner(i, j + 1, seed, octave) + a * _corner(i + 1, j + 1, seed, octave)
    # corners have a variance of 1/3; the mean of w^2 + (1 - w)^2 over a cell is 0.7836 each way
    found: Array = ((1.0 - b) * low + b * high) * (math.sqrt(3.0) / 0.7836)
    return found


def _corner(i: Array, j: Array, seed: int, octave: int) -> Array:
    """Random numbers from -1 to 1 of grid points, by the mixing steps of splitmix64."""
    key = np.uint64((seed * 1_000_003 + octave) % 2**64)
    with np.errstate(over="ignore"):
        z = _mixed(i.astype(np.uint64) * CORNERS + key)
        z = _mixed(z ^ (j.astype(np.uint64) * CORNERS + np.uint64(1)))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0


def _mixed(z: Array) -> Array:
    """The output function of splitmix64 (Steele, Lea and Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = z ^ (z >> np.uint64(31))
    return mixed
