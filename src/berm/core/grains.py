"""Grains: a structure of arrays with room to grow, stable tags and moving rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.pages import zeros

PAD = 8  # rows that eight-lane loads may read past the last grain
LARGE = 200_000  # grains from which solvers give buffers back: memory before page faults

Array = npt.NDArray[Any]


class Grains:
    """All grains of a world, in arrays of `capacity` rows of which the first `n` are alive.

    x: (capacity, 4) position and radius, m. v: (capacity, 4) velocity, m/s, and inverse mass,
    1/kg, 0 where the grain is fixed. m: (capacity,) float64 mass, kg, exactly as it was given and
    kept while a grain is fixed. tag: int64, stable for life. material: int32 index. warm:
    (capacity, 4) what the solver remembers: displacement by contacts in the last substep (m), and
    how many they were. was: int32 row at the last neighbour search (-1: new). Rows move when the
    solver sorts them; tags do not.

    Solvers with rotation call `rotate`, which adds spin: (capacity, 4) angular velocity (rad/s) and
    inverse moment of inertia, 1/(kg m^2); force: (capacity, 8) force (N), 0, torque (N m), 0;
    owner: int32 rigid body that the sphere belongs to (-1: none), by its number in
    `World.clumps`. The inverse mass v[:, 3] of such a sphere is that of the share of the body that
    a contact of it sees, and spin[:, 3] that of its equal share, 1/kg.

    Terrain calls `keep_homes`, which adds home: (capacity, 4) where ground became this grain (m),
    and its radius then (0: not of the ground); still: int32 times in a row that it was at rest.
    """

    FIELDS: tuple[str, ...] = ("x", "v", "m", "tag", "material", "warm", "was", "born")

    def __init__(self, dtype: npt.DTypeLike = np.float32, capacity: int = 64) -> None:
        self.dtype = np.dtype(dtype)
        self.n = 0
        self.next_tag = 0
        self.changed = True  # rows were added or removed since the solver last looked
        self.reweighed = True  # grains came, went, were fixed or freed since it last looked
        self.x: Array = zeros((capacity + PAD, 4), self.dtype)
        self.v: Array = zeros((capacity + PAD, 4), self.dtype)
        self.m: Array = np.zeros(capacity + PAD)
        self.tag: Array = np.full(capacity + PAD, -1, np.int64)
        self.material: Array = np.zeros(capacity + PAD, np.int32)
        self.warm: Array = np.zeros((capacity + PAD, 4), self.dtype)
        self.was: Array = np.full(capacity + PAD, -1, np.int32)
        self.born: Array = np.zeros(capacity + PAD, np.float32)

    def rotate(self) -> None:
        """Give grains a spin, a force and an owner, unless they have them."""
        if self.rotating:
            return
        rows, n = len(self.tag), self.n
        self.spin: Array = zeros((rows, 4), self.dtype)
        self.force: Array = zeros((rows, 8), self.dtype)
        self.owner: Array = np.full(rows, -1, np.int32)
        self.FIELDS = (*self.FIELDS, "spin", "force", "owner")
        self.spin[:n, 3] = 2.5 * self.v[:n, 3] / self.radius**2

    def keep_homes(self) -> None:
        """Give grains a home and a count of rests, unless they have them."""
        if self.homed:
            return
        rows = len(self.tag)
        self.home: Array = zeros((rows, 4), self.dtype)
        self.still: Array = np.zeros(rows, np.int32)
        self.FIELDS = (*self.FIELDS, "home", "still")

    def without_memory(self, dtype: npt.DTypeLike) -> Grains:
        """Return the same grains in another precision, as a solver that is new to them needs them.

        They do not rotate, nothing is remembered of contacts, and tags stay.
        """
        fresh = Grains(dtype, max(self.n, 1))
        fresh.n, fresh.next_tag = self.n, self.next_tag
        if self.homed:
            fresh.keep_homes()
        for name in ("x", "v", "m", "tag", "material", "born", *(("home", "still") * self.homed)):
            getattr(fresh, name)[: self.n] = getattr(self, name)[: self.n]
        return fresh

    @property
    def rotating(self) -> bool:
        """Whether grains have a spin."""
        return "spin" in self.FIELDS

    @property
    def homed(self) -> bool:
        """Whether grains know where they were ground."""
        return "home" in self.FIELDS

    @property
    def angular_velocity(self) -> Array:
        """(n, 3) angular velocities, rad/s: a view; only where grains rotate."""
        return self.spin[: self.n, :3]

    @property
    def capacity(self) -> int:
        """Rows that fit before the arrays grow."""
        return int(self.tag.shape[0]) - PAD

    @property
    def position(self) -> Array:
        """(n, 3) positions, m: a view."""
        return self.x[: self.n, :3]

    @property
    def radius(self) -> Array:
        """(n,) radii, m: a view."""
        return self.x[: self.n, 3]

    @property
    def velocity(self) -> Array:
        """(n, 3) velocities, m/s: a view."""
        return self.v[: self.n, :3]

    @property
    def mass(self) -> Array:
        """(n,) masses, kg, float64: a view; spheres of a body have equal shares of its mass."""
        return self.m[: self.n]

    @property
    def fixed(self) -> Array:
        """(n,) whether each grain is fixed: nothing moves it, and it bears whatever meets it."""
        return self.v[: self.n, 3] == 0

    @property
    def tags(self) -> Array:
        """(n,) stable tags: a view."""
        return self.tag[: self.n]

    def reserve(self, capacity: int) -> None:
        """Make room for `capacity` grains."""
        if capacity <= self.capacity:
            return
        rows = max(capacity, int(1.5 * self.capacity)) + PAD
        for name in self.FIELDS:
            old = getattr(self, name)
            new = zeros((rows, *old.shape[1:]), old.dtype)
            new[: self.n] = old[: self.n]
            setattr(self, name, new)

    def fix(self, rows: Array) -> None:
        """Hold the grains of these rows where they are; their masses are remembered."""
        self.v[rows] = 0
        self.warm[rows] = 0
        if self.rotating:
            self.spin[rows] = 0
        self.reweighed = True

    def free(self, rows: Array) -> None:
        """Let the grains of these rows move again, with the masses that they had, from rest."""
        rows = rows[self.v[rows, 3] == 0]
        self.v[rows, 3] = 1.0 / self.m[rows]
        if self.rotating:
            self.spin[rows, 3] = 2.5 / (self.m[rows] * self.x[rows, 3].astype(np.float64) ** 2)
        self.reweighed = True

    def append(
        self, position: Array, radius: Array, velocity: Array, mass: Array, material: int, t: float
    ) -> Array:
        """Add grains and return their tags (int64)."""
        k = len(position)
        self.reserve(self.n + k)
        rows = slice(self.n, self.n + k)
        self.x[rows, :3] = position
        self.x[rows, 3] = radius
        self.v[rows, :3] = velocity
        self.v[rows, 3] = 1.0 / mass
        self.m[rows] = mass
        self.tag[rows] = np.arange(self.next_tag, self.next_tag + k)
        self.material[rows] = material
        self.warm[rows] = 0
        self.was[rows] = -1
        self.born[rows] = t
        if self.rotating:
            self.spin[rows] = 0
            self.spin[rows, 3] = 2.5 / (mass * np.asarray(radius) ** 2)
            self.force[rows] = 0
            self.owner[rows] = -1
        if self.homed:
            self.home[rows] = 0
            self.still[rows] = 0
        self.n += k
        self.next_tag += k
        self.changed = self.reweighed = True
        return self.tag[rows].copy()

    def remove(self, mask: Array) -> int:
        """Remove the rows where `mask` (n,) is true; the order of the rest stays."""
        keep = np.flatnonzero(~np.asarray(mask, bool))
        removed = self.n - len(keep)
        if removed:
            for name in self.FIELDS:
                array = getattr(self, name)
                array[: len(keep)] = array[keep]
            self.n = len(keep)
            self.changed = self.reweighed = True
        return removed

    def rows_of(self, tags: npt.ArrayLike) -> Array:
        """Return the present rows of the given tags."""
        from berm.core.errors import InputError

        try:
            wanted = np.atleast_1d(np.asarray(tags))
            wanted = wanted.astype(np.int64, casting="safe" if wanted.size else "unsafe")
        except (TypeError, ValueError):
            raise InputError("grain tags", tags, "whole numbers") from None
        if not self.n and wanted.size:
            raise InputError("grain tags", wanted[:5].tolist(), "none: no grain is alive")
        by_tag = np.argsort(self.tags, kind="stable")
        at = np.searchsorted(self.tags, wanted, sorter=by_tag)
        at = np.minimum(at, self.n - 1)
        rows = by_tag[at]
        missing = wanted[self.tags[rows] != wanted]
        if missing.size:
            raise InputError("grain tags", missing[:5].tolist(), "tags of grains that are alive")
        result: Array = rows
        return result
