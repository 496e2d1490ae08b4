"""Cloth that meets itself: layers carry each other, momentum stays, nothing passes through."""

from __future__ import annotations

import numpy as np
import pytest

import berm
from berm.core.cloth import Cloth
from berm.solvers.cloth.self_rows import find_pairs
from tests.analytic.crossings import crossings
from tests.same_bits import assert_goes_on, assert_same_on_threads

G, MASS, THICK = 9.81, 0.5, 0.01

SOLVERS = {
    "sp gs": lambda: berm.SP(iterations=30),
    "sp ij": lambda: berm.SP(iteration="ij", iterations=40),
    "vts gs": lambda: berm.VTS(iterations=30),
}


def test_boxes_that_overlap_are_found_once():
    """Against all pairs, tested one by one; boxes of very different sizes, on both sides of 0."""
    rng = np.random.default_rng(0)
    low = rng.uniform(-1, 1, (400, 3))
    box = np.concatenate([low, low + rng.uniform(0, 0.1, (400, 3))], axis=1)
    box[0] = -0.8, -0.8, -0.8, 0.7, 0.6, 0.5
    other = box[::-1][:250] + 0.01
    for mine, them in ((box, other), (box, None)):
        two = mine if them is None else them
        meet = (mine[:, None, :3] <= two[:, 3:]) & (mine[:, None, 3:] >= two[:, :3])
        expected = np.argwhere(meet.all(axis=2))
        if them is None:
            expected = expected[expected[:, 0] < expected[:, 1]]
        found = find_pairs(mine, them)
        assert len(found) == len(expected) > 100
        np.testing.assert_array_equal(found[np.lexsort(found.T[::-1])], expected)


def test_exact_crossings_are_seen():
    """The judge itself: a stick through a triangle, beside it, and short of it."""
    faces = np.array([[0, 1, 2], [3, 4, 5]])
    sheet = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    for tip, hits in (((0.2, 0.2, -1), 1), ((0.8, 0.8, -1), 0), ((0.2, 0.2, 0.1), 0)):
        blade = [[tip[0], tip[1], 1], tip, [tip[0], tip[1] + 5, 1.01]]
        assert crossings(np.array(sheet + blade, float), faces) >= hits
        assert (crossings(np.array(sheet + blade, float), faces) > 0) == bool(hits)


def folded(solver, height=0.05, gap=0.05, n=13, precision="float64", **options):
    """A strip whose second half lies, upside down, `gap` above the first; a floor below."""
    world = berm.World(solver=solver, precision=precision)
    given = {"self_collision": True, "thickness": THICK, "damping": 0.5, "bend": 0.0, **options}
    sheet = Cloth.grid((2 * n - 1, n), (0.6, 0.3), mass=MASS, **given)
    along, radius = sheet.shape[:, 0], 0.5 * gap
    flat = 0.5 * (0.6 - np.pi * radius)
    turn = np.clip((along - flat) / radius, 0.0, np.pi)
    back = np.maximum(along - flat - np.pi * radius, 0.0)
    sheet.position[:, 0] = np.minimum(along, flat) + radius * np.sin(turn) - back
    sheet.position[:, 2] = height + radius * (1.0 - np.cos(turn))
    world.add_cloth(sheet)
    floor = world.add_body(berm.Plane(), material="gravel")
    return world, sheet, floor


@pytest.mark.parametrize("name", SOLVERS)
def test_folded_sheet_rests_on_itself(name):
    """Layers come to rest one thickness apart, and the floor carries both."""
    world, sheet, floor = folded(SOLVERS[name]())
    push = []
    for k in range(180):
        world.step()
        push.append(-floor.force[2])
        if k % 10 == 0:
            assert crossings(sheet.position, sheet.faces) == 0
    along = sheet.shape[:, 0]
    lower, upper = (sheet.position[part, 2] for part in (along < 0.22, along > 0.38))
    assert lower == pytest.approx(THICK, abs=0.05 * THICK)
    assert upper == pytest.approx(2 * THICK, abs=0.1 * THICK)
    assert np.mean(push[-60:]) == pytest.approx(MASS * G, rel=2e-3)
    assert np.abs(sheet.velocity).max() < 0.05


def test_without_it_layers_fall_together():
    world, sheet, _ = folded(berm.SP(iterations=30), self_collision=False)
    world.run(1.5)
    assert sheet.position[:, 2] == pytest.approx(THICK, abs=0.05 * THICK)


@pytest.mark.parametrize("make", [berm.SP, berm.VTS])
@pytest.mark.parametrize("kind", ["gs", "ij", "mr"])
def test_momentum_of_a_free_sheet_that_claps(make, kind):
    """No gravity, no floor: halves thrown at each other keep what they have together."""
    world, sheet, _ = folded(make(iteration=kind), height=10.0, damping=0.0)
    world.gravity[:] = 0.0
    sheet.velocity[:] = 0.3, -0.2, 0.1
    sheet.velocity[sheet.shape[:, 0] > 0.35, 2] -= 2.0
    mass = 1.0 / sheet.inverse_mass
    before, met = mass @ sheet.velocity, 0
    for _ in range(20):
        world.step()
        met += sum((one.out[:, 7] < 0.0).sum() for one in world.solver.cloth.own.kinds)
    assert met > 20
    assert crossings(sheet.position, sheet.faces) == 0
    assert mass @ sheet.velocity == pytest.approx(before, abs=1e-13 * MASS * 2.0)


