"""Terrain: ground that is dug, heaped and driven on, with a ledger of its mass to the last gram."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.bodies import Body
from berm.core.errors import InputError
from berm.core.materials import material
from berm.core.profile import Profile
from berm.core.saved import Saved
from berm.core.shapes import HeightField
from berm.core.soil import Soil, soil
from berm.world.terrain import height_maps, sources
from berm.world.terrain.columns import Columns
from berm.world.terrain.fast import Fast, FastTool
from berm.world.terrain.feet import Feet, Foot
from berm.world.terrain.giving import give_back
from berm.world.terrain.sight import Sight
from berm.world.terrain.tools import Probe
from berm.world.terrain.windows import Window, highest, part, union, wider
from berm.world.terrain.zone import DEEPER, EVERY, Zone

if TYPE_CHECKING:
    from berm.world.world import World

Array = npt.NDArray[Any]

DEPTH = 3.0  # m of soil over rock, unless said otherwise
CELLS = 0.4  # a grain's radius, of a column's width
MOST = 20_000  # live grains
STIFFNESS = 5e5  # N/m of a contact, at least: softer grains are squeezed flat below a machine
BESIDE = 3  # columns around a pit whose field of contacts lies a radius lower, below all its grains

Layers = Sequence[tuple["str | Soil", float | None]]


@dataclass(frozen=True)
class Ledger:
    """Where the mass of each soil is, kg: arrays (K,) in the order of `Terrain.soils`.

    ground: in columns; live: in grains that move; carried: by tools of the tier "fast"; waiting:
    for a grain to become one (below 0: lent in advance); left: fell over the field's edge. `error`
    is what is missing of what there was.
    """

    ground: Array
    live: Array
    carried: Array
    waiting: Array
    left: Array
    start: Array

    @property
    def total(self) -> Array:
        """All of it (K,), kg."""
        return np.asarray(self.ground + self.live + self.carried + self.waiting + self.left)

    @property
    def error(self) -> Array:
        """What is more (K,) than at the start, kg: 0, unless grains of these soils were poured."""
        return np.asarray(self.total - self.start)


class Terrain:
    """Soil over rock on a grid, tens of metres wide, which tools dig and heap up.

    heights (nx, ny) m stand at x = origin[0] + i cell, y = origin[1] + j cell. layers: soils by
    name, with their thickness (m; None: down to the rock), from the top down. depth (m): where rock
    begins, below the lowest height; or `rock`, heights (nx, ny) of it. Rock cannot be dug. grain:
    mean radius (m) of grains around tools, by default 0.4 of a cell; most: live grains.

    Put it into a world by `world.add_terrain`; it is the boundary body `name` for grains and
    bodies, in every solver. Bodies that dig are named by `add_tool`; around them ground becomes
    grains in worlds with solver "p2".
    """

    def __init__(
        self,
        heights: npt.ArrayLike,
        cell: float,
        origin: tuple[float, float] = (0.0, 0.0),
        layers: str | Soil | Layers = "loam",
        depth: float = DEPTH,
        rock: npt.ArrayLike | None = None,
        grain: float | None = None,
        most: int = MOST,
        name: str = "terrain",
    ) -> None:
        self.name = name
        self.field = HeightField(np.asarray(heights), cell, origin)  # checks all three
        surface, self.cell, self.origin = self.field.heights, self.field.cell, self.field.origin
        above_0 = ("above 0 m", lambda x: 0.0 < x < math.inf)
        self.grain = (
            CELLS * self.cell if grain is None else checks.number("terrain: grain", grain, *above_0)
        )
        if self.cell < 2.0 * self.grain:
            raise InputError(
                "terrain: cell", self.cell, f"at least two grain radii, {2.0 * self.grain:g} m"
            )
        checks.whole("terrain: most", most, 1)
        low = float(surface.min()) - checks.number("terrain: depth", depth, *above_0)
        bottom = np.full(surface.shape, low) if rock is None else _rock(rock, surface)
        self.soils, of, tops = _layers(layers, surface, bottom)
        self.columns = Columns(bottom, tops, self.cell, self.soils, of)
        self.zone = Zone(self.columns, self.origin, self.grain, most)
        self.sight = Sight(self.columns)
        self.tools: list[Probe] = []
        self.fast = Fast(self.columns, self.origin)
        self.feet = Feet(self.fast)
        self.start = self.columns.masses
        self.body: Body | None = None

    @classmethod
    def flat(
        cls, size: tuple[float, float], cell: float = 0.1, height: float = 0.0, **more: Any
    ) -> Terrain:
        """Level ground of `size` (m) with its middle at the origin."""
        return cls.of(lambda x, y: height + 0.0 * x, size, cell, **more)

    @classmethod
    def of(
        cls,
        shape: Callable[[Array, Array], Any],
        size: tuple[float, float],
        cell: float = 0.1,
        middle: tuple[float, float] = (0.0, 0.0),
        **more: Any,
    ) -> Terrain:
        """Ground whose height (m) is `shape(x, y)`, of arrays x and y (m), over `size` (m)."""
        x, y = sources.nodes(size, cell, middle)
        heights = shape(*np.meshgrid(x, y, indexing="ij"))
        try:
            heights = np.broadcast_to(np.asarray(heights, float), (len(x), len(y)))
        except (TypeError, ValueError):
            what = f"numbers {(len(x), len(y))}, or one"
            raise InputError("terrain: what the shape returns", np.shape(heights), what) from None
        return cls(heights, cell, (float(x[0]), float(y[0])), **more)

    @classmethod
    def noise(
        cls,
        size: tuple[float, float],
        cell: float = 0.1,
        seed: int = 0,
        height: float = 0.3,
        wave: float = 10.0,
        octaves: int = 5,
        rough: float = 0.5,
        **more: Any,
    ) -> Terrain:
        """Hills by a seed, the same on every machine; see `sources.noise`."""
        return cls.of(
            lambda x, y: sources.noise(x, y, seed, height, wave, octaves, rough), size, cell, **more
        )

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        cell: float | None = None,
        pixel: float | None = None,
        low: float = 0.0,
        high: float = 1.0,
        holes: str = "error",
        **more: Any,
    ) -> Terrain:
        """Ground of a GeoTIFF, .npy file or grey image, its middle at the origin.

        cell (m): what it is resampled to; pixel (m): of a file that does not say; low, high (m):
        heights of black and white in an image; holes: "error", or "fill" cells without a height.
        """
        heights, wide, origin = sources.from_file(path, cell, pixel, low, high, holes)
        return cls(heights, wide, origin, **more)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the heights of the ground as .npy or GeoTIFF, which `load` reads."""
        height_maps.write(path, self.heights, self.cell, self.origin)

    # ---- what it is -----------------------------------------------------------------------

    @property
    def heights(self) -> Array:
        """Heights (nx, ny) m of the ground, without grains: a view."""
        view = self.columns.height.view()
        view.flags.writeable = False
        return view

    @property
    def surface(self) -> Array:
        """Heights (nx, ny) m of what one sees: ground, and grains that stand on it."""
        found: Array = np.maximum(self.zone.seen, self.columns.height)
        return found

    def shell(self, world: World) -> Array:
        """(n,) which grains are the fixed ones below the ground, that nobody sees."""
        g = world.grains
        found: Array = g.fixed & np.isin(g.material[: g.n], self.zone.kinds)
        return found

    def height_at(self, x: float, y: float) -> float:
        """Height (m) of the ground's column at a place."""
        nx, ny = self.columns.shape
        i = min(max(round((x - self.origin[0]) / self.cell), 0), nx - 1)
        j = min(max(round((y - self.origin[1]) / self.cell), 0), ny - 1)
        return float(self.columns.height[i, j])

    def ledger(self, world: World) -> Ledger:
        """Where all its mass is."""
        self._number(world)
        zone = self.zone
        return Ledger(
            self.columns.masses, zone.masses(world), self.fast.masses, zone.reserve.copy(),
            zone.lost.copy(), self.start.copy(),
        )  # fmt: skip

    def __repr__(self) -> str:
        nx, ny = self.columns.shape
        return (
            f"Terrain({nx} x {ny} columns of {self.cell:g} m, "
            f"{', '.join(one.name for one in self.soils)})"
        )

    # ---- in a world -----------------------------------------------------------------------

    def attach(self, world: World) -> None:
        """Become a boundary of this world, and let its grains know their soils."""
        ground = material("rough wall").replace(name="ground")
        self.body = world.add_body(self.field, name=self.name, material=ground)
        self.fast.attach(world, self.body)
        world.grains.keep_homes()
        kinds = []
        for one in self.soils:
            law = one.grains()
            stiff = law.replace(stiffness=max(law.stiffness, STIFFNESS))
            kinds.append(world.add_material(stiff))
        self.zone.kinds = np.array(kinds, np.int32)

    def add_tool(self, body: Body, reach: float | None = None, depth: float | None = None) -> Probe:
        """Let ground become grains around a body, which digs.

        reach, depth (m): how far beside and below it; None: what its shape needs.
        """
        tool = Probe(body, self.grain, reach, depth)
        self.tools.append(tool)
        return tool

    def add_fast_tool(self, body: Body, profile: Profile | None = None) -> FastTool:
        """Let a body dig in the tier "fast": no grains, forces by the earthmoving equation.

        profile: from its cutting edge to its lip; None: the face of a box.
        """
        return self.fast.add(body, profile)

    def add_wheel(
        self, body: Body, radius: float, width: float, axle: npt.ArrayLike = (0.0, 1.0, 0.0)
    ) -> Foot:
        """Let a wheel sink in, pull on soil by its slip and leave a rut, instead of touching it.

        Its middle is the body's origin; axle (3,) in the body's frame.
        """
        return self.feet.add_wheel(body, radius, width, axle)

    def add_track(
        self, body: Body, length: float, width: float, middle: npt.ArrayLike,
        axle: npt.ArrayLike = (0.0, 1.0, 0.0),
    ) -> list[Foot]:  # fmt: skip
        """Let a track do so, whose belt runs as `body.belt` says, in pieces that each bear.

        middle (3,) of its underside (m) and axle (3,) in the body's frame.
        """
        return self.feet.add_track(body, length, width, middle, axle)

    def act(self, world: World) -> None:
        """Make grains of ground around tools, ground of grains that rest; let slopes slide."""
        zone, turn = self.zone, world.step_count % EVERY
        self._number(world)
        changed: list[Window | None] = []
        if turn == 0 and self.tools and "ground" in world.solver.can:
            changed.append(zone.convert(world, self.tools))
        elif turn == 1:
            frame = np.array([*self.origin, self.cell])
            zone.leave(world, frame, self.columns.height)
            changed.append(give_back(zone, world, self.tools))
        dug = union(self.fast.act(world), self.feet.act(world))
        if (turn == 1 or self.fast.handles or self.feet.handles) and len(self.columns.moving):
            covered = self.fast.covered
            if zone.live or zone.window:
                covered = covered | zone.cover | zone.pit
            gravity = float(np.linalg.norm(world.gravity))
            dug = union(dug, self.columns.slide(covered, gravity))
        changed.append(dug)
        if zone.live or zone.window:
            zone.swell(world)
        for window in changed:
            if window is not None:
                self._lay(window)

    def _number(self, world: World) -> None:
        """Know which of the world's materials are grains of which soil."""
        self.zone.own = np.full(len(world.materials), -1, np.int64)
        self.zone.own[self.zone.kinds] = np.arange(len(self.soils))

    def _lay(self, window: Window) -> None:
        """Bring the field of contacts up to date, below the grains where there are some; tell it.

        It is never raised where a live grain is: that would throw it.
        """
        self.sight.touch(window)
        window = wider(window, BESIDE + 1, self.columns.shape)
        around = wider(window, BESIDE + 1, self.columns.shape)
        here, pit = part(window, around), self.zone.pit[part(around)]
        height = self.columns.height[part(window)]
        wanted = height
        if pit.any():
            deep = np.where(pit, self.columns.height[part(around)] - DEEPER * self.grain, np.inf)
            beside = highest(pit, BESIDE)[here]
            wanted = np.where(beside, height - self.grain, height)
            wanted = np.minimum(wanted, -highest(-deep)[here])
        now = self.field.heights[part(window)]
        wanted = np.where(self.zone.cover[part(window)], np.minimum(wanted, now), wanted)
        if not np.array_equal(wanted, now):
            i0, i1, j0, j1 = window
            self.field.update(((i0, i1), (j0, j1)), wanted)

    # ---- state ----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything that a restart needs beside the grains and the body."""
        return {
            "columns": self.columns.state(), "zone": self.zone.state(), "fast": self.fast.state(),
            "feet": self.feet.state(),
        }  # fmt: skip

    def check(self, saved: Saved) -> None:
        """Refuse a state that is not one of this terrain."""
        self.columns.check(saved.part("columns"))
        self.zone.check(saved.part("zone"))
        self.fast.check(saved.part("fast"))
        self.feet.check(saved.part("feet"))

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.columns.restore(state["columns"])
        self.zone.restore(state["zone"])
        self.fast.restore(state["fast"])
        self.feet.restore(state["feet"])
        self.sight.touch()


