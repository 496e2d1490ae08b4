"""Which grains are hidden behind others: most of a heap is, and drawing those is for nothing.

A grain counts as hidden only if it surely is: pictures with and without culling are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.render.camera import Camera

Array = NDArray[Any]


def visible(position: Array, radius: Array, camera: Camera, front: Array) -> Array:
    """Return the rows of the grains that may be seen, in rising order.

    front (height, width), first row at the bottom: distance along the view (m) of something that
    hides the pixel as a whole, infinite where nothing does.
    """
    height, width = front.shape
    pixels, distance = camera.project(position, (width, height))
    nearest = distance - radius
    ahead = nearest > camera.near
    x, y = pixels[:, 0], height - pixels[:, 1]
    # of x / z over the sphere's box: off the middle of the picture its outline is stretched
    angle = camera.pixel_angle(height)
    aside = angle * np.maximum(np.abs(x - 0.5 * width), np.abs(y - 0.5 * height))
    reach = radius * (1.0 + aside) / (angle * np.maximum(nearest, camera.near))
    outside = ahead & (
        (x + reach < 0) | (x - reach > width) | (y + reach < 0) | (y - reach > height)
    )
    seen = ~outside & (distance + radius > 0)
    levels = _pyramid(front)
    level = np.ceil(np.log2(np.maximum(reach, 1.0)))  # a grain is at most two cells wide
    level = np.clip(level, 0, len(levels) - 1).astype(np.int64)
    for k in np.unique(level[seen & ahead]):
        rows = np.flatnonzero((level == k) & seen & ahead)
        if reach[rows].max() > 2**k:
            continue  # wider than two cells of the coarsest level: near, so it is drawn
        table = levels[k]
        i = np.floor((y[rows] - reach[rows]) / 2**k).astype(np.int64)
        j = np.floor((x[rows] - reach[rows]) / 2**k).astype(np.int64)
        behind = np.full(len(rows), -np.inf)
        for a in (0, 1, 2):
            for b in (0, 1, 2):
                cell = table[
                    np.clip(i + a, 0, table.shape[0] - 1), np.clip(j + b, 0, table.shape[1] - 1)
                ]
                behind = np.maximum(behind, cell)
        seen[rows] = behind > nearest[rows]
    return np.flatnonzero(seen)


def _pyramid(front: Array) -> list[Array]:
    """Return the farthest distance in cells of 1, 2, 4, ... pixels."""
    levels = [front]
    while min(levels[-1].shape) > 2:
        last = levels[-1]
        rows, columns = (-(-edge // 2) * 2 for edge in last.shape)
        even = np.pad(last, ((0, rows - last.shape[0]), (0, columns - last.shape[1])), mode="edge")
        levels.append(even.reshape(rows // 2, 2, columns // 2, 2).max(axis=(1, 3)))
    return levels


def to_distance(depth: Array, camera: Camera) -> Array:
    """Return distances along the view (m) of a depth buffer (0 to 1); infinite at its far end."""
    near, far = camera.near, camera.far
    with np.errstate(divide="ignore"):
        distance = 2 * far * near / ((far + near) - (2.0 * depth - 1.0) * (far - near))
    return np.asarray(np.where(depth < 1.0, distance, np.inf))
