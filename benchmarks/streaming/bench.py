"""Measure what viewers cost: bytes and server milliseconds a frame, and the step beside them.

python -m benchmarks.streaming.bench --grains 20000 100000 --threads 2

The viewer is a process of its own that reads every frame and draws nothing. Steps with and without
it alternate in short parts, so that a busy moment of the machine hits both alike; the ratio of the
medians counts, the milliseconds say as much about the machine as about the code.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from berm.apps import console
from berm.apps.bench_worlds import bed
from berm.apps.viewer.frames import MomentFrames
from berm.apps.viewer.live import Live, Program
from berm.apps.viewer.server import Server
from berm.kernels import jit
from berm.solvers.p2.solver import P2
from berm.stage.stage import moment_of
from berm.world.world import World

SETTLE = 60  # steps before anything is measured
REPEATS = 30  # frames that are made for the costs of making one
PART = 0.5  # s, about, of a part with or without a viewer
WAIT = 20.0  # s for the viewer to come


@dataclass
class Row:
    """What was measured for one number of grains and one colour."""

    grains: int
    threads: int
    colour: str
    bytes_a_frame: int
    copy_ms: float  # in the simulation's thread
    encode_ms: float  # in the server's thread
    server_ms: float  # of processor time of the server's thread a frame: encode and send
    frames_a_second: float
    step_ms: float  # without a viewer
    step_seen_ms: float  # with one
    ratio: float


def median_ms(work: Callable[[], Any]) -> float:
    """Return the median time of a piece of work, ms."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def measure(grains: int, threads: int, colour: str, parts: int) -> Row:
    """Step a settled bed with and without a viewer who draws `colour`."""
    jit.set_threads(threads)
    world = bed(grains, P2())
    for _ in range(SETTLE):
        world.step()
    fields_too = colour in ("force", "overlap")
    copy = median_ms(lambda: moment_of(world, fields=fields_too))
    moment = moment_of(world, fields=fields_too)
    encode = median_ms(lambda: MomentFrames(moment, 1, 1).coloured_by(colour))
    size = len(MomentFrames(moment, 1, 1).coloured_by(colour))
    live = Live(Program("bench", lambda params: world))
    live.pace.speed = float("inf")
    live.open(world)
    server = Server(live.hub, port=0).start()
    page = Path(__file__).with_name("page.py")
    viewer = subprocess.Popen(
        [sys.executable, str(page), server.address, colour], stdout=subprocess.PIPE, text=True
    )
    try:
        wait_for(lambda: bool(live.hub.viewers))
        alone, seen, spent = alternate(world, live, parts)
    finally:
        server.stop()
        out, _ = viewer.communicate(timeout=WAIT)
    frames = max(int(out.split()[0]), 1)
    return Row(
        grains=grains,
        threads=threads,
        colour=colour,
        bytes_a_frame=size,
        copy_ms=copy,
        encode_ms=encode,
        server_ms=1e3 * spent / frames,
        frames_a_second=frames / sum(seen),
        step_ms=1e3 * statistics.median(alone_steps := per_step(alone)),
        step_seen_ms=1e3 * statistics.median(seen_steps := per_step(seen)),
        ratio=statistics.median(seen_steps) / statistics.median(alone_steps),
    )


class Part(float):
    """Seconds of a part, and how many steps it had."""

    steps: int


def per_step(parts: list[Part]) -> list[float]:
    """Return seconds a step of each part."""
    return [part / part.steps for part in parts]


def alternate(world: World, live: Live, parts: int) -> tuple[list[Part], list[Part], float]:
    """Return parts without and with a viewer, in turns, and the server's processor time, s."""
    begin = time.perf_counter()
    for _ in range(3):
        world.step()
    steps = max(3, round(PART / ((time.perf_counter() - begin) / 3)))

    def alone() -> None:
        world.step()

    def seen() -> None:
        live.after_step(world.step())

    found: dict[Callable[[], None], list[Part]] = {alone: [], seen: []}
    first = server_clock(live)
    for number in range(parts):
        for way in (alone, seen) if number % 2 else (seen, alone):
            begin = time.perf_counter()
            for _ in range(steps):
                way()
            part = Part(time.perf_counter() - begin)
            part.steps = steps
            found[way].append(part)
            time.sleep(0.05)  # what was sent last is read before the other way begins
    return found[alone], found[seen], server_clock(live) - first


def server_clock(live: Live) -> float:
    """Return the processor time of the server's thread, s."""
    told: list[float] = []
    live.hub.post(lambda: told.append(time.thread_time()))
    wait_for(lambda: bool(told))
    return told[0]


def wait_for(done: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + WAIT
    while not done():
        if time.monotonic() > deadline:
            raise SystemExit("the viewer did not come")
        time.sleep(0.01)


def show(rows: list[Row]) -> None:
    """Print the table."""
    names = ("grains", "thr", "colour", "bytes", "copy", "encode", "server", "fps", "step", "seen",
             "ratio")  # fmt: skip
    table = console.table(*names, title="ms, but for the counts", right=names)
    for row in rows:
        table.add_row(*(console.number(value) for value in asdict(row).values()))
    console.out.print(table)


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--grains", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--colours", nargs="+", default=["material", "speed"])
    parser.add_argument("--parts", type=int, default=12, help="parts of each kind")
    parser.add_argument("--out", type=Path, default=Path("berm-streaming.csv"))
    given = parser.parse_args()
    rows = []
    for grains in given.grains:
        for colour in given.colours:
            rows.append(measure(grains, given.threads, colour, given.parts))
            show(rows[-1:])
    console.say_plain("")
    show(rows)
    with given.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    console.say_plain(f"written: {given.out}; load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
