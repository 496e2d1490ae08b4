"""One method a folder; each owns its contact lists and reads and writes the world's arrays."""

from __future__ import annotations

from typing import Any

__all__ = ["SOLVERS"]


def __getattr__(name: str) -> Any:
    """Give SOLVERS with every solver of this package in it: each folder registers its own."""
    if name == "SOLVERS":
        from berm.solvers.base import SOLVERS, load_all

        load_all()
        return SOLVERS
    raise AttributeError(f"module 'berm.solvers' has no attribute {name!r}")
