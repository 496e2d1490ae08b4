"""An OpenGL context without a window, or a message that says what is missing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from berm.core.errors import BermError

if TYPE_CHECKING:
    import moderngl

PIP = "pip install 'berm[render]'"
NO_GL = (
    "pictures need OpenGL 3.3, and this machine offers none: on Debian or Ubuntu, "
    "`apt install libegl1 libgl1-mesa-dri` brings one that needs no graphics card"
)


class NoGraphics(BermError):
    """There is no way to draw here; the message says what to install."""


def need(package: str) -> Any:
    """Import an optional package, or say how to get it."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise NoGraphics(f"pictures need {package}, which is not installed: {PIP}") from error


def create() -> moderngl.Context:
    """Return a new context of OpenGL 3.3 that draws to memory."""
    gl = need("moderngl")
    # libEGL hands out all functions of OpenGL, so that no libGL has to be there
    how: dict[str, Any] = {}
    if sys.platform.startswith("linux"):
        how = {"backend": "egl", "libegl": "libEGL.so.1", "libgl": "libEGL.so.1"}
    try:
        return gl.create_context(standalone=True, require=330, **how)
    except Exception as error:  # the loaders raise bare exceptions
        raise NoGraphics(f"{NO_GL} ({error})") from error


def available() -> bool:
    """Return whether pictures can be drawn here."""
    try:
        create().release()
    except NoGraphics:
        return False
    return True
