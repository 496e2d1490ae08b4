"""The rows behind the live plots: kept thin, and handed to each viewer from where it left off."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

MOST = 8192  # rows kept; then every second one goes
AT_ONCE = 1000  # rows in a message


class PlotRows:
    """Rows of numbers over time, with versions; written by one thread, read by another.

    A version is a number of rows: a viewer that has seen version v gets what came after. Rows that
    were thrown away raise the first version, and who is behind it begins anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[list[float]] = []
        self._names: list[str] = []
        self._units: list[str] = []
        self._first = 1
        self._every, self._skipped = 1, 0

    @property
    def version(self) -> int:
        """Number that rises with each row."""
        with self._lock:
            return self._first + len(self._rows)

    def clear(self, names: Sequence[str], units: Sequence[str]) -> None:
        """Begin anew with these columns, of which the first is time."""
        with self._lock:
            self._first += len(self._rows) + 1
            self._rows, self._names, self._units = [], list(names), list(units)
            self._every, self._skipped = 1, 0

    def add(self, row: Sequence[float]) -> None:
        """Add a row, unless so many were added that only some of them are kept."""
        with self._lock:
            self._skipped += 1
            if self._skipped < self._every:
                return
            self._skipped = 0
            self._rows.append([float(value) for value in row])
            if len(self._rows) >= MOST:
                # those who have seen all keep their finer rows
                self._first += len(self._rows) - len(self._rows[::2])
                self._rows = self._rows[::2]
                self._every *= 2

    def since(self, seen: int) -> dict[str, Any] | None:
        """Return the message with the rows after version `seen`, or None if there are none."""
        with self._lock:
            known = self._first <= seen <= self._first + len(self._rows)
            start = seen - self._first if known else 0
            rows = self._rows[start : start + AT_ONCE]
            if known and not rows:
                return None
            return {
                "type": "plots",
                "version": self._first + start + len(rows),
                "names": self._names,
                "units": self._units,
                "rows": rows,
                "reset": not known,
            }
