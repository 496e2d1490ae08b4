"""Packings: inside their box, without overlap, repeatable."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

from berm.core.errors import InputError
from berm.world.measure import packing_fraction
from berm.world.packings import lattice, poured, random_drop

LOW, HIGH = (0.0, -0.5, 1.0), (0.8, 0.5, 1.6)


def deepest(where: np.ndarray, radii: np.ndarray) -> float:
    """Largest overlap of two spheres, in smallest radii."""
    pairs = cKDTree(where).query_pairs(2 * radii.max(), output_type="ndarray")
    if not len(pairs):
        return 0.0
    a, b = pairs.T
    gap = np.linalg.norm(where[a] - where[b], axis=1) - radii[a] - radii[b]
    return float(-gap.min() / radii.min())


@pytest.mark.parametrize("radius", [0.03, (0.01, 0.05)])
@pytest.mark.parametrize("kind", ["cubic", "hexagonal"])
def test_lattice_is_free_and_inside(radius: float | tuple[float, float], kind: str) -> None:
    where, radii = lattice(LOW, HIGH, radius, jitter=0.3, seed=4, arrangement=kind)
    assert len(where) == len(radii) > 50
    assert deepest(where, radii) < 1e-9
    assert (where - radii[:, None] >= np.array(LOW) - 1e-12).all()
    assert (where + radii[:, None] <= np.array(HIGH) + 1e-12).all()
    again, _ = lattice(LOW, HIGH, radius, jitter=0.3, seed=4, arrangement=kind)
    other, _ = lattice(LOW, HIGH, radius, jitter=0.3, seed=5, arrangement=kind)
    assert np.array_equal(where, again)
    assert not np.array_equal(where, other)


def test_lattice_without_jitter_is_dense() -> None:
    where, _ = lattice((0, 0, 0), (1, 1, 1), 0.05, jitter=0.0)
    assert len(where) == 1000
    where, _ = lattice((0, 0, 0), (2, 2, 2), 0.05, jitter=0.0, arrangement="hexagonal")
    middle = ((0.5, 0.5, 0.5), (1.5, 1.5, 1.5))
    assert packing_fraction(where, middle, 0.05) == pytest.approx(np.pi / np.sqrt(18), abs=0.02)


@pytest.mark.parametrize("radius", [0.03, (0.01, 0.05)])
def test_random_drop_is_free_and_inside(radius: float | tuple[float, float]) -> None:
    where, radii = random_drop(LOW, HIGH, radius, 400, seed=1)
    assert where.shape == (400, 3)
    assert deepest(where, radii) < 1e-9
    assert (where - radii[:, None] >= np.array(LOW) - 1e-12).all()
    assert (where + radii[:, None] <= np.array(HIGH) + 1e-12).all()
    if not np.isscalar(radius):
        assert radii.max() / radii.min() > 4


def test_random_drop_can_settle() -> None:
    where, radii = random_drop(LOW, HIGH, 0.04, 300, seed=2, settle=1.0)
    in_air, _ = random_drop(LOW, HIGH, 0.04, 300, seed=2)
    assert where[:, 2].mean() < in_air[:, 2].mean() - 0.1
    assert where[:, 2].min() > 1.0 + 0.03
    assert deepest(where, radii) < 0.3


@pytest.mark.parametrize("radius", [0.025, (0.012, 0.06)])
def test_poured_rests_in_its_box(radius: float | tuple[float, float]) -> None:
    where, radii = poured((0, 0, 0), (0.4, 0.4, 0.4), radius, 400, seed=3)
    assert where.shape == (400, 3)
    slack = 0.1 * radii.max()
    assert (where[:, :2] - radii[:, None] > -slack).all()
    assert (where[:, :2] + radii[:, None] < 0.4 + slack).all()
    assert (where[:, 2] > 0).all()
    top = float(np.percentile(where[:, 2], 80))
    middle = ((0.1, 0.1, 0.1), (0.3, 0.3, max(top, 0.15)))
    assert 0.5 < packing_fraction(where, middle, radii) < 0.75


def test_wrong_input_is_named() -> None:
    with pytest.raises(InputError, match="at most 5"):
        lattice(LOW, HIGH, (0.01, 0.06))
    with pytest.raises(InputError, match="low below high"):
        lattice(HIGH, LOW, 0.01)
    with pytest.raises(InputError, match="grains in a box"):
        random_drop(LOW, HIGH, 0.05, 100_000)
    with pytest.raises(InputError, match="wide"):
        poured((0, 0, 0), (0.1, 1, 1), 0.04, 10)
    with pytest.raises(InputError, match=r"box.*wide"):
        random_drop((0, 0, 0), (1, 1, 0.05), 0.04, 2)
    with pytest.raises(InputError, match=r"radius.*1e\+08 grains"):
        lattice((0, 0, 0), (10, 10, 10), 1e-4)
    with pytest.raises(InputError, match=r"low.*three"):
        lattice("here", HIGH, 0.01)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"count.*2\.5.*whole"):
        random_drop(LOW, HIGH, 0.01, 2.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"settle.*nan"):
        random_drop(LOW, HIGH, 0.01, 2, settle=float("nan"))
    with pytest.raises(InputError, match=r"rate.*above 0"):
        poured((0, 0, 0), (1, 1, 1), 0.04, 10, rate=0)
