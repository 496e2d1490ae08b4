"""Pictures: they are made, show what they should, and say clearly when they cannot be made."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from berm.core.cloth import Cloth
from berm.core.errors import BermError, InputError
from berm.io import pictures
from berm.io.canvas import Canvas

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw with few pixels: fast."""
    monkeypatch.setattr(pictures, "_PIXELS", 50)


def heap(n: int, degrees: float = 30.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    points = rng.uniform([-1, -1, 0], [1, 1, 1], size=(40 * n, 3))
    height = np.tan(np.radians(degrees))
    inside = points[:, 2] < height * (1 - np.hypot(points[:, 0], points[:, 1]))
    return points[inside][:n], np.full(min(n, int(inside.sum())), 0.03)


def image(path: Path) -> np.ndarray:
    from matplotlib.image import imread

    return np.asarray(imread(path))


def test_side_view(tmp_path: Path) -> None:
    position, radius = heap(500)
    plain = pictures.side_view(position, radius, tmp_path / "new" / "a.png", floor=0.0)
    lined = pictures.side_view(position, radius, tmp_path / "b.png", angle=30.0, title="pile")
    fast = pictures.side_view(
        position, 0.03, tmp_path / "c.png", velocity=position, colour="speed", view="x"
    )
    for path in (plain, lined, fast):
        assert image(path).shape[1] > 300
    red = image(lined)[..., :3] - np.array([0xC8, 0x40, 0x2F]) / 255
    assert np.sum(np.abs(red).max(axis=2) < 0.05) > 50
    red = image(plain)[..., :3] - np.array([0xC8, 0x40, 0x2F]) / 255
    assert np.sum(np.abs(red).max(axis=2) < 0.05) == 0


@pytest.mark.parametrize("count", [0, 1, 2])
def test_side_view_of_few_grains(tmp_path: Path, count: int) -> None:
    position = np.arange(3.0 * count).reshape(count, 3)
    path = pictures.side_view(position, np.full(count, 0.1), tmp_path / "a.png", angle=20.0)
    assert path.stat().st_size > 0


def test_strays_and_nan_do_not_spoil_the_view(tmp_path: Path) -> None:
    position, radius = heap(500)
    position[0] = [1e4, 0, 0]
    position[1] = np.nan
    drawn = image(pictures.side_view(position, radius, tmp_path / "a.png"))
    assert np.mean(drawn[..., :3].min(axis=2) < 0.9) > 0.2


def test_flanks_have_the_slope(tmp_path: Path) -> None:
    position, radius = heap(4000, 25.0)
    points = position[:, [0, 2, 1]]
    flanks = pictures._flanks(points, radius, np.tan(np.radians(25.0)))
    assert len(flanks) == 2
    for (foot, head), (low, high) in flanks:
        assert abs(np.degrees(np.arctan2(high - low, abs(head - foot))) - 25.0) < 1e-6
        assert abs(abs(foot) - 1.0) < 0.15  # the heap's foot is at 1 m
    one_sided = points[points[:, 0] > 0]
    assert len(pictures._flanks(one_sided, radius[: len(one_sided)], 0.4663)) == 1


def test_spheres_are_round_and_the_nearest_wins() -> None:
    points = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 2.0]])
    colours = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    canvas = Canvas((-1, 1, -1, 1), (200, 200))
    canvas.add_spheres(points, np.array([0.5, 0.2]), colours)
    drawn = canvas.picture()
    cover = drawn[..., 3].sum() / 100**2
    assert abs(cover - np.pi * 0.25) < 0.01
    middle = drawn[100, 130]
    assert middle[1] > middle[0]  # green before red
    assert drawn[100, 60, 0] > drawn[100, 60, 1]
    assert drawn[70, 80, 0] > drawn[130, 110, 0]  # lit from the upper left


