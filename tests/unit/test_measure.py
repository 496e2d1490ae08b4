"""Measurements against shapes whose answer is known."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

from berm.core.errors import InputError
from berm.core.report import StepReport
from berm.core.shapes import Box
from berm.world import measure, progress
from berm.world.world import World


def cone(degrees: float, radius: float = 0.01, top: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Spheres of a random filling of a cone, dense enough to hide the floor."""
    rng = np.random.default_rng(1)
    reach = top / math.tan(math.radians(degrees))
    n = int(4 * math.pi * reach**2 * top / 3 / (4 / 3 * math.pi * radius**3))
    where = rng.uniform((-reach, -reach, 0), (reach, reach, top), (4 * n, 3))
    inside = np.hypot(where[:, 0], where[:, 1]) < (top - where[:, 2]) / top * reach
    return where[inside] + (0.3, -0.2, radius), np.full(int(inside.sum()), radius)


@pytest.mark.parametrize("degrees", [10.0, 20.0, 35.0, 45.0])
def test_angle_of_repose_of_a_cone(degrees: float) -> None:
    where, radii = cone(degrees)
    slope = measure.angle_of_repose(where, radii, floor=0.0)
    assert slope.degrees == pytest.approx(degrees, abs=1.5)
    assert float(slope) == slope.degrees
    assert slope.r2 > 0.98
    assert slope.spread < 3.0


def test_angle_of_repose_does_not_mind_strays() -> None:
    where, radii = cone(30.0)
    clean = measure.angle_of_repose(where, radii, floor=0.0).degrees
    stray = np.array([[2.0, 1.0, 0.01], [-1.5, 2.0, 0.01], [1.5, -2.5, 0.01]])
    where, radii = np.vstack([where, stray]), np.append(radii, [0.01] * 3)
    assert measure.angle_of_repose(where, radii, floor=0.0).degrees == pytest.approx(clean, abs=1.0)


@pytest.mark.parametrize("far", [30.0, 3e3, 1e6])
def test_angle_of_repose_does_not_mind_a_grain_that_left(far: float) -> None:
    """It shifted the axis, and the map reached as far as it: 18 degrees and 10 s at 3 km."""
    heap, _ = cone(30.0)
    left = np.vstack([heap, [[far, 0.0, 0.01]]])
    clean = measure.angle_of_repose(heap, 0.01).degrees
    assert measure.angle_of_repose(left, 0.01).degrees == pytest.approx(clean, abs=1e-6)


def test_flat_layer_has_no_slope() -> None:
    grid = np.stack(np.meshgrid(np.arange(30), np.arange(30)), axis=-1).reshape(-1, 2) * 0.02
    where = np.column_stack([grid, np.full(len(grid), 0.01)])
    slope = measure.angle_of_repose(where, 0.01, floor=0.0)
    assert 0 < slope.degrees < 6.0
    assert math.isnan(slope.r2)


def test_low_cone_without_a_flank() -> None:
    where, radii = cone(8.0, radius=0.02, top=0.08)
    assert measure.angle_of_repose(where, radii, floor=0.0).degrees == pytest.approx(8.0, abs=2.5)


def test_strip_heap_has_two_flanks() -> None:
    rng = np.random.default_rng(2)
    where = rng.uniform((-0.5, 0, 0), (0.5, 0.3, 0.5), (60_000, 3))
    left, right = math.tan(math.radians(40)), math.tan(math.radians(25))
    x, z = where[:, 0] + 0.1, where[:, 2]
    where = where[(z < 0.2 + left * x) & (z < 0.2 - right * x)]
    where[:, 2] += 0.008
    both = [
        measure.slope_angle(where, 0.008, side=side, floor=0.0).degrees
        for side in ("left", "right", "both")
    ]
    assert both == pytest.approx([40.0, 25.0, 32.5], abs=1.5)


def test_height_map_sees_the_top_of_each_sphere() -> None:
    where, radii = np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 1.0], [1.0, 0.0, 0.2]]), [0.1, 0.2, 0.2]
    grid = measure.height_map(where, radii, cell=0.02, floor=0.0)
    assert grid.heights.max() == pytest.approx(1.2, abs=2e-3)
    i, j = np.argmin(abs(grid.x - 1.0)), np.argmin(abs(grid.y))
    assert grid.heights[i, j] == pytest.approx(0.4, abs=2e-3)
    half_balls = np.pi * 0.2**2 * (1.0 + 0.2) + 2 * 2 / 3 * np.pi * 0.2**3
    assert grid.volume == pytest.approx(half_balls, rel=0.03)


