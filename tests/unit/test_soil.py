"""Soils: presets, changes, clear errors, density under load."""

from __future__ import annotations

import math

import pytest

import berm
from berm.core.soil import SOILS, Soil


def test_presets_say_where_their_numbers_come_from() -> None:
    for name in SOILS.names():
        one = berm.soil(name)
        assert one.name == name
        assert one.source
        assert one.loose_density * one.swell == pytest.approx(one.density)
        assert one.tool_friction_angle < one.friction_angle


def test_changes_leave_the_preset_alone() -> None:
    stiff = berm.soil("loam", cohesion=12e3)
    assert stiff.cohesion == 12e3
    assert berm.soil("loam").cohesion == 6.1e3
    assert stiff.replace(cohesion=6.1e3) == berm.soil("loam")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"density": math.nan}, ["'loam'", "density", "nan", "above 0"]),
        ({"density": 2600.0}, ["density", "2600", "below 2600", "grains"]),
        ({"swell": 0.9}, ["swell", "0.9", "1 to 3"]),
        ({"cohesion": -1.0}, ["cohesion", "-1", "0 up"]),
        ({"friction_angle": 0.55 * 180}, ["friction_angle", "99", "60"]),
        ({"repose_angle": "35"}, ["repose_angle", "35", "degrees"]),
        ({"material": "loom"}, ["material", "loom", "'loam'"]),
        ({"cohesive": 1.0}, ["cohesive", "cohesion"]),
    ],
)
def test_wrong_values_are_named(change: dict[str, object], told: list[str]) -> None:
    with pytest.raises(berm.InputError) as caught:
        berm.soil("loam", **change)
    for part in told:
        assert part in str(caught.value)


def test_an_unknown_soil_lists_the_known_ones() -> None:
    with pytest.raises(berm.InputError, match="did you mean 'clay'"):
        berm.soil("clai")


def test_density_follows_the_line_of_virgin_compression() -> None:
    one = berm.soil("loam")
    grain = berm.material("loam").density
    at = one.preconsolidation
    assert one.density_under(at) == pytest.approx(one.density)
    void = [grain / one.density_under(p) - 1.0 for p in (at, 10.0 * at)]
    assert void[0] - void[1] == pytest.approx(one.compaction)
    assert one.density_under(0.0) == one.density_under(1e-9) == one.loose_density
    assert one.density_under(1e30) == grain
    rising = [one.density_under(10.0**k) for k in range(9)]
    assert rising == sorted(rising)


def test_grains_cohere_and_heap_up_as_the_soil_says() -> None:
    law = berm.soil("loam").grains()
    assert 0.9 * law.adhesion == pytest.approx(6.1e3)
    assert law.friction_static == berm.calibrate("loam", 35.0).friction_static
    assert Soil().grains().adhesion == 0.0
