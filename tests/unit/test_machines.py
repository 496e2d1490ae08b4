"""Machines: meshes, designs, assembly of closed loops, controls, actuators, state."""

from __future__ import annotations

import math

import numpy as np
import pytest

import berm
from berm.core.errors import InputError
from berm.core.mass import of_shape
from berm.io import checkpoint
from berm.machines import (
    Brake,
    Coupling,
    Cylinder,
    Design,
    Engine,
    Hydraulics,
    Lever,
    Part,
    Rotary,
    add,
    ball,
    design_of,
    hinge,
    ram,
)
from berm.machines.assembly import Assembly
from berm.machines.engine import RPM, Converter, Curve, Driveline
from berm.machines.meshes import area, box, cut, joined, prism, trough, tube

BOX = berm.Box((0.2, 0.2, 0.2))


# ---- meshes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_prism_is_closed_and_holds_its_volume(axis):
    outline = [(0, 0), (2, 0), (2, 1), (1, 0.4), (0, 1)]  # not convex
    mesh = joined(prism(outline, -0.5, 1.0, axis))
    assert mesh.closed
    assert of_shape(mesh).volume == pytest.approx(1.5 * area(outline))


def test_a_trough_is_closed_and_holds_plates_and_no_more():
    outer = [(1.0, 0.0), (0.0, 0.0), (0.0, 1.0)]
    inner = [(0.95, 0.05), (0.05, 0.05), (0.05, 0.95)]
    mesh = joined(trough(outer, inner, 2.0, 0.05))
    assert mesh.closed
    assert of_shape(mesh).volume == pytest.approx(2.0 * 0.5 - 1.9 * 0.5 * 0.9 * 0.9)


def test_parts_of_a_mesh_are_seen_from_its_origin():
    mesh = joined(box((0, 0, 0), (1, 1, 1)), tube((3, 0, 0), (3, 0, 2), 0.5, 64), at=(3, 0, 0))
    assert mesh.closed and mesh.vertices[:, 0].min() == -3.0
    assert of_shape(mesh).volume == pytest.approx(1.0 + 0.5 * math.pi, rel=2e-3)


def test_an_outline_that_crosses_itself_is_refused():
    for crossed in ([(0, 0), (1, 1), (1, 0), (0, 1)], [(0, 0), (2, 0), (2, 2), (1, -1), (0, 2)]):
        with pytest.raises(InputError, match="does not cross itself"):
            cut(crossed)


def test_the_loaders_bucket_holds_about_three_cubic_metres():
    from berm.machines.loader import BUCKET, EDGE, LIP

    bucket = design_of("loader").bodies["bucket"].shape
    assert bucket.closed
    inside = [(4.65, 0.06), (3.63, 0.065), (3.44, 0.27), (3.39, 0.76), (3.52, 1.18), (3.83, 1.41)]
    struck = area(inside) * (BUCKET - 0.1)
    mouth = math.dist(EDGE, LIP)
    heaped = struck + mouth**2 * (3.0 * (BUCKET - 0.1) - mouth) / 24.0  # a hipped roof of 1 : 2
    assert 2.4 < struck < 3.0 and 3.0 < heaped < 3.4


# ---- designs ---------------------------------------------------------------------------------


