"""Dynamic bodies against closed forms: free rotation, sliding, slopes, stacks, bounces."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import berm
from berm.core.errors import InputError, SimulationError
from berm.core.motion import Linear, rotation_about

G = 9.81


def alike(friction=0.5, restitution=0.01):
    return berm.material("steel", friction=friction, restitution=restitution)


def test_free_top_keeps_momentum_and_energy():
    """A27: |L| to rounding, energy within 1e-6, and the angular velocity of Euler's equations."""
    world = berm.World(gravity=(0, 0, 0), dt=1e-3, solver=berm.P2(substeps=4))
    omega = np.array([0.1, 8.0, 0.2])  # about the middle axis: it tumbles
    top = world.add_body(berm.Box((0.1, 0.2, 0.3)), dynamic=True, angular_velocity=omega)
    moments = np.diag(top.inertia)
    spin, energy = top.angular_momentum.copy(), top.kinetic_energy
    drift = 0.0
    for _ in range(2000):
        world.step()
        drift = max(drift, abs(top.kinetic_energy / energy - 1))
    assert np.linalg.norm(top.angular_momentum - spin) < 1e-12 * np.linalg.norm(spin)
    assert drift < 1e-6

    def euler(t, w):
        return -np.cross(w, moments * w) / moments

    exact = solve_ivp(euler, (0, 2.0), omega, rtol=1e-11, atol=1e-11).y[:, -1]
    np.testing.assert_allclose(top.rotation.T @ top.angular_velocity, exact, atol=5e-4)


def test_throw_is_a_parabola_and_mass_is_that_of_the_shape():
    world = berm.World()
    cone = world.add_body(
        berm.Cone(0.1, 0.05, 0.3), dynamic=True, density=1000.0, position=(0, 0, 5.0),
        velocity=(2.0, 0.0, 1.0),
    )  # fmt: skip
    assert cone.kind == "dynamic"
    assert cone.mass == pytest.approx(1000 * math.pi * 0.3 * (0.01 + 0.005 + 0.0025) / 3)
    begin = cone.centre.copy()
    world.run(1.0)
    np.testing.assert_allclose(cone.centre - begin, (2.0, 0.0, 1.0 - G / 2), atol=0.01)
    np.testing.assert_allclose(cone.momentum, cone.mass * np.array([2.0, 0, 1 - G]), rtol=1e-9)


def test_sliding_block_stops_where_coulomb_says():
    """A15: mu 0.5, 5 m/s: 2.5484 m, 1.0194 s; 0.5 %."""
    world = berm.World()
    world.add_body(berm.Plane(), material=alike())
    block = world.add_body(
        berm.Box((0.4, 0.4, 0.1)), dynamic=True, material=alike(), position=(0, 0, 0.05),
        velocity=(5, 0, 0),
    )  # fmt: skip
    world.run(1.0)
    assert block.velocity[0] > 0.05
    world.run(0.3)
    assert block.position[0] == pytest.approx(25 / (2 * 0.5 * G), rel=5e-3)
    assert np.linalg.norm(block.velocity) < 1e-3


@pytest.mark.parametrize(("factor", "slides"), [(0.99, False), (1.01, True)])
def test_block_on_a_slope_slides_at_the_friction_angle(factor, slides):
    """A16: tan(theta) = mu within 1 %."""
    theta = math.atan(0.5 * factor)
    turn = rotation_about((0, 1, 0), theta)
    world = berm.World()
    world.add_body(berm.Plane(), material=alike(), rotation=turn)
    block = world.add_body(
        berm.Box((0.2, 0.2, 0.1)), dynamic=True, material=alike(), position=0.05 * turn[:, 2],
        rotation=turn,
    )  # fmt: skip
    world.run(1.0)
    way = float(block.position @ turn[:, 0])
    free = 0.5 * G * (math.sin(theta) - 0.5 * math.cos(theta))
    assert abs(way - max(free, 0.0)) < 2e-3
    assert (way > 0.015) == slides


def test_stack_of_boxes_stands():
    world = berm.World()
    world.add_body(berm.Plane())
    boxes = [
        world.add_body(berm.Box((0.2, 0.2, 0.2)), dynamic=True, position=(0, 0, 0.1 + 0.2 * k))
        for k in range(5)
    ]
    world.run(2.0)
    for k, box in enumerate(boxes):
        assert abs(box.position[2] - 0.1 - 0.2 * k) < 1e-4
        assert np.abs(box.position[:2]).max() < 2e-3
        assert box.kinetic_energy < 1e-3


@pytest.mark.parametrize("e", [0.1, 0.5, 0.9])
def test_ball_bounces_by_its_restitution(e):
    world = berm.World(dt=1 / 500, solver=berm.P2(substeps=1))
    world.add_body(berm.Plane(), material=alike(restitution=e))
    ball = world.add_body(
        berm.Sphere(0.1), dynamic=True, material=alike(restitution=e), position=(0, 0, 1.1)
    )
    world.run(math.sqrt(2 / G) - 0.02)
    top = 0.0
    for _ in range(40):
        world.step()
        if ball.velocity[2] > 0:
            top = max(top, ball.velocity[2])
    assert top / math.sqrt(2 * G) == pytest.approx(e, rel=0.03)


