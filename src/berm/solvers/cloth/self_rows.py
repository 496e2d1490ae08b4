"""Cloth that meets itself and other cloth, as rows of the loop that all else is solved in."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.cloth import Cloth
from berm.core.errors import SimulationError
from berm.kernels.cloth import self_contact as at
from berm.kernels.cloth.faces import thin
from berm.kernels.search import box_pairs
from berm.kernels.vts import contacts as vts_contacts
from berm.kernels.vts.law import FACE
from berm.solvers.vts.rows import Rows, Unit

Array = npt.NDArray[Any]

MARGIN = 1.0  # thicknesses beyond their own at which partners are known to each other
READY = 0.5  # thicknesses: gap to be expected up to which a pair becomes a row
RECOVER = 0.5  # thicknesses: of a deeper overlap no more is taken away in one step
MISSED = 0.5  # thicknesses: an overlap to come from which a step is solved again with its row
MOST_ROUNDS = 2  # times that a step is solved again
LARGEST = 32  # cells that the largest box spans, at most
HIGH = 1 << 32  # a pair's key: first partner, then second


def find_pairs(mine: Array, other: Array | None = None) -> Array:
    """Return which boxes (n, 6) overlap which others, or each other, as pairs (m, 2)."""
    boxes = mine if other is None else other
    if not len(mine) or not len(boxes):
        return np.zeros((0, 2), np.int64)
    wide = (boxes[:, 3:] - boxes[:, :3]).max(axis=1)
    cell = float(max(wide.mean(), wide.max() / LARGEST))
    start = np.zeros((1 << int(2 * len(boxes)).bit_length()) + 1, np.int64)
    item = np.zeros(12 * len(boxes), np.int32)
    many = box_pairs.list_boxes(boxes, cell, start, item)
    if many > len(item):
        item = np.zeros(many, np.int32)
        box_pairs.list_boxes(boxes, cell, start, item)
    first, none = np.zeros(len(mine) + 1, np.int64), np.zeros((0, 2), np.int64)
    given = mine, boxes, other is None, cell, start, item
    box_pairs.overlaps(*given, first, none, False)
    first = np.cumsum(first)
    found = np.empty((int(first[-1]), 2), np.int64)
    box_pairs.overlaps(*given, first, found, True)
    return found


class Meetings:
    """Pairs of one kind (vertices and faces, or edges and edges): those near, and the rows of them.

    keys (near,), rising, with side and normal of each pair that is near; who (rows, 4): vertices.
    """

    def __init__(self) -> None:
        self.keys: Array = np.zeros(0, np.int64)
        self.side: Array = np.zeros(0, np.int8)
        self.normal: Array = np.zeros((0, 3))
        self._forget_rows()

    def _forget_rows(self) -> None:
        self.row_keys: Array = np.zeros(0, np.int64)
        self.who: Array = np.zeros((0, 4), np.int64)
        self.out: Array = np.zeros((0, at.WIDTH))

    def look(
        self, pairs: Array, first: Array, second: Array, tables: tuple[Any, ...], least: float
    ) -> None:
        """Keep the near ones of `pairs`, with their sides, and choose which become rows."""
        keys = pairs[:, 0] * HIGH + pairs[:, 1]
        place, known = _among(self.keys, keys)
        side, out = np.zeros(len(pairs), np.int8), np.zeros((len(pairs), at.WIDTH))
        side[known] = self.side[place[known]]
        out[known, at.N : at.N + 3] = self.normal[place[known]]
        at.meet(pairs, first, second, side, *tables, out)
        near = np.flatnonzero(side)
        near = near[np.argsort(keys[near])]
        self.keys, self.side, pairs, out = keys[near], side[near], pairs[near], out[near]
        self.normal = out[:, at.N : at.N + 3].copy()
        rows = np.flatnonzero(out[:, at.SOON] <= least)
        if first.shape[1] == 1:  # edges take all: what holds one may not hold its other end
            rows = _nearest(rows, pairs, out)
        self.row_keys, self.out, pairs = self.keys[rows], out[rows], pairs[rows]
        self.who = np.concatenate([first[pairs[:, 0]], second[pairs[:, 1]]], axis=1)

    def state(self) -> dict[str, Array]:
        """Return what the next step starts from."""
        return {name: getattr(self, name).copy() for name in ("keys", "side", "normal")}

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        self.keys, self.side = np.array(state["keys"], np.int64), np.array(state["side"], np.int8)
        self.normal = np.array(state["normal"], float)
        self._forget_rows()


def _among(known: Array, keys: Array) -> tuple[Array, Array]:
    """Return the places of keys in `known`, which rises, and whether they are there."""
    if not len(known):
        return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return place, known[place] == keys


def _nearest(rows: Array, pairs: Array, out: Array) -> Array:
    """Leave out faces that lie behind or beside the one that a vertex meets first."""
    order = rows[np.lexsort((out[rows, at.SOON], pairs[rows, 0]))]
    keep = np.zeros(len(order), np.int64)
    return np.sort(keep[: thin(order, pairs[:, 0], out[:, at.N : at.N + 3], keep)])


class SelfRows:
    """All cloth of a world that meets itself, seen as one mesh.

    `detect` finds rows for velocities as they are before anything is solved. As links may jerk the
    cloth far from these, a solver asks `missed` afterwards, and solves again with what that added.
    """

    def __init__(self) -> None:
        self.kinds = Meetings(), Meetings()  # vertices and faces, edges and edges
        self.active = False
        self.cloths: list[Cloth] = []

    def prepare(self, cloths: list[Cloth], base: Array) -> None:
        """Gather the meshes; base: first particle of each cloth."""
        who = [(c, int(b)) for c, b in zip(cloths, base, strict=False) if c.self_collision]
        before, self.cloths = self.cloths, [cloth for cloth, _ in who]
        if self.cloths[: len(before)] != before:  # numbers of vertices mean others now
            self.kinds = Meetings(), Meetings()
        self.active = bool(who)
        if not who:
            return
        many = [len(c.position) for c in self.cloths]
        start = np.cumsum([0, *many])
        self.where = np.concatenate([b + np.arange(len(c.position)) for c, b in who])
        self.faces = np.concatenate([c.faces + start[k] for k, c in enumerate(self.cloths)])
        sides = np.concatenate([self.faces[:, k] for k in ([0, 1], [1, 2], [2, 0])])
        self.edges = np.unique(np.sort(sides, axis=1), axis=0)
        self.shape = np.concatenate([c.shape for c in self.cloths])
        self.owner = np.repeat(np.arange(len(many)), many)
        self.mu = np.repeat([c.self_friction for c in self.cloths], many)
        self.thick = np.repeat([c.self_thickness for c in self.cloths], many)
        self.widest = float(self.thick.max())

    def detect(self, x: Array, v: Array, first: int, h: float) -> None:
        """Find what is near on the way of the coming h; particles of cloth begin at `first`."""
        if not self.active:
            return
        self.here, free = (a[first + self.where, :3].astype(float) for a in (x, v))
        self.fast, self.h = free[None], h
        self._look()

    def _look(self) -> None:
        """Find what is near on any of the ways in `fast` (k, n, 3), m/s."""
        here, ahead = self.here, self.here + self.h * self.fast
        bad = np.flatnonzero(~np.isfinite(ahead).all(axis=(0, 2)))
        if bad.size:
            name = self.cloths[self.owner[bad[0]]].name
            raise SimulationError(f"cloth {name!r}: a vertex became non-finite; try a smaller dt")
        reach = 0.5 * (self.thick[:, None] + MARGIN * self.widest)
        low, high = np.minimum(here, ahead.min(axis=0)), np.maximum(here, ahead.max(axis=0))
        box = np.concatenate([low - reach, high + reach], axis=1)
        dots, faces, edges = np.arange(len(here))[:, None], self.faces, self.edges
        tables = here, self.fast, self.shape, self.owner, self.thick, self.h, MARGIN * self.widest
        least = READY * self.widest
        self.kinds[0].look(find_pairs(box, _around(box, faces)), dots, faces, tables, least)
        self.kinds[1].look(find_pairs(_around(box, edges)), edges, edges, tables, least)

    def missed(self, v: Array, first: int) -> bool:
        """Whether velocities that solving came to lead through what is no row; now it is one."""
        if not self.active or len(self.fast) > MOST_ROUNDS:
            return False
        came = v[first + self.where, :3].astype(float)
        free = self.fast[0]
        part = (came * free).sum(axis=1) / np.maximum((free * free).sum(axis=1), 1e-300)
        aside = came - np.clip(part, 0.0, 1.0)[:, None] * free  # from all that was expected
        if self.h * np.sqrt((aside**2).sum(axis=1).max()) < 0.5 * READY * self.widest:
            return False
        before = [kind.row_keys for kind in self.kinds]
        self.fast = np.concatenate([self.fast, came[None]])
        self._look()
        for kind, old in zip(self.kinds, before, strict=True):
            fresh = ~_among(old, kind.row_keys)[1]
            if (kind.out[fresh, at.SOON] < -MISSED * self.widest).any():
                return True
        return False

    @property
    def count(self) -> int:
        """Number of rows."""
        return sum(len(kind.who) for kind in self.kinds) if self.active else 0

    def fill(self, rows: Rows, first: int, place: int, law: Array) -> list[Unit]:
        """Write the rows from `place` of those with four particles on; they start from nothing.

        As for links: normals turn too fast, and last impulses made sheets that fold jump.
        """
        if not self.count:
            return []
        who = np.concatenate([kind.who for kind in self.kinds])
        out = np.concatenate([kind.out for kind in self.kinds])
        quads = slice(place, place + len(who))
        here = slice(rows.qbase + place, rows.qbase + place + len(who))
        row, particle = rows.row[here], first + self.where[who]
        rows.ends[here, 0] = particle[:, 0]
        rows.quad[quads], rows.coef[quads] = particle, out[:, : at.N]
        gap = np.maximum(out[:, at.GAP], -RECOVER * self.thick[who[:, 0]])
        if law[vts_contacts.BENT] == 0:  # an open gap may close in full
            gap *= np.where(gap < 0.0, law[vts_contacts.GAMMA], 1.0) / law[vts_contacts.DT]
        row[:] = 0
        row[:, :3], row[:, 3] = out[:, at.N : at.N + 3], gap
        row[:, 6] = 0.5 * (self.mu[who[:, 0]] + self.mu[who[:, 2]])
        row[:, 11] = 1.0
        rows.imp[here] = 0
        return [Unit([(FACE, here.start, here.stop)], first, rows.n)]

    def state(self) -> list[dict[str, Array]]:
        """Return what a bit-for-bit restart needs."""
        return [kind.state() for kind in self.kinds]

    def restore(self, state: list[dict[str, Any]]) -> None:
        """Put a state back."""
        for kind, one in zip(self.kinds, state, strict=True):
            kind.restore(one)


def _around(box: Array, parts: Array) -> Array:
    """Return boxes about the boxes of all vertices of faces or edges."""
    low = np.minimum.reduce([box[parts[:, k], :3] for k in range(parts.shape[1])])
    high = np.maximum.reduce([box[parts[:, k], 3:] for k in range(parts.shape[1])])
    return np.concatenate([low, high], axis=1)
