"""The worlds that `berm bench` measures, and how: settled beds, interleaved repeats, medians."""

from __future__ import annotations

import importlib
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from berm.core.materials import Material, material, mix
from berm.core.shapes import Box
from berm.kernels import jit
from berm.solvers.p2.solver import P2
from berm.world.world import World

RADIUS = 0.02  # m
PITCH = 2.3 * RADIUS  # m, of the starting lattice: so loose that it collapses
JITTER, SPEED = 0.14 * RADIUS, 1.0  # m, m/s: without them it stands in columns
DEPTH = 1.0  # m, settled
SHRINK = 0.69  # settled depth over that of the lattice, measured
FORMS: dict[str, Callable[[], P2]] = {
    "default": P2,
    "published": lambda: P2.published(iterations=10),
}
TWIN_FORMS = {"default": "sweep", "published": "published"}
SETTLE_STEPS = 300
LARGEST_TILE = 120_000  # grains that settle together
QUIET, PATIENCE = 20, 600  # settled: so many steps without a new list; steps to wait for that
RELAX_STEPS = 360  # of another form, from the default's settled state: it sinks into itself
TWIN_STEPS = 60  # of the twin, from the settled state of its form
CHUNK_SECONDS = 0.25  # wall time of one repeat


def soil() -> Material:
    """Return the material of the bed and of its box."""
    return material("gravel", stiffness=1e5, friction=0.5)


