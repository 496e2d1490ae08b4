"""Merge and split: thresholds, what is remembered inside super-bodies, and the counts.

The work is in `kernels.multibody.merging`, [Lacoursiere10] Fig. 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.core.bodies import BODIES, DYNAMIC, GRAINS, Bodies
from berm.core.errors import InputError
from berm.core.report import StepReport
from berm.kernels.multibody import merging as kernel
from berm.kernels.multibody.contact_list import IMPULSE, MEMORY, POINT, A, B
from berm.solvers.base import WorldView

Array = NDArray[Any]

NEVER = np.zeros(kernel.NQUIET)
COMMANDS = ("drive", "target", "speed", "effort", "low", "high")
SAME = 1e-6  # change of a command, of its size and in its unit, that is none


class Merging:
    """Which bodies move as one; thresholds as in `kernels.multibody.merging`."""

    def __init__(
        self, speed: float, split_speed: float, cone: float, press: float, steps: int, tilt: float
    ) -> None:
        self.quiet = np.zeros(kernel.NQUIET)
        self.quiet[kernel.SPEED], self.quiet[kernel.SPLIT_SPEED] = speed, split_speed
        self.quiet[kernel.CONE], self.quiet[kernel.SPLIT_CONE] = cone, 1.0 + 1e-9
        self.quiet[kernel.PRESS], self.quiet[kernel.STEPS] = press, steps
        self.quiet[kernel.TILT], self.quiet[kernel.JOINT_SPEED] = tilt, speed
        self.inner: Array = np.zeros((0, MEMORY))
        self.commands: Array = np.zeros((0, 7))
        self.before: Array = np.zeros((0, 3))  # velocities a step ago
        self.gravity: Array = np.zeros(3)
        self.lost, self.merged = 0.0, 0
        self.splits, self.merges = 0, 0  # since the start

    def split(self, multi: Any, world: WorldView, h: float) -> bool:
        """Part what is disturbed, before a step of h (s); say whether anything was."""
        bodies, joints = world.bodies, world.joints
        commands = _commands(joints)
        self.gravity = np.array(world.gravity)
        freed = np.ones(joints.n, bool)
        if commands.shape == self.commands.shape:
            change = np.abs(commands - self.commands)
            freed = (change > SAME * (1.0 + np.abs(self.commands))).any(axis=1)
        self.steady, self.commands = ~freed, commands
        if len(self.before) != bodies.n:
            self.before = bodies.v.copy()
        loose = (bodies.load[:, GRAINS] != 0.0).any(axis=1)
        multi.memory, self.inner, cut = kernel.split(
            multi.arrays, multi.joints, bodies.tag, multi.memory, self.inner, bodies.calm,
            bodies.felt, self.before, np.asarray(world.gravity), h, self.quiet, loose, freed,
        )  # fmt: skip
        self.before = bodies.v.copy()
        self.splits += int(cut)
        return bool(cut)

    def merge(self, multi: Any, world: WorldView) -> bool:
        """Merge what is quiet, after a step; say whether anything was."""
        bodies = world.bodies
        pressed = (bodies.load[:, GRAINS] != 0.0).any(axis=1)
        multi.memory, self.inner, lost, joined = kernel.merge(
            multi.arrays, multi.joints, bodies.tag, multi.memory, self.inner, bodies.calm,
            self.quiet, pressed, self.steady,
        )  # fmt: skip
        self.lost += float(lost)
        self.merges += int(joined)
        return bool(joined)

    def add_inner(self, bodies: Bodies, h: float) -> None:
        """Add what merged bodies bear of each other: what they bore when they were merged.

        h (s): of the substep in which they gave each other these impulses.
        """
        if not len(self.inner):
            return
        one, two = np.searchsorted(bodies.tag, self.inner[:, [A, B]].astype(np.int64)).T
        push, turn = self.inner[:, IMPULSE : IMPULSE + 6].reshape(-1, 2, 3).swapaxes(0, 1) / h
        arm = np.einsum("kij,kj->ki", bodies.rot[one], self.inner[:, POINT : POINT + 3])
        felt = np.zeros((bodies.n, 6))
        for row, sign in ((one, 1.0), (two, -1.0)):
            moment = turn + np.cross(arm + bodies.org[one] - bodies.org[row], push)
            np.add.at(felt, row, sign * np.hstack([push, moment]))
        bodies.load[:, BODIES] += felt

    def is_asleep(self, world: WorldView) -> bool:
        """Whether all bodies are part of the ground, and nothing was told otherwise since."""
        bodies = world.bodies
        free = bodies.kind == DYNAMIC
        if not (bodies.super_body[free] == 0).all() or len(self.before) != bodies.n:
            return False
        if not np.array_equal(self.gravity, world.gravity):
            return False
        driven = bodies.kind == 1
        if driven.any() and (bodies.v[driven].any() or bodies.omega[driven].any()):
            return False
        return np.array_equal(_commands(world.joints), self.commands)

    def tell(self, report: StepReport) -> None:
        """Say in the report how much is merged."""
        report.merged, report.merge_loss = self.merged, self.lost

    def state(self) -> dict[str, Any]:
        """Everything that a restart needs beside the columns of bodies."""
        return {
            "inner": self.inner.copy(), "commands": self.commands.copy(),
            "before": self.before.copy(), "gravity": self.gravity.copy(), "lost": self.lost,
            "splits": self.splits, "merges": self.merges,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        inner = np.array(state["inner"], float)
        if inner.ndim != 2 or inner.shape[1] != MEMORY or not np.isfinite(inner).all():
            raise InputError(
                "state: contacts in super-bodies", inner.shape, f"numbers (k, {MEMORY})"
            )
        self.inner = inner
        self.commands, self.before = np.array(state["commands"]), np.array(state["before"])
        self.gravity, self.lost = np.array(state["gravity"]), float(state["lost"])
        self.splits, self.merges = int(state["splits"]), int(state["merges"])


def _commands(joints: Any) -> Array:
    """What joints are told to do, a row each."""
    columns = [getattr(joints, name) for name in COMMANDS]
    return np.nan_to_num(np.column_stack(columns).astype(float))  # infinite limits: as numbers
