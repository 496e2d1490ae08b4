"""`berm bench`: what a step costs here, beside the C++ twin and the peers, as a table and CSV."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from berm.apps import console, info
from berm.apps.console import say, table
from berm.core.errors import InputError

LARGEST = 20_000_000
PROBE_STEPS = 30
STAGES = ("search", "walls", "solve", "forces")
LEGEND = (
    "medians of a whole step of 1/60 s with 10 passes over the contacts, search included; "
    "ns/contact: a contact a pass; x real: simulated over wall time; gain: over 1 thread; B/grain: "
    "peak memory; to C++: berm's time over that of the same step hand-written in C++; overlap: "
    "mean, of the diameter"
)


def bench(
    grains: Sequence[int],
    threads: Sequence[int],
    repeats: int,
    twin: bool,
    peers: bool,
    cold: bool,
    path: Path,
) -> None:
    """Measure, print and write."""
    from berm.apps.bench_worlds import load_twin
    from berm.kernels import jit

    most = jit.max_threads()
    counts = list(dict.fromkeys(threads or [1, most]))
    for count in counts:
        if not 1 <= count <= most:
            raise InputError("--threads", count, f"1 to {most}")
    for count in grains:
        if not 1 <= count <= LARGEST:
            raise InputError("--grains", count, f"1 to {LARGEST}")
    about = info.machine()
    say(f"[bold]{about['cpu']}[/], {about['cores']} cores, load {about['load']}")
    say(f"[dim]{about['system']}, python {about['python']}, numba {about['numba']}[/]")
    starts = _starts(cold)
    module, why = load_twin() if twin else (None, "")
    if why:
        say(f"[yellow]no C++ twin:[/] {console.escape(why)}")
    rows = []
    for count in grains:
        found = _measure(count, counts, repeats, module)
        memory = _memory(count)
        for row in found:
            if row["engine"] == "berm":
                row["bytes_grain"] = memory
        rows += found
    console.out.print()
    _show(rows)
    _show_stages(rows)
    _write(path, [{**row, **starts} for row in rows], about)
    say(f"\nwritten: [bold]{path}[/]")
    if peers:
        _peers(grains, counts, path.with_name(path.stem + "-peers.csv"))


def _starts(cold: bool) -> dict[str, float]:
    """Seconds from the start of the process to the end of the first step, compiled or not."""
    from berm.apps.bench_probe import spawn
    from berm.kernels import jit

    environment = dict(os.environ)
    found: dict[str, float] = {}
    if cold:
        with (
            tempfile.TemporaryDirectory(prefix="berm-cold-") as folder,
            console.out.status("first start with an empty cache (about 40 s) ..."),
        ):
            probed = spawn(0, 0, environment | {"BERM_CACHE_DIR": folder})
        found["first_start_s"] = probed.get("first_step", float("nan"))
    if not jit.cache_is_warm():
        with console.out.status("compiling ..."):
            spawn(0, 0, environment)
    with console.out.status("second start ..."):
        probed = spawn(0, 0, environment)
    found["second_start_s"] = probed.get("first_step", float("nan"))
    shown = [f"second run {found['second_start_s']:.1f} s"]
    if cold:
        shown.insert(0, f"first run, compiling, {found['first_start_s']:.0f} s")
    say("from the command to the end of the first step: " + ", ".join(shown))
    return found


def _measure(grains: int, threads: list[int], repeats: int, twin: Any) -> list[dict[str, Any]]:
    from berm.apps import bench_worlds as worlds
    from berm.kernels import jit

    jit.set_threads(max(threads))
    with console.out.status(f"{grains:,} grains: settling ...") as status:
        ready = worlds.settled(grains)
        cases = []
        for form, world in ready.items():
            for count in threads:
                cases.append(worlds.berm_case(world, form, count))
                if twin is not None:
                    cases.append(worlds.twin_case(world, form, count, twin))
        done = 0

        def tick() -> None:
            nonlocal done
            done += 1
            status.update(f"{grains:,} grains: repeat {done} of {repeats * len(cases)}")

        worlds.measure(cases, repeats, tick)
    return [case.row() for case in cases]


def _memory(grains: int) -> float | None:
    from berm.apps.bench_probe import spawn

    with console.out.status(f"{grains:,} grains: memory ..."):
        probed = spawn(grains, PROBE_STEPS, dict(os.environ))
    taken = float(probed.get("bytes", 0.0))
    return taken / grains if taken > 0 else None


def _show(rows: list[dict[str, Any]]) -> None:
    twins = {_key(row): row for row in rows if row["engine"] == "twin"}
    columns = ["P2 form", "grains", "thr.", "µs/grain", "ns/contact", "x real", "gain"]
    columns += ["B/grain"] + (["to C++"] if twins else [])
    shown = table(*columns, right=tuple(columns[1:]))
    single = {_key(row)[:2]: row for row in rows if row["engine"] == "berm" and row["threads"] == 1}
    for row in rows:
        if row["engine"] != "berm":
            continue
        one = single.get(_key(row)[:2])
        gain = f"{one['ms_step'] / row['ms_step']:.2f}x" if one and row["threads"] > 1 else ""
        memory = row.get("bytes_grain")
        cells = [
            row["form"],
            f"{row['grains']:,}",
            str(row["threads"]),
            f"{row['us_grain_step']:.3f}",
            f"{row['ns_contact_iteration']:.2f}",
            f"{row['real_time_factor']:.2f}",
            gain,
            f"{memory:.0f}" if memory else "-",
        ]
        if twins:
            other = twins.get(_key(row))
            cells.append(f"{row['ms_step'] / other['ms_step']:.2f}" if other else "-")
        shown.add_row(*cells)
    console.out.print(shown)
    say(f"[dim]{LEGEND}[/]")


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["form"], row["grains"], row["threads"]


def _show_stages(rows: list[dict[str, Any]]) -> None:
    columns = ["ms a step", "grains", "thr.", "all", *STAGES, "overlap"]
    shown = table(*columns, right=tuple(columns[1:]))
    for row in rows:
        if row["engine"] == "berm":
            shown.add_row(
                row["form"],
                f"{row['grains']:,}",
                str(row["threads"]),
                f"{row['ms_step']:.2f}",
                *(f"{row.get(f'ms_{name}', 0.0):.2f}" for name in STAGES),
                f"{row['overlap_mean_percent']:.2f} %",
            )
    console.out.print()
    console.out.print(shown)


def _write(path: Path, rows: list[dict[str, Any]], about: dict[str, Any]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [*names, *(f"machine_{name}" for name in about)])
            writer.writeheader()
            for row in rows:
                writer.writerow(row | {f"machine_{name}": text for name, text in about.items()})
    except OSError as error:
        raise InputError("-o", str(path), "a file that can be written", str(error)) from error


def _peers(grains: Sequence[int], threads: Sequence[int], path: Path) -> None:
    from berm.apps.bench_worlds import checkout

    root = checkout()
    script = root / "benchmarks" / "peers" / "run.py" if root else None
    if script is None or not script.exists():
        say("[yellow]no peers:[/] benchmarks/peers is not here: run from a checkout of the sources")
        return
    say("\n[bold]peers[/]: the same settled box of grains, wall time for a simulated second")
    sys.stdout.flush()
    command = [sys.executable, str(script), "--csv", str(path)]
    command += ["--grains", *map(str, grains), "--threads", *map(str, threads)]
    subprocess.run(command, check=False)
