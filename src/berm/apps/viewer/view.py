"""`berm view`: a scene or a recording in the browser."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from berm.apps import console, job
from berm.apps.console import escape, say
from berm.apps.job import Job, Request
from berm.apps.stopping import stoppable
from berm.core.errors import BermError, InputError

if TYPE_CHECKING:
    from berm.apps.viewer.live import Program
    from berm.apps.viewer.server import Server
    from berm.apps.viewer.session import BaseSession
    from berm.scenes.parts.setup import Setup
    from berm.world.world import World

RECORDINGS = (".h5", ".hdf5")
LOOK = 0.2  # s between two looks at whether to end
PATIENCE = 5.0  # s for the present step; a compiler that takes longer is left alone


def view(request: Request) -> int:
    """Show a scene or a recording until Ctrl-C; return the exit code."""
    from berm.apps.run import set_threads

    check_installed()
    path = recording_path(request.target)
    session: BaseSession
    if path is not None:
        from berm.apps.viewer.playback import Playback
        from berm.io.recording import Recording

        _refuse_options(request)
        session = Playback(Recording(path))
        what = f"[bold]{escape(str(path))}[/], {len(session.times)} frames"
    else:
        from berm.apps.viewer.live import Live

        one = job.make_job(request)
        set_threads(request.threads)
        session = Live(program_of(one, request))
        what = f"[bold]{escape(one.name)}[/]"
    server = serve(session, request)
    try:
        say(f"{what}: [bold cyan]{server.address}[/]  (Ctrl-C ends)")
        session.start()
        if request.open_browser:
            open_browser(server.address)
        with stoppable() as stop:
            said = ""
            while not stop():
                session.stopping.wait(LOOK)
                if session.error != said:
                    said = session.error
                    if said:
                        console.say_error(said)
        say("ended")
    finally:
        server.stop()
        session.stop(PATIENCE)
    return console.OK


def recording_path(target: str) -> Path | None:
    """Return the recording that was meant: a file, or a folder of results; None for a scene."""
    path = Path(target)
    if path.is_dir() and (path / job.RECORDING).is_file():
        return path / job.RECORDING
    return path if path.suffix.lower() in RECORDINGS else None


def _refuse_options(request: Request) -> None:
    given: dict[str, Any] = {
        "-p": request.parameters,
        "--solver": request.solver,
        "--solver-option": request.solver_options,
        "--seconds": request.seconds,
        "--seed": request.seed,
    }
    for option, value in given.items():
        if value not in (None, {}):
            raise InputError(
                f"{option} with a recording", value, "scenes only: a recording is past"
            )


def program_of(one: Job, request: Request) -> Program:
    """Return what a live session runs; without --seconds it goes on for ever."""
    from berm.apps.viewer.live import Program

    def build(setup: Setup | None) -> World:
        return one.build() if setup is None else setup.build()

    end = one.seconds if request.seconds is not None else None
    return Program(one.name, build, one.setup, end)


def serve(session: BaseSession, request: Request) -> Server:
    """Return a started server for a session."""
    from berm.apps.viewer import assets
    from berm.apps.viewer.server import HOST, Server

    server = Server(session.hub, request.host or HOST, request.port, vendor=assets.VENDOR)
    return server.start()


def check_installed() -> None:
    """Raise what to install, before anything is built, if the server or the page cannot work."""
    from berm.apps.viewer import assets
    from berm.apps.viewer.server import require

    require()
    if not assets.complete():
        raise BermError(f"the viewer's page lacks its JavaScript packages: {assets.REMEDY}")


def open_browser(address: str) -> None:
    """Open the page, where there is a screen; never wait for the browser."""
    screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if screen or sys.platform in ("win32", "darwin"):
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
