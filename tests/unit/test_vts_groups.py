"""Groups of constraints that Gauss-Seidel may answer together: `kernels.vts_groups`."""

from __future__ import annotations

import numpy as np
import pytest

from berm.kernels.vts.blocks import LANES
from berm.kernels.vts.law import PAIR, WALL
from berm.solvers.vts.rows import Rows, Unit


def seated(kind: int, ends: np.ndarray, n: int, apart: bool) -> Rows:
    rows = Rows(np.float32)
    rows.reserve(len(ends), 0)
    rows.ends[: len(ends)] = ends
    rows.arrange([Unit([(kind, 0, len(ends))], 0, n)], n)
    rows.find_seats(apart, memory=not apart)
    return rows


@pytest.mark.parametrize("n", [2, 30, 400])
def test_groups_share_no_particle_and_keep_the_order(n: int) -> None:
    rng = np.random.default_rng(n)
    first = rng.integers(0, n, 1000)
    ends = np.stack([first, (first + rng.integers(1, n, 1000)) % n], axis=1)
    rows = seated(PAIR, ends, n, apart=True)
    seat = rows.seat[:1000]
    assert len(np.unique(seat)) == 1000
    group = seat // LANES
    assert group.max() + 1 == rows.groups[0]
    assert (np.bincount(group) == rows.filled[: rows.groups[0]]).all()
    for p in range(n):
        mine = group[(ends == p).any(axis=1)]  # in the order of the list
        assert (np.diff(mine) > 0).all()


def test_walls_of_one_grain_come_after_each_other() -> None:
    ends = np.array([[0, -1], [0, -1], [1, -1], [0, -1]])
    rows = seated(WALL, ends, 2, apart=True)
    assert (rows.seat[:4] // LANES).tolist() == [0, 1, 0, 2]


def test_jacobi_sits_in_the_order_of_the_list() -> None:
    ends = np.tile([[0, 1]], (LANES + 3, 1))
    rows = seated(PAIR, ends, 2, apart=False)
    assert rows.seat[: LANES + 3].tolist() == list(range(LANES + 3))
    assert rows.groups[0] == 2
    assert rows.filled[:2].tolist() == [LANES, 3]
