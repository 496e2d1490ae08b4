"""Grains to ground: what rests away from tools becomes columns again, as it lay, or loose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from berm.kernels.terrain import zone as kernels
from berm.solvers.multibody.samples import ball_around, sample
from berm.world.terrain.columns import whole
from berm.world.terrain.tools import Probe, sampled
from berm.world.terrain.windows import Window, blur, highest, part, union, wider

if TYPE_CHECKING:
    from berm.core.bodies import Body
    from berm.world.terrain.zone import Zone
    from berm.world.world import World

Array = npt.NDArray[Any]

SLOW, CALM = 0.1, 2  # m/s, and looks in a row: then a grain rests
NEAR_GROUND = 2.5  # grain radii: what lies higher above the ground lies on something else
MORE = 0.3  # m: grains become ground again so much farther from tools than the zone reaches
KEPT = 3.5  # grain radii to the next live grain, beyond which the shell goes
BURIED = 0.15  # radii below the new surface: such a grain becomes ground with its neighbours
INTACT = 0.5  # radii: a grain that was moved by less is still the ground that it was
UNTOUCHED = 0.95  # of the mass that became grains: a column that has so much left is as it was


def give_back(zone: Zone, world: World, tools: list[Probe]) -> Window | None:
    """Make ground of grains that rest away from tools; return the window that was looked at."""
    g = world.grains
    box = np.empty(4)
    zone.live = kernels.extent(g.x, g.v, g.n, g.material, zone.own, box)
    here = zone.around(box[::2], box[1::2], 3 * zone.columns.cell) if zone.live else None
    looked, zone.looked = zone.looked, union(zone.window, here)
    window = union(looked, zone.looked)  # once more where all have become ground
    if window is None:
        return None
    window = wider(window, 1, zone.columns.shape)
    frame, shape = zone.frame(window), (window[1] - window[0], window[3] - window[2])
    count = np.empty(shape, np.int32)
    busy, cover = np.empty(shape, np.bool_), np.empty(shape, np.bool_)
    lowest, top = np.empty(shape), np.empty(shape)
    kernels.watch(
        g.x, g.v, g.n, g.material, zone.own, g.still, SLOW, frame, CALM, count, busy, cover,
        lowest, top,
    )  # fmt: skip
    height, pit = zone.columns.height[part(window)], zone.pit[part(window)]
    low_enough = lowest - highest(height) < NEAR_GROUND * zone.grain
    held = _held(world, tools, frame, shape)
    given = ~busy & ~held & (((count > 0) & low_enough) | (pit & (count == 0)))
    if given.any():
        _raise(zone, world, window, frame, given)
        zone.columns.forget((window[0], window[2]), given)
        zone.placed[part(window)][given] = 0.0
        zone.columns.disturb(window)
        pit &= ~given
    zone.cover[part(window)] = cover
    zone.seen[part(window)] = np.where(count > 0, np.maximum(top, height), height)
    kept = np.zeros(g.n, np.bool_)
    if g.n and kernels.lonely(g.x, g.v, g.n, g.material, zone.own, KEPT * zone.grain, kept):
        g.remove(kept)
    i, j = np.nonzero(pit)
    zone.window = None
    if len(i):
        i, j = i + window[0], j + window[2]
        zone.window = int(i.min()), int(i.max()) + 1, int(j.min()), int(j.max()) + 1
    return window


def _held(world: World, tools: list[Probe], frame: Array, shape: tuple[int, int]) -> Array:
    """Columns (n, m) near a tool, or below a body that moves: what lives there lives on."""
    held = np.zeros(shape, np.bool_)
    points, reach, _ = sampled(tools)
    if len(points):
        kernels.near_tools(frame, points, reach, MORE, held)
    for body in world.bodies:
        if body.kind == "static":
            continue
        low, high = footprint(body)
        i = np.ceil((np.array([low[0], high[0]]) - frame[0]) / frame[2] + [-1, 1]).astype(int)
        j = np.ceil((np.array([low[1], high[1]]) - frame[1]) / frame[2] + [-1, 1]).astype(int)
        held[max(i[0], 0) : max(i[1], 0), max(j[0], 0) : max(j[1], 0)] = True
    return held


def _raise(zone: Zone, world: World, window: Window, frame: Array, raised: Array) -> None:
    """Turn the grains of raised columns to ground: as it lay where they have not moved, else loose.

    What is put back may be a little more or less than the grains had; zone.reserve has the rest.
    """
    g, columns, corner = world.grains, zone.columns, (window[0], window[2])
    gone = np.zeros(g.n, np.bool_)
    intact, moved = (np.zeros((len(zone.reserve), *raised.shape)) for _ in range(2))
    top = np.empty(raised.shape)
    kernels.gather(
        g.x, g.v, g.m, g.n, g.material, zone.own, g.home, INTACT, frame, raised,
        zone.placed[part(window)], gone, intact, moved, top,
    )  # fmt: skip
    zone.reserve += intact.sum(axis=(1, 2))
    zone.reserve -= columns.refill(corner, _level(zone, window, intact), raised)
    _heap(zone, window, moved, top)
    again = np.zeros_like(moved)
    if kernels.buried(
        g.x, g.v, g.m, g.n, g.material, zone.own, frame, columns.height[part(window)], raised,
        BURIED, gone, again,
    ):  # fmt: skip
        _lay(zone, window, again, (again / _densities(zone)[0]).sum(axis=0))
    columns.repay(window, raised, zone.reserve)
    rows = np.flatnonzero(gone)
    zone.counts.given += len(rows)
    g.fix(rows)


def _level(zone: Zone, window: Window, intact: Array) -> Array:
    """How high (m) columns reach by the share of what became grains there that has not moved."""
    columns = zone.columns
    height = columns.height[part(window)]
    room = columns.kept_volume[(slice(None), *part(window))].sum(axis=0)
    placed = zone.placed[part(window)]
    share = np.divide(intact.sum(axis=0), placed, out=np.ones_like(placed), where=placed > 0.0)
    share[share > UNTOUCHED] = 1.0
    level: Array = height + share * room / columns.area
    return level


def _heap(zone: Zone, window: Window, masses: Array, top: Array) -> None:
    """Lay masses (K, n, m) kg on columns as loose soil, with the room that their grains took.

    Room goes up to the highest centres, evened out over neighbours; its density is that of the
    surroundings, between loose soil and the bank.
    """
    there = masses.sum(axis=0) > 0.0
    if not there.any():
        return
    height = zone.columns.height[part(window)]
    surface = np.where(there, np.maximum(top + zone.gap, height), height)
    room = np.maximum((blur(surface, there, 1) - height) * zone.columns.area, 1e-6)
    room = np.where(there, room, 0.0)
    bank, loose = _densities(zone)
    spread = np.stack([blur(one, there, 1) for one in masses])
    share = spread / np.maximum(spread.sum(axis=0), 1e-300)
    dense = blur(masses.sum(axis=0), there, 2) / np.maximum(blur(room, there, 2), 1e-300)
    dense = np.clip(dense, (share * loose).sum(axis=0), (share * bank).sum(axis=0))
    wanted = np.where(there, share * (room * dense), 0.0)
    for k, kg in enumerate(masses.sum(axis=(1, 2))):
        if kg <= 0.0:
            wanted[k] = 0.0
            continue
        laid = whole(wanted[k] * (kg / wanted[k].sum()))
        rest = kg - laid.sum()
        laid[np.unravel_index(int(laid.argmax()), laid.shape)] += whole(rest)
        zone.reserve[k] += rest - whole(rest)  # of grains that were never ground
        wanted[k] = laid
    _lay(zone, window, wanted, wanted.sum(axis=0) / np.maximum(dense, 1e-300))


def _lay(zone: Zone, window: Window, masses: Array, volumes: Array) -> None:
    """Put loose soil on columns, where there is any."""
    there = masses.sum(axis=0) > 0.0
    zone.columns.heap((window[0], window[2]), masses, np.where(there, volumes, 0.0))


def _densities(zone: Zone) -> tuple[Array, Array]:
    """Density of the bank and of loose soil, kg/m^3, (K, 1, 1)."""
    soils = zone.columns.soils
    bank, loose = np.array([(one.density, one.loose_density) for one in soils]).T
    return bank[:, None, None], loose[:, None, None]


def footprint(body: Body) -> tuple[Array, Array]:
    """Box (x and y, low and high) around a body, m."""
    if body.shape is None:
        return body.position, body.position
    ball = ball_around(body.shape, sample(body.shape)[0])
    centre = body.position + body.rotation @ ball[:3]
    return centre - ball[3], centre + ball[3]
