"""Measurements: slopes, packing fraction, energy, momenta, flow through a plane, earthwork."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.errors import InputError
from berm.world.earthwork import (
    Earthwork,
    Profile,
    between,
    cut_and_fill,
    ground_surface,
    profile,
)
from berm.world.surface import (
    HeightMap,
    Slope,
    angle_of_repose,
    height_map,
    height_profile,
    slope_angle,
    spheres,
)

if TYPE_CHECKING:
    from berm.core.report import StepReport
    from berm.world.world import World

__all__ = [
    "Earthwork", "Energy", "FlowMeter", "HeightMap", "Profile", "Slope", "angle_of_repose",
    "angular_momentum", "between", "cut_and_fill", "energy", "ground_surface", "height_map",
    "height_profile", "momentum", "packing_fraction", "profile", "slope_angle", "solid_volume",
]  # fmt: skip

Array = npt.NDArray[np.float64]
NODES = 64  # horizontal slices of a grain that the region's border cuts
MARGIN = 3.0  # mean radii left out at the border of the default region


@dataclass(frozen=True)
class Energy:
    """Mechanical energy of all that moves, J; the springs of contacts and joints do not count."""

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        """Kinetic and potential energy together."""
        return self.kinetic + self.potential


def energy(world: World) -> Energy:
    """Kinetic energy, also of rotation, and potential energy relative to the origin, J.

    Of grains, compound grains, dynamic bodies and cloth that is not held, each counted once.
    """
    mass, position, velocity = _movers(world)
    kinetic = 0.5 * float((mass * (velocity**2).sum(axis=1)).sum()) + _turning(world)
    fall = position @ np.asarray(world.gravity, float)
    return Energy(kinetic, -float((mass * fall).sum()))


def momentum(world: World) -> Array:
    """Linear momentum (3,) of all that moves, as in `energy`, kg m/s (float64 sums)."""
    mass, _, velocity = _movers(world)
    total: Array = mass @ velocity
    return total


def angular_momentum(world: World, about: npt.ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Angular momentum (3,) of all that moves about a point (m), as in `energy`, kg m^2/s."""
    point = checks.vector("angular momentum: about", about, "three finite numbers, m")
    mass, position, velocity = _movers(world)
    total: Array = np.cross(position - point, mass[:, None] * velocity).sum(axis=0)
    total += world.bodies.L[world.bodies.dynamic].sum(axis=0)
    total += world.compound_grains.L.sum(axis=0)
    if world.grains.rotating:
        spin = world.grains.spin[: world.grains.n][_single(world)]
        total += (spin[:, :3] / spin[:, 3:]).sum(axis=0)
    return total


def _single(world: World) -> npt.NDArray[np.bool_]:
    """(n,) which spheres move alone; the others move with a compound grain or a body."""
    n = world.grains.n
    return np.asarray(world.grains.owner[:n] < 0) if world.grains.rotating else np.ones(n, bool)


def _movers(world: World) -> tuple[Array, Array, Array]:
    """Mass, centre and velocity of all that moves: grains, bodies, free vertices of cloth."""
    grains, many, bodies = world.grains, world.compound_grains, world.bodies
    alone, free = _single(world), bodies.dynamic
    x, v = grains.position.astype(float), grains.velocity.astype(float)
    parts = [
        (grains.mass[alone], x[alone], v[alone]),
        (many.mass, many.x, many.v),
        (bodies.mass[free], bodies.x[free], bodies.v[free]),
    ]
    for cloth in world.cloths:
        loose = cloth.inverse_mass > 0.0
        w = cloth.inverse_mass[loose]
        parts.append((1.0 / w, cloth.position[loose], cloth.velocity[loose]))
    return (
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        np.concatenate([part[2] for part in parts]),
    )


