"""The same scenes with every solver that can take them: where physics decides, they agree."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from berm.core.errors import InputError
from berm.scenes import SCENES
from berm.scenes.base import SceneRun, make_params, run_scene, scene
from berm.solvers.choice import Choice, names

EVERY = names()
MOVING = names(frozenset({"grains"}))  # that move grains
GRAVITY = 9.81
SIZES: dict[str, dict[str, Any]] = {
    "column": {"grains": 6},
    "slope": {"grains": 4, "start": 3.0},
    "mesh-glass": {"grains": 150, "seconds": 2.5},
    "collapse": {"aspect": 1.0, "column": 0.1},
    "cloth-sphere": {"vertices": 20, "seconds": 3.0},
}


@functools.cache
def run(name: str, solver: str) -> SceneRun:
    return run_scene(name, SIZES[name], solver=solver)


def outcome(name: str, solver: str, what: str) -> float:
    """Return a value that the scene's own check looked at."""
    (found,) = [one for one in run(name, solver).outcomes if one.name == what]
    return found.value


@pytest.mark.parametrize("name", SCENES.names())
def test_every_scene_builds_with_its_own_solver_and_refuses_what_it_cannot_take(name: str) -> None:
    one = scene(name)
    able = names(one.needs)
    assert one.solver in able
    for solver in EVERY:
        if solver in able:
            assert one.make_solver(one.Params(), solver).name == Choice(solver).kind.name
        else:
            kind = Choice(able[0]).kind.name
            with pytest.raises(InputError, match=rf"scene '{name}': solver: got .*: .*{kind}"):
                one.build(make_params(one), solver)


@pytest.mark.parametrize("solver", MOVING)
def test_the_floor_bears_the_column(solver: str) -> None:
    """But for the average (9) as printed, in which contacts of a grain share one correction."""
    share = outcome("column", solver, "force on the floor / weight")
    if solver == "published":
        assert share == pytest.approx(0.25, abs=0.02)
    else:
        assert share == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("solver", MOVING)
def test_grains_slide_with_kinetic_friction_or_roll(solver: str) -> None:
    found = outcome("slope", solver, "acceleration after it")
    params = run("slope", solver).params
    steep = math.radians(params.slip_angle + 2.0)  # type: ignore[attr-defined]
    sliding = math.sin(steep) - params.friction_kinetic * math.cos(steep)  # type: ignore[attr-defined]
    expected = 5.0 / 7.0 * math.sin(steep) if solver == "dem" else sliding
    assert found == pytest.approx(GRAVITY * expected, rel=0.02)


@pytest.mark.parametrize("solver", MOVING)
def test_all_grains_pass_the_neck_and_none_leaves_the_mesh(solver: str) -> None:
    assert outcome("mesh-glass", solver, "grains through the mesh") == 0
    assert outcome("mesh-glass", solver, "run through") > 0.95


def test_grains_pass_the_neck_at_the_same_time() -> None:
    """When half of them have passed: 0.25 to 0.32 s, of which the fall is the most."""
    half = {}
    for solver in ("p2", "vts", "sp", "dem"):
        history = run("mesh-glass", solver).history
        half[solver] = float(history["time"][np.argmax(history["passed"] >= 75)])
    assert max(half.values()) < 1.4 * min(half.values()), half


def test_columns_run_out_as_far() -> None:
    found = {one: outcome("collapse", one, "run-out") for one in ("p2", "vts", "sp", "dem")}
    middle = float(np.median(list(found.values())))
    assert all(abs(one / middle - 1.0) < 0.2 for one in found.values()), found


@pytest.mark.parametrize("solver", names(frozenset({"cloth"})))
def test_friction_inside_the_iterations_holds_the_cloth(solver: str) -> None:
    """pbd, whose friction comes afterwards, lets it slide off, and its check says so."""
    assert run("cloth-sphere", solver).ok
