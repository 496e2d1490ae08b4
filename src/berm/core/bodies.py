"""Bodies: everything rigid that grains and other bodies meet, as one structure of arrays.

`Bodies` holds the state, `Body` is a handle to one row by its tag. Row 0 is the ground, on which
everything stands that is fixed to the world; it has no shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, get_args

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.errors import InputError
from berm.core.mass import MassProperties, of_shape
from berm.core.motion import Fixed, Motion, is_rotation
from berm.core.rotations import matrix_of, quaternion_of, rotation_vector
from berm.core.shapes import Shape
from berm.core.table import Table

Array = npt.NDArray[np.float64]

STATIC, KINEMATIC, DYNAMIC = range(3)
KINDS = ("static", "kinematic", "dynamic")
SOURCES = ("grains", "bodies", "joints")
GRAINS, BODIES, JOINTS = range(3)
EYE = np.eye(3)
ONE = (1.0, 0.0, 0.0, 0.0)


class Bodies(Table):
    """All bodies of a world; a sequence of handles, and columns of `n` rows, the ground first.

    kind         STATIC, KINEMATIC or DYNAMIC          material     index of the world's materials
    x (3,)       centre of mass, m                     q (4,)       principal axes to world
    v (3,)       velocity of the centre, m/s           L (3,)       angular momentum about it, world
    omega (3,)   angular velocity, rad/s
    mass, w      kg and 1/kg (0: forces do not move it)
    moments (3,) principal moments, kg m^2             axes (3, 3)  principal axes in its frame
    offset (3,)  centre of mass in its frame, m
    org (3,), rot (3, 3)   pose of its frame           pace (3,)    velocity of its origin, m/s
    load (3, 6)  mean force (N) and torque about the origin (N m) over the last step, by source:
                 GRAINS, BODIES, JOINTS
    applied (6,) force and torque about the centre of mass for the coming step, N and N m
    belt (5,)    axis (3,) in its frame about which its surface runs, its speed (m/s), and the part
                 of friction that acts across the belt
    family       bodies of one family, from 0 up, pass each other: those of a machine; -1: none
    super_body   tag of the body that leads the super-body that it is merged into, 0: it is part of
                 the ground, -1: it is by itself
    seat (7,), unit_w, unit_moments (3,)   where it sits in that; of one that leads, 1/kg and kg m^2
                 of the whole
    calm, felt (3,)   steps for which it was quiet; gravity in its axes when last looked at, m/s^2
    """

    COLUMNS: ClassVar[dict[str, tuple[tuple[int, ...], Any, Any]]] = {
        "kind": ((), np.int64, STATIC), "material": ((), np.int64, 0),
        "x": ((3,), float, 0.0), "q": ((4,), float, ONE), "v": ((3,), float, 0.0),
        "L": ((3,), float, 0.0), "omega": ((3,), float, 0.0),
        "mass": ((), float, np.inf), "w": ((), float, 0.0), "moments": ((3,), float, 1.0),
        "axes": ((3, 3), float, EYE), "offset": ((3,), float, 0.0),
        "org": ((3,), float, 0.0), "rot": ((3, 3), float, EYE), "pace": ((3,), float, 0.0),
        "load": ((3, 6), float, 0.0), "applied": ((6,), float, 0.0),
        "belt": ((5,), float, 0.0), "family": ((), np.int64, -1),
        "super_body": ((), np.int64, -1),
        "seat": ((7,), float, 0.0), "unit_w": ((), float, 1.0), "unit_moments": ((3,), float, 1.0),
        "calm": ((), np.int64, 0), "felt": ((3,), float, 0.0),
    }  # fmt: skip
    kind: npt.NDArray[np.int64]
    material: npt.NDArray[np.int64]
    x: Array
    q: Array
    v: Array
    L: Array
    omega: Array
    mass: Array
    w: Array
    moments: Array
    axes: Array
    offset: Array
    org: Array
    rot: Array
    pace: Array
    load: Array
    applied: Array
    belt: Array
    family: npt.NDArray[np.int64]
    super_body: npt.NDArray[np.int64]
    seat: Array
    unit_w: Array
    unit_moments: Array
    calm: npt.NDArray[np.int64]
    felt: Array

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.shapes: list[Any] = []
        self.motions: list[Motion] = []
        self.starts: list[tuple[Array, Array]] = []  # pose when added
        self.handles: list[Body] = []
        self.add_row("the ground", None, Fixed(), np.zeros(3), EYE)

    # ---- rows -----------------------------------------------------------------------------

    def add_row(
        self, name: str, shape: Any, motion: Motion, position: Array, rotation: Array, **more: Any
    ) -> int:
        """Add a row at a pose; return its tag."""
        kind = STATIC if isinstance(motion, Fixed) else KINEMATIC
        tag = self.append(
            kind=kind, x=position, q=quaternion_of(rotation), org=position, rot=rotation, **more
        )
        self.names.append(name)
        self.shapes.append(shape)
        self.motions.append(motion)
        self.starts.append((position.copy(), rotation.copy()))
        return tag

    def add(self, body: Body) -> Body:
        """Take over a body that was made by itself."""
        old, row = body.bodies, body.row
        values = {name: old._store[name][row] for name in self.COLUMNS}
        tag = self.append(**values)
        for lists in ("names", "shapes", "motions", "starts"):
            getattr(self, lists).append(getattr(old, lists)[row])
        body.bodies, body.tag_ = self, tag
        self.handles.append(body)
        return body

    def remove(self, body: Body) -> None:
        """Remove one body; the rows of the others close up, their tags stay."""
        row = self.row_of(body.tag_)
        self.wake_all() if self.kind[row] != DYNAMIC else self.wake(row)
        gone = np.zeros(self.n, bool)
        gone[row] = True
        alone = Bodies()
        values = {name: self._store[name][row].copy() for name in self.COLUMNS}
        for lists in ("names", "shapes", "motions", "starts"):
            getattr(alone, lists).append(getattr(self, lists).pop(row))
        tag = alone.append(**values)
        self.drop(gone)
        self.handles.remove(body)
        body.bodies, body.tag_ = alone, tag

    def __len__(self) -> int:
        return self.n - 1

    def __iter__(self) -> Iterator[Body]:
        return iter(self.handles)

    def __getitem__(self, k: Any) -> Any:
        return self.handles[k]

    def __contains__(self, body: object) -> bool:
        return any(body is known for known in self.handles)

    # ---- super-bodies ---------------------------------------------------------------------

    def wake(self, row: int) -> None:
        """Dissolve the super-body that a row is merged into: something acts on it.

        Of the ground, the row alone leaves; what lies on it follows when it moves.
        """
        self.calm[row] = 0
        leader = self.super_body[row]
        if leader > 0:
            self.calm[self.super_body == leader] = 0
            self.super_body[self.super_body == leader] = -1
        else:
            self.super_body[row] = -1

    def wake_all(self) -> None:
        """Dissolve all super-bodies."""
        self.super_body[:] = -1
        self.calm[:] = 0

    # ---- what all of them do --------------------------------------------------------------

    @property
    def dynamic(self) -> npt.NDArray[np.bool_]:
        """(n,) whether forces move a row."""
        return np.asarray(self.kind == DYNAMIC)

    def follow(self) -> None:
        """Bring pose and velocity of the dynamic bodies' frames up to date with their centres."""
        for row in np.flatnonzero(self.dynamic):
            self.follow_row(int(row))

    def follow_row(self, row: int) -> None:
        """Bring pose and velocity of one dynamic body's frame up to date with its centre."""
        frame = matrix_of(self.q[row])
        self.omega[row] = frame @ ((frame.T @ self.L[row]) / self.moments[row])
        self.rot[row] = frame @ self.axes[row].T
        arm = self.rot[row] @ self.offset[row]
        self.org[row] = self.x[row] - arm
        self.pace[row] = self.v[row] - np.cross(self.omega[row], arm)

    def prepare(self, t: float, dt: float) -> None:
        """Set driven bodies to their poses at t (s), with the velocities that lead to t + dt."""
        for row in np.flatnonzero(self.kind == KINEMATIC):
            here, turn = self.pose_at(int(row), t)
            there, turned = self.pose_at(int(row), t + dt)
            self.org[row] = self.x[row] = here
            self.rot[row], self.q[row] = turn, quaternion_of(turn)
            self.pace[row] = self.v[row] = (there - here) / dt
            self.omega[row] = rotation_vector(turned @ turn.T) / dt

    def pose_at(self, row: int, t: float) -> tuple[Array, Array]:
        """Position and rotation at time t (s) of a body that does not move by itself."""
        shift, turn = self.motions[row].pose(t)
        what = f"body {self.names[row]!r}: motion at t = {t:g} s"
        shift = checks.vector(what, shift, "a displacement of three finite numbers, m")
        if not np.isfinite(turn).all():
            raise InputError(what, turn, "a rotation matrix of finite numbers")
        position, rotation = self.starts[row]
        return position + shift, turn @ rotation

    def kinetic_energy(self) -> float:
        """Of all dynamic bodies, translation and rotation, J."""
        free = np.flatnonzero(self.dynamic)
        v = self.v[free]
        straight = np.vdot(self.mass[free], np.einsum("ij,ij->i", v, v))
        return 0.5 * float(straight + np.vdot(self.L[free], self.omega[free]))

    def momentum(self) -> Array:
        """Linear momentum (3,) of all dynamic bodies, kg m/s."""
        free = self.dynamic
        return np.asarray(self.mass[free] @ self.v[free])

    def angular_momentum(self, about: npt.ArrayLike = (0.0, 0.0, 0.0)) -> Array:
        """Angular momentum (3,) of all dynamic bodies about a point (m), kg m^2/s."""
        free = self.dynamic
        arm = self.x[free] - np.asarray(about, float)
        own = np.cross(arm, self.mass[free, None] * self.v[free])
        return np.asarray((self.L[free] + own).sum(axis=0))


