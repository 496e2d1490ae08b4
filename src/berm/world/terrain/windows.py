"""Windows of columns: their neighbours, borders and means."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Window = tuple[int, int, int, int]  # i0, i1, j0, j1


def union(one: Window | None, other: Window | None) -> Window | None:
    """The smallest window around both."""
    if one is None or other is None:
        return one or other
    return (
        min(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), max(one[3], other[3])
    )  # fmt: skip


def wider(window: Window, by: int, shape: tuple[int, int]) -> Window:
    """The window with a border of `by` columns, as far as there are any."""
    i0, i1, j0, j1 = window
    return max(i0 - by, 0), min(i1 + by, shape[0]), max(j0 - by, 0), min(j1 + by, shape[1])


def part(window: Window, within: Window = (0, 0, 0, 0)) -> tuple[slice, slice]:
    """Slices of a window, in an array that begins where `within` does."""
    return (
        slice(window[0] - within[0], window[1] - within[0]),
        slice(window[2] - within[2], window[3] - within[2]),
    )


def part_of(corner: tuple[int, int], values: Array) -> tuple[slice, slice]:
    """Slices of the window at `corner` that values (n, m) are for."""
    (i, j), (n, m) = corner, values.shape
    return slice(i, i + n), slice(j, j + m)


def highest(values: Array, by: int = 1) -> Array:
    """The highest among each column and those up to `by` beside it; of a mask: whether one is."""
    for _ in range(by):
        values = _along(_along(values, 0), 1)
    return values


def _along(values: Array, axis: int) -> Array:
    found: Array = values.copy()
    one, other = [slice(None)] * 2, [slice(None)] * 2
    one[axis], other[axis] = slice(1, None), slice(None, -1)
    a, b = tuple(one), tuple(other)
    found[a] = np.maximum(found[a], values[b])
    found[b] = np.maximum(found[b], values[a])
    return found


def blur(values: Array, mask: Array, reach: int) -> Array:
    """Tent mean over the columns of a mask within `reach`."""
    n, m = values.shape
    given = np.pad(np.where(mask, values, 0.0), reach)
    there = np.pad(mask.astype(np.float64), reach)
    total, weight = np.zeros((n, m)), np.zeros((n, m))
    for a in range(2 * reach + 1):
        for b in range(2 * reach + 1):
            w = (reach + 1 - abs(a - reach)) * (reach + 1 - abs(b - reach))
            total += w * given[a : a + n, b : b + m]
            weight += w * there[a : a + n, b : b + m]
    mean: Array = np.divide(total, weight, out=np.zeros((n, m)), where=weight > 0)
    return mean
