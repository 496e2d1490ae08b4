"""A scripted operator: what to do with the levers, leg by leg, each until something is reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from berm.core import checks
from berm.core.errors import InputError
from berm.core.saved import Saved
from berm.machines.hydraulics import Hydraulics

if TYPE_CHECKING:
    from berm.machines.machine import Machine

Levers = Mapping[str, float]
NEAR = 0.01  # m or rad: near enough
BRAKING = 1.5  # rad


@dataclass(frozen=True)
class Leg:
    """One part of a job.

    do: controls by name, or a function of the machine that returns them; controls that it does not
    name go to 0. until: a function that says when the leg has ended, or a number of seconds; a leg
    that takes longer than `most` (s) ends too, and the operator notes that it was not reached.
    """

    name: str
    do: Levers | Callable[[Machine], Levers]
    until: Callable[[Machine], bool] | float
    most: float = 30.0

    def levers(self, machine: Machine) -> Levers:
        """Controls for the coming step."""
        return self.do(machine) if callable(self.do) else self.do

    def is_done(self, machine: Machine, elapsed: float) -> bool:
        """Whether the leg has reached what it is for, after so many seconds."""
        if callable(self.until):
            return self.until(machine)
        return elapsed >= self.until - 1e-9


class Operator:
    """Goes through legs while it is `on`; where it is, is part of the machine's state.

    leg: number of the present one, since (s); missed: legs that took too long.
    """

    def __init__(self, machine: Machine, legs: Sequence[Leg]) -> None:
        self.machine, self.legs = machine, list(legs)
        if not self.legs:
            raise InputError(f"machine {machine.name!r}: operator", [], "at least one leg")
        for leg in self.legs:
            where = f"machine {machine.name!r}: leg {leg.name!r}: most"
            checks.number(where, leg.most, "above 0 s", lambda x: 0.0 < x < math.inf)
        self.leg, self.since, self.missed, self.on = 0, machine.world.time, 0, True

    @property
    def now(self) -> str:
        """Name of the present leg; empty when all are done."""
        return self.legs[self.leg].name if self.leg < len(self.legs) else ""

    def act(self) -> None:
        """Set the machine's controls for the coming step."""
        machine = self.machine
        while self.on and self.leg < len(self.legs):
            leg, elapsed = self.legs[self.leg], machine.world.time - self.since
            done = leg.is_done(machine, elapsed)
            if not done and elapsed < leg.most - 1e-9:
                levers = leg.levers(machine)
                machine.command(**{**dict.fromkeys(machine.controls, 0.0), **levers})
                return
            self.missed += not done
            self.leg, self.since = self.leg + 1, machine.world.time

    # ---- restart --------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Where it is in its work."""
        return {"leg": self.leg, "since": self.since, "missed": self.missed, "on": self.on}

    def check(self, saved: Saved) -> None:
        """Refuse a place that is not in these legs."""
        saved.whole("leg", 0, len(self.legs))
        saved.whole("missed", 0, len(self.legs))
        saved.number("since")
        saved.flag("on")

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""
        self.leg, self.missed = int(state["leg"]), int(state["missed"])
        self.since, self.on = float(state["since"]), bool(state["on"])


def levers_to(machine: Machine, wanted: Levers, gain: float = 8.0) -> dict[str, float]:
    """Levers that bring cylinders and swings, by the names of joints, to positions (m, rad).

    gain: lever a metre that is missing. What swings is braked by its motor alone: it slows down in
    time for `BRAKING` (rad) from full speed.
    """
    levers = {
        one.joint: one
        for actuator in machine.design.actuators if isinstance(actuator, Hydraulics)
        for one in actuator.levers
    }  # fmt: skip
    found: dict[str, float] = {}
    for name, position in wanted.items():
        if name not in levers:
            raise InputError(f"machine {machine.name!r}: joint", name, ", ".join(levers) or "none")
        lever = levers[name]
        off = position - machine.position(name)
        if abs(off) <= NEAR:
            value = 0.0
        elif lever.turns:
            value = math.copysign(math.sqrt(min(abs(off) / BRAKING, 1.0)), off)
        else:
            value = gain * off
        found[lever.control] = lever.sign * _unit(value)
    return found


def steer_to(machine: Machine, angle: float) -> float:
    """Lever that brings an articulated machine to an angle (rad) of its joint."""
    return _unit(6.0 * (angle - float(machine.sensors()["articulation"])))


def steer_along(
    machine: Machine, start: tuple[float, float], heading: float, ahead: float = 4.0
) -> float:
    """Lever that brings a machine which goes forward onto a line, and keeps it there.

    start (m): a point of the line, heading (degrees): its direction. The front part is steered at a
    point of the line `ahead` (m) of the machine.
    """
    now = machine.sensors()
    c, s = math.cos(math.radians(heading)), math.sin(math.radians(heading))
    x, y = float(now["position"][0]) - start[0], float(now["position"][1]) - start[1]
    along = x * c + y * s + ahead
    bearing = math.atan2(along * s - y, along * c - x)
    front = math.radians(float(now["heading"])) + float(now["articulation"])
    off = (bearing - front + math.pi) % (2.0 * math.pi) - math.pi
    return steer_to(machine, min(max(1.2 * off, -0.6), 0.6))


def _unit(value: float) -> float:
    return min(max(value, -1.0), 1.0)
