"""Time of a step, joint errors and force errors of mechanisms and heaps, beside other engines.

`python -m benchmarks.multibody.bench`, with `--quick` for small heaps; MuJoCo and Newton where they
are installed.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from benchmarks.multibody import small, worlds
from benchmarks.multibody.newton_chain import NewtonChain
from benchmarks.multibody.timed import Solves
from berm.kernels.jit import set_threads
from berm.kernels.multibody import substep
from berm.world.rocks import KINDS

G = 9.81
PHASES = {"left": 0.0, "right": 0.0, "stick ram": 1.0, "bucket ram": 2.0}  # rad, of the drives
PARTS = ("chain", "linkage", "solves", "heaps", "rocks", "paddle", "scenes", "threads")
PUSH, SHAKE = 250e3, 20e3  # N, on the bucket: rams give in, and rams hold


def per_step(step, steps: int, parts: int = 5) -> float:
    """Median over parts of the processor's time of a step (s)."""
    times = []
    for _ in range(parts):
        begin = time.process_time()
        for _ in range(steps):
            step()
        times.append((time.process_time() - begin) / steps)
    return statistics.median(times)


def mujoco_model(xml: str):
    """MuJoCo with a model and its state, or None where it is not installed."""
    try:
        import mujoco
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_string(xml)
    return mujoco, model, mujoco.MjData(model)


def mujoco_step(xml: str):
    """A function that steps MuJoCo's model, or None where it is not installed."""
    made = mujoco_model(xml)
    return None if made is None else (lambda: made[0].mj_step(made[1], made[2]))


def told(
    name: str, seconds: float, gap: float, wrong: float | None, ratio: float | None = None
) -> None:
    """One line of the comparison."""
    forces = "" if wrong is None else f", force error {wrong:.1e}"
    beside = "" if ratio is None else f"; berm's step from Python takes {ratio:.1f} times as long"
    print(f"  {name}: {1e6 * seconds:.1f} us a step, {1 / seconds:.0f} steps a s, joint error "
          f"{gap:.1e} m{forces}{beside}", flush=True)  # fmt: skip


# ---- chain ----------------------------------------------------------------------------------


def bench_chain() -> None:
    for rate in (60, 600):
        print(f"chain of {worlds.LINKS} links under 1,000 times its mass, 1/{rate} s:")
        world = worlds.chain(1 / rate)
        for _ in range(rate):
            world.step()
        gap = max(joint.error for joint in world.joints)
        wants = [(worlds.LOAD + worlds.LINK * (worlds.LINKS - k)) * G for k in range(9)]
        wrong = max(
            abs(joint.force[2] / want - 1.0)
            for joint, want in zip(world.joints, wants, strict=True)
        )
        mine = per_step(world.step, 200)
        told("berm, whole step from Python", mine, gap, wrong)
        told("berm, substeps inside the kernel", in_kernel(world, rate), gap, wrong)
        other = mujoco_model(worlds.chain_xml(1 / rate))
        if other is not None:
            mujoco, model, data = other
            for _ in range(rate):
                mujoco.mj_step(model, data)
            mujoco.mj_rnePostConstraint(model, data)
            wrong = max(
                abs(abs(data.cfrc_int[1 + k, 5]) / want - 1.0) for k, want in enumerate(wants)
            )
            theirs = per_step(lambda: mujoco.mj_step(model, data), 2000)  # noqa: B023
            told("MuJoCo, reduced coordinates", theirs, 0.0, wrong, mine / theirs)
        bench_newton_chain(rate, mine)


def bench_newton_chain(rate: int, mine: float) -> None:
    """The same in Newton, where it is installed; it gives no forces of joints."""
    for method in ("Featherstone", "XPBD"):
        try:
            chain = NewtonChain(1 / rate, method)
        except ImportError:
            return
        for _ in range(rate):
            chain.step()
        theirs = per_step(chain.step, 100)
        told(chain.label, theirs, chain.gap(), None, mine / theirs)


# ---- linkage --------------------------------------------------------------------------------


def bench_linkage() -> None:
    for rate in (60, 600):
        print(f"excavator's linkage, 14 bodies, five loops, rams that hold, shaken, 1/{rate} s:")
        world = worlds.linkage(1 / rate)
        mine, gap = shake_berm(world, rate)
        wrong = at_the_bearing(world, rate)
        told("berm, whole step from Python", mine, gap, wrong)
        told("berm, substeps inside the kernel", in_kernel(world, rate), gap, wrong)
        other = mujoco_model(worlds.linkage_xml(1 / rate))
        if other is not None:
            theirs, gap = shake_mujoco(*other, rate)
            told("MuJoCo", theirs, gap, mujoco_at_the_bearing(*other, rate), mine / theirs)


