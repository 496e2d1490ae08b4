"""Height maps: the ground of a terrain in the last frame, as GeoTIFF or .npy.

`out.tif` has scale and tie point in metres; `out.npy` heights (nx, ny). `Terrain.load` reads both.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from berm.core.errors import InputError
from berm.exports.base import FORMATS
from berm.exports.selection import Selection
from berm.world.terrain import height_maps


@FORMATS.register("tif")
@FORMATS.register("tiff")
@FORMATS.register("npy")
@dataclass(frozen=True)
class HeightMapFile:
    """Heights of the ground, without grains that have not come to rest."""

    def paths(self, out: Path, selection: Selection) -> list[Path]:
        """Return the one file; a recording without ground has none."""
        if selection.ground is None:
            where = str(selection.recording.path)
            raise InputError("export: height map", "no ground", "a recording with terrain", where)
        return [out]

    def write(self, selection: Selection, paths: list[Path]) -> None:
        """Write the last frame's ground."""
        ground = selection.ground
        assert ground is not None
        for _ in selection.read():
            pass
        heights = selection.ground_of(selection.frames[-1]).heights
        height_maps.write(paths[0], heights, ground.cell, ground.origin)
