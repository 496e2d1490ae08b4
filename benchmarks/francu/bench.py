"""Run with `python -m benchmarks.francu.bench [--quick]`: a table of ratios from one run.

All contenders of a row take turns; the least wall time of each counts, for others use the machine.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from berm.apps.figures.francu2014.worlds import box, sheet
from berm.kernels import vts_jacobi, vts_sweep
from berm.kernels.jit import max_threads, set_threads
from berm.solvers.sp import SP
from berm.solvers.vts import VTS

ITERATIONS = 15
PAPER = "; the paper, 3,000 on one thread of an i7-3770: 5.2 and 6.5 ms"


def turns(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Least milliseconds of each, one after the other."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
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
    """Solve one step's contacts by berm and by the twin, one thread: times and difference."""
    twin = build_twin()
    set_threads(1)
    world = box(VTS(iteration="ij"), grains, mu=0.3)
    for _ in range(40):
        world.step()
    r, used = world.solver.rows, world.solver.used  # type: ignore[attr-defined]
    par = used.par.copy()
    order = np.concatenate([np.arange(r.unit[u], r.unit[u + 1]) for u in r.turn])
    blocks = [np.ascontiguousarray(column[order]) for column in (r.kind, r.first, r.last)]
    v0 = np.array(world.grains.v[:grains])
    v0[:, 2] -= np.float32(9.81 / 60)
    ours, theirs = (np.zeros_like(r.imp) for _ in range(2))
    change = np.zeros_like(r.imp)
    v1, v2 = v0.copy(), v0.copy()

    def reset() -> None:
        for array in (ours, theirs, change):
            array[:] = 0
        v1[:], v2[:] = v0, v0

    def gs() -> None:
        vts_sweep.sweep(0, ITERATIONS, 0, *r.order, *r.shape, r.row, ours, change, r.block, v1, par,
                        2)  # fmt: skip

    def gs_twin() -> None:
        twin.gauss_seidel(ITERATIONS, ctypes.c_int64(len(order)),
                          *pointers(*blocks, r.ends, r.row, theirs, v2))  # fmt: skip

    def ij() -> None:
        change[:] = 0
        vts_jacobi.iterate(0, ITERATIONS, ITERATIONS, 0, 1.0, 0.6, *r.order, *r.shape, r.row, ours,
                           change, r.block, v1, r.old, par, 2)  # fmt: skip

    def ij_twin() -> None:
        change[:] = 0
        twin.improved_jacobi(ITERATIONS, ctypes.c_int64(len(r.chunks[0])),
                             *pointers(*r.chunks, r.ends, r.row, theirs, change, v2),
                             ctypes.c_int64(r.n), *pointers(r.start, r.item))  # fmt: skip

    apart = {}
    for name, pair in (("gs", (gs, gs_twin)), ("ij", (ij, ij_twin))):
        reset()
        for run in pair:
            run()
        apart[f"{name}_apart"] = float(np.abs(v1 - v2)[:, :3].max())
    reset()
    times = turns({"gs": gs, "gs_twin": gs_twin, "ij": ij, "ij_twin": ij_twin}, rounds)
    return {**times, **apart, "contacts": r.count}


def frames(grains: int, rounds: int) -> dict[str, float]:
    """Least milliseconds of a frame at rest: a higher bed is given more time to come to rest."""
    warm = round(60 * (grains / 3000) ** (1 / 3))
    worlds = {kind: box(VTS(iteration=kind), grains, mu=0.3) for kind in ("gs", "ij")}
    for world in worlds.values():
        for _ in range(warm):
            world.step()
    return turns({kind: world.step for kind, world in worlds.items()}, rounds)


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
    for threads in sorted({1, max_threads()}):
        set_threads(threads)
        for grains in (3000, 20_000) if quick else (3000, 20_000, 100_000):
            f = frames(grains, 15 if grains < 50_000 else 7)
            print(
                f"frame, {grains} grains, {threads} threads: gs {f['gs']:.2f}, ij {f['ij']:.2f}, "
                f"ratio {f['ij'] / f['gs']:.2f}, us a grain {1e3 * f['gs'] / grains:.2f} and "
                f"{1e3 * f['ij'] / grains:.2f}{PAPER if grains == 3000 else ''}",
                flush=True,
            )
        c = cloth(10)
        print(f"cloth 100 x 100, {threads} threads: gs {c['gs']:.2f}, ij {c['ij']:.2f} ms of 16 ms")


if __name__ == "__main__":
    main()
