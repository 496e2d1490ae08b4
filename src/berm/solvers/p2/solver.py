"""P2 (Parallel Particles, [Holz14]): conserving by default, as published on request."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core import checks, pages
from berm.core.errors import InputError, SimulationError
from berm.core.grains import LARGE, Grains
from berm.core.materials import mix
from berm.core.report import StepReport
from berm.kernels.p2 import law as at
from berm.kernels.p2 import mass as p2_mass
from berm.kernels.p2 import published as p2_count
from berm.kernels.p2 import serial as p2_serial
from berm.kernels.p2 import sweep as p2_sweep
from berm.kernels.search.grain_fields import pair_fields, wall_fields
from berm.kernels.search.neighbours import AHEAD_MOST, KNOCK, KNOCK_FAST
from berm.solvers.base import SOLVERS, Stages, WorldView
from berm.solvers.multibody.rigid import Rigid
from berm.solvers.p2.start import warn_of_deep_starts
from berm.solvers.p2.with_bodies import step_with_bodies
from berm.solvers.search.candidate_list import CandidateList
from berm.solvers.search.contact_list import ContactList
from berm.solvers.walls.kept_walls import KeptWalls
from berm.solvers.walls.shapes import updates_of
from berm.solvers.walls.walls import Walls

Array = npt.NDArray[Any]

AVERAGING = ("sweep", "mass", "count", "serial")
MEMORY = 0.5  # the largest that is stable for every wavelength, docs/theory/p2.md
CONSERVING = ("sweep", "mass")  # keep impulses; each pair gets equal and opposite ones


@SOLVERS.register("p2")
@dataclass
class P2:
    """Position-based grains with visco-elastic contact, friction and adhesion, [Holz14].

    averaging: "sweep" (each correction at once, parallel by colours, conserves momentum; default),
    "mass" (all corrections side by side with split masses, conserves momentum), "count" (the
    published average (9)), or "serial" (published corrections, Gauss-Seidel, one thread).
    iterations, substeps: passes over the contacts a substep, substeps a step.
    memory: part of the contacts' impulses that the next substep starts from.
    relaxation: factor of the inverse mass that a contact sees; below 1: over-relaxation.
    acceleration: factor of the improved-Jacobi term, [Francu14] (36)-(38), for "mass" with several
    iterations.
    eps_depth: error reduction by depth (37), published form only.
    sleep: displacement a step (m) below which a grain stays where it is (Sec. 7); 0: off.
    retest: published form: test C_s <= 0 in every iteration instead of once a step.
    skin: width of the neighbour list's margin, in radii.
    slip_speed: relative speed (m/s) above which kinetic friction holds; None: 1.5 g h.
    adhesion_area: "whole", pi r_min^2 as soon as grains touch, which makes a cohesive soil
    (conserving forms only, and their default), or "overlap", as printed (36), which is friction
    rather than cohesion (default of the published forms).
    """

    averaging: str = "sweep"
    iterations: int = 1
    substeps: int = 10
    memory: float = MEMORY
    relaxation: float = 1.0
    acceleration: float = 0.0
    eps_depth: float = 0.0
    sleep: float = 0.0
    retest: bool = False
    skin: float = 0.1
    slip_speed: float | None = None
    adhesion_area: str | None = None

    name = "p2"
    WALL_SKIN = 1.0  # radii: a grain may be knocked this far into a wall within a step
    TOUCH = 0.02  # gap, in radii, below which a pair counts as a contact for the split masses

    def __post_init__(self) -> None:
        if self.averaging not in AVERAGING:
            raise InputError("solver p2: averaging", self.averaging, ", ".join(AVERAGING))
        for field, low, high in (
            ("iterations", 1, 100_000),
            ("substeps", 1, 100_000),
            ("memory", 0.0, 1.0),
            ("relaxation", 0.1, 4.0),
            ("acceleration", 0.0, 1.0),
            ("eps_depth", 0.0, 1.0),
            ("sleep", 0.0, 1.0),
            ("skin", 0.0, 2.0),
        ):
            what, allowed = f"solver p2: {field}", f"{low} to {high}"
            value = checks.number(what, getattr(self, field), allowed)
            if not low <= value <= high:
                raise InputError(what, getattr(self, field), allowed)
            if isinstance(low, int):
                setattr(self, field, checks.whole(what, value, low))
        areas = ("whole", "overlap") if self.averaging in CONSERVING else ("overlap",)
        self._area = areas[0] if self.adhesion_area is None else self.adhesion_area
        if self._area not in areas:
            raise InputError("solver p2: adhesion_area", self.adhesion_area, ", ".join(areas))
        if self.acceleration > 0 and self.averaging != "mass":
            raise InputError(
                "solver p2: acceleration", self.acceleration, "0, or averaging='mass' with it"
            )
        self._ready_for: int | None = None

    @classmethod
    def published(cls, iterations: int = 10, eps_depth: float = 0.5, **changes: Any) -> P2:
        """Return the solver as printed: averaging (9), depth weighting (37), no substeps."""
        given: dict[str, Any] = {
            "averaging": "count",
            "iterations": iterations,
            "substeps": 1,
            "eps_depth": eps_depth,
            "skin": 0.2,
        }
        return cls(**{**given, **changes})

    def options(self) -> dict[str, Any]:
        """Return the options by name."""
        return dataclasses.asdict(self)

    def prepare(self, world: WorldView) -> None:
        """Make the solver's own arrays for this world."""
        if self._ready_for == id(world):
            return
        if self._ready_for is not None:
            raise InputError("solver p2", "in use", "a solver object belongs to one world only")
        self._ready_for = id(world)
        self.real = world.grains.dtype.type
        keeps = self.averaging in CONSERVING
        self.contacts = (ContactList if keeps else CandidateList)(world.grains.dtype)
        self.walls = (Walls if keeps else KeptWalls)(world.grains.dtype)
        self.body_walls = Walls(world.grains.dtype)  # contacts with dynamic bodies
        self.rigid = Rigid()
        self.row: Array = np.zeros((0, 16), world.grains.dtype)  # what a grain's substep needs
        self.acc: Array = np.zeros((1, 4), world.grains.dtype)
        self.change: Array = np.zeros(0, world.grains.dtype)
        self.mean_mass = 0.0
        self.last_dt = 0.0
        # in radii: at least as far as a grain may go while contacts with bodies are kept
        far = 0.5 * self.skin + AHEAD_MOST + KNOCK + KNOCK_FAST
        self.wall_skin = max(self.WALL_SKIN, far)
        self.bodies_seen = -1
        self.ground_seen = 0  # updates of height fields
        self.walls_end = False  # contacts with bodies were found for the last step only
        self.changed = True  # grains came or went before this step
        self.known_tags = 0  # grains with higher tags are new
        self.only_kind = -1  # the material of all grains, or -1 where there are several
        self.alike = False  # all grains have one radius and one mass, too

    def step(self, world: WorldView, dt: float) -> StepReport:
        """Advance by dt: search on predicted positions, correct, integrate (Sec. 3, 4)."""
        if any(body.dynamic for body in world.bodies):
            return step_with_bodies(self, world, dt)
        clock, grains, self.last_dt = Stages(), world.grains, dt
        report = StepReport(iterations=self.iterations, substeps=self.substeps, grains=grains.n)
        for body in world.bodies:
            body.force, body.torque = np.zeros(3), np.zeros(3)
        if grains.n == 0:
            return report
        stats, done = np.zeros((1, 8)), 0
        while done < self.substeps:
            left = dt * (self.substeps - done) / self.substeps
            with clock.stage("search"):
                fresh = self._search(grains, dt, under_way=done > 0)
                report.rebuilt += fresh
            with clock.stage("walls"):
                found = self._find_walls(world, left, dt - left, fresh)
                if self.changed:
                    warn_of_deep_starts(self, world, world.bodies)
            with clock.stage("solve"):
                h = dt / self.substeps
                stats, done = self._solve(
                    world, world.bodies, h, done, self.substeps, fresh or found
                )
            with clock.stage("forces"):
                self.walls.add_forces(world.bodies, grains.x)
        self._fill_report(report, stats, world)
        report.timings = clock.seconds
        return report

    def _search(self, grains: Grains, dt: float, under_way: bool) -> bool:
        """Make the list of pairs anew if it has to be; `under_way`: a grain has left its way."""
        self.changed = grains.changed
        if grains.changed:
            self.mean_mass = float(grains.mass.mean())
            kinds, size, mass = grains.material[: grains.n], grains.radius, grains.v[: grains.n, 3]
            self.only_kind = int(kinds[0]) if kinds.min() == kinds.max() else -1
            self.alike = self.only_kind >= 0 and bool(
                mass.min() == mass.max() and size.min() == size.max()
            )
        list_, whole = self.contacts, self.retest or self.substeps > 1
        if isinstance(list_, CandidateList):
            fresh = list_.has_left(grains, dt, whole)
        else:
            fresh = under_way or list_.is_stale(grains, dt / self.substeps)
        if fresh:
            if grains.n >= LARGE:
                self.row = np.zeros((0, 16), self.real)  # not needed before the solve
            if isinstance(list_, CandidateList):
                list_.build_for(grains, dt, self.skin, whole)
            else:
                list_.build(grains, dt, self.skin)
        self._make_room(grains.n)
        return fresh

    def _find_walls(self, world: WorldView, left: float, gone: float, fresh: bool) -> bool:
        """Find the contacts with bodies for the rest of the step, unless they are known.

        No further: a wall is taken as planes, which hold near the way ahead only. What was found
        in the middle of a step is therefore found again at the start of the next.
        """
        grains, walls = world.grains, self.walls
        anew = self._bodies_moved(world) or fresh or self.walls_end
        if isinstance(walls, KeptWalls) and not anew:
            anew = walls.are_left(grains, left, self.retest or self.substeps > 1)
        if anew:
            margin = self.wall_margin(not any(body.driven for body in world.bodies))
            walls.find_bodies(
                world.bodies, grains.x, grains.v, grains.n, self.contacts.slab, left,
                world.gravity, margin, self.contacts.came_from if fresh else None, gone,
            )  # fmt: skip
            self.walls_end = gone > 0.0
            if isinstance(walls, KeptWalls):
                walls.note(world, left, margin)
        else:
            walls.total[:] = 0.0
        return anew

    def wall_margin(self, kept: bool) -> float:
        """How near, in radii, a wall is looked for; kept: for more than the next step."""
        list_ = self.contacts
        if not isinstance(list_, CandidateList) or self.retest or self.substeps > 1:
            return self.wall_skin
        return self.wall_skin * (1.0 if kept and list_.typical > 0.0 else self.TOUCH)

    def _bodies_moved(self, world: WorldView) -> bool:
        """Whether contacts with bodies must be found anew although no grain has gone far."""
        known, self.bodies_seen = self.bodies_seen, len(world.bodies)
        seen, self.ground_seen = self.ground_seen, updates_of(world.bodies)
        return (
            known != len(world.bodies)
            or seen != self.ground_seen
            or any(body.driven for body in world.bodies)
        )

    def _make_room(self, n: int) -> None:
        width = {"count": 8, "serial": 4}.get(self.averaging, 16)
        if len(self.row) < n:
            self.row = pages.zeros((int(1.2 * n) + 8, width), self.real)
        rows = self.contacts.accumulator_rows() + 1
        if len(self.acc) < rows and self.averaging != "sweep":
            self.acc = np.zeros((int(1.1 * rows) + 8, 4), self.real)
        if self.acceleration and len(self.change) < len(self.contacts.imp):
            self.change = np.zeros(len(self.contacts.imp), self.real)

    def _solve(
        self, world: WorldView, bodies: list[Any], h: float, first: int, substeps: int, fresh: bool
    ) -> tuple[Array, int]:
        """Do substeps of h (s) from `first` on; return statistics and the next substep to do."""
        grains, list_, walls = world.grains, self.contacts, self.walls
        par = self._parameters(world, h)
        table = self._table(world, h)
        body_mat = np.array([body.material for body in bodies] or [0], np.int32)
        nmat = len(world.materials)
        common = self.only_kind * nmat + self.only_kind if self.only_kind >= 0 else -1
        stats = np.zeros((list_.slabs, 8))
        base_flags = self._flags(table)
        lists = (list_.part, list_.lanes, list_.ptr, list_.nbr, list_.imp)
        soil = (grains.material, nmat, common, table)
        touching = (walls.count, walls.rows, walls.body, walls.plane, walls.impulse, walls.total)
        law = (body_mat, par, base_flags, self.iterations)
        memory = self.real(self.memory)
        if self.averaging == "sweep":
            return stats, p2_sweep.solve(
                list_.slab, list_.part, list_.colour, list_.turn, *lists[1:], grains.x, grains.v,
                self.row, grains.warm, *soil, *touching, *law, first, substeps, memory, fresh,
                list_.ref, stats,
            )  # fmt: skip
        sums = (list_.reach, list_.base, self.acc)
        if self.averaging == "mass":
            return stats, p2_mass.solve(
                list_.slab, *lists, self.change, grains.x, grains.v, self.row, grains.warm, *soil,
                *touching, *law, first, substeps, memory, self.real(self.acceleration),
                self.changed, *sums, list_.ref, stats,
            )  # fmt: skip
        assert isinstance(list_, CandidateList) and isinstance(walls, KeptWalls)
        if self.averaging == "count":
            plain = self.alike and not base_flags & at.ADHESIVE and not self.retest
            room = list_.room_for_contacts(not plain)
            p2_count.solve(
                list_.slab, *lists[:4], *room, grains.x, grains.v, self.row, grains.material, nmat,
                plain, common, table, walls.count, walls.rows, walls.body, walls.plane,
                walls.total, *walls.room_for_touching(), *law, substeps, self.retest, *sums, stats,
            )  # fmt: skip
        else:
            factor = list_.room_for_contacts(True)[-1]
            p2_serial.solve(
                list_.slab, *lists[:4], factor, grains.x, grains.v, self.row, *soil, *touching,
                *law, substeps, self.retest, *sums, stats,
            )  # fmt: skip
        return stats, substeps

    def _flags(self, table: Array) -> int:
        """What contacts of this world can do, for the kernels."""
        if not table[at.T_ADHESION].any():
            return 0
        return at.ADHESIVE | (at.WHOLE if self._area == "whole" else 0)

    def _parameters(self, world: WorldView, h: float) -> Array:
        par = np.zeros(at.NPAR, self.real)
        par[at.GX : at.GZ + 1] = h * h * np.asarray(world.gravity)
        par[at.H], par[at.INV_H] = h, 1.0 / h
        par[at.RELAX], par[at.TOUCH] = self.relaxation, self.TOUCH
        pull = float(np.linalg.norm(world.gravity))
        slip = 1.5 * pull * h if self.slip_speed is None else self.slip_speed
        par[at.SLIP] = (h * slip) ** 2
        par[at.SLEEP] = (self.sleep / self.substeps) ** 2
        par[at.EPS] = self.eps_depth
        if pull > 0:
            par[at.UP_X : at.UP_Z + 1] = -np.asarray(world.gravity) / pull
        return par

    def _table(self, world: WorldView, h: float) -> Array:
        """Contact parameters of every pair of materials, scaled to impulses of a substep (34).

        **Deviation**: the published form caps adhesion in every iteration; each gets its share,
        so that all iterations together pull with F_a, not with n F_a.
        """
        share = 1.0 if self.averaging in CONSERVING else 1.0 / self.iterations
        count = len(world.materials)
        table = np.zeros((5, max(count * count, 1)), self.real)
        for a, first in enumerate(world.materials):
            for b, second in enumerate(world.materials):
                law = mix(first, second, 0.5 * self.mean_mass)
                table[:, a * count + b] = (
                    h * h * law.stiffness,
                    h * law.damping,
                    law.friction_static,
                    law.friction_kinetic,
                    h * h * law.adhesion * share,
                )
        return table

    def _fill_report(self, report: StepReport, stats: Array, world: WorldView) -> None:
        bad = np.flatnonzero(stats[:, 5])
        if bad.size:
            row = int(stats[bad[0], 5]) - 1
            raise SimulationError(
                f"grain {int(world.grains.tag[row])} became "
                f"non-finite (position {world.grains.x[row, :3].tolist()}, velocity "
                f"{world.grains.v[row, :3].tolist()})"
            )
        report.contacts = int(stats[:, 2].sum())
        report.wall_contacts = self.walls.contacts + self.body_walls.contacts
        report.overlap_mean = float(stats[:, 0].sum()) / max(report.contacts, 1)
        report.overlap_max = float(stats[:, 1].max())
        report.kinetic_energy = float(stats[:, 3].sum())
        report.residual = float(np.sqrt(stats[:, 4].max()))

    def grain_fields(self, world: WorldView) -> dict[str, Array]:
        """Largest overlap (m) and sum of normal contact forces (N) of each grain, bodies included.

        As of the last step, in the order of rows; zero for grains that came since.
        """
        grains, list_ = world.grains, self.contacts
        overlap, force = np.zeros(grains.n), np.zeros(grains.n)
        if not grains.changed and list_.slabs > 0:
            h = self.last_dt / self.substeps
            scale = 1.0 / (h * h) if self.averaging in CONSERVING and h > 0 else 0.0
            material = world.materials[int(grains.material[0])]
            pair_fields(
                list_.lanes, list_.ptr, list_.nbr, list_.imp, grains.x, scale,
                mix(material, material, 0.5 * self.mean_mass).stiffness, overlap, force,
            )  # fmt: skip
            for walls in (self.walls, self.body_walls):
                wall_fields(
                    walls.rows, walls.plane, walls.total, walls.count, grains.x, overlap, force
                )
        return {"overlap": overlap, "force": force}

    def state(self) -> dict[str, Any]:
        """Everything that a bit-for-bit restart needs."""
        return {
            "contacts": self.contacts.state(),
            "walls": self.walls.state(),
            "body_walls": self.body_walls.state(),
            "rigid": self.rigid.state(),
            "mean_mass": self.mean_mass,
            "last_dt": self.last_dt,
            "only_kind": self.only_kind,
            "bodies_seen": self.bodies_seen,
            "ground_seen": self.ground_seen,
            "walls_end": self.walls_end,
            "alike": self.alike,
            "known_tags": self.known_tags,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.contacts.restore(state["contacts"])
        self.walls.restore(state["walls"])
        if "rigid" in state:  # since version 0.2 of berm
            self.body_walls.restore(state["body_walls"])
            self.rigid.restore(state["rigid"])
        self.mean_mass = float(state["mean_mass"])
        self.last_dt = float(state["last_dt"])
        self.only_kind = int(state["only_kind"])
        self.bodies_seen = int(state["bodies_seen"])
        self.ground_seen = int(state.get("ground_seen", 0))
        self.walls_end = bool(state["walls_end"])
        self.alike = bool(state.get("alike", False))
        self.known_tags = int(state.get("known_tags", 0))
