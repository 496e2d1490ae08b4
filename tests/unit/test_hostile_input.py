"""Bad input gets a clear error; extreme but valid input stays finite (CASES D7)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import berm


def body(**options):
    return berm.World().add_body(berm.Sphere(0.1), **options)


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
        (lambda: berm.World().run(np.inf), ["seconds", "inf"]),
        (lambda: berm.World(dt="fast"), ["dt", "fast", "above 0"]),
        (lambda: berm.World(gravity="down"), ["gravity", "down", "three"]),
        (lambda: berm.World(seed=-1), ["seed", "-1", "0 up"]),
        (lambda: berm.World(seed=1.5), ["seed", "1.5", "whole"]),
        (lambda: berm.World(solver=berm.P2), ["solver", "P2(...)"]),
        (lambda: berm.P2(iterations=2.5), ["iterations", "2.5", "whole"]),
        (lambda: berm.P2(sleep="a"), ["sleep", "'a'", "0 to 1 m"]),
        (lambda: berm.Material(density="heavy"), ["density", "heavy", "above 0"]),
        (lambda: berm.Material(poisson_ratio=2.0), ["poisson_ratio", "2.0", "0.5"]),
        (lambda: berm.calibrate("gravel", "steep"), ["angle of repose", "steep"]),
        (lambda: berm.World().add_grains("here", 0.1), ["position", "here", "(k, 3)"]),
        (lambda: berm.World().add_grains(np.zeros((3, 3)), [1, 2]), ["radius", "(3,)"]),
        (lambda: berm.World().add_grains(np.zeros((3, 3)), 1, [1, 2]), ["velocity", "(3, 3)"]),
        (lambda: berm.World().add_grains([[0, 0, 0]], 1e30), ["radius of grain 0", "float32"]),
        (lambda: berm.World().add_grains([[0, 0, 0]], 1e-30), ["radius of grain 0", "float32"]),
        (lambda: berm.World().add_grains([[0, 0, 0]], 1, material=3), ["material", "3", "preset"]),
        (lambda: berm.World().remove_grains(tags=[3]), ["tags", "3", "no grain is alive"]),
        (lambda: berm.World().remove_grains(tags=[0.5]), ["tags", "0.5", "whole"]),
        (lambda: berm.World().add_body("box"), ["shape", "box", "Plane", "Mesh"]),
        (lambda: body(rotation=np.diag([1, 1, -1])), ["rotation", "3 x 3"]),
        (lambda: body(position="here"), ["position", "here", "three"]),
        (lambda: body(motion=np.sin), ["motion", "Function(f)"]),
        (lambda: body(motion=berm.Function(lambda t: t)), ["t = 0 s", "three"]),
        (lambda: body(motion=berm.Function(lambda t: ((0, 0, 0), 2 * np.eye(3)))), ["rotation"]),
        (lambda: berm.Function(3), ["function", "3"]),
        (lambda: berm.Linear(1.0), ["velocity", "1.0", "three"]),
        (lambda: berm.Linear((1, 0, 0), start=2, stop=1), ["start", "stop", "(2, 1)"]),
        (lambda: berm.Spin((0, 0, 0), 1), ["axis", "not zero"]),
        (lambda: berm.Spin((0, 0, 1), np.nan), ["rate", "nan"]),
        (lambda: berm.Keyframes([0, np.nan], np.zeros((2, 3))), ["times", "rising"]),
        (lambda: berm.Keyframes([0, 1], [[0, 0, 0], [np.nan, 0, 0]]), ["positions", "finite"]),
        (lambda: berm.Keyframes([0, 1], np.zeros((2, 3)), [0, 1], (0, 0, 0)), ["axis"]),
        (lambda: berm.Emitter(np.inf, (0, 0, 0)), ["rate", "inf"]),
        (lambda: berm.Emitter(1, (0, 0)), ["position", "(0, 0)", "three"]),
        (lambda: berm.Emitter(1, (0, 0, 0), velocity=(0, 0)), ["velocity", "three"]),
        (lambda: berm.Emitter(1, (0, 0, 0), radius=(1, 2, 3)), ["radius", "smallest"]),
        (lambda: berm.Emitter(1, (0, 0, 0), radius=np.inf), ["radius", "inf"]),
        (lambda: berm.Emitter(1, (0, 0, 0), material="sandd"), ["sandd", "wet sand"]),
        (lambda: berm.Emitter(1, (0, 0, 0), total=-3), ["total", "-3"]),
        (lambda: berm.Emitter(1, (0, 0, 0), start=2, stop=1), ["start", "stop"]),
        (lambda: berm.Sink(0, 1), ["sink", "three"]),
        (lambda: berm.World().add_sink(3), ["sink", "3", "a Sink"]),
        (lambda: berm.World().separate(np.nan), ["overlap", "nan"]),
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


@pytest.mark.parametrize("mask", [True, [True], [0, 2], [0, 1, 1]])
def test_a_mask_marks_rows_and_does_not_list_them(mask):
    world = berm.World()
    world.add_grains(np.eye(3), 0.1)
    with pytest.raises(berm.InputError, match="each of the 3 rows"):
        world.remove_grains(mask=mask)
    assert world.grains.n == 3


@pytest.mark.parametrize("solver", [berm.P2, berm.P2.published])
def test_coincident_centres_part(solver):
    world = berm.World(solver=solver(), gravity=(0, 0, 0))
    world.add_grains(np.zeros((5, 3)), 0.02)
    with pytest.warns(UserWarning, match="start 2 radii deep in each other"):
        world.step()
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


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("solver", ["p2", "dem", "vts", "sp"])
def test_runaway_stops_with_the_grain_and_step(solver, value):
    world = berm.World(solver=solver)
    tags = world.add_grains([[0, 0, 1], [0, 0, 2]], 0.02)
    world.run(0.1)
    world.grains.velocity[world.grains.rows_of(tags[1])] = value
    with pytest.raises(berm.SimulationError, match=r"^step 7: grain 1 "):
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


@pytest.mark.parametrize("dynamic", [False, True])
def test_p2_tells_of_grains_that_start_deep_in_a_wall(dynamic):
    world = berm.World()
    world.add_body(berm.Plane(), name="floor")
    if dynamic:
        world.add_body(berm.Box((0.1, 0.1, 0.1)), position=(1, 1, 1), dynamic=True)
    world.add_grains([[0, 0, 0.02], [0.2, 0, -0.04]], 0.02)
    with pytest.warns(UserWarning, match=r"grain 1 starts 3 radii deep in body 'floor'"):
        world.step()
    world.add_grains([[0.4, 0, 0.019]], 0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a little, and what was told, is not told again
        world.step()
    world.add_grains([[0.6, 0, -0.02]], 0.02)
    with pytest.warns(UserWarning, match=r"grain 3 .* radii deep in body 'floor'"):
        world.step()


def test_p2_tells_of_grains_that_start_deep_in_each_other():
    world = berm.World()
    world.add_grains([[0, 0, 0], [0.01, 0, 0], [1, 0, 0]], 0.02)
    with pytest.warns(UserWarning, match=r"grains [01] and [01] start 1.5 radii .*separate"):
        world.step()


def test_p2_does_not_tell_of_it_again_after_a_restart():
    first, second = berm.World(), berm.World()
    for world in (first, second):
        world.add_grains([[0, 0, 0], [0.01, 0, 0]], 0.02)
    with pytest.warns(UserWarning, match="deep in each other"):
        first.step()
    second.restore(first.state())
    second.add_grains([[1, 0, 0]], 0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second.step()
