"""Grains and dynamic bodies together: momentum, light bodies, threads, restart."""

from __future__ import annotations

import numpy as np
import pytest

import berm
from berm.core.joints import Hinge, Weld
from tests.momenta import momenta
from tests.same_bits import assert_goes_on, assert_same_on_threads

GRAIN = 2650 * 4 / 3 * np.pi * 0.02**3  # kg


def block_of_grains(side, middle, step=0.045):
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3) * step
    return grid - grid.mean(axis=0) + middle


SOLVERS = {"p2": berm.P2, "vts": berm.VTS, "sp": berm.SP}


# rounding of linear momentum, and what is lost of the angular one without friction
@pytest.mark.parametrize(
    ("name", "exact", "lost"), [("p2", 45e-13, 1e-3), ("vts", 1e-13, 3e-3), ("sp", 1e-13, 3e-3)]
)
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_momentum_of_grains_and_body_is_kept(name, exact, lost, friction):
    """Linear: to rounding. Angular: grains do not turn, so friction at their surface is lost."""
    law = berm.material("gravel", friction=friction)
    world = berm.World(gravity=(0, 0, 0), precision="float64", solver=SOLVERS[name]())
    world.add_grains(block_of_grains(5, (-0.3, 0.02, 0.05)), 0.02, (2.0, 0, 0), law)
    body = world.add_body(
        berm.Box((0.1, 0.3, 0.2)), dynamic=True, material=law, mass=3.0, angular_velocity=(0, 0, 2)
    )
    linear, angular = momenta(world)
    for _ in range(45):
        world.step()
    after, turned = momenta(world)
    assert body.velocity[0] > 0.5
    scale = np.linalg.norm(linear)
    np.testing.assert_allclose(after, linear, atol=exact * scale)
    share = lost if friction == 0 else 2e-2
    assert np.linalg.norm(turned - angular) < share * scale * 0.3  # of momentum times size


# energy in J/kg: slower than 5 mm/s and 1 cm/s
@pytest.mark.parametrize(
    ("name", "energy", "speed"), [("p2", 1e-5, 5e-3), ("vts", 5e-5, 1e-2), ("sp", 5e-5, 1e-2)]
)
@pytest.mark.parametrize("where", ["under", "top", "both"])
def test_plate_as_light_as_five_grains_comes_to_rest(name, energy, speed, where):
    world = berm.World(solver=SOLVERS[name]())
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
    plate = world.add_body(
        berm.Box((0.3, 0.3, 0.04)), dynamic=True, mass=5 * GRAIN, position=(0, 0, height + 0.03)
    )
    if where != "under":
        layer(height + 0.08, height + 0.3)
    world.run(2.0)
    kinetic, felt = [], []
    for _ in range(20):
        report = world.step()
        kinetic.append(report.kinetic_energy / world.grains.mass.sum())
        felt.append((plate.force[2], box.force[2]))
    assert np.mean(kinetic) < energy
    assert np.linalg.norm(plate.velocity) < speed
    assert report.overlap_max < 0.15 * 0.02
    on_plate, on_box = np.mean(felt, axis=0)
    whole = plate.mass + float(world.grains.mass.sum(dtype=float))
    if where != "top":  # grains carry it
        assert on_plate == pytest.approx(plate.mass * 9.81, rel=0.05)
    assert on_box == pytest.approx(-whole * 9.81, rel=2e-3)
    if name == "p2" and where == "top":
        assert plate.position[2] == pytest.approx(0.02, abs=1e-4)


@pytest.mark.parametrize("form", ["mass", "count"])
def test_other_forms_push_heavy_bodies(form):
    """As printed, Sec. 6.6: bodies are walls that get the force after; fine if they are heavy."""
    solver = berm.P2.published() if form == "count" else berm.P2(averaging="mass")
    world = berm.World(solver=solver, gravity=(0, 0, 0))
    world.add_grains(block_of_grains(4, (-0.3, 0, 0)), 0.02, (2.0, 0, 0))
    body = world.add_body(berm.Box((0.1, 0.3, 0.3)), dynamic=True, mass=300 * GRAIN)
    before = momenta(world)[0]
    world.run(0.5)
    assert 0.05 < body.velocity[0] < 1.0
    if form == "mass":
        np.testing.assert_allclose(momenta(world)[0], before, atol=1e-3 * np.linalg.norm(before))


# ---- belts ----------------------------------------------------------------------------------


