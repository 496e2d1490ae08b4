"""The page steers: sliders, keys, pause, playback, several viewers, lost and broken connections."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from berm.apps.viewer.frames import pack
from berm.apps.viewer.live import Live, Program
from berm.apps.viewer.playback import Playback
from berm.core.errors import SimulationError
from berm.core.shapes import Plane
from berm.io.recording import Recorder, Recording
from berm.scenes.base import make_params, scene
from berm.scenes.parts.setup import Setup
from berm.world.world import World
from tests.end_to_end.page_tools import NewTab, Serve, Still, Tab, serving
from tests.end_to_end.test_page import heap, wait_for_seq

LOST = r"WebSocket connection to .* failed"  # the browser says so itself
SLOW = {"grains": 5000, "rate": 40.0, "radius": 0.03}  # a pile that takes its time
SMALL = {"length": 1.2, "width": 0.8, "radius": 0.04, "depth": 0.1}  # a bed for the blade


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compile the kernels before anything waits for them."""
    for name, given in (("pile", SLOW), ("blade", SMALL)):
        one = scene(name)
        world = one.build(make_params(one, given))
        for _ in range(30):
            world.step()


def live(name: str, **given: Any) -> Live:
    one = scene(name)
    return Live(Program(name, Setup.build, Setup.of(one, given)))


def slide(tab: Tab, parameter: str, key: str) -> None:
    """Move the slider of a parameter by the keyboard, as a person may."""
    slider = tab.page.locator(f'[data-parameter="{parameter}"] input[type="range"]')
    slider.focus()
    slider.press(key)


def test_a_slider_changes_the_running_physics(serve: Serve, new_tab: NewTab) -> None:
    session = live("pile", **SLOW)
    tab = new_tab().open(serve(session).address)

    def poured(seconds: float) -> float:
        """Grains a simulated second."""
        start, count = session.time, session.world.grains.n
        tab.until(lambda: session.time > start + seconds, "simulated time")
        return (session.world.grains.n - count) / (session.time - start)

    assert poured(0.5) == pytest.approx(SLOW["rate"], rel=0.35)
    slide(tab, "rate", "End")
    tab.until(lambda: session.setup.params.rate > 200.0, "another rate")
    assert session.world.emitters[0].rate == session.setup.params.rate
    assert poured(0.4) > 3 * SLOW["rate"]
    slide(tab, "friction", "Home")
    tab.until(lambda: session.setup.params.friction == 0.0, "no friction")
    assert {m.friction_static for m in session.world.materials if m.name == "gravel"} == {0.0}
    tab.shot("pile-running")


def test_parameters_of_the_next_reset_wait_for_it(serve: Serve, new_tab: NewTab) -> None:
    session = live("pile", **SLOW)
    tab = new_tab().open(serve(session).address)
    tab.page.get_by_role("button", name="At the next reset").click()
    field = tab.page.locator('[data-parameter="radius"] input[type="text"]')
    field.fill("0.05")
    field.press("Enter")
    assert session.setup.params.radius == 0.03
    tab.page.get_by_role("button", name="Reset with 1 changed").click()
    tab.until(lambda: session.setup.params.radius == 0.05, "another radius")
    tab.until(lambda: session.world.grains.n > 0 and session.time < 1.0, "a new world")
    assert session.world.grains.radius.max() > 0.04
    field.fill("-1")  # not allowed: told, and nothing else
    field.press("Enter")
    tab.page.get_by_role("button", name="Reset with 1 changed").click()
    tab.until("!document.getElementById('banner').hidden", "refusal")
    assert "radius" in tab.text("banner-text") and session.setup.params.radius == 0.05


