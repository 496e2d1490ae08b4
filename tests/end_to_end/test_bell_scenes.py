"""Bell's scenes with compound grains: the paper's sizes build, shapes and settings matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from berm.core.errors import InputError
from berm.scenes.base import make_params, run_scene, scene
from berm.scenes.parts.compound import CompoundParams, empty_world, pieces
from berm.scenes.rings import RingsParams, caught
from berm.solvers.choice import Choice
from berm.world.world import World


@pytest.mark.parametrize("name", ["sandglass", "splash", "rings"])
def test_only_discrete_elements_can_take_grains_that_turn(name: str) -> None:
    with pytest.raises(InputError, match=f"scene '{name}': solver: got 'p2'; allowed: .*: dem"):
        scene(name).build(make_params(scene(name)), "p2")


@pytest.mark.parametrize(
    ("name", "given", "grains", "spheres"),
    [
        ("sandglass", {}, 27_427, 109_708),  # Table 1
        ("rings", {}, 1000, 110_000),
        ("sandglass", {"grains": 300, "shape": "cube"}, 300, 2400),
        ("sandglass", {"grains": 300, "shape": "sphere"}, 300, 300),
        ("splash", {}, 45_494, 181_976),  # the ball comes later
    ],
)
def test_paper_sizes_build(name: str, given: dict[str, Any], grains: int, spheres: int) -> None:
    one = scene(name)
    world = one.build(make_params(one, {"size": "paper", **given}))
    assert len(pieces(world).mass) == grains
    assert world.grains.n == spheres


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "spheres"), [("sandglass", 109_708), ("rings", 110_000), ("splash", 181_976)]
)
def test_paper_sizes_run_some_frames(name: str, spheres: int) -> None:
    run = run_scene(name, {"size": "paper"}, seconds=0.1)
    assert run.world.grains.n == spheres
    assert np.isfinite(run.world.grains.position).all()


@pytest.mark.parametrize("name", ["pile", "sandglass"])
def test_adhesion_of_the_grains_pulls(name: str) -> None:
    """A scene's `adhesion` acts with discrete elements too, unless no cohesion is asked for."""
    made = scene(name)
    sticky = made.Params(adhesion=1e4)
    assert made.make_solver(sticky, "dem").laws["cohesion"].name == "area"
    none = Choice("dem", {"cohesion": "none"})
    assert made.make_solver(sticky, none).laws["cohesion"].name == "none"


def test_grains_of_all_shapes_weigh_the_same() -> None:
    weights = []
    for shape in ("sphere", "tetrahedron", "cube"):
        params = CompoundParams(shape=shape)
        world = empty_world(params)
        params.put(world, np.zeros((1, 3)))
        weights.append(float(pieces(world).mass[0]))
    assert weights == pytest.approx([weights[0]] * 3)


def test_pieces_tells_small_bodies_from_large_ones() -> None:
    one = scene("splash")
    params = make_params(one, {"grains": 100, "settle": 0.12})
    world = one.build(params)
    world.run(0.1)
    small, large = pieces(world, most=10), pieces(world, least=10)
    assert len(small.mass) == 100 and len(large.mass) == 1
    tall = params.heap[0]  # type: ignore[attr-defined]
    ball = 4 / 3 * np.pi * (params.ball * tall) ** 3 * 7850.0  # type: ignore[attr-defined]
    assert large.mass[0] == pytest.approx(ball, rel=1e-6)


def test_a_ring_around_a_pole_is_caught() -> None:
    params = RingsParams(rings=3, spheres=16)
    world = World(solver="dem")
    x, y = params.poles()[7]
    flat, upright = [1.0, 0.0, 0.0, 0.0], [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]
    shape, low = params.cluster(), params.radius
    world.add_clusters(shape, [[x, y, low]], flat)
    world.add_clusters(shape, [[x + 1.1 * params.outer, y, low]], flat)  # beside it
    world.add_clusters(shape, [[x, y, params.outer]], upright)  # on edge
    assert caught(world, params).tolist() == [True, False, False]
