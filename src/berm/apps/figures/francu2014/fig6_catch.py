"""[Francu14] Fig. 6: 1000 grains on a 20 x 20 cloth."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.francu2014 import FIGURES
from berm.apps.figures.francu2014.fig5_sphere import draw_cloth
from berm.apps.figures.francu2014.worlds import curves, rows_of
from berm.scenes.base import run_scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@FIGURES.register("6")
class Catch(Figure):
    """Grains and cloth in one loop."""

    number: ClassVar[str] = "6"
    title: ClassVar[str] = "grains on a cloth held at its corners"
    claim: ClassVar[str] = "the cloth bounces the grains, then both come to rest; none is lost"
    setup: ClassVar[str] = "SP, 1,000 grains (12 mm, 300 kg/m^3), 20 x 20 cloth of 1 m and 1 kg"
    size: ClassVar[tuple[float, float]] = (11.0, 4.5)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Run the scene cloth-grains."""
        run = run_scene("cloth-grains", {"grains": 300, "seconds": 5.0} if quick else {})
        energy = run.history["kinetic_energy"]
        series = {"kinetic energy / peak": energy / energy.max()}
        cloth, grains = run.world.cloths[0], run.world.grains
        extra = {
            "series": series, "x": run.history["time"], "outcomes": run.outcomes,
            "cloth": (cloth.position.copy(), cloth.faces),
            "grains": grains.position.astype(float),
        }  # fmt: skip
        return Measured(rows_of(series, "time", extra["x"]), extra)

    def judge(self, measured: Measured) -> list[Verdict]:
        """As the scene checks itself."""
        return [Verdict(o.ok, str(o)) for o in measured.extra["outcomes"]]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Energy, and the end."""
        ax = canvas.add_subplot(1, 2, 1)
        curves(ax, measured.extra["series"], "time (s)", "share", measured.extra["x"])
        ax.set_yscale("log")
        ax = canvas.add_subplot(1, 2, 2, projection="3d")
        position, faces = measured.extra["cloth"]
        draw_cloth(ax, position, faces, alpha=0.35)
        x = np.asarray(measured.extra["grains"])
        ax.scatter(x[:, 0], x[:, 1], x[:, 2], s=3, color="#b08a57")
