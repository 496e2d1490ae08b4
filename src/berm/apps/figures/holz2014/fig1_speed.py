"""[Holz14] Fig. 1: time a step of the parallel solver against serial Gauss-Seidel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.holz2014 import FIGURES
from berm.apps.figures.holz2014.drawing import COLOURS
from berm.apps.figures.holz2014.piles import gauss_seidel, pile_world, published
from berm.kernels.jit import get_threads, max_threads, set_threads

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

WANTED = 1.4  # speed-up on 2 threads that counts as significant at 2,000 grains
STAGES = ("search", "walls", "solve", "forces")


@FIGURES.register("1")
class Speed(Figure):
    """Three worlds advance in turn, so that other load on the machine hits all alike."""

    number: ClassVar[str] = "1"
    title: ClassVar[str] = "time a step while a pile is poured"
    claim: ClassVar[str] = (
        "the parallel solver on several threads is significantly faster than serial Gauss-Seidel"
    )
    setup: ClassVar[str] = (
        "2,000 grains poured at 400 a second, 10 iterations, friction angle 30 degrees; collision "
        "detection included, pouring left out; PP on 1 and 2 threads, GS on 1. "
        "Not printed: dt (1/60 s)."
    )

    def measure(self, quick: bool, say: Say) -> Measured:
        """Time every step of the three solvers side by side."""
        grains = 400 if quick else 2000
        before = get_threads()
        worlds = {
            "GS, 1 thread": (pile_world(gauss_seidel(10), 30.0, 0.0, grains, 0), 1),
            "PP, 1 thread": (pile_world(published(0.5), 30.0, 0.0, grains, 0), 1),
        }
        if max_threads() >= 2:
            worlds["PP, 2 threads"] = (pile_world(published(0.5), 30.0, 0.0, grains, 0), 2)
        steps = round((grains / 400.0 + 1.0) * 60)
        rows: list[dict[str, Any]] = []
        try:
            for step in range(steps):
                row: dict[str, Any] = {"step": step + 1}
                for name, (world, threads) in worlds.items():
                    set_threads(threads, always=True)
                    report = world.step()
                    row[f"{name} (ms)"] = 1e3 * sum(report.timings.get(s, 0.0) for s in STAGES)
                row["grains"] = worlds["GS, 1 thread"][0].grains.n
                rows.append(row)
        finally:
            set_threads(before)
        return Measured(rows, {"names": list(worlds), "grains": grains})

    def judge(self, measured: Measured) -> list[Verdict]:
        """The least disturbed tenth of the last half, when the pile is nearly complete."""
        late = measured.rows[len(measured.rows) // 2 :]
        time = {
            name: float(np.percentile([row[f"{name} (ms)"] for row in late], 10))
            for name in measured.extra["names"]
        }
        text = ", ".join(f"{name} {value:.2f} ms" for name, value in time.items())
        if "PP, 2 threads" not in time:
            ratio = time["GS, 1 thread"] / time["PP, 1 thread"]
            return [Verdict(False, f"{text}: GS/PP {ratio:.2f}; only one thread here, not judged")]
        gain = time["PP, 1 thread"] / time["PP, 2 threads"]
        ratio = time["GS, 1 thread"] / time["PP, 2 threads"]
        return [
            Verdict(ratio > 1, f"{text}: PP on 2 threads is {ratio:.2f} times as fast as GS"),
            Verdict(gain >= WANTED, f"2 threads against 1: {gain:.2f} (wanted {WANTED})"),
        ]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Time a step against the step, smoothed over 15 steps."""
        ax = canvas.add_subplot()
        step = [row["step"] for row in measured.rows]
        for name, colour in zip(measured.extra["names"], COLOURS, strict=False):
            value = np.array([row[f"{name} (ms)"] for row in measured.rows])
            ax.plot(step, value, color=colour, lw=0.5, alpha=0.3)
            width = min(15, len(value))
            smooth = [np.median(value[max(0, k - width) : k + 1]) for k in range(len(value))]
            ax.plot(step, smooth, color=colour, lw=2, label=name)
        top = np.percentile(
            [row[f"{n} (ms)"] for row in measured.rows for n in measured.extra["names"]], 98
        )
        ax.set_ylim(0, 1.2 * float(top))
        ax.set_xlabel("step")
        ax.set_ylabel("wall time a step (ms)")
        ax.legend(frameon=False)
