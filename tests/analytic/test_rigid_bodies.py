"""Dynamic bodies against closed forms: free rotation, sliding, slopes, stacks, bounces."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import berm
from berm.core.errors import InputError, SimulationError
from berm.core.motion import Linear, rotation_about
from tests.momenta import momenta

G = 9.81
SOLVERS = {"p2": berm.P2, "vts": berm.VTS, "sp": berm.SP}
EACH = pytest.mark.parametrize("name", SOLVERS)


def alike(friction=0.5, restitution=0.01):
    return berm.material("steel", friction=friction, restitution=restitution)


def substep(world):
    """Length (s) of the symplectic Euler steps that the solver takes."""
    return world.dt / world.solver.substeps


@EACH
def test_free_top_keeps_momentum_and_energy(name):
    """A27: |L| to rounding, energy within 1e-6, and the angular velocity of Euler's equations."""
    solver, dt = (berm.P2(substeps=4), 1e-3) if name == "p2" else (SOLVERS[name](), 2.5e-4)
    world = berm.World(gravity=(0, 0, 0), dt=dt, solver=solver)
    omega = np.array([0.1, 8.0, 0.2])  # about the middle axis: it tumbles
    top = world.add_body(berm.Box((0.1, 0.2, 0.3)), dynamic=True, angular_velocity=omega)
    moments = np.diag(top.inertia)
    spin, energy = top.angular_momentum.copy(), top.kinetic_energy
    drift, steps = 0.0, 2000 if name == "p2" else 4000
    for _ in range(steps):
        world.step()
        drift = max(drift, abs(top.kinetic_energy / energy - 1))
    assert np.linalg.norm(top.angular_momentum - spin) < 1e-12 * np.linalg.norm(spin)
    assert drift < 1e-6

    def euler(t, w):
        return -np.cross(w, moments * w) / moments

    exact = solve_ivp(euler, (0, steps * dt), omega, rtol=1e-11, atol=1e-11).y[:, -1]
    np.testing.assert_allclose(top.rotation.T @ top.angular_velocity, exact, atol=5e-4)


@EACH
def test_throw_is_a_parabola_and_mass_is_that_of_the_shape(name):
    world = berm.World(solver=SOLVERS[name]())
    cone = world.add_body(
        berm.Cone(0.1, 0.05, 0.3), dynamic=True, density=1000.0, position=(0, 0, 5.0),
        velocity=(2.0, 0.0, 1.0),
    )  # fmt: skip
    assert cone.kind == "dynamic"
    assert cone.mass == pytest.approx(1000 * math.pi * 0.3 * (0.01 + 0.005 + 0.0025) / 3)
    begin = cone.centre.copy()
    world.run(1.0)
    fall = 0.5 * G * (1.0 + substep(world))
    np.testing.assert_allclose(cone.centre - begin, (2.0, 0.0, 1.0 - fall), atol=1e-9)
    np.testing.assert_allclose(cone.momentum, cone.mass * np.array([2.0, 0, 1 - G]), rtol=1e-9)


@pytest.mark.parametrize(("name", "dt", "exact"), [
    ("p2", 1 / 60, 5e-3), ("vts", 1 / 200, 6e-3), ("sp", 1 / 200, 6e-3),
])  # fmt: skip
def test_sliding_block_stops_where_coulomb_says(name, dt, exact):
    """A15: mu 0.5, 5 m/s: 2.5484 m, 1.0194 s; 0.5 %; VTS: and half a step's way."""
    world = berm.World(solver=SOLVERS[name](), dt=dt)
    world.add_body(berm.Plane(), material=alike())
    block = world.add_body(
        berm.Box((0.4, 0.4, 0.1)), dynamic=True, material=alike(), position=(0, 0, 0.05),
        velocity=(5, 0, 0),
    )  # fmt: skip
    world.run(1.0)
    assert block.velocity[0] > 0.05
    world.run(0.3)
    assert block.position[0] == pytest.approx(25 / (2 * 0.5 * G), rel=exact)
    assert np.linalg.norm(block.velocity) < 1e-3


@EACH
@pytest.mark.parametrize(("factor", "slides"), [(0.99, False), (1.01, True), (2.0, True)])
def test_block_on_a_slope_obeys_coulomb(name, factor, slides):
    """A16: below tan(theta) = mu it sticks, above a = g (sin - mu cos)."""
    theta = math.atan(0.5 * factor)
    turn = rotation_about((0, 1, 0), theta)
    world = berm.World(solver=SOLVERS[name]())
    world.add_body(berm.Plane(), material=alike(), rotation=turn)
    block = world.add_body(
        berm.Box((0.2, 0.2, 0.1)), dynamic=True, material=alike(), position=0.05 * turn[:, 2],
        rotation=turn,
    )  # fmt: skip
    world.run(1.0)
    speed, way = float(block.velocity @ turn[:, 0]), float(block.position @ turn[:, 0])
    free = max(G * (math.sin(theta) - 0.5 * math.cos(theta)), 0.0)
    assert abs(speed - free) < 1e-3
    assert abs(way - 0.5 * free * (1.0 + substep(world))) < 2e-3
    assert (way > 0.015) == slides


@EACH
def test_stack_of_boxes_stands(name):
    world = berm.World(solver=SOLVERS[name]())
    floor = world.add_body(berm.Plane())
    boxes = [
        world.add_body(berm.Box((0.2, 0.2, 0.2)), dynamic=True, position=(0, 0, 0.1 + 0.2 * k))
        for k in range(5)
    ]
    world.run(3.0)
    for k, box in enumerate(boxes):
        assert abs(box.position[2] - 0.1 - 0.2 * k) < 1e-4
        assert np.abs(box.position[:2]).max() < 2e-3
        assert box.kinetic_energy < 1e-3
    assert floor.force[2] == pytest.approx(-5 * boxes[0].mass * G, rel=1e-3)


