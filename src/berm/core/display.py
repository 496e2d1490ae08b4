"""How things show themselves in a notebook: a layer above draws, and registers the way here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Painter = Callable[[Any], bytes | None]

_painters: list[Painter] = []


def register(painter: Painter) -> None:
    """Let `painter` make the bytes of a PNG, or None where it cannot; the last one counts."""
    _painters[:] = [painter]


class Shown:
    """Something that a notebook shows as a picture, where there is a painter."""

    def _repr_png_(self) -> bytes | None:
        """Return a PNG, or None: the notebook then prints the text."""
        return _painters[0](self) if _painters else None
