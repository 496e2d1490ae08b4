"""VTS: velocity time stepping with exchangeable iterations, [Francu14] Sec. 3."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.errors import SimulationError
from berm.core.report import StepReport
from berm.core.saved import Facts, Saved
from berm.kernels.search.grain_fields import pair_fields, wall_fields
from berm.kernels.vts import contacts as vts_contacts
from berm.kernels.vts import krylov as vts_krylov
from berm.kernels.vts import law as at
from berm.kernels.vts import motion as vts_motion
from berm.solvers.base import SOLVERS, Solver, Stages, WorldView
from berm.solvers.cloth.cloth_rows import ClothRows
from berm.solvers.divergence import Divergence
from berm.solvers.multibody.multibody import Multibody
from berm.solvers.options import choice, flag, number, whole
from berm.solvers.portions import Portions
from berm.solvers.vts.body_rows import ROUNDS, BodyRows
from berm.solvers.vts.grain_rows import GrainContacts, Pairing
from berm.solvers.vts.iterations import ITERATIONS, Iteration, Tuning
from berm.solvers.vts.rows import Rows
from berm.solvers.walls.check import check_multibody, check_walls

Array = npt.NDArray[Any]

FRICTION = {"none": at.NONE, "box": at.BOX, "cone": at.CONE, "relaxed": at.RELAXED, "post": at.NONE}


@SOLVERS.register("vts")
@dataclass
class VTS(Solver):
    """Velocity time stepping: the MLCP (6)-(9) with accumulated, projected impulses.

    The iterations are those of `berm.solvers.vts.iterations`: "gs" (Gauss-Seidel (29), default),
    "jacobi" (26), "split" (Jacobi with masses split among contacts), "ij" (improved Jacobi (38)),
    "mr" (minimum residual (30)), "cr" (conjugate residuals (33)).
    """

    iteration: str = choice(
        "gs", ITERATIONS.names(), "gs: Gauss-Seidel; jacobi; split: with split masses; ij: "
        "improved Jacobi; mr, cr: minimum and conjugate residuals",
    )  # fmt: skip
    iterations: int = whole(15, 1, 100_000, "passes over the constraints a substep")
    substeps: int = whole(1, 1, 100_000, "substeps a step")
    gamma: float = number(0.5, 0.0, 1.0, "part of a penetration that one substep takes away, (9)")
    omega: float | None = number(
        None, 1e-6, 2.0, "relaxation, (26), (29), (32); none: 1.5 for gs, 1 for ij where steps "
        "are safe, else 0.5",
    )  # fmt: skip
    safe: float = number(
        3.0, 0.0, 4.0, "Jacobi kinds never step further than safe / sum(n_b w_b), see "
        "`kernels.vts.jacobi`; 0: as printed",
    )  # fmt: skip
    a: float = number(1.0, 0.0, 100.0, "growth of beta, (36)")
    b: float = number(0.6, 0.0, 10.0, "exponent of the growth of beta, (36)")
    exact: bool = flag(False, "alpha of mr and cr by their formulas instead of alpha_0")
    friction: str = choice(
        "cone", FRICTION, "cone (12), box (15), relaxed (39), post (after the solver, Sec. 5), none"
    )
    restitution: float | None = number(
        None, 0.0, 1.0, "for all contacts; none: that of the materials"
    )
    warm: float | None = number(
        None, 0.0, 1.0, "part of the last impulses that a substep starts from; none: 1 for gs, "
        "0.8 for ij, else 0.9",
    )  # fmt: skip
    record: bool = flag(False, "keep the residual of every iteration of a step in `history`")
    skin: float = number(0.1, 0.0, 2.0, "margin of the list of pairs", "radii")
    tolerance: float = number(0.05, 0.0, 1.0, "gap up to which a contact takes part", "radii")

    name = "vts"
    can = frozenset({"grains", "cloth", "bodies", "joints"})
    form_option = "iteration"
    live = ("iterations", "substeps")

    def _make_arrays(self, world: WorldView) -> None:
        self.history: list[dict[str, float]] = []
        self.contacts = GrainContacts(world.grains.dtype, self.skin, self.tolerance)
        self.cloth = ClothRows(world.grains.dtype)
        self.multibody = Multibody(restitution=self.restitution, rough=self.friction != "none")
        self.bodies = BodyRows(world.grains.dtype, self.multibody)
        self.rows = Rows(world.grains.dtype)
        self.divergence = Divergence(self.name)
        self.last_h = 0.0
        self.used: Iteration | None = None  # of the last solve
        self.portions = Portions()  # of the iterations
        self.ahead = 0  # iterations of the substeps to come

    # ---- the step -------------------------------------------------------------------------

    def step(self, world: WorldView, dt: float) -> StepReport:
        """Advance by dt, substep by substep; bodies feel the mean of their contacts' forces."""
        self.divergence.begin(world)
        clock, h, cloths = Stages(), dt / self.substeps, world.cloths
        report = StepReport(
            iterations=self.iterations, substeps=self.substeps, grains=world.grains.n
        )
        self.history = []
        self._begin(world)
        if world.grains.n or cloths:
            if cloths:
                self.cloth.prepare(cloths, self.iterations)
            began = 0.0
            for k in range(self.substeps):
                left = self.substeps - k - 1
                self.ahead = left * self.iterations
                self._substep(world, h, k * h, clock, report)
                if k == 0:
                    began = time.perf_counter()  # the first may have compiled
                spent = time.perf_counter() - began
                self.portions.tell_pace(k, left, spent, self._effort, depth=4)
        elif self.multibody.active:
            with clock.stage("bodies"):
                self.multibody.advance(world, dt, self.substeps)
        self._fill_report(world, report, h)
        report.timings = clock.seconds
        return report

    def _begin(self, world: WorldView) -> None:
        """Take over which bodies there are; contacts with those that were there before stay."""
        moved = self.multibody.follow(world)
        if moved is not None:
            for walls in (self.contacts.walls, self.cloth.walls, self.bodies.walls):
                walls.renumber(moved)
        self.bodies.clear()

    def _substep(
        self, world: WorldView, h: float, gone: float, clock: Stages, report: StepReport
    ) -> None:
        """One step of (6)-(9): free velocities, contacts, multipliers, positions."""
        multi = self.multibody
        with clock.stage("search"):
            fresh = self.contacts.search(world.grains, h)
            report.rebuilt += fresh
        x, v, material = self._particles(world)
        vts_motion.fall(v, *(v.dtype.type(h * g) for g in world.gravity))
        if multi.active:
            with clock.stage("bodies"):
                self.bodies.open(world, h)
        with clock.stage("walls"):
            # with dynamic bodies, driven ones move substep by substep as well
            poses = multi.poses(world.bodies, multi.fixed, 0.0 if multi.active else gone, h)
            self.contacts.find_walls(world, multi, poses, h, fresh)
            if self.cloth.count:
                self.cloth.detect(world, multi, poses, x, v, world.grains.n, h)
            if multi.active:
                self.bodies.find(world, x, v, self.contacts.list, h, fresh)
        free = v.copy() if self.cloth.own.active else v
        while True:
            with clock.stage("assemble"):
                self._assemble(world, x, v, material, h)
            with clock.stage("solve"):
                self._solve(x, v, h, world.grains.n)
            with clock.stage("walls"):
                if not self.cloth.own.missed(v, world.grains.n):
                    break
            v[:] = free  # again, with what cloth would have passed through
        vts_motion.move(x, v, v.dtype.type(h))
        share = 1.0 / (h * self.substeps)
        with clock.stage("forces"):
            self._give_back(world, x, v, h, share)
        if multi.active:
            with clock.stage("bodies"):
                multi.finish(world, self.bodies.close(world, h, share))

    def _particles(self, world: WorldView) -> tuple[Array, Array, Array]:
        """Grains, and cloth behind them: positions, velocities (views where there is no cloth)."""
        grains = world.grains
        x, v, material = grains.x[: grains.n], grains.v[: grains.n], grains.material
        if not self.cloth.count:
            return x, v, material
        more = self.cloth.count
        x, v = (np.concatenate([a, np.zeros((more, 4), a.dtype)]) for a in (x, v))
        material = np.concatenate([material[: grains.n], np.zeros(more, np.int32)])
        kinds = [world.add_material(cloth.material) for cloth in self.cloth.cloths]
        self.cloth.gather(x, v, material, grains.n, kinds)
        return x, v, material

    bent = False  # whether position errors follow the iterations

    def _assemble(self, world: WorldView, x: Array, v: Array, material: Array, h: float) -> None:
        """Write all constraints of the step, with the impulses that they start from."""
        pairing = Pairing.of(world.materials, self.restitution, v.dtype)
        law = self.contacts.law(world, h, self.gamma, self._warm(), self.bent)
        room = self.contacts.room()
        more, quads = self.cloth.room() if self.cloth.count else (0, 0)
        self.rows.reserve(room + more, quads)
        self.rows.n = len(v)
        units = self.contacts.fill(world, self.rows, x, v, law, pairing)
        if self.cloth.count:
            first = world.grains.n
            units += self.cloth.fill(world, self.rows, x, v, first, room, law, pairing, material)
        self.rows.arrange(units, len(v))
        if self.multibody.active:
            self.bodies.fill(world, x, v, material, law, pairing)

    def _solve(self, x: Array, v: Array, h: float, first: int) -> None:
        """Iterate on the multipliers; v follows them, (27)."""
        rows, par, friction = self.rows, self._parameters(v, h), FRICTION[self.friction]
        if self.friction == "post":
            _strip_friction(rows)
        self._warm_start(v)
        self.bodies.start(v, friction)
        tuning = Tuning(
            self.iterations, self._omega(), self.safe, self.a, self.b, self._delay(), self.exact
        )
        touching = self.bodies.touching
        self.used = ITERATIONS.get(self.iteration)(rows, touching, v, par, friction, tuning)
        forms = bool(self.cloth.count and self.cloth.forms)
        done = 0
        for due in self._rounds():
            if done:
                self.bodies.meet(v)
            if self.record or forms:
                self._iterate_slowly(done, due, x, v, h, first, forms)
            else:
                self._iterate(done, due)
            done = due
        if self.friction == "post":
            self._rub(v, par)
            self.bodies.rub(v)
        self.last_h = h

    def _rounds(self) -> list[int]:
        """Iterations after which bodies answer; the last of them at the end of the substep."""
        rounds = min(ROUNDS, self.iterations) if self.bodies.count else 1
        return [self.iterations * (k + 1) // rounds for k in range(rounds)]

    def _iterate(self, begin: int, end: int) -> None:
        """Iterations `begin` to `end`, in portions that let signals through."""
        assert self.used is not None
        while begin < end:
            due = begin + self.portions.take(end - begin)
            start = time.perf_counter()
            self.used.run(begin, due)
            self.portions.took(due - begin, time.perf_counter() - start)
            begin = due
            self.portions.tell(self.ahead + self.iterations - begin, self._effort, depth=7)

    def _effort(self) -> str:
        return (
            f"solver {self.name}: a step takes {self.substeps:,} substeps of {self.iterations:,} "
            "iterations"
        )

    def _iterate_slowly(
        self, begin: int, end: int, x: Array, v: Array, h: float, first: int, forms: bool
    ) -> None:
        """One iteration after the other: to note residuals, or for forms of cloth."""
        assert self.used is not None
        if self.record and begin == 0:
            self._note()
        for it in range(begin, end):
            if forms and self.bent and it >= self._delay():
                self.cloth.evaluate(self.rows, x + v.dtype.type(h) * v, first)
                self.used.set_alpha()
            self.used.run(it, it + 1)
            if self.record:
                self._note()

    def _give_back(self, world: WorldView, x: Array, v: Array, h: float, share: float) -> None:
        """Hand impulses, forces (share: 1 / step) and, where there is cloth, particles back."""
        grains = world.grains
        if self.cloth.count:
            grains.x[: grains.n], grains.v[: grains.n] = x[: grains.n], v[: grains.n]
            self.cloth.scatter(x, v, grains.n, h)
            self.cloth.keep(world, self.rows, share)
        if grains.n:
            self.contacts.keep(self.rows, share)
            self.contacts.walls.add_forces(world.bodies, grains.x)
        if self.multibody.active:
            self.bodies.keep(world, share)

    def _parameters(self, v: Array, h: float) -> Array:
        par = np.zeros(at.NPAR, v.dtype)
        par[at.H], par[at.INV_H], par[at.K_V], par[at.K_C] = h, 1.0 / h, 1.0, self.gamma
        par[at.MODE] = at.LINEAR
        return par

    def _delay(self) -> int:
        return 0

    def _warm(self) -> float:
        # more of them, with as few iterations as 15, and beds of improved Jacobi swing for long
        default = {"gs": 1.0, "ij": 0.8}.get(self.iteration, 0.9)
        return default if self.warm is None else self.warm

    def _omega(self) -> float | None:
        if self.omega is None and self.iteration == "ij" and self.safe > 0.0:
            return 1.0  # as far as `safe` allows: half of it carries beds too slowly
        return 1.5 if self.omega is None and self.iteration == "gs" else self.omega

    def _warm_start(self, v: Array) -> None:
        if self._warm() > 0.0:
            self.rows.start_from(v)

    def _note(self) -> None:
        assert self.used is not None
        one, most = self.used.residual()
        self.history.append({"l1": one, "max": most})

    def _rub(self, v: Array, par: Array) -> None:
        """Friction after the solver, in one pass with constant push (Sec. 5)."""
        rows = self.rows
        if not rows.contacts:
            return
        rows.find_neighbours()
        rows.count_all()
        rows.set_alpha(v, 0.5, 1.0)
        vts_krylov.post(
            *rows.chunks, rows.ends, rows.quad, rows.coef, rows.qbase, rows.row, rows.imp, v,
            at.CONE, rows.change, par,
        )  # fmt: skip
        rows.push(v, rows.change)

    # ---- what it tells --------------------------------------------------------------------

    def _fill_report(self, world: WorldView, report: StepReport, h: float) -> None:
        grains, stats = world.grains, self.contacts.stats
        found = np.zeros((-(-grains.n // vts_motion.CHUNK), vts_motion.SURVEY))
        vts_motion.survey(grains.v, grains.n, found)
        bad = found[:, vts_motion.BAD]
        if bad.max(initial=-1) >= 0:
            row = int(bad[bad >= 0][0])
            raise SimulationError(
                f"grain {int(grains.tag[row])} became non-finite "
                f"(position {grains.x[row, :3].tolist()}, velocity {grains.v[row, :3].tolist()})"
            )
        report.contacts = int(stats[:, vts_contacts.CONTACTS].sum())
        report.wall_contacts = int(self.contacts.walls.count.sum()) + self.bodies.count
        total = float(stats[:, vts_contacts.OVERLAP_SUM].sum())
        report.overlap_mean = total / max(report.contacts, 1)
        report.overlap_max = float(stats[:, vts_contacts.OVERLAP_MAX].max(initial=0.0))
        energy, fastest2 = self.cloth.motion()
        energy += float(found[:, vts_motion.ENERGY].sum())
        report.kinetic_energy = energy + world.bodies.kinetic_energy()
        fastest2 = max(found[:, vts_motion.FASTEST2].max(initial=0.0), fastest2)
        report.residual = h * float(np.sqrt(fastest2))
        self.multibody.tell(report)
        hint = f"try more iterations (now {self.iterations}) or substeps (now {self.substeps}), "
        hint += "a smaller omega, or safe steps" if self.iteration != "gs" else "or a smaller dt"
        self.divergence.check(world, float(np.sqrt(fastest2)), h * self.substeps, h, hint)

    def grain_fields(self, world: WorldView) -> dict[str, Array]:
        """Largest overlap (m) and sum of normal contact forces (N) of each grain."""
        grains, list_ = world.grains, self.contacts.list
        overlap, force = np.zeros(grains.n), np.zeros(grains.n)
        if not grains.changed and list_.slabs > 0 and self.last_h > 0.0:
            pair_fields(
                list_.lanes, list_.ptr, list_.nbr, list_.imp, grains.x, 1.0 / self.last_h, 0.0,
                overlap, force,
            )  # fmt: skip
            for walls in (self.contacts.walls, self.bodies.walls):
                mine = slice(list_.slabs)  # cloth stands behind
                wall_fields(
                    walls.rows[mine], walls.plane[mine], walls.total[mine], walls.count[mine],
                    grains.x, overlap, force,
                )  # fmt: skip
        return {"overlap": overlap, "force": force}

    def state(self) -> dict[str, Any]:
        """Everything that a bit-for-bit restart needs."""
        return {
            "contacts": self.contacts.state(),
            "cloth": self.cloth.state(),
            "bodies": self.bodies.state(),
            "multibody": self.multibody.state(),
            "last_h": self.last_h,
        }

    def check_state(self, saved: Saved, facts: Facts, world: WorldView) -> None:
        """Refuse a state that cannot be put back; nothing is changed."""
        real, bodies = facts.real, world.bodies.n
        lists = saved.part("contacts")
        rows = self.contacts.list.check(lists.part("list"), facts)
        slab = lists.part("list").get("slab")
        check_walls(lists.part("walls"), real, bodies, rows, slab)
        vertices = self.cloth.check(saved.part("cloth"), facts, world)
        found = saved.part("bodies")
        then = found.whole("grains_then", 0)
        slab = slab if then else np.zeros(1, np.int64)
        behind = np.append(slab, then + vertices) if vertices else slab
        check_walls(found.part("walls"), real, bodies, then + vertices, behind, sure=False)
        check_multibody(saved.part("multibody"))
        saved.number("last_h", 0.0)

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.contacts.restore(state["contacts"])
        self.cloth.restore(state["cloth"])
        self.bodies.restore(state["bodies"])
        self.multibody.restore(state["multibody"])
        self.last_h = float(state["last_h"])


def _strip_friction(rows: Rows) -> None:
    """Take remembered friction out of the impulses: the solver starts from pushes alone."""
    for kind, first, last in zip(rows.kind, rows.first, rows.last, strict=True):
        if kind in (at.PAIR, at.WALL, at.FACE):
            normal, p = rows.row[first:last, :3], rows.imp[first:last, :3]
            p[:] = normal * np.maximum((p * normal).sum(axis=1), 0)[:, None]
