"""Integrals over a union of spheres, in which what they share counts once.

Spheres that touch no other are summed exactly. Of the others, a grid of columns along z is taken:
along each the union is a set of intervals, integrated exactly; across, columns are summed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

Array = NDArray[np.float64]

COLUMNS = 128  # across the longer side of a group of spheres
MOST_INTERVALS = 4_000_000  # at a time


def integrals_of_union(centres: Array, radii: Array) -> tuple[float, Array, Array]:
    """Return the integrals of 1, x (3,) and x x^T (3, 3) over the union of spheres (m)."""
    apart = np.linalg.norm(centres[:, None] - centres[None], axis=2)
    count, group = connected_components(apart < radii[:, None] + radii[None], directed=False)
    volume, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for k in range(count):
        members = np.flatnonzero(group == k)
        one, two, three = (_sphere if len(members) == 1 else _columns)(
            centres[members], radii[members]
        )
        volume, first, second = volume + one, first + two, second + three
    return volume, first, second


def _sphere(centres: Array, radii: Array) -> tuple[float, Array, Array]:
    c, r = centres[0], float(radii[0])
    volume = 4.0 / 3.0 * np.pi * r**3
    return volume, volume * c, volume * (np.outer(c, c) + 0.2 * r * r * np.eye(3))


def _columns(centres: Array, radii: Array) -> tuple[float, Array, Array]:
    """Of spheres that hang together; about their middle, so that digits are kept far away."""
    low = (centres - radii[:, None]).min(axis=0)
    high = (centres + radii[:, None]).max(axis=0)
    middle = 0.5 * (low + high)
    places, size = centres - middle, high - low
    pitch = float(size[:2].max()) / COLUMNS
    nx, ny = (max(1, int(np.ceil(edge / pitch))) for edge in size[:2])
    dx, dy = size[0] / nx, size[1] / ny
    y = (np.arange(ny) + 0.5) * dy - 0.5 * size[1]
    volume, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    rows = max(1, MOST_INTERVALS // (ny * len(radii)))
    for begin in range(0, nx, rows):
        x = (np.arange(begin, min(nx, begin + rows)) + 0.5) * dx - 0.5 * size[0]
        sums = _intervals(x, y, places, radii)
        c0, c1, c2 = (part.sum() for part in sums)
        along_x, along_y = sums[0].sum(axis=1), sums[0].sum(axis=0)
        volume += float(c0)
        first += [x @ along_x, y @ along_y, c1]
        xy = x @ sums[0] @ y
        xz, yz = x @ sums[1].sum(axis=1), y @ sums[1].sum(axis=0)
        second += [[x * x @ along_x, xy, xz], [xy, y * y @ along_y, yz], [xz, yz, c2]]
    area = dx * dy
    volume, first, second = area * volume, area * first, area * second
    cross = np.outer(middle, first)
    moved = second + cross + cross.T + volume * np.outer(middle, middle)
    return volume, first + volume * middle, moved


def _intervals(x: Array, y: Array, centres: Array, radii: Array) -> tuple[Array, Array, Array]:
    """Integrals of 1, z, z^2 along the columns at (x, y), each (nx, ny)."""
    square = radii**2 - (x[:, None, None] - centres[:, 0]) ** 2
    square = square - (y[None, :, None] - centres[:, 1]) ** 2
    half = np.sqrt(np.maximum(square, 0.0))
    low, high = centres[:, 2] - half, centres[:, 2] + half
    order = np.argsort(low, axis=2)
    low, high = np.take_along_axis(low, order, 2), np.take_along_axis(high, order, 2)
    covered = np.maximum.accumulate(high, axis=2)  # what earlier spheres reach up to
    low[..., 1:] = np.maximum(low[..., 1:], covered[..., :-1])
    high = np.maximum(high, low)
    return (
        (high - low).sum(axis=2),
        0.5 * (high**2 - low**2).sum(axis=2),
        (high**3 - low**3).sum(axis=2) / 3.0,
    )
