"""The columns as tools, wheels and tracks meet them: what is where, and soil that comes or goes."""

from __future__ import annotations

from typing import Any, NamedTuple

from berm.kernels.jit import bare
from berm.kernels.terrain.columns import settle_height, whole

HEAD = 5  # numbers before those of the columns in `changed`
# columns of soils (K, 8)
DENSITY, LOOSE, COHESION, FRICTION, TOOL, ADHESION, REPOSE, SHEAR = range(8)


class Field(NamedTuple):
    """The columns, see `columns`; corner x, y (m) of column (0, 0), and cell (m)."""

    mass: Any
    volume: Any
    rock: Any
    height: Any
    of: Any
    x: float
    y: float
    cell: float


@bare
def blend(values, field, x, y):
    """Value at a place between four columns; at its nearest point of the field."""
    nx, ny = values.shape
    u = min(max((x - field.x) / field.cell, 0.0), nx - 1.0)
    w = min(max((y - field.y) / field.cell, 0.0), ny - 1.0)
    i, j = min(int(u), nx - 2), min(int(w), ny - 2)
    u, w = u - i, w - j
    low = values[i, j] + u * (values[i + 1, j] - values[i, j])
    high = values[i, j + 1] + u * (values[i + 1, j + 1] - values[i, j + 1])
    return low + w * (high - low)


@bare
def outside(field, x, y):
    """Whether there is no ground at a place."""
    nx, ny = field.height.shape
    u, w = (x - field.x) / field.cell, (y - field.y) / field.cell
    return u < -0.5 or w < -0.5 or u > nx - 0.5 or w > ny - 0.5


@bare
def column(field, x, y):
    """The column at a place, or the nearest."""
    nx, ny = field.height.shape
    i = min(max(round((x - field.x) / field.cell), 0), nx - 1)
    j = min(max(round((y - field.y) / field.cell), 0), ny - 1)
    return i, j


@bare
def soil_below(field, kinds, i, j, z):
    """The soil of the ground at height z, or of what is nearest to it from above."""
    layers = field.of.shape[0]
    level, area, found = field.rock[i, j], field.cell * field.cell, -1
    for n in range(layers):
        if field.volume[n, i, j] > 0.0:
            found = n
            level += field.volume[n, i, j] / area
            if z < level:
                break
    if found >= 0:
        return field.of[found]
    best, most = 0, 0.0
    for k in range(kinds):
        if field.mass[layers + k, i, j] > most:
            best, most = k, field.mass[layers + k, i, j]
    return best


@bare
def loose_volume(masses, soils):
    """Room (m^3) that masses (K,) take once they are dug."""
    total = 0.0
    for k in range(masses.shape[0]):
        total += masses[k] / soils[k, LOOSE]
    return total


@bare
def touch(field, i, j, changed):
    """Note that a column changed: changed holds how many are noted, a window, and their numbers."""
    changed[1], changed[2] = min(changed[1], i), max(changed[2], i + 1)
    changed[3], changed[4] = min(changed[3], j), max(changed[4], j + 1)
    if HEAD + changed[0] < changed.shape[0]:
        changed[HEAD + changed[0]] = i * field.height.shape[1] + j
        changed[0] += 1


@bare
def lay(field, soils, masses, i, j):
    """Put masses (K,) on a column as loose soil."""
    layers = field.of.shape[0]
    for k in range(masses.shape[0]):
        field.mass[layers + k, i, j] += masses[k]
    field.volume[layers, i, j] += loose_volume(masses, soils)
    settle_height(field.volume, field.rock, field.height, field.cell * field.cell, i, j)


@bare
def split(masses, share, part):
    """Move a share of masses (K,), in whole quanta, to part (K,)."""
    for k in range(masses.shape[0]):
        m = masses[k] if share >= 1.0 else min(whole(share * masses[k]), masses[k])
        part[k] = m
        masses[k] -= m
