"""[Bell05] Fig. 9: rings scatter from poles, or clump around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.bell2005 import FIGURES
from berm.apps.figures.bell2005.drawing import draw_spheres, snapshot
from berm.apps.figures.holz2014.drawing import COLOURS, INK
from berm.scenes.base import run_scene
from berm.scenes.rings import SETTINGS, RingsParams, caught

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

QUICK = {"rings": 50, "spheres": 16, "seconds": 2.0}


@FIGURES.register("9")
class Rings(Figure):
    """The scene `rings` with both settings, from the same start."""

    number: ClassVar[str] = "9"
    title: ClassVar[str] = "rings dropped onto 25 poles"
    claim: ClassVar[str] = (
        "with low friction and dissipation rings scatter towards the walls; with high they clump "
        "near the poles"
    )
    setup: ClassVar[str] = (
        "100 rings of 24 spheres instead of 1,000 of 110 (`size=paper`), 100 MPa, 3 s; low: "
        "friction 0.05, restitution 0.85; high: 0.6 and 0.2. The settings are not printed."
    )
    size: ClassVar[tuple[float, float]] = (10.0, 5.5)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Drop them twice."""
        rows: list[dict[str, Any]] = []
        extra: dict[str, Any] = {}
        for setting in SETTINGS:
            run = run_scene("rings", {"friction": setting, **(QUICK if quick else {})})
            params = run.params
            assert isinstance(params, RingsParams)
            on = caught(run.world, params)
            for k, (x, y, z) in enumerate(run.world.clumps.position):
                rows.append({
                    "setting": setting, "ring": k, "x": float(x), "y": float(y), "z": float(z),
                    "distance": float(np.hypot(x, y)), "on_a_pole": bool(on[k]),
                })  # fmt: skip
            extra[setting] = (snapshot(run.world), params, run.outcomes)
            say(f"{setting}: " + ", ".join(f"{o.name} {o.value:.3g}" for o in run.outcomes))
        return Measured(rows, extra)

    def judge(self, measured: Measured) -> list[Verdict]:
        """Mean distance from the middle: low above high; and nobody lost."""
        far = {
            setting: np.array([r["distance"] for r in measured.rows if r["setting"] == setting])
            for setting in SETTINGS
        }
        mean = {setting: float(values.mean()) for setting, values in far.items()}
        on = {
            setting: sum(r["on_a_pole"] for r in measured.rows if r["setting"] == setting)
            for setting in SETTINGS
        }
        checks = [o for _, _, outcomes in measured.extra.values() for o in outcomes if not o.ok]
        return [
            Verdict(bool(mean["low"] > mean["high"]),
                    f"mean distance from the middle: low {mean['low']:.3f} m, high "
                    f"{mean['high']:.3f} m; on poles: {on['low']} and {on['high']} of "
                    f"{len(far['low'])}"),
            Verdict(not checks, "; ".join(str(o) for o in checks)
                    or "no ring lost, overlaps as Hertz allows"),
        ]  # fmt: skip

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """From above, and how many rings are within a distance."""
        for k, (setting, (spheres, params, _)) in enumerate(measured.extra.items()):
            ax = canvas.add_subplot(1, 3, k + 1)
            draw_spheres(ax, spheres, "top", steel=spheres[:, 4])
            half = params.half_box
            ax.plot([-half, half, half, -half, -half], [-half, -half, half, half, -half],
                    color=INK, lw=1)  # fmt: skip
            ax.plot(*params.poles().T, ".", color=COLOURS[1], ms=4)
            ax.set_title(f"{setting} friction and dissipation", fontsize=10, loc="left")
        ax = canvas.add_subplot(1, 3, 3)
        for setting, colour in zip(SETTINGS, COLOURS, strict=False):
            far = np.sort([r["distance"] for r in measured.rows if r["setting"] == setting])
            ax.step(far, np.arange(1, len(far) + 1) / len(far), color=colour, label=setting)
        ax.set_xlabel("distance from the middle (m)")
        ax.set_title("share of the rings", fontsize=10, loc="left")
        ax.legend(frameon=False)
