"""What docs/theory/p2.md says about memory: the stability bound, and the stiffness a contact shows.

A substep of sweeps over contacts that stay closed is a linear map of positions, displacements and
impulses. Units here: grains of inverse mass 1, so K = h^2 k and C = h c are numbers.
"""

from __future__ import annotations

import numpy as np
import pytest

import berm
from berm.core.materials import mix

G = 9.81
RADIUS = 0.05
ONE_KG = 1.0 / (4.0 / 3.0 * np.pi * RADIUS**3)  # density of a grain of 1 kg
STIFFNESSES = np.logspace(-1, 3, 9)  # K w; gravel of 2 cm at 600 substeps a second has 3


def substep(lever, elastic, order, k, c, memory):
    """Matrix of one substep, (x, v h, P) to the same after it.

    lever (rows, freedoms): how far row e closes when a freedom moves; elastic[e]: a normal, (19),
    seen with the remembered part of the impulses; else a sticking tangent, (30), seen with all.
    """
    rows, freedoms = lever.shape
    start = np.eye(2 * freedoms + rows)
    x, v, impulse = np.split(start, [freedoms, 2 * freedoms])
    kept, whole = v + memory * lever.T @ impulse, v + lever.T @ impulse
    for e in order:
        arm, before = lever[e], impulse[e].copy()
        mass = arm @ arm
        if elastic[e]:
            normal = memory * before
            wrong = normal + k * (arm @ (x + kept)) + c * (arm @ kept)
            impulse[e] = normal - wrong / (1 + (k + c) * mass)
        else:
            impulse[e] = before - arm @ whole / mass
        kept += np.outer(arm, impulse[e] - memory * before)
        whole += np.outer(arm, impulse[e] - before)
    return np.vstack([x + whole, whole, impulse])


def chain(n):
    """Levers of a column on a floor: contact 0 is the floor's, c joins grains c - 1 and c."""
    return np.eye(n) - np.eye(n, k=-1)


def orders(n, shuffles=3):
    rng = np.random.default_rng(5)
    return [np.arange(n), np.arange(n)[::-1], *(rng.permutation(n) for _ in range(shuffles))]


def worst_radius(n, memory, stiffnesses, damping_ratios=(0.0, 0.4)):
    """Largest spectral radius of the chain's map over stiffness, damping and order."""
    lever, elastic = chain(n), np.ones(n, bool)
    return max(
        np.abs(np.linalg.eigvals(substep(lever, elastic, order, k, ratio * k, memory))).max()
        for k in stiffnesses
        for ratio in damping_ratios
        for order in orders(n)
    )


@pytest.mark.parametrize("memory", [0.0, 0.25, 0.5])
def test_memory_up_to_half_is_stable_for_any_stiffness_and_order(memory):
    assert worst_radius(25, memory, STIFFNESSES) < 1.0


@pytest.mark.parametrize(("memory", "grows"), [(0.55, 1.003), (0.7, 1.03), (0.8, 1.06)])
def test_more_memory_feeds_waves(memory, grows):
    assert worst_radius(25, memory, STIFFNESSES) > grows
    # soft contacts do not show it: the filter's pole is memory times K / (1 + K), nearly
    assert worst_radius(25, memory, STIFFNESSES[:1]) < 1.0


def test_half_is_sharp_for_long_chains():
    """The lag argument: for stiff contacts and long waves, nothing above 1/2 is stable."""
    assert worst_radius(60, 0.5, [1e4], [0.0]) < 1.0
    assert worst_radius(60, 0.51, [1e4], [0.0]) > 1.0


def rough_stack(layers, rng):
    """Levers of a close-packed stack, two by two wide, with sticking friction; floor below."""
    places = [
        (a, b, c) for a in (0, 1) for b in (0, 1) for c in range(layers) if (a + b + c) % 2 == 0
    ]
    row_of = {place: i for i, place in enumerate(places)}
    lever, elastic = [], []
    for place in places:
        for way in ((1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)):
            for sign in (1, -1):
                other = tuple(p + sign * w for p, w in zip(place, way, strict=True))
                if sign < 0 if other in row_of else other[2] >= 0:
                    continue  # found from the other side, or nobody there
                normal = -sign * np.array(way) + rng.normal(0, 0.1, 3)
                frame = np.linalg.qr(np.column_stack([normal, rng.normal(size=(3, 2))]))[0].T
                for e, direction in enumerate(frame):
                    arm = np.zeros((len(places), 3))
                    arm[row_of[place]] = direction
                    if other in row_of:
                        arm[row_of[other]] = -direction
                    lever.append(arm.ravel())
                    elastic.append(e == 0)
    return np.array(lever), np.array(elastic)


