"""One scene a file: builds a world and checks its outcome."""

from __future__ import annotations

from typing import Any

__all__ = ["SCENES"]


def __getattr__(name: str) -> Any:
    """Give SCENES with every scene of this package in it: each file registers itself."""
    if name == "SCENES":
        from berm.scenes.base import SCENES, load_all

        load_all()
        return SCENES
    raise AttributeError(f"module 'berm.scenes' has no attribute {name!r}")
