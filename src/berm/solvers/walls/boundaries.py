"""Bodies as flat arrays for kernels that ask for exact distances at every step, and their contacts.

All triangle meshes stand in common arrays, each in its range; height fields become meshes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.shapes import HeightField
from berm.kernels.geometry import distance as kd
from berm.kernels.walls.near_walls import carry_walls, near_walls
from berm.solvers.walls.ground_mesh import ground_mesh
from berm.solvers.walls.walls import Packed, flat_pose, pack

Array = npt.NDArray[Any]
FIRST_ROOM = 64


class Boundaries:
    """The bodies of a world, flattened, and the spheres near them with what contacts remember.

    row, body, face int32 (slabs, room), count (slabs,): candidates; hist (slabs, room, width + 3):
    memory of the laws, and for meshes the last normal.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.shapes: list[Any] = []
        self._pack([])
        self._allocate(0, FIRST_ROOM)

    def _allocate(self, slabs: int, room: int) -> None:
        self.row: Array = np.zeros((slabs, room), np.int32)
        self.body: Array = np.zeros((slabs, room), np.int32)
        self.face: Array = np.zeros((slabs, room), np.int32)
        self.hist: Array = np.zeros((slabs, room, self.width + 3))
        self.count: Array = np.zeros(slabs, np.int64)

    def _pack(self, bodies: Sequence[Any]) -> None:
        """Flatten the shapes; done again only when bodies come or go."""
        self.shapes = [body.shape for body in bodies]
        packed = [
            ground_mesh(shape) if isinstance(shape, HeightField) else pack(shape)
            for shape in self.shapes
        ]
        self.kinds: Array = np.array([one.kind for one in packed], np.int64)
        self.shape: Array = np.array([one.prm for one in packed]).reshape(-1, kd.PARAMS)
        meshes = [one for one in packed if one.mesh]
        number = np.cumsum([bool(one.mesh) for one in packed]) - 1
        self.mesh: Array = np.array(
            [k if one.mesh else -1 for k, one in zip(number, packed, strict=True)], np.int64
        )
        self._join(meshes)

    def _join(self, meshes: list[Packed]) -> None:
        """Put all meshes into common arrays; ranges: first triangle, start, member, cell, fan."""
        empty = (
            np.zeros((0, 3, 3)), np.zeros((0, 7, 3)), np.zeros(7), np.zeros(3, np.int64),
            np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32),
            np.zeros((0, 3), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64),
        )  # fmt: skip
        parts = [one.mesh[:10] for one in meshes] or [empty]
        columns = list(zip(*parts, strict=True))
        self.frame: Array = np.array(columns[2])
        self.dims: Array = np.array(columns[3])
        (self.tri, self.normals, self.starts, self.members, self.field, self.corners,
         self.fan_starts, self.fans) = (
            np.concatenate(columns[c]) for c in (0, 1, 4, 5, 6, 7, 8, 9)
        )  # fmt: skip
        sizes = [[len(part[c]) for c in (0, 4, 5, 6, 8, 9)] for part in parts]
        self.ranges: Array = np.concatenate([[[0] * 6], np.cumsum(sizes, axis=0)]).astype(np.int64)

    def follow(self, bodies: Sequence[Any], dt: float) -> None:
        """Take over poses and motions of the coming step dt (s)."""
        if len(bodies) != len(self.shapes) or any(
            body.shape is not shape for body, shape in zip(bodies, self.shapes, strict=True)
        ):
            self._pack(bodies)
        self.pose: Array = np.array([flat_pose(body, dt) for body in bodies]).reshape(-1, kd.POSE)
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
            if len(self.shapes):
                near_walls(
                    slab, x, ref, f, self.kinds, self.shape, self.pose, self.mesh,
                    self.ranges, self.tri, self.normals, self.frame, self.dims, self.starts,
                    self.members, self.field, self.row, self.body, self.face, self.count,
                )  # fmt: skip
            most = int(self.count.max(initial=0))
            if most <= room:
                break
            room = int(1.2 * most) + 8
        if old[4].any() and self.count.any():
            carry_walls(was, *old, self.row, self.body, self.face, self.hist, self.count)

    def meshes(self) -> tuple[Array, ...]:
        """The mesh arrays in the order in which kernels take them."""
        return (
            self.mesh, self.ranges, self.tri, self.normals, self.frame, self.dims, self.starts,
            self.members, self.field, self.corners, self.fan_starts, self.fans,
        )  # fmt: skip

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
