"""Hydraulic cylinders and motors behind valves that share the flow of a pump.

A lever opens its valve; the valve asks for flow, the pump gives what it has, the cylinder goes at
Q / A with a force between those of its relief pressure on either side. A closed valve holds the
oil, which gives way by V / (beta A^2) a newton (docs/machines.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from berm.core import checks
from berm.core.errors import InputError
from berm.core.joints import HOLD, SPEED, Driven, Hinge
from berm.machines.actuators import Actuator, driven, effort, rate
from berm.machines.engine import Engine

if TYPE_CHECKING:
    from berm.machines.machine import Machine

BULK = 1.0e9  # Pa: oil with a little air and its hoses, 0.7 to 1.4 GPa [MACHINES C1]
TANK = 3.0e5  # Pa: of the line back
MARGIN = 2.0e6  # Pa: that a load-sensing pump keeps above the highest load
PORT = 1.15  # of the relief pressure: where the valves at the ports of a closed valve open
EFFICIENCY = 0.9  # of the pump
CHECK = 0.99  # of the relief force: below, a check valve that has closed opens again
CUSHION = 0.03  # of its way: from there to its end a ram goes ever more slowly
SLOWEST = 0.3  # of its speed, there
DAMPING = 0.03  # s: of oil and hoses; a boom that is stopped swings out within a second [M]
STOP = 5e-4  # m or rad from the end of its way: there the valve is as good as closed,
AWAY = 5e-3  # until the ram is so far away


@dataclass(frozen=True)
class Cylinder:
    """Bore and rod (m) of `count` cylinders side by side that one ram stands for; relief, Pa."""

    bore: float
    rod: float
    relief: float
    count: int = 1

    def __post_init__(self) -> None:
        for name in ("bore", "relief"):
            checks.number(
                f"cylinder: {name}", getattr(self, name), "above 0", lambda x: 0.0 < x < math.inf
            )
        checks.number(
            "cylinder: rod", self.rod, f"0 to below the bore, {self.bore:g} m",
            lambda x: 0.0 <= x < self.bore,
        )  # fmt: skip
        checks.whole("cylinder: count", self.count, 1)

    @property
    def areas(self) -> tuple[float, float]:
        """Areas (m^2) that oil pushes out and pulls in."""
        bore = self.count * 0.25 * math.pi * self.bore**2
        return bore, bore - self.count * 0.25 * math.pi * self.rod**2

    def efforts(self, scale: float = 1.0) -> tuple[float, float]:
        """Largest pull and push, N: [MACHINES C1]."""
        push, pull = self.areas
        top = scale * self.relief
        return top * pull - TANK * push, top * push - TANK * pull

    def compliance(self, low: float, high: float, here: float) -> float:
        """m/N of the oil on both sides with the ram at `here` (m) of its way from low to high."""
        push, pull = self.areas
        dead = 0.1 * (high - low)  # of the way: hoses and the ends of the cylinder
        way = min(max(here, low), high)
        stiff = push / (way - low + dead) + pull / (high - way + dead)
        return 1.0 / (BULK * stiff)


@dataclass(frozen=True)
class Rotary:
    """A motor, or two steering cylinders: displacement (m^3/rad), oil inside (m^3), relief (Pa)."""

    displacement: float
    volume: float
    relief: float

    def __post_init__(self) -> None:
        for name in ("displacement", "volume", "relief"):
            checks.number(
                f"rotary: {name}", getattr(self, name), "above 0", lambda x: 0.0 < x < math.inf
            )

    @property
    def areas(self) -> tuple[float, float]:
        """Displacement (m^3/rad) either way."""
        return self.displacement, self.displacement

    def efforts(self, scale: float = 1.0) -> tuple[float, float]:
        """Largest torque either way, N m."""
        most = (scale * self.relief - TANK) * self.displacement
        return most, most

    def compliance(self, low: float, high: float, here: float) -> float:
        """rad/(N m) of the oil inside: half the volume on either side."""
        return self.volume / (4.0 * BULK * self.displacement**2)


@dataclass
class Lever:
    """A control, its valve and what that moves.

    joint: a ram, or a hinge with a `Rotary`; flow (m^3/s) that the open valve lets through, one or
    (out, in); priority: is served before the others; sign -1: the control pulls in.
    """

    control: str
    joint: str
    moves: Cylinder | Rotary
    flow: float | Sequence[float]
    priority: bool = False
    sign: float = 1.0
    response: float = 0.15  # s, of the spool from closed to open

    def __post_init__(self) -> None:
        given = self.flow if isinstance(self.flow, Sequence) else (self.flow, self.flow)
        self.flows = tuple(float(one) for one in given)
        if len(self.flows) != 2 or not all(0.0 < one < math.inf for one in self.flows):
            raise InputError(
                f"lever {self.control!r}: flow", self.flow, "above 0 m^3/s: one, or (out, in)"
            )

    def attach(self, joint: Driven, bears: float) -> None:
        """Take hold of the joint, and close the valve on what it bears (N, N m)."""
        self.ram, self.turns = joint, isinstance(joint, Hinge)
        if self.turns != isinstance(self.moves, Rotary):
            allowed = "a Cylinder with a ram or slider, a Rotary with a hinge"
            raise InputError(f"lever {self.control!r}: {joint.label}", self.moves, allowed)
        joint.joints.position[joint.row] = joint.position  # none was noted before the first step
        self.low, self.high = joint.limits or (-math.inf, math.inf)
        way = self.high - self.low
        self.cushion = CUSHION * way if math.isfinite(way) else 1.0
        self.pull, self.push = self.moves.efforts()
        out, back = self.moves.areas
        self.out, self.back = out, back
        self.close(bears)

    # ---- what it does to its joint ----------------------------------------------------------

    def close(self, force: float | None = None) -> None:
        """Hold the oil under the pressure that it has; port valves open above the relief.

        force (N, N m): what it bears, None: what it bore in the last step.
        """
        low, high = (self.low, self.high) if math.isfinite(self.high - self.low) else (0.0, 1.0)
        self.ram.release()
        give = self.moves.compliance(low, high, self.ram.position)
        pull, push = self.moves.efforts(PORT)
        force = min(max(self.effort() if force is None else force, -pull), push)
        self.ram.hold((pull, push), give, DAMPING)
        # compressed already: else the load would sink until the oil bears it
        self.ram.joints.target[self.ram.row] += give * force

    def go(self, speed: float, most: float) -> None:
        """Move with a speed (m/s, rad/s), at most with this part of what the relief allows."""
        pull, push = self.moves.efforts(most) if most < 1.0 else (self.pull, self.push)
        efforts = (self.pull, max(push, 0.0)) if speed > 0.0 else (max(pull, 0.0), self.push)
        if self.mode() == SPEED:
            table, row = self.ram.joints, self.ram.row
            table.target[row], table.effort[row] = speed, efforts
        else:
            self.ram.drive(speed, efforts)

    def mode(self) -> int:
        """How the joint is driven now: SPEED where the valve is open, HOLD where it is closed."""
        return int(self.ram.joints.drive[self.ram.row])

    # ---- what it measures -------------------------------------------------------------------

    def position(self) -> float:
        """Length (m) or angle (rad) at the start of the last substep."""
        return float(self.ram.joints.position[self.ram.row])

    def effort(self) -> float:
        """Mean force (N) or torque (N m) over the last step; above 0 it pushes out."""
        return effort(self.ram)

    def pressures(self) -> tuple[float, float]:
        """Pressures (Pa) on the side that pushes out and on the other one."""
        force = self.effort()
        if force >= 0.0:
            return (force + TANK * self.back) / self.out, TANK
        return TANK, (TANK * self.out - force) / self.back


@dataclass
class Asked:
    """An open valve in this step: of which lever, and what its ram does, the way it is told to go.

    left (m, rad) to the end of its way, speed, load (N, N m) against it, pressure (Pa) and flow
    (m^3/s) of the line to it.
    """

    lever: Lever
    spool: float
    left: float
    speed: float
    load: float
    pressure: float
    flow: float
    blocked: bool = False

    @property
    def wanted(self) -> float:
        """Flow (m^3/s) that the valve would let through."""
        return abs(self.spool) * self.lever.flows[0 if self.spool > 0.0 else 1]


@dataclass
class Hydraulics(Actuator):
    """Levers on one pump.

    displacement (m^3 a turn of the engine), or flow (m^3/s) of a pump that turns by itself; flow is
    shared among levers in proportion to what they ask for, those with priority first.
    """

    levers: Sequence[Lever]
    engine: Engine | None = None
    displacement: float | None = None
    flow: float | None = None
    state: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.displacement is None) == (self.flow is None):
            raise InputError(
                "hydraulics: pump", (self.displacement, self.flow), "displacement or flow"
            )
        if self.displacement is not None and self.engine is None:
            raise InputError("hydraulics: engine", None, "an engine for a pump with displacement")
        for name in ("displacement", "flow"):
            if getattr(self, name) is not None:
                checks.number(
                    f"hydraulics: {name}", getattr(self, name), "above 0",
                    lambda x: 0.0 < x < math.inf,
                )  # fmt: skip
        names = [lever.control for lever in self.levers]
        if len(set(names)) != len(names):
            raise InputError("hydraulics: controls", names, "each control once")
        for name in names:
            for what in ("spool", "checked", "shut", "before"):
                self.state[f"{name}.{what}"] = 0.0

    def controls(self) -> dict[str, str]:
        """One a lever."""
        return {one.control: f"-1 to 1: {one.joint} in or out" for one in self.levers}

    def joint_names(self) -> tuple[str, ...]:
        """All rams and hinges."""
        return tuple(lever.joint for lever in self.levers)

    def attach(self, machine: Machine) -> None:
        """Close all valves."""
        for lever in self.levers:
            lever.attach(driven(machine, lever.joint), machine.bears.get(lever.joint, 0.0))
            self.state[f"{lever.control}.before"] = lever.position()

    def pump_flow(self) -> float:
        """What the pump can give now, m^3/s."""
        if self.displacement is None or self.engine is None:
            assert self.flow is not None
            return self.flow
        return self.displacement * self.engine.speed / math.tau

    def act(self, controls: Mapping[str, float], dt: float) -> bool:
        """Move spools, share the flow, drive rams; return whether any valve is open."""
        state, asked, busy = self.state, [], False
        for lever in self.levers:
            name = f"{lever.control}.spool"
            was, wanted = state[name], lever.sign * controls[lever.control]
            if was == 0.0 and wanted == 0.0:
                continue
            if was == 0.0:
                state[f"{lever.control}.before"] = lever.position()
            most = dt / lever.response
            now = was + min(max(wanted - was, -most), most)
            state[name], busy = now, True
            if now == 0.0:
                self._close(lever)
                continue
            asked.append(self._look(lever, now, dt))
        if self.engine is not None:
            power = sum(one.pressure * one.flow for one in asked)
            self.engine.state["hydraulic"] = power / (EFFICIENCY * max(self.engine.speed, 1.0))
        most = self._pressure(asked)
        for one in asked:
            self._check(one, most)
        share = self._shares(asked)
        for one in asked:
            self._drive(one, share[one.lever.priority], most)
        return busy

    def _look(self, lever: Lever, spool: float, dt: float) -> Asked:
        """See what a lever's ram does."""
        here, before = lever.position(), f"{lever.control}.before"
        sign = math.copysign(1.0, spool)
        speed = sign * (here - self.state[before]) / dt
        self.state[before] = here
        load = sign * lever.effort()
        area, other = (lever.out, lever.back) if spool > 0.0 else (lever.back, lever.out)
        left = lever.high - here if spool > 0.0 else here - lever.low
        pressure = min(max((load + TANK * other) / area, 0.0), lever.moves.relief)
        return Asked(lever, spool, left, speed, load, pressure, area * max(speed, 0.0))

    def _pressure(self, asked: Sequence[Asked]) -> float:
        """The most (Pa) that any line can have, for the engine's power, at the flows of now.

        Lines that need less than that leave the rest to the others. Flows are those of the last
        step: speeds of bodies with mass. To limit flows by the pressures of the last step in its
        place would make both alternate from step to step.
        """
        going = sorted((one for one in asked if one.flow > 0.0), key=lambda one: one.pressure)
        if self.engine is None or not going:
            return math.inf
        power, flow = EFFICIENCY * self.engine.power(), sum(one.flow for one in going)
        for one in going[:-1]:
            if one.pressure * flow > power:
                break
            power -= one.pressure * one.flow
            flow -= one.flow
        return max(power / flow - MARGIN, 0.0)

    def _check(self, one: Asked, most: float) -> None:
        """Close the valve at the end of the way, and before a load that the pump cannot hold."""
        lever, state, name = one.lever, self.state, one.lever.control
        pull, push = lever.moves.efforts(min(1.0, most / lever.moves.relief))
        strong = one.load >= CHECK * (push if one.spool > 0.0 else pull)
        near = AWAY if state[f"{name}.shut"] * one.spool > 0.0 else STOP
        shut = math.copysign(1.0, one.spool) if one.left < near else 0.0
        checked = float(strong and (one.speed < -1e-4 or state[f"{name}.checked"] > 0.0))
        state[f"{name}.shut"], state[f"{name}.checked"] = shut, checked
        one.blocked = shut != 0.0 or checked > 0.0

    def _shares(self, asked: Sequence[Asked]) -> dict[bool, float]:
        """Which part of what they ask for levers get, with and without priority."""
        wants = {True: 0.0, False: 0.0}
        for one in asked:
            if not one.blocked:
                wants[one.lever.priority] += one.wanted
        pump = self.pump_flow()
        first = min(1.0, pump / wants[True]) if wants[True] > 0.0 else 1.0
        left = pump - first * wants[True]
        second = min(1.0, left / wants[False]) if wants[False] > 0.0 else 1.0
        return {True: first, False: second}

    def _drive(self, one: Asked, share: float, most: float) -> None:
        lever = one.lever
        if one.blocked:
            if lever.mode() == SPEED:
                lever.close()
            return
        area = lever.out if one.spool > 0.0 else lever.back
        speed = math.copysign(share * one.wanted / area, one.spool)
        speed *= min(1.0, max(SLOWEST, one.left / lever.cushion))
        lever.go(speed, min(1.0, most / lever.moves.relief))

    def _close(self, lever: Lever) -> None:
        if lever.mode() != HOLD:
            lever.close()
        self.state[f"{lever.control}.checked"] = 0.0

    def power(self) -> float:
        """Of all levers, W; oil that is held counts, too."""
        return sum(lever.effort() * rate(lever.ram) for lever in self.levers)

    def sensors(self) -> dict[str, float]:
        """Effort and pressures of each lever's ram."""
        found: dict[str, float] = {}
        for lever in self.levers:
            name, (out, back) = lever.control, lever.pressures()
            found |= {
                f"{name}.force": lever.effort(),
                f"{name}.pressure_out": out, f"{name}.pressure_in": back,
                f"{name}.spool": self.state[f"{name}.spool"],
            }  # fmt: skip
        return found
