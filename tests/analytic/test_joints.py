"""Joints against closed forms: pendulums, motors, limits, and the loads that they report."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import ellipk

import berm
from berm.core.errors import InputError
from berm.core.joints import Ball, Hinge, Slider, Weld
from berm.core.motion import Spin, rotation_about

G = 9.81


def pendulum(joint, degrees=60.0):
    """A rod of 1 m that hangs from the origin, turned aside about y."""
    turn = rotation_about((0, 1, 0), -math.radians(degrees))
    world = berm.World()
    rod = world.add_body(
        berm.Box((0.05, 0.05, 1.0)), dynamic=True, position=turn @ (0, 0, -0.5), rotation=turn
    )
    return world, rod, world.add_joint(joint(rod))


@pytest.mark.parametrize("kind", ["hinge", "ball"])
def test_compound_pendulum_has_the_exact_period(kind):
    def joint(rod):
        anchor = (0.0, 0.0, 0.0)
        return (
            Hinge(rod, None, anchor, axis=(0, 1, 0)) if kind == "hinge" else Ball(rod, None, anchor)
        )

    world, rod, _ = pendulum(joint)
    inertia = rod.inertia[1, 1] + rod.mass * 0.25
    period = 4 * math.sqrt(inertia / (rod.mass * G * 0.5)) * ellipk(math.sin(math.radians(30)) ** 2)
    energy, times, last = [], [], rod.centre[0]
    for _ in range(360):
        world.step()
        now = rod.centre[0]
        if last < 0 <= now:
            times.append(world.time - world.dt * now / (now - last))
        last = now
        energy.append(rod.kinetic_energy + rod.mass * G * rod.centre[2])
        # rows hold a pivot to h^2 times the acceleration of what turns about it
        far = 1.5 * (world.dt / 10) ** 2 * G
        assert np.linalg.norm(rod.position + rod.rotation @ (0, 0, 0.5)) < far
    assert np.diff(times).mean() == pytest.approx(period, rel=2e-4)
    scale = rod.mass * G * 0.5 * (1 - math.cos(math.radians(60)))
    assert np.ptp(energy) < 0.02 * scale  # and it does not drift:
    assert abs(np.mean(energy[:105]) - np.mean(energy[-105:])) < 1e-3 * scale


def test_wheel_with_known_torque():
    """alpha = T / I, and full turns are counted."""
    world = berm.World(gravity=(0, 0, 0))
    wheel = world.add_body(berm.Cylinder(0.3, 0.1), dynamic=True, density=500.0)
    axle = world.add_joint(Hinge(wheel, axis=(0, 0, 1), motor=(1e6, 20.0)))
    world.run(2.0)
    alpha = 20.0 / wheel.inertia[2, 2]
    assert wheel.angular_velocity[2] == pytest.approx(2 * alpha, rel=1e-9)
    assert axle.angle == pytest.approx(0.5 * alpha * 4, rel=2e-3)
    assert axle.angle > 2 * math.pi
    np.testing.assert_allclose(axle.torque, (0, 0, 20.0), atol=1e-6)
    axle.drive(1.0)
    world.run(0.1)
    assert wheel.angular_velocity[2] == pytest.approx(1.0, abs=1e-9)
    axle.release()
    world.run(0.1)
    assert wheel.angular_velocity[2] == pytest.approx(1.0, abs=1e-9)


def test_motor_lifts_an_arm_off_its_axle():
    """The centre is beside the axle: the motor works on the inertia about it."""
    world = berm.World(gravity=(0, 0, 0))
    arm = world.add_body(berm.Box((1.0, 0.1, 0.1)), dynamic=True, position=(0.5, 0, 0))
    world.add_joint(Hinge(arm, None, (0, 0, 0), axis=(0, 0, 1), motor=(1e6, 50.0)))
    world.run(0.5)
    inertia = arm.inertia[2, 2] + arm.mass * 0.25
    assert arm.angular_velocity[2] == pytest.approx(0.5 * 50.0 / inertia, rel=1e-3)


def test_hinge_stops_at_its_limits_and_bears_the_weight():
    world, rod, hinge = pendulum(
        lambda rod: Hinge(rod, None, (0, 0, 0), axis=(0, 1, 0), limits=(-0.2, 0.3)), degrees=90.0
    )
    world.run(3.0)
    assert -0.2 - 1e-3 < hinge.angle < 0.3 + 1e-3
    assert min(abs(hinge.angle + 0.2), abs(hinge.angle - 0.3)) < 1e-3
    np.testing.assert_allclose(hinge.force, (0, 0, rod.mass * G), atol=1e-3 * rod.mass * G)
    arm = abs(rod.centre[0])
    assert np.linalg.norm(hinge.torque) == pytest.approx(rod.mass * G * arm, rel=1e-3)


def test_weld_bears_force_and_moment():
    world = berm.World()
    beam = world.add_body(berm.Box((1, 0.1, 0.1)), dynamic=True)
    weld = world.add_joint(Weld(beam, None, (-0.5, 0, 0)))
    world.run(0.5)
    assert np.abs(beam.position).max() < 1e-9
    np.testing.assert_allclose(weld.force, (0, 0, beam.mass * G), atol=1e-6 * beam.mass * G)
    np.testing.assert_allclose(weld.torque, (0, -beam.mass * G / 2, 0), atol=1e-6 * beam.mass * G)


def test_slider_falls_along_its_axis_to_its_limit():
    world = berm.World()
    ball = world.add_body(berm.Sphere(0.1), dynamic=True)
    rail = world.add_joint(Slider(ball, axis=(1, 0, 1), limits=(-2.0, 0.5)))
    world.run(0.5)
    assert rail.position == pytest.approx(-0.5 * G / math.sqrt(2) * 0.25, rel=0.01)
    np.testing.assert_allclose(ball.position[0], ball.position[2], atol=1e-9)
    world.run(2.0)
    assert rail.position == pytest.approx(-2.0, abs=1e-3)


def test_slider_motor_pushes_with_its_force():
    world = berm.World(gravity=(0, 0, 0))
    block = world.add_body(berm.Box((0.1, 0.1, 0.1)), dynamic=True, mass=2.0)
    world.add_joint(Slider(block, axis=(1, 0, 0), motor=(10.0, 4.0)))
    world.run(1.0)
    assert block.velocity[0] == pytest.approx(2.0, rel=1e-9)


def test_chain_hangs_and_keeps_together():
    world = berm.World()
    links, before = [], None
    for k in range(5):
        link = world.add_body(
            berm.Box((0.2, 0.05, 0.05)), dynamic=True, position=(0.1 + 0.2 * k, 0, 0)
        )
        world.add_joint(Ball(link, before, (0.2 * k, 0, 0)))
        links.append(link)
        before = link
    top = world.joints[0]
    gap = 0.0
    for _ in range(180):
        world.step()
        for one, two in itertools.pairwise(links):
            a, b = one.position + 0.1 * one.rotation[:, 0], two.position - 0.1 * two.rotation[:, 0]
            gap = max(gap, float(np.linalg.norm(a - b)))
    assert gap < 2e-3
    assert np.isfinite(top.force).all()


def test_hinge_on_a_driven_body_follows_it():
    world = berm.World(gravity=(0, 0, 0))
    table = world.add_body(berm.Box((0.2, 0.2, 0.2)), motion=Spin((0, 0, 1), 2.0))
    arm = world.add_body(berm.Box((0.4, 0.05, 0.05)), dynamic=True, position=(0.4, 0, 0),
                         velocity=(0, 0.8, 0), angular_velocity=(0, 0, 2.0))  # fmt: skip
    world.add_joint(Weld(arm, table, (0.1, 0, 0)))
    world.run(0.5)
    np.testing.assert_allclose(arm.position, (0.4 * math.cos(1), 0.4 * math.sin(1), 0), atol=2e-3)


def test_bad_joints_are_refused():
    world = berm.World()
    rock = world.add_body(berm.Sphere(0.1), name="rock")
    ball = world.add_body(berm.Sphere(0.1), name="ball", dynamic=True, position=(1, 0, 0))
    for make, says in (
        (lambda: Ball(rock), "at least one dynamic"),
        (lambda: Ball(ball, ball), "another body"),
        (lambda: Hinge(ball, axis=(0, 0, 0)), "not zero"),
        (lambda: Hinge(ball, anchor=(0, np.nan, 0)), "finite"),
        (lambda: Hinge(ball, limits=(0.5, 0.1)), "low below high"),
        (lambda: Hinge("ball", axis=(0, 0, 1)), "a body, as world.add_body returns it"),
        (lambda: Slider(ball, motor=(1.0, -2.0)), "effort"),
    ):
        with pytest.raises(InputError, match=says):
            make()
    other = berm.World().add_body(berm.Sphere(0.1), dynamic=True)
    with pytest.raises(InputError, match="of this world"):
        world.add_joint(Ball(other))
