"""Ground that turns to grains around a blade and back: quiet, exact, and the same every time."""

from __future__ import annotations

import math

import numpy as np
import pytest

import berm
from berm.world.terrain.columns import Columns
from berm.world.terrain.packing import packing

GRAIN, CELL = 0.05, 0.125
SINK, INJECTED = 0.1, 5e-3  # radii, J/kg
STEPS = 60


def terrain(**more):
    return berm.Terrain.flat((4.0, 3.0), CELL, grain=GRAIN, depth=1.2, **more)


def blade(world, keys, up=0.0):
    """A blade whose edge is 0.15 m deep, or higher by `up`, on its way: (t, x, y, z)."""
    times = [key[0] for key in keys]
    return world.add_body(
        berm.Box((0.06, 0.8, 0.6)), name="blade", material="steel", position=(-1.0, 0.0, 0.15 + up),
        motion=berm.Keyframes(times, [key[1:] for key in keys]),
    )  # fmt: skip


WAY = ((0.0, 0, 0, 0), (0.5, 0, 0, 0), (2.5, 1.0, 0, 0), (5.5, 1.0, 0, 0))
AWAY = ((6.0, 0.9, 0, 0.2), (6.7, 0.9, 0, 1.2), (7.3, 0.9, 8, 1.2), (60.0, 0.9, 8, 1.2))


def moved_world(layers="dry sand"):
    world = berm.World()
    ground = world.add_terrain(terrain(layers=layers))
    ground.add_tool(blade(world, WAY + AWAY))
    return world


@pytest.fixture(scope="module")
def pushed():
    """One pass of the blade: what was seen of each step."""
    world = moved_world()
    seen = {name: [] for name in ("live", "kinetic", "sunk", "force", "error", "waiting")}
    ground, g = world.terrain, world.grains
    for _ in range(9 * STEPS):
        world.step()
        live = ~g.fixed
        mass = g.mass[live]
        speed2 = (g.velocity[live].astype(float) ** 2).sum(axis=1)
        ledger = ground.ledger(world)
        seen["live"].append(int(live.sum()))
        seen["kinetic"].append(float(0.5 * (mass * speed2).sum() / max(mass.sum(), 1e-9)))
        sunk = g.home[: g.n][live][:, 2] - g.position[live][:, 2]
        seen["sunk"].append(float(sunk.mean()) if live.any() else 0.0)
        seen["force"].append(world.body("blade").force.copy())
        seen["error"].append(float(np.abs(ledger.error).max()))
        seen["waiting"].append(float(np.abs(ledger.waiting).sum()))
    return world, {name: np.array(values) for name, values in seen.items()}


def test_no_quantum_of_mass_is_lost(pushed):
    world, seen = pushed
    turned = world.terrain.zone.turned.sum()
    assert turned > 1000.0
    assert seen["error"].max() == 0.0
    # columns of a few grains each do not come out even; over two tonnes, within ten grains
    assert seen["waiting"].max() < 0.01 * turned
    assert seen["waiting"][-1] < 0.005 * turned


