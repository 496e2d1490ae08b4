"""Another solver for a world that is there already: everything that it needs comes along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from berm.core.clumps import Clumps
from berm.core.errors import InputError
from berm.core.grains import Grains
from berm.solvers.base import Solver, require, warn_of_adhesion
from berm.solvers.choice import make_solver, names
from berm.world.clumps import cover_body

if TYPE_CHECKING:
    from berm.world.world import World

PRECISIONS = {"float32": np.float32, "float64": np.float64}


def named_solver(solver: str | Solver) -> Solver:
    """Return a new solver by its name, or the object that was given."""
    made = make_solver(solver) if isinstance(solver, str) else solver
    if not isinstance(made, Solver):
        raise InputError("world: solver", solver, ", ".join(names()) + ", or P2(...)")
    return made


def precision_for(solver: Solver, asked: str | None) -> str:
    """Return the precision that was asked for, else the one that the solver likes best."""
    precision = asked or solver.precision
    if precision not in PRECISIONS:
        raise InputError("world: precision", precision, ", ".join(PRECISIONS))
    return precision


def use_solver(world: World, solver: str | Solver) -> None:
    """Exchange the solver; see `World.use_solver`. Where it is refused, the world stays as it is.

    What contacts remember is lost, for another method remembers something else. Spins are kept
    from one solver that turns grains to another, and are 0 where none had turned them.
    """
    fresh = named_solver(solver)
    if fresh is world.solver:
        return
    if fresh._owner is not None:
        raise InputError(f"solver {fresh.name}", "in use before", "a new object")
    before, clumps, last = world.grains, world.clumps, world.solver
    covers = clumps.body >= 0
    for what, capability, count in (
        ("grains", "grains", before.n + len(world.emitters)),
        ("cloth", "cloth", len(world.cloths)),
        ("compound grains", "clusters", clumps.n - int(covers.sum())),
        ("dynamic bodies", "bodies", sum(body.dynamic for body in world.bodies)),
        ("joints", "joints", len(world.joints)),
    ):
        if count:
            require(fresh, capability, what)
    precision = precision_for(fresh, world.asked_precision)
    world.grains = before.without_memory(PRECISIONS[precision])
    try:
        fresh.prepare(world)
        world.solver = fresh
        if world.grains.rotating and before.rotating:
            _keep_turning(before, world.grains)
        elif before.rotating:
            _uncover(world)
        elif world.grains.rotating:
            world.clumps = Clumps()
            for body in world.bodies:
                if body.dynamic:
                    row = cover_body(world, body, None)
                    world.clumps.body[row] = body.tag
    except BaseException:
        world.grains, world.clumps, world.solver = before, clumps, last
        raise
    world.precision = precision
    for kind in np.unique(world.grains.material[: world.grains.n]):
        warn_of_adhesion(fresh, world.materials[kind], depth=3)


def _keep_turning(before: Grains, now: Grains) -> None:
    """Take over spins, and which grains are spheres of a compound one."""
    now.spin[: now.n] = before.spin[: now.n]
    now.owner[: now.n] = before.owner[: now.n]


def _uncover(world: World) -> None:
    """Take away the particles through which dynamic bodies met the grains."""
    covers = np.isin(world.grains.tags, world.clumps.members)
    world.mass_added -= float(world.clumps.mass.sum())
    world.grains.remove(covers)
    templates, world.clumps = world.clumps.templates, Clumps()
    world.clumps.templates = templates
