"""Control steps a second of driven tools in the tier "fast": python -m benchmarks.soil.fast.

In turns, so that what else the machine does falls on all; processor time, steps of 1/20 s.
"""

from __future__ import annotations

import math
import statistics
import time

import numpy as np

import berm
from berm.core.motion import rotation_about

SHELL = [(0, 0, 0), (-0.75, 0, 0), (-0.95, 0, 0.25), (-0.9, 0, 0.6), (-0.45, 0, 0.85)]
CYCLE = np.array([
    (0, -3, 0.1, 20), (1, -2.5, -0.25, 15), (3, -0.5, -0.3, 5), (4, 0, -0.1, -25),
    (5, 0, 1.2, -40), (6, 2.5, 1.5, -40), (7, 2.5, 1.5, 60), (8, -3, 0.1, 20),
])  # fmt: skip
TURNS, STEPS = 5, 160


def cycle(t: float) -> tuple[np.ndarray, np.ndarray]:
    """Dig, lift, dump and return in 8 s."""
    x, z, dip = (np.interp(t % 8.0, CYCLE[:, 0], CYCLE[:, k]) for k in (1, 2, 3))
    return np.array([x, 0.0, z]), rotation_about((0, 1, 0), math.radians(dip))


def make(kind: str, size: tuple[float, float]) -> berm.World:
    """A world with one tool, or with a box that digs nothing."""
    world = berm.World(dt=1 / 20)
    terrain = world.add_terrain(berm.Terrain.flat(size, 0.1, layers="loam"))
    if kind == "bucket":
        body = world.add_body(berm.Box((0.1, 0.1, 0.1)), motion=berm.Function(cycle))
        terrain.add_fast_tool(body, berm.Profile(SHELL, 1.2))
        return world
    body = world.add_body(
        berm.Box((0.06, 1.2, 1.0)), position=(-4, 0, 0.35), motion=berm.Linear((0.5, 0, 0))
    )
    if kind == "blade":
        terrain.add_fast_tool(body)
    return world


def main() -> None:
    """Print medians."""
    cases = [(kind, (12.0, 8.0)) for kind in ("nothing", "bucket", "blade")]
    cases.append(("bucket", (100.0, 100.0)))
    took: dict[tuple[str, tuple[float, float]], list[float]] = {case: [] for case in cases}
    for turn in range(TURNS + 1):  # the first one compiles
        for case in cases:
            world = make(*case)
            world.run(0.5)
            begin = time.process_time()
            for _ in range(STEPS):
                world.step()
            if turn:
                took[case].append((time.process_time() - begin) / STEPS)
    for (kind, size), seconds in took.items():
        middle = statistics.median(seconds)
        print(f"{kind:8} {size[0]:g} x {size[1]:g} m: {1e6 * middle:.0f} us, {1 / middle:.0f} / s")


if __name__ == "__main__":
    main()
