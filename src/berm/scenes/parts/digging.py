"""Digging by script: an excavator's legs from place to place, and what a terrain has to keep."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from berm.core.report import StepReport
from berm.machines.machine import Machine
from berm.machines.operator import Leg, Levers, levers_to
from berm.machines.reach import aim
from berm.scenes.base import Outcome
from berm.scenes.parts.history import History
from berm.scenes.parts.params import SceneParams
from berm.world.terrain.terrain import Terrain
from berm.world.world import World

Array = npt.NDArray[Any]

LEAST = 1e-3  # kg: rounding of poured grains aside, nothing is lost
SHARE = 0.005  # of the mass that was moved may wait for a grain


class GroundParams(SceneParams):
    """Parameters of ground that is dug."""

    soil: Literal["dry sand", "gravel", "loam", "clay", "topsoil"] = Field(
        "loam", description="soil of the ground"
    )
    grain: float = Field(0.05, ge=0.02, le=0.15, description="radius of grains around tools (m)")
    most: int = Field(20_000, ge=500, le=200_000, description="grains that may live at once")

    def ground(
        self,
        size: tuple[float, float],
        middle: tuple[float, float],
        shape: Callable[[Array, Array], Array] = lambda x, y: 0.0 * x,
        **more: Any,
    ) -> Terrain:
        """Ground of this soil: level, or of another shape (`Terrain.of`)."""
        return Terrain.of(
            shape, size, 2.5 * self.grain, middle, layers=self.soil, grain=self.grain,
            most=self.most, **more,
        )  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where an excavator's teeth are: in the polar frame of its swing.

    swing (degrees), out (m) from its axis, up (m) above the tracks' ground, attack (degrees) of the
    line from the bucket's pin to the teeth: -90 hangs down.
    """

    swing: float
    out: float
    up: float
    attack: float

    def towards(self, other: Place, part: float) -> Place:
        """The place that is `part` of the way to another."""
        ends = zip(astuple(self), astuple(other), strict=True)
        return Place(*(a + part * (b - a) for a, b in ends))

    def levers(self, machine: Machine) -> Levers:
        """Levers that bring the teeth there."""
        frame = machine.bodies["frame"]
        turn = math.radians(self.swing)
        drawn = np.asarray(machine.design.bodies["frame"].at, float)
        here = (self.out * math.cos(turn), self.out * math.sin(turn), self.up)
        tip = frame.position + frame.rotation @ (np.array(here) - drawn)
        return levers_to(machine, aim(machine, tip, math.radians(self.attack)))


Way = Sequence[tuple[str, Place, float]]  # what for, where to, in so many seconds


def legs_along(way: Way, start: Place) -> list[Leg]:
    """Legs that take the teeth from place to place, evenly."""
    legs = []
    for name, place, seconds in way:
        legs.append(Leg(name, partial(_on_the_way, start, place, seconds), seconds))
        start = place
    return legs


def _on_the_way(start: Place, end: Place, seconds: float, machine: Machine) -> Levers:
    assert machine.operator is not None
    part = min((machine.world.time - machine.operator.since) / seconds, 1.0)
    return {**start.towards(end, part).levers(machine), "throttle": 1.0}


CARRIED, EMPTIED = -158.0, -50.0  # degrees: attack of a bucket that holds, and of an empty one
READY = Place(0.0, 7.4, 1.5, -80.0)


def bucket(number: int, near: float, far: float, deep: float, side: float) -> Way:
    """One bucket: dig from far to near (m), deep (m) at most, and empty it at `side` (degrees)."""
    what = f"bucket {number}: "
    return [
        (what + "reach out", Place(0.0, far, 0.4, -80.0), 2.0),
        (what + "set in", Place(0.0, far - 0.1, -0.6 * deep, -90.0), 1.5),
        (what + "drag", Place(0.0, 0.5 * (near + far), -deep, -112.0), 2.5),
        (what + "curl", Place(0.0, near, -0.6 * deep, -140.0), 2.5),
        (what + "close", Place(0.0, near - 0.2, 0.6, CARRIED), 1.5),
        (what + "lift", Place(0.0, 5.6, 3.6, CARRIED), 3.0),
        (what + "swing", Place(side, 6.0, 4.3, CARRIED), 5.0),
        (what + "empty", Place(side, 6.6, 3.7, EMPTIED), 2.5),
        (what + "wait", Place(side, 6.6, 3.9, EMPTIED), 0.7),
        (what + "swing back", READY, 4.5),
    ]


def observe_ground(world: World, report: StepReport) -> dict[str, float]:
    """What happens to the ground: masses, live grains, and what waits."""
    assert world.terrain is not None
    ledger = world.terrain.ledger(world)
    return {
        "live grains": float(world.terrain.zone.live),
        "mass error": float(np.abs(ledger.error).max()),
        "waiting": float(np.abs(ledger.waiting).sum()),
        "ground": float(ledger.ground.sum()),
        "overlap": report.overlap_max,
    }


def ground_outcomes(world: World, history: History) -> list[Outcome]:
    """Nothing is lost, little waits."""
    assert world.terrain is not None
    moved = float(world.terrain.zone.turned.sum())
    error, waits = float(history["mass error"].max()), float(history["waiting"][-1])
    return [
        Outcome("mass lost or won, ever", error < LEAST, error, f"below {LEAST:g}", "kg"),
        Outcome("mass that waits for a grain, of what was moved", waits < SHARE * moved,
                waits / max(moved, 1.0), f"below {SHARE:g}"),
    ]  # fmt: skip