def test_ground_becomes_grains_quietly(pushed):
    """Before the blade moves: the energy a kilogram that appears, and how far grains sink."""
    _, seen = pushed
    still = slice(0, STEPS // 2)
    assert seen["live"][0] > 500
    assert seen["kinetic"][still].max() < INJECTED
    assert abs(seen["sunk"][still]).max() < SINK * GRAIN


def test_a_parked_blade_feels_a_constant_force(pushed):
    _, seen = pushed
    parked = seen["force"][int(4.5 * STEPS) : int(5.5 * STEPS)]
    size = float(np.linalg.norm(parked.mean(axis=0)))
    assert size > 100.0
    assert np.linalg.norm(parked.std(axis=0)) < 1e-3 * size


def test_all_is_ground_again_a_second_after_the_blade_has_left(pushed):
    world, seen = pushed
    ground = world.terrain
    gone = int(7.3 * STEPS)  # out of reach of all that lives
    assert not seen["live"][gone + STEPS :].any()
    assert world.grains.n == 0
    assert not ground.zone.pit.any() and not ground.zone.cover.any()
    np.testing.assert_array_equal(ground.field.heights, ground.heights)
    # it has left a trench between ridges, and a heap before its end
    middle = ground.heights[:, ground.heights.shape[1] // 2]
    assert middle.min() < -0.1 and middle.max() > 0.1


def test_a_heap_at_rest_keeps_its_shape(pushed):
    world, _ = pushed
    before = world.terrain.heights.copy()
    for _ in range(STEPS):
        world.step()
    np.testing.assert_array_equal(world.terrain.heights, before)


def test_what_a_blade_only_passes_stays_as_it_was():
    """A blade just above the ground: zone and shell go along with it, and leave no trace."""
    world = berm.World()
    ground = world.add_terrain(terrain(layers="dry sand"))
    ground.add_tool(blade(world, WAY + AWAY, up=0.15 + GRAIN))
    touched = np.zeros(ground.columns.shape, bool)
    for _ in range(9 * STEPS):
        world.step()
        touched |= ground.zone.pit
    assert world.grains.n == 0 and touched.sum() > 100
    left = ground.heights[touched]
    assert math.sqrt((left**2).mean()) < 0.25 * GRAIN
    assert np.abs(ground.ledger(world).error).max() == 0.0


def test_layers_keep_their_masses_apart():
    world = moved_world([("topsoil", 0.1), ("clay", None)])
    for _ in range(9 * STEPS):
        world.step()
    ledger = world.terrain.ledger(world)
    assert [one.name for one in world.terrain.soils] == ["topsoil", "clay"]
    assert np.abs(ledger.error).max() == 0.0
    assert (world.terrain.columns.mass[2:].sum(axis=(1, 2)) > 1.0).all()  # loose, of both


# ---- slopes -----------------------------------------------------------------------------------


def columns(soil, heights, loose=0.0, cell=0.1):
    """Columns of one soil up to heights, of which `loose` (m) lies loose."""
    one = berm.soil(soil) if isinstance(soil, str) else soil
    rock = np.full(heights.shape, -0.5)
    found = Columns(rock, np.full(heights.shape, 0.0)[None], cell, [one], [0])
    found.mass[0] = 0.0
    found.volume[:] = 0.0
    made = found.area * (heights + 0.5)
    part = made if loose else 0.0 * made
    found.volume[1], found.volume[0] = part, made - part
    found.mass[1] = np.floor(part * one.loose_density * 2**20) / 2**20
    found.mass[0] = np.floor((made - part) * one.density * 2**20) / 2**20
    found.height[:] = heights
    n, m = heights.shape
    found.disturb((0, n, 0, m))
    return found


def settle(found):
    nothing = np.zeros(found.shape, bool)
    for _ in range(4000):
        if not len(found.moving):
            return
        found.slide(nothing, 9.81)
    raise AssertionError("slopes still slide")


def test_a_loose_heap_has_its_angle_of_repose_in_all_directions():
    soil = berm.soil("dry sand")
    n, cell = 81, 0.1
    x = cell * (np.arange(n) - n // 2)
    far = np.hypot(x[:, None], x[None, :])
    found = columns(soil, np.where(far < 0.6, 2.0, 0.0), loose=1.0, cell=cell)
    before = found.mass.sum()
    settle(found)
    assert found.mass.sum() == before
    top = found.height.max()
    middle = n // 2
    for di, dj in ((1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)):
        way = np.array([found.height[middle + k * di, middle + k * dj] for k in range(n // 2)])
        step = cell * math.hypot(di, dj)
        slope = (way > 0.15 * top) & (way < 0.85 * top)
        fall = -np.polyfit(step * np.flatnonzero(slope), way[slope], 1)[0]
        assert math.degrees(math.atan(fall)) == pytest.approx(soil.repose_angle, abs=1.0)


@pytest.mark.parametrize("share", [0.85, 1.15])
def test_a_cut_stands_as_high_as_cohesion_and_friction_allow(share):
    """Upright cuts stand below 4 c / gamma tan(45 + phi / 2) (Terzaghi), and fall above."""
    soil = berm.soil("loam")
    gamma = soil.density * 9.81
    critical = 4.0 * soil.cohesion / gamma
    critical *= math.tan(math.radians(45.0 + 0.5 * soil.friction_angle))
    heights = np.zeros((60, 8))
    heights[30:] = share * critical
    found = columns(soil, heights, cell=0.02 * critical)
    before = found.mass.sum()
    settle(found)
    moved = float(np.abs(found.height - heights).max())
    assert found.mass.sum() == before
    if share < 1.0:
        assert moved == 0.0
    else:
        assert moved > 0.2 * critical


def test_slopes_without_cohesion_fall_to_the_angle_of_repose():
    soil = berm.soil("dry sand")
    heights = np.zeros((60, 4))
    heights[30:] = 1.0
    found = columns(soil, heights)
    settle(found)
    steepest = np.abs(np.diff(found.height, axis=0)).max() / 0.1
    assert math.degrees(math.atan(steepest)) < soil.repose_angle + 1.0


# ---- the packing ------------------------------------------------------------------------------


def test_the_packing_is_dense_and_free_of_overlap():
    """Random close packings of spheres fill 0.62 to 0.64 with about six contacts each."""
    one = packing()
    gap = one.points[:, None, :] - one.points[None, :, :]
    gap -= one.edges * np.round(gap / one.edges)
    over = one.radii[:, None] + one.radii[None, :] - np.sqrt((gap**2).sum(axis=2))
    np.fill_diagonal(over, -1.0)
    assert 0.62 < one.density < 0.64
    assert over.max() < 0.01
    assert 4.0 < (over > -0.005).sum() / len(one.radii) < 7.0
    assert one.radii.mean() == pytest.approx(1.0, abs=1e-3)


# ---- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: berm.Terrain(np.zeros((3, 3)), 0.05, grain=0.04), "cell: got 0.05; allowed: at l"),
        (lambda: berm.Terrain([[0.0, np.nan], [0.0, 0.0]], 0.1), "finite"),
        (lambda: berm.Terrain.flat((4, 4), layers=[("mud", None)]), "mud"),
        (lambda: berm.Terrain.flat((4, 4), layers=[]), "at least one"),
        (lambda: berm.Terrain.flat((4, 4), layers=[("clay", None), ("loam", None)]), "thickness"),
        (lambda: berm.Terrain.flat((4, 4), depth=-1.0), "depth: got -1.0; allowed: above 0 m"),
        (lambda: berm.Terrain.flat((4, 4), most=0), "most"),
        (lambda: berm.Terrain.flat((4, 4), rock=[[1.0, 2.0]] * 3), "rock"),
    ],
)
def test_terrain_that_cannot_be_is_told(make, words):
    with pytest.raises(berm.InputError, match=words):
        make()


def test_a_world_has_one_terrain_and_tools_have_surfaces():
    world = berm.World()
    ground = world.add_terrain(terrain())
    with pytest.raises(berm.InputError, match="one terrain"):
        world.add_terrain(terrain())
    ball = world.add_body(berm.Sphere(0.1), name="ball")
    with pytest.raises(
        berm.InputError, match="tool 'ball': shape: got 'Sphere'; allowed: Box or M"
    ):
        ground.add_tool(ball)
