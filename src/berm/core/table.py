"""Rows of named columns with stable tags, which grow and shrink: the base of bodies and joints."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError

Array = npt.NDArray[Any]


class Table:
    """A structure of arrays: each column is an attribute, a view of the `n` rows in use.

    COLUMNS: name -> (shape of one row, dtype, value of a new row). A row keeps its `tag` for as
    long as it exists; rows stand in the order of their tags. Columns are replaced when rows come or
    go, so ask for them anew after that.
    """

    COLUMNS: ClassVar[dict[str, tuple[tuple[int, ...], Any, Any]]] = {}
    tag: Array

    def __init__(self) -> None:
        self.n = 0
        self.next_tag = 0
        self.edition = 0  # of the columns: another one once rows have come or gone
        self._rows: dict[int, int] = {}  # by tag
        self._store: dict[str, Array] = {}
        for name, (shape, dtype, _) in self._columns().items():
            self._store[name] = np.zeros((0, *shape), dtype)
        self._publish()

    @classmethod
    def _columns(cls) -> dict[str, tuple[tuple[int, ...], Any, Any]]:
        return {"tag": ((), np.int64, 0), **cls.COLUMNS}

    def _publish(self) -> None:
        self.edition += 1
        for name, column in self._store.items():
            setattr(self, name, column[: self.n])

    def append(self, **values: Any) -> int:
        """Add a row; return its tag."""
        if self.n == len(self._store["tag"]):
            room = 2 * self.n + 4
            for name, (shape, dtype, _) in self._columns().items():
                grown = np.zeros((room, *shape), dtype)
                grown[: self.n] = self._store[name][: self.n]
                self._store[name] = grown
        row, tag = self.n, self.next_tag
        for name, (_, _, fill) in self._columns().items():
            self._store[name][row] = values.get(name, fill)
        self._store["tag"][row] = tag
        self._rows[tag] = row
        self.n, self.next_tag = row + 1, tag + 1
        self._publish()
        return tag

    def drop(self, gone: Array) -> None:
        """Remove the rows where `gone` (n,) is true; the order of the others stays."""
        keep = ~np.asarray(gone, bool)
        left = int(keep.sum())
        for column in self._store.values():
            column[:left] = column[: self.n][keep]
        self.n = left
        self._publish()
        self._rows = {int(tag): row for row, tag in enumerate(self.tag)}

    def row_of(self, tag: int) -> int:
        """Present row of a tag."""
        try:
            return self._rows[tag]
        except KeyError:
            raise InputError(
                f"{type(self).__name__.lower()}: tag", tag, "one that exists"
            ) from None

    def state(self) -> dict[str, Any]:
        """Everything that a restart needs, independent of this table."""
        columns = {name: column[: self.n].copy() for name, column in self._store.items()}
        return columns | {"next_tag": self.next_tag}

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state of the same rows back."""
        for name, column in self._store.items():
            column[: self.n] = state[name]
        self.next_tag = int(state["next_tag"])
