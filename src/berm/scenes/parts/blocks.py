"""Blocks covered with particles, which scenes build with, and their part in the momentum."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from berm.core.clusters import Cluster
from berm.core.shapes import Box
from berm.scenes.parts.history import History
from berm.world.cover import cover
from berm.world.world import World

GRAVITY = 9.81  # m/s^2
BLOCK = "block"
FINE = 8.0  # radii of the cover's particles along an edge


def make_block(edge: float, seed: int = 0) -> Cluster:
    """Return a cube (m) covered with particles that lie within it, [Bell05] 3.3.1."""
    radius = edge / FINE
    return cover(Box((edge, edge, edge)), radius, -radius, name=BLOCK, seed=seed)


def is_block(world: World) -> npt.NDArray[np.bool_]:
    """Return which of the world's clumps are blocks."""
    kinds = [k for k, one in enumerate(world.clumps.templates) if one.name == BLOCK]
    return np.isin(world.clumps.kind, kinds)


def momenta(world: World) -> Mapping[str, float]:
    """Momentum (kg m/s) of grains and blocks, and the force (N) on all boundaries."""
    clumps, blocks = world.clumps, is_block(world)
    flow = clumps.mass[~blocks] @ clumps.velocity[~blocks]
    pushed = clumps.mass[blocks] @ clumps.velocity[blocks]
    force = np.sum([body.force for body in world.bodies], axis=0)
    return {
        "flow_x": float(flow[0]),
        "block_momentum": float(pushed[0]),
        "momentum_x": float(flow[0] + pushed[0]),
        "momentum_z": float(flow[2] + pushed[2]),
        "force_x": float(force[0]),
        "force_z": float(force[2]),
    }


def momentum_error(world: World, history: History) -> float:
    """Momentum that gravity and boundaries do not explain, of weight x time; of `momenta`."""
    span = len(history) - 1
    if span < 1:
        return math.nan
    mass, dt = float(world.clumps.mass.sum()), world.dt
    worst = 0.0
    for axis, pull in (("x", 0.0), ("z", -GRAVITY)):
        given = np.cumsum(mass * pull - history[f"force_{axis}"][1:]) * dt
        gained = history[f"momentum_{axis}"][1:] - history[f"momentum_{axis}"][0]
        worst = max(worst, float(np.abs(gained - given).max()))
    return worst / (mass * GRAVITY * span * dt)
