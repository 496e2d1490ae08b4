"""Joints, applied forces and the state of bodies in the discrete element method."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from berm.core import joints as kinds
from berm.core.clusters import cube
from berm.core.errors import InputError
from berm.core.materials import Material
from berm.core.shapes import Box, Cylinder, Plane
from berm.solvers.dem.solver import DEM
from berm.solvers.p2.solver import P2
from berm.world import measure
from berm.world.world import World
from tests.same_bits import assert_goes_on, assert_same_on_threads

NO_GRAVITY = (0.0, 0.0, 0.0)


def stuff(friction=0.5, restitution=0.2, stiffness=1e5, **values):
    """A material with one friction coefficient."""
    return Material("test", friction_static=friction, friction_kinetic=friction,
                    restitution=restitution, stiffness=stiffness, **values)  # fmt: skip


def about_y(angle):
    """Rotation matrix about y."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def pendulum(angle, **options):
    """A rod of 1 m that hangs from the origin and turns about y."""
    world = World(dt=0.01, solver=DEM(normal="linear", step_size=1e-4), **options)
    turn = about_y(angle)
    rod = world.add_body(Box((0.1, 0.1, 1.0)), name="rod", position=turn @ [0, 0, -0.5],
                         rotation=turn, dynamic=True, material=stuff(),
                         particle_radius=0.04)  # fmt: skip
    return world, rod, world.add_joint(kinds.Hinge(rod, None, (0, 0, 0), (0, 1, 0)))


def test_pendulum_swings_and_pulls_as_the_closed_form_says():
    """The angle over two seconds; the joint bears weight and centripetal force."""
    start = 1.0
    world, rod, hinge = pendulum(start)
    about = rod.inertia[1, 1] + rod.mass * 0.25
    pull = rod.mass * 9.81 * 0.5
    exact = solve_ivp(
        lambda t, y: [y[1], -pull / about * math.sin(y[0])], (0, 2.0), [start, 0.0],
        rtol=1e-10, atol=1e-12, dense_output=True,
    ).sol  # fmt: skip
    for _ in range(200):
        world.step()
        angle, speed = exact(world.time)
        assert math.atan2(rod.rotation[0, 2], rod.rotation[2, 2]) == pytest.approx(angle, abs=3e-4)
        assert rod.angular_velocity[1] == pytest.approx(speed, abs=1.5e-3)
        assert hinge.error < 1e-6
        angle, speed = exact(world.time - 0.5 * world.dt)
        inward = about_y(angle) @ [0, 0, 1.0]
        wanted = rod.mass * (9.81 * math.cos(angle) + 0.5 * speed**2)
        assert hinge.force @ inward == pytest.approx(wanted, rel=1e-3)
        np.testing.assert_allclose(rod.force_from("joints"), hinge.force, rtol=1e-9, atol=1e-9)
    assert not rod.force_from("grains").any()
    # spheres go with the body
    g, c = world.grains, world.clumps
    at = rod.rotation @ c.offset.T
    np.testing.assert_allclose(g.x[c.rows, :3], rod.centre + at.T, atol=1e-12)
    arm = g.x[c.rows, :3] - rod.centre
    moving = rod.bodies.v[rod.row] + np.cross(rod.angular_velocity, arm)
    np.testing.assert_allclose(g.v[c.rows, :3], moving, atol=1e-12)


def test_motor_runs_up_with_its_effort_and_holds_its_speed():
    """A wheel gains effort / inertia a second until it turns as fast as it is asked to."""
    world = World(gravity=NO_GRAVITY, dt=0.01, solver=DEM(normal="linear", step_size=1e-4))
    wheel = world.add_body(Cylinder(0.2, 0.1), dynamic=True, material=stuff(), particle_radius=0.04)
    hinge = world.add_joint(kinds.Hinge(wheel, None, (0, 0, 0), (0, 0, 1)))
    effort = 2.0
    gain = effort / wheel.inertia[2, 2]
    target = 20 * world.dt * gain
    hinge.drive(target, effort)
    for k in range(1, 30):
        world.step()
        wanted = min(k * world.dt * gain, target)
        assert wheel.angular_velocity[2] == pytest.approx(wanted, rel=1e-5)
        # where it arrives, around the end of step 20, rounding decides in which it ends
        wanted = effort if k <= 20 else 0.0
        assert hinge.torque[2] == pytest.approx(wanted, abs=1e-3 if k in (20, 21) else 1e-6)


