"""VTS and SP against closed forms, and a plain twin of one step (CASES A14-A19, column V)."""

from __future__ import annotations

import numpy as np
import pytest

import berm

G = 9.81
RADIUS = 0.05
KINDS = ("gs", "jacobi", "split", "ij", "mr", "cr")


def stuff(mu=0.0, e=1e-9, density=2600.0):
    return berm.Material(
        "stuff", density=density, restitution=e, friction_static=mu, friction_kinetic=mu
    )


def on_plane(solver, material, height=RADIUS, velocity=(0, 0, 0), gravity=(0, 0, -G), dt=1 / 60):
    world = berm.World(gravity=gravity, dt=dt, solver=solver, precision="float64")
    world.add_grains([[0, 0, height]], RADIUS, velocity, material)
    world.add_body(berm.Plane(), name="floor", material=material)
    return world


def solvers(**options):
    return [berm.VTS(**options), berm.SP(**options), berm.SP.pbd(**options)]


@pytest.mark.parametrize("make", [berm.VTS, berm.SP])
@pytest.mark.parametrize("v0", [0.0, 5.0])
def test_a1_free_fall(make, v0):
    world = berm.World(solver=make(), precision="float64")
    world.add_grains([[0, 0, 0]], RADIUS, (0, 0, v0))
    world.run(1.0)
    offset = 0.5 * G / 60  # of symplectic Euler
    assert world.grains.position[0, 2] == pytest.approx(v0 - 0.5 * G - offset, abs=1e-9)
    assert world.grains.velocity[0, 2] == pytest.approx(v0 - G, abs=1e-9)


@pytest.mark.parametrize("e", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("make", [berm.VTS, berm.SP])
def test_a14_restitution_in_is_restitution_out(make, e):
    world = berm.World(gravity=(0, 0, 0), solver=make(restitution=e), precision="float64")
    world.add_grains([[0, 0, 0], [0.3, 0, 0]], RADIUS, [[2, 0, 0], [-2, 0, 0]], stuff())
    world.run(0.5)
    v = world.grains.velocity[world.grains.rows_of([0, 1]), 0]
    assert v[1] - v[0] == pytest.approx(4 * e, abs=1e-3 * 4)


@pytest.mark.parametrize("friction", ["cone", "relaxed", "box"])
@pytest.mark.parametrize("make", [berm.VTS, berm.SP])
def test_a15_sliding_distance(make, friction):
    """mu = 0.5, 5 m/s: stops after 2.5484 m and 1.0194 s; relaxed contacts lift off, (39)."""
    world = on_plane(make(friction=friction), stuff(0.5), velocity=(5, 0, 0), dt=1 / 600)
    stopped = None
    for _ in range(700):
        world.step()
        if stopped is None and abs(world.grains.velocity[0, 0]) < 1e-6:
            stopped = world.time
    if friction == "relaxed":
        # a gap mu v h, the price of the convex problem: not the distance that is wrong but height
        assert world.grains.position[0, 0] == pytest.approx(2.5484, rel=2e-2)
        return
    assert world.grains.position[0, 0] == pytest.approx(2.5484, rel=5e-3)
    assert stopped == pytest.approx(1.0194, rel=5e-3)


@pytest.mark.parametrize("make", [berm.VTS, berm.SP])
@pytest.mark.parametrize("mu", [0.2, 0.5, 1.0])
def test_a16_slope_threshold(make, mu):
    """A grain on a slope starts to slide at tan(angle) = mu, within 1 %."""
    for factor, expect in ((0.99, False), (1.01, True)):
        tilt = np.arctan(factor * mu)
        gravity = (G * np.sin(tilt), 0, -G * np.cos(tilt))
        world = on_plane(make(), stuff(mu), gravity=gravity)
        world.run(2.0)
        assert bool(world.grains.velocity[0, 0] > 1e-3) is expect


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [berm.VTS, berm.SP])
def test_a18_stack_of_five(make, kind):
    """Rests straight, at the exact heights of rigid grains, and weighs what it weighs."""
    world = berm.World(solver=make(iteration=kind, iterations=60), precision="float64")
    world.add_grains([[0, 0, RADIUS * (1 + 2.02 * i)] for i in range(5)], RADIUS,
                     material=stuff(0.5))  # fmt: skip
    floor = world.add_body(berm.Plane(), material=stuff(0.5))
    world.run(3.0)
    at = world.grains.position[np.argsort(world.grains.tags)]
    assert np.abs(at[:, :2]).max() < 1e-6
    assert world.report.kinetic_energy < 1e-9
    assert at[:, 2] == pytest.approx(RADIUS * (1 + 2 * np.arange(5)), rel=1e-2)
    assert -floor.force[2] == pytest.approx(G * world.grains.mass.sum(), rel=1e-3)


