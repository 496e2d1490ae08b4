"""The quick variants of Francu's figures: files are written, and the claims that can hold do."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from berm.apps.compare import compare
from berm.apps.figures import Result, run_figures
from berm.apps.figures.base import load
from berm.core.errors import InputError


def quick(tmp_path: Path, number: str) -> Result:
    (result,) = run_figures("francu2014", tmp_path, only=[number], quick=True, say=lambda _: None)
    assert result.picture.stat().st_size > 10_000
    with result.data.open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) >= 3
    told = json.loads(result.data.with_suffix(".json").read_text(encoding="utf-8"))
    assert told["reproduced"] == result.ok
    return result


def test_all_figures_are_known() -> None:
    assert load("francu2014").names() == ["1", "10", *"23456789", "T1"]


@pytest.mark.parametrize("number", ["4", "5"])
def test_claims_that_hold(tmp_path: Path, number: str) -> None:
    result = quick(tmp_path, number)
    assert result.ok, result.verdict


def test_fig7_is_missed_and_says_by_how_much(tmp_path: Path) -> None:
    """ERRATA: improved Jacobi is 1.2 to 1.6 times worse than Gauss-Seidel, not better."""
    result = quick(tmp_path, "7")
    assert not result.ok and "improved Jacobi / Gauss-Seidel = 1." in result.verdict


def test_fig9_diverges_as_printed_and_holds_with_safe_steps(tmp_path: Path) -> None:
    """A grain passes 1e6 m/s after 14 steps as printed; its mean overlap alone looked well."""
    result = quick(tmp_path, "9")
    assert not result.verdicts[0].ok and "inf" in result.verdicts[0].text
    assert result.verdicts[1].ok, result.verdict


def test_fig8_improved_jacobi_is_about_gauss_seidel(tmp_path: Path) -> None:
    result = quick(tmp_path, "8")
    assert result.verdicts[0].ok and result.verdicts[1].ok, result.verdict
    assert not result.verdicts[2].ok  # SP without warm start overlaps more; named as a miss


@pytest.mark.slow
@pytest.mark.parametrize("number", ["1", "2", "3", "6", "10", "T1"])
def test_the_others_are_measured(tmp_path: Path, number: str) -> None:
    assert quick(tmp_path, number).verdict


def test_compare_writes_table_and_plot(tmp_path: Path) -> None:
    said: list[str] = []
    points = compare(
        "mass-ratios", ["vts:gs", "vts:ij", "p2"], [2, 8], {"grains": 60}, 0.1, tmp_path,
        said.append,
    )  # fmt: skip
    assert [(p.solver, p.iterations) for p in points][:3] == [
        ("vts:gs", 2), ("vts:gs", 8), ("vts:ij", 2),
    ]  # fmt: skip
    assert (tmp_path / "mass-ratios.png").stat().st_size > 10_000
    with (tmp_path / "mass-ratios.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 6
    with pytest.raises(InputError, match="cloth"):
        compare("cloth-hang", ["p2"], [2], {"vertices": 5}, 0.1, tmp_path)
    with pytest.raises(InputError, match="iteration"):
        compare("mass-ratios", ["vts:sor"], [5], {"grains": 60}, 0.1, tmp_path)
