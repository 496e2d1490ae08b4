"""[Holz14] Fig. 3: the angle of repose grows with friction and with adhesion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from berm.apps.figures.base import Figure, Measured, Say, Verdict, mean_and_spread
from berm.apps.figures.holz2014 import FIGURES
from berm.apps.figures.holz2014.drawing import draw_pile
from berm.apps.figures.holz2014.piles import ours, pour, published
from berm.solvers.p2.solver import P2

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

CASES = {"I": (5.0, 0.0), "II": (30.0, 0.0), "III": (5.0, 1000.0)}  # degrees, Pa
GAP = 5.0  # degrees
FORMS: dict[str, Callable[[], P2]] = {"published": lambda: published(0.5), "berm": ours}


@FIGURES.register("3")
class Repose(Figure):
    """Three piles, several seeds, published solver; berm's default beside it."""

    number: ClassVar[str] = "3"
    title: ClassVar[str] = "angle of repose: friction and adhesion"
    claim: ClassVar[str] = "the slopes of II (more friction) and III (adhesion) exceed that of I"
    setup: ClassVar[str] = (
        "2,000 grains, P2 as printed, 10 iterations, eps 0.5, sleep 0.0003 m; kinetic friction "
        "angle 5/30/5 degrees, adhesion 0/0/1000 Pa. Not printed: static friction (equal to "
        "kinetic), dt (1/60 s), radii (16-24 mm), stiffness (1e5 N/m)."
    )
    size: ClassVar[tuple[float, float]] = (11.0, 5.5)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Pour each pile with each seed."""
        grains = 500 if quick else 2000
        rows: list[dict[str, Any]] = []
        extra: dict[str, Any] = {}
        for form, make in FORMS.items():
            for name, (theta, adhesion) in CASES.items():
                seeds = range(1 if quick or form == "berm" else 3)
                for seed in seeds:
                    pile = pour(make(), theta, adhesion, grains, seed)
                    row = pile.row(
                        solver=form, pile=name, theta=theta, adhesion=adhesion, seed=seed
                    )
                    rows.append(row)
                    say(f"{form} {name}, seed {seed}: {row['slope_degrees']:.1f} degrees")
                    if seed == 0:
                        world = pile.world
                        extra[f"{form} {name}"] = (
                            world.grains.x[: world.grains.n].astype(float), pile.slope
                        )  # fmt: skip
        return Measured(rows, extra)

    def judge(self, measured: Measured) -> list[Verdict]:
        """Means over the seeds; both gaps must be 5 degrees."""
        slope = {
            name: mean_and_spread(
                row["slope_degrees"]
                for row in measured.rows
                if row["pile"] == name and row["solver"] == "published"
            )
            for name in CASES
        }
        text = ", ".join(f"{name} {mean:.1f} +- {sd:.1f}" for name, (mean, sd) in slope.items())
        verdicts = []
        for name in ("II", "III"):
            gap = slope[name][0] - slope["I"][0]
            verdicts.append(
                Verdict(gap >= GAP, f"{name} - I = {gap:.1f} degrees (wanted {GAP:g}; {text})")
            )
        return verdicts

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Side views with the fitted slopes."""
        half = 0.9
        for k, (key, (spheres, slope)) in enumerate(measured.extra.items()):
            ax = canvas.add_subplot(2, len(CASES), k + 1)
            theta, adhesion = CASES[key.split()[1]]
            title = f"{key}: {theta:g} deg, {adhesion:g} Pa -> {slope.degrees:.1f} deg"
            draw_pile(ax, spheres, slope, title, half, 0.6)