def press(**more) -> Design:
    """An arm on a base, with a cylinder between them."""
    given = {"mass": 50.0, "closed": 0.9, "stroke": 0.6, "joint": "ram", "control": "lift"} | more
    return Design(
        bodies={
            "base": Part(berm.Box((0.4, 0.4, 0.4)), 5000.0, (0, 0, 0.2)),
            "arm": Part(berm.Box((2.0, 0.1, 0.1)), given["mass"], (1.0, 0, 1.2)),
        },
        joints={
            "pin": hinge("arm", "base", (0, 0, 1.2), (0, -1, 0), (-0.9, 1.2)),
            "ram": ram("arm", "base", (0.8, 0, 1.2), (0, 0, 0.5), given["closed"], given["stroke"]),
        },
        actuators=[
            Hydraulics(
                [Lever(given["control"], given["joint"], Cylinder(0.05, 0.03, 10e6), 1e-3)],
                flow=1e-3,
            )
        ],
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"mass": 0.0}, r"machine 'press': body 'arm': mass: got 0.0; allowed: a mass above 0 kg"),
        ({"closed": 1.2}, r"joint 'ram': distance of its mounts: got 1.06.*1.2 to 1.8 m"),
        ({"stroke": 0.9}, r"joint 'ram': stroke: got 0.9.*below the closed length, 0.9 m"),
        ({"stroke": 0.1}, r"joint 'ram': distance of its mounts"),
        ({"joint": "rum"}, r"hydraulics: joint: got 'rum'; allowed: pin, ram"),
        ({"joint": "pin"}, r"a Cylinder with a ram or slider, a Rotary with a hinge"),
    ],
)
def test_a_design_that_cannot_be_says_what_is_wrong(changes, told):
    world = berm.World()
    with pytest.raises(InputError, match=told):
        add(world, press(**changes), name="press")
    assert len(world.bodies) == 0 and len(world.joints) == 0 and not world.machines


def test_unknown_names_are_told():
    world = berm.World()
    with pytest.raises(InputError, match=r"unknown machine.*loader"):
        add(world, "lodaer")
    with pytest.raises(InputError, match="option: got 'colour'"):
        add(world, "loader", colour="red")
    machine = add(world, press(), name="press")
    with pytest.raises(InputError, match="name that no other machine has"):
        add(world, press(), name="press")
    with pytest.raises(InputError, match=r"control: got 'lfit'; allowed: lift"):
        machine.controls["lfit"] = 1.0
    with pytest.raises(InputError, match="lfit"):
        machine.command(lift=1.0, lfit=0.5)
    assert machine.controls["lift"] == 0.0  # nothing was taken
    for bad in (1.5, math.nan, "up"):
        with pytest.raises(InputError, match="from -1 to 1"):
            machine.controls["lift"] = bad


def test_what_hydraulics_and_engines_refuse():
    for make in (
        lambda: Cylinder(0.1, 0.1, 20e6),
        lambda: Cylinder(0.0, 0.0, 20e6),
        lambda: Rotary(0.0, 1e-3, 20e6),
        lambda: Lever("lift", "ram", Cylinder(0.1, 0.05, 20e6), 0.0),
        lambda: Hydraulics([], flow=1e-3, displacement=1e-4),
        lambda: Hydraulics([], displacement=1e-4),
        lambda: Engine(((600, 100), (500, 200)), 3.0, 800, 2000),
        lambda: Engine(((600, 100), (2500, 200)), 3.0, 2800, 2000),
        lambda: Driveline(engine(), converter(), "shaft", (1.0, 2.0)),
        lambda: Brake(("wheel",), -1.0),
    ):
        with pytest.raises(InputError, match="allowed"):
            make()


# ---- assembly --------------------------------------------------------------------------------


def four_bar(rod: float = 2.0, limits=None) -> Design:
    """Crank of 0.5 m at the left, rocker of 1.5 m at the right, 2 m apart, with a coupler."""
    return Design(
        bodies={
            "ground": Part(BOX, 1e4, (0, 0, 0)),
            "crank": Part(BOX, 1.0, (0, 0, 0.25)),
            "coupler": Part(BOX, 1.0, (0.5 * rod, 0, 0.5)),
            "rocker": Part(BOX, 1.0, (2, 0, 0.75)),
        },
        joints={
            "crank": hinge("crank", "ground", (0, 0, 0), limits=limits),
            "left": hinge("coupler", "crank", (0, 0, 0.5)),
            "right": ball("coupler", "rocker", (rod, 0, 0.5)),
            "rocker": hinge("rocker", "ground", (2, 0, 0)),
        },
    )


