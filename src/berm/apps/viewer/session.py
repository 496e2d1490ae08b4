"""What live and playback share: a queue of commands, a thread that obeys them, and the status."""

from __future__ import annotations

import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from berm.apps.viewer import protocol
from berm.apps.viewer.hub import Hub
from berm.apps.viewer.plots import PlotRows
from berm.apps.viewer.protocol import AnyMessage
from berm.core.errors import BermError

FRAME_EVERY = (
    0.9 / 60.0
)  # s between two moments, at least; a world that keeps 60 Hz shows each step
SHARE = 0.02  # of the time that frames may take from a simulation that has none to spare
MEMORY = 0.8  # of the cost of a frame, per frame
STATUS_EVERY = 0.2  # s between two statuses, unless something was commanded
LATE = 0.25  # s behind the clock from which on lost time is not made up for
IDLE = 0.05  # s between two looks at what is wanted while nothing moves


def say(error: BaseException) -> str:
    """Return an error in words: berm's own as they are, others with their kind."""
    text = str(error) or type(error).__name__
    return text if isinstance(error, BermError) else f"{type(error).__name__}: {text}"


class Pace:
    """Keeps simulated time at most `speed` times ahead of the wall clock (s)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.speed = clock, 1.0
        self._wall = self._time = float("nan")

    def begin(self, now: float) -> None:
        """Count from simulated time `now` (s) on."""
        self._wall, self._time = self.clock(), now

    def wait(self, now: float) -> float:
        """Return how long (s) simulated time `now` is ahead; 0 when it is late."""
        ahead = self._wall + (now - self._time) / self.speed - self.clock()
        if not ahead > -LATE:  # behind, or never begun: go on from here
            self.begin(now)
        return max(ahead, 0.0) if ahead == ahead else 0.0


class BaseSession(ABC):
    """A thread that runs something, shows it to a hub, and obeys commands between two turns."""

    mode: str
    anyone: bool = False
    can: frozenset[str] = frozenset()

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.plots = PlotRows()
        self.hub = Hub(self, clock)
        self.pace = Pace(clock)
        self.running = True
        self.steps_left = 0  # while held: so many turns, then hold again
        self.note = self.error = ""
        self.finished = False
        self.stopping = threading.Event()
        self.ends: Callable[[], bool] = self.stopping.is_set  # asked while nothing moves
        self._commands: queue.SimpleQueue[tuple[int, AnyMessage]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._showed = self._told = float("-inf")
        self.eased = True  # whether there is time to spare
        self.cost = 0.0  # s of processor time that a frame costs, copying and sending
        self._spent = 0.0

    # ------------------------------------------------------------------ for the hub

    @abstractmethod
    def hello(self) -> dict[str, Any]:
        """Return what a viewer is told first."""

    def submit(self, viewer: int, message: AnyMessage) -> None:
        """Queue a command; refusals come back through the hub."""
        self._commands.put((viewer, message))

    # ------------------------------------------------------------------ the thread

    def start(self) -> None:
        """Run in a thread of its own until `stop`."""
        self._thread = threading.Thread(target=self._guarded, name=f"berm {self.mode}", daemon=True)
        self._thread.start()

    def stop(self, timeout: float = 30.0) -> None:
        """Ask the thread to end after the present turn, and wait for it (s)."""
        self.stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    @abstractmethod
    def run(self) -> None:
        """Do all turns, until `stopping` is set."""

    def _guarded(self) -> None:
        try:
            self.run()
        except Exception as error:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Hold, and tell all viewers what happened."""
        self.error = say(error)
        self.running, self.note = False, ""
        self.tell()

    # ------------------------------------------------------------------ commands

    def obey_all(self, wait: float = 0.0) -> None:
        """Obey what was commanded; with nothing to do, wait up to so many seconds for something."""
        try:
            viewer, message = self._commands.get(timeout=wait) if wait > 0 else self._next()
            while True:
                self._obey_one(viewer, message)
                viewer, message = self._next()
        except queue.Empty:
            return

    def _next(self) -> tuple[int, AnyMessage]:
        return self._commands.get_nowait()

    def _obey_one(self, viewer: int, message: AnyMessage) -> None:
        try:
            self.obey(message)
        except Exception as error:  # no command may end the session
            self.hub.answer(viewer, {"type": "error", "message": say(error)[: protocol.LONGEST]})
        if not isinstance(message, protocol.Keys):
            self.tell()

    def obey(self, message: AnyMessage) -> None:
        """Do what a message asks; this class knows pause, resume, step and speed."""
        if isinstance(message, protocol.Pause):
            self.running, self.steps_left = False, 0
        elif isinstance(message, protocol.Resume):
            self.resume()
        elif isinstance(message, protocol.Step):
            self.running, self.steps_left = False, message.count
        elif isinstance(message, protocol.Speed):
            self.pace.speed = message.factor
            self.pace.begin(self.time)

    def resume(self) -> None:
        """Go on."""
        self.running, self.steps_left = True, 0
        self.pace.begin(self.time)

    # ------------------------------------------------------------------ telling

    @property
    @abstractmethod
    def time(self) -> float:
        """Simulated time, s."""

    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """Return what the status tells beside what is common: step, grains, contacts ..."""

    def tell(self) -> None:
        """Publish the status."""
        self._told = self.pace.clock()
        self.hub.tell_status(
            {
                "running": self.running,
                "speed": min(self.pace.speed, protocol.FASTEST),
                "time": self.time,
                "note": self.note,
                "error": self.error or None,
                "finished": self.finished,
                **self.numbers(),
            }
        )

    def tell_if_due(self) -> None:
        """Publish the status if the last one is old."""
        if self.pace.clock() - self._told >= STATUS_EVERY:
            self.tell()

    def frame_due(self) -> bool:
        """Whether a viewer waits for a frame and the last one is long enough ago.

        Who has no time to spare shows less often, so that frames cost it no more than `SHARE`.
        """
        apart = FRAME_EVERY if self.eased else max(FRAME_EVERY, self.cost / SHARE)
        return self.hub.wants_frame and self.pace.clock() - self._showed >= apart

    def mark_shown(self, copying: float = 0.0) -> None:
        """Note that a moment was handed over just now, and what copying it took (s)."""
        self._showed = self.pace.clock()
        fresh = copying + self.hub.spent - self._spent
        self._spent = self.hub.spent
        self.cost = MEMORY * self.cost + (1.0 - MEMORY) * fresh
