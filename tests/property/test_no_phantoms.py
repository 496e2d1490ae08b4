"""What a grain remembers is what its contacts remember: no push without a contact."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import berm


def phantom(world):
    """Largest push that no listed contact accounts for, in weights of a grain."""
    g, list_, walls = world.grains, world.solver.contacts, world.solver.walls
    total = np.zeros((g.n, 3))
    i = np.repeat(list_.lanes.reshape(-1, 8), np.diff(list_.ptr), axis=0).reshape(-1)
    p = list_.imp.reshape(-1, 3, 8).transpose(0, 2, 1).reshape(-1, 3).astype(float)
    real = i != list_.nbr
    np.add.at(total, i[real], p[real])
    np.add.at(total, list_.nbr[real], -p[real])
    for s in range(len(walls.count)):
        rows = walls.rows[s, : walls.count[s]]
        np.add.at(total, rows, walls.impulse[s, : walls.count[s], :3])
    h = world.dt / world.solver.substeps
    off = g.warm[: g.n, :3] - g.v[: g.n, 3:] * total
    return float(np.abs(off).max()) / (h * h * 9.81)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), substeps=st.sampled_from([1, 4, 10]))
def test_no_push_without_a_contact(seed, substeps):
    rng = np.random.default_rng(seed)
    world = berm.World(solver=berm.P2(substeps=substeps, iterations=max(1, 10 // substeps)))
    world.add_body(berm.Box((0.5, 0.5, 3.0), inside=True, open_top=True), position=(0, 0, 1.5))
    lattice = np.stack(np.meshgrid(*[np.arange(7)] * 3, indexing="ij"), -1).reshape(-1, 3)
    world.add_grains(
        0.05 * (lattice - (3, 3, -1)) + rng.uniform(-0.004, 0.004, (343, 3)), 0.02,
        rng.normal(0, 2.0, (343, 3)), berm.material("gravel", friction=0.5),
    )  # fmt: skip
    for k in range(40):
        world.step()
        if k % 10 == 9:
            world.remove_grains(mask=rng.random(world.grains.n) < 0.1)
            world.step()
        assert phantom(world) < 0.05


def test_a_lightened_column_weighs_less_at_once():
    world = berm.World()
    world.add_body(berm.Plane(), name="floor")
    world.add_grains([[0, 0, 0.02 + 0.04 * k] for k in range(6)], 0.02)
    world.run(2.0)
    weight = float(world.grains.mass[0]) * 9.81
    assert np.isclose(-world.body("floor").force[2] / weight, 6.0, rtol=1e-2)
    world.remove_grains(mask=world.grains.position[:, 2] > 0.12)
    world.run(1.0)
    assert np.isclose(-world.body("floor").force[2] / weight, 3.0, rtol=1e-2)
