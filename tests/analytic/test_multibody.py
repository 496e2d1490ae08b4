"""Mechanisms of rigid bodies against closed forms: joints, motors, loops, stacks, momentum."""

import math

import numpy as np
import pytest

from berm import P2, Box, Plane, Sphere, World
from berm.core.joints import (
    Ball,
    Cylindrical,
    Differential,
    Distance,
    Gear,
    Hinge,
    Slider,
    Spring,
    Universal,
    Weld,
)
from berm.io import checkpoint
from berm.solvers.multibody.multibody import COMPLIANCE

G = 9.81


def alone(dt=1 / 60, gravity=(0, 0, -G), substeps=1, rows="auto"):
    """A world whose bodies take one step of dt."""
    world = World(dt=dt, gravity=gravity, solver=P2(substeps=substeps))
    world.solver.multibody = type(world.solver.multibody)(rows)
    return world


def run(world, seconds):
    for _ in range(round(seconds / world.dt)):
        world.step()


# ---- pendulum -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("per_second", "far"), [(60, 6.7e-3), (120, 1.7e-3), (500, 9.8e-5)])
def test_length_of_a_pendulum_is_kept_to_second_order(per_second, far):
    """MACHINES A1: unit pendulum released horizontally, 20 s, compliance 1e-8, tau two steps."""
    world = alone(1 / per_second)
    bob = world.add_body(Sphere(0.01), name="bob", dynamic=True, mass=1.0, position=(1, 0, 0))
    world.add_joint(Ball(bob, None, (0, 0, 0), compliance=1e-8))
    worst = 0.0
    for _ in range(20 * per_second):
        world.step()
        worst = max(worst, abs(float(np.linalg.norm(bob.centre)) - 1.0))
    assert worst == pytest.approx(far, rel=0.05)


def test_energy_of_an_undamped_pendulum_errs_to_second_order():
    """Halving the step divides the largest error of the energy by four.

    Velocities stand between positions, so that the mean of two goes with the position between.
    """
    errors = []
    for per_second in (200, 400):
        world = alone(1 / per_second)
        rod = world.add_body(Box((0.1, 0.1, 1.0)), name="rod", dynamic=True, mass=1.0)
        hinge = world.add_joint(Hinge(rod, None, (0, 0, 0.5), axis=(0, 1, 0)))
        hinge.push(0.0)
        inertia = float(rod.inertia[1, 1]) + 0.25
        rod.set_velocity((-1.0, 0, 0), (0, 2.0, 0))
        world.step()
        energy = []
        for _ in range(2 * per_second):
            before, height = float(rod.angular_velocity[1]), float(rod.centre[2])
            world.step()
            middle = 0.5 * (before + float(rod.angular_velocity[1]))
            energy.append(0.5 * inertia * middle**2 + G * height)
        errors.append(np.ptp(energy))
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.3)
    assert errors[1] < 2e-3 * 0.5 * inertia * 4.0


@pytest.mark.parametrize("rows", ["direct", "hybrid", "split"])
def test_chain_of_eight_links_bears_a_thousand_times_its_mass(rows):
    """60 Hz, direct: joint error below 1e-4 m, forces within 1 % from the third step on."""
    world = alone(1 / 60, rows=rows)
    before, joints = None, []
    for k in range(8):
        link = world.add_body(
            Box((0.05, 0.05, 0.2)), name=f"link {k}", dynamic=True, mass=1.0,
            position=(0, 0, -0.1 - 0.2 * k),
        )  # fmt: skip
        joints.append(world.add_joint(Ball(link, before, (0, 0, -0.2 * k))))
        before = link
    load = world.add_body(
        Sphere(0.2), name="load", dynamic=True, mass=8000.0, position=(0, 0, -1.8)
    )
    joints.append(world.add_joint(Ball(load, before, (0, 0, -1.6))))
    for step in range(120):
        world.step()
        assert max(joint.error for joint in joints) < 1e-4
        if step >= 2:
            for k, joint in enumerate(joints):
                below = (8000.0 + 8 - k) * G
                assert joint.force[2] == pytest.approx(below, rel=0.01)


