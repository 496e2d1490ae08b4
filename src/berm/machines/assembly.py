"""Poses of a machine whose joints all hold: Levenberg-Marquardt, in steps from the authored one.

Closed loops have several ways to close; positions go from the authored ones to those that are
wanted in small steps, so that the way of the author is kept [MACHINES C2]. Unknowns are a small
displacement and a small turn of each body but the first [Levenberg 1944; Marquardt 1963].
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError
from berm.core.mass import of_shape
from berm.core.motion import rotation_about
from berm.machines.design import ALONG, POINTS, POSITIONED, Design, Link

Array = npt.NDArray[np.float64]

CLOSED = 1e-9  # m and rad: joints that hold
STEPS = 8  # from the authored pose to the wanted one
ROUNDS = 60  # of Levenberg and Marquardt a step
WEAK = 1e-3  # weight of positions that nobody asked for: they stay as far as they can


@dataclass
class Frame:
    """Where a body is: origin (3,) in m, rotation (3, 3)."""

    origin: Array
    turn: Array

    def moved(self, way: Array) -> Frame:
        """The frame after a displacement (3,) and a turn (3,), rad."""
        angle = float(np.linalg.norm(way[3:]))
        turn = rotation_about(way[3:], angle) @ self.turn if angle > 0.0 else self.turn
        return Frame(self.origin + way[:3], turn)


def _cross(a: Array, b: Array) -> Array:
    """Vector product (3,), without the overhead of NumPy's."""
    x, y, z = a.tolist()
    u, v, w = b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def square_to(axis: Array) -> Array:
    """Two unit vectors (2, 3) square to an axis and to each other."""
    first = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(axis, first)])


class Held:
    """One joint in the frames of its bodies: what it holds, and its position."""

    def __init__(self, name: str, link: Link, a: Frame, b: Frame) -> None:
        self.name, self.kind, self.a, self.b = name, link.kind, link.a, link.b
        here = np.asarray(link.at, float)
        there = here if link.at_b is None else np.asarray(link.at_b, float)
        self.here, self.there = a.turn.T @ (here - a.origin), b.turn.T @ (there - b.origin)
        axis = np.asarray(link.axis, float)
        axis = axis / np.linalg.norm(axis)
        other = axis
        if link.axis_b is not None:
            other = np.asarray(link.axis_b, float)
            other = other / np.linalg.norm(other)
        self.mine, self.theirs = a.turn.T @ axis, b.turn.T @ other
        self.beside, self.beside_a = square_to(self.theirs), square_to(self.mine)
        self.start = b.turn.T @ a.turn
        self.zero, self.length = link.zero, float(np.linalg.norm(here - there))

    def position(self, a: Frame, b: Frame) -> float:
        """Angle (rad) or way (m) along the free direction; the length (m) of rams and rods."""
        gap = self._gap(a, b)
        if self.kind in ("ram", "rod"):
            return float(np.linalg.norm(gap))
        axis = b.turn @ self.theirs
        if self.kind == "hinge":
            turn = a.turn @ self.start.T @ b.turn.T  # since the authored pose, seen in the world
            sine = turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]
            return self.zero + math.atan2(float(np.dot(sine, axis)), float(np.trace(turn) - 1.0))
        return self.zero + float(axis @ gap)

    def _gap(self, a: Frame, b: Frame) -> Array:
        return a.origin + a.turn @ self.here - b.origin - b.turn @ self.there

    def rows(self, a: Frame, b: Frame) -> list[tuple[float, Array, Array]]:
        """Errors of what the joint holds, and gradients (6,) to the motion of a and of b."""
        gap = self._gap(a, b)
        arm_a, arm_b = a.turn @ self.here, b.turn @ self.there
        rows: list[tuple[float, Array, Array]] = []

        def along(direction: Array, turns: bool) -> None:
            back = _cross(direction, gap) if turns else np.zeros(3)
            rows.append((
                float(direction @ gap),
                np.concatenate([direction, _cross(arm_a, direction)]),
                np.concatenate([-direction, back - _cross(arm_b, direction)]),
            ))  # fmt: skip

        if self.kind == "rod":
            far = float(np.linalg.norm(gap))
            along(gap / far, False)
            rows[-1] = (far - self.length, *rows[-1][1:])
            return rows
        if self.kind in POINTS:
            for axis in np.eye(3):
                along(axis, False)
        elif self.kind in ("slider", "cylindrical"):
            for side in self.beside:
                along(b.turn @ side, True)
        mine, theirs = a.turn @ self.mine, b.turn @ self.theirs
        if self.kind in ("hinge", "cylindrical"):
            for side in self.beside:
                line = b.turn @ side
                rows.append((float(line @ mine), *_turning(_cross(mine, line))))
        elif self.kind == "universal":
            rows.append((float(theirs @ mine), *_turning(_cross(mine, theirs))))
        elif self.kind in ("weld", "slider"):
            goal = b.turn @ self.start
            wrong = 0.5 * np.sum([_cross(goal[:, k], a.turn[:, k]) for k in range(3)], axis=0)
            for k, axis in enumerate(np.eye(3)):
                rows.append((float(wrong[k]), *_turning(axis)))
        return rows

    def aim(self, a: Frame, b: Frame, wanted: float) -> tuple[float, Array, Array]:
        """Error of the position against a wanted one, and its gradients."""
        wrong = self.position(a, b) - wanted
        gap, axis = self._gap(a, b), b.turn @ self.theirs
        if self.kind == "hinge":
            wrong = math.remainder(wrong, math.tau)
            return wrong, *_turning(axis)
        direction = axis if self.kind in ALONG else gap / np.linalg.norm(gap)
        return (
            wrong,
            np.concatenate([direction, _cross(a.turn @ self.here, direction)]),
            np.concatenate([-direction, -_cross(b.turn @ self.there, direction)]),
        )


