"""Run the pile of rocks in berm and in all engines that are installed, and print one table.

python -m benchmarks.rocks.run --python ../peers/bin/python

Each engine runs in a process of its own, one after the other, on one thread. `--python` is the
interpreter that has the other engines, where they are not installed beside berm. Chrono is not
among them: what PyPI has under the name pychrono is another package.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# name, module, arguments
PEERS: dict[str, tuple[str, list[str]]] = {
    "mujoco": ("mujoco_rocks", []),
    "mujoco-cg": ("mujoco_rocks", ["--solver", "cg"]),
    "physx": ("sapien_rocks", []),
    "physx-sleep": ("sapien_rocks", ["--sleep"]),
    "rapier": ("rapier_rocks", []),
    "rapier-sleep": ("rapier_rocks", ["--sleep"]),
    "bullet": ("pybullet_rocks", []),
    "bullet-sleep": ("pybullet_rocks", ["--sleep"]),
}
ONE = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run(module: str, python: str, arguments: list[str], limit: float) -> dict[str, Any]:
    """One engine in its own process."""
    environment = dict(os.environ) | dict.fromkeys(ONE, "1")
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    command = [python, "-m", f"benchmarks.rocks.{module}", *arguments]
    try:
        done = subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=limit,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"skipped": f"took longer than {limit:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"skipped": (done.stderr.strip().splitlines() or ["no result"])[-1]}
    return dict(json.loads(lines[-1]))


def main() -> None:
    """Run what was asked for."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rocks", type=int, default=500)
    p.add_argument("--seconds", type=float, default=10.0)
    p.add_argument("--python", default=sys.executable, help="interpreter with the other engines")
    p.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    p.add_argument(
        "--berm", nargs="*", default=["p2"], help='solver, or solver:{"option": value} in JSON'
    )
    p.add_argument("--limit", type=float, default=900.0, help="wall seconds an engine may take")
    a = p.parse_args()
    size = ["--rocks", str(a.rocks), "--seconds", str(a.seconds)]
    jobs = []
    for one in a.berm:
        solver, _, options = one.partition(":")
        given = ["--solver", solver, "--options", options or "{}"]
        jobs.append((one, "berm_rocks", sys.executable, [*size, *given]))
    jobs += [(name, PEERS[name][0], a.python, [*size, *PEERS[name][1]]) for name in a.peers]
    print(f"{a.rocks} rocks, {a.seconds:g} s in steps of 1/60 s, one thread, "
          f"load {os.getloadavg()[0]:.1f}")  # fmt: skip
    print(f"{'':32s}{'wall (processor) s a s':^28s}{'energy':>10s}{'overlap, m':>20s}"
          f"{'height, m':>16s}")  # fmt: skip
    print(f"{'':32s}{'falling':>14s}{'at rest':>14s}{'J a body':>10s}{'most':>10s}{'mean':>10s}"
          f"{'top':>8s}{'mean':>8s}", flush=True)  # fmt: skip
    for name, module, python, arguments in jobs:
        row = run(module, python, arguments, a.limit)
        if "skipped" in row:
            print(f"{name:32s}  skipped: {row['skipped']}", flush=True)
            continue
        lost = f"  {row['lost']} lost" if row["lost"] else ""
        falling = f"{row['falling_wall']:.3f} ({row['falling_cpu']:.3f})"
        rest = f"{row['rest_wall']:.3f} ({row['rest_cpu']:.3f})"
        print(f"{row['peer']:32s}{falling:>14s}{rest:>14s}{row['energy']:10.1e}{row['depth']:10.1e}"
              f"{row['depth_mean']:10.1e}{row['height']:8.2f}{row['mean_height']:8.2f}{lost}",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
