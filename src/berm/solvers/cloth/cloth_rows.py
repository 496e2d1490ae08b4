"""Cloth as constraints on particles that stand behind the grains, two-way in one solver loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.cloth import Cloth
from berm.core.errors import SimulationError
from berm.core.saved import Facts, Saved
from berm.kernels.cloth import faces as cloth_faces
from berm.kernels.cloth import links as cloth_links
from berm.kernels.vts import contacts as vts_contacts
from berm.kernels.vts.law import FACE, FORM, LINK, WALL
from berm.solvers.base import WorldView
from berm.solvers.cloth.self_rows import SelfRows
from berm.solvers.multibody.multibody import Multibody
from berm.solvers.search.contact_list import slab_limits
from berm.solvers.vts.grain_rows import Pairing
from berm.solvers.vts.rows import Rows, Unit
from berm.solvers.walls.check import check_walls
from berm.solvers.walls.walls import Walls

Array = npt.NDArray[Any]

LINKS_TOGETHER = 4000  # links that one unit sweeps, about
FEWEST_BANDS = 8  # sweeps go along the cloth, which carries corrections far
SLACK = 1.0  # radii: what is this far from cloth takes part, for links may jerk it there


def _order(links: Array) -> tuple[Array, Array, Array]:
    """Order links by bands along the cloth, and in a unit of them by turns that share no vertex.

    Returns the order, the places where turns begin and the last ends, and the unit of each turn.
    """
    low = links.min(axis=1)
    parts = max(len(links) // LINKS_TOGETHER, 1)
    bands = max(parts, FEWEST_BANDS)
    band = low * bands // (int(low.max(initial=0)) + 1)
    order = np.argsort(band, kind="stable")
    unit, turn = band[order] * parts // bands, np.zeros(len(links), np.int64)
    free = np.full((int(links.max(initial=0)) + 1, 2), -1)
    cloth_links.turns(links[order], unit, free, turn)
    by_turn = np.lexsort((turn, unit))
    new = np.diff(unit, prepend=-1).astype(bool) | np.diff(turn[by_turn], prepend=-1).astype(bool)
    begin = np.flatnonzero(new)
    return order[by_turn], np.append(begin, len(links)), unit[begin]


class ClothRows:
    """All cloth of a world: its particles behind the grains, its links, walls, faces and forms."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.walls = Walls(dtype)
        self.own = SelfRows()
        self.key: tuple[int, ...] = ()
        self.cloths: list[Cloth] = []
        self.count = 0  # particles
        self.side: list[Array] = []  # of each cloth, by the grains' tags: +1, -1, 0 unknown
        self.pushed: tuple[Array, Array] = (np.zeros(0, np.int64), np.zeros((0, 3)))
        self.wall_last: Array = np.zeros(0, np.int64)

    def prepare(self, cloths: list[Cloth], iterations: int) -> None:
        """Order links so that runs of them touch few particles; done once a set of cloth."""
        key = (iterations, *(len(c.position) + 7 * len(c.links) for c in cloths))
        key += tuple(k for k, c in enumerate(cloths) if c.self_collision)
        if len(self.side) != len(cloths):  # also after a state from before the first step
            self.side = [np.zeros(0, np.int8) for _ in cloths]
        if key == self.key:
            return
        self.key, self.cloths = key, cloths
        self.count = sum(len(c.position) for c in cloths)
        self.base = np.cumsum([0] + [len(c.position) for c in cloths])
        self.own.prepare(cloths, self.base)
        pairs, rest, share, at = [], [], [], 0
        self.link_units: list[Unit] = []
        for cloth, base in zip(cloths, self.base, strict=False):
            order, turn, unit = _order(cloth.links)
            links = cloth.links[order] + base
            for u in np.unique(unit):
                mine = np.flatnonzero(unit == u)
                first, last = at + turn[mine], at + turn[mine + 1]
                ends = links[turn[mine[0]] : turn[mine[-1] + 1]]
                blocks = np.stack([np.full(len(mine), LINK), first, last], 1)
                self.link_units.append(Unit(blocks, int(ends.min()), int(ends.max()) + 1))
            at += len(links)
            pairs.append(links)
            rest.append(cloth.rest[order])
            # [MHHR07]: so that all iterations together correct `stiffness` of the error
            share.append(1.0 - (1.0 - cloth.stiffness[order]) ** (1.0 / iterations))
        self.pairs = np.concatenate(pairs) if pairs else np.zeros((0, 2), np.int64)
        self.rest = np.concatenate(rest) if rest else np.zeros(0)
        self.share = np.concatenate(share) if share else np.zeros(0)

    def gather(self, x: Array, v: Array, material: Array, first: int, materials: list[int]) -> None:
        """Write the cloth's particles to rows from `first` on."""
        for cloth, base, mat in zip(self.cloths, self.base, materials, strict=False):
            rows = slice(first + base, first + base + len(cloth.position))
            x[rows, :3], x[rows, 3] = cloth.position, cloth.thickness
            v[rows, :3], v[rows, 3] = cloth.velocity, cloth.inverse_mass
            material[rows] = mat

    def scatter(self, x: Array, v: Array, first: int, h: float) -> None:
        """Take positions and velocities back."""
        for cloth, base in zip(self.cloths, self.base, strict=False):
            rows = slice(first + base, first + base + len(cloth.position))
            cloth.position[:], cloth.velocity[:] = x[rows, :3], v[rows, :3]
            if cloth.damping > 0.0:
                cloth.velocity *= np.exp(-cloth.damping * h)

    def motion(self) -> tuple[float, float]:
        """Kinetic energy (J) of what is not held, and the largest speed squared; all finite."""
        energy, fastest2 = 0.0, 0.0
        for cloth in self.cloths:
            free = cloth.inverse_mass > 0.0
            speed2 = (cloth.velocity[free] ** 2).sum(axis=1)
            bad = np.flatnonzero(~np.isfinite(speed2))
            if bad.size:
                row = int(np.flatnonzero(free)[bad[0]])
                raise SimulationError(
                    f"cloth {cloth.name!r}: vertex {row} became non-finite (position "
                    f"{cloth.position[row].tolist()}, velocity {cloth.velocity[row].tolist()})"
                )
            energy += 0.5 * float((speed2 / cloth.inverse_mass[free]).sum())
            fastest2 = max(fastest2, float(speed2.max(initial=0.0)))
        return energy, fastest2

    # ---- constraints ----------------------------------------------------------------------

    def detect(
        self, world: WorldView, multi: Multibody, poses: Array, x: Array, v: Array, first: int,
        h: float,
    ) -> None:  # fmt: skip
        """Find the contacts of vertices with bodies, grains with faces and cloth with cloth.

        Bodies are those that are fixed or driven.
        """
        mine = np.zeros((self.count + 8, 4), self.dtype), np.zeros((self.count + 8, 4), self.dtype)
        mine[0][: self.count], mine[1][: self.count] = x[first:], v[first:]
        self.walls.find(
            multi.table, multi.fixed, poses, *mine, self.count, slab_limits(self.count), h,
            (0.0, 0.0, 0.0), SLACK,
        )  # fmt: skip
        found = (
            [self._faces(k, world.grains, x, v, first, h) for k in range(len(self.cloths))]
            if first
            else []
        )
        self.meta = np.concatenate([m for m, _ in found]) if found else np.zeros((0, 4), np.int64)
        self.near = np.concatenate([o for _, o in found]) if found else np.zeros((0, 8))
        self.own.detect(x, v, first, h)

    def _faces(
        self, k: int, grains: Any, x: Array, v: Array, first: int, h: float
    ) -> tuple[Array, Array]:
        """Contacts of grains with the faces of cloth k: (grain, face, side, cloth), geometry."""
        cloth, n = self.cloths[k], first
        widest = float(x[:n, 3].max())
        fastest = float(np.sqrt((v[:n, :3].astype(float) ** 2).sum(1).max()))
        rows = slice(first + self.base[k], first + self.base[k + 1])
        reach = 2.0 * (widest + cloth.thickness) + h * fastest
        lo = x[rows, :3].min(axis=0).astype(float) - reach
        span = x[rows, :3].max(axis=0) + reach - lo
        cell = max(2.0 * widest, float((span.prod() / (4.0 * n + 4096.0)) ** (1 / 3)))
        dims = (np.floor(span / cell) + 1).astype(np.int64)
        start = np.zeros(int(dims.prod()) + 1, np.int64)
        order, number = np.zeros(n, np.int64), np.zeros(n, np.int64)
        cloth_faces.into_cells(x, n, lo, cell, dims, start, order, number)
        if len(self.side[k]) < grains.next_tag:
            self.side[k] = np.concatenate(
                [self.side[k], np.zeros(grains.next_tag - len(self.side[k]), np.int8)]
            )
        tags = grains.tag[:n]
        side = self.side[k][tags]
        room = 8 * n + 64
        while True:
            meta, out = np.zeros((room, 4), np.int64), np.zeros((room, 8))
            many = cloth_faces.find(
                x, v, int(rows.start), cloth.faces, cloth.thickness, h, SLACK, widest, fastest,
                side, lo, cell, dims, start, order, out, meta,
            )  # fmt: skip
            if many <= room:
                break
            room = many
        meta, out = meta[:many], out[:many]
        by_grain = np.lexsort((meta[:, 1], out[:, 7], meta[:, 0]))
        keep = np.zeros(many, np.int64)
        keep = keep[: cloth_faces.thin(by_grain, meta[:, 0], out[:, 3:6], keep)]
        meta, out = meta[keep], out[keep]
        self.side[k][:] = 0  # grains that are no longer near may come back on the other side
        self.side[k][tags[meta[::-1, 0]]] = meta[::-1, 2]  # the nearest contact decides
        meta[:, 3] = k
        return meta, out

    @property
    def forms(self) -> list[tuple[Cloth, int, Any]]:
        """All forms with their cloth and its first vertex."""
        return [
            (cloth, int(base), form)
            for cloth, base in zip(self.cloths, self.base, strict=False)
            for form in cloth.forms
        ]

    @property
    def faces(self) -> int:
        """Rows with weights at four particles: grains on faces, then cloth on cloth."""
        return len(self.meta) + self.own.count

    def room(self) -> tuple[int, int]:
        """Rows that the cloth needs at most: of two particles, and of four."""
        return (
            len(self.pairs) + self.walls.rows.size,
            self.faces + sum(len(form.vertices) for _, _, form in self.forms),
        )

    def fill(
        self, world: WorldView, rows: Rows, x: Array, v: Array, first: int, at: int, law: Array,
        pairing: Pairing, material: Array,
    ) -> list[Unit]:  # fmt: skip
        """Write the cloth's rows from `at` on, those of four particles from rows.qbase on."""
        units = self._fill_links(rows, x, first, at)
        self.wall_base = at + len(self.pairs)
        units += self._fill_walls(world, rows, x, v, first, law, pairing, material)
        rows.faces = self.faces
        units += self._fill_faces(world, rows, first, law, pairing, material)
        units += self.own.fill(rows, first, len(self.meta), law)
        units += self._fill_forms(rows, x, first)
        return units

    def _fill_links(self, rows: Rows, x: Array, first: int, at: int) -> list[Unit]:
        """Links start from nothing: their directions turn too fast for last impulses to help."""
        cloth_links.links(
            at, first, self.pairs, self.rest, self.share, x, rows.ends, rows.row, rows.imp
        )
        return [
            Unit(unit.blocks + np.array([0, at, at]), unit.low + first, unit.high + first)
            for unit in self.link_units
        ]

    def _fill_walls(
        self, world: WorldView, rows: Rows, x: Array, v: Array, first: int, law: Array,
        pairing: Pairing, material: Array,
    ) -> list[Unit]:  # fmt: skip
        walls = self.walls
        slabs, cap = walls.rows.shape
        self.wall_last = np.zeros(slabs, np.int64)
        body_mat = world.bodies.material.astype(np.int32)
        vts_contacts.walls(
            self.wall_base, first, walls.count, walls.rows, walls.body, walls.plane, walls.impulse,
            x, v, material, pairing.count, body_mat, pairing.mu_s, pairing.mu_k, pairing.rest, law,
            rows.ends, rows.slot, rows.row, rows.imp, self.wall_last, np.zeros((slabs, 3)),
        )  # fmt: skip
        limits = walls.slab_start + first
        return [
            Unit([(WALL, self.wall_base + s * cap, int(self.wall_last[s]))], int(limits[s]),
                 int(limits[s + 1]))
            for s in range(slabs)
        ]  # fmt: skip

    def _fill_faces(
        self,
        world: WorldView,
        rows: Rows,
        first: int,
        law: Array,
        pairing: Pairing,
        material: Array,
    ) -> list[Unit]:
        many = len(self.meta)
        if not many:
            return []
        grain, face, cloth = self.meta[:, 0], self.meta[:, 1], self.meta[:, 3]
        here = slice(rows.qbase, rows.qbase + many)
        corner = np.empty((many, 3), np.int64)
        size = rows.row[here][:, 4]
        row = rows.row[here]
        row[:] = 0
        for k, (one, base) in enumerate(zip(self.cloths, self.base, strict=False)):
            mine = cloth == k
            corner[mine] = one.faces[face[mine]] + base + first
            size[mine] = one.thickness
        size += world.grains.x[grain, 3]
        rows.ends[here, 0] = grain
        rows.quad[:many, 0], rows.quad[:many, 1:] = grain, corner
        rows.coef[:many, 0], rows.coef[:many, 1:] = 1.0, -self.near[:, :3]
        gap = self.near[:, 6]
        row[:, :3] = self.near[:, 3:6]
        bent = law[vts_contacts.BENT] != 0
        row[:, 3] = gap if bent else law[vts_contacts.GAMMA] * gap / law[vts_contacts.DT]
        row[:, 6] = pairing.mu_s[material[grain] * pairing.count + material[corner[:, 0]]]
        row[:, 11] = 1.0
        rows.imp[here] = 0
        if law[vts_contacts.WARM] > 0.0 and len(self.pushed[0]):
            keys = self._keys(world)
            place = np.minimum(np.searchsorted(self.pushed[0], keys), len(self.pushed[0]) - 1)
            same = self.pushed[0][place] == keys
            rows.imp[here, :3][same] = law[vts_contacts.WARM] * self.pushed[1][place[same]]
        return [Unit([(FACE, rows.qbase, rows.qbase + many)], 0, rows.n)]

    def _keys(self, world: WorldView) -> Array:
        tag = world.grains.tag[self.meta[:, 0]]
        return np.asarray((tag * len(self.cloths) + self.meta[:, 3]) * (1 << 24) + self.meta[:, 1])

    def _fill_forms(self, rows: Rows, x: Array, first: int) -> list[Unit]:
        units, at = [], self.faces
        for _, base, form in self.forms:
            m, k = form.vertices.shape
            rows.quad[at : at + m] = -1
            rows.quad[at : at + m, :k] = form.vertices + base + first
            rows.grad[at : at + m] = 0
            here = slice(rows.qbase + at, rows.qbase + at + m)
            rows.row[here] = 0
            rows.row[here, 8], rows.row[here, 9] = form.lower, form.upper
            rows.row[here, 11] = 1.0 - (1.0 - form.stiffness) ** (1.0 / self.key[0])
            rows.imp[here] = 0
            units.append(Unit([(FORM, rows.qbase + at, rows.qbase + at + m)], 0, rows.n))
            at += m
        self.evaluate(rows, x, first)
        return units

    def evaluate(self, rows: Rows, x: Array, first: int) -> None:
        """Let forms see positions x: their errors and gradients follow."""
        at = self.faces
        for cloth, base, form in self.forms:
            m, k = form.vertices.shape
            where = x[first + base : first + base + len(cloth.position), :3].astype(float)
            error, grad = form.evaluate(where)
            rows.row[rows.qbase + at : rows.qbase + at + m, 3] = error
            rows.grad[at : at + m, :k] = grad
            at += m

    def keep(self, world: WorldView, rows: Rows, share: float) -> None:
        """Give the impulses back for the next step and the forces to bodies."""
        real: Any = self.dtype.type
        vts_contacts.keep_walls(
            self.wall_base, self.walls.rows.shape[1], rows.slot, rows.imp, self.wall_last,
            real(share), self.walls.impulse, self.walls.total,
        )  # fmt: skip
        mine = np.zeros((self.count + 8, 4), self.dtype)
        self.gather(
            mine, np.zeros_like(mine), np.zeros(len(mine), np.int32), 0, [0] * len(self.cloths)
        )
        self.walls.add_forces(world.bodies, mine)
        keys = self._keys(world)
        order = np.argsort(keys, kind="stable")
        faces = rows.imp[rows.qbase : rows.qbase + len(keys), :3]
        self.pushed = keys[order], faces[order].astype(float)

    def state(self) -> dict[str, Any]:
        """Everything that a bit-for-bit restart needs."""
        return {
            "walls": self.walls.state(),
            "side": [side.copy() for side in self.side],
            "keys": self.pushed[0].copy(),
            "pushed": self.pushed[1].copy(),
            "own": self.own.state(),
        }

    def check(self, saved: Saved, facts: Facts, world: WorldView) -> int:
        """Refuse a state that cannot be put back; return how many vertices the cloth has."""
        cloths = world.cloths
        count = sum(len(cloth.position) for cloth in cloths)
        slab, bodies = slab_limits(count), world.bodies.n
        check_walls(saved.part("walls"), self.dtype, bodies, count, slab, sure=False)
        side = saved.get("side")
        if not isinstance(side, list) or len(side) not in (0, len(cloths)):
            raise saved.refuse("side", np.shape(side), f"a list of {len(cloths)}, or none")
        sides = Saved({str(k): one for k, one in enumerate(side)}, f"{saved.where}.side")
        for k in range(len(side)):
            sides.array(str(k), np.int8, (None,), -1, 1)
        keys = saved.array("keys", np.int64, (None,))
        saved.array("pushed", np.float64, (len(keys), 3))
        for one in saved.parts("own", (2,)):
            known = one.array("keys", np.int64, (None,), 0)
            one.array("side", np.int8, (len(known),), -1, 1)
            one.array("normal", np.float64, (len(known), 3))
            if (np.diff(known) <= 0).any():
                raise one.refuse("keys", known[:5].tolist(), "keys that rise")
        if (np.diff(keys) < 0).any():
            raise saved.refuse("keys", keys[:5].tolist(), "keys that rise")
        return count

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.walls.restore(state["walls"])
        self.side = [np.array(side, np.int8) for side in state["side"]]
        self.pushed = np.array(state["keys"], np.int64), np.array(state["pushed"], float)
        self.own.restore(state["own"])
