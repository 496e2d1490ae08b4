"""Errors that tell the user what to do."""

from __future__ import annotations

from typing import Any

_MISSING = object()


class BermError(Exception):
    """Base of all errors that berm raises on purpose."""


class InputError(BermError, ValueError):
    """A value that a user gave cannot be used: says which, what it was, and what is allowed."""

    def __init__(
        self, what: str, value: Any = _MISSING, allowed: str = "", where: str = ""
    ) -> None:
        text = what
        if value is not _MISSING:
            text += f": got {value!r}"
        if allowed:
            text += f"; allowed: {allowed}"
        if where:
            text += f" ({where})"
        super().__init__(text)
        self.what, self.allowed, self.where = what, allowed, where


class SimulationError(BermError):
    """The simulation itself went wrong; what was computed before stays valid."""


class StorageError(BermError):
    """What a run writes finds no room, or cannot be written any more; what was written stays."""
