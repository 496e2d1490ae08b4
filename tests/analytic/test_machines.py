"""Machines against statics, kinematics and what their classes do."""

from __future__ import annotations

import math

import numpy as np
import pytest

import berm
from berm.machines import add, design_of
from berm.machines.assembly import Assembly
from berm.machines.hydraulics import PORT
from berm.machines.loader import BREAKOUT, EDGE, LIFT_CYLINDERS, PIN, TILT_CYLINDER, TURN

G = 9.81


def yard(
    kind: str = "loader", slope: float = 0.0, **more
) -> tuple[berm.World, berm.machines.Machine]:
    """A machine on a plane; slope (rad) rises ahead of it: gravity is turned instead."""
    pull = (-G * math.sin(slope), 0.0, -G * math.cos(slope))
    world = berm.World(gravity=pull, dt=1 / 60)
    world.add_body(berm.Plane(), name="ground", material="rough wall")
    return world, add(world, kind, **more)


def steps(world, seconds: float) -> None:
    for _ in range(round(seconds / world.dt)):
        world.step()


def worst(machine) -> float:
    """Largest error (m) of the joints that hold something."""
    free = ("lift", "tilt", "dump")
    return max(joint.error for name, joint in machine.joints.items() if name not in free)


@pytest.mark.parametrize("kind", ["loader", "truck", "crawler"])
def test_a_machine_stands_still_and_whole(kind):
    world, machine = yard(kind)
    steps(world, 1.0)
    before = np.array([body.position for body in machine.bodies.values()])
    steps(world, 1.0)
    after = np.array([body.position for body in machine.bodies.values()])
    assert np.abs(after - before).max() < 1e-4
    assert worst(machine) < 1e-4
    carried = -sum(
        float(body.force_from("bodies")[2]) for body in machine.bodies.values()
    )  # what the ground does to it, upwards
    assert -carried == pytest.approx(machine.mass * G, rel=1e-3)


def test_the_loader_drives_shifts_brakes_and_backs():
    world, machine = yard(pose="carry")
    machine.command(throttle=1, gear=1)
    steps(world, 3.0)
    found = machine.sensors()
    assert 3.0 < found["speed"] < 8.0 and found["gear"] >= 2
    assert abs(found["heading"]) < 0.5 and worst(machine) < 1e-4
    wheels = [machine.joints[f"wheel_{side}"].position for side in ("fl", "fr", "rl", "rr")]
    assert found["shaft"] == pytest.approx(2.0 * (wheels[0] + wheels[1]), rel=1e-6)
    assert found["shaft"] == pytest.approx(2.0 * (wheels[2] + wheels[3]), rel=1e-6)
    machine.command(throttle=0, gear=0, brake=1)
    steps(world, 2.0)
    assert abs(machine.sensors()["speed"]) < 0.02
    machine.command(throttle=0.5, gear=-1, brake=0)
    steps(world, 2.0)
    assert machine.sensors()["speed"] < -0.5


def test_the_loader_turns_as_its_articulation_says():
    """Both axles on circles about one point: R = (wheelbase / 2) / tan(angle / 2).

    Wide tyres scrub, and those of both axles slip sideways for it: the circle is larger by some.
    """
    world, machine = yard(pose={"articulation": 0.5 * TURN})
    machine.command(throttle=0.2, gear=1)
    steps(world, 2.0)
    heading, path = machine.sensors()["heading"], 0.0
    axle = machine.bodies["rear_axle"]
    for _ in range(60):
        world.step()
        path += float(np.linalg.norm(axle.velocity)) * world.dt
    turned = math.radians(machine.sensors()["heading"] - heading)
    angle = machine.joints["articulation"].position
    assert angle == pytest.approx(0.5 * TURN, abs=0.02)
    assert path / turned == pytest.approx(1.6 / math.tan(0.5 * angle), rel=0.1)


def test_the_loader_steers_from_lock_to_lock_in_a_few_seconds():
    world, machine = yard(pose={"articulation": -TURN + 0.01, "lift": 1.2})
    machine.command(throttle=1, steer=1)
    taken = 0.0
    while machine.joints["articulation"].position < TURN - 0.02 and taken < 8.0:
        world.step()
        taken += world.dt
    assert 2.0 < taken < 5.0


def time_to(world, machine, control: str, value: float, joint: str, end: float) -> float:
    """Seconds until a joint has come to `end` (m)."""
    machine.command(**{control: value})
    start = world.time
    while (machine.joints[joint].position - end) * value < -2e-3 and world.time - start < 9.0:
        world.step()
    machine.command(**{control: 0.0})
    return world.time - start


