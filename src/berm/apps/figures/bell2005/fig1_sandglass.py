"""[Bell05] Fig. 1: sand made of tetrahedra runs through an hourglass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.bell2005 import FIGURES
from berm.apps.figures.bell2005.drawing import Snapshots, draw_spheres
from berm.apps.figures.holz2014.drawing import COLOURS, INK
from berm.scenes.base import make_params, run_scene, scene
from berm.scenes.sandglass import SandglassParams

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

STEADY = 0.99  # R^2
QUICK = {"grains": 250, "neck": 5.0}


@FIGURES.register("1")
class Hourglass(Figure):
    """The scene `sandglass`."""

    number: ClassVar[str] = "1"
    title: ClassVar[str] = "an hourglass with grains of four spheres"
    claim: ClassVar[str] = "grains flow through the neck at a constant rate until it runs dry"
    setup: ClassVar[str] = (
        "1,500 tetrahedra instead of 27,427 (`size=paper`), 10 MPa, friction 0.5 by (18), neck "
        "of 7 diameters. Only the number of grains and the modulus are printed."
    )
    size: ClassVar[tuple[float, float]] = (10.0, 5.0)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Run it dry; keep what has passed."""
        one = scene("sandglass")
        params = make_params(one, QUICK if quick else {})
        assert isinstance(params, SandglassParams)
        last = one.duration(params)
        shots = Snapshots([params.settle, params.settle + 0.3 * (last - params.settle), last - 0.1])
        run = run_scene(one, params, recorders=[shots])
        for outcome in run.outcomes:
            say(str(outcome))
        total = float(run.world.clumps.mass.sum())
        rows: list[dict[str, Any]] = [
            {"time": float(t), "passed_kg": float(m), "share": float(m) / total}
            for t, m in zip(run.history["time"], run.history["passed"], strict=True)
        ]
        return Measured(rows, {"shots": shots.taken, "outcomes": run.outcomes, "params": params})

    def judge(self, measured: Measured) -> list[Verdict]:
        """A straight line between 10 and 90 %, and everything through."""
        value = {one.name: one for one in measured.extra["outcomes"]}
        r2, through = value["flow is steady, R2"].value, value["run through"].value
        rate = value["flow rate"]
        return [
            Verdict(bool(r2 >= STEADY), f"R2 = {r2:.4f} from 10 to 90 % (wanted {STEADY}), "
                    f"{rate.value:.1f} kg/s (expected {rate.expected})"),
            Verdict(bool(through > 0.98), f"{100 * through:.1f} % of the mass run through"),
        ]  # fmt: skip

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Three views of the glass cut open, and the mass below the neck."""
        parts = canvas.add_gridspec(1, 5)
        params: SandglassParams = measured.extra["params"]
        wide = params.bulb_radius
        low = min(s[:, 2].min() for _, s in measured.extra["shots"])
        high = max(s[:, 2].max() for _, s in measured.extra["shots"])
        rise = (wide - params.neck_radius) * np.tan(np.radians(params.slope))
        glass = [(wide, high), (wide, rise), (params.neck_radius, 0), (wide, -rise), (wide, low)]
        for k, (time, spheres) in enumerate(measured.extra["shots"]):
            ax = canvas.add_subplot(parts[0, k])
            draw_spheres(ax, spheres[spheres[:, 1] > 0])  # the rear half
            for side in (-1, 1):
                x, z = np.array(glass).T
                ax.plot(side * x, z, color=INK, lw=1)
            ax.set_xlim(-1.1 * wide, 1.1 * wide)
            ax.set_ylim(low - params.radius, high + params.radius)
            ax.set_title(f"{time:.1f} s", fontsize=10)
        ax = canvas.add_subplot(parts[0, 3:])
        ax.plot([r["time"] for r in measured.rows], [r["share"] for r in measured.rows],
                color=COLOURS[0], lw=2)  # fmt: skip
        for share in (0.1, 0.9):
            ax.axhline(share, color=INK, lw=0.6, ls=":")
        ax.set_xlabel("time (s)")
        ax.set_title("share of the mass below the neck", fontsize=10, loc="left")
