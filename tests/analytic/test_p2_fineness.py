"""What docs/theory/p2.md says about substeps that are chosen: how far loaded contacts give way."""

from __future__ import annotations

import math

import numpy as np
import pytest

import berm
from benchmarks.strength.tools import measure

G, RADIUS = 9.81, 0.05
GRAIN = 4.0 / 3.0 * math.pi * RADIUS**3 * 2600.0  # kg


def column(n, load=0.0, **options):
    """A column of n grains at rest, the uppermost `load` (kg) heavier."""
    stuff = berm.Material("stuff", density=2600.0, stiffness=1e6, friction_static=0.0,
                          friction_kinetic=0.0)  # fmt: skip
    heavy = stuff.replace(name="heavy", density=2600.0 * (1.0 + load / GRAIN))
    world = berm.World(solver=berm.P2(**options), precision="float64")
    place = [[0, 0, RADIUS * (2 * i + 1)] for i in range(n)]
    world.add_grains(place[:-1], RADIUS, (0, 0, 0), stuff)
    world.add_grains(place[-1:], RADIUS, (0, 0, 0), heavy)
    world.add_body(berm.Plane(), name="floor", material=stuff)
    world.run(10.0)
    return world


def test_how_far_contacts_give_way_is_the_formula():
    """(1 - memory) / 2 h^2 F (w_i + w_j) / r, weighted by its square, of the contacts of pairs."""
    n = 6
    world = column(n, substeps=10)
    h = world.dt / 10
    give = 0.25 * h * h * G * np.arange(1, n) * GRAIN * (2.0 / GRAIN) / RADIUS
    assert world.report.give == pytest.approx((give**3).sum() / (give**2).sum(), rel=1e-5)
    assert world.report.substeps == 10  # that is less than what is allowed


def test_substeps_follow_the_load_and_stay():
    """As many as keep the contacts within `give`, not many more, and the same from then on."""
    world = column(5, load=400.0, give=0.01)
    n = world.report.substeps
    assert n > 20
    assert 0.01 / 1.6**2 / 1.21 < world.report.give <= 0.01
    for _ in range(120):
        assert world.step().substeps == n


def test_substeps_have_a_bound():
    world = column(5, load=400.0, give=0.01, substeps_most=15)
    assert world.report.substeps == 15
    assert world.report.give > 0.01


def test_forces_stay_when_the_number_of_substeps_changes():
    """Kept impulses are forces times h^2; unscaled, the floor felt a quarter of the weight."""
    world = column(6)
    weight = 6 * GRAIN * G
    assert world.body("floor").force[2] == pytest.approx(-weight, rel=1e-6)
    world.solver.substeps = 20
    world.step()
    assert world.report.substeps == 20
    assert world.body("floor").force[2] == pytest.approx(-weight, rel=0.05)


@pytest.mark.parametrize("averaging", ["mass", "count", "serial"])
def test_only_sweeps_choose(averaging):
    with pytest.raises(berm.InputError, match="give"):
        berm.P2(averaging=averaging, give=0.01)


def falling(radius, layers, wide, **options):
    """Layers of grains that fall into a box, all at once; the largest mean overlap, radii."""
    soil = berm.calibrate("dry sand")
    pitch = 2.1 * radius
    rng = np.random.default_rng(0)
    axes = [np.arange(wide), np.arange(wide), np.arange(layers)]
    place = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3) * pitch + 1.1 * radius
    place += rng.uniform(-0.04, 0.04, place.shape) * radius
    side, high = wide * pitch + 0.2 * radius, 3 * layers * pitch
    world = berm.World(solver=berm.P2(**options))
    world.add_body(
        berm.Box((side, side, high), inside=True, open_top=True),
        material=soil.replace(name="side"),
        position=(side / 2, side / 2, high / 2),
    )  # fmt: skip
    world.add_grains(place, radius, material=soil)
    return world, max(world.step().overlap_mean / radius for _ in range(40))


def test_a_deep_bed_of_small_grains_does_not_collapse():
    """100 layers of 5 mm fall into a box: with ten substeps they went through each other."""
    world, overlap = falling(0.005, 100, 5)
    assert overlap < 0.15
    assert world.report.substeps > 20


def test_grains_that_slip_through_each_other_are_told():
    with pytest.warns(UserWarning, match="slip through each other"):
        falling(0.005, 60, 4, substeps=4, substeps_most=4)


def test_force_on_a_plate_does_not_hang_on_the_number_of_substeps(tmp_path):
    """Pressed into a bed of 2 cm: against four times as many substeps, 0.57 with ten a step."""
    soil = berm.calibrate("dry sand")
    plate = ("plate", 0.02, 0.0)
    chosen = measure(*plate, 10, tmp_path, soil, give=0.004)
    fine = measure(*plate, 4 * round(chosen[5]), tmp_path, soil, give=1.0)
    few = measure(*plate, 10, tmp_path, soil, give=1.0)
    assert chosen[0] > 0.8 * fine[0]
    assert few[0] < 0.7 * fine[0]
