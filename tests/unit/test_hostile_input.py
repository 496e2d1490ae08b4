"""Bad input gets a clear error; extreme but valid input stays finite (CASES D7)."""

from __future__ import annotations

import numpy as np
import pytest

import berm


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: berm.World(dt=0.0), ["dt", "0.0", "above 0"]),
        (lambda: berm.World(gravity=(0, 0)), ["gravity", "three"]),
        (lambda: berm.World(precision="float16"), ["precision", "float32"]),
        (lambda: berm.World(solver="p3"), ["solver", "p3", "p2"]),
        (lambda: berm.P2(averaging="mean"), ["averaging", "mean", "mass"]),
        (lambda: berm.P2(iterations=0), ["iterations", "0"]),
        (lambda: berm.material("gravle"), ["gravle", "gravel"]),
        (lambda: berm.material("gravel", frictoin=1), ["frictoin", "friction"]),
        (lambda: berm.material("gravel", density=-1), ["density", "-1", "above 0"]),
        (lambda: berm.material("gravel", friction_kinetic=2.0), ["friction_kinetic", "at most"]),
        (lambda: berm.material("gravel", poisson_ratio=0.5), ["poisson_ratio", "below 0.5"]),
        (lambda: berm.material("gravel", poisson_ratio=np.nan), ["poisson_ratio", "nan"]),
        (lambda: berm.World().add_grains([[0, 0, 0]], 0.0), ["radius", "above 0"]),
        (lambda: berm.World().add_grains([[0, 0, 0], [0, np.nan, 1]], 0.1), ["grain 1", "nan"]),
        (lambda: berm.World().add_grains([[1e7, 0, 0]], 0.1), ["float64"]),
        (lambda: berm.World().add_grains([[0, 0]], 0.1), ["(k, 3)"]),
        (lambda: berm.World().body("floor"), ["floor", "none"]),
        (lambda: berm.Emitter(-1, (0, 0, 0)), ["rate", "-1"]),
        (lambda: berm.Emitter(1, (0, 0, 0), region="cube"), ["region", "cube", "box"]),
        (lambda: berm.Sink((0, 0, 0), (0, 1, 1)), ["low"]),
        (lambda: berm.World().run(-1), ["seconds", "-1"]),
    ],
)
def test_errors_say_what_is_wrong_and_what_is_allowed(make, words):
    with pytest.raises(berm.InputError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def test_unknown_tag_is_named():
    world = berm.World()
    world.add_grains([[0, 0, 0]], 0.1)
    with pytest.raises(berm.InputError, match="17"):
        world.remove_grains(tags=[17])


@pytest.mark.parametrize("solver", [berm.P2, berm.P2.published])
def test_coincident_centres_part(solver):
    world = berm.World(solver=solver(), gravity=(0, 0, 0))
    world.add_grains(np.zeros((5, 3)), 0.02)
    world.run(1.0)
    assert np.isfinite(world.grains.position).all()
    far = np.linalg.norm(world.grains.position[:, None] - world.grains.position[None], axis=2)
    assert far[np.triu_indices(5, 1)].max() > 0.02


def test_extreme_mass_ratio_stays_finite():
    world = berm.World()
    floor = world.add_body(berm.Plane())
    world.add_grains([[0, 0, 0.01]], 0.01, material=berm.material("gravel"))
    world.add_grains([[0, 0, 0.52]], 0.5, material=berm.material("steel", density=2e4))
    for _ in range(120):
        report = world.step()
    assert np.isfinite(world.grains.position).all() and np.isfinite(report.kinetic_energy)
    assert np.isfinite(floor.force).all()


def test_runaway_stops_with_the_grain_and_step():
    world = berm.World()
    world.add_grains([[0, 0, 1], [0, 0, 2]], 0.02)
    world.run(0.1)
    world.grains.velocity[1] = np.inf
    with pytest.raises(berm.SimulationError, match="grain"):
        world.step()


def test_empty_world_runs():
    world = berm.World()
    world.add_body(berm.Plane())
    assert world.step().grains == 0 and world.time == pytest.approx(1 / 60)


def test_add_and_remove_keep_mass_accounts():
    world = berm.World()
    tags = world.add_grains(np.arange(30).reshape(10, 3), 0.1)
    world.step()
    world.remove_grains(tags=tags[::2])
    world.step()
    assert set(world.grains.tags.tolist()) == set(tags[1::2].tolist())
    assert world.mass_added - world.mass_removed == pytest.approx(world.grains.mass.sum(), rel=1e-6)
