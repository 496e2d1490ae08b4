"""What every solver is and offers, how solvers are found by name, and the stage timer."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import time
import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

import berm.solvers
from berm.core.bodies import Bodies
from berm.core.cloth import Cloth
from berm.core.clumps import Clumps
from berm.core.errors import InputError
from berm.core.grains import Grains
from berm.core.joints import Joints
from berm.core.materials import Material
from berm.core.registry import Registry
from berm.core.report import StepReport
from berm.core.saved import Facts, Saved
from berm.solvers import options

Array = npt.NDArray[Any]

# what a solver may be able to do beside grains and fixed or driven bodies; in words, for errors
CAPABILITIES: dict[str, str] = {
    "grains": "that moves grains",
    "rotation": "in which grains turn",
    "clusters": "that has compound grains",
    "cloth": "that moves cloth",
    "bodies": "that moves dynamic bodies",
    "joints": "that has joints",
    "adhesion": "in which grains stick together",
    "ground": "in which ground around tools becomes grains",
}


class WorldView(Protocol):
    """The parts of a world that a solver reads and writes."""

    grains: Grains
    clumps: Clumps
    bodies: Bodies
    joints: Joints
    cloths: list[Cloth]
    materials: list[Material]
    gravity: npt.NDArray[np.float64]
    step_count: int
    time: float

    def add_material(self, what: str | Material) -> int:
        """Add a material (or find an equal one) and return its index."""
        ...


class Solver(ABC):
    """One method: a dataclass of options, prepared once for a world, then asked for steps.

    A solver is one folder of `berm.solvers` whose module `solver` registers it:

        @SOLVERS.register("name")
        @dataclass
        class Mine(Solver):
            iterations: int = whole(10, 1, 1000, "passes over the contacts")
            name = "name"
            can = frozenset({"grains", "bodies"})

    can: which of CAPABILITIES it has; what it has not is refused when it is added to a world.
    precision: of the grains' numbers where the user does not say. variants: sets of options that
    have a name of their own; form_option: the one that may follow a name after a colon, "vts:ij";
    live: options that can change while a world runs.
    """

    name: ClassVar[str]
    can: ClassVar[frozenset[str]] = frozenset()
    precision: ClassVar[str] = "float32"
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    form_option: ClassVar[str] = ""
    live: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        options.check(self)
        self._check_together()
        self._owner: weakref.ref[Any] | None = None
        self._warned_of: list[Material] = []

    def _check_together(self) -> None:
        """Refuse options that do not go together; each for itself is right by now."""
        return

    def check_can(self, capability: str, what: str) -> None:
        """Refuse `what` where the options given keep a solver from something that it can do."""
        return

    def options(self) -> dict[str, Any]:
        """Return the options by name, as plain values."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]

    def prepare(self, world: WorldView) -> None:
        """Make the solver's own arrays for this world, the only one that it will ever serve."""
        if self._owner is not None:
            if self._owner() is world:
                return
            what = f"solver {self.name}"
            raise InputError(what, "in use", "a solver object belongs to one world only")
        self._make_arrays(world)
        self._owner = weakref.ref(world)

    @abstractmethod
    def _make_arrays(self, world: WorldView) -> None:
        """Make the solver's own arrays for this world."""

    @abstractmethod
    def step(self, world: WorldView, dt: float) -> StepReport:
        """Advance the world by dt (s)."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return everything that a bit-for-bit restart needs."""

    def check_state(self, saved: Saved, facts: Facts, world: WorldView) -> None:
        """Refuse a state that cannot be put back, before anything is changed.

        Kernels do not test their indices: whoever keeps some in a state tests them here.
        """
        return

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""

    @abstractmethod
    def grain_fields(self, world: WorldView) -> dict[str, Array]:
        """Largest overlap (m) and sum of normal contact forces (N) of each grain, by row."""


SOLVERS: Registry[type[Solver]] = Registry("solver")


def load_all() -> None:
    """Import every folder of this package that has a solver, so that each registers itself."""
    for folder in pkgutil.iter_modules(berm.solvers.__path__, "berm.solvers."):
        if not folder.ispkg:
            continue
        paths = importlib.import_module(folder.name).__path__
        modules = [one.name for one in pkgutil.iter_modules(paths)]
        if "solver" in modules:
            for name in modules:
                importlib.import_module(f"{folder.name}.{name}")


def require(solver: Solver | type[Solver], capability: str, what: str) -> None:
    """Refuse `what` where the solver cannot take it, and name those that can."""
    if capability in solver.can:
        if isinstance(solver, Solver):
            solver.check_can(capability, what)
        return
    load_all()
    able = ", ".join(name for name in SOLVERS if capability in SOLVERS.get(name).can)
    allowed = f"one {CAPABILITIES[capability]}: {able or 'there is none yet'}"
    raise InputError(f"{what}: solver", solver.name, allowed)


def warn_of_adhesion(solver: Solver, what: Material, depth: int) -> None:
    """Say, once, that a solver takes no notice of the adhesion of grains of this material.

    That of bodies acts on grains that have some themselves only. depth: frames to who asked.
    """
    if what.adhesion > 0.0 and "adhesion" not in solver.can and what not in solver._warned_of:
        solver._warned_of.append(what)
        load_all()
        able = " and ".join(name for name in SOLVERS if "adhesion" in SOLVERS.get(name).can)
        warnings.warn(
            f"material {what.name!r}: solver {solver.name} takes no notice of its adhesion of "
            f"{what.adhesion:g} Pa; {able} do",
            stacklevel=depth + 1,
        )


class Stages:
    """Wall time of each stage of a step, in seconds."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def stage(self, name: str) -> Stage:
        """Time what happens inside under `name`."""
        return Stage(self.seconds, name)


class Stage:
    """One stage, timed; a class, for a generator as context manager costs three times as much."""

    __slots__ = ("begin", "name", "seconds")

    def __init__(self, seconds: dict[str, float], name: str) -> None:
        self.seconds, self.name = seconds, name

    def __enter__(self) -> None:
        self.begin = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        spent = time.perf_counter() - self.begin
        self.seconds[self.name] = self.seconds.get(self.name, 0.0) + spent
