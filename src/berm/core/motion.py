"""Motions of boundaries, prescribed or steered: where a body is at time t."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.errors import InputError

Array = npt.NDArray[np.float64]
Vector = Sequence[float]
Pose = tuple[Array, Array]


class Motion(Protocol):
    """Gives position (3,) and rotation (3, 3) of a body at time t, relative to its start pose."""

    def pose(self, t: float) -> Pose:
        """Return displacement (m) and rotation matrix at time t (s)."""
        ...


def rotation_about(axis: Vector | Array, angle: float) -> Array:
    """Rotation matrix about `axis` by `angle` (rad), Rodrigues' formula."""
    a = np.asarray(axis, float)
    length = float(np.linalg.norm(a))
    if not length > 0 or not np.isfinite(angle):
        raise InputError("rotation axis or angle", (list(map(float, a)), angle), "a non-zero axis")
    x, y, z = a / length
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def is_rotation(matrix: Any) -> bool:
    """Whether a 3 x 3 matrix turns, and neither mirrors nor stretches."""
    try:
        m = np.asarray(matrix, float)
    except (TypeError, ValueError):
        return False
    return (
        m.shape == (3, 3)
        and bool(np.abs(m @ m.T - np.eye(3)).max() < 1e-6)
        and bool(np.linalg.det(m) > 0.0)
    )


def turned(vector: Vector | Array) -> Array:
    """Rotation matrix of a rotation vector (axis times angle, rad)."""
    angle = float(np.linalg.norm(vector))
    return rotation_about(list(vector), angle) if angle > 0.0 else np.eye(3)


def _check_axis(what: str, axis: Any) -> None:
    if not checks.vector(what, axis).any():
        raise InputError(what, axis, "an axis that is not zero")


def _check_span(what: str, start: Any, stop: Any) -> None:
    if not checks.number(f"{what}: start", start, "a time, s") <= stop:
        raise InputError(f"{what}: start, stop", (start, stop), "start before stop, s")


@dataclass(frozen=True)
class Fixed:
    """Stays where it is."""

    def pose(self, t: float) -> Pose:
        """Return the start pose."""
        return np.zeros(3), np.eye(3)


@dataclass(frozen=True)
class Linear:
    """Moves at a constant velocity (m/s) between `start` and `stop` (s)."""

    velocity: Vector
    start: float = 0.0
    stop: float = float("inf")

    def __post_init__(self) -> None:
        checks.vector("linear motion: velocity", self.velocity, "three finite numbers, m/s")
        _check_span("linear motion", self.start, self.stop)

    def pose(self, t: float) -> Pose:
        """Return displacement and rotation at time t."""
        return np.asarray(self.velocity, float) * (
            min(max(t, self.start), self.stop) - self.start
        ), np.eye(3)


@dataclass(frozen=True)
class Spin:
    """Turns about an axis through the body's origin at `rate` (rad/s) from `start` to `stop`."""

    axis: Vector
    rate: float
    start: float = 0.0
    stop: float = float("inf")

    def __post_init__(self) -> None:
        _check_axis("spin: axis", self.axis)
        checks.number("spin: rate", self.rate, "a finite number, rad/s")
        _check_span("spin", self.start, self.stop)

    def pose(self, t: float) -> Pose:
        """Return displacement and rotation at time t."""
        return np.zeros(3), rotation_about(
            self.axis, self.rate * (min(max(t, self.start), self.stop) - self.start)
        )


@dataclass(frozen=True)
class Keyframes:
    """Displacements (m), and angles (rad) about one axis if given, at times (s); linear between."""

    times: Sequence[float]
    positions: Sequence[Vector]
    angles: Sequence[float] | None = None
    axis: Vector = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        n = np.size(self.times)
        times = checks.numbers("keyframes: times", self.times, (n,), ", s")
        if n < 1 or not np.isfinite(times).all() or np.any(np.diff(times) <= 0):
            raise InputError("keyframes: times", self.times, "at least one, rising")
        if np.shape(self.positions) != (n, 3):
            raise InputError("keyframes: positions", np.shape(self.positions), f"shape ({n}, 3)")
        if self.angles is not None and np.shape(self.angles) != (n,):
            raise InputError("keyframes: angles", np.shape(self.angles), f"{n} numbers, rad")
        for name, given in (("positions", self.positions), ("angles", self.angles)):
            if given is not None and not np.isfinite(np.asarray(given, float)).all():
                raise InputError(f"keyframes: {name}", given, "finite numbers")
        if self.angles is not None:
            _check_axis("keyframes: axis", self.axis)

    def pose(self, t: float) -> Pose:
        """Return displacement and rotation at time t."""
        where = np.asarray(self.positions, float)
        position = np.array([np.interp(t, self.times, where[:, c]) for c in range(3)])
        if self.angles is None:
            return position, np.eye(3)
        return position, rotation_about(self.axis, float(np.interp(t, self.times, self.angles)))


