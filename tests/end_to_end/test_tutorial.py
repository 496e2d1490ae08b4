"""The tutorial's code runs, block after block, in one session."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from berm.io.scenefile import load_scene

DOCS = Path(__file__).parents[2] / "docs"


def run_blocks(page: str, least: int) -> dict[str, Any]:
    """Run all Python of a page as one program; return its names."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), flags=re.S)
    assert len(blocks) >= least
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{page} block {number}", "exec"), names)
    return names


def test_machines_run(capsys):
    names = run_blocks("machines.md", 5)
    printed = capsys.readouterr().out
    assert "the pin bears" in printed and "the ram pushes" in printed
    assert "the loader goes at" in printed and "the boom sinks" in printed
    (scene,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "machines.md").read_text(), flags=re.S)
    file = names["folder"] / "yard.yaml"
    file.write_text(scene)
    world = load_scene(file).build()
    # door, spring and gear; two arms, one of them with a ram; and the tracks' two
    assert len(world.bodies) == 9 and len(world.joints) == 3 + 2 + 3 + 2
    assert [machine.name for machine in world.machines] == ["tracks"]
    world.run(0.1)
    assert {"left_elbow", "right_ram", "door"} <= {joint.name for joint in world.joints}


def test_soil_runs_and_names_functions_that_exist(capsys):
    run_blocks("theory/soil.md", 1)
    assert "cutting" in capsys.readouterr().out
    page = (DOCS / "theory" / "soil.md").read_text()
    folder = DOCS.parent / "src" / "berm" / "kernels" / "terrain"
    named = re.findall(r"`(cutting|digging|facing|holding|standing|wheel)\.(\w+)`", page)
    assert len(named) > 15
    for file, name in named:
        assert f"def {name}(" in (folder / f"{file}.py").read_text(), (file, name)


def test_terrain_runs(capsys, tmp_path, monkeypatch):
    pytest.importorskip("moderngl")
    monkeypatch.chdir(tmp_path)
    run_blocks("terrain.md", 5)
    printed = capsys.readouterr().out
    for said in ("hills from", "the blade needs", "topsoil: ", "m^3 dug", "the heap is"):
        assert said in printed, said
    assert {"dig.png", "dig.vtkhdf", "dig_ground.vtkhdf", "dig.npy"} <= {
        file.name for file in tmp_path.iterdir()
    }
    (scene,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "terrain.md").read_text(), flags=re.S)
    (tmp_path / "dig.yaml").write_text(scene)
    world = load_scene(tmp_path / "dig.yaml").build()
    world.run(0.1)
    assert world.terrain.zone.live > 0


def test_tutorial_runs(capsys):
    run_blocks("tutorial.md", 6)
    printed = capsys.readouterr().out
    assert "floor carries" in printed and "frames" in printed


def test_equation_table_names_things_that_exist():
    """Every function that the theory page names is in the kernels or solvers."""
    root = Path(__file__).parents[2]
    page = (root / "docs" / "theory" / "p2.md").read_text()
    table = page.split("## Equations and functions")[1].split("## Where")[0]
    source = "\n".join(p.read_text() for p in (root / "src" / "berm").rglob("*.py"))
    names = re.findall(r"`(?:kernels\.|solvers\.)?(?:\w+\.)*(\w+)`", table)
    assert len(names) > 12
    for name in names:
        assert re.search(rf"\b(def|class) {name}\b|^{name}\b|\b{name},? .*= ", source, re.M) or any(
            (root / "src" / "berm" / "kernels").rglob(f"{name}.py")
        ), name
