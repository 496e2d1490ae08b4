"""The live zone: around tools ground becomes grains, and grains at rest become ground again.

After [HBK09] D. Holz, T. Beer, T. Kuhlen, *Soil deformation models for real-time simulation*,
VRIPHYS 2009: a grid with grains where tools work. What makes it quiet is ours
(docs/theory/terrain.md): grains come from a settled packing that lies fixed in the world, and the
zone is bounded by a shell of fixed grains of the same packing, which thaw as the zone grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.core.saved import Saved
from berm.kernels.terrain import stamp
from berm.kernels.terrain import zone as kernels
from berm.world.terrain.columns import Columns, whole
from berm.world.terrain.packing import packing
from berm.world.terrain.tools import Probe, sampled
from berm.world.terrain.windows import Window, highest, part, union

if TYPE_CHECKING:
    from berm.world.world import World

Array = npt.NDArray[Any]

EVERY = 3  # steps between conversions, and between looks at what rests
FLAT, RISE = 0.3, 0.5  # m around a tool in which the zone's floor is level; its slope beyond
CLEAR = 0.15  # m above the surface from which on a tool wants no zone
LEAST = 0.25  # grain radii by which a column is lowered at least
SHELL = 2.4  # grain radii of fixed grains below the floor; 1.2 lets live ones through
DEEPER = 5.0  # grain radii by which the field of contacts lies below a pit's floor
CROWDED = 0.25  # radii by which a new grain may overlap others
FAR = 1.5  # radii: a grain that was moved so far swells ...
GROWTH = 1.003  # ... by so much a step
SCALES = (0.8, 1.25)  # of the masses of new grains, so that they have what the ground has lost
ROOM = 0.75  # of the grains that may live: from here on the zone shrinks
SMALLEST = 0.3  # share of its reach and depth that a zone keeps


@dataclass
class Counts:
    """What happened since the start, in grains."""

    made: int = 0  # from ground
    thawed: int = 0  # of the shell
    given: int = 0  # back to the ground
    refused: int = 0  # places of the packing that were taken
    left: int = 0  # that fell over the field's edge


class Zone:
    """Live grains of a terrain: their soils' materials, the shell, and the mass that waits.

    grain (m): mean radius; most: live grains; kinds: materials by soil, as the world numbers them;
    own: soil by material, -1 for others; pit (nx, ny): columns whose ground is grains now; cover:
    with a live grain within a column; placed: mass (kg) that became grains in each; seen (m):
    surface with grains; reserve, lost, turned (K,) kg: mass that waits for a grain (below 0: that
    was lent), that left over the edge, and of all ground that ever became grains.
    """

    def __init__(
        self, columns: Columns, origin: tuple[float, float], grain: float, most: int
    ) -> None:
        self.columns, self.origin, self.grain, self.most = columns, origin, grain, most
        self.packing = packing()
        self.kinds = np.zeros(0, np.int32)
        self.own = np.zeros(0, np.int64)
        nx, ny = columns.shape
        self.pit = np.zeros((nx, ny), np.bool_)
        self.cover = np.zeros((nx, ny), np.bool_)
        self.placed = np.zeros((nx, ny))
        self.seen = columns.height.copy()
        self.window: Window | None = None  # around all pits
        self.looked: Window | None = None  # where grains lived when one last looked
        self.reserve = np.zeros(len(columns.soils))
        self.lost = np.zeros(len(columns.soils))
        self.counts = Counts()
        self.turned = np.zeros(len(columns.soils))
        self.live = 0
        self.full = False  # the zone is smaller than tools want it: too many grains live
        self.gap = grain * self.packing.gap(columns.cell / grain)
        self._room = 4096

    # ---- what lives -----------------------------------------------------------------------

    def masses(self, world: World) -> Array:
        """Mass (kg) of live grains by soil, exact."""
        g = world.grains
        soil = self.own[g.material[: g.n]]
        live = ~g.fixed & (soil >= 0)
        return np.bincount(soil[live], weights=g.mass[live], minlength=len(self.reserve))

    def frame(self, window: Window) -> Array:
        """Frame of a window of columns, as kernels have it."""
        x, y = self.origin
        c = self.columns.cell
        return np.array([x + window[0] * c, y + window[2] * c, c])

    def around(self, low: Array, high: Array, margin: float) -> Window | None:
        """Columns of a box in the plane and `margin` (m) around it; None where there are none."""
        c, found = self.columns.cell, []
        for axis, nodes in enumerate(self.columns.shape):
            first = np.floor((low[axis] - margin - self.origin[axis]) / c)
            last = np.ceil((high[axis] + margin - self.origin[axis]) / c) + 1
            if not (np.isfinite(first) and np.isfinite(last)):
                return None
            found += [int(min(max(first, 0), nodes)), int(min(max(last, 0), nodes))]
        i0, i1, j0, j1 = found
        return (i0, i1, j0, j1) if i1 - i0 > 2 and j1 - j0 > 2 else None

    # ---- ground to grains -------------------------------------------------------------------

    def convert(self, world: World, tools: list[Probe]) -> Window | None:
        """Make grains of the ground that tools come near; return the window that was lowered."""
        points, reach, depth = sampled(tools)
        if not len(points) or not np.isfinite(points).all():
            return None
        window = self.around(points[:, :2].min(axis=0), points[:, :2].max(axis=0), reach.max())
        if window is None:
            return None
        floor = self._floor(window, points, reach, depth)
        if floor is None:
            return None
        lowered, nx, ny = np.isfinite(floor), *self.columns.shape
        i0, j0 = window[0], window[2]
        # the same in a window no wider than what is lowered and the shell around it
        i, j = np.nonzero(lowered)
        tight = (
            max(i0 + int(i.min()) - 3, 0), min(i0 + int(i.max()) + 4, nx),
            max(j0 + int(j.min()) - 3, 0), min(j0 + int(j.max()) + 4, ny),
        )  # fmt: skip
        wanted = np.full((tight[1] - tight[0], tight[3] - tight[2]), np.inf)
        wanted[i + i0 - tight[0], j + j0 - tight[2]] = floor[lowered]
        self._lower(world, tight, wanted, tools)
        return tight

    def _floor(self, window: Window, points: Array, reach: Array, depth: Array) -> Array | None:
        """Where tools want the zone's floor (m) below the ground, inf elsewhere; None: nowhere.

        As far and as deep as the number of grains that may live allows; the zone shrinks in time.
        """
        scale = (self.most - self.live) / ((1.0 - ROOM) * self.most)
        i0, j0 = window[0], window[2]
        nx, ny = self.columns.shape
        height, rock = self.columns.height[part(window)], self.columns.rock[part(window)]
        inner = np.zeros(height.shape, np.bool_)  # the outermost columns stay
        inner[max(1 - i0, 0) : nx - 1 - i0, max(1 - j0, 0) : ny - 1 - j0] = True
        one = 4.0 / 3.0 * np.pi * self.grain**3 / self.packing.density
        scale = min(max(scale, SMALLEST), 1.0)
        while True:
            self.full = scale < 1.0
            floor = np.full(height.shape, np.inf)
            kernels.wish(
                self.seen[part(window)], self.frame(window), points, reach, depth, FLAT, RISE,
                CLEAR, scale, floor,
            )  # fmt: skip
            floor = np.maximum(floor, rock)
            lowered = inner & (floor < height - LEAST * self.grain)
            if not lowered.any():
                return None
            made = (height - floor)[lowered].sum() * self.columns.area / one
            if self.live + made <= self.most:
                return np.where(lowered, floor, np.inf)
            if scale <= SMALLEST:
                self.full = True
                return None
            scale = max(0.8 * scale, SMALLEST)

    def _lower(self, world: World, window: Window, wanted: Array, tools: list[Probe]) -> None:
        """Lower columns of a window; thaw, fill with grains and lay the shell; keep the ledger."""
        i0, j0 = window[0], window[2]
        columns, g, frame = self.columns, world.grains, self.frame(window)
        top = columns.height[part(window)].copy()
        floor = np.minimum(top, wanted)
        lowered = floor < top
        self.pit[part(window)] |= lowered
        rows = np.empty(g.n, np.int64)
        count = kernels.to_thaw(
            g.x, g.v, g.n, g.material, self.own, frame, floor, highest(lowered), rows
        )
        found, kind = self._candidates(window, frame, floor, top, lowered)
        keep = self._free_places(found, world, tools)
        self.counts.refused += int((~keep & (kind == stamp.GROUND)).sum()) - count
        found, kind = found[keep], kind[keep]
        soil = self._soils(found, frame, window)
        self._append(world, found, kind, soil, rows[:count], columns.lower((i0, j0), wanted))
        self.counts.thawed += count
        self.window = union(self.window, window)

    def _candidates(
        self, window: Window, frame: Array, floor: Array, top: Array, lowered: Array
    ) -> tuple[Array, Array]:
        """Places of the packing that fall into the ground that goes, or into the shell below."""
        r, p = self.grain, self.packing
        shell = SHELL * r
        edged = highest(self.pit[part(window)], 2)
        i, j = np.nonzero(lowered)
        pad = frame[2] + shell
        low = np.array([frame[0] + i.min() * frame[2] - pad, frame[1] + j.min() * frame[2] - pad,
                        floor[lowered].min() - 1.5 * shell])  # fmt: skip
        high = np.array([frame[0] + i.max() * frame[2] + pad, frame[1] + j.max() * frame[2] + pad,
                         top.max()])  # fmt: skip
        while True:
            found, kind = np.empty((self._room, 4)), np.empty(self._room, np.int8)
            count = stamp.candidates(
                p.points, p.radii, p.edges, r, floor, top, frame, edged, low, high, shell, found,
                kind,
            )  # fmt: skip
            if count <= self._room:
                return found[:count], kind[:count]
            self._room = int(1.5 * count)

    def _free_places(self, found: Array, world: World, tools: list[Probe]) -> Array:
        """Which places (k,) are free of grains and tools."""
        bad = np.zeros(len(found), np.bool_)
        if len(found):
            solid = np.concatenate([tool.points(tool.fine) for tool in tools])
            biggest = float(world.grains.radius.max(initial=1.1 * self.grain))
            stamp.crowded(
                found, len(found), world.grains.x, world.grains.n, solid,
                biggest + 1.2 * self.grain, CROWDED, bad,
            )  # fmt: skip
        return ~bad

    def _soils(self, found: Array, frame: Array, window: Window) -> Array:
        """Soil (k,) that the ground has at each place."""
        if len(self.reserve) == 1:
            return np.zeros(len(found), np.int64)
        i = np.clip(np.floor((found[:, 0] - frame[0]) / frame[2] + 0.5).astype(int) + window[0],
                    window[0], window[1] - 1)  # fmt: skip
        j = np.clip(np.floor((found[:, 1] - frame[1]) / frame[2] + 0.5).astype(int) + window[2],
                    window[2], window[3] - 1)  # fmt: skip
        return self.columns.soils_at(i, j, found[:, 2])

    def _append(
        self, world: World, found: Array, kind: Array, soil: Array, thawed: Array, due: Array
    ) -> None:
        """Add grains, and free rows of the shell; together they get the mass that is due (K,) kg.

        As nearly as may be: masses are those of the packing, times one factor within SCALES.
        """
        g = world.grains
        of = self.own[g.material[thawed]]
        for k, one in enumerate(self.columns.soils):
            mine, rows = soil == k, thawed[of == k]
            grain_density = one.density / self.packing.density
            mass = whole(grain_density * 4.0 / 3.0 * np.pi * found[:, 3] ** 3)
            live = mine & (kind == stamp.GROUND)
            usual = mass[live].sum() + g.m[rows].sum()
            if usual > 0.0:
                scale = min(max((due[k] + self.reserve[k]) / usual, SCALES[0]), SCALES[1])
                mass[live] = whole(mass[live] * scale)
                g.m[rows] = whole(g.m[rows] * scale)
            self.turned[k] += due[k]
            self.reserve[k] += due[k] - mass[live].sum() - g.m[rows].sum()
            born = np.arange(g.n, g.n + int(live.sum()))
            self._put(world, found[live], mass[live], k)
            shell = mine & (kind == stamp.SHELL)
            self._put(world, found[shell], mass[shell], k)
            g.fix(np.arange(g.n - int(shell.sum()), g.n))
            kernels.place(
                g.home, g.m, np.concatenate([rows, born]), self.frame((0, 0, 0, 0)), self.placed
            )
            self.counts.made += len(born)
        g.free(thawed)
        g.still[thawed] = 0

    def _put(self, world: World, found: Array, mass: Array, soil: int) -> None:
        """Add grains of a soil at places (k, 4) with their radii, at rest."""
        g = world.grains
        if len(found):
            g.append(
                found[:, :3], found[:, 3], np.zeros(3), mass, int(self.kinds[soil]), world.time
            )
            g.home[g.n - len(found) : g.n] = found

    def by_soil(self, world: World, rows: Array) -> Array:
        """Mass (K,) kg of rows by soil."""
        g = world.grains
        return np.bincount(
            self.own[g.material[rows]], weights=g.mass[rows], minlength=len(self.reserve)
        )

    # ---- what goes by itself -----------------------------------------------------------------

    def leave(self, world: World, frame: Array, height: Array) -> int:
        """Book and remove live grains that fell over the field's edge; return how many."""
        g = world.grains
        gone = np.zeros(g.n, np.bool_)
        count = kernels.astray(
            g.x, g.v, g.n, g.material, self.own, frame, height, 10.0 * self.grain, gone
        )
        if count:
            self.lost += self.by_soil(world, np.flatnonzero(gone))
            self.counts.left += count
            g.remove(gone)
        return int(count)

    def swell(self, world: World) -> None:
        """Let grains that were dug out grow to the room that loose soil takes."""
        g = world.grains
        most = np.array([one.swell ** (1.0 / 3.0) for one in self.columns.soils])
        kernels.swell(g.x, g.v, g.n, g.material, self.own, g.home, FAR, most, GROWTH)

    # ---- state ----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all that changes."""
        return {
            "pit": self.pit.copy(), "cover": self.cover.copy(), "seen": self.seen.copy(),
            "placed": self.placed.copy(),
            "window": np.array(self.window or (), np.int64),
            "looked": np.array(self.looked or (), np.int64), "reserve": self.reserve.copy(),
            "lost": self.lost.copy(), "turned": self.turned.copy(),
            "counts": dict(vars(self.counts)), "live": self.live,
            "full": self.full,
        }  # fmt: skip

    def check(self, saved: Saved) -> None:
        """Refuse a state that is not one of this zone."""
        saved.array("pit", np.bool_, self.pit.shape)
        saved.array("cover", np.bool_, self.pit.shape)
        saved.array("placed", np.float64, self.pit.shape, 0.0)
        saved.array("seen", np.float64, self.pit.shape)
        for name in ("window", "looked"):
            found = saved.array(name, np.int64, (None,), 0, max(self.pit.shape))
            if len(found) not in (0, 4):
                raise saved.refuse(name, found.tolist(), "none or four numbers")
        saved.array("reserve", np.float64, self.reserve.shape)
        saved.array("turned", np.float64, self.reserve.shape, 0.0)
        saved.array("lost", np.float64, self.lost.shape, 0.0)
        for name in vars(self.counts):
            saved.part("counts").whole(name, -(2**62))
        saved.whole("live", 0)
        saved.flag("full")

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        for name in ("pit", "cover", "seen", "placed"):
            getattr(self, name)[:] = state[name]
        self.window, self.looked = (
            None if not len(state[name]) else tuple(state[name].tolist())
            for name in ("window", "looked")
        )
        for name in ("reserve", "lost", "turned"):
            getattr(self, name)[:] = state[name]
        self.counts = Counts(**state["counts"])
        self.live, self.full = int(state["live"]), bool(state["full"])
