"""[Francu14] Table 1: cost of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.francu2014 import FIGURES
from berm.apps.figures.francu2014.worlds import box, printed, sheet
from berm.kernels.jit import get_threads, max_threads, set_threads
from berm.solvers.vts.solver import VTS
from berm.solvers.vts.sp import SP
from berm.world.world import World

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

PRINTED = {"cloth": (39.0, 51.0), "particles": (5.2, 6.5)}  # ms, one thread of an i7-3770


@FIGURES.register("T1")
class Cost(Figure):
    """Hanging cloth and falling grains, both iterations, one thread and all."""

    number: ClassVar[str] = "T1"
    title: ClassVar[str] = "time of a frame (Table 1)"
    claim: ClassVar[str] = "improved Jacobi costs 1.31 (cloth) and 1.25 (particles) times as much"
    setup: ClassVar[str] = "100 x 100 cloth (PBD), 3,000 grains (VTS), 15 iterations, turns taken"

    def measure(self, quick: bool, say: Say) -> Measured:
        """Step both solvers' worlds in turns, so that a busy machine slows both."""
        before, rows = get_threads(), []
        try:
            for threads in sorted({1, max_threads()}):
                set_threads(threads, always=True)
                for name in PRINTED:
                    times = self._turns(self._worlds(name, quick), 10 if quick else 60)
                    row: dict[str, Any] = {"scene": name, "threads": threads}
                    row |= {f"{kind}_ms": value for kind, value in times.items()}
                    row["ratio"] = times["ij"] / times["gs"]
                    rows.append(row)
                    say(f"{name}, {threads} threads: {row}")
        finally:
            set_threads(before)
        return Measured(rows)

    @staticmethod
    def _worlds(name: str, quick: bool) -> dict[str, World]:
        if name == "cloth":
            n = 30 if quick else 100
            return {k: sheet(SP.pbd(**printed(k)), n)[0] for k in ("gs", "ij")}
        grains = 600 if quick else 3000
        return {k: box(VTS(**printed(k)), grains) for k in ("gs", "ij")}

    @staticmethod
    def _turns(worlds: dict[str, World], frames: int) -> dict[str, float]:
        for world in worlds.values():
            for _ in range(3 * frames):
                world.step()
        times: dict[str, list[float]] = {kind: [] for kind in worlds}
        for _ in range(frames):
            for kind, world in worlds.items():
                times[kind].append(world.step().wall_time)
        return {kind: round(1e3 * float(np.median(found)), 3) for kind, found in times.items()}

    def judge(self, measured: Measured) -> list[Verdict]:
        """At most 1.6 on one thread."""
        return [
            Verdict(
                row["ratio"] <= 1.6,
                f"{row['scene']}, {row['threads']} threads: {row['gs_ms']:.2f} and "
                f"{row['ij_ms']:.2f} ms, ratio {row['ratio']:.2f} (printed "
                f"{PRINTED[row['scene']][0]:g} and {PRINTED[row['scene']][1]:g} ms; wanted <= 1.6)",
            )
            for row in measured.rows
        ]

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Bars."""
        ax = canvas.add_subplot()
        names = [f"{row['scene']}, {row['threads']} thr." for row in measured.rows]
        at = np.arange(len(names))
        ax.bar(at - 0.2, [r["gs_ms"] for r in measured.rows], 0.4, label="Gauss-Seidel")
        ax.bar(at + 0.2, [r["ij_ms"] for r in measured.rows], 0.4, label="improved Jacobi")
        ax.set_xticks(at, names, fontsize=8)
        ax.set_ylabel("ms a frame")
        ax.legend(frameon=False)