@pytest.mark.parametrize("make", [berm.VTS, berm.SP])
def test_a19_pyramid_of_three(make):
    """Holds at mu = 0.5, falls at 0.01; smooth top: holds from mu_floor = 0.1925 on."""

    def spread(mu, top=None):
        solver = make(iterations=100)
        world = berm.World(solver=solver, precision="float64")
        d = 2 * RADIUS
        base = np.array([[0, 0], [d, 0]])
        world.add_grains([[*xy, RADIUS] for xy in base], RADIUS, material=stuff(mu))
        world.add_grains([[d / 2, 0, RADIUS + d * np.sqrt(0.75)]], RADIUS,
                         material=stuff(mu if top is None else top))  # fmt: skip
        world.add_body(berm.Plane(), material=stuff(mu))
        world.run(2.0)
        at = world.grains.position[world.grains.rows_of([0, 1, 2])]
        return at[1, 0] - at[0, 0] - d

    assert spread(0.5) < 0.05 * RADIUS
    assert spread(0.01) > RADIUS
    # the floor carries 1.5 W below each, and half of W tan 30 sideways
    limit = np.tan(np.pi / 6) / 3
    assert limit == pytest.approx(0.1925, abs=1e-4)
    assert spread(1.02 * limit, 0.0) < 0.05 * RADIUS
    assert spread(0.98 * limit, 0.0) > 0.2 * RADIUS


def bed(solver):
    """400 grains on a loose lattice in a box."""
    world = berm.World(solver=solver, seed=1)
    place = np.stack(np.meshgrid(*[np.arange(s) for s in (6, 6, 11)], indexing="ij"), -1)
    place = (place.reshape(-1, 3) + 0.5) * 0.042
    place += np.random.default_rng(1).uniform(-1e-3, 1e-3, place.shape)
    world.add_grains(place, 0.02, material=stuff(0.3))
    box = berm.Box((0.26, 0.26, 2.0), inside=True, open_top=True)
    return world, world.add_body(box, position=(0.13, 0.13, 1.0), material=stuff(0.3))


@pytest.mark.parametrize("kind", ["gs", "ij"])
def test_floor_force_of_a_bed(kind):
    """The floor feels the weight within 0.1 %, bodies' forces sum up to it."""
    world, body = bed(berm.VTS(iteration=kind, iterations=100))
    world.run(4.0)
    felt = []
    for _ in range(30):
        world.step()
        felt.append(-body.force[2])
    weight = G * world.grains.mass.sum()
    assert np.mean(felt) == pytest.approx(weight, rel=1e-3)
    assert np.std(felt) < 1e-3 * weight
    assert world.report.overlap_max < 0.02 * 0.02


@pytest.mark.parametrize("kind", ["gs", "ij"])
def test_a_bed_rests_with_15_iterations(kind):
    """Improved Jacobi, too: with omega 0.5 and 0.9 of the last impulses it swung for seconds."""
    world, _ = bed(berm.VTS(iteration=kind, iterations=15))
    world.run(1.5)
    assert np.sqrt((world.grains.velocity**2).sum(axis=1).mean()) < 0.01


