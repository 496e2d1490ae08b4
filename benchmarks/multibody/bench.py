"""Time of a step, joint errors and force errors of mechanisms and heaps, beside MuJoCo.

`python -m benchmarks.multibody.bench`, with `--quick` for small heaps; MuJoCo if it is installed.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from benchmarks.multibody import worlds
from berm.kernels.jit import set_threads
from berm.kernels.multibody import substep

G = 9.81


def per_step(step, steps: int, parts: int = 5) -> float:
    """Median over parts of the processor's time of a step (s)."""
    times = []
    for _ in range(parts):
        begin = time.process_time()
        for _ in range(steps):
            step()
        times.append((time.process_time() - begin) / steps)
    return statistics.median(times)


def mujoco_step(xml: str):
    """A function that steps MuJoCo's model, or None where it is not installed."""
    try:
        import mujoco
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    return lambda: mujoco.mj_step(model, data)


def bench_chain() -> None:
    world = worlds.chain(1 / 60)
    for _ in range(60):
        world.step()
    gap = max(joint.error for joint in world.joints)
    wrong = max(
        abs(joint.force[2] / ((worlds.LOAD + worlds.LINKS - k) * G) - 1.0)
        for k, joint in enumerate(world.joints)
    )
    mine = per_step(world.step, 120)
    print(f"chain, 1/60 s: berm {1e6 * mine:.0f} us a step, joint error {gap:.1e} m, "
          f"force error {100 * wrong:.2f} %")  # fmt: skip
    other = mujoco_step(worlds.chain_xml(1 / 60))
    if other is not None:
        theirs = per_step(other, 120)
        print(f"  MuJoCo, reduced coordinates: {1e6 * theirs:.0f} us; ratio {mine / theirs:.2f}")


def bench_linkage() -> None:
    for rate in (60, 600):
        world = worlds.linkage(1 / rate)
        rams = [joint for joint in world.joints if type(joint).__name__ == "Slider"]
        times, gaps, turns = [], [], []
        for _ in range(600):
            for n, ram in enumerate(rams):
                ram.drive(0.1 * np.sin(2 * np.pi * 0.3 * world.time + n), effort=5e5)
            begin = time.process_time()
            world.step()
            times.append(time.process_time() - begin)
            gaps.append(max(joint.error for joint in world.joints if not hasattr(joint, "drive")
                            or type(joint).__name__ == "Hinge"))  # fmt: skip
            turns.append(world.report.factorisations)
        print(f"linkage, 1/{rate} s: step {1e6 * np.mean(times):.0f} us mean, "
              f"{1e6 * np.quantile(times, 0.99):.0f} us p99 (Python included), factorisations "
              f"{np.mean(turns):.2f}, at most {max(turns)}, joint error {max(gaps):.1e} m, "
              f"fallbacks {world.report.fallbacks}")  # fmt: skip
        print(f"  a whole substep inside the kernel, warm: {1e6 * in_kernel(world, rate):.1f} us; "
              f"6 x 6 mobility of the bucket {1e6 * of_mobility(world):.1f} us")  # fmt: skip


def in_kernel(world, rate: int, many: int = 2000) -> float:
    """Time (s) of one substep among many in one call, with the pose all but held."""
    multi, n, joints = world.solver.multibody, world.bodies.n, world.joints.n
    loads = (np.zeros((joints, 6)), np.zeros((n, 6)), np.zeros((n, 6)))
    given = (
        multi.arrays, multi.joints, world.bodies.tag, multi.table.arrays, multi.solids,
        multi.means(world.gravity, 1 / rate), np.asarray(world.gravity), 1e-9, many, multi.memory,
        *loads, np.zeros_like(multi.stats),
    )  # fmt: skip
    substep.advance(*given)
    begin = time.process_time()
    substep.advance(*given)
    return (time.process_time() - begin) / many


def of_mobility(world, times: int = 200) -> float:
    """Time (s) of the factor of the rows that hold and one body's mobility, called from Python."""
    multi, n = world.solver.multibody, world.bodies.n
    opened = substep.begin(
        multi.arrays, multi.joints, world.bodies.tag, multi.table.arrays, multi.solids,
        multi.means(world.gravity, 1 / 600), np.asarray(world.gravity), 1 / 600, multi.memory,
        np.zeros_like(multi.stats),
    )  # fmt: skip
    touched, out = np.zeros(n, bool), np.zeros((n, 6, 6))
    touched[world.body("bucket").row] = True
    return per_step(
        lambda: substep.mobilities_of(multi.arrays, opened[1], opened[3], touched, out), times
    )


def bench_heaps(sizes: tuple[int, ...]) -> None:
    first = 0.0
    for count in sizes:
        world = worlds.heap(count)
        for _ in range(90):
            world.step()
        mine = per_step(world.step, 6, 5)
        each = 1e6 * mine / count
        first = first or each
        line = (f"heap of {count}: {1e3 * mine:.1f} ms a step of 1/60 s (4 substeps), "
                f"{each:.2f} us a body, {each / first:.2f} of the first; "
                f"{world.report.body_contacts} contacts")  # fmt: skip
        other = mujoco_step(worlds.heap_xml(count, 1 / 240)) if count <= 1000 else None
        if other is not None:
            for _ in range(360):
                other()
            theirs = 4 * per_step(other, 12, 5)
            line += f"; MuJoCo (4 x 1/240 s) {1e3 * theirs:.1f} ms, ratio {mine / theirs:.2f}"
        print(line, flush=True)


def main() -> None:
    """Run all benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small heaps only")
    quick = parser.parse_args().quick
    set_threads(1)
    bench_chain()
    bench_linkage()
    bench_heaps((125, 250) if quick else (250, 1000, 4000))


if __name__ == "__main__":
    main()
