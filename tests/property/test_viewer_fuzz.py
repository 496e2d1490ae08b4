"""Whatever a page sends, the viewer answers or obeys, and goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from berm.apps.viewer import protocol
from berm.apps.viewer.hub import Hub
from berm.apps.viewer.live import Live
from berm.apps.viewer.security import Guard
from berm.apps.viewer.server import Server
from berm.core.errors import InputError
from tests.unit.test_viewer_protocol import GOOD, kinds
from tests.unit.viewer_tools import client, live_pile, noting_hub, stage_and_moment, take, turn

pytest.importorskip("uvicorn")
websockets = pytest.importorskip("websockets")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner),
    max_leaves=10,
)
NAMES = [kind.model_fields["type"].annotation.__args__[0] for kind in kinds()]
FIELDS = sorted({name for kind in kinds() for name in kind.model_fields})
PARAMETERS = ["friction", "adhesion", "stiffness", "grains", "rate", "seed", "solver",
              "solver.substeps", "solver.averaging", "solver.skin",
              "radius", "dt", "drop", "material", "solver.sleep", "density", "unknown"]  # fmt: skip

# near the protocol: right names, with values of any kind
NEAR = st.builds(
    lambda kind, rest: {**rest, "type": kind},
    st.sampled_from(NAMES) | st.text(max_size=5),
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4),
)
# good messages, with one thing changed
BENT = st.builds(
    lambda message, name, value: {**message, name: value},
    st.sampled_from(GOOD),
    st.sampled_from(FIELDS),
    JSON,
)
TEXT = (NEAR | BENT | JSON).map(json.dumps) | st.text(max_size=200)
RAW = TEXT | st.binary(max_size=300)
NUMBERS = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = NUMBERS | st.booleans() | st.none() | st.sampled_from(["clay", "p2", "", "1e3"])


@given(RAW)
@settings(max_examples=300)
def test_reading_gives_a_message_or_a_reason(text: str | bytes) -> None:
    try:
        message = protocol.read_message(text)
    except InputError:
        return
    again = protocol.read_message(message.model_dump_json())
    assert again == message
    for number in numbers_in(message.model_dump()):
        assert np.isfinite(number)


def numbers_in(value: Any) -> Iterator[float]:
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(item)
    elif isinstance(value, int | float):
        yield value


@given(st.lists(st.tuples(st.integers(0, 3), RAW), max_size=30))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_the_hub_answers_each_and_stays_sound(talk: list[tuple[int, str | bytes]]) -> None:
    hub, session = noting_hub()
    session.can = session.can | {"seek", "loop"}
    stage, moment = stage_and_moment()
    hub.show(stage, moment)
    viewers = [hub.join() for _ in range(4)]
    for number, text in talk:
        before, got = len(viewers[number].answers), len(session.got)
        assert hub.receive(viewers[number], text)
        assert len(viewers[number].answers) <= before + 1
        assert len(session.got) <= got + 2  # a take-over releases the keys as well
        take(hub, viewers[number])
    for viewer in viewers:
        take(hub, viewer)
        hub.leave(viewer)
    assert hub.steerer is None and not hub.wants_frame
    newcomer = hub.join()
    kinds = ["frame" if isinstance(one, tuple) else one["type"] for one in take(hub, newcomer)]
    assert kinds[0] == "hello" and "stage" in kinds and "frame" in kinds


@pytest.fixture(scope="module")
def live() -> Live:
    made = live_pile()
    turn(made, 5)
    return made


@given(name=st.sampled_from(PARAMETERS), value=VALUES)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_of_any_parameter_is_obeyed_or_refused(live: Live, name: str, value: Any) -> None:
    """And what was refused has changed nothing."""
    viewer = live.hub.join()
    live._reset({})  # each from the start
    setup, later, materials = live.setup, live.next_setup, list(live.world.materials)
    live.hub.receive(viewer, json.dumps({"type": "set", "name": name, "value": value}))
    live.obey_all()
    found = take(live.hub, viewer)
    refused = [one for one in found if isinstance(one, dict) and one["type"] == "error"]
    if refused:
        assert live.setup == setup and live.next_setup == later
        assert live.world.materials == materials
    else:
        assert name in live.setup.in_effect()
    live.hub.leave(viewer)
    live.next_setup = live.setup = live.program.setup
    assert live.error == "" and live.running


# ---------------------------------------------------------------------- over a real socket


@pytest.fixture(scope="module")
def shown() -> Iterator[tuple[Server, Hub]]:
    hub, _ = noting_hub(None)
    hub.show(*stage_and_moment())
    with Server(hub, port=0) as running:
        yield running, hub


@given(st.lists(RAW, max_size=25))
@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_socket_survives_whatever_is_sent(
    shown: tuple[Server, Hub], talk: list[str | bytes]
) -> None:
    """After all that, a good question still gets its answer."""
    running, _ = shown
    with client(running.address) as page:
        for text in talk:
            if isinstance(text, str):
                text = text.encode("utf-8", "replace").decode()
            page.socket.send(text)
        page.send(type="pick", tag=3)
        assert page.until("picked", lambda found: found["tag"] == 3)


@given(
    host=st.text(max_size=40) | st.sampled_from(["127.0.0.1:8017", "localhost:8017", "[::1]:8017"]),
    origin=st.none() | st.text(max_size=40) | st.just("http://127.0.0.1:8017"),
    query=st.text(max_size=40),
    cookie=st.text(max_size=40),
)
@settings(max_examples=300)
def test_the_guard_decides_on_any_headers(
    host: str, origin: str | None, query: str, cookie: str
) -> None:
    headers = {"host": host, "cookie": cookie} | ({} if origin is None else {"origin": origin})
    own = {"127.0.0.1:8017", "localhost:8017", "[::1]:8017"}
    refused = Guard("127.0.0.1", 8017).refusal(headers, query, websocket=True)
    if refused is None:
        assert host in own and origin == f"http://{host}"
    assert Guard("0.0.0.0", 8017).refusal(headers, query, websocket=True) is not None
