"""Side views of piles, for the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from berm.world.measure import Slope

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, ACCENT, SOIL = "#2b2b2b", "#c8402f", "#b08a57"
COLOURS = ("#3a6ea5", "#c8402f", "#5d8a4a", "#8a6bb0", "#c99a2e")


def draw_pile(ax: Axes, spheres: Any, slope: Slope, title: str, half: float, top: float) -> None:
    """Draw (n, 4) spheres from the side, far ones first, with the fitted slope on both flanks."""
    from matplotlib.collections import EllipseCollection

    order = np.argsort(-spheres[:, 1])
    s = spheres[order]
    near = (s[:, 1].max() - s[:, 1]) / max(float(np.ptp(s[:, 1])), 1e-9)
    shade = np.clip(0.55 + 0.45 * near, 0, 1)[:, None]
    colour = shade * np.array([0.72, 0.56, 0.35])
    ax.add_collection(
        EllipseCollection(
            2 * s[:, 3], 2 * s[:, 3], np.zeros(len(s)), units="xy", offsets=s[:, [0, 2]],
            offset_transform=ax.transData, facecolors=colour, edgecolors="#4a3524", linewidths=0.2,
        )
    )  # fmt: skip
    if np.isfinite(slope.degrees):
        reach = slope.distance[slope.used]
        middle = float(np.median(spheres[:, 0]))
        for side in (-1, 1):
            ax.plot(middle + side * reach, slope.line(reach), color=ACCENT, lw=1.5)
    ax.axhline(0, color=INK, lw=1)
    ax.set_xlim(-half, half)
    ax.set_ylim(-0.02, top)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(title, fontsize=10, color=INK, loc="left")
