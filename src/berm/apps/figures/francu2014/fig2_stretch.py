"""[Francu14] Fig. 2: stretch of a hanging cloth against the number of iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.francu2014 import FIGURES
from berm.apps.figures.francu2014.worlds import curves, printed, rows_of, sheet, stretch
from berm.solvers.vts.sp import SP

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

KINDS = {"Gauss-Seidel": "gs", "optimised CR (improved Jacobi)": "ij"}


@FIGURES.register("2")
class Stretch(Figure):
    """A cloth at rest, several numbers of iterations."""

    number: ClassVar[str] = "2"
    title: ClassVar[str] = "total stretch at equilibrium against iterations"
    claim: ClassVar[str] = "optimised CR stretches no more than Gauss-Seidel"
    setup: ClassVar[str] = (
        "PBD, 50 x 50 cloth held at two corners, 16 ms; not printed: size (10 m), no bending; "
        "velocities fade at 1/s so that it comes to rest"
    )

    def measure(self, quick: bool, say: Say) -> Measured:
        """Let it come to rest with each."""
        counts = (10, 15, 30) if quick else (10, 15, 30, 60, 100)
        n, frames = (20, 200) if quick else (50, 500)
        series: dict[str, np.ndarray] = {}
        for label, kind in KINDS.items():
            found = []
            for count in counts:
                world, cloth = sheet(SP.pbd(iterations=count, **printed(kind)), n)
                cloth.damping = 1.0
                for _ in range(frames):
                    world.step()
                found.append(stretch(cloth))
                say(f"{label}, {count} iterations: {found[-1]:.3f} m")
            series[label] = np.array(found)
        return Measured(rows_of(series, "iterations", counts), {"series": series, "x": counts})

    def judge(self, measured: Measured) -> list[Verdict]:
        """Ratio at each number of iterations."""
        gs, ij = measured.extra["series"].values()
        ratio = ij / gs
        text = ", ".join(f"{r:.2f} at {n}" for r, n in zip(ratio, measured.extra["x"], strict=True))
        return [Verdict(bool((ratio <= 1.0).all()), f"CR / Gauss-Seidel = {text} (wanted <= 1)")]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Both curves."""
        ax = canvas.add_subplot()
        curves(ax, measured.extra["series"], "iterations", "total stretch (m)", measured.extra["x"])
