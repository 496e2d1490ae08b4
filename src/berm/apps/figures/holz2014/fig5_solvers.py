"""[Holz14] Fig. 5: slopes of Gauss-Seidel and P2, without and with error reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from berm.apps.figures.base import Figure, Measured, Say, Verdict, mean_and_spread
from berm.apps.figures.holz2014 import FIGURES
from berm.apps.figures.holz2014.drawing import draw_pile
from berm.apps.figures.holz2014.piles import gauss_seidel, ours, pour, published
from berm.solvers.p2.solver import P2

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

THETA = 30.0  # degrees, as pile II of Fig. 3
CLOSE = 3.0  # degrees
FORMS: dict[str, Callable[[], P2]] = {
    "GS, 10": lambda: gauss_seidel(10),
    "P2, 10, eps 0": lambda: published(0.0),
    "GS, 40": lambda: gauss_seidel(40),
    "P2, 10, eps 0.5": lambda: published(0.5),
    "berm": ours,
}
STEPS = (1 / 90, 1 / 120)  # s: the outcome depends on the step, which is not printed


@FIGURES.register("5")
class Solvers(Figure):
    """The pile II of Fig. 3 through each solver."""

    number: ClassVar[str] = "5"
    title: ClassVar[str] = "slopes of Gauss-Seidel and P2"
    claim: ClassVar[str] = (
        "top: at the same iterations GS is slightly steeper than P2 without error reduction; "
        "bottom: P2 with eps 0.5 and 10 iterations comes close to GS with 40"
    )
    setup: ClassVar[str] = (
        "2,000 grains, friction angle 30 degrees, sleep 0.0003 m as in Fig. 3. Not printed: dt "
        "(1/60 s; a row each at 1/90 and 1/120 s shows what it does), radii, stiffness (1e5 N/m)."
    )
    size: ClassVar[tuple[float, float]] = (10.0, 7.0)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Pour the pile with each solver and seed; then the last two with smaller steps."""
        # heaps of 600 grains are so flat that the measured slope jumps by 5 degrees now and then
        grains, seeds = (600, 6) if quick else (2000, 3)
        rows: list[dict[str, Any]] = []
        extra: dict[str, Any] = {}
        for name, make in FORMS.items():
            for seed in range(seeds):
                pile = pour(make(), THETA, 0.0, grains, seed)
                rows.append(pile.row(solver=name, dt=1 / 60, seed=seed))
                say(f"{name}, seed {seed}: {pile.slope.degrees:.1f} degrees")
                if seed == 0:
                    world = pile.world
                    extra[name] = (world.grains.x[: world.grains.n].astype(float), pile.slope)
        for dt in () if quick else STEPS:
            for name in ("GS, 40", "P2, 10, eps 0.5"):
                pile = pour(FORMS[name](), THETA, 0.0, grains, 0, dt)
                rows.append(pile.row(solver=name, dt=dt, seed=0))
                say(f"{name}, dt 1/{1 / dt:.0f}: {pile.slope.degrees:.1f} degrees")
        return Measured(rows, extra)

    def judge(self, measured: Measured) -> list[Verdict]:
        """Means over the seeds at dt = 1/60 s."""
        slope = {
            name: mean_and_spread(
                row["slope_degrees"]
                for row in measured.rows
                if row["solver"] == name and row["dt"] == 1 / 60
            )
            for name in FORMS
        }
        text = {name: f"{name}: {mean:.1f} +- {sd:.1f}" for name, (mean, sd) in slope.items()}
        top = slope["GS, 10"][0] - slope["P2, 10, eps 0"][0]
        apart = slope["P2, 10, eps 0.5"][0] - slope["GS, 40"][0]
        others = ", ".join(
            f"dt 1/{1 / row['dt']:.0f} {row['solver']} {row['slope_degrees']:.1f}"
            for row in measured.rows
            if row["dt"] != 1 / 60
        )
        bottom = f"bottom: {text['P2, 10, eps 0.5']} against {text['GS, 40']} degrees"
        bottom += f", {apart:+.1f} (wanted within {CLOSE:g}); {text['berm']} degrees"
        if others:
            bottom += f"; with smaller steps: {others}"
        return [
            Verdict(
                top >= 0,
                f"top: {text['GS, 10']} against {text['P2, 10, eps 0']} degrees, {top:+.1f}",
            ),
            Verdict(abs(apart) <= CLOSE, bottom),
        ]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Side views with the fitted slopes."""
        for k, (name, (spheres, slope)) in enumerate(measured.extra.items()):
            ax = canvas.add_subplot(3, 2, k + 1)
            draw_pile(ax, spheres, slope, f"{name} -> {slope.degrees:.1f} deg", 0.9, 0.5)
