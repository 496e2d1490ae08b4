"""Small worlds with everything that a state holds, one for each solver, for tests of states."""

from __future__ import annotations

from typing import Any

import numpy as np

import berm
from berm.core.clusters import Cluster
from berm.world.world import World

SOLVERS = {
    "sweep": lambda: berm.P2(),
    "mass": lambda: berm.P2(averaging="mass", substeps=2, iterations=4, acceleration=0.5),
    "published": lambda: berm.P2.published(),
    "serial": lambda: berm.P2(averaging="serial", iterations=4, substeps=1),
    "vts": lambda: berm.VTS(),
    "vts-ij": lambda: berm.VTS(iteration="ij", substeps=2),
    "sp": lambda: berm.SP(),
    "dem": lambda: berm.DEM(rolling="spring"),
    "rkf45": lambda: berm.DEM(integrator="rkf45", tolerance=1e-2),
}
BODIES = ("without bodies", "with bodies")
CASES = [(name, kind) for name in SOLVERS for kind in BODIES]


def build(name: str, kind: str, count: int = 4) -> World:
    """Return a box with grains, an emitter, a sink, a driven paddle; cloth and clumps by solver.

    Called twice it returns two worlds of one kind, as a scene does.
    """
    world = berm.World(solver=SOLVERS[name](), seed=5)
    rng = np.random.default_rng(5)
    grid = np.stack(np.meshgrid(*[np.arange(count)] * 3, indexing="ij"), -1).reshape(-1, 3)
    where = 0.05 * (grid + 0.5) + rng.uniform(-0.002, 0.002, grid.shape)
    middle = 0.025 * count
    soft = berm.material("gravel", young_modulus=1e6)
    world.add_body(
        berm.Box((0.05 * count, 0.05 * count, 2.0), inside=True, open_top=True), name="box",
        position=(middle, middle, 1.0), material=soft,
    )  # fmt: skip
    world.add_body(
        berm.Box((0.12, 0.02, 0.05)), position=(0.1, 0.1, 0.5), name="paddle",
        motion=berm.Spin((0, 0, 1), 3.0), material=soft,
    )  # fmt: skip
    if kind == "with bodies":
        world.add_body(
            berm.Sphere(0.03), name="ball", position=(0.06, 0.06, 0.7), dynamic=True,
            velocity=(0.1, 0.0, -2.0), material=soft,
        )  # fmt: skip
    world.add_grains(where, 0.015 + 0.008 * rng.random(len(where)), (0.1, 0.0, -0.4), soft)
    world.add_emitter(
        berm.Emitter(100, (middle, middle, 0.4), "disc", (0.04, 0.02), (0.01, 0.015), material=soft)
    )
    world.add_sink(berm.Sink(high=(0.03, 0.03, 2.0)))
    if name in ("vts", "vts-ij", "sp"):
        sheet = berm.Cloth.grid(
            (6, 6), (0.16, 0.16), (0.02, 0.02, 0.3), mass=0.02, self_collision=True
        )
        sheet.pin([0, 5])
        world.add_cloth(sheet)
    if world.grains.rotating:
        peanut = Cluster([[-0.01, 0, 0], [0.01, 0, 0]], [0.015, 0.015], "peanut")
        world.add_clusters(
            peanut, [[0.05, 0.1, 0.25], [0.12, 0.1, 0.25]], spin=(0, 5.0, 1.0), material=soft
        )
    return world


def flat(state: Any, where: str = "state") -> dict[str, Any]:
    """Return every array and value of a state by its place, arrays as bytes: equal means equal."""
    if isinstance(state, dict):
        items = [(str(key), value) for key, value in state.items()]
    elif isinstance(state, list | tuple):
        items = [(str(k), value) for k, value in enumerate(state)]
    elif isinstance(state, np.ndarray | np.generic):
        return {where: (str(state.dtype), np.shape(state), state.tobytes())}
    else:
        return {where: repr(state)}
    found: dict[str, Any] = {}
    for key, value in items:
        found |= flat(value, f"{where}.{key}")
    return found


def differences(one: Any, two: Any) -> list[str]:
    """Return where two flattened states differ."""
    return [key for key in one.keys() | two.keys() if one.get(key) != two.get(key)]
