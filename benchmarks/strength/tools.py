"""Does the force on a tool hang on the number of substeps? Blade and plate, one packing a case.

    python -m benchmarks.strength.tools --case blade --radius 0.01 --substeps 10 40 160

prints the mean force on the way for each number of substeps; `--option give=0.02` lets the solver
choose more. The packing of a case is made once (with many substeps) and kept in `--keep`.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import berm
from berm.core.motion import Linear
from berm.world.packings import lattice

Array = npt.NDArray[Any]
THICK = 0.03  # m, of blade and plate
FINE = 40  # substeps with which packings are made


@dataclass(frozen=True)
class Case:
    """A bed (m) and a tool in it, which goes `way` (m) at `speed` (m/s)."""

    bed: tuple[float, float, float]  # length, width, depth
    tool: float  # depth of the blade's edge, or breadth of the plate, m
    speed: float
    way: float
    gravity: float = 9.81


def case_of(name: str, radius: float, deep: float) -> Case:
    """Return the case: the plate grows with the largest grains."""
    if name == "blade":
        return Case((0.5 + 3 * deep, max(0.2, 6 * radius), deep + 0.1), deep, 0.25, 0.2)
    size = max(1.0, radius / 0.02)
    return Case((0.7 * size, 0.2 * size, 0.25 * size), 0.15 * size, 0.1, 0.06 * size)


def packing(case: Case, radius: float, soil: berm.Material, keep: Path) -> tuple[Array, Array]:
    """Return places and radii of a settled bed, made where it is not kept yet."""
    file = keep / f"bed-{radius:g}-{'-'.join(f'{x:.3g}' for x in case.bed)}.npz"
    if not file.exists():
        length, width, depth = case.bed
        spread = 0.1 * radius
        place, radii = lattice(
            (0, 0, 0), (length, width, 1.5 * depth + 4 * radius),
            (radius - spread, radius + spread), 0.02, 1, "hexagonal",
        )  # fmt: skip
        count = int(0.63 * length * width * depth / (4 / 3 * np.pi * radius**3))
        order = np.argsort(place[:, 2], kind="stable")[:count]
        world = _world(case, place[order], radii[order], soil, FINE)
        world.run(1.5)
        np.savez(file, x=world.grains.position, r=world.grains.radius)
    with np.load(file) as kept:
        return kept["x"], kept["r"]


def _world(
    case: Case, x: Array, r: Array, soil: berm.Material, substeps: int, **options: Any
) -> Any:
    world = berm.World(
        solver=berm.P2(substeps=substeps, **options), gravity=(0, 0, -case.gravity), seed=1
    )
    length, width, depth = case.bed
    world.add_body(
        berm.Box((length, width, 2 * depth), inside=True, open_top=True), name="bed",
        material=soil.replace(name="side", friction=0.0), position=(length / 2, width / 2, depth),
    )  # fmt: skip
    world.add_body(berm.Plane(), name="floor", material="rough wall")
    world.add_grains(x, r, material=soil)
    return world


def measure(
    name: str, radius: float, deep: float, substeps: int, keep: Path, soil: berm.Material,
    **options: Any,
) -> tuple[float, ...]:  # fmt: skip
    """Push the tool on its way, and return means over the last two thirds of it.

    Force (N), its scatter (N), overlap (radii), speed of grains (m/s), how far contacts give way
    (radii), substeps a step, and processor's seconds a simulated second.
    """
    case = case_of(name, radius, deep)
    x, r = packing(case, radius, soil, keep)
    length, width, depth = case.bed
    steel = soil.replace(name="tool", friction=min(0.2, soil.friction_static))
    top = float(np.quantile(x[:, 2], 0.98)) + radius
    if name == "blade":
        size = np.array([THICK, width * 1.2, deep + depth])
        middle = np.array([0.15, width / 2, top - deep + size[2] / 2])
        velocity = (case.speed, 0.0, 0.0)
        axis = 0
    else:
        size = np.array([case.tool, case.tool, THICK])
        middle = np.array([length / 2, width / 2, top + THICK / 2])
        velocity = (0.0, 0.0, -case.speed)
        axis = 2
    free = (np.abs(x - middle) - 0.5 * size > 0.95 * r[:, None]).any(axis=1)
    world = _world(case, x[free], r[free], soil, substeps, **options)
    world.add_body(
        berm.Box(tuple(size)), name="tool", material=steel, position=middle,
        motion=Linear(velocity, start=0.2),
    )  # fmt: skip
    world.run(0.2)
    forces, speeds, overlaps, gives, taken = [], [], [], [], []
    start, ends = time.process_time(), case.way / case.speed
    for _ in range(round(ends / world.dt)):
        report = world.step()
        forces.append(-np.sign(velocity[axis]) * world.body("tool").force[axis])
        gives.append(report.give)
        taken.append(report.substeps)
        overlaps.append(report.overlap_mean / radius)
        speeds.append(float(np.sqrt((world.grains.velocity**2).sum(axis=1).mean())))
    spent = (time.process_time() - start) / ends
    cut = len(forces) // 3
    force = np.array(forces[cut:])
    return (
        float(force.mean()), float(force.std()), float(np.mean(overlaps[cut:])),
        float(np.mean(speeds[cut:])), float(np.mean(gives[cut:])), float(np.mean(taken[cut:])),
        spent,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs="+", default=["blade", "plate"])
    parser.add_argument("--radius", nargs="+", type=float, default=[0.01])
    parser.add_argument("--deep", nargs="+", type=float, default=[0.1])
    parser.add_argument("--substeps", nargs="+", type=int, default=[10, 40, 160])
    parser.add_argument("--keep", type=Path, default=Path("/tmp/strength-beds"))
    parser.add_argument("--stiffness", type=float, default=1e5)
    parser.add_argument("--damping", type=float)
    parser.add_argument("--option", nargs="*", default=[], help="name=number, of the solver")
    args = parser.parse_args()
    args.keep.mkdir(exist_ok=True)
    soil = berm.calibrate("dry sand").replace(stiffness=args.stiffness)
    if args.damping is not None:
        soil = soil.replace(damping=args.damping)
    options: dict[str, Any] = {k: float(v) for k, v in (o.split("=") for o in args.option)}
    for name in args.case:
        for radius in args.radius:
            for deep in args.deep if name == "blade" else [0.0]:
                for n in args.substeps:
                    f, s, over, v, give, taken, wall = measure(
                        name, radius, deep, n, args.keep, soil, **options
                    )
                    print(
                        f"{name} r {radius * 100:g} cm deep {deep:g} n {n}: {f:.0f} +- {s:.0f} N, "
                        f"overlap {over:.4f} r, gives {give:.4f} r, {taken:.1f} substeps, "
                        f"speed {v:.3f} m/s, {wall:.2f} CPU s/s",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
