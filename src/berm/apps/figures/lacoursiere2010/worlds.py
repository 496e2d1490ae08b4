"""Worlds of the figures: heaps of rocks on the ground."""

from __future__ import annotations

from berm.core.materials import Material, material
from berm.core.shapes import Plane
from berm.kernels.jit import set_threads
from berm.solvers.nonsmooth.solver import Nonsmooth
from berm.world.rocks import add_rocks
from berm.world.world import World

STEP = 1.0 / 60.0  # s, as printed
SIZES = (0.4, 0.8)  # m: 0.6 on average, as printed
FRICTION = 0.7
DENSITY = 2600.0  # kg/m^3: "realistic"


def stone(rolling: float = 0.0) -> Material:
    """What rocks and ground are made of."""
    return material(
        "gravel", friction=FRICTION, density=DENSITY, adhesion=0.0, rolling_friction=rolling
    )


def rocky_ground(merging: bool = False, rolling: float = 0.0) -> World:
    """A level floor; one thread, as printed."""
    set_threads(1)
    world = World(dt=STEP, solver=Nonsmooth(merging=merging, rolling=rolling > 0.0))
    world.add_body(Plane(), name="ground", material=stone(rolling))
    return world


def heap(rocks: int, seconds: float) -> World:
    """Rocks that fell on the ground and slumped for so long."""
    world = rocky_ground()
    pile(world, rocks)
    for _ in range(round(seconds / STEP)):
        world.step()
    return world


def pile(
    world: World,
    rocks: int,
    base: tuple[float, float, float] = (0.0, 0.0, 0.0),
    across: tuple[int, int] | None = None,
    rolling: float = 0.0,
) -> None:
    """Add rocks on a lattice above `base`, which fall and slump."""
    add_rocks(world, rocks, SIZES, base=base, across=across, material=stone(rolling))
