"""Cloth in the page: drawn as off-screen, moving live and in playback, cheap when it is large."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import berm
from berm.apps.viewer.playback import Playback
from berm.core.cloth import Cloth
from berm.io.recording import Recorder, Recording
from berm.scenes.base import make_params, scene
from berm.stage.colours import material_colour
from tests.end_to_end.page_tools import NewTab, Serve, Still, Tab, camera_of, difference, small
from tests.end_to_end.test_page import wait_for_seq
from tests.end_to_end.test_page_live import live


def waving(vertices: int = 30) -> berm.World:
    """A waving square metre of cloth over a floor with a grain on it."""
    world = berm.World(solver="sp")
    world.add_body(berm.Plane(), name="floor", material="rough wall")
    world.add_grains([[0.0, 0.0, 0.75]], 0.08)
    cloth = Cloth.grid((vertices, vertices), (1.0, 1.0), (-0.5, -0.5, 0.6))
    cloth.position[:, 2] += 0.06 * np.sin(9.0 * cloth.position[:, 0])
    world.add_cloth(cloth)
    return world


def cloth_share(picture: Image.Image) -> float:
    """Return the share of pixels that have the hue of cloth, lit or in the shade."""
    seen = np.asarray(picture, float)
    red, green, blue = seen[..., 0], seen[..., 1], seen[..., 2]
    own = np.array(material_colour("cloth"), float)
    ratio = (own[1] / own[0], own[2] / own[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        near = (np.abs(green / red - ratio[0]) < 0.15) & (np.abs(blue / red - ratio[1]) < 0.15)
    return float((near & (red > 40)).mean())


def test_the_page_draws_what_the_renderer_draws(serve: Serve, new_tab: NewTab) -> None:
    from berm.render.offscreen import Renderer

    session = Still(waving())
    tab = new_tab().open(serve(session).address)
    shown = tab.picture()
    tab.shot("cloth")
    camera = camera_of(tab)
    with Renderer(shown.size) as renderer:
        drawn = renderer.draw(session.stage, session.moment, camera)
        bare = renderer.draw(session.stage, session.moment, camera, hide=("cloth",))
    mean, worst = difference(small(shown), small(Image.fromarray(drawn)))
    other, _ = difference(small(shown), small(Image.fromarray(bare)))
    assert mean < 3.0 < other and worst < 20.0
    assert cloth_share(shown) > 0.1 > 10 * cloth_share(Image.fromarray(bare))


def test_cloth_moves_with_the_moment_and_goes_when_it_is_gone(
    serve: Serve, new_tab: NewTab
) -> None:
    from dataclasses import replace

    session = Still(waving())
    tab = new_tab().open(serve(session).address)
    before = cloth_share(tab.picture())
    lifted = tuple(vertices + np.float32([0.0, 0.0, 0.5]) for vertices in session.moment.cloths)
    session.hub.show(session.stage, replace(session.moment, cloths=lifted))
    wait_for_seq(tab, session)
    top = tab.run("berm.view.cloths.bounds.max.z")
    assert top == pytest.approx(float(lifted[0][:, 2].max()), abs=1e-5)
    assert cloth_share(tab.picture()) > 0.5 * before
    session.hub.show(session.stage, replace(session.moment, cloths=()))
    wait_for_seq(tab, session)
    assert cloth_share(tab.picture()) < 0.002


def test_a_live_scene_shows_cloth_that_falls(serve: Serve, new_tab: NewTab) -> None:
    one = scene("cloth-grains")
    world = one.build(make_params(one, {"grains": 200}))
    start = float(world.cloths[0].position[:, 2].min())  # the page may see it later only
    tab = new_tab().open(serve(live("cloth-grains", grains=200)).address)
    tab.until(f"berm.view.cloths.bounds.min.z < {start} - 0.02", "a cloth that sags")
    assert cloth_share(tab.picture()) > 0.03
    tab.shot("cloth-grains-live")


def test_playback_shows_cloth(serve: Serve, new_tab: NewTab, tmp_path: Path) -> None:
    one = scene("cloth-sphere")
    world = one.build(make_params(one, {"vertices": 15}))
    path = tmp_path / "run.h5"
    world.run(0.6, recorders=[Recorder(path, scene="cloth-sphere")])
    session = Playback(Recording(path))
    tab = new_tab().open(serve(session).address)

    def seek(frame: int) -> float:
        seek_to(tab, frame)
        return float(tab.run("berm.view.cloths.bounds.min.z"))

    first, last = seek(0), seek(len(session.times) - 1)
    with Recording(path) as recording:
        lowest = [float(recording.frame(k).cloths["cloth"][:, 2].min()) for k in (0, -1)]
    assert [first, last] == pytest.approx(lowest, abs=1e-5)
    assert cloth_share(tab.picture()) > 0.03
    tab.shot("cloth-sphere-playback")


def seek_to(tab: Tab, frame: int) -> None:
    tab.run("() => berm.connection.send('pause', {})")
    tab.run("(frame) => berm.connection.send('seek', { frame })", frame)
    done = f"berm.view.grains.frame.header.frame === {frame} && berm.view.pending === null"
    tab.until(done, "the frame")


def test_a_large_cloth_is_cheap_to_move(serve: Serve, new_tab: NewTab) -> None:
    session = Still(waving(vertices=100))
    tab = new_tab().open(serve(session).address)
    cost: Any = tab.run("""() => {
      const { cloths } = berm.view;
      const sheet = cloths.byId.get(0);
      const vertices = Float32Array.from(sheet.geometry.getAttribute("position").array);
      const times = [];
      for (let k = 0; k < 20; k += 1) {
        const start = performance.now();
        cloths.update({ "cloth 0": vertices });
        times.push(performance.now() - start);
      }
      return Math.min(...times);
    }""")
    assert cost < 16.0  # ms, of a processor that others use as well