def test_a_four_bar_goes_where_geometry_says():
    """Freudenstein: the rocker's tip is where two circles meet, on the author's side."""
    assembly = Assembly("bars", four_bar())
    for angle in (0.3, -0.4):  # about +y: x comes from z
        frames = assembly.pose({"crank": angle})
        tip = 0.5 * np.array([math.sin(angle), math.cos(angle)])
        arm = frames["rocker"].turn @ np.array([0, 0, -0.25])  # its point on the coupler
        found = (frames["rocker"].origin + arm)[[0, 2]]
        assert np.linalg.norm(found - tip) == pytest.approx(2.0, abs=1e-9)
        assert np.linalg.norm(found - (2.0, 0.0)) == pytest.approx(0.5, abs=1e-9)
        assert found[1] > 0.0
        assert assembly.positions(frames)["crank"] == pytest.approx(angle, abs=1e-9)


def test_poses_that_cannot_be_name_the_joint():
    with pytest.raises(InputError, match=r"pose: joint: got 'crnk'; allowed: crank, left, rocker"):
        Assembly("bars", four_bar()).pose({"crnk": 0.1})
    with pytest.raises(InputError, match=r"joint 'crank': got 0.5; allowed: -0.3 to 0.3"):
        Assembly("bars", four_bar(limits=(-0.3, 0.3))).pose({"crank": 0.5})
    with pytest.raises(InputError, match=r"positions that the machine can reach: joint '\w+' stay"):
        Assembly("bars", four_bar()).pose({"crank": 0.3, "rocker": -1.0})


def test_a_loop_that_is_open_is_closed_and_one_that_cannot_is_told():
    design = four_bar()
    design.joints["right"].at_b = (2.05, 0, 0.52)
    frames = Assembly("bars", design).pose({})
    coupler, rocker = frames["coupler"], frames["rocker"]
    one = coupler.origin + coupler.turn @ np.array([1.0, 0, 0])
    two = rocker.origin + rocker.turn @ np.array([0.05, 0, -0.23])
    assert np.allclose(one, two, atol=1e-9)
    design.joints["right"].at_b = (2.0, 0, 9.0)
    with pytest.raises(InputError, match=r"joint '\w+': got 'open by .*loop can close"):
        Assembly("bars", design).pose({})


def test_every_pose_of_every_machine_can_be_reached():
    for kind in ("loader", "truck", "crawler"):
        design = design_of(kind)
        design.check(kind)
        for name, pose in design.poses.items():
            assembly = Assembly(kind, design)
            found = assembly.positions(assembly.pose(pose))
            for joint, value in pose.items():
                assert found[joint] == pytest.approx(value, abs=1e-9), name


def test_the_loaders_linkage_lifts_parallel_rolls_back_and_dumps():
    assembly = Assembly("loader", design_of("loader"))

    def tilt(**pose) -> float:
        found = assembly.positions(assembly.pose(pose))
        return math.degrees(found["boom"] + found["bucket"] - low)

    low = assembly.positions(assembly.authored)["boom"]
    assert all(abs(tilt(lift=one)) < 10.0 for one in (1.2, 1.4, 1.6, 1.75, 1.92))
    assert tilt(tilt=2.067) > 37.0
    assert tilt(lift=1.92, tilt=1.552) < -45.0
    top = assembly.pose({"lift": 1.92})["bucket"].origin
    assert 3.8 < top[2] < 4.1  # m, the bucket's pin


# ---- actuators -------------------------------------------------------------------------------


