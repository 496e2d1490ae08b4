"""[Francu14] Fig. 7: error of a hanging cloth, three solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.francu2014 import FIGURES
from berm.apps.figures.francu2014.worlds import curves, printed, rows_of, sheet, stretch
from berm.solvers.vts.sp import SP

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

CASES = {
    "Gauss-Seidel": printed("gs"),
    "SOR 1.2": printed("gs", omega=1.2),
    "improved Jacobi (0.5, 1, 0.6)": printed("ij"),
    "Jacobi 0.5": printed("jacobi"),
}


@FIGURES.register("7")
class Hang(Figure):
    """A cloth falls from level and hangs by two corners."""

    number: ClassVar[str] = "7"
    title: ClassVar[str] = "constraint error of a hanging cloth"
    claim: ClassVar[str] = "improved Jacobi has the lowest L1 error"
    setup: ClassVar[str] = "PBD, 100 x 100, two corners, 16 ms, 15 iterations; size chosen: 10 m"

    def measure(self, quick: bool, say: Say) -> Measured:
        """Run each."""
        n, frames = (30, 100) if quick else (100, 300)
        series: dict[str, np.ndarray] = {}
        for label, options in CASES.items():
            world, cloth = sheet(SP.pbd(iterations=15, **options), n)
            errors = []
            for _ in range(frames):
                world.step()
                errors.append(stretch(cloth))
            series[label] = np.array(errors)
            say(f"{label}: mean {np.mean(errors):.2f} m")
        return Measured(rows_of(series, "frame"), {"series": series})

    def judge(self, measured: Measured) -> list[Verdict]:
        """Means over all frames."""
        gs, sor, ij, plain = (float(values.mean()) for values in measured.extra["series"].values())
        return [
            Verdict(
                ij < min(gs, sor),
                f"improved Jacobi / Gauss-Seidel = {ij / gs:.2f}, / SOR = {ij / sor:.2f} (wanted "
                f"below 1; ERRATA expects 1.2-1.6), / plain Jacobi = {ij / plain:.2f}",
            )
        ]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """All curves."""
        curves(canvas.add_subplot(), measured.extra["series"], "frame", "L1 error (m)")
