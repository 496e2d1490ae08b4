"""[Bell05] Table 1: minutes a frame at the paper's own sizes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from berm.apps.figures.base import Figure, Measured, Say, Verdict
from berm.apps.figures.bell2005 import FIGURES
from berm.scenes.base import SCENES, load_all, make_params, scene
from berm.scenes.parts.compound import FRAME

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# row: scene, parameters, spheres, frames and minutes a frame in print
TABLE: dict[str, tuple[str, dict[str, Any], int, int, float]] = {
    "Hourglass": ("sandglass", {}, 109_708, 1600, 3.18),
    "1000 Rings, low": ("rings", {"friction": "low"}, 110_000, 460, 3.73),
    "1000 Rings, high": ("rings", {"friction": "high"}, 110_000, 460, 3.09),
    "Splash": ("splash", {}, 186_892, 480, 3.41),
    "Avalanche": ("avalanche", {}, 294_820, 720, 26.40),
    "Bulldozer": ("debris", {}, 310_149, 300, 17.40),
}
FRAMES = 12  # run at the paper's size, until grains meet; the last quarter of them counts


@FIGURES.register("table1")
class Times(Figure):
    """Each scene with `size=paper` for a few frames; a scene that is not there is said to miss."""

    number: ClassVar[str] = "table1"
    title: ClassVar[str] = "minutes a frame, ours next to the paper's"
    claim: ClassVar[str] = "scenes of 110,000 to 310,000 spheres run in 3 to 26 minutes a frame"
    setup: ClassVar[str] = (
        f"the paper's numbers of grains, {FRAMES} frames of 1/30 s each from the start, of which "
        "the last quarter counts; its PCs had 3 GHz, its frame rate is not printed. Early frames "
        "have fewer contacts than late ones."
    )
    size: ClassVar[tuple[float, float]] = (9.0, 4.0)

    def measure(self, quick: bool, say: Say) -> Measured:
        """Run each row; quick: at the small size, which only shows that it runs."""
        load_all()
        rows: list[dict[str, Any]] = []
        for name, (which, given, spheres, frames, minutes) in TABLE.items():
            row: dict[str, Any] = {
                "simulation": name, "scene": which, "paper_spheres": spheres,
                "paper_frames": frames, "paper_minutes": minutes,
            }  # fmt: skip
            if which in SCENES and (not quick or which in ("sandglass", "rings", "splash")):
                row |= frame_time(which, {**given, "size": "small" if quick else "paper"},
                                  2 if quick else FRAMES)  # fmt: skip
                say(f"{name}: {row['spheres']:,} spheres, {row['minutes']:.3f} minutes a frame "
                    f"(paper {minutes:g})")  # fmt: skip
            else:
                say(f"{name}: not run")
            rows.append(row)
        return Measured(rows, {"quick": quick})

    def judge(self, measured: Measured) -> list[Verdict]:
        """Every row runs, with at least as many spheres and no more minutes."""
        verdicts = []
        for row in measured.rows:
            if "minutes" not in row:
                verdicts.append(Verdict(False, f"{row['simulation']}: not run"))
                continue
            share = row["spheres"] / row["paper_spheres"]
            verdicts.append(
                Verdict(
                    share > 0.95 and row["minutes"] <= row["paper_minutes"],
                    f"{row['simulation']}: {row['minutes']:.3f} minutes a frame with "
                    f"{row['spheres']:,} spheres and {row['contacts']:,} contacts, paper "
                    f"{row['paper_minutes']:g} with {row['paper_spheres']:,}",
                )
            )
        return verdicts

    def draw(self, canvas: Canvas, measured: Measured) -> None:
        """Bars, on a logarithmic axis."""
        ax = canvas.add_subplot()
        names = [row["simulation"] for row in measured.rows]
        for k, row in enumerate(measured.rows):
            ax.barh(k + 0.2, row["paper_minutes"], 0.38, color="#b5b5b5")
            if "minutes" in row:
                ax.barh(k - 0.2, row["minutes"], 0.38, color="#3a6ea5")
        ax.set_xscale("log")
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set_xlabel("minutes a frame (grey: paper, blue: here)")


def frame_time(which: str, given: dict[str, Any], frames: int) -> dict[str, Any]:
    """Run some frames of a scene: spheres, contacts, steps and minutes of a late one."""
    one = scene(which)
    params = make_params(one, given)
    begin = time.perf_counter()
    world = one.build(params)
    built = time.perf_counter() - begin
    a_frame = max(1, round(FRAME / params.dt))
    taken, steps = [], 0
    for _ in range(frames):
        begin, steps = time.perf_counter(), 0
        for _ in range(a_frame):
            steps += world.step().substeps
        taken.append(time.perf_counter() - begin)
    late = taken[3 * len(taken) // 4 :]
    return {
        "spheres": world.grains.n, "contacts": world.report.contacts, "steps_a_frame": steps,
        "minutes": sum(late) / len(late) / 60.0, "build_minutes": built / 60.0,
    }  # fmt: skip
