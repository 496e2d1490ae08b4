"""The loader and rocks in three phases: a pile at rest, the bucket in it, driving over rocks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.apps.figures.lacoursiere2010.events import Watch
from berm.apps.figures.lacoursiere2010.worlds import STEP, pile, rocky_ground
from berm.core.bodies import DYNAMIC
from berm.kernels.multibody import substep
from berm.machines import Machine, add
from berm.solvers.nonsmooth.solver import Nonsmooth
from berm.world.world import World

Array = npt.NDArray[Any]

ROLLING = 0.02  # rolling friction: without any, single rocks swing on two points for good
ROOM = 0.6  # m, between the bucket's teeth and the first rock at the start
REACH = 5.0  # m, from the loader's origin to its teeth
LANE = 2.0  # m: half the width that has to be free of rocks for the loader
PATIENCE = 15.0  # s until all rocks are at rest, or the loader is among them
SAMPLED = 6  # steps, of which one is asked what the search for contacts takes


@dataclass(frozen=True)
class Phase:
    """What is done, how rocks lie, and what is measured.

    It is measured for `seconds`, from when rocks push against the bucket with `pushed` (N), or the
    loader has gone `gone` (m).
    """

    name: str
    across: tuple[int, int] | None  # rocks along x and y when they fall
    pose: str | None  # without one its bucket lies on the ground
    commands: dict[str, float]
    pushed: float
    gone: float
    seconds: float
    printed: float  # s a simulated second with merging, [Lacoursiere10]
    faster: float  # times that merging has to be faster


def phases(quick: bool = False) -> list[Phase]:
    """The three phases, as printed."""
    long = 1.0 if quick else 4.0
    go = {"throttle": 0.6, "gear": 1.0}
    return [
        Phase("rest", None, None, {"brake": 1.0}, 0.0, 0.0, long, 0.1, 20.0),
        Phase("loading", None, None, go, 2e4, np.inf, long, 0.8, 2.0),
        Phase("driving", (5, 3) if quick else (20, 8), "carry", go, np.inf, 4.0, long, 1.6, 1.25),
    ]


@dataclass
class Outcome:
    """Processor seconds a simulated second, and where they go; the world as it is at the end."""

    cost: float
    search: float  # share of the search for contacts
    merging: float  # share of splitting and merging
    awake: float  # mean number of rocks that are by themselves
    contacts: float
    fallbacks: int  # direct solves that were refused
    way: float  # m that the machine went while it was measured
    world: World
    machine: Machine


def play(phase: Phase, merging: bool, rocks: int, settle: float) -> Outcome:
    """Let rocks come to rest, put the loader before them, and measure what it does."""
    world = rocky_ground(merging, ROLLING)
    watch = Watch(world) if merging else None
    pile(world, rocks, across=phase.across, rolling=ROLLING)
    _run(world, settle)
    loader = add(world, "loader", position=(_before(world), 0.0, 0.0), pose=phase.pose)
    loader.command(**phase.commands)
    begin, start = world.time, loader.centre.copy()
    while world.time < begin + PATIENCE and not _is_there(phase, loader, start):
        world.step()
    return _measure(world, loader, watch, phase.seconds)


def _run(world: World, seconds: float) -> None:
    for _ in range(round(seconds / STEP)):
        world.step()


def _before(world: World) -> float:
    """Where (x, m) the loader stands, its teeth just before the rocks in its lane."""
    x = world.bodies.x[world.bodies.dynamic]
    lane = x[np.abs(x[:, 1]) < LANE]
    return float(lane[:, 0].min()) - ROOM - REACH


def _is_there(phase: Phase, loader: Machine, start: Array) -> bool:
    """Whether what is measured begins: the loader is among rocks, or all have come to rest."""
    if phase.gone == 0.0:
        return False  # both worlds wait as long
    along = float(np.hypot(*loader.bodies["bucket"].force_from("bodies")[:2]))
    return along > phase.pushed or float(np.linalg.norm(loader.centre - start)) > phase.gone


def _measure(world: World, loader: Machine, watch: Watch | None, seconds: float) -> Outcome:
    rocks = np.array([name.startswith("rock") for name in world.bodies.names])
    free = rocks & (world.bodies.kind == DYNAMIC)
    steps, spent, search, awake, contacts, refused = round(seconds / STEP), 0.0, 0.0, 0, 0, 0
    start, split = loader.centre.copy(), 0.0 if watch is None else watch.seconds
    for k in range(steps):
        begin = time.process_time()
        report = world.step()
        spent += time.process_time() - begin
        awake += int((world.bodies.super_body[free] < 0).sum())
        contacts += report.body_contacts
        refused += report.fallbacks
        if k % SAMPLED == 0 and report.body_contacts:
            search += SAMPLED * _search(world)
    split = 0.0 if watch is None else watch.seconds - split
    return Outcome(
        spent / seconds, search / spent, split / spent, awake / steps, contacts / steps,
        refused, float(np.linalg.norm(loader.centre - start)), world, loader,
    )  # fmt: skip


def _search(world: World) -> float:
    """Processor seconds that looking for contacts takes now."""
    assert isinstance(world.solver, Nonsmooth)
    multi: Any = world.solver.multibody
    begin = time.process_time()
    substep.touching(multi.arrays, multi.table.arrays, multi.solids, STEP, multi.meet)
    return time.process_time() - begin
