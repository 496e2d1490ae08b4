"""Wheels and tracks on a terrain: they sink, roll, pull and leave ruts as terramechanics has it."""

from __future__ import annotations

import math
from typing import Any

import pytest

import berm
from berm.world.terrain.feet import Foot
from berm.world.terrain.terrain import Terrain

RADIUS, WIDTH, LOAD = 0.8, 0.6, 20e3


class Rig:
    """A wheel under a block that only moves up and down, on a carriage that moves along x."""

    def __init__(self, soil: str = "dry sand", load: float = LOAD) -> None:
        mass = load / 9.81
        self.world = berm.World(dt=1 / 60)
        self.terrain = self.world.add_terrain(Terrain.flat((8.0, 2.4), 0.1, layers=soil))
        self.body = self._block((-3, 0, RADIUS), "wheel", mass / 2, (0.1 * mass, 0.3 * mass))
        block = self._block((-3, 0, 1.9), "block", mass / 2)
        carriage = self._block((-3, 0, 3.0), "carriage", 1.0)
        self.axle = berm.Hinge(self.body, block, anchor=(-3, 0, RADIUS), axis=(0, 1, 0))
        self.rail = berm.Slider(carriage, None, anchor=(-3, 0, 3.0), axis=(1, 0, 0))
        mast = berm.Slider(block, carriage, anchor=(-3, 0, 1.9), axis=(0, 0, 1))
        for joint in (self.axle, self.rail, mast):
            self.world.add_joint(joint)
        self.foot: Foot = self.terrain.add_wheel(self.body, RADIUS, WIDTH)

    def _block(
        self, at: tuple[float, ...], name: str, mass: float, moments: tuple[float, ...] = ()
    ) -> Any:
        more = {"inertia": (moments[0], moments[1], moments[0])} if moments else {}
        return self.world.add_body(
            berm.Box((0.2, 0.2, 0.2)), name=name, position=at, dynamic=True, mass=mass, **more
        )


@pytest.mark.parametrize("soil", ["dry sand", "loam"])
def test_a_towed_wheel_sinks_and_drags_as_bekker_has_it(soil: str) -> None:
    rig = Rig(soil)
    rig.rail.drive(1.5, 1e6)
    rig.world.run(3.0)
    alone = berm.wheel_on_soil(berm.soil(soil), RADIUS, WIDTH, LOAD)
    assert rig.foot.sinkage == pytest.approx(alone.sinkage, rel=0.02)
    one = berm.soil(soil)
    modulus = one.bekker_k_c / WIDTH + one.bekker_k_phi
    z = rig.foot.sinkage
    resistance = WIDTH * modulus * z ** (one.bekker_n + 1.0) / (one.bekker_n + 1.0)
    assert rig.rail.force[0] == pytest.approx(resistance, rel=0.03)
    assert rig.foot.force[2] == pytest.approx(LOAD, rel=0.01)
    assert abs(RADIUS * rig.axle.position / (rig.rail.position) - 1.0) < 0.05  # it rolls
    track = rig.terrain.heights[25:45, 12]  # behind it, and after the first jolt
    assert track.min() < -0.5 * z
    assert rig.terrain.ledger(rig.world).error[0] == 0.0


def test_the_second_pass_costs_less_and_sinks_no_further() -> None:
    rig = Rig("loam")
    rig.rail.drive(1.5, 1e6)
    rig.world.run(2.5)
    first, depth = rig.rail.force[0], rig.terrain.heights.min()
    rig.rail.drive(-1.5, 1e6)
    rig.world.run(1.5)
    assert 0.0 < -rig.rail.force[0] < 0.3 * first
    assert rig.terrain.heights.min() > depth - 0.02


def test_a_driven_wheel_slips_until_it_pulls_enough_and_spins_at_the_limit() -> None:
    found = []
    for resist in (2e3, 4e3, 30e3):
        rig = Rig(load=LOAD)
        rig.axle.drive(1.5 / RADIUS, 1e6)
        rig.world.run(1.0)
        rig.rail.drive(0.0, resist)  # a brake on the carriage
        rig.world.run(2.5)
        speed = float(rig.body.velocity[0])
        found.append((1.0 - speed / 1.5, rig.foot.force[0], rig.rail.force[0]))
    slips = [one[0] for one in found]
    assert slips == sorted(slips)
    assert 0.0 < slips[0] < slips[1] < 0.6
    assert found[1][1] == pytest.approx(4e3, rel=0.05)  # what the brake takes
    assert slips[2] == pytest.approx(1.0, abs=0.02)  # it spins on the spot
    most = LOAD * math.tan(math.radians(berm.soil("dry sand").friction_angle))
    assert 0.4 * most < found[2][1] < most


def test_a_track_moves_its_machine_and_holds_it() -> None:
    world = berm.World(dt=1 / 60)
    terrain = world.add_terrain(Terrain.flat((12.0, 5.0), 0.1, layers="loam"))
    body = world.add_body(
        berm.Box((3.0, 0.6, 0.8)), name="track", position=(-2, 0, 0.4), dynamic=True, mass=4e3,
        inertia=(4e3, 8e3, 8e3),
    )  # fmt: skip
    feet = terrain.add_track(body, 3.0, 0.6, (0.0, 0.0, -0.4))
    world.run(1.0)
    rest = body.position
    assert sum(foot.force[2] for foot in feet) == pytest.approx(4e3 * 9.81, rel=0.01)
    body.belt((0, 1, 0), 1.0)
    world.run(3.0)
    assert 2.0 < body.position[0] - rest[0] < 3.0
    assert 0.85 < body.velocity[0] <= 1.0
    assert abs(body.position[1]) < 0.02
    body.belt((0, 1, 0), 0.0)
    world.run(1.0)
    assert abs(body.velocity[0]) < 0.02
    assert -0.2 < terrain.heights.min() < -0.005
    assert terrain.ledger(world).error[0] == 0.0


def test_mistakes_are_named() -> None:
    rig = Rig()
    with pytest.raises(berm.InputError, match="radius"):
        rig.terrain.add_wheel(rig.body, -1.0, 0.5)
    with pytest.raises(berm.InputError, match="axle"):
        rig.terrain.add_wheel(rig.body, 1.0, 0.5, (0, 0, 0))
    with pytest.raises(berm.InputError, match="length"):
        rig.terrain.add_track(rig.body, 0.0, 0.5, (0, 0, 0))
    far = berm.World().add_body(berm.Box((1, 1, 1)), name="far")
    with pytest.raises(berm.InputError, match="stranger"):
        rig.terrain.add_wheel(far, 1.0, 0.5)
