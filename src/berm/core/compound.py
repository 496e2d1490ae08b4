"""Compound grains as bodies: a sequence of handles by stable tags, and columns as arrays.

Their state is that of `Clumps`, in which kernels move them by the ten thousand; names and meanings
here are those of `Bodies` and `Body`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.clumps import Clumps
from berm.core.clusters import Cluster
from berm.core.errors import InputError
from berm.core.grains import Grains
from berm.core.rotations import inverse, matrix_of, turned

Array = npt.NDArray[Any]


class CompoundGrains:
    """All compound grains of a world; clumps that cover a body are not among them.

    Columns, copies of the present state, in the order of the tags:
    tag          number that no other has or had
    x (3,)       centre of mass, m                     q (4,)       principal axes to world
    v (3,)       velocity of the centre, m/s           L (3,)       angular momentum about it, world
    omega (3,)   angular velocity, rad/s
    mass         kg                                    moments (3,) principal moments, kg m^2
    """

    def __init__(self, clumps: Clumps, grains: Grains) -> None:
        self._clumps, self._grains = clumps, grains

    @property
    def rows(self) -> Array:
        """(n,) their rows in `Clumps`."""
        return np.flatnonzero(self._clumps.body < 0)

    def __len__(self) -> int:
        return int((self._clumps.body < 0).sum())

    def __iter__(self) -> Iterator[CompoundGrain]:
        return iter(self[:])

    def __getitem__(self, k: Any) -> Any:
        tags = self.tag[k]
        if isinstance(k, slice):
            return [self._handle(tag) for tag in tags.tolist()]
        return self._handle(int(tags))

    def with_tag(self, tag: int) -> CompoundGrain:
        """The one with this tag, as `World.add_clusters` returned it."""
        row = self._clumps.row_of(tag)
        if row is None or self._clumps.body[row] >= 0:
            raise InputError("compound grain: tag", tag, "that of a compound grain of this world")
        return self._handle(int(tag))

    def _handle(self, tag: int) -> CompoundGrain:
        return CompoundGrain(self._clumps, self._grains, tag)

    def __repr__(self) -> str:
        return f"CompoundGrains({len(self)})"

    # ---- columns --------------------------------------------------------------------------

    @property
    def tag(self) -> Array:
        """(n,) stable numbers."""
        return self._clumps.tag[self.rows]

    @property
    def x(self) -> Array:
        """(n, 3) centres of mass, m."""
        return self._clumps.position[self.rows]

    @property
    def q(self) -> Array:
        """(n, 4) quaternions (w, x, y, z) from principal axes to the world."""
        return self._clumps.q[self.rows]

    @property
    def v(self) -> Array:
        """(n, 3) velocities of the centres, m/s."""
        return self._clumps.velocity[self.rows]

    @property
    def L(self) -> Array:
        """(n, 3) angular momenta about the centres, in the world's axes, kg m^2/s."""
        return self._clumps.angular_momentum[self.rows]

    @property
    def omega(self) -> Array:
        """(n, 3) angular velocities, rad/s."""
        return self._clumps.angular_velocity[self.rows]

    @property
    def mass(self) -> Array:
        """(n,) masses, kg."""
        return self._clumps.mass[self.rows]

    @property
    def moments(self) -> Array:
        """(n, 3) principal moments, kg m^2."""
        return self._clumps.moments[self.rows, :3]

    # ---- what all of them do --------------------------------------------------------------

    def kinetic_energy(self) -> float:
        """Of all, translation and rotation, J."""
        own = self._clumps.L_own[self.rows, :3]
        straight = self.mass @ (self.v**2).sum(axis=1)
        return float(0.5 * (straight + (own**2 / self.moments).sum()))

    def momentum(self) -> Array:
        """Linear momentum (3,) of all, kg m/s."""
        return np.asarray(self.mass @ self.v)

    def angular_momentum(self, about: npt.ArrayLike = (0.0, 0.0, 0.0)) -> Array:
        """Angular momentum (3,) of all about a point (m), kg m^2/s."""
        arm = self.x - np.asarray(about, float)
        return np.asarray((self.L + np.cross(arm, self.mass[:, None] * self.v)).sum(axis=0))


