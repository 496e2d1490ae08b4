"""Tracks with belts: how fast they run, and with which pull and power."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from berm.core import checks
from berm.core.errors import InputError
from berm.machines.actuators import Actuator
from berm.machines.engine import RPM, Engine
from berm.machines.hydraulics import EFFICIENCY

if TYPE_CHECKING:
    from berm.machines.machine import Machine

GUARD = 0.95  # of the engine's power that is free


@dataclass
class Tracks(Actuator):
    """Two tracks whose belts run, steered by the difference of their speeds.

    left, right: bodies, axle (3,) of the sprockets in their frames; speed (m/s) of a belt at full
    command, response (s) in which it gets there; pull (N) and power (W) that both have together:
    what asks for more slows them; turn: the part of the speed that full steering adds; levers: one
    control for each track, in place of drive and steer; engine: from which they have power and
    speed.
    """

    left: str
    right: str
    speed: float
    response: float = 0.5
    across: float = 0.3
    axle: tuple[float, float, float] = (0.0, 1.0, 0.0)
    pull: float = math.inf
    power_limit: float = math.inf
    turn: float = 1.0
    levers: bool = False
    engine: Engine | None = None
    state: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("speed", "response", "turn"):
            checks.number(
                f"tracks: {name}", getattr(self, name), "above 0", lambda x: 0.0 < x < math.inf
            )
        for name in ("pull", "power_limit"):
            if not getattr(self, name) > 0.0:
                raise InputError(f"tracks: {name}", getattr(self, name), "above 0")
        self.state = {"left": 0.0, "right": 0.0}

    def controls(self) -> dict[str, str]:
        """Levers of the tracks."""
        if self.levers:
            return {f"{side}_track": f"-1 to 1: speed of the {side} track" for side in self.state}
        return {
            "drive": "-1 to 1: speed forward",
            "steer": "-1 to 1: to the left; turns on the spot without drive",
        }

    def body_names(self) -> tuple[str, ...]:
        """The two tracks."""
        return self.left, self.right

    def attach(self, machine: Machine) -> None:
        """Take hold of the two bodies."""
        self._bodies = {side: machine.bodies[getattr(self, side)] for side in ("left", "right")}
        self._gravity = np.asarray(machine.world.gravity, float)
        self._inertia = 2.0 * machine.mass
        self._give()

    def act(self, controls: Mapping[str, float], dt: float) -> bool:
        """Let the belts run up to their speeds, or as fast as pull and power allow."""
        before = dict(self.state)
        top = self.speed
        if self.engine is not None:
            top *= min(self.engine.speed / (self.engine.high * RPM), 1.0)
        loads = {side: self.traction(side) for side in self.state}
        used = {side: max(loads[side] * self.state[side], 0.0) for side in self.state}
        power = self._power()
        if self.engine is not None:  # its pumps never take more than it has: it does not die
            taken = min(sum(used.values()), GUARD * power) / EFFICIENCY
            self.engine.state["driveline"] = taken / max(self.engine.speed, 1.0)
        for side, sign in (("left", -1.0), ("right", 1.0)):
            if self.levers:
                wanted = controls[f"{side}_track"]
            else:
                wanted = controls["drive"] + sign * self.turn * controls["steer"]
            wanted = top * min(max(wanted, -1.0), 1.0)
            now = self.state[side]
            most = self.speed * dt / self.response
            step = min(max(wanted - now, -most), most)
            way = math.copysign(1.0, now if now != 0.0 else wanted)
            own = max(0.5 * power, power - sum(used.values()) + used[side])
            can = min(0.5 * self.pull, own / abs(now) if now != 0.0 else math.inf)
            # a belt yields slowly, as if it were much heavier than what it moves of the machine,
            # ahead or about: else its pull would swing from step to step
            spare = (can - way * loads[side]) * dt / self._inertia
            self.state[side] = now + way * max(min(way * step, spare), -abs(now))
        if self.state != before:
            self._give()
        limited = math.isfinite(self.pull) or math.isfinite(power)
        return self.state != before or (limited and any(self.state.values()))

    def _power(self) -> float:
        """What both may take, W."""
        if self.engine is None:
            return self.power_limit
        free = self.engine.power() - self.engine.state["hydraulic"] * self.engine.speed
        return min(self.power_limit, EFFICIENCY * max(free, 0.0))

    def _give(self) -> None:
        for side, body in self._bodies.items():
            body.belt(self.axle, self.state[side], self.across)

    def traction(self, side: str) -> float:
        """What the ground pushed a track ahead with in the last step, N, but for its inertia."""
        body = self._bodies[side]
        others = body.force_from("joints") + body.mass * self._gravity
        return -float(others @ body.rotation[:, 0])

    def power(self) -> float:
        """What the belts gave, W, slip included."""
        return sum(self.traction(side) * speed for side, speed in self.state.items())

    def sensors(self) -> dict[str, float]:
        """Speeds (m/s) of the belts, and what they push ahead with, N."""
        found = {f"{side}_belt": speed for side, speed in self.state.items()}
        return found | {f"{side}_traction": self.traction(side) for side in self.state}
