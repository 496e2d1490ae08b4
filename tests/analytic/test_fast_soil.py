"""Tier "fast": tools that cut, carry, push, spill and stall; no gram is lost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import berm
from berm.core.motion import rotation_about
from berm.machines.reach import aim
from berm.world.terrain.fast import FastTool
from berm.world.terrain.terrain import Terrain

SHELL = [(0, 0, 0), (-0.75, 0, 0), (-0.95, 0, 0.25), (-0.9, 0, 0.6), (-0.45, 0, 0.85)]
STRUCK = 0.6165  # m^3, of this shell 1.2 m wide


def at(frames: list[tuple[float, ...]]) -> berm.Function:
    """Move by frames (s, x, z, degrees that the edge dips)."""
    table = np.array(frames)

    def pose(t: float) -> tuple[np.ndarray, np.ndarray]:
        x, z, dip = (np.interp(t, table[:, 0], table[:, k]) for k in (1, 2, 3))
        return np.array([x, 0.0, z]), rotation_about((0, 1, 0), math.radians(dip))

    return berm.Function(pose)


def yard(
    soil: str | berm.Soil = "loam", dt: float = 0.05, **more: object
) -> tuple[berm.World, Terrain]:
    world = berm.World(dt=dt)
    return world, world.add_terrain(Terrain.flat((10.0, 6.0), 0.1, layers=soil, **more))


def blade(
    world: berm.World, terrain: Terrain, depth: float = 0.15, speed: float = 0.5,
    width: float = 1.2, **more: Any,
) -> FastTool:  # fmt: skip
    motion = None if "mass" in more else berm.Linear((speed, 0, 0))
    body = world.add_body(
        berm.Box((0.06, width, 1.0)), name="blade", position=(-3, 0, 0.5 - depth), motion=motion,
        **more,
    )  # fmt: skip
    return terrain.add_fast_tool(body)


def bucket(world: berm.World, terrain: Terrain, frames: list[tuple[float, ...]]) -> FastTool:
    body = world.add_body(berm.Box((0.1, 0.1, 0.1)), name="bucket", motion=at(frames))
    return terrain.add_fast_tool(body, berm.Profile(SHELL, 1.2))


CYCLE = [
    (0, -3, 0.3, 20), (1, -3, 0.1, 20), (2, -2.5, -0.25, 15), (4, -0.5, -0.3, 5), (5, 0, -0.1, -25),
    (6, 0, 1.2, -40), (8, 2.5, 1.5, -40), (9.5, 2.5, 1.5, 60), (11, 2.5, 1.5, 60),
]  # fmt: skip


def test_a_bucket_digs_carries_and_dumps_and_no_gram_is_lost() -> None:
    world, terrain = yard()
    tool = bucket(world, terrain, CYCLE)
    bank, loose = terrain.soils[0].density, terrain.soils[0].loose_density
    carried = []
    while world.time < 11.0:
        world.step()
        assert terrain.ledger(world).error[0] == 0.0
        assert tool.volume <= tool.capacity * (1.0 + 1e-9) + 1e-6
        if 6.5 < world.time < 7.5:
            carried.append(tool.mass)
            assert tool.force == pytest.approx([0.0, 0.0, -9.81 * tool.mass])
    assert len(set(carried)) == 1
    heaped = carried[0] / loose
    assert 0.8 < heaped / STRUCK < 1.4
    assert tool.mass == 0.0
    heights, columns = terrain.heights, terrain.columns
    hole = -np.minimum(heights, 0.0).sum() * columns.area
    swollen = columns.loose.sum()
    assert swollen == pytest.approx(columns.mass[1].sum() / loose, rel=1e-6)
    assert columns.volume[0].sum() * bank == pytest.approx(columns.mass[0].sum(), rel=1e-6)
    assert 0.3 < hole < 1.0
    x = terrain.origin[0] + 0.1 * np.arange(heights.shape[0])
    heap = columns.loose[x > 1.5].sum()
    assert heap == pytest.approx(heaped, rel=0.05)


def test_a_heap_that_was_dumped_comes_to_rest_at_its_angle_of_repose() -> None:
    world, terrain = yard("dry sand")
    tool = bucket(world, terrain, CYCLE)
    world.run(25.0)
    assert tool.mass == 0.0
    assert len(terrain.columns.moving) == 0
    heights = terrain.heights
    tangent = math.tan(math.radians(terrain.soils[0].repose_angle))
    for steps, far in ((np.diff(heights, axis=0), 0.1), (np.diff(heights, axis=1), 0.1)):
        assert np.abs(steps).max() <= tangent * far + 2e-3
    assert heights.max() > 0.3


def test_a_blade_meets_the_earthmoving_equation_and_then_its_prism() -> None:
    world, terrain = yard("dry sand", dt=0.01)
    tool = blade(world, terrain)
    world.run(0.2)
    one = terrain.soils[0]
    alone = berm.digging_force(one, 0.15, 1.2)
    grown = 1.0 - math.exp(-0.5 * 0.19 / one.janosi_k)
    assert -tool.forces["cutting"][0] == pytest.approx(grown * alone.draft, rel=0.02)
    assert tool.forces["cutting"][2] == pytest.approx(grown * alone.lift, rel=0.02)
    drafts = []
    for _ in range(6):
        world.run(0.5)
        drafts.append(-tool.force[0])
    assert drafts[-1] > 1.8 * alone.draft
    assert drafts == sorted(drafts) or max(np.diff(drafts)) > 0.0
    pushed = terrain.columns.loose.sum() * one.loose_density * 9.81
    assert drafts[-1] < alone.draft + 3.5 * pushed  # passive at most: K_p is 3.1


def test_a_parked_blade_feels_a_constant_force_and_none_when_it_leaves() -> None:
    world, terrain = yard()
    body = world.add_body(
        berm.Box((0.06, 1.2, 1.0)), name="blade", position=(0, 0, 0.35),
        motion=berm.Keyframes((0, 2, 6, 8), ((-2, 0, 0), (-1, 0, 0), (-1, 0, 0), (-1.5, 0, 0))),
    )  # fmt: skip
    tool = terrain.add_fast_tool(body)
    world.run(4.0)
    first = tool.force
    assert first[0] < -1e3
    for _ in range(30):
        world.step()
        assert tool.force == pytest.approx(first, rel=1e-3)
    world.run(0.8)
    assert tool.force[0] > 0.1 * first[0]  # it backs off


def test_a_wide_trench_has_the_volume_that_the_edge_swept() -> None:
    world, terrain = yard("clay")  # its walls stand
    blade(world, terrain, depth=0.2, width=1.3)  # 13 columns
    world.run(5.0)
    cut = terrain.start[0] - terrain.columns.mass[0].sum()
    assert cut / terrain.soils[0].density == pytest.approx(1.3 * 0.2 * (2.5 - 0.025), rel=0.03)


def test_backwards_it_pushes_as_well() -> None:
    world, terrain = yard()
    tool = blade(world, terrain, speed=-0.5)
    world.run(1.5)
    assert tool.force[0] > 1e3
    x = terrain.origin[0] + 0.1 * np.arange(terrain.heights.shape[0])
    assert terrain.columns.loose[x > -2.9].sum() < 0.02 * terrain.columns.loose.sum()


def test_a_truck_takes_what_is_dumped_over_it() -> None:
    world, terrain = yard()
    tool = bucket(world, terrain, CYCLE)
    bed = world.add_body(berm.Box((1.8, 2.0, 0.1)), name="bed", position=(2.6, 0, 0.8))
    tub = [(0.9, 0, 0.6), (0.9, 0, 0.0), (-0.9, 0, 0.0), (-0.9, 0, 0.6)]
    truck = terrain.add_fast_tool(bed, berm.Profile(tub, 2.0))
    world.run(8.0)
    full = tool.mass
    world.run(3.0)
    assert tool.mass == 0.0
    assert truck.mass == full > 500.0
    assert terrain.ledger(world).carried[0] == full
    assert terrain.ledger(world).error[0] == 0.0
    assert truck.force[2] == pytest.approx(-9.81 * full)


def test_rock_is_not_dug_and_resists_with_a_bounded_force() -> None:
    world, terrain = yard("dry sand", depth=0.1)
    tool = blade(world, terrain, depth=0.3)
    world.run(2.0)
    assert terrain.heights.min() >= -0.1 - 1e-12
    assert 1e6 < np.linalg.norm(tool.force) < 1e8


@pytest.mark.parametrize("solver", ["p2", "nonsmooth"])
def test_a_weak_machine_stalls_and_a_strong_one_feels_what_the_tool_feels(solver: str) -> None:
    found = {}
    for effort in (1.0e3, 1.0e6):
        world = berm.World(dt=1 / 60, solver=solver)
        terrain = world.add_terrain(Terrain.flat((10.0, 6.0), 0.1, layers="dry sand"))
        tool = blade(world, terrain, dynamic=True, mass=800.0)
        ram = berm.Slider(tool.body, None, anchor=(-3, 0, 0.5), axis=(1, 0, 0), name="ram")
        world.add_joint(ram)
        ram.drive(0.5, effort)
        world.run(2.0)
        found[effort] = ram.position, float(tool.body.velocity[0]), ram.force[0], tool.force[0]
    way, speed, push, _ = found[1.0e3]
    assert 0.0 < way < 0.1
    assert abs(speed) < 1e-6
    assert push == pytest.approx(1.0e3)
    way, speed, push, felt = found[1.0e6]
    assert speed == pytest.approx(0.5, rel=1e-3)
    assert push == pytest.approx(-felt, rel=0.02)


def test_an_edge_bears_weight_until_soil_gives_way() -> None:
    for mass in (800.0, 3000.0):
        world, terrain = yard(dt=1 / 60)
        tool = blade(world, terrain, depth=-0.05, dynamic=True, mass=mass)
        world.add_joint(berm.Slider(tool.body, None, anchor=(-3, 0, 0.5), axis=(0, 0, 1)))
        world.run(2.5)
        depth = 0.5 - float(tool.body.position[2])
        world.run(1.0)
        assert 0.5 - float(tool.body.position[2]) == pytest.approx(depth, abs=1e-6)
        assert tool.forces["pressing"][2] >= 9.81 * mass
        assert 0.0 < depth < 2.5


def test_at_any_speed_nothing_becomes_wild() -> None:
    world, terrain = yard(dt=1 / 60, depth=0.3)
    tool = blade(world, terrain, depth=0.2, dynamic=True, mass=800.0, velocity=(20, 0, -20))
    for _ in range(120):
        world.step()
        assert np.isfinite(tool.body.position).all()
        assert np.linalg.norm(tool.body.velocity) < 29.0
        assert np.isfinite(tool.force).all()
    assert terrain.ledger(world).error[0] == 0.0


def test_a_restart_in_the_middle_of_a_dig_gives_the_same_bits() -> None:
    world, terrain = yard()
    tool = bucket(world, terrain, CYCLE)
    world.run(3.0)
    kept = world.state()
    world.run(6.0)
    heights, mass = terrain.heights.copy(), tool.masses
    again, ground = yard()
    other = bucket(again, ground, CYCLE)
    again.restore(kept)
    again.run(6.0)
    assert np.array_equal(ground.heights, heights)
    assert np.array_equal(other.masses, mass)
    assert np.array_equal(other.force, tool.force)


def test_mistakes_are_named() -> None:
    with pytest.raises(berm.InputError, match="points in one plane"):
        berm.Profile([(0, 0, 0), (-1, 0.3, 0), (-1, 0, 1), (0, 0, 1)], 1.0)
    with pytest.raises(berm.InputError, match="straight line"):
        berm.Profile([(0, 0, 0), (0, 0, 1)], 1.0)
    with pytest.raises(berm.InputError, match="width"):
        berm.Profile(SHELL, -1.0)
    with pytest.raises(berm.InputError, match="shape"):
        berm.Profile([(0, 0)], 1.0)
    world, terrain = yard()
    ball = world.add_body(berm.Sphere(0.2), name="ball")
    with pytest.raises(berm.InputError, match="profile"):
        terrain.add_fast_tool(ball)
    tool = blade(world, terrain)
    with pytest.raises(berm.InputError, match="twice"):
        terrain.add_fast_tool(tool.body)
    with pytest.raises(berm.InputError, match="world"):
        Terrain.flat((4.0, 4.0), 0.1).add_fast_tool(tool.body)
    other = berm.World().add_body(berm.Box((0.1, 1, 1)), name="far")
    with pytest.raises(berm.InputError, match="world"):
        terrain.add_fast_tool(other)


def test_an_excavator_on_its_hydraulic_loops_fills_its_bucket() -> None:
    world = berm.World(dt=1 / 60, solver="nonsmooth")
    terrain = world.add_terrain(Terrain.flat((20.0, 10.0), 0.1, layers="loam", middle=(4.0, 0.0)))
    machine = berm.machines.add(world, "excavator", pose="dig")
    world.machines.remove(machine)  # its cylinders are driven by position here
    bucket = machine.tools["bucket"]
    tool = terrain.add_fast_tool(bucket.body, bucket.profile)
    for x, z, attack, steps in (
        (7.2, 0.2, 0.45, 90), (6.9, -0.3, 0.5, 72), (6.2, -0.4, 0.65, 72), (5.4, -0.4, 0.78, 72),
        (4.9, -0.1, 0.92, 72), (5.2, 1.8, 1.0, 120),
    ):  # fmt: skip
        wanted = aim(machine, (x, 0.0, z), -math.pi * attack)
        start = {name: machine.position(name) for name in wanted}
        for step in range(steps):
            for name, end in wanted.items():
                place = start[name] + (step + 1) / steps * (end - start[name])
                effort = 68e3 if name == "swing" else 400e3  # N m, N: of the class
                machine.joints[name].drive_to(place, effort=effort)
            world.step()
        assert np.linalg.norm(bucket.tip - [x, 0.0, z]) < 0.12
    assert 0.8 < tool.volume / bucket.tool.heaped < 1.1
    assert terrain.ledger(world).error[0] == 0.0
    assert abs(machine.bodies["frame"].position[0]) < 0.05
    assert terrain.heights.min() > -0.6


def test_beyond_the_field_there_is_nothing_to_dig() -> None:
    world, terrain = yard()
    tool = blade(world, terrain, speed=20.0)
    world.run(1.0)
    assert tool.body.position[0] > 6.0
    assert not tool.force.any()
    assert terrain.ledger(world).error[0] == 0.0
