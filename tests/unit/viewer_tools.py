"""What the tests of the viewer share: a session that only notes, a small scene, and a client."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np

from berm.apps.viewer.frames import unpack
from berm.apps.viewer.hub import Hub, Viewer
from berm.apps.viewer.live import Live, Program
from berm.apps.viewer.plots import PlotRows
from berm.core.shapes import Plane
from berm.scenes.base import scene
from berm.scenes.parts.setup import Setup
from berm.stage.stage import Moment, Stage, moment_of, stage_of
from berm.world.world import World

CAN = frozenset({"pause", "resume", "step", "speed", "set", "keys", "reset"})


class Clock:
    """A clock that goes only when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class NotingSession:
    """Takes commands and does nothing with them."""

    mode = "live"
    can = CAN
    anyone = False

    def __init__(self) -> None:
        self.plots = PlotRows()
        self.got: list[tuple[int, Any]] = []

    def hello(self) -> dict[str, Any]:
        return {"scene": "test", "parameters": []}

    def submit(self, viewer: int, message: Any) -> None:
        self.got.append((viewer, message))


def some_world(n: int = 40, seed: int = 1) -> World:
    draw = np.random.default_rng(seed)
    world = World(seed=seed)
    world.add_body(Plane(), name="floor", material="rough wall")
    place = draw.uniform((-0.5, -0.5, 0.1), (0.5, 0.5, 1.0), (n, 3))
    world.add_grains(place, draw.uniform(0.01, 0.03, n), draw.normal(size=(n, 3)))
    return world


def stage_and_moment(n: int = 40, seed: int = 1) -> tuple[Stage, Moment]:
    world = some_world(n, seed)
    return stage_of(world), moment_of(world)


def noting_hub(clock: Callable[[], float] | None = None) -> tuple[Hub, NotingSession]:
    session = NotingSession()
    return Hub(session, clock or Clock()), session


def take(hub: Hub, viewer: Viewer, most: int = 100) -> list[Any]:
    """Return all that a viewer would be sent now: maps, and frames as (header, arrays)."""
    found: list[Any] = []
    for _ in range(most):
        content = hub.next_for(viewer)
        if content is None:
            return found
        found.append(unpack(content) if isinstance(content, bytes) else json.loads(content))
    raise AssertionError("no end of messages")


def frames_of(found: list[Any]) -> list[Any]:
    return [one for one in found if isinstance(one, tuple)]


def of_type(found: list[Any], kind: str) -> list[dict[str, Any]]:
    return [one for one in found if isinstance(one, dict) and one["type"] == kind]


def live_pile(**given: Any) -> Live:
    """A live session of a small heap, in no thread, with a clock that stands still."""
    one = scene(given.pop("scene", "pile"))
    setup = Setup.of(one, {"grains": 60, "rate": 600.0, **given} if one.name == "pile" else given)
    live = Live(Program(one.name, Setup.build, setup), clock=Clock())
    live.pace.speed = float("inf")
    live.attempt(lambda: live._begin(setup))
    return live


def turn(live: Live, count: int = 1) -> None:
    """Make turns as the thread would, without ever waiting."""
    live.ends = lambda: True
    for _ in range(count):
        live.obey_all()
        if live.running or live.steps_left > 0:
            live.attempt(live._turn)


def say(live: Live, viewer: Viewer, **message: Any) -> list[Any]:
    """Send a message, let the session obey, and return what the viewer is sent."""
    assert live.hub.receive(viewer, json.dumps(message))
    live.obey_all()
    return take(live.hub, viewer)


class Client:
    """A page without a screen: talks to a real server over a websocket."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.seen: list[Any] = []

    def send(self, **message: Any) -> None:
        self.socket.send(json.dumps(message))

    def receive(self, seconds: float = 120.0) -> Any:
        content = self.socket.recv(timeout=seconds)
        if isinstance(content, bytes):
            header, arrays = unpack(content)
            self.send(type="ack", seq=header["seq"])
            self.seen.append((header, arrays))
        else:
            self.seen.append(json.loads(content))
            if self.seen[-1]["type"] == "plots":
                self.send(type="plots", seen=self.seen[-1]["version"])
        return self.seen[-1]

    def until(self, kind: str, right: Callable[[Any], bool] = lambda found: True) -> Any:
        """Read until a message of a type (or a "frame") comes that is right."""
        for _ in range(5000):
            found = self.receive()
            is_frame = isinstance(found, tuple)
            if (is_frame and kind == "frame") or (not is_frame and found["type"] == kind):
                what = found[0] if is_frame else found
                if right(what):
                    return found
        raise AssertionError(f"no such {kind}")


@contextmanager
def client(address: str, **headers: str) -> Any:
    """Connect to a server as its own page would."""
    from websockets.sync.client import connect

    base = address.partition("?")[0].rstrip("/")
    query = "?" + address.partition("?")[2] if "?" in address else ""
    url = base.replace("http://", "ws://") + "/ws" + query
    given = {"origin": base, **headers}
    with connect(url, origin=given.pop("origin"), additional_headers=given, max_size=None) as made:
        yield Client(made)
