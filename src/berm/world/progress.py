"""A line in the terminal that says how a run is doing."""

from __future__ import annotations

import sys
import time
from typing import IO, TYPE_CHECKING, Any

from berm.kernels.jit import cache_is_warm

if TYPE_CHECKING:
    from berm.core.report import StepReport
    from berm.world.world import World

REFRESH = 0.1  # s between updates of the line
PLAIN_EVERY = 2.0  # s between lines when nobody watches a terminal
WINDOW = 0.9  # memory of the real-time factor, per update
COMPILING = "compiling kernels: first run on this machine, well under a minute, kept for the next"


class Bar:
    """Shows simulated time, real-time factor, grains, contacts, overlap and the time left.

    Call it after every step with the world and its report; `close` it in the end. Without a
    terminal it prints a plain line every two seconds. end_time: simulated time of the end, s.
    """

    def __init__(self, end_time: float, file: IO[str] | None = None) -> None:
        self.end_time = float(end_time)
        self.file: IO[str] = sys.stderr if file is None else file
        self.begin = time.perf_counter()
        self._last = -1e9
        self._mark: tuple[float, float] | None = None  # wall and simulated time, last update
        self._factor = float("nan")
        self._line: Any = None
        self._task: Any = None
        self._pending: tuple[World, StepReport] | None = None  # seen, but not drawn yet
        if self._is_terminal():
            self._open_line()
        if not cache_is_warm():
            self._say(COMPILING)

    def _is_terminal(self) -> bool:
        return bool(getattr(self.file, "isatty", lambda: False)())

    def _open_line(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._line = Progress(
            TextColumn("{task.fields[clock]}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}"),
            console=Console(file=self.file),
            auto_refresh=False,
        )
        self._task = self._line.add_task("", total=1.0, clock="", text="starting")
        self._line.start()
        self._line.refresh()

    def _say(self, text: str) -> None:
        if self._line is not None:
            self._line.update(self._task, text=text)
            self._line.refresh()
        else:
            print(text, file=self.file, flush=True)

    def __call__(self, world: World, report: StepReport) -> None:
        """Take note of a step; draw when it is time to."""
        now = time.perf_counter()
        if self._mark is None:
            self._mark = (now, report.time)  # the first step may have compiled: does not count
            self._start = report.time - world.dt
        every = REFRESH if self._line is not None else PLAIN_EVERY
        self._pending = (world, report)
        if now - self._last < every:
            return
        self._draw(world, report, now)

    def _draw(self, world: World, report: StepReport, now: float) -> None:
        assert self._mark is not None
        self._last, self._pending = now, None
        wall, simulated = now - self._mark[0], report.time - self._mark[1]
        if simulated > 0 and wall > 0:
            fresh = simulated / wall
            known = self._factor == self._factor
            self._factor = WINDOW * self._factor + (1 - WINDOW) * fresh if known else fresh
            self._mark = (now, report.time)
        clock = f"{report.time:.2f} / {self.end_time:.2f} s"
        text = self.text(world, report)
        if self._line is not None:
            share = (report.time - self._start) / max(self.end_time - self._start, 1e-12)
            self._line.update(self._task, completed=share, clock=clock, text=text)
            self._line.refresh()
        else:
            print(f"{clock}  {text}", file=self.file, flush=True)

    def text(self, world: World, report: StepReport) -> str:
        """Everything but the clock, in words."""
        grains = world.grains
        radius = float(grains.radius.mean()) if grains.n else 0.0
        overlap = 100.0 * report.overlap_mean / radius if radius else 0.0
        parts = [
            f"{self._factor:.1f}x real time" if self._factor == self._factor else "",
            f"{report.grains:,} grains",
            f"{report.contacts + report.wall_contacts:,} contacts",
            f"overlap {overlap:.1f} %",
            f"{_span((self.end_time - report.time) / self._factor)} left"
            if self._factor > 0
            else "",
        ]
        return "  ".join(part for part in parts if part)

    def close(self) -> None:
        """Draw the last step, and leave the line on the screen."""
        if self._pending is not None:
            self._draw(*self._pending, time.perf_counter())
        if self._line is not None:
            self._line.stop()
            self._line = None


def _span(seconds: float) -> str:
    whole = max(0, round(seconds))
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole} s"
