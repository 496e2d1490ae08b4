"""[Francu14] Figs 8 and 9: overlaps of grains that fall in a box."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.francu2014 import FIGURES
from berm.apps.figures.francu2014.worlds import box, curves, overlaps, printed, rows_of
from berm.solvers.vts.solver import VTS
from berm.solvers.vts.sp import SP

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@FIGURES.register("8")
class Falling(Figure):
    """3000 equal grains, no friction."""

    number: ClassVar[str] = "8"
    title: ClassVar[str] = "overlap of 3,000 grains falling in a box"
    claim: ClassVar[str] = "improved Jacobi is about as accurate as Gauss-Seidel; a = 2 is better"
    setup: ClassVar[str] = (
        "VTS, gamma 0.5, 15 iterations, 60 Hz, frictionless; SP: Gauss-Seidel, k_c 1, k_v 0.1"
    )

    def measure(self, quick: bool, say: Say) -> Measured:
        """Run each; berm's own default beside them."""
        grains, frames = (600, 100) if quick else (3000, 300)
        solvers: dict[str, VTS] = {
            "Gauss-Seidel": VTS(**printed("gs")),
            "improved Jacobi, a = 1": VTS(**printed("ij")),
            "improved Jacobi, a = 2": VTS(**printed("ij", a=2.0)),
            "SP, Gauss-Seidel": SP(k_c=1.0, k_v=0.1, **printed("gs")),
            "berm's default (SOR 1.5, warm)": VTS(),
        }
        series = {}
        for label, solver in solvers.items():
            series[label] = overlaps(box(solver, grains), frames)
            say(f"{label}: mean {series[label].mean():.3f} m")
        return Measured(rows_of(series, "frame"), {"series": series})

    def judge(self, measured: Measured) -> list[Verdict]:
        """Ratios of the means over all frames."""
        gs, one, two, sp, ours = (float(v.mean()) for v in measured.extra["series"].values())
        return [
            Verdict(one <= 1.5 * gs, f"a = 1 / Gauss-Seidel = {one / gs:.2f} (wanted <= 1.5)"),
            Verdict(two < one, f"a = 2 / a = 1 = {two / one:.2f} (wanted below 1)"),
            Verdict(sp <= gs, f"SP / Gauss-Seidel = {sp / gs:.2f} (wanted <= 1: 'also good')"),
            Verdict(ours < gs, f"berm's default / Gauss-Seidel as printed = {ours / gs:.2f}"),
        ]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """All curves."""
        curves(canvas.add_subplot(), measured.extra["series"], "frame", "L1 overlap (m)")


@FIGURES.register("9")
class Masses(Figure):
    """3000 grains whose masses differ by five orders of magnitude."""

    number: ClassVar[str] = "9"
    title: ClassVar[str] = "overlap with inverse masses from 0.01 to 1000"
    claim: ClassVar[str] = "improved Jacobi handles mass ratios as robustly as Gauss-Seidel"
    setup: ClassVar[str] = "VTS, 15 iterations, 60 Hz, friction 0.2; improved Jacobi: omega 0.4"

    def measure(self, quick: bool, say: Say) -> Measured:
        """Run both with the same masses."""
        grains, frames = (600, 100) if quick else (3000, 300)
        series = {}
        for label, options in (
            ("Gauss-Seidel", printed("gs")),
            ("improved Jacobi", printed("ij", omega=0.4)),
            ("improved Jacobi, safe step", {**printed("ij", omega=0.4), "safe": 3.0}),
        ):
            rng = np.random.default_rng(0)
            mass = 1.0 / np.exp(rng.uniform(np.log(0.01), np.log(1000.0), grains))
            world = box(VTS(**options), grains, mu=0.2, mass=mass)
            series[label] = overlaps(world, frames)
            say(f"{label}: mean {series[label].mean():.3f} m")
        return Measured(rows_of(series, "frame"), {"series": series})

    def judge(self, measured: Measured) -> list[Verdict]:
        """Within twice the error."""
        gs, ij, safe = (float(values.mean()) for values in measured.extra["series"].values())
        return [
            Verdict(
                ij <= 2.0 * gs,
                f"as printed, improved Jacobi / GS = {ij / gs:.2f} (wanted <= 2; inf: diverged)",
            ),
            Verdict(safe <= 2.0 * gs, f"with berm's safe step: {safe / gs:.2f}"),
        ]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Both curves."""
        curves(canvas.add_subplot(), measured.extra["series"], "frame", "L1 overlap (m)")