def test_forces_of_a_cylinder_are_those_of_its_relief_pressure():
    """Boom cylinders of a 20-t excavator, 2 x 120/85 mm at 37.3 MPa: 844 and 420 kN."""
    boom = Cylinder(0.120, 0.085, 37.3e6, count=2)
    push, pull = (37.3e6 * area for area in boom.areas)
    assert push == pytest.approx(844e3, rel=2e-3) and pull == pytest.approx(420e3, rel=2e-3)
    assert boom.efforts() == pytest.approx((pull - 3e5 * boom.areas[0], push - 3e5 * boom.areas[1]))
    # half out, oil of half the stroke and the dead volume on either side, in series with nothing
    half = 0.5 + 0.1
    expected = 1.0 / (1e9 * (boom.areas[0] + boom.areas[1]) / half)
    assert boom.compliance(1.0, 2.0, 1.5) == pytest.approx(expected)


def engine() -> Engine:
    return Engine(((600, 550), (1400, 1050), (2000, 850), (2400, 300)), 3.0, 800.0, 2200.0)


def converter() -> Converter:
    return Converter(((0, 2.0), (0.9, 1.0), (1.5, 1.0)), ((0, 0.02), (0.9, 0.01), (1.0, 0.0)))


def test_a_curve_is_straight_between_its_points():
    curve = Curve("curve", ((1, 10), (2, 20), (4, 0)))
    assert [curve(x) for x in (0, 1, 1.5, 2, 3, 4, 9)] == [10, 10, 15, 20, 10, 0, 0]


def test_an_engine_idles_at_rest_and_follows_its_pedal():
    one = engine()
    assert not one.act({"throttle": 0.0}, 1 / 60)  # nothing to do
    for _ in range(300):
        one.act({"throttle": 1.0}, 1 / 60)
    assert one.speed == pytest.approx(2200 * RPM, rel=1e-3)


def test_an_overloaded_engine_dies_gently_and_comes_back():
    one = engine()
    one.state["driveline"] = 3000.0
    for _ in range(300):
        one.act({"throttle": 1.0}, 1 / 60)
        assert 0.0 <= one.speed < 2300 * RPM
    assert one.speed == 0.0
    one.state["driveline"] = 0.0
    for _ in range(300):
        one.act({"throttle": 0.0}, 1 / 60)
    assert one.speed == pytest.approx(800 * RPM, rel=1e-3)


def test_a_pump_shares_its_flow_and_serves_priority_first():
    """Three levers that ask for twice what there is: the first gets all, the others the rest."""
    cylinder = Cylinder(0.1, 0.05, 20e6)
    bodies = {"base": Part(BOX, 1e4, (0, 0, 0.1))}
    joints, levers = {}, []
    for k in range(3):
        bodies[f"slide{k}"] = Part(BOX, 10.0, (1.0, k, 0.1))
        joints[f"ram{k}"] = ram(f"slide{k}", "base", (1.0, k, 0.1), (0, k, 0.1), 0.8, 0.6)
        levers.append(Lever(f"lever{k}", f"ram{k}", cylinder, 1e-3, priority=k == 0))
    hydraulics = Hydraulics(levers, flow=1.5e-3)
    world = berm.World(gravity=(0, 0, 0), dt=1 / 60)
    machine = add(world, Design(bodies, joints, actuators=[hydraulics]), name="three")
    machine.command(lever0=1, lever1=1, lever2=-1)
    controls = machine.controls.plain
    for _ in range(12):
        machine.design.actuators[0].act(controls, 1 / 60)
    out, back = cylinder.areas
    found = [machine.joints[f"ram{k}"].motor[1] for k in range(3)]
    assert found == pytest.approx([1e-3 / out, 0.25e-3 / out, -0.25e-3 / back])


# ---- machines in worlds ----------------------------------------------------------------------


def test_nothing_is_done_where_nothing_is_commanded():
    world = berm.World()
    machine = add(world, "loader")
    world.add_body(berm.Plane(), name="ground", position=(0, 0, -5))
    calls = []
    for actuator in machine.design.actuators:
        inner = actuator.act

        def counted(controls, dt, inner=inner):
            calls.append(1)
            return inner(controls, dt)

        actuator.act = counted
    for _ in range(5):
        machine.act(world)
    assert len(calls) == len(machine.design.actuators)  # once, to see that nothing is to be done
    machine.command(throttle=0.5)
    machine.act(world)
    assert len(calls) == 2 * len(machine.design.actuators)


