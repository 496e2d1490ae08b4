"""Terrain in the page: the ground of the frame that is shown, in the colours of its soils."""

from __future__ import annotations

import numpy as np
from PIL import Image

from berm.apps.viewer.playback import Playback
from berm.io.recording import Recording
from berm.render.offscreen import Renderer
from berm.stage.stage import moment_of, stage_of
from tests.end_to_end.page_tools import NewTab, Serve, camera_of, difference, small
from tests.unit.terrain_dig import recorded

SURFACE = "berm.view.surfaces.byName.get('height 0')"


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
        heights = seen[step][0].astype(np.float32)
        drawn = f"Array.from({SURFACE}.sheet.geometry.getAttribute('position').array)"
        tab.until(f"berm.view.grains.frame.header.frame === {step}", f"frame {step}")
        tab.until(lambda want=heights: np.array_equal(
            np.array(tab.run(drawn), np.float32)[2 : 3 * want.size : 3], want.ravel()), "heights")  # fmt: skip
    tab.until("berm.view.pending === null", "picture")
    tab.shot("terrain")
    shown = tab.picture()
    with Renderer(shown.size) as renderer:
        moment = moment_of(recording, 48)
        drawn_here = renderer.draw(stage_of(recording), moment, camera_of(tab))
    mean, _ = difference(small(shown), small(Image.fromarray(drawn_here)))
    assert mean < 3.0