def test_lift_dump_and_lower_take_as_long_as_in_the_class():
    world, machine = yard()
    machine.command(throttle=1)
    steps(world, 0.8)
    time_to(world, machine, "lift", -1.0, "lift", 1.09)
    raised = time_to(world, machine, "lift", 1.0, "lift", 1.92)
    top = machine.bodies["bucket"].position[2]
    dumped = time_to(world, machine, "tilt", -1.0, "tilt", 1.552)
    lowered = time_to(world, machine, "lift", -1.0, "lift", 1.09)
    assert 5.0 < raised < 7.0 and 3.8 < top < 4.1
    assert 0.7 < dumped < 2.2  # from level; from rolled back it is more
    assert 3.0 < lowered < 4.6


def held(machine, world) -> None:
    """Hold the machine's rear to the world."""
    world.add_joint(berm.Weld(machine.bodies["rear_frame"], None, name="vice"))


def test_an_overloaded_cylinder_stalls_at_its_relief_and_does_not_sink():
    world, machine = yard(pose="level")
    held(machine, world)
    bucket = machine.bodies["bucket"]
    machine.command(throttle=1)
    steps(world, 1.0)
    push = LIFT_CYLINDERS.efforts()[1]
    load = 0.5 * (1.0 + PORT) * push - machine.sensors()["lift.force"]
    lever = _lever("lift", {"lift": 1.54}, (0, 0, -1))  # m of the ram a metre of the bucket's pin
    force = load * abs(lever)
    start = machine.joints["lift"].position
    machine.command(lift=1)
    highest = start
    for k in range(150):
        bucket.apply_force((0, 0, -force * min(1.0, k / 20)), bucket.position)
        world.step()
        highest = max(highest, machine.joints["lift"].position)
    assert start < highest < start + 0.06  # before the whole load was there
    assert machine.joints["lift"].position > highest - 0.01
    assert push < machine.sensors()["lift.force"] < PORT * push
    before = machine.joints["lift"].position
    for _ in range(60):
        bucket.apply_force((0, 0, -0.5 * force), bucket.position)  # now it can
        world.step()
    assert machine.joints["lift"].position > before + 0.05


def _lever(joint: str, pose, direction) -> float:
    """How far (m) a ram goes for a metre of the bucket's pin along a direction, from geometry."""
    assembly = Assembly("loader", design_of("loader"))
    here, there = dict(pose), dict(pose)
    here[joint] -= 1e-4
    there[joint] += 1e-4
    way = assembly.pose(there)["bucket"].origin - assembly.pose(here)["bucket"].origin
    return 2e-4 / float(way @ np.asarray(direction, float))


def test_a_closed_valve_holds_and_gives_way_as_its_oil_does():
    world, machine = yard(pose="level")
    held(machine, world)
    steps(world, 1.0)
    ram = machine.joints["lift"]
    before, force = ram.position, machine.sensors()["lift.force"]
    for _ in range(60):
        machine.bodies["bucket"].apply_force((0, 0, -3e4))
        world.step()
    sag = before - ram.position
    more = machine.sensors()["lift.force"] - force
    give = LIFT_CYLINDERS.compliance(1.09, 1.92, before)
    assert more > 1e5
    assert sag == pytest.approx(give * more, rel=0.05)
    assert sag < 5e-3


def test_breakout_force_is_that_of_the_tilt_cylinder_at_its_lever():
    """Virtual work: force at the edge x its way = force of the cylinder x its way - weights."""
    world, machine = yard()
    held(machine, world)
    bucket = machine.bodies["bucket"]
    point = np.array([EDGE[0] - BREAKOUT, 0.0, EDGE[1]])
    rope = berm.Distance(
        bucket, None, anchor=point, anchor_b=point - (0, 0, 3.0), name="rope", compliance=1e-9
    )
    world.add_joint(rope)
    machine.command(throttle=1, tilt=1)
    steps(world, 2.0)
    found = -float(rope.force[2])
    assembly = Assembly("loader", design_of("loader"))
    start = assembly.positions(assembly.authored)["tilt"]
    lift = assembly.positions(assembly.authored)["lift"]
    low, high = (assembly.pose({"tilt": start + d, "lift": lift}) for d in (-1e-4, 1e-4))

    def rise(name: str, at) -> float:
        def height(frames) -> float:
            authored = assembly.authored[name]
            local = authored.turn.T @ (np.asarray(at) - authored.origin)
            return float((frames[name].origin + frames[name].turn @ local)[2])

        return height(high) - height(low)

    # the whole linkage hangs on both cylinders; the lift is closed and does no work
    weights = sum(
        body.mass * G * rise(name, _authored_centre(assembly, name, body))
        for name, body in machine.bodies.items()
    )
    push = TILT_CYLINDER.efforts()[1]
    expected = (push * 2e-4 - weights) / rise("bucket", point)
    assert found == pytest.approx(expected, rel=0.05)
    assert 150e3 < found < 190e3