def test_machines_come_and_go_without_a_trace():
    world = berm.World()
    first = add(world, "crawler")
    second = add(world, "crawler", position=(0, 8, 0), heading=90, name="other")
    assert {body.name for body in second.bodies.values()} <= {body.name for body in world.bodies}
    assert np.allclose(second.bodies["frame"].rotation[:, 0], (0, 1, 0))
    first.remove()
    assert [machine.name for machine in world.machines] == ["other"]
    assert len(world.bodies) == 3
    with pytest.raises(InputError, match="a machine of this world"):
        first.remove()
    second.remove()
    assert len(world.joints) == 0 and len(world.bodies) == 0


def scene() -> tuple[berm.World, list]:
    world = berm.World(dt=1 / 60)
    world.add_body(berm.Plane(), name="ground", material="rough wall")
    loader = add(world, "loader", pose="carry")
    truck = add(world, "truck", position=(12, 3, 0), heading=90)
    loader.schedule([(0.0, {"throttle": 1, "gear": 1}), (0.2, {"lift": 1, "steer": 0.4})])
    return world, [loader, truck]


def test_a_world_with_machines_goes_on_bit_for_bit(tmp_path):
    world, (loader, truck) = scene()
    truck.command(throttle=1, dump=1)
    for _ in range(20):
        world.step()
    checkpoint.save(world, tmp_path / "machines.npz")
    loader.command(tilt=-0.5)
    for _ in range(15):
        world.step()
    twin, (other, _) = scene()
    twin.restore(checkpoint.load(tmp_path / "machines.npz"))
    assert dict(other.controls) == {**dict(loader.controls), "tilt": 0.0}
    other.command(tilt=-0.5)
    for _ in range(15):
        twin.step()
    for column in ("x", "q", "v", "L"):
        assert np.array_equal(getattr(world.bodies, column), getattr(twin.bodies, column)), column
    one, two = loader.sensors(), other.sensors()
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert one["engine_speed"] > 90.0


def test_states_of_other_machines_are_refused():
    world, _ = scene()
    state = world.state()
    other = berm.World(dt=1 / 60)
    other.add_body(berm.Plane(), name="ground", material="rough wall")
    with pytest.raises(InputError, match="another scene"):
        other.restore(state)
    for change, told in (
        (lambda s: s["controls"].pop("lift"), "controls"),
        (lambda s: s["controls"].update(lift=3.0), "lift"),
        (lambda s: s["actuators"].pop(), "actuators"),
        (lambda s: s["actuators"][0].pop("lift.spool"), "actuators"),
        (lambda s: s.update(next=99), "next"),
    ):
        broken = world.state()
        change(broken["machines"]["loader"])
        with pytest.raises(InputError, match=told):
            world.restore(broken)


def test_commands_are_checked_and_come_in_time():
    world = berm.World(gravity=(0, 0, 0), dt=0.1)
    machine = add(world, press(), name="press")
    with pytest.raises(InputError, match=r"time: got 1.0; allowed: 2 s or later"):
        machine.schedule([(2.0, {"lift": 1}), (1.0, {"lift": 0})])
    with pytest.raises(InputError, match="control: got 'left'"):
        machine.schedule([(0.0, {"left": 1})])
    machine.schedule([(0.0, {"lift": 1}), (0.3, {"lift": 0.5})])
    found = []
    for k in range(5):
        world.time = 0.1 * k
        machine.act(world)
        found.append(machine.controls["lift"])
    assert found == [1, 1, 1, 0.5, 0.5]


def test_couplings_must_be_of_joints_with_an_axis():
    design = press()
    design.couplings["gear"] = Coupling(("pin", "ram"), 2.0)
    with pytest.raises(InputError, match=r"coupling 'gear': joint: got 'ram'; allowed: pin"):
        design.check("press")