def test_hinged_plate_bears_the_weight_of_what_lies_on_it():
    """A shelf at its limit: force and torque of the hinge are those of shelf and load."""
    material = stuff(friction=0.6)
    world = World(dt=0.01, solver=DEM(normal="linear", tangential="history"), seed=1)
    shelf = world.add_body(Box((0.6, 0.4, 0.08)), name="shelf", position=(0.3, 0, 0), dynamic=True,
                           material=material, particle_radius=0.03)  # fmt: skip
    hinge = world.add_joint(
        kinds.Hinge(shelf, None, (0, 0, 0), (0, 1, 0), limits=(-1.0, 0.0), compliance=1e-9)
    )
    world.add_clusters(
        cube(0.03), [[0.15, 0, 0.12], [0.3, 0.05, 0.12], [0.45, -0.05, 0.12]], material=material
    )
    for _ in range(150):
        world.step()
    load = world.compound_grains
    assert np.abs(load.v).max() < 1e-3
    own, on_it = shelf.mass * 9.81, float(load.mass.sum()) * 9.81
    assert hinge.force == pytest.approx([0, 0, own + on_it], abs=2e-3 * on_it)
    assert shelf.force_from("grains")[2] == pytest.approx(-on_it, rel=2e-3)
    assert shelf.force_from("joints")[2] == pytest.approx(own + on_it, rel=1e-3)
    moment = own * shelf.centre[0] + 9.81 * float(load.mass @ load.x[:, 0])
    # turning about y brings x down: what keeps it from that is negative
    assert hinge.torque[1] == pytest.approx(-moment, rel=3e-3)
    assert hinge.position == pytest.approx(0.0, abs=1e-3)


def two_boxes(world):
    """Two boxes with a gap, of which one turns."""
    options = {"dynamic": True, "material": stuff()}
    if world.solver.name == "dem":
        options["particle_radius"] = 0.04
    one = world.add_body(
        Box((0.2, 0.2, 0.3)),
        name="one",
        position=(0, 0, 0),
        velocity=(0.1, 0.2, -0.1),
        angular_velocity=(1, -2, 3),
        **options,
    )
    two = world.add_body(Box((0.2, 0.3, 0.2)), name="two", position=(0.5, 0.02, 0.01), **options)
    return one, two


MIDDLE = (0.25, 0.0, 0.0)
JOINTS = {
    "ball": lambda a, b: [kinds.Ball(a, b, MIDDLE)],
    "weld": lambda a, b: [kinds.Weld(a, b, MIDDLE)],
    "hinge": lambda a, b: [kinds.Hinge(a, b, MIDDLE, (0, 0, 1), friction=0.1, limits=(-0.1, 0.2))],
    "slider": lambda a, b: [kinds.Slider(a, b, MIDDLE, (1, 0, 0), limits=(-0.02, 0.03))],
    "universal": lambda a, b: [kinds.Universal(a, b, MIDDLE, (0, 1, 0), (0, 0, 1))],
    "cylindrical": lambda a, b: [kinds.Cylindrical(a, b, MIDDLE, (1, 0, 0), viscosity=3.0)],
    "distance": lambda a, b: [kinds.Distance(a, b, (0.05, 0, 0), (0.45, 0, 0))],
    "spring": lambda a, b: [kinds.Spring(a, b, (0.05, 0, 0), (0.45, 0, 0), stiffness=1e3,
                                         distance=0.3, viscosity=5.0)],
}  # fmt: skip


@pytest.mark.parametrize("kind", JOINTS)
def test_every_joint_moves_bodies_as_the_core_alone_does(kind):
    """Free bodies in discrete elements and alone in p2 go the same way; momenta are kept."""
    ends = []
    for solver in (P2(substeps=100), DEM(normal="linear", step_size=1e-4)):
        world = World(gravity=NO_GRAVITY, dt=0.01, solver=solver, precision="float64")
        one, two = two_boxes(world)
        for joint in JOINTS[kind](one, two):
            world.add_joint(joint)
        p, around = measure.momentum(world), measure.angular_momentum(world)
        for _ in range(20):
            world.step()
        assert world.report.substeps == 100
        scale = one.mass
        np.testing.assert_allclose(measure.momentum(world), p, atol=1e-12 * scale)
        np.testing.assert_allclose(measure.angular_momentum(world), around, atol=1e-11 * scale)
        assert float(np.abs(two.velocity).max()) > 0.01
        assert world.report.fallbacks == 0
        ends.append(np.concatenate([one.position, two.position, one.rotation.ravel(),
                                    two.angular_velocity]))  # fmt: skip
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-7)


