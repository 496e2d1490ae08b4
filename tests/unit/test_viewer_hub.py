"""The hub: the newest frame wins, nobody waits, one steers, and bad messages do no harm."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from berm.apps.viewer import protocol
from berm.apps.viewer.frames import positions
from berm.apps.viewer.hub import MOST_WAITING, Hub, Viewer
from berm.stage.stage import Moment
from tests.unit.test_viewer_protocol import BAD, GOOD
from tests.unit.viewer_tools import (
    Clock,
    frames_of,
    noting_hub,
    of_type,
    stage_and_moment,
    take,
)


def tell(hub: Hub, viewer: Viewer, **message: Any) -> None:
    assert hub.receive(viewer, json.dumps(message))


def later(moment: Moment, step: int) -> Moment:
    return dataclasses.replace(moment, step=step, time=step / 60)


def test_first_come_hello_stage_status_and_frame() -> None:
    hub, _ = noting_hub()
    stage, moment = stage_and_moment()
    hub.show(stage, moment)
    hub.tell_status({"running": True, "time": 0.5})
    found = take(hub, hub.join())
    kinds = ["frame" if isinstance(one, tuple) else one["type"] for one in found]
    assert kinds[0] == "hello" and kinds.index("stage") < kinds.index("frame")
    hello = found[0]
    assert hello["protocol"] == 1 and hello["mode"] == "live" and hello["steering"] is True
    assert hello["scene"] == "test" and "pause" in hello["can"] and "speed" in hello["colours"]
    (status,) = of_type(found, "status")
    assert status == {
        "type": "status", "running": True, "time": 0.5, "viewers": 1, "steering": True
    }  # fmt: skip


def test_newest_wins_and_an_ack_asks_for_more() -> None:
    hub, _ = noting_hub()
    stage, moment = stage_and_moment()
    viewer = hub.join()
    hub.show(stage, later(moment, 1))
    ((first, _),) = frames_of(take(hub, viewer))
    assert first["step"] == 1
    for step in range(2, 50):
        hub.show(stage, later(moment, step))
    assert not frames_of(take(hub, viewer)), "nothing before the ack"
    tell(hub, viewer, type="ack", seq=first["seq"])
    ((second, _),) = frames_of(take(hub, viewer))
    assert second["step"] == 49 and second["seq"] == first["seq"] + 48


def test_a_slow_viewer_holds_up_nobody() -> None:
    """A viewer that never acknowledges gets one frame; the other gets all; nothing piles up."""
    hub, _ = noting_hub()
    stage, moment = stage_and_moment()
    slow, quick = hub.join(), hub.join()
    for step in range(1, 200):
        hub.show(stage, later(moment, step))
        hub.tell_status({"time": step})
        ((header, _),) = frames_of(take(hub, quick))
        assert header["step"] == step
        tell(hub, quick, type="ack", seq=header["seq"])
        if step > 2:  # the rate of messages is tested elsewhere
            quick.rate = protocol.Rate(hub.clock())
    assert hub.wants_frame, "the quick one wants more"
    waiting = take(hub, slow)
    assert len(frames_of(waiting)) == 1 and len(of_type(waiting, "status")) == 1
    assert frames_of(waiting)[0][0]["step"] == 199, "and what it gets in the end is the newest"


def test_nobody_wants_a_frame_when_all_are_busy() -> None:
    hub, _ = noting_hub()
    stage, moment = stage_and_moment()
    assert not hub.wants_frame
    viewer = hub.join()
    assert hub.wants_frame
    hub.show(stage, moment)
    ((header, _),) = frames_of(take(hub, viewer))
    assert not hub.wants_frame
    tell(hub, viewer, type="ack", seq=header["seq"])
    assert hub.wants_frame
    hub.leave(viewer)
    assert not hub.wants_frame


def test_two_viewers_see_the_same_each_in_its_colour() -> None:
    hub, _ = noting_hub()
    stage, moment = stage_and_moment()
    first, second = hub.join(), hub.join()
    tell(hub, first, type="colour", by="speed")
    hub.show(stage, moment)
    one, two = (frames_of(take(hub, viewer))[0] for viewer in (first, second))
    assert one[0]["colour"] == "speed" and two[0]["colour"] == "material"
    assert np.array_equal(one[1]["position"], two[1]["position"])
    assert "value" in one[1] and "value" not in two[1]


def test_another_colour_comes_at_once_while_nothing_moves() -> None:
    hub, _ = noting_hub()
    viewer = hub.join()
    hub.show(*stage_and_moment())
    ((header, _),) = frames_of(take(hub, viewer))
    tell(hub, viewer, type="ack", seq=header["seq"])
    assert not frames_of(take(hub, viewer))
    tell(hub, viewer, type="colour", by="age")
    ((again, _),) = frames_of(take(hub, viewer))
    assert again["seq"] == header["seq"] and again["colour"] == "age"


def test_a_new_stage_goes_before_its_frames() -> None:
    hub, _ = noting_hub()
    stage, moment = stage_and_moment()
    viewer = hub.join()
    hub.show(stage, moment)
    ((header, _),) = frames_of(take(hub, viewer))
    tell(hub, viewer, type="ack", seq=header["seq"])
    other, moment = stage_and_moment(seed=9)
    hub.show(other, moment)
    stage_message, (header, _) = take(hub, viewer)
    assert stage_message["type"] == "stage"
    assert stage_message["version"] == header["stage"] == 2


def test_who_comes_back_finds_the_scene() -> None:
    hub, _ = noting_hub()
    stage, moment = stage_and_moment()
    hub.show(stage, moment)
    first = hub.join()
    take(hub, first)
    hub.leave(first)
    found = take(hub, hub.join())
    ((header, arrays),) = frames_of(found)
    assert (
        of_type(found, "stage") and np.abs(positions(header, arrays) - moment.position).max() < 1e-4
    )
    assert found[0]["steering"] is True


# ---------------------------------------------------------------------- steering


def test_one_steers_another_takes_over() -> None:
    hub, session = noting_hub()
    first, second = hub.join(), hub.join()
    assert take(hub, second)[0]["steering"] is False
    tell(hub, second, type="pause")
    assert "another viewer steers" in of_type(take(hub, second), "error")[0]["message"]
    assert session.got == []
    tell(hub, first, type="keys", down=["KeyW"])
    tell(hub, second, type="steer", take=True)
    assert hub.steerer == second.id
    assert [message.down for _, message in session.got] == [["KeyW"], []], "keys are released"
    tell(hub, second, type="pause")
    assert session.got[-1][1].type == "pause" and session.got[-1][0] == second.id
    tell(hub, first, type="resume")
    assert "another viewer steers" in of_type(take(hub, first), "error")[0]["message"]
    hub.tell_status({"time": 1.0})
    assert [of_type(take(hub, one), "status")[0]["steering"] for one in (first, second)] == [
        False, True,
    ]  # fmt: skip
    tell(hub, second, type="steer", take=False)
    assert hub.steerer is None
    tell(hub, first, type="steer", take=True)
    assert hub.steerer == first.id


def test_who_goes_lets_go_of_the_keys() -> None:
    hub, session = noting_hub()
    first, second = hub.join(), hub.join()
    tell(hub, first, type="keys", down=["KeyW"])
    hub.leave(first)
    assert session.got[-1][1].down == [] and hub.steerer is None
    count = len(session.got)
    hub.leave(second)
    hub.leave(second)
    assert len(session.got) == count, "who did not steer held no keys"
    assert hub.join().id == hub.steerer


def test_everyone_may_command_a_playback() -> None:
    hub, session = noting_hub()
    session.anyone, session.can = True, frozenset({"pause", "seek"})
    hub.join()
    second = hub.join()
    tell(hub, second, type="seek", frame=3)
    assert session.got[-1][1].frame == 3
    tell(hub, second, type="set", name="friction", value=1.0)
    (refused,) = of_type(take(hub, second), "error")
    assert "not possible here; allowed: pause, seek" in refused["message"]


# ---------------------------------------------------------------------- what does no harm


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_a_bad_message_is_answered_and_changes_nothing(text: str) -> None:
    hub, session = noting_hub()
    viewer = hub.join()
    take(hub, viewer)
    before = dataclasses.replace(viewer)
    assert hub.receive(viewer, text)
    (answer,) = take(hub, viewer)
    assert answer["type"] == "error" and len(answer["message"]) <= protocol.LONGEST
    assert session.got == []
    assert (viewer.colour, viewer.sent, viewer.pick) == (before.colour, before.sent, before.pick)


def test_all_good_messages_are_taken() -> None:
    hub, session = noting_hub()
    session.can = session.can | {"seek", "loop"}
    viewer = hub.join()
    hub.show(*stage_and_moment())
    take(hub, viewer)
    for message in GOOD:
        if message["type"] != "ack":
            tell(hub, viewer, **message)
    own = {"ack", "steer", "colour", "pick", "plots"}  # the hub's own business
    wanted = [m["type"] for m in GOOD if m["type"] not in own]
    assert [message.type for _, message in session.got] == wanted
    assert not of_type(take(hub, viewer), "error")


def test_acks_from_the_future_and_unknown_colours_are_refused() -> None:
    hub, _ = noting_hub()
    viewer = hub.join()
    take(hub, viewer)
    tell(hub, viewer, type="ack", seq=5)
    tell(hub, viewer, type="colour", by="taste")
    future, colour = take(hub, viewer)
    assert "at most 0" in future["message"] and "material, speed" in colour["message"]
    assert viewer.colour == "material" and viewer.acknowledged == 0


def test_too_many_messages_end_it() -> None:
    clock = Clock()
    hub, session = noting_hub(clock)
    viewer = hub.join()
    done = [hub.receive(viewer, '{"type": "pause"}') for _ in range(protocol.RATE + 1)]
    assert done == [True] * protocol.RATE + [False]
    assert len(session.got) == protocol.RATE
    clock.now += 0.5
    assert hub.receive(viewer, '{"type": "pause"}')


def test_answers_to_one_who_never_reads_do_not_pile_up() -> None:
    hub, _ = noting_hub()
    viewer = hub.join()
    for _ in range(protocol.RATE - 1):
        hub.receive(viewer, "{")
    assert len(viewer.answers) == MOST_WAITING


def test_answers_go_to_one_or_to_all() -> None:
    hub, _ = noting_hub()
    first, second = hub.join(), hub.join()
    take(hub, first), take(hub, second)
    hub.answer(first.id, {"type": "error", "message": "no"})
    hub.answer(0, {"type": "parameters", "values": {"a": 1}})
    hub.answer(99, {"type": "error", "message": "nobody"})
    assert [one["type"] for one in take(hub, first)] == ["error", "parameters"]
    assert [one["type"] for one in take(hub, second)] == ["parameters"]


# ---------------------------------------------------------------------- picking and plots


def test_pick_waits_for_a_moment_that_knows_forces() -> None:
    hub, _ = noting_hub()
    viewer = hub.join()
    stage, moment = stage_and_moment()
    hub.show(stage, moment, full=False)
    take(hub, viewer)
    assert not hub.wants_fields
    tell(hub, viewer, type="pick", tag=11)
    assert hub.wants_fields and hub.lacks_fields and not of_type(take(hub, viewer), "picked")
    force = np.arange(len(moment), dtype=np.float32)
    hub.show(stage, dataclasses.replace(moment, force=force), full=True)
    (picked,) = of_type(take(hub, viewer), "picked")
    row = int(np.flatnonzero(moment.tag == 11)[0])
    assert picked["tag"] == 11 and picked["force"] == force[row]
    assert not hub.lacks_fields


def test_pick_by_ray_finds_the_nearest_and_tells_all() -> None:
    hub, _ = noting_hub()
    viewer = hub.join()
    stage, moment = stage_and_moment(200)
    hub.show(stage, moment)
    take(hub, viewer)
    rng = np.random.default_rng(0)
    for row in rng.integers(0, 200, 20):
        eye = moment.position[row] + rng.normal(size=3)
        way = moment.position[row] - eye
        tell(hub, viewer, type="pick", origin=eye.tolist(), direction=way.tolist())
        (picked,) = of_type(take(hub, viewer), "picked")
        unit = way / np.linalg.norm(way)
        along = (moment.position - eye) @ unit
        apart = np.linalg.norm(moment.position - eye - along[:, None] * unit, axis=1)
        entry = along - np.sqrt(np.maximum(moment.radius**2 - apart**2, 0.0))
        hits = (apart < moment.radius * 0.999) & (along > 0)
        assert picked["tag"] == moment.tag[hits][np.argmin(entry[hits])]
        found = int(np.flatnonzero(moment.tag == picked["tag"])[0])
        assert picked["position"] == pytest.approx(moment.position[found].tolist())
        assert picked["speed"] == pytest.approx(np.linalg.norm(moment.velocity[found]), rel=1e-5)
        mass = 2650.0 * 4 / 3 * np.pi * float(moment.radius[found]) ** 3
        assert picked["mass"] == pytest.approx(mass, rel=1e-5)
        assert picked["material"] == "gravel" and picked["age"] == 0.0
        assert picked["overlap"] is None or picked["overlap"] >= 0.0


def test_pick_of_nothing() -> None:
    hub, _ = noting_hub()
    viewer = hub.join()
    hub.show(*stage_and_moment())
    take(hub, viewer)
    for asked in ({"tag": 10**6}, {"origin": [0, 0, 50], "direction": [0, 0, 1]}):
        tell(hub, viewer, type="pick", **asked)
        (picked,) = of_type(take(hub, viewer), "picked")
        assert picked["tag"] is None
    stage, moment = stage_and_moment(1)
    empty = dataclasses.replace(moment, position=moment.position[:0], radius=moment.radius[:0])
    hub.show(stage, empty)
    tell(hub, viewer, type="pick", origin=[0, 0, 5], direction=[0, 0, -1])
    assert of_type(take(hub, viewer), "picked")[0]["tag"] is None


def test_plots_come_in_parts_that_are_acknowledged() -> None:
    clock = Clock()
    hub, session = noting_hub(clock)
    session.plots.clear(["time", "energy"], ["s", "J"])
    viewer = hub.join()
    rows: list[list[float]] = []

    def read(acknowledge: bool = True) -> list[dict[str, Any]]:
        clock.now += 1.0
        found = of_type(take(hub, viewer), "plots")
        for one in found:
            if one["reset"]:
                rows.clear()
            rows.extend(one["rows"])
            if acknowledge:
                tell(hub, viewer, type="plots", seen=one["version"])
        return found

    assert read()[0]["names"] == ["time", "energy"]
    for k in range(2500):
        session.plots.add([k, 2 * k])
    for _ in range(4):
        read()
    assert rows == [[float(k), 2.0 * k] for k in range(2500)]
    session.plots.add([2500, 0])
    assert len(read(acknowledge=False)) == 1
    session.plots.add([2501, 0])
    assert read() == [], "no more before the last part is acknowledged"
    session.plots.clear(["time"], ["s"])
    tell(hub, viewer, type="plots", seen=0)
    session.plots.add([7.0])
    assert read()[0]["reset"] is True and rows == [[7.0]]