def _rock(rock: npt.ArrayLike, surface: Array) -> Array:
    """Heights of the rock, at most those of the surface."""
    try:
        found = np.array(np.broadcast_to(np.asarray(rock, float), surface.shape))
    except (TypeError, ValueError):
        raise InputError("terrain: rock", np.shape(rock), f"heights {surface.shape} m") from None
    if not np.isfinite(found).all():
        raise InputError("terrain: rock", "not finite", "finite heights in m")
    return np.minimum(found, surface)


def _layers(
    layers: str | Soil | Layers, surface: Array, rock: Array
) -> tuple[tuple[Soil, ...], list[int], Array]:
    """Soils, which of them each layer from the bottom up is, and the tops of the layers."""
    given: Layers = [(layers, None)] if isinstance(layers, str | Soil) else layers
    if not given:
        raise InputError("terrain: layers", layers, "at least one (soil, thickness)")
    soils: list[Soil] = []
    of, tops, top = [], [], surface
    for k, pair in enumerate(given):
        try:
            what, thick = pair
        except (TypeError, ValueError):
            raise InputError(f"terrain: layers[{k}]", pair, "(soil, thickness in m)") from None
        one = soil(what) if isinstance(what, str) else what
        if not isinstance(one, Soil):
            raise InputError(f"terrain: layers[{k}]", what, "the name of a soil, or a Soil")
        if one not in soils:
            soils.append(one)
        of.append(soils.index(one))
        tops.append(top)
        last = k == len(given) - 1
        if thick is None and not last:
            raise InputError(f"terrain: layers[{k}]", None, "a thickness in m above the last layer")
        if thick is not None and not last:
            depth = checks.number(
                f"terrain: layers[{k}]", thick, "above 0 m", lambda x: 0.0 < x < math.inf
            )
            top = np.maximum(top - depth, rock)
        elif thick is not None:
            np.maximum(rock, top - checks.number(
                f"terrain: layers[{k}]", thick, "above 0 m", lambda x: 0.0 < x < math.inf
            ), out=rock)  # fmt: skip
    return tuple(soils), of[::-1], np.stack(tops[::-1])