def dropped(solver, seed, n=24, on=True, precision="float32"):
    """A sheet that hangs, in waves, lets go and falls on its lower edge."""
    world = berm.World(solver=solver, precision=precision)
    sheet = Cloth.grid((n, n), (0.6, 0.6), mass=0.3, thickness=THICK, self_collision=on)
    x, y, _ = sheet.shape.T / 0.6
    wave = 0.02 * np.sin(2 * np.pi * y) + 0.01 * np.sin(3 * np.pi * x)
    sheet.position[:] = np.stack([0.6 * x, wave, 0.6 * y + 0.05], axis=1)
    sheet.position += np.random.default_rng(seed).uniform(-1e-4, 1e-4, sheet.position.shape)
    world.add_cloth(sheet)
    return world, sheet, world.add_body(berm.Plane(), material="gravel")


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("make", [berm.SP, berm.VTS])
def test_sheet_falls_in_folds(make, seed):
    """No edge is through a face, at any time, and in the end the floor carries the heap."""
    world, sheet, floor = dropped(make(), seed)
    push = []
    for k in range(150):
        world.step()
        push.append(-floor.force[2])
        if k % 3 == 0:
            assert crossings(sheet.position, sheet.faces) == 0, f"step {k}"
    assert sheet.position[:, 2].max() < 0.2  # it has come down
    assert np.mean(push[-30:]) == pytest.approx(0.3 * G, rel=0.02)


def test_the_fall_is_hard_without_it():
    """The test above says something: the same fall without self-collision is a tangle."""
    world, sheet, _ = dropped(berm.SP(), 0, on=False)
    world.run(1.0)
    assert crossings(sheet.position, sheet.faces) > 100


def test_cloth_on_cloth():
    """One sheet lies on another: they keep the mean of their thicknesses, the floor all weight."""
    world = berm.World(solver=berm.SP(iterations=30), precision="float64")
    for k, (name, thick) in enumerate((("low", 0.008), ("high", 0.016))):
        world.add_cloth(
            Cloth.grid(
                (10, 10), (0.4, 0.4), (0.013 * k, 0.009 * k, 0.02 + 0.05 * k), mass=0.3, name=name,
                thickness=0.01, self_collision=True, self_thickness=thick,
            )
        )  # fmt: skip
    floor = world.add_body(berm.Plane(), material="gravel")
    world.run(2.0)
    low, high = world.cloths
    assert low.position[:, 2] == pytest.approx(0.01, abs=2e-4)
    assert high.position[:, 2] == pytest.approx(0.022, abs=3e-4)
    assert -floor.force[2] == pytest.approx(0.6 * G, rel=1e-3)


def test_friction_between_layers():
    """A sheet on a pinned, tilted one slides as a block does, a = g (sin - mu cos), or rests."""

    def gone(mu):
        tilt = np.radians(20.0)
        gravity = (G * np.sin(tilt), 0.0, -G * np.cos(tilt))
        world = berm.World(gravity, solver=berm.VTS(iterations=40), precision="float64")
        given = {"self_collision": True, "self_friction": mu, "thickness": THICK}
        below = Cloth.grid((31, 9), (1.5, 0.4), mass=1.0, name="below", **given)
        below.pin(np.arange(31 * 9))
        place = (0.1, 0.06, THICK)
        above = Cloth.grid((7, 7), (0.25, 0.25), place, mass=0.2, name="above", **given)
        world.add_cloth(below)
        world.add_cloth(above)
        world.run(0.3)
        assert above.position[:, 2] == pytest.approx(THICK, abs=0.05 * THICK)
        return above.velocity[:, 0].mean(), G * 0.3 * (np.sin(tilt) - mu * np.cos(tilt))

    for mu in (0.0, 0.2):
        found, expected = gone(mu)
        assert found == pytest.approx(expected, rel=0.03)
    assert abs(gone(0.5)[0]) < 0.01


def print_of(world):
    sheet = world.cloths[0]
    return sheet.position.tobytes() + sheet.velocity.tobytes()


def advance(world, steps):
    prints = []
    for _ in range(steps):
        world.step()
        prints.append(print_of(world))
    return prints


KINDS = {"sp gs": lambda: berm.SP(iterations=8), "vts cr": lambda: berm.VTS(iteration="cr")}


@pytest.mark.parametrize("name", KINDS)
def test_threads_do_not_change_a_bit(name):
    assert_same_on_threads(lambda: advance(dropped(KINDS[name](), 0, n=33)[0], 30))


@pytest.mark.parametrize("name", KINDS)
def test_restart_continues_bit_for_bit(name, tmp_path):
    world = dropped(KINDS[name](), 0)[0]
    advance(world, 25)
    assert all(len(kind.keys) > 50 for kind in world.solver.cloth.own.kinds)
    assert_goes_on(world, dropped(KINDS[name](), 0)[0], lambda one: advance(one, 15), tmp_path)


def test_wrong_input():
    def grid(**options):
        return Cloth.grid((3, 3), (1, 1), name="sail", **options)

    assert not grid().self_collision
    assert grid(self_collision=True, thickness=0.02).self_thickness == 0.02
    with pytest.raises(berm.InputError, match=r"'sail': self_thickness.*self_collision=True"):
        grid(self_thickness=0.01)
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(berm.InputError, match="'sail': self_thickness"):
            grid(self_collision=True, self_thickness=wrong)
    with pytest.raises(berm.InputError, match="'sail': thickness"):
        grid(self_collision=True, thickness=0.0)
    with pytest.raises(berm.InputError, match="'sail': self_friction"):
        grid(self_collision=True, self_friction=-0.1)
    with pytest.raises(berm.InputError, match="no faces"):
        Cloth([[0, 0, 0]], np.zeros((0, 3)), 1.0, self_collision=True)
