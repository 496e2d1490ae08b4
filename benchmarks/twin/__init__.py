"""Hand-written C++ twin of berm's P2 step, compiled on demand: see build.py and bench.py."""

from .build import Twin, TwinParams, TwinStats, TwinUnavailable, load

__all__ = ["Twin", "TwinParams", "TwinStats", "TwinUnavailable", "load"]
