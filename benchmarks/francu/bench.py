"""Run with `python -m benchmarks.francu.bench [--quick]`: a table of ratios from one run.

All contenders of a row take turns; the least wall time of each counts, for others use the machine.
Frames come twice: in boxes that grow in all directions, where a higher bed has more contacts a
grain and takes longer to rest, and in boxes as deep as that of 3,000 grains, where only the size
grows. What grows linearly shows in the second, and in the cost of a contact and iteration.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from berm.apps.figures.francu2014.worlds import box, sheet
from berm.kernels.jit import max_threads, set_threads
from berm.kernels.vts import jacobi as vts_jacobi
from berm.kernels.vts import sweep as vts_sweep
from berm.kernels.vts.bodies import make_touching
from berm.solvers.vts.solver import VTS
from berm.solvers.vts.sp import SP

ITERATIONS = 15
KINDS = ("gs", "ij")
SIDE = 14  # grains along the edge of the box of 3,000
PAPER = "; the paper, 3,000 on one thread of an i7-3770: 5.2 and 6.5 ms"


def turns(
    contenders: dict[str, Callable[[], Any]], rounds: int, before: Callable[[], Any] | None = None
) -> dict[str, float]:
    """Least milliseconds of each, one after the other; `before` each run, its time not counted."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            if before is not None:
                before()
            begin = time.perf_counter()
            run()
            times[name].append(1e3 * (time.perf_counter() - begin))
    return {name: min(found) for name, found in times.items()}


def build_twin() -> ctypes.CDLL:
    out = Path(tempfile.gettempdir()) / "berm-francu-twin.so"
    source = Path(__file__).with_name("twin.cpp")
    subprocess.run(
        ["g++", "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC", str(source), "-o",
         str(out)],
        check=True,
    )  # fmt: skip
    return ctypes.CDLL(str(out))


def pointers(*arrays: np.ndarray) -> list[Any]:
    return [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]


def against_twin(grains: int, rounds: int) -> dict[str, float]:
    """Solve one step's contacts by berm and by the twin, one thread: times and difference.

    Every run starts anew: where grains come to rest, a plain loop guesses its branches right.
    """
    twin = build_twin()
    set_threads(1)
    world = box(VTS(iteration="ij"), grains, mu=0.3)
    for _ in range(40):
        world.step()
    r, used = world.solver.rows, world.solver.used  # type: ignore[attr-defined]
    r.find_neighbours()
    par = used.par.copy()
    order = np.concatenate([np.arange(r.unit[u], r.unit[u + 1]) for u in r.turn])
    blocks = [np.ascontiguousarray(column[order]) for column in (r.kind, r.first, r.last)]
    v0 = np.array(world.grains.v[:grains])
    v0[:, 2] -= np.float32(9.81 / 60)
    ours, theirs = (np.zeros_like(r.imp) for _ in range(2))
    change = np.zeros_like(r.imp)
    v1, v2 = v0.copy(), v0.copy()
    nobody = make_touching(0, 0)

    def reset() -> None:
        for array in (ours, theirs, change):
            array[:] = 0
        v1[:], v2[:] = v0, v0

    def gs() -> None:
        r.find_seats(apart=True, memory=False)
        vts_sweep.sweep(0, ITERATIONS, 0, *r.order, *r.shape, r.row, ours, change, r.block, r.extra,
                        v1, par, 2, nobody)  # fmt: skip

    def gs_twin() -> None:
        twin.gauss_seidel(ITERATIONS, ctypes.c_int64(len(order)),
                          *pointers(*blocks, r.ends, r.row, theirs, v2))  # fmt: skip

    def ij() -> None:
        r.find_seats(apart=False, memory=True)
        vts_jacobi.iterate(0, ITERATIONS, ITERATIONS, 0, 1.0, 0.6, *r.order, *r.shape, r.row, ours,
                           change, r.block, r.extra, v1, r.old, par, 2, nobody)  # fmt: skip

    def ij_twin() -> None:
        twin.improved_jacobi(ITERATIONS, ctypes.c_int64(len(r.chunks[0])),
                             *pointers(*r.chunks, r.ends, r.row, theirs, change, v2),
                             ctypes.c_int64(r.n), *pointers(r.start, r.item))  # fmt: skip

    apart = {}
    for name, pair in (("gs", (gs, gs_twin)), ("ij", (ij, ij_twin))):
        reset()
        pair[0]()
        change[:] = 0
        pair[1]()
        apart[f"{name}_apart"] = float(np.abs(v1 - v2)[:, :3].max())
    times = turns({"gs": gs, "gs_twin": gs_twin, "ij": ij, "ij_twin": ij_twin}, rounds, reset)
    return {**times, **apart, "contacts": r.count}


