"""The ground of a terrain on its way to the pages."""

from __future__ import annotations

import numpy as np

from berm.apps.viewer.frames import ground_frame, unpack
from berm.apps.viewer.land import COLUMN, RATE, Land
from berm.stage.ground import DARKER, GroundMoment, block
from berm.stage.stage import moment_of, stage_of
from tests.unit.terrain_dig import blade_world


class Hub:
    """Notes what is handed over."""

    def __init__(self):
        self.shown = []

    def show_surface(self, name, make):
        self.shown.append((name, make(len(self.shown) + 1)))


def dug():
    world = blade_world([("topsoil", 0.1), ("clay", 0.3)])
    for _ in range(45):
        world.step()
    return world


def test_a_page_gets_heights_and_colours_of_what_is_seen():
    world = dug()
    stage, moment = stage_of(world), moment_of(world)
    # fixed grains of the shell are not drawn, and the body is drawn as the ground
    assert len(moment) == int((~world.grains.fixed).sum()) < world.grains.n
    body = stage.bodies[stage.ground.body]
    assert body.name == "terrain" and stage.materials[body.material].name == "topsoil"
    header, arrays = unpack(ground_frame(stage, moment.ground, 7))
    heights = world.terrain.heights
    np.testing.assert_array_equal(arrays["height"], heights.ravel().astype(np.float32))
    assert header["version"] == 7 and header["shape"] == [31, 21]
    assert header["base"] < heights.min()
    colours = arrays["colour"].reshape(31, 21, 3)
    named = {one.name: np.array(one.colour) for one in stage.materials}
    np.testing.assert_array_equal(colours[-1, 0], named["topsoil"])
    bare = (heights < -0.11) & (world.terrain.columns.loose == 0.0)
    assert bare.any()
    np.testing.assert_array_equal(colours[bare], np.tile(named["clay"], (bare.sum(), 1)))
    fresh = world.terrain.sight.look().loose > 0.05
    soil = world.terrain.sight.soil
    for i, j in np.argwhere(fresh)[:20]:
        own = named["topsoil" if soil[i, j] == 0 else "clay"]
        np.testing.assert_allclose(colours[i, j], DARKER * own, atol=0.51)


def test_bare_rock_is_grey():
    world = blade_world([("topsoil", 0.05)])
    ground = world.terrain
    ground.columns.lower((0, 0), np.full((31, 21), -1.0))  # down to the rock
    ground.sight.touch()
    assert (ground.sight.look().soil == 1).all()


def test_the_ground_is_sent_when_it_changed_and_not_more_than_the_line_bears():
    world, hub, now = dug(), Hub(), [0.0]
    land = Land(lambda: now[0])
    stage, moment = stage_of(world), moment_of(world)
    for _ in range(3):
        land.show(hub, stage, moment)
    assert [name for name, _ in hub.shown] == ["height 0"]
    world.step()
    world.step()
    changed = moment_of(world)
    assert not np.array_equal(changed.ground.heights, moment.ground.heights)
    land.show(hub, stage, changed)  # too soon
    assert len(hub.shown) == 1
    now[0] = 1.01 * COLUMN * changed.ground.heights.size / RATE
    land.show(hub, stage, changed)
    assert len(hub.shown) == 2
    land.show(hub, stage, moment, at_once=True)  # who holds sees what there is
    assert len(hub.shown) == 3
    land.show(hub, stage_of(world), moment)  # another stage knows nothing yet
    assert len(hub.shown) == 4


def test_the_block_is_closed_to_the_sides():
    world = dug()
    stage = stage_of(world)
    heights = moment_of(world).ground.heights
    mesh, node = block(stage.ground, heights)
    edges = np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    places = mesh.vertices.round(5)
    _, same = np.unique(places, axis=0, return_inverse=True)
    _, count = np.unique(np.sort(same.ravel()[edges], axis=1), axis=0, return_counts=True)
    low = 2 * (30 + 20)  # only the edges of the open bottom belong to one face
    assert (count == 1).sum() == low and (count <= 2).all()
    corners = mesh.vertices[mesh.faces[2 * 30 * 20 :]].astype(float)
    facing = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    away = corners.mean(axis=1)[:, :2]  # the middle of the field is the origin
    assert ((facing[:, :2] * away).sum(axis=1) > 0.0).all()
    assert len(node) == len(mesh.vertices)
    assert isinstance(moment_of(world).ground, GroundMoment)
