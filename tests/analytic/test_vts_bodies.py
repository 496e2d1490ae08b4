"""Dynamic bodies in VTS and SP against closed forms: tops, slopes, stacks, blows, grains."""

from __future__ import annotations

import math

import numpy as np
import pytest

import berm
from berm.core.errors import InputError, SimulationError
from berm.core.joints import Hinge
from berm.core.motion import Linear, rotation_about

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


def momenta(world):
    """Momentum, and angular momentum about the origin, of grains and dynamic bodies."""
    g = world.grains
    p = g.mass.astype(float)[:, None] * g.velocity
    linear, angular = p.sum(axis=0), np.cross(g.position, p).sum(axis=0)
    for body in world.bodies:
        if body.dynamic:
            linear = linear + body.momentum
            angular = angular + np.cross(body.centre, body.momentum) + body.angular_momentum
    return linear, angular


@BOTH
def test_free_top_keeps_momentum_and_energy(make):
    """A27: |L| to rounding, energy within 1e-6; about the middle axis it tumbles."""
    world = berm.World(gravity=(0, 0, 0), dt=2.5e-4, solver=make())
    top = world.add_body(berm.Box((0.1, 0.2, 0.3)), dynamic=True, angular_velocity=(0.1, 8, 0.2))
    spin, energy, drift = top.angular_momentum.copy(), top.kinetic_energy, 0.0
    for _ in range(4000):
        world.step()
        drift = max(drift, abs(top.kinetic_energy / energy - 1))
    assert np.linalg.norm(top.angular_momentum - spin) < 1e-12 * np.linalg.norm(spin)
    assert drift < 1e-6


@BOTH
def test_throw_is_a_parabola(make):
    world = berm.World(solver=make())
    ball = world.add_body(berm.Sphere(0.1), dynamic=True, velocity=(2, 0, 1))
    world.run(1.0)
    offset = 0.5 * G / 60  # of symplectic Euler
    np.testing.assert_allclose(ball.centre, (2.0, 0.0, 1.0 - G / 2 - offset), atol=1e-9)
    np.testing.assert_allclose(ball.momentum, ball.mass * np.array([2.0, 0, 1 - G]), rtol=1e-9)


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


@BOTH
def test_sliding_block_stops_where_coulomb_says(make):
    """A15: mu 0.5, 5 m/s: 2.5484 m; half a step's way is the stepper's."""
    world = berm.World(solver=make(), dt=1 / 200)
    world.add_body(berm.Plane(), material=alike())
    block = world.add_body(
        berm.Box((0.4, 0.4, 0.1)), dynamic=True, material=alike(), position=(0, 0, 0.05),
        velocity=(5, 0, 0),
    )  # fmt: skip
    world.run(1.3)
    assert block.position[0] == pytest.approx(25 / (2 * 0.5 * G), rel=6e-3)
    assert np.linalg.norm(block.velocity) < 1e-3


@BOTH
@pytest.mark.parametrize(("factor", "slides"), [(0.99, False), (1.01, True), (2.0, True)])
def test_block_on_a_slope_obeys_coulomb(make, factor, slides):
    """A16: below tan(theta) = mu it sticks, above a = g (sin - mu cos)."""
    theta = math.atan(0.5 * factor)
    turn = rotation_about((0, 1, 0), theta)
    world = berm.World(solver=make())
    world.add_body(berm.Plane(), material=alike(), rotation=turn)
    block = world.add_body(
        berm.Box((0.2, 0.2, 0.1)), dynamic=True, material=alike(), position=0.05 * turn[:, 2],
        rotation=turn,
    )  # fmt: skip
    world.run(1.0)
    speed, free = float(block.velocity @ turn[:, 0]), G * (math.sin(theta) - 0.5 * math.cos(theta))
    assert abs(speed - max(free, 0.0)) < 1e-3
    assert (block.position @ turn[:, 0] > 0.015) == slides


@BOTH
@pytest.mark.parametrize(
    "shape", [berm.Sphere(0.1), berm.Cylinder(0.1, 0.2), berm.Capsule(0.1, 0.2)]
)
def test_round_bodies_roll_down_a_slope(make, shape):
    """A17 for bodies: g sin(theta) / (1 + I / (m r^2)) where friction holds; 1 %."""
    theta = math.radians(10)
    turn = rotation_about((0, 1, 0), theta)
    world = berm.World(solver=make())
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


@BOTH
def test_stack_of_boxes_stands(make):
    world = berm.World(solver=make())
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


@BOTH
@pytest.mark.parametrize("e", [0.1, 0.5, 0.9])
def test_ball_bounces_by_its_restitution(make, e):
    world = berm.World(dt=1 / 500, solver=make())
    world.add_body(berm.Plane(), material=alike(restitution=e))
    ball = world.add_body(
        berm.Sphere(0.1), dynamic=True, material=alike(restitution=e), position=(0, 0, 1.1)
    )
    top = 0.0
    for _ in range(300):
        world.step()
        top = max(top, ball.velocity[2])
    assert top / math.sqrt(2 * G) == pytest.approx(e, rel=0.01)


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


