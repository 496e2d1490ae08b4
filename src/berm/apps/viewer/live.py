"""A live session: a world that is stepped in its own thread while people look at it and steer it.

The simulation never waits for a viewer: it copies its arrays when one has asked for a frame, and
obeys what is in its queue between two steps.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic, thread_time
from typing import Any, Protocol

import numpy as np

from berm.apps.viewer import parameters, protocol
from berm.apps.viewer.frames import height_frame
from berm.apps.viewer.land import Land
from berm.apps.viewer.protocol import AnyMessage
from berm.apps.viewer.session import IDLE, BaseSession
from berm.core.errors import BermError, InputError
from berm.core.report import StepReport
from berm.core.shapes import HeightField
from berm.scenes.parts.setup import Setup
from berm.stage import colours
from berm.stage.stage import Stage, moment_of, stage_of
from berm.world.world import World

PLOT_EVERY = 1.0 / 30.0  # s of simulated time between two rows of the plots, at least
PLOTTED_BODIES = 8
SMOOTH = 0.7  # memory of the real-time factor, per status
TINY = 1e-9
COMMANDS = frozenset({"pause", "resume", "step", "speed", "set", "keys", "reset"})


@dataclass(frozen=True)
class Program:
    """What is run: a world, how it is built, and the parameters and solver that it is built from.

    end: simulated time (s) at which the session holds; None: never.
    """

    name: str
    build: Callable[[Setup | None], World]
    setup: Setup | None = None
    end: float | None = None

    @classmethod
    def of_world(cls, world: World, name: str = "world") -> Program:
        """Return a program that runs a world as it is; a reset brings it back to this moment."""
        start = world.state()

        def build(setup: Setup | None) -> World:
            if world.step_count != start["step_count"]:
                world.restore(copy.deepcopy(start))
            return world

        return cls(name, build)


class Note(Protocol):
    """Whoever wants to know what people change, such as `Recorder.note`."""

    def __call__(self, kind: str, **data: Any) -> None:
        """Take note of a change."""
        ...


class Live(BaseSession):
    """Steps a world, shows it, and obeys; `note_change` is told of all that people change."""

    mode = "live"

    def __init__(
        self,
        program: Program,
        note_change: Note | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__(clock)
        self.program, self.note_change = program, note_change
        self.can = COMMANDS
        self.setup = program.setup  # in effect
        self.next_setup = program.setup  # for the next reset
        self.world: World | None = None
        self.patience = float("inf")  # s that it stays held when all viewers have gone
        self.factor = float("nan")  # simulated time over wall time
        self._stage: Stage | None = None
        self._stage_key: tuple[Any, ...] = ()
        self._mark = (float("nan"), float("nan"))
        self._plotted = float("-inf")
        self._bodies: list[str] = []
        self._ground: dict[int, int] = {}  # versions of height fields that viewers know, by body
        self._land = Land(self.pace.clock)

    # ------------------------------------------------------------------ what viewers are told

    def hello(self) -> dict[str, Any]:
        """Return scene, parameters and keys."""
        setup, world = self.next_setup, self.world
        scene = setup.scene if setup is not None else None
        return {
            "scene": self.program.name,
            "title": scene.summary if scene else self.program.name,
            "parameters": parameters.describe(setup) if setup is not None else [],
            "keys": [{"key": key, "does": does} for key, does in (scene.keys if scene else ())],
            "duration": self.program.end,
            "frames": None,
            "times": None,
            "dt": world.dt if world is not None else None,
        }

    def colours(self) -> list[str]:
        """Return what grains can be coloured by."""
        known = self.world is not None and hasattr(self.world.solver, "grain_fields")
        merges = self.world is not None and getattr(self.world.solver, "merging", False) is True
        never = set() if known else {"force", "overlap"}
        never |= set() if merges else {"merged"}
        return [name for name in colours.MODES if name not in never]

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return 0.0 if self.world is None else float(self.world.time)

    def numbers(self) -> dict[str, Any]:
        """Return step, counts and the real-time factor."""
        self._measure_factor()
        world = self.world
        if world is None:
            return {"step": 0, "grains": 0, "contacts": 0, "real_time_factor": None}
        return {
            "step": world.step_count,
            "grains": world.grains.n,
            "contacts": world.report.contacts + world.report.wall_contacts,
            "real_time_factor": self.factor,
        }

    def _measure_factor(self) -> None:
        now, (wall, time) = self.pace.clock(), self._mark
        self._mark = (now, self.time)
        if self.running and now > wall and self.time > time:
            fresh = (self.time - time) / (now - wall)
            known = self.factor == self.factor
            self.factor = SMOOTH * self.factor + (1 - SMOOTH) * fresh if known else fresh

    # ------------------------------------------------------------------ the world

    def open(self, world: World) -> None:
        """Show another world from now on."""
        first = self.world is None
        self.world, self._stage_key = world, ()
        self.finished, self.error, self.steps_left = False, "", 0
        self.factor, self._mark = float("nan"), (float("nan"), float("nan"))
        self._bodies = [body.name for body in world.bodies[:PLOTTED_BODIES]]
        self.plots.clear(
            ["time", "real-time factor", "kinetic energy", "mean overlap", "grains"]
            + [f"force on {name}" for name in self._bodies],
            ["s", "", "J", "m", ""] + ["N"] * len(self._bodies),
        )
        self._plotted = float("-inf")
        self.show()
        self.tell()
        if first:  # who was here before could not be told all
            self.hub.greet_all()

    def show(self) -> None:
        """Hand the present moment to the viewers."""
        world = self.world
        if world is None:
            return
        parts = (*world.bodies, *world.cloths)
        key = (*map(id, parts), *(material.name for material in world.materials))
        if self._stage is None or key != self._stage_key:
            self._stage, self._stage_key = stage_of(world), key
            self._ground = {}
            self.hub.forget_surfaces()
        full, begin = self.hub.wants_fields, thread_time()
        moment = moment_of(world, fields=full)
        self.hub.show(self._stage, moment, full=full)
        self._show_ground()
        self._land.show(self.hub, self._stage, moment, at_once=not self.running)
        self.mark_shown(thread_time() - begin)

    def _show_ground(self) -> None:
        """Hand over height fields that have changed since the stage was made."""
        assert self.world is not None and self._stage is not None
        land = None if self._stage.ground is None else self._stage.ground.body
        for k, body in enumerate(self.world.bodies):
            if not isinstance(body.shape, HeightField) or k == land:
                continue
            if body.shape.version != self._ground.get(k):
                if k in self._ground:
                    frame = partial(height_frame, k, body.material, body.shape)
                    self.hub.show_surface(f"height {k}", frame)
                self._ground[k] = body.shape.version

    def after_step(self, report: StepReport) -> None:
        """Do what comes between two steps, but for `hold`: plot, show, tell, obey, keep pace."""
        world = self.world
        assert world is not None
        if self.program.end is not None and world.time > self.program.end - 0.5 * world.dt:
            self.finished, self.running, self.steps_left = True, False, 0
        self._plot(report)
        if self.steps_left > 0:
            self.steps_left -= 1
        if self.frame_due() or not self._goes():
            self.show()
        if self.finished:
            self.tell()
        self.tell_if_due()
        self.obey_all()
        self.eased = False
        while self._free() and (left := self.pace.wait(self.time)) > TINY:
            self.eased = True
            self.obey_all(min(left, IDLE))

    def hold(self) -> None:
        """Wait while the simulation is held, and go on showing and obeying."""
        held, alone = not self._goes(), 0.0
        while not self._goes() and not self.ends():
            alone = 0.0 if self.hub.viewers else alone + IDLE
            if alone > self.patience:
                self.resume()
                break
            if self.hub.lacks_fields:
                self.show()
            self.tell_if_due()
            self.obey_all(IDLE)
        if held:
            self.pace.begin(self.time)

    def _goes(self) -> bool:
        return self.running or self.steps_left > 0

    def _free(self) -> bool:
        """Whether the pace alone decides when the next step is."""
        return self.running and not self.ends()

    def _plot(self, report: StepReport) -> None:
        world = self.world
        assert world is not None
        if world.time - self._plotted < PLOT_EVERY - TINY:
            return
        self._plotted = world.time
        forces = [float(np.linalg.norm(world.body(name).force)) for name in self._bodies]
        energy, overlap = report.kinetic_energy, report.overlap_mean
        self.plots.add([world.time, self.factor, energy, overlap, world.grains.n, *forces])

    # ------------------------------------------------------------------ the thread

    def run(self) -> None:
        """Build, compile, and step until told to stop; a failure is shown and can be reset."""
        self.attempt(lambda: self._begin(self.setup))
        while not self.stopping.is_set():
            self.obey_all()
            self.hold()
            if self.world is not None and not self.stopping.is_set():
                self.attempt(self._turn)

    def attempt(self, what: Callable[[], None]) -> None:
        """Do something; a failure is shown, and the session goes on with the last moment."""
        try:
            what()
        except Exception as error:
            self.fail(error)
            self.show()

    def _begin(self, setup: Setup | None) -> None:
        """Build the world and start it."""
        world = self.program.build(setup)
        world.inputs.by_hand = True  # a person steers from the start, not the scene's script
        self.open(world)
        self._warm_up()
        self.resume()

    def _turn(self) -> None:
        assert self.world is not None
        self.after_step(self.world.step())

    def _warm_up(self) -> None:
        from berm.apps import warmup

        assert self.world is not None
        if not warmup.needed(self.world):
            return
        self.note = warmup.ABOUT
        self.tell()
        try:
            warmup.warm_up(self.world)
        finally:
            self.note = ""
            self.tell()

    # ------------------------------------------------------------------ commands

    def obey(self, message: AnyMessage) -> None:
        """Do what a message asks."""
        if self.error and not isinstance(message, protocol.Reset | protocol.Set | protocol.Keys):
            raise InputError(f"{message.type}: the simulation has failed", allowed="reset")
        if isinstance(message, protocol.Step) and message.count < 1:
            raise InputError("step: count", message.count, "1 or more: time does not run back")
        if isinstance(message, protocol.Keys):
            self._press(message)
        elif isinstance(message, protocol.Set):
            self._set(message.name, message.value)
        elif isinstance(message, protocol.Reset):
            self._reset(dict(message.parameters))
        else:
            if self.finished and isinstance(message, protocol.Resume | protocol.Step):
                raise InputError(f"{message.type}: the run is at its end", allowed="reset")
            super().obey(message)

    def _press(self, message: protocol.Keys) -> None:
        assert self.world is not None
        inputs = self.world.inputs
        if not (inputs.by_hand or message.down or message.axes or message.buttons):
            return  # who only looks does not take the controls from a scene that drives itself
        before = inputs.state()
        inputs.press(message.down, message.axes, message.buttons)
        inputs.by_hand = inputs.by_hand or inputs.any
        if self.note_change is not None and inputs.state() != before:
            self.note_change("inputs", **inputs.state())

    def _set(self, name: str, value: Any) -> None:
        setup, later = self.setup, self.next_setup
        if setup is None or later is None:
            raise InputError("set: unknown parameter", name, "none: this world has no parameters")
        self.next_setup = later.changed({name: value})
        if name in setup.live_names():
            try:
                new = setup.changed({name: value})
                assert self.world is not None
                setup.retune(self.world, new)
            except BermError:
                self.next_setup = later
                raise
            self.setup = new
            if self.note_change is not None:
                self.note_change("parameter", name=name, value=value)
        self._tell_changes(later, [name])

    def _reset(self, given: dict[str, Any]) -> None:
        later = self.next_setup
        if given and later is None:
            raise InputError("reset: parameters", sorted(given), "none: this world has none")
        new = later.changed(given) if later is not None else None
        held = not (self.running or self.error or self.finished)
        self._begin(new)
        self.setup = self.next_setup = new
        self.running = not held
        self._tell_changes(later)

    def _tell_changes(self, before: Setup | None, names: list[str] | None = None) -> None:
        """Tell all viewers the values by these names; another solver has other options."""
        if self.next_setup is None or before is None:
            return
        if self.next_setup.option_names() != before.option_names():
            self.hub.greet_all()
        values = parameters.shown(self.next_setup)
        chosen = values if names is None else {name: values[name] for name in names}
        self.hub.answer(0, {"type": "parameters", "values": chosen})
