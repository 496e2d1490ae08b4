"""Joints between bodies, as one structure of arrays; `Joint` and its kinds are handles.

Each joins body_a to body_b, or to the world where body_b is None. `anchor` (3,) in m and `axis`
(3,) are in the world's frame at the time at which the joint is made; `anchor_b` and `axis_b` say
where they are in body_b, where the two are not together yet. A joint that was not added to a world
lives in a table of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from berm.core.bodies import Body
from berm.core.errors import InputError
from berm.core.rotations import matrix_of, quaternion_of
from berm.core.table import Table

Array = npt.NDArray[np.float64]
Vector = npt.ArrayLike
Effort = float | Sequence[float]  # N m or N: the largest, or (pull, push)

# kinds; the rows of each are those of MACHINES C1: `berm.kernels.multibody.joints`
BALL, HINGE, WELD, SLIDER, UNIVERSAL, CYLINDRICAL, DISTANCE, SPRING, GEAR = range(9)
# drives of the free direction
NONE, SPEED, POSITION, FORCE, HOLD = range(5)
DRIVES = ("none", "speed", "position", "force", "hold")
COMPLIANCE = 1e-12  # m/N or rad/(N m): of a joint that nothing was said about
LEAST = 1e-9  # s: of what is damped by the steps alone
SETTLE = 0.1  # s: a position drive heads for its target with the speed that needs this time
OPPOSITE = -1.0 + 1e-9  # cosine between two axes: no least turn leads from one to the other
MOST_LINKED = 3  # joints that a gear or differential couples


class Joints(Table):
    """All joints of a world; a sequence of handles, and columns of `n` rows.

    kind, a, b      BALL ..., rows of the bodies (0: the ground)
    frame (14,)     anchors (3 + 3) from the centres of mass, quaternions (4 + 4) of the joint's
                    frame, all in the principal axes of a and b; its x axis is the joint's
    position        rad or m along the free direction; angles count full turns
    zero            rad or m: position of the pose in which the joint was made
    low, high       limits of the position, -inf and inf where there are none
    drive, target, speed, effort (2,), settle   mode, its target (rad/s or m/s, rad or m, N m or N),
                    largest speed, largest efforts against and along the growing position, and time
                    in which a position is reached (s)
    give            m/N or rad/(N m): of a drive that holds its position
    friction, viscosity   N m or N; N m s/rad or N s/m along the free direction
    rest, stiffness       m or rad; N/m or N m/rad: of distances and springs
    compliance (2,), damping   m/N and rad/(N m) of what the joint holds; s, 0: two steps
    collides        whether the bodies that it joins meet each other
    linked (3,), ratio (3,)    rows of the joints that a gear couples (-1: none), and factors
    multiplier (12,)      impulses of the rows of the last step, N s and N m s
    pull (3,)       force on body a in the last substep, N
    load (6,)       mean force at the anchor (N) and torque (N m) on body a over the last step
    """

    COLUMNS: ClassVar[dict[str, tuple[tuple[int, ...], Any, Any]]] = {
        "kind": ((), np.int64, 0), "a": ((), np.int64, 0), "b": ((), np.int64, 0),
        "frame": ((14,), float, 0.0), "position": ((), float, 0.0), "zero": ((), float, 0.0),
        "low": ((), float, -np.inf), "high": ((), float, np.inf),
        "drive": ((), np.int64, NONE), "target": ((), float, 0.0), "speed": ((), float, np.inf),
        "effort": ((2,), float, np.inf), "settle": ((), float, SETTLE),
        "give": ((), float, 0.0),
        "friction": ((), float, 0.0), "viscosity": ((), float, 0.0), "rest": ((), float, 0.0),
        "stiffness": ((), float, 0.0), "compliance": ((2,), float, COMPLIANCE),
        "damping": ((), float, 0.0), "collides": ((), np.int64, 0),
        "linked": ((MOST_LINKED,), np.int64, -1), "ratio": ((MOST_LINKED,), float, 0.0),
        "multiplier": ((12,), float, 0.0), "pull": ((3,), float, 0.0),
        "load": ((6,), float, 0.0),
    }  # fmt: skip
    kind: npt.NDArray[np.int64]
    a: npt.NDArray[np.int64]
    b: npt.NDArray[np.int64]
    frame: Array
    position: Array
    zero: Array
    low: Array
    high: Array
    drive: npt.NDArray[np.int64]
    target: Array
    speed: Array
    effort: Array
    settle: Array
    give: Array
    friction: Array
    viscosity: Array
    rest: Array
    stiffness: Array
    compliance: Array
    damping: Array
    collides: npt.NDArray[np.int64]
    linked: npt.NDArray[np.int64]
    ratio: Array
    multiplier: Array
    pull: Array
    load: Array

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.handles: list[Joint] = []

    def add(self, joint: Joint) -> Joint:
        """Take over a joint that was made by itself."""
        if joint in self.handles:
            raise InputError(f"{joint.label}", "added twice", "each joint once")
        old, row = joint.joints, joint.row
        values = {name: old._store[name][row] for name in self.COLUMNS}
        rows = [other.row for other in joint.links]
        values["linked"] = np.array(rows + [-1] * (MOST_LINKED - len(rows)))
        tag = self.append(**values)
        self.names.append(joint.name)
        joint.joints, joint.tag_ = self, tag
        self.handles.append(joint)
        return joint

    def remove(self, joint: Joint) -> None:
        """Remove one joint; the rows of the others close up, their tags stay."""
        row = self.row_of(joint.tag_)
        alone = Joints()
        values = {name: self._store[name][row].copy() for name in self.COLUMNS}
        tag = alone.append(**values)
        alone.names.append(self.names.pop(row))
        gone = np.zeros(self.n, bool)
        gone[row] = True
        self.drop(gone)
        self.linked[self.linked > row] -= 1
        self.handles.remove(joint)
        joint.joints, joint.tag_ = alone, tag

    def point_to_rows(self) -> None:
        """Bring `a` and `b` up to date after bodies came or went."""
        for joint in self.handles:
            self.a[joint.row] = joint.body_a.row
            self.b[joint.row] = 0 if joint.body_b is None else joint.body_b.row

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Joint]:
        return iter(self.handles)

    def __getitem__(self, k: Any) -> Any:
        return self.handles[k]


class Joint:
    """What all joints have; see the module.

    compliance: how much what the joint holds gives way, m/N (and rad/(N m)); damping: time (s) in
    which it comes back, None: two steps; collide_connected: whether the two bodies meet each other.
    """

    kind: ClassVar[int] = WELD
    links: tuple[Driven, ...] = ()

    def __init__(
        self, body_a: Body, body_b: Body | None = None, anchor: Vector | None = None,
        name: str = "", *, anchor_b: Vector | None = None, compliance: float | None = None,
        damping: float | None = None, collide_connected: bool = False,
    ) -> None:  # fmt: skip
        self.body_a, self.body_b = body_a, body_b
        self.joints = Joints()
        self.tag_ = self.joints.append(kind=self.kind)
        self.joints.names.append(name)
        self._check_bodies()
        here = self._vector("anchor", body_a.position if anchor is None else anchor)
        there = here if anchor_b is None else self._vector("anchor_b", anchor_b)
        self.anchors = (here, there)
        self.axes: tuple[Array, Array] | None = None
        give = COMPLIANCE if compliance is None else self._positive("compliance", compliance)
        self._set("compliance", give)
        self._set("damping", 0.0 if damping is None else self._positive("damping", damping))
        self._set("collides", int(bool(collide_connected)))

    def _check_bodies(self) -> None:
        for label, body in (("body_a", self.body_a), ("body_b", self.body_b)):
            if not isinstance(body, Body) and not (body is None and label == "body_b"):
                raise InputError(
                    f"{type(self).__name__}: {label}", body, "a body, as world.add_body returns it"
                )
        if self.body_a is self.body_b:
            raise InputError(f"{self.label}: body_b", self.body_a.name, "another body, or None")
        if not (self.body_a.dynamic or (self.body_b is not None and self.body_b.dynamic)):
            raise InputError(
                f"{self.label}: bodies", "none is dynamic", "at least one dynamic body"
            )

    def __repr__(self) -> str:
        other = "the world" if self.body_b is None else repr(self.body_b.name)
        return f"{type(self).__name__}({self.body_a.name!r} to {other})"

    # ---- columns --------------------------------------------------------------------------

    @property
    def row(self) -> int:
        """Its present row in the columns of `Joints`."""
        return self.joints.row_of(self.tag_)

    @property
    def tag(self) -> int:
        """Number that no other joint of its world has or had."""
        return self.tag_

    @property
    def name(self) -> str:
        """Name; may be empty."""
        return self.joints.names[self.row]

    @property
    def label(self) -> str:
        """How errors call it."""
        return self.name or f"{type(self).__name__.lower()} of {self.body_a.name!r}"

    def _set(self, column: str, value: Any) -> None:
        getattr(self.joints, column)[self.row] = value

    def _get(self, column: str) -> Any:
        return getattr(self.joints, column)[self.row]

    def _vector(self, what: str, value: Any) -> Array:
        try:
            vector = np.array(value, float)
        except (TypeError, ValueError):
            vector = np.zeros(0)
        if vector.shape != (3,) or not np.isfinite(vector).all():
            raise InputError(f"{self.label}: {what}", value, "three finite numbers")
        return vector

    def _number(self, what: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise InputError(f"{self.label}: {what}", value, "a number")
        if math.isnan(float(value)):
            raise InputError(f"{self.label}: {what}", value, "a number")
        return float(value)

    def _positive(self, what: str, value: Any) -> float:
        number = self._number(what, value)
        if not (number >= 0.0 and math.isfinite(number)):
            raise InputError(f"{self.label}: {what}", value, "a finite number from 0 up")
        return number

    # ---- frames ---------------------------------------------------------------------------

    def attach(self) -> None:
        """Note anchors and axes in the frames of both bodies as they stand now."""
        rows = (self.body_a.row, 0 if self.body_b is None else self.body_b.row)
        axes = self.axes or (np.array([1.0, 0.0, 0.0]),) * 2
        frames = self._frames(*axes)
        ends = [_frame(body) for body in (self.body_a, self.body_b)]
        points = [
            turn.T @ (anchor - centre)
            for (centre, turn), anchor in zip(ends, self.anchors, strict=True)
        ]
        turns = [
            quaternion_of(turn.T @ frame) for (_, turn), frame in zip(ends, frames, strict=True)
        ]
        self._set("frame", np.concatenate([*points, *turns]))
        self._set("a", rows[0])
        self._set("b", rows[1])
        self._set("position", self._get("zero"))

    def _frames(self, axis_a: Array, axis_b: Array) -> tuple[Array, Array]:
        """Frames of the joint in the world, its axis first; that of b turned by the least angle."""
        y = np.cross(np.eye(3)[int(np.argmin(np.abs(axis_a)))], axis_a)
        y /= np.linalg.norm(y)
        frame = np.column_stack([axis_a, y, np.cross(axis_a, y)])
        cross, cosine = np.cross(axis_a, axis_b), float(axis_a @ axis_b)
        if float(cross @ cross) == 0.0:
            return frame, frame
        k = np.array([[0, -cross[2], cross[1]], [cross[2], 0, -cross[0]], [-cross[1], cross[0], 0]])
        return frame, (np.eye(3) + k + k @ k / (1.0 + cosine)) @ frame

    # ---- what it bears --------------------------------------------------------------------

    @property
    def force(self) -> Array:
        """Mean force (3,) at the anchor on body_a over the last step, N."""
        return np.array(self._get("load")[:3])

    @property
    def torque(self) -> Array:
        """Mean torque (3,) on body_a about the anchor over the last step, N m."""
        return np.array(self._get("load")[3:])

    @property
    def error(self) -> float:
        """Distance (m) of the two anchors from each other now."""
        ends = [_frame(body) for body in (self.body_a, self.body_b)]
        points = [
            centre + turn @ self._get("frame")[3 * k : 3 * k + 3]
            for k, (centre, turn) in enumerate(ends)
        ]
        return float(np.linalg.norm(points[0] - points[1]))


def _frame(body: Body | None) -> tuple[Array, Array]:
    """Centre and principal axes of a body in the world; of the world itself where there is none."""
    if body is None:
        return np.zeros(3), np.eye(3)
    return body.bodies.x[body.row], matrix_of(body.bodies.q[body.row])


class Ball(Joint):
    """Holds one point; the bodies turn freely about it."""

    kind = BALL


class Weld(Joint):
    """Holds two bodies together: a fixed joint."""

    kind = WELD


class Driven(Joint):
    """A joint with a free direction, along which it has a position, limits, drive and friction.

    zero: position of the pose in which it is made; limits (low, high) of the position; motor
    (speed, effort): as `drive(speed, effort)`; friction and viscosity along the free direction.
    """

    def __init__(
        self, body_a: Body, body_b: Body | None = None, anchor: Vector | None = None,
        name: str = "", *, zero: float = 0.0, limits: Sequence[float] | None = None,
        motor: Sequence[float] | None = None, friction: float = 0.0, viscosity: float = 0.0,
        **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(body_a, body_b, anchor, name, **more)
        self._set("zero", self._number("zero", zero))
        self._set("position", self._get("zero"))
        self._set("friction", self._positive("friction", friction))
        self._set("viscosity", self._positive("viscosity", viscosity))
        if limits is not None:
            self.limits = limits
        if motor is not None:
            self.drive(*motor)

    @property
    def position(self) -> float:
        """Where body_a is along the free direction, against body_b, now: rad or m.

        The column of `Joints` is that of the start of the last substep.
        """
        frame = self._get("frame")
        if not frame[6:].any():  # not attached yet
            return float(self._get("position"))
        ends = [_frame(body) for body in (self.body_a, self.body_b)]
        here, there = (
            centre + turn @ frame[3 * k : 3 * k + 3] for k, (centre, turn) in enumerate(ends)
        )
        mine, theirs = (
            turn @ matrix_of(frame[6 + 4 * k : 10 + 4 * k]) for k, (_, turn) in enumerate(ends)
        )
        return self._position(here - there, theirs.T @ mine, theirs[:, 0])

    def _position(self, gap: Array, turn: Array, axis: Array) -> float:
        """From the way between the anchors, the turn of body_a in b's frame, and b's axis."""
        return float(self._get("zero") + axis @ gap)

    @property
    def limits(self) -> tuple[float, float] | None:
        """Least and largest position, if there are any."""
        low, high = float(self._get("low")), float(self._get("high"))
        return None if math.isinf(low) and math.isinf(high) else (low, high)

    @limits.setter
    def limits(self, limits: Sequence[float] | None) -> None:
        try:
            low, high = (-math.inf, math.inf) if limits is None else limits
        except (TypeError, ValueError):
            low, high = math.nan, math.nan
        if not self._number("limits", low) < self._number("limits", high):
            raise InputError(f"{self.label}: limits", limits, "(low, high) with low below high")
        self._set("low", float(low))
        self._set("high", float(high))

    def drive(self, speed: float, effort: Effort = math.inf) -> None:
        """Head for a speed (rad/s or m/s) with at most this effort (N m or N) from now on.

        effort: one for both ways, or (pull, push): against and along the growing position.
        """
        self._drive(SPEED, speed, math.inf, effort, SETTLE)

    def drive_to(
        self, position: float, speed: float = math.inf, effort: Effort = math.inf,
        settle: float = SETTLE,
    ) -> None:  # fmt: skip
        """Head for a position (rad or m) from now on, with at most this speed and effort.

        settle (s): near the target the speed is the distance over this time.
        """
        self._drive(POSITION, position, speed, effort, settle)

    def push(self, effort: float) -> None:
        """Exert a constant effort (N m or N) along the free direction from now on."""
        self._drive(FORCE, effort, math.inf, math.inf, SETTLE)

    def hold(
        self, effort: Effort = math.inf, compliance: float = 0.0, damping: float = 0.0
    ) -> None:
        """Keep the position of now, as a spring of this compliance (m/N): a closed valve.

        damping (s): its force at a speed over that at a way, at least that of two steps. Where more
        than the effort acts it gives way, and holds anew where it has come to.
        """
        give = self._positive("motor: compliance", compliance)
        damp = max(self._positive("motor: damping", damping), LEAST)
        if self.motor is None or self.motor[0] != "hold":
            self._drive(HOLD, self.position, math.inf, effort, damp)
        else:  # it holds already: where it was told to at first
            self._set("effort", self._efforts(effort))
            self._set("settle", damp)
        self._set("give", give)

    def _efforts(self, effort: Any) -> tuple[float, float]:
        """Largest efforts against and along the growing position."""
        try:
            pull, push = effort
        except TypeError:
            pull = push = effort
        except ValueError:
            pull = push = -1.0
        if not (self._number("motor", pull) >= 0.0 and self._number("motor", push) >= 0.0):
            raise InputError(
                f"{self.label}: motor: effort", effort, "from 0 up: one number, or (pull, push)"
            )
        return float(pull), float(push)

    def _drive(self, mode: int, target: float, speed: float, effort: Effort, settle: float) -> None:
        wanted = self._number("motor", target)
        if not math.isfinite(wanted):
            raise InputError(f"{self.label}: motor", target, "a finite target")
        efforts = self._efforts(effort)
        if not self._number("motor: speed", speed) > 0.0:
            raise InputError(f"{self.label}: motor: speed", speed, "a speed above 0")
        if not self._positive("motor: settle", settle) > 0.0:
            raise InputError(f"{self.label}: motor: settle", settle, "a time above 0, s")
        for column, value in (
            ("drive", mode), ("target", wanted), ("speed", speed), ("effort", efforts),
            ("settle", settle),
        ):  # fmt: skip
            self._set(column, value)

    def release(self) -> None:
        """Take the drive away."""
        self._set("drive", NONE)

    @property
    def motor(self) -> tuple[str, float, Effort] | None:
        """Mode, target and largest effort, or (pull, push), of the drive, if there is one."""
        mode = int(self._get("drive"))
        if mode == NONE:
            return None
        pull, push = (float(one) for one in self._get("effort"))
        return DRIVES[mode], float(self._get("target")), push if pull == push else (pull, push)


class _Along(Driven):
    """A driven joint with an axis; axis_b: where it is in body_b, if not along `axis` yet."""

    def __init__(
        self, body_a: Body, body_b: Body | None = None, anchor: Vector | None = None,
        axis: Vector = (0.0, 0.0, 1.0), name: str = "", *, axis_b: Vector | None = None,
        **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(body_a, body_b, anchor, name, **more)
        mine = self._axis("axis", axis)
        theirs = mine if axis_b is None else self._axis("axis_b", axis_b)
        if float(mine @ theirs) < OPPOSITE:
            raise InputError(
                f"{self.label}: axis_b", theirs.tolist(),
                f"an axis that is not opposite to the other one, {mine.tolist()}",
            )  # fmt: skip
        self.axes = mine, theirs

    def _axis(self, what: str, value: Vector) -> Array:
        axis = self._vector(what, value)
        length = float(np.linalg.norm(axis))
        if not length > 0.0:
            raise InputError(f"{self.label}: {what}", axis.tolist(), "an axis that is not zero")
        return axis / length


class Hinge(_Along):
    """Lets body_a turn about one axis; limits in rad, motor (rad/s, N m)."""

    kind = HINGE

    def _position(self, gap: Array, turn: Array, axis: Array) -> float:
        """Angle about the axis, nearest to the last one of all that differ by full turns."""
        about = math.atan2(turn[2, 1] - turn[1, 2], turn[1, 1] + turn[2, 2])
        angle, before = float(self._get("zero")) + about, float(self._get("position"))
        return angle - math.tau * math.floor((angle - before) / math.tau + 0.5)

    @property
    def angle(self) -> float:
        """Angle (rad) that body_a has turned against body_b; counts full turns."""
        return self.position


class Slider(_Along):
    """Lets body_a slide along one axis; limits in m, motor (m/s, N)."""

    kind = SLIDER


class Cylindrical(_Along):
    """Lets body_a slide along one axis and turn about it; limits in m, motor (m/s, N)."""

    kind = CYLINDRICAL


class Universal(Joint):
    """Holds one point and keeps an axis of body_a square to one of body_b: two free angles."""

    kind = UNIVERSAL

    def __init__(
        self, body_a: Body, body_b: Body | None = None, anchor: Vector | None = None,
        axis: Vector = (1.0, 0.0, 0.0), axis_b: Vector = (0.0, 1.0, 0.0), name: str = "",
        **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(body_a, body_b, anchor, name, **more)
        a, b = self._vector("axis", axis), self._vector("axis_b", axis_b)
        if not (np.linalg.norm(a) > 0.0 and np.linalg.norm(b) > 0.0):
            raise InputError(
                f"{self.label}: axes", (a.tolist(), b.tolist()), "axes that are not zero"
            )
        a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
        if abs(float(a @ b)) > 1e-6:
            raise InputError(f"{self.label}: axis_b", b.tolist(), "an axis square to the other one")
        self.axes = a, b

    def _frames(self, axis_a: Array, axis_b: Array) -> tuple[Array, Array]:
        third = np.cross(axis_a, axis_b)
        return (
            np.column_stack([axis_a, axis_b, third]),
            np.column_stack([axis_b, third, axis_a]),
        )


class _Between(Driven):
    """A joint along the line from a point of body_b to one of body_a, as long as its position."""

    def __init__(
        self, body_a: Body, body_b: Body | None = None, anchor: Vector | None = None,
        anchor_b: Vector = (0.0, 0.0, 0.0), name: str = "", **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(body_a, body_b, anchor, name, anchor_b=anchor_b, **more)
        self.length = float(np.linalg.norm(self.anchors[0] - self.anchors[1]))
        if not self.length > 0.0:
            raise InputError(f"{self.label}: anchors", self.anchors[0].tolist(), "two points apart")
        self._set("zero", self.length)

    def _position(self, gap: Array, turn: Array, axis: Array) -> float:
        """Distance of the two points."""
        return float(np.linalg.norm(gap))

    @property
    def held(self) -> bool:
        """Whether the distance is kept: no spring, no limits, and no drive."""
        return self.kind == DISTANCE and self.limits is None and self.motor is None

    @property
    def error(self) -> float:
        """How much (m) its length differs from what it is held at; 0 where it may change."""
        if not self.held:
            return 0.0
        return abs(self.position - float(self._get("rest")))


class Distance(_Between):
    """Holds two points at a distance (default that of the start); rope=True: at most that far.

    With limits or a motor the distance may change between or by them: a ram without bodies.
    """

    kind = DISTANCE

    def __init__(
        self, body_a: Body, body_b: Body | None = None, anchor: Vector | None = None,
        anchor_b: Vector = (0.0, 0.0, 0.0), name: str = "", *, distance: float | None = None,
        rope: bool = False, **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(body_a, body_b, anchor, anchor_b, name, **more)
        far = self.length if distance is None else self._positive("distance", distance)
        self._set("rest", far)
        if rope:
            self.limits = (-math.inf, far)


class Spring(_Between):
    """Pulls two points to a distance (default that of the start).

    stiffness N/m; viscosity N s/m.
    """

    kind = SPRING

    def __init__(
        self, body_a: Body, body_b: Body | None = None, anchor: Vector | None = None,
        anchor_b: Vector = (0.0, 0.0, 0.0), name: str = "", *, stiffness: float,
        distance: float | None = None, **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(body_a, body_b, anchor, anchor_b, name, **more)
        if not self._positive("stiffness", stiffness) > 0.0:
            raise InputError(f"{self.label}: stiffness", stiffness, "above 0, N/m")
        self._set("stiffness", float(stiffness))
        far = self.length if distance is None else self._positive("distance", distance)
        self._set("rest", far)


class Gear(Joint):
    """Couples the free directions of two joints: position of one + ratio x that of other is kept.

    Of two hinges a pair of gears, of a hinge and a slider a rack and pinion.
    """

    kind = GEAR

    def __init__(
        self, one: Driven, other: Driven, ratio: float, name: str = "", **more: Any
    ) -> None:
        self._link(name, (one, other), (1.0, ratio), **more)

    def _link(
        self, name: str, joints: tuple[Driven, ...], factors: tuple[float, ...], **more: Any
    ) -> None:
        for joint in joints:
            if not isinstance(joint, _Along):
                raise InputError(
                    f"{type(self).__name__.lower()} {name!r}: joint", joint,
                    "joints with a free direction: hinge, slider, cylindrical",
                )  # fmt: skip
        self.links = joints
        dynamic = next((j for j in joints if j.body_a.dynamic), joints[0])
        # whether the bodies of the coupled joint meet is for that joint to say
        more = {"collide_connected": bool(dynamic._get("collides"))} | more
        super().__init__(dynamic.body_a, dynamic.body_b, None, name, **more)
        factor = [self._number("ratio", one) for one in factors]
        if not all(math.isfinite(one) and one != 0.0 for one in factor):
            raise InputError(f"{self.label}: ratio", factors, "finite numbers other than 0")
        self._set("ratio", factor + [0.0] * (MOST_LINKED - len(factor)))

    def attach(self) -> None:
        """Note how the joints stand now: that is kept."""
        super().attach()
        ratio = self._get("ratio")
        self._set("rest", sum(r * j.position for r, j in zip(ratio, self.links, strict=False)))

    @property
    def error(self) -> float:
        """How far (rad or m) the joints are from what the gear holds."""
        ratio = self._get("ratio")
        now = sum(r * j.position for r, j in zip(ratio, self.links, strict=False))
        return abs(float(now - self._get("rest")))


class Differential(Gear):
    """Shares one shaft among two: its position is ratio x the mean of the others' positions."""

    def __init__(
        self, shaft: Driven, left: Driven, right: Driven, ratio: float = 1.0, name: str = "",
        **more: Any,
    ) -> None:  # fmt: skip
        half = -0.5 * ratio
        self._link(name, (shaft, left, right), (1.0, half, half), **more)