def _authored_centre(assembly, name: str, body) -> np.ndarray:
    part = assembly.design.bodies[name]
    local = body.rotation.T @ (body.centre - body.position)
    return np.asarray(part.at, float) + part.turn @ local


@pytest.mark.parametrize("angle", [0.0, TURN])
def test_tipping_load_is_that_of_its_masses(angle):
    world, machine = yard(pose={"lift": 1.54, "articulation": angle * 0.999})
    bucket = machine.bodies["bucket"]
    machine.command(brake=1)
    steps(world, 0.5)
    left, right = (machine.bodies[f"wheel_f{side}"].centre for side in "lr")
    axis = (left - right) / np.linalg.norm(left - right)
    ahead = np.cross(axis, (0.0, 0.0, 1.0))
    place = bucket.position + bucket.rotation @ (0.55, 0.0, 0.35)
    moment = sum(b.mass * float((left - b.centre) @ ahead) for b in machine.bodies.values())
    expected = moment / float((place - left) @ ahead)
    assert 11e3 < expected < 14e3
    tipped = None
    for k in range(900):  # slowly: a load that comes on at once makes it rock
        load = expected * (min(0.005 * k, 0.85) + 0.25 * max(k - 300, 0) / 600)
        place = bucket.position + bucket.rotation @ (0.55, 0.0, 0.35)
        bucket.apply_force((0.0, 0.0, -load * G), place)
        world.step()
        rear = sum(float(machine.bodies[f"wheel_r{s}"].force_from("bodies")[2]) for s in "lr")
        if k > 0 and rear <= 0.0:
            tipped = load
            break
    assert tipped is not None
    assert tipped == pytest.approx(expected, rel=0.02)


def test_the_brake_holds_on_a_hill_and_nothing_else_does():
    for pedal, moves in ((1.0, False), (0.0, True)):
        world, machine = yard(slope=math.radians(15.0), pose="carry")
        machine.command(brake=pedal)
        steps(world, 0.5)
        before = machine.sensors()["position"][0]
        steps(world, 1.5)
        gone = before - machine.sensors()["position"][0]
        assert (gone > 1.0) if moves else (abs(gone) < 5e-3)


def test_the_bucket_weighs_what_lies_in_it():
    world, machine = yard(pose="carry")
    bucket = machine.bodies["bucket"]
    for k, y in enumerate((-0.7, 0.0, 0.7)):
        where = bucket.position + bucket.rotation @ (0.62, y, 0.30)
        world.add_body(berm.Sphere(0.25), name=f"rock{k}", position=where, dynamic=True, mass=400)
    machine.command(brake=1)
    steps(world, 3.0)
    assert machine.sensors()["load"] == pytest.approx(1200.0, rel=0.03)
    assert all(world.body(f"rock{k}").position[2] > 0.4 for k in range(3))


def test_the_truck_tips_its_bed_and_drives():
    world, machine = yard("truck")
    machine.command(throttle=1, dump=1)
    steps(world, 6.0)
    raised = machine.joints["bed"].position
    assert 0.3 < raised < 0.7
    machine.command(dump=0)
    steps(world, 0.5)
    assert machine.joints["bed"].position > raised - 0.01  # the valve holds it
    machine.command(dump=-1, gear=1, steer=0.5)
    steps(world, 2.5)
    found = machine.sensors()
    assert found["speed"] > 1.0 and found["bed"] < raised - 0.05
    assert found["knuckle_l"] == pytest.approx(found["knuckle_r"], abs=1e-3)
    assert found["heading"] > 3.0 and worst(machine) < 1e-4


def test_the_crawler_runs_straight_and_turns_on_the_spot():
    world, machine = yard("crawler")
    machine.command(drive=1)
    steps(world, 3.0)
    found = machine.sensors()
    assert found["speed"] == pytest.approx(5.5 / 3.6, rel=0.05)
    assert abs(found["heading"]) < 1.0
    machine.command(drive=0)
    steps(world, 1.0)
    assert abs(machine.sensors()["speed"]) < 0.05
    start = machine.sensors()
    machine.command(steer=1)
    steps(world, 2.0)
    found = machine.sensors()
    assert found["heading"] - start["heading"] > 20.0
    assert np.linalg.norm(found["position"] - start["position"]) < 0.2


def test_the_bucket_pin_is_where_the_drawing_says():
    _, machine = yard()
    assert machine.bodies["bucket"].position == pytest.approx((PIN[0], 0.0, PIN[1]))
