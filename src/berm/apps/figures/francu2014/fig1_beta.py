"""[Francu14] Fig. 1: beta of conjugate residuals against the power law."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.francu2014 import FIGURES
from berm.apps.figures.francu2014.worlds import curves, printed, rows_of, sheet
from berm.solvers.vts.iterations import ConjugateResiduals
from berm.solvers.vts.sp import SP

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

MOST = 20


@FIGURES.register("1")
class Beta(Figure):
    """One frame of a hanging cloth, 20 iterations of conjugate residuals."""

    number: ClassVar[str] = "1"
    title: ClassVar[str] = "beta of conjugate residuals"
    claim: ClassVar[str] = "clamped below 1, beta follows about (l / l_max)^0.6"
    setup: ClassVar[str] = "PBD, 50 x 50 cloth of 10 m held at two corners, 16 ms, frames 20-60"

    def measure(self, quick: bool, say: Say) -> Measured:
        """Mean over frames of the clamped beta, alpha fixed at alpha_0."""
        world, _ = sheet(SP.pbd(iterations=MOST, **printed("cr")), 20 if quick else 50)
        found = []
        for frame in range(60):
            world.step()
            used = world.solver.used  # type: ignore[attr-defined]
            assert isinstance(used, ConjugateResiduals)
            if frame >= 20:
                found.append(used.betas)
        beta = np.mean(found, axis=0)
        law = (np.arange(MOST) / MOST) ** 0.6
        series = {"conjugate residuals, clamped": beta, "power law (36)": law}
        return Measured(rows_of(series, "iteration"), {"series": series})

    def judge(self, measured: Measured) -> list[Verdict]:
        """Correlation above 0.9."""
        beta, law = measured.extra["series"].values()
        same = float(np.corrcoef(beta, law)[0, 1])
        return [Verdict(same > 0.9, f"correlation {same:.3f} (wanted above 0.9)")]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Both curves."""
        curves(canvas.add_subplot(), measured.extra["series"], "iteration", "beta")
