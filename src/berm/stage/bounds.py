"""What is worth looking at: a box around grains and bodies from which strays are left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from berm.core.shapes import Box, HeightField, Plane, Shape
from berm.io.recording import Recording
from berm.stage.meshes import triangles
from berm.world.world import World

Array = NDArray[Any]

STRAY = 0.5  # percent of the grains that may lie outside at each end of an axis
FEW = 200  # grains up to which none counts as a stray
SAMPLES = 12  # frames of a recording that are looked at
LARGE = 4.0  # a solid this many times larger than the grains is scenery
WIDE = 2.2  # and so is a container
LONG = 1.5  # ratio of the horizontal edges from which on one looks along the shorter one
SLOPE = math.tan(math.radians(35.0))  # of the heap that an emitter will pour
PACKED = 0.6  # packing fraction of that heap


def of_grains(position: Array, radius: Array) -> Array | None:
    """Return low and high corner (2, 3) of grains at (n, 3) with radii (n,), or None for none."""
    where, size = np.asarray(position, float), np.asarray(radius, float)[:, None]
    keep = np.isfinite(where).all(axis=1)
    where, size = where[keep], size[keep]
    if not len(where):
        return None
    low, high = where - size, where + size
    if len(where) <= FEW:
        return np.array([low.min(axis=0), high.max(axis=0)])
    return np.array([np.percentile(low, STRAY, axis=0), np.percentile(high, 100.0 - STRAY, axis=0)])


def of_recording(recording: Recording) -> Array | None:
    """Return the box of the grains and cloths over the whole recording."""
    count, sheets = len(recording), None
    positions, radii = [np.zeros((0, 3))], [np.zeros(0)]
    for k in np.unique(np.linspace(0, count - 1, SAMPLES).round().astype(int)) if count else ():
        frame = recording.frame(int(k))
        positions.append(frame.position)
        radii.append(frame.radius)
        for vertices in frame.cloths.values():
            sheets = join(sheets, _of_points(vertices))
    return join(of_grains(np.vstack(positions), np.concatenate(radii)), sheets)


def of_emitters(world: World) -> Array | None:
    """Return the box of the spouts, and of the heaps that they will pour on a level plane."""
    box: Array | None = None
    for emitter in world.emitters:
        if world.time >= emitter.stop or emitter.poured >= (emitter.total or math.inf):
            continue  # has done its work
        place = np.asarray(emitter.position, float)
        reach = float(np.max(emitter.size))
        box = join(box, np.array([place - reach, place + reach]))
        below = [floor for floor in _floors(world) if floor <= place[2]]
        if not below:
            continue
        fall = place[2] - max(below)
        wide = fall
        if emitter.total is not None:
            radius = float(np.mean(emitter.radius))
            volume = emitter.total * 4 / 3 * math.pi * radius**3 / PACKED
            wide = (3.0 * volume / (math.pi * SLOPE)) ** (1.0 / 3.0)  # V = pi R^3 tan / 3
        foot = np.array([place[0], place[1], max(below)])
        spread = np.array([wide, wide, 0.0])
        box = join(box, np.array([foot - spread, foot + spread]))
    return box


def of_cloths(world: World) -> Array | None:
    """Return the box of the cloths, and of where they hang when they have sunk.

    A vertex sinks no farther than it is from the nearest pin, or in a cloth without pins, which
    may come to lie on something, from the middle; a level plane ends the fall.
    """
    box: Array | None = None
    for cloth in world.cloths:
        place = cloth.position[np.isfinite(cloth.position).all(axis=1)]
        if not len(place):
            continue
        held = cloth.position[cloth.inverse_mass == 0.0]
        held = held if len(held) else place.mean(axis=0, keepdims=True)
        sunk = place.copy()
        sunk[:, 2] -= cKDTree(held).query(place)[0]
        below = [floor for floor in _floors(world) if floor <= place[:, 2].min()]
        sunk[:, 2] = np.maximum(sunk[:, 2], max(below, default=-math.inf))
        box = join(box, _of_points(np.vstack([place, sunk])))
    return box


def _floors(world: World) -> list[float]:
    """Return the heights of level planes, m."""
    return [
        float(body.position[2])
        for body in world.bodies
        if isinstance(body.shape, Plane) and body.rotation[2, 2] > 0.999
    ]


def _of_points(points: Array) -> Array | None:
    good = np.asarray(points, float)
    good = good[np.isfinite(good).all(axis=1)]
    return np.array([good.min(axis=0), good.max(axis=0)]) if len(good) else None


def with_bodies(cloud: Array | None, bodies: Sequence[tuple[Shape, Array, Array]]) -> Array:
    """Return the box of grains and bodies; scenery far larger than the grains does not count."""
    box = cloud
    for shape, position, rotation in bodies:
        if isinstance(shape, Plane):
            if cloud is not None and box is not None and rotation[2, 2] > 0.999:
                box = box.copy()
                box[0, 2] = min(box[0, 2], float(position[2]))  # what falls will lie there
            continue
        if cloud is not None and isinstance(shape, HeightField):
            continue
        surface = triangles(shape, around=12)
        corners = surface.vertices.astype(float)
        if isinstance(shape, Box) and shape.open_top:
            corners = corners[corners[:, 2] < 0]  # its walls go up without end
        corners = corners @ np.asarray(rotation, float).T + np.asarray(position, float)
        own = np.array([corners.min(axis=0), corners.max(axis=0)])
        most = WIDE if surface.container else LARGE
        if cloud is not None and _size(own) > most * _size(cloud):
            continue
        box = join(box, own)
    if box is None:
        return np.array([[-0.5, -0.5, 0.0], [0.5, 0.5, 1.0]])
    least = 1e-6 + 0.02 * _size(box)
    thin = (box[1] - box[0]) < least
    middle = box.mean(axis=0)
    box = box.copy()
    box[0], box[1] = np.where(thin, middle - least, box[0]), np.where(thin, middle + least, box[1])
    return box


def join(a: Array | None, b: Array | None) -> Array | None:
    """Return the box around two boxes, of which either may be missing."""
    if a is None or b is None:
        return b if a is None else a
    return np.array([np.minimum(a[0], b[0]), np.maximum(a[1], b[1])])


def view_of(box: Array) -> tuple[float, float]:
    """Return azimuth and elevation (degrees) from which a box shows its long side.

    Azimuth 0 looks from +x, -90 from -y (with +x to the right).
    """
    x, y, _ = box[1] - box[0]
    if x > LONG * y:
        return -68.0, 22.0
    if y > LONG * x:
        return 22.0, 22.0
    return -60.0, 22.0


def _size(box: Array) -> float:
    return float(np.linalg.norm(box[1] - box[0]))
