"""Packings: where grains may start, as positions and radii."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.errors import InputError
from berm.core.materials import Material
from berm.core.materials import material as get_material
from berm.core.shapes import Box
from berm.world.emitters import Emitter
from berm.world.world import World

Array = npt.NDArray[np.float64]
Radius = float | Sequence[float]
ARRANGEMENTS = ("cubic", "hexagonal")
LARGEST_RATIO = 5.0
MOST = 1e8  # grains of a lattice: more do not fit in the memory of most machines
TRIES = 60  # places tried for each grain of a random packing
POUR_FRICTION = 0.2  # most friction while pouring a packing
DENSEST = 0.35  # share of the box that random placement can fill


def _radii(radius: Radius) -> tuple[float, float]:
    r = checks.numbers("packing: radius", radius, (np.size(radius),), ", m")
    low, high = float(r[0]), float(r[-1])
    if r.size > 2 or not (np.isfinite(r).all() and 0 < low <= high):
        raise InputError("packing: radius", radius, "above 0, or (smallest, largest), m")
    if high > LARGEST_RATIO * low * (1 + 1e-9):
        raise InputError("packing: radius", radius, f"largest at most {LARGEST_RATIO:g} smallest")
    return low, high


def _box(low: Sequence[float], high: Sequence[float]) -> tuple[Array, Array]:
    a, b = checks.vector("packing: low", low), checks.vector("packing: high", high)
    if not (a < b).all():
        raise InputError("packing: low, high", (list(low), list(high)), "low below high")
    return a, b


def lattice(
    low: Sequence[float],
    high: Sequence[float],
    radius: Radius,
    jitter: float = 0.1,
    seed: int = 0,
    arrangement: str = "cubic",
) -> tuple[Array, Array]:
    """Fill the box from `low` to `high` with a regular lattice: positions (n, 3), radii (n,).

    Spheres lie wholly in the box and do not overlap: the pitch leaves room for `jitter` (the
    largest displacement, a share of the largest radius). radius: one, or (smallest, largest)
    drawn evenly. arrangement: "cubic", or "hexagonal" (close packed: sinks little when let go).
    """
    a, b = _box(low, high)
    small, large = _radii(radius)
    if not 0 <= jitter <= 1:
        raise InputError("lattice: jitter", jitter, "0 to 1, in radii")
    if arrangement not in ARRANGEMENTS:
        raise InputError("lattice: arrangement", arrangement, ", ".join(ARRANGEMENTS))
    pitch = 2 * large * (1 + jitter)
    if (b - a < pitch * (1 - 1e-9)).any():
        raise InputError("lattice: box", (b - a).tolist(), f"at least {pitch:g} m along each axis")
    many = float(np.prod((b - a) / pitch))
    if many > MOST:
        raise InputError("lattice: radius", radius, f"for at most {MOST:g} grains, not {many:.3g}")
    place = (_cubic if arrangement == "cubic" else _hexagonal)(a, b, pitch)
    rng = np.random.default_rng(seed)
    shift = rng.normal(size=place.shape)
    shift *= (np.cbrt(rng.random(len(place))) / np.linalg.norm(shift, axis=1))[:, None]
    place = place + jitter * large * shift
    return place, small + (large - small) * rng.random(len(place))


def _cubic(low: Array, high: Array, pitch: float) -> Array:
    count = np.floor((high - low) / pitch * (1 + 1e-9)).astype(int)
    grid = np.meshgrid(*(np.arange(k) for k in count), indexing="ij")
    cells = np.stack([axis.ravel() for axis in grid], axis=1)
    result: Array = low + (cells + 0.5) * (high - low) / count  # spread what is left over
    return result


def _hexagonal(low: Array, high: Array, pitch: float) -> Array:
    """Return layers of triangles, every second one shifted into the hollows (ABAB)."""
    step = pitch * np.array([1.0, np.sqrt(3) / 2, np.sqrt(2 / 3)])
    count = np.floor((high - low - pitch) / step * (1 + 1e-9)).astype(int) + 1
    i, j, k = (g.ravel() for g in np.meshgrid(*(np.arange(c) for c in count), indexing="ij"))
    cells = np.column_stack([i + 0.5 * ((j + k) % 2), j + (k % 2) / 3.0, k])
    place = low + 0.5 * pitch + cells * step
    result: Array = place[(place <= high - 0.5 * pitch * (1 - 1e-9)).all(axis=1)]
    return result


def random_drop(
    low: Sequence[float],
    high: Sequence[float],
    radius: Radius,
    count: int,
    seed: int = 0,
    settle: float = 0.0,
    material: str | Material = "gravel",
) -> tuple[Array, Array]:
    """Place `count` spheres at random in a box without overlap: positions (n, 3), radii (n,).

    Large ones first. settle: seconds to let them fall in that box (open at the top) before their
    positions are returned; 0: leave them in the air.
    """
    a, b = _box(low, high)
    small, large = _radii(radius)
    checks.whole("random_drop: count", count, 1)
    checks.number("random_drop: settle", settle, "0 or more, s", lambda t: 0 <= t < np.inf)
    rng = np.random.default_rng(seed)
    radii = np.sort(small + (large - small) * rng.random(count))[::-1]
    share = float((4 / 3 * np.pi * radii**3).sum() / np.prod(b - a))
    if (b - a < 2 * large).any():
        raise InputError("random_drop: box", (b - a).tolist(), f"at least {2 * large:g} m wide")
    if share > DENSEST:
        most = int(count * DENSEST / share)
        raise InputError("random_drop: count", count, f"about {most} grains in a box of this size")
    cells = _Cells(a, b, 2 * large)
    place = np.empty((count, 3))
    for k, r in enumerate(radii):
        for _ in range(TRIES):
            tries = a + r + rng.random((16, 3)) * (b - a - 2 * r)
            spot = next((t for t in tries if cells.clear(t, r, place, radii)), None)
            if spot is not None:
                break
        else:
            raise InputError("random_drop: count", count, f"about {k} grains in a box of this size")
        place[k] = spot
        cells.put(place[k], k)
    if settle > 0:
        return _settled(place, radii, a, b, settle, material, seed)
    return place, radii


class _Cells:
    """A hash of grains by cubic cells as wide as the largest grain."""

    def __init__(self, low: Array, high: Array, edge: float) -> None:
        self.low, self.edge = low, edge
        self.cells: dict[tuple[int, int, int], list[int]] = {}

    def key(self, point: Array) -> tuple[int, int, int]:
        i, j, k = np.floor((point - self.low) / self.edge).astype(int).tolist()
        return i, j, k

    def put(self, point: Array, index: int) -> None:
        self.cells.setdefault(self.key(point), []).append(index)

    def clear(self, point: Array, radius: float, place: Array, radii: Array) -> bool:
        i, j, k = self.key(point)
        near: list[int] = []
        for a in (i - 1, i, i + 1):
            for b in (j - 1, j, j + 1):
                for c in (k - 1, k, k + 1):
                    near += self.cells.get((a, b, c), ())
        if not near:
            return True
        far2 = ((place[near] - point) ** 2).sum(axis=1)
        return bool((far2 >= (radii[near] + radius) ** 2).all())


def _container(low: Array, high: Array, seed: int) -> World:
    """An empty box from low to high, open at the top."""
    world = World(seed=seed)
    size = high - low
    world.add_body(
        Box((float(size[0]), float(size[1]), float(size[2])), inside=True, open_top=True),
        name="container",
        material="rough wall",
        position=0.5 * (low + high),
    )
    return world


def _in_tag_order(world: World) -> tuple[Array, Array]:
    order = np.argsort(world.grains.tags)
    return (
        world.grains.position[order].astype(float),
        world.grains.radius[order].astype(float),
    )


def _settled(
    place: Array, radii: Array, low: Array, high: Array, seconds: float,
    material: str | Material, seed: int,
) -> tuple[Array, Array]:  # fmt: skip
    world = _container(low, high, seed)
    world.add_grains(place, radii, material=material)
    world.run(seconds)
    return _in_tag_order(world)


def poured(
    low: Sequence[float],
    high: Sequence[float],
    radius: Radius,
    count: int,
    material: str | Material = "gravel",
    seed: int = 0,
    settle: float = 1.5,
    rate: float | None = None,
) -> tuple[Array, Array]:
    """Pour `count` grains into a box, let them come to rest: positions (n, 3), radii (n,).

    The box has the walls of low and high and no lid; grains rain over its whole area from just
    above what has been poured, at `rate` a second (default: as fast as they fall), then `settle`
    seconds pass. radius: one, or (smallest, largest), at most 1:5. They are poured with a friction
    of at most POUR_FRICTION: grains that do not turn would stack more loosely than real ones do.
    """
    a, b = _box(low, high)
    small, large = _radii(radius)
    size = b - a
    law = get_material(material) if isinstance(material, str) else material
    law = law.replace(friction=min(law.friction_static, POUR_FRICTION))
    if (size[:2] < 4 * large).any():
        raise InputError("poured: box", size.tolist(), f"at least {4 * large:g} m wide")
    checks.whole("poured: count", count, 1)
    if rate is not None:
        checks.number("poured: rate", rate, "above 0 grains a second", lambda x: 0 < x < np.inf)
    mean_volume = float(4 / 3 * np.pi * np.mean(np.linspace(small, large, 101) ** 3))
    depth = count * mean_volume / (0.5 * size[0] * size[1])  # loose packing
    fall = 2.0  # m/s, of the rain
    full = 0.15 * fall * float(size[0] * size[1]) / mean_volume
    pace = full if rate is None else rate
    world = _container(a, b, seed)
    world.add_emitter(
        Emitter(
            rate=pace,
            position=(*(0.5 * (a + b))[:2], a[2] + depth + 6 * large),
            region="box",
            size=(size[0] - 2 * large, size[1] - 2 * large, 8 * large),
            radius=(small, large),
            velocity=(0.0, 0.0, -fall),
            material=law,
            total=count,
        )
    )
    emitter = world.emitters[0]
    limit = 4 * count / pace + 10.0
    while emitter.poured < count and world.time < limit:
        world.step()
    world.run(settle)
    return _in_tag_order(world)
