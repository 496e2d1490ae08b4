"""The server on loopback: its own page gets in, others do not, and what comes in is bounded."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from berm.apps.viewer import protocol, server
from berm.apps.viewer.frames import positions
from berm.apps.viewer.hub import Hub
from berm.apps.viewer.live import Live, Program
from berm.apps.viewer.security import Guard, is_loopback
from berm.apps.viewer.server import Server
from berm.core.errors import InputError
from berm.scenes.base import scene
from berm.scenes.parts.setup import Setup
from tests.unit.viewer_tools import Client, client, noting_hub, stage_and_moment

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
httpx = pytest.importorskip("httpx")
websockets = pytest.importorskip("websockets")


@pytest.fixture(scope="module")
def shown() -> Iterator[tuple[Server, Hub]]:
    """A server that shows one moment."""
    hub, _ = noting_hub()
    hub.show(*stage_and_moment(300))
    hub.tell_status({"running": False, "time": 0.0})
    with Server(hub, port=0) as running:
        yield running, hub


@pytest.fixture(scope="module")
def guarded() -> Iterator[Server]:
    """The same behind a token, as beyond loopback."""
    hub, _ = noting_hub()
    hub.show(*stage_and_moment(30))
    with Server(hub, port=0, token="a-secret-that-is-long") as running:
        yield running


def get(address: str, path: str = "", **headers: str) -> Any:
    base, _, query = address.partition("?")
    return httpx.get(base.rstrip("/") + "/" + path.lstrip("/") + ("?" + query if query else ""),
                     headers=headers)  # fmt: skip


# ---------------------------------------------------------------------- page and files


def test_page_and_its_files(shown: tuple[Server, Hub]) -> None:
    address = shown[0].address
    page = get(address)
    assert page.status_code == 200 and "text/html" in page.headers["content-type"]
    assert get(address, "colours.json").json()["modes"]
    assert get(address, "page/main.js").status_code == 200
    for path in ("nothing", "page/none.js", "page/../server.py", "page/%2e%2e/server.py", "ws"):
        assert get(address, path).status_code in (403, 404), path


def test_headers_keep_the_page_at_home(shown: tuple[Server, Hub]) -> None:
    for path in ("", "colours.json", "page/main.js"):
        headers = get(shown[0].address, path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy
        assert "'unsafe-eval'" not in policy and "script-src 'self' 'unsafe-inline'" not in policy
        assert "*" not in policy.partition("frame-ancestors")[0]
        assert f"ws://127.0.0.1:{shown[0].port}" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


def test_the_policy_names_inline_scripts_by_their_hash() -> None:
    page = b'<script type="importmap">{"imports": {}}</script><script src="/page/main.js"></script>'
    policy = Guard("127.0.0.1", 80).headers("localhost", page)["Content-Security-Policy"]
    # sha-256 of {"imports": {}}, base64
    assert policy.count("'sha256-") == 1


def test_only_get(shown: tuple[Server, Hub]) -> None:
    base = shown[0].address
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        assert httpx.request(method, base).status_code == 403
    assert httpx.head(base).status_code == 200


# ---------------------------------------------------------------------- who gets in


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "127.0.0.1:1",
     "127.0.0.1", "192.168.0.7:{port}", "localhost:{port}/x", "a b:{port}", "localhost:{port}0",
     "[::2]:{port}", "127.0.0.1:{port}@evil", "127.0.0.1:²"],
)  # fmt: skip
def test_foreign_hosts_are_refused(shown: tuple[Server, Hub], host: str) -> None:
    """A name that was rebound to 127.0.0.1 is still that name."""
    answer = raw_get(shown[0].port, host.format(port=shown[0].port))
    assert b" 403 " in answer.split(b"\r\n")[0] or b" 400 " in answer.split(b"\r\n")[0]
    assert b"<script" not in answer


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}"])
def test_names_of_loopback_pass(shown: tuple[Server, Hub], host: str) -> None:
    answer = raw_get(shown[0].port, host.format(port=shown[0].port))
    assert b" 200 " in answer.split(b"\r\n")[0]


def raw_get(port: int, host: str) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as made:
        text = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        made.sendall(text.encode("latin-1"))
        found = b""
        while part := made.recv(65536):
            found += part
    return found


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "https://127.0.0.1.evil.example", "file://",
     "http://127.0.0.1:1", "http://localhost", "http://[", "ws://127.0.0.1", "http://127.0.0.1@x"],
)  # fmt: skip
def test_websockets_of_other_sites_are_refused(
    shown: tuple[Server, Hub], origin: str | None
) -> None:
    with (
        pytest.raises(websockets.exceptions.InvalidStatus) as refused,
        client(shown[0].address, origin=origin),
    ):
        pass
    assert refused.value.response.status_code == 403
    if origin is not None and origin.isascii():
        assert get(shown[0].address, "colours.json", origin=origin).status_code == 403


def test_a_token_is_asked_on_every_request(guarded: Server) -> None:
    address = guarded.address
    base = address.partition("?")[0]
    for path in ("", "page/main.js", "colours.json"):
        assert get(base, path).status_code == 403
        assert get(base + "?token=wrong", path).status_code == 403
        assert get(base + "?token=", path).status_code == 403
        assert get(address, path).status_code == 200
    for wrong in (base, base + "?token=a-secret-that-is-lon"):
        with pytest.raises(websockets.exceptions.InvalidStatus), client(wrong):
            pass
    with client(address) as page:
        assert page.until("hello")


def test_the_cookie_carries_the_token_on(guarded: Server) -> None:
    page = get(guarded.address)
    cookie = page.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    base = guarded.address.partition("?")[0]
    pair = cookie.partition(";")[0]
    assert get(base, "colours.json", cookie=pair).status_code == 200
    with client(base, cookie=pair) as viewer:
        assert viewer.until("frame")
    name = pair.partition("=")[0]
    assert get(base, "colours.json", cookie=f"{name}=wrong").status_code == 403
    assert get(base, "colours.json", cookie=";;=;[]=(").status_code == 403


def test_beyond_loopback_there_is_always_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org"):
        guard = Guard(host, 8017)
        assert guard.token and len(guard.token) >= 24 and f"?token={guard.token}" in guard.address
    assert Guard("0.0.0.0", 1).token != Guard("0.0.0.0", 1).token
    for host in ("127.0.0.1", "localhost", "::1", "127.3.2.1", "[::1]"):
        assert is_loopback(host) and Guard(host, 8017).token is None
    assert not is_loopback("localhost.evil.example") and not is_loopback("")
    with pytest.raises(InputError, match="letters"):
        Guard("127.0.0.1", 1, token="a secret; Path=/")


def test_ports(shown: tuple[Server, Hub]) -> None:
    taken = shown[0].port
    with pytest.raises(InputError, match="free port"):
        Server(noting_hub()[0], port=taken)
    with pytest.raises(InputError, match="address of this machine"):
        Server(noting_hub()[0], host="192.0.2.1", port=0)


def test_a_port_that_is_only_wished_for_yields(
    shown: tuple[Server, Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PORT", shown[0].port)
    with Server(noting_hub()[0]) as other:
        assert other.port != shown[0].port
        assert get(other.address, "colours.json").status_code == 200


# ---------------------------------------------------------------------- talking


def test_a_frame_over_the_wire(shown: tuple[Server, Hub]) -> None:
    moment = stage_and_moment(300)[1]
    with client(shown[0].address) as page:
        assert page.until("hello")["protocol"] == 1
        assert page.until("stage")["bodies"][0]["name"] == "floor"
        header, arrays = page.until("frame")
        assert np.abs(positions(header, arrays) - moment.position).max() < 1e-4
        page.send(type="colour", by="speed")
        header, arrays = page.until("frame")
        assert header["colour"] == "speed" and "value" in arrays
        page.send(type="pick", tag=5)
        assert page.until("picked")["tag"] == 5


def test_nothing_is_compressed(shown: tuple[Server, Hub]) -> None:
    with client(shown[0].address) as page:
        assert page.socket.protocol.extensions == []


def test_bad_messages_are_answered_and_the_socket_stays(shown: tuple[Server, Hub]) -> None:
    bad = ["{", "[]", '{"type":"nonsense"}', '{"type":"speed","factor":NaN}', b"\x00\xff\x17"]
    with client(shown[0].address) as page:
        page.until("frame")
        for text in [*bad, "x" * (protocol.MAX_BYTES + 1)]:
            page.socket.send(text)
            assert page.until("error")["message"]
        page.send(type="pick", tag=1)
        assert page.until("picked")["tag"] == 1


def test_a_huge_message_closes_the_socket(shown: tuple[Server, Hub]) -> None:
    with client(shown[0].address) as page:
        page.until("frame")
        page.socket.send("x" * (server.LARGEST + 1))
        with pytest.raises(websockets.exceptions.ConnectionClosed) as closed:
            flood(page, 0)
        assert closed.value.rcvd is None or closed.value.rcvd.code == 1009
    assert still_serves(shown[0])


def test_a_flood_is_told_and_closed(shown: tuple[Server, Hub]) -> None:
    with client(shown[0].address) as page:
        page.until("frame")
        with pytest.raises(websockets.exceptions.ConnectionClosed) as closed:
            flood(page, 20 * protocol.RATE)
        assert closed.value.rcvd is None or closed.value.rcvd.code == 1008
    assert still_serves(shown[0])


def flood(page: Client, messages: int) -> None:
    """Send many messages, and read until the server has had enough."""
    for _ in range(messages):
        page.send(type="ack", seq=0)
    for _ in range(20 * protocol.RATE):
        page.receive()


def still_serves(running: Server) -> bool:
    with client(running.address) as page:
        return bool(page.until("frame"))


def test_a_viewer_that_does_not_read_holds_up_nobody(shown: tuple[Server, Hub]) -> None:
    """Logic, not timing: the other gets every frame that it acknowledges."""
    running, hub = shown
    with client(running.address) as lazy, client(running.address) as keen:
        keen.until("frame")
        stage, moment = stage_and_moment(300)
        for _ in range(50):
            hub.show(stage, moment)
            seq = hub._seq
            assert keen.until("frame", lambda header, seq=seq: header["seq"] == seq)
        lazy.until("frame")
        assert len(lazy.seen) < 20


def test_too_many_viewers_are_sent_away(
    shown: tuple[Server, Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_VIEWERS", 1)
    with client(shown[0].address) as first:
        first.until("frame")
        with client(shown[0].address) as second:
            with pytest.raises(websockets.exceptions.ConnectionClosed) as closed:
                second.receive()
            assert closed.value.rcvd.code == 1013


# ---------------------------------------------------------------------- a simulation behind it


@pytest.fixture
def running() -> Iterator[tuple[Server, Live]]:
    one = scene("pile")
    live = Live(Program("pile", Setup.build, Setup.of(one, {"grains": 80, "rate": 400.0})))
    live.pace.speed = 100.0
    made = Server(live.hub, port=0).start()
    live.start()
    yield made, live
    made.stop()
    live.stop()
    assert not live.alive


def test_a_page_steers_a_running_simulation(running: tuple[Server, Live]) -> None:
    with client(running[0].address) as page:
        page.until("frame", lambda header: header["n"] > 20)
        page.send(type="pause")
        at = page.until("status", lambda status: not status["running"])["step"]
        page.send(type="step", count=2)
        page.until("status", lambda status: status["step"] == at + 2)
        page.send(type="set", name="friction", value=0.9)
        assert page.until("parameters")["values"] == {"friction": 0.9}
        page.send(type="set", name="friction", value=-0.9)
        assert "0 to 10" in page.until("error")["message"]
        page.send(type="reset", parameters={"seed": 3})
        page.until("status", lambda status: status["step"] == 0 and status["grains"] == 0)
        page.send(type="resume")
        assert page.until("frame", lambda header: header["n"] > 5)


def test_who_comes_back_finds_the_running_scene(running: tuple[Server, Live]) -> None:
    with client(running[0].address) as page:
        step = page.until("frame", lambda header: header["n"] > 20)[0]["step"]
        page.send(type="keys", down=["KeyW"])
    with client(running[0].address) as page:
        assert page.until("hello")["steering"] is True
        header, arrays = page.until("frame")
        assert header["step"] >= step and len(arrays["radius"]) == header["n"] > 20
        page.until("frame", lambda found: found["step"] > step + 2)
    assert not running[1].world.inputs.any, "the keys were released"


def test_two_viewers_and_a_take_over(running: tuple[Server, Live]) -> None:
    with client(running[0].address) as first, client(running[0].address) as second:
        assert first.until("hello")["steering"] is True
        assert second.until("hello")["steering"] is False
        second.send(type="pause")
        assert "another viewer steers" in second.until("error")["message"]
        second.send(type="steer", take=True)
        second.until("status", lambda status: status["steering"] and status["viewers"] == 2)
        second.send(type="pause")
        first.until("status", lambda status: not status["running"] and not status["steering"])
        second.until("status", lambda status: not status["running"])
        assert running[1].hub.steerer == 2


def test_a_failing_simulation_tells_and_goes_on_serving(running: tuple[Server, Live]) -> None:
    def broken(world: Any) -> None:
        raise ValueError("the floor has gone")

    with client(running[0].address) as page:
        page.until("frame", lambda header: header["n"] > 10)
        running[1].world.control = broken
        status = page.until("status", lambda found: found["error"])
        assert status["error"] == "ValueError: the floor has gone" and not status["running"]
    with client(running[0].address) as late:
        assert late.until("status", lambda found: found["error"])
        assert late.until("frame")[0]["n"] > 10


def test_the_page_loads_while_kernels_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    from berm.apps import warmup

    done = threading.Event()
    monkeypatch.setattr(warmup, "needed", lambda world: True)
    monkeypatch.setattr(warmup, "warm_up", lambda world: done.wait(30))
    one = scene("blade")
    live = Live(Program("blade", Setup.build, Setup.of(one, {"length": 1.0, "width": 0.6})))
    made = Server(live.hub, port=0).start()
    live.start()
    try:
        with client(made.address) as page:
            status = page.until("status", lambda found: found["note"])
            assert "compiling" in status["note"] and status["step"] == 0
            assert page.until("frame")[0]["n"] > 100, "the bed is there to be seen"
            done.set()
            assert page.until("status", lambda found: found["step"] > 0)["note"] == ""
    finally:
        done.set()
        made.stop()
        live.stop()


def test_messages_are_objects_with_a_type(running: tuple[Server, Live]) -> None:
    with client(running[0].address) as page:
        page.until("frame", lambda header: header["n"] > 5)
        texts = [one for one in page.seen if isinstance(one, dict)]
        assert {one["type"] for one in texts} >= {"hello", "stage", "status"}
        for one in texts:
            json.dumps(one, allow_nan=False)
