"""A world whose solver is exchanged goes on with all that it holds, in what the new one needs."""

from __future__ import annotations

import numpy as np
import pytest

import berm
from berm.apps.job import Request, make_job
from berm.core.clusters import Cluster
from berm.core.errors import InputError


def heap(solver, precision=None):
    """A few grains over a floor."""
    world = berm.World(solver=solver, precision=precision)
    world.add_body(berm.Plane(), name="floor")
    place = np.stack(np.meshgrid([0, 1, 2], [0, 1, 2], [1, 2]), -1).reshape(-1, 3)
    world.add_grains(0.045 * place, 0.02, velocity=(0.1, 0.0, 0.0))
    return world


@pytest.mark.parametrize("options", [{"skin": 0.2}, {"steps_a_contact": 30}])
def test_a_solver_option_of_dem_acts_on_a_scene_that_starts_with_grains(options):
    world = make_job(
        Request("drum", {"filling": 0.1}, solver="dem", solver_options=options, seconds=0.1)
    ).build()
    name, value = next(iter(options.items()))
    assert getattr(world.solver, name) == value
    for _ in range(3):
        world.step()
    assert np.isfinite(world.grains.position).all()
    plain = make_job(Request("drum", {"filling": 0.1}, solver="dem", seconds=0.1)).build()
    for _ in range(3):
        plain.step()
    assert np.abs(_by_tag(world) - _by_tag(plain)).max() < 1e-3


def _by_tag(world):
    return world.grains.position[np.argsort(world.grains.tags)].astype(float)


SOLVERS = {
    "p2": berm.P2,
    "mass": lambda: berm.P2(averaging="mass"),
    "published": berm.P2.published,
    "serial": lambda: berm.P2(averaging="serial"),
    "vts": berm.VTS,
    "sp": berm.SP,
    "dem": berm.DEM,
}


@pytest.mark.parametrize("after", SOLVERS)
@pytest.mark.parametrize("before", ["p2", "vts", "dem"])
def test_grains_go_on_with_another_solver(before, after):
    world = heap(SOLVERS[before]())
    for _ in range(3):
        world.step()
    x, tags = _by_tag(world), np.sort(world.grains.tags)
    world.use_solver(SOLVERS[after]())
    assert (np.sort(world.grains.tags) == tags).all()
    assert np.abs(_by_tag(world) - x).max() < 1e-6
    assert world.precision == ("float64" if after == "dem" else "float32")
    assert world.grains.rotating == (after == "dem")
    for _ in range(30):
        world.step()
    assert (np.abs(world.grains.position[:, 2] - 0.02) < 0.06).all()
    assert np.abs(world.grains.velocity).max() < 2.0


def test_spins_stay_from_dem_to_dem():
    world = heap("dem")
    world.grains.spin[: world.grains.n, 1] = 3.0
    world.use_solver(berm.DEM(skin=0.2))
    assert (world.grains.spin[: world.grains.n, 1] == 3.0).all()
    assert (world.grains.spin[: world.grains.n, 3] > 0.0).all()


def test_a_solver_acts_as_if_it_had_been_there_from_the_start():
    one, two = heap(berm.P2()), heap(berm.VTS())
    one.use_solver(berm.VTS())
    for _ in range(10):
        one.step()
        two.step()
    assert (one.grains.x[: one.grains.n] == two.grains.x[: two.grains.n]).all()


def test_the_precision_that_was_asked_for_stays():
    world = heap("vts", "float64")
    world.use_solver("p2")
    assert world.precision == "float64" and world.grains.x.dtype == np.float64


def test_what_cannot_be_exchanged_is_refused_and_the_world_stays_as_it_was():
    world = berm.World(solver="dem")
    pair = Cluster([[-0.01, 0, 0], [0.01, 0, 0]], [0.02, 0.02], "pair")
    world.add_clusters(pair, [[0, 0, 1]])
    solver, grains = world.solver, world.grains
    with pytest.raises(InputError, match="compound grains"):
        world.use_solver("p2")
    assert world.solver is solver and world.grains is grains and world.clumps.n == 1
    world.step()

    sheet = berm.World(solver="vts")
    sheet.add_cloth(berm.Cloth.grid((3, 3), (0.1, 0.1)))
    with pytest.raises(InputError, match="cloth"):
        sheet.use_solver("p2")
    sheet.step()
    with pytest.raises(InputError, match="solver"):
        sheet.use_solver("no such")
    with pytest.raises(InputError, match="float64"):
        heap("p2", "float32").use_solver("dem")


def test_a_solver_that_was_exchanged_does_not_come_back_with_its_old_contacts():
    world = heap("p2")
    first = world.solver
    world.use_solver("vts")
    with pytest.raises(InputError, match="new object"):
        world.use_solver(first)


def test_dynamic_bodies_get_and_lose_the_particles_that_dem_needs():
    world = heap("p2")
    world.add_body(berm.Box((0.1, 0.1, 0.1)), name="crate", dynamic=True, position=(0.5, 0, 0.06))
    grains, added = world.grains.n, world.mass_added
    world.use_solver("dem")
    assert world.clumps.n == 1 and world.grains.n > grains
    for _ in range(3):
        world.step()
    world.use_solver("p2")
    assert world.clumps.n == 0 and world.grains.n == grains
    assert world.mass_added == pytest.approx(added, rel=1e-12)
    for _ in range(3):
        world.step()


def test_joints_go_on_in_dem_and_back():
    world = berm.World(solver="p2", dt=0.01)
    arm = world.add_body(berm.Box((0.1, 0.1, 0.4)), dynamic=True, position=(0, 0, -0.2))
    hinge = world.add_joint(berm.Hinge(arm, None, (0, 0, 0), (0, 1, 0)))
    for solver in ("dem", "p2"):
        world.use_solver(solver)
        for _ in range(3):
            world.step()
        assert hinge.force[2] == pytest.approx(arm.mass * 9.81, rel=1e-4)
        assert np.abs(arm.velocity).max() < 1e-6


@pytest.mark.parametrize("solver", [berm.VTS, berm.SP])
def test_a_solver_without_adhesion_says_so_once(solver):
    name = solver().name
    about = rf"^material 'clay': solver {name} takes no notice of its adhesion of \d+ Pa; "
    world = berm.World(solver=solver())
    with pytest.warns(UserWarning, match=about) as told:
        world.add_grains([[0.0, 0.0, 1.0]], 0.02, material="clay")
    assert len(told) == 1
    world.add_grains([[0.0, 0.0, 2.0]], 0.02, material="clay")  # any warning is an error here
    world.add_grains([[0.0, 0.0, 3.0]], 0.02, material="gravel")
    assert told[0].filename == __file__
    sticky = berm.World(solver=berm.P2())
    sticky.add_grains([[0.0, 0.0, 1.0]], 0.02, material="clay")
    with pytest.warns(UserWarning, match=about) as told:
        sticky.use_solver(solver())
    assert len(told) == 1
    assert told[0].filename == __file__
