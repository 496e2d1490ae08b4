"""Clumps: rigid bodies made of spheres, by the ten thousand: a structure of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from berm.core.grains import Grains
from berm.core.rotations import turned
from berm.core.saved import TAGS, Facts, Saved

Array = npt.NDArray[Any]


ALL_TO_TOUCHING = 6.0  # spheres of a body, to those that touch at once: one face of a box


def shared(spheres: Any) -> Any:
    """Return how many contacts a body of so many spheres has at once, about.

    Each contact then sees that share of the mass, so that all of them together damp as one: with
    the whole mass in each, the bodies of [Bell05] 3.3 would be damped many times over.
    """
    return np.maximum(1.0, np.asarray(spheres) / ALL_TO_TOUCHING)


class Clumps:
    """Compound grains and covered bodies, [Bell05] 3.1 and 3.3; `n` of them, all float64.

    Packed, as kernels take them:
    x (n, 4)        centre of mass (m) and inverse mass (1/kg)
    v (n, 4)        velocity (m/s), any
    q (n, 4)        quaternion (w, x, y, z) of the principal axes
    L_own (n, 4)    angular momentum in the principal axes (kg m^2/s), longest arm of a sphere (m)
    moments (n, 4)  principal moments (kg m^2), any
    ref (n, 8)      centre (m) at the last search, square of the way that its list allows (m^2),
                    quaternion at the last search
    applied (n, 6)  force (N) and torque (N m) from outside that act in the coming step
    tag int64, stable; kind: number in `templates`; body: tag of the body that it covers, -1: none.
    The spheres of clump b are the grains with tags members[first[b]:first[b + 1]], at offset (3) in
    its frame; rows holds their present rows.
    """

    FIELDS = ("x", "v", "q", "L_own", "moments", "ref", "applied", "tag", "kind", "body")

    def __init__(self) -> None:
        self.n = 0
        self.next_tag = 0
        self.templates: list[Any] = []
        self.x: Array = np.zeros((0, 4))
        self.v: Array = np.zeros((0, 4))
        self.q: Array = np.zeros((0, 4))
        self.L_own: Array = np.zeros((0, 4))
        self.moments: Array = np.zeros((0, 4))
        self.ref: Array = np.zeros((0, 8))
        self.applied: Array = np.zeros((0, 6))
        self.tag: Array = np.zeros(0, np.int64)
        self.kind: Array = np.zeros(0, np.int32)
        self.body: Array = np.zeros(0, np.int64)
        self.first: Array = np.zeros(1, np.int64)
        self.members: Array = np.zeros(0, np.int64)
        self.offset: Array = np.zeros((0, 3))
        self.rows: Array = np.zeros(0, np.int64)

    @property
    def position(self) -> Array:
        """(n, 3) centres of mass, m: a view."""
        return self.x[:, :3]

    @property
    def velocity(self) -> Array:
        """(n, 3) velocities, m/s: a view."""
        return self.v[:, :3]

    @property
    def mass(self) -> Array:
        """(n,) masses, kg."""
        result: Array = 1.0 / self.x[:, 3]
        return result

    @property
    def angular_momentum(self) -> Array:
        """(n, 3) angular momenta about the centres, in the world's axes, kg m^2/s."""
        return turned(self.q, self.L_own[:, :3])

    @property
    def angular_velocity(self) -> Array:
        """(n, 3) angular velocities in the world's axes, rad/s."""
        return turned(self.q, self.L_own[:, :3] / self.moments[:, :3])

    def append(
        self,
        template: Any,
        position: Array,
        rotation: Array,
        velocity: Array,
        own_momentum: Array,
        density: float,
        members: Array,
    ) -> Array:
        """Add k clumps of one template, whose spheres have the tags members (k, spheres).

        rotation: quaternions (k, 4); own_momentum (k, 3): angular, in the principal axes.
        """
        k = len(position)
        if not any(template is known for known in self.templates):
            self.templates.append(template)
        kind = next(i for i, known in enumerate(self.templates) if template is known)
        mass = density * template.volume
        arm = float(np.linalg.norm(template.offsets, axis=1).max())
        moments = np.zeros((k, 4))
        moments[:, :3] = density * np.asarray(template.inertia)
        added = {
            "x": np.column_stack([position, np.full(k, 1.0 / mass)]),
            "v": np.column_stack([velocity, np.zeros(k)]),
            "q": rotation,
            "L_own": np.column_stack([own_momentum, np.full(k, arm)]),
            "moments": moments,
            "ref": np.zeros((k, 8)),
            "applied": np.zeros((k, 6)),
            "tag": np.arange(self.next_tag, self.next_tag + k),
            "kind": np.full(k, kind, np.int32),
            "body": np.full(k, -1),
        }
        for name, values in added.items():
            # one velocity for all is an array by columns; kernels take rows
            both = np.concatenate([getattr(self, name), values])
            setattr(self, name, np.ascontiguousarray(both))
        spheres = len(template.radii)
        self.first = np.concatenate([self.first, self.first[-1] + spheres * np.arange(1, k + 1)])
        self.members = np.concatenate([self.members, np.asarray(members).reshape(-1)])
        self.offset = np.concatenate([self.offset, np.tile(template.offsets, (k, 1))])
        self.n += k
        self.next_tag += k
        return self.tag[-k:].copy()

    def remove(self, gone: Array) -> None:
        """Remove the clumps where `gone` (n,) is true; the order of the rest stays."""
        keep = ~np.asarray(gone, bool)
        sizes = np.diff(self.first)
        spheres = np.repeat(keep, sizes)
        for name in self.FIELDS:
            setattr(self, name, getattr(self, name)[keep])
        self.members, self.offset = self.members[spheres], self.offset[spheres]
        self.first = np.concatenate([[0], np.cumsum(sizes[keep])]).astype(np.int64)
        self.n = int(keep.sum())

    def find_rows(self, grains: Grains) -> None:
        """Look up where the grains of all clumps stand now, and tell them whose they are."""
        self.rows = (
            grains.rows_of(self.members).astype(np.int64) if self.n else np.zeros(0, np.int64)
        )
        grains.owner[: grains.n] = -1
        grains.owner[self.rows] = np.repeat(np.arange(self.n), np.diff(self.first))

    def follow_rows(self, order: Array) -> None:
        """Take over that the grains have been sorted: row order[i] stands in row i now."""
        now = np.empty(len(order), np.int64)
        now[order] = np.arange(len(order))
        self.rows = now[self.rows]

    def row_of(self, tag: int) -> int | None:
        """Present number of the clump with this tag, None where it was removed."""
        at = int(np.searchsorted(self.tag, tag))
        return at if at < self.n and self.tag[at] == tag else None

    def state(self) -> dict[str, Any]:
        """Everything that a bit-for-bit restart needs."""
        names = (*self.FIELDS, "first", "members", "offset")
        return {name: getattr(self, name).copy() for name in names} | {"next_tag": self.next_tag}

    def check(self, saved: Saved, facts: Facts) -> int:
        """Refuse a state that cannot be put back beside these grains; return how many clumps."""
        next_tag = saved.whole("next_tag", 0, TAGS)
        tag = saved.array("tag", np.int64, (None,), 0, next_tag - 1)
        n = len(tag)
        if (np.diff(tag) <= 0).any():
            raise saved.refuse("tag", tag[:5].tolist(), "tags that rise")
        for name, width in (("v", 4), ("L_own", 4), ("ref", 8), ("applied", 6)):
            saved.array(name, np.float64, (n, width))
        x = saved.array("x", np.float64, (n, 4))
        moments = saved.array("moments", np.float64, (n, 4))
        q = saved.array("q", np.float64, (n, 4))
        if not ((x[:, 3] > 0).all() and (moments[:, :3] > 0).all()):
            raise saved.refuse("x, moments", "0 or less", "masses and moments above 0")
        if not (np.abs((q**2).sum(axis=1) - 1.0) < 1e-3).all():
            raise saved.refuse("q", "other lengths", "unit quaternions")
        body = saved.array("body", np.int64, (n,), -1)
        covers = body[body >= 0]
        if len(np.unique(covers)) != len(covers):
            raise saved.refuse("body", "the same twice", "each body covered once")
        first = saved.limits("first", n)
        offset = saved.array("offset", np.float64, (int(first[-1]), 3))
        arm = np.repeat(saved.get("L_own")[:, 3], np.diff(first))
        if (np.linalg.norm(offset, axis=1) > (1.0 + 1e-6) * arm).any():
            raise saved.refuse("offset", "beyond the longest arm", "spheres within it")
        members = saved.array("members", np.int64, (int(first[-1]),))
        if not np.isin(members, facts.tag).all() or len(np.unique(members)) != len(members):
            raise saved.refuse("members", "others", "tags of grains of this state, each once")
        kind = saved.array("kind", np.int32, (n,), 0, max(n - 1, len(self.templates) - 1))
        sizes, known = np.diff(first), np.full(int(kind.max(initial=-1)) + 1, 0)
        known[kind] = sizes
        if (sizes < 1).any() or (known[kind] != sizes).any():
            raise saved.refuse("first", "sizes that differ", "as many spheres in all of a kind")
        return n

    def restore(self, state: dict[str, Any]) -> None:
        """Put a state back; templates are those of the scene."""
        for name in (*self.FIELDS, "first", "members", "offset"):
            setattr(self, name, np.array(state[name]))
        self.n, self.next_tag = len(self.tag), int(state["next_tag"])
