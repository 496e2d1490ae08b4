"""The world: owns grains, bodies and materials, pours and removes, and runs the step."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.bodies import Bodies, Body
from berm.core.cloth import Cloth
from berm.core.clumps import Clumps
from berm.core.clusters import Cluster
from berm.core.compound import CompoundGrains
from berm.core.display import Shown
from berm.core.errors import InputError, SimulationError
from berm.core.grains import Grains
from berm.core.inputs import Inputs
from berm.core.joints import Joint, Joints
from berm.core.materials import Material, material
from berm.core.motion import Motion, Steered
from berm.core.report import StepReport
from berm.core.shapes import HeightField
from berm.kernels import jit
from berm.kernels.threads import ThreadChoice
from berm.solvers.base import Solver, require, warn_of_adhesion
from berm.world.acting import Acting
from berm.world.checked_state import check_state, described
from berm.world.clumps import add_clusters, cover_body, remove_with_clumps, uncover_body
from berm.world.emitters import Emitter, Sink
from berm.world.exchange import PRECISIONS, named_solver, precision_for, use_solver
from berm.world.separate import separate
from berm.world.terrain.terrain import Terrain

Array = npt.NDArray[Any]


class World(Shown):
    """Grains, bodies, materials and a solver.

    gravity (3,) m/s^2; dt (s) is the step; seed makes everything random repeatable; precision is
    "float32" (fast) or "float64"; None: what the solver likes best.
    """

    def __init__(
        self,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        dt: float = 1.0 / 60.0,
        solver: str | Solver = "p2",
        seed: int = 0,
        precision: str | None = None,
    ) -> None:
        self.gravity = checks.vector("world: gravity", gravity, "three finite numbers, m/s^2")
        self.dt = checks.number("world: dt", dt, "a time above 0, s", lambda t: 0 < t < np.inf)
        self.seed = checks.whole("world: seed", seed, 0)
        self.solver: Solver = named_solver(solver)
        self.asked_precision = precision
        self.precision = precision_for(self.solver, precision)
        self.grains = Grains(PRECISIONS[self.precision])
        self.clumps = Clumps()
        self.bodies = Bodies()
        self.joints = Joints()
        self.materials: list[Material] = []
        self.cloths: list[Cloth] = []
        self.emitters: list[Emitter] = []
        self.sinks: list[Sink] = []
        self.solver.prepare(self)
        self.inputs: Inputs = Inputs()
        self.control: Callable[[World], None] | None = None  # called before each step
        self.terrain: Terrain | None = None
        self.machines: list[Acting] = []  # their controls act before each step, after `control`
        self.rng = np.random.default_rng(self.seed)
        self.time: float = 0.0
        self.step_count = 0
        self.report = StepReport()
        self._threads = ThreadChoice()
        self.mass_added = 0.0  # kg, since the start
        self.mass_removed = 0.0

    @property
    def compound_grains(self) -> CompoundGrains:
        """Compound grains as bodies: handles by tag, and columns."""
        return CompoundGrains(self.clumps, self.grains)

    # ---- building -------------------------------------------------------------------------

    def use_solver(self, solver: str | Solver) -> None:
        """Let another solver (an object of its own, or a name) take the steps from now on.

        Grains, bodies and all else stay, and become what the new solver needs: its precision,
        unless one was asked for, spins, particles on dynamic bodies. Memories of contacts are lost.
        """
        use_solver(self, solver)

    def add_material(self, what: str | Material) -> int:
        """Add a material (or find an equal one) and return its index."""
        wanted = material(what) if isinstance(what, str) else what
        if not isinstance(wanted, Material):
            raise InputError("material", what, "the name of a preset, or a Material")
        for k, known in enumerate(self.materials):
            if known == wanted:
                return k
        self.materials.append(wanted)
        return len(self.materials) - 1

    def add_grains(
        self,
        position: npt.ArrayLike,
        radius: npt.ArrayLike,
        velocity: npt.ArrayLike = (0.0, 0.0, 0.0),
        material: str | Material = "gravel",
        mass: npt.ArrayLike | None = None,
    ) -> Array:
        """Add grains at (k, 3) positions (m) with radii (m) and velocities (m/s); return tags.

        mass (kg): one for all or one each; None: that of a sphere of the material's density.
        """
        try:
            where = np.atleast_2d(np.asarray(position, float))
        except (TypeError, ValueError):
            raise InputError("grains: position", position, "numbers of shape (k, 3)") from None
        if where.ndim != 2 or where.shape[1] != 3:
            raise InputError("grains: position", np.shape(position), "shape (k, 3)")
        k = len(where)
        if k == 0:
            return np.zeros(0, np.int64)
        require(self.solver, "grains", "grains")
        radii = checks.numbers("grains: radius", radius, (k,), ", m")
        speed = checks.numbers("grains: velocity", velocity, (k, 3), ", m/s")
        for name, values in (("position", where), ("velocity", speed), ("radius", radii)):
            bad = np.flatnonzero(~np.isfinite(values.reshape(k, -1)).all(axis=1))
            if bad.size:
                raise InputError(
                    f"grains: {name} of grain {bad[0]}", values[bad[0]].tolist(), "finite numbers"
                )
        bad = np.flatnonzero(radii <= 0)
        if bad.size:
            raise InputError(
                f"grains: radius of grain {bad[0]}", float(radii[bad[0]]), "above 0, m"
            )
        if float(np.abs(where).max()) > 1e6 * float(radii.min()):
            largest = where.flat[int(np.abs(where).argmax())]
            if self.precision == "float32":
                raise InputError(
                    "grains: position",
                    float(largest),
                    "within 1e6 radii of the origin in float32; use precision='float64'",
                )
        index = self.add_material(material)
        warn_of_adhesion(self.solver, self.materials[index], depth=2)
        if mass is None:
            given, what = self.materials[index].density * 4.0 / 3.0 * np.pi * radii**3, "radius"
        else:
            given, what = checks.numbers("grains: mass", mass, (k,), ", kg"), "mass"
        least, most = np.finfo(self.grains.dtype).tiny, np.finfo(self.grains.dtype).max
        bad = np.flatnonzero(~((given > 1.0 / most) & (given < 1.0 / least)))
        if bad.size:
            value = {"radius": radii, "mass": given}[what]
            raise InputError(
                f"grains: {what} of grain {bad[0]}", float(value[bad[0]]),
                f"one with a mass that {self.precision} can hold; it has {given[bad[0]]:.3g} kg",
            )  # fmt: skip
        self.mass_added += float(given.sum())
        return self.grains.append(where, radii, speed, given, index, self.time)

    def add_clusters(
        self,
        cluster: Cluster,
        position: npt.ArrayLike,
        rotation: npt.ArrayLike | None = None,
        velocity: npt.ArrayLike = (0.0, 0.0, 0.0),
        spin: npt.ArrayLike = (0.0, 0.0, 0.0),
        material: str | Material = "gravel",
    ) -> Array:
        """Add rigid bodies of spheres at (k, 3) positions (m) of their centres; return their tags.

        rotation: quaternions (k, 4) or one (4,) of the cluster's own frame, "random", or None;
        velocity (m/s) and spin (rad/s, in the world's axes): (3,) or (k, 3). Read where they are
        from `compound_grains`.
        """
        return add_clusters(self, cluster, position, rotation, velocity, spin, material)

    def separate(self, overlap: float = 0.01) -> float:
        """Move grains apart until none overlaps by more than `overlap` of its radius; warn if any.

        Returns the largest overlap left, in radii. For starts that would explode otherwise.
        """
        return separate(self, overlap)

    def remove_grains(
        self, tags: npt.ArrayLike | None = None, mask: npt.ArrayLike | None = None
    ) -> int:
        """Remove grains by tag, or by a mask over the present rows; return how many."""
        if (tags is None) == (mask is None):
            raise InputError("remove_grains", "tags and mask", "exactly one of the two")
        gone = np.zeros(self.grains.n, bool)
        if tags is not None:
            gone[self.grains.rows_of(tags)] = True
        else:
            marked = np.asarray(mask)
            if marked.dtype != bool or marked.shape != gone.shape:
                raise InputError(
                    "remove_grains: mask", f"{marked.dtype} of shape {marked.shape}",
                    f"true or false for each of the {self.grains.n} rows",
                )  # fmt: skip
            gone |= marked
        if self.clumps.n:
            return remove_with_clumps(self, gone)
        self.mass_removed += float(self.grains.mass[gone].sum())
        return self.grains.remove(gone)

    def fix_grains(self, tags: npt.ArrayLike) -> None:
        """Hold grains where they are from now on: nothing moves them, they bear what meets them.

        Their mass still counts, and comes back to the gram with `free_grains`.
        """
        self.grains.fix(self._single_rows(tags, "fix_grains"))

    def free_grains(self, tags: npt.ArrayLike) -> None:
        """Let fixed grains move again, from rest; those that are free stay as they are."""
        self.grains.free(self._single_rows(tags, "free_grains"))

    def _single_rows(self, tags: npt.ArrayLike, what: str) -> Array:
        """Rows of grains, none of which is a sphere of a compound grain or body."""
        rows = self.grains.rows_of(tags)
        if self.grains.rotating:
            member = self.grains.owner[rows] >= 0
            if member.any():
                raise InputError(
                    what, int(self.grains.tag[rows[member][0]]), "single grains, not a part of one"
                )
        return rows

    def add_body(
        self,
        shape: Any,
        name: str | None = None,
        material: str | Material = "steel",
        position: npt.ArrayLike = (0.0, 0.0, 0.0),
        rotation: npt.ArrayLike | None = None,
        motion: Motion | None = None,
        dynamic: bool = False,
        density: float | None = None,
        mass: float | None = None,
        velocity: npt.ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: npt.ArrayLike = (0.0, 0.0, 0.0),
        particle_radius: float | None = None,
        inertia: npt.ArrayLike | None = None,
        centre: npt.ArrayLike | None = None,
    ) -> Body:
        """Add a body; its force and torque can be read after each step.

        Without a motion it stays where it is; `dynamic` lets forces move it: mass (kg) and inertia
        come from the shape and a density (kg/m^3, default the material's), or from `mass`. With it,
        inertia (3, 3) or moments (3,) about the centre of mass (kg m^2) and centre (3,) in m, in
        the body's frame (default its origin), replace the shape's. Where grains rotate (solver
        "dem"), a dynamic body is covered with particles of `particle_radius` (m; default the
        grains' mean radius) through which it meets everything else.
        """
        label = name or f"{type(shape).__name__.lower()}{len(self.bodies)}"
        if label in self.bodies.names:
            raise InputError("body name", label, "a name that no other body has")
        body = Body(shape, label, self.add_material(material), position, rotation, motion)
        if dynamic:
            require(self.solver, "bodies", f"dynamic body {label!r}")
            if density is None:
                density = self.materials[body.material].density
            body.set_free(density, mass, velocity, angular_velocity, inertia, centre)
        elif (
            any(given is not None for given in (density, mass, inertia, centre))
            or np.any(velocity)
            or np.any(angular_velocity)
        ):
            raise InputError(
                f"body {label!r}: density, mass or velocity", body.kind, "only with dynamic=True"
            )
        body.prepare(self.time, self.dt)
        covered = body.dynamic and self.grains.rotating
        clump = cover_body(self, body, particle_radius) if covered else -1
        self.bodies.add(body)
        if covered:
            self.clumps.body[clump] = body.tag
        return body

    def remove_body(self, body: Body) -> None:
        """Take a body out of the world; nothing else is disturbed. Its joints have to go first."""
        if body not in self.bodies:
            raise InputError("remove_body", getattr(body, "name", body), "a body of this world")
        held = [joint.label for joint in self.joints if body in (joint.body_a, joint.body_b)]
        if held:
            raise InputError(
                f"remove_body: {body.name!r}", f"joined by {', '.join(held)}",
                "a body without joints: remove_joint first",
            )  # fmt: skip
        uncover_body(self, body)
        self.bodies.remove(body)
        self.joints.point_to_rows()

    def add_terrain(self, terrain: Terrain) -> Terrain:
        """Add ground that can be dug; a world has one."""
        if not isinstance(terrain, Terrain):
            raise InputError("terrain", terrain, "a Terrain")
        if self.terrain is not None:
            raise InputError("add_terrain", terrain, "one terrain a world; it has one")
        terrain.attach(self)
        self.terrain = terrain
        return terrain

    def add_cloth(self, cloth: Cloth) -> Cloth:
        """Add cloth; solvers "vts" and "sp" move it, together with the grains."""
        require(self.solver, "cloth", f"cloth {cloth.name!r}")
        if any(known.name == cloth.name for known in self.cloths):
            raise InputError("cloth name", cloth.name, "a name that no other cloth has")
        self.add_material(cloth.material)
        self.cloths.append(cloth)
        return cloth

    def body(self, name: str) -> Body:
        """Return the body called `name`."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise InputError("unknown body", name, ", ".join(b.name for b in self.bodies) or "none")

    def add_joint(self, joint: Joint) -> Joint:
        """Join two bodies, or a body and the world, from now on; the bodies pass each other."""
        require(self.solver, "joints", joint.label)
        for body in (joint.body_a, joint.body_b):
            if body is not None and not any(body is known for known in self.bodies):
                raise InputError(f"{joint.label}: body", body.name, "bodies of this world")
        for other in joint.links:
            if other not in self.joints.handles:
                raise InputError(f"{joint.label}: joint", other.label, "joints of this world")
        joint.attach()
        return self.joints.add(joint)

    def remove_joint(self, joint: Joint) -> None:
        """Take a joint out of the world."""
        if joint not in self.joints.handles:
            raise InputError("remove_joint", joint, "a joint of this world")
        held = [other.label for other in self.joints if joint in other.links]
        if held:
            raise InputError(
                f"remove_joint: {joint.label}", f"coupled by {', '.join(held)}",
                "a joint that no gear couples: remove the gear first",
            )  # fmt: skip
        for body in (joint.body_a, joint.body_b):
            if body is not None and body.dynamic:
                self.bodies.wake(body.row)
        self.joints.remove(joint)

    def add_emitter(self, emitter: Emitter) -> Emitter:
        """Pour grains from now on."""
        if not isinstance(emitter, Emitter):
            raise InputError("emitter", emitter, "an Emitter")
        require(self.solver, "grains", "emitter")
        if emitter.cluster is not None:
            require(self.solver, "clusters", f"emitter of cluster {emitter.cluster.name!r}")
        emitter.attach(len(self.emitters), self.seed)
        self.emitters.append(emitter)
        return emitter

    def add_sink(self, sink: Sink) -> Sink:
        """Remove grains that come into a region from now on."""
        if not isinstance(sink, Sink):
            raise InputError("sink", sink, "a Sink")
        self.sinks.append(sink)
        return sink

    # ---- running --------------------------------------------------------------------------

    def step(self) -> StepReport:
        """Advance by dt: obey, pour and drain, move the bodies, then the solver's step."""
        begin = time.perf_counter()
        if self.control is not None:
            self.control(self)
        for machine in self.machines:
            machine.act(self)
        for emitter in self.emitters:
            emitter.pour(self)
        for sink in self.sinks:
            sink.drain(self)
        self.bodies.prepare(self.time, self.dt)
        poured = time.perf_counter() - begin
        if self.terrain is not None:
            self.terrain.act(self)
        dug = time.perf_counter() - begin - poured
        size = self.grains.n + sum(len(cloth.position) for cloth in self.cloths)
        threads, choose = jit.get_threads(), jit.may_choose_threads()
        jit.use_threads(self._threads.begin(size, threads) if choose else threads)
        solving = time.perf_counter()
        try:
            report = self.solver.step(self, self.dt)
        except SimulationError as error:  # solvers say who, the world knows when
            raise SimulationError(f"step {self.step_count + 1}: {error}") from error
        if choose:
            self._threads.end(size, time.perf_counter() - solving)
        self.step_count += 1
        self.time = self.step_count * self.dt
        report.step, report.time = self.step_count, self.time
        report.timings["pour"] = poured
        if self.terrain is not None:
            report.timings["terrain"] = dug
        self.report = report
        return report

    def run(
        self,
        seconds: float,
        recorders: Iterable[Any] = (),
        progress: bool | Callable[[World, StepReport], None] = False,
    ) -> StepReport:
        """Advance by `seconds`; record; show progress (True: a bar in the terminal)."""
        from berm.world.runner import run

        return run(self, seconds, recorders, progress)

    # ---- checkpoint -----------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything that a bit-for-bit restart needs, as arrays and plain values."""
        g = self.grains
        return {
            "scene": described(self),
            "time": self.time,
            "step_count": self.step_count,
            "mass_added": self.mass_added,
            "mass_removed": self.mass_removed,
            "rng": self.rng.bit_generator.state,
            "materials": [dataclasses.asdict(m) for m in self.materials],
            "grains": {name: getattr(g, name)[: g.n].copy() for name in g.FIELDS}
            | {"next_tag": g.next_tag, "changed": g.changed, "reweighed": g.reweighed},
            "clumps": self.clumps.state(),
            "emitters": [emitter.state() for emitter in self.emitters],
            "sinks": [sink.state() for sink in self.sinks],
            "inputs": self.inputs.state(),
            "motions": {
                body.name: body.motion.state()
                for body in self.bodies
                if isinstance(body.motion, Steered)
            },
            "bodies": self.bodies.state(),
            "ground": {
                body.name: body.shape.state()
                for body in self.bodies
                if isinstance(body.shape, HeightField)
            },
            "joints": self.joints.state(),
            "machines": {machine.name: machine.state() for machine in self.machines},
            "report": {k: v for k, v in vars(self.report).items() if k != "timings"},
            "terrain": self.terrain.state() if self.terrain is not None else {},
            "solver": self.solver.state(),
            "cloths": [cloth.state() for cloth in self.cloths],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put back a state of the same scene (same bodies, cloths, emitters, sinks and solver).

        The state stays as it is, and can be put back again. One that does not fit is refused, and
        the world then is as it was.
        """
        before: dict[str, Any] | None = None
        try:
            check_state(self, state)
            before = self.state()
            self._put_back(state)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if before is not None:
                self._put_back(before)
            if isinstance(error, InputError):
                raise
            what = f"{type(error).__name__}: {error}"
            raise InputError("state", what, "a state of this scene") from error

    def _put_back(self, state: dict[str, Any]) -> None:
        g, saved = self.grains, state["grains"]
        self.materials = [Material(**values) for values in state["materials"]]
        n = len(saved["tag"])
        g.n = 0
        g.reserve(n)
        g.n = n
        for name in g.FIELDS:
            getattr(g, name)[:n] = saved[name]
        g.next_tag, g.changed = int(saved["next_tag"]), bool(saved["changed"])
        g.reweighed = bool(saved["reweighed"])
        self.time, self.step_count = float(state["time"]), int(state["step_count"])
        self.mass_added = float(state["mass_added"])
        self.mass_removed = float(state["mass_removed"])
        self.rng.bit_generator.state = state["rng"]
        self.clumps.restore(state["clumps"])
        if self.clumps.n:
            self.clumps.find_rows(g)
        for emitter, one in zip(self.emitters, state["emitters"], strict=True):
            emitter.restore(one)
        for sink, one in zip(self.sinks, state["sinks"], strict=True):
            sink.restore(one)
        for name, one in state.get("ground", {}).items():
            self.body(name).shape.restore(one)
        if self.terrain is not None:
            self.terrain.restore(state["terrain"])
        self.solver.restore(state["solver"])
        self.report = StepReport(**state["report"])
        for cloth, one in zip(self.cloths, state["cloths"], strict=True):
            cloth.restore(one)
        self.inputs.restore(state["inputs"])
        for name, one in state.get("motions", {}).items():
            motion = self.body(name).motion
            if not isinstance(motion, Steered):
                raise InputError(
                    f"checkpoint: body {name!r}", "steered", "a checkpoint of this scene"
                )
            motion.restore(one)
        self.bodies.restore(state["bodies"])
        self.joints.restore(state["joints"])
        for machine in self.machines:
            machine.restore(state["machines"][machine.name])

    def __repr__(self) -> str:
        return (
            f"World(t={self.time:.3f} s, {self.grains.n} grains, {len(self.bodies)} bodies, "
            f"solver {self.solver.name})"
        )
