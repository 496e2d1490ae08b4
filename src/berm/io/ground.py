"""The ground of a terrain in a recording: only the columns that changed, and a ledger a frame.

Each frame says which rows of `ground`, applied in order, make its ground. They begin with a whole
one; a whole one is written again when more changes than columns have come, so that any frame is
found by reading no more than two grounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.world.terrain.windows import part

if TYPE_CHECKING:
    from berm.world.terrain.sight import Sight
    from berm.world.terrain.terrain import Terrain
    from berm.world.world import World

Array = npt.NDArray[Any]

COLUMN = np.dtype([("column", "i4"), ("height", "f4"), ("loose", "f4"), ("soil", "u1")])
LEDGER = np.dtype([(name, "f8") for name in ("ground", "live", "waiting", "left")])
INDEX = ("ground", "ground_row", "soils", "ledger_row")  # what a frame says of its ground


@dataclass(frozen=True, eq=False)
class GroundFrame:
    """The ground at one time, without grains.

    heights, loose (nx, ny) float32, m: surface, and thickness of soil that was moved; soil (nx, ny)
    uint8: which one is on top, one more than the last: rock; ledger (K,): records of ground, live,
    waiting and left (kg) by soil.
    """

    heights: Array
    loose: Array
    soil: Array
    ledger: Array


def describe(terrain: Terrain) -> dict[str, Any]:
    """Return what does not change of a terrain."""
    return {
        "name": terrain.name,
        "cell": terrain.cell,
        "origin": list(terrain.origin),
        "shape": list(terrain.heights.shape),
        "soils": [soil.name for soil in terrain.soils],
        "materials": terrain.zone.kinds.tolist(),
        "start": terrain.start.tolist(),
    }


class GroundWriter:
    """Knows what was written, and finds what is new."""

    def __init__(self) -> None:
        self._known = np.zeros(0, COLUMN)  # of all columns, as written
        self._version = -1  # of the sight, as written
        self._start = self._rows = 0  # of the present ground, in the file

    def write(
        self, terrain: Terrain, world: World, append: Callable[[str, Array], int]
    ) -> dict[str, int]:
        """Append what is new by `append`, and return what the frame says of its ground."""
        sight = terrain.sight.look()
        new, first = self._changed(sight), not len(self._known)
        if first:
            self._known = np.zeros(sight.heights.size, COLUMN)
        self._known[new["column"]] = new
        self._version = sight.version
        if first or self._rows + len(new) > 2 * len(self._known):
            new, self._rows = self._known, 0
        start = append("ground", new)
        if not self._rows:
            self._start = start
        self._rows += len(new)
        ledger = terrain.ledger(world)
        rows = np.zeros(len(terrain.soils), LEDGER)
        for name in rows.dtype.names or ():
            rows[name] = getattr(ledger, name)
        where = (self._start, self._rows, append("ledger", rows), len(rows))
        return dict(zip(("ground_row", "ground", "ledger_row", "soils"), where, strict=True))

    def _changed(self, sight: Sight) -> Array:
        """Return the columns that are not as they were written."""
        window = sight.since(self._version)
        if window is None:
            return np.zeros(0, COLUMN)
        here, ny = part(window), sight.heights.shape[1]
        i, j = np.mgrid[here]
        now = np.empty(i.shape, COLUMN)
        now["column"] = i * ny + j
        now["height"], now["loose"] = sight.heights[here], sight.loose[here]
        now["soil"] = sight.soil[here]
        now = now.ravel()
        if not len(self._known):
            return now
        return now[now != self._known[now["column"]]]


class GroundReader:
    """Finds the ground of a frame; the one after the last costs only what has changed."""

    def __init__(self) -> None:
        self._start, self._rows = -1, 0
        self._ground = np.zeros(0, COLUMN)

    def read(self, index: Any, shape: tuple[int, int], tables: Mapping[str, Any]) -> GroundFrame:
        """Return the ground that a frame's entry in the index names."""
        start, count = int(index["ground_row"]), int(index["ground"])
        if start != self._start or count < self._rows:
            self._start, self._rows = start, 0
            self._ground = np.zeros(shape[0] * shape[1], COLUMN)
        new = tables["ground"][start + self._rows : start + count]
        self._ground[new["column"]] = new  # of a column that comes twice, the last counts
        self._rows = count
        row = int(index["ledger_row"])
        return GroundFrame(
            self._ground["height"].reshape(shape).copy(),
            self._ground["loose"].reshape(shape).copy(),
            self._ground["soil"].reshape(shape).copy(),
            tables["ledger"][row : row + int(index["soils"])],
        )
