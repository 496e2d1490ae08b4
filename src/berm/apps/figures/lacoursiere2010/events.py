"""What merging keeps and takes, event by event."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.rotations import matrix_of
from berm.kernels.multibody.contact_list import A, B
from berm.solvers.multibody.merging import Merging
from berm.solvers.nonsmooth.solver import Nonsmooth
from berm.world.world import World

Array = npt.NDArray[Any]


def merging_of(world: World) -> Merging:
    """The part of a world's solver that merges."""
    assert isinstance(world.solver, Nonsmooth)
    merging = world.solver.multibody.merging
    assert merging is not None
    return merging


class Watch:
    """Looks at bodies before and after each merge, and keeps a row of each that did something.

    rows: time, bodies that are in new super-bodies, relative changes of their mass, inertia,
    momentum and angular momentum, energy lost (J) and the most that the threshold lets be lost.
    Super-bodies of the ground hand their momentum to it: of those only the energy counts. seconds:
    of a processor that splitting and merging took.
    """

    def __init__(self, world: World) -> None:
        self.world, self.merging = world, merging_of(world)
        self.rows: list[dict[str, Any]] = []
        self.seconds = 0.0
        self._split, self._merge = self.merging.split, self.merging.merge
        vars(self.merging).update(split=self.split, merge=self.merge)  # in place of the methods

    def split(self, multi: Any, world: Any, h: float) -> bool:
        """Split, timed."""
        begin = time.process_time()
        found = self._split(multi, world, h)
        self.seconds += time.process_time() - begin
        return found

    def merge(self, multi: Any, world: Any) -> bool:
        """Merge, timed, with a look before and after."""
        unit, before = multi.arrays.unit.copy(), _motion(world.bodies)
        lost = self.merging.lost
        begin = time.process_time()
        found = self._merge(multi, world)
        self.seconds += time.process_time() - begin
        if found:
            self._note(multi.arrays, unit, before, self.merging.lost - lost)
        return found

    def _note(self, arrays: Any, old: Array, before: tuple[Array, Array], lost: float) -> None:
        bodies = self.world.bodies
        after = _motion(bodies)
        changed = np.unique(arrays.unit[(arrays.unit != old) & bodies.dynamic])
        joined = np.isin(arrays.unit, changed) & bodies.dynamic
        speed = float(merging_of(self.world).quiet[2])  # to be split: nothing merged is faster
        row: dict[str, Any] = {
            "time": self.world.time + self.world.dt, "bodies": int(joined.sum()),
            "ground": bool(not bodies.dynamic[changed].all()),
            "lost_J": lost, "most_J": 0.5 * float(bodies.mass[joined].sum()) * speed**2,
        }  # fmt: skip
        worst = dict.fromkeys(("mass", "inertia", "momentum", "angular_momentum"), 0.0)
        for leader in changed:
            if bodies.dynamic[leader]:
                members = np.flatnonzero(arrays.unit == leader)
                for name, wrong in _changes(arrays, bodies, leader, members, before, after).items():
                    worst[name] = max(worst[name], wrong)
        self.rows.append(row | worst)


def _motion(bodies: Any) -> tuple[Array, Array]:
    """Momentum and angular momentum about the world's origin (n, 3) of each body."""
    mass = np.where(bodies.dynamic, bodies.mass, 0.0)
    p = mass[:, None] * bodies.v
    return p, np.cross(bodies.x, p) + np.where(bodies.dynamic[:, None], bodies.L, 0.0)


def _changes(
    arrays: Any, bodies: Any, leader: int, members: Array, before: Any, after: Any
) -> dict[str, float]:
    """Relative changes over a merge, of the super-body `leader`; by sums of its members' own."""
    mass = bodies.mass[members]
    middle = mass @ bodies.x[members] / mass.sum()
    inertia = np.zeros((3, 3))
    for m, b in zip(mass, members, strict=True):
        turn, r = matrix_of(bodies.q[b]), bodies.x[b] - middle
        inertia += turn @ np.diag(bodies.moments[b]) @ turn.T
        inertia += m * (r @ r * np.eye(3) - np.outer(r, r))
    turn = matrix_of(arrays.unit_q[leader])
    whole = turn @ np.diag(arrays.unit_moments[leader]) @ turn.T
    p, q = before[0][members], after[0][members]
    scale_p = np.abs(p).sum() + mass.sum() * 1e-3  # a mm/s: at rest there is nothing to compare
    spin, spun = before[1][members], after[1][members]
    size = float(np.linalg.norm(bodies.x[members] - middle, axis=1).max())
    scale_l = np.abs(spin).sum() + scale_p * size
    return {
        "mass": abs(1.0 / arrays.unit_w[leader] / mass.sum() - 1.0),
        "inertia": float(np.abs(whole - inertia).max() / np.abs(inertia).max()),
        "momentum": float(np.abs(q.sum(axis=0) - p.sum(axis=0)).max() / scale_p),
        "angular_momentum": float(np.abs(spun.sum(axis=0) - spin.sum(axis=0)).max() / scale_l),
    }


def inner_pairs(world: World) -> set[tuple[int, int]]:
    """Tags of bodies that touch inside super-bodies."""
    inner = merging_of(world).inner
    return {(int(min(a, b)), int(max(a, b))) for a, b in inner[:, [A, B]]}
