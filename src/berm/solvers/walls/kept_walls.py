"""Contacts with bodies that are kept while no grain has gone further than they hold.

For the published forms of P2, whose grains move a little in every step, and which decide once a
step what touches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.grains import Grains
from berm.core.shapes import Box, Plane, Shape
from berm.solvers.base import WorldView
from berm.solvers.search.candidate_list import outside
from berm.solvers.walls.walls import Walls

Array = npt.NDArray[Any]

ROOM_AT_BENDS = 0.25  # radii that a grain may go while a wall that bends is taken as a plane


def is_flat(shape: Shape) -> bool:
    """Whether the planes that grains touch hold everywhere, not only where they were found."""
    return isinstance(shape, Plane) or (isinstance(shape, Box) and shape.inside)


class KeptWalls(Walls):
    """`Walls` that know how far from a grain's place they hold.

    ref (n, 4): where each grain was to be, and the square of the room that it has there.
    """

    def __init__(self, dtype: Any = np.float32) -> None:
        super().__init__(dtype)
        self.ref: Array = np.zeros((0, 4), self.dtype)
        self._touching: list[Array] = []

    def note(self, world: WorldView, dt: float, margin: float) -> None:
        """Note where the grains will be in dt; contacts were found within `margin` radii."""
        grains, real = world.grains, self.dtype.type
        place, radius = grains.x[: grains.n], grains.x[: grains.n, 3]
        self.ref = place + real(dt) * grains.v[: grains.n]
        self.ref[:, 3] = (margin * radius) ** 2
        bent = np.array([shape is not None and not is_flat(shape) for shape in world.bodies.shapes])
        for rows, body, k in zip(self.rows, self.body, self.count, strict=True):
            if bent.any() and k:
                near = rows[:k][bent[body[:k]]]
                self.ref[near, 3] = (min(ROOM_AT_BENDS, margin) * radius[near]) ** 2

    def are_left(self, grains: Grains, dt: float, whole: bool) -> bool:
        """Whether a grain will be further in dt than its contacts hold; whole: on its way, too."""
        real: Any = self.dtype.type
        return len(self.ref) != grains.n or outside(grains, real(dt), whole, self.ref)

    def room_for_touching(self) -> list[Array]:
        """Room for those that touch, as `kernels.p2.published_walls` has them."""
        slabs, cap = self.rows.shape
        if not self._touching or self._touching[1].shape != (slabs, cap):
            count = np.zeros(slabs, np.int64)
            rows, origin = np.zeros((2, slabs, cap), np.int32)
            wide = [np.zeros((slabs, cap, width), self.dtype) for width in (8, 4, 4)]
            self._touching = [count, rows, origin, *wide]
        return self._touching

    def state(self) -> dict[str, Array]:
        """Return everything that a restart needs to go on bit for bit."""
        return super().state() | {"ref": self.ref.copy()}

    def restore(self, state: dict[str, Array]) -> None:
        """Take over what `state` returned."""
        super().restore(state)
        self.ref = np.array(state.get("ref", np.zeros((0, 4))), self.dtype)
