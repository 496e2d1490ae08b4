"""The server: the page, its files and the websocket, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import thread_time
from typing import TYPE_CHECKING, Any

from berm.apps.viewer import protocol
from berm.apps.viewer.security import Guard, is_loopback
from berm.core.errors import BermError, InputError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.websockets import WebSocket

    from berm.apps.viewer.hub import Hub, Viewer

HOST, PORT = "127.0.0.1", 8017
TICK = 0.1  # s: plots and what else comes by the clock
LARGEST = 4 * protocol.MAX_BYTES  # beyond, the socket closes without an answer
MOST_VIEWERS = 32
START_SECONDS = 20.0
POLICY_VIOLATION, TRY_LATER = 1008, 1013
PAGE = Path(__file__).parent / "page"
PACKAGES = ("starlette", "uvicorn", "websockets")


def require() -> None:
    """Raise what to install if a package is missing."""
    from importlib.util import find_spec

    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise BermError(f"the viewer needs {', '.join(missing)}: pip install 'berm[view]'")


def make_app(hub: Hub, guard: Guard, vendor: Path | None) -> Starlette:
    """Return the web application that shows a hub's session."""
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse, JSONResponse
    from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
    from starlette.staticfiles import StaticFiles

    import berm.render
    from berm.render.shading import programs
    from berm.stage.colours import colours_json

    shaders = Path(berm.render.__file__).parent / "shaders"

    async def index(request: Request) -> Response:
        page = (PAGE / "index.html").read_bytes()
        return HTMLResponse(page, headers=guard.headers(request.headers["host"], page))

    async def colours(request: Request) -> Response:
        return JSONResponse(colours_json())

    async def shader_programs(request: Request) -> Response:
        return JSONResponse(programs())

    async def watch(websocket: WebSocket) -> None:
        await serve_viewer(hub, websocket)

    routes: list[BaseRoute] = [
        Route("/", index),
        Route("/colours.json", colours),
        Mount("/page", StaticFiles(directory=PAGE, check_dir=False)),
        Route("/shaders/programs.json", shader_programs),
        Mount("/shaders", StaticFiles(directory=shaders, check_dir=False)),
        WebSocketRoute("/ws", watch),
    ]
    if vendor is not None:
        routes.insert(1, Mount("/vendor", StaticFiles(directory=vendor)))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> Any:
        loop = asyncio.get_running_loop()

        def post(call: Callable[[], None]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has closed: nobody looks any more
                loop.call_soon_threadsafe(call)

        hub.post = post
        ticking = asyncio.create_task(_tick(hub))
        try:
            yield
        finally:
            ticking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ticking

    app = Starlette(routes=routes, lifespan=lifespan)
    app.add_middleware(Gate, guard=guard)
    return app


class Gate:
    """Lets only requests through that the guard does not refuse, and adds its headers."""

    def __init__(self, app: Any, guard: Guard) -> None:
        self.app, self.guard = app, guard

    async def __call__(
        self,
        scope: Any,
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
    ) -> None:
        """Refuse, or pass on."""
        from starlette.datastructures import Headers, MutableHeaders
        from starlette.responses import PlainTextResponse
        from starlette.websockets import WebSocket

        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        query = scope.get("query_string", b"").decode("latin-1")
        refused = self.guard.refusal(headers, query, scope["type"] == "websocket")
        if scope["type"] == "websocket":
            if refused is not None:
                await WebSocket(scope, receive, send).close(POLICY_VIOLATION, refused)
                return
            await self.app(scope, receive, send)
            return
        if refused is None and scope["method"] not in ("GET", "HEAD"):
            refused = f"method {scope['method']}: this server answers GET and HEAD"
        if refused is not None:
            await PlainTextResponse(refused, status_code=403)(scope, receive, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                for name, value in self.guard.headers(headers["host"]).items():
                    found.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)


async def serve_viewer(hub: Hub, websocket: WebSocket) -> None:
    """Talk to one page until it goes: one task reads, one writes, neither waits for the other."""
    from starlette.websockets import WebSocketDisconnect

    if len(hub.viewers) >= MOST_VIEWERS:
        await websocket.accept()
        await websocket.close(TRY_LATER, f"{MOST_VIEWERS} viewers are here already")
        return
    await websocket.accept()
    news = asyncio.Event()
    viewer = hub.join(news.set)
    writing = asyncio.create_task(_write(hub, viewer, websocket, news))
    try:
        await _read(hub, viewer, websocket, writing)
    except (WebSocketDisconnect, RuntimeError):  # gone, perhaps in the middle of a send
        pass
    finally:
        hub.leave(viewer)
        writing.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await writing


async def _read(
    hub: Hub, viewer: Viewer, websocket: WebSocket, writing: asyncio.Task[None]
) -> None:
    while not writing.done():
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return
        content = message.get("text")
        if content is None:
            content = message.get("bytes") or b""
        if not hub.receive(viewer, content):
            writing.cancel()
            await websocket.send_text(hub.too_many)
            await websocket.close(POLICY_VIOLATION, "too many messages")
            return


async def _write(hub: Hub, viewer: Viewer, websocket: WebSocket, news: asyncio.Event) -> None:
    while True:
        await news.wait()
        news.clear()
        begin = thread_time()
        while (content := hub.next_for(viewer)) is not None:
            if isinstance(content, bytes):
                await websocket.send_bytes(content)
            else:
                await websocket.send_text(content)
            now = thread_time()
            hub.spent += now - begin
            begin = now


async def _tick(hub: Hub) -> None:
    while True:
        await asyncio.sleep(TICK)
        hub.spread()


class Server:
    """A running server for one session; `address` is what a browser opens.

    port: 0 takes a free one; None prefers 8017 and takes a free one where that is in use.
    """

    def __init__(
        self,
        hub: Hub,
        host: str = HOST,
        port: int | None = None,
        token: str | None = None,
        vendor: Path | None = None,
    ) -> None:
        require()
        import uvicorn

        self._socket = _bind(host, port)
        self.port = int(self._socket.getsockname()[1])
        self.guard = Guard(host, self.port, token)
        self.address = self.guard.address
        config = uvicorn.Config(
            make_app(hub, self.guard, vendor),
            ws="websockets-sansio",
            ws_max_size=LARGEST,
            ws_per_message_deflate=False,
            ws_ping_interval=20.0,
            ws_ping_timeout=20.0,
            log_level="critical",
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=2,
            server_header=False,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="berm server", daemon=True)

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])

    def start(self) -> Server:
        """Serve in a thread; returns when the address answers."""
        import time

        self._thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise BermError(f"the viewer's server did not start at {self.address}")
            time.sleep(0.01)
        return self

    def stop(self) -> None:
        """End all connections and the thread."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(10.0)
        self._socket.close()

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()


def _bind(host: str, port: int | None) -> socket.socket:
    """Return a listening socket; a wish for a port yields to a free one, an order does not."""
    wished = PORT if port is None else port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in (wished, 0) if port is None else (wished,):
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((host.strip("[]"), number))
            return made
        except (OSError, OverflowError) as error:
            made.close()
            trouble = error
    where = "loopback" if is_loopback(host) else "an address of this machine"
    raise InputError("--host, --port", f"{host}:{wished}", f"{where}, a free port", str(trouble))
