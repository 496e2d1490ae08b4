"""Wheels, plates and tracks on soil against closed forms of terramechanics."""

from __future__ import annotations

import math

import numpy as np
import pytest

from berm.kernels.jit import jit
from berm.kernels.terrain.wheel import (
    Ground,
    compaction_resistance,
    mean_shear,
    plate_pressure,
    rim_forces,
    rolling,
    sheared,
    wheel_table,
)

DRY_SAND = Ground(990.0, 1528.43e3, 1.1, 1040.0, math.radians(28.0), 0.01)  # Wong, Tab. 2.3
LETE = Ground(102e3, 5301e3, 0.79, 1300.0, math.radians(31.1), 0.012)
RADIUS, WIDTH = 0.8, 0.6


@jit
def measured(soil, what, a, b):
    """Call what Python cannot."""
    if what == 0:
        return plate_pressure(soil, a, b)
    if what == 2:
        return sheared(soil, a, b)
    if what == 3:
        return compaction_resistance(soil, a, b)
    return mean_shear(a, b)


@jit
def towed_as_bekker(soil, radius, width, theta_f):
    """Pressure of a plate from theta_f to the bottom, and nothing else; no shear."""
    return rim_forces(soil, radius, width, theta_f, 0.0, 0.0, radius, 0.0, 1.0)


@jit
def forces(soil, radius, width, theta_f, speed, aside, turning):
    return rolling(soil, radius, width, theta_f, speed, aside, turning)


def wheel(
    soil: Ground, load: float, slip: float, speed: float = 2.0
) -> tuple[float, float, float, float]:
    """Sinkage, load, pull, torque."""
    out = np.zeros((1, 4))
    turning = speed / RADIUS / (1.0 - slip)
    wheel_table(soil, np.array([[RADIUS, WIDTH, load, speed, turning]]), out)
    return tuple(out[0])


def test_a_plate_sinks_as_its_exponent_says() -> None:
    deep = np.array([0.01, 0.02, 0.05, 0.1])
    pressure = [measured(LETE, 0, 0.3, z) for z in deep]
    assert np.polyfit(np.log(deep), np.log(pressure), 1)[0] == pytest.approx(0.79, rel=1e-9)
    assert pressure[0] == pytest.approx((102e3 / 0.3 + 5301e3) * 0.01**0.79)
    assert measured(LETE, 0, 0.3, 0.0) == 0.0


def test_shear_follows_janosi() -> None:
    most = 1300.0 + 50e3 * math.tan(math.radians(31.1))
    assert measured(LETE, 2, 50e3, 0.012) == pytest.approx(most * (1.0 - math.exp(-1.0)))
    assert measured(LETE, 2, 50e3, 10.0) == pytest.approx(most)
    small = measured(LETE, 2, 50e3, 1e-9)
    assert small == pytest.approx(most * 1e-9 / 0.012, rel=1e-6)


@pytest.mark.parametrize("soil", [DRY_SAND, LETE])
def test_a_towed_wheel_meets_bekkers_compaction_resistance(soil: Ground) -> None:
    """Without shear, drag is the work of pressing the rut: exactly the integral of p dz."""
    slick = soil._replace(cohesion=0.0, friction=0.0)
    for theta in (0.1, 0.3, 0.6):
        sinkage = RADIUS * (1.0 - math.cos(theta))
        _, pull, _, torque = towed_as_bekker(slick, RADIUS, WIDTH, theta)
        assert torque == 0.0
        resistance = measured(soil, 3, WIDTH, sinkage)
        assert -pull == pytest.approx(resistance, rel=3e-3)
        deep = np.linspace(0.0, sinkage, 100_001)
        pressed = np.trapezoid((soil.k_c / WIDTH + soil.k_phi) * deep**soil.n, deep) * WIDTH
        assert resistance == pytest.approx(pressed, rel=1e-4)


@pytest.mark.parametrize(("n", "near"), [(1.0, 1e-3), (0.79, 0.035)])
def test_sinkage_of_a_towed_wheel_comes_near_bekkers(n: float, near: float) -> None:
    """Bekker's closed form: two terms of a series, all of it for n = 1."""
    slick = LETE._replace(cohesion=0.0, friction=0.0, n=n)
    load, *_ = towed_as_bekker(slick, RADIUS, WIDTH, 0.05)
    k = LETE.k_c / WIDTH + LETE.k_phi
    root = (3.0 - n) * WIDTH * k * math.sqrt(2.0 * RADIUS)
    sinkage = (3.0 * load / root) ** (2.0 / (2.0 * n + 1.0))
    assert RADIUS * (1.0 - math.cos(0.05)) == pytest.approx(sinkage, rel=near)


