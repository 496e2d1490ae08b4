"""Terrain in scene files: every source, layers and tools; mistakes with their lines."""

from __future__ import annotations

import json

import numpy as np
import pytest

from berm.io.scenefile import SceneFileError, json_schema, load_scene

GOOD = """\
terrain:
  source: {kind: noise, size: [3, 2], seed: 5, height: 0.05, wave: 2}
  cell: 0.1
  layers:
    - {soil: topsoil, thickness: 0.2, changes: {cohesion: 4000}}
    - {soil: clay, thickness: 0.5}
  grain: 0.03
  tools: [{body: blade, depth: 0.2}]
bodies:
  - name: blade
    shape: {kind: box, size: [0.06, 0.8, 0.5]}
    position: [-0.9, 0, 0.3]
    motion: {kind: linear, velocity: [0.5, 0, 0]}
run: {seconds: 0.1}
"""


def load(folder, text, name="dig.yaml"):
    (folder / name).write_text(text)
    return load_scene(folder / name)


def test_a_scene_with_terrain_digs(tmp_path):
    scene = load(tmp_path, GOOD)
    assert "ground" in scene.record_fields
    one, other = scene.build(), scene.build()
    ground = one.terrain
    assert ground is not other.terrain and ground.grain == 0.03 and ground.heights.shape == (31, 21)
    assert [soil.name for soil in ground.soils] == ["topsoil", "clay"]
    assert ground.soils[0].cohesion == 4000.0
    # 0.5 m of clay below 0.2 m of topsoil, then rock
    np.testing.assert_allclose(ground.heights - ground.columns.rock, 0.7, atol=1e-9)
    (tool,) = ground.tools
    assert tool.body is one.body("blade") and tool.margins()[1] == 0.2
    for _ in range(4):
        one.step()
    assert ground.zone.live > 50 and ground.ledger(one).error.max() == 0.0


def test_toml_and_every_source(tmp_path):
    text = """
[terrain]
cell = 0.5
source = {kind = "heights", heights = [[0, 1, 2], [0, 1, 2]], origin = [3, 4]}
"""
    world = load(tmp_path, text, "a.toml").build()
    np.testing.assert_array_equal(world.terrain.heights, [[0, 1, 2], [0, 1, 2]])
    assert world.terrain.origin == (3.0, 4.0)
    np.save(tmp_path / "hill.npy", np.full((4, 5), 2.0))
    world = load(tmp_path, "terrain: {source: {kind: file, file: hill.npy, pixel: 0.4}}").build()
    assert world.terrain.cell == 0.4 and world.terrain.heights.shape == (4, 5)
    world = load(tmp_path, "terrain: {source: {kind: flat, size: [2, 1], height: 0.5}}").build()
    assert world.terrain.heights.shape == (21, 11) and (world.terrain.heights == 0.5).all()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "kind: noise",
            "kind: nois",
            r":2:.*terrain\.source\.kind: got 'nois'.*did you mean 'noise'",
        ),
        ("seed: 5", "seeds: 5", r":2:.*unknown key.*did you mean 'seed'"),
        ("soil: clay", "soil: clai", r":6:.*terrain\.layers\[1\].*clai.*clay"),
        ("cohesion: 4000", "cohesion: -1", r":5:.*cohesion.*from 0 up"),
        ("cohesion: 4000", "cohesio: 1", r":5:.*cohesio"),
        ("grain: 0.03", "grain: 0.07", r":2:.*at least two grain radii, 0\.14 m"),
        ("thickness: 0.2, ", "", r"terrain.*layers\[0\].*a thickness in m above the last layer"),
        ("grain: 0.03", "name: blade", r":7:.*an unused name"),
    ],
)
def test_mistakes_have_lines(tmp_path, old, new, said):
    assert GOOD.count(old) == 1
    with pytest.raises(SceneFileError, match=said):
        load(tmp_path, GOOD.replace(old, new))


def test_a_tool_that_is_no_body_is_told(tmp_path):
    scene = load(tmp_path, GOOD.replace("body: blade", "body: blad"))
    with pytest.raises(SceneFileError, match=r":8:.*tools\[0\]\.body: got 'blad'; allowed: blade"):
        scene.build()


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(SceneFileError, match=r":1:.*a file that is there"):
        load(tmp_path, "terrain: {source: {kind: file, file: hill.tif}}")


def test_the_schema_knows_terrain():
    schema = json.dumps(json_schema())
    assert "TerrainPart" in schema and "LayerPart" in schema