def shake_berm(world, rate: int, seconds: float = 2.0) -> tuple[float, float]:
    """Shake the bucket while the rams hold; time of a step (s) and largest gap of a pin (m)."""
    pins = [joint for joint in world.joints if joint.name not in PHASES]  # a slide has its travel
    bucket, gap, spent = world.body("bucket"), 0.0, []
    for _ in range(round(seconds * rate)):
        bucket.apply_force(shaken(world.time))
        begin = time.process_time()
        world.step()
        spent.append(time.process_time() - begin)
        gap = max(gap, *(pin.error for pin in pins))
    return statistics.median(spent), gap


def shaken(now: float):
    """Force on the bucket, N."""
    return SHAKE * np.sin(2 * np.pi * now * np.array([1.1, 0.7, 1.3]))


def speed(now: float, phase: float) -> float:
    """Of a ram, m/s."""
    return 0.3 * float(np.sin(2 * np.pi * 0.3 * now + phase))


def at_the_bearing(world, rate: int) -> float:
    """Error of force and moment at the swing bearing against the weight, at rest."""
    for _ in range(rate):
        world.step()
    swing = next(joint for joint in world.joints if joint.name == "swing")
    moving = [body for body in world.bodies if body.dynamic]
    mass = np.array([body.mass for body in moving])
    arm = np.array([body.centre for body in moving]) - worlds.SWING
    return _of_weight(mass, arm, swing.force, swing.torque)


def _of_weight(mass, arm, force, torque) -> float:
    weight = np.array([0.0, 0.0, -G * mass.sum()])
    moment = np.cross((mass[:, None] * arm).sum(axis=0), (0.0, 0.0, -G))
    return float(max(
        np.linalg.norm(force + weight) / np.linalg.norm(weight),
        np.linalg.norm(torque + moment) / np.linalg.norm(moment),
    ))  # fmt: skip


def shake_mujoco(mujoco, model, data, rate: int, seconds: float = 2.0) -> tuple[float, float]:
    """The same of MuJoCo; the gap is that of its loops."""
    bucket, gap, spent = model.body("bucket").id, 0.0, []
    for _ in range(round(seconds * rate)):
        data.xfrc_applied[bucket, :3] = shaken(data.time)
        begin = time.process_time()
        mujoco.mj_step(model, data)
        spent.append(time.process_time() - begin)
        loops = data.efc_pos[: data.ne].reshape(-1, 3)
        gap = max(gap, float(np.linalg.norm(loops, axis=1).max()))
    data.xfrc_applied[:] = 0.0
    return statistics.median(spent), gap


def mujoco_at_the_bearing(mujoco, model, data, rate: int) -> float:
    """The same of MuJoCo."""
    for _ in range(rate):
        mujoco.mj_step(model, data)
    mujoco.mj_rnePostConstraint(model, data)
    force = data.cfrc_int[1, 3:].copy()
    torque = data.cfrc_int[1, :3] + np.cross(data.subtree_com[1] - worlds.SWING, force)
    return _of_weight(model.body_mass[1:], data.xipos[1:] - worlds.SWING, force, torque)


def in_kernel(world, rate: int, many: int = 2000) -> float:
    """Time (s) of one substep among many in one call, with the pose all but held."""
    multi, n, joints = world.solver.multibody, world.bodies.n, world.joints.n
    loads = (np.zeros((joints, 6)), np.zeros((n, 6)), np.zeros((n, 6)))
    given = (
        multi.arrays, multi.joints, world.bodies.tag, multi.table.arrays, multi.solids,
        multi.means(world.gravity, 1 / rate), np.asarray(world.gravity), 1e-9, many, 1.0,
        multi.memory, *loads, np.zeros_like(multi.stats),
    )  # fmt: skip
    substep.advance(*given)
    begin = time.process_time()
    substep.advance(*given)
    return (time.process_time() - begin) / many


# ---- single solves --------------------------------------------------------------------------


