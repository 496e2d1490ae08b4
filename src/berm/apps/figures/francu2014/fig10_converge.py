"""[Francu14] Fig. 10: velocity error within one frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.francu2014 import FIGURES
from berm.apps.figures.francu2014.worlds import box, curves, printed, rows_of
from berm.solvers.vts.solver import VTS
from berm.solvers.vts.sp import SP

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@FIGURES.register("10")
class Converge(Figure):
    """1000 grains, frame 100, 60 iterations."""

    number: ClassVar[str] = "10"
    title: ClassVar[str] = "velocity error against iterations in frame 100"
    claim: ClassVar[str] = (
        "improved Jacobi behaves like Gauss-Seidel; SP converges better only at many iterations"
    )
    setup: ClassVar[str] = (
        "1,000 grains in a box, friction (not printed: 0.3), 60 iterations a frame; error: L1 of "
        "|P - proj(P - alpha R)| / alpha over all constraints (m/s)"
    )

    def measure(self, quick: bool, say: Say) -> Measured:
        """Each from its own frame 99."""
        grains, frames = (300, 50) if quick else (1000, 100)
        solvers: dict[str, VTS] = {
            "Gauss-Seidel": VTS(iterations=60, record=True, **printed("gs")),
            "improved Jacobi": VTS(iterations=60, record=True, **printed("ij")),
            "SP, Gauss-Seidel": SP(iterations=60, record=True, k_v=0.1, **printed("gs")),
        }
        series = {}
        for label, solver in solvers.items():
            world = box(solver, grains, mu=0.3)
            for _ in range(frames):
                world.step()
            series[label] = np.array([entry["l1"] for entry in solver.history])
            say(f"{label}: {series[label][0]:.3g} to {series[label][-1]:.3g} m/s")
        return Measured(rows_of(series, "iteration"), {"series": series})

    def judge(self, measured: Measured) -> list[Verdict]:
        """Errors after 60 iterations, relative to those before."""
        gs, ij, sp = measured.extra["series"].values()
        ratio = float(ij[-1] / gs[-1])
        late, early = float(sp[-1] / sp[0]) / float(gs[-1] / gs[0]), sp[10] / sp[0] / gs[10] * gs[0]
        return [
            Verdict(ratio <= 1.5, f"improved Jacobi / GS after 60 = {ratio:.2f} (wanted <= 1.5)"),
            Verdict(
                late < 1.0,
                f"SP's share left / GS's = {float(early):.2f} after 10, {late:.2f} after 60 "
                "(wanted below 1 at the end)",
            ),
        ]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """All curves."""
        ax = canvas.add_subplot()
        curves(ax, measured.extra["series"], "iteration", "L1 velocity error (m/s)")
        ax.set_yscale("log")
