"""A real browser for the tests of the page: finds it, opens tabs, notes what they ask and say."""

from __future__ import annotations

import base64
import io
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from berm.apps.viewer import assets
from berm.apps.viewer.server import Server
from berm.apps.viewer.session import BaseSession
from berm.render.camera import Camera
from berm.stage.stage import Moment, Stage, moment_of, stage_of
from berm.world.world import World

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox", "--use-angle=gl-egl", "--ignore-gpu-blocklist", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
SHOTS = Path(os.environ.get("BERM_SCREENSHOTS") or "build/screenshots")
PATIENCE = 60.0  # s: a bound for a busy machine, not what anything is expected to take
LOOK = 0.05  # s between two looks


def browser_path() -> str:
    """Return the browser; without one skip the test, but fail where CI promised one."""
    for name in (os.environ.get("BERM_BROWSER", ""), *NAMES):
        found = shutil.which(name) if name else None
        if found:
            return found
    reason = f"no browser ({', '.join(NAMES)}): run tests/end_to_end/install_browser.sh"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def require_assets() -> None:
    """Skip without the page's packages, but fail where CI promised them."""
    if assets.complete():
        return
    reason = f"the page's packages are missing: {assets.REMEDY}"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason)
    pytest.skip(reason)


class Tab:
    """One page in the browser: what it shows, what it asked for, and what it said."""

    def __init__(self, context: Any) -> None:
        self.asked: list[str] = []
        self.said: list[str] = []
        self.forgiven = ""  # what the page may say, as a regular expression
        self.context = context
        context.on("request", lambda request: self.asked.append(request.url))
        self.page = context.new_page()
        self.page.on("console", lambda line: self.said.append(f"{line.type}: {line.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error.stack}"))
        self.page.on("websocket", lambda socket: self.asked.append(socket.url))

    def open(self, address: str) -> Tab:
        """Load the page and wait until it has drawn a frame of the simulation."""
        self.page.goto(address)
        self.until("berm.view.grains.frame !== null && berm.view.pending === null", "a frame")
        return self

    def run(self, script: str, argument: Any = None) -> Any:
        """Return what a script says: an expression, or a function of one argument."""
        return self.page.evaluate(script, argument)

    def until(self, wanted: str | Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
        """Wait until a script or a function gives something true, and return it."""
        deadline = time.monotonic() + seconds
        while True:
            found = self._ask(wanted) if isinstance(wanted, str) else wanted()
            if found:
                return found
            if time.monotonic() > deadline:
                self.shot(f"failed-{what}")
                raise AssertionError(f"no {what} in {seconds:.0f} s; the page said {self.said}")
            self.page.wait_for_timeout(1000 * LOOK)  # the browser's events come in meanwhile

    def _ask(self, script: str) -> Any:
        return self.page.evaluate(f"() => window.berm === undefined ? null : ({script})")

    def text(self, id: str) -> str:
        """Return what an element says."""
        return str(self.page.locator(f"#{id}").inner_text())

    def shot(self, name: str) -> None:
        """Keep a screenshot for people to look at."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name.replace(' ', '-')}.png")

    def picture(self) -> Image.Image:
        """Return what the canvas shows, without what lies on it."""
        script = """async () => {
          const blob = await berm.view.picture();
          const bytes = new Uint8Array(await blob.arrayBuffer());
          return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
        }"""
        return Image.open(io.BytesIO(base64.b64decode(self.run(script)))).convert("RGB")

    def unforgiven(self) -> list[str]:
        """Return what the page said and should not have: errors and warnings."""
        return [
            line for line in self.said if not (self.forgiven and re.search(self.forgiven, line))
        ]

    def strangers(self) -> list[str]:
        """Return the addresses outside this machine that the page asked for."""
        here = ("http://127.0.0.1:", "ws://127.0.0.1:", "blob:http://127.0.0.1:", "data:")
        return [url for url in self.asked if not url.startswith(here)]


def camera_of(tab: Tab) -> Camera:
    """Return where the page looks from, for the off-screen renderer."""
    eye, target, near, far, fov = tab.run("""() => {
      const { camera, controls } = berm.view;
      const places = [camera.position.toArray(), controls.target.toArray()];
      return [...places, camera.near, camera.far, camera.fov];
    }""")
    return Camera(np.array(eye), np.array(target), np.array([0.0, 0.0, 1.0]), fov, near, far)


class Still(BaseSession):
    """Shows one moment and holds."""

    mode = "live"
    can = frozenset({"pause", "resume", "step", "speed"})

    def __init__(self, world: World) -> None:
        super().__init__()
        self.stage: Stage = stage_of(world)
        self.moment: Moment = moment_of(world)
        self.running = False

    def hello(self) -> dict[str, Any]:
        return {
            "scene": "still", "title": "still", "parameters": [], "keys": [], "duration": None,
            "frames": None, "times": None, "dt": self.stage.dt,
        }  # fmt: skip

    def colours(self) -> list[str]:
        return ["material", "speed", "id"]

    @property
    def time(self) -> float:
        return self.moment.time

    def numbers(self) -> dict[str, Any]:
        return {"step": 0, "grains": len(self.moment), "contacts": 0, "real_time_factor": None}

    def run(self) -> None:
        self.hub.show(self.stage, self.moment)
        while not self.stopping.is_set():
            self.tell_if_due()
            self.obey_all(0.05)


NewTab = Callable[..., Tab]
Serve = Callable[[BaseSession], Server]


@contextmanager
def serving(session: BaseSession, port: int = 0) -> Iterator[Server]:
    """Serve a session on loopback, and end both in the end."""
    require_assets()
    with Server(session.hub, port=port, vendor=assets.VENDOR) as server:
        session.start()
        try:
            yield server
        finally:
            session.stop()


def small(picture: Image.Image, width: int = 160) -> np.ndarray:
    """Return a picture as means over squares (h, width, 3): what a comparison can rely on."""
    height = round(width * picture.height / picture.width)
    return np.asarray(picture.resize((width, height), Image.Resampling.BOX), float)


def difference(one: np.ndarray, other: np.ndarray, block: int = 8) -> tuple[float, float]:
    """Return how far two small pictures are apart (of 255): in the mean, and in the worst block."""
    assert one.shape == other.shape, f"sizes {one.shape} and {other.shape}"
    apart = np.abs(one - other).mean(axis=2)
    high, wide = (edge // block * block for edge in apart.shape)
    blocks = apart[:high, :wide].reshape(high // block, block, wide // block, block)
    return float(apart.mean()), float(blocks.mean(axis=(1, 3)).max())
