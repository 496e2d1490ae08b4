"""Small worlds: 200 grains with a hinged paddle, scenes with bodies, one thread against two."""

from __future__ import annotations

import statistics
import time

import numpy as np

import berm
from berm.core.joints import Hinge
from berm.kernels.jit import set_threads
from berm.scenes.base import SCENES, load_all, scene

GRAINS, RADIUS, WIDE = 200, 0.01, 0.14  # m
PADDLE = {"no body": None, "far": 0.5, "near": 0.16}  # m, height of its middle
BEFORE = {"wheel": 0.5, "plank": 0.5, "drum": 1.2}  # s, until what moves has begun to
SHORT = 0.02  # s a step: scenes that take longer are timed over fewer steps


def paddle(height: float | None, solver: str = "p2") -> berm.World:
    """Gravel in a box, and a paddle that hangs from a hinge among the grains or out of reach."""
    world = berm.World(dt=1 / 60, solver=solver)
    world.add_body(
        berm.Box((WIDE, WIDE, 0.3), inside=True, open_top=True), name="box", position=(0, 0, 0.15)
    )
    k = np.arange(GRAINS)
    place = np.stack([k % 6, k // 6 % 6, k // 36], axis=1) * 2.25 * RADIUS
    noise = np.random.default_rng(0).uniform(-0.1, 0.1, (GRAINS, 3)) * RADIUS
    soil = berm.material("gravel")
    if "adhesion" not in world.solver.can:
        soil = soil.replace(adhesion=0.0)
    world.add_grains(place + noise - (0.056, 0.056, -0.03), np.full(GRAINS, RADIUS), material=soil)
    if height is not None:
        arm = world.add_body(
            berm.Box((0.02, 0.1, 0.2)), name="paddle", dynamic=True, density=1500.0,
            position=(0, 0, height),
        )  # fmt: skip
        world.add_joint(Hinge(arm, None, (0, 0, height + 0.08), axis=(0, 1, 0)))
    return world


def in_turns(worlds: dict, steps: int, parts: int, before=lambda name: None, clock=None) -> dict:
    """Median time (s) of a step of each world, taken in turns."""
    clock, spent = clock or time.process_time, {name: [] for name in worlds}
    for _ in range(parts):
        for name, world in worlds.items():
            before(name)
            begin = clock()
            for _ in range(steps):
                world.step()
            spent[name].append((clock() - begin) / steps)
    return {name: statistics.median(times) for name, times in spent.items()}


def bench_paddle() -> None:
    print(f"{GRAINS} grains and a hinged paddle, 1/60 s, one thread: us a step (steps a second)")
    for solver in ("p2", "vts", "sp"):
        worlds = {name: paddle(height, solver) for name, height in PADDLE.items()}
        in_turns(worlds, 120, 1)
        took = in_turns(worlds, 100, 7)
        line = ", ".join(f"{name} {1e6 * t:.0f} ({1 / t:.0f})" for name, t in took.items())
        print(f"  {solver}: {line}", flush=True)


def bench_scenes() -> None:
    print("scenes with bodies, one thread, processor time:")
    for name, start in BEFORE.items():
        world = built(name)
        while world.time < start:
            world.step()
        took = in_turns({name: world}, 30, 5)[name]
        print(f"  {name}, {world.grains.n} grains: {1e3 * took:.2f} ms a step, "
              f"{world.dt / took:.1f} times real time", flush=True)  # fmt: skip


def built(name: str) -> berm.World:
    """A scene as it is without any parameters."""
    one = scene(name)
    params = one.Params()
    return one.drive(one.build(params), params)


def bench_threads(names: tuple[str, ...] = ()) -> None:
    """A step by the clock with one thread and with two to choose from, in turns."""
    load_all()
    print("scenes, two threads / one, median step by the clock:")
    for name in names or SCENES.names():
        worlds = {1: built(name), 2: built(name)}
        begin = time.perf_counter()
        in_turns(worlds, 5, 4, set_threads)  # compile, and find out how many threads are best
        steps = 10 if time.perf_counter() - begin < 40 * SHORT else 4
        took = in_turns(worlds, steps, 9, set_threads, time.perf_counter)
        print(f"  {name}: {1e3 * took[2]:.2f} / {1e3 * took[1]:.2f} ms = "
              f"{took[2] / took[1]:.2f}", flush=True)  # fmt: skip
    set_threads(1)