@dataclass(frozen=True)
class Function:
    """Any function of time that returns a displacement, or displacement and rotation matrix."""

    function: Callable[[float], Any] = field(repr=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError("function of a motion", self.function, "a function of time")

    def pose(self, t: float) -> Pose:
        """Return displacement and rotation at time t."""
        shift = self.function(t)
        what, turn = f"function of a motion at t = {t:g} s", np.eye(3)
        if isinstance(shift, tuple) and len(shift) == 2:
            shift, turn = shift
            if not is_rotation(turn):
                raise InputError(what, turn, "displacement and a 3 x 3 rotation matrix")
        shift = checks.vector(what, shift, "a displacement of three finite numbers, m")
        return shift, np.asarray(turn, float)


class Steered:
    """Moves as it is told while the world runs: `steer` sets the velocity that holds from then on.

    acceleration (m/s^2) and turning (rad/s^2) bound how quickly the velocities follow; low and
    high (3,) bound the displacement (m). What it did so far is part of `World.state()`.
    """

    def __init__(
        self,
        acceleration: float = float("inf"),
        turning: float = float("inf"),
        low: Vector = (-np.inf, -np.inf, -np.inf),
        high: Vector = (np.inf, np.inf, np.inf),
    ) -> None:
        for name, value in (("acceleration", acceleration), ("turning", turning)):
            if not value > 0:
                raise InputError(f"steered motion: {name}", value, "above 0")
        self.acceleration, self.turning = float(acceleration), float(turning)
        self.low, self.high = np.array(low, float), np.array(high, float)
        if not (self.low <= 0).all() or not (self.high >= 0).all():
            raise InputError(
                "steered motion: low, high", (list(low), list(high)), "bounds around the start, 0"
            )
        self.velocity: Array = np.zeros(3)  # m/s
        self.spin: Array = np.zeros(3)  # rad/s
        self._since = 0.0  # s: the time at which shift and turn held
        self._shift: Array = np.zeros(3)
        self._turn: Array = np.eye(3)

    def steer(
        self, t: float, velocity: Vector = (0.0, 0.0, 0.0), spin: Vector = (0.0, 0.0, 0.0)
    ) -> None:
        """Head for these velocities (m/s, rad/s, in the world's axes) from time t (s) on."""
        wanted = [np.array(velocity, float), np.array(spin, float)]
        for name, given in zip(("velocity", "spin"), wanted, strict=True):
            if given.shape != (3,) or not np.isfinite(given).all():
                raise InputError(f"steered motion: {name}", given.tolist(), "three finite numbers")
        elapsed = t - self._since
        self._shift, self._turn = self.pose(t)
        self._since = float(t)
        self.velocity = _towards(self.velocity, wanted[0], self.acceleration, elapsed)
        self.spin = _towards(self.spin, wanted[1], self.turning, elapsed)

    def pose(self, t: float) -> Pose:
        """Return displacement and rotation at time t, if nobody steers until then."""
        ahead = t - self._since
        shift = np.clip(self._shift + self.velocity * ahead, self.low, self.high)
        rate = float(np.linalg.norm(self.spin))
        if rate == 0.0:
            return shift, self._turn.copy()
        return shift, rotation_about(self.spin, rate * ahead) @ self._turn

    def state(self) -> dict[str, Any]:
        """Everything that a restart needs."""
        return {
            "since": self._since,
            "shift": self._shift.copy(),
            "turn": self._turn.copy(),
            "velocity": self.velocity.copy(),
            "spin": self.spin.copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self._since = float(state["since"])
        self._shift, self._turn = np.array(state["shift"]), np.array(state["turn"])
        self.velocity, self.spin = np.array(state["velocity"]), np.array(state["spin"])


def _towards(now: Array, wanted: Array, rate: float, elapsed: float) -> Array:
    """Return `wanted`, or as near to it as a change of `rate` a second comes."""
    change = wanted - now
    size, most = float(np.linalg.norm(change)), rate * max(elapsed, 0.0)
    if not np.isfinite(rate) or size <= most:
        return wanted
    return np.asarray(now + change * (most / size))
