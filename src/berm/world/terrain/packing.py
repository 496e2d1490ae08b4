"""The periodic packing of spheres from which ground becomes grains, and how it was made.

`packing.npy`: a settled stamp, scale free: 2,000 spheres of radii 1 +- 10 % in a periodic cube,
pushed apart by FIRE [Bitzek et al., Phys. Rev. Lett. 97, 170201 (2006)] at a density that
rises until overlaps no longer vanish. `python -m berm.world.terrain.packing` makes the file again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from berm.kernels.terrain.packing import push

Array = npt.NDArray[np.float64]

FILE = Path(__file__).with_name("packing.npy")
SPREAD = 0.1  # of the radii, to both sides
TOLERANCE = 2e-6  # energy a sphere up to which a packing counts as free of overlap


@dataclass(frozen=True)
class Packing:
    """Spheres in a periodic cube, in units of their mean radius.

    points (k, 3), radii (k,), edges (3,) of the cube; density: the share of it that they fill;
    below: how far the highest centre in a column of `cell` radii is below the surface, see `gap`.
    """

    points: Array
    radii: Array
    edges: Array

    @property
    def density(self) -> float:
        """Share of the cube that spheres fill."""
        return float(4.0 / 3.0 * np.pi * (self.radii**3).sum() / self.edges.prod())

    def gap(self, cell: float) -> float:
        """How far (radii) below a surface the highest centre in a column of width `cell` is, mean.

        Surfaces cut the packing at twelve heights; a grain belongs to the ground whose surface is
        above its centre.
        """
        found: list[float] = []
        column = np.floor(self.points[:, :2] / cell).astype(int)
        whole = (column < np.floor(self.edges[:2] / cell)).all(axis=1)
        number = column[whole, 0] * 10_000 + column[whole, 1]
        for z in np.linspace(0.0, self.edges[2], 12, endpoint=False):
            depth = (z - self.points[whole, 2]) % self.edges[2]
            order = np.lexsort((depth, number))
            first = np.unique(number[order], return_index=True)[1]
            found += depth[order][first].tolist()
        return float(np.mean(found))


@cache
def packing() -> Packing:
    """Return the packing of the package."""
    table = np.load(FILE).astype(np.float64)
    return Packing(table[1:, :3], table[1:, 3], table[0, :3])


def make(count: int = 2000, seed: int = 1, start: float = 0.60, step: float = 0.01) -> Packing:
    """Pack `count` spheres as densely as FIRE finds them room: about 0.63."""
    rng = np.random.default_rng(seed)
    radii = 1.0 + SPREAD * (2.0 * rng.random(count) - 1.0)
    radii /= radii.mean()
    volume = float(4.0 / 3.0 * np.pi * (radii**3).sum())
    density, best = start, None
    edge = (volume / density) ** (1.0 / 3.0)
    points = rng.random((count, 3)) * edge
    while step > 2e-3:
        wider = (volume / density) ** (1.0 / 3.0)
        moved, energy = _relax(points * (wider / edge), radii, np.full(3, wider))
        if energy < TOLERANCE:
            points, edge = moved, wider
            best = Packing(points, radii, np.full(3, edge))
            density += step
        else:
            step *= 0.5
            density = best.density + step if best else density - 0.02
    assert best is not None
    return best


def _relax(x: Array, r: Array, box: Array, steps: int = 600) -> tuple[Array, float]:
    """Push spheres apart by FIRE; return places and the energy a sphere that is left."""
    dims = np.maximum(3, np.floor(box / (2.02 * r.max()))).astype(np.int64)
    head, after = np.empty(int(dims.prod()), np.int64), np.empty(len(x), np.int64)
    force, v = np.zeros_like(x), np.zeros_like(x)
    dt, mixing, downhill, energy = 0.1, 0.1, 0, np.inf
    x = x % box
    for _ in range(steps):
        energy = push(x, r, box, dims, head, after, force)[0] / len(x)
        if energy < TOLERANCE:
            break
        if (force * v).sum() > 0.0:
            size = max(float(np.linalg.norm(force)), 1e-30)
            v = (1.0 - mixing) * v + mixing * force / size * float(np.linalg.norm(v))
            downhill += 1
            if downhill > 5:
                dt, mixing = min(1.1 * dt, 0.5), 0.99 * mixing
        else:
            v[:] = 0.0
            dt, mixing, downhill = max(0.5 * dt, 0.02), 0.1, 0
        v += dt * force
        x = (x + dt * v) % box
    return x, float(energy)


def save(made: Packing, path: Path = FILE) -> None:
    """Write a packing: a first row with the edges of its cube, then points and radii."""
    table: Any = np.zeros((len(made.radii) + 1, 4), np.float32)
    table[0, :3] = made.edges
    table[1:, :3], table[1:, 3] = made.points, made.radii
    np.save(path, table)


if __name__ == "__main__":
    save(make())
