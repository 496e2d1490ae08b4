"""Cloth on its way to a page: faces with the stage, vertices with every moment that is shown."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import berm
from berm.apps.viewer.frames import MomentFrames, stage_json, unpack
from berm.apps.viewer.live import Live, Program
from berm.apps.viewer.playback import Playback
from berm.core.cloth import Cloth
from berm.io.recording import Recording
from berm.stage.stage import moment_of, stage_of
from tests.unit import cloth_sample as sample
from tests.unit.viewer_tools import Clock, frames_of, of_type, take


def world_of_two() -> berm.World:
    world = sample.make_world()
    sample.add_banner(world)
    return world


def faces_of(told: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(told["faces"]), "<u4").reshape(-1, 3)


def test_faces_go_with_the_stage_and_vertices_with_the_moment() -> None:
    world = world_of_two()
    stage, moment = stage_of(world), moment_of(world)
    header, arrays = unpack(MomentFrames(moment, 1, 1).coloured_by("speed"))
    assert header["n"] == 1 and len(arrays["position"]) == 1
    assert header["rows"] == {"cloth 0": 24, "cloth 1": 4}
    for k, vertices in enumerate(moment.cloths):
        np.testing.assert_array_equal(arrays[f"cloth {k}"], vertices)
    told = json.loads(stage_json(stage, 4))["cloths"]
    assert [(c["id"], c["name"], c["material"]) for c in told] == [
        (c.id, c.name, c.material) for c in stage.cloths
    ]
    for one, cloth in zip(told, world.cloths, strict=True):
        np.testing.assert_array_equal(faces_of(one), cloth.faces)


def test_a_cloth_that_is_nowhere_is_left_out() -> None:
    world = world_of_two()
    world.cloths[0].position[3] = np.nan
    _, arrays = unpack(MomentFrames(moment_of(world), 1, 1).coloured_by("material"))
    assert "cloth 0" not in arrays and len(arrays["cloth 1"]) == 4


def test_a_large_cloth_costs_little() -> None:
    world = berm.World(solver="sp")
    world.add_cloth(Cloth.grid((100, 100), (1.0, 1.0)))
    best = 1.0
    for _ in range(20):
        start = time.perf_counter()
        data = MomentFrames(moment_of(world), 1, 1).coloured_by("material")
        best = min(best, time.perf_counter() - start)
    assert len(data) < 125_000  # 12 bytes a vertex; faces went with the stage
    assert best < 0.005


def test_every_moment_of_a_live_session_has_its_cloths() -> None:
    world = sample.make_world()
    live = Live(Program.of_world(world), clock=Clock())
    live.open(world)
    viewer = live.hub.join()
    (stage,) = of_type(take(live.hub, viewer), "stage")
    assert [cloth["name"] for cloth in stage["cloths"]] == [sample.FLAG]
    for step in (1, 2, 3):
        sample.wave(world, step)
        live.show()
        viewer.acknowledged = viewer.sent[0]
        found = take(live.hub, viewer)
        assert of_type(found, "stage") == []
        ((_, arrays),) = frames_of(found)
        np.testing.assert_array_equal(arrays["cloth 0"], world.cloths[0].position.astype("f4"))
    sample.add_banner(world)  # another cloth is another stage, and who comes late gets it all
    live.show()
    viewer.acknowledged = viewer.sent[0]
    for who in (viewer, live.hub.join()):
        found = take(live.hub, who)
        assert len(of_type(found, "stage")[0]["cloths"]) == 2
        ((_, arrays),) = frames_of(found)
        assert set(arrays) >= {"cloth 0", "cloth 1"}


def test_playback_shows_the_cloths_of_each_frame(tmp_path: Path) -> None:
    recording, truth = sample.record(tmp_path / "run.h5")
    recording.close()
    one = Playback(Recording(tmp_path / "run.h5"), Clock())
    viewer = one.hub.join()
    for k, expected in enumerate(truth):
        one._go_to(k)
        one.show()
        ((header, arrays),) = frames_of(take(one.hub, viewer))
        viewer.acknowledged = viewer.sent[0]
        assert header["frame"] == k
        assert len(header["rows"]) == len(expected)
        for number, vertices in enumerate(expected):
            np.testing.assert_array_equal(arrays[f"cloth {number}"], vertices)