def test_a_sheet_is_covered_once_lit_from_both_sides_and_hides_what_is_behind() -> None:
    cloth = Cloth.grid((5, 5), (1.0, 1.0), (-0.5, -0.5, 0.0))
    red, green = np.array([1.0, 0.0, 0.0]), np.array([[0.0, 1.0, 0.0]])
    pictures_of = []
    for faces in (cloth.faces, cloth.faces[:, ::-1]):
        canvas = Canvas((-1, 1, -1, 1), (200, 200))
        canvas.add_triangles(cloth.position, faces, red)
        pictures_of.append(canvas.picture())
    np.testing.assert_allclose(pictures_of[0], pictures_of[1], atol=1e-6)
    drawn = pictures_of[0]
    assert drawn[..., 3].sum() == pytest.approx(100**2, rel=0.02)
    assert drawn[..., 3].max() == 1.0 and drawn[100, 100, 0] > 0.6
    for depth, hidden in ((-0.5, True), (0.5, False)):
        canvas = Canvas((-1, 1, -1, 1), (200, 200))
        canvas.add_spheres(np.array([[0.0, 0.0, depth]]), np.array([0.2]), green)
        canvas.add_triangles(cloth.position, cloth.faces, red)
        middle = canvas.picture()[100, 100]
        assert (middle[0] > middle[1]) == hidden


def test_side_view_of_cloth(tmp_path: Path) -> None:
    cloth = Cloth.grid((9, 9), (1.0, 1.0))
    cloth.position[:, 2] = 0.2 * np.cos(3 * cloth.position[:, 0])
    position, radius = heap(50)
    sheets = [(cloth.position, cloth.faces)]
    none = (np.zeros((0, 3)), np.zeros(0))
    for grains in (none, (position, radius)):
        drawn = image(pictures.side_view(*grains, tmp_path / "a.png", cloths=sheets))
        red = drawn[..., 0] - drawn[..., 1:3].max(axis=2)
        assert np.mean(red > 0.1) > 0.0003  # on edge: a line
        drawn = image(pictures.side_view(*grains, tmp_path / "a.png", cloths=sheets, view="z"))
        red = drawn[..., 0] - drawn[..., 1:3].max(axis=2)
        assert np.mean(red > 0.1) > 0.2
    level = [(0.0 * cloth.position + [0, 0, 1], cloth.faces)]  # on edge, and in one point
    assert pictures.side_view(*none, tmp_path / "b.png", cloths=level).exists()


def columns(steps: int = 100) -> dict[str, np.ndarray]:
    time = np.arange(1, steps + 1) / 60
    return {
        "time": time,
        "kinetic_energy": np.exp(-time),
        "overlap_mean": np.full(steps, 1e-4),
        "overlap_max": np.full(steps, 1e-3),
        "contacts": np.arange(steps),
        "wall_contacts": np.zeros(steps),
        "grains": np.full(steps, 7),
        "wall": time / 2,
    }


def test_run_plot(tmp_path: Path) -> None:
    assert image(pictures.run_plot(columns(), tmp_path / "a.png", "pile")).shape[0] > 250
    few = {"time": np.array([0.1]), "kinetic_energy": np.zeros(1)}
    assert pictures.run_plot(few, tmp_path / "b.png").exists()
    assert pictures.run_plot(columns(0), tmp_path / "c.png").exists()
    with pytest.raises(InputError, match="time"):
        pictures.run_plot({}, tmp_path / "d.png")


def test_real_time_factor() -> None:
    factor = pictures.real_time_factor(columns())
    assert np.isnan(factor[0])
    np.testing.assert_allclose(factor[1:], 2.0, rtol=1e-9)


def test_clear_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    position, radius = heap(5)
    with pytest.raises(InputError, match=r"colour.*'heat'; allowed: speed, height"):
        pictures.side_view(position, radius, tmp_path / "a.png", colour="heat")
    with pytest.raises(InputError, match="together with velocity"):
        pictures.side_view(position, radius, tmp_path / "a.png", colour="speed")
    with pytest.raises(InputError, match=r"view.*'w'"):
        pictures.side_view(position, radius, tmp_path / "a.png", view="w")
    with pytest.raises(InputError, match=r"a\.xyz"):
        pictures.side_view(position, radius, tmp_path / "a.xyz")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(BermError, match=r"pip install 'berm\[plots\]'"):
        pictures.side_view(position, radius, tmp_path / "a.png")