def test_pause_holds_and_a_step_is_one_step(serve: Serve, new_tab: NewTab) -> None:
    session = live("pile", **SLOW)
    tab = new_tab().open(serve(session).address)
    tab.page.locator("#play").click()
    tab.until("document.getElementById('state').textContent === 'paused'", "pause")
    held = (session.world.step_count, session.world.grains.position.copy())
    tab.page.wait_for_timeout(500)
    assert session.world.step_count == held[0]
    assert np.array_equal(session.world.grains.position, held[1])
    for k in (1, 2):
        tab.page.locator("#step").click()
        tab.until(lambda k=k: session.world.step_count == held[0] + k, "a step")
        tab.until(f"berm.view.grains.frame.header.step === {held[0] + k}", "its frame")
    tab.page.locator("#canvas").focus()
    tab.page.keyboard.press("Space")
    tab.until(lambda: session.world.step_count > held[0] + 5, "resume")
    tab.page.locator("#speed").select_option("0.1")
    tab.until(lambda: session.pace.speed == 0.1, "slow motion")


def test_keys_move_the_blade(serve: Serve, new_tab: NewTab) -> None:
    session = live("blade", **SMALL)
    tab = new_tab().open(serve(session).address)

    def place() -> np.ndarray:
        return np.array(session.world.body("blade").position)

    start = place()
    tab.page.keyboard.down("w")
    tab.until(lambda: place()[0] > start[0] + 0.05, "blade ahead")
    tab.page.keyboard.up("w")
    tab.until(lambda: not session.world.inputs.keys, "key up")
    tab.page.keyboard.down("e")
    tab.until(lambda: place()[2] > start[2] + 0.03, "blade up")
    tab.shot("blade")
    tab.run("window.dispatchEvent(new Event('blur'))")  # another window: no key stays down
    tab.until(lambda: not session.world.inputs.keys, "released keys")
    tab.page.keyboard.press("h")
    assert "lift the blade" in tab.text("keys-list")


def test_a_game_pad_moves_the_blade(serve: Serve, new_tab: NewTab) -> None:
    session = live("blade", **SMALL)
    tab = new_tab()
    tab.page.add_init_script("""
      window.pad = { connected: true, axes: [0, 0, 0, 0], buttons: [{ value: 0 }] };
      navigator.getGamepads = () => [null, window.pad];
    """)
    tab.open(serve(session).address)
    start = float(session.world.body("blade").position[0])
    tab.run("""() => {
      window.pad.axes[1] = -1;
      window.dispatchEvent(new Event("gamepadconnected"));
    }""")
    tab.until(lambda: session.world.inputs.axes[:2] == (0.0, -1.0), "axes")
    tab.until(lambda: session.world.body("blade").position[0] > start + 0.05, "blade ahead")
    tab.run("() => { window.pad.connected = false; }")
    tab.until(lambda: not session.world.inputs.any, "a pad that is gone")


def test_a_failure_is_told_and_can_be_reset(serve: Serve, new_tab: NewTab) -> None:
    session = live("pile", **SLOW)
    tab = new_tab().open(serve(session).address)
    broken = session.world

    def step() -> None:
        raise SimulationError("grain 7 left the world at 1e30 m/s")

    broken.step = step  # type: ignore[method-assign]
    tab.until("document.getElementById('state').textContent === 'failed'", "failure")
    tab.until("!document.getElementById('banner').hidden", "banner")
    assert tab.text("banner-title") == "The simulation failed"
    assert "grain 7 left the world" in tab.text("banner-text")
    tab.shot("failed")
    tab.page.locator("#reset").click()
    tab.until(lambda: session.world is not broken and session.running, "a new world")
    tab.until("document.getElementById('banner').hidden", "no banner")


def test_comes_back_after_the_server_was_gone(serve: Serve, new_tab: NewTab) -> None:
    tab = new_tab()
    tab.forgiven = LOST
    with serving(Still(heap())) as server:
        port = server.port
        tab.open(server.address)
        tab.run("() => { berm.view.camera.position.x += 0.3; berm.view.controls.update(); }")
        eye = tab.run("berm.view.camera.position.toArray()")
        tab.run("() => { berm.connection.wait = 600; }")  # only the button brings it back
    tab.until("!document.getElementById('banner').hidden", "banner")
    assert tab.text("banner-title") == "Connection lost"
    assert tab.text("state") == "disconnected"
    tab.shot("lost")
    again = Still(heap(grains=80))
    with serving(again, port):
        tab.page.locator("#banner-action").click()
        tab.until("document.getElementById('banner').hidden", "no banner")
        tab.until("document.getElementById('grains').textContent === '80'", "another scene")
        wait_for_seq(tab, again)
        assert tab.run("berm.view.camera.position.toArray()") == eye  # the point of view stays
        tab.run("berm.connection.socket.close()")  # a socket that breaks by itself
        tab.until(lambda: not again.hub.viewers, "a viewer less")
        tab.until(lambda: len(again.hub.viewers) == 1, "the viewer again")
        tab.until("berm.connection.open", "open connection")
        tab.page.close()


