"""The C++ twin of benchmarks/twin does what the default form does, so its speed is a fair limit."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import berm
from berm.solvers.search.contact_list import slab_limits
from berm.solvers.search.patched_list import LEAST

sys.path.append(str(Path(__file__).resolve().parents[2]))
twin_module = pytest.importorskip("benchmarks.twin", reason="benchmarks/ is not here")

RADIUS, DAMPING, STIFFNESS, FRICTION = 0.02, 60.0, 1e5, 0.5


@pytest.fixture(scope="module")
def twin():
    try:
        twin_module.load()
    except twin_module.TwinUnavailable as problem:
        pytest.skip(str(problem))
    return twin_module


def worlds(twin, grains, threads=1):
    """A loose lattice above a floor, in berm and in the twin."""
    rng = np.random.default_rng(1)
    side = round(grains ** (1 / 3))
    index = np.arange(grains)
    cell = np.stack([index % side, index // side % side, index // side**2], axis=1)
    jitter = rng.uniform(-0.14 * RADIUS, 0.14 * RADIUS, cell.shape)
    soil = berm.Material(
        name="soil", density=2600.0, stiffness=STIFFNESS, damping=DAMPING,
        friction_static=FRICTION, friction_kinetic=FRICTION,
    )  # fmt: skip
    world = berm.World(solver=berm.P2(substeps_most=10))
    speed = rng.normal(0.0, 1.0, cell.shape)
    world.add_grains((cell + 0.5) * 2.3 * RADIUS + jitter, RADIUS, velocity=speed, material=soil)
    world.add_body(berm.Plane(), name="floor", material=soil)
    params = twin.TwinParams(
        stiffness=STIFFNESS, damping=DAMPING, friction_static=FRICTION, friction_kinetic=FRICTION,
        substeps=10, iterations=1, threads=threads, slabs=len(slab_limits(grains)) - 1,
    )  # fmt: skip
    rows = world.grains.x[:grains], world.grains.v[:grains]
    return world, twin.Twin(*rows, [[0.0, 0.0, 1.0, 0.0]], params)


def test_twin_goes_the_same_way(twin):
    """Same list, same order: after two steps of a crowd that collides, the places agree.

    With fewer grains than those from which on lists are patched: a patch has another order.
    """
    count = LEAST - 10
    world, other = worlds(twin, count)
    rebuilt = sum(world.step().rebuilt for _ in range(2))
    other.step("sweep", 2)
    place = world.grains.position[np.argsort(world.grains.tag[:count])]
    apart = np.abs(place - other.state()[0][:, :3]).max(axis=1)
    stats = other.stats()
    assert stats.searches == rebuilt > 2
    assert stats.pairs == len(world.solver.contacts.pairs()[0])
    assert stats.lanes == 8 * world.solver.contacts.ptr[-1]
    # 5e-5 measured; rounding grows tenfold every second step from here on
    assert apart.max() < 2e-4 * RADIUS
    assert np.median(apart) < 1e-5 * RADIUS


@pytest.mark.slow  # the twin keeps pushes of lost contacts, and may crash in a long wild run
def test_twin_comes_to_the_same_rest(twin):
    """Where rounding has parted the ways, the heaps are alike: overlap, contacts and weight."""
    world, other = worlds(twin, 2000)
    for _ in range(150):
        report = world.step()
    other.step("sweep", 150)
    stats, force = other.stats(), other.state()[2]
    weight = 9.81 * float(world.grains.mass[:2000].sum())
    assert -force[0, 2] == pytest.approx(weight, rel=0.01)
    assert -world.body("floor").force[2] == pytest.approx(weight, rel=0.01)
    assert stats.contacts == pytest.approx(report.contacts, rel=0.05)
    assert stats.overlap_mean == pytest.approx(report.overlap_mean, rel=0.1)
    for energy in (stats.kinetic_energy, report.kinetic_energy):
        assert energy < 1e-4 * weight * RADIUS


def test_twin_gives_the_same_bits_on_two_threads(twin):
    one, two = (worlds(twin, 4000, threads)[1] for threads in (1, 2))
    one.step("sweep", 3)
    two.step("sweep", 3)
    for a, b in zip(one.state()[:2], two.state()[:2], strict=True):
        np.testing.assert_array_equal(a, b)
