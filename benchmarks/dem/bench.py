"""berm's discrete elements beside LAMMPS, turn by turn in one process, and compound grains' cost.

python -m benchmarks.dem.bench --grains 2000 20000 --threads 1

The box, law, stiffness, damping, friction and step are those of benchmarks/peers. Both codes start
from one state that berm has settled; then each simulates the same short time in turn, so that a
busy machine slows both alike. The median of the ratios of neighbouring turns counts.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

PEERS = Path(__file__).resolve().parents[1] / "peers"
QUIET, LONGEST = 20, 6.0  # a heap is at rest after so many steps without a new list; s


def settled(grains: int, threads: int, seconds: float) -> tuple[Any, Any]:
    """Return the case, and berm's run of it, at rest."""
    from berm_box import Berm
    from case import Case

    case = Case(grains, threads=threads)
    runner = Berm(case)
    runner.advance(seconds)
    return case, runner


def beside_lammps(grains: int, threads: int, turns: int, seconds: float, settle: float) -> None:
    """Print the wall time of a simulated second in both, and its ratio."""
    import tempfile

    import numpy as np
    from case import replace
    from lammps_box import Lammps

    case, ours = settled(grains, threads, settle)
    x, v = ours.read()
    with tempfile.TemporaryDirectory() as folder:
        state = str(Path(folder) / "state.npz")
        np.savez(state, x=x, v=v)
        theirs = Lammps(replace(case, state=state))
    theirs.advance(0.2)
    walls: list[tuple[float, float]] = []
    for _ in range(turns):
        pair = []
        for runner in (ours, theirs):
            begin = time.perf_counter()
            runner.advance(seconds)
            pair.append((time.perf_counter() - begin) / seconds)
        walls.append((pair[0], pair[1]))
    ratio = statistics.median(a / b for a, b in walls)
    print(
        f"{grains:8d}{threads:8d}{1e3 * ours.dt:9.4f}"
        f"{statistics.median(a for a, _ in walls):12.3f}{min(a for a, _ in walls):10.3f}"
        f"{statistics.median(b for _, b in walls):12.3f}{min(b for _, b in walls):10.3f}"
        f"{ratio:9.2f}",
        flush=True,
    )


def compound(grains: int, turns: int) -> None:
    """Print nanoseconds of a step for each touching pair: single spheres and tetrahedra."""
    import numpy as np

    import berm

    stuff = berm.material("gravel", stiffness=1e5, friction=0.5)
    worlds = {}
    for kind in ("spheres", "tetrahedra"):
        world = berm.World(dt=1 / 60, solver=berm.DEM(normal="linear"), seed=1)
        single = kind == "spheres"
        side = round((grains if single else grains / 4) ** (1 / 3))
        pitch = 0.165 if single else 0.3
        place = pitch * (np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3) + 0.5)
        place += np.random.default_rng(2).uniform(-0.03, 0.03, place.shape)
        wide = side * pitch
        world.add_body(
            berm.Box((wide, wide, 4 * wide), inside=True),
            position=(wide / 2, wide / 2, 2 * wide), material=stuff,
        )  # fmt: skip
        if single:
            world.add_grains(place, 0.05, material=stuff)
        else:
            world.add_clusters(berm.tetrahedron(0.05), place, "random", material=stuff)
        quiet = 0
        while quiet < QUIET and world.time < LONGEST:
            quiet = 0 if world.step().rebuilt else quiet + 1
        worlds[kind] = world
    clocks = {"clock": time.perf_counter, "processor time": time.process_time}
    costs: dict[str, dict[str, list[float]]] = {
        name: {kind: [] for kind in worlds} for name in clocks
    }
    for _ in range(turns):
        for kind, world in worlds.items():
            begin = {name: clock() for name, clock in clocks.items()}
            for _ in range(3):
                world.step()
            spent = {name: clock() - begin[name] for name, clock in clocks.items()}
            touching = world.report.contacts + world.report.wall_contacts
            for name, seconds in spent.items():
                costs[name][kind].append(seconds / 3 / world.report.substeps / touching * 1e9)
    for name, cost in costs.items():
        single, several = (statistics.median(cost[kind]) for kind in worlds)
        ratio = statistics.median(b / a for a, b in zip(*cost.values(), strict=True))
        print(f"{grains:8d} spheres: {single:.1f} ns a step and contact; in tetrahedra "
              f"{several:.1f}: {ratio:.2f} times ({name})")  # fmt: skip


def main() -> None:
    """Run what was asked for."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--grains", type=int, nargs="+", default=[2000, 20000])
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--turns", type=int, default=7)
    p.add_argument("--seconds", type=float, default=0.1, help="simulated in a turn")
    p.add_argument("--settle", type=float, default=1.5, help="simulated by berm before")
    p.add_argument("--compound", type=int, default=8000, help="spheres; 0: leave it out")
    a = p.parse_args()
    os.environ["BERM_FORM"] = "dem"
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = str(a.threads)
    sys.path.insert(0, str(PEERS))
    print(f"load average {os.getloadavg()[0]:.1f}")
    print(f"{'grains':>8s}{'threads':>8s}{'step ms':>9s}{'berm s/s':>12s}{'best':>10s}"
          f"{'LAMMPS s/s':>12s}{'best':>10s}{'ratio':>9s}")  # fmt: skip
    for grains in a.grains:
        beside_lammps(grains, a.threads, a.turns, a.seconds, a.settle)
    if a.compound:
        compound(a.compound, a.turns)


if __name__ == "__main__":
    main()
