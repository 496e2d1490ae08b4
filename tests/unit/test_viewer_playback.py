"""Playback: time goes by, the timeline seeks, the end holds or loops, and a growing file grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from berm.apps.viewer.frames import positions
from berm.apps.viewer.playback import Playback
from berm.core.errors import InputError
from berm.io.recording import Recorder, Recording
from tests.unit.viewer_tools import Clock, frames_of, of_type, some_world, take

FRAMES = 13


@pytest.fixture
def path(tmp_path: Path) -> Path:
    world = some_world()
    world.run(0.4, recorders=[Recorder(tmp_path / "r.h5", every=1 / 30, scene="test")])
    return tmp_path / "r.h5"


def playback(path: Path) -> Playback:
    made = Playback(Recording(path), Clock())
    made.resume()
    made.show()
    made.tell()
    return made


def let(one: Playback, seconds: float) -> None:
    """Let wall time go by, and do what the thread does."""
    one.pace.clock.now += seconds
    if one.running:
        one.advance(one.pace.clock())
    if one.frame != one._on_show:
        one.show()


def ask(one: Playback, viewer: Any, **message: Any) -> list[Any]:
    import json

    assert one.hub.receive(viewer, json.dumps(message))
    one.obey_all()
    let(one, 0.0)
    return take(one.hub, viewer)


def test_hello_tells_length_and_colours(path: Path) -> None:
    one = playback(path)
    hello = take(one.hub, one.hub.join())[0]
    assert hello["mode"] == "playback" and hello["scene"] == "test" and hello["title"] == "r.h5"
    assert hello["frames"] == len(hello["times"]) == FRAMES
    assert hello["duration"] == pytest.approx(0.4) and hello["steering"] is True
    assert "speed" in hello["colours"] and "seek" in hello["can"] and "set" not in hello["can"]


def test_time_goes_by_at_the_chosen_speed(path: Path) -> None:
    one = playback(path)
    viewer = one.hub.join()
    let(one, 0.1 + 1e-6)
    assert one.frame == 3
    ask(one, viewer, type="speed", factor=0.5)
    let(one, 0.1 + 1e-6)
    assert one.frame == 4
    ask(one, viewer, type="pause")
    let(one, 5.0)
    assert one.frame == 4 and not one.running
    ask(one, viewer, type="resume")
    let(one, 2 / 15 + 1e-6)
    assert one.frame == 6


def test_every_frame_is_what_was_recorded(path: Path) -> None:
    one = playback(path)
    viewer = one.hub.join()
    ask(one, viewer, type="pause")
    with Recording(path) as recording:
        for k in (0, 5, 12, 3):
            found = frames_of(ask(one, viewer, type="seek", frame=k))
            viewer.acknowledged = viewer.sent[0]
            if not found:  # frame 0 was there already
                continue
            ((header, arrays),) = found
            assert header["frame"] == k and header["time"] == pytest.approx(recording.times[k])
            wanted = recording.frame(k).position
            assert np.abs(positions(header, arrays) - wanted).max() < 1e-4


def test_step_goes_both_ways_and_stops_at_the_ends(path: Path) -> None:
    one = playback(path)
    viewer = one.hub.join()
    for count, wanted in ((2, 2), (-1, 1), (-9, 0), (999, 12)):
        ask(one, viewer, type="step", count=count)
        assert one.frame == wanted and not one.running


def test_seek_beyond_the_end_is_refused(path: Path) -> None:
    one = playback(path)
    viewer = one.hub.join()
    (refused,) = of_type(ask(one, viewer, type="seek", frame=13), "error")
    assert refused["message"] == "seek: frame: got 13; allowed: 0 to 12"
    assert one.frame == 0


def test_the_end_holds_and_resume_begins_anew(path: Path) -> None:
    one = playback(path)
    viewer = one.hub.join()
    let(one, 10.0)
    assert one.frame == 12 and one.finished and not one.running
    assert of_type(take(one.hub, viewer), "status")[-1]["finished"] is True
    ask(one, viewer, type="resume")
    assert one.frame == 0 and one.running


def test_loop_begins_anew(path: Path) -> None:
    one = playback(path)
    viewer = one.hub.join()
    ask(one, viewer, type="loop", on=True)
    let(one, 10.0)
    assert one.frame == 0 and one.running and not one.finished
    let(one, 0.1 + 1e-6)
    assert one.frame == 3
    assert of_type(ask(one, viewer, type="loop", on=False), "status")[-1]["loop"] is False


def test_plots_have_a_row_a_frame(path: Path) -> None:
    one = playback(path)
    viewer = one.hub.join()
    one._plot_some()
    one.hub.clock.now += 1.0
    (plots,) = of_type(take(one.hub, viewer), "plots")
    assert len(plots["rows"]) == FRAMES
    with Recording(path) as recording:
        assert [row[0] for row in plots["rows"]] == pytest.approx(recording.times.tolist())
        force = np.linalg.norm(recording.frame(12).bodies["floor"].force)
        assert plots["names"][-1] == "force on floor"
        assert plots["rows"][12][-1] == pytest.approx(force)
        assert plots["rows"][12][2] == pytest.approx(recording.columns["kinetic_energy"][-1])


def test_a_file_that_is_being_written_grows(tmp_path: Path) -> None:
    world = some_world()
    recorder = Recorder(tmp_path / "r.h5", every=0)
    recorder.start(world)
    recorder.record(world, world.step())
    one = playback(tmp_path / "r.h5")
    viewer = one.hub.join()
    assert len(one.times) == 2
    let(one, 60.0)
    assert one.frame == 1 and one.running, "it waits for more"
    for _ in range(5):
        recorder.record(world, world.step())
    one.pace.clock.now += 2.0
    one._grow()
    assert len(one.times) == 7
    assert of_type(take(one.hub, viewer), "status")[-1]["frames"] == 7
    let(one, 60.0)
    assert one.frame == 6
    recorder.close()


def test_a_recording_without_frames_is_refused(tmp_path: Path, path: Path) -> None:
    recording = Recording(path)
    recording.times = recording.times[:0]
    with pytest.raises(InputError, match="without frames"):
        Playback(recording)
