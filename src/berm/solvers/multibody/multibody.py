"""The mechanism of bodies under every solver: tables, the step of bodies alone, and the state.

[Lacoursiere10] with joints, motors and contacts between bodies as rows of one problem; the kernels
are in `kernels.multibody`. A solver calls `follow` at the start of a step, then either `advance`,
or hands `arrays` to a kernel of its own that goes through substeps with its grains; then `finish`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.core.bodies import BODIES, JOINTS, KINEMATIC, Bodies
from berm.core.errors import InputError, SimulationError
from berm.core.joints import Joints
from berm.core.materials import Material, mix
from berm.core.report import StepReport
from berm.kernels.geometry.distance import PARAMS, POSE
from berm.kernels.multibody import contact_rows as cr
from berm.kernels.multibody import solve, substep
from berm.kernels.multibody.arrays import BodyArrays, JointArrays
from berm.kernels.multibody.contact_list import MEMORY
from berm.kernels.multibody.motion import refresh_all
from berm.kernels.multibody.substep import Means, Solids
from berm.kernels.walls.poses import flat_poses
from berm.solvers.base import WorldView
from berm.solvers.multibody.merging import NEVER, Merging
from berm.solvers.multibody.samples import ball_around, box_around, sample
from berm.solvers.walls.shapes import Packed, ShapeTable, pack

Array = NDArray[Any]

METHODS = {
    "auto": solve.AUTO, "sweeps": solve.SWEEPS, "direct": solve.DIRECT, "hybrid": solve.HYBRID,
    "split": solve.SPLIT,
}  # fmt: skip
PORTION = 100  # substeps of bodies alone in one compiled call
PASSES = 20  # sweeps a solve
COMPLIANCE = 1e-9  # m/N: of contacts between bodies
DAMPING = 0.04  # s: in which bodies that overlap part; at least two steps
SLIP = 1.5  # of gravity times a substep: a contact that slides faster has kinetic friction
STILL = 2.0  # of the same: a contact that closes more slowly does not bounce
START_OVERLAP, START_REFUSED = 0.05, 0.25  # of half a width: more is told; more is no start


def _pack(shape: Any) -> Packed:
    """Flatten a shape; the ground has none."""
    return Packed(shape, -1, np.zeros(PARAMS)) if shape is None else pack(shape)


class Multibody:
    """Tables of a world's bodies and joints for the kernels, and what contacts remember.

    restitution: of all contacts between bodies, None: that of the materials; rough: whether there
    is friction between bodies; contacts: whether bodies meet each other here (a solver may see to
    that itself); rolling: whether materials resist rolling; compliance (m/N): of contacts between
    bodies whose materials do not say.
    """

    def __init__(
        self,
        method: str = "auto",
        passes: int = PASSES,
        restitution: float | None = None,
        rough: bool = True,
        contacts: bool = True,
        rolling: bool = False,
        compliance: float = COMPLIANCE,
    ) -> None:
        if method not in METHODS:
            raise InputError("multibody: method", method, ", ".join(METHODS))
        self.method, self.passes = METHODS[method], passes
        self.restitution, self.rough, self.contacts = restitution, rough, contacts
        self.rolling, self.compliance, self.warm = rolling, compliance, 1.0
        self.table = ShapeTable(_pack)
        self.units: dict[str, Array] = {}
        self.grouped: Array = np.zeros(0, np.int64)
        self.editions = (-1, -1)  # of the tables of bodies and joints that the arrays are of
        self.merging: Merging | None = None
        self.memory: Array = np.zeros((0, MEMORY))
        self.known: Array = np.zeros(0, np.int64)  # tags that were there in the last step
        self.samples: dict[int, tuple[Any, Array, int, Array, Array]] = {}  # by id of the shape
        self.tabulated: Any = None
        self.law: Array = np.zeros((0, 0, cr.NLAW))
        self.materials: list[Material] = []
        self.stats: Array = np.zeros(substep.NSTATS_A_STEP)

    # ---- tables ---------------------------------------------------------------------------

    def follow(self, world: WorldView) -> Array | None:
        """Take over which bodies and joints there are, and how they stand; forces start from 0.

        Returns the new row of each old one, -1 where it is gone, if any have moved.
        """
        bodies, joints = world.bodies, world.joints
        if self.merging is not None and not np.array_equal(self.merging.gravity, world.gravity):
            bodies.wake_all()
        if self.contacts:
            self.table.follow(bodies.shapes)
        editions = (bodies.edition, joints.edition)
        key = (
            editions, bodies.kind.tobytes(), tuple(map(id, bodies.shapes)),
            joints.collides.tobytes(),
        )  # fmt: skip
        if key != self.tabulated:
            joints.point_to_rows()
            if self.contacts:
                self._tabulate(bodies, joints)
            self.tabulated = key
        if self.materials != world.materials:
            self._mix(world.materials)
        if editions != self.editions:
            self.joints = JointArrays(*(getattr(joints, name) for name in JointArrays._fields))
            self.arrays = self._arrays(bodies)
            self.editions = editions
        elif self._regrouped(bodies):
            self._take_units(bodies)
        refresh_all(self.arrays)
        self.by_bodies, self.by_joints = np.zeros((bodies.n, 6)), np.zeros((bodies.n, 6))
        self.joint_load = np.zeros((joints.n, 6))
        self.stats[:] = 0.0
        bodies.load[:] = 0.0
        return self._greet(bodies) if self.contacts else None

    def _greet(self, bodies: Bodies) -> Array | None:
        """Look at the bodies that came since the last step, and at where the others stand now."""
        old = self.known
        if bodies.tag.tobytes() == old.tobytes():
            return None
        new = ~np.isin(bodies.tag, old)
        self.known = bodies.tag.copy()
        if self.meet:
            self._check_start(bodies, new)
        rows = np.searchsorted(bodies.tag, old)
        here = bodies.tag[np.minimum(rows, bodies.n - 1)] == old
        moved: Array = np.where(here, rows, -1)
        return moved

    def _arrays(self, bodies: Bodies) -> BodyArrays:
        n = bodies.n
        if not self.units or len(self.units["unit"]) != n:
            self.units = {
                "unit": np.arange(n), "count": np.ones(n, np.int64), "middle": np.zeros((n, 3)),
                "unit_q": np.zeros((n, 4)), "root": np.zeros((n, 3, 3)), "root_w": np.zeros(n),
                "stiff": np.zeros((n, 3)),
            }  # fmt: skip
            self.grouped = np.full(n, -1)
        if self._regrouped(bodies):
            self._take_units(bodies)
        columns = [name for name in BodyArrays._fields if name not in self.units]
        return BodyArrays(**{name: getattr(bodies, name) for name in columns}, **self.units)

    def _regrouped(self, bodies: Bodies) -> bool:
        """Whether somebody else has merged or woken bodies."""
        return self.grouped.tobytes() != bodies.super_body.tobytes()

    def _take_units(self, bodies: Bodies) -> None:
        """Rows of the bodies that lead the super-bodies, and how many each leads."""
        n, unit, count = bodies.n, self.units["unit"], self.units["count"]
        self.grouped = bodies.super_body.copy()
        unit[:] = np.arange(n)
        merged = self.grouped >= 0
        unit[merged] = np.searchsorted(bodies.tag, self.grouped[merged])
        count[:] = np.bincount(unit, minlength=n)
        count[unit != np.arange(n)] = 0

    def _keep_units(self, bodies: Bodies) -> None:
        """Note in the table which bodies are merged now."""
        unit, count = self.units["unit"], self.units["count"]
        bodies.super_body[:] = np.where(count[unit] > 1, bodies.tag[unit], -1)
        bodies.super_body[~bodies.dynamic] = -1
        self.grouped = bodies.super_body.copy()

    def _tabulate(self, bodies: Bodies, joints: Joints) -> None:
        """Collect the samples of all shapes, and which pairs joints keep from meeting."""
        old, self.samples = self.samples, {}
        for shape in bodies.shapes:
            key = id(shape)  # stays unique, for the shape is kept beside it
            if key not in self.samples:
                self.samples[key] = old[key] if key in old else _sampled(shape)
        made = [self.samples[id(shape)] for shape in bodies.shapes]
        counts = [len(points) for _, points, _, _, _ in made]
        apart = [
            (min(a, b) << 31) + max(a, b)
            for a, b, meets in zip(
                joints.a.tolist(), joints.b.tolist(), joints.collides.tolist(), strict=True
            )
            if not meets
        ]
        self.solids = Solids(
            np.vstack([np.zeros((0, 8)), *(points for _, points, _, _, _ in made)]),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.array([corners for _, _, corners, _, _ in made], np.int64),
            np.array([ball for _, _, _, ball, _ in made]),
            np.array([shape is not None for shape in bodies.shapes]),
            np.unique(np.array(apart, np.int64)),
            np.array([box for _, _, _, _, box in made]),
        )
        self.which = np.arange(1, bodies.n)
        self.dynamic = np.flatnonzero(bodies.dynamic)
        self.fixed = np.flatnonzero(~bodies.dynamic)[1:]
        self.active = len(self.dynamic) > 0
        self.driven = bool((bodies.kind == KINEMATIC).any())
        self.meet = self.active and bodies.n > 2

    def _mix(self, materials: list[Material]) -> None:
        """Friction and restitution of each pair of materials."""
        self.materials = list(materials)
        self.law = np.zeros((len(materials), len(materials), cr.NLAW))
        for i, one in enumerate(materials):
            for j, other in enumerate(materials):
                law = mix(one, other, 1.0)
                bounce = 0.5 * ((one.restitution or 0.0) + (other.restitution or 0.0))
                give = (one.contact_compliance or 0.0) + (other.contact_compliance or 0.0)
                damp = max(one.contact_damping or 0.0, other.contact_damping or 0.0)
                rolling = min(one.rolling_friction, other.rolling_friction)
                slip = max(one.slip, other.slip)
                self.law[i, j] = (
                    law.friction_static, law.friction_kinetic, bounce, give, damp, law.adhesion,
                    rolling, slip,
                )  # fmt: skip
        if self.restitution is not None:
            self.law[:, :, cr.BOUNCE] = self.restitution
        if not self.rough:
            self.law[:, :, : cr.BOUNCE] = 0.0
        if not (self.rough and self.rolling):
            self.law[:, :, cr.ROLLING] = 0.0

    def means(self, gravity: Any, h: float) -> Means:
        """How rows are made and solved with substeps of h (s)."""
        par = np.zeros(cr.NPAR)
        pull = float(np.linalg.norm(gravity)) * h
        par[cr.EPS], par[cr.TAU] = self.compliance, max(DAMPING, 2.0 * h)
        par[cr.SLIP], par[cr.STILL], par[cr.WARM] = SLIP * pull, STILL * pull, self.warm
        quiet = NEVER if self.merging is None else self.merging.quiet
        return Means(
            solve.DISTANT.address, self.method, self.passes, self.law, par, self.meet, quiet
        )

    def _check_start(self, bodies: Bodies, new: Array) -> None:
        """Refuse new bodies deep in others: the nearest way out of one may be into another."""
        a, b, deep = substep.deepest(self.arrays, self.table.arrays, self.solids, new)
        if a < 0:
            return
        # m: half the thinnest side of the box with a body's moments; walls may be of any size
        left = np.maximum(bodies.moments.sum(axis=1) - 2.0 * bodies.moments.max(axis=1), 0.0)
        half = np.where(bodies.w > 0.0, np.sqrt(1.5 * left * bodies.w), np.inf)
        share = deep / max(float(min(half[a], half[b])), 1e-300)
        if share <= START_OVERLAP:
            return
        one, two = (bodies.names[row] for row in sorted((a, b)))
        if share > START_REFUSED:
            raise InputError(
                f"overlap of bodies {one!r} and {two!r} at the start", f"{deep:.3g} m",
                f"at most {START_REFUSED:g} of the smaller one's half width; move them apart",
            )  # fmt: skip
        warnings.warn(
            f"bodies {one!r} and {two!r} overlap by {deep:.3g} m at the start; "
            "they are pushed apart",
            stacklevel=5,
        )

    def poses(self, bodies: Bodies, which: Array, gone: float, ahead: float) -> Array:
        """Poses (nb, POSE) of bodies `which` when `gone` (s) is over, and their way in `ahead`."""
        poses = np.zeros((bodies.n, POSE))
        flat_poses(which, bodies.org, bodies.rot, bodies.pace, bodies.omega, gone, ahead, poses)
        return poses

    # ---- a step ---------------------------------------------------------------------------

    def advance(self, world: WorldView, dt: float, substeps: int) -> None:
        """Advance bodies that no grain touches by dt (s)."""
        h = dt / substeps
        merging = self.merging
        if merging is not None and merging.split(self, world, h):
            self._keep_units(world.bodies)
            self.arrays = self._arrays(world.bodies)
            refresh_all(self.arrays)
        done, bad = 0, -1
        while done < substeps and bad < 0:  # in portions, between which an interrupt is heard
            many = min(PORTION, substeps - done)
            self.memory, bad = substep.advance(
                self.arrays, self.joints, world.bodies.tag, self.table.arrays, self.solids,
                self.means(world.gravity, h), np.asarray(world.gravity), h, many, 1.0 / dt,
                self.memory, self.joint_load, self.by_bodies, self.by_joints, self.stats,
            )  # fmt: skip
            done += many
        self.finish(world, bad)
        if merging is not None:
            merging.add_inner(world.bodies, h)
            if merging.merge(self, world):
                self._keep_units(world.bodies)
            merging.merged = int((world.bodies.super_body >= 0).sum())

    def finish(self, world: WorldView, bad: int = -1) -> None:
        """Give bodies and joints the mean forces of the step; stop where one is not finite."""
        bodies, joints = world.bodies, world.joints
        if bad >= 0:
            raise SimulationError(
                f"body {bodies.names[bad]!r} became non-finite "
                f"(position {bodies.x[bad].tolist()}, velocity {bodies.v[bad].tolist()})"
            )
        bodies.load[:, BODIES], bodies.load[:, JOINTS] = self.by_bodies, self.by_joints
        unit = self.units["unit"]
        outer = unit[joints.a] != unit[joints.b]  # the others bear what they bore when merged
        joints.load[outer] = self.joint_load[outer]
        bodies.applied[:] = 0.0

    def tell(self, report: StepReport) -> None:
        """Say in the report how the last step's rows were solved."""
        report.body_contacts = int(self.stats[substep.MET])
        report.overlap_max = max(report.overlap_max, float(self.stats[substep.DEEPEST]))
        report.overlap_share = float(self.stats[substep.SHARE])
        report.factorisations = int(self.stats[solve.FACTORED])
        report.fallbacks = int(self.stats[solve.FAILED])
        if self.merging is not None:
            self.merging.tell(report)

    # ---- restart --------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything that a restart needs beside the columns of bodies and joints."""
        state = {"memory": self.memory.copy(), "known": self.known.copy()}
        return state if self.merging is None else state | {"merging": self.merging.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        memory = np.array(state["memory"], float)
        if memory.ndim != 2 or memory.shape[1] != MEMORY or not np.isfinite(memory).all():
            raise InputError(
                "state: contacts of bodies", memory.shape, f"finite numbers (k, {MEMORY})"
            )
        if self.merging is not None:
            self.merging.restore(state["merging"])
        self.memory, self.known = memory, np.array(state["known"], np.int64)


def _sampled(shape: Any) -> tuple[Any, Array, int, Array, Array]:
    """The shape, its samples, how many are corners, and the ball and the box around it."""
    if shape is None:
        return shape, np.zeros((0, 8)), 0, np.array([0.0, 0.0, 0.0, -1.0]), np.zeros(6)
    points, corners = sample(shape)
    return shape, points, corners, ball_around(shape, points), box_around(points)