@BOTH
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_momentum_of_grains_and_body_is_kept(make, friction):
    """Linear: to rounding. Angular: grains do not turn, so friction at their surface is lost."""
    law = berm.material("gravel", friction=friction)
    world = berm.World(gravity=(0, 0, 0), precision="float64", solver=make())
    grid = np.stack(np.meshgrid(*[np.arange(5)] * 3, indexing="ij"), -1).reshape(-1, 3) * 0.045
    world.add_grains(grid - grid.mean(axis=0) + (-0.3, 0.02, 0.05), 0.02, (2.0, 0, 0), law)
    body = world.add_body(
        berm.Box((0.1, 0.3, 0.2)), dynamic=True, material=law, mass=3.0, angular_velocity=(0, 0, 2)
    )
    linear, angular = momenta(world)
    for _ in range(45):
        world.step()
    after, turned = momenta(world)
    assert body.velocity[0] > 0.5
    scale = np.linalg.norm(linear)
    np.testing.assert_allclose(after, linear, atol=1e-13 * scale)
    share = 3e-3 if friction == 0 else 2e-2
    assert np.linalg.norm(turned - angular) < share * scale * 0.3  # of momentum times size


@BOTH
def test_two_bodies_keep_momentum_when_they_collide(make):
    """Linear and angular, with friction and turning, to rounding."""
    world = berm.World(gravity=(0, 0, 0), solver=make())
    world.add_body(berm.Sphere(0.1), dynamic=True, position=(-0.3, 0.05, 0), velocity=(2, 0, 0))
    two = world.add_body(berm.Box((0.2, 0.2, 0.2)), dynamic=True, angular_velocity=(0, 0, 1.0))
    linear, angular = momenta(world)
    world.run(0.5)
    after, turned = momenta(world)
    assert abs(two.velocity[0]) > 0.5  # they met
    np.testing.assert_allclose(after, linear, atol=1e-12 * np.linalg.norm(linear))
    np.testing.assert_allclose(turned, angular, atol=1e-12 * np.abs(linear).max())


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
@pytest.mark.parametrize("where", ["under", "top", "both"])
def test_plate_as_light_as_five_grains_comes_to_rest(make, where):
    world = berm.World(solver=make())
    box = world.add_body(
        berm.Box((0.4, 0.4, 1.0), inside=True, open_top=True), position=(0, 0, 0.5), name="box",
        material="rough wall",
    )  # fmt: skip

    def layer(low, high):
        place, radii = berm.lattice((-0.2, -0.2, low), (0.2, 0.2, high), (0.018, 0.022), 0.1, 1)
        world.add_grains(place, radii)

    height = 0.0
    if where != "top":
        layer(0.0, 0.2)
        height = 0.23
    mass = 5 * 2650 * 4 / 3 * np.pi * 0.02**3
    plate = world.add_body(
        berm.Box((0.3, 0.3, 0.04)), dynamic=True, mass=mass, position=(0, 0, height + 0.03)
    )
    if where != "under":
        layer(height + 0.08, height + 0.3)
    world.run(2.0)
    energy, felt = [], []
    for _ in range(20):
        report = world.step()
        energy.append(report.kinetic_energy / world.grains.mass.sum())
        felt.append(box.force[2])
    whole = mass + float(world.grains.mass.sum(dtype=float))
    assert np.mean(energy) < 5e-5  # J/kg: slower than 1 cm/s
    assert np.linalg.norm(plate.velocity) < 1e-2
    assert report.overlap_max < 0.15 * 0.02
    assert np.mean(felt) == pytest.approx(-whole * G, rel=2e-3)


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
def test_driven_floor_carries_a_block(make):
    world = berm.World(solver=make())
    world.add_body(
        berm.Box((4, 1, 0.1)), material=alike(), position=(0, 0, -0.05), motion=Linear((0.5, 0, 0))
    )
    block = world.add_body(
        berm.Box((0.2, 0.2, 0.1)), dynamic=True, material=alike(), position=(0, 0, 0.05)
    )
    world.run(1.0)
    assert block.velocity[0] == pytest.approx(0.5, abs=1e-3)


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
def test_mesh_body_rests_on_a_height_field(make):
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.1
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6),
             (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]  # fmt: skip
    cube = berm.Mesh(corners, np.array(faces))
    world = berm.World(solver=make())
    world.add_body(berm.HeightField(np.zeros((9, 9)), 0.25, (-1.0, -1.0)))
    lower = world.add_body(cube, dynamic=True, position=(0, 0, 0.11))
    upper = world.add_body(cube, dynamic=True, position=(0.03, 0.02, 0.33))
    world.run(1.5)
    assert lower.position[2] == pytest.approx(0.1, abs=2e-3)
    assert upper.position[2] == pytest.approx(0.3, abs=4e-3)
    assert upper.rotation[2, 2] > 0.999


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


def test_joints_are_refused():
    world = berm.World(solver=berm.VTS())
    ball = world.add_body(berm.Sphere(0.1), dynamic=True)
    world.add_joint(Hinge(ball, axis=(0, 1, 0)))
    with pytest.raises(InputError, match=r"solver vts: joints.*'p2'"):
        world.step()


@BOTH
def test_a_body_that_becomes_infinite_is_named(make):
    world = berm.World(solver=make())
    ball = world.add_body(berm.Sphere(0.1), name="ball", dynamic=True)
    ball.dynamics.speed[0] = np.inf
    with pytest.raises(SimulationError, match=r"step 1.*'ball'"):
        world.step()
