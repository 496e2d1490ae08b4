"""A machine in a world: its bodies, joints, controls and sensors."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.bodies import Body
from berm.core.errors import InputError
from berm.core.joints import (
    Ball,
    Cylindrical,
    Differential,
    Distance,
    Driven,
    Gear,
    Hinge,
    Joint,
    Slider,
    Universal,
    Weld,
)
from berm.core.motion import rotation_about
from berm.core.saved import Saved
from berm.machines.assembly import Assembly, Frame
from berm.machines.design import Design, Link
from berm.machines.operator import Leg, Operator
from berm.machines.stability import margin
from berm.machines.tool import of_design

if TYPE_CHECKING:
    from berm.world.world import World

Array = npt.NDArray[np.float64]
Commands = Sequence[tuple[float, Mapping[str, float]]]

JOINTS = {"hinge": Hinge, "slider": Slider, "cylindrical": Cylindrical}


class Controls(MutableMapping[str, float]):
    """Values from -1 to 1 by name; other names and other values are refused."""

    def __init__(self, what: str, known: Mapping[str, str]) -> None:
        self.what, self.about = what, dict(known)
        self._values = dict.fromkeys(known, 0.0)
        self.version = 0  # counts changes

    def __getitem__(self, name: str) -> float:
        return self._values[self._known(name)]

    def __setitem__(self, name: str, value: float) -> None:
        given = checks.number(
            f"{self.what}: control {self._known(name)!r}", value, "from -1 to 1",
            lambda x: -1.0 <= x <= 1.0,
        )  # fmt: skip
        if given != self._values[name]:
            self._values[name] = given
            self.version += 1

    def __delitem__(self, name: str) -> None:
        raise InputError(f"{self.what}: control {name!r}", "deleted", "values from -1 to 1")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Controls({self._values})"

    def _known(self, name: str) -> str:
        if name not in self._values:
            raise InputError(f"{self.what}: control", name, ", ".join(self._values) or "none")
        return name

    @property
    def plain(self) -> dict[str, float]:
        """The values, without checks."""
        return self._values


def wanted_pose(
    label: str, design: Design, pose: str | Mapping[str, float] | None
) -> Mapping[str, float]:
    """Positions (m, rad) of joints by name, of a pose that may have a name."""
    if isinstance(pose, str):
        if pose not in design.poses:
            raise InputError(f"{label}: pose", pose, ", ".join(design.poses) or "none")
        return design.poses[pose]
    return {} if pose is None else dict(pose)


def check_commands(
    label: str, commands: Commands, trial: Controls
) -> list[tuple[float, dict[str, float]]]:
    """Pairs of a time and values of controls, in order; each is tried on `trial`."""
    checked: list[tuple[float, dict[str, float]]] = []
    for pair in commands:
        try:
            when, values = pair
            given = dict(values)
        except (TypeError, ValueError):
            raise InputError(
                f"{label}: commands", pair, "pairs of a time and values by name"
            ) from None
        time = checks.number(f"{label}: commands: time", when, "a finite number of seconds")
        if checked and time < checked[-1][0]:
            raise InputError(f"{label}: commands: time", time, f"{checked[-1][0]:g} s or later")
        for name, value in given.items():
            trial[name] = value
        checked.append((time, given))
    return checked


class Machine:
    """What `berm.machines.add` returns.

    bodies, joints, tools: handles by the names of the design; controls: values from -1 to 1,
    which act before each step; `command` sets several at once, `schedule` at given times.
    """

    def __init__(
        self, world: World, kind: str, design: Design, name: str, position: npt.ArrayLike,
        heading: float, pose: str | Mapping[str, float] | None,
    ) -> None:  # fmt: skip
        self.world, self.kind, self.name, self.design = world, kind, name, design
        label = f"machine {name!r}"
        design.check(label)
        where = checks.vector(f"{label}: position", position, "three finite numbers, m")
        angle = checks.number(f"{label}: heading", heading, "a finite number of degrees")
        self.controls = Controls(label, design.controls())
        self.commands: list[tuple[float, dict[str, float]]] = []
        self._next = 0
        self.operator: Operator | None = None
        self._quiet = -1  # version of the controls with which nothing is under way
        assembly = Assembly(label, design)
        frames = assembly.pose(wanted_pose(label, design, pose))
        positions = assembly.positions(frames)
        turn = rotation_about((0.0, 0.0, 1.0), math.radians(angle))
        self.bears = assembly.bears(frames, turn.T @ np.asarray(world.gravity, float))
        placed = {k: Frame(where + turn @ f.origin, turn @ f.turn) for k, f in frames.items()}
        self.bodies: dict[str, Body] = {}
        self.joints: dict[str, Joint] = {}
        try:
            for key in design.bodies:
                self.bodies[key] = self._body(key, placed[key])
            for key, link in design.joints.items():
                joint = self._joint(key, link, assembly, placed, positions)
                self.joints[key] = world.add_joint(joint)
            for key in design.couplings:
                self.joints[key] = world.add_joint(self._coupling(key))
            self._keep_apart()
            self.tools = {
                key: of_design(world, tool, self.bodies[tool.body], design.bodies[tool.body])
                for key, tool in design.tools.items()
            }
            for actuator in design.actuators:
                actuator.attach(self)
        except InputError:
            self._take_out()
            raise

    # ---- building -------------------------------------------------------------------------

    def _body(self, key: str, frame: Frame) -> Body:
        part = self.design.bodies[key]
        centre = None
        if part.centre is not None:
            centre = part.turn.T @ (np.asarray(part.centre, float) - np.asarray(part.at, float))
        return self.world.add_body(
            part.shape, name=f"{self.name}.{key}", material=part.material, position=frame.origin,
            rotation=frame.turn, dynamic=True, mass=part.mass, inertia=part.inertia, centre=centre,
        )  # fmt: skip

    def _joint(
        self, key: str, link: Link, assembly: Assembly, placed: Mapping[str, Frame],
        positions: Mapping[str, float],
    ) -> Joint:  # fmt: skip
        a, b, held = self.bodies[link.a], self.bodies[link.b], assembly.held[key]
        one, two = placed[link.a], placed[link.b]
        here = one.origin + one.turn @ held.here
        there = two.origin + two.turn @ held.there
        mine, theirs = one.turn @ held.mine, two.turn @ held.theirs
        name = f"{self.name}.{key}"
        if link.kind == "ball":
            return Ball(a, b, here, name)
        if link.kind == "weld":
            return Weld(a, b, here, name)
        if link.kind == "universal":
            return Universal(a, b, here, mine, theirs, name)
        if link.kind == "rod":
            return Distance(a, b, here, there, name)
        more: dict[str, Any] = {
            "limits": link.limits, "friction": link.friction, "viscosity": link.viscosity
        }  # fmt: skip
        if link.kind == "ram":
            return Distance(a, b, here, there, name, **more)
        zero = positions[key] if link.kind == "hinge" else link.zero
        return JOINTS[link.kind](
            a, b, here, mine, name, anchor_b=there, axis_b=theirs, zero=zero, **more
        )

    def _coupling(self, key: str) -> Joint:
        coupling = self.design.couplings[key]
        joints = [self.joints[name] for name in coupling.joints]
        kind: Any = Gear if len(joints) == 2 else Differential
        made: Joint = kind(*joints, coupling.ratio, f"{self.name}.{key}")
        return made

    def _keep_apart(self) -> None:
        """Bodies of one machine pass each other: what its joints allow is how it is built."""
        own = list(self.bodies.values())
        for body in own:
            body.bodies.family[body.row] = own[0].tag

    def remove(self) -> None:
        """Take the machine out of its world, with all that belongs to it."""
        if self not in self.world.machines:
            raise InputError(f"machine {self.name!r}: remove", "gone", "a machine of this world")
        self.world.machines.remove(self)
        self._take_out()

    def _take_out(self) -> None:
        known = self.world.joints.handles
        for joint in reversed(self.joints.values()):
            if joint in known:
                self.world.remove_joint(joint)
        for body in self.bodies.values():
            self.world.remove_body(body)

    # ---- controls -------------------------------------------------------------------------

    def command(self, **values: float) -> None:
        """Set controls by name; the others stay as they are."""
        for name in values:
            self.controls._known(name)
        for name, value in values.items():
            self.controls[name] = value

    def schedule(self, commands: Commands) -> None:
        """Set controls at times (s) of the world: pairs of a time and values by name, in order."""
        label = f"machine {self.name!r}"
        checked = check_commands(label, commands, Controls(label, self.controls.about))
        self.commands = checked
        self._next = bisect_right([when for when, _ in checked], self.world.time - 1e-9)

    def follow(self, legs: Sequence[Leg]) -> Operator:
        """Let a scripted operator work the controls, leg by leg, while `operator.on`."""
        self.operator = Operator(self, legs)
        return self.operator

    def act(self, world: World) -> None:
        """Let the controls act for the coming step; the world calls it."""
        if self.operator is not None:
            self.operator.act()
        while self._next < len(self.commands) and (
            self.commands[self._next][0] <= world.time + 1e-9
        ):
            self.command(**self.commands[self._next][1])
            self._next += 1
        controls = self.controls
        if self._quiet == controls.version:
            return
        version, busy = controls.version, False
        for actuator in self.design.actuators:
            busy = actuator.act(controls.plain, world.dt) or busy
        self._quiet = -1 if busy else version

    # ---- what it measures -----------------------------------------------------------------

    @property
    def mass(self) -> float:
        """Of all its bodies, kg."""
        return sum(body.mass for body in self.bodies.values())

    @property
    def centre(self) -> Array:
        """Centre of mass (3,), m."""
        bodies = list(self.bodies.values())
        total = sum(body.mass * body.centre for body in bodies)
        return np.asarray(total / self.mass)

    def position(self, joint: str) -> float:
        """Where a joint is, m or rad."""
        found = self.joints.get(joint)
        if not isinstance(found, Driven):
            known = [name for name, one in self.joints.items() if isinstance(one, Driven)]
            raise InputError(f"machine {self.name!r}: joint", joint, ", ".join(known))
        return found.position

    def sensors(self) -> dict[str, Any]:
        """What the machine measures now, by name: numbers, and arrays (3,) of places (SI)."""
        first = next(iter(self.bodies.values()))
        ahead = first.rotation[:, 0]
        found: dict[str, Any] = {
            "time": self.world.time, "position": first.position, "velocity": first.velocity,
            "speed": float(first.velocity @ ahead),
            "heading": math.degrees(math.atan2(ahead[1], ahead[0])),
        }  # fmt: skip
        for name, joint in self.joints.items():
            if isinstance(joint, Driven):
                found[name] = joint.position
        for actuator in self.design.actuators:
            found |= actuator.sensors()
        for name, tool in self.tools.items():
            measured = tool.sensors()
            found |= {f"{name}.{what}": value for what, value in measured.items()}
            found[f"{name}.tip"] = tool.tip
            if tool.tool.body == self.design.load:
                found["load"] = measured["load"]
        if self.design.load is not None and "load" not in found:
            found["load"] = self.load
        if self.design.feet:
            found["tip_over"] = margin(self)
        return found

    @property
    def power(self) -> float:
        """What its cylinders, motors and driveline gave to its joints in the last step, W."""
        return sum(actuator.power() for actuator in self.design.actuators)

    @property
    def load(self) -> float:
        """Mass (kg) in the body that the design names: in its tool, or by the force on it."""
        assert self.design.load is not None
        for tool in self.tools.values():
            if tool.tool.body == self.design.load:
                return tool.load
        body = self.bodies[self.design.load]
        down = -float((body.force_from("grains") + body.force_from("bodies"))[2])
        weight = float(np.linalg.norm(self.world.gravity))
        return max(down, 0.0) / weight if weight > 0.0 else 0.0

    # ---- restart --------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything that a restart needs beside bodies and joints."""
        return {
            "controls": dict(self.controls.plain),
            "next": self._next,
            "quiet": self._quiet == self.controls.version,
            "actuators": [dict(actuator.state) for actuator in self.design.actuators],
            "operator": None if self.operator is None else self.operator.state(),
        }

    def check(self, saved: Saved) -> None:
        """Refuse a state that is not one of this machine."""
        controls = saved.part("controls")
        if set(controls.values) != set(self.controls):
            raise saved.refuse("controls", sorted(controls.values), ", ".join(self.controls))
        for name in self.controls:
            controls.number(name, -1.0, 1.0)
        saved.whole("next", 0, len(self.commands))
        saved.flag("quiet")
        actuators = self.design.actuators
        for actuator, one in zip(
            actuators, saved.parts("actuators", (len(actuators),)), strict=True
        ):
            if set(one.values) != set(actuator.state):
                raise saved.refuse("actuators", sorted(one.values), ", ".join(actuator.state))
            for name in actuator.state:
                one.number(name)
        if saved.get("operator") is not None:
            if self.operator is None:
                raise saved.refuse("operator", "legs", "none: nobody operates this machine")
            self.operator.check(saved.part("operator"))

    def restore(self, state: Mapping[str, Any]) -> None:
        """Put a state back."""
        for name, value in state["controls"].items():
            self.controls[name] = float(value)
        self._next = int(state["next"])
        for actuator, one in zip(self.design.actuators, state["actuators"], strict=True):
            actuator.state.update({name: float(value) for name, value in one.items()})
        self._quiet = self.controls.version if state["quiet"] else -1
        if self.operator is not None:
            if state["operator"] is None:
                self.operator.on = False
            else:
                self.operator.restore(state["operator"])

    def __repr__(self) -> str:
        return (
            f"Machine({self.name!r}, {self.kind}, {len(self.bodies)} bodies, "
            f"{len(self.joints)} joints, {self.mass:.0f} kg)"
        )
