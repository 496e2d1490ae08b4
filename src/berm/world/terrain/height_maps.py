"""Height maps as files: .npy, grey images, and GeoTIFF by tifffile (extra `terrain`).

In files rows go from north to south and columns from west to east; here heights are (nx, ny), with
x to the east and y to the north. An .npy file holds them as they are here.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.errors import BermError, InputError

Array = npt.NDArray[Any]

GEO = (".tif", ".tiff")
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".pgm")
SUFFIXES = (".npy", *GEO, *IMAGES)
# Tags of GeoTIFF 1.1 (OGC 19-008r4): 7.1 and Annex; no-data is GDAL's
SCALE, TIEPOINT, TRANSFORM, KEYS, NO_DATA = 33550, 33922, 34264, 34735, 42113
RASTER_TYPE, POINT, AREA = 1025, 2, 1  # key, and what a pixel is: a place, or the cell around it
MODEL_TYPE, PROJECTED = 1024, 1  # metres in a plane


@dataclass(frozen=True, eq=False)
class HeightMap:
    """Heights (nx, ny) in m, NaN where there are none; cell (m) and origin (x, y) where known."""

    heights: Array
    cell: float | None = None
    origin: tuple[float, float] | None = None


def read(path: str | os.PathLike[str], low: float = 0.0, high: float = 1.0) -> HeightMap:
    """Read a height map; low, high (m): heights of black and white in an image."""
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError("terrain: file", file.name, "a name ending in " + ", ".join(SUFFIXES))
    if not file.is_file():
        raise InputError("terrain: file", str(file), "a file that is there")
    try:
        if suffix == ".npy":
            return HeightMap(_numbers(file, np.load(file, allow_pickle=False)))
        if suffix in GEO:
            return _read_geo(file)
        return HeightMap(_read_image(file, low, high))
    except (InputError, BermError):
        raise
    except Exception as error:  # each library has its own for a file that is not what it says
        what = f"{type(error).__name__}: {error}"
        raise InputError("terrain: file", str(file), f"a readable {suffix} file", what) from error


def _numbers(file: Path, values: Array) -> Array:
    if values.ndim != 2 or values.dtype.kind not in "iuf":
        raise InputError(
            f"terrain: {file.name}", f"{values.dtype} of shape {values.shape}", "numbers (nx, ny)"
        )
    return np.asarray(values, float)


def _from_rows(rows: Array) -> Array:
    """Turn rows from north to south into (nx, ny)."""
    return np.ascontiguousarray(rows[::-1].T)


def _to_rows(heights: Array) -> Array:
    return np.ascontiguousarray(heights.T[::-1])


def _read_image(file: Path, low: float, high: float) -> Array:
    try:
        from PIL import Image
    except ImportError as error:
        raise BermError("images need pillow: pip install 'berm[render]'") from error
    for name, value in (("low", low), ("high", high)):
        checks.number(f"terrain: {name}", value, "a height in m", math.isfinite)
    with Image.open(file) as image:
        deep = image.mode.startswith("I")  # 16 bit
        grey = np.asarray(image if deep else image.convert("L"), float)
    if grey.ndim != 2:
        raise InputError(f"terrain: {file.name}", f"shape {grey.shape}", "a grey image")
    return _from_rows(low + (high - low) * grey / (65535.0 if deep else 255.0))


# ---- GeoTIFF ---------------------------------------------------------------------------------


def _tifffile() -> Any:
    try:
        import tifffile
    except ImportError as error:
        raise BermError(
            "GeoTIFF needs tifffile, which is not installed: pip install 'berm[terrain]'"
        ) from error
    return tifffile


def _read_geo(file: Path) -> HeightMap:
    with _tifffile().TiffFile(file) as tiff:
        page = tiff.pages[0]
        rows = page.asarray()
        tags = {code: page.tags[code].value for code in (SCALE, TIEPOINT, NO_DATA, KEYS, TRANSFORM)
                if code in page.tags}  # fmt: skip
    rows = _numbers(file, rows)
    if NO_DATA in tags:
        rows = np.where(rows == float(str(tags[NO_DATA]).strip("\0 ")), np.nan, rows)
    heights = _from_rows(rows)
    if TRANSFORM in tags:
        raise InputError(
            f"terrain: {file.name}", "a model transformation (tag 34264)",
            "north up: a scale (33550) and a tie point (33922)",
        )  # fmt: skip
    if SCALE not in tags:
        return HeightMap(heights)
    across, down = (float(value) for value in tags[SCALE][:2])
    if not (0.0 < across < math.inf and abs(across - down) <= 1e-6 * across):
        raise InputError(
            f"terrain: {file.name}: scale",
            (across, down),
            "square pixels, above 0 m; warp it first",
        )
    if TIEPOINT not in tags:
        return HeightMap(heights, across)
    i, j, _, x, y = (float(value) for value in tags[TIEPOINT][:5])
    half = 0.0 if _key(tags.get(KEYS, ()), RASTER_TYPE) == POINT else 0.5
    west = x + (half - i) * across
    south = y - (len(rows) - 1 + half - j) * across
    return HeightMap(heights, across, (west, south))


def _key(keys: Any, wanted: int) -> int | None:
    """Return the value of a GeoKey that is one short number."""
    for k in range(4, len(keys) - 3, 4):
        if keys[k] == wanted and keys[k + 1] == 0:
            return int(keys[k + 3])
    return None


def write(
    path: str | os.PathLike[str], heights: npt.ArrayLike, cell: float, origin: tuple[float, float]
) -> None:
    """Write heights (nx, ny) m as .npy, or as GeoTIFF with scale and tie point."""
    file, values = Path(path), np.asarray(heights, float)
    if file.suffix.lower() == ".npy":
        with file.open("wb") as out:
            np.save(out, values, allow_pickle=False)
        return
    if file.suffix.lower() not in GEO:
        raise InputError("height map: file", file.name, ".npy, .tif, .tiff")
    north = origin[1] + (values.shape[1] - 1) * cell
    tie = (0.0, 0.0, 0.0, float(origin[0]), float(north), 0.0)
    keys = (1, 1, 0, 2, MODEL_TYPE, 0, 1, PROJECTED, RASTER_TYPE, 0, 1, POINT)
    tags = [
        (SCALE, "d", 3, (float(cell), float(cell), 0.0), True),
        (TIEPOINT, "d", 6, tie, True),
        (KEYS, "H", len(keys), keys, True),
    ]
    _tifffile().imwrite(file, _to_rows(values).astype(np.float32), extratags=tags, metadata=None)