def test_profile_of_a_step() -> None:
    grid = np.stack(np.meshgrid(np.arange(50), np.arange(20)), axis=-1).reshape(-1, 2) * 0.02
    where = np.column_stack([grid, np.where(grid[:, 0] < 0.5, 0.1, 0.3)])
    place, height = measure.height_profile(where, 0.015, floor=0.0)
    assert height[(place > 0.1) & (place < 0.4)].mean() == pytest.approx(0.112, abs=4e-3)
    assert height[(place > 0.6) & (place < 0.9)].mean() == pytest.approx(0.312, abs=4e-3)


def test_volume_of_cut_spheres_is_exact() -> None:
    low, high = np.zeros(3), np.ones(3)
    ball = 4 / 3 * math.pi * 0.1**3
    for place, share in (
        ((0.5, 0.5, 0.5), 1), ((0.0, 0.5, 0.5), 1 / 2), ((0.5, 1.0, 0.0), 1 / 4),
        ((0.0, 0.0, 1.0), 1 / 8), ((-0.2, 0.5, 0.5), 0),
    ):  # fmt: skip
        got = measure.solid_volume(np.array([place]), np.array([0.1]), low, high)
        assert got == pytest.approx(share * ball, rel=1e-6, abs=1e-12)
    cap = measure.solid_volume(np.array([[0.5, 0.5, 1.05]]), np.array([0.1]), low, high)
    assert cap == pytest.approx(math.pi * 0.05**2 * (0.3 - 0.05) / 3, rel=1e-6)


def test_volume_of_cut_spheres_against_sampling() -> None:
    rng = np.random.default_rng(3)
    where, radii = rng.uniform(-0.1, 0.4, (20, 3)), rng.uniform(0.1, 0.3, 20)
    low, high = np.zeros(3), np.array([0.3, 0.2, 0.25])
    points = rng.uniform(low, high, (40_000, 3))
    far = np.linalg.norm(points[:, None] - where[None], axis=2)
    sampled = (far < radii).sum() / len(points) * np.prod(high - low)
    assert measure.solid_volume(where, radii, low, high) == pytest.approx(sampled, rel=0.01)


def test_packing_fraction_of_a_lattice() -> None:
    cells = np.stack(np.meshgrid(*[np.arange(12)] * 3), axis=-1).reshape(-1, 3) * 0.2
    exact = math.pi / 6  # spheres that touch on a cubic lattice
    whole = (0.5, 0.5, 0.5), (1.5, 1.5, 1.5)
    assert measure.packing_fraction(cells, whole, 0.1) == pytest.approx(exact, rel=1e-5)
    shifted = (0.43, 0.51, 0.58), (1.43, 1.51, 1.58)
    assert measure.packing_fraction(cells, shifted, 0.1) == pytest.approx(exact, rel=1e-4)


def test_energy_and_momentum() -> None:
    world = World(precision="float64")
    world.add_grains([[0, 0, 1], [0, 2, 3]], [0.1, 0.2], velocity=[[1, 0, 0], [0, 0, -2]])
    m = world.grains.mass
    energy = measure.energy(world)
    assert energy.kinetic == pytest.approx(0.5 * m[0] + 2 * m[1])
    assert energy.potential == pytest.approx(9.81 * (m[0] + 3 * m[1]))
    assert energy.total == energy.kinetic + energy.potential
    assert measure.momentum(world) == pytest.approx([m[0], 0, -2 * m[1]])


@pytest.mark.parametrize("solver", ["p2", "vts", "sp", "dem"])
def test_dynamic_bodies_count_once_in_every_solver(solver: str) -> None:
    """A spinning box and a grain: the energy and the momenta of both, before and after a step."""
    world = World(gravity=(0, 0, 0), dt=1e-3, solver=solver, precision="float64")
    more = {"particle_radius": 0.05} if solver == "dem" else {}
    box = world.add_body(
        Box((0.2, 0.3, 0.4)), position=(0, 1, 0), velocity=(1, 0, 0), angular_velocity=(0, 0, 2),
        dynamic=True, material="gravel", **more,
    )  # fmt: skip
    world.add_grains([[3.0, 0, 0]], 0.1, (0, 2.0, 0), material="gravel")
    ball = world.materials[0].density * 4 / 3 * math.pi * 0.1**3
    assert box.mass == pytest.approx(world.materials[0].density * 0.024)
    spin = box.mass * (0.2**2 + 0.3**2) / 12 * 2.0
    kinetic = 0.5 * box.mass + spin + 2.0 * ball
    for _ in range(2):
        assert measure.energy(world).kinetic == pytest.approx(kinetic, rel=1e-6)
        assert measure.momentum(world) == pytest.approx([box.mass, 2 * ball, 0], rel=1e-6)
        around = measure.angular_momentum(world)
        assert around == pytest.approx([0, 0, spin - box.mass + 6.0 * ball], rel=1e-6, abs=1e-9)
        assert world.step().kinetic_energy == pytest.approx(kinetic, rel=1e-6)


