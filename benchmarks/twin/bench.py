"""Time the C++ twin, and berm beside it, on the same settled box: µs a grain a step.

python -m benchmarks.twin.bench --grains 20000 --threads 1 2
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "src", ROOT / "benchmarks" / "peers"):
    sys.path.append(str(folder))

from case import Case, overlaps  # noqa: E402

from benchmarks.twin import Twin, TwinParams, TwinUnavailable  # noqa: E402

STEPS = 20  # a timed part: long enough that each holds its share of the lists that are made
REST = 0.02  # s between parts: the other runtime's idle threads stop spinning


def params(case: Case, form: str, threads: int) -> TwinParams:
    """Parameters of the two forms as berm has them by default."""
    published = form == "published"
    return TwinParams(
        gravity=(0.0, 0.0, -case.gravity), stiffness=case.stiffness, damping=case.damping,
        friction_static=case.friction, friction_kinetic=case.friction, threads=threads,
        eps_depth=0.5 if published else 0.0,
        iterations=10 if published else 1, substeps=1 if published else 10,
    )  # fmt: skip


def make_twin(case: Case, x: Any, v: Any, form: str, threads: int) -> Twin:
    """Put positions and velocities (n, 3) into a twin."""
    n = case.grains
    rows = np.c_[x, np.full(n, case.radius)], np.c_[v, np.full(n, 1 / case.mass)]
    return Twin(*rows, case.planes, params(case, form, threads))


def settled(case: Case, form: str, seconds: float) -> tuple[Any, Any]:
    """Positions and velocities of the box after settling in the twin."""
    start = case.lattice()
    twin = make_twin(case, start[0], start[1], form, os.cpu_count() or 1)
    twin.step(form, round(60 * seconds))
    x, v, _ = twin.state()
    return x[:, :3], v[:, :3]


class BermStep:
    """berm's step on the same state, when berm can be imported."""

    def __init__(self, case: Case, x: Any, v: Any, form: str, threads: int) -> None:
        import berm

        berm.set_threads(threads)
        solver = berm.P2.published() if form == "published" else berm.P2(substeps_most=10)
        self.world = berm.World(solver=solver, gravity=(0.0, 0.0, -case.gravity))
        material = berm.Material(
            name="box", density=case.density, stiffness=case.stiffness, damping=case.damping,
            friction_static=case.friction, friction_kinetic=case.friction,
        )  # fmt: skip
        self.world.add_grains(x, case.radius, velocity=v, material=material)
        a, height = case.side, 4.0 * case.side
        shape = berm.Box(size=(a, a, height), inside=True, open_top=True)
        self.world.add_body(shape, material=material, position=(a / 2, a / 2, height / 2))

    def step(self, steps: int) -> None:
        """Run some steps."""
        for _ in range(steps):
            self.world.step()

    def state(self) -> tuple[Any, Any]:
        """Positions and velocities, in the order in which they were given."""
        grains = self.world.grains
        order = np.argsort(grains.tag[: grains.n])
        return grains.position[order], grains.velocity[order]


def timed(step: Callable[[int], None]) -> float:
    """Seconds a step of one short part."""
    clock = time.perf_counter()
    step(STEPS)
    return (time.perf_counter() - clock) / STEPS


def compare(case: Case, form: str, threads: int, x: Any, v: Any, repeats: int, berm: bool) -> None:
    """Time twin and berm in turns and print a line each."""
    n = case.grains
    twin = make_twin(case, x, v, form, threads)
    runners: dict[str, Callable[[int], None]] = {"C++ twin": lambda k: twin.step(form, k)}
    other = None
    if berm:
        try:
            other = BermStep(case, x, v, form, threads)
            other.step(STEPS)
            runners["berm"] = other.step
        except Exception as problem:  # the twin's numbers must not depend on berm
            other = None
            print(f"berm skipped: {type(problem).__name__}: {str(problem).splitlines()[0]}")
    twin.step(form, STEPS)
    twin.stats()
    times: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(repeats):
        for name, step in runners.items():
            times[name].append(timed(step))
            time.sleep(REST)
    stats = twin.stats()
    for name, list_ in times.items():
        line = (
            f"{form:11s}{n:9d}{threads:3d}  {name:9s}{1e6 * min(list_) / n:8.3f}"
            f"{1e6 * statistics.median(list_) / n:8.3f}"
        )
        if name == "C++ twin":
            per = stats.iterations / stats.steps / 10 / max(stats.pairs, 1)
            line += (
                f"   search {1e3 * stats.search / stats.steps:.2f} ms, iterations "
                f"{1e3 * stats.iterations / stats.steps:.2f} ms a step, {1e9 * per:.2f} ns a pair "
                f"an iteration, {stats.pairs} pairs, {stats.searches}/{stats.steps} searches"
            )
        else:
            limit = times["C++ twin"]
            middle = statistics.median(list_) / statistics.median(limit)
            line += f"   {min(list_) / min(limit):.2f} (fastest), {middle:.2f} (median) x the twin"
        print(line, flush=True)
    results = {"C++ twin": (twin.state()[0][:, :3], twin.state()[1][:, :3])}
    if other is not None:
        results["berm"] = other.state()
    for name, (p, u) in results.items():
        energy = 0.5 * case.mass * float((np.asarray(u, np.float64) ** 2).sum())
        depth = 100 * overlaps(p, case.radius).mean()
        print(f"{'':25s}{name:9s} overlap {depth:.3f} %, kinetic energy {energy:.4g} J")


def main() -> None:
    """Parse and run."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--grains", type=int, nargs="+", default=[20000])
    p.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    p.add_argument("--forms", nargs="+", default=["published", "sweep"])
    p.add_argument("--settle", type=float, default=6.0, help="simulated seconds")
    p.add_argument("--repeats", type=int, default=25)
    p.add_argument("--twin-only", action="store_true")
    a = p.parse_args()
    try:
        head = f"{'form':11s}{'grains':>9s}{'thr':>4s} {'':10s}{'fastest':>7s}{'median':>8s}"
        print(head + "   µs a grain a step")
        for n in a.grains:
            case = Case(n)
            for form in a.forms:
                x, v = settled(case, form, a.settle)
                for threads in a.threads:
                    compare(case, form, threads, x, v, a.repeats, not a.twin_only)
    except TwinUnavailable as problem:
        print(f"twin skipped: {problem}")


if __name__ == "__main__":
    main()