@pytest.mark.parametrize("ratio", [100, 1000, 10_000])
@pytest.mark.parametrize("rows", ["direct", "hybrid"])
def test_heavy_on_light_stands_as_deep_as_the_compliance_says(ratio, rows):
    """A cube r times as heavy on nine of 1 kg: penetration = compliance x force a contact."""
    world = alone(1 / 60, rows=rows)
    world.add_body(Plane(), name="floor")
    cubes = [
        world.add_body(
            Box((0.1, 0.1, 0.1)),
            name=f"cube {k}",
            dynamic=True,
            mass=float(ratio if k == 9 else 1),
            position=(0, 0, 0.05 + 0.1 * k),
        )
        for k in range(10)
    ]
    run(world, 2.0)
    weight = (ratio + 9) * G
    assert max(np.linalg.norm(cube.velocity) for cube in cubes) < 1e-4
    deep = 0.05 - cubes[0].position[2]
    assert deep == pytest.approx(COMPLIANCE * weight / 4, rel=0.05, abs=1e-9)
    assert world.body("floor").force[2] == pytest.approx(-weight, rel=1e-3)


# ---- momentum -----------------------------------------------------------------------------------


def free_mechanism(world):
    rng = np.random.default_rng(1)
    before = None
    for k in range(5):
        size = 0.1 + 0.2 * rng.random(3)
        link = world.add_body(
            Box(tuple(size)), name=f"part {k}", dynamic=True, density=1000.0,
            position=(0.4 * k, 0, 0), velocity=rng.normal(size=3),
            angular_velocity=rng.normal(size=3),
        )  # fmt: skip
        if before is not None:
            kind = (Ball, Hinge, Universal, Slider)[k % 4]
            world.add_joint(kind(link, before, (0.4 * k - 0.2, 0, 0)))
        before = link


def test_free_mechanisms_keep_momentum_and_angular_momentum():
    world = alone(1 / 240, gravity=(0, 0, 0))
    free_mechanism(world)
    world.step()
    p, spin = world.bodies.momentum(), world.bodies.angular_momentum()
    scale = float(np.abs(world.bodies.mass[1:] @ np.abs(world.bodies.v[1:])).max())
    run(world, 2.0)
    assert np.abs(world.bodies.momentum() - p).max() < 1e-12 * scale
    assert np.abs(world.bodies.angular_momentum() - spin).max() < 1e-11 * scale


def test_torque_free_top_keeps_its_spin():
    """CASES A27."""
    world = alone(1 / 600, gravity=(0, 0, 0))
    top = world.add_body(
        Box((0.1, 0.2, 0.4)), name="top", dynamic=True, density=1000.0,
        angular_velocity=(0.1, 8.0, 0.1),
    )  # fmt: skip
    spin, energy = top.angular_momentum, top.kinetic_energy
    run(world, 5.0)
    assert np.linalg.norm(top.angular_momentum - spin) < 1e-9 * np.linalg.norm(spin)
    assert top.kinetic_energy == pytest.approx(energy, rel=1e-4)


# ---- loops --------------------------------------------------------------------------------------


def link(world, name, a, b, mass=1.0):
    """A rod from a to b (m) in the plane y = 0."""
    a, b = np.array(a, float), np.array(b, float)
    x = (b - a) / np.linalg.norm(b - a)
    frame = np.column_stack([x, (0, 1, 0), np.cross(x, (0, 1, 0))])
    return world.add_body(
        Box((float(np.linalg.norm(b - a)), 0.02, 0.02)), name=name, dynamic=True, mass=mass,
        position=0.5 * (a + b), rotation=frame,
    )  # fmt: skip


