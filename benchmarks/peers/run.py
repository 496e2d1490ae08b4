"""Run the same settled box in berm, its C++ twin and the peers, and compare.

python benchmarks/peers/run.py --grains 2000 20000
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from case import Case  # noqa: E402


@dataclass(frozen=True)
class Peer:
    """A peer's file and what it can take."""

    file: str
    environment: dict[str, str] = field(default_factory=dict)
    most_grains: int = 10**9
    most_threads: int = 10**9
    share: float = 1.0  # of the simulated seconds, for slow ones


PEERS = {
    "berm": Peer("berm_box.py"),
    "berm-published": Peer("berm_box.py", {"BERM_FORM": "published"}),
    "berm-dem": Peer("berm_box.py", {"BERM_FORM": "dem"}),
    "twin": Peer("twin_box.py"),
    "twin-published": Peer("twin_box.py", {"TWIN_FORM": "published"}),
    "lammps": Peer("lammps_box.py"),
    "newton": Peer("newton_box.py", most_threads=1),
    "mujoco": Peer("mujoco_box.py", most_grains=2000, most_threads=1, share=0.2),
}
THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)  # fmt: skip
COLUMNS = (
    "peer", "grains", "threads", "dt_ms", "wall_per_second", "wall_fastest", "overlap_mean",
    "overlap_p99", "rest_speed", "lost",
)  # fmt: skip


def machine() -> dict[str, str]:
    """Say what this was measured on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].split(":", 1)[1].strip() if names else cpu
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return {
        "cpu": cpu,
        "cores": str(os.cpu_count()),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": f"{load:.2f}",
    }


def settle(case: Case, seconds: float, folder: Path) -> str:
    """Settle the lattice with berm (or its twin) once; every peer starts from this state."""
    for peer in ("berm", "twin"):
        file = folder / f"box-{case.grains}-{peer}.npz"
        if file.exists():
            return str(file)
        try:
            if peer == "berm":
                from berm_box import Berm as Maker
            else:
                from twin_box import TwinBox as Maker  # type: ignore[assignment]
            runner = Maker(case)
            runner.advance(seconds)
        except Exception as problem:  # any failure of one settler: try the next
            print(f"settling with {peer} failed: {problem}", file=sys.stderr)
            continue
        x, v = runner.read()
        np.savez(file, x=x, v=v)
        return str(file)
    raise SystemExit("neither berm nor its twin could settle the box")


def run_peer(name: str, case: Case, seconds: float, relax: float, limit: float) -> dict[str, Any]:
    """Start one peer in its own process."""
    peer = PEERS[name]
    if case.grains > peer.most_grains:
        return {"skipped": f"run up to {peer.most_grains} grains only"}
    if case.threads > peer.most_threads:
        return {"skipped": f"uses {peer.most_threads} thread only"}
    environment = dict(os.environ, **peer.environment)
    environment.update({variable: str(case.threads) for variable in THREAD_VARIABLES})
    command = [
        sys.executable, str(HERE / peer.file), "--grains", str(case.grains), "--threads",
        str(case.threads), "--state", case.state, "--seconds", str(seconds * peer.share),
        "--relax", str(relax * peer.share),
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return {"skipped": f"took longer than {limit:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        said = done.stderr.strip().splitlines() or ["no result"]
        why = next((line for line in reversed(said) if "Error" in line), said[-1])
        return {"skipped": f"failed: {why}"}
    return dict(json.loads(lines[-1]))


def table() -> None:
    """Run all that was asked for; print a table, write a CSV file."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--grains", type=int, nargs="+", default=[2000, 20000])
    p.add_argument("--threads", type=int, nargs="+", default=[1, os.cpu_count() or 1])
    p.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    p.add_argument("--seconds", type=float, default=1.0, help="simulated, timed in 5 parts")
    p.add_argument("--relax", type=float, default=1.0, help="simulated before the clock starts")
    p.add_argument("--settle", type=float, default=5.0, help="simulated, by berm, once")
    p.add_argument("--limit", type=float, default=300.0, help="wall seconds a peer may take")
    p.add_argument("--csv", type=Path, default=Path("peers.csv"))
    a = p.parse_args()
    about = machine()
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    print(
        f"\n{'peer':26s}{'grains':>8s}{'threads':>8s}{'dt ms':>8s}{'wall s per s':>14s}"
        f"{'overlap mean':>14s}{'p99':>8s}{'rest mm/s':>11s}"
    )
    folder = Path(tempfile.mkdtemp(prefix="berm-peers-"))
    with a.csv.open("w", newline="") as file:
        out = csv.DictWriter(file, [*COLUMNS, "skipped", *about], extrasaction="ignore")
        out.writeheader()
        for grains in a.grains:
            state = settle(Case(grains, threads=max(a.threads)), a.settle, folder)
            for threads in dict.fromkeys(a.threads):
                for name in a.peers:
                    case = Case(grains, threads=threads, state=state)
                    row = run_peer(name, case, a.seconds, a.relax, a.limit)
                    if "skipped" in row:
                        print(f"{name:26s}{grains:8d}{threads:8d}  skipped: {row['skipped']}")
                        row |= {"peer": name, "grains": grains, "threads": threads}
                    else:
                        lost = f"  {row['lost']} grains lost" if row["lost"] else ""
                        print(
                            f"{row['peer']:26s}{grains:8d}{threads:8d}{row['dt_ms']:8.2f}"
                            f"{row['wall_per_second']:14.3f}{100 * row['overlap_mean']:13.2f}%"
                            f"{100 * row['overlap_p99']:7.2f}%"
                            f"{1e3 * row['rest_speed']:11.2f}{lost}",
                            flush=True,
                        )
                    out.writerow(row | about)
                    file.flush()
    print(f"\nwritten: {a.csv.resolve()}")


if __name__ == "__main__":
    table()
