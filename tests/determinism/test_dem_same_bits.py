"""Discrete elements: the same bits on any number of threads, on every run, after a restart."""

from __future__ import annotations

import numpy as np
import pytest

import berm
from berm.core.clusters import rod, tetrahedron
from berm.kernels.jit import get_threads, max_threads, set_threads
from berm.solvers.dem.solver import DEM
from tests.same_bits import assert_goes_on


def busy_world(integrator="verlet", seed=3):
    """Pour compound grains, drain, a spinning paddle; 1,300 spheres, so that threads are used."""
    options = {"normal": "linear", "rolling": "spring"} if integrator == "verlet" else {}
    world = berm.World(
        solver=DEM(integrator=integrator, **{"normal": "linear", **options}), seed=seed
    )
    rng = np.random.default_rng(seed)
    material = berm.material("gravel", stiffness=2e4)
    grid = np.stack(np.meshgrid(*[np.arange(10)] * 3, indexing="ij"), -1).reshape(-1, 3)
    where = 0.05 * grid + rng.uniform(-0.002, 0.002, grid.shape) + 0.03
    world.add_grains(where, 0.015 + 0.006 * rng.random(len(where)), material=material)
    world.add_clusters(
        rod(0.015, 3), np.array([[0.05 + 0.09 * i, 0.25, 0.6] for i in range(5)]), "random",
        material=material,
    )  # fmt: skip
    world.add_body(
        berm.Box((0.6, 0.6, 2.0), inside=True, open_top=True),
        position=(0.25, 0.25, 1.0), name="box", material=material,
    )  # fmt: skip
    world.add_body(
        berm.Box((0.3, 0.04, 0.1)), position=(0.25, 0.25, 0.75), name="paddle",
        motion=berm.Spin((0, 0, 1), 3.0), material=material,
    )  # fmt: skip
    world.add_emitter(
        berm.Emitter(
            100,
            (0.25, 0.25, 1.0),
            "disc",
            (0.15, 0.1),
            material=material,
            cluster=tetrahedron(0.012),
        )
    )
    world.add_sink(berm.Sink(low=(-1, -1, -1), high=(0.08, 0.08, 2.0)))
    return world


def advance(world, steps):
    """Step and return one print a step."""
    prints = []
    for _ in range(steps):
        world.step()
        g, c = world.grains, world.clumps
        forces = np.concatenate([np.concatenate([b.force, b.torque]) for b in world.bodies])
        prints.append(b"".join(
            a.tobytes() for a in (g.tags, g.x[: g.n], g.v[: g.n], g.spin[: g.n], c.x, c.q,
                                  c.L_own, forces)
        ))  # fmt: skip
    return prints


@pytest.mark.parametrize("integrator", ["verlet", "rkf45"])
def test_threads_do_not_matter(integrator):
    """One thread and all of them give the same bits."""
    steps = 8 if integrator == "verlet" else 1
    before = get_threads()
    try:
        set_threads(1)
        one = advance(busy_world(integrator), steps)
        set_threads(max_threads(), always=True)
        assert advance(busy_world(integrator), steps) == one
    finally:
        set_threads(before)


@pytest.mark.parametrize("integrator", ["verlet", "rkf45"])
def test_restart_goes_on_bit_for_bit(integrator, tmp_path):
    """A checkpoint in the middle changes nothing."""
    steps = 5 if integrator == "verlet" else 1
    world = busy_world(integrator)
    advance(world, steps)
    assert_goes_on(world, busy_world(integrator), lambda one: advance(one, steps), tmp_path)
