"""Scenes of Bell 2005, second part: avalanche, debris, silo; the drum with discrete elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from berm.core.errors import InputError
from berm.scenes.base import SceneRun, make_params, run_scene, scene

SMALL: dict[str, dict[str, Any]] = {
    "avalanche": {"grains": 250, "run": 0.8, "settle": 0.5, "flow": 1.2},
    "debris": {"length": 1.2, "width": 1.0, "blade": 0.4, "blocks": 5, "depth": 0.08},
    "silo": {"height": 1.5, "settle": 0.8},
}


def misses(run: SceneRun) -> set[str]:
    """Return the names of the checks that did not pass."""
    return {outcome.name for outcome in run.outcomes if not outcome.ok}


@pytest.mark.parametrize("name", ["debris", "silo"])
def test_scene_passes_its_own_check(name: str) -> None:
    run = run_scene(name, SMALL[name])
    # two grains deep and one metre wide, the field is too small for ridges on both sides
    lenient = {"ridge on the left", "ridge on the right"} if name == "debris" else set()
    assert run.outcomes and misses(run) <= lenient, "\n".join(map(str, run.outcomes))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SMALL))
def test_scene_passes_at_its_default_size(name: str) -> None:
    run = run_scene(name)
    assert run.outcomes and not misses(run), "\n".join(map(str, run.outcomes))


def test_front_stays_away_from_a_short_run() -> None:
    """Structures stand by themselves, momentum is kept, and the check says what is missing."""
    run = run_scene("avalanche", {**SMALL["avalanche"], "grains": 60}, seconds=0.3)
    assert misses(run) == {"front reaches the structures"}, "\n".join(map(str, run.outcomes))
    assert np.ptp(run.history["block_top"][6:]) < 0.25 * run.params.radius


@pytest.mark.slow
def test_small_avalanche_reaches_the_structures() -> None:
    run = run_scene("avalanche", SMALL["avalanche"])
    assert not misses(run), "\n".join(map(str, run.outcomes))


def test_smooth_silo_carries_nothing() -> None:
    run = run_scene("silo", {"height": 0.6, "settle": 0.6, "wall_friction": 0.0, "lower": 0.1})
    assert not misses(run), "\n".join(map(str, run.outcomes))


def test_drum_turns_with_discrete_elements() -> None:
    """The bed moves, stays inside, and the drum carries its weight."""
    run = run_scene(
        "drum",
        {"drum": 0.12, "width": 0.06, "turns": 0.3, "froude": 0.05},
        solver="dem",
    )
    # the torque's check needs impulses that only P2 keeps; so short a run swings about its angle
    assert misses(run) <= {"torque on the drum", "scatter of the angle"}, "\n".join(
        map(str, run.outcomes)
    )


@pytest.mark.parametrize("name", sorted(SMALL))
def test_parameters_are_described_and_bounded(name: str) -> None:
    one = scene(name)
    assert one.summary and one.name == name
    assert one.duration(one.Params()) == pytest.approx(one.seconds, rel=0.05)
    for field, info in one.Params.model_fields.items():
        assert info.description, f"{name}.{field} has no description"
        assert not info.is_required(), f"{name}.{field} has no default"


def test_bodies_need_a_solver_with_rotation() -> None:
    with pytest.raises(InputError, match=r"avalanche.*solver"):
        scene("avalanche").build(make_params(scene("avalanche")), "p2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "spheres"), [("avalanche", 294_820), ("debris", 310_149), ("silo", 109_708)]
)
def test_paper_sizes_build_and_run(name: str, spheres: int) -> None:
    """As many spheres as in Table 1 (the silo: as the hourglass), to a whole compound grain."""
    one = scene(name)
    world = one.build(make_params(one, {"size": "paper"}))
    assert world.grains.n == pytest.approx(spheres, rel=1e-3)
    for _ in range(2):
        world.step()
    assert np.isfinite(world.report.kinetic_energy)
