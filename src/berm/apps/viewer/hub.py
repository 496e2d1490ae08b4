"""The hub between one session and its viewers: who gets what next, who steers, what is refused.

The methods under "from the session's thread" hand things over by replacing one object; all others
run in the server's thread. No method waits.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from berm.apps.viewer import protocol
from berm.apps.viewer.frames import MomentFrames, stage_json
from berm.apps.viewer.picking import pick
from berm.apps.viewer.plots import PlotRows
from berm.apps.viewer.protocol import AnyMessage, Keys, Rate, read_message, to_json
from berm.core.errors import BermError, InputError
from berm.stage import colours
from berm.stage.stage import Moment, Stage

MOST_WAITING = 64  # answers that may wait for a viewer; to one that does not read no more are given
FIELDS = ("force", "overlap")  # what costs something to know, and is computed on demand
PLOTS_EVERY = 0.2  # s between messages with rows of the plots


class Session(Protocol):
    """What the hub needs of a live simulation or of a playback."""

    mode: str
    can: frozenset[str]  # types of messages that do something here
    anyone: bool  # whether viewers that do not steer may command
    plots: PlotRows

    def hello(self) -> dict[str, Any]:
        """Return what a viewer is told first."""
        ...

    def submit(self, viewer: int, message: AnyMessage) -> None:
        """Queue a command; refusals come back through `Hub.answer`."""
        ...


@dataclass(frozen=True, eq=False)
class Shown:
    """What is to be seen now; one object, so that moment and stage belong together."""

    seq: int
    stage: Stage
    version: int  # of the stage
    moment: Moment
    frame: int | None  # of a recording
    full: bool  # whether force and overlap are there, as far as they can be known

    @cached_property
    def frames(self) -> MomentFrames:
        """The frames of the moment; made in the server's thread when the first viewer asks."""
        return MomentFrames(self.moment, self.seq, self.version, self.frame)

    @cached_property
    def stage_text(self) -> str:
        """The stage as a message."""
        return stage_json(self.stage, self.version)


@dataclass(eq=False)
class Viewer:
    """One page: what it has been sent and has acknowledged."""

    id: int
    rate: Rate
    wake: Callable[[], None] = lambda: None
    colour: str = "material"
    sent: tuple[int, str] = (0, "")  # seq and colour of the last frame
    acknowledged: int = 0
    stage: int = 0
    surfaces: dict[str, int] = field(default_factory=dict)  # versions sent, by name
    status: tuple[Any, ...] = ()
    plots_sent: int = 0
    plots_seen: int = 0
    plots_at: float = float("-inf")
    pick: protocol.Pick | None = None
    answers: deque[str] = field(default_factory=deque)

    @property
    def ready(self) -> bool:
        """Whether it has drawn what it was sent."""
        return self.acknowledged >= self.sent[0]