@dataclass
class Bed:
    """A bed of each kind of iteration, settled as far as it settles; and what its frames cost."""

    grains: int
    deep: bool  # higher with more grains; else as deep as that of 3,000

    def __post_init__(self) -> None:
        side = None if self.deep else round(SIDE * (self.grains / 3000) ** 0.5)
        warm = round(90 * (self.grains / 3000) ** (1 / 3)) if self.deep else 90
        self.worlds = {
            kind: box(VTS(iteration=kind), self.grains, mu=0.3, side=side) for kind in KINDS
        }
        for world in self.worlds.values():
            for _ in range(warm):
                world.step()

    def time(self, threads: int, rounds: int) -> None:
        """Print a line for each kind: frames by turns, and the least of each stage."""
        set_threads(threads)
        seen: dict[str, list[Any]] = {kind: [] for kind in KINDS}
        for _ in range(rounds):
            for kind, world in self.worlds.items():
                begin = time.perf_counter()
                report = world.step()
                seen[kind].append((1e3 * (time.perf_counter() - begin), report))
        least = {kind: min(ms for ms, _ in found) for kind, found in seen.items()}
        mean = {kind: _mean(found) for kind, found in seen.items()}
        print(
            f"frame, {self.grains} grains {'deep' if self.deep else 'wide'}, {threads} threads: "
            f"ij / gs {least['ij'] / least['gs']:.2f} (least), {mean['ij'] / mean['gs']:.2f} "
            f"(with its share of searches){PAPER if self.grains == 3000 else ''}"
        )
        for kind, found in seen.items():
            contacts = self.worlds[kind].solver.rows.count  # type: ignore[attr-defined]
            stages = {
                name: 1e3 * min(report.timings.get(name, 0.0) for _, report in found)
                for name in ("search", "walls", "assemble", "solve", "forces")
            }
            searched = sum(report.rebuilt for _, report in found) / len(found)
            v = self.worlds[kind].grains.velocity
            print(
                f"  {kind}: {least[kind]:.2f} ms, with searches {mean[kind]:.2f} ms "
                f"({searched:.0%} of frames), us a grain {1e3 * least[kind] / self.grains:.2f}, ns "
                f"a contact and iteration {1e6 * stages['solve'] / contacts / ITERATIONS:.1f}, "
                f"{contacts / self.grains:.2f} contacts a grain, rms "
                f"{float(np.sqrt((v.astype(np.float64) ** 2).sum(axis=1).mean())):.3f} m/s; "
                + ", ".join(f"{name} {ms:.2f}" for name, ms in stages.items()),
                flush=True,
            )


def _mean(found: list[Any]) -> float:
    """Least times of frames with and without a search, weighed by how many there are of each."""
    total = 0.0
    for searched in (True, False):
        times = [ms for ms, report in found if bool(report.rebuilt) == searched]
        total += len(times) * min(times, default=0.0)
    return total / len(found)


def cloth(rounds: int) -> dict[str, float]:
    worlds = {kind: sheet(SP.pbd(iteration=kind), 100)[0] for kind in ("gs", "ij")}
    for world in worlds.values():
        for _ in range(10):
            world.step()
    return turns({kind: world.step for kind, world in worlds.items()}, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    t = against_twin(3000, 30)
    print(
        f"solve of 3,000 grains, {t['contacts']} contacts, {ITERATIONS} iterations, 1 thread (ms):"
    )
    for name in ("gs", "ij"):
        print(
            f"  {name}: berm {t[name]:.2f}, C++ twin {t[name + '_twin']:.2f}, ratio "
            f"{t[name] / t[name + '_twin']:.2f}; velocities apart {t[name + '_apart']:.1e} m/s"
        )
    print(f"  improved Jacobi / Gauss-Seidel: {t['ij'] / t['gs']:.2f}")
    sizes = (3000, 20_000) if quick else (3000, 20_000, 100_000)
    for deep in (False, True):
        for grains in sizes[1:] if deep else sizes:
            bed = Bed(grains, deep)
            for threads in sorted({1, max_threads()}):
                bed.time(threads, 40 if grains < 50_000 else 8)
    for threads in sorted({1, max_threads()}):
        set_threads(threads)
        c = cloth(10)
        print(f"cloth 100 x 100, {threads} threads: gs {c['gs']:.2f}, ij {c['ij']:.2f} ms of 16 ms")


if __name__ == "__main__":
    main()
