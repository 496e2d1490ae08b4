"""Model of the terrain in a scene file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from berm.core.soil import Soil, soil
from berm.io.schema import NotNegative, Number, Part, Positive, _number

if TYPE_CHECKING:
    from berm.world.terrain.terrain import Terrain
    from berm.world.world import World

Pair = tuple[Positive, Positive]


class FlatPart(Part):
    """Level ground about the origin."""

    kind: Literal["flat"]
    size: Pair
    """Along x and y, m."""
    height: Number = 0.0
    """m."""

    def make(self, folder: Path, cell: float | None, more: dict[str, Any]) -> Terrain:
        """Return the terrain."""
        from berm.world.terrain.terrain import Terrain

        return Terrain.flat(self.size, **_cell(cell), height=self.height, **more)


class NoisePart(Part):
    """Hills about the origin by a seed."""

    kind: Literal["noise"]
    size: Pair
    """Along x and y, m."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Another one gives other hills."""
    height: NotNegative = 0.3
    """Standard deviation, m."""
    wave: Positive = 10.0
    """Length of the largest hills, m."""
    octaves: Annotated[int, Field(ge=1, le=16)] = 5
    """Each has hills of half the length."""
    rough: Annotated[float, Field(ge=0, le=1), BeforeValidator(_number)] = 0.5
    """Share of its height that the next octave has."""

    def make(self, folder: Path, cell: float | None, more: dict[str, Any]) -> Terrain:
        """Return the terrain."""
        from berm.world.terrain.terrain import Terrain

        return Terrain.noise(**self.model_dump(exclude={"kind"}), **_cell(cell), **more)


class HeightsPart(Part):
    """Heights that are written here."""

    kind: Literal["heights"]
    heights: list[list[Number]]
    """m, (nx, ny)."""
    origin: tuple[Number, Number] = (0.0, 0.0)
    """x and y of the first, m."""

    def make(self, folder: Path, cell: float | None, more: dict[str, Any]) -> Terrain:
        """Return the terrain."""
        from berm.world.terrain.terrain import Terrain

        return Terrain(self.heights, _cell(cell).get("cell", 0.1), self.origin, **more)


class FilePart(Part):
    """A GeoTIFF, a .npy file or a grey image, its middle at the origin."""

    kind: Literal["file"]
    file: str
    """Relative to the scene file."""
    pixel: Positive | None = None
    """Width of a pixel, m, of a file that does not say."""
    low: Number = 0.0
    """Height of black in an image, m."""
    high: Number = 1.0
    """Height of white in an image, m."""
    holes: Literal["error", "fill"] = "error"
    """What is done with cells without a height."""

    def make(self, folder: Path, cell: float | None, more: dict[str, Any]) -> Terrain:
        """Return the terrain."""
        from berm.world.terrain.terrain import Terrain

        given = self.model_dump(exclude={"kind", "file"})
        return Terrain.load(folder / self.file, cell, **given, **more)


SourcePart = Annotated[
    FlatPart | NoisePart | HeightsPart | FilePart, Field(discriminator="kind")
]  # fmt: skip


def _cell(cell: float | None) -> dict[str, Any]:
    return {} if cell is None else {"cell": cell}


class LayerPart(Part):
    """A layer of soil: a preset with changes."""

    soil: str
    """Name of a preset."""
    thickness: Positive | None = None
    """m; only the lowest layer may do without, which then goes down to the rock."""
    changes: dict[str, Number] = Field(default_factory=dict)
    """Values of the soil that differ from the preset's, such as cohesion."""

    def make(self) -> tuple[Soil, float | None]:
        """Return soil and thickness."""
        return soil(self.soil, **self.changes), self.thickness


class ToolPart(Part):
    """A body that digs."""

    body: str
    """Its name; a box or a mesh."""
    reach: Positive | None = None
    """m beside it that become grains; without it, what its shape needs."""
    depth: Positive | None = None
    """m below it, the same."""


class TerrainPart(Part):
    """Ground that is dug and heaped, around tools as grains (solver p2)."""

    name: str = "terrain"
    """Of its body; no other has it."""
    source: SourcePart
    """Where its heights come from."""
    cell: Positive | None = None
    """Width of a column, m; without it 0.1, or that of the file."""
    layers: list[LayerPart] = Field(default_factory=lambda: [LayerPart(soil="loam")], min_length=1)
    """From the top down."""
    depth: Positive = 3.0
    """Of the rock below the lowest height, m."""
    grain: Positive | None = None
    """Mean radius of the grains, m; at most half a cell; without it 0.4 of a cell."""
    most: Annotated[int, Field(ge=1)] = 20_000
    """Grains that live at once."""
    tools: list[ToolPart] = Field(default_factory=list)
    """Bodies that dig."""

    def make(self, folder: Path, layers: list[tuple[Soil, float | None]]) -> Terrain:
        """Return the terrain, without its tools."""
        given = {"layers": layers, "depth": self.depth, "grain": self.grain, "most": self.most}
        return self.source.make(folder, self.cell, {**given, "name": self.name})

    def add(self, world: World, folder: Path, layers: list[tuple[Soil, float | None]]) -> Terrain:
        """Put the terrain into a world."""
        return world.add_terrain(self.make(folder, layers))
