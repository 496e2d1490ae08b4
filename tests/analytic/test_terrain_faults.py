"""Tools where they should not be: in rock, over the edge, too fast, with too few grains allowed."""

from __future__ import annotations

import numpy as np

import berm

GRAIN, CELL = 0.05, 0.125


def ground(**more):
    return berm.Terrain.flat((3.0, 2.5), CELL, grain=GRAIN, layers="dry sand", **more)


def drive(world, motion, x=-0.8, size=(0.06, 0.8, 0.6), depth=0.15):
    blade = world.add_body(
        berm.Box(size), name="blade", material="steel", position=(x, 0.0, size[2] / 2 - depth),
        motion=motion,
    )  # fmt: skip
    world.terrain.add_tool(blade)
    return blade


def test_a_tool_pressed_into_rock_is_stopped_and_throws_nothing():
    """A ram of 2 t and another 40 kN on soil 0.15 m deep: rock bears both."""
    world = berm.World()
    terrain = world.add_terrain(ground(depth=0.15))
    ram = world.add_body(
        berm.Box((0.5, 0.5, 0.5)), name="ram", material="steel", position=(0, 0, 0.3),
        dynamic=True, mass=2000.0,
    )  # fmt: skip
    terrain.add_tool(ram)
    fastest = 0.0
    for _ in range(120):
        ram.apply_force((0.0, 0.0, -40e3))
        world.step()
        fastest = max(fastest, float(np.abs(world.grains.velocity).max(initial=0.0)))
    assert np.isfinite(world.grains.position).all()
    assert fastest < 10.0
    assert -0.2 < ram.position[2] - 0.25 < 0.1
    assert np.abs(ram.velocity).max() < 0.3
    assert np.abs(terrain.ledger(world).error).max() == 0.0


def test_a_blade_that_leaves_over_the_edge_loses_no_mass_unnoticed():
    world = berm.World()
    terrain = world.add_terrain(ground(depth=0.8))
    drive(world, berm.Linear((0.8, 0.0, 0.0)), x=0.4)
    for _ in range(200):
        world.step()
    ledger = terrain.ledger(world)
    assert np.abs(ledger.error).max() == 0.0
    assert (ledger.left.sum() > 0.0) == (terrain.zone.counts.left > 0)
    assert world.grains.position[:, 2].min(initial=0.0) > -3.0


def test_a_blade_at_twenty_metres_a_second_is_survived():
    world = berm.World()
    terrain = world.add_terrain(ground(depth=0.8))
    drive(world, berm.Linear((20.0, 0.0, 0.0)), x=-1.2)
    for _ in range(60):
        world.step()
    assert np.isfinite(world.grains.position).all()
    assert np.isfinite(world.grains.velocity).all()
    assert np.abs(terrain.ledger(world).error).max() == 0.0


def test_at_the_limit_of_live_grains_the_zone_shrinks_and_says_so():
    world = berm.World()
    terrain = world.add_terrain(ground(depth=0.8, most=300))
    drive(world, berm.Linear((0.5, 0.0, 0.0)))
    most, full = 0, False
    for _ in range(120):
        world.step()
        most, full = max(most, terrain.zone.live), full or terrain.zone.full
    assert full
    assert 50 < most <= 310  # what a volume holds is known but for some grains
    assert np.abs(terrain.ledger(world).error).max() == 0.0


def test_ground_with_steps_of_ten_metres_stands_or_falls():
    heights = np.zeros((30, 20))
    heights[15:] = 10.0
    world = berm.World()
    terrain = world.add_terrain(berm.Terrain(heights, 0.25, layers="loam", grain=0.1))
    terrain.columns.disturb((0, 30, 0, 20))
    for _ in range(300):
        world.step()
    assert np.isfinite(terrain.heights).all()
    assert terrain.heights[15].max() < 9.0  # cohesion holds no ten metres
    assert np.abs(terrain.ledger(world).error).max() == 0.0


def test_no_grain_is_made_inside_a_tool_that_stands_in_the_ground():
    world = berm.World()
    world.add_terrain(ground(depth=0.8))
    size = np.array([0.06, 0.8, 0.6])
    blade = drive(world, berm.Linear((0.0, 0.0, 0.0)), x=0.03, size=tuple(size))
    thick = world.add_body(berm.Box((0.5, 0.5, 0.5)), name="block", position=(0.9, 0.0, 0.0))
    world.terrain.add_tool(thick)
    world.step()
    assert world.grains.n > 500
    for body in (blade, thick):
        here = (world.grains.position - body.position) @ body.rotation
        assert not (np.abs(here) < 0.5 * np.asarray(body.shape.size)).all(axis=1).any()
