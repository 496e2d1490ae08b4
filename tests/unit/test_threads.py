"""The choice of threads: what the clock says, found with few steps that take the wrong way."""

from __future__ import annotations

import pytest

from berm.kernels.threads import ALONE, MANY, TRIAL, ThreadChoice

pytestmark = pytest.mark.nojit


def run(choice, grains, cost, steps, most=2):
    """Take steps that cost cost[threads] s each; return the threads of each step."""
    used = []
    for k in range(steps):
        count = choice.begin(grains, most)
        used.append(count)
        choice.end(grains, cost[count] * (3.0 if k % 4 == 0 else 1.0))  # some search, too
    return used


def test_a_small_world_stays_on_one_thread():
    assert set(run(ThreadChoice(), ALONE - 1, {1: 1.0, 2: 0.5}, 100)) == {1}


@pytest.mark.parametrize("grains", [ALONE, MANY])
@pytest.mark.parametrize(("one", "two"), [(1.0, 0.55), (1.0, 2.5), (1.0, 1.2), (1.0, 1.0)])
def test_the_faster_way_is_found_and_costs_little_more_than_the_best(grains, one, two):
    cost = {1: one, 2: two}
    used = run(ThreadChoice(), grains, cost, 600)
    spent, best = sum(cost[count] for count in used), 600 * min(one, two)
    assert spent < 1.05 * best
    if one != two:
        assert used[-1] == min(cost, key=cost.get)


def test_what_changes_is_found_out_again():
    choice = ThreadChoice()
    assert run(choice, MANY, {1: 1.0, 2: 0.5}, 300)[-1] == 2
    used = run(choice, MANY, {1: 1.0, 2: 3.0}, 3000)  # others use the machine now
    assert used[-1] == 1 and used.count(2) < 40
    assert run(choice, 4 * MANY, {1: 1.0, 2: 0.5}, 1)[-1] == 2  # another world: all again
    assert run(choice, 4 * MANY, {1: 1.0, 2: 0.5}, 10, most=1)[-1] == 1  # no more are allowed


def test_a_trial_without_hope_ends_after_one_step():
    used = run(ThreadChoice(), ALONE, {1: 1.0, 2: 50.0}, 60)
    assert 1 <= used.count(2) < TRIAL


def test_a_world_runs_on_as_many_threads_as_it_is_told_always():
    import berm
    from berm.kernels import jit

    world = berm.World(solver="p2")
    world.add_grains([[0.0, 0.0, 0.0]], 0.1)
    before = jit.get_threads()
    try:
        jit.set_threads(jit.max_threads(), always=True)
        world.step()
        assert jit.runs_alone() == (jit.max_threads() == 1)
        jit.set_threads(jit.max_threads())
        world.step()
        assert jit.runs_alone()  # one grain
    finally:
        jit.set_threads(before)
