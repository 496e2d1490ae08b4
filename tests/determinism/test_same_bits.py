"""Same input, same bits: on any number of threads, on every run, and after a restart."""

from __future__ import annotations

import numpy as np
import pytest

import berm
from berm.solvers.p2 import form
from berm.solvers.search import contact_list
from berm.solvers.walls import walls
from tests.same_bits import assert_goes_on, assert_same_on_threads

# the paddle stands among the grains at the start, so that some are thrown out
pytestmark = pytest.mark.filterwarnings("ignore:grain .* radii deep in body 'paddle'")


def busy_world(solver, seed=3):
    """Pour, drain, a spinning paddle, two materials, adhesion, add and remove while running."""
    world = berm.World(solver=solver, seed=seed)
    poured = "wet sand" if "adhesion" in world.solver.can else "dry sand"
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*[np.arange(11)] * 3, indexing="ij"), -1).reshape(-1, 3)
    where = 0.05 * grid + rng.uniform(-0.002, 0.002, grid.shape) + 0.03
    world.add_grains(where, 0.015 + 0.008 * rng.random(len(where)), material="gravel")
    world.add_body(
        berm.Box((0.6, 0.6, 2.0), inside=True, open_top=True),
        position=(0.25, 0.25, 1.0),
        name="box",
    )
    world.add_body(
        berm.Box((0.3, 0.04, 0.1)), position=(0.25, 0.25, 0.1), name="paddle",
        motion=berm.Spin((0, 0, 1), 3.0),
    )  # fmt: skip
    world.add_emitter(
        berm.Emitter(
            200, (0.25, 0.25, 0.8), "disc", (0.15, 0.1), radius=(0.01, 0.02), material=poured
        )
    )
    world.add_sink(berm.Sink(low=(-1, -1, -1), high=(0.08, 0.08, 2.0)))
    return world


def advance(world, steps, start=0):
    """Step; meddle with the grains on the way, as a user would. Return one hash a step."""
    prints = []
    for k in range(start, start + steps):
        if k == 7:
            world.remove_grains(tags=np.sort(world.grains.tags)[5:15])
        if k == 11:
            world.add_grains([[0.25, 0.25, 1.2]], 0.03, (0, 0, -5), "rock")
        world.step()
        g = world.grains
        forces = np.concatenate([np.concatenate([b.force, b.torque]) for b in world.bodies])
        prints.append(
            (
                g.tags.tobytes(),
                g.x[: g.n].tobytes(),
                g.v[: g.n].tobytes(),
                forces.tobytes(),
                world.report.substeps,
            )
        )
    return prints


SOLVERS = {
    "default": lambda: berm.P2(),
    "choosing": lambda: berm.P2(substeps=2, give=0.002),  # substeps follow the load
    "accelerated": lambda: berm.P2(averaging="mass", substeps=2, iterations=5, acceleration=0.5),
    "published": lambda: berm.P2.published(),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_threads_do_not_change_a_bit(name):
    assert_same_on_threads(lambda: advance(busy_world(SOLVERS[name]()), 25))


@pytest.mark.parametrize("name", SOLVERS)
def test_runs_repeat(name):
    assert advance(busy_world(SOLVERS[name]()), 15) == advance(busy_world(SOLVERS[name]()), 15)


@pytest.mark.parametrize("name", [*SOLVERS, "serial"])
def test_restart_continues_bit_for_bit(name, tmp_path):
    make = SOLVERS.get(name, lambda: berm.P2(averaging="serial", iterations=5, substeps=1))
    whole = busy_world(make())
    head = advance(whole, 14)
    assert_goes_on(whole, busy_world(make()), lambda world: advance(world, 11, start=14), tmp_path)
    assert len(head) == 14


@pytest.mark.parametrize("name", SOLVERS)
def test_giving_memory_back_changes_no_bit(name, monkeypatch):
    """Worlds of very many grains let buffers go between the stages of a search."""
    kept = advance(busy_world(SOLVERS[name]()), 15)
    for module in (contact_list, form, walls):
        monkeypatch.setattr(module, "LARGE", 1)
    assert advance(busy_world(SOLVERS[name]()), 15) == kept


def test_substeps_change_on_the_way():
    """Or the above would say nothing of it."""
    assert len({one[-1] for one in advance(busy_world(SOLVERS["choosing"]()), 25)}) > 2


def test_seed_changes_the_pour():
    assert advance(busy_world(berm.P2(), seed=3), 5) != advance(busy_world(berm.P2(), seed=4), 5)
