"""[Holz14] Fig. 7: a blade that pushes soil far leaves ridges on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.holz2014 import FIGURES
from berm.apps.figures.holz2014.drawing import COLOURS, INK
from berm.scenes.base import Outcome, run_scene
from berm.scenes.push import PushParams, cross_profile, far_level
from berm.world.measure import height_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

QUICK = {"length": 2.0, "width": 1.3, "depth": 0.12, "cut": 0.07, "blade": 0.5, "speed": 0.6}
CLEAR = 0.5  # radii above and below the first level that count as a ridge and a cut
WANTED = ("ridge on the left", "ridge on the right", "cut below the first level")


@FIGURES.register("7")
class Blade(Figure):
    """The scene push, with berm's default and with P2 as printed."""

    number: ClassVar[str] = "7"
    title: ClassVar[str] = "a kinematic blade pushes soil over a long distance"
    claim: ClassVar[str] = "soil flows sideways out of the blade and forms plausible ridges"
    setup: ClassVar[str] = (
        "bed of 3.0 x 1.6 x 0.14 m, about 12,000 grains of 16-24 mm radius, blade 0.6 m wide, "
        "raked by 15 degrees, 0.08 m deep, pushed 2 m at 0.5 m/s. Nothing of this is printed."
    )
    size: ClassVar[tuple[float, float]] = (10.0, 6.5)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Push with both solvers; keep the profile across the way."""
        rows: list[dict[str, Any]] = []
        extra: dict[str, Any] = {}
        for form in ("p2", "published"):
            run = run_scene("push", QUICK if quick else {}, solver=form)
            params = run.params
            assert isinstance(params, PushParams)
            place, height = cross_profile(run.world, params)
            level = far_level(place, height, params)
            rows += [
                {"solver": form, "y": float(y), "height": float(h), "above_level": float(h - level)}
                for y, h in zip(place, height, strict=True)
            ]
            grid = height_map(run.world, floor=0.0)
            extra[form] = (run.outcomes, params, place, height - level, grid, level)
            say(f"{form}: " + ", ".join(f"{o.name} {o.value:.3g}" for o in run.outcomes))
        return Measured(rows, extra)

    def judge(self, measured: Measured) -> list[Verdict]:
        """Two lateral maxima above the first level, and a cut below it."""
        verdicts = []
        for form, (outcomes, params, *_) in measured.extra.items():
            chosen: dict[str, Outcome] = {one.name: one for one in outcomes}
            left, right, cut = (chosen[name].value for name in WANTED)
            radius = params.radius
            fine = left > CLEAR and right > CLEAR and cut < -CLEAR * radius
            label = "berm's default" if form == "p2" else "as printed"
            text = f"ridges {left:.2f} and {right:.2f} radii above the first level (wanted {CLEAR})"
            text += f", cut {100 * cut:.1f} cm (blade {-100 * params.cut:.1f} cm)"
            verdicts.append(Verdict(fine, f"{label}: {text}"))
        return verdicts

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Height map from above, and the profile across the way."""
        grid_of = canvas.add_gridspec(2, 2, height_ratios=(1.2, 1))
        below = canvas.add_subplot(grid_of[1, :])
        for k, (form, data) in enumerate(measured.extra.items()):
            _, params, place, above, grid, level = data
            ax = canvas.add_subplot(grid_of[0, k])
            limit = 2.5 * params.cut
            ax.imshow(
                (grid.heights - level).T, origin="lower", cmap="BrBG_r", vmin=-limit, vmax=limit,
                extent=(grid.x[0], grid.x[-1], grid.y[0], grid.y[-1]),
            )  # fmt: skip
            ax.set_title(
                "berm's default" if form == "p2" else "as printed", fontsize=10, loc="left"
            )
            ax.set_xlabel("x (m)")
            below.plot(place, 100 * np.asarray(above), color=COLOURS[k], lw=1.8, label=form)
        half = params.blade / 2
        below.axvspan(-half, half, color="#999999", alpha=0.15, label="blade")
        below.axhline(0, color=INK, lw=0.8)
        below.set_xlabel("y, across the way (m)")
        below.set_ylabel("above the first level (cm)")
        below.legend(frameon=False)
