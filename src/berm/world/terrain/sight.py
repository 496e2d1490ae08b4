"""Sight: what one sees of the ground, brought up to date where it has changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.world.terrain.columns import Columns
from berm.world.terrain.windows import Window, part, union

Array = npt.NDArray[Any]

BARE = 1e-6  # m of soil that nobody sees
KEPT = 256  # changes that are known one by one


class Sight:
    """Heights and loose (nx, ny) float32 m, and soil (nx, ny) uint8 on top, by column.

    soil counts in the terrain's soils; as many as there are of them: bare rock. What changed is
    known by versions, at a cost that follows what changed.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.heights = np.zeros(columns.shape, np.float32)
        self.loose = np.zeros(columns.shape, np.float32)
        self.soil = np.zeros(columns.shape, np.uint8)
        self.version = 0
        self._changes: list[Window] = []  # the last of them made the present version
        self._whole: Window = (0, columns.shape[0], 0, columns.shape[1])
        self._seen = -1

    def touch(self, window: Window | None = None) -> None:
        """Take note that columns of a window have changed; None: all."""
        self.version += 1
        self._changes.append(window or self._whole)
        del self._changes[:-KEPT]

    def since(self, version: int) -> Window | None:
        """Return the window around all that changed after a version; None: nothing did."""
        count = self.version - version
        if version < 0 or count > len(self._changes):
            return self._whole
        found: Window | None = None
        for window in self._changes[len(self._changes) - count :]:
            found = union(found, window)
        return found

    def look(self) -> Sight:
        """Bring the arrays up to date, and return this."""
        window = self.since(self._seen)
        self._seen = self.version
        if window is None:
            return self
        columns, here = self.columns, part(window)
        self.heights[here] = columns.height[here]
        self.loose[here] = columns.loose[here] / columns.area
        i, j = (index.ravel() for index in np.mgrid[window[0] : window[1], window[2] : window[3]])
        soil = columns.soils_at(i, j, columns.height[i, j] - BARE)
        soil[columns.height[i, j] - columns.rock[i, j] < BARE] = len(columns.soils)
        self.soil[i, j] = soil
        return self
