"""[Francu14] Fig. 4: grains through a triangle mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.francu2014 import FIGURES
from berm.apps.figures.francu2014.worlds import curves, rows_of
from berm.scenes.base import run_scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@FIGURES.register("4")
class Meshes(Figure):
    """The hourglass of triangles."""

    number: ClassVar[str] = "4"
    title: ClassVar[str] = "grains through an hourglass of triangles"
    claim: ClassVar[str] = "no grain leaks, and the flow is steady"
    setup: ClassVar[str] = "VTS, closed mesh with a waist of 6 grain diameters, friction 0.2"
    size: ClassVar[tuple[float, float]] = (10.0, 4.5)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Run the scene mesh-glass."""
        run = run_scene("mesh-glass", {"grains": 400, "seconds": 5.0} if quick else {})
        series = {"grains below the waist": run.history["passed"]}
        extra = {"series": series, "x": run.history["time"], "outcomes": run.outcomes}
        extra["spheres"] = run.world.grains.x[: run.world.grains.n].astype(float)
        return Measured(rows_of(series, "time", run.history["time"]), extra)

    def judge(self, measured: Measured) -> list[Verdict]:
        """As the scene checks itself."""
        return [Verdict(o.ok, str(o)) for o in measured.extra["outcomes"]]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Grains below against time, and where they lie in the end."""
        ax = canvas.add_subplot(1, 2, 1)
        curves(ax, measured.extra["series"], "time (s)", "grains", measured.extra["x"])
        ax = canvas.add_subplot(1, 2, 2)
        s = measured.extra["spheres"]
        ax.scatter(s[:, 0], s[:, 2], s=4, color="#b08a57")
        ax.set_aspect("equal")
        ax.set_title("at the end, from the side", fontsize=10, loc="left")
