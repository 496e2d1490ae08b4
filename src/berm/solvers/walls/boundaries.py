"""Bodies as flat arrays for kernels that ask for exact distances at every step, and their contacts.

All triangle meshes stand in common arrays, each in its range; height fields become meshes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.shapes import HeightField
from berm.kernels.walls.near_walls import carry_walls, near_walls
from berm.solvers.walls.ground_mesh import ground_mesh
from berm.solvers.walls.shapes import Packed, ShapeTable, pack
from berm.solvers.walls.walls import poses_of

Array = npt.NDArray[Any]
FIRST_ROOM = 64


def pack_solid(shape: Any) -> Packed:
    """Flatten a shape for kernels that take meshes only."""
    return ground_mesh(shape) if isinstance(shape, HeightField) else pack(shape)


class Boundaries:
    """The bodies of a world, flattened, and the spheres near them with what contacts remember.

    row, body, face int32 (slabs, room), count (slabs,): candidates; hist (slabs, room, width + 3):
    memory of the laws, and for meshes the last normal.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.table = ShapeTable(pack_solid)
        self._allocate(0, FIRST_ROOM)

    def _allocate(self, slabs: int, room: int) -> None:
        self.row: Array = np.zeros((slabs, room), np.int32)
        self.body: Array = np.zeros((slabs, room), np.int32)
        self.face: Array = np.zeros((slabs, room), np.int32)
        self.hist: Array = np.zeros((slabs, room, self.width + 3))
        self.count: Array = np.zeros(slabs, np.int64)

    def follow(self, bodies: Sequence[Any], dt: float) -> None:
        """Take over shapes, and poses and motions of the coming step dt (s)."""
        self.table.follow([body.shape for body in bodies])
        self.pose: Array = poses_of(bodies, dt)
        self.substance: Array = np.array([body.material for body in bodies], np.int64)

    def find(self, x: Array, ref: Array, slab: Array, was: Array, f: float) -> None:
        """Find the candidates from the fraction f of the step on; carry over what they remember.

        ref (n, 4): where spheres were when pairs were listed, and how far (squared) they may go.
        was (n,): rows of the spheres when candidates were found last, -1: new.
        """
        old = (self.row, self.body, self.face, self.hist, self.count)
        slabs, room = len(slab) - 1, max(self.row.shape[1], FIRST_ROOM)
        while True:
            self._allocate(slabs, room)
            if len(self.table):
                kinds, prm, *meshes = self.table.arrays
                near_walls(
                    slab, x, ref, f, kinds, prm, self.pose, *meshes[:9],
                    self.row, self.body, self.face, self.count,
                )  # fmt: skip
            most = int(self.count.max(initial=0))
            if most <= room:
                break
            room = int(1.2 * most) + 8
        if old[4].any() and self.count.any():
            carry_walls(was, *old, self.row, self.body, self.face, self.hist, self.count)

    def meshes(self) -> tuple[Array, ...]:
        """The mesh arrays in the order in which kernels take them."""
        return self.table.arrays[2:14]

    def state(self) -> dict[str, Any]:
        """Everything that a bit-for-bit restart needs."""
        used = int(self.count.max(initial=0))
        return {name: getattr(self, name)[:, :used].copy() for name in ("row", "body", "face")} | {
            "hist": self.hist[:, :used].copy(),
            "count": self.count.copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        count = np.asarray(state["count"], np.int64)
        used = int(count.max(initial=0))
        self._allocate(len(count), max(used, FIRST_ROOM))
        for name in ("row", "body", "face", "hist"):
            getattr(self, name)[:, :used] = state[name]
        self.count[:] = count
