"""`berm.show`: a view of a world or a recording inside a notebook."""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from berm.core.errors import BermError, InputError
from berm.io.recording import Recording
from berm.world.world import World

if TYPE_CHECKING:
    from berm.apps.viewer.server import Server
    from berm.apps.viewer.session import BaseSession

CLIP_SECONDS, CLIP_SIZE, CLIP_FPS = 8.0, (640, 360), 20.0


class View:
    """The page of a local server, shown in a frame; it lives until `close` or the kernel's end."""

    def __init__(self, session: BaseSession, server: Server, height: int) -> None:
        self.session, self.server, self.height = session, server, height

    @property
    def address(self) -> str:
        """Address of the page, for a browser of this machine."""
        return str(self.server.address)

    def _repr_html_(self) -> str:
        return (
            f'<iframe src="{self.address}" width="100%" height="{self.height}" '
            'style="border:0" allow="fullscreen; gamepad"></iframe>'
        )

    def close(self) -> None:
        """End the server and the session."""
        self.server.stop()
        self.session.stop()

    def __enter__(self) -> View:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"View({self.address})"


class Clip:
    """A video in the notebook itself, for places without the viewer."""

    def __init__(self, video: bytes, why: str) -> None:
        self.video, self.why = video, why

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.video).decode("ascii")
        return (
            f'<video controls loop muted width="{CLIP_SIZE[0]}" '
            f'src="data:video/mp4;base64,{data}"></video>'
        )

    def __repr__(self) -> str:
        return f"Clip({len(self.video)} bytes; no live view: {self.why})"


def show(source: World | Recording | str | os.PathLike[str], height: int = 540) -> View | Clip:
    """Return a view to be the last line of a notebook's cell; `height` in pixels.

    A recording plays; a world is held, and goes on from where it is when play is pressed. Where the
    viewer is not installed, a recording becomes a video.
    """
    if isinstance(source, str | os.PathLike):
        with Recording(source) as recording:
            return show(recording, height)
    if not isinstance(source, World | Recording):
        raise InputError("what is shown", type(source).__name__, "a World or a Recording")
    from berm.apps.viewer.view import check_installed

    try:
        check_installed()
    except BermError as error:
        if isinstance(source, Recording):
            return Clip(_clip(source), str(error))
        raise
    session = _session(source)
    server = _serve(session)
    session.start()
    return View(session, server, height)


def _session(source: World | Recording) -> BaseSession:
    if isinstance(source, Recording):
        from berm.apps.viewer.playback import Playback

        return Playback(Recording(source.path))  # its own, which no `with` closes
    from berm.apps.viewer import protocol
    from berm.apps.viewer.live import Live, Program

    session = Live(Program.of_world(source))
    session.submit(0, protocol.Pause(type="pause"))  # the first thing that it obeys
    return session


def _serve(session: Any) -> Server:
    from berm.apps.viewer import assets
    from berm.apps.viewer.server import Server

    return Server(session.hub, port=0, vendor=assets.VENDOR).start()


def _clip(recording: Recording) -> bytes:
    from berm.render.api import render

    span = float(recording.times[-1] - recording.times[0]) if len(recording) else 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        render(recording, path, size=CLIP_SIZE, fps=CLIP_FPS, speed=max(1.0, span / CLIP_SECONDS))
        return path.read_bytes()
