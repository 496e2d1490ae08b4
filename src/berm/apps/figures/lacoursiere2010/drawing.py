"""Rocks from the side, coloured by what they are merged into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from berm.core.shapes import Spheres

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from berm.world.world import World

INK, FREE, GROUND = "#2b2b2b", (1.0, 1.0, 1.0), (0.62, 0.56, 0.48)


def spheres_of(world: World) -> Any:
    """Return (n, 6) of all spheres of bodies: centre, radius, row and super-body of the body."""
    found = []
    for body in world.bodies:
        if isinstance(body.shape, Spheres) and body.dynamic:
            centres = body.position + body.shape.centres @ body.rotation.T
            row = body.row
            told = np.tile([row, world.bodies.super_body[row]], (len(centres), 1))
            found.append(np.column_stack([centres, body.shape.radii, told]))
    return np.vstack(found) if found else np.zeros((0, 6))


def tint(group: float) -> tuple[float, float, float]:
    """Colour of a super-body: white alone, of the ground, or one of its own."""
    from matplotlib.colors import hsv_to_rgb

    if group <= 0:
        return FREE if group < 0 else GROUND
    red, green, blue = hsv_to_rgb(((0.618034 * group) % 1.0, 0.55, 0.9))
    return float(red), float(green), float(blue)


def draw_rocks(ax: Axes, spheres: Any, lines: float = 0.012) -> None:
    """Draw from the side, far rocks first; an outline of `lines` (m) round each whole rock."""
    from matplotlib.collections import EllipseCollection

    rows = np.unique(spheres[:, 4])
    depth = {row: spheres[spheres[:, 4] == row, 1].mean() for row in rows}
    for layer, row in enumerate(sorted(rows, key=lambda row: -depth[row])):
        s = spheres[spheres[:, 4] == row]
        for grown, colour in ((lines, INK), (0.0, tint(float(s[0, 5])))):
            wide = 2.0 * (s[:, 3] + grown)
            ax.add_collection(
                EllipseCollection(
                    wide, wide, np.zeros(len(s)), units="xy", offsets=s[:, [0, 2]],
                    offset_transform=ax.transData, facecolors=[colour], linewidths=0.0,
                    zorder=2 + 1e-4 * layer,
                )
            )  # fmt: skip
    ax.set_aspect("equal")
    ax.axis("off")
