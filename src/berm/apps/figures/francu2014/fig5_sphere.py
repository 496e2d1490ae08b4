"""[Francu14] Fig. 5: cloth on a sphere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.francu2014 import FIGURES
from berm.apps.figures.francu2014.worlds import curves, rows_of
from berm.scenes.base import run_scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def draw_cloth(ax: Any, position: Any, faces: Any, alpha: float = 1.0) -> None:
    """Draw a cloth in space."""
    ax.plot_trisurf(
        position[:, 0], position[:, 1], position[:, 2], triangles=faces, color="#b0503f",
        edgecolor="none", linewidth=0.0, antialiased=False, alpha=alpha,
    )  # fmt: skip
    ax.set_box_aspect((1, 1, 1))
    ax.set_axis_off()


@FIGURES.register("5")
class OnSphere(Figure):
    """SP and PBD, friction 0.5."""

    number: ClassVar[str] = "5"
    title: ClassVar[str] = "cloth on a sphere, friction 0.5"
    claim: ClassVar[str] = "with SP the cloth stays, with PBD it falls off very quickly"
    setup: ClassVar[str] = (
        "30 x 30 cloth of 2 m, 0.1 m beside the middle of a ball of 0.5 m, 15 iterations, 60 Hz; "
        "PBD with friction after the solver"
    )
    size: ClassVar[tuple[float, float]] = (11.0, 4.5)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Run both."""
        small = {"vertices": 20, "seconds": 3.0} if quick else {}
        series: dict[str, Any] = {}
        extra: dict[str, Any] = {"outcomes": []}
        for solver in ("sp", "pbd"):
            run = run_scene("cloth-sphere", small, solver=solver)
            series[solver.upper()] = np.maximum(run.history["height"], -3.0)
            extra["x"] = run.history["time"]
            extra["outcomes"] += [(solver.upper(), o) for o in run.outcomes]
            if solver == "sp":
                extra["cloth"] = run.world.cloths[0].position.copy(), run.world.cloths[0].faces
        extra["series"] = series
        return Measured(rows_of(series, "time", extra["x"]), extra)

    def judge(self, measured: Measured) -> list[Verdict]:
        """As the scenes check themselves."""
        return [Verdict(o.ok, f"{name}: {o}") for name, o in measured.extra["outcomes"]]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Heights, and the cloth that stayed."""
        ax = canvas.add_subplot(1, 2, 1)
        curves(ax, measured.extra["series"], "time (s)", "centre of mass (m)", measured.extra["x"])
        draw_cloth(canvas.add_subplot(1, 2, 2, projection="3d"), *measured.extra["cloth"])
