"""What actuators of machines have in common, and the simplest one: brakes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from berm.core import checks
from berm.core.joints import Driven, Hinge

if TYPE_CHECKING:
    from berm.machines.machine import Machine


class Actuator:
    """Reads controls and drives joints or bodies, once before each step.

    `state` holds the numbers that a restart needs; `act` says whether it will
    change something in the next step too, with the same controls.
    """

    state: dict[str, float]

    @property
    def label(self) -> str:
        """How errors call it."""
        return type(self).__name__.lower()

    def controls(self) -> dict[str, str]:
        """The controls that it reads, and what they do."""
        return {}

    def joint_names(self) -> tuple[str, ...]:
        """The joints that it drives."""
        return ()

    def body_names(self) -> tuple[str, ...]:
        """The bodies that it acts on."""
        return ()

    def attach(self, machine: Machine) -> None:
        """Take hold of the joints of a machine that was just built."""

    def act(self, controls: Mapping[str, float], dt: float) -> bool:
        """Act for the coming step of dt (s); return whether it is still under way."""
        raise NotImplementedError

    def power(self) -> float:
        """What it gave to its joints in the last step, on average, W; below 0: what it took."""
        return 0.0

    def sensors(self) -> dict[str, float]:
        """What it measures now, by name."""
        return {}


def driven(machine: Machine, name: str) -> Driven:
    """A joint of a machine that has a free direction."""
    joint = machine.joints[name]
    assert isinstance(joint, Driven)
    return joint


def turned(q: list[float], v: list[float]) -> tuple[float, float, float]:
    """A vector turned by a quaternion, with plain numbers: faster than NumPy for one."""
    w, x, y, z = q
    a, b, c = v
    p, r, s = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return a + w * p + y * s - z * r, b + w * r + z * p - x * s, c + w * s + x * r - y * p


def axis_of(joint: Driven) -> tuple[float, float, float]:
    """Axis of a hinge in the world."""
    table, row = joint.joints, joint.row
    own = turned(table.frame[row, 10:].tolist(), [1.0, 0.0, 0.0])
    return turned(joint.body_a.bodies.q[table.b[row]].tolist(), list(own))


def spin(joint: Driven) -> float:
    """Speed (rad/s) of a hinge's body_a about its axis, against body_b."""
    omega, table, row = joint.body_a.bodies.omega, joint.joints, joint.row
    (a, b, c), (p, q, r) = omega[table.a[row]].tolist(), omega[table.b[row]].tolist()
    x, y, z = axis_of(joint)
    return (a - p) * x + (b - q) * y + (c - r) * z


def along(joint: Driven) -> tuple[float, float, float]:
    """Unit vector from the second end of a ram to its first, in the world."""
    table, row, bodies = joint.joints, joint.row, joint.body_a.bodies
    a, b, frame = table.a[row], table.b[row], table.frame[row, :6].tolist()
    (ax, ay, az), (bx, by, bz) = bodies.x[a].tolist(), bodies.x[b].tolist()
    p, q, r = turned(bodies.q[a].tolist(), frame[:3])
    u, v, w = turned(bodies.q[b].tolist(), frame[3:])
    x, y, z = ax + p - bx - u, ay + q - by - v, az + r - bz - w
    far = math.sqrt(x * x + y * y + z * z)
    return x / far, y / far, z / far


def effort(joint: Driven) -> float:
    """Mean force (N) of a ram, or torque (N m) of a hinge, in the last step; out is above 0."""
    load = joint.joints.load[joint.row].tolist()
    turns = isinstance(joint, Hinge)
    x, y, z = axis_of(joint) if turns else along(joint)
    a, b, c = load[3:] if turns else load[:3]
    return float(a * x + b * y + c * z)


def rate(joint: Driven) -> float:
    """Speed of a ram (m/s) or a hinge (rad/s) now; out is above 0."""
    if isinstance(joint, Hinge):
        return spin(joint)
    table, row, bodies = joint.joints, joint.row, joint.body_a.bodies
    total = 0.0
    frame, axis = table.frame[row, :6].tolist(), along(joint)
    for k, sign in ((0, 1.0), (1, -1.0)):
        body = (table.a, table.b)[k][row]
        rx, ry, rz = turned(bodies.q[body].tolist(), frame[3 * k : 3 * k + 3])
        (u, v, w), (p, q, r) = bodies.v[body].tolist(), bodies.omega[body].tolist()
        at = u + q * rz - r * ry, v + r * rx - p * rz, w + p * ry - q * rx
        total += sign * sum(one * two for one, two in zip(at, axis, strict=True))
    return total


@dataclass
class Brake(Actuator):
    """Dry friction in hinges, up to `torque` (N m) each, with its control from 0 to 1."""

    joints: tuple[str, ...]
    torque: float
    control: str = "brake"
    state: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checks.number(
            "brake: torque", self.torque, "a torque above 0 N m", lambda x: 0.0 < x < math.inf
        )
        self.state = {"applied": 0.0}

    def controls(self) -> dict[str, str]:
        """The pedal."""
        return {self.control: "0 to 1: how hard the brake is applied"}

    def joint_names(self) -> tuple[str, ...]:
        """Hinges of the wheels."""
        return tuple(self.joints)

    def attach(self, machine: Machine) -> None:
        """Note what friction the joints have without the brake."""
        self._joints = [driven(machine, name) for name in self.joints]
        self._free = [float(one.joints.friction[one.row]) for one in self._joints]

    def act(self, controls: Mapping[str, float], dt: float) -> bool:
        """Set the friction of the hinges."""
        pedal = max(controls[self.control], 0.0)
        if pedal != self.state["applied"]:
            self.state["applied"] = pedal
            for joint, free in zip(self._joints, self._free, strict=True):
                joint.joints.friction[joint.row] = free + pedal * self.torque
        return False
