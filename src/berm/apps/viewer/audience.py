"""The audience of a run: people who look at it, and may steer it, while it is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from berm.apps.console import say
from berm.apps.viewer.live import COMMANDS, Live, Note, Program
from berm.apps.viewer.view import check_installed, open_browser, serve
from berm.core.errors import InputError

if TYPE_CHECKING:
    from berm.apps.job import Job, Request
    from berm.core.report import StepReport
    from berm.scenes.parts.setup import Setup
    from berm.world.world import World

LOOK = 0.2  # s between two looks at whether to end
AWAY = 4.0  # s: a page that is loaded again comes back within
COMING = 10.0  # s: a browser that was just started shows its page within


class Audience:
    """Shows a world that `berm run` steps; without commands it changes no bit of the run.

    note: told of what viewers change, as `Recorder.note` is; steps: number of the last step.
    """

    def __init__(
        self,
        one: Job,
        world: World,
        request: Request,
        note: Note,
        steps: int,
    ) -> None:
        check_installed()
        self.quiet = request.quiet
        program = Program(one.name, _refuse, one.setup, steps * world.dt)
        self.live = Live(program, note)
        self.live.can = COMMANDS - {"reset"}
        self.live.pace.speed = float("inf")  # until somebody asks for less
        self.live.patience = AWAY  # a run that nobody holds any more has to end
        self.live.open(world)
        self.server = serve(self.live, request)
        say(f"look at it: [bold cyan]{self.server.address}[/]")
        if request.open_browser:
            open_browser(self.server.address)

    @contextmanager
    def busy(self, note: str) -> Iterator[None]:
        """Tell viewers what keeps the simulation from moving."""
        self.live.note = note
        self.live.tell()
        try:
            yield
        finally:
            self.live.note = ""
            self.live.tell()

    def after_step(self, report: StepReport, stop: Callable[[], bool]) -> None:
        """Show a step, do what viewers ask, and hold the run while they want it held."""
        self.live.ends = stop
        self.live.after_step(report)
        if not self.live.finished:
            self.live.hold()

    @property
    def changes(self) -> dict[str, Any] | None:
        """The parameters and the solver in effect, if somebody changed some."""
        live = self.live
        if live.setup is None or live.setup == live.program.setup:
            return None
        return live.setup.dump()

    def stay(self, stop: Callable[[], bool]) -> None:
        """Go on showing the last moment while somebody looks, or until Ctrl-C."""
        live, alone = self.live, 0.0
        live.can = frozenset()  # what was recorded is past
        if not self.quiet:
            say("the page stays while somebody looks at it; Ctrl-C ends")
        while not stop() and alone < (AWAY if live.hub.visitors else COMING):
            if live.hub.lacks_fields:
                live.show()
            live.tell_if_due()
            live.obey_all(LOOK)
            alone = 0.0 if live.hub.viewers else alone + LOOK

    def close(self) -> None:
        """End the server."""
        self.server.stop()


def _refuse(setup: Setup | None) -> World:
    raise InputError("reset: this run is being recorded", allowed="`berm view` for a new start")
