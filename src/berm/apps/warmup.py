"""Compiles what a run needs before it starts, so that the wait has a name and no step stutters."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from berm.kernels import jit

if TYPE_CHECKING:
    from pathlib import Path

    from berm.world.world import World

ABOUT = "compiling the kernels: first run on this machine, about 40 s; later runs start at once"
STEPS = 4


def needed(world: World) -> bool:
    """Whether this kind of solver has never run here with these kernels."""
    return jit.JIT_ON and not _marker(world).exists()


def warm_up(world: World) -> float:
    """Step a handful of touching grains with the world's kind of solver; return the seconds."""
    import numpy as np

    from berm.core.shapes import Plane
    from berm.world.world import World

    begin = time.perf_counter()
    solver = type(world.solver)(**world.solver.options())
    small = World(dt=world.dt, solver=solver, precision=world.precision)
    small.add_body(Plane(), material="steel")
    radius = 0.02
    places = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    small.add_grains((places + 0.5) * 1.95 * radius, radius)
    for _ in range(STEPS):
        small.step()
    small.remove_grains(mask=np.arange(small.grains.n) == 0)
    small.add_grains([[0.0, 0.0, 20 * radius]], radius, (0.0, 0.0, -50 * radius / world.dt))
    for _ in range(STEPS):
        small.step()
    with contextlib.suppress(OSError):  # a cache that cannot be written compiles every time
        _marker(world).touch()
    return time.perf_counter() - begin


def _marker(world: World) -> Path:
    options = world.solver.options()
    key = jit.source_key(type(world.solver).__module__)
    kind = f"{world.solver.name}-{options.get('averaging', '')}-{world.precision}-{key}"
    return jit.CACHE_FOLDER / f"ready-{kind}"
