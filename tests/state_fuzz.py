"""Restores states in which something is wrong; run as a program, for it must not crash.

`python -m tests.state_fuzz SOLVER SEED COUNT`: each mutation is refused with an InputError that
leaves the world as it was, or the world steps on (which may end in a SimulationError).
"""

from __future__ import annotations

import contextlib
import copy
import faulthandler
import signal
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from berm.core.errors import InputError, SimulationError
from tests.state_worlds import BODIES, build, differences, flat

NUMBERS = (-1, 0, 1, 2, 7, 64, 1_000_000, 2**31 - 1, -(2**31), 1e-30, 1e6, 1e30, np.nan, np.inf)
SECONDS = 20.0  # that two steps may take, the first of all compiles
OTHERS = (None, "x", -1, 0, 1, 3, 1e9, 2**40, np.nan, [], {}, True, np.zeros(3))


def leaves(state: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all arrays and values."""
    if isinstance(state, dict):
        return [p for key, value in state.items() for p in leaves(value, (*path, key))]
    if isinstance(state, list) and state:
        return [p for k, value in enumerate(state) for p in leaves(value, (*path, k))]
    return [path]


def mutate(state: Any, rng: np.random.Generator) -> str:
    """Change one place of a state; return what was done."""
    paths = leaves(state)
    path = paths[rng.integers(len(paths))]
    holder = state
    for key in path[:-1]:
        holder = holder[key]
    old = holder[path[-1]]
    if isinstance(old, np.ndarray) and old.size and rng.random() < 0.85:
        flat_, at = old.reshape(-1), int(rng.integers(old.size))
        how = rng.integers(3)
        if how == 0:
            with np.errstate(invalid="ignore", over="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = np.float64(NUMBERS[rng.integers(len(NUMBERS))]).astype(old.dtype)
        elif how == 1:
            value = flat_[int(rng.integers(old.size))]
        else:
            value = flat_[at] + np.asarray(rng.choice([-8, -1, 1, 8]), old.dtype)
        flat_[at] = value
        return f"{path}[{at}] = {value}"
    if isinstance(old, np.ndarray) and old.ndim and rng.random() < 0.7:
        how = rng.integers(4)
        if how == 0:
            holder[path[-1]] = old[:-1]
        elif how == 1:
            holder[path[-1]] = np.concatenate([old, old[-1:]])
        elif how == 2:
            holder[path[-1]] = old.astype(np.float32 if old.dtype != np.float32 else np.int16)
        else:
            holder[path[-1]] = old.reshape(-1)
        return f"{path}: shape or type, {how}"
    if isinstance(holder, dict) and rng.random() < 0.2:
        del holder[path[-1]]
        return f"{path}: gone"
    holder[path[-1]] = OTHERS[rng.integers(len(OTHERS))]
    return f"{path} = {holder[path[-1]]!r}"


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Stop after so long with a TimeoutError; adaptive steps may become very small."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def takes_long(world: Any) -> bool:
    """Whether a step is of many small ones: what is too light or too stiff is legal, but slow."""
    if not world.grains.rotating:
        return False
    swift = np.abs(world.grains.velocity).max(initial=0.0) > 1e4  # many steps of RKF45
    return bool(swift) or world.solver.contact_time(world) < 1e-3 * world.dt


def fuzz(name: str, seed: int, count: int) -> tuple[int, int]:
    """Return how many mutations were refused, and how many ran."""
    rng = np.random.default_rng(seed)
    refused = ran = 0
    for kind in BODIES:
        world = build(name, kind, count=3)
        for _ in range(8):
            world.step()
        good = world.state()
        print_good = flat(good)
        for _ in range(count):
            state = copy.deepcopy(good)
            what = mutate(state, rng)
            print(f"{kind}: {what}", flush=True)
            try:
                world.restore(state)
            except InputError:
                refused += 1
                assert not differences(flat(world.state()), print_good), f"{what}: left a trace"
                continue
            with contextlib.suppress(SimulationError, InputError, TimeoutError), alarm(SECONDS):
                if not takes_long(world):
                    world.step()
                    world.step()
            ran += 1
            world.restore(good)
    return refused, ran


if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("ignore")
    faulthandler.dump_traceback_later(240, exit=True)  # a step that does not end is no better
    print("done", *fuzz(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
