"""The picture by which a world or a recording shows itself in a notebook."""

from __future__ import annotations

from typing import Any

from berm.io.recording import Recording
from berm.render.context import NoGraphics
from berm.world.world import World


def paint(thing: Any) -> bytes | None:
    """Return the bytes of a PNG, or None where there is nothing to draw, or to draw with."""
    if isinstance(thing, Recording) and not (thing.file and len(thing)):
        return None  # closed, or empty
    if not isinstance(thing, World | Recording):
        return None
    from berm.render.api import png

    try:
        return png(thing)
    except NoGraphics:
        return None
