"""P2 (Parallel Particles, [Holz14]): conserving by default, as published on request."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from berm.core.errors import InputError, SimulationError
from berm.core.grains import Grains
from berm.core.materials import mix
from berm.core.report import StepReport
from berm.core.saved import Facts, Saved
from berm.kernels.p2 import law as at
from berm.kernels.search.grain_fields import pair_fields, wall_fields
from berm.kernels.search.neighbours import AHEAD_MOST, KNOCK, KNOCK_FAST
from berm.solvers.base import SOLVERS, Solver, Stages, WorldView
from berm.solvers.divergence import Divergence
from berm.solvers.multibody.multibody import Multibody
from berm.solvers.options import choice, flag, number, whole
from berm.solvers.p2 import mass, published, serial, sweep  # noqa: F401  (forms)
from berm.solvers.p2.body_contacts import BodyContacts
from berm.solvers.p2.fineness import Fineness
from berm.solvers.p2.form import FORMS, Form
from berm.solvers.p2.law import KnownLaw
from berm.solvers.p2.start import warn_of_deep_starts
from berm.solvers.p2.with_bodies import step_with_bodies
from berm.solvers.search.contact_list import ContactList
from berm.solvers.walls.check import check_multibody, check_walls
from berm.solvers.walls.shapes import updates_of
from berm.solvers.walls.walls import Walls

Array = npt.NDArray[Any]

GIVE = 0.02  # radii: blades lose less than a tenth of their force, docs/theory/p2.md
MEMORY = 0.5  # the largest that is stable for every wavelength, docs/theory/p2.md


@SOLVERS.register("p2")
@dataclass
class P2(Solver):
    """Position-based grains with visco-elastic contact, friction and adhesion, [Holz14].

    The forms ("averaging"): "sweep", the default, corrects at once, parallel by colours, and "mass"
    side by side with split masses; both conserve momentum. "count" is the published average (9),
    "serial" applies the published corrections one after the other on one thread.

    adhesion_area: "whole", pi r_min^2 as soon as grains touch, makes a cohesive soil (conserving
    forms only, and their default); "overlap", as printed (36), is friction rather than cohesion
    (default of the published forms).
    """

    averaging: str = choice(
        "sweep", FORMS.names(), "how corrections of one grain come together: sweep and mass "
        "conserve momentum, count is the published average (9), serial takes them in turn",
    )  # fmt: skip
    iterations: int = whole(1, 1, 100_000, "passes over the contacts a substep")
    substeps: int = whole(10, 1, 100_000, "substeps a step")
    give: float | None = number(
        None, 1e-4, 1.0, "how far loaded contacts may give way as a sweep does not converge: "
        "substeps are chosen for it, from `substeps` up; none: 0.02 with sweeps, else not at all",
        "radii",
    )  # fmt: skip
    substeps_most: int = whole(200, 1, 100_000, "substeps a step where `give` chooses them")
    memory: float = number(
        MEMORY, 0.0, 1.0, "part of the contacts' impulses that the next substep starts from"
    )
    relaxation: float = number(
        1.0, 1.0, 4.0, "factor of the inverse mass that a contact sees; below 1, beds explode"
    )
    acceleration: float = number(
        0.0, 0.0, 1.0, "factor of the improved-Jacobi term, [Francu14] (36)-(38); form mass only"
    )
    eps_depth: float = number(0.0, 0.0, 1.0, "error reduction by depth (37); published forms only")
    sleep: float = number(
        0.0, 0.0, 1.0, "displacement a step below which a grain stays where it is (Sec. 7); 0: off",
        "m",
    )  # fmt: skip
    retest: bool = flag(
        False, "published forms: test C_s <= 0 in every iteration instead of once a step"
    )
    skin: float = number(0.1, 0.0, 2.0, "margin of the list of pairs", "radii")
    slip_speed: float | None = number(
        None, 0.0, 1e3, "relative speed above which kinetic friction holds; none: 1.5 g h", "m/s"
    )
    adhesion_area: str | None = choice(
        None, ("whole", "overlap"), "surface with which grains stick; none: by the form"
    )

    name = "p2"
    can = frozenset({"grains", "bodies", "joints", "adhesion", "ground"})
    form_option = "averaging"
    live = ("iterations", "substeps", "sleep")
    variants: ClassVar[dict[str, dict[str, Any]]] = {
        "published": {
            "averaging": "count", "iterations": 10, "substeps": 1, "eps_depth": 0.5, "skin": 0.2,
        },
        "serial": {"averaging": "serial", "iterations": 10, "substeps": 1},
    }  # fmt: skip

    WALL_SKIN = 1.0  # radii: a grain may be knocked this far into a wall within a step
    TOUCH = 0.02  # gap, in radii, below which a pair counts as a contact for the split masses

    def _check_together(self) -> None:
        areas = FORMS.get(self.averaging).areas
        self.area = areas[0] if self.adhesion_area is None else self.adhesion_area
        if self.area not in areas:
            raise InputError("solver p2: adhesion_area", self.adhesion_area, ", ".join(areas))
        if self.give is not None and self.averaging != "sweep":
            raise InputError("solver p2: give", self.give, "none, or averaging='sweep' with it")
        given = GIVE if self.averaging == "sweep" else None
        self.gives = given if self.give is None else self.give
        if self.acceleration > 0 and self.averaging != "mass":
            raise InputError(
                "solver p2: acceleration", self.acceleration, "0, or averaging='mass' with it"
            )

    @classmethod
    def published(cls, iterations: int = 10, eps_depth: float = 0.5, **changes: Any) -> P2:
        """Return the solver as printed: averaging (9), depth weighting (37), no substeps."""
        given = {"iterations": iterations, "eps_depth": eps_depth}
        return cls(**{**cls.variants["published"], **given, **changes})

    def _make_arrays(self, world: WorldView) -> None:
        self.real: Any = world.grains.dtype.type
        # in radii: at least as far as a grain may go while contacts with bodies are kept
        far = 0.5 * self.skin + AHEAD_MOST + KNOCK + KNOCK_FAST
        self.wall_skin = max(self.WALL_SKIN, far)
        self.form: Form = FORMS.get(self.averaging)(self, world.grains.dtype)
        self.body_walls = BodyContacts(world.grains.dtype)  # contacts with dynamic bodies
        self.multibody = Multibody()
        self.divergence = Divergence(self.name)
        self.laws = KnownLaw()
        self.fineness = Fineness(self.substeps)
        self.mean_mass = 0.0
        self.last_dt = 0.0
        self.bodies_seen = -1
        self.ground_seen = 0  # updates of height fields
        self.walls_end = False  # contacts with bodies were found for the last step only
        self.changed = True  # grains came or went before this step
        self.reweighed = True  # ... or were fixed or freed: what moves them is summed again
        self.known_tags = 0  # grains with higher tags are new
        self.only_kind = -1  # the material of all grains, or -1 where there are several
        self.alike = False  # all grains have one radius and one mass, too

    @property
    def contacts(self) -> ContactList:
        """The list of pairs that may touch."""
        return self.form.contacts

    @property
    def walls(self) -> Walls:
        """The contacts with bodies that are not dynamic; with the form "sweep" only with those."""
        return self.form.walls

    @property
    def taken(self) -> int:
        """Substeps of this step, or of the last one."""
        return self.fineness.taken

    # ---- the step -------------------------------------------------------------------------

    def step(self, world: WorldView, dt: float) -> StepReport:
        """Advance by dt: search on predicted positions, correct, integrate (Sec. 3, 4)."""
        self.divergence.begin(world)
        clock, grains, report = Stages(), world.grains, self.begin(world, dt)
        if self.multibody.active:
            return step_with_bodies(self, world, dt, clock, report)
        if grains.n == 0:
            return report
        h, done, stats = dt / self.taken, 0, np.zeros((1, at.NSTATS))
        while done < self.taken:  # again where a grain has left the way that its list covers
            left = dt * (self.taken - done) / self.taken
            with clock.stage("search"):
                fresh = self.search(grains, dt, under_way=done > 0)
                report.rebuilt += fresh
            with clock.stage("walls"):
                found = self.find_walls(world, left, dt - left, fresh) or self.reweighed
                if self.changed:
                    warn_of_deep_starts(self, world)
            with clock.stage("solve"):
                stats = np.zeros((self.contacts.slabs, at.NSTATS))
                law = self.laws.of(self, world, h)
                done = self.form.solve(
                    grains, self.kinds, law, done, self.taken, fresh or found, stats
                )
            with clock.stage("forces"):
                self.walls.add_forces(world.bodies, grains.x)
        self.fill_report(report, stats, world)
        report.timings = clock.seconds
        return report

    def begin(self, world: WorldView, dt: float) -> StepReport:
        """Begin a step: threads for a world of this size, bodies without forces, a report."""
        self.last_dt = dt
        moved = self.multibody.follow(world)
        if moved is not None:
            for walls in (self.walls, self.body_walls):
                walls.renumber(moved)
        self.kinds = world.bodies.material.astype(np.int32)
        self.fineness.choose(dt, self.gives, self.substeps, self.substeps_most)
        self._scale_impulses(self.fineness.rescale(dt), world.grains)
        return StepReport(iterations=self.iterations, substeps=self.taken, grains=world.grains.n)

    def _scale_impulses(self, factor: float, grains: Grains) -> None:
        """Scale the impulses that are kept: their forces stay as h changes."""
        if factor != 1.0 and self.form.conserving:
            for kept in (
                self.contacts.imp, self.walls.impulse, self.body_walls.impulse, grains.warm[:, :3]
            ):  # fmt: skip
                kept *= self.real(factor)

    def search(self, grains: Grains, dt: float, under_way: bool) -> bool:
        """Rebuild the list of pairs if it has to be; `under_way`: a grain has left its way."""
        self.changed = grains.changed
        self.reweighed = grains.reweighed
        if grains.changed or grains.reweighed:
            kinds, size, mass = grains.material[: grains.n], grains.radius, grains.v[: grains.n, 3]
            free = mass > 0
            self.mean_mass = float(grains.mass[free if free.any() else slice(None)].mean())
            self.only_kind = int(kinds[0]) if kinds.min() == kinds.max() else -1
            self.alike = self.only_kind >= 0 and bool(
                0 < mass.min() == mass.max() and size.min() == size.max()
            )
            grains.reweighed = False
        return self.form.search(grains, dt, under_way)

    def find_walls(self, world: WorldView, left: float, gone: float, fresh: bool) -> bool:
        """Find the contacts with fixed and driven bodies for the rest of the step, or keep them.

        No further: a wall is taken as planes, which hold near the way ahead only. What was found
        in the middle of a step is therefore found again at the start of the next.
        """
        known, self.bodies_seen = self.bodies_seen, world.bodies.next_tag
        seen, self.ground_seen = self.ground_seen, updates_of(world.bodies.shapes)
        moved = known != world.bodies.next_tag or seen != self.ground_seen or self.multibody.driven
        found = self.form.find_walls(world, left, gone, fresh, moved or fresh or self.walls_end)
        if found:
            self.walls_end = gone > 0.0
        return found

    # ---- what it tells --------------------------------------------------------------------

    def fill_report(self, report: StepReport, stats: Array, world: WorldView) -> None:
        """Sum up what the slabs tell of the last substep; a grain that is not finite is told."""
        total, most = stats.sum(axis=0).tolist(), stats.max(axis=0).tolist()
        if most[at.BAD] > 0:
            bad = np.flatnonzero(stats[:, at.BAD])
            row = int(stats[bad[0], at.BAD]) - 1
            raise SimulationError(
                f"grain {int(world.grains.tag[row])} became "
                f"non-finite (position {world.grains.x[row, :3].tolist()}, velocity "
                f"{world.grains.v[row, :3].tolist()})"
            )
        report.contacts = int(total[at.CONTACTS])
        report.wall_contacts = self.walls.contacts
        report.overlap_mean = total[at.OVERLAP_SUM] / max(report.contacts, 1)
        report.overlap_max = most[at.OVERLAP_MAX]
        report.kinetic_energy = total[at.ENERGY]
        report.give = self.fineness.note(stats, self.memory, self.last_dt)
        if self.form.conserving and report.contacts > world.grains.n:  # a bed, no lone impacts
            typical = float(world.grains.radius.mean())
            self.fineness.warn_of_overlaps(report.overlap_mean, typical)
        if self.multibody.active:
            report.wall_contacts += self.body_walls.contacts
            report.kinetic_energy += world.bodies.kinetic_energy()
        report.residual = math.sqrt(most[at.FARTHEST2])
        dt, h = self.last_dt, self.last_dt / self.taken
        hint = f"try more substeps (now {self.taken}), a smaller dt (now {dt:.4g} s), or softer "
        self.divergence.check(world, report.residual / h, dt, h, hint + "materials")

    def grain_fields(self, world: WorldView) -> dict[str, Array]:
        """Largest overlap (m) and sum of normal contact forces (N) of each grain, bodies included.

        As of the last step, in the order of rows; zero for grains that came since.
        """
        grains, list_ = world.grains, self.contacts
        overlap, force = np.zeros(grains.n), np.zeros(grains.n)
        if not grains.changed and list_.slabs > 0:
            h = self.last_dt / self.taken
            scale = 1.0 / (h * h) if self.form.conserving and h > 0 else 0.0
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
            "averaging": self.averaging,
            **self.form.state(),
            "body_walls": self.body_walls.state(),
            "multibody": self.multibody.state(),
            "mean_mass": self.mean_mass,
            "last_dt": self.last_dt,
            "taken": self.taken,
            "load": self.fineness.load,
            "only_kind": self.only_kind,
            "bodies_seen": self.bodies_seen,
            "ground_seen": self.ground_seen,
            "walls_end": self.walls_end,
            "alike": self.alike,
            "known_tags": self.known_tags,
        }

    def check_state(self, saved: Saved, facts: Facts, world: WorldView) -> None:
        """Refuse a state that cannot be put back; nothing is changed."""
        if saved.get("averaging") != self.averaging:
            raise saved.refuse("averaging", saved.get("averaging"), self.averaging)
        rows = self.contacts.check(saved.part("contacts"), facts)
        slab = saved.part("contacts").get("slab")
        check_walls(saved.part("walls"), self.real, world.bodies.n, rows, slab)
        self.body_walls.check(saved.part("body_walls"), world.bodies.n, rows, slab)
        if not self.form.conserving:
            saved.part("walls").array("ref", self.real, (None, 4))
        check_multibody(saved.part("multibody"))
        saved.number("mean_mass", 0.0)
        saved.number("last_dt", 0.0)
        saved.whole("taken", 1)
        saved.number("load", 0.0)
        kind = saved.whole("only_kind", -1, facts.materials - 1)
        saved.whole("bodies_seen", -1)
        saved.flag("walls_end")
        saved.whole("known_tags", 0)
        if saved.flag("alike") and not facts.are_alike():
            raise saved.refuse("alike", True, "False: grains differ")
        if kind >= 0 and not facts.changed and (facts.material != kind).any():
            raise saved.refuse("only_kind", kind, "-1: grains are of several materials")

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.form.restore(state)
        self.body_walls.restore(state["body_walls"])
        self.multibody.restore(state["multibody"])
        self.mean_mass = float(state["mean_mass"])
        self.last_dt = float(state["last_dt"])
        self.fineness = Fineness(int(state["taken"]), load=float(state["load"]))
        self.fineness.h = self.last_dt / self.taken
        self.only_kind = int(state["only_kind"])
        self.bodies_seen = int(state["bodies_seen"])
        self.ground_seen = int(state.get("ground_seen", 0))
        self.walls_end = bool(state["walls_end"])
        self.alike = bool(state["alike"])
        self.known_tags = int(state["known_tags"])
