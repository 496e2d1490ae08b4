"""Profiles of tools that dig: the line from the cutting edge to the lip, and how wide they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.errors import InputError
from berm.core.shapes import Box

Array = npt.NDArray[np.float64]
FLAT = 1e-6  # m: points of a profile that are so near to one plane are in it


@dataclass(frozen=True, eq=False)
class Profile:
    """The section of a bucket or blade, as the soil of the tier "fast" sees it.

    points (k, 3) m in the body's frame, in one plane: from the cutting edge over floor and back to
    the lip, or up a blade; they are the middle of `width` (m). opens (3,): where the open side
    looks, in the body's frame; None: from the shell to the mouth (a straight blade has to say).
    thickness (m) is that of the edge, bite the part of its width that enters first: of teeth.
    """

    points: npt.ArrayLike
    width: float
    opens: npt.ArrayLike | None = None
    thickness: float = 0.03
    bite: float = 1.0
    across: Array = field(init=False)

    def __post_init__(self) -> None:
        points = _points(self.points)
        checks.number("profile: width", self.width, "above 0 m", lambda x: 0.0 < x < math.inf)
        checks.number("profile: thickness", self.thickness, "a finite number from 0 m up",
                      lambda x: 0.0 <= x < math.inf)  # fmt: skip
        checks.number("profile: bite", self.bite, "above 0, at most 1", lambda x: 0.0 < x <= 1.0)
        mouth = points[-1] - points[0]
        if self.opens is None:
            opens = 0.5 * (points[0] + points[-1]) - points.mean(axis=0)
            if len(points) < 3 or np.linalg.norm(np.cross(opens, mouth)) < FLAT:
                raise InputError(
                    "profile: opens", None, "a direction, as the points are on a straight line"
                )
        else:
            opens = checks.vector("profile: opens", self.opens)
        along = mouth / np.linalg.norm(mouth)
        opens = opens - (opens @ along) * along
        if not np.linalg.norm(opens) > FLAT:
            raise InputError("profile: opens", self.opens, "a direction not along the mouth")
        across = np.cross(along, opens / np.linalg.norm(opens))
        off = np.abs((points - points[0]) @ across).max()
        if off > FLAT * max(1.0, float(np.linalg.norm(mouth))):
            raise InputError("profile: points", f"{off:.3g} m out of it", "points in one plane")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "opens", opens / np.linalg.norm(opens))
        object.__setattr__(self, "across", across)

    @classmethod
    def of_box(cls, box: Box) -> Profile:
        """The face of a box that looks along its thinnest level axis: a blade, z up."""
        x, y, z = (float(size) for size in box.size)
        if x <= y:
            face = [(0.5 * x, 0.0, -0.5 * z), (0.5 * x, 0.0, 0.5 * z)]
            return cls(face, y, opens=(1.0, 0.0, 0.0), thickness=x)
        face = [(0.0, 0.5 * y, -0.5 * z), (0.0, 0.5 * y, 0.5 * z)]
        return cls(face, x, opens=(0.0, 1.0, 0.0), thickness=y)


def _points(given: npt.ArrayLike) -> Array:
    """Points (k, 3), at least two, none twice in a row; edge and lip apart."""
    try:
        points = np.array(given, float)
    except (TypeError, ValueError):
        points = np.zeros(0)
    if points.ndim != 2 or points.shape[1:] != (3,) or len(points) < 2:
        raise InputError("profile: points", np.shape(points), "shape (k, 3) with k from 2 up")
    if not np.isfinite(points).all():
        raise InputError("profile: points", points.tolist(), "finite numbers, m")
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if steps.min() < FLAT or np.linalg.norm(points[-1] - points[0]) < FLAT:
        raise InputError("profile: points", points.tolist(), "points that are apart")
    return points
