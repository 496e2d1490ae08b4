"""Engine, torque converter and gearbox: what turns the shaft of a machine on wheels."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from berm.core import checks
from berm.core.errors import InputError
from berm.core.joints import FORCE
from berm.machines.actuators import Actuator, driven, effort, spin

if TYPE_CHECKING:
    from berm.machines.machine import Machine

RPM = math.tau / 60.0  # rad/s
STILL = 1e-9  # rad/s a step: an engine that changes less runs evenly


class Curve:
    """Straight lines through points (x, y); beyond the ends, their values."""

    def __init__(self, what: str, points: Sequence[Sequence[float]], unit: float = 1.0) -> None:
        try:
            table = np.array(points, float)
        except (TypeError, ValueError):
            table = np.zeros(0)
        if table.ndim != 2 or table.shape[1] != 2 or len(table) < 2 or not np.isfinite(table).all():
            raise InputError(what, points, "two or more pairs of finite numbers")
        if not (np.diff(table[:, 0]) > 0.0).all():
            raise InputError(what, points, "pairs whose first numbers rise")
        self.x, self.y = (unit * table[:, 0]).tolist(), table[:, 1].tolist()

    def __call__(self, x: float) -> float:
        """The value at x."""
        k = bisect_right(self.x, x)
        if k == 0:
            return float(self.y[0])
        if k == len(self.x):
            return float(self.y[-1])
        x0, y0 = self.x[k - 1], self.y[k - 1]
        return float(y0 + (self.y[k] - y0) * (x - x0) / (self.x[k] - x0))


@dataclass
class Engine(Actuator):
    """A diesel engine: full-load torque over speed, and a governor that keeps a speed.

    curve: (1/min, N m) of full load; inertia kg m^2 with all that turns with it; idle and high idle
    in 1/min: speeds that the governor keeps without load at throttle 0 and 1; droop (1/min) from no
    load to full load; drag (N m) of the engine that is driven. The idle governor has the whole
    curve, so that only more load than the engine has torque for can stop it.
    """

    curve: Sequence[Sequence[float]]
    inertia: float
    idle: float
    high: float
    droop: float = 120.0
    drag: float = 150.0
    state: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._full = Curve("engine: curve", self.curve, RPM)
        for name in ("inertia", "idle", "high", "droop"):
            checks.number(
                f"engine: {name}", getattr(self, name), "above 0", lambda x: 0.0 < x < math.inf
            )
        if not self.idle < self.high:
            raise InputError("engine: high", self.high, f"above idle, {self.idle:g} 1/min")
        # rad/s; what loads it now, N m; and how that rises with its speed, N m s
        self.state = {"speed": self.idle * RPM, "hydraulic": 0.0, "driveline": 0.0, "slope": 0.0}

    @property
    def speed(self) -> float:
        """rad/s."""
        return self.state["speed"]

    def controls(self) -> dict[str, str]:
        """The pedal."""
        return {"throttle": "0 to 1: from idle to the highest speed"}

    def full(self, speed: float) -> float:
        """Torque (N m) at full load at a speed (rad/s)."""
        return self._full(speed)

    def power(self) -> float:
        """What it can give at its present speed, W."""
        return self.speed * self.full(self.speed)

    def act(self, controls: Mapping[str, float], dt: float) -> bool:
        """Go on by dt (s) under its loads, implicit in speed."""
        pedal = max(controls["throttle"], 0.0)
        speed = self.speed
        wanted = (self.idle + pedal * (self.high - self.idle)) * RPM
        most = self.full(speed)
        gain = most / (self.droop * RPM)
        torque, slope = gain * (wanted - speed), gain
        if torque > most:
            torque, slope = most, 0.0
        elif torque < -self.drag:
            torque, slope = -self.drag, 0.0
        rest = torque - self.state["hydraulic"] - self.state["driveline"]
        gone = dt * rest / (self.inertia + dt * (slope + self.state["slope"]))
        now = max(speed + gone, 0.0)
        if abs(now - speed) < STILL:
            return False
        self.state["speed"] = now
        return True

    def sensors(self) -> dict[str, float]:
        """Speed in rad/s."""
        return {"engine_speed": self.speed}


@dataclass
class Converter:
    """A torque converter: its capacity (pump's torque over its speed squared) and torque ratio.

    ratio, capacity (N m s^2): pairs of (speed of turbine over that of the pump, value).
    """

    ratio: Sequence[Sequence[float]]
    capacity: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        self._ratio = Curve("converter: ratio", self.ratio)
        self._capacity = Curve("converter: capacity", self.capacity)

    def torques(self, pump: float, turbine: float) -> tuple[float, float]:
        """Torques (N m) that the pump takes and the turbine gives, at their speeds (rad/s)."""
        nu = turbine / max(pump, 1.0)
        taken = self._capacity(nu) * pump * pump
        return taken, self._ratio(nu) * taken


@dataclass
class Driveline(Actuator):
    """Engine, converter, gears and the shaft that a differential or two turn by.

    shaft: its hinge; reduction: from the gearbox to the shaft; gears: ratios, largest first; up:
    speed (rad/s) of the turbine above which it shifts up, down: below which it shifts down.
    """

    engine: Engine
    converter: Converter
    shaft: str
    gears: Sequence[float]
    reduction: float = 1.0
    efficiency: float = 0.9
    up: float = 190.0
    down: float = 80.0
    pause: float = 0.8  # s between two shifts
    state: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ratios = [float(one) for one in self.gears]
        if not ratios or any(one <= 0.0 for one in ratios) or ratios != sorted(ratios)[::-1]:
            raise InputError("driveline: gears", self.gears, "ratios above 0, the largest first")
        checks.number(
            "driveline: reduction", self.reduction, "above 0", lambda x: 0.0 < x < math.inf
        )
        self.state = {"gear": 0.0, "since": self.pause, "way": 0.0, "torque": 0.0}

    def controls(self) -> dict[str, str]:
        """The selector."""
        return {"gear": "1 forward, 0 neutral, -1 backward"}

    def joint_names(self) -> tuple[str, ...]:
        """The shaft."""
        return (self.shaft,)

    def attach(self, machine: Machine) -> None:
        """Let the shaft run freely."""
        self._shaft = driven(machine, self.shaft)
        self._free = float(self._shaft.joints.viscosity[self._shaft.row])

    def act(self, controls: Mapping[str, float], dt: float) -> bool:
        """Turn the shaft, and load the engine.

        Torque falls with speed, and on wheels that spin it would do so too fast for a step: it goes
        to the shaft as a torque and a viscosity, which the rows take implicitly.
        """
        way = controls["gear"]
        way = math.copysign(1.0, way) if abs(way) >= 0.5 else 0.0
        engine, state = self.engine, self.state
        if way == 0.0:
            engine.state["driveline"] = engine.state["slope"] = 0.0
            if state["way"] != 0.0:
                state["way"] = state["torque"] = 0.0
                self._shaft.release()
                self._shaft.joints.viscosity[self._shaft.row] = self._free
            return False
        speed = spin(self._shaft)
        ratio = way * self.reduction * self._gear(way * speed, state["way"] != way, dt)
        state["way"] = way
        turbine = speed * ratio
        taken, given = self.converter.torques(engine.speed, turbine)
        step = max(0.02 * engine.speed, 1.0)
        beyond = self.converter.torques(engine.speed, turbine + step)[1]
        slope = max((given - beyond) / step, 0.0)
        torque = self.efficiency * ratio * given
        viscous = self.efficiency * ratio * ratio * slope
        row, table = self._shaft.row, self._shaft.joints
        state["torque"] = torque
        if table.drive[row] == FORCE:
            table.target[row] = torque + viscous * speed
        else:
            self._shaft.push(torque + viscous * speed)
        table.viscosity[row] = self._free + viscous
        engine.state["driveline"] = taken
        engine.state["slope"] = 2.0 * taken / max(engine.speed, 1.0)
        return True

    def _gear(self, speed: float, engaged: bool, dt: float) -> float:
        """Ratio of the gear that it is in, after a shift if one is due.

        Just engaged it takes the highest in which the turbine is fast enough; against the way that
        the machine rolls, the first.
        """
        state, gears = self.state, self.gears
        gear = int(state["gear"])
        state["since"] = min(state["since"] + dt, self.pause)
        turbine = speed * self.reduction * float(gears[gear])
        if engaged or turbine < 0.0:
            fast = [k for k, one in enumerate(gears) if speed * self.reduction * one > self.down]
            gear = max(fast, default=0)
        elif state["since"] >= self.pause:
            if turbine > self.up and gear + 1 < len(gears):
                gear += 1
            elif turbine < self.down and gear > 0:
                gear -= 1
        if gear != int(state["gear"]):
            state["gear"], state["since"] = float(gear), 0.0
        return float(gears[gear])

    def power(self) -> float:
        """What it gave to the shaft, W."""
        return effort(self._shaft) * spin(self._shaft)

    def sensors(self) -> dict[str, float]:
        """Gear from 1 up, torque (N m) and speed (rad/s) of the shaft."""
        return {
            "gear": self.state["gear"] + 1.0, "shaft_torque": self.state["torque"],
            "shaft_speed": spin(self._shaft),
        }  # fmt: skip