def test_gear_and_differential_keep_their_ratios():
    """Three wheels: a shaft drives two that share its turn; a gear turns one against another."""
    world = World(gravity=NO_GRAVITY, dt=0.01, solver=DEM(normal="linear", step_size=1e-4))
    wheels = [
        world.add_body(Cylinder(0.1, 0.1), name=f"wheel{k}", position=(k, 0, 0), dynamic=True,
                       material=stuff(), particle_radius=0.03)
        for k in range(4)
    ]  # fmt: skip
    hinges = [
        world.add_joint(kinds.Hinge(wheel, None, (k, 0, 0), (0, 0, 1)))
        for k, wheel in enumerate(wheels)
    ]
    world.add_joint(kinds.Differential(hinges[0], hinges[1], hinges[2]))
    world.add_joint(kinds.Gear(hinges[2], hinges[3], 2.0))
    hinges[0].drive(3.0)
    wheels[1].apply_torque((0, 0, 0.5))
    for _ in range(10):
        world.step()
    turn = [wheel.angular_velocity[2] for wheel in wheels]
    assert turn[0] == pytest.approx(3.0, rel=1e-6)
    assert 0.5 * (turn[1] + turn[2]) == pytest.approx(turn[0], rel=1e-6)
    assert turn[1] != pytest.approx(turn[2], rel=0.1)
    assert turn[2] == pytest.approx(-2.0 * turn[3], rel=1e-6)


def test_joined_bodies_pass_each_other_and_their_frame():
    """Spheres of bodies that a joint keeps apart feel nothing of each other, until it goes."""
    world = World(gravity=NO_GRAVITY, dt=0.01, solver=DEM(normal="linear", start_overlap=2.0))
    material = stuff()
    frame = world.add_body(Box((0.3, 0.3, 0.3)), name="frame", material=material)
    made = {"dynamic": True, "material": material, "particle_radius": 0.04}
    one = world.add_body(Box((0.2, 0.2, 0.2)), name="one", position=(0.2, 0, 0), **made)
    two = world.add_body(Box((0.2, 0.2, 0.2)), name="two", position=(0.35, 0, 0), **made)
    world.add_joint(kinds.Hinge(one, frame, (0.1, 0, 0), (1, 0, 0)))
    joint = world.add_joint(kinds.Slider(two, one, (0.3, 0, 0), (1, 0, 0)))
    for _ in range(3):
        world.step()
    assert world.report.contacts == world.report.wall_contacts == 0
    assert not two.velocity.any()
    world.remove_joint(joint)
    world.step()
    assert world.report.contacts > 0 and world.report.wall_contacts == 0
    assert two.velocity[0] > 0.01


def test_grains_push_a_mechanism_and_momentum_is_kept():
    """A grain shot at the first of two free, hinged boxes: both change by the same momentum."""
    world = World(gravity=NO_GRAVITY, dt=2e-3, solver=DEM(normal="linear"))
    made = {"dynamic": True, "material": stuff(), "particle_radius": 0.04}
    one = world.add_body(Box((0.2, 0.2, 0.2)), name="one", **made)
    two = world.add_body(Box((0.2, 0.2, 0.2)), name="two", position=(0, 0, 0.3), **made)
    world.add_joint(kinds.Ball(one, two, (0, 0, 0.15)))
    world.add_grains([[0.3, 0.02, 0.03]], 0.05, (-2.0, 0, 0), material=stuff())
    p, around = measure.momentum(world), measure.angular_momentum(world)
    scale = abs(p[0])
    felt = np.zeros(3)
    for _ in range(150):
        world.step()
        felt += world.dt * one.force_from("grains")
    assert two.velocity[0] != pytest.approx(one.velocity[0], rel=0.01)
    np.testing.assert_allclose(measure.momentum(world), p, atol=1e-11 * scale)
    np.testing.assert_allclose(measure.angular_momentum(world), around, atol=1e-3 * scale)
    np.testing.assert_allclose(felt, one.momentum + two.momentum, atol=1e-11 * scale)
    assert felt[0] < -0.1 * scale


