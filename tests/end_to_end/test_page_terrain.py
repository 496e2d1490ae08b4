"""Terrain in the page: the ground of the frame that is shown, in the colours of its soils."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from berm.apps.viewer.live import Live, Program
from berm.apps.viewer.playback import Playback
from berm.io.recording import Recording
from berm.io.scenefile import load_scene
from berm.render.offscreen import Renderer
from berm.stage.stage import moment_of, stage_of
from tests.end_to_end.page_tools import NewTab, Serve, Tab, camera_of, difference, small
from tests.unit.terrain_dig import recorded

SCENE = """\
terrain:
  source: {kind: flat, size: [4, 3]}
  layers: [{soil: topsoil, thickness: 0.12}, {soil: loam}]
  tools: [{body: blade}]
bodies:
  - name: blade
    shape: {kind: box, size: [0.06, 1.0, 0.6]}
    position: [-1.25, 0, 0.12]
    motion: {kind: linear, velocity: [0.9, 0, 0]}
"""
SURFACE = "berm.view.surfaces.byName.get('height 0')"


def shown_heights(tab: Tab, count: int) -> np.ndarray:
    """Return the heights (m) of the columns that the page draws."""
    vertices = tab.run(f"Array.from({SURFACE}.sheet.geometry.getAttribute('position').array)")
    return np.array(vertices, np.float32)[2 : 3 * count : 3]


def test_the_page_shows_the_ground_of_each_frame(serve: Serve, new_tab: NewTab) -> None:
    path, seen = recorded()
    recording = Recording(path)
    session = Playback(recording)
    session.resume = lambda: None  # it holds at the first frame
    tab = new_tab(800, 600).open(serve(session).address)
    tab.until(f"{SURFACE} !== undefined", "ground")
    # the seek bar goes by frame; every frame has its own ground, also when going back
    for step in (60, 24, 48):
        tab.run("(frame) => berm.connection.send('seek', { frame })", step)
        heights = seen[step][0].astype(np.float32).ravel()
        tab.until(f"berm.view.grains.frame.header.frame === {step}", f"frame {step}")
        tab.until(
            lambda want=heights: np.array_equal(shown_heights(tab, want.size), want), "heights"
        )
    tab.until("berm.view.pending === null", "picture")
    tab.shot("terrain")
    shown = tab.picture()
    with Renderer(shown.size) as renderer:
        moment = moment_of(recording, 48)
        drawn_here = renderer.draw(stage_of(recording), moment, camera_of(tab))
    mean, _ = difference(small(shown), small(Image.fromarray(drawn_here)))
    assert mean < 3.0


def test_the_live_page_follows_a_dig(serve: Serve, new_tab: NewTab, tmp_path: Path) -> None:
    (tmp_path / "dig.yaml").write_text(SCENE)
    loaded = load_scene(tmp_path / "dig.yaml")
    session = Live(Program("dig", lambda setup: loaded.build(), None, 1.4))
    tab = new_tab(1000, 700).open(serve(session).address)
    ground = SURFACE.replace("0", "1")  # the blade comes first
    tab.until(f"{ground} !== undefined", "ground")
    lowest = f"Math.min(...{ground}.sheet.geometry.getAttribute('position').array)"
    tab.until(lambda: session.time > 1.0 or session.error, "a dig", 120.0)
    assert session.error == "" and tab.run(lowest) < -0.2
    tab.shot("dig")
    assert tab.run("berm.view.surfaces.byName.size") == 1  # not the field of contacts beside it
