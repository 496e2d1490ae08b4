"""[Lacoursiere10] Fig. 3: a wheel loader and 500 rocks, and what a simulated second costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.holz2014.drawing import COLOURS
from berm.apps.figures.lacoursiere2010 import FIGURES
from berm.apps.figures.lacoursiere2010.drawing import draw_rocks, spheres_of
from berm.apps.figures.lacoursiere2010.phases import Outcome, phases, play
from berm.render.api import Drawing
from berm.render.camera import Camera
from berm.render.context import available
from berm.stage.stage import moment_of, stage_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

OFF = (2.0, 3.5)  # s a simulated second without merging, as printed
MERGING = 0.10  # share of the time that splitting and merging may take; printed: up to 0.05
SOLVER = 0.75  # share of the numerical solver, as printed: "roughly"
PICTURE = (960, 540)


@FIGURES.register("3")
class Costs(Figure):
    """Three phases, with and without merging."""

    number: ClassVar[str] = "3"
    title: ClassVar[str] = "a wheel loader and 500 rocks: what a simulated second costs"
    claim: ClassVar[str] = (
        "without merging a simulated second takes 2 to 3.5 s; with it 0.1 s at rest, 0.8 s while "
        "the bucket runs into the pile (150 bodies), 1.6 s while it drives over rocks: 100 to "
        "2000 % faster; the solver takes about 75 % of the time, splitting and merging up to 5 %"
    )
    setup: ClassVar[str] = (
        "500 rocks of composite spheres, 0.6 m on average, rolling friction 0.02; berm's wheel "
        "loader with engine and hydraulics stands before the pile, drives its bucket into it, and "
        "drives over strewn rocks; 1/60 s, one thread, processor seconds. In print a laptop of "
        "3.03 GHz: ratios are compared. Fig. 3c (fluid and pebbles) comes with berm's fluid."
    )
    size: ClassVar[tuple[float, float]] = (12.0, 7.0)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Play each phase twice."""
        rocks, settle = (40, 3.0) if quick else (500, 8.0)
        rows: list[dict[str, Any]] = []
        pictures = []
        for phase in phases(quick):
            found: dict[bool, Outcome] = {}
            for merging in (False, True):
                one = found[merging] = play(phase, merging, rocks, settle)
                rows.append({
                    "phase": phase.name, "merging": merging, "s_a_second": one.cost,
                    "printed": phase.printed if merging else f"{OFF[0]:g} to {OFF[1]:g}",
                    "awake": one.awake, "contacts": one.contacts, "fallbacks": one.fallbacks,
                    "way_m": one.way,
                    "share_search": one.search, "share_merging": one.merging,
                    "wanted": phase.faster,
                })  # fmt: skip
                say(
                    f"{phase.name}, merging {'on' if merging else 'off'}: {one.cost:.3f} s a second"
                    f", {one.awake:.0f} of {rocks} rocks by themselves, {one.contacts:.0f} contacts"
                    f", {one.fallbacks} fallbacks, {one.way:.1f} m"
                )
            pictures.append((phase.name, picture(found[True])))
        return Measured(rows, {"pictures": pictures})

    def judge(self, measured: Measured) -> list[Verdict]:
        """Ratios, and where the time goes."""
        verdicts = []
        cost = {(row["phase"], row["merging"]): row for row in measured.rows}
        for name in dict.fromkeys(row["phase"] for row in measured.rows):
            off, on = cost[name, False], cost[name, True]
            ratio = off["s_a_second"] / max(on["s_a_second"], 1e-9)
            verdicts.append(
                Verdict(
                    bool(ratio >= on["wanted"]),
                    f"{name}: {off['s_a_second']:.2f} s a second without, {on['s_a_second']:.3f} "
                    f"with merging ({off['printed']} and {on['printed']:g} in print), "
                    f"{on['awake']:.0f} rocks by themselves: {ratio:.3g} times faster (wanted "
                    f"{on['wanted']:g})",
                )
            )
            if name != "rest":
                verdicts.append(
                    Verdict(
                        bool(on["way_m"] > 0.3),
                        f"{name}: the loader went {on['way_m']:.1f} m with, {off['way_m']:.1f} m "
                        "without merging",
                    )
                )
        busy = [row for row in measured.rows if row["merging"] and row["phase"] != "rest"]
        most = max(row["share_merging"] for row in busy)
        verdicts.append(
            Verdict(
                bool(most <= MERGING),
                f"splitting and merging take {100 * most:.1f} % of the time at most (printed: up "
                "to 5 %)",
            )
        )
        share = [1.0 - row["share_search"] for row in measured.rows if not row["merging"]]
        verdicts.append(
            Verdict(
                bool(min(share) >= 0.5),
                f"without merging, rows, solver and motion take {100 * min(share):.0f} to "
                f"{100 * max(share):.0f} % of the time, the search for contacts the rest (printed: "
                f"solver {100 * SOLVER:.0f} %)",
            )
        )
        return verdicts

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Pictures on top, costs beside the printed ones below."""
        pictures = measured.extra["pictures"]
        parts = canvas.add_gridspec(2, len(pictures), height_ratios=(1.0, 1.0))
        for k, (name, shot) in enumerate(pictures):
            ax = canvas.add_subplot(parts[0, k])
            if isinstance(shot, np.ndarray) and shot.ndim == 3:
                ax.imshow(shot)
                ax.axis("off")
            else:
                draw_rocks(ax, shot)
                ax.autoscale_view()
            ax.set_title(name, fontsize=10, loc="left")
        self._bars(canvas.add_subplot(parts[1, :]), measured)

    def _bars(self, ax: Axes, measured: Measured) -> None:
        names = list(dict.fromkeys(row["phase"] for row in measured.rows))
        cost = {(row["phase"], row["merging"]): row["s_a_second"] for row in measured.rows}
        at = np.arange(len(names))
        printed = [row["printed"] for row in measured.rows if row["merging"]]
        bars = (
            ("in print, merging off (2 to 3.5)", [0.5 * sum(OFF)] * len(names), "#c9c9c9"),
            ("in print, on", printed, "#8f8f8f"),
            ("berm, off", [cost[name, False] for name in names], COLOURS[0]),
            ("berm, on", [cost[name, True] for name in names], COLOURS[1]),
        )
        for k, (label, values, colour) in enumerate(bars):
            drawn = ax.bar(at + 0.2 * (k - 1.5), values, 0.18, color=colour, label=label)
            ax.bar_label(drawn, [f"{value:.2g}" for value in values], fontsize=8)
        ax.set_yscale("log")
        ax.set_xticks(at, names)
        ax.set_ylabel("s a simulated second")
        ax.legend(frameon=False, fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.2))


def picture(outcome: Outcome) -> Any:
    """Machine and rocks by super-body: pixels, or spheres where no pictures can be rendered."""
    if not available():
        return spheres_of(outcome.world)
    x, y, z = outcome.machine.centre
    eye, target = np.array([x + 1.0, y - 12.0, z + 5.5]), np.array([x + 3.0, y + 0.5, z - 1.0])
    camera = Camera(eye, target, np.array([0.0, 0.0, 1.0]))
    how = Drawing(stage_of(outcome.world), look="light", colour="merged", camera=camera)
    return how.picture(moment_of(outcome.world), PICTURE)