def four_bar(crank, coupler, rocker, ground, angle):
    """Angle (rad) of the rocker of a four-bar linkage, by the distance of the moving pins."""
    end = crank * np.array([math.cos(angle), math.sin(angle)])
    d = np.array([ground, 0.0]) - end
    far = float(np.linalg.norm(d))
    inside = math.acos((rocker**2 + far**2 - coupler**2) / (2 * rocker * far))
    return math.atan2(-d[1], -d[0]) - inside


def test_four_bar_linkage_follows_its_kinematics():
    """All four pins are hinges in space, so that three rows are redundant."""
    world = alone(1 / 600, gravity=(0, 0, 0))
    crank, coupler, rocker, ground = 0.2, 0.7, 0.5, 0.6
    start = math.radians(60)
    a = crank * np.array([math.cos(start), 0, math.sin(start)])
    angle = four_bar(crank, coupler, rocker, ground, start)
    b = np.array([ground, 0, 0]) + rocker * np.array([math.cos(angle), 0, math.sin(angle)])
    assert np.linalg.norm(b - a) == pytest.approx(coupler)
    one = link(world, "crank", (0, 0, 0), a)
    two = link(world, "coupler", a, b)
    three = link(world, "rocker", (ground, 0, 0), b)
    axis = (0, -1, 0)  # positive from x to z
    drive = world.add_joint(Hinge(one, None, (0, 0, 0), axis=axis, zero=start))
    world.add_joint(Hinge(two, one, a, axis=axis))
    world.add_joint(Hinge(three, two, b, axis=axis))
    out = world.add_joint(Hinge(three, None, (ground, 0, 0), axis=axis, zero=angle))
    drive.drive(0.5)
    for _ in range(1200):
        world.step()
    error = []
    for _ in range(600):
        world.step()
        error.append(out.position - four_bar(crank, coupler, rocker, ground, drive.position))
    assert np.abs(error).max() < 1e-6


def test_slider_crank_follows_its_kinematics():
    world = alone(1 / 600, gravity=(0, 0, 0))
    crank, rod = 0.2, 0.6
    one = link(world, "crank", (0, 0, 0), (crank, 0, 0))
    two = link(world, "rod", (crank, 0, 0), (crank + rod, 0, 0))
    piston = world.add_body(
        Box((0.1, 0.1, 0.1)), name="piston", dynamic=True, mass=2.0, position=(crank + rod, 0, 0)
    )
    axis = (0, -1, 0)
    drive = world.add_joint(Hinge(one, None, (0, 0, 0), axis=axis))
    world.add_joint(Hinge(two, one, (crank, 0, 0), axis=axis))
    world.add_joint(Hinge(piston, two, (crank + rod, 0, 0), axis=axis))
    rail = world.add_joint(Slider(piston, None, axis=(1, 0, 0), zero=crank + rod))
    drive.drive(0.5)
    run(world, 1.0)
    for _ in range(600):
        world.step()
        turn = drive.position
        x = crank * math.cos(turn) + math.sqrt(rod**2 - (crank * math.sin(turn)) ** 2)
        assert rail.position == pytest.approx(x, abs=1e-6)


def test_spatial_loop_with_redundant_rows_turns_as_one():
    """Two shafts in line, joined by two hinges and a weld over a bridge: over-determined."""
    world = alone(1 / 600, gravity=(0, 0, 0))
    left = world.add_body(
        Box((0.2, 0.1, 0.1)), name="left", dynamic=True, mass=1.0, position=(-0.3, 0, 0)
    )
    right = world.add_body(
        Box((0.2, 0.1, 0.1)), name="right", dynamic=True, mass=1.0, position=(0.3, 0, 0)
    )
    bridge = world.add_body(
        Box((0.8, 0.05, 0.05)), name="bridge", dynamic=True, mass=1.0, position=(0, 0, 0.2)
    )
    one = world.add_joint(Hinge(left, None, (-0.3, 0, 0), axis=(1, 0, 0)))
    two = world.add_joint(Hinge(right, None, (0.3, 0, 0), axis=(1, 0, 0)))
    world.add_joint(Weld(bridge, left, (-0.3, 0, 0.2)))
    world.add_joint(Weld(bridge, right, (0.3, 0, 0.2)))
    one.drive(1.0)
    run(world, 2.0)
    assert one.position == pytest.approx(2.0, abs=0.01)
    assert two.position == pytest.approx(one.position, abs=1e-6)


