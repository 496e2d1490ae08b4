"""Dynamic bodies in VTS and SP beyond test_rigid_bodies.py: weights, blows, grains, cloth."""

from __future__ import annotations

import numpy as np
import pytest

import berm

G = 9.81
BOTH = pytest.mark.parametrize("make", [berm.VTS, berm.SP])
KINDS = {
    "gs": berm.VTS,
    "ij": lambda: berm.VTS(iteration="ij"),
    "cr": lambda: berm.VTS(iteration="cr"),
    "box": lambda: berm.VTS(friction="box"),
    "sp": berm.SP,
    "pbd": berm.SP.pbd,
}


def alike(friction=0.5, restitution=0.01):
    return berm.material("steel", friction=friction, restitution=restitution)


@pytest.mark.parametrize("kind", KINDS)
def test_box_at_rest_lays_its_weight_on_the_floor(kind):
    world = berm.World(solver=KINDS[kind]())
    floor = world.add_body(berm.Plane(), name="floor", material=alike())
    box = world.add_body(
        berm.Box((0.2, 0.3, 0.2)), dynamic=True, material=alike(), position=(0.4, 0, 0.1)
    )
    world.run(0.5)
    weight = box.mass * G
    np.testing.assert_allclose(floor.force, (0, 0, -weight), atol=1e-3 * weight)
    np.testing.assert_allclose(floor.torque, (0, 0.4 * weight, 0), atol=1e-3 * weight)
    np.testing.assert_allclose(box.force, (0, 0, weight), atol=1e-3 * weight)
    np.testing.assert_allclose(box.position, (0.4, 0, 0.1), atol=1e-5)


@pytest.mark.parametrize("partner", ["grain", "ball"])
@pytest.mark.parametrize("e", [0.0, 0.6])
def test_blow_off_the_centre_gives_speed_and_spin(partner, e):
    """Free plate, hit by a sphere: J = (1 + e) v / (1/m + 1/M + r^2/I)."""
    law = alike(friction=0.0, restitution=max(e, 1e-12))
    world = berm.World(gravity=(0, 0, 0), dt=1e-3, solver=berm.VTS(), precision="float64")
    plate = world.add_body(berm.Box((0.1, 1.0, 0.5)), dynamic=True, material=law, density=500.0)
    if partner == "grain":
        world.add_grains([[-0.15, 0.3, 0.0]], 0.05, (2.0, 0, 0), law)
        mass = float(world.grains.mass[0])
    else:
        ball = world.add_body(
            berm.Sphere(0.05), dynamic=True, material=law, position=(-0.15, 0.3, 0),
            velocity=(2, 0, 0),
        )  # fmt: skip
        mass = ball.mass
    world.run(0.06)
    blow = (1 + e) * 2.0 / (1 / mass + 1 / plate.mass + 0.3**2 / plate.inertia[2, 2])
    speed = world.grains.velocity[0] if partner == "grain" else ball.velocity
    exact = 1e-6 if e > 0 else 5e-3  # without a bounce they stay together for a while
    assert plate.velocity[0] == pytest.approx(blow / plate.mass, rel=exact)
    assert plate.angular_velocity[2] == pytest.approx(-0.3 * blow / plate.inertia[2, 2], rel=exact)
    assert speed[0] == pytest.approx(2.0 - blow / mass, rel=exact)


@pytest.mark.parametrize("kind", KINDS)
def test_grains_on_a_box_lay_the_whole_weight_on_the_floor(kind):
    world = berm.World(solver=KINDS[kind]())
    floor = world.add_body(berm.Plane(), name="floor")
    tray = world.add_body(berm.Box((0.39, 0.39, 0.1)), dynamic=True, position=(0, 0, 0.05))
    world.add_body(
        berm.Box((0.4, 0.4, 3.0), inside=True, open_top=True), position=(0, 0, 1.0),
        material=alike(friction=0.0), name="frame",
    )  # fmt: skip
    place, radii = berm.lattice((-0.2, -0.2, 0.1), (0.2, 0.2, 0.3), (0.018, 0.022), 0.1, 1)
    world.add_grains(place, radii)
    world.run(2.0)
    felt = []
    for _ in range(30):
        world.step()
        felt.append((floor.force[2], tray.force[2]))
    grains = float(world.grains.mass.sum(dtype=float))
    assert np.mean(felt, axis=0)[0] == pytest.approx(-(grains + tray.mass) * G, rel=1e-3)
    assert np.mean(felt, axis=0)[1] == pytest.approx(tray.mass * G, rel=1e-3)  # floor less grains


@BOTH
def test_heavy_ball_sinks_deeper_than_a_light_one(make):
    """The push of the grains comes to carry it; what is denser goes deeper."""
    depth = []
    for density in (300.0, 7800.0):
        world = berm.World(solver=make())
        world.add_body(
            berm.Box((0.5, 0.5, 2.0), inside=True, open_top=True), position=(0, 0, 1), name="walls"
        )
        place, radii = berm.lattice((-0.25, -0.25, 0), (0.25, 0.25, 0.3), (0.018, 0.022), 0.1, 1)
        world.add_grains(place, radii)
        world.run(0.8)
        top = float(world.grains.position[:, 2].max()) + 0.02
        ball = world.add_body(
            berm.Sphere(0.08), dynamic=True, density=density, position=(0, 0, top + 0.3)
        )
        world.run(2.0)
        felt = []
        for _ in range(40):
            world.step()
            felt.append(ball.force[2])
        depth.append(top + 0.08 - ball.position[2])
        assert np.mean(felt) == pytest.approx(ball.mass * G, rel=0.1)
        assert abs(ball.velocity[2]) < 0.1
        assert ball.position[2] > 0.079  # not through the floor
    assert depth[1] > depth[0] + 0.05
    assert depth[1] > 0.1


@BOTH
def test_fast_ball_does_not_pass_a_thin_plate(make):
    """At 40 m/s it goes 13 times the plate's thickness in a step; e = 0: they go on together."""
    law = alike(friction=0.0, restitution=1e-9)
    world = berm.World(gravity=(0, 0, 0), solver=make())
    plate = world.add_body(berm.Box((0.05, 1, 1)), dynamic=True, material=law)
    ball = world.add_body(
        berm.Sphere(0.1), dynamic=True, material=law, position=(-1.3, 0, 0), velocity=(40, 0, 0)
    )
    world.run(0.2)
    together = 40 * ball.mass / (ball.mass + plate.mass)
    assert plate.velocity[0] == pytest.approx(together, rel=0.02)
    assert ball.position[0] < plate.position[0]


@BOTH
def test_cloth_carries_a_ball(make):
    """A ball on a sheet that its edges hold: the sheet bears its weight."""
    world = berm.World(solver=make(iterations=40))
    side = 15
    sheet = berm.Cloth.grid((side, side), (1.0, 1.0), mass=0.5, thickness=0.02, damping=2.0)
    rim = np.abs(sheet.position[:, :2] - 0.5).max(axis=1) > 0.499
    sheet.pin(np.flatnonzero(rim))
    world.add_cloth(sheet)
    ball = world.add_body(berm.Sphere(0.2), dynamic=True, mass=0.5, position=(0.5, 0.5, 0.25))
    world.run(3.0)
    felt = []
    for _ in range(60):
        world.step()
        felt.append(ball.force[2])
    assert np.mean(felt) == pytest.approx(0.5 * G, rel=0.05)
    assert ball.position[2] > -0.5
