"""Spheres of compound grains, drawn flat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from berm.core.report import StepReport
    from berm.world.world import World

SAND = np.array([0.80, 0.64, 0.42])
STEEL = np.array([0.48, 0.55, 0.63])
VIEWS = {"side": (0, 2, 1, -1.0), "top": (0, 1, 2, 1.0)}  # across, up, depth and where near is


def snapshot(world: World) -> Any:
    """Return (n, 5): centre, radius, and the number of the body; single spheres count on."""
    grains = world.grains
    owner = grains.owner[: grains.n].astype(float)
    alone = owner < 0
    owner[alone] = world.clumps.n + np.arange(alone.sum())
    return np.column_stack([grains.x[: grains.n].astype(float), owner])


def draw_spheres(ax: Axes, spheres: Any, view: str = "side", steel: Any = ()) -> None:
    """Draw a snapshot; each grain has a tint of its own; bodies in `steel` are grey."""
    from matplotlib.collections import EllipseCollection

    a, b, depth, near = VIEWS[view]
    s = spheres[np.argsort(near * spheres[:, depth], kind="stable")]
    where = near * s[:, depth]
    shade = 0.6 + 0.4 * (where - where.min()) / max(float(np.ptp(where)), 1e-9)
    tint = 0.85 + 0.3 * np.modf(s[:, 4] * 0.618034)[0]
    base = np.where(np.isin(s[:, 4], steel)[:, None], STEEL, SAND)
    colour = np.clip(base * (shade * tint)[:, None], 0, 1)
    ax.add_collection(
        EllipseCollection(
            2 * s[:, 3], 2 * s[:, 3], np.zeros(len(s)), units="xy", offsets=s[:, [a, b]],
            offset_transform=ax.transData, facecolors=colour, edgecolors="#4a3524", linewidths=0.15,
        )
    )  # fmt: skip
    ax.set_aspect("equal")
    ax.axis("off")


class Snapshots:
    """A recorder that keeps the spheres at given times (s)."""

    def __init__(self, times: Any) -> None:
        self.due = sorted(float(t) for t in times)
        self.taken: list[tuple[float, Any]] = []

    def start(self, world: World) -> None:
        """Do nothing: the first step comes soon."""

    def record(self, world: World, report: StepReport) -> None:
        """Keep the spheres when one is due."""
        while self.due and world.time >= self.due[0] - 1e-9:
            self.due.pop(0)
            self.taken.append((world.time, snapshot(world)))

    def close(self, error: str = "") -> None:
        """Do nothing: everything is in memory."""
