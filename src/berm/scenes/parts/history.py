"""What a scene observed, step by step: columns of numbers that its check reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError
from berm.core.report import StepReport
from berm.world.world import World

Array = npt.NDArray[np.float64]
Observe = Callable[[World, StepReport], Mapping[str, float]]
REPORTED = (
    "time", "grains", "contacts", "wall_contacts", "overlap_mean", "overlap_max",
    "kinetic_energy", "residual", "wall_time",
)  # fmt: skip


class History:
    """A recorder that keeps every step's report and what `observe` returns, by column.

    `history["kinetic_energy"]` is an array over the steps. A column that starts late is filled
    with NaN before.
    """

    def __init__(self, observe: Observe | None = None, params: Any = None) -> None:
        self.observe, self.params = observe, params
        self._columns: dict[str, list[float]] = {name: [] for name in REPORTED}

    def start(self, world: World) -> None:
        """Do nothing: the first row is the first step's."""

    def record(self, world: World, report: StepReport) -> None:
        """Add a row."""
        rows = len(self)
        row = {name: float(getattr(report, name)) for name in REPORTED}
        if self.observe is not None:
            row.update(self.observe(world, report))
        for name in row.keys() - self._columns.keys():
            self._columns[name] = [float("nan")] * rows
        for name, column in self._columns.items():
            column.append(float(row.get(name, float("nan"))))

    def close(self, error: str = "") -> None:
        """Do nothing: everything is in memory."""

    def __len__(self) -> int:
        return len(self._columns["time"])

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> Array:
        if name not in self._columns:
            raise InputError("history column", name, ", ".join(self._columns))
        return np.array(self._columns[name])

    def names(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._columns)

    def last(self, name: str, seconds: float) -> Array:
        """Return the part of a column that belongs to the last `seconds`."""
        if name not in self._columns or not len(self):
            return np.zeros(0)
        time = self["time"]
        return self[name][time > time[-1] - seconds]

    def state(self) -> dict[str, Array]:
        """Return the columns, for a checkpoint."""
        return {name: self[name] for name in self._columns}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Put columns back."""
        self._columns = {name: [float(v) for v in column] for name, column in state.items()}