def _turning(axis: Array) -> tuple[Array, Array]:
    row = np.concatenate([np.zeros(3), axis])
    return row, -row


class Assembly:
    """A design's joints, and the frames of its bodies in the authored pose."""

    def __init__(self, what: str, design: Design) -> None:
        self.what, self.design = what, design
        self.names = list(design.bodies)
        self.authored = {
            name: Frame(np.array(part.at, float), part.turn) for name, part in design.bodies.items()
        }
        self.held = {
            name: Held(name, link, self.authored[link.a], self.authored[link.b])
            for name, link in design.joints.items()
        }

    @cached_property
    def centres(self) -> dict[str, Array]:
        """Centres of mass (3,) in the bodies' frames, m."""
        found = {}
        for name, part in self.design.bodies.items():
            if part.centre is None:
                found[name] = of_shape(part.shape).centre
            else:
                off = np.asarray(part.centre, float) - np.asarray(part.at, float)
                found[name] = part.turn.T @ off
        return found

    def pose(self, wanted: Mapping[str, float]) -> dict[str, Frame]:
        """Frames of all bodies with joints at these positions (m, rad); others stay if they can."""
        self.check_wanted(wanted)
        frames = dict(self.authored)
        start = self.positions(frames)
        if wanted or self._wrong(frames, {}) is not None:
            driven = {j for one in self.design.actuators for j in one.joint_names()}
            others = {name: start[name] for name in start if name in driven and name not in wanted}
            steps = STEPS if wanted else 1
            for k in range(1, steps + 1):
                share = k / steps
                aims = {j: start[j] + share * (to - start[j]) for j, to in wanted.items()}
                frames = self._solve(frames, aims, others)
            frames = self._solve(frames, dict(wanted), {})
            wrong = self._wrong(frames, wanted)
            if wrong is not None:
                raise self._unreachable(*wrong, wanted)
        self._check_limits(frames)
        return frames

    def positions(self, frames: Mapping[str, Frame]) -> dict[str, float]:
        """Positions (m, rad) of all joints that have one."""
        return {
            name: held.position(frames[held.a], frames[held.b])
            for name, held in self.held.items()
            if held.kind in POSITIONED
        }

    def bears(self, frames: Mapping[str, Frame], gravity: Array) -> dict[str, float]:
        """What driven joints bear (N, N m) at rest, if each holds its position.

        gravity (3,) in the machine's frame; its first body is held, too. Of all forces that balance
        the weights those with the smallest sum of squares.
        """
        positions = self.positions(frames)
        driven = {name for one in self.design.actuators for name in one.joint_names()}
        held = {name: here for name, here in positions.items() if name in driven}
        _, rows = self._system(frames, held, {})
        load = np.zeros(rows.shape[1])
        for k, name in enumerate(self.names[1:]):
            part, frame = self.design.bodies[name], frames[name]
            weight = part.mass * gravity
            load[6 * k : 6 * k + 3] = weight
            load[6 * k + 3 : 6 * k + 6] = _cross(frame.turn @ self.centres[name], weight)
        efforts = np.linalg.lstsq(rows.T, -load, rcond=None)[0][len(rows) - len(held) :]
        return {name: float(one) for name, one in zip(held, efforts, strict=True)}

    # ---- solving --------------------------------------------------------------------------

    def _system(
        self, frames: Mapping[str, Frame], hard: Mapping[str, float], weak: Mapping[str, float]
    ) -> tuple[Array, Array]:
        place = {name: 6 * k for k, name in enumerate(self.names[1:])}
        wrong: list[float] = []
        rows: list[Array] = []

        def add(held: Held, row: tuple[float, Array, Array], weight: float) -> None:
            line = np.zeros(6 * len(place))
            for body, part in ((held.a, row[1]), (held.b, row[2])):
                if body in place:
                    line[place[body] : place[body] + 6] = weight * part
            wrong.append(weight * row[0])
            rows.append(line)

        for held in self.held.values():
            for row in held.rows(frames[held.a], frames[held.b]):
                add(held, row, 1.0)
        for aims, weight in ((hard, 1.0), (weak, WEAK)):
            for name, to in aims.items():
                held = self.held[name]
                add(held, held.aim(frames[held.a], frames[held.b], to), weight)
        return np.array(wrong), np.array(rows).reshape(len(wrong), 6 * len(place))

    def _solve(
        self, frames: dict[str, Frame], hard: Mapping[str, float], weak: Mapping[str, float]
    ) -> dict[str, Frame]:
        """Least squares of all errors, by Levenberg and Marquardt."""
        damping = 1e-6
        wrong, rows = self._system(frames, hard, weak)
        cost = float(wrong @ wrong)
        for _ in range(ROUNDS):
            if not rows.size or cost < 1e-26:
                break
            width = rows.shape[1]
            normal = rows.T @ rows
            normal[np.diag_indices(width)] += damping
            way: Array = np.linalg.solve(normal, -(rows.T @ wrong)).astype(float)
            moved = {
                name: frames[name] if k < 0 else frames[name].moved(way[6 * k : 6 * k + 6])
                for k, name in enumerate(self.names, start=-1)
            }
            next_wrong, next_rows = self._system(moved, hard, weak)
            next_cost = float(next_wrong @ next_wrong)
            if next_cost < cost:
                gain = cost - next_cost
                frames, wrong, rows, cost = moved, next_wrong, next_rows, next_cost
                damping = max(0.2 * damping, 1e-9)
                if gain < 1e-6 * cost:
                    break
            else:
                damping *= 8.0
                if damping > 1e6:
                    break
        return frames

    # ---- what is wrong --------------------------------------------------------------------

    def check_wanted(self, wanted: Mapping[str, float]) -> None:
        """Refuse joints that there are not, and positions beyond their limits."""
        for name, value in wanted.items():
            known = [k for k, held in self.held.items() if held.kind in POSITIONED]
            if name not in known:
                raise InputError(f"{self.what}: pose: joint", name, ", ".join(known))
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            low, high = self.design.joints[name].limits or (-math.inf, math.inf)
            if not (number and math.isfinite(value) and low - CLOSED <= value <= high + CLOSED):
                raise InputError(
                    f"{self.what}: pose: joint {name!r}", value, f"{low:.4g} to {high:.4g}"
                )

    def _wrong(
        self, frames: Mapping[str, Frame], wanted: Mapping[str, float]
    ) -> tuple[str, float] | None:
        """The joint that is farthest from what it is to hold, and how far; None where all hold."""
        errors: dict[str, float] = {}
        for name, held in self.held.items():
            a, b = frames[held.a], frames[held.b]
            rows = held.rows(a, b)
            if name in wanted:
                rows.append(held.aim(a, b, wanted[name]))
            errors[name] = max((abs(row[0]) for row in rows), default=0.0)
        worst = max(errors, key=errors.__getitem__, default="")
        return (worst, errors[worst]) if worst and errors[worst] > CLOSED else None

    def _unreachable(self, name: str, error: float, wanted: Mapping[str, Any]) -> InputError:
        if not wanted:
            return InputError(
                f"{self.what}: joint {name!r}", f"open by {error:.3g} m or rad",
                "joints whose loop can close: check its anchors and axes",
            )  # fmt: skip
        return InputError(
            f"{self.what}: pose",
            dict(wanted),
            f"positions that the machine can reach: joint {name!r} stays open by {error:.3g}",
        )

    def _check_limits(self, frames: Mapping[str, Frame]) -> None:
        for name, here in self.positions(frames).items():
            low, high = self.design.joints[name].limits or (-math.inf, math.inf)
            if not low - 1e-6 <= here <= high + 1e-6:
                raise InputError(
                    f"{self.what}: pose: joint {name!r} comes to", round(here, 6),
                    f"{low:.4g} to {high:.4g}",
                )  # fmt: skip
