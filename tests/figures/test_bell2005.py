"""Bell's figures: restitution to 1e-3 of an independent integration; quick variants of the rest."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from berm.apps.figures import Result, run_figures
from berm.apps.figures.base import load
from berm.apps.figures.bell2005.fig3_restitution import DAMPINGS, K_R, PAIRS, restitution
from berm.apps.figures.bell2005.fig6_cover import camel
from berm.core.mass import of_shape


def quick(tmp_path: Path, number: str) -> Result:
    said: list[str] = []
    (result,) = run_figures("bell2005", tmp_path, only=[number], quick=True, say=said.append)
    assert result.picture.stat().st_size > 10_000
    with result.data.open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) > 1
    told = json.loads(result.data.with_suffix(".json").read_text(encoding="utf-8"))
    assert told["reproduced"] == result.ok
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert result.claim in report and all(v.text in report for v in result.verdicts)
    return result


def collision(alpha: float, beta: float, k_d: float, speed: float) -> float:
    """Restitution by a stiff integrator, in units in which the undamped collision takes about 1."""
    deep = (0.5 * (beta + 1.0) * speed**2 / K_R) ** (1.0 / (beta + 1.0))
    once = deep / speed
    stiff = K_R * deep ** (beta - 1.0) * once**2
    drag = k_d * deep**alpha * once

    def rate(_: float, s: np.ndarray) -> list[float]:
        x = max(s[0], 0.0)
        return [s[1], -stiff * x**beta - drag * x**alpha * s[1]]

    def apart(t: float, s: np.ndarray) -> float:
        return float(s[0]) if t > 1e-6 else 1.0

    apart.terminal, apart.direction = True, -1  # type: ignore[attr-defined]
    found = solve_ivp(rate, (0.0, 60.0), [0.0, 1.0], method="Radau", rtol=1e-9, atol=1e-12,
                      events=apart)  # fmt: skip
    return float(-found.y_events[0][0][1]) if len(found.t_events[0]) else 0.0


def test_figures_are_known() -> None:
    assert {"1", "3", "4", "5", "6", "9", "table1"} <= set(load("bell2005").names())


@pytest.mark.parametrize(("alpha", "beta"), PAIRS)
def test_fig3_restitution_to_1e3(alpha: float, beta: float) -> None:
    """CASES A12: k_r = 1e6, k_d as printed, m_eff = 1 kg."""
    speeds = np.logspace(-2, 1, 4)
    for k_d in DAMPINGS:
        exact = [collision(alpha, beta, k_d, float(v)) for v in speeds]
        assert restitution(alpha, beta, k_d, speeds) == pytest.approx(exact, abs=1e-3)


def test_fig3_closed_forms() -> None:
    """The linear model, and the table of reference values at k_d = 250."""
    zeta = 250.0 / (2.0 * math.sqrt(K_R))
    assert collision(0.0, 1.0, 250.0, 1.0) == pytest.approx(
        math.exp(-zeta * math.pi / math.sqrt(1 - zeta**2)), abs=1e-5
    )
    speeds = np.array([0.01, 10.0])
    for (alpha, beta), expected in zip(
        PAIRS, ([0.6731] * 2, [0.0, 0.25], [0.7023] * 2, [0.972, 0.893]), strict=True
    ):
        assert restitution(alpha, beta, 250.0, speeds) == pytest.approx(expected, abs=3e-3)


def test_fig3_trends(tmp_path: Path) -> None:
    result = quick(tmp_path, "3")
    assert result.ok, result.verdict


def test_fig6_camel_is_closed_and_covered(tmp_path: Path) -> None:
    assert 0.3 < of_shape(camel(0.08)).volume < 0.8  # refuses a mesh that is open or inside out
    result = quick(tmp_path, "6")
    assert result.ok, result.verdict


@pytest.mark.slow  # tests/end_to_end/test_scenes.py checks the same scene
def test_fig1_flow_is_constant(tmp_path: Path) -> None:
    result = quick(tmp_path, "1")
    assert result.ok, result.verdict


def test_fig9_low_friction_scatters(tmp_path: Path) -> None:
    result = quick(tmp_path, "9")
    assert result.ok, result.verdict


@pytest.mark.slow
def test_fig4_corners_are_steeper(tmp_path: Path) -> None:
    result = quick(tmp_path, "4")
    assert result.ok, result.verdict


@pytest.mark.slow
def test_fig5_wave_stops_at_the_wall(tmp_path: Path) -> None:
    (result,) = run_figures("bell2005", tmp_path, only=["5"], say=lambda _: None)
    assert result.ok, result.verdict


@pytest.mark.slow
def test_full_figures(tmp_path: Path) -> None:
    results = run_figures("bell2005", tmp_path, only=["1", "3", "4", "6", "9"])
    assert all(result.ok for result in results), [result.verdict for result in results]


@pytest.mark.slow
def test_table1_is_measured(tmp_path: Path) -> None:
    result = quick(tmp_path, "table1")
    assert "minutes a frame" in result.verdict  # how fast depends on the machine
