"""Whether a world has diverged: a grain is faster than anything in it can have made it.

A speed has to come from somewhere: it was given (grains that came, velocities that somebody set),
gravity gave it, a body struck, or an overlap was pushed apart. The fastest speed that these explain
is followed from step to step at no cost, for solvers know the fastest grain anyway; only where that
is exceeded many times over are the bodies asked. A method that diverges gains a factor in every
step, and passes any such limit soon.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from berm.core.errors import SimulationError
from berm.kernels.search.fastest import fastest
from berm.solvers.base import WorldView

# Collisions pass speed on to lighter grains: three times for a light one on a heavy one that
# falls, 2^n - 1 times for n of ever smaller mass; at most, all energy of one goes to another.
PASSED_ON = 20.0
ALL_ENERGY = 2.0  # times the root of the ratio of masses
# An overlap of a whole diameter that is gone after one substep; neighbours on several sides add up.
PUSHED_APART = 4.0
EDITED = 1.001  # times the fastest at the end of the last step: somebody has set a speed since


class Divergence:
    """What grains of a world may have for a speed; see above.

    explained (m/s): the fastest speed with a known source so far. It is no part of a state: after
    a restart, the speeds of that moment count as given.
    """

    def __init__(self, solver: str) -> None:
        self.solver = solver
        self.explained = 0.0
        self.last = -1.0  # m/s, the fastest at the end of the last step
        self.closest = 0.0  # to the limit so far, as a share of it

    def begin(self, world: WorldView) -> None:
        """Note what was given before the step: new grains, edited velocities."""
        n = world.grains.n
        start = math.sqrt(float(fastest(world.grains.v, n))) if n else 0.0
        for cloth in world.cloths:
            start = max(start, math.sqrt((cloth.velocity**2).sum(axis=1).max(initial=0.0)))
        if start > EDITED * self.last:
            self.explained = max(self.explained, start)

    def check(self, world: WorldView, speed: float, dt: float, h: float, hint: str) -> None:
        """Stop where `speed` (m/s), the fastest after dt in substeps of h (s), has no source.

        hint: what the user may change.
        """
        self.last = speed
        pull = dt * math.sqrt(sum(float(g) ** 2 for g in world.gravity))
        self.explained = max(self.explained, min(speed, self.explained + pull))
        if speed <= PASSED_ON * self.explained:
            return
        grains = world.grains
        # cloth that starts out of form may be pulled into it by as much as its links are long
        long = [_longest_link(cloth) for cloth in world.cloths]
        widest = max([float(grains.radius.max(initial=0.0)), *long])
        apart = PUSHED_APART * 2.0 * widest / h
        light = grains.v[: grains.n, 3]
        ratio = float(light.max(initial=0.0)) * float(grains.mass.max(initial=0.0))
        passed_on = max(PASSED_ON, ALL_ENERGY * math.sqrt(ratio))
        if speed > passed_on * self.explained + apart:
            self.explained = max(self.explained, _struck(world))
        limit = passed_on * self.explained + apart
        self.closest = max(self.closest, speed / limit)
        if speed > limit:
            raise SimulationError(
                f"{_fastest(world)}, where nothing that was given, falls or is driven explains "
                f"more than {limit:.3g} m/s: solver {self.solver} has diverged; {hint}"
            )


def _longest_link(cloth: Any) -> float:
    """Length (m) of the longest link of a cloth, or its thickness."""
    ends = cloth.position[cloth.links]
    far = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    return float(max(far.max(initial=0.0), cloth.thickness))


def _struck(world: WorldView) -> float:
    """The fastest (m/s) that the surface of a body is at any grain."""
    x = world.grains.position.astype(np.float64)
    most = 0.0
    for body in world.bodies:
        turning = float(np.linalg.norm(body.angular_velocity))
        arm = np.linalg.norm(x - body.position, axis=1).max(initial=0.0) if turning else 0.0
        most = max(most, float(np.linalg.norm(body.velocity)) + turning * float(arm))
    return most if math.isfinite(most) else 0.0


def _fastest(world: WorldView) -> str:
    """Who is the fastest, how fast, and where."""
    found: list[tuple[float, str, Any]] = []
    grains = world.grains
    if grains.n:
        speed = np.linalg.norm(grains.velocity.astype(np.float64), axis=1)
        row = int(speed.argmax())
        found.append((float(speed[row]), f"grain {int(grains.tag[row])}", grains.position[row]))
    for cloth in world.cloths:
        speed = np.linalg.norm(cloth.velocity, axis=1)
        row = int(speed.argmax())
        who = f"cloth {cloth.name!r}: vertex {row}"
        found.append((float(speed[row]), who, cloth.position[row]))
    top, who, where = max(found, key=lambda one: one[0])
    return f"{who} moves at {top:.4g} m/s (position {where.tolist()})"
