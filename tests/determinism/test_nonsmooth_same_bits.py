"""Solver "nonsmooth": the same bits on any number of threads and after a restart, merged or not."""

from __future__ import annotations

import numpy as np
import pytest

import berm
from berm.core.joints import Hinge, Slider
from berm.kernels.jit import get_threads, max_threads, set_threads
from berm.world.rocks import add_rocks
from tests.nonsmooth_tools import nonsmooth, stuff
from tests.same_bits import assert_goes_on

ROUGH = stuff(0.6, rolling_friction=0.05)


def yard(merging, method="hybrid"):
    """Rocks that fall on the ground and on a driven plate, beside an arm that sweeps them."""
    world = nonsmooth(merging=merging, method=method)
    world.add_body(berm.Plane(), name="floor", material=ROUGH)
    world.add_body(
        berm.Box((0.5, 1.5, 0.2)), name="plate", material=ROUGH, position=(-1.2, 0, 0.12),
        motion=berm.Linear((0.4, 0, 0), start=1.5, stop=2.5),
    )  # fmt: skip
    add_rocks(world, 24, (0.15, 0.25), seed=4, material=ROUGH, base=(0, 0, 0.02))
    boom = world.add_body(
        berm.Box((1.0, 0.1, 0.1)), name="boom", dynamic=True, mass=50.0, position=(1.5, 0.9, 0.25)
    )
    stick = world.add_body(
        berm.Box((0.8, 0.1, 0.1)), name="stick", dynamic=True, mass=30.0, position=(0.6, 0.9, 0.25),
        material=ROUGH,
    )  # fmt: skip
    swing = world.add_joint(Hinge(boom, None, (2.0, 0.9, 0.25), axis=(0, 0, 1), name="swing"))
    elbow = world.add_joint(Hinge(stick, boom, (1.0, 0.9, 0.25), axis=(0, 0, 1), name="elbow"))
    swing.drive(0.0, effort=(3e3, 4e3))
    elbow.hold(effort=2e3, compliance=1e-6)
    return world


def advance(world, steps, start=0):
    """Step with bodies, joints and commands that come and go; return one print a step."""
    prints = []
    for k in range(start, start + steps):
        if k == 20:
            late = world.add_body(
                berm.Sphere(0.1), name="late", dynamic=True, mass=5.0, position=(0.1, 0.1, 2.0)
            )
            world.add_joint(Slider(late, None, axis=(0, 0, 1), name="rail"))
        if k == 70:
            world.remove_joint(named(world, "rail"))
            world.remove_body(world.body("late"))
        if k == 120:
            named(world, "swing").drive(0.5, effort=3e3)
        if k == 200:
            named(world, "swing").drive(0.0, effort=3e3)
        world.step()
        state = {**world.bodies.state(), **{f"j {n}": v for n, v in world.joints.state().items()}}
        prints.append(tuple(np.asarray(value).tobytes() for value in state.values()))
    return prints


def named(world, name):
    return next(joint for joint in world.joints if joint.name == name)


@pytest.mark.parametrize(
    ("method", "merging"), [("hybrid", False), ("hybrid", True), ("split", True)]
)
def test_threads_do_not_change_a_bit(method, merging):
    """On 1, 2 and as many threads as there are, up to 4; also from one run to the next."""
    before, runs = get_threads(), []
    try:
        for threads in sorted({1, 2, min(4, max_threads())}):
            set_threads(threads, always=True)
            runs.append(advance(yard(merging, method), 240))
    finally:
        set_threads(before)
    for other in runs[1:]:
        for step, (one, two) in enumerate(zip(runs[0], other, strict=True)):
            assert one == two, f"step {step} differs"


@pytest.mark.parametrize("merging", [False, True])
@pytest.mark.parametrize("at", [15, 150, 230])
def test_a_fresh_world_goes_on_from_a_checkpoint(at, merging, tmp_path):
    """In mid-fall, while the arm sweeps, after it has stopped."""
    world = yard(merging)
    advance(world, at)
    fresh = yard(merging)
    if at > 20:  # the scene has to be the same, and the tags
        late = fresh.add_body(
            berm.Sphere(0.1), name="late", dynamic=True, mass=5.0, position=(0.1, 0.1, 2.0)
        )
        fresh.remove_body(late)
    assert_goes_on(world, fresh, lambda one: advance(one, 40, start=1000), tmp_path)


def test_a_restart_in_place_goes_on_bit_for_bit():
    """Also where bodies were merged since: units, seats and what contacts remember come back."""
    world = yard(True)
    advance(world, 100)
    state = world.state()
    first = advance(world, 60, start=100)
    world.restore(state)
    assert advance(world, 60, start=100) == first


def test_what_the_run_has_seen():
    """The worlds above merge and split, with the ground and with the machine."""
    world = yard(True)
    advance(world, 240)
    merging = world.solver.multibody.merging
    assert merging.merges > 10
    assert merging.splits > 10
    assert world.report.merged > 10
