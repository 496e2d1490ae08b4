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


def answer(law, h, gravity, r, pair, p, x, u_kept, u_full, mass, memory):
    """New impulse of one contact, in plain NumPy: law, memory and friction of p2_law."""
    i, j = pair
    d = x[i] + u_kept[i] - x[j] - u_kept[j]
    normal = d / np.linalg.norm(d)
    gap, approach = np.linalg.norm(d) - r[i] - r[j], (u_kept[i] - u_kept[j]) @ normal
    k, c = h * h * law.stiffness, h * law.damping
    before = p @ normal
    old = memory * before
    damp = c if gap <= mass * max(old, 0.0) else 0.0
    new = max(old - (old + k * gap + damp * approach) / (1 + (k + damp) * mass), 0.0)
    rel = u_full[i] - u_full[j]
    slip = rel - (rel @ normal) * normal
    t = p - before * normal - slip / mass
    fast = slip @ slip > (h * 1.5 * np.linalg.norm(gravity) * h) ** 2
    cap = new * (law.friction_kinetic if fast else law.friction_static)
    size = np.linalg.norm(t)
    return new * normal + t * min(1.0, cap / size if size > 0 else 1.0), gap, approach


def numpy_twin_step(world, dt, order):
    """One step with a first, empty memory, in plain loops; `order`: pairs, for the sweep."""
    g, solver = world.grains, world.solver
    by_tag = np.argsort(g.tags)
    x, r = g.position[by_tag].astype(float), g.radius[by_tag].astype(float)
    v, w = g.velocity[by_tag].astype(float), 1.0 / g.mass[by_tag]
    n, h, law = len(x), dt / solver.substeps, world.materials[0]
    gravity, memory = np.asarray(world.gravity), solver.memory
    impulse = {pair: np.zeros(3) for pair in order}
    pushed, count = np.zeros((n, 3)), np.zeros(n)
    free = h * v + h * h * gravity
    for i, j in order:  # split masses: contacts of the first pass
        far = np.linalg.norm(x[i] + free[i] - x[j] - free[j])
        if far <= r[i] + r[j] + solver.TOUCH * r[i]:
            count[[i, j]] += 1
    for _ in range(solver.substeps):
        free = h * v + h * h * gravity
        kept, full = free + memory * pushed, free + pushed
        split = w * np.maximum(solver.relaxation * count, 1.0)
        count, sums = np.zeros(n), np.zeros((n, 3))
        for i, j in order:
            at_once = solver.averaging == "sweep"
            mass = w[i] + w[j] if at_once else split[i] + split[j]
            p = impulse[i, j]
            f, gap, approach = answer(law, h, gravity, r, (i, j), p, x, kept, full, mass, memory)
            impulse[i, j] = f
            for a, sign in ((i, 1), (j, -1)):
                sums[a] += sign * f
                count[a] += gap + min(approach, 0.0) <= solver.TOUCH * r[i]
                if at_once:
                    kept[a] += sign * w[a] * (f - memory * p)
                    full[a] += sign * w[a] * (f - p)
        pushed = w[:, None] * sums
        x, v = x + free + pushed, (free + pushed) / h
    return x, v


@pytest.mark.parametrize("averaging", ["sweep", "mass"])
def test_a_step_matches_a_numpy_twin(averaging):
    rng = np.random.default_rng(4)
    grid = np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), -1).reshape(-1, 3)
    material = berm.Material(
        "m", stiffness=2e4, damping=8.0, friction_static=0.5, friction_kinetic=0.4
    )
    # a skin that holds all pairs: no new list, so one order, for the whole step
    world = berm.World(precision="float64", solver=berm.P2(averaging=averaging, skin=2.0))
    world.add_grains(
        0.0385 * grid + rng.normal(0, 0.001, grid.shape),
        0.02,
        rng.normal(0, 0.2, grid.shape),
        material,
    )
    start = world.state()
    report = world.step()
    assert report.rebuilt == 1
    list_ = world.solver.contacts
    order = [
        (int(world.grains.tag[list_.lanes[8 * q + lane]]), int(world.grains.tag[j]))
        for q in range(len(list_.ptr) - 1)
        for slot in range(list_.ptr[q], list_.ptr[q + 1])
        for lane, j in enumerate(list_.nbr[8 * slot : 8 * slot + 8])
        if j != list_.lanes[8 * q + lane]
    ]
    by_tag = np.argsort(world.grains.tags)
    x, v = world.grains.position[by_tag].copy(), world.grains.velocity[by_tag].copy()
    world.restore(start)
    twin = numpy_twin_step(world, world.dt, order)
    np.testing.assert_allclose(x, twin[0], atol=1e-10)
    np.testing.assert_allclose(v, twin[1], atol=1e-8)


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
        averaging="mass", substeps=1, iterations=iterations, memory=0.0,
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