class Body:
    """A handle to one body: a shape with a pose and a material, fixed, driven or free to move.

    Without a motion it stays where it is; with one it is driven; `set_free` lets forces move it.
    A body that was not added to a world lives in a table of its own.
    """

    def __init__(
        self,
        shape: Any,
        name: str,
        material: int,
        position: npt.ArrayLike = (0.0, 0.0, 0.0),
        rotation: npt.ArrayLike | None = None,
        motion: Motion | None = None,
    ) -> None:
        if not isinstance(shape, Shape):
            kinds = ", ".join(kind.__name__ for kind in get_args(Shape))
            raise InputError(f"body {name!r}: shape", shape, f"one of {kinds}, with its sizes")
        if motion is not None and not hasattr(motion, "pose"):
            raise InputError(
                f"body {name!r}: motion", motion, "Linear, Spin, Keyframes, Steered or Function(f)"
            )
        where = checks.vector(f"body {name!r}: position", position, "three finite numbers, m")
        if rotation is not None and not is_rotation(rotation):
            raise InputError(f"body {name!r}: rotation", rotation, "a 3 x 3 rotation matrix")
        turn = EYE if rotation is None else np.array(rotation, float)
        self.bodies = Bodies()
        self.tag_ = self.bodies.add_row(
            name, shape, motion or Fixed(), where, turn, material=material
        )

    def __repr__(self) -> str:
        return f"Body({self.name!r}, {self.kind}, {type(self.shape).__name__.lower()})"

    # ---- what it is -----------------------------------------------------------------------

    @property
    def tag(self) -> int:
        """Number that no other body of its world has or had."""
        return self.tag_

    @property
    def row(self) -> int:
        """Its present row in the columns of `Bodies`."""
        return self.bodies.row_of(self.tag_)

    @property
    def name(self) -> str:
        """Name, unique in its world."""
        return self.bodies.names[self.row]

    @property
    def shape(self) -> Any:
        """Shape in the body's frame."""
        return self.bodies.shapes[self.row]

    @shape.setter
    def shape(self, shape: Any) -> None:
        if not isinstance(shape, Shape):
            kinds = ", ".join(kind.__name__ for kind in get_args(Shape))
            raise InputError(f"body {self.name!r}: shape", shape, f"one of {kinds}")
        self.bodies.shapes[self.row] = shape
        self.bodies.wake_all()

    @property
    def material(self) -> int:
        """Index of its material in its world."""
        return int(self.bodies.material[self.row])

    @material.setter
    def material(self, index: int) -> None:
        self.bodies.material[self.row] = index

    @property
    def motion(self) -> Motion:
        """How it is driven; `Fixed` where it is not."""
        return self.bodies.motions[self.row]

    @motion.setter
    def motion(self, motion: Motion) -> None:
        if self.dynamic or not hasattr(motion, "pose"):
            raise InputError(
                f"body {self.name!r}: motion", motion, "a motion, for a body that is not dynamic"
            )
        self.bodies.wake_all()
        self.bodies.motions[self.row] = motion
        self.bodies.kind[self.row] = STATIC if isinstance(motion, Fixed) else KINEMATIC

    @property
    def dynamic(self) -> bool:
        """Whether forces move the body."""
        return int(self.bodies.kind[self.row]) == DYNAMIC

    @property
    def driven(self) -> bool:
        """Whether the body has a motion of its own."""
        return int(self.bodies.kind[self.row]) == KINEMATIC

    @property
    def kind(self) -> str:
        """One of "static", "kinematic" and "dynamic"."""
        return KINDS[int(self.bodies.kind[self.row])]

    # ---- where it is ----------------------------------------------------------------------

    @property
    def position(self) -> Array:
        """Position (3,) of the body's origin for the coming step, m."""
        return self.bodies.org[self.row].copy()

    @property
    def rotation(self) -> Array:
        """Rotation (3, 3) from the body's frame to the world."""
        return self.bodies.rot[self.row].copy()

    @property
    def velocity(self) -> Array:
        """Velocity (3,) of the body's origin, m/s."""
        return self.bodies.pace[self.row].copy()

    @property
    def super_body(self) -> int:
        """Tag of the body that leads what it is merged into; 0: the ground; -1: by itself."""
        return int(self.bodies.super_body[self.row])

    @property
    def angular_velocity(self) -> Array:
        """Angular velocity (3,), rad/s."""
        return self.bodies.omega[self.row].copy()

    @property
    def start_position(self) -> Array:
        """Position (3,) of the body's origin when it was made, m."""
        return self.bodies.starts[self.row][0]

    @property
    def start_rotation(self) -> Array:
        """Rotation (3, 3) of the body when it was made."""
        return self.bodies.starts[self.row][1]

    def pose_at(self, t: float) -> tuple[Array, Array]:
        """Return position and rotation in the world at time t (s) of a body that is not dynamic."""
        return self.bodies.pose_at(self.row, t)

    def prepare(self, t: float, dt: float) -> None:
        """Set the pose at t and the velocities that lead to the pose at t + dt."""
        self.bodies.prepare(t, dt)

    def move_to(self, position: npt.ArrayLike, rotation: npt.ArrayLike | None = None) -> None:
        """Put a static or dynamic body somewhere else (m; 3 x 3 matrix); its velocity stays."""
        row, b = self.row, self.bodies
        if self.driven:
            raise InputError(f"body {self.name!r}: move_to", self.kind, "a static or dynamic body")
        where = checks.vector(f"body {self.name!r}: position", position, "three finite numbers, m")
        if rotation is not None and not is_rotation(rotation):
            raise InputError(f"body {self.name!r}: rotation", rotation, "a 3 x 3 rotation matrix")
        turn = b.rot[row] if rotation is None else np.array(rotation, float)
        b.wake(row) if self.dynamic else b.wake_all()
        omega, pace = b.omega[row].copy(), b.pace[row].copy()
        b.org[row], b.rot[row] = where, turn
        b.x[row] = where + turn @ b.offset[row]
        b.q[row] = quaternion_of(turn @ b.axes[row])
        if self.dynamic:
            self._set_velocity(pace, omega)

    # ---- what it feels --------------------------------------------------------------------

    @property
    def force(self) -> Array:
        """Mean force (3,) over the last step from grains, other bodies and joints, N.

        Without gravity and without what was applied.
        """
        return np.asarray(self.bodies.load[self.row, :, :3].sum(axis=0))

    @property
    def torque(self) -> Array:
        """Mean torque (3,) about the body's origin over the last step, from all as `force`, N m."""
        return np.asarray(self.bodies.load[self.row, :, 3:].sum(axis=0))

    def force_from(self, source: str) -> Array:
        """Mean force (3,) over the last step from "grains", "bodies" or "joints", N."""
        return self.bodies.load[self.row, self._source(source), :3].copy()

    def torque_from(self, source: str) -> Array:
        """Mean torque (3,) about the origin from "grains", "bodies" or "joints", N m."""
        return self.bodies.load[self.row, self._source(source), 3:].copy()

    def _source(self, source: str) -> int:
        if source not in SOURCES:
            raise InputError(f"body {self.name!r}: source of force", source, ", ".join(SOURCES))
        return SOURCES.index(source)

    # ---- free bodies ----------------------------------------------------------------------

    def set_free(
        self,
        density: float,
        mass: float | None = None,
        velocity: npt.ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: npt.ArrayLike = (0.0, 0.0, 0.0),
        inertia: npt.ArrayLike | None = None,
        centre: npt.ArrayLike | None = None,
    ) -> None:
        """Make the body dynamic: mass (kg) and inertia from shape and density (kg/m^3), or mass.

        inertia (3, 3), or moments (3,), about the centre of mass, kg m^2, and centre (3,) in m,
        both in the body's frame, are taken instead of the shape's where they are given, with
        `mass`.
        """
        name = self.name
        if self.driven:
            raise InputError(
                f"body {name!r}: motion", type(self.motion).__name__,
                "either a motion or dynamic=True",
            )  # fmt: skip
        for label, value in (("density", density), ("mass", mass)):
            if value is not None and not (np.isfinite(value) and value > 0.0):
                raise InputError(f"body {name!r}: {label}", value, "a finite number above 0")
        of = self._properties(mass, inertia, centre)
        if mass is not None:
            density = float(mass) / of.volume
        moments, axes = of.principal()
        row, b = self.row, self.bodies
        b.kind[row], b.mass[row] = DYNAMIC, density * of.volume
        b.w[row], b.moments[row] = 1.0 / b.mass[row], density * moments
        b.axes[row], b.offset[row] = axes, of.centre
        b.x[row] = b.org[row] + b.rot[row] @ of.centre
        b.q[row] = quaternion_of(b.rot[row] @ axes)
        self.set_velocity(velocity, angular_velocity)

    def _properties(
        self, mass: float | None, inertia: npt.ArrayLike | None, centre: npt.ArrayLike | None
    ) -> MassProperties:
        """Volume, centre and inertia of unit density."""
        name = self.name
        if inertia is not None:
            if mass is None:
                raise InputError(f"body {name!r}: inertia", "no mass", "inertia together with mass")
            try:
                matrix = np.array(inertia, float)
            except (TypeError, ValueError):
                matrix = np.zeros(0)
            if matrix.shape == (3,):
                matrix = np.diag(matrix)
            if matrix.shape != (3, 3) or not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-12):
                raise InputError(
                    f"body {name!r}: inertia", inertia, "three moments, or a symmetric 3 x 3 matrix"
                )
            given = (0.0, 0.0, 0.0) if centre is None else centre
            middle = checks.vector(f"body {name!r}: centre", given)
            try:
                return MassProperties(1.0, middle, matrix / mass)
            except InputError as error:
                raise InputError(f"body {name!r}: inertia", inertia, error.allowed) from error
        try:
            of = of_shape(self.shape)
        except InputError as error:
            raise InputError(f"body {name!r}: dynamic, but no {error.what}", allowed=error.allowed
                             ) from error  # fmt: skip
        if centre is not None:
            middle = checks.vector(f"body {name!r}: centre", centre)
            of = MassProperties(of.volume, middle, of.inertia)
        return of

    def set_velocity(
        self, velocity: npt.ArrayLike, angular_velocity: npt.ArrayLike = (0.0, 0.0, 0.0)
    ) -> None:
        """Give a dynamic body's origin a velocity (m/s), and the body an angular one (rad/s)."""
        self._check_free()
        v, omega = np.array(velocity, float), np.array(angular_velocity, float)
        for label, value in (("velocity", v), ("angular_velocity", omega)):
            if value.shape != (3,) or not np.isfinite(value).all():
                raise InputError(
                    f"body {self.name!r}: {label}", value.tolist(), "three finite numbers"
                )
        self.bodies.wake(self.row)
        self._set_velocity(v, omega)

    def _set_velocity(self, v: Array, omega: Array) -> None:
        row, b = self.row, self.bodies
        frame = matrix_of(b.q[row])
        b.v[row] = v + np.cross(omega, b.rot[row] @ b.offset[row])
        b.L[row] = frame @ (b.moments[row] * (frame.T @ omega))
        b.follow_row(row)

    def apply_force(self, force: npt.ArrayLike, point: npt.ArrayLike | None = None) -> None:
        """Add a force (3,) N that acts during the coming step, at a point (m) of the world.

        Without a point, at the centre of mass.
        """
        self._check_free()
        row, b = self.row, self.bodies
        push = checks.vector(f"body {self.name!r}: force", force, "three finite numbers, N")
        b.wake(row)
        b.applied[row, :3] += push
        if point is not None:
            where = checks.vector(f"body {self.name!r}: point", point, "three finite numbers, m")
            b.applied[row, 3:] += np.cross(where - b.x[row], push)

    def apply_torque(self, torque: npt.ArrayLike) -> None:
        """Add a torque (3,) N m that acts during the coming step."""
        self._check_free()
        twist = checks.vector(f"body {self.name!r}: torque", torque, "three finite numbers, N m")
        self.bodies.wake(self.row)
        self.bodies.applied[self.row, 3:] += twist

    def belt(self, axis: npt.ArrayLike, speed: float, across: float = 0.2) -> None:
        """Let the surface run about an axis (3,) of the body's frame with a speed (m/s): a track.

        Where it touches other bodies, friction heads for that speed; `across` is the part of
        friction that acts square to it. Positive: as the rim of a wheel that turns about the axis.
        Grains of solver "p2" go along too, with friction alike in all directions.
        """
        what = f"body {self.name!r}: belt"
        along = checks.vector(f"{what}: axis", axis)
        length = float(np.linalg.norm(along))
        if not length > 0.0:
            raise InputError(f"{what}: axis", along.tolist(), "an axis that is not zero")
        fast = checks.number(f"{what}: speed", speed, "a finite number, m/s")
        part = checks.number(f"{what}: across", across, "from 0 to 1", lambda x: 0.0 <= x <= 1.0)
        self.bodies.belt[self.row] = [*(along / length), fast, part]

    def _check_free(self) -> None:
        if not self.dynamic:
            raise InputError(f"body {self.name!r}", self.kind, "a dynamic body")

    @property
    def mass(self) -> float:
        """Mass (kg); infinite where forces do not move the body."""
        return float(self.bodies.mass[self.row])

    @property
    def inertia(self) -> Array:
        """Inertia (3, 3) about the centre of mass, in the body's frame, kg m^2."""
        self._check_free()
        axes = self.bodies.axes[self.row]
        return np.asarray(axes * self.bodies.moments[self.row] @ axes.T)

    @property
    def centre(self) -> Array:
        """Centre of mass (3,) of a dynamic body in the world, m."""
        self._check_free()
        return self.bodies.x[self.row].copy()

    @property
    def momentum(self) -> Array:
        """Linear momentum (3,) of a dynamic body, kg m/s."""
        self._check_free()
        return np.asarray(self.bodies.mass[self.row] * self.bodies.v[self.row])

    @property
    def angular_momentum(self) -> Array:
        """Angular momentum (3,) of a dynamic body about its centre of mass, kg m^2/s."""
        self._check_free()
        return self.bodies.L[self.row].copy()

    @property
    def kinetic_energy(self) -> float:
        """Kinetic energy of a dynamic body, J."""
        self._check_free()
        row, b = self.row, self.bodies
        return float(0.5 * (b.mass[row] * (b.v[row] @ b.v[row]) + b.L[row] @ b.omega[row]))
