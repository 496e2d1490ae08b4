"""Merge and split of random clusters keep what has to be kept, whatever the graph of contacts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import berm
from berm.core.rotations import matrix_of, random_rotations
from berm.kernels.multibody import merging as kernel
from berm.kernels.multibody.contact_list import MEMORY, QUIET, STATE
from berm.world.rocks import rock
from tests.momenta import momenta
from tests.nonsmooth_tools import nonsmooth, stuff

SEEDS = st.integers(0, 2**31 - 1)
SHAPES = [rock(k, 0.2, kind) for k in range(3) for kind in ("spheres", "box")]


def cluster(rng, count, floor=False, speed=1.0, **options):
    """Rocks on a lattice, none of which touch, each with a motion of its own; no gravity."""
    world = nonsmooth(gravity=(0, 0, 0), merging=True, **options)
    if floor:
        world.add_body(berm.Plane(), name="floor", material=stuff(), position=(0, 0, -10.0))
    for k in range(count):
        place = 0.5 * np.array([k % 3, k // 3 % 3, k // 9]) + rng.uniform(-0.05, 0.05, 3)
        world.add_body(
            SHAPES[int(rng.integers(len(SHAPES)))], name=f"rock {k}", dynamic=True,
            density=float(rng.uniform(500, 5000)), material=stuff(), position=place,
            rotation=matrix_of(random_rotations(rng, 1)[0]),
            velocity=speed * rng.normal(0, 1, 3), angular_velocity=speed * rng.normal(0, 3, 3),
        )  # fmt: skip
    world.solver.multibody.follow(world)
    return world


def contacts(world, edges):
    """Contacts that are quiet, in the order of memory, for edges (k, 2) between rows."""
    tags = world.bodies.tag
    pairs = sorted({(int(min(a, b)), int(max(a, b))) for a, b in edges if a != b})
    memory = np.zeros((len(pairs), MEMORY))
    for at, (a, b) in enumerate(pairs):
        memory[at, :2], memory[at, STATE] = (tags[a], tags[b]), QUIET
    return memory


def merge(world, edges):
    """Merge along edges; return the energy (J) that the kernel says was lost."""
    multi, bodies = world.solver.multibody, world.bodies
    bodies.calm[:] = 1000
    nb = bodies.n
    multi.memory, multi.merging.inner, lost, _ = kernel.merge(
        multi.arrays, multi.joints, bodies.tag, contacts(world, edges), multi.merging.inner,
        bodies.calm, multi.merging.quiet, np.zeros(nb, bool), np.ones(0, bool),
    )  # fmt: skip
    multi._keep_units(bodies)
    return lost


def split(world, loose):
    """Cut off rows where loose (nb,) is true."""
    multi, bodies = world.solver.multibody, world.bodies
    multi.memory, multi.merging.inner, cut = kernel.split(
        multi.arrays, multi.joints, bodies.tag, multi.memory, multi.merging.inner, bodies.calm,
        bodies.felt, bodies.v.copy(), np.zeros(3), world.dt, multi.merging.quiet, loose,
        np.zeros(0, bool),
    )  # fmt: skip
    multi._keep_units(bodies)
    return cut


def groups(n, edges):
    """Number of the part of a graph of n nodes that each is in, the lowest node first."""
    edges = np.asarray(edges, int).reshape(-1, 2)
    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    _, label = connected_components(graph, directed=False)
    return np.array([int(np.flatnonzero(label == label[k])[0]) for k in range(n)])


def random_edges(rng, low, high, share):
    """Edges between rows low to high - 1, about `share` a row."""
    return rng.integers(low, high, (round(share * (high - low)), 2))


def whole_inertia(bodies, rows):
    """Mass, centre and inertia (3, 3) about it of several rows, in the world's axes."""
    mass = bodies.mass[rows]
    centre = mass @ bodies.x[rows] / mass.sum()
    inertia = np.zeros((3, 3))
    for row in rows:
        turn, arm = matrix_of(bodies.q[row]), bodies.x[row] - centre
        inertia += turn @ np.diag(bodies.moments[row]) @ turn.T
        inertia += bodies.mass[row] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return mass.sum(), centre, inertia


@settings(max_examples=40)
@given(SEEDS, st.integers(2, 24), st.floats(0.2, 2.0))
def test_merging_keeps_mass_momentum_and_angular_momentum(seed, count, share):
    rng = np.random.default_rng(seed)
    world = cluster(rng, count)
    bodies, edges = world.bodies, random_edges(rng, 1, count + 1, share)
    linear, angular = momenta(world)
    energy, places = bodies.kinetic_energy(), bodies.x.copy()
    size = float((bodies.mass[1:, None] * np.abs(bodies.v[1:])).sum()) + 1e-9
    lost = merge(world, edges)
    np.testing.assert_allclose(momenta(world)[0], linear, atol=1e-12 * size)
    np.testing.assert_allclose(momenta(world)[1], angular, atol=1e-12 * size * 3.0)
    assert lost == pytest.approx(energy - bodies.kinetic_energy(), rel=1e-9, abs=1e-12 * energy)
    assert lost >= -1e-12 * energy
    np.testing.assert_array_equal(bodies.x, places)  # nobody moves
    expected = groups(count + 1, edges)
    for lead in np.unique(expected):
        rows = np.flatnonzero(expected == lead)
        tag = bodies.tag[lead] if len(rows) > 1 else -1
        assert (bodies.super_body[rows] == tag).all()
        if len(rows) == 1:
            continue
        mass, centre, inertia = whole_inertia(bodies, rows)
        assert 1.0 / bodies.unit_w[lead] == pytest.approx(mass, rel=1e-12)
        np.testing.assert_allclose(
            np.sort(bodies.unit_moments[lead]), np.linalg.eigvalsh(inertia), rtol=1e-11
        )
        middle = world.solver.multibody.arrays.middle[lead]
        np.testing.assert_allclose(middle, centre, atol=1e-13)
        # members go as one: the same angular velocity, and speeds along its arms
        omega = bodies.omega[lead]
        np.testing.assert_allclose(bodies.omega[rows], np.tile(omega, (len(rows), 1)), atol=1e-10)
        v = bodies.mass[rows] @ bodies.v[rows] / mass
        np.testing.assert_allclose(
            bodies.v[rows], v + np.cross(omega, bodies.x[rows] - centre), atol=1e-10
        )


