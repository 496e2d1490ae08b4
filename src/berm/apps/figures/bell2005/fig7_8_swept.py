"""[Bell05] Figs 7 and 8: an avalanche sweeps structures away; a blade clears what it left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.bell2005 import FIGURES
from berm.apps.figures.bell2005.drawing import Snapshots, draw_spheres
from berm.scenes.base import make_params, run_scene, scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

MOMENTS = (0.2, 0.45, 0.7, 0.99)  # of the run


class _Swept(Figure):
    """A scene with grains and covered blocks, at four moments; its own checks are the verdicts."""

    name: ClassVar[str]
    view: ClassVar[str]
    quick: ClassVar[dict[str, Any]]
    size: ClassVar[tuple[float, float]] = (10.0, 6.0)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Run it; keep four moments and what was observed."""
        one = scene(self.name)
        params = make_params(one, self.quick if quick else {})
        shots = Snapshots([share * one.duration(params) for share in MOMENTS])
        run = run_scene(one, params, recorders=[shots])
        for outcome in run.outcomes:
            say(str(outcome))
        size = np.diff(run.world.clumps.first)
        rows: list[dict[str, Any]] = [
            {"check": o.name, "value": float(o.value), "expected": o.expected, "ok": bool(o.ok)}
            for o in run.outcomes
        ]
        return Measured(rows, {"shots": shots.taken, "blocks": np.flatnonzero(size > size.min())})

    def judge(self, measured: Measured) -> list[Verdict]:
        """What the scene itself checks."""
        return [
            Verdict(row["ok"], f"{row['check']}: {row['value']:.3g} (expected {row['expected']})")
            for row in measured.rows
        ]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Four moments; blocks are grey."""
        shots = measured.extra["shots"]
        low = np.min([s[:, :3].min(axis=0) for _, s in shots], axis=0)
        high = np.max([s[:, :3].max(axis=0) for _, s in shots], axis=0)
        up = 2 if self.view == "side" else 1
        for k, (time, spheres) in enumerate(shots):
            ax = canvas.add_subplot(2, 2, k + 1)
            draw_spheres(ax, spheres, self.view, steel=measured.extra["blocks"])
            ax.set_xlim(low[0], high[0])
            ax.set_ylim(low[up], high[up])
            ax.set_title(f"{time:.2f} s", fontsize=10, loc="left")


@FIGURES.register("7")
class Avalanche(_Swept):
    """The scene `avalanche`."""

    number: ClassVar[str] = "7"
    title: ClassVar[str] = "an avalanche destroys structures of rigid bodies"
    claim: ClassVar[str] = (
        "bodies resist at first, then are overwhelmed and become part of the flow: grains and "
        "bodies act on each other"
    )
    setup: ClassVar[str] = (
        "the scene `avalanche` at its default size instead of 294,820 spheres (`size=paper`); "
        "terrain and structures are not given in print"
    )
    name: ClassVar[str] = "avalanche"
    view: ClassVar[str] = "side"
    quick: ClassVar[dict[str, Any]] = {"grains": 250, "run": 0.8, "settle": 0.5, "flow": 1.2}


@FIGURES.register("8")
class Debris(_Swept):
    """The scene `debris`."""

    number: ClassVar[str] = "8"
    title: ClassVar[str] = "a bulldozer clears the remains of the avalanche"
    claim: ClassVar[str] = "the blade sweeps grains and rigid bodies aside"
    setup: ClassVar[str] = (
        "the scene `debris` at its default size instead of 310,149 spheres (`size=paper`); the "
        "blade and its way are not given in print"
    )
    name: ClassVar[str] = "debris"
    view: ClassVar[str] = "top"
    quick: ClassVar[dict[str, Any]] = {
        "length": 1.2, "width": 1.0, "blade": 0.4, "blocks": 5, "depth": 0.08,
    }  # fmt: skip
