"""What a scene is built from: its parameters, and the solver; changed and shown as one list.

In that list the solver's name is "solver", and each of its options "solver.NAME".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from berm.core.errors import InputError
from berm.scenes.base import Scene, make_params
from berm.scenes.parts.params import SceneParams
from berm.scenes.parts.retune import retune_solver
from berm.solvers.choice import Choice
from berm.solvers.options import declared
from berm.world.world import World

SOLVER, OF_SOLVER = "solver", "solver."


@dataclass(frozen=True)
class Setup:
    """Parameters and solver of a scene."""

    scene: Scene[Any]
    params: SceneParams
    solver: Choice

    @classmethod
    def of(cls, scene: Scene[Any], params: SceneParams | Mapping[str, Any] | None = None) -> Setup:
        """Return a scene with its own solver."""
        return cls(scene, make_params(scene, params), Choice(scene.solver))

    def build(self) -> World:
        """Return a new world at time 0."""
        return self.scene.build(self.params, self.solver)

    def in_effect(self) -> dict[str, Any]:
        """Return all values; where one is none, what is taken instead. Wrong ones are refused."""
        made = self.scene.make_solver(self.params, self.solver)
        options = {OF_SOLVER + name: value for name, value in made.options().items()}
        return {**self.params.in_effect(made), SOLVER: self.solver.name, **options}

    def changed(self, given: Mapping[str, Any]) -> Setup:
        """Return a setup with some values changed; another solver begins with its own options."""
        solver, own = self.solver, dict(given)
        if own.get(SOLVER, solver.name) != solver.name:
            solver = Choice(str(own[SOLVER]))
        own.pop(SOLVER, None)
        options = {name: own.pop(name) for name in list(own) if name.startswith(OF_SOLVER)}
        solver = solver.changed(**{k.removeprefix(OF_SOLVER): v for k, v in options.items()})
        for name in own:
            if name not in type(self.params).model_fields:
                known = ", ".join([*type(self.params).model_fields, SOLVER, *self.option_names()])
                raise InputError(f"scene {self.scene.name}: unknown parameter", name, known)
        params = make_params(self.scene, {**self.params.model_dump(), **own}) if own else None
        made = replace(self, solver=solver, params=params or self.params)
        made.in_effect()
        return made

    def option_names(self) -> list[str]:
        """Return the names of the solver's options, as they are in the list."""
        return [OF_SOLVER + name for name in declared(self.solver.kind)]

    def live_names(self) -> tuple[str, ...]:
        """Return what acts on a running world; the rest acts on a new one."""
        options = tuple(OF_SOLVER + name for name in self.solver.kind.live)
        return (*self.scene.live_names(), *options)

    def retune(self, world: World, new: Setup) -> None:
        """Let live values of another setup act on a world that was built from this one."""
        before = self.scene.make_solver(self.params, self.solver).options()
        after = new.scene.make_solver(new.params, new.solver).options()
        changes = {
            name: after[name] for name in self.solver.kind.live if before[name] != after.get(name)
        }
        self.scene.retune(world, self.params, new.params)
        if changes:
            retune_solver(world, changes)

    def dump(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        return {
            "parameters": self.params.model_dump(mode="json"),
            "solver": {"name": self.solver.name, "options": dict(self.solver.options)},
        }

    def load(self, values: Mapping[str, Any]) -> Setup:
        """Return the setup of the same scene that `dump` gave."""
        chosen = values["solver"]
        params = make_params(self.scene, values["parameters"])
        return Setup(self.scene, params, Choice(chosen["name"], chosen["options"]))
