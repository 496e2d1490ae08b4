"""The quick variants of Holz's figures: files are written, and the claims that can hold do."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from berm.apps.figures import Result, run_figures
from berm.apps.figures.base import load
from berm.core.errors import InputError


def quick(tmp_path: Path, number: str) -> Result:
    said: list[str] = []
    (result,) = run_figures("holz2014", tmp_path, only=[number], quick=True, say=said.append)
    assert result.picture.stat().st_size > 10_000
    with result.data.open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) > 3
    told = json.loads(result.data.with_suffix(".json").read_text(encoding="utf-8"))
    assert told["reproduced"] == result.ok
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert result.claim in report and result.picture.name in report
    assert all(verdict.text in report for verdict in result.verdicts)
    assert any(result.verdict in line for line in said)
    return result


def test_papers_and_figures_are_known() -> None:
    assert load("holz2014").names() == ["1", "2", "3", "4", "5", "6", "7"]
    with pytest.raises(InputError, match="holz2014"):
        run_figures("holz2015")
    with pytest.raises(InputError, match="unknown figure"):
        run_figures("holz2014", only=["99"])


def test_fig1_is_measured(tmp_path: Path) -> None:
    result = quick(tmp_path, "1")
    assert "ms" in result.verdict  # how fast depends on the machine; `berm bench` judges it


def test_fig2_equals_implicit_euler(tmp_path: Path) -> None:
    result = quick(tmp_path, "2")
    assert result.ok, result.verdict


def test_fig3_friction_and_adhesion_make_steeper(tmp_path: Path) -> None:
    result = quick(tmp_path, "3")
    assert result.ok, result.verdict


def test_fig4_grains_move_bodies(tmp_path: Path) -> None:
    result = quick(tmp_path, "4")
    assert result.ok, result.verdict


def test_fig5_gauss_seidel_is_steeper(tmp_path: Path) -> None:
    result = quick(tmp_path, "5")
    assert result.verdicts[0].ok, result.verdict  # the bottom half is missed, and said so


def test_fig7_ridges(tmp_path: Path) -> None:
    result = quick(tmp_path, "7")
    assert result.verdicts[0].ok, result.verdict


@pytest.mark.slow
def test_full_figures(tmp_path: Path) -> None:
    results = run_figures("holz2014", tmp_path, only=["2", "3", "7"])
    assert all(result.ok for result in results), [result.verdict for result in results]
