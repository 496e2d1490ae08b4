"""The README keeps its promises: two commands on the first screen, and code that runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from berm.io.scenefile import load_scene

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCREEN = 30  # lines


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_two_commands_are_on_the_first_screen() -> None:
    first = "\n".join(README.splitlines()[:SCREEN])
    run, test = blocks("sh")[:2]
    assert run.strip() in first and run.strip().endswith("berm run pile --view")
    assert test.strip() in first and test.strip().endswith("pytest")
    assert all(len(one.strip().splitlines()) == 1 for one in (run, test))


def test_ci_finds_the_test_command() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    found = re.search(r"grep -m1 -E '(.*?)' README.md", script)
    assert found is not None
    lines = [line for line in README.splitlines() if re.search(found[1], line)]
    assert lines[0] == blocks("sh")[1].strip()


@pytest.mark.parametrize("code", blocks("python"))
def test_python_runs(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    angle = float(done.stdout.splitlines()[0])
    assert 10 < angle < 50


@pytest.mark.parametrize("text", blocks("yaml"))
def test_scene_files_are_right(text: str, tmp_path: Path) -> None:
    file = tmp_path / "scene.yaml"
    file.write_text(text)
    assert load_scene(file).seconds > 0


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
