"""How a stage is drawn: camera, shaders, sun, pictures, video.

The package is itself a function: `berm.render(recording, "out.mp4")` is `berm.render.api.render`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A module that can be called; nothing is imported until it is."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Draw a world or a recording; see `berm.render.api.render`."""
        from berm.render.api import render

        return render(*given, **named)


sys.modules[__name__].__class__ = _Callable