@pytest.mark.parametrize("integrator", ["verlet", "rkf45"])
def test_applied_forces_move_free_bodies(integrator):
    """For one step each: v = F t / m and L = T t; `force` does not count them."""
    world = World(gravity=NO_GRAVITY, dt=0.01, solver=DEM(normal="linear", integrator=integrator))
    box = world.add_body(Box((0.2, 0.3, 0.4)), dynamic=True, material=stuff(), particle_radius=0.05)
    for _ in range(5):
        box.apply_force((3.0, 0.0, 1.0), point=box.centre + np.array([0.0, 0.1, 0.0]))
        box.apply_torque((0.0, 0.2, 0.0))
        world.step()
    np.testing.assert_allclose(box.momentum, 0.05 * np.array([3.0, 0.0, 1.0]), rtol=1e-9)
    wanted = 0.05 * np.array([0.1, 0.2, -0.3])
    np.testing.assert_allclose(box.angular_momentum, wanted, rtol=1e-9)
    np.testing.assert_allclose(box.force, 0.0, atol=1e-8)
    world.step()
    np.testing.assert_allclose(box.momentum, 0.05 * np.array([3.0, 0.0, 1.0]), rtol=1e-9)


def test_applied_force_on_a_mechanism():
    """A slider gives way to the force along its axis only."""
    world = World(gravity=NO_GRAVITY, dt=0.01, solver=DEM(normal="linear"))
    box = world.add_body(Box((0.2, 0.2, 0.2)), dynamic=True, material=stuff(), particle_radius=0.04)
    slider = world.add_joint(kinds.Slider(box, None, (0, 0, 0), (1, 0, 0)))
    for _ in range(5):
        box.apply_force((3.0, 5.0, 0.0))
        world.step()
    np.testing.assert_allclose(box.momentum, [0.15, 0, 0], rtol=1e-6, atol=1e-6)
    assert slider.force == pytest.approx([0, -5, 0], abs=1e-4)