@settings(max_examples=40)
@given(SEEDS, st.integers(2, 24), st.floats(0.5, 2.0))
def test_splitting_changes_no_motion_and_cuts_what_is_loose_alone(seed, count, share):
    rng = np.random.default_rng(seed)
    world = cluster(rng, count)
    bodies, edges = world.bodies, random_edges(rng, 1, count + 1, share)
    merge(world, edges)
    before = {name: getattr(bodies, name).copy() for name in ("x", "q", "v", "L", "omega")}
    loose = np.zeros(count + 1, bool)
    loose[1:] = rng.random(count) < 0.3
    wanted = loose & (bodies.super_body >= 0)
    cut = split(world, loose.copy())
    assert cut == wanted.sum()
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(bodies, name), value)
    left = [(a, b) for a, b in edges if not (loose[a] or loose[b])]
    expected = groups(count + 1, left)
    for row in range(1, count + 1):
        many = (expected == expected[row]).sum() > 1
        assert bodies.super_body[row] == (bodies.tag[expected[row]] if many else -1)


@settings(max_examples=25)
@given(SEEDS, st.integers(3, 20))
def test_regrouping_in_turns_is_the_graph_of_the_edges_that_are_left(seed, count):
    """Merge, split and merge again: inner contacts plus new ones say who is one."""
    rng = np.random.default_rng(seed)
    world = cluster(rng, count)
    bodies, held = world.bodies, []
    for _ in range(4):
        unit = world.solver.multibody.arrays.unit  # members of one do not meet
        new = [e for e in random_edges(rng, 1, count + 1, 0.5) if unit[e[0]] != unit[e[1]]]
        merge(world, new)
        held = held + [tuple(e) for e in new]
        linear, angular = momenta(world)
        loose = np.zeros(count + 1, bool)
        loose[1:] = rng.random(count) < 0.2
        split(world, loose.copy())
        held = [(a, b) for a, b in held if not (loose[a] or loose[b])]
        np.testing.assert_array_equal(momenta(world)[0], linear)
        np.testing.assert_array_equal(momenta(world)[1], angular)
        expected = groups(count + 1, held)
        for row in range(1, count + 1):
            many = (expected == expected[row]).sum() > 1
            assert bodies.super_body[row] == (bodies.tag[expected[row]] if many else -1)


@settings(max_examples=20)
@given(SEEDS, st.integers(2, 12))
def test_what_is_merged_with_the_ground_stands_still(seed, count):
    """All of its energy is booked, none of it moves, and its neighbours by edges are asleep too."""
    rng = np.random.default_rng(seed)
    world = cluster(rng, count, floor=True, speed=0.01)
    bodies = world.bodies
    edges = [(1, k) for k in range(2, count + 2) if rng.random() < 0.5]
    edges += [tuple(e) for e in random_edges(rng, 2, count + 2, 0.5)]
    energy = bodies.kinetic_energy()
    lost = merge(world, edges)
    expected = groups(count + 2, [*edges, (0, 1)])
    asleep = expected[2:] == 0
    assert ((bodies.super_body[2:] == 0) == asleep).all()
    assert not bodies.v[2:][asleep].any()
    assert not bodies.omega[2:][asleep].any()
    assert lost == pytest.approx(energy - bodies.kinetic_energy(), rel=1e-9, abs=1e-12 * energy)


@pytest.mark.parametrize("seed", range(3))
def test_a_super_body_turns_as_one_body_of_the_same_mass(seed):
    """1 s of tumbling against a body with the mass, centre and inertia of the whole."""
    rng = np.random.default_rng(seed)
    world = cluster(rng, 5, dt=1 / 600, merge_tilt=100.0)
    bodies, rows = world.bodies, np.arange(1, 6)
    merge(world, [(k, k + 1) for k in range(1, 5)])
    mass, centre, inertia = whole_inertia(bodies, rows)
    v = bodies.mass[rows] @ bodies.v[rows] / mass
    other = nonsmooth(1 / 600, (0, 0, 0))
    one = other.add_body(
        berm.Sphere(0.1), name="whole", dynamic=True, mass=mass, inertia=inertia, position=centre,
        velocity=v, angular_velocity=bodies.omega[1],
    )  # fmt: skip
    arms = bodies.x[rows] - centre
    frames = [matrix_of(bodies.q[row]) for row in rows]
    linear, angular = momenta(world)
    for _ in range(600):
        world.step()
        other.step()
    assert (bodies.super_body[rows] == bodies.tag[1]).all()
    turned = one.rotation
    np.testing.assert_allclose(bodies.x[rows], one.position + arms @ turned.T, atol=2e-5)
    for row, frame in zip(rows, frames, strict=True):
        np.testing.assert_allclose(matrix_of(bodies.q[row]), turned @ frame, atol=1e-4)
    size = float(np.abs(linear).sum() + np.abs(angular).sum())
    np.testing.assert_allclose(momenta(world)[0], linear, atol=1e-12 * size)
    np.testing.assert_allclose(momenta(world)[1], angular, atol=1e-11 * size)
