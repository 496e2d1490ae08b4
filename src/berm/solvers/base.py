"""What every solver offers, the table of solvers, and the stage timer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from berm.core.registry import Registry
from berm.core.report import StepReport


class WorldView(Protocol):
    """The parts of a world that a solver reads and writes."""

    grains: Any
    clumps: Any
    bodies: list[Any]
    joints: list[Any]
    materials: list[Any]
    gravity: Any
    step_count: int
    time: float


class Solver(Protocol):
    """One method: prepared once for a world, then asked for steps."""

    name: str

    def prepare(self, world: WorldView) -> None:
        """Make room for the world's arrays."""
        ...

    def step(self, world: WorldView, dt: float) -> StepReport:
        """Advance the world by dt (s)."""
        ...

    def options(self) -> dict[str, Any]:
        """Return the options by name, as plain values."""
        ...

    def state(self) -> dict[str, Any]:
        """Return everything that a bit-for-bit restart needs."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        ...


SOLVERS: Registry[type] = Registry("solver")


class Stages:
    """Wall time of each stage of a step, in seconds."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what happens inside under `name`."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