def twin_step(x, v, w, pairs, floor, size, h, gamma, omega, sweeps, mu):
    """(6)-(9), (12), (29) in NumPy: contacts in the given order, floor contacts last."""
    v = v + h * np.array([0, 0, -G])
    rows = []
    for i, j in pairs:
        d = x[i] - x[j]
        n = d / np.linalg.norm(d)
        rows.append((i, j, n, gamma / h * (np.linalg.norm(d) - size)))
    for i in floor:
        rows.append((i, -1, np.array([0, 0, 1.0]), gamma / h * (x[i, 2] - size / 2)))
    impulse = np.zeros((len(rows), 3))
    for _ in range(sweeps):
        for k, (i, j, n, delta) in enumerate(rows):
            u = v[i] - (v[j] if j >= 0 else 0.0)
            alpha = omega / (w[i] + (w[j] if j >= 0 else 0.0))
            p = impulse[k] - alpha * (u + delta * n)
            push = max(p @ n, 0.0)
            t = p - (p @ n) * n
            long = np.linalg.norm(t)
            p = push * n + t * (min(1.0, mu * push / long) if long > 0 else 0.0)
            v[i] += w[i] * (p - impulse[k])
            if j >= 0:
                v[j] -= w[j] * (p - impulse[k])
            impulse[k] = p
    return x + h * v, v


def test_numpy_twin_of_one_step():
    rng = np.random.default_rng(5)
    world = berm.World(solver=berm.VTS(iterations=7, tolerance=1.0), precision="float64")
    x = np.array([[0, 0, 0.049], [0.098, 0.01, 0.0495], [0.05, 0.04, 0.12], [0.04, 0.09, 0.05]])
    v = rng.normal(0, 0.3, x.shape)
    world.add_grains(x, RADIUS, v, stuff(0.4))
    world.add_body(berm.Plane(), material=stuff(0.4))
    world.step()
    rows, tags = world.solver.rows, world.grains.tags
    pairs = tags[rows.ends[rows.first[0] : rows.last[0]]]
    floor = tags[rows.ends[rows.first[1] : rows.last[1], 0]]
    assert len(pairs) >= 3 and sorted(floor) == [0, 1, 3]
    at = world.grains.rows_of(range(4))
    twin_x, twin_v = twin_step(
        x, v, 1 / world.grains.mass[at], pairs, floor, 2 * RADIUS, 1 / 60, 0.5, 1.5, 7, 0.4
    )
    assert np.allclose(world.grains.position[at], twin_x, atol=1e-13)
    assert np.allclose(world.grains.velocity[at], twin_v, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_momentum_of_a_free_cluster(kind):
    rng = np.random.default_rng(2)
    for make in (berm.VTS, berm.SP):
        world = berm.World(gravity=(0, 0, 0), solver=make(iteration=kind), precision="float64")
        grid = np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), -1).reshape(-1, 3)
        where = 0.041 * grid + rng.uniform(-0.002, 0.002, grid.shape)
        speed = rng.normal(0, 1, where.shape) - 3.0 * (where - where.mean(axis=0))
        world.add_grains(where, rng.uniform(0.01, 0.02, len(where)), speed, stuff(0.5, e=0.5))
        mass = world.grains.mass[np.argsort(world.grains.tags)]
        before = mass @ speed
        world.run(0.5)
        after = world.grains.mass @ world.grains.velocity
        assert np.abs(after - before).max() < 1e-12 * np.abs(mass[:, None] * speed).sum()


def test_history_falls():
    """Residuals of every iteration on request; Gauss-Seidel brings them down."""
    world = on_plane(berm.VTS(record=True, iterations=20), stuff(0.5), velocity=(1, 0, -1))
    world.add_grains([[0, 0, 3.02 * RADIUS], [0, 0, 5.04 * RADIUS]], RADIUS, (0, 0, -2), stuff(0.5))
    world.step()
    history = [entry["l1"] for entry in world.solver.history]
    assert len(history) == 21
    assert history[-1] < 1e-3 * history[0]


def test_options_are_checked():
    for wrong in ({"iteration": "sor"}, {"friction": "wet"}, {"gamma": 2.0}, {"iterations": 0}):
        with pytest.raises(berm.InputError):
            berm.VTS(**wrong)
    with pytest.raises(berm.InputError):
        berm.SP(k_v=-1.0)
