"""What tests of determinism share: runs are compared by their prints, bit for bit, step by step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from berm.io import checkpoint
from berm.kernels.jit import get_threads, max_threads, set_threads
from berm.world.world import World

Prints = list[Any]


def assert_same_on_threads(run: Callable[[], Prints]) -> None:
    """A run from its start prints the same on one thread and on two."""
    if max_threads() < 2:
        pytest.skip("only one thread here")
    before = get_threads()
    try:
        runs = []
        for threads in (1, 2):
            set_threads(threads, always=True)
            runs.append(run())
    finally:
        set_threads(before)
    for step, (one, two) in enumerate(zip(*runs, strict=True)):
        assert one == two, f"step {step} differs"


def assert_goes_on(
    world: World, fresh: World, go_on: Callable[[World], Prints], folder: Path
) -> None:
    """A fresh world that takes over the checkpoint of another goes on as that one does."""
    checkpoint.save(world, folder / "state.npz")
    tail = go_on(world)
    fresh.restore(checkpoint.load(folder / "state.npz"))
    assert go_on(fresh) == tail
