"""Tools of machines: what cuts, what it holds, and what acts on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.bodies import DYNAMIC, Body
from berm.core.errors import InputError
from berm.core.profile import Profile
from berm.machines.meshes import area

if TYPE_CHECKING:
    from berm.machines.design import Part
    from berm.world.world import World

Array = npt.NDArray[np.float64]
SOURCES = ("grains", "bodies")
STILL = 1e-6  # m/s: an edge that is slower cuts nothing


@dataclass(frozen=True, eq=False)
class Tool:
    """A bucket, a blade or a bed: drawn like all of a design, in the machine's frame.

    body: its name; profile: what soil meets, corners (x, z) in m from the cutting edge to the other
    lip; width (m) inside. edge (x, z) of the teeth, None: the first corner of the profile; span (m)
    of the edge, None: width. slope: rise over run of the heap on the mouth. blade: soil lies before
    the mouth, not on it.
    """

    body: str
    profile: npt.ArrayLike
    width: float
    edge: npt.ArrayLike | None = None
    span: float | None = None
    slope: float = 1.0
    blade: bool = False

    def check(self, what: str) -> None:
        """Raise an InputError that says where it is wrong."""
        corners = np.asarray(self.profile, float)
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
            raise InputError(f"{what}: profile", self.profile, "three or more corners (x, z), m")
        for name in ("width", "slope"):
            value = getattr(self, name)
            checks.number(f"{what}: {name}", value, "above 0", lambda x: 0.0 < x < math.inf)
        if not self.struck_area > 0.0:
            raise InputError(f"{what}: profile", self.profile, "corners that enclose an area")

    # ---- its own frame: x along the plate at the edge, ahead; z square to it, inwards ------------

    @cached_property
    def corners(self) -> Array:
        """Corners (n, 2) of the profile in the machine's frame."""
        return np.asarray(self.profile, float)

    @cached_property
    def teeth(self) -> Array:
        """Middle of the cutting edge (3,) in the machine's frame."""
        x, z = self.corners[0] if self.edge is None else np.asarray(self.edge, float)
        return np.array([x, 0.0, z])

    @cached_property
    def axes(self) -> Array:
        """Rotation (3, 3) of its own frame in that of the machine."""
        ahead = self.corners[0] - self.corners[1]
        ahead /= np.linalg.norm(ahead)
        inward = np.array([-ahead[1], ahead[0]])
        if float((self.corners.mean(axis=0) - self.corners[0]) @ inward) < 0.0:
            inward = -inward
        x, z = np.array([ahead[0], 0.0, ahead[1]]), np.array([inward[0], 0.0, inward[1]])
        return np.column_stack([x, np.cross(z, x), z])

    @cached_property
    def shown(self) -> Array:
        """Corners (n, 2) of the profile in its own frame, (x, z)."""
        points = np.column_stack([self.corners[:, 0], np.zeros(len(self.corners)),
                                  self.corners[:, 1]])  # fmt: skip
        return np.asarray(((points - self.teeth) @ self.axes)[:, [0, 2]])

    # ---- capacity --------------------------------------------------------------------------------

    @property
    def mouth(self) -> float:
        """From the cutting edge to the other lip, m."""
        return float(np.linalg.norm(self.corners[-1] - self.corners[0]))

    @property
    def struck_area(self) -> float:
        """Of the profile below its mouth, m^2."""
        return area(self.corners)

    @property
    def struck(self) -> float:
        """Capacity (m^3) below the mouth."""
        return self.struck_area * self.width

    @property
    def heaped(self) -> float:
        """Capacity (m^3) with a heap.

        On a mouth: a hip roof of `slope` [SAE J296, with 1; J742 and J1363, with 0.5]. Before a
        blade of height H: 0.8 width H^2 [SAE J1265].
        """
        if self.blade:
            return 0.8 * self.width * self.mouth**2
        short, long = sorted((self.mouth, self.width))
        return self.struck + self.slope * short**2 * (0.25 * long - short / 12.0)

    @property
    def above(self) -> float:
        """How far (m) from the mouth soil still counts as held.

        As high as a heap of 1:1; before a blade as far as the prism of its capacity goes.
        """
        return 1.6 * self.mouth if self.blade else 0.5 * min(self.mouth, self.width)

    def holds(self, points: Array, above: float) -> npt.NDArray[np.bool_]:
        """Which points (n, 3) of its own frame are inside, or up to `above` (m) over its mouth."""
        x, z, aside = points[:, 0], points[:, 2], np.abs(points[:, 1])
        shape = self.shown
        along = shape[-1] - shape[0]
        along /= np.linalg.norm(along)
        over = np.array([-along[1], along[0]])
        if float((shape.mean(axis=0) - shape[0]) @ over) > 0.0:
            over = -over
        u = (x - shape[0, 0]) * along[0] + (z - shape[0, 1]) * along[1]
        v = (x - shape[0, 0]) * over[0] + (z - shape[0, 1]) * over[1]
        inside = (u >= 0.0) & (u <= self.mouth) & (v > 0.0) & (v <= above)
        crossings = np.zeros(len(points), np.int64)
        for (ax, az), (bx, bz) in zip(shape, np.roll(shape, -1, axis=0), strict=True):
            between = (az > z) != (bz > z)
            rise = bz - az if bz != az else 1.0
            crossings += between & (x < ax + (z - az) / rise * (bx - ax))
        return np.asarray((inside | (crossings % 2 == 1)) & (aside <= 0.5 * self.width))