def test_force_on_a_free_body_is_the_mean_over_the_step():
    """A box bounces within one step: what it felt, and what the floor felt, is the whole bounce."""
    world = World(gravity=NO_GRAVITY, dt=0.1, solver=DEM(normal="linear"))
    material = stuff(restitution=0.8)
    floor = world.add_body(Plane(), material=material)
    box = world.add_body(
        Box((0.2, 0.2, 0.2)),
        position=(0, 0, 0.102),
        dynamic=True,
        velocity=(0, 0, -0.5),
        material=material,
        particle_radius=0.04,
    )
    before = box.momentum
    world.step()
    assert box.velocity[2] > 0.1
    np.testing.assert_allclose(box.force, (box.momentum - before) / world.dt, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(floor.force, -box.force, rtol=1e-6, atol=1e-6 * box.force[2])


def test_rkf45_refuses_joints():
    """Its steps are of any size, the core's are not."""
    world = World(solver=DEM(integrator="rkf45"))
    box = world.add_body(Box((0.2, 0.2, 0.2)), dynamic=True, particle_radius=0.04)
    with pytest.raises(InputError, match=r"hinge of 'box0'.*rkf45.*verlet"):
        world.add_joint(kinds.Hinge(box, None, (0, 0, 0), (0, 0, 1)))


def test_a_body_can_be_put_elsewhere_and_given_a_velocity():
    """Its spheres go with it, free or joined."""
    for joined in (False, True):
        world = World(gravity=NO_GRAVITY, dt=0.01, solver=DEM(normal="linear"))
        box = world.add_body(Box((0.2, 0.2, 0.2)), dynamic=True, material=stuff(),
                             particle_radius=0.04)  # fmt: skip
        if joined:
            world.add_joint(kinds.Slider(box, None, (0, 0, 0), (0, 0, 1)))
        world.step()
        before = world.grains.position[:, 2].mean()
        box.move_to((0.0, 0.0, 1.0))
        box.set_velocity((0.0, 0.0, 2.0))
        world.step()
        assert box.position[2] == pytest.approx(1.02)
        assert world.grains.position[:, 2].mean() - before == pytest.approx(1.02)
        assert world.grains.velocity[:, 2] == pytest.approx(2.0)


def test_bodies_come_and_go_with_their_spheres():
    """What is removed takes its spheres along; memories of contacts with other walls stay."""
    material = stuff()
    world = World(dt=0.01, solver=DEM(normal="linear"))
    spare = world.add_body(
        Box((0.1, 0.1, 0.1)), name="spare", position=(5, 0, 0), material=material
    )
    floor = world.add_body(Plane(), name="floor", rotation=about_y(0.2), material=material)
    made = {"dynamic": True, "material": material, "particle_radius": 0.04}
    up = about_y(0.2)
    stay = world.add_body(Box((0.3, 0.3, 0.1)), name="stay", position=up @ [0, 0, 0.05],
                          rotation=up, **made)  # fmt: skip
    alone = world.grains.n
    away = world.add_body(Box((0.2, 0.2, 0.2)), name="away", position=(0, 3, 30), **made)
    for _ in range(100):
        world.step()
    assert np.abs(stay.velocity).max() < 1e-3  # it holds by friction, so by what contacts remember
    pull = floor.force
    world.remove_body(away)
    world.remove_body(spare)
    assert world.grains.n == alone and world.clumps.n == 1
    assert world.mass_removed == pytest.approx(away.mass)
    for _ in range(3):
        world.step()
    assert np.abs(stay.velocity).max() < 1e-3
    assert floor.force == pytest.approx(pull, rel=1e-3, abs=1e-3 * abs(pull[2]))
    new = world.add_body(Box((0.2, 0.2, 0.2)), name="away", position=(0, 3, 3), **made)
    hinge = world.add_joint(kinds.Hinge(new, None, (0, 3, 3), (1, 0, 0)))
    with pytest.raises(InputError, match="remove_joint first"):
        world.remove_body(new)
    world.step()
    assert hinge.force[2] == pytest.approx(new.mass * 9.81, rel=1e-6)
    world.remove_joint(hinge)
    world.step()
    assert new.velocity[2] == pytest.approx(-9.81 * world.dt, rel=1e-6)


# ---- the same bits -------------------------------------------------------------------------


def busy_world():
    """A driven paddle on an arm stirs 1,100 grains; a free box falls on them."""
    world = World(dt=5e-3, solver=DEM(normal="linear"), seed=2)
    material = stuff(stiffness=2e4)
    world.add_body(Box((0.7, 0.7, 2.0), inside=True, open_top=True), position=(0.25, 0.25, 1.0),
                   name="box", material=material)  # fmt: skip
    grid = np.stack(np.meshgrid(*[np.arange(10), np.arange(10), np.arange(11)], indexing="ij"), -1)
    where = 0.05 * grid.reshape(-1, 3) + 0.025
    world.add_grains(where + world.rng.uniform(-2e-3, 2e-3, where.shape), 0.02, material=material)
    made = {"dynamic": True, "material": material, "particle_radius": 0.02}
    arm = world.add_body(Box((0.06, 0.06, 0.3)), name="arm", position=(0.25, 0.25, 0.95), **made)
    paddle = world.add_body(
        Box((0.4, 0.06, 0.1)), name="paddle", position=(0.25, 0.25, 0.7), **made
    )
    world.add_body(Box((0.1, 0.1, 0.1)), name="block", position=(0.05, 0.05, 0.75), **made)
    hinge = world.add_joint(kinds.Hinge(arm, None, (0.25, 0.25, 1.1), (0, 0, 1)))
    world.add_joint(kinds.Hinge(paddle, arm, (0.25, 0.25, 0.78), (0, 1, 0), friction=0.2))
    hinge.drive(8.0, 20.0)
    return world


def prints(world, steps):
    """Step and return one print a step."""
    out = []
    for _ in range(steps):
        world.step()
        g, c, b = world.grains, world.clumps, world.bodies
        parts = (g.tags, g.x[: g.n], g.v[: g.n], c.x, c.q, c.L_own, b.x, b.q, b.v, b.L, b.load,
                 world.joints.load, world.joints.multiplier)  # fmt: skip
        out.append(b"".join(part.tobytes() for part in parts))
    return out


def test_threads_do_not_matter():
    """One thread and two give the same bits."""
    assert_same_on_threads(lambda: prints(busy_world(), 20))


def test_restart_goes_on_bit_for_bit(tmp_path):
    """A checkpoint in the middle changes nothing, drives included."""
    world = busy_world()
    prints(world, 20)
    world.joints[0].drive(-5.0, 20.0)
    assert_goes_on(world, busy_world(), lambda one: prints(one, 20), tmp_path)