def bench_solves() -> None:
    """The machine's problem of one step, by the clock inside compiled code; see `timed`.

    In the air its rams are driven and its bucket is pushed so hard that they give in; it stands on
    pads with rams that hold, its bucket pressed down and shaken; or it scrapes with driven rams.
    """
    for how in ("in the air", "standing", "scraping"):
        for rate, steps in ((600, 600), (60, 120)):
            world = worlds.linkage(1 / rate, on_pads=how != "in the air")
            rams = [(joint, PHASES[joint.name]) for joint in world.joints if joint.name in PHASES]
            solves, bucket = Solves(world, rate), world.body("bucket")
            for k in range(steps):
                if how == "standing":
                    bucket.apply_force(shaken(world.time) - (0.0, 0.0, 1.5 * SHAKE))
                elif how == "in the air":
                    bucket.apply_force(PUSH / SHAKE * shaken(world.time))
                for ram, phase in rams if how != "standing" else ():
                    ram.drive(speed(world.time, phase), effort=worlds.EFFORT)
                if k >= 10:
                    solves.take()
                world.step()
            tool, factor = solves.of_mobility(bucket)
            warm, cold = np.array(solves.warm), np.array(solves.cold)
            print(f"solve of the machine {how}, 1/{rate} s, {np.mean(solves.contacts):.0f} "
                  f"frictional contacts: warm {warm.mean():.0f} us mean, "
                  f"{np.quantile(warm, 0.99):.0f} p99, {warm.max():.0f} most "
                  f"({np.mean(solves.factored):.2f} factorisations); cold {cold.mean():.0f} mean, "
                  f"{cold.max():.0f} most; {solves.failed} of {len(warm)} fell back; bucket's "
                  f"mobility {tool:.1f} us, its factor {factor:.1f}", flush=True)  # fmt: skip


# ---- heaps ----------------------------------------------------------------------------------


def detection(world, h: float) -> float:
    """Processor's time (s) to find all contacts between the bodies at their present poses."""
    multi = world.solver.multibody
    given = (multi.arrays, multi.table.arrays, multi.solids, h, True)
    return per_step(lambda: substep.touching(*given), 4, 7)


def bench_heaps(sizes: tuple[int, ...]) -> None:
    print("heaps of boxes and spheres, a step of 1/60 s in 4 substeps, after 1.5 s:")
    print("bodies  contacts  step ms  us a body  of the first  detection ms  us a body"
          "  MuJoCo ms  ratio")  # fmt: skip
    first = 0.0
    for count in sizes:
        world = worlds.heap(count)
        for _ in range(90):
            world.step()
        mine, search = per_step(world.step, 6, 5), detection(world, 1 / 240)
        each = 1e6 * mine / count
        first = first or each
        found = world.report.body_contacts
        line = f"{count:6d}  {found:8d}  {1e3 * mine:7.1f}  {each:9.1f}  {each / first:12.2f}"
        line += f"  {1e3 * search:12.2f}  {1e6 * search / count:9.2f}"
        other = mujoco_step(worlds.heap_xml(count, 1 / 240)) if count <= 1000 else None
        if other is not None:
            for _ in range(360):
                other()
            theirs = 4 * per_step(other, 12, 5)
            line += f"  {1e3 * theirs:9.1f}  {mine / theirs:5.2f}"
        print(line, flush=True)


def bench_rocks(count: int) -> None:
    print(f"heaps of {count} rocks, a step of 1/60 s, after 2.5 s:")
    print("kind     contacts  detection ms  step ms")
    for kind in KINDS:
        world = worlds.rocks(count, kind)
        for _ in range(150):
            world.step()
        search = detection(world, 1 / 60)
        print(f"{kind:8s} {world.report.body_contacts:8d}  {1e3 * search:12.2f}  "
              f"{1e3 * per_step(world.step, 4, 5):7.1f}", flush=True)  # fmt: skip


def main() -> None:
    """Run all benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small heaps only")
    parser.add_argument("--only", choices=PARTS)
    asked = parser.parse_args()
    set_threads(1)
    parts = {
        "chain": bench_chain, "linkage": bench_linkage, "solves": bench_solves,
        "heaps": lambda: bench_heaps((125, 250) if asked.quick else (250, 1000, 4000)),
        "rocks": lambda: bench_rocks(100 if asked.quick else 500),
        "paddle": small.bench_paddle, "scenes": small.bench_scenes, "threads": small.bench_threads,
    }  # fmt: skip
    for name in PARTS:
        if asked.only in (None, name):
            parts[name]()


if __name__ == "__main__":
    main()
