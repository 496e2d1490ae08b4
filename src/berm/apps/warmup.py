"""Compiles what a run needs before it starts, so that the wait has a name and no step stutters."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from berm.kernels import jit

if TYPE_CHECKING:
    from pathlib import Path

    from berm.world.world import World

ABOUT = "compiling the kernels: first run of its kind, up to a minute; later ones start at once"
STEPS = 4
MOST, LONGEST = 100, 1 / 60  # iterations, substeps and s of a step: more compile nothing else
RADIUS = 0.02  # m


def needed(world: World) -> bool:
    """Whether this kind of solver has never run here with these kernels and such a world."""
    return jit.JIT_ON and not _marker(world).exists()


def features(world: World) -> list[str]:
    """What a world has besides simple walls, or can come to have, and so needs kernels for."""
    from berm.core.shapes import HeightField, Mesh

    has = {
        "grains": "grains" in world.solver.can,
        "bodies": any(body.dynamic for body in world.bodies),
        "joints": bool(world.joints),
        "meshes": any(isinstance(body.shape, Mesh | HeightField) for body in world.bodies),
        "clusters": world.clumps.n > 0,
        "cloth": bool(world.cloths),
    }
    return [name for name, there in has.items() if there]


def warm_up(world: World) -> float:
    """Step a handful of what the world has with its kind of solver.

    Returns the seconds.
    """
    from berm.core.shapes import Plane
    from berm.world.world import World

    begin = time.perf_counter()
    options = world.solver.options()
    for name in ("iterations", "substeps"):
        if name in options:
            options[name] = min(options[name], MOST)
    dt = min(world.dt, LONGEST, MOST * (options.get("step_size") or LONGEST))
    solver = type(world.solver)(**options)
    small = World(dt=dt, solver=solver, precision=world.precision)
    small.add_body(Plane(), material="steel")
    has = features(world)
    for name in has:
        ADD[name](small)
    for _ in range(STEPS):
        small.step()
    if "grains" in has:
        small.remove_grains(tags=[0])
        small.add_grains([[0.0, 0.0, 20 * RADIUS]], RADIUS, (0.0, 0.0, -50 * RADIUS / dt))
    for _ in range(STEPS):
        small.step()
    with contextlib.suppress(OSError):  # a cache that cannot be written compiles every time
        _marker(world).touch()
    return time.perf_counter() - begin


def _add_grains(small: World) -> None:
    """Grains that touch each other and the floor."""
    places = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), axis=-1).reshape(-1, 3)
    small.add_grains((places + 0.5) * 1.95 * RADIUS, RADIUS)


def _add_bodies(small: World) -> None:
    """Two boxes that touch each other, the floor and grains."""
    from berm.core.shapes import Box

    edge = 4 * RADIUS
    for k in range(2):
        place = (-0.5 * edge, edge, (0.5 + 0.999 * k) * edge)
        small.add_body(Box((edge, edge, edge)), name=f"block {k}", position=place, dynamic=True)


def _add_joints(small: World) -> None:
    from berm.core.joints import Hinge
    from berm.core.shapes import Box

    far = (40 * RADIUS, 0.0, 40 * RADIUS)
    door = small.add_body(Box((0.1, 0.1, 0.1)), name="door", position=far, dynamic=True)
    small.add_joint(Hinge(door, None, far, axis=(0.0, 1.0, 0.0), name="hinge"))


def _add_meshes(small: World) -> None:
    """A pyramid that grains touch."""
    from berm.core.shapes import Mesh

    corners = RADIUS * np.array([(0, 0, 0), (4, 0, 0), (0, 4, 0), (0, 0, 4)])
    faces = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    small.add_body(Mesh(corners, faces), name="pyramid", position=(8 * RADIUS, 0.0, 0.0))


def _add_clusters(small: World) -> None:
    from berm.core.clusters import tetrahedron

    small.add_clusters(tetrahedron(RADIUS), [[-8 * RADIUS, 0.0, 3 * RADIUS]])


def _add_cloth(small: World) -> None:
    """A sheet that lies on the grains."""
    from berm.core.cloth import Cloth

    edge = 8 * RADIUS
    small.add_cloth(Cloth.grid((5, 5), (edge, edge), (0.0, 0.0, 8 * RADIUS), mass=0.1))


ADD: dict[str, Callable[[World], None]] = {
    "grains": _add_grains,
    "bodies": _add_bodies,
    "joints": _add_joints,
    "meshes": _add_meshes,
    "clusters": _add_clusters,
    "cloth": _add_cloth,
}


def _marker(world: World) -> Path:
    options = world.solver.options()
    key = jit.source_key(type(world.solver).__module__)
    words = [world.solver.name, options.get("averaging", ""), world.precision, *features(world)]
    kind = "-".join([*map(str, words), key])
    return jit.CACHE_FOLDER / f"ready-{kind}"
