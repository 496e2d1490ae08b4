"""A state is a value: independent of its world, and restorable any number of times, bit for bit."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from tests.state_worlds import CASES, SOLVERS, build, differences, flat

BEFORE, AFTER = 12, 9


def steps(world, count):
    """Step, and meddle on the way as a user would; return the state at the end."""
    for _ in range(count):
        if world.step_count == BEFORE + 3:
            single = world.grains.tags
            if world.clumps.n:
                single = single[world.grains.owner[: world.grains.n] < 0]
            world.remove_grains(tags=np.sort(single)[:2])
            world.add_grains([[0.1, 0.15, 0.6]], 0.015, material=world.materials[0])
        world.step()
    return flat(world.state())


def spoil(state: Any) -> None:
    """Overwrite every array of a state."""
    if isinstance(state, dict | list | tuple):
        for value in state.values() if isinstance(state, dict) else state:
            spoil(value)
    elif isinstance(state, np.ndarray) and state.ndim:
        state[...] = 7


# how long a busy machine takes is no part of it
@pytest.mark.filterwarnings("ignore:solver dem. a step of")
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_state_is_a_value(name, kind):
    world = build(name, kind)
    steps(world, BEFORE)
    state = world.state()
    asked = flat(state)
    kept = copy.deepcopy(state)
    expected = steps(world, AFTER)
    assert not differences(flat(state), asked), "stepping wrote into a state"

    for _ in range(2):
        world.restore(state)
        assert not differences(flat(world.state()), asked), "what was restored is another state"
        assert not differences(steps(world, AFTER), expected)
        assert not differences(flat(state), asked), "a restored world wrote into its state"
        steps(world, 5)  # goes on before it is restored again

    second = build(name, kind)
    second.restore(state)
    spoil(state)  # the world keeps nothing of it
    assert not differences(steps(second, AFTER), expected)
    steps(second, 3)
    second.restore(kept)
    assert not differences(steps(second, AFTER), expected)


@pytest.mark.filterwarnings("ignore:solver dem. a step of")
@pytest.mark.parametrize("name", SOLVERS)
def test_a_state_from_before_the_first_step_can_be_restored(name):
    world = build(name, "with bodies")
    state = world.state()
    expected = steps(world, 2)
    world.restore(state)
    assert not differences(flat(world.state()), flat(state))
    assert not differences(steps(world, 2), expected)