# ---- gears, motors, limits ----------------------------------------------------------------------


def wheel(world, name, x, mass=1.0):
    body = world.add_body(Sphere(0.1), name=name, dynamic=True, mass=mass, position=(x, 0, 0))
    return world.add_joint(Hinge(body, None, (x, 0, 0), axis=(0, 0, 1), name=name))


def test_gear_turns_by_its_ratio_and_multiplies_torque():
    world = alone(1 / 240, gravity=(0, 0, 0))
    one, two = wheel(world, "one", 0.0), wheel(world, "two", 1.0)
    gear = world.add_joint(Gear(one, two, ratio=3.0))
    one.push(0.02)
    run(world, 1.0)
    inertia = 0.4 * 1.0 * 0.1**2
    speed = 0.02 / (inertia * (1 + 1 / 9)) * world.time
    assert one.body_a.angular_velocity[2] == pytest.approx(speed, rel=1e-3)
    assert one.position + 3.0 * two.position == pytest.approx(0.0, abs=1e-6)
    assert gear.error < 1e-6


def test_rack_and_pinion():
    world = alone(1 / 240, gravity=(0, 0, 0))
    pinion = wheel(world, "pinion", 0.0)
    rack = world.add_body(
        Box((1, 0.1, 0.1)), name="rack", dynamic=True, mass=1.0, position=(0, 0.3, 0)
    )
    rail = world.add_joint(Slider(rack, None, axis=(1, 0, 0)))
    world.add_joint(Gear(rail, pinion, ratio=0.1))
    pinion.drive(2.0)
    run(world, 1.0)
    assert rail.position == pytest.approx(-0.1 * pinion.position, abs=1e-6)
    assert pinion.position == pytest.approx(2.0, rel=0.02)


def test_differential_shares_speed_by_load():
    """The shaft turns with the mean of both; the free side takes all that the held one does not."""
    world = alone(1 / 240, gravity=(0, 0, 0))
    shaft, left, right = (wheel(world, name, x) for x, name in enumerate(("in", "left", "right")))
    world.add_joint(Differential(shaft, left, right))
    shaft.drive(1.0)
    run(world, 1.0)
    assert left.position == pytest.approx(right.position, abs=1e-7)
    assert shaft.position == pytest.approx(0.5 * (left.position + right.position), abs=1e-5)
    left.drive(0.0)
    a, b = left.position, right.position
    run(world, 1.0)
    assert left.position == pytest.approx(a, abs=1e-2)
    assert right.position - b == pytest.approx(2.0, rel=0.02)


def test_motor_stalls_at_its_effort():
    """A lift motor of 90 % of the load's weight lets it down at a tenth of gravity."""
    world = alone(1 / 240)
    load = world.add_body(Sphere(0.1), name="load", dynamic=True, mass=10.0)
    lift = world.add_joint(Slider(load, None, axis=(0, 0, 1)))
    lift.drive(1.0, effort=0.9 * 10.0 * G)
    run(world, 1.0)
    assert load.velocity[2] == pytest.approx(-0.1 * G, rel=1e-3)
    lift.drive(1.0, effort=1.1 * 10.0 * G)
    run(world, 3.0)
    assert load.velocity[2] == pytest.approx(1.0, rel=1e-6)