@EACH
@pytest.mark.parametrize("e", [0.1, 0.5, 0.9])
def test_ball_bounces_by_its_restitution(name, e):
    solver = berm.P2(substeps=1) if name == "p2" else SOLVERS[name]()
    world = berm.World(dt=1 / 500, solver=solver)
    world.add_body(berm.Plane(), material=alike(restitution=e))
    ball = world.add_body(
        berm.Sphere(0.1), dynamic=True, material=alike(restitution=e), position=(0, 0, 1.1)
    )
    top = 0.0
    for _ in range(300):
        world.step()
        top = max(top, ball.velocity[2])
    assert top / math.sqrt(2 * G) == pytest.approx(e, rel=0.03 if name == "p2" else 0.01)


@EACH
@pytest.mark.parametrize(
    "shape", [berm.Sphere(0.1), berm.Cylinder(0.1, 0.2), berm.Capsule(0.1, 0.2)]
)
def test_round_bodies_roll_down_a_slope(name, shape):
    """A17 for bodies: g sin(theta) / (1 + I / (m r^2)) where friction holds; 1 %."""
    theta = math.radians(10)
    turn = rotation_about((0, 1, 0), theta)
    world = berm.World(solver=SOLVERS[name]())
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


@pytest.mark.parametrize(("name", "lost"), [("p2", 2e-3), ("vts", 1e-12), ("sp", 1e-12)])
def test_two_bodies_keep_momentum_when_they_collide(name, lost):
    """With friction and turning: linear to rounding, angular in VTS and SP too."""
    world = berm.World(gravity=(0, 0, 0), solver=SOLVERS[name]())
    one = world.add_body(
        berm.Sphere(0.1), dynamic=True, position=(-0.3, 0.05, 0), velocity=(2, 0, 0)
    )
    two = world.add_body(berm.Box((0.2, 0.2, 0.2)), dynamic=True, angular_velocity=(0, 0, 1.0))
    linear, angular = momenta(world)
    world.run(0.5)
    after, turned = momenta(world)
    assert abs(two.velocity[0]) > 0.5  # they met
    np.testing.assert_allclose(after, linear, atol=1e-12 * one.mass)
    np.testing.assert_allclose(turned, angular, atol=lost * np.abs(angular).max())


@EACH
def test_moving_floor_carries_a_block(name):
    world = berm.World(solver=SOLVERS[name]())
    world.add_body(
        berm.Box((4, 1, 0.1)), material=alike(), position=(0, 0, -0.05), motion=Linear((0.5, 0, 0))
    )
    block = world.add_body(
        berm.Box((0.2, 0.2, 0.1)), dynamic=True, material=alike(), position=(0, 0, 0.05)
    )
    world.run(1.0)
    assert block.velocity[0] == pytest.approx(0.5, abs=1e-3)


@EACH
def test_mesh_body_rests_on_a_height_field_and_on_a_mesh(name):
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.1
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6),
             (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]  # fmt: skip
    cube = berm.Mesh(corners, np.array(faces))
    world = berm.World(solver=SOLVERS[name]())
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


@EACH
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inf - inf, before it is told
def test_a_body_that_becomes_infinite_is_named(name):
    world = berm.World(solver=SOLVERS[name]())
    ball = world.add_body(berm.Sphere(0.1), name="ball", dynamic=True)
    world.bodies.v[ball.row, 0] = np.inf
    with pytest.raises(SimulationError, match=r"step 1.*'ball'"):
        world.step()


@pytest.mark.parametrize("name", ["p2", "vts"])
def test_bodies_deep_in_each_other_at_the_start_are_refused(name):
    """Two boxes pushed sideways into each other never part; one below the floor was thrown up."""
    world = berm.World(solver=name)
    world.add_body(berm.Plane(), name="floor")
    world.add_body(berm.Box((0.2, 0.2, 0.2)), name="low", dynamic=True, position=(0, 0, 0.12))
    world.add_body(berm.Box((0.2, 0.2, 0.2)), name="high", dynamic=True, position=(0.05, 0, 0.22))
    with pytest.raises(berm.InputError, match=r"'low' and 'high' at the start.*0\.05\d* m.*apart"):
        world.step()
    world = berm.World(solver=name)
    world.add_body(berm.Plane(), name="floor")
    world.add_body(berm.Box((0.2, 0.2, 0.2)), name="box", dynamic=True, position=(0, 0, -0.3))
    with pytest.raises(berm.InputError, match=r"'floor' and 'box' at the start"):
        world.step()


@pytest.mark.parametrize("name", ["p2", "vts"])
def test_bodies_a_little_in_each_other_are_pushed_apart_with_a_warning(name):
    """An overlap of 1 cm of 20 goes gently, and is told once; one of 1 mm is nothing."""
    for deep, told in ((0.01, 1), (0.001, 0)):
        world = berm.World(solver=name)
        world.add_body(berm.Plane(), name="floor")
        box = world.add_body(
            berm.Box((0.2, 0.2, 0.2)), name="box", dynamic=True, position=(0, 0, 0.1 - deep)
        )
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            world.run(0.5)
        assert len(found) == told and all("'floor' and 'box'" in str(w.message) for w in found)
        assert box.position[2] == pytest.approx(0.1, abs=2e-3)
        assert np.abs(box.velocity).max() < 0.01
