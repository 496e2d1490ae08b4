"""Every message that a page may send is understood; every other one is refused with a reason."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from berm.apps.viewer import protocol
from berm.apps.viewer.protocol import Rate, read_message, to_json
from berm.core.errors import InputError

GOOD = [
    {"type": "ack", "seq": 7},
    {"type": "steer", "take": True},
    {"type": "pause"},
    {"type": "resume"},
    {"type": "step"},
    {"type": "step", "count": -3},
    {"type": "reset"},
    {"type": "reset", "parameters": {"grains": 10, "material": "clay", "friction": None}},
    {"type": "speed", "factor": 0.01},
    {"type": "speed", "factor": 100},
    {"type": "set", "name": "friction", "value": 0.5},
    {"type": "set", "name": "on", "value": False},
    {"type": "colour", "by": "speed"},
    {"type": "keys", "down": ["KeyW", "ArrowUp"], "axes": [0.5, -1, 1.2857], "buttons": [0, 1]},
    {"type": "keys"},
    {"type": "pick", "origin": [0, 0, 1.5], "direction": [0, 0, -1]},
    {"type": "pick", "tag": 12},
    {"type": "seek", "frame": 3},
    {"type": "loop", "on": True},
    {"type": "plots", "seen": 40},
]
BAD = [
    "", "{", "nonsense", "null", "3", '"ack"', "[]", "[1, 2]", "{}", '{"type": 3}',
    '{"type": "shout"}', '{"type": "__class__"}',
    '{"type": "ack"}', '{"type": "ack", "seq": -1}', '{"type": "ack", "seq": 1.5}',
    '{"type": "ack", "seq": true}', '{"type": "ack", "seq": "1"}',
    '{"type": "ack", "seq": 1e400}', '{"type": "ack", "seq": 99999999999999999999}',
    '{"type": "ack", "seq": 1, "more": 2}',
    '{"type": "steer", "take": 1}', '{"type": "steer", "take": "yes"}',
    '{"type": "step", "count": 1000000}', '{"type": "step", "count": null}',
    '{"type": "speed", "factor": 0}', '{"type": "speed", "factor": 101}',
    '{"type": "speed", "factor": NaN}', '{"type": "speed", "factor": Infinity}',
    '{"type": "speed", "factor": "fast"}',
    '{"type": "set", "name": "friction"}', '{"type": "set", "name": "", "value": 1}',
    '{"type": "set", "name": "friction", "value": NaN}',
    '{"type": "set", "name": "friction", "value": [1]}',
    '{"type": "set", "name": "friction", "value": {"a": 1}}',
    '{"type": "set", "name": "' + "x" * 65 + '", "value": 1}',
    '{"type": "set", "name": "a", "value": "' + "x" * 201 + '"}',
    '{"type": "reset", "parameters": [1]}',
    '{"type": "reset", "parameters": {"a": {"b": 1}}}',
    '{"type": "keys", "down": "KeyW"}', '{"type": "keys", "down": [1]}',
    '{"type": "keys", "axes": [NaN]}', '{"type": "keys", "axes": [-Infinity]}',
    '{"type": "keys", "axes": [1e9]}', '{"type": "keys", "axes": ' + str([0.0] * 17) + "}",
    '{"type": "keys", "down": ["' + "K" * 41 + '"]}',
    '{"type": "pick"}', '{"type": "pick", "origin": [0, 0, 0]}',
    '{"type": "pick", "origin": [0, 0], "direction": [0, 0, 1]}',
    '{"type": "pick", "origin": [0, 0, 0], "direction": [0, 0, 0]}',
    '{"type": "pick", "origin": [0, 0, 0], "direction": [0, 0, 1], "tag": 3}',
    '{"type": "pick", "origin": [0, 0, 0], "tag": 3}',
    '{"type": "pick", "origin": [NaN, 0, 0], "direction": [0, 0, 1]}',
    '{"type": "seek", "frame": -1}', '{"type": "loop"}', '{"type": "plots", "seen": -1}',
    "[" * 5000, '{"type":' * 3000, '{"type": "pause", "type": 3}', "\x00", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("message", GOOD, ids=lambda m: m["type"])
def test_good_messages_are_read(message: dict) -> None:
    read = read_message(json.dumps(message))
    assert read.type == message["type"]
    for name, value in message.items():
        assert getattr(read, name) == value


def test_every_type_is_among_the_good_ones() -> None:
    known = {kind.model_fields["type"].annotation.__args__[0] for kind in kinds()}
    assert known == {message["type"] for message in GOOD}


def kinds() -> list[type[protocol.Message]]:
    return list(protocol.AnyMessage.__args__)


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_bad_messages_are_refused_in_words(text: str) -> None:
    with pytest.raises(InputError) as refused:
        read_message(text)
    assert 5 < len(str(refused.value)) <= protocol.LONGEST + 100


def test_size_is_bounded_in_bytes() -> None:
    room = protocol.MAX_BYTES - len('{"type":"pause"}')
    assert read_message('{"type":"pause"}' + " " * room).type == "pause"
    with pytest.raises(InputError, match="16384 bytes"):
        read_message('{"type":"pause"}' + " " * (room + 1))
    with pytest.raises(InputError, match="16384 bytes"):
        read_message('{"type":"set","name":"a","value":"' + "é" * 9000 + '"}')
    with pytest.raises(InputError, match="16384 bytes"):
        read_message(b"\xff" * 20_000)


def test_bytes_that_are_no_text_are_refused() -> None:
    assert read_message(b'{"type":"pause"}').type == "pause"
    with pytest.raises(InputError):
        read_message(b"\xff\xfe\x00")


def test_json_has_only_finite_numbers() -> None:
    text = to_json({"a": math.nan, "b": [np.float32(1.5), math.inf], "c": np.arange(3), "d": None})
    assert json.loads(text) == {"a": None, "b": [1.5, None], "c": [0, 1, 2], "d": None}
    assert json.loads(to_json({"e": np.array([np.nan, 2.0])})) == {"e": [None, 2.0]}


def test_rate_allows_bursts_and_then_a_steady_flow() -> None:
    rate = Rate(0.0, rate=10)
    assert sum(rate.allows(0.0) for _ in range(30)) == 10
    assert not rate.allows(0.05)
    assert rate.allows(0.16) and not rate.allows(0.16)
    assert sum(rate.allows(100.0) for _ in range(30)) == 10
