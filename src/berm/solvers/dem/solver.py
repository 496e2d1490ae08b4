"""Smooth discrete elements: spheres and rigid bodies of spheres that turn, [Bell05]."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.bodies import GRAINS, KINEMATIC, Bodies
from berm.core.clumps import ALL_TO_TOUCHING
from berm.core.errors import InputError, SimulationError
from berm.core.grains import Grains
from berm.core.report import StepReport
from berm.core.saved import Facts, Saved
from berm.kernels.dem import body_blocks, leap_frog
from berm.kernels.dem import pair_forces as stats
from berm.kernels.dem.totals import body_energy, grain_totals, lightest_body
from berm.kernels.jit import address
from berm.laws.base import ROLES, Law, NormalLaw, law, laws_of
from berm.laws.compose import composed
from berm.solvers.base import SOLVERS, Solver, Stages, WorldView
from berm.solvers.dem import rkf45
from berm.solvers.dem.bodies import CoveredBodies
from berm.solvers.dem.seats import seats_of
from berm.solvers.dem.start import check_start
from berm.solvers.options import choice, made_by, number, whole
from berm.solvers.portions import Portions
from berm.solvers.search.list_rooms import rooms
from berm.solvers.search.pair_list import PairList
from berm.solvers.walls.boundaries import Boundaries
from berm.solvers.walls.check import check_boundaries
from berm.solvers.walls.shapes import updates_of

Array = npt.NDArray[Any]

INTEGRATORS = ("verlet", "rkf45")
FEWEST = 10  # steps a contact below which a step that a user gave is refused
DAMPED = 0.4  # of m / k_d: the longest step beside a damper, for grains with many contacts
SLOWEST = 0.1  # m/s: the least speed for which a step is chosen
FASTEST = 1e7  # m/s: faster than anything that this is made for
LONGEST = 1e3  # s: of a step that a user may give; the contact time asks for far less


@SOLVERS.register("dem")
@dataclass
class DEM(Solver):
    """Contact forces from overlaps and velocities, integrated with small steps, [Bell05].

    Contact laws are given by name, as {law: name, option: value}, or as objects of `berm.laws`. The
    world's step is cut into whole steps of the solver.
    """

    normal: Any = made_by("hertz", partial(law, "normal"), "normal law", partial(laws_of, "normal"))
    tangential: Any = made_by(
        "history", partial(law, "tangential"), "shear law", partial(laws_of, "tangential")
    )
    rolling: Any = made_by(
        "none", partial(law, "rolling"), "rolling friction law", partial(laws_of, "rolling")
    )
    cohesion: Any = made_by(
        "none", partial(law, "cohesion"), "law by which the materials' adhesion pulls",
        partial(laws_of, "cohesion"),
    )  # fmt: skip
    integrator: str = choice("verlet", INTEGRATORS, "fixed steps, or adaptive ones (3.4)")
    step_size: float | None = number(
        None, 0.0, LONGEST, "step; none: contact time / steps_a_contact", "s", above=True
    )
    steps_a_contact: int = whole(25, FEWEST, 10_000, "steps in the shortest contact time")
    tolerance: float = number(
        1e-4, 1e-12, 1.0, "of RKF45, in smallest radii and their speed of fall"
    )
    skin: float = number(0.3, 0.01, 2.0, "margin of the neighbour list", "radii")
    start_overlap: float = number(
        0.1, 0.0, 2.0, "the largest that is taken for a start and not for a mistake", "radii"
    )

    name = "dem"
    can = frozenset({"grains", "rotation", "clusters", "bodies", "joints", "adhesion"})
    precision = "float64"
    form_option = "integrator"

    @property
    def laws(self) -> dict[str, Law]:
        """The four contact laws, by role."""
        return {role: getattr(self, role) for role in ROLES}

    def options(self) -> dict[str, Any]:
        """Return the options by name, as plain values."""
        return super().options() | {role: one.options() for role, one in self.laws.items()}

    def _make_arrays(self, world: WorldView) -> None:
        """Give the grains a spin and make the solver's own arrays."""
        if world.grains.dtype != np.float64:
            raise InputError("solver dem: precision", str(world.grains.dtype), "float64")
        world.grains.rotate()
        self.composed = composed(self.laws)
        width = self.laws["tangential"].history + self.laws["rolling"].history
        self.pairs = PairList(np.float64, width)
        self.walls = Boundaries(width)
        self.table: Array = np.zeros((0, 16))  # numbers of the four laws for each pair of ...
        self.tabulated: list[Any] = []  # ... these materials, and which of them grains are of
        self.speed = SLOWEST  # the fastest so far, m/s
        self.started = False  # forces are known
        self.kept = 0  # how often contacts have kept their memory
        self.boundaries: Array = np.zeros(0, np.int64)  # tags of the bodies that `walls` knows
        self.ground_seen = 0  # updates of height fields that `walls` knows
        self.covered = CoveredBodies()
        self.seats: tuple[Array, ...] = ()  # blocks of the bodies, for ...
        self.seated_for: Any = None  # ... the list of this number and what is moved elsewhere
        self.portions = Portions()  # of the small steps
        self.rkf_step = 0.0  # s, the last that RKF45 took
        self.rkf_elapsed = 0.0  # s, since contacts have kept their memory

    def check_can(self, capability: str, what: str) -> None:
        """Refuse joints where steps are of any size: the core moves what they hold in even ones."""
        if capability == "joints" and self.integrator != "verlet":
            raise InputError(f"{what}: integrator of solver dem", self.integrator, "verlet")

    # ---- the step --------------------------------------------------------------------------

    def step(self, world: WorldView, dt: float) -> StepReport:
        """Advance by dt in as many small steps as the contact time asks for."""
        clock, grains = Stages(), world.grains
        report = StepReport(grains=grains.n)
        bodies = world.bodies
        if world.joints.n:
            self.check_can("joints", f"world: {world.joints.n} joints")
        changed = self.covered.follow(world) or grains.changed
        if grains.n == 0:
            return report
        self._tabulate(world)
        self.fixed = np.flatnonzero(~bodies.dynamic)[1:]  # the ground has no shape
        with clock.stage("search"):
            others = self._renumber_walls(bodies)
            self.walls.follow(bodies, self.fixed, dt)
            if changed or self.pairs.slabs == 0:
                self._search(world, 0.0, report)
            elif (
                others
                or (bodies.kind == KINEMATIC).any()
                or updates_of(bodies.shapes) != self.ground_seen
            ):
                self._near_walls(world, np.arange(grains.n, dtype=np.int32), 0.0)
        self.total = np.zeros((self.pairs.slabs, max(len(self.fixed), 1), 8))
        self.stats = np.zeros((self.pairs.slabs, 4))
        if not self.started:
            check_start(self, world)
            self.forces(world, 0.0, dt, 0.0, keep=True)
            self.total[:] = 0.0
            self.started = True
        steps = self._steps(world, dt)
        if self.integrator == "rkf45":
            weight, report.substeps = rkf45.advance(self, world, dt, report, clock)
        else:
            self._verlet(world, dt, steps, report, clock)
            weight, report.substeps = 1.0 / steps, steps
        self.covered.lead(world, dt)
        self._fill_report(report, world, weight)
        report.timings = clock.seconds
        return report

    def _verlet(
        self, world: WorldView, dt: float, steps: int, report: StepReport, clock: Stages
    ) -> None:
        """Leap-frog with fixed steps; the list is made anew when a sphere has gone too far."""
        done, due = 0, False
        while True:
            until = done + self.portions.take(steps - done)
            with clock.stage("solve"):
                begin = time.perf_counter()
                now = self._leap(world, dt, steps, done, until, due)
                self.portions.took(now - done, time.perf_counter() - begin)
            done, due = now, now < until
            if done == steps:
                return
            if due:
                with clock.stage("search"):
                    self._search(world, (done + 1) / steps, report)
            self.portions.tell(steps - done, lambda: self._effort(dt, steps))

    def _leap(
        self, world: WorldView, dt: float, steps: int, done: int, until: int, due: bool
    ) -> int:
        """Steps from `done` to `until`; returns how many are done when the list is stale."""
        h = dt / steps
        return self._run(world, dt, done, until, steps, due, h, False, h, True, 0.0)

    def _effort(self, dt: float, steps: float) -> str:
        return (
            f"solver dem: a step of {dt:.3g} s takes {steps:,.0f} small steps of {dt / steps:.2g} "
            "s, which stiffness, damping and the lightest grain ask for"
        )

    def forces(
        self, world: WorldView, elapsed: float, dt: float, fraction: float, keep: bool
    ) -> None:
        """Set grains.force to the forces of all contacts, `elapsed` (s) after the last memory."""
        world.grains.force[: world.grains.n] = 0.0
        self._run(world, dt, 0, 1, 1, False, 0.0, True, elapsed, keep, fraction)

    def _run(self, world: WorldView, dt: float, *how: Any) -> int:
        g, c = world.grains, world.clumps
        done, until, steps, due, h, *rest = how
        alike = bool((g.material[: g.n] == g.material[0]).all())
        stale = np.zeros(self.pairs.slabs + -(-c.n // body_blocks.CHUNK), np.bool_)
        moved = self.covered
        now = leap_frog.advance(
            done, until, steps, due, h, np.asarray(world.gravity), g.owner, self.pairs.ref, stale,
            self.kept + 1.0, *rest, *self._laws(), *self._lists(), g.x, g.v, g.spin, g.material,
            alike, len(world.materials), self.table, g.force, 1.0 / dt, *self._bounds(), c.first,
            c.rows, c.offset, c.x, c.v, c.q, c.L_own, *self._seats(world), moved.pushed,
            moved.applied, moved.mechanisms, self.stats,
        )  # fmt: skip
        only_forces, _, keep, _ = rest
        self.kept += int(keep) if only_forces else int(now - done)
        return int(now)

    def _seats(self, world: WorldView) -> tuple[Array, ...]:
        """Blocks of the bodies, made anew with the list of pairs."""
        elsewhere = self.covered.elsewhere
        key = self.pairs.moves, elsewhere.tobytes() if self.covered.mechanisms else b""
        if self.seated_for != key:
            self.seated_for = key
            self.seats = seats_of(world.clumps, world.grains, elsewhere)
        return self.seats

    def _laws(self) -> tuple[Any, Any]:
        return address(self.composed.pair_forces), address(self.composed.wall_forces)

    def _lists(self) -> tuple[Array, ...]:
        p = self.pairs
        return p.slab, p.colour, p.turn, p.ptr, p.mine, p.nbr, p.hist

    def _bounds(self) -> tuple[Array, ...]:
        w = self.walls
        return (
            w.row, w.body, w.face, w.count, w.hist, self.total, *w.table.arrays[:2], w.pose,
            w.substance, *w.meshes(),
        )  # fmt: skip

    def _search(self, world: WorldView, fraction: float, report: StepReport) -> None:
        """Sort the spheres, list the pairs and the walls anew, and find each body's spheres."""
        grains, clumps = world.grains, world.clumps
        if grains.changed and clumps.n:
            clumps.find_rows(grains)
        room = rooms(grains, clumps, self.skin)
        self.pairs.apart = self.covered.apart
        self.pairs.build_for(grains, room)
        if clumps.n:
            clumps.follow_rows(self.pairs.order)
            clumps.ref[:, :3], clumps.ref[:, 4:] = clumps.position, clumps.q
            clumps.ref[:, 3] = room.of_body**2
        self._near_walls(world, self.pairs.came_from, fraction)
        report.rebuilt += 1

    def _near_walls(self, world: WorldView, was: Array, fraction: float) -> None:
        grains = world.grains
        self.walls.find(
            grains.x, self.pairs.ref, self.pairs.slab, was, fraction, grains.owner,
            self.covered.apart_from_walls,
        )  # fmt: skip
        self.ground_seen = updates_of(world.bodies.shapes)

    def _renumber_walls(self, bodies: Bodies) -> bool:
        """Let contacts with boundaries keep their memory; return whether bodies came or went."""
        tags = bodies.tag[self.fixed]
        old, self.boundaries = self.boundaries, tags.copy()
        if np.array_equal(tags, old):
            return False
        at = np.searchsorted(tags, old)
        there = np.append(tags, -1)[at] == old
        now = np.append(np.where(there, at, -1), -1).astype(np.int32)  # one for what is unused
        self.walls.body[:] = now[np.minimum(self.walls.body, len(old))]
        return True

    # ---- laws and step sizes ---------------------------------------------------------------

    def _tabulate(self, world: WorldView) -> None:
        """Fill `table` anew if materials have changed, or what grains are made of."""
        self.tabulated, self.table = self._numbers(world)

    def _numbers(self, world: WorldView) -> tuple[list[Any], Array]:
        """What `tabulated` and `table` are for the world as it is; the same where they hold.

        Boundaries do not meet each other, so that a law need not know what they would do.
        """
        of_grains = world.grains.material[: world.grains.n]
        grown = (np.bincount(of_grains, minlength=len(world.materials)) > 0).tolist()
        if self.tabulated == [world.materials, grown]:
            return self.tabulated, self.table
        roles = ("normal", "tangential", "rolling", "cohesion")
        kinds = list(zip(world.materials, grown, strict=True))
        rows = [
            [number for role in roles for number in self.laws[role].numbers(a, b)]
            if a_grows or b_grows
            else [0.0] * 16
            for a, a_grows in kinds
            for b, b_grows in kinds
        ]
        return [list(world.materials), grown], np.array(rows)

    def contact_time(self, world: WorldView) -> float:
        """Shortest duration (s) of a collision of the grains of this world at their top speed."""
        grains, clumps, normal = world.grains, world.clumps, self.laws["normal"]
        assert isinstance(normal, NormalLaw)
        used = np.zeros(len(world.materials), np.bool_)
        energy, fastest, light, radius, bad = grain_totals(
            grains.n, grains.x, grains.v, grains.spin, grains.owner, grains.material, used
        )
        _check_finite(grains, energy, bad)
        if clumps.n:
            light = max(light, float(lightest_body(
                clumps.first, clumps.x, clumps.L_own, clumps.moments, ALL_TO_TOUCHING
            )))  # fmt: skip
        if light == 0.0:  # all are fixed
            light = 1.0 / float(grains.mass.min())
        lightest = 1.0 / light
        self.speed = max(self.speed, fastest)
        # boundaries do not meet each other, be they of steel
        self._tabulate(world)
        kinds = len(world.materials)
        table = self.table.reshape(kinds, kinds, -1)[used].reshape(-1, self.table.shape[1])
        met = (0.5 * radius, 0.5 * lightest, self.speed)
        shortest = min(normal.contact_time(tuple(row[:4]), *met) for row in table)
        # a damper that is given slows a mass in m / k_d, however soft the spring beside it
        damped = max(normal.damping(tuple(row[:4]), *met) for row in table)
        if damped > 0.0:
            shortest = min(shortest, FEWEST * DAMPED * 0.5 * lightest / damped)
        # a shear damper slows the point of contact of a sphere, with 2/7 of its mass, in m / k_t
        viscous = max(self.laws["tangential"].viscosity(tuple(row[4:8])) for row in table)
        if viscous > 0.0:
            shortest = min(shortest, FEWEST * 2.0 / 7.0 * 0.5 * lightest / viscous)
        return shortest

    def _steps(self, world: WorldView, dt: float) -> int:
        """Return into how many steps dt is cut, or refuse a step that is too large."""
        contact = self.contact_time(world)
        if self.step_size is None:
            return max(1, math.ceil(dt / (contact / self.steps_a_contact)))
        steps = max(1, math.ceil(dt / self.step_size - 1e-9))
        if dt / steps > contact / FEWEST and self.integrator == "verlet":
            raise InputError(
                "solver dem: step_size",
                self.step_size,
                f"at most {contact / FEWEST:.3g} s, a tenth of the shortest contact time of "
                f"{contact:.3g} s; or softer materials, or step_size None",
            )
        return steps

    # ---- what others ask -------------------------------------------------------------------

    def touching(self, world: WorldView) -> tuple[Array, Array, Array]:
        """Rows i, j and overlap (m) of all touching pairs."""
        i, j = self.pairs.pairs()
        x = world.grains.x
        gap = np.linalg.norm(x[j, :3] - x[i, :3], axis=1) - x[i, 3] - x[j, 3]
        near = gap < 0.0
        return i[near], j[near], -gap[near]

    def elastic_energy(self, world: WorldView) -> float:
        """Energy (J) stored in the normal springs between grains; walls and shear are left out."""
        _, energy = self._elastic(world)
        return float(energy.sum())

    def _elastic(self, world: WorldView) -> tuple[Array, Array]:
        grains, normal = world.grains, self.laws["normal"]
        assert isinstance(normal, NormalLaw)
        i, j, xi = self.touching(world)
        r, q = grains.x[i, 3], grains.x[j, 3]
        kind = grains.material[i] * len(world.materials) + grains.material[j]
        _, table = self._numbers(world)
        numbers = table[kind, :4].T
        light = grains.v[i, 3] + grains.v[j, 3]
        m_eff = 1.0 / np.where(light > 0.0, light, 1.0)  # two fixed ones
        force, energy = normal.elastic(numbers, xi, r * q / (r + q), m_eff)
        return np.asarray(force), np.asarray(energy)

    def grain_fields(self, world: WorldView) -> dict[str, Array]:
        """Largest overlap (m) and sum of elastic normal forces (N) of each grain, no walls."""
        grains = world.grains
        overlap, force = np.zeros(grains.n), np.zeros(grains.n)
        if not grains.changed and self.pairs.slabs > 0:
            i, j, xi = self.touching(world)
            push, _ = self._elastic(world)
            for rows in (i, j):
                np.maximum.at(overlap, rows, xi)
                np.add.at(force, rows, push)
        return {"overlap": overlap, "force": force}

    def _fill_report(self, report: StepReport, world: WorldView, weight: float) -> None:
        grains, clumps, found = world.grains, world.clumps, self.stats
        report.contacts = int(found[:, stats.CONTACTS].sum())
        report.wall_contacts = int(found[:, stats.WALLS].sum())
        report.overlap_mean = float(found[:, stats.SUM].sum()) / max(report.contacts, 1)
        report.overlap_max = float(found[:, stats.DEEPEST].max())
        total = weight * self.total.sum(axis=0)
        for b, row in enumerate(self.fixed):
            world.bodies.load[row, GRAINS] = [*total[b, :3], *total[b, 4:7]]
        self.covered.tell(report)
        used = np.zeros(len(world.materials), np.bool_)
        energy, _, _, _, bad = grain_totals(
            grains.n, grains.x, grains.v, grains.spin, grains.owner, grains.material, used
        )
        if clumps.n:
            energy += body_energy(clumps.x, clumps.v, clumps.L_own, clumps.moments)
        report.kinetic_energy = energy
        _check_finite(grains, energy, bad)

    def state(self) -> dict[str, Any]:
        """Everything that a bit-for-bit restart needs."""
        names = (
            "speed", "started", "rkf_step", "rkf_elapsed", "boundaries", "ground_seen", "kept",
        )  # fmt: skip
        own = {name: getattr(self, name) for name in names}
        lists = {"pairs": self.pairs.state(), "walls": self.walls.state()}
        return {**lists, "covered": self.covered.state(), **own}

    def check_state(self, saved: Saved, facts: Facts, world: WorldView) -> None:
        """Refuse a state that cannot be put back; nothing is changed."""
        rows = self.pairs.check(saved.part("pairs"), facts)
        fixed = [body for body in world.bodies if not body.dynamic]
        slab = saved.part("pairs").get("slab")
        check_boundaries(saved.part("walls"), self.walls.width, fixed, rows, slab)
        saved.number("speed", 0.0, FASTEST)
        saved.number("rkf_step", 0.0)
        saved.number("rkf_elapsed", 0.0)
        saved.flag("started")
        saved.whole("ground_seen", 0)
        saved.whole("kept", 0, 2**53)

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.pairs.restore(state["pairs"])
        self.seated_for = None
        self.walls.restore(state["walls"])
        self.covered.restore(state["covered"])
        self.speed, self.started = float(state["speed"]), bool(state["started"])
        self.rkf_step, self.rkf_elapsed = float(state["rkf_step"]), float(state["rkf_elapsed"])
        self.boundaries = np.array(state["boundaries"], np.int64)
        self.kept, self.ground_seen = int(state["kept"]), int(state["ground_seen"])


def _check_finite(grains: Grains, energy: float, bad: int) -> None:
    """Stop where a row is non-finite (-1: none), or the energy of all (J) is."""
    if bad >= 0 or not math.isfinite(energy):
        row = max(int(bad), 0)
        raise SimulationError(
            f"grain {int(grains.tag[row])} became non-finite "
            f"(position {grains.x[row, :3].tolist()}, velocity {grains.v[row, :3].tolist()})"
        )
