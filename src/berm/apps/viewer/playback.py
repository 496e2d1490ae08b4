"""Playback: a recording shown at its own pace, with a timeline; one still being written grows."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

import numpy as np

from berm.apps.viewer import protocol
from berm.apps.viewer.land import Land
from berm.apps.viewer.protocol import AnyMessage
from berm.apps.viewer.session import FRAME_EVERY, IDLE, BaseSession
from berm.core.errors import InputError
from berm.io.recording import Recording
from berm.stage import colours
from berm.stage.stage import Moment, Stage, moment_of, stage_of

COMMANDS = frozenset({"pause", "resume", "step", "speed", "seek", "loop"})
LOOK_AGAIN = 1.0  # s between two looks at a file that is being written
PLOT_AT_ONCE = 100  # frames whose row of the plots is made before commands are looked at again
PLOTTED_BODIES = 8


class Playback(BaseSession):
    """Shows the frames of a recording as time goes by; anyone may pause, seek or loop."""

    mode = "playback"
    anyone = True
    can = COMMANDS

    def __init__(self, recording: Recording, clock: Callable[[], float] = monotonic) -> None:
        super().__init__(clock)
        if not len(recording):
            raise InputError("recording without frames", str(recording.path), "at least one frame")
        self.recording = recording
        self.times: np.ndarray = np.array(recording.times)  # s of each frame
        self.frame = 0
        self.loop = False
        self._moment: Moment = moment_of(recording, 0)
        self._stage: Stage = stage_of(recording)
        self._contents = self._counts()
        self._anchor = (0.0, float(self.times[0]))  # wall and recorded time, s
        self._on_show = -1
        self._land = Land(self.pace.clock)
        self._looked = self.pace.clock()
        self._plotted = 0  # frames whose row is made
        self._columns: dict[str, np.ndarray] = {}
        self._before = (float("nan"), float("nan"))  # recorded and wall time of the last row, s

    # ------------------------------------------------------------------ what viewers are told

    def hello(self) -> dict[str, Any]:
        """Return scene, length and the times of all frames."""
        recording, times = self.recording, self.times
        return {
            "scene": recording.scene,
            "title": recording.path.name,
            "parameters": [],
            "keys": [],
            "duration": float(times[-1] - times[0]),
            "frames": len(times),
            "times": times,
            "dt": recording.dt,
        }

    def colours(self) -> list[str]:
        """Return what grains can be coloured by: what was recorded."""
        return colours.available(self._moment)

    @property
    def time(self) -> float:
        """Recorded time, s."""
        return float(self.times[self.frame])

    def numbers(self) -> dict[str, Any]:
        """Return frame, length and counts."""
        return {
            "frame": self.frame,
            "frames": len(self.times),
            "duration": float(self.times[-1] - self.times[0]),
            "loop": self.loop,
            "step": self._moment.step,
            "grains": len(self._moment),
            "contacts": None,
            "real_time_factor": self.pace.speed if self.running else 0.0,
        }

    # ------------------------------------------------------------------ the thread

    def run(self) -> None:
        """Show frame after frame until told to stop."""
        self.resume()
        self.show()
        self.tell()
        while not self.stopping.is_set():
            self._plot_some()
            self.obey_all(FRAME_EVERY if self.running else IDLE)
            if self.running:
                self.advance(self.pace.clock())
            if self.frame != self._on_show and (self.frame_due() or not self.running):
                self.show()
            self._grow()
            self.tell_if_due()

    def advance(self, now: float) -> None:
        """Go to the frame that is due at wall time `now` (s); at the end loop or hold."""
        wall, begin = self._anchor
        due = begin + (now - wall) * self.pace.speed
        last = len(self.times) - 1
        self.frame = min(max(int(np.searchsorted(self.times, due, side="right")) - 1, 0), last)
        # the last frame is seen as long as the one before
        span = float(self.times[last] - self.times[last - 1]) if last else 0.0
        if due < self.times[last] + span:
            return
        if self.loop and last:
            self._go_to(0)
        elif self.recording.complete:
            self.running, self.finished = False, True
            self.tell()

    def show(self) -> None:
        """Hand the present frame to the viewers."""
        if self.frame != self._on_show:
            self._moment = moment_of(self.recording, self.frame)
        self._on_show = self.frame
        self.hub.show(self._stage, self._moment, self.frame)
        self._land.show(self.hub, self._stage, self._moment, at_once=not self.running)
        self.mark_shown()

    def _go_to(self, frame: int) -> None:
        self.frame, self.finished = frame, False
        self._anchor = (self.pace.clock(), float(self.times[frame]))

    def _grow(self) -> None:
        """Take frames that were added to the file since the last look."""
        if self.recording.complete or self.pace.clock() - self._looked < LOOK_AGAIN:
            return
        self._looked = self.pace.clock()
        if self.recording.refresh() == len(self.times):
            return
        self.times = np.array(self.recording.times)
        if self._counts() != self._contents:
            self._contents, self._stage = self._counts(), stage_of(self.recording)
            self._plotted = 0
        self._columns = {}
        self.tell()

    def _counts(self) -> tuple[int, int, int]:
        known = self.recording
        return len(known.bodies), len(known.cloths), len(known.materials)

    def _plot_some(self) -> None:
        """Make some more rows of the plots: one a frame, from the steps' reports and the bodies."""
        recording = self.recording
        names = [body["name"] for body in recording.bodies][:PLOTTED_BODIES]
        if self._plotted == 0:
            self._before = (float("nan"), float("nan"))
            self.plots.clear(
                ["time", "real-time factor", "kinetic energy", "mean overlap", "grains"]
                + [f"force on {name}" for name in names],
                ["s", "", "J", "m", ""] + ["N"] * len(names),
            )
        last = min(self._plotted + PLOT_AT_ONCE, len(self.times))
        for k in range(self._plotted, last):
            self._plot_frame(k, names)
        self._plotted = last

    def _plot_frame(self, k: int, names: list[str]) -> None:
        columns = self._columns = self._columns or self.recording.columns
        time = float(self.times[k])
        row = int(np.searchsorted(columns["time"], time * (1 + 1e-12), side="right")) - 1
        wall, *values = (
            float(columns[name][row]) if row >= 0 else float("nan")
            for name in ("wall", "kinetic_energy", "overlap_mean", "grains")
        )
        before, clock = self._before
        self._before = (time, wall)
        factor = (time - before) / (wall - clock) if wall > clock else float("nan")
        bodies = self.recording.body_frames(k) if names else {}
        forces = [
            float(np.linalg.norm(bodies[name].force)) if name in bodies else float("nan")
            for name in names
        ]
        self.plots.add([time, factor, *values, *forces])

    # ------------------------------------------------------------------ commands

    def obey(self, message: AnyMessage) -> None:
        """Do what a message asks."""
        last = len(self.times) - 1
        if isinstance(message, protocol.Seek):
            if message.frame > last:
                raise InputError("seek: frame", message.frame, f"0 to {last}")
            self._go_to(message.frame)
        elif isinstance(message, protocol.Step):
            self.running = False
            self._go_to(min(max(self.frame + message.count, 0), last))
        elif isinstance(message, protocol.Loop):
            self.loop = message.on
        else:
            super().obey(message)
            self._go_to(self.frame)

    def resume(self) -> None:
        """Go on, from the start if the end was reached."""
        super().resume()
        self._go_to(0 if self.finished else self.frame)
