"""Grains that are fixed and freed again, with masses of their own, in every solver."""

from __future__ import annotations

import numpy as np
import pytest

import berm
from berm.core.clusters import Cluster
from berm.core.errors import InputError
from berm.io import checkpoint
from berm.world import measure
from tests.state_worlds import differences, flat

SOFT = berm.material("gravel", young_modulus=1e6)
R = 0.02
SOLVERS = {
    "sweep": lambda: berm.P2(),
    "mass": lambda: berm.P2(averaging="mass"),
    "published": lambda: berm.P2.published(),
    "retest": lambda: berm.P2.published(retest=True),
    "serial": lambda: berm.P2(averaging="serial", iterations=10, substeps=4),
    "vts": lambda: berm.VTS(),
    "ij": lambda: berm.VTS(iteration="ij"),
    "sp": lambda: berm.SP(),
    "dem": lambda: berm.DEM(rolling="spring"),
    "rkf45": lambda: berm.DEM(integrator="rkf45", tolerance=1e-2),
}
every_solver = pytest.mark.parametrize("name", SOLVERS)


def bowl(name, layers=3):
    """A shell of fixed grains without any floor under it, and a small heap on it."""
    world = berm.World(solver=SOLVERS[name]())
    i, j = np.meshgrid(np.arange(-4, 5), np.arange(-4, 5))
    far = np.hypot(i, j).ravel()
    shell = np.stack([2.0 * R * i.ravel(), 2.0 * R * j.ravel(), 0.2 * R * far**2], 1)
    fixed = world.add_grains(shell, R, material=SOFT)
    world.fix_grains(fixed)
    k, m, n = np.meshgrid([-1, 0, 1], [-1, 0, 1], np.arange(layers))
    heap = 2.1 * R * np.stack([k.ravel() + 0.1, m.ravel() + 0.03, n.ravel() + 1.4], 1)
    free = world.add_grains(heap, R, material=SOFT)
    return world, fixed, free


def places(world, tags):
    return world.grains.position[world.grains.rows_of(tags)].astype(float)


@every_solver
def test_a_heap_rests_on_a_shell_of_fixed_grains_and_falls_when_they_are_freed(name):
    world, fixed, free = bowl(name)
    shell = places(world, fixed)
    masses = world.grains.mass[world.grains.rows_of(fixed)].copy()
    world.run(1.5)
    assert (places(world, fixed) == shell).all()
    assert (places(world, free)[:, 2] > 0.0).all()  # nobody fell through
    assert np.median(np.linalg.norm(world.grains.velocity, axis=1)) < 0.02
    assert world.grains.fixed.sum() == len(fixed)
    assert (world.grains.velocity[world.grains.fixed] == 0.0).all()

    world.free_grains(fixed)
    assert not world.grains.fixed.any()
    assert (world.grains.mass[world.grains.rows_of(fixed)] == masses).all()
    before = places(world, fixed)[:, 2].mean()
    world.run(0.2)
    assert places(world, fixed)[:, 2].mean() < before - 0.5 * 0.5 * 9.81 * 0.2**2


@every_solver
def test_two_fixed_grains_that_overlap_do_nothing(name):
    world = berm.World(solver=SOLVERS[name]())
    tags = world.add_grains([[0, 0, 0], [0.05 * R, 0, 0], [0, 0.5, 0]], R, material=SOFT)
    world.fix_grains(tags[:2])
    before = places(world, tags[:2])
    world.run(0.1)
    assert (places(world, tags[:2]) == before).all()
    assert places(world, tags[2:])[0, 2] == pytest.approx(-0.5 * 9.81 * 0.1**2, rel=0.2)
    world.fix_grains(tags)  # all of them
    world.run(0.05)
    assert (places(world, tags[:2]) == before).all()
    assert np.isfinite(world.report.kinetic_energy) and world.report.kinetic_energy == 0.0


@every_solver
def test_a_fixed_grain_in_a_wall_stays(name):
    world = berm.World(solver=SOLVERS[name]())
    world.add_body(berm.Plane(), name="floor", material=SOFT)
    world.add_body(
        berm.Box((0.5, 0.5, 0.02)), name="belt", position=(0.0, 0.0, 2.5 * R), material=SOFT,
        motion=berm.Linear((0.2, 0.0, 0.0)),
    )  # fmt: skip
    tags = world.add_grains([[0, 0, 0.97 * R]], R, material=SOFT)
    world.fix_grains(tags)
    before = places(world, tags)
    world.run(0.1)
    assert (places(world, tags) == before).all()
    assert (world.body("floor").force == 0.0).all()


