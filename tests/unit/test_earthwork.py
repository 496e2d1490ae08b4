"""Cut and fill, profiles, volumes between states: bodies whose volume is known, and a dig."""

from __future__ import annotations

import math

import numpy as np
import pytest

import berm
from berm import measure
from berm.core.errors import InputError
from tests.unit.terrain_dig import blade_world


def cone(cell=0.05):
    """A cone of 2 m radius and 1 m height on level ground."""
    world = berm.World()
    world.add_terrain(
        berm.Terrain.of(lambda x, y: np.maximum(1.0 - 0.5 * np.hypot(x, y), 0.0), (6, 6), cell)
    )
    return world


def test_a_cone_has_the_volume_of_a_cone():
    world = cone()
    whole = math.pi * 2.0**2 / 3.0
    found = measure.cut_and_fill(world, 0.0)
    assert found.cut == 0.0 and found.fill == pytest.approx(whole, rel=2e-3)
    # a level 0.5 m up cuts off a cone of half the size, an eighth of the volume
    half = measure.cut_and_fill(world, 0.5, region=((-2, -2), (2, 2)))
    assert half.fill == pytest.approx(whole / 8, rel=5e-3)
    assert half.net == pytest.approx(
        whole - 0.5 * 4.05**2, rel=2e-3
    )  # columns reach half a cell out
    sloped = measure.cut_and_fill(world, lambda x, y: 0.1 * x)
    assert sloped.fill - sloped.cut == pytest.approx(whole, rel=2e-3)  # the plane has no volume


def test_a_profile_is_the_cut_through_the_cone():
    line = measure.profile(cone(), (-2.5, 0.3), (2.5, 0.3), step=0.01)
    x = line.distance - 2.5
    np.testing.assert_allclose(line.height, np.maximum(1 - 0.5 * np.hypot(x, 0.3), 0), atol=6e-3)
    assert line.distance[-1] == 5.0 and len(x) == 501


def test_ground_that_only_became_grains_has_not_moved():
    """A tool that stands still turns ground to grains: the surface that is measured stays."""
    world = blade_world(speed=0.0, start=0.0)
    before = measure.ground_surface(world)
    np.testing.assert_array_equal(before, world.terrain.heights)
    for _ in range(6):
        world.step()
    assert world.terrain.zone.live > 300 and world.terrain.heights.min() < -0.15
    change = measure.ground_surface(world) - before
    pit, x = world.terrain.zone.pit, -1.5 + 0.1 * np.arange(31)
    assert (change[~(world.terrain.zone.cover | pit)] == 0.0).all()
    # at the blade itself soil is missing: places of grains that it would cut through stay empty
    away = (np.abs(x) > 0.25)[:, None] & pit
    assert np.sqrt((change[away] ** 2).mean()) < 0.3 * world.terrain.grain
    assert abs(change[away].mean()) < 0.05 * world.terrain.grain
    moved = measure.between(world, before)
    lost = world.terrain.zone.counts.refused * 4 / 3 * math.pi * 0.04**3
    assert 0.0 < -moved.net < 1.1 * lost / world.terrain.zone.packing.density


def test_grains_in_the_air_do_not_count():
    world = blade_world(speed=0.0, start=0.0)
    world.step()
    surface = measure.ground_surface(world)
    soil = world.materials[world.terrain.zone.kinds[0]]
    world.add_grains([[1.2, 0.5, 0.6], [1.2, 0.5, 0.65]], 0.04, material=soil)
    np.testing.assert_array_equal(measure.ground_surface(world), surface)
    world.add_grains([[1.2, 0.5, 0.04]], 0.04, material=soil)  # this one lies on the ground
    changed = measure.ground_surface(world) - surface
    room = 4 / 3 * math.pi * 0.04**3 / world.terrain.zone.packing.density
    assert changed.sum() * 0.1**2 == pytest.approx(room, rel=1e-6)


def test_what_a_blade_digs_is_what_it_heaps():
    world = blade_world("dry sand")
    before = measure.ground_surface(world)
    for _ in range(90):
        world.step()
    moved = measure.between(world, before)
    assert moved.cut > 0.03 and moved.fill > 0.03
    # loose soil takes more room than it did, up to its swell (1.12)
    assert 0.9 < moved.fill / moved.cut < 1.5
    line = measure.profile(world, (-1.4, 0.0), (1.4, 0.0))
    behind, ahead = line.distance < 1.0, (line.distance > 1.3) & (line.distance < 2.2)
    assert line.height[behind].min() < -0.05 and line.height[ahead].max() > 0.1


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda w: measure.cut_and_fill(w, np.zeros(3)), r"design.*a height, or \(121, 121\)"),
        (lambda w: measure.cut_and_fill(w, math.nan), "finite heights"),
        (lambda w: measure.cut_and_fill(w, 0, ((0, 0), (0, 1))), "low below high"),
        (lambda w: measure.between(w, np.zeros((3, 3))), r"heights \(121, 121\)"),
        (lambda w: measure.profile(w, (0, 0), (9, 0)), r"from \[-3.0, -3.0\] to \[3.0, 3.0\]"),
        (lambda w: measure.profile(w, (0, 0), (0, 0)), "two different places"),
        (lambda w: measure.profile(w, (0, 0), (1, 0), step=0), "step.*above 0"),
        (lambda w: measure.profile(berm.World(), (0, 0), (1, 0)), "one with add_terrain"),
    ],
)
def test_what_is_wrong_is_told(call, said):
    with pytest.raises(InputError, match=said):
        call(cone())
