"""What a scene is: parameters, a world built from them, and a check of the outcome."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import ValidationError

import berm.scenes
from berm.core.errors import InputError
from berm.core.registry import Registry
from berm.core.report import StepReport
from berm.scenes.history import History
from berm.scenes.params import SceneParams
from berm.scenes.retune import law_of, replace_material, replace_solver, solver_changes
from berm.world.world import World

P = TypeVar("P", bound=SceneParams)

SCENES: Registry[type[Scene[Any]]] = Registry("scene")


@dataclass(frozen=True)
class Outcome:
    """One thing that was checked: what came out, and what was expected."""

    name: str
    ok: bool
    value: float
    expected: str
    unit: str = ""

    def __str__(self) -> str:
        verdict = "ok  " if self.ok else "MISS"
        unit = f" {self.unit}" if self.unit else ""
        return f"{verdict} {self.name}: {self.value:.4g}{unit} (expected {self.expected})"


class Scene(ABC, Generic[P]):
    """A world with parameters that checks its own outcome, and so is a test.

    name: what the user types; summary: one line; seconds: simulated time at default parameters.
    A file with a scene registers it with `@SCENES.register("name")`; there is no central list.
    live: parameters, beside `Params.LIVE`, that act on the running world through `retune`; keys:
    what a person may press, and what it does, for a scene that overrides `control`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    seconds: ClassVar[float]
    Params: ClassVar[type[Any]]
    live: ClassVar[tuple[str, ...]] = ()
    keys: ClassVar[tuple[tuple[str, str], ...]] = ()

    @abstractmethod
    def build(self, params: P) -> World:
        """Return a new world at time 0."""

    @abstractmethod
    def check(self, world: World, history: History) -> list[Outcome]:
        """Compare the outcome with what physics says; `history.params` are the parameters."""

    def duration(self, params: P) -> float:
        """Simulated seconds that these parameters need; by default `seconds`."""
        return self.seconds

    def observe(self, world: World, report: StepReport) -> Mapping[str, float]:
        """Return what `check` wants to know of every step, beside the report."""
        return {}

    def control(self, world: World, params: P) -> None:
        """Turn `world.inputs` into motion; called before each step once `drive` was called."""

    def drive(self, world: World, params: P) -> World:
        """Let `control` act before each step of this world; the last line of such a `build`."""
        world.control = lambda one: self.control(one, params)
        return world

    def live_names(self) -> tuple[str, ...]:
        """Return the parameters that act on a running world; the others act on a new one."""
        known = self.Params.model_fields
        return tuple(name for name in (*self.live, *self.Params.LIVE) if name in known)

    def retune(self, world: World, old: P, new: P) -> None:
        """Let changed live parameters act on a running world: the material and the solver.

        Everything that can be refused is made before anything is changed.
        """
        changes = solver_changes(old, new)
        before, after = law_of(old), law_of(new)
        if before is not None and after is not None and before != after:
            replace_material(world, before, after)
        replace_solver(world, changes)
        if world.control is not None:
            self.drive(world, new)


def load_all() -> None:
    """Import every module of this package, so that each scene registers itself."""
    for module in pkgutil.iter_modules(berm.scenes.__path__):
        importlib.import_module(f"berm.scenes.{module.name}")


def scene(name: str) -> Scene[Any]:
    """Return the scene called `name`, or say which there are."""
    load_all()
    return SCENES.get(name)()


@dataclass
class SceneRun:
    """A scene that was run: its world at the end, what was observed, and the verdicts."""

    scene: Scene[Any]
    params: SceneParams
    world: World
    history: History
    outcomes: list[Outcome]

    @property
    def ok(self) -> bool:
        """Whether every check passed."""
        return all(outcome.ok for outcome in self.outcomes)


def run_scene(
    which: str | Scene[Any],
    params: SceneParams | Mapping[str, Any] | None = None,
    seconds: float | None = None,
    recorders: Iterable[Any] = (),
    progress: bool | Callable[[World, StepReport], None] = False,
) -> SceneRun:
    """Build a scene, run it to its end (or for `seconds`), and check its outcome."""
    one = scene(which) if isinstance(which, str) else which
    given = make_params(one, params)
    world = one.build(given)
    history = History(one.observe, given)
    length = one.duration(given) if seconds is None else seconds
    world.run(length, recorders=[history, *recorders], progress=progress)
    return SceneRun(one, given, world, history, one.check(world, history))


def make_params(
    one: Scene[Any], params: SceneParams | Mapping[str, Any] | None = None
) -> SceneParams:
    """Return the scene's parameters from a map of names and values; wrong ones are all named."""
    if isinstance(params, SceneParams):
        return params
    try:
        made: SceneParams = one.Params(**(params or {}))
    except ValidationError as error:
        problems = []
        for problem in error.errors():
            label = ".".join(str(part) for part in problem["loc"]) or "parameters"
            problems.append(f"{label}: got {problem.get('input')!r}: {problem['msg']}")
        known = ", ".join(one.Params.model_fields)
        raise InputError(
            f"scene {one.name}: " + "; ".join(problems), allowed=f"parameters {known}"
        ) from error
    return made
