"""Ground: the terrain as it is drawn, in the colours of its soils."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from berm.core.shapes import HeightField
from berm.io.ground import GroundFrame
from berm.stage.meshes import Triangles, triangles

if TYPE_CHECKING:
    from berm.stage.stage import StageMaterial
    from berm.world.terrain.terrain import Terrain

Array = NDArray[Any]

ROCK = (112, 110, 108)  # sRGB of ground that cannot be dug
FRESH = 0.05  # m of moved soil from which on it is drawn as such
DARKER = 0.72  # share of its colour that moved soil keeps
BELOW = 0.03  # of the longer edge: so far the sides of the block go below the lowest ground


@dataclass(frozen=True, eq=False)
class StageGround:
    """What does not change of a terrain: its body, grid, and the materials of its soils."""

    body: int
    cell: float  # m
    origin: tuple[float, float]  # x and y of the first node, m
    soils: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class GroundMoment:
    """The ground at one time: heights, loose (nx, ny) float32 m, soil (nx, ny) uint8 on top."""

    heights: Array
    loose: Array
    soil: Array


def moment_of_terrain(terrain: Terrain) -> GroundMoment:
    """Return the present ground, as copies."""
    seen = terrain.sight.look()
    return GroundMoment(seen.heights.copy(), seen.loose.copy(), seen.soil.copy())


def moment_of_frame(frame: GroundFrame) -> GroundMoment:
    """Return the ground of a recorded frame."""
    return GroundMoment(frame.heights, frame.loose, frame.soil)


def surface(ground: StageGround, heights: Array) -> Triangles:
    """Return the triangles of heights (nx, ny) m."""
    return triangles(HeightField(heights, ground.cell, ground.origin))


def rim(nx: int, ny: int) -> Array:
    """Return the nodes of the border, counted i ny + j, once around against the clock."""
    node = np.arange(nx * ny).reshape(nx, ny)
    return np.concatenate([node[:-1, 0], node[-1, :-1], node[:0:-1, -1], node[0, ::-1]])


def base(ground: StageGround, heights: Array) -> float:
    """Return where the sides of the block end that is drawn, m."""
    return float(heights.min()) - BELOW * ground.cell * max(heights.shape)


def block(ground: StageGround, heights: Array) -> tuple[Triangles, Array]:
    """Return the triangles of the ground with sides, so that nobody looks below it.

    Also the node (nv,) of each vertex.
    """
    top, edge = surface(ground, heights), rim(*heights.shape)
    k, count = np.arange(len(edge) - 1), len(edge)
    upper = top.vertices[edge]
    lower = upper.copy()
    lower[:, 2] = base(ground, heights)
    faces = np.vstack([
        np.column_stack([k, k + count, k + count + 1]), np.column_stack([k, k + count + 1, k + 1])
    ])  # fmt: skip
    along = np.roll(upper, -1, axis=0) - np.roll(upper, 1, axis=0)
    out = np.column_stack([along[:, 1], -along[:, 0], 0.0 * along[:, 0]])
    out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)
    made = Triangles(
        np.vstack([top.vertices, upper, lower]),
        np.vstack([top.normals, out, out]).astype(np.float32),
        np.vstack([top.faces, faces + len(top.vertices)]).astype(np.uint32),
        top.container,
    )
    return made, np.concatenate([np.arange(heights.size), edge, edge])


def colours(
    ground: StageGround, materials: tuple[StageMaterial, ...], soil: Array, loose: Array
) -> Array:
    """Return the sRGB bytes (nx, ny, 3) of columns: of the soil on top, darker where it was moved.

    soil, loose (nx, ny): as in a moment, or parts of them.
    """
    table = np.array([*(materials[k].colour for k in ground.soils), ROCK], np.float32)
    share = 1.0 - (1.0 - DARKER) * np.clip(loose / FRESH, 0.0, 1.0)
    shown = table[np.minimum(soil, len(table) - 1)] * share[..., None].astype(np.float32)
    return np.rint(shown).astype(np.uint8)