def bed(grains: int, solver: P2, seed: int = 0) -> World:
    """Return a box without a lid with a loose lattice of grains that falls to about 1 m depth."""
    layers = max(min(int(DEPTH / (SHRINK * PITCH)), round(grains ** (1 / 3))), 1)
    side = math.ceil(math.sqrt(grains / layers))
    index = np.arange(grains)
    cell = np.stack([index % side, index // side % side, index // side**2], axis=1)
    rng = np.random.default_rng(seed)
    jitter = rng.uniform(-JITTER, JITTER, (grains, 3))
    world = World(solver=solver, seed=seed)
    world.add_grains(
        (cell + 0.5) * PITCH + jitter, RADIUS, rng.normal(0, SPEED, cell.shape), soil()
    )
    _add_box(world, side * PITCH)
    return world


def _add_box(world: World, width: float) -> None:
    height = 4 * DEPTH
    world.add_body(
        Box((width, width, height), inside=True, open_top=True),
        name="box",
        material=soil(),
        position=(width / 2, width / 2, height / 2),
    )


def settled_bed(grains: int) -> World:
    """Return the default form's bed after it has come to rest."""
    return settled(grains, ["default"])["default"]


def settled(grains: int, forms: Iterable[str] = FORMS) -> dict[str, World]:
    """Return a settled bed for each form.

    A large one is put together from copies of a smaller one side by side, which are left to settle
    again: to let a million grains collapse takes many minutes.
    """
    tiles = math.ceil(math.sqrt(grains / LARGEST_TILE))
    first = bed(grains // tiles**2, FORMS["default"]())
    _run(first, SETTLE_STEPS)
    worlds = {}
    for form in forms:
        tile = first
        if form != "default":
            tile = _tiled(first, 1, form)
            _run(tile, RELAX_STEPS)
        worlds[form] = tile if tiles == 1 else _tiled(tile, tiles, form)
        if form == "default":
            _rest(worlds[form])
    return worlds


def _tiled(one: World, tiles: int, form: str) -> World:
    """Return a world with tiles x tiles copies of the grains of another side by side."""
    n, width = one.grains.n, float(one.body("box").shape.size[0])
    world = World(solver=FORMS[form]())
    place = np.stack(np.divmod(np.arange(tiles**2), tiles), axis=1) * width
    shift = np.repeat(np.c_[place, np.zeros(tiles**2)], n, axis=0)
    x, v = (np.tile(array, (tiles**2, 1)) for array in (one.grains.position, one.grains.velocity))
    world.add_grains(x + shift, RADIUS, v, soil())
    _add_box(world, tiles * width)
    return world


def _rest(world: World) -> None:
    """Step until the list of pairs is kept: a single grain that falls makes a new one."""
    quiet = 0
    for _ in range(PATIENCE):
        quiet = 0 if world.step().rebuilt else quiet + 1
        if quiet == QUIET:
            break


def _run(world: World, steps: int) -> None:
    for _ in range(steps):
        world.step()


@dataclass
class Case:
    """One measured configuration, and its times."""

    engine: str  # berm or twin
    form: str
    grains: int
    threads: int
    advance: Callable[[int], None]
    world: World
    chunk: int = 1  # steps in a repeat
    seconds: list[float] = field(default_factory=list)  # s a step, one a repeat
    stages: dict[str, list[float]] = field(default_factory=dict)  # s, one a step
    searches: int = 0  # new neighbour lists

    def run(self) -> None:
        """Take one repeat."""
        jit.set_threads(self.threads, always=True)
        begin = time.perf_counter()
        self.advance(self.chunk)
        self.seconds.append((time.perf_counter() - begin) / self.chunk)

    def step_seconds(self) -> float:
        """Median wall time of a step, s."""
        return statistics.median(self.seconds)

    def row(self) -> dict[str, Any]:
        """Return the results by name."""
        report, solver = self.world.report, self.world.solver
        assert isinstance(solver, P2)
        passes = report.iterations * report.substeps
        contacts = max(report.contacts + report.wall_contacts, 1)
        pairs = len(solver.contacts.pairs()[0])
        second = self.step_seconds()
        out: dict[str, Any] = {
            "engine": self.engine,
            "form": self.form,
            "grains": self.grains,
            "threads": self.threads,
            "ms_step": 1e3 * second,
            "ms_step_fastest": 1e3 * min(self.seconds),
            "us_grain_step": 1e6 * second / self.grains,
            "ns_contact_iteration": 1e9 * second / (contacts * passes),
            "ns_listed_pair_iteration": 1e9 * second / (max(pairs, 1) * passes),
            "real_time_factor": self.world.dt / second,
            "contacts": contacts,
            "contacts_grain": 2 * report.contacts / max(self.grains, 1),  # a pair counts for both
            "listed_pairs": pairs,
            "iterations": passes,
            "steps_timed": self.chunk * len(self.seconds),
        }
        if self.engine == "berm":
            out["overlap_mean_percent"] = 100 * report.overlap_mean / (2 * RADIUS)
            out["searches_step"] = self.searches / out["steps_timed"]
            speed = np.linalg.norm(self.world.grains.velocity, axis=1)
            out["rest_speed_mm_s"] = 1e3 * float(np.sqrt(np.mean(speed.astype(float) ** 2)))
            for name, values in self.stages.items():
                out[f"ms_{name}"] = 1e3 * statistics.fmean(values)
        return out


def berm_case(world: World, form: str, threads: int) -> Case:
    """Return a case that steps a settled world of berm's."""

    def advance(steps: int) -> None:
        for _ in range(steps):
            report = world.step()
            case.searches += report.rebuilt
            for name, seconds in report.timings.items():
                case.stages.setdefault(name, []).append(seconds)

    case = Case("berm", form, world.grains.n, threads, advance, world)
    return case


def twin_case(world: World, form: str, threads: int, twin: Any) -> Case:
    """Return a case that steps the C++ twin from the same state with the same parameters."""
    grains, solver = world.grains, world.solver
    assert isinstance(solver, P2)
    law = mix(soil(), soil(), 0.5 * float(grains.mass.mean()))
    h = world.dt / solver.substeps
    params = twin.TwinParams(
        dt=world.dt,
        stiffness=law.stiffness,
        damping=law.damping,
        friction_static=law.friction_static,
        friction_kinetic=law.friction_kinetic,
        eps_depth=solver.eps_depth,
        relaxation=solver.relaxation,
        memory=solver.memory,
        slip_speed=1.5 * 9.81 * h,
        skin=solver.skin,
        iterations=solver.iterations,
        substeps=solver.substeps,
        threads=threads,
    )
    width = float(np.asarray(world.body("box").shape.size)[0])
    planes = [[0, 0, 1, 0], [1, 0, 0, 0], [-1, 0, 0, -width], [0, 1, 0, 0], [0, -1, 0, -width]]
    one = twin.Twin(grains.x[: grains.n], grains.v[: grains.n], planes, params)
    one.step(TWIN_FORMS[form], TWIN_STEPS)
    return Case("twin", form, grains.n, threads, lambda k: one.step(TWIN_FORMS[form], k), world)


def measure(cases: list[Case], repeats: int, tick: Callable[[], None] = lambda: None) -> None:
    """Take the repeats of all cases in turn, so that a busy moment hits all alike."""
    for case in cases:
        case.run()  # warms up, and says how many steps fill a repeat
        case.chunk = int(min(max(CHUNK_SECONDS / case.seconds[0], 10), 200))
        case.seconds.clear()
        case.stages.clear()
        case.searches = 0
    for _ in range(repeats):
        for case in cases:
            case.run()
            tick()


def checkout() -> Path | None:
    """Return the root of the source tree that berm runs from, if it has the benchmarks."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / "benchmarks" / "twin").is_dir() else None


def load_twin() -> tuple[Any, str]:
    """Return the C++ twin's module, or None and the reason why there is none."""
    root = checkout()
    if root is None:
        return None, "benchmarks/ is not here: run from a checkout of the sources"
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        twin = importlib.import_module("benchmarks.twin")
        twin.load()
    except (ImportError, RuntimeError, OSError) as error:
        return None, str(error).splitlines()[0]
    return twin, ""