@every_solver
def test_momentum_is_kept_where_a_freed_grain_takes_part(name):
    """Without gravity: fixed, struck, freed; then both are one closed system."""
    world = berm.World(solver=SOLVERS[name](), gravity=(0, 0, 0))
    soft = SOFT.replace(restitution=0.9, friction=0.0)
    tags = world.add_grains(
        [[0, 0, 0], [2.5 * R, 0, 0]], R, [[0, 0, 0], [-0.5, 0, 0]], soft, mass=[0.3, 0.1]
    )
    world.fix_grains(tags[:1])
    world.run(0.2)
    assert (places(world, tags[:1]) == 0.0).all()
    bounced = world.grains.velocity[world.grains.rows_of(tags[1:])[0], 0]
    assert bounced > -0.05  # it did not go through
    world.free_grains(tags[:1])
    assert measure.momentum(world)[0] == pytest.approx(0.1 * bounced, rel=1e-5, abs=1e-9)
    rows = world.grains.rows_of(tags)
    world.grains.velocity[rows] = [[0, 0, 0], [-0.5, 0, 0]]
    world.grains.position[rows] = [[0, 0, 0], [2.5 * R, 0, 0]]
    world.grains.changed = True
    world.run(0.2)
    assert measure.momentum(world)[0] == pytest.approx(-0.05, rel=0.02)
    assert world.grains.velocity[world.grains.rows_of(tags[:1])[0], 0] < -0.1


@every_solver
def test_masses_are_kept_to_the_last_bit(name, tmp_path):
    rng = np.random.default_rng(2)
    masses = 10.0 ** rng.uniform(-2, 1, 60)
    grid = np.stack(np.unravel_index(np.arange(60), (4, 4, 4)), -1)
    worlds = []
    for _ in range(2):
        world = berm.World(solver=SOLVERS[name]())
        world.add_body(berm.Plane(), name="floor", material=SOFT)
        tags = world.add_grains(2.2 * R * (grid + 1.0), R, material=SOFT, mass=masses)
        worlds.append(world)
    world, other = worlds
    world.fix_grains(tags[::3])
    world.run(0.1)
    assert (world.grains.mass[world.grains.rows_of(tags)] == masses).all()
    assert world.mass_added == masses.sum()
    other.restore(checkpoint_of(world, tmp_path))
    for one in (world, other):
        one.free_grains(tags[::3])
        one.fix_grains(tags[1::3])
        one.run(0.1)
    assert not differences(flat(world.state()), flat(other.state()))
    w = world.grains.v[world.grains.rows_of(tags), 3]
    expected = (1.0 / masses).astype(world.grains.dtype)
    expected[1::3] = 0.0
    assert (w == expected).all()
    world.remove_grains(tags[:20])
    assert world.mass_removed == pytest.approx(masses[:20].sum(), rel=1e-15)


def checkpoint_of(world, folder):
    checkpoint.save(world, folder / "c.npz")
    return checkpoint.load(folder / "c.npz")


def test_the_mean_mass_of_p2_leaves_fixed_grains_out():
    world = berm.World()
    heavy, _ = world.add_grains([[0, 0, 0], [1, 0, 0]], R, mass=[1000.0, 0.1])
    world.fix_grains([heavy])
    world.step()
    assert world.solver.mean_mass == 0.1
    world.free_grains([heavy])
    world.step()
    assert world.solver.mean_mass == pytest.approx(500.05)


@pytest.mark.parametrize("solver", ["vts", "sp"])
def test_a_dynamic_body_rests_on_fixed_grains(solver):
    world = berm.World(solver=solver)
    i, j = np.meshgrid(np.arange(5), np.arange(5))
    tags = world.add_grains(np.stack([2 * R * i.ravel(), 2 * R * j.ravel(), 0.0 * i.ravel()], 1), R)
    world.fix_grains(tags)
    world.add_body(
        berm.Box((0.1, 0.1, 0.05)), name="crate", dynamic=True, position=(4 * R, 4 * R, 0.05)
    )
    world.run(1.0)
    assert world.body("crate").position[2] == pytest.approx(R + 0.025, abs=0.3 * R)
    assert abs(world.body("crate").velocity[2]) < 0.01


def test_what_cannot_be_fixed_or_given_is_refused():
    world = berm.World(solver="dem")
    pair = Cluster([[-0.01, 0, 0], [0.01, 0, 0]], [0.02, 0.02], "pair")
    world.add_clusters(pair, [[0, 0, 1]])
    with pytest.raises(InputError, match="single grains"):
        world.fix_grains(world.grains.tags[:1])
    with pytest.raises(InputError, match="tags"):
        world.fix_grains([99])
    for mass in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="grains: mass of grain 0"):
            world.add_grains([[0, 0, 0]], R, mass=mass)
    with pytest.raises(InputError, match="grains: mass"):
        world.add_grains([[0, 0, 0]], R, mass=[1.0, 2.0])