def test_motor_against_its_limit_presses_with_its_effort():
    world = alone(1 / 240, gravity=(0, 0, 0))
    arm = world.add_body(Box((1, 0.1, 0.1)), name="arm", dynamic=True, mass=1.0)
    hinge = world.add_joint(Hinge(arm, None, (-0.5, 0, 0), axis=(0, 0, 1), zero=1.0,
                                  limits=(0.5, 1.5)))  # fmt: skip
    hinge.drive(2.0, effort=5.0)
    run(world, 1.0)
    assert hinge.position == pytest.approx(1.5, abs=1e-6)
    assert abs(arm.angular_velocity[2]) < 1e-6
    hinge.drive(-2.0, effort=5.0)
    run(world, 1.0)
    assert hinge.position == pytest.approx(0.5, abs=1e-6)


def test_position_drive_comes_to_rest_at_its_target():
    world = alone(1 / 240)
    arm = world.add_body(Box((1, 0.1, 0.1)), name="arm", dynamic=True, mass=1.0)
    hinge = world.add_joint(Hinge(arm, None, (-0.5, 0, 0), axis=(0, -1, 0)))
    hinge.drive_to(0.7, speed=1.0, effort=20.0)
    fastest = 0.0
    for _ in range(480):
        world.step()
        fastest = max(fastest, abs(float(arm.angular_velocity[1])))
    assert fastest < 1.01
    assert hinge.position == pytest.approx(0.7, abs=1e-3)


def test_friction_of_a_hinge_brakes_evenly_and_holds():
    world = alone(1 / 240, gravity=(0, 0, 0))
    disc = wheel(world, "disc", 0.0)
    inertia = 0.4 * 0.1**2
    disc.body_a.set_velocity((0, 0, 0), (0, 0, 10.0))
    disc._set("friction", inertia * 4.0)
    run(world, 1.0)
    assert disc.body_a.angular_velocity[2] == pytest.approx(6.0, rel=1e-3)
    run(world, 2.0)
    assert abs(disc.body_a.angular_velocity[2]) < 1e-9


def test_spring_swings_with_its_period_and_hangs_at_its_length():
    world = alone(1 / 600)
    bob = world.add_body(Sphere(0.1), name="bob", dynamic=True, mass=2.0, position=(0, 0, -1))
    spring = world.add_joint(Spring(bob, None, (0, 0, -1), (0, 0, 0), stiffness=200.0))
    heights = []
    for _ in range(1200):
        world.step()
        heights.append(float(bob.position[2]))
    sag, omega = 2.0 * G / 200.0, math.sqrt(200.0 / 2.0)
    t = np.arange(1, 1201) / 600
    assert np.abs(np.array(heights) - (-1 - sag * (1 - np.cos(omega * t)))).max() < 0.02 * sag
    assert spring.position == pytest.approx(-heights[-1])


def test_rope_is_slack_until_it_is_tight():
    world = alone(1 / 240)
    bob = world.add_body(Sphere(0.1), name="bob", dynamic=True, mass=1.0, position=(0, 0, -0.2))
    rope = world.add_joint(Distance(bob, None, (0, 0, -0.2), (0, 0, 0), distance=1.0, rope=True))
    run(world, 0.3)
    assert bob.position[2] == pytest.approx(-0.2 - 0.5 * G * 0.3 * (0.3 + 1 / 240), rel=1e-6)
    run(world, 3.0)
    assert bob.position[2] == pytest.approx(-1.0, abs=1e-4)
    assert rope.force[2] == pytest.approx(G, rel=1e-3)


def test_universal_joint_holds_two_axes_square():
    world = alone(1 / 600, gravity=(0, 0, 0))
    arm = world.add_body(
        Box((1, 0.2, 0.1)), name="arm", dynamic=True, mass=1.0, position=(0.5, 0, 0),
        angular_velocity=(0, 1.0, 2.0), velocity=(0, 1.0, -0.5),
    )  # fmt: skip
    world.add_joint(Universal(arm, None, (0, 0, 0), axis=(0, 0, 1), axis_b=(0, 1, 0)))
    for _ in range(600):
        world.step()
        assert abs(float(arm.rotation[:, 2] @ (0, 1, 0))) < 1e-4
        assert np.linalg.norm(arm.rotation @ (-0.5, 0, 0) + arm.position) < 1e-4


