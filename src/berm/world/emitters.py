"""Emitters pour grains at a rate from a region; sinks take grains away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.clusters import Cluster
from berm.core.errors import InputError
from berm.core.materials import Material, material
from berm.core.rotations import random_rotations
from berm.kernels.search.free_place import first_clear

if TYPE_CHECKING:
    from berm.world.world import World

Array = npt.NDArray[Any]
REGIONS = ("box", "disc", "sphere")
TRIES = 30  # places tried for a grain before it waits for the next step
MOST = 1e7  # grains a second
BATCH = 3  # of which so many at a time


@dataclass
class Emitter:
    """Pours `rate` grains a second from a region around `position`.

    region: "box" (size = edge lengths), "disc" (size = radius, height) or "sphere" (size =
    radius). radius: one number or (smallest, largest), m. Grains never start in another grain: a
    crowded region delays the pour. total: stop after this many; start, stop: s. cluster: pour
    compound grains of this shape instead, turned at random; radius then does not count.
    """

    rate: float
    position: Sequence[float]
    region: str = "disc"
    size: float | Sequence[float] = 0.1
    radius: float | Sequence[float] = 0.02
    velocity: Sequence[float] = (0.0, 0.0, 0.0)
    material: str | Material = "gravel"
    total: int | None = None
    start: float = 0.0
    stop: float = float("inf")
    seed: int | None = None
    cluster: Cluster | None = None

    def __post_init__(self) -> None:
        if self.region not in REGIONS:
            raise InputError("emitter: region", self.region, ", ".join(REGIONS))
        checks.number(
            "emitter: rate", self.rate, f"0 to {MOST:g} grains a second", lambda x: 0 <= x <= MOST
        )
        low, high = self._radii()
        if not 0 < low <= high < np.inf:
            raise InputError("emitter: radius", self.radius, "above 0, smallest first, m")
        checks.vector("emitter: position", self.position, "three finite numbers, m")
        checks.vector("emitter: velocity", self.velocity, "three finite numbers, m/s")
        checks.number("emitter: start", self.start, "a time, s")
        if not self.start <= self.stop:
            raise InputError("emitter: start, stop", (self.start, self.stop), "start before stop")
        if self.total is not None:
            self.total = checks.whole("emitter: total", self.total, 0)
        if self.seed is not None:
            self.seed = checks.whole("emitter: seed", self.seed, 0)
        if isinstance(self.material, str):
            material(self.material)  # says so now where there is none of this name
        sizes = {"box": 3, "disc": 2, "sphere": 1}[self.region]
        given = checks.numbers("emitter: size", self.size, (np.size(self.size),))
        if self.region == "disc" and given.size == 1:
            given = np.array([given[0], 0.0])
        if given.size != sizes or not ((given >= 0) & (given < np.inf)).all():
            raise InputError("emitter: size", self.size, f"{sizes} lengths for a {self.region}, m")
        self._size = given
        self.poured = 0
        self._due = 0.0
        self.rng = np.random.default_rng(self.seed)

    def _radii(self) -> tuple[float, float]:
        if self.cluster is not None:
            return self.cluster.bounding_radius, self.cluster.bounding_radius
        r = checks.numbers("emitter: radius", self.radius, (np.size(self.radius),), ", m")
        if r.size not in (1, 2):
            raise InputError("emitter: radius", self.radius, "one, or (smallest, largest), m")
        return float(r[0]), float(r[-1])

    def attach(self, number: int, world_seed: int) -> None:
        """Give the emitter its own random stream, unless it has a seed."""
        seed = self.seed if self.seed is not None else (world_seed, number)
        self.rng = np.random.default_rng(seed)

    def _places(self, k: int) -> Array:
        unit = self.rng.random((k, 3))
        if self.region == "box":
            offset = (unit - 0.5) * self._size
        elif self.region == "disc":
            reach, angle = self._size[0] * np.sqrt(unit[:, 0]), 2 * np.pi * unit[:, 1]
            offset = np.column_stack(
                [reach * np.cos(angle), reach * np.sin(angle), (unit[:, 2] - 0.5) * self._size[1]]
            )
        else:
            direction = self.rng.normal(size=(k, 3))
            direction /= np.linalg.norm(direction, axis=1, keepdims=True)
            offset = direction * self._size[0] * np.cbrt(unit[:, :1])
        return np.asarray(self.position, float) + offset

    def pour(self, world: World) -> int:
        """Add the grains that are due in this step, where there is room; return how many."""
        if not self.start <= world.time < self.stop:
            return 0
        self._due += self.rate * world.dt
        wanted = int(self._due)
        if self.total is not None:
            wanted = min(wanted, self.total - self.poured)
        if wanted <= 0:
            return 0
        low, high = self._radii()
        around = self._neighbourhood(world, high)
        known, placed = len(around), 0
        spheres = np.vstack([around, np.empty((wanted, 4))])
        for _ in range(wanted):
            r = low + (high - low) * self.rng.random()
            place = self._free_place(r, spheres[: known + placed])
            if place is None:
                break
            spheres[known + placed] = *place, r
            placed += 1
        if placed:
            new = spheres[known : known + placed]
            self._add(world, new[:, :3], new[:, 3])
        self._due = min(self._due - placed, max(self.rate * world.dt, 1.0))
        self.poured += placed
        return placed

    def _add(self, world: World, places: Array, radii: Array) -> None:
        if self.cluster is None:
            world.add_grains(places, radii, self.velocity, self.material)
            return
        turns = random_rotations(self.rng, len(places))
        world.add_clusters(self.cluster, places, turns, self.velocity, material=self.material)

    def _free_place(self, r: float, spheres: Array) -> Array | None:
        """A place in the region where a grain of radius r touches none of the others, or None."""
        for _ in range(TRIES // BATCH):
            tries = self._places(BATCH)
            found = first_clear(tries, r, spheres)
            if found >= 0:
                place: Array = tries[found]
                return place
        return None

    def _neighbourhood(self, world: World, high: float) -> Array:
        """Position and radius of the grains near the region."""
        reach = float(np.linalg.norm(self._size)) + 4 * high
        x = world.grains.x[: world.grains.n]
        near = (np.abs(x[:, :3] - np.asarray(self.position, x.dtype)) <= reach).all(axis=1)
        result: Array = x[near].astype(float)
        return result

    def state(self) -> dict[str, Any]:
        """Everything that a restart needs."""
        return {"poured": self.poured, "due": self._due, "rng": self.rng.bit_generator.state}

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.poured, self._due = int(state["poured"]), float(state["due"])
        self.rng.bit_generator.state = state["rng"]


@dataclass
class Sink:
    """Removes grains whose centre is in the box from `low` to `high` (m)."""

    low: Sequence[float] = (-np.inf, -np.inf, -np.inf)
    high: Sequence[float] = (np.inf, np.inf, np.inf)

    def __post_init__(self) -> None:
        for corner in (self.low, self.high):
            if np.shape(corner) != (3,):
                raise InputError("sink: low, high", corner, "three numbers each, m")
        low, high = (checks.numbers("sink", corner, (3,)) for corner in (self.low, self.high))
        if not (low < high).all():
            raise InputError("sink: low, high", (self.low, self.high), "low below high")
        self.removed = 0
        self.removed_mass = 0.0

    def drain(self, world: World) -> int:
        """Remove the grains inside; return how many."""
        where = world.grains.position
        inside = (where >= np.asarray(self.low, where.dtype)).all(axis=1)
        inside &= (where <= np.asarray(self.high, where.dtype)).all(axis=1)
        if not inside.any():
            return 0
        before = world.mass_removed
        count = world.remove_grains(mask=inside)
        self.removed_mass += world.mass_removed - before
        self.removed += count
        return count

    def state(self) -> dict[str, Any]:
        """Everything that a restart needs."""
        return {"removed": self.removed, "removed_mass": self.removed_mass}

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.removed, self.removed_mass = int(state["removed"]), float(state["removed_mass"])