@pytest.mark.parametrize(
    "shape", [berm.Sphere(0.1), berm.Cylinder(0.1, 0.2), berm.Capsule(0.1, 0.2)]
)
def test_round_bodies_roll_down_a_slope(shape):
    """A17 for bodies: g sin(theta) / (1 + I / (m r^2)) where friction holds; 1 %."""
    theta = math.radians(10)
    turn = rotation_about((0, 1, 0), theta)
    world = berm.World()
    world.add_body(berm.Plane(), material=alike(), rotation=turn)
    body = world.add_body(
        shape, dynamic=True, material=alike(), position=0.1 * turn[:, 2],
        rotation=rotation_about((1, 0, 0), math.pi / 2),
    )  # fmt: skip
    world.run(1.0)
    speed = float(body.velocity @ turn[:, 0])
    share = 1 / (1 + body.inertia[2, 2] / (body.mass * 0.01))
    assert speed == pytest.approx(share * G * math.sin(theta), rel=0.01)
    assert body.angular_velocity[1] == pytest.approx(speed / 0.1, rel=0.01)


def test_beams_laid_crosswise_meet_edge_to_edge():
    world = berm.World()
    world.add_body(berm.Plane())
    low = world.add_body(berm.Box((0.5, 0.05, 0.05)), dynamic=True, position=(0, 0, 0.025))
    high = world.add_body(berm.Box((0.05, 0.5, 0.05)), dynamic=True, position=(0.07, 0.01, 0.08))
    world.run(1.0)
    assert low.position[2] == pytest.approx(0.025, abs=5e-4)
    assert high.position[2] == pytest.approx(0.075, abs=1e-3)
    assert high.rotation[2, 2] > 0.999


def test_two_bodies_keep_momentum_when_they_collide():
    world = berm.World(gravity=(0, 0, 0))
    one = world.add_body(
        berm.Sphere(0.1), dynamic=True, position=(-0.3, 0.05, 0), velocity=(2, 0, 0)
    )
    two = world.add_body(berm.Box((0.2, 0.2, 0.2)), dynamic=True, angular_velocity=(0, 0, 1.0))

    def total():
        pair = (one, two)
        return (
            sum(b.momentum for b in pair),
            sum(np.cross(b.centre, b.momentum) + b.angular_momentum for b in pair),
        )

    before = total()
    world.run(0.5)
    after = total()
    assert abs(two.velocity[0]) > 0.5  # they met
    np.testing.assert_allclose(after[0], before[0], atol=1e-12 * one.mass)
    np.testing.assert_allclose(after[1], before[1], atol=2e-3 * np.abs(before[1]).max())


def test_moving_floor_carries_a_block():
    world = berm.World()
    world.add_body(
        berm.Box((4, 1, 0.1)), material=alike(), position=(0, 0, -0.05), motion=Linear((0.5, 0, 0))
    )
    block = world.add_body(
        berm.Box((0.2, 0.2, 0.1)), dynamic=True, material=alike(), position=(0, 0, 0.05)
    )
    world.run(1.0)
    assert block.velocity[0] == pytest.approx(0.5, abs=1e-3)


def test_mesh_body_rests_on_a_height_field_and_on_a_mesh():
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.1
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6),
             (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]  # fmt: skip
    cube = berm.Mesh(corners, np.array(faces))
    world = berm.World()
    world.add_body(berm.HeightField(np.zeros((9, 9)), 0.25, (-1.0, -1.0)))
    lower = world.add_body(cube, dynamic=True, position=(0, 0, 0.11))
    upper = world.add_body(cube, dynamic=True, position=(0.03, 0.02, 0.33))
    world.run(1.5)
    assert lower.position[2] == pytest.approx(0.1, abs=2e-3)
    assert upper.position[2] == pytest.approx(0.3, abs=4e-3)
    assert upper.rotation[2, 2] > 0.999


BAD = {
    "plane": (berm.Plane(), {}, "finite solid"),
    "ground": (berm.HeightField(np.zeros((3, 3)), 1.0), {}, "finite solid"),
    "inside": (berm.Sphere(1.0, inside=True), {}, "solid"),
    "open mesh": (berm.Mesh(np.eye(3), [[0, 1, 2]]), {}, "closed"),
    "zero mass": (berm.Sphere(1.0), {"mass": 0.0}, "above 0"),
    "negative density": (berm.Sphere(1.0), {"density": -5.0}, "above 0"),
    "velocity": (berm.Sphere(1.0), {"velocity": (np.nan, 0, 0)}, "finite"),
    "motion": (berm.Sphere(1.0), {"motion": Linear((1, 0, 0))}, "either"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_bodies_are_refused_by_name(name):
    shape, given, says = BAD[name]
    with pytest.raises(InputError, match="'thing'.*" + says):
        berm.World().add_body(shape, name="thing", dynamic=True, **given)


def test_mass_needs_dynamic():
    with pytest.raises(InputError, match="dynamic=True"):
        berm.World().add_body(berm.Sphere(1.0), mass=1.0)


def test_a_body_that_becomes_infinite_is_named():
    world = berm.World()
    ball = world.add_body(berm.Sphere(0.1), name="ball", dynamic=True)
    ball.dynamics.speed[0] = np.inf
    with pytest.raises(SimulationError, match=r"step 1.*'ball'"):
        world.step()