def test_cylindrical_joint_lets_slide_and_turn():
    world = alone(1 / 240, gravity=(1.0, 0, -G))
    bead = world.add_body(
        Sphere(0.1), name="bead", dynamic=True, mass=1.0, angular_velocity=(5.0, 0, 0)
    )
    way = world.add_joint(Cylindrical(bead, None, axis=(1, 0, 0)))
    run(world, 1.0)
    assert way.position == pytest.approx(0.5 * (1 + 1 / 240), rel=1e-6)
    assert bead.angular_velocity == pytest.approx([5.0, 0, 0], abs=1e-6)
    assert way.force[2] == pytest.approx(G, rel=1e-3)


def test_frames_in_both_bodies_bring_them_together():
    """Anchors that start 1 cm apart close without a jerk."""
    world = alone(1 / 240, gravity=(0, 0, 0))
    ball = world.add_body(Sphere(0.1), name="ball", dynamic=True, mass=1.0)
    joint = world.add_joint(Ball(ball, None, (0, 0, 0), anchor_b=(0.01, 0, 0), damping=0.1))
    fastest = 0.0
    for _ in range(240):
        world.step()
        fastest = max(fastest, float(np.linalg.norm(ball.velocity)))
    assert joint.error < 1e-5
    assert fastest < 0.2


def test_applied_forces_act_for_one_step():
    world = alone(1 / 100, gravity=(0, 0, 0))
    ball = world.add_body(Sphere(0.1), name="ball", dynamic=True, mass=2.0)
    ball.apply_force((4.0, 0, 0))
    ball.apply_force((0, 0, 1.0), point=(0.1, 0, 0))
    ball.apply_torque((0, 0.1, 0))
    run(world, 0.1)
    assert ball.momentum == pytest.approx([0.04, 0, 0.01])
    assert np.abs(ball.angular_momentum).max() < 1e-15


def test_bodies_and_joints_come_and_go_without_disturbing_others():
    """A stack goes on bit for bit while a far body and its joint come and go."""

    def stack(visitor):
        world = alone(1 / 60, substeps=10)
        world.add_body(Plane(), name="floor")
        for k in range(3):
            world.add_body(
                Box((0.3, 0.3, 0.2)), name=f"box {k}", dynamic=True, density=500.0,
                position=(0.01 * k, 0, 0.1 + 0.2 * k),
            )  # fmt: skip
        for step in range(40):
            if visitor and step == 10:
                far = world.add_body(
                    Sphere(0.1), name="far", dynamic=True, mass=1.0, position=(50, 0, 5)
                )
            if visitor and step == 15:
                joint = world.add_joint(Ball(far, None, (50, 0, 6)))
            if visitor and step == 25:
                world.remove_joint(joint)
            if visitor and step == 30:
                world.remove_body(far)
            world.step()
        return np.concatenate([world.body(f"box {k}").position for k in range(3)]).tobytes()

    assert stack(True) == stack(False)


@pytest.mark.parametrize("mode", ["speed", "position", "force"])
def test_a_checkpoint_keeps_motors(mode, tmp_path):
    """A drive that was set while running goes on after a restart, in a fresh world too."""

    def turning():
        world = alone(1 / 240, gravity=(0, 0, 0))
        return world, wheel(world, "wheel", 0.0)

    world, axle = turning()
    axle.drive(1.0)
    run(world, 0.1)
    {"speed": lambda: axle.drive(3.0), "position": lambda: axle.drive_to(0.5, speed=2.0),
     "force": lambda: axle.push(0.01)}[mode]()  # fmt: skip
    checkpoint.save(world, tmp_path / "state.npz")
    run(world, 0.5)
    other, copied = turning()
    other.restore(checkpoint.load(tmp_path / "state.npz"))
    run(other, 0.5)
    assert copied.position == axle.position
    assert copied.motor == axle.motor
    if mode == "speed":
        assert copied.body_a.angular_velocity[2] == pytest.approx(3.0)