class Hub:
    """Viewers of one session."""

    too_many = to_json(
        {"type": "error", "message": f"more than {protocol.RATE} messages a second: good-bye"}
    )

    def __init__(self, session: Session, clock: Callable[[], float] = time.monotonic) -> None:
        self.session, self.clock = session, clock
        self.viewers: dict[int, Viewer] = {}
        self.steerer: int | None = None
        self.post: Callable[[Callable[[], None]], None] = lambda call: call()
        self.visitors = 0  # that ever came
        self.spent = 0.0  # s of processor time that messages to viewers have cost
        self._shown: Shown | None = None
        self._surfaces: dict[str, tuple[int, bytes]] = {}  # version and frame, by name
        self._surface = 0
        self._status: dict[str, Any] = {}
        self._seq = 0
        self._version = 0
        self._hungry = False
        self._curious = False

    # ------------------------------------------------------------------ from the session's thread

    @property
    def wants_frame(self) -> bool:
        """Whether some viewer has drawn all it got and wants more."""
        return self._hungry

    @property
    def wants_fields(self) -> bool:
        """Whether some viewer draws or asks for force or overlap."""
        return self._curious

    @property
    def lacks_fields(self) -> bool:
        """Whether what is shown lacks force and overlap although somebody asks for them."""
        return self._curious and self._shown is not None and not self._shown.full

    def show(
        self, stage: Stage, moment: Moment, frame: int | None = None, full: bool = True
    ) -> None:
        """Put a moment in place of the one before, seen or not: the newest wins."""
        before = self._shown
        if before is None or before.stage is not stage:
            self._version += 1
        self._seq += 1
        self._shown = Shown(self._seq, stage, self._version, moment, frame, full)
        self.post(self.spread)

    def show_surface(self, name: str, make: Callable[[int], bytes]) -> None:
        """Put a frame of another stream in place of the one before; `make` is given its version."""
        self._surface += 1
        self._surfaces = {**self._surfaces, name: (self._surface, make(self._surface))}
        self.post(self.spread)

    def forget_surfaces(self) -> None:
        """Drop the frames of all other streams: there is another world."""
        self._surfaces = {}

    def tell_status(self, status: dict[str, Any]) -> None:
        """Put a status in place of the one before."""
        self._status = status
        self.post(self.spread)

    def answer(self, viewer: int, message: dict[str, Any]) -> None:
        """Send a message to one viewer (0: to all), if it is still there."""
        text = to_json(message)

        def deliver() -> None:
            for one in [self.viewers.get(viewer)] if viewer else list(self.viewers.values()):
                if one is not None:
                    self._queue(one, text)

        self.post(deliver)

    # ------------------------------------------------------------------ coming and going

    def join(self, wake: Callable[[], None] = lambda: None) -> Viewer:
        """Add a viewer; the first one steers."""
        self.visitors += 1
        viewer = Viewer(self.visitors, Rate(self.clock()), wake)
        self.viewers[viewer.id] = viewer
        if self.steerer is None:
            self.steerer = viewer.id
        self._greet(viewer)
        self.spread()
        return viewer

    def greet_all(self) -> None:
        """Say hello again: what it tells has changed."""

        def greet() -> None:
            for one in list(self.viewers.values()):
                self._greet(one)
                one.wake()

        self.post(greet)

    def _greet(self, viewer: Viewer) -> None:
        hello = {
            "type": "hello",
            "protocol": protocol.VERSION,
            "mode": self.session.mode,
            "steering": self._commands(viewer),
            "can": sorted(self.session.can),
            "colours": self._colours(),
            **self.session.hello(),
        }
        viewer.answers.append(to_json(hello))

    def leave(self, viewer: Viewer) -> None:
        """Forget a viewer; the keys that it held down are released."""
        if self.viewers.pop(viewer.id, None) is None:
            return
        if self.steerer == viewer.id:
            self._release()
            self.steerer = None
        self.spread()

    def spread(self) -> None:
        """Note what viewers want, and let each look whether there is something for it."""
        everyone = list(self.viewers.values())
        self._hungry = any(one.ready for one in everyone)
        self._curious = any(one.pick is not None or one.colour in FIELDS for one in everyone)
        for one in everyone:
            one.wake()

    # ------------------------------------------------------------------ to a viewer

    def next_for(self, viewer: Viewer) -> str | bytes | None:
        """Return what this viewer is to be sent now, text or frame, or None for nothing yet."""
        shown = self._shown
        if viewer.pick is not None and shown is not None and shown.full:
            asked, viewer.pick = viewer.pick, None
            return to_json(pick(shown.stage, shown.moment, asked))
        if viewer.answers:
            return viewer.answers.popleft()
        if shown is not None and viewer.stage != shown.version:
            viewer.stage, viewer.surfaces = shown.version, {}
            return shown.stage_text
        for name, (version, frame) in self._surfaces.items():
            if viewer.surfaces.get(name) != version:
                viewer.surfaces[name] = version
                return frame
        status = (self._status, len(self.viewers), self._commands(viewer))
        if status != viewer.status and self._status:
            viewer.status = status
            return to_json(
                {"type": "status", **self._status, "viewers": status[1], "steering": status[2]}
            )
        rows = self._next_plots(viewer)
        if rows is not None:
            return rows
        if shown is not None and viewer.ready and viewer.sent != (shown.seq, viewer.colour):
            viewer.sent = (shown.seq, viewer.colour)
            viewer.acknowledged = min(viewer.acknowledged, shown.seq - 1)
            self._hungry = any(one.ready for one in self.viewers.values())
            return shown.frames.coloured_by(viewer.colour)
        return None

    def _next_plots(self, viewer: Viewer) -> str | None:
        now = self.clock()
        if viewer.plots_seen != viewer.plots_sent or now - viewer.plots_at < PLOTS_EVERY:
            return None
        message = self.session.plots.since(viewer.plots_seen)
        if message is None:
            return None
        viewer.plots_sent, viewer.plots_at = message["version"], now
        return to_json(message)

    def _queue(self, viewer: Viewer, text: str) -> None:
        if len(viewer.answers) < MOST_WAITING:
            viewer.answers.append(text)
            viewer.wake()

    def _colours(self) -> list[str]:
        known = getattr(self.session, "colours", None)
        return list(known() if known is not None else colours.MODES)

    # ------------------------------------------------------------------ from a viewer

    def receive(self, viewer: Viewer, text: str | bytes) -> bool:
        """Do what a message asks, or answer why not; False: too many, the viewer is to go."""
        if not viewer.rate.allows(self.clock()):
            return False
        try:
            self._obey(viewer, read_message(text))
        except BermError as error:
            self._refuse(viewer, str(error))
        return True

    def _refuse(self, viewer: Viewer, reason: str) -> None:
        self._queue(viewer, to_json({"type": "error", "message": reason[: protocol.LONGEST]}))

    def _obey(self, viewer: Viewer, message: AnyMessage) -> None:
        if isinstance(message, protocol.Ack):
            if message.seq > viewer.sent[0]:
                raise InputError(
                    "ack: seq", message.seq, f"at most {viewer.sent[0]}, the last sent"
                )
            viewer.acknowledged = max(viewer.acknowledged, message.seq)
        elif isinstance(message, protocol.Plots):
            viewer.plots_seen = min(message.seen, viewer.plots_sent)
            viewer.plots_sent = viewer.plots_seen
        elif isinstance(message, protocol.Colour):
            known = self._colours()
            if message.by not in known:
                raise InputError("colour: by", message.by, ", ".join(known))
            viewer.colour = message.by
        elif isinstance(message, protocol.Pick):
            viewer.pick = message
        elif isinstance(message, protocol.Steer):
            self._steer(viewer, message.take)
        else:
            self._command(viewer, message)
        self.spread()

    def _steer(self, viewer: Viewer, take: bool) -> None:
        if take and self.steerer != viewer.id:
            self._release()
            self.steerer = viewer.id
        elif not take and self.steerer == viewer.id:
            self._release()
            self.steerer = None

    def _command(self, viewer: Viewer, message: AnyMessage) -> None:
        if message.type not in self.session.can:
            possible = ", ".join(sorted(self.session.can)) or "none: this is for looking only"
            raise InputError(f"{message.type}: not possible here", allowed=possible)
        if not self._commands(viewer):
            raise InputError(f"{message.type}: another viewer steers", allowed="take over first")
        self.session.submit(viewer.id, message)

    def _commands(self, viewer: Viewer) -> bool:
        return self.session.anyone or self.steerer == viewer.id

    def _release(self) -> None:
        if self.steerer is not None and "keys" in self.session.can:
            self.session.submit(0, Keys(type="keys"))
