"""A world that diverges is stopped and told of; one that is only fast is not."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import berm
from berm.core.errors import InputError, SimulationError
from berm.io import checkpoint
from berm.io.recording import Recorder

SOLVERS = {
    "sweep": lambda: berm.P2(),
    "mass": lambda: berm.P2(averaging="mass"),
    "published": lambda: berm.P2.published(),
    "serial": lambda: berm.P2(averaging="serial", iterations=5, substeps=1),
    "vts": lambda: berm.VTS(),
    "sp": lambda: berm.SP(),
}


def bed(solver, count=5, **options):
    """Grains that fall into a box."""
    world = berm.World(solver=solver, seed=1, **options)
    world.add_body(
        berm.Box((0.05 * count, 0.05 * count, 2.0), inside=True, open_top=True), name="box",
        position=(0.025 * count, 0.025 * count, 1.0),
    )  # fmt: skip
    grid = np.stack(np.meshgrid(*[np.arange(count)] * 3, indexing="ij"), -1).reshape(-1, 3)
    jitter = np.random.default_rng(1).uniform(-0.002, 0.002, grid.shape)
    world.add_grains(0.05 * (grid + 0.5) + jitter, 0.023)
    return world


def over_relaxed():
    """P2 with a factor that explodes; a user is not given it."""
    solver = berm.P2(substeps_most=10)  # with more it would not explode
    solver.relaxation = 0.2
    return solver


def unsafe():
    """Jacobi with steps that are too long for a bed, as printed."""
    return berm.VTS(iteration="jacobi", safe=0.0, omega=1.9, iterations=40)


def test_p2_takes_no_relaxation_that_explodes():
    with pytest.raises(InputError, match=r"relaxation.*1 to 4"):
        berm.P2(relaxation=0.9)
    assert berm.P2(relaxation=1.5).relaxation == 1.5


@pytest.mark.parametrize("make", [over_relaxed, unsafe])
def test_divergence_is_told_with_grain_speed_step_and_what_to_change(make):
    world = bed(make())
    with pytest.raises(SimulationError, match=r"step \d+: grain \d+ .*diverged; try") as failure:
        world.run(5.0)
    tag, speed = re.search(r"grain (\d+) moves at (\S+) m/s", str(failure.value)).groups()
    rows = world.grains.rows_of([int(tag)])
    assert float(speed) == pytest.approx(
        float(np.linalg.norm(world.grains.velocity[rows[0]].astype(float))), rel=1e-3
    )
    h = world.dt / world.solver.substeps
    assert world.report.residual / h < 1e3  # the step before: told as soon as it was to be seen


def test_the_state_of_the_moment_is_saved_beside_the_recording(tmp_path):
    world = bed(over_relaxed())
    path = tmp_path / "out" / "recording.h5"
    with pytest.raises(SimulationError, match=r"diverged.*recording-failed\.npz"):
        world.run(5.0, recorders=[Recorder(path)])
    state = checkpoint.load(path.with_name("recording-failed.npz"))
    assert (state["grains"]["x"] == world.grains.x[: world.grains.n]).all()
    assert "diverged" in checkpoint.about(path.with_name("recording-failed.npz"))["error"]


def test_the_same_for_numbers_that_are_none(tmp_path):
    world = bed(berm.P2())
    world.control = lambda w: w.grains.v.__setitem__((0, 0), np.nan) if w.step_count == 3 else None
    path = tmp_path / "recording.h5"
    with pytest.raises(SimulationError, match=r"non-finite.*recording-failed\.npz"):
        world.run(1.0, recorders=[Recorder(path)])
    assert np.isnan(checkpoint.load(path.with_name("recording-failed.npz"))["grains"]["v"]).any()
    again = bed(berm.P2())
    again.run(0.1, recorders=[Recorder(path)])
    assert not path.with_name("recording-failed.npz").exists()


@pytest.mark.parametrize("name", SOLVERS)
def test_fast_worlds_are_let_be(name):
    """Emitters and velocities of any speed, bodies that strike, long falls, deep starts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world = bed(SOLVERS[name](), count=3)
        world.add_emitter(
            berm.Emitter(200, (0.075, 0.075, 1.5), "disc", (0.04, 0.1), 0.01, (0.0, 0.0, -100.0))
        )
        for _ in range(30):
            world.step()

        hammer = bed(SOLVERS[name](), count=3)
        hammer.add_body(
            berm.Box((0.1, 0.1, 0.1)), name="hammer", position=(0.075, 0.075, 3.0),
            motion=berm.Linear((0.0, 0.0, -300.0)),
        )  # fmt: skip
        for _ in range(3):
            hammer.step()

        edited = berm.World(solver=SOLVERS[name]())
        edited.add_grains([[0, 0, 0], [1, 0, 0]], 0.02)
        edited.step()
        edited.grains.velocity[0] = (0.0, 0.0, 5e4)
        for _ in range(5):
            edited.step()

        falling = berm.World(solver=SOLVERS[name](), precision="float64", dt=0.1)
        falling.add_grains([[0, 0, 0]], 0.001)
        for _ in range(600):
            falling.step()
        assert falling.grains.velocity[0, 2] == pytest.approx(-589, rel=0.02)

        deep = berm.World(solver=SOLVERS[name]())
        rng = np.random.default_rng(0)
        deep.add_grains(rng.uniform(0.0, 0.1, (60, 3)), 0.02)
        for _ in range(20):
            deep.step()


def test_mass_ratios_are_let_be():
    for solver in (berm.P2(), berm.VTS(), berm.SP()):
        world = berm.World(solver=solver)
        world.add_body(berm.Plane(), name="floor")
        high = 0.05 * np.arange(1, 7)
        world.add_grains(
            np.stack([0 * high, 0 * high, high], 1), 0.02, mass=10.0 ** -np.arange(6.0)
        )
        for _ in range(120):
            world.step()