def _turning(world: World) -> float:
    """Energy of rotation, J."""
    bodies, clumps, free = world.bodies, world.clumps, world.bodies.dynamic
    total = 0.5 * float((bodies.L[free] * bodies.omega[free]).sum())
    if world.grains.rotating:
        spin = world.grains.spin[: world.grains.n][_single(world)]
        total += 0.5 * float(((spin[:, :3] ** 2).sum(axis=1) / spin[:, 3]).sum())
        rows = world.compound_grains.rows
        total += 0.5 * float((clumps.L_own[rows, :3] ** 2 / clumps.moments[rows, :3]).sum())
    return total


# ---- packing -------------------------------------------------------------------------------


def packing_fraction(
    source: World | npt.ArrayLike,
    region: tuple[Sequence[float], Sequence[float]] | None = None,
    radius: npt.ArrayLike | None = None,
) -> float:
    """Share of a box that grains fill; grains that its border cuts count by the part inside.

    region: corners (low, high), m; by default the box around all centres without the outer three
    mean radii, where walls and the free surface would lower it. Overlaps count twice.
    """
    where, radii = spheres(source, radius)
    if region is None:
        if not len(where):
            raise InputError("packing fraction", 0, "at least one grain")
        margin = MARGIN * radii.mean()
        region = (where.min(axis=0) + margin, where.max(axis=0) - margin)
    low, high = np.asarray(region[0], float), np.asarray(region[1], float)
    if low.shape != (3,) or high.shape != (3,) or not (low < high).all():
        raise InputError(
            "packing fraction: region", (low.tolist(), high.tolist()), "low below high, (3,) each"
        )
    return solid_volume(where, radii, low, high) / float(np.prod(high - low))


def solid_volume(where: Array, radii: Array, low: Array, high: Array) -> float:
    """Volume of spheres inside a box, m^3: sum of exact circle and rectangle overlaps."""
    reach = radii[:, None]
    inside = ((where - reach >= low) & (where + reach <= high)).all(axis=1)
    cut = ((where + reach > low) & (where - reach < high)).all(axis=1) & ~inside
    whole = float((4.0 / 3.0 * np.pi * radii[inside] ** 3).sum())
    c, r = where[cut], radii[cut]
    if not len(r):
        return whole
    # heights z = c + r sin(t): Gauss-Legendre in t, where the slices' area is smooth at the poles
    below = np.arcsin(np.clip((low[2] - c[:, 2]) / r, -1, 1))
    above = np.arcsin(np.clip((high[2] - c[:, 2]) / r, -1, 1))
    node, weight = np.polynomial.legendre.leggauss(NODES)
    t = 0.5 * (above + below)[:, None] + 0.5 * (above - below)[:, None] * node
    ring = r[:, None] * np.cos(t)
    edges = [(low[k] - c[:, k, None], high[k] - c[:, k, None]) for k in (0, 1)]
    (x0, x1), (y0, y1) = edges
    area = _corner(x1, y1, ring) - _corner(x0, y1, ring)
    area += _corner(x0, y0, ring) - _corner(x1, y0, ring)
    slices = area * ring * weight * 0.5 * (above - below)[:, None]
    return whole + float(slices.sum())


def _corner(a: Array, b: Array, ring: Array) -> Array:
    """Area of a circle about the origin left of x = a and below y = b."""
    r = np.maximum(ring, 1e-300)
    a, b = np.clip(a / r, -1, 1), np.clip(b / r, -1, 1)
    c = np.sqrt(1 - b * b)

    def half(x: Array) -> Array:
        """Integral of sqrt(1 - x^2) from -1 to x."""
        result: Array = 0.5 * (x * np.sqrt(1 - x * x) + np.arcsin(x)) + 0.25 * np.pi
        return result

    middle = np.clip(a, -c, c)
    area = b * (middle + c) + half(middle) - half(-c)
    caps = 2 * half(np.minimum(a, -c)) + 2 * (half(np.maximum(a, c)) - half(c))
    result: Array = (area + np.where(b > 0, caps, 0.0)) * r * r
    return result


# ---- flow ----------------------------------------------------------------------------------


