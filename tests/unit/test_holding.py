"""What lies in a bucket, by its pose: closed forms of simple sections."""

from __future__ import annotations

import math

import numpy as np
import pytest

from berm.kernels.terrain.holding import sections

BOX = np.array([[0.0, 0.0], [-1.0, 0.0], [-1.0, 1.0], [0.0, 1.0]])  # floor, back, roof; mouth ahead
TRAY = np.array([[0.0, 0.5], [0.0, 0.0], [2.0, 0.0], [2.0, 0.5]])  # mouth on top


def held(profile: np.ndarray, tangent: float, turned: float = 0.0) -> tuple[float, float, float]:
    """Area and middle, after the section was turned by so many degrees."""
    c, s = math.cos(math.radians(turned)), math.sin(math.radians(turned))
    out = np.zeros((1, 3))
    sections(np.ascontiguousarray([profile @ np.array([[c, s], [-s, c]])]), tangent, out)
    return tuple(out[0])


def test_a_tray_holds_its_struck_volume_and_a_roof() -> None:
    assert held(TRAY, 0.0) == pytest.approx((1.0, 1.0, 0.25))
    for tangent in (0.2, 0.7):
        assert held(TRAY, tangent)[0] == pytest.approx(1.0 + 0.5 * 2.0 * tangent, rel=1e-9)


def test_a_box_with_an_upright_mouth_holds_a_slope() -> None:
    area, s, z = held(BOX, 0.5)
    assert area == pytest.approx(0.25)
    assert (s, z) == pytest.approx((-2.0 / 3.0, 0.5 / 3.0), abs=2e-3)
    assert held(BOX, 2.0)[0] == pytest.approx(0.75, rel=3e-3)  # up to the roof


def test_tilting_spills_more_and_more_until_nothing_is_left() -> None:
    left = [held(TRAY, 0.6, turned)[0] for turned in (0, 20, 40, 60, 80, 100, 120, 150, 180)]
    assert left == sorted(left, reverse=True)
    assert left[-1] == left[-2] == 0.0
    assert held(BOX, 0.6, -90.0)[0] == 0.0  # mouth down
    assert held(BOX, 0.6, 90.0)[0] == pytest.approx(1.0 + 0.25 * 0.6, rel=1e-6)  # mouth up
    angle = 25.0  # a struck tray of liquid: what is above the lower rim's level runs out
    assert held(TRAY, 0.0, angle)[0] == pytest.approx(
        0.5 * 2.0 - 0.5 * 2.0 * 2.0 * math.tan(math.radians(angle)) + wet(angle), rel=0.02
    )


def wet(angle: float) -> float:
    """What the wedge that ran out would have had below the floor."""
    t = math.tan(math.radians(angle))
    below = 2.0 - 0.5 / t  # of the floor that fell dry
    return 0.5 * below * below * t if below > 0.0 else 0.0


def test_a_flat_blade_holds_nothing() -> None:
    assert held(np.array([[0.0, 0.0], [-0.3, 1.0]]), 0.6)[0] == 0.0
