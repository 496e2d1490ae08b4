"""Starts of discrete elements that would explode: refused, or told."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from berm.core.errors import InputError
from berm.solvers.base import WorldView
from berm.solvers.walls.shapes import signed_distance

if TYPE_CHECKING:
    from berm.solvers.dem.solver import DEM


def check_start(dem: DEM, world: WorldView) -> None:
    """Refuse a start in which grains or bodies overlap by more than `start_overlap` radii."""
    _check_walls(dem, world)
    i, j, overlap = dem.touching(world)
    x, light = world.grains.x, world.grains.v[:, 3]
    moves = light[i] + light[j] > 0.0  # two fixed ones stay where they are
    i, j, overlap = i[moves], j[moves], overlap[moves]
    if not len(overlap):
        return
    share = overlap / np.minimum(x[i, 3], x[j, 3])
    worst = int(share.argmax())
    if share[worst] > dem.start_overlap:
        one, two = called(world, int(i[worst])), called(world, int(j[worst]))
        pair = f"{one} and {two}"
        if one.startswith("grain ") and two.startswith("grain "):
            pair = f"grains {one[6:]} and {two[6:]}"
        # only grains of one sphere can be moved apart by themselves
        repair = "" if world.clumps.n else "call world.separate() first, "
        raise InputError(
            f"solver dem: overlap of {pair} at the start",
            f"{overlap[worst]:.4g} m",
            f"at most {dem.start_overlap} of the smaller radius "
            f"({int((share > dem.start_overlap).sum())} pairs are deeper); move them apart, "
            f"{repair}or raise start_overlap",
        )


def _check_walls(dem: DEM, world: WorldView) -> None:
    """Warn where spheres start so deep in a boundary that it will throw them out."""
    grains, walls = world.grains, dem.walls
    used = np.arange(walls.row.shape[1]) < walls.count[:, None]
    for b, at in enumerate(dem.fixed):
        body = world.bodies[int(at) - 1]
        rows = np.unique(walls.row[used & (walls.body == b)])
        rows = rows[grains.v[rows, 3] > 0.0]
        x = grains.x[rows]
        far, _ = signed_distance(body.shape, (x[:, :3] - body.position) @ body.rotation)
        share = 1.0 - far / x[:, 3]
        if share.max(initial=0.0) > dem.start_overlap:
            worst = int(share.argmax())
            warnings.warn(
                f"{called(world, int(rows[worst]))} starts {share[worst]:.2g} radii deep in body "
                f"{body.name!r}, which will throw it out "
                f"({int((share > dem.start_overlap).sum())} spheres are deeper in than "
                f"{dem.start_overlap} radii)",
                stacklevel=5,
            )


def called(world: WorldView, row: int) -> str:
    """Return how a message calls the grain, compound grain or body that a sphere belongs to."""
    grains, clumps = world.grains, world.clumps
    owner = int(grains.owner[row])
    if owner < 0:
        return f"grain {grains.tag[row]}"
    if clumps.body[owner] >= 0:
        return f"body {world.bodies.names[world.bodies.row_of(int(clumps.body[owner]))]!r}"
    return f"compound grain {clumps.tag[owner]}"
