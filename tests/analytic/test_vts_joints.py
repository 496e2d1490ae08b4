"""Joints in VTS and SP: pendulums, a loaded plate on a hinge, a lift, welds; and blows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import berm
from berm.core.joints import Ball, Hinge, Slider, Weld
from tests.momenta import momenta

G = 9.81
BOTH = pytest.mark.parametrize("make", [berm.VTS, berm.SP])


def smooth():
    return berm.material("steel", friction=0.0, restitution=0.01)


def box_of_grains(solver):
    """A plate that carries grains between four smooth walls, its upper side at z = 0.05."""
    world = berm.World(solver=solver)
    world.add_body(
        berm.Box((0.4, 0.4, 4.0), inside=True, open_top=True), position=(0, 0, 1.0), name="frame",
        material=smooth(),
    )  # fmt: skip
    plate = world.add_body(berm.Box((0.39, 0.39, 0.1)), dynamic=True, density=1000, name="plate")
    place, radii = berm.lattice((-0.2, -0.2, 0.05), (0.2, 0.2, 0.25), (0.018, 0.022), 0.1, 1)
    world.add_grains(place, radii)
    load = (plate.mass + float(world.grains.mass.sum(dtype=float))) * G
    return world, plate, load


def mean(world, steps, what):
    values = []
    for _ in range(steps):
        world.step()
        values.append(what())
    return np.mean(values, axis=0)


@BOTH
@pytest.mark.parametrize("kind", ["ball", "hinge"])
@pytest.mark.parametrize("grains", [False, True])
def test_pendulum_swings_as_its_equation_says(make, kind, grains):
    """With a grain far away, the substeps are those with particles."""
    world = berm.World(solver=make(), dt=1 / 480)
    if grains:
        world.add_body(berm.Plane(), position=(0, 0, -9))
        world.add_grains([[3.0, 0.0, -8.98]], 0.02)
    rod = world.add_body(berm.Box((0.05, 0.05, 1.0)), dynamic=True, mass=2.0)
    anchor = (0, 0, 0.5)
    joint = world.add_joint(
        Ball(rod, None, anchor) if kind == "ball" else Hinge(rod, None, anchor, axis=(0, 1, 0))
    )
    rod.set_velocity((-1.0, 0, 0), (0, 2.0, 0))
    begin = 0.5 * 2.0 * 1.0 + 0.5 * float(rod.inertia[1, 1]) * 4.0
    report = world.step()
    assert report.kinetic_energy == pytest.approx(begin, rel=1e-2)
    for _ in range(479):
        world.step()
    stiffness = 2.0 * G * 0.5 / (float(rod.inertia[1, 1]) + 2.0 * 0.25)
    exact = solve_ivp(
        lambda t, y: (y[1], -stiffness * math.sin(y[0])), (0, 1.0), (0.0, 2.0), rtol=1e-9
    ).y[:, -1]
    angle = math.atan2(float(rod.rotation[0, 2]), float(rod.rotation[2, 2]))
    assert angle == pytest.approx(exact[0], abs=5e-3)
    assert joint.error < 1e-4


@BOTH
def test_hinge_and_limit_carry_a_plate_with_grains(make):
    """Hinged at its edge, kept from swinging down: the joint bears all weight, and its moment."""
    world, plate, load = box_of_grains(make())
    hinge = world.add_joint(Hinge(plate, None, (-0.195, 0, 0), axis=(0, 1, 0), limits=(-1.0, 0.0)))
    world.run(1.5)
    force, torque, felt, from_grains = (
        mean(world, 30, lambda: (hinge.force[2], -hinge.torque[1], plate.force_from("joints")[2],
                                 plate.force_from("grains")[2]))
    )  # fmt: skip
    assert force == pytest.approx(load, rel=1e-2)
    assert felt == pytest.approx(load, rel=1e-2)
    assert from_grains == pytest.approx(plate.mass * G - load, rel=1e-2)
    assert torque == pytest.approx(0.195 * load, rel=3e-2)
    assert abs(hinge.angle) < 2e-3
    assert hinge.error < 1e-4


@BOTH
def test_slider_lifts_grains_at_its_speed(make):
    world, plate, load = box_of_grains(make())
    lift = world.add_joint(Slider(plate, None, (0, 0, 0), axis=(0, 0, 1)))
    lift.drive(0.0)
    world.run(1.0)
    begin = float(plate.position[2])
    lift.drive(0.2)
    world.run(1.0)
    assert plate.position[2] - begin == pytest.approx(0.2, abs=2e-3)
    assert mean(world, 30, lambda: lift.force[2]) == pytest.approx(load, rel=1e-2)
    lift.drive(0.2, effort=0.5 * load)  # too weak
    before = float(plate.position[2])
    world.run(0.2)
    assert plate.position[2] < before


@BOTH
def test_weld_makes_one_body_of_two(make):
    """Thrown with a twist: momentum to rounding, and the pose of one against the other stays."""
    world = berm.World(solver=make(), gravity=(0, 0, 0))
    one = world.add_body(berm.Box((0.2, 0.2, 0.2)), dynamic=True, angular_velocity=(1.0, 2.0, 0.5))
    two = world.add_body(berm.Sphere(0.1), dynamic=True, position=(0.3, 0, 0.05))
    weld = world.add_joint(Weld(one, two, (0.15, 0, 0)))
    linear, angular = momenta(world)
    world.run(2.0)
    after, turned = momenta(world)
    assert np.abs(after - linear).max() < 1e-12 * one.mass
    assert np.linalg.norm(turned - angular) < 1e-10 * np.linalg.norm(angular)
    where = one.rotation.T @ (two.position - one.position)
    np.testing.assert_allclose(where, (0.3, 0, 0.05), atol=2e-3)
    assert weld.error < 2e-3
    assert np.linalg.norm(two.angular_velocity) > 0.5
    np.testing.assert_allclose(two.angular_velocity, one.angular_velocity, atol=1e-2)


@BOTH
def test_a_grain_meets_the_whole_mechanism(make):
    """A plate welded to one ten times as heavy answers as one plate of eleven times the mass."""
    law = berm.material("steel", friction=0.0, restitution=0.8)
    speeds = []
    for welded in (True, False):
        world = berm.World(gravity=(0, 0, 0), dt=1e-3, solver=make(), precision="float64")
        plate = world.add_body(
            berm.Box((0.1, 0.5, 0.5)), dynamic=True, material=law, mass=1.0 if welded else 11.0
        )
        if welded:
            back = world.add_body(
                berm.Box((0.1, 0.5, 0.5)), dynamic=True, material=law, mass=10.0,
                position=(0.2, 0, 0),
            )  # fmt: skip
            world.add_joint(Weld(plate, back, (0.1, 0, 0), compliance=1e-12))
        world.add_grains([[-0.15, 0.0, 0.0]], 0.05, (2.0, 0, 0), law)
        grain = float(world.grains.mass[0])
        world.run(0.06)
        speeds.append((float(world.grains.velocity[0, 0]), float(plate.velocity[0])))
        np.testing.assert_allclose(momenta(world)[0], (2.0 * grain, 0, 0), atol=1e-12 * grain)
    assert speeds[1][0] < -0.4
    np.testing.assert_allclose(speeds[0], speeds[1], rtol=1e-4)
    if make is berm.VTS:
        assert speeds[0][0] == pytest.approx(2.0 - 3.6 / (1 + grain / 11.0), abs=1e-3)


@BOTH
def test_a_grain_from_below_lifts_a_box_that_rests(make):
    """Contacts of bodies open within the substep: no energy is gained by a floor that let go."""
    law = berm.material("steel", friction=0.0, restitution=0.5)
    world = berm.World(dt=1e-3, solver=make(), precision="float64")
    for side in (-1, 1):
        world.add_body(berm.Box((0.1, 0.5, 0.1)), position=(0.2 * side, 0, -0.05), name=f"{side}")
    box = world.add_body(
        berm.Box((0.5, 0.5, 0.1)), dynamic=True, material=law, mass=2.0, position=(0, 0, 0.05)
    )
    world.run(0.1)
    world.add_grains([[0, 0, -0.06]], 0.05, (0, 0, 4.0), law)
    grain = float(world.grains.mass[0])
    fastest = 0.0
    for _ in range(10):
        world.step()
        fastest = max(fastest, float(box.velocity[2]))
    exact = 1.5 * 4.0 * grain / (grain + 2.0)
    assert fastest == pytest.approx(exact, rel=0.03)


@BOTH
@pytest.mark.parametrize("e", [0.0, 0.7])
def test_restitution_of_the_solver_holds_between_bodies(make, e):
    world = berm.World(gravity=(0, 0, 0), solver=make(restitution=e), dt=1e-3)
    law = berm.material("steel", friction=0.0, restitution=0.3)
    one = world.add_body(
        berm.Sphere(0.1), dynamic=True, material=law, position=(-0.25, 0, 0), velocity=(1, 0, 0)
    )
    two = world.add_body(berm.Sphere(0.1), dynamic=True, material=law)
    world.run(0.2)
    away = float(two.velocity[0] - one.velocity[0])
    assert away == pytest.approx(e, abs=2e-3)
