"""Cost of contacts with bodies in motion: scenes, and a bucket of five plates in a bed of grains.

python -m benchmarks.walls.bench --base ../base --threads 1 2

Times of a step (ms) as a whole and of its search for contacts with bodies, median and processor
time. With --base, the folder of another checkout, both take turns in one run, step for step, so
that a busy machine slows both alike; the ratios base : here of neighbouring turns count.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[2]
# Seconds that a world runs before it is measured: what moves has begun to.
BEFORE = {"drum": 1.2, "hourglass": 0.5, "wheel": 0.5, "blade": 1.0, "bucket": 1.5}
GRAINS, RADIUS = 8000, 0.02


def bucket() -> Any:
    """A bed of settled grains and a bucket of five plates that is drawn through it."""
    import numpy as np

    import berm
    from berm.core.motion import Function

    world = berm.World(dt=1 / 60, solver=berm.P2(), seed=1)
    soil = berm.material("gravel")
    wide = 30 * RADIUS * 2
    rng = np.random.default_rng(1)
    side = int(wide / (2.1 * RADIUS))
    layers = -(-GRAINS // side**2)
    place = np.stack(np.meshgrid(*[np.arange(k) for k in (side, side, layers)], indexing="ij"), -1)
    place = (place.reshape(-1, 3) + 0.5) * 2.1 * RADIUS + rng.uniform(-1, 1, (1, 3)) * 1e-3
    place[:, 2] += RADIUS
    place = place[np.argsort(place[:, 2], kind="stable")][:GRAINS]
    world.add_body(
        berm.Box((wide, wide, wide), inside=True, open_top=True),
        position=(wide / 2, wide / 2, wide / 2), material=soil, name="bed",
    )  # fmt: skip
    world.add_grains(place, RADIUS, material=soil)
    edge, thick = 0.4, 0.012

    def turning(t: float) -> tuple[Any, Any]:
        """Into the bed and along it, as a bucket goes, once the bed is at rest."""
        phase = 0.8 * max(t - BEFORE["bucket"] + 0.5, 0.0)
        shift = np.array([0.35 * np.sin(phase), 0.0, -0.5 * np.sin(phase)])
        c, s = np.cos(0.5 * np.sin(phase)), np.sin(0.5 * np.sin(phase))
        return shift, np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])

    middle = np.array([0.35 * wide, 0.5 * wide, place[:, 2].max() + 0.6 * edge])
    plates = {
        "floor": ((edge, edge, thick), (0.0, 0.0, -edge / 2)),
        "back": ((thick, edge, edge), (-edge / 2, 0.0, 0.0)),
        "top": ((edge, edge, thick), (0.0, 0.0, edge / 2)),
        "left": ((edge, thick, edge), (0.0, -edge / 2, 0.0)),
        "right": ((edge, thick, edge), (0.0, edge / 2, 0.0)),
    }
    for name, (size, at) in plates.items():
        offset = np.array(at)

        def motion(t: float, offset: Any = offset) -> tuple[Any, Any]:
            shift, turn = turning(t)
            return shift + turn @ offset - offset, turn

        world.add_body(
            berm.Box(size), position=middle + offset, material="steel", name=name,
            motion=Function(motion),
        )  # fmt: skip
    return world


def build(name: str) -> Any:
    """Return a world at the time from which it is measured."""
    if name == "bucket":
        world = bucket()
    else:
        from berm.scenes.base import make_params, scene

        one = scene(name)
        world = one.build(make_params(one))
    while world.time < BEFORE[name]:
        world.step()
    return world


def work(name: str, threads: int) -> None:
    """Be one of two: at each line of the input, take so many steps and tell what they cost."""
    from berm.kernels.jit import set_threads

    set_threads(threads)
    world = build(name)
    print(json.dumps({"grains": world.grains.n, "bodies": len(world.bodies)}), flush=True)
    for line in sys.stdin:
        steps, spent, found, lists = int(line), [], [], 0
        processor = time.process_time()
        for _ in range(steps):
            begin = time.perf_counter()
            report = world.step()
            spent.append(time.perf_counter() - begin)
            found.append(report.timings.get("walls", 0.0))
            lists += report.rebuilt
        told = {
            "step": 1e3 * statistics.median(spent),
            "walls": 1e3 * statistics.median(found),
            "processor": 1e3 * (time.process_time() - processor) / steps,
            "contacts": report.wall_contacts,
            "lists": lists / steps,
        }
        print(json.dumps(told), flush=True)


class Worker:
    """A checkout that runs one of the worlds in a process of its own."""

    def __init__(self, folder: Path, name: str, threads: int) -> None:
        env = os.environ | {"PYTHONPATH": str(folder / "src"), "NUMBA_NUM_THREADS": str(threads)}
        command = [sys.executable, str(Path(__file__)), "--work", name, "--threads", str(threads)]
        self.process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.world = self._read()

    def _read(self) -> dict[str, float]:
        assert self.process.stdout is not None
        read: dict[str, float] = json.loads(self.process.stdout.readline())
        return read

    def turn(self, steps: int) -> dict[str, float]:
        """Take steps and return their cost."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return self._read()

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def compare(name: str, folders: list[Path], threads: int, turns: int, steps: int) -> None:
    """Print the cost of a step in each folder, and the ratios first : last."""
    workers = [Worker(folder, name, threads) for folder in folders]
    told: list[list[dict[str, float]]] = [[] for _ in folders]
    for _ in range(turns):
        for worker, costs in zip(workers, told, strict=True):
            costs.append(worker.turn(steps))
    for worker in workers:
        worker.close()
    shown = [
        f"{statistics.median(c[what] for c in costs):9.2f}"
        for what in ("step", "walls", "processor")
        for costs in told
    ]
    neighbours = list(zip(told[0], told[-1], strict=True))
    ratios = [
        f"{statistics.median(a[what] / b[what] for a, b in neighbours):7.2f}"
        for what in ("step", "walls", "processor")
    ]
    print(
        f"{name:10s}{int(workers[-1].world['grains']):7d}{threads:3d}", *shown,
        *(ratios if len(folders) > 1 else []), f"{int(told[-1][-1]['contacts']):7d}",
        f"{statistics.median(c['lists'] for c in told[-1]):5.1f}", flush=True,
    )  # fmt: skip


def main() -> None:
    """Run what was asked for."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--worlds", nargs="+", default=list(BEFORE))
    p.add_argument("--base", type=Path, help="folder of the checkout to compare with")
    p.add_argument("--threads", type=int, nargs="+", default=[1])
    p.add_argument("--turns", type=int, default=5)
    p.add_argument("--steps", type=int, default=10, help="in a turn")
    p.add_argument("--work", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.work:
        work(a.work, a.threads[0])
        return
    folders = [*([a.base.resolve()] if a.base else []), HERE]
    print(
        f"load average {os.getloadavg()[0]:.1f}; ms of a step: whole, search, processor; ratios, "
        "contacts, lists of pairs a step"
    )
    for threads in a.threads:
        for name in a.worlds:
            compare(name, folders, threads, a.turns, a.steps)


if __name__ == "__main__":
    main()
