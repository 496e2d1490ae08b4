"""`berm compare`: one scene, several solvers; error and time against iterations."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from berm.core.errors import BermError
from berm.io.pictures import figure
from berm.scenes.base import make_params, scene
from berm.solvers.choice import Choice
from berm.world.world import World

COLOURS = ("#3a6ea5", "#c8402f", "#5d8a4a", "#8a6bb0", "#c99a2e", "#2b2b2b")
Say = Callable[[str], None]


@dataclass
class Point:
    """One run: mean L1 error over the second half (m), largest error (m), median time (ms)."""

    solver: str
    iterations: int
    error: float
    worst: float
    milliseconds: float
    kinetic_energy: float
    note: str = ""


def errors_of(world: World) -> tuple[float, float]:
    """L1 norm and maximum of constraint errors after a step: overlaps and stretched links, m."""
    report = world.report
    one, most = report.overlap_mean * report.contacts, report.overlap_max
    for cloth in world.cloths:
        off = np.abs(cloth.stretch * cloth.rest)
        one, most = one + float(off.sum()), max(most, float(off.max(initial=0.0)))
    return one, most


def compare(
    name: str,
    solvers: Sequence[str] = ("vts:gs", "vts:ij", "sp:gs"),
    iterations: Sequence[int] = (5, 15, 30),
    params: Mapping[str, Any] | None = None,
    seconds: float = 2.0,
    out: str | Path = "berm-compare",
    say: Say = print,
) -> list[Point]:
    """Run the scene with each solver and each number of iterations; write table, data, picture."""
    one, points = scene(name), []
    for text in solvers:
        for count in iterations:
            choice = Choice(text, {"iterations": count})
            world = one.build(make_params(one, params), choice)
            points.append(_run(world, text, count, seconds))
            p = points[-1]
            say(f"{text:10s} {count:4d} iterations: error {p.error:.4g} m, "
                f"{p.milliseconds:.2f} ms a step {p.note}")  # fmt: skip
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(asdict(points[0])))
        writer.writeheader()
        writer.writerows(asdict(point) for point in points)
    _draw(points, name, folder / f"{name}.png")
    say(f"written: {folder / name}.csv and .png")
    return points


def _run(world: World, text: str, count: int, seconds: float) -> Point:
    errors, times = [], []
    for _ in range(max(round(seconds / world.dt), 2)):
        try:
            times.append(world.step().wall_time)
        except BermError as error:
            return Point(text, count, float("inf"), float("inf"), 0.0, float("inf"), str(error))
        errors.append(errors_of(world))
    half = np.array(errors[len(errors) // 2 :])
    return Point(
        text, count, float(half[:, 0].mean()), float(half[:, 1].max()),
        1e3 * float(np.median(times)), world.report.kinetic_energy,
    )  # fmt: skip


def _draw(points: list[Point], name: str, path: Path) -> None:
    canvas = figure(10.0, 4.2)
    left, right = canvas.add_subplot(1, 2, 1), canvas.add_subplot(1, 2, 2)
    for colour, text in zip(COLOURS, dict.fromkeys(p.solver for p in points), strict=False):
        mine = [p for p in points if p.solver == text]
        error = [p.error for p in mine]
        left.plot([p.iterations for p in mine], error, "o-", color=colour, label=text)
        right.plot([p.milliseconds for p in mine], error, "o-", color=colour, label=text)
    left.set_xlabel("iterations")
    right.set_xlabel("time of a step (ms)")
    for ax in (left, right):
        ax.set_ylabel("L1 constraint error (m)")
        ax.set_yscale("log")
        ax.legend(frameon=False, fontsize=8)
    canvas.suptitle(f"scene {name}", fontsize=12, x=0.01, ha="left")
    canvas.savefig(path, dpi=130)