def belted(speed, where, law):
    """A track over or under a level sheet of grains at z = 0, in a world of its own."""
    world = berm.World(precision="float64", solver=berm.P2())
    sheet = np.stack(np.meshgrid(0.11 * np.arange(25), 0.11 * np.arange(6)), -1).reshape(-1, 2)
    sheet = np.column_stack([sheet - (0.5, 0.27), np.zeros(len(sheet))])
    world.add_grains(sheet, 0.05, material=law)
    body = world.add_body(
        berm.Box((0.8, 0.4, 0.3)), name="track", position=where, dynamic=True, mass=100.0,
        material=law,
    )  # fmt: skip
    body.belt((0, 1, 0), speed)
    return world, body


def test_a_belt_runs_a_track_over_grains():
    """With mu g until it is as fast as its belt."""
    law = berm.material("gravel", friction=0.4, adhesion=0.0)
    world, body = belted(1.0, (0.0, 0.0, 0.2), law)
    world.grains.fix(np.arange(world.grains.n))
    world.run(0.2)
    assert body.velocity[0] == pytest.approx(0.4 * 9.81 * 0.2, rel=0.03)
    world.run(0.4)
    assert body.velocity == pytest.approx([1.0, 0, 0], abs=0.01)


def test_a_belt_takes_the_grains_on_it_along():
    """The upper side of a track goes ahead, and grains on it gain mu g until they are as fast."""
    law = berm.material("gravel", friction=0.4, adhesion=0.0)
    world, body = belted(1.0, (0.0, 0.0, -0.2), law)
    world.add_joint(Weld(body, None, (0, 0, -0.2)))
    world.run(0.2)
    x, y, z = world.grains.position.T
    on = (np.abs(x) < 0.2) & (np.abs(y) < 0.15) & (z > -0.01)
    assert on.sum() > 3
    np.testing.assert_allclose(world.grains.velocity[on, 0], 0.4 * 9.81 * 0.2, rtol=0.03)
    assert body.force_from("grains")[0] < 0.0


def busy_world():
    """Grains, a hinged plank with a box on it, a driven paddle, an emitter."""
    world = berm.World(seed=3)
    world.add_grains(block_of_grains(11, (0, 0, 0.4)), 0.02)
    world.add_body(
        berm.Box((0.8, 0.8, 2.0), inside=True, open_top=True), position=(0, 0, 1.0), name="walls"
    )
    world.add_body(berm.Box((0.3, 0.04, 0.1)), position=(0, 0, 0.1), name="paddle",
                   motion=berm.Spin((0, 0, 1), 3.0))  # fmt: skip
    plank = world.add_body(
        berm.Box((0.5, 0.2, 0.03)), dynamic=True, density=800, position=(0, 0, 0.8), name="plank"
    )
    world.add_joint(Hinge(plank, axis=(0, 1, 0), limits=(-0.5, 0.5)))
    world.add_body(berm.Box((0.1, 0.1, 0.1)), dynamic=True, position=(-0.1, 0, 0.87), name="box")
    world.add_body(berm.Sphere(0.08), dynamic=True, density=500, position=(0.3, 0.3, 0.9))
    world.add_emitter(berm.Emitter(300, (0.1, 0, 1.2), "disc", (0.1, 0.1), radius=0.02))
    return world


def advance(world, steps):
    prints = []
    for _ in range(steps):
        world.step()
        g = world.grains
        prints.append(
            (
                g.x[: g.n].tobytes(), g.v[: g.n].tobytes(), world.joints[0].angle,
                *(np.asarray(value).tobytes() for value in world.bodies.state().values()),
                *(np.asarray(value).tobytes() for value in world.joints.state().values()),
            )
        )  # fmt: skip
    return prints


def test_threads_do_not_change_a_bit():
    assert_same_on_threads(lambda: advance(busy_world(), 20))


def test_restart_continues_bit_for_bit(tmp_path):
    whole = busy_world()
    advance(whole, 25)
    assert whole.report.body_contacts > 0  # the box has met the plank
    assert_goes_on(whole, busy_world(), lambda world: advance(world, 10), tmp_path)


def test_world_without_grains_moves_its_bodies():
    world = berm.World()
    ball = world.add_body(berm.Sphere(0.1), dynamic=True)
    world.run(0.5)
    assert ball.position[2] == pytest.approx(-0.5 * 9.81 * 0.25, rel=0.02)


def test_recording_holds_the_poses(tmp_path):
    world = berm.World()
    ball = world.add_body(berm.Sphere(0.1), name="ball", dynamic=True, angular_velocity=(0, 3, 0))
    world.add_grains([[1.0, 0, 0]], 0.02)
    world.run(0.2, recorders=[berm.Recorder(tmp_path / "run.h5", every=0.0)])
    with berm.Recording(tmp_path / "run.h5") as seen:
        last = seen.frame(-1).bodies["ball"]
    np.testing.assert_allclose(last.position, ball.position, atol=1e-6)
    np.testing.assert_allclose(last.rotation, ball.rotation, atol=1e-6)
