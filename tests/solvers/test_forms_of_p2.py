"""The forms of P2 side by side on one bed: what the default must hold and the published cannot."""

from __future__ import annotations

import numpy as np
import pytest

import berm


def bed(solver, grains, depth=1.0, radius=0.02, seed=0, friction=0.5):
    """A box of grains, `depth` m deep, dropped from a jittered lattice."""
    rng = np.random.default_rng(seed)
    pitch = 2.04 * radius
    high = int(depth / pitch * 1.15)
    wide = int(np.ceil(np.sqrt(grains / high)))
    grid = np.stack(np.meshgrid(*[np.arange(k) for k in (wide, wide, high)], indexing="ij"), -1)
    where = grid.reshape(-1, 3) * pitch + 0.5 * pitch
    where = where[np.argsort(where[:, 2], kind="stable")][:grains]
    world = berm.World(solver=solver)
    material = berm.material("gravel", friction=friction)
    noise = rng.uniform(-0.02, 0.02, where.shape) * radius
    world.add_grains(where + noise, radius, rng.normal(0, 0.3, where.shape), material)
    side = wide * pitch
    world.add_body(
        berm.Box((side, side, 4.0), inside=True, open_top=True), name="box", material=material,
        position=(side / 2, side / 2, 2.0),
    )  # fmt: skip
    return world


def overlaps(world):
    """Overlap of touching pairs, in diameters."""
    i, j = world.solver.contacts.pairs()
    x, r = world.grains.position.astype(float), world.grains.radius.astype(float)
    deep = (r[i] + r[j]) - np.linalg.norm(x[i] - x[j], axis=1)
    return deep[deep > 0] / (r[i] + r[j])[deep > 0]


def compare(grains, seconds):
    default, published = bed(berm.P2(), grains), bed(berm.P2.published(10, 0.5), grains)
    for world in (default, published):
        world.run(seconds)
    return default, published


def check_overlaps(default, published):
    ours, theirs = overlaps(default), overlaps(published)
    assert ours.mean() < 0.5 * theirs.mean()
    assert np.percentile(ours, 99) < 0.5 * np.percentile(theirs, 99)


def test_default_overlaps_less_than_half_of_the_published_form():
    """Ten passes over the contacts a step for both."""
    check_overlaps(*compare(3000, 2.0))


@pytest.mark.slow
def test_default_overlaps_less_than_half_at_20000_grains():
    check_overlaps(*compare(20_000, 3.0))


def test_floor_feels_the_weight_of_a_settled_bed():
    """5,000 grains: mean force on the box within 1 % of the weight."""
    world = bed(berm.P2(), 5000, depth=0.6)
    world.run(4.0)
    weight = float(world.grains.mass.sum()) * 9.81
    felt = []
    for _ in range(60):
        world.step()
        felt.append(-world.body("box").force[2] / weight)
    assert np.mean(felt) == pytest.approx(1.0, abs=0.01)


def test_bed_rests():
    world = bed(berm.P2(), 2000, depth=0.5)
    world.run(5.0)
    speed = np.sqrt((world.grains.velocity.astype(float) ** 2).sum(axis=1).mean())
    assert speed < 0.01


