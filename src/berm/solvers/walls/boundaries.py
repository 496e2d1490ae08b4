"""Bodies as flat arrays for kernels that ask for exact distances at every step, and their contacts.

All triangle meshes stand in common arrays, each in its range; height fields become meshes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.bodies import Bodies
from berm.core.shapes import HeightField
from berm.kernels.geometry.distance import POSE
from berm.kernels.walls.near_walls import carry_walls, drop_walls, near_walls
from berm.kernels.walls.poses import flat_poses
from berm.solvers.walls.ground_mesh import ground_mesh
from berm.solvers.walls.shapes import Packed, ShapeTable, pack

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

    def follow(self, bodies: Bodies, which: Array, dt: float) -> None:
        """Take over poses and motions of the bodies in rows `which` for the coming step dt (s)."""
        self.table.follow([bodies.shapes[row] for row in which])
        self.pose: Array = np.zeros((len(which), POSE))
        columns = (bodies.org, bodies.rot, bodies.pace, bodies.omega)
        flat_poses(np.arange(len(which)), *(c[which] for c in columns), 0.0, dt, self.pose)
        self.substance: Array = bodies.material[which]

    def find(
        self, x: Array, ref: Array, slab: Array, was: Array, f: float, owner: Array, apart: Array
    ) -> None:
        """Find the candidates from the fraction f of the step on; carry over what they remember.

        ref (n, 4): where spheres were when pairs were listed, and how far (squared) they may go.
        was (n,): rows of the spheres when candidates were found last, -1: new. apart (k, 2): owner
        of a sphere and number of a boundary that do not meet.
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
        if len(apart):
            drop_walls(owner, apart, self.row, self.body, self.face, self.count)
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