class Implement:
    """A tool in a world: where it is, what it holds, what acts on it."""

    def __init__(self, world: World, tool: Tool, body: Body, teeth: Array, axes: Array) -> None:
        self.world, self.tool, self.body = world, tool, body
        self._teeth, self._axes = teeth, axes  # in the body's frame
        self._own = int(body.bodies.family[body.row])

    # ---- where it is -----------------------------------------------------------------------------

    @property
    def axes(self) -> Array:
        """Rotation (3, 3) of its own frame: x ahead along the plate at the edge, z inwards."""
        return np.asarray(self.body.rotation @ self._axes)

    @property
    def tip(self) -> Array:
        """Middle of the cutting edge (3,), m."""
        return np.asarray(self.body.position + self.body.rotation @ self._teeth)

    @property
    def edge(self) -> Array:
        """Both ends of the cutting edge (2, 3), m."""
        half = 0.5 * (self.tool.span or self.tool.width) * self.axes[:, 1]
        return np.array([self.tip - half, self.tip + half])

    @property
    def velocity(self) -> Array:
        """Of the middle of the edge (3,), m/s."""
        arm = self.body.rotation @ self._teeth
        return np.asarray(self.body.velocity + np.cross(self.body.angular_velocity, arm))

    @property
    def profile(self) -> Profile:
        """What soil of the tier "fast" meets: `Terrain.add_fast_tool(tool.body, tool.profile)`."""
        shown = self.tool.shown
        points = np.column_stack([shown[:, 0], np.zeros(len(shown)), shown[:, 1]])
        points[0] = 0.0  # the teeth
        return Profile(self._teeth + points @ self._axes.T, self.tool.width)

    def depth(self, ground: float) -> float:
        """How far (m) its edge is below a height (m); below 0: above it."""
        return ground - float(self.edge[:, 2].min())

    # ---- what it holds ---------------------------------------------------------------------------

    def inside(self, points: npt.ArrayLike, above: float = 0.0) -> npt.NDArray[np.bool_]:
        """Which points (n, 3) are in it, or at most `above` (m) over its mouth."""
        given = np.asarray(points, float).reshape(-1, 3)
        found = np.zeros(len(given), bool)
        size = float(np.abs(self.tool.shown).max()) + above + self.tool.width
        near = (np.abs(given - self.tip) < 2.0 * size).all(axis=1)
        found[near] = self.tool.holds((given[near] - self.tip) @ self.axes, above)
        return found

    @property
    def load(self) -> float:
        """Mass (kg) of grains and of free bodies whose middles are in it or on its mouth."""
        grains, bodies = self.world.grains, self.world.bodies
        found = 0.0
        if grains.n:
            here = self.inside(grains.position, self.tool.above)
            found += float(np.sum(grains.mass[here], dtype=np.float64))
        others = bodies.kind == DYNAMIC
        if self._own >= 0:
            others &= bodies.family != self._own
        if others.any():
            rows = np.flatnonzero(others)
            found += float(bodies.mass[rows[self.inside(bodies.x[rows], self.tool.above)]].sum())
        return found

    # ---- what acts on it -------------------------------------------------------------------------

    def force(self, *sources: str) -> Array:
        """Mean force (3,) on it over the last step, in its own frame, N.

        sources: "grains", "bodies", "joints"; none: grains and bodies, what it digs in.
        """
        total = sum(self.body.force_from(one) for one in sources or SOURCES)
        return np.asarray(self.axes.T @ total)

    def sensors(self) -> dict[str, float]:
        """Load (kg), and what soil and bodies do to it (N).

        cutting: against the way of its edge; penetration: against the plate at the edge; lift: on
        that plate from inside; side: along the edge.
        """
        force, velocity = self.force(), self.axes.T @ self.velocity
        ahead, side, inward = force.tolist()
        speed = float(np.linalg.norm(velocity))
        cutting = -float(force @ velocity) / speed if speed > STILL else 0.0
        return {"load": self.load, "cutting": cutting, "penetration": -ahead, "lift": -inward,
                "side": side}  # fmt: skip

    def __repr__(self) -> str:
        return f"Implement({self.body.name!r}, {self.tool.heaped:.2f} m^3 heaped)"


def of_design(world: World, tool: Tool, body: Body, part: Part) -> Implement:
    """A tool of a machine, on its body."""
    teeth = part.turn.T @ (tool.teeth - np.asarray(part.at, float))
    return Implement(world, tool, body, teeth, part.turn.T @ tool.axes)
