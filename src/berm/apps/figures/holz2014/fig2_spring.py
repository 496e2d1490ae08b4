"""[Holz14] Fig. 2: a position-based spring-damper equals implicit Euler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.holz2014 import FIGURES
from berm.apps.figures.holz2014.drawing import COLOURS, INK
from berm.scenes.base import run_scene, scene
from berm.scenes.bounce import GRAVITY, BounceParams, implicit_euler
from berm.scenes.parts.history import History
from berm.solvers.p2.solver import P2

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

EXACT = 1.0e-11  # m
SECONDS = 8.0
CASES = {"top": (1000.0, 100.0), "bottom": (100.0, 0.0)}  # stiffness N/m, damping N s/m


@FIGURES.register("2")
class Spring(Figure):
    """One ball, five iterations, float64."""

    number: ClassVar[str] = "2"
    title: ClassVar[str] = "response of a spring-damper, P2 and implicit Euler"
    claim: ClassVar[str] = "P2 with 5 iterations equals a spring-damper under implicit Euler"
    setup: ClassVar[str] = (
        "ball of 0.05 m radius and 1 kg on the ground at 0; top: k = 1000 N/m, c = 100 N s/m; "
        "bottom: k = 100 N/m, c = 0. Not printed: dt (1/60 s), drop height (0.5 m)."
    )
    size: ClassVar[tuple[float, float]] = (9.0, 6.5)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Run published P2, its re-testing form and berm's default next to implicit Euler."""
        rows: list[dict[str, Any]] = []
        extra: dict[str, Any] = {}
        for name, (stiffness, damping) in CASES.items():
            params = BounceParams(
                stiffness=stiffness, damping=damping, precision="float64", drop=0.5
            )
            printed = _heights(params, P2.published(iterations=5, eps_depth=0.0))
            again = _heights(params, P2.published(iterations=5, eps_depth=0.0, retest=True))
            ours = run_scene("bounce", params, seconds=SECONDS).history["height"]
            exact = implicit_euler(params, len(printed), 1)
            extra[name] = {
                "P2, 5 iterations": printed,
                "implicit Euler": exact,
                "P2, contact tested in each iteration": again,
                "berm's default (10 substeps)": ours,
            }
            for k in range(len(exact)):
                rows.append(
                    {"case": name, "time": (k + 1) * params.dt}
                    | {label: float(series[k]) for label, series in extra[name].items()}
                )
        return Measured(rows, extra)

    def judge(self, measured: Measured) -> list[Verdict]:
        """Largest difference, and the height at rest."""
        verdicts = []
        for name, (stiffness, _) in CASES.items():
            series = measured.extra[name]
            exact = series["implicit Euler"]
            apart = float(np.abs(series["P2, 5 iterations"] - exact).max())
            again = float(np.abs(series["P2, contact tested in each iteration"] - exact).max())
            verdicts.append(
                Verdict(
                    apart < EXACT,
                    f"{name}: largest difference {apart:.1e} m (wanted below {EXACT:.0e}); testing "
                    f"the contact in every iteration, as the text after (23) says: {again:.1e} m",
                )
            )
            rest = 0.05 - GRAVITY / stiffness
            end = float(series["P2, 5 iterations"][-30:].mean())
            verdicts.append(
                Verdict(
                    abs(end - rest) < 1e-3, f"{name}: rests at {end:.4f} m (r - m g/k {rest:.4f})"
                )
            )
        return verdicts

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Height against time, both cases."""
        for k, (name, (stiffness, damping)) in enumerate(CASES.items()):
            ax = canvas.add_subplot(2, 1, k + 1)
            series = measured.extra[name]
            time = np.arange(1, len(series["implicit Euler"]) + 1) / 60
            ax.plot(time, series["implicit Euler"], color=INK, lw=3, alpha=0.35,
                    label="implicit Euler")  # fmt: skip
            for (label, style), colour in zip(
                (
                    ("P2, 5 iterations", "--"),
                    ("P2, contact tested in each iteration", ":"),
                    ("berm's default (10 substeps)", "-"),
                ),
                (COLOURS[1], COLOURS[2], COLOURS[0]),
                strict=True,
            ):
                ax.plot(time, series[label], style, color=colour, lw=1.2, label=label)
            ax.axhline(0, color=INK, lw=0.5)
            ax.set_title(f"k = {stiffness:g} N/m, c = {damping:g} N s/m", fontsize=10, loc="left")
            ax.set_ylabel("height (m)")
            ax.set_xlim(0, 5)
            if k == 0:
                ax.legend(frameon=False, fontsize=8)
        ax.set_xlabel("time (s)")


def _heights(params: BounceParams, solver: P2) -> npt.NDArray[np.float64]:
    one = scene("bounce")
    world = one.build(params, solver)
    history = History(one.observe, params)
    world.run(SECONDS, recorders=[history])
    return history["height"]
