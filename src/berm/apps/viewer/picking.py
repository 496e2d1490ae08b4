"""Which grain is under the pointer, and what is known of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.apps.viewer.protocol import Pick
from berm.stage.stage import Moment, Stage

Array = NDArray[Any]


def pick(stage: Stage, moment: Moment, asked: Pick) -> dict[str, Any]:
    """Return the message about the grain that was asked for; its tag is null if there is none."""
    row = row_of_tag(moment, asked.tag) if asked.tag is not None else row_on_ray(moment, asked)
    if row is None:
        return {"type": "picked", "tag": None, "asked": asked.tag, "time": moment.time}
    velocity = moment.velocity[row] if moment.velocity is not None else None
    index = int(moment.material[row])
    material = stage.materials[index] if index < len(stage.materials) else None
    radius = float(moment.radius[row])
    density = material.density if material is not None else None
    return {
        "type": "picked",
        "tag": int(moment.tag[row]),
        "position": moment.position[row],
        "velocity": velocity,
        "speed": None if velocity is None else float(np.linalg.norm(velocity)),
        "radius": radius,
        "mass": None if density is None else density * 4.0 / 3.0 * math.pi * radius**3,
        "material": material.name if material is not None else "",
        "overlap": _value(moment.overlap, row),
        "force": _value(moment.force, row),
        "age": _value(moment.age, row),
        "time": moment.time,
    }


def row_of_tag(moment: Moment, tag: int) -> int | None:
    """Return the row of the grain with this tag."""
    found = np.flatnonzero(moment.tag == tag)
    return int(found[0]) if found.size else None


def row_on_ray(moment: Moment, asked: Pick) -> int | None:
    """Return the row of the first grain that the ray meets from outside or inside."""
    if not len(moment):
        return None
    direction = np.asarray(asked.direction, float)
    direction /= np.linalg.norm(direction)
    away = moment.position - np.asarray(asked.origin, float)
    along = away @ direction
    apart2 = np.einsum("ij,ij->i", away, away) - along**2  # squared distance from the line
    reach2 = moment.radius.astype(float) ** 2 - apart2
    with np.errstate(invalid="ignore"):
        half = np.sqrt(reach2)
    near, far = along - half, along + half
    hit = (reach2 >= 0.0) & (far >= 0.0)
    if not hit.any():
        return None
    entry = np.where(hit, np.maximum(near, 0.0), np.inf)
    return int(np.argmin(entry))


def _value(column: Array | None, row: int) -> float | None:
    return None if column is None else float(column[row])