def numpy_twin_step(world, dt):
    """One step of the default form with a first, empty memory: plain loops in float64."""
    g, solver = world.grains, world.solver
    order = np.argsort(g.tags)
    x, r = g.position[order].astype(float), g.radius[order].astype(float)
    v, w = g.velocity[order].astype(float), 1.0 / g.mass[order]
    n, h = len(x), dt / solver.substeps
    law = world.materials[0]
    k, c = h * h * law.stiffness, h * law.damping
    mu_s, mu_k = law.friction_static, law.friction_kinetic
    pairs = [(i, j) for i in range(n) for j in range(i)]
    impulse = {pair: np.zeros(3) for pair in pairs}
    gravity = np.asarray(world.gravity)
    full, kept, count = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n)
    u = h * v + h * h * gravity
    for i, j in pairs:
        if np.linalg.norm(x[i] + u[i] - x[j] - u[j]) <= r[i] + r[j] + solver.TOUCH * r[i]:
            count[[i, j]] += 1
    for _ in range(solver.substeps):
        u_kept = h * v + h * h * gravity + w[:, None] * kept  # leads to contact ...
        p_kept = x + u_kept
        u = h * v + h * h * gravity + w[:, None] * full  # ... and by this one sliding is judged
        split = w * np.maximum(solver.relaxation * count, 1.0)
        full, kept, count = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n)
        for i, j in pairs:
            d, rel, p = p_kept[i] - p_kept[j], u[i] - u[j], impulse[i, j]
            normal = d / np.linalg.norm(d)
            gap, approach = np.linalg.norm(d) - r[i] - r[j], (u_kept[i] - u_kept[j]) @ normal
            mass, old = split[i] + split[j], p @ normal
            damp = c if gap <= mass * max(old, 0.0) else 0.0
            new = max(old - (old + k * gap + damp * approach) / (1 + (k + damp) * mass), 0.0)
            slip = rel - (rel @ normal) * normal
            t = p - old * normal - slip / mass
            mu = mu_k if slip @ slip > (h * 1.5 * np.linalg.norm(gravity) * h) ** 2 else mu_s
            size = np.linalg.norm(t)
            if size > mu * new:
                t = t * (mu * new / size)
            impulse[i, j] = solver.memory_normal * new * normal + solver.memory_tangent * t
            for a, sign in ((i, 1), (j, -1)):
                full[a] += sign * (new * normal + t)
                kept[a] += sign * impulse[i, j]
                count[a] += gap + min(approach, 0.0) <= solver.TOUCH * r[i]
        u = h * v + h * h * gravity + w[:, None] * full
        x, v = x + u, u / h
    return x, v


def test_default_step_matches_a_numpy_twin():
    rng = np.random.default_rng(4)
    grid = np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), -1).reshape(-1, 3)
    material = berm.Material(
        "m", stiffness=2e4, damping=8.0, friction_static=0.5, friction_kinetic=0.4
    )
    world = berm.World(precision="float64")
    world.add_grains(
        0.0385 * grid + rng.normal(0, 0.001, grid.shape),
        0.02,
        rng.normal(0, 0.2, grid.shape),
        material,
    )
    for _ in range(1):
        x, v = numpy_twin_step(world, world.dt)
        world.step()
    order = np.argsort(world.grains.tags)
    np.testing.assert_allclose(world.grains.position[order], x, atol=1e-10)
    np.testing.assert_allclose(world.grains.velocity[order], v, atol=1e-8)


def test_more_substeps_approach_the_spring():
    """Overlap under a known load goes to F / k as the substeps get finer (D6)."""
    errors = []
    for substeps in (5, 10, 20, 40):
        world = berm.World(solver=berm.P2(substeps=substeps), precision="float64")
        material = berm.Material(
            "m", stiffness=1e4, damping=200.0, friction_static=0, friction_kinetic=0
        )
        r = 0.05
        world.add_grains([[0, 0, r + 2 * r * k] for k in range(10)], r, material=material)
        world.add_body(berm.Plane(), material=material)
        world.run(10.0)
        top = world.grains.position[:, 2].max()
        m = float(world.grains.mass[0])
        exact = r + 2 * r * 9 - m * 9.81 / 1e4 * sum(10 - k for k in range(10))
        errors.append(abs(top - exact))
    assert errors[0] > errors[1] > errors[2] > errors[3]


def settle_column_once(iterations, acceleration):
    """Positions after one step of a compressed column, by many passes and no memory."""
    solver = berm.P2(
        substeps=1, iterations=iterations, memory_normal=0.0, memory_tangent=0.0,
        acceleration=acceleration, relaxation=1.0,
    )  # fmt: skip
    world = berm.World(solver=solver, precision="float64")
    material = berm.Material("m", stiffness=1e5, damping=0.0, friction_static=0, friction_kinetic=0)
    world.add_grains([[0, 0, 0.02 + 0.0399 * k] for k in range(8)], 0.02, material=material)
    world.add_body(berm.Plane(), material=material)
    world.step()
    return np.sort(world.grains.position[:, 2])


def test_iterations_converge_and_acceleration_helps():
    """The error falls with the iterations (D6); improved Jacobi, [Francu14] (38), is ahead."""
    exact = settle_column_once(20_000, 0.0)
    plain, faster = (
        [np.abs(settle_column_once(k, beta) - exact).max() for k in (5, 20, 80, 320)]
        for beta in (0.0, 1.0)
    )
    assert plain[0] > plain[1] > plain[2] > plain[3]
    assert faster[2] < plain[2] and faster[3] < plain[3]
