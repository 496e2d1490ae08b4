"""Tools: bodies around which ground becomes grains; points on them, now and soon."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.bodies import Body
from berm.core.errors import InputError
from berm.core.motion import rotation_about
from berm.core.shapes import Box, Mesh

Array = npt.NDArray[np.float64]

AHEAD = (0.0, 0.1, 0.2)  # s: where points of tools are asked for
COARSE = 2.0  # grain radii between points that ask for a zone
FINE = 0.7  # ... and, inside of a box too, that keep new grains out of the tool
# How far beside and below a tool the zone goes, so that it feels what a whole bed of grains does to
# within 10 % (measured, docs/theory/terrain.md):
BUCKET = (0.9, 0.3)  # m: reach and depth for a mesh
BLADE = (0.6, 0.15)  # m: at least, for a box
THICK = 4.0  # grain radii: no zone is shallower
BEARING = 0.75  # of the smaller width of a face that presses down: so deep is the zone below it


@dataclass(frozen=True, eq=False)
class Probe:
    """A body that digs: points of its surface in its frame, and how far the zone goes around them.

    reach, depth (m): None: what its shape needs as it stands.
    """

    body: Body
    grain: float
    reach: float | None = None
    depth: float | None = None
    coarse: Array = field(init=False)
    fine: Array = field(init=False)

    def __post_init__(self) -> None:
        what, shape = f"tool {self.body.name!r}", self.body.shape
        if not isinstance(shape, Box | Mesh):
            raise InputError(f"{what}: shape", type(shape).__name__, "Box or Mesh")
        for name in ("reach", "depth"):
            value = getattr(self, name)
            if value is not None:
                checks.number(f"{what}: {name}", value, "above 0 m", lambda x: 0.0 < x < math.inf)
        object.__setattr__(self, "coarse", surface_points(shape, COARSE * self.grain))
        object.__setattr__(self, "fine", surface_points(shape, FINE * self.grain, inside=True))

    def margins(self) -> tuple[float, float]:
        """Reach and depth (m) of the zone around the tool as it stands now."""
        reach, depth = BUCKET
        if isinstance(self.body.shape, Box):
            upright = int(np.abs(self.body.rotation[2]).argmax())
            width = min(size for axis, size in enumerate(self.body.shape.size) if axis != upright)
            depth = max(BLADE[1], BEARING * width)
            reach = max(BLADE[0], 2.0 * depth)
        depth = max(depth, THICK * self.grain)
        return self.reach or max(reach, depth), self.depth or depth

    def points(self, local: Array, ahead: float = 0.0) -> Array:
        """Points (k, 3) m in the world, if the body goes on for `ahead` (s) as it does now."""
        body = self.body
        here = local @ body.rotation.T
        speed = float(np.linalg.norm(body.angular_velocity))
        if ahead * speed > 0.0:
            here = here @ rotation_about(body.angular_velocity, ahead * speed).T
        moved: Array = body.position + ahead * body.velocity + here
        return moved


def surface_points(shape: Box | Mesh, spacing: float, inside: bool = False) -> Array:
    """Points on a shape's surface, none farther than about `spacing` (m) from the next.

    inside: of a box also those within it; a mesh is a thin one.
    """
    if isinstance(shape, Box):
        axes = [np.linspace(-s / 2, s / 2, max(2, math.ceil(s / spacing) + 1)) for s in shape.size]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
        if inside:
            return np.asarray(grid)
        outer = (np.abs(grid) >= np.array(shape.size) / 2 - 1e-12).any(axis=1)
        return np.asarray(grid[outer])
    found = []
    for a, b, c in shape.vertices[shape.faces]:
        edges = max(float(np.linalg.norm(p)) for p in (b - a, c - b, a - c))
        n = max(1, math.ceil(edges / spacing))
        i, j = np.mgrid[0 : n + 1, 0 : n + 1]
        keep = i + j <= n
        u, w = i[keep] / n, j[keep] / n
        found.append(a + u[:, None] * (b - a) + w[:, None] * (c - a))
    points = np.concatenate(found)
    _, first = np.unique(np.round(points / (0.5 * spacing)), axis=0, return_index=True)
    return np.asarray(points[np.sort(first)])


def sampled(tools: list[Probe], ahead: tuple[float, ...] = AHEAD) -> tuple[Array, Array, Array]:
    """Points (k, 3) of all tools, now and soon, with reach (k,) and depth (k,)."""
    points, margins = [np.zeros((0, 3))], [np.zeros((0, 2))]
    for tool in tools:
        for t in ahead:
            points.append(tool.points(tool.coarse, t))
            margins.append(np.tile(tool.margins(), (len(points[-1]), 1)))
    reach, depth = np.ascontiguousarray(np.concatenate(margins).T)
    return np.concatenate(points), reach, depth
