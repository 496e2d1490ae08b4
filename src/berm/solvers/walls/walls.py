"""Contacts between grains and the bodies that bound them, found anew at each step.

`find` follows each grain's centre from x to x + dt v + dt^2 g in the frame of each moving body and
stores the tangent plane where it first touches, so that neither a fast grain nor a fast body slips
through a thin wall. Where walls bend that way, the bent way is followed as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from berm.core import pages
from berm.core.errors import InputError
from berm.core.grains import LARGE
from berm.core.motion import turned
from berm.core.shapes import Box, Capsule, Cone, Cylinder, HeightField, Mesh, Plane, Shape, Sphere
from berm.kernels.geometry import distance as kd
from berm.kernels.geometry import heightfield as kh
from berm.kernels.geometry import mesh_grid as kg
from berm.kernels.geometry.mesh_build import build_mesh
from berm.kernels.walls import mesh_contacts as kc
from berm.kernels.walls import shape_contacts as kw

Array = NDArray[Any]

# A way that walls bend more often than this within one step is not followed further.
MOST_BENDS = 4
FIRST_CAPACITY = 64


class BodyLike(Protocol):
    """What `Walls` needs to know of a body (pose at the start of the step; SI units)."""

    shape: Any
    position: Any
    rotation: Any
    velocity: Any
    angular_velocity: Any
    force: Any
    torque: Any


@dataclass
class Packed:
    """A shape as flat arrays for the kernels; `mesh` holds those of triangle shapes."""

    shape: Shape
    kind: int
    prm: Array
    mesh: tuple[Any, ...] = ()


def pack(shape: Shape) -> Packed:
    """Flatten a shape for the kernels; triangle shapes get their search grid here."""
    prm = np.zeros(kd.PARAMS)
    prm[0] = -1.0 if getattr(shape, "inside", False) else 1.0
    if isinstance(shape, Plane):
        return Packed(shape, kd.PLANE, prm)
    if isinstance(shape, Sphere):
        prm[1] = shape.radius
        return Packed(shape, kd.SPHERE, prm)
    if isinstance(shape, Box):
        prm[1:4] = 0.5 * np.array(shape.size)
        prm[4] = shape.open_top
        return Packed(shape, kd.BOX, prm)
    if isinstance(shape, Capsule):
        prm[1:3] = shape.radius, 0.5 * shape.height
        return Packed(shape, kd.CAPSULE, prm)
    if isinstance(shape, Cylinder | Cone):
        return _pack_turned(shape, prm)
    if isinstance(shape, HeightField):
        return _pack_heights(shape, prm)
    if isinstance(shape, Mesh):
        return _pack_mesh(shape, prm)
    raise InputError("shape", type(shape).__name__, "one of berm.core.shapes")


def _pack_turned(shape: Cylinder | Cone, prm: Array) -> Packed:
    """Flatten a cylinder or cone to the corners of its section, counter-clockwise in (rho, z)."""
    bottom, top = (
        (shape.radius, shape.radius)
        if isinstance(shape, Cylinder)
        else (shape.radius_bottom, shape.radius_top)
    )
    h = 0.5 * shape.height
    slant = np.hypot(bottom - top, 2.0 * h)
    prm[9:11] = 2.0 * h / slant, (bottom - top) / slant
    if not shape.open_ends:
        prm[1:9] = -bottom, -h, bottom, -h, top, h, -top, h
        prm[11:13] = max(bottom, top), -1.0
        return Packed(shape, kd.CONE, prm)
    wall = float(shape.wall or 0.0)
    if not shape.inside:
        bottom, top = bottom - wall, top - wall
    prm[0] = 1.0  # a tube is a solid whichever face its radius names
    prm[1:9] = bottom, -h, bottom + wall, -h, top + wall, h, top, h
    prm[11:13] = max(bottom, top) + wall, min(bottom, top)
    return Packed(shape, kd.TUBE, prm)


def _pack_heights(shape: HeightField, prm: Array) -> Packed:
    """Flatten a height field; its triangles stay implicit."""
    h = shape.heights
    dx, dy = np.diff(h, axis=0) / shape.cell, np.diff(h, axis=1) / shape.cell
    slope = max(
        np.hypot(dx[:, :-1], dy[1:]).max(),  # below the diagonal
        np.hypot(dx[:, 1:], dy[:-1]).max(),
    )
    frame = np.array([*shape.origin, shape.cell, h.min(), h.max(), 1.0 / np.hypot(1.0, slope)])
    mesh = (
        np.zeros((0, 3, 3)), np.zeros((0, 7, 3)), frame, np.zeros(3, np.int64),
        np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32),
        np.zeros((0, 3), np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64), np.array(h),
    )  # fmt: skip
    return Packed(shape, kd.HEIGHT, prm, mesh)


def _pack_mesh(shape: Mesh, prm: Array) -> Packed:
    """Flatten a mesh and build its search grid."""
    mesh = build_mesh(shape.vertices, shape.faces, not shape.two_sided, shape.inside)
    return Packed(shape, kd.MESH, prm, (*mesh, np.zeros((0, 0))))


def signed_distance(shape: Shape | Packed, points: ArrayLike) -> tuple[Array, Array]:
    """Return distance (k,) in m, positive where grains live, and its gradient (k, 3).

    points (k, 3) are in the body's frame. A sheet (two-sided mesh) has no inside: its distance is
    never negative. `pack` a mesh first where it is asked often: its grid takes time to build.
    """
    where = np.ascontiguousarray(np.atleast_2d(points), dtype=np.float64)
    packed = shape if isinstance(shape, Packed) else pack(shape)
    out = np.empty((len(where), 4))
    if packed.kind == kd.MESH:
        kg.mesh_distance_many(*packed.mesh[:7], where, out)
    elif packed.kind == kd.HEIGHT:
        kh.height_distance_many(packed.mesh[-1], packed.mesh[2], where, out)
    else:
        kd.distance_many(packed.kind, packed.prm, where, out)
    return out[:, 0], out[:, 1:]


class Walls:
    """All contacts of grains with bodies in the coming step, by slab; arrays change at each `find`.

    rows, body   int32 (nslabs, cap)     grain row, body index
    plane        real  (nslabs, cap, 8)  nx, ny, nz, offset (m), sx, sy, sz (m), how many
                                         of the same grain come before it in its eight
    impulse      real  (nslabs, cap, 4)  what the solver keeps for its warm start
    total        real  (nslabs, cap, 4)  mean force on the grain over the step (N), from the solver
    count        int64 (nslabs,)         contacts in use
    With the fraction f of the step gone and the grain displaced by u, the gap is
    n.(x + u) - offset - radius - f n.s.
    """

    def __init__(self, dtype: Any = np.float32, capacity: int = FIRST_CAPACITY) -> None:
        self.dtype = np.dtype(dtype)
        self.slab_start: Array = np.zeros(1, np.int64)
        self._packed: dict[int, Packed] = {}
        self._blocks: Array = np.empty((0, 0, 9), self.dtype)
        self._legs: Array = np.empty((0, 0, 8))
        self._store = self._allocate(0, max(1, capacity), 0)
        self._spare = self._store
        self._publish()

    def _allocate(self, nslabs: int, cap: int, n: int) -> tuple[Array, ...]:
        """Return rows, body, plane, impulse, total, count, and the chains first and follow."""
        return (
            pages.zeros((nslabs, cap), np.int32),
            pages.zeros((nslabs, cap), np.int32),
            pages.zeros((nslabs, cap, 8), self.dtype),
            pages.zeros((nslabs, cap, 4), self.dtype),
            pages.zeros((nslabs, cap, 4), self.dtype),
            np.zeros(nslabs, np.int64),
            np.full(n, -1, np.int32),
            np.full((nslabs, cap), -1, np.int32),
        )

    def _publish(self) -> None:
        self.rows, self.body, self.plane, self.impulse, self.total, self.count = self._store[:6]

    @property
    def contacts(self) -> int:
        """Number of contacts found for this step."""
        return int(self.count.sum())

    def find(
        self,
        bodies: Sequence[BodyLike],
        x: Array,
        v: Array,
        n: int,
        slab_start: Array,
        dt: float,
        gravity: ArrayLike,
        skin: float,
        old_row: Array | None = None,
        gone: float = 0.0,
    ) -> int:
        """Find all contacts of the coming time dt and return how many there are.

        x (>= n, 4) = position, radius (m); v (>= n, 4) = velocity (m/s), any; skin: grains
        that come within so many of their radii of a wall get a contact. old_row (n,) gives the row
        that a grain had at the previous call (-1: none), None where rows have not moved. gone (s):
        part of the step that is over, by which the bodies have moved on.
        """
        old, self._store = self._store, self._spare
        self._spare = old
        nslabs, cap = len(slab_start) - 1, old[0].shape[1]
        self.slab_start = np.array(slab_start, np.int64)
        while True:
            if self._store is old or self._store[0].shape != (nslabs, cap):
                self._store = self._allocate(nslabs, cap, n)
            elif len(self._store[6]) != n:
                self._store = (*self._store[:6], np.empty(n, np.int32), self._store[7])
            self._publish()
            self.count[:] = 0
            if bodies and n:
                poses = [flat_pose(body, float(dt), gone) for body in bodies]
                self._detect(
                    bodies, poses, x, v, float(dt), np.asarray(gravity, np.float64), float(skin)
                )
            most = int(self.count.max(initial=0))
            if most <= cap:
                break
            cap = -(-int(1.25 * most) // 8) * 8  # eight are read at a time
        kw.note_turns(self.rows, self.plane, self.count)
        if self.contacts and old[5].any():
            self._carry(old, old_row)
        if n >= LARGE:
            self._spare, self._legs = self._store, np.empty((0, 0, 8))
        return self.contacts

    def _detect(
        self, bodies: Sequence[BodyLike], poses: list[Array], x: Array, v: Array, dt: float,
        gravity: Array, skin: float,
    ) -> None:  # fmt: skip
        nslabs, cap = self.rows.shape
        longest = int(np.diff(self.slab_start).max())
        nblocks = -(-longest // kw.BLOCK)
        if self._blocks.shape[0] != nslabs or self._blocks.shape[1] < nblocks:
            self._blocks = np.empty((nslabs, nblocks + nblocks // 4, 9), self.dtype)
        if self._legs.shape[:2] != (nslabs, cap):
            self._legs = pages.zeros((nslabs, cap, 8), np.float64)
        legs = self._legs
        first, follow = self._store[6:]
        kw.bounds(x, v, self.slab_start, self._blocks, first)
        packed = self._pack_all(bodies)
        leg_count = np.zeros(nslabs, np.int64)
        for bends in range(MOST_BENDS + 1):
            for b, (shape, pose) in enumerate(zip(packed, poses, strict=True)):
                head = (x, v, self.slab_start, dt, gravity, skin, b)
                tail = (pose, self._blocks, bends > 0, legs, leg_count, *self._store)
                if shape.mesh:
                    kc.mesh_contacts(*head, shape.kind, *shape.mesh, *tail)
                else:
                    kw.shape_contacts(*head, shape.kind, shape.prm, *tail)
            if self.count.max() > cap:  # find() starts again with more room
                return
            kw.find_legs(
                x, v, dt, gravity, self.rows, self.plane, self.count, first, follow,
                bends > 0, legs, leg_count,
            )  # fmt: skip
            if not leg_count.any():
                return

    def _pack_all(self, bodies: Sequence[BodyLike]) -> list[Packed]:
        """Return the bodies' shapes as arrays, packed once a shape for as long as it is in use."""
        old, self._packed = self._packed, {}
        for body in bodies:
            key = id(body.shape)  # stays unique, for Packed keeps its shape alive
            if key not in self._packed:
                self._packed[key] = old[key] if key in old else pack(body.shape)
        return [self._packed[id(body.shape)] for body in bodies]

    def _carry(self, old: tuple[Array, ...], old_row: Array | None) -> None:
        _, body, plane, impulse, _, _, first, follow = old
        kw.match_contacts(
            self.rows, self.body, self.plane, self.impulse, self.count,
            old_row is not None,
            np.zeros(0, np.int64) if old_row is None else np.ascontiguousarray(old_row, np.int64),
            body.reshape(-1), plane.reshape(-1, 8), impulse.reshape(-1, 4),
            first, follow.reshape(-1), np.full(body.size, -1, np.int64),
        )  # fmt: skip

    def add_forces(self, bodies: Sequence[BodyLike], x: Array) -> None:
        """Add `total` to each body's force (N) and torque about its origin (N m)."""
        out = np.zeros((len(bodies), 6))
        if bodies and self.contacts:
            origin = np.array([b.position for b in bodies], np.float64)
            kw.sum_forces(self.rows, self.body, self.plane, self.total, self.count, x, origin, out)
        for body_, load_ in zip(bodies, out, strict=True):
            body_.force = body_.force + load_[:3]
            body_.torque = body_.torque + load_[3:]

    def state(self) -> dict[str, Array]:
        """Return everything that a restart needs to go on bit for bit."""
        used = int(self.count.max(initial=0))
        names = ("rows", "body", "plane", "impulse", "total")
        arrays = {name: getattr(self, name)[:, :used].copy() for name in names}
        for array in arrays.values():  # what earlier steps left behind is no part of the state
            array[np.arange(used) >= self.count[:, None]] = 0
        return {
            **arrays,
            "count": self.count.copy(),
            "slab_start": self.slab_start.copy(),
            "grains": np.array(len(self._store[6])),
        }

    def restore(self, state: dict[str, Array]) -> None:
        """Take over what `state` returned."""
        count = np.asarray(state["count"], np.int64)
        used = int(count.max(initial=0))
        cap = max(-(-used // 8) * 8, FIRST_CAPACITY)  # eight are read at a time
        self._store = self._allocate(len(count), cap, int(state["grains"]))
        self._publish()
        for name in ("rows", "body", "plane", "impulse", "total"):
            getattr(self, name)[:, :used] = state[name]
        self.count[:] = count
        self.slab_start = np.array(state["slab_start"], np.int64)
        first, follow = self._store[6:]
        for s, k in np.argwhere(np.arange(cap) < count[:, None]):
            follow[s, k] = first[self.rows[s, k]]
            first[self.rows[s, k]] = s * cap + k


def flat_pose(body: BodyLike, dt: float, gone: float = 0.0) -> Array:
    """Flatten a body's pose when `gone` of the step is over, and its motion over the next dt."""
    position, rotation = np.asarray(body.position), np.asarray(body.rotation)
    if gone > 0.0 and not getattr(body, "follows", False):
        position = position + gone * np.asarray(body.velocity)
        rotation = turned(gone * np.asarray(body.angular_velocity)) @ rotation
    pose = np.empty(kd.POSE)
    pose[0:3] = position
    pose[3:12] = rotation.reshape(9)
    pose[12:15] = dt * np.asarray(body.velocity)
    pose[15:18] = dt * np.asarray(body.angular_velocity)
    pose[18] = np.linalg.norm(pose[12:15])
    pose[19] = np.linalg.norm(pose[15:18])
    return pose