class CompoundGrain:
    """A handle to one compound grain by its tag; it holds as long as the grain exists."""

    def __init__(self, clumps: Clumps, grains: Grains, tag: int) -> None:
        self._clumps, self._grains, self.tag = clumps, grains, tag

    def __repr__(self) -> str:
        return f"CompoundGrain({self.tag}, {self.cluster.name!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CompoundGrain):
            return NotImplemented
        return self._clumps is other._clumps and self.tag == other.tag

    def __hash__(self) -> int:
        return hash((id(self._clumps), self.tag))

    @property
    def row(self) -> int:
        """Its present row in `Clumps`."""
        row = self._clumps.row_of(self.tag)
        if row is None:
            raise InputError(f"compound grain {self.tag}", "removed", "one that exists")
        return row

    @property
    def cluster(self) -> Cluster:
        """The spheres that it is made of."""
        found: Cluster = self._clumps.templates[int(self._clumps.kind[self.row])]
        return found

    @property
    def grain_tags(self) -> Array:
        """Tags of its spheres among the grains."""
        row, first = self.row, self._clumps.first
        return self._clumps.members[first[row] : first[row + 1]].copy()

    @property
    def position(self) -> Array:
        """Centre of mass (3,), m."""
        return self._clumps.position[self.row].copy()

    @property
    def rotation(self) -> Array:
        """Rotation (3, 3) from the cluster's principal axes to the world."""
        return matrix_of(self._clumps.q[self.row])

    @property
    def velocity(self) -> Array:
        """Velocity (3,) of the centre of mass, m/s."""
        return self._clumps.velocity[self.row].copy()

    @property
    def angular_velocity(self) -> Array:
        """Angular velocity (3,), rad/s."""
        row = self.row
        c = self._clumps
        return turned(c.q[row], c.L_own[row, :3] / c.moments[row, :3])

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return float(1.0 / self._clumps.x[self.row, 3])

    @property
    def inertia(self) -> Array:
        """Inertia (3, 3) about the centre of mass, in the principal axes, kg m^2."""
        return np.diag(self._clumps.moments[self.row, :3])

    @property
    def momentum(self) -> Array:
        """Linear momentum (3,), kg m/s."""
        return np.asarray(self.mass * self.velocity)

    @property
    def angular_momentum(self) -> Array:
        """Angular momentum (3,) about the centre of mass, kg m^2/s."""
        row = self.row
        return turned(self._clumps.q[row], self._clumps.L_own[row, :3])

    @property
    def kinetic_energy(self) -> float:
        """Kinetic energy, J."""
        c, row = self._clumps, self.row
        turning = (c.L_own[row, :3] ** 2 / c.moments[row, :3]).sum()
        return float(0.5 * (self.mass * (c.velocity[row] @ c.velocity[row]) + turning))

    def set_velocity(
        self, velocity: npt.ArrayLike, angular_velocity: npt.ArrayLike = (0.0, 0.0, 0.0)
    ) -> None:
        """Give its centre a velocity (m/s), and the grain an angular one (rad/s)."""
        what = f"compound grain {self.tag}"
        v = checks.vector(f"{what}: velocity", velocity, "three finite numbers, m/s")
        omega = checks.vector(
            f"{what}: angular_velocity", angular_velocity, "three finite numbers, rad/s"
        )
        c, row = self._clumps, self.row
        c.v[row, :3] = v
        c.L_own[row, :3] = c.moments[row, :3] * turned(inverse(c.q[row]), omega)
        spheres = self._grains.rows_of(self.grain_tags)
        arms = self._grains.x[spheres, :3] - c.position[row]
        self._grains.v[spheres, :3] = v + np.cross(omega, arms)
        self._grains.spin[spheres, :3] = omega

    def apply_force(self, force: npt.ArrayLike, point: npt.ArrayLike | None = None) -> None:
        """Add a force (3,) N that acts during the coming step, at a point (m) of the world.

        Without a point, at the centre of mass.
        """
        what = f"compound grain {self.tag}"
        push = checks.vector(f"{what}: force", force, "three finite numbers, N")
        c, row = self._clumps, self.row
        c.applied[row, :3] += push
        if point is not None:
            where = checks.vector(f"{what}: point", point, "three finite numbers, m")
            c.applied[row, 3:] += np.cross(where - c.position[row], push)

    def apply_torque(self, torque: npt.ArrayLike) -> None:
        """Add a torque (3,) N m that acts during the coming step."""
        what = f"compound grain {self.tag}: torque"
        self._clumps.applied[self.row, 3:] += checks.vector(
            what, torque, "three finite numbers, N m"
        )
