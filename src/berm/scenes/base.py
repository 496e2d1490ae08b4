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
from berm.scenes.parts.history import History
from berm.scenes.parts.params import SceneParams, allowed
from berm.scenes.parts.retune import replace_material, soil_of
from berm.solvers.base import Solver, require
from berm.solvers.choice import Choice
from berm.world.world import World

P = TypeVar("P", bound=SceneParams)

Usual = Mapping[str, Mapping[str, Any]]  # options of solvers, by the solver's name
Chosen = str | Choice | Solver | None  # a solver; None: the scene's own

SCENES: Registry[type[Scene[Any]]] = Registry("scene")
USUAL: Usual = {"dem": {"rolling": "spring", "cohesion": "area"}}


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
    solver: that it runs with where nobody says; it runs with every solver that has what it needs
    (of `berm.solvers.base.CAPABILITIES`). usual: options that a solver has in this scene.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    seconds: ClassVar[float]
    Params: ClassVar[type[Any]]
    live: ClassVar[tuple[str, ...]] = ()
    keys: ClassVar[tuple[tuple[str, str], ...]] = ()
    solver: ClassVar[str] = "p2"
    needs: ClassVar[frozenset[str]] = frozenset({"grains"})
    usual: ClassVar[Usual] = USUAL

    def build(self, params: P, solver: Chosen = None) -> World:
        """Return a new world at time 0."""
        made = self.make_solver(params, solver)
        world = World(dt=params.dt, solver=made, seed=params.seed, precision=params.precision)
        self.fill(world, params)
        return world

    @abstractmethod
    def fill(self, world: World, params: P) -> None:
        """Put everything into an empty world."""

    def make_solver(self, params: P, solver: Chosen = None) -> Solver:
        """Return a new solver for this scene; one that cannot take it is refused."""
        choice = Choice(self.solver) if solver is None else solver
        if isinstance(choice, str):
            choice = Choice(choice)
        for need in sorted(self.needs):
            kind = choice if isinstance(choice, Solver) else choice.kind
            require(kind, need, f"scene {self.name!r}")
        if isinstance(choice, Solver):
            return choice
        return choice.kind(**self.solver_options(choice.kind, params, choice.given()))

    def solver_options(
        self, kind: type[Solver], params: P, given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the options of a solver of this kind: what is given goes before the usual."""
        return {**self.usual.get(kind.name, {}), **given}

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
        """Let `control` act before each step of this world; the last line of such a `fill`."""
        world.control = lambda one: self.control(one, params)
        return world

    def live_names(self) -> tuple[str, ...]:
        """Return the parameters that act on a running world; the others act on a new one."""
        known = self.Params.model_fields
        return tuple(name for name in (*self.live, *self.Params.LIVE) if name in known)

    def retune(self, world: World, old: P, new: P) -> None:
        """Let changed live parameters act on a running world: the material of the grains.

        Everything that can be refused is made before anything is changed.
        """
        before, after = soil_of(old, world), soil_of(new, world)
        if before is not None and after is not None and before != after:
            replace_material(world, before, after)
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
    solver: Chosen = None,
) -> SceneRun:
    """Build a scene, run it to its end (or for `seconds`), and check its outcome."""
    one = scene(which) if isinstance(which, str) else which
    given = make_params(one, params)
    world = one.build(given, solver)
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
        schema = one.Params.model_json_schema()["properties"]
        problems = [_problem(problem, schema) for problem in error.errors()]
        raise InputError(f"scene {one.name}: " + "; ".join(problems)) from None
    return made


def _problem(problem: Any, schema: Mapping[str, Any]) -> str:
    """Return in words what is wrong with one parameter, and what is allowed."""
    name = str(problem["loc"][0]) if problem["loc"] else ""
    if not name:  # a rule about several parameters
        return str(problem["msg"])
    if name not in schema:
        return f"unknown parameter {name!r}; allowed: {', '.join(schema)}"
    return f"{name}: got {problem['input']!r}; allowed: {allowed(schema[name])}"
