"""[Bell05] Fig. 5: a steel ball splashes into a heap; a glass wall stops the wave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.bell2005 import FIGURES
from berm.apps.figures.bell2005.drawing import Snapshots, draw_spheres
from berm.apps.figures.holz2014.drawing import COLOURS, INK
from berm.scenes.base import make_params, run_scene, scene
from berm.scenes.splash import BIG, SplashParams

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

QUICK = {"grains": 300, "after": 1.0, "settle": 0.5}
WANTED = (
    "wave meets the wall", "heap at the foot of the wall", "grains behind the wall", "static again",
)  # fmt: skip


@FIGURES.register("5")
class Splash(Figure):
    """The scene `splash`."""

    number: ClassVar[str] = "5"
    title: ClassVar[str] = "a steel ball and a heap beside a glass wall"
    claim: ClassVar[str] = (
        "the wave of grains is halted by the wall and leaves a heap at its base; the material goes "
        "from static to dynamic and back to static"
    )
    setup: ClassVar[str] = (
        "1,200 tetrahedra instead of 45,494 (`size=paper`), 10 MPa, ball at 5 m/s, 45 degrees. "
        "Only the number of grains and the modulus are printed."
    )
    size: ClassVar[tuple[float, float]] = (10.0, 6.0)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Run it; keep the push on the wall and the grains' speed."""
        one = scene("splash")
        params = make_params(one, QUICK if quick else {})
        assert isinstance(params, SplashParams)
        hit = params.settle
        shots = Snapshots([hit, hit + 0.12, hit + 0.3, hit + params.after - 0.05])
        run = run_scene(one, params, recorders=[shots])
        for outcome in run.outcomes:
            say(str(outcome))
        names = ("time", "ball_speed", "push", "front", "speed")
        rows: list[dict[str, Any]] = [
            dict(zip(names, (float(v) for v in row), strict=True))
            for row in zip(*(run.history[name] for name in names), strict=True)
        ]
        size = np.diff(run.world.clumps.first)
        return Measured(rows, {
            "shots": shots.taken, "outcomes": run.outcomes, "params": params,
            "ball": np.flatnonzero(size > BIG),
        })  # fmt: skip

    def judge(self, measured: Measured) -> list[Verdict]:
        """What the scene itself checks."""
        value = {one.name: one for one in measured.extra["outcomes"]}
        return [
            Verdict(bool(value[name].ok),
                    f"{name}: {value[name].value:.3g} (expected {value[name].expected})")
            for name in WANTED
        ]  # fmt: skip

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Four moments from the side, and the push on the wall."""
        parts = canvas.add_gridspec(3, 2, height_ratios=(1, 1, 1.1))
        params: SplashParams = measured.extra["params"]
        tall, wide = params.heap
        for k, (time, spheres) in enumerate(measured.extra["shots"]):
            ax = canvas.add_subplot(parts[k // 2, k % 2])
            draw_spheres(ax, spheres[spheres[:, 1] > -0.15 * wide], steel=measured.extra["ball"])
            ax.axhline(0, color=INK, lw=1)
            ax.plot([params.wall_at] * 2, [0, 2.2 * tall], color=COLOURS[0], lw=3)
            ax.set_xlim(-1.6 * wide, 1.3 * params.wall_at)
            ax.set_ylim(-0.02, 2.2 * tall)
            ax.set_title(f"{time:.2f} s", fontsize=10, loc="left")
        ax = canvas.add_subplot(parts[2, :])
        time = [row["time"] for row in measured.rows]
        ax.plot(time, [row["push"] for row in measured.rows], color=COLOURS[1],
                label="push on the wall (N)")  # fmt: skip
        ax.set_xlabel("time (s)")
        ax.set_ylabel("push on the wall (N)")
        other = ax.twinx()
        other.plot(time, [row["speed"] for row in measured.rows], color=COLOURS[0])
        other.set_ylabel("speed of grains (m/s)", color=COLOURS[0])