class FlowMeter:
    """Counts what crosses a plane, by number and mass; call `record` after every step.

    point (3,) m on the plane, normal (3,): crossing along it counts plus, against it minus.
    radius: only crossings within this distance of `point` (m). Works as a recorder of
    `World.run`. `times`, `number` and `mass` are cumulated series, one entry a record.
    """

    def __init__(
        self,
        point: Sequence[float],
        normal: Sequence[float] = (0.0, 0.0, -1.0),
        radius: float | None = None,
    ) -> None:
        self.point = checks.vector("flow meter: point", point, "three finite numbers, m")
        self.normal = checks.vector("flow meter: normal", normal)
        length = float(np.linalg.norm(self.normal))
        if not length > 0:
            raise InputError("flow meter: normal", normal, "a direction (3,) that is not 0")
        self.normal = self.normal / length
        if radius is not None and not radius > 0:
            raise InputError("flow meter: radius", radius, "above 0, m, or None")
        self.radius = radius
        self.times: list[float] = []
        self.number: list[float] = []
        self.mass: list[float] = []
        self._tags: Any = np.zeros(0, np.int64)
        self._side: Any = np.zeros(0, bool)

    def start(self, world: World) -> None:
        """Take the present state as the beginning."""
        self._tags, self._side = self._sides(world)

    def _sides(self, world: World) -> tuple[Any, Any]:
        tags = world.grains.tags.copy()
        ahead = (world.grains.position.astype(float) - self.point) @ self.normal >= 0
        order = np.argsort(tags)
        return tags[order], ahead[order]

    def record(self, world: World, report: StepReport | None = None) -> None:
        """Count what has crossed since the last record."""
        grains = world.grains
        count = mass = 0.0
        if grains.n and len(self._tags):
            apart = grains.position.astype(float) - self.point
            along = apart @ self.normal
            slot = np.minimum(np.searchsorted(self._tags, grains.tags), len(self._tags) - 1)
            known = self._tags[slot] == grains.tags
            crossed = known & (self._side[slot] != (along >= 0))
            if self.radius is not None:
                flat = apart - along[:, None] * self.normal
                crossed &= (flat**2).sum(axis=1) <= self.radius**2
            sign = np.where(along[crossed] >= 0, 1.0, -1.0)
            count, mass = float(sign.sum()), float((sign * grains.mass[crossed]).sum())
        self._tags, self._side = self._sides(world)
        self.times.append(world.time)
        self.number.append((self.number[-1] if self.number else 0.0) + count)
        self.mass.append((self.mass[-1] if self.mass else 0.0) + mass)

    def close(self, error: str = "") -> None:
        """Do nothing: the series stay."""

    def rate(self, low: float = 0.1, high: float = 0.9) -> tuple[float, float]:
        """Mass flow rate, kg/s, and R^2 of the line through the cumulated mass.

        Below 0 where more goes against the normal than along it.
        The line is fitted where `low` to `high` of the mass has passed.
        """
        return steady_rate(np.array(self.times), np.array(self.mass), low, high)


def steady_rate(
    times: Array, total: Array, low: float = 0.1, high: float = 0.9
) -> tuple[float, float]:
    """Slope and R^2 of a cumulated series between two shares of its final value."""
    if len(total) < 3 or not abs(total[-1]) > 0:
        return 0.0, 0.0
    if total[-1] < 0:  # against the normal
        slope, r2 = steady_rate(times, -total, low, high)
        return -slope, r2
    used = (total >= low * total[-1]) & (total <= high * total[-1])
    if used.sum() < 3:
        return 0.0, 0.0
    t, m = times[used], total[used]
    t0, m0 = t - t.mean(), m - m.mean()
    slope = float((t0 @ m0) / (t0 @ t0))
    spread = float(m0 @ m0)
    return slope, 1.0 - float(((m0 - slope * t0) ** 2).sum()) / spread if spread > 0 else 0.0
