"""Dynamic bodies: gravity, what grains push, contacts with other bodies, and joints, by substeps.

Position-based rigid bodies [Mueller20] on momenta (see `kernels.multibody.rigid_solve`); free
rotation keeps |L| (`kernels.geometry.rotation`). A solver calls `begin` once a step; each substep
`predict`, which says how bodies will move if grains do nothing, and `advance`; then `finish`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.core.bodies import Body
from berm.core.dynamics import quaternion_of
from berm.core.errors import InputError, SimulationError
from berm.core.materials import Material, mix
from berm.kernels.geometry import distance as kd
from berm.kernels.multibody import rigid_contacts as rc
from berm.kernels.multibody import rigid_joints as rj
from berm.kernels.multibody import rigid_motion as rm
from berm.kernels.multibody import rigid_solve as rs
from berm.solvers.base import WorldView
from berm.solvers.multibody.samples import ball_around, sample
from berm.solvers.walls.walls import Packed, pack

Array = NDArray[Any]

ITERATIONS = 20  # passes over contacts and joints a substep
BOUNCES = 10  # passes over velocities
FIRST_ROWS = 64
START_OVERLAP, START_REFUSED = 0.05, 0.25  # of half a width: more is told; more is no start


@dataclass
class Moving:
    """A dynamic body as grains meet it in the coming substep (what `Walls` reads)."""

    shape: Any
    position: Array
    rotation: Array
    velocity: Array
    angular_velocity: Array
    force: Array = field(default_factory=lambda: np.zeros(3))
    torque: Array = field(default_factory=lambda: np.zeros(3))
    follows: bool = True  # its pose is that of the substep, not of the step


class Rigid:
    """The dynamic bodies of a world and everything that acts between bodies."""

    def __init__(self) -> None:
        self._key: Any = None
        self._keep: Any = None  # what the key's numbers belong to must stay alive
        self.bodies: list[Body] = []
        self.memory: Array = np.zeros((0, 4))  # impulses of contacts between bodies
        self.rows: Array = np.zeros((FIRST_ROWS, rc.NROW))
        self.who: Array = np.zeros((FIRST_ROWS, 2), np.int64)
        self.contacts = 0
        self.restored = False  # the state is that of a checkpoint

    # ---- tables ---------------------------------------------------------------------------

    def begin(self, world: WorldView) -> None:
        """Take over poses and velocities of all bodies at the start of a step."""
        joints = world.joints
        key = (
            tuple((id(b), id(b.shape), b.dynamic, b.material) for b in world.bodies),
            tuple(id(j) for j in joints),
            tuple(id(m) for m in world.materials),
        )
        if key != self._key:
            same = self._key is None or key[:2] == self._key[:2]
            fresh = not self.restored and (self._key is None or not same)
            self._tabulate(world)
            slots = int(self.slots[-1])
            if not same or len(self.memory) != slots:
                self.memory, self.contacts = np.zeros((slots, 4)), 0
            self._key, self._keep = key, (list(joints), list(world.materials))
            self.restored = False
        else:
            fresh = False
        for k, body in enumerate(self.bodies):
            free = body.dynamics
            if free is not None:
                self.x[k], self.q[k], self.v[k], self.spin[k] = (
                    free.centre, free.turn, free.speed, free.spin,
                )  # fmt: skip
            else:
                self.x[k], self.v[k], self.omega[k] = (
                    body.position, body.velocity, body.angular_velocity,
                )  # fmt: skip
                self.q[k] = quaternion_of(body.rotation)
        for j, joint in enumerate(joints):
            self.place[j] = joint.place
            low, high = joint.limited or (0.0, 0.0)
            speed, effort = joint.driven_by or (0.0, 0.0)
            self.data[j, rj.LOW : rj.EFFORT + 1] = (
                low, high, joint.limited is not None, joint.driven_by is not None, speed, effort,
            )  # fmt: skip
        self.loads[:] = 0.0
        self.felt[:] = 0.0
        rm.refresh_all(self.q, self.spin, self.w, self.moments, self.omega, self.inv)
        if fresh:
            self._check_start()

    def _check_start(self) -> None:
        """Refuse bodies deep in each other: the nearest way out of one may be into another."""
        rm.place_shapes(self.x, self.q, self.axes, self.offset, self.rot, self.org)
        self._find(np.zeros((2, *self.v.shape)), 0.0)
        rows, who = self.rows[: self.contacts], self.who[: self.contacts]
        self.contacts = 0  # none has been solved yet
        if not len(rows):
            return
        overlap = -rows[:, rc.GAP] / rc.RECOVER  # a row holds what a substep takes away
        share = overlap / self.half[who].min(axis=1).clip(1e-300)
        worst = int(share.argmax())
        if share[worst] <= START_OVERLAP:
            return
        a, b = (self.bodies[k].name for k in sorted(who[worst]))
        deep = f"{overlap[worst]:.3g} m"
        if share[worst] > START_REFUSED:
            raise InputError(
                f"overlap of bodies {a!r} and {b!r} at the start", deep,
                f"at most {START_REFUSED:g} of the smaller one's half width; move them apart",
            )  # fmt: skip
        warnings.warn(
            f"bodies {a!r} and {b!r} overlap by {deep} at the start; they are pushed apart",
            stacklevel=5,
        )

    def _tabulate(self, world: WorldView) -> None:
        """Make the arrays of a new set of bodies and joints."""
        bodies = self.bodies = list(world.bodies)
        n = len(bodies) + 1  # the last one is the world itself
        self.x, self.v, self.spin, self.omega = (np.zeros((n, 3)) for _ in range(4))
        self.q = np.tile([1.0, 0.0, 0.0, 0.0], (n, 1))
        self.w, self.moments, self.inv = np.zeros(n), np.ones((n, 3)), np.zeros((n, 3, 3))
        self.axes, self.offset = np.tile(np.eye(3), (n, 1, 1)), np.zeros((n, 3))
        self.rot, self.org = np.tile(np.eye(3), (n, 1, 1)), np.zeros((n, 3))
        self.move, self.mobility = np.zeros((n, 9)), np.zeros((n, 6, 6))
        self.felt = np.zeros((n, 6))  # mean force and torque that dynamic bodies give the others
        self.ahead = np.zeros(n)  # m: how much farther contacts between bodies are looked for
        for k, body in enumerate(bodies):
            if body.dynamics is not None:
                self.w[k] = 1.0 / body.dynamics.mass
                self.moments[k] = body.dynamics.moments
                self.axes[k], self.offset[k] = body.dynamics.axes, body.dynamics.offset
        self.dynamic = [k for k, body in enumerate(bodies) if body.dynamic]
        # m: half the thinnest side of the box with a body's moments; walls may be of any size
        left = np.maximum(self.moments.sum(axis=1) - 2.0 * self.moments.max(axis=1), 0.0)
        self.half = np.where(self.w > 0.0, np.sqrt(1.5 * left * self.w), np.inf)
        self._tabulate_joints(world)
        self._tabulate_shapes(world.materials)

    def _tabulate_joints(self, world: WorldView) -> None:
        index = {id(body): k for k, body in enumerate(self.bodies)}
        count, last = len(world.joints), len(self.bodies)
        self.ends = np.zeros((count, 3), np.int64)
        self.data = np.zeros((count, rj.NDATA))
        self.place, self.low, self.high = np.zeros(count), np.zeros(count), np.zeros(count)
        self.size, self.open = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.j_rows, self.j_push = np.zeros((count, 6, 12)), np.zeros((count, 6, 12))
        self.error, self.acc = np.zeros((count, 6)), np.zeros((count, 6))
        self.j_mass, self.loads = np.zeros((count, 6, 6)), np.zeros((count, 6))
        for j, joint in enumerate(world.joints):
            b = last if joint.body_b is None else index[id(joint.body_b)]
            self.ends[j] = joint.kind, index[id(joint.body_a)], b
            self.data[j, : rj.LOW] = np.concatenate(joint.local)

    def _tabulate_shapes(self, materials: list[Material]) -> None:
        bodies = self.bodies
        n = len(bodies)
        made = [sample(body.shape) for body in bodies]
        counts = [len(points) for points, _ in made]
        self.first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.samples = np.vstack([np.zeros((0, 8)), *(points for points, _ in made)])
        self.corners = self.first[:-1] + np.array([k for _, k in made], np.int64)
        balls = [
            ball_around(body.shape, points) for body, (points, _) in zip(bodies, made, strict=True)
        ]
        self.ball = np.array([*balls, [0.0, 0.0, 0.0, -1.0]])
        self.pairs = self._choose_pairs(counts)
        met = set(self.pairs[:, 1].tolist())
        self.packed: dict[int, Packed] = {b: pack(bodies[b].shape) for b in sorted(met)}
        self.kinds, self.prm = np.full(n, -1, np.int64), np.zeros((n, kd.PARAMS))
        for b, packed in self.packed.items():
            if not packed.mesh:
                self.kinds[b], self.prm[b] = packed.kind, packed.prm
        self.meshed = [
            (k, int(a), int(b)) for k, (a, b) in enumerate(self.pairs) if self.packed[int(b)].mesh
        ]
        sizes = [counts[a] for a in self.pairs[:, 0]]
        self.slots = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.law = np.zeros((len(self.pairs), 3))
        for k, (a, b) in enumerate(self.pairs):
            one, other = materials[bodies[a].material], materials[bodies[b].material]
            law = mix(one, other, 1.0)
            bounce = 0.5 * ((one.restitution or 0.0) + (other.restitution or 0.0))
            self.law[k] = law.friction_static, law.friction_kinetic, bounce

    def _choose_pairs(self, counts: list[int]) -> Array:
        """Pairs (sampled body, body whose distance is asked) that can touch; both ways."""
        joined = {frozenset(map(int, ends[1:])) for ends in self.ends}
        pairs = []
        for a in range(len(self.bodies)):
            for b in range(len(self.bodies)):
                if a == b or not counts[a] or not (self.w[a] > 0.0 or self.w[b] > 0.0):
                    continue
                if frozenset((a, b)) not in joined:
                    pairs.append((a, b))
        return np.array(pairs, np.int64).reshape(-1, 2)

    # ---- substep --------------------------------------------------------------------------

    def predict(self, gravity: Array, h: float) -> list[Moving]:
        """Say how the dynamic bodies move in the coming h (s) if grains do nothing.

        Also fills `mobility` (nb, 6, 6). The loads of the last substeps stand for contacts with
        other bodies: without them, what lies on the ground would seem to fall; of two loads the
        smaller, so that a blow is not felt twice.
        """
        rm.place_shapes(self.x, self.q, self.axes, self.offset, self.rot, self.org)
        self._joint_rows(self.j_push, h)
        rs.mobilities(
            self.ends, self.j_push, self.size, self.open, self.rows, self.who, self.contacts,
            self.w, self.inv, self.mobility,
        )  # fmt: skip
        moving = []
        for k in self.dynamic:
            body = self.bodies[k]
            assert body.dynamics is not None
            one, two = body.dynamics.load
            load = np.where(one * two > 0.0, np.where(abs(one) < abs(two), one, two), 0.0)
            load[:3] += body.dynamics.mass * gravity
            rate = h * self.mobility[k] @ load
            v, omega = self.v[k] + rate[:3], self.omega[k] + rate[3:]
            v = v + np.cross(omega, self.org[k] - self.x[k])
            moving.append(Moving(body.shape, self.org[k].copy(), self.rot[k].copy(), v, omega))
        return moving

    def advance(self, gravity: Array, h: float, push: Array, share: float) -> None:
        """Advance all bodies by h (s).

        push (nb, 6): momentum (kg m/s) and angular momentum about the centre from grains; share:
        part of the step that h is. `predict` was called before.
        """
        start = np.stack([self.v, self.omega])
        rm.move_free(
            self.x, self.q, self.v, self.spin, self.w, self.moments, self.omega, self.inv, push,
            gravity, h,
        )  # fmt: skip
        rm.place_shapes(self.x, self.q, self.axes, self.offset, self.rot, self.org)
        self._find(start, h)
        self._joint_rows(self.j_rows, h)
        rj.joint_masses(
            self.ends, self.j_rows, self.j_push, self.size, self.w, self.inv, self.j_mass
        )
        touching = (self.rows, self.who, self.contacts)
        joined = (self.error, self.size, self.open, self.low, self.high, self.j_mass, self.acc)
        rs.solve_positions(
            *touching, self.memory, self.ends, self.j_rows, self.j_push, *joined, self.w, self.inv,
            ITERATIONS, self.move,
        )  # fmt: skip
        self._note_loads(h, share)
        self._note_felt(share / (h * h))
        rm.apply_moves(
            self.x, self.q, self.v, self.spin, self.w, self.moments, self.omega, self.inv,
            self.move, h,
        )  # fmt: skip
        if self.contacts or len(self.ends):
            self._joint_rows(self.j_rows, h)
            rj.joint_masses(
                self.ends, self.j_rows, self.j_rows, self.size, self.w, self.inv, self.j_mass
            )
            rs.solve_velocities(
                *touching, self.ends, self.j_rows, *joined, self.v, self.spin, self.omega, self.w,
                self.inv, h, float(np.linalg.norm(gravity)), BOUNCES, self.move,
            )  # fmt: skip

    def _joint_rows(self, rows: Array, h: float) -> None:
        rj.joint_rows(
            self.ends, self.data, self.x, self.q, self.v, self.omega, h, self.place, rows,
            self.error, self.size, self.open, self.low, self.high, self.acc,
        )  # fmt: skip

    def _find(self, start: Array, h: float) -> None:
        """Find the contacts between bodies at their predicted poses.

        start (2, nb, 3): velocities before the substep.
        """
        while True:
            count = np.zeros(1, np.int64)
            where = (self.samples, self.first, self.corners)
            poses = (self.ball, self.ahead, self.rot, self.org)
            moves = (self.x, self.v, self.omega, start, h)
            out = (self.rows, self.who, count)
            rc.shape_pairs(
                self.pairs, self.slots, self.law, self.kinds, self.prm, *where, *poses,
                *moves, *out,
            )  # fmt: skip
            for k, a, b in self.meshed:
                packed = self.packed[b]
                mesh = packed.mesh
                rc.triangle_pair(
                    k, a, b, packed.kind == kd.MESH, *mesh[:7], mesh[-1], self.slots, self.law,
                    *where, *poses, *moves, *out,
                )  # fmt: skip
            self.contacts = int(count[0])
            if self.contacts <= len(self.rows):
                self.contacts = rc.thin_contacts(self.rows, self.who, self.contacts, self.ball)
                return
            room = 1 << self.contacts.bit_length()
            self.rows, self.who = np.zeros((room, rc.NROW)), np.zeros((room, 2), np.int64)

    def _note_loads(self, h: float, share: float) -> None:
        """Keep what contacts and joints did to each body, and what each joint bears."""
        for k in self.dynamic:
            free = self.bodies[k].dynamics
            assert free is not None
            free.load[1] = free.load[0]
            free.load[0, :3] = self.move[k, :3] * free.mass / (h * h)
            free.load[0, 3:] = self.move[k, 6:] / (h * h)
        rj.joint_loads(
            self.ends, self.j_push, self.size, self.acc, self.data, self.q, share / (h * h),
            self.loads,
        )  # fmt: skip

    def _note_felt(self, scale: float) -> None:
        """Add what dynamic bodies push the other ones with."""
        rows, who = self.rows[: self.contacts], self.who[: self.contacts]
        for side, sign in ((0, scale), (1, -scale)):
            held = np.flatnonzero(self.w[who[:, side]] == 0.0)
            if held.size:
                row = rows[held]
                push = sign * (row[:, rc.LN, None] * row[:, :3] + row[:, rc.LT : rc.LT + 3])
                turn = np.cross(row[:, 3 + 3 * side : 6 + 3 * side], push)
                np.add.at(self.felt, who[held, side], np.hstack([push, turn]))

    def finish(self, world: WorldView) -> None:
        """Give bodies and joints what the step has come to."""
        for k in self.dynamic:
            body = self.bodies[k]
            free = body.dynamics
            assert free is not None
            free.centre, free.turn = self.x[k].copy(), self.q[k].copy()
            free.speed, free.spin = self.v[k].copy(), self.spin[k].copy()
            if not all(
                np.isfinite(a).all() for a in (self.x[k], self.q[k], self.v[k], self.spin[k])
            ):
                raise SimulationError(
                    f"body {body.name!r} became non-finite (position "
                    f"{free.centre.tolist()}, velocity {free.speed.tolist()})"
                )
            body.follow()
        for k, body in enumerate(self.bodies):
            if body.dynamic:  # those keep apart what grains do to them
                continue
            body.force = body.force + self.felt[k, :3]
            body.torque = body.torque + self.felt[k, 3:]  # its centre here is its origin
        for joint, place, load in zip(world.joints, self.place, self.loads, strict=True):
            joint.place = float(place)
            joint.force, joint.torque = load[:3].copy(), load[3:].copy()

    def state(self) -> dict[str, Any]:
        """Everything that a restart needs beside the bodies' own state."""
        return {
            "memory": self.memory.copy(),
            "rows": self.rows[: self.contacts].copy(),
            "who": self.who[: self.contacts].copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self._key = None
        self.restored = True
        self.memory = np.array(state["memory"], float)
        self.contacts = len(state["who"])
        room = max(FIRST_ROWS, self.contacts)
        self.rows, self.who = np.zeros((room, rc.NROW)), np.zeros((room, 2), np.int64)
        self.rows[: self.contacts], self.who[: self.contacts] = state["rows"], state["who"]
