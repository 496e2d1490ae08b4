"""Places for the grains of a scene file: a lattice with jitter, or random without overlap."""

from __future__ import annotations

import math

import numpy as np

from berm.core.errors import InputError

Corner = tuple[float, float, float]
_TRIES = 400  # random places tried for one grain before the box counts as full


def lattice(
    low: Corner,
    high: Corner,
    radius: tuple[float, float],
    jitter: float,
    count: int | None,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return positions (n, 3) and radii (n,) on a cubic lattice, lowest layer first.

    jitter: largest displacement, in the largest radius; neighbours stand that much farther apart,
    so that no two grains overlap and none leaves the box.
    """
    corner, size = _box(low, high)
    pitch = 2 * radius[1] * (1 + jitter)
    cells = np.floor(size / pitch * (1 + 1e-9)).astype(int)
    if np.any(cells < 1):
        allowed = f"edges of at least {pitch:g} m for grains of {radius[1]:g} m"
        raise InputError("lattice in a box with edges", size.tolist(), allowed)
    z, y, x = np.meshgrid(*(np.arange(n) for n in cells[::-1]), indexing="ij")
    places = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)[:count]
    step = np.array([*(size / cells)[:2], pitch])  # spread sideways, not upward
    position = corner + (places + 0.5) * step
    direction = rng.normal(size=position.shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    reach = jitter * radius[1] * np.cbrt(rng.random((len(position), 1)))
    return position + reach * direction, rng.uniform(*radius, size=len(position))


def scatter(
    low: Corner, high: Corner, radius: tuple[float, float], count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return positions (n, 3) and radii (n,) at random in a box, without overlap."""
    corner, size = _box(low, high)
    radii = np.sort(rng.uniform(*radius, size=count))[::-1]  # the large ones while there is room
    room = size - 2 * radii[0]
    if np.any(room < 0):
        allowed = f"edges of at least {2 * radii[0]:g} m"
        raise InputError("random grains in a box with edges", size.tolist(), allowed)
    cell = 2 * radii[0]
    near: dict[tuple[int, int, int], list[int]] = {}
    position = np.zeros((count, 3))
    for i, r in enumerate(radii):
        tries = corner + r + rng.random((_TRIES, 3)) * (size - 2 * r)
        for place in tries:
            a, b, c = (math.floor(value / cell) for value in place)
            around = [
                k
                for da in (-1, 0, 1)
                for db in (-1, 0, 1)
                for dc in (-1, 0, 1)
                for k in near.get((a + da, b + db, c + dc), ())
            ]
            apart = np.sum((position[around] - place) ** 2, axis=1)
            if np.all(apart >= (radii[around] + r) ** 2):
                position[i] = place
                near.setdefault((a, b, c), []).append(i)
                break
        else:
            raise InputError("random grains", count, f"about {i} of this size fit into the box")
    order = rng.permutation(count)
    return position[order], radii[order]


def _box(low: Corner, high: Corner) -> tuple[np.ndarray, np.ndarray]:
    corner, size = np.array(low), np.array(high) - np.array(low)
    if np.any(size <= 0):
        raise InputError("box of grains: low, high", (list(low), list(high)), "low below high")
    return corner, size