def test_flow_meter_counts_each_crossing_once() -> None:
    world = World(precision="float64")
    place = [[0, 0, 0.5], [0.1, 0, 0.3], [5.0, 0, 0.3], [0, 0, -1.0]]
    world.add_grains(place, 0.01, velocity=[[0, 0, -1]] * 3 + [[0, 0, 9.0]])
    meter = measure.FlowMeter((0, 0, 0), (0, 0, -1), radius=1.0)
    meter.start(world)
    for z in (0.2, -0.1, -0.4):
        world.grains.x[:3, 2] = z
        meter.record(world)
    world.grains.x[3, 2] = 0.7  # against the normal
    meter.record(world)
    one = world.grains.mass[0]
    assert meter.number == [0, 2, 2, 1]  # the third is 5 m aside
    assert meter.mass == pytest.approx([0, 2 * one, 2 * one, one])
    world.add_grains([[0, 0, -2.0]], 0.01)  # born behind the plane: has not crossed
    meter.record(world)
    assert meter.number[-1] == 1


def test_steady_rate() -> None:
    time = np.arange(0, 10, 0.1)
    total = np.clip(2.0 * (time - 1), 0, 14.0)
    rate, r2 = measure.steady_rate(time, total)
    assert rate == pytest.approx(2.0)
    assert r2 == pytest.approx(1.0)


def test_flow_against_the_normal_has_a_rate_below_zero() -> None:
    times = np.linspace(0.0, 2.0, 50)
    along = measure.steady_rate(times, 3.0 * times)
    assert measure.steady_rate(times, -3.0 * times) == (-along[0], along[1])
    assert along[0] == pytest.approx(3.0)


def test_wrong_input_is_named() -> None:
    with pytest.raises(InputError, match="shape"):
        measure.angle_of_repose([[1.0, 2.0]])
    with pytest.raises(InputError, match="radii"):
        measure.angle_of_repose([[1.0, 2.0, 3.0]])
    with pytest.raises(InputError, match="low below high"):
        measure.packing_fraction([[0, 0, 0]], ((0, 0, 0), (1, 0, 1)), 0.1)
    with pytest.raises(InputError, match="normal"):
        measure.FlowMeter((0, 0, 0), (0, 0, 0))
    with pytest.raises(InputError, match=r"point.*three"):
        measure.FlowMeter((0, 0))
    with pytest.raises(InputError, match=r"radius.*above 0"):
        measure.FlowMeter((0, 0, 0), radius=-1)
    for function in (measure.height_profile, measure.slope_angle, measure.angle_of_repose):
        with pytest.raises(InputError, match="at least one grain"):
            function(World())


def test_progress_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.add_grains([[0, 0, 1]], 0.1)
    monkeypatch.setattr(progress, "cache_is_warm", lambda: False)
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0.0)
    out = io.StringIO()
    bar = progress.Bar(1.0, out)
    for k in range(1, 4):
        bar(world, StepReport(time=0.25 * k, grains=1, contacts=7, overlap_mean=0.001))
    bar.close()
    text = out.getvalue()
    assert "compiling" in text
    assert "0.75 / 1.00 s" in text
    assert "real time" in text and "1 grains" in text and "7 contacts" in text
    assert "overlap 1.0 %" in text and "left" in text


def test_progress_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(progress, "REFRESH", 0.0)
    world = World()
    world.add_grains([[0, 0, 1]], 0.1)
    out = Terminal()
    bar = progress.Bar(1.0, out)
    for k in range(1, 5):
        bar(world, StepReport(time=0.25 * k, grains=1))
    bar.close()
    assert "1.00 / 1.00 s" in out.getvalue()