def test_two_viewers_of_whom_one_steers(serve: Serve, new_tab: NewTab) -> None:
    session = live("pile", **SLOW)
    address = serve(session).address
    first = new_tab().open(address)
    second = new_tab().open(address)
    for tab in (first, second):
        tab.until("document.getElementById('viewers').textContent === '2'", "two viewers")
    assert first.page.locator("#play").is_enabled()
    second.until("!document.getElementById('steer').hidden", "offer to steer")
    assert not second.page.locator("#play").is_enabled()
    slider = second.page.locator('[data-parameter="rate"] input[type="range"]')
    assert not slider.is_enabled()
    second.shot("watching")
    slide(first, "rate", "End")
    rate = first.until(
        lambda: session.setup.params.rate > 200.0 and session.setup.params.rate, "rate"
    )
    field = '[data-parameter="rate"] input[type="text"]'
    second.until(f"Number(document.querySelector('{field}').value) === {rate}", "rate of the other")
    second.page.locator("#steer").click()
    second.until("!document.getElementById('play').disabled", "steering")
    first.until("document.getElementById('play').disabled", "watching")
    second.page.locator("#play").click()
    for tab in (first, second):
        tab.until("document.getElementById('state').textContent === 'paused'", "pause")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of 21 frames in which grains fall."""
    path = tmp_path_factory.mktemp("recorded") / "fall.h5"
    world = World()
    world.add_body(Plane(), name="floor", material="rough wall")
    across = 0.1 * (np.arange(9) % 3), 0.1 * (np.arange(9) // 3)
    world.add_grains(np.column_stack([*across, np.full(9, 3.0)]), 0.04)
    world.run(1.0, recorders=[Recorder(path, every=0.05)])
    return path


def test_playback_seeks_plays_and_loops(serve: Serve, new_tab: NewTab, recorded: Path) -> None:
    recording = Recording(recorded)
    last = len(recording) - 1
    session = Playback(recording)
    tab = new_tab().open(serve(session).address)
    tab.run("berm.connection.send('pause')")  # not the button: it may have come to its end
    tab.until(lambda: not session.running, "pause")
    tab.until("document.getElementById('state').textContent !== 'playing'", "its sign")

    def shown(frame: int) -> None:
        tab.until(f"berm.view.grains.frame.header.frame === {frame}", f"frame {frame}")
        tab.until(f"document.getElementById('seek').value === '{frame}'", "timeline")
        height = tab.run("berm.view.grains.bounds.max.z")
        wanted = recording.frame(frame).position[:, 2].max() + 0.04
        assert height == pytest.approx(wanted, abs=2e-3)
        time = recording.times[frame]
        assert tab.text("seek-text").startswith(f"{time:.2f} s / {recording.times[-1]:.2f} s")

    seek = tab.page.locator("#seek")
    seek.fill("12")
    shown(12)
    seek.focus()
    seek.press("ArrowLeft")
    shown(11)
    tab.page.locator("#step").click()
    shown(12)
    tab.page.locator("#canvas").focus()
    tab.page.keyboard.press(",")
    shown(11)
    seek.fill(str(last))
    shown(last)
    tab.page.locator("#loop").check()
    tab.until(lambda: session.loop, "loop")
    tab.page.locator("#play").click()
    tab.until(lambda: 0 < session.frame < last and session.running, "begun anew")
    tab.shot("playback")


def test_survives_what_makes_no_sense(serve: Serve, new_tab: NewTab) -> None:
    session = Still(heap())
    address = serve(session).address
    tab = new_tab()
    pipes: list[Any] = []

    def between(page_side: Any) -> None:
        """Pass everything on, and keep the pipe for messages of our own."""
        page_side.connect_to_server()
        pipes.append(page_side)

    tab.page.route_web_socket("**/ws", between)
    tab.open(address)
    header = {
        "stream": "moment", "seq": 1, "n": 1, "stage": 1, "origin": [0, 0, 0], "scale": 1.0,
        "radius_min": 0.1, "radius_scale": 0.0, "bodies": [],
    }  # fmt: skip
    arrays: dict[str, np.ndarray] = {
        "position": np.zeros((1, 3), np.uint16),
        **{name: np.zeros(1, np.uint8) for name in ("radius", "material", "scatter")},
    }
    good = pack(header, arrays)
    texts = ["no json", "null", "7", "[]", '{"type": 5}', '{"no": "type"}', ""]
    frames = [
        b"", b"BRM", b"XXXX" + good[4:], good[:20], good[:-4],
        b"BRM1" + struct.pack("<I", 2**31) + b"{}",
        b"BRM1" + struct.pack("<I", 4) + b"null",
        pack({**header, "n": -1}, arrays),
        pack({**header, "n": 10**9}, arrays),
        pack(header, {"position": arrays["position"]}),
        pack({**header, "origin": None}, arrays),
        pack({**header, "bodies": [{"id": 0, "position": [0, 0], "rotation": [1]}]}, arrays),
    ]  # fmt: skip
    for text in texts:
        pipes[-1].send(text)
        tab.until("!document.getElementById('banner').hidden", "complaint")
        assert tab.text("banner-title") == "Not understood"
        tab.page.locator("#banner-close").click()
    pipes[-1].send(json.dumps({"type": "a message of the future", "values": [1]}))
    tab.forgiven = "TypeError"  # what follows is written to the console, for whoever repairs it
    hollow = [{"type": name} for name in ("hello", "stage", "plots", "picked", "parameters")]
    for message in hollow:
        pipes[-1].send(json.dumps(message))
        tab.until("!document.getElementById('banner').hidden", "complaint")
        assert tab.text("banner-text").startswith(message["type"])
        tab.page.locator("#banner-close").click()
    for frame in frames:
        count = len(pipes)
        pipes[-1].send(frame)  # cannot be acknowledged: the page connects anew
        tab.until(lambda count=count: len(pipes) > count, "another connection")
        tab.until("berm.connection.open && berm.connection.wait < 1", "hello")
        tab.run("() => { berm.connection.wait = 0.01; }")  # not to wait longer and longer here
    session.hub.show(session.stage, session.moment)
    wait_for_seq(tab, session)
    assert tab.text("grains") == "120"


def test_draws_height_fields(serve: Serve, new_tab: NewTab) -> None:
    session = Still(heap())
    address = serve(session).address
    tab = new_tab()
    pipes: list[Any] = []

    def between(page_side: Any) -> None:
        page_side.connect_to_server()
        pipes.append(page_side)

    tab.page.route_web_socket("**/ws", between)
    tab.open(address)
    before = np.asarray(tab.picture(), int)
    x = np.linspace(-0.6, 0.6, 25)
    height = (0.05 + 0.05 * np.sin(12 * x)[:, None] * np.cos(12 * x)[None, :]).astype(np.float32)
    field = {"stream": "height", "seq": 1, "version": 2, "id": 0, "material": 0, "n": height.size,
             "shape": [25, 25], "origin": [-0.6, -0.6], "spacing": [0.05, 0.05]}  # fmt: skip
    pipes[-1].send(pack(field, {"height": height.ravel()}))
    tab.until("berm.view.surfaces.byName.size === 1 && berm.view.pending === null", "heights")
    with_field = np.asarray(tab.picture(), int)
    tab.shot("surfaces")
    old = {**field, "version": 1}  # late: a newer one was drawn
    pipes[-1].send(pack(old, {"height": np.zeros(625, np.float32)}))
    pipes[-1].send(pack({**field, "version": 3}, {"height": 0.4 - height.ravel()}))
    tab.until("berm.view.surfaces.byName.get('height 0').version === 3", "newer heights")
    after = np.asarray(tab.picture(), int)
    for one, other in ((before, with_field), (with_field, after)):
        assert (np.abs(one - other).max(axis=2) > 20).mean() > 0.02
