"""Every scene builds, runs at a reduced size, and its own check passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from berm.core.errors import InputError
from berm.scenes import SCENES
from berm.scenes.base import make_params, run_scene, scene
from berm.scenes.history import History

SMALL: dict[str, dict[str, Any]] = {
    "bounce": {},
    "blade": {"length": 1.6, "width": 1.0, "push": 0.7, "blade": 0.4},
    "slope": {"grains": 9, "start": 3.0},
    "column": {"grains": 12},
    "pile": {"grains": 600, "settle": 2.0},
    "hourglass": {"grains": 1500, "neck": 5.0},
    "collapse": {"column": 0.14},
    "bulldozer": {"length": 2.0, "width": 1.3, "depth": 0.12, "cut": 0.07, "blade": 0.5},
    "drum": {"drum": 0.2, "width": 0.12, "turns": 0.5},
}


def test_every_scene_has_a_reduced_size_here() -> None:
    assert sorted(SMALL) == SCENES.names()


@pytest.mark.parametrize("name", sorted(SMALL))
def test_scene_passes_its_own_check(name: str) -> None:
    run = run_scene(name, SMALL[name])
    assert run.outcomes, "a scene checks something"
    assert run.ok, "\n".join(str(outcome) for outcome in run.outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SMALL))
def test_scene_passes_at_its_default_size(name: str) -> None:
    run = run_scene(name)
    assert run.ok, "\n".join(str(outcome) for outcome in run.outcomes)


@pytest.mark.parametrize("name", sorted(SMALL))
def test_parameters_are_described_and_bounded(name: str) -> None:
    one = scene(name)
    assert one.summary and one.name == name
    assert one.duration(one.Params()) == pytest.approx(one.seconds, rel=0.05)
    for field, info in one.Params.model_fields.items():
        assert info.description, f"{name}.{field} has no description"
        assert not info.is_required(), f"{name}.{field} has no default"
        if info.annotation in (int, float):
            kinds = {type(bound).__name__ for bound in info.metadata}
            assert kinds & {"Ge", "Gt"}, f"{name}.{field} has no bound"


@pytest.mark.parametrize("name", sorted(SMALL))
def test_short_run_does_not_break_the_check(name: str) -> None:
    run = run_scene(name, SMALL[name], seconds=0.1)
    assert all(np.size(outcome.value) == 1 for outcome in run.outcomes)


def test_seed_decides() -> None:
    given = {"grains": 60, "rate": 300.0, "settle": 0.0}
    first, again, other = (
        run_scene("pile", {**given, "seed": seed}).world.grains.position.copy()
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_wrong_parameters_are_all_named() -> None:
    with pytest.raises(InputError, match=r"grains.*pour_rate|pour_rate.*grains"):
        make_params(scene("pile"), {"grains": -5, "pour_rate": 1})
    with pytest.raises(InputError, match=r"pile"):
        scene("piel")


def test_solver_of_a_scene_can_be_chosen() -> None:
    for solver, averaging in (("p2", "mass"), ("published", "count"), ("serial", "serial")):
        one = scene("column")
        world = one.build(make_params(one, {"solver": solver, "iterations": 7}))
        assert world.solver.options()["averaging"] == averaging
        assert world.solver.options()["iterations"] == 7


def test_history_is_saved_and_put_back() -> None:
    run = run_scene("bounce", seconds=0.5)
    copy = History()
    copy.restore(run.history.state())
    assert copy.names() == run.history.names()
    assert np.array_equal(copy["height"], run.history["height"])
    assert len(copy) == 30