def test_a_wheel_carries_its_load_and_sinks_with_it() -> None:
    sunk = []
    for load in (5e3, 20e3, 50e3):
        sinkage, bears, _, _ = wheel(LETE, load, 0.1)
        assert bears == pytest.approx(load, rel=1e-6)
        sunk.append(sinkage)
    assert sunk == sorted(sunk)
    exponent = np.polyfit(np.log([5e3, 20e3, 50e3]), np.log(sunk), 1)[0]
    assert exponent == pytest.approx(2.0 / (2.0 * LETE.n + 1.0), rel=0.05)


def test_pull_rises_with_slip_to_the_limit_of_adhesion() -> None:
    load = 50e3
    runs = [wheel(LETE, load, slip) for slip in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)]
    torque = [run[3] for run in runs]
    assert torque == sorted(torque)
    assert runs[0][2] < runs[2][2] < runs[4][2]
    area = RADIUS * math.acos(1.0 - runs[-1][0] / RADIUS) * WIDTH * 1.12
    most = load * math.tan(LETE.friction) + area * LETE.cohesion
    assert runs[-1][2] < most
    assert 0.9 * most < runs[-1][3] / RADIUS < 1.05 * most
    assert wheel(LETE, load, -0.5)[2] < wheel(LETE, load, -0.1)[2] < runs[0][2]


def test_a_locked_wheel_and_one_that_spins_slide_at_full_shear() -> None:
    locked = forces(LETE, RADIUS, WIDTH, 0.3, 2.0, 0.0, 0.0)
    spinning = forces(LETE, RADIUS, WIDTH, 0.3, 0.0, 0.0, 3.0)
    slick = LETE._replace(cohesion=0.0, friction=0.0)
    bare = forces(slick, RADIUS, WIDTH, 0.3, 0.0, 0.0, 3.0)[1]
    assert locked[3] == pytest.approx(-spinning[3], rel=0.1)
    assert locked[1] < bare < spinning[1]
    sideways = forces(LETE, RADIUS, WIDTH, 0.3, 2.0, 0.5, 2.5)
    assert sideways[2] < 0.0
    pressed = forces(slick, RADIUS, WIDTH, 0.3, 2.0, 0.5, 2.5)[0] / math.cos(0.3)
    most = LETE.cohesion * 1.12 * 0.3 * RADIUS * WIDTH + pressed * math.tan(LETE.friction)
    assert 0.5 * most < math.hypot(sideways[2], sideways[3] / RADIUS) < most
    assert forces(LETE, RADIUS, WIDTH, 0.3, 2.0, -0.5, 2.5)[2] == -sideways[2]
    assert forces(LETE, RADIUS, WIDTH, 0.0, 2.0, 0.0, 2.5) == (0.0, 0.0, 0.0, 0.0)
    still = forces(LETE, RADIUS, WIDTH, 0.3, 0.0, 0.0, 0.0)
    assert np.isfinite(still).all()


def test_a_track_pulls_as_wong_integrates() -> None:
    length = 3.0
    for slip in (0.01, 0.05, 0.2, 1.0):
        x = np.linspace(0.0, length, 100_001)
        share = np.trapezoid(1.0 - np.exp(-slip * x / LETE.shear), x) / length
        assert measured(LETE, 4, slip * length, LETE.shear) == pytest.approx(share, rel=1e-6)
    assert measured(LETE, 4, 0.0, LETE.shear) == 0.0


def test_a_load_that_no_soil_bears_stops_at_the_deepest() -> None:
    sinkage, bears, _, _ = wheel(LETE._replace(k_phi=1.0, k_c=0.0, cohesion=0.0), 1e6, 0.1)
    assert sinkage == pytest.approx(RADIUS * (1.0 - math.cos(math.radians(80.0))))
    assert bears < 1e6
    assert wheel(LETE, 0.0, 0.1) == (0.0, 0.0, 0.0, 0.0)
