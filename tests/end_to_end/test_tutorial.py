"""The tutorial's code runs, block after block, in one session."""

from __future__ import annotations

import re
from pathlib import Path

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


def test_tutorial_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(), flags=re.S)
    assert len(blocks) >= 6
    names: dict[str, object] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{TUTORIAL.name} block {number}", "exec"), names)
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
