"""Poured piles with the printed settings, which Figs 1, 3 and 5 share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from berm.scenes.base import make_params, scene
from berm.solvers.p2.solver import P2
from berm.world.measure import Slope, angle_of_repose
from berm.world.world import World

SLEEP = 3.0e-4  # m a step, Fig. 3
REST = 3.0  # s, after the last grain


def published(eps: float, iterations: int = 10) -> P2:
    """Return P2 as printed, with Fig. 3's sleeping."""
    return P2.published(iterations=iterations, eps_depth=eps, sleep=SLEEP)


def gauss_seidel(iterations: int) -> P2:
    """Return the serial solver without error reduction, with Fig. 3's sleeping."""
    return P2(averaging="serial", iterations=iterations, substeps=1, sleep=SLEEP)


def ours() -> P2:
    """Return berm's default, which needs no sleeping."""
    return P2()


def pile_world(
    solver: P2, theta: float, adhesion: float, grains: int, seed: int, dt: float = 1 / 60
) -> World:
    """Return an empty floor under a spout; theta: friction angle (degrees)."""
    mu = math.tan(math.radians(theta))
    one = scene("pile")
    given = {
        "friction": mu, "friction_kinetic": mu, "adhesion": adhesion, "grains": grains,
        "seed": seed, "dt": dt,
    }  # fmt: skip
    return one.build(make_params(one, given), solver)


@dataclass
class Pile:
    """A pile that was poured and left to rest."""

    world: World
    slope: Slope
    creep: float  # mean displacement of a grain in the last second, radii

    def row(self, **names: Any) -> dict[str, Any]:
        """Return what the data file keeps."""
        report = self.world.report
        radius = float(self.world.grains.radius.mean())
        return {
            **names,
            "slope_degrees": round(self.slope.degrees, 3),
            "fit_r2": round(self.slope.r2, 4),
            "sector_spread_degrees": round(self.slope.spread, 3),
            "mean_overlap_radii": round(report.overlap_mean / radius, 5),
            "creep_radii_per_s": round(self.creep, 5),
        }


def pour(
    solver: P2, theta: float, adhesion: float, grains: int, seed: int, dt: float = 1 / 60
) -> Pile:
    """Pour a pile, wait until it rests, and measure its slope."""
    world = pile_world(solver, theta, adhesion, grains, seed, dt)
    world.run(grains / 400.0 + REST - 1.0)
    before = _by_tag(world)
    world.run(1.0)
    after = _by_tag(world)
    known = min(len(before), len(after))
    way = np.linalg.norm(after[:known, :3] - before[:known, :3], axis=1)
    return Pile(
        world, angle_of_repose(world, floor=0.0), float(way.mean() / world.grains.radius.mean())
    )


def _by_tag(world: World) -> Any:
    order = np.argsort(world.grains.tags)
    return world.grains.x[: world.grains.n][order].astype(float)
