"""Cloth in scene files: what is right builds it, what is wrong is named with its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from berm.io.scenefile import SceneFileError, json_schema, load_scene

FLAG = """\
solver: sp
materials:
  - {name: silk, preset: cloth, friction: 0.2}
cloths:
  - name: flag
    vertices: [5, 4]
    size: [0.4, 0.3]
    mass: 0.2
    position: [1, 2, 3]
    rotation: {axis: [1, 0, 0], degrees: 90}
    velocity: [0, 1, 0]
    material: silk
    pinned: [[0, 0], [-1, 0]]
    thickness: 1e-2
    self_collision: true
    self_thickness: 0.02
    self_friction: 0.4
"""


def load(folder: Path, text: str):
    (folder / "flag.yaml").write_text(text)
    return load_scene(folder / "flag.yaml")


def test_flag_is_built(tmp_path: Path) -> None:
    world = load(tmp_path, FLAG).build()
    (flag,) = world.cloths
    assert (flag.name, flag.thickness, flag.self_thickness) == ("flag", 0.01, 0.02)
    assert flag.self_collision and flag.self_friction == 0.4
    assert world.materials[world.add_material(flag.material)].name == "silk"
    np.testing.assert_allclose(flag.position[0], [1, 2, 3])
    np.testing.assert_allclose(flag.position[-1], [1.4, 2, 3.3])
    assert np.flatnonzero(flag.inverse_mass == 0).tolist() == [0, 16]
    assert 1 / flag.inverse_mass[1] == pytest.approx(0.01)
    world.step()
    assert world.report.kinetic_energy > 0


def test_self_collision_is_off_by_default(tmp_path: Path) -> None:
    lines = [line for line in FLAG.splitlines() if "self_" not in line]
    (flag,) = load(tmp_path, "\n".join(lines)).build().cloths
    assert not flag.self_collision
    assert "self_collision" in json_schema()["$defs"]["ClothPart"]["properties"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("self_thickness: 0.02", "self_thickness: 0", r"flag.yaml:16.*self_thickness"),
        ("self_thickness: 0.02", "self_thickness: thick", r"flag.yaml:16.*self_thickness"),
        ("self_friction: 0.4", "self_friction: -1", r"flag.yaml:17.*self_friction"),
        ("self_collision: true", "self_collision: false", r"self_thickness.*self_collision=True"),
        ("self_collision: true", "self_colision: true", r"self_colision"),
        ("vertices: [5, 4]", "vertices: [1, 4]", r"flag.yaml:6.*vertices"),
        ("[-1, 0]", "[5, 0]", r"pinned: got \[5, 0\]"),
        ("material: silk", "material: silc", r"silc.*silk"),
        ("mass: 0.2", "mass: 0", r"flag.yaml:8.*mass"),
    ],
)
def test_wrong_values_are_named(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in FLAG
    with pytest.raises(SceneFileError, match=told):
        load(tmp_path, FLAG.replace(old, new))


def test_other_solvers_say_so(tmp_path: Path) -> None:
    with pytest.raises(SceneFileError, match=r"solver: got 'p2'.*vts"):
        load(tmp_path, FLAG.replace("solver: sp", "solver: p2")).build()