@pytest.mark.parametrize(
    ("memory", "k", "stable"),
    [(0.5, 0.1, True), (0.5, 31.0, True), (0.5, 1000.0, True), (0.8, 31.0, False)],
)
def test_sticking_friction_with_all_impulses_is_neutral(memory, k, stable):
    """Sliding is judged with the whole impulses: tangents neither feed waves nor let go.

    A stack can rest in many ways, so eigenvalues of 1 belong to it; what counts is that powers of
    the map stay bounded.
    """
    rng = np.random.default_rng(1)
    lever, elastic = rough_stack(16, rng)
    order = (3 * rng.permutation(len(lever) // 3)[:, None] + np.arange(3)).ravel()
    power = substep(lever, elastic, order, k, 0.0, memory)
    size = []
    for _ in range(13):  # to 8192 substeps
        power = power @ power
        size.append(float(np.linalg.norm(power)))
        if size[-1] > 1e12:
            break
    if stable:
        assert size[-1] == pytest.approx(size[-2], rel=0.01)  # it has come to rest
    else:
        assert size[-1] > 1e6


def column(n, **options):
    """A column of n grains of 1 kg on a floor, settled; its K and C in a substep."""
    stuff = berm.Material(
        "stuff", density=ONE_KG, stiffness=1e6, damping=1e3, friction_static=0.0,
        friction_kinetic=0.0, adhesion=0.0,
    )  # fmt: skip
    world = berm.World(solver=berm.P2(**options), precision="float64")
    world.add_grains([[0, 0, RADIUS * (2 * i + 1)] for i in range(n)], RADIUS, (0, 0, 0), stuff)
    world.add_body(berm.Plane(), name="floor", material=stuff)
    world.run(10.0)
    assert np.abs(world.grains.velocity).max() < 1e-10
    h = world.dt / world.solver.substeps
    law = mix(stuff, stuff, 0.5)
    return world, h * h * law.stiffness, h * law.damping


def order_of(world):
    """Contacts of a column in the order in which they are answered: pairs, then the floor's."""
    i, j = world.solver.contacts.pairs()
    above = np.maximum(world.grains.tag[i], world.grains.tag[j])
    return [*(int(tag) for tag in above - world.grains.tag[: world.grains.n].min()), 0]


@pytest.mark.parametrize("memory", [0.0, 0.5])
def test_the_map_is_what_the_solver_does(memory):
    """A small kick to a column at rest goes on as the map says."""
    n = 6
    world, k, c = column(n, memory=memory)
    rest = world.grains.position[:, 2].copy()
    by_height = np.argsort(rest)
    kick = 1e-4 * np.sin(1.0 + np.arange(n))  # m/s, small against g times a step
    h = world.dt / world.solver.substeps
    world.grains.velocity[by_height, 2] += kick
    assert world.step().rebuilt == 0
    state = np.concatenate([np.zeros(n), h * kick, np.zeros(n)])
    once = substep(chain(n), np.ones(n, bool), order_of(world), k, c, memory)
    state = np.linalg.matrix_power(once, world.solver.substeps) @ state
    moved = (world.grains.position[:, 2] - rest)[by_height]
    np.testing.assert_allclose(moved, state[:n], atol=1e-6 * np.abs(state[:n]).max())


@pytest.mark.parametrize("averaging", ["sweep", "mass"])
@pytest.mark.parametrize("memory", [0.0, 0.5])
def test_stiffness_that_a_contact_shows(averaging, memory):
    """K / (1 + (1 - memory) (K + C) (M - M_seen)), contact by contact."""
    n = 6
    world, k, c = column(n, averaging=averaging, memory=memory)
    height = np.sort(world.grains.position[:, 2])
    gap = np.diff(height, prepend=-RADIUS) - 2 * RADIUS
    load = np.arange(n, 0, -1.0)  # of contact c, in weights
    mass, seen = np.where(np.arange(n) > 0, 2.0, 1.0), np.zeros(n)
    met = np.full(n, -1.0)  # displacement of each grain before its contacts, over 1 - memory
    for contact in order_of(world):
        below = met[contact - 1] if contact > 0 else 0.0
        seen[contact] = (below - met[contact]) / load[contact]
        if averaging == "sweep":  # later contacts see what this one has done
            met[contact] += load[contact]
            if contact > 0:
                met[contact - 1] -= load[contact]
    if averaging == "mass":  # each grain gives its contacts equal parts of its mass
        contacts = np.full(n, 2.0)
        contacts[-1] = 1.0
        mass = contacts + np.where(np.arange(n) > 0, np.roll(contacts, 1), 0.0)
    shown = k / (1 + (1 - memory) * (k + c) * (mass - seen))
    h = world.dt / world.solver.substeps
    np.testing.assert_allclose(-h * h * G * load / gap, shown, rtol=1e-6)
