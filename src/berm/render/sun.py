"""The sun's parallel view of a stage, for its shadows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.render.camera import up_of
from berm.stage.colours import SUN
from berm.stage.stage import Stage

Array = NDArray[Any]

ROOM = 1.25  # of the bounds: what is a little outside has shadows, too


class Sun:
    """Directions (unit) and matrices (4, 4) of the sun's depth map of `pixels` each way.

    clip: world to the sun's clip space; map: world to 0..1; texel: size of a pixel of the map, m.
    """

    def __init__(self, stage: Stage, pixels: int) -> None:
        up = up_of(stage)
        tilt = np.array(SUN) / np.linalg.norm(SUN)
        # the sun stands as high over a tilted world as over a level one
        self.direction: Array = tilt if up[2] > 0.999 else _turn_to(up) @ tilt
        right = np.cross(up, self.direction)
        self.right: Array = right / np.linalg.norm(right)
        self.above: Array = np.cross(self.direction, self.right)
        axes = np.array([self.right, self.above, -self.direction])
        low, high = stage.bounds
        half = 0.5 * ROOM * (np.abs(axes) @ (high - low))
        self.texel = 2.0 * float(max(half[:2])) / pixels
        # in depth far more: what stands before casts a shadow, what lies behind gets one
        half[2] += 2.0 * float(np.linalg.norm(high - low))
        self.clip: Array = np.eye(4)
        self.clip[:3, :3] = axes / half[:, None]
        self.clip[:3, 3] = -(axes @ (0.5 * (low + high))) / half
        to_unit = np.diag([0.5, 0.5, 0.5, 1.0])
        to_unit[:3, 3] = 0.5
        self.map: Array = to_unit @ self.clip


def _turn_to(up: Array) -> Array:
    """Return a rotation that takes +z to `up`."""
    axis = np.cross([0.0, 0.0, 1.0], up)
    sine, cosine = float(np.linalg.norm(axis)), float(up[2])
    if sine < 1e-9:
        return np.diag([1.0, -1.0, -1.0])
    x, y, z = axis / sine
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + sine * cross + (1 - cosine) * cross @ cross)
