"""Wheels and tracks that stand in soil: what it bears at their sinkage, and the ruts they leave.

A foot is a wheel, or a piece of a track (radius 0). What soil can bear, and with how much it can
hold a foot along and across its way, bounds what the solver may do; so nothing is thrown, and a
foot sinks until soil bears it. What was pressed stays pressed: it bears the same load again.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from berm.kernels.jit import bare, inner, jit
from berm.kernels.terrain.columns import settle_height, take
from berm.kernels.terrain.field import blend, column, lay, soil_below, touch
from berm.kernels.terrain.wheel import (
    DEEPEST,
    Ground,
    compaction_resistance,
    mean_shear,
    plate_pressure,
    rolling,
)

# columns of bearing (K, 10)
K_C, K_PHI, POWER, COHESION, FRICTION, SHEAR, SOLID, INDEX, BANK, PRESSED = range(10)
LOAD, ALONG, ACROSS, DRAG = range(4)  # what is bounded


class Feet(NamedTuple):
    """Feet (f rows).

    middle (f, 3): of the axle, or of the underside; ahead (f, 3): level unit vector; radius (0 of
    a track), length, width (f,) m; speed (f, 4): ahead, aside, of the rim or belt, and up, m/s.
    State: sunk (f,), slid (f, 2) m, ahead and aside. Written: most (f, 4) N: LOAD ... DRAG; rise
    (f,) m/s: how fast soil that is met anew, at the angle of the front, would lift it.
    """

    middle: Any
    ahead: Any
    radius: Any
    length: Any
    width: Any
    speed: Any
    sunk: Any
    slid: Any
    most: Any
    rise: Any


@bare
def bound(field, soils, bearing, feet, f, pressed, dt):
    """Write what soil can do to a foot; returns the height of its lowest point."""
    dx, dy = feet.ahead[f, 0], feet.ahead[f, 1]
    x, y = feet.middle[f, 0], feet.middle[f, 1]
    ahead, aside, belt = feet.speed[f, 0], feet.speed[f, 1], feet.speed[f, 2]
    way = 1.0 if ahead >= 0.0 else -1.0
    radius, width = feet.radius[f], feet.width[f]
    bottom = feet.middle[f, 2] - radius
    far = 0.5 * feet.length[f]
    if radius > 0.0:
        far = math.sqrt(2.0 * radius * max(feet.sunk[f], 0.0)) + 0.5 * field.cell
    fx, fy = x + way * far * dx, y + way * far * dy
    rx, ry = (fx, fy) if radius > 0.0 else (x, y)
    sunk = blend(field.height, field, rx, ry) + blend(pressed, field, rx, ry) - bottom
    fresh = blend(field.height, field, fx, fy) - bottom
    feet.sunk[f] = sunk
    feet.most[f], feet.rise[f] = 0.0, 0.0
    if sunk <= 0.0:
        feet.slid[f] = 0.0
        return bottom
    i, j = column(field, x, y)
    k = soil_below(field, soils.shape[0], i, j, bottom)
    b = bearing[k]
    ground = Ground(b[K_C], b[K_PHI], b[POWER], b[COHESION], b[FRICTION], b[SHEAR])
    before = min(max(sunk - fresh, 0.0), sunk)  # what was pressed by others
    drag = compaction_resistance(ground, width, sunk)
    drag -= compaction_resistance(ground, width, before)
    if radius > 0.0:
        theta = math.acos(max(1.0 - sunk / radius, math.cos(DEEPEST)))
        load, _, _, _ = rolling(ground, radius, width, theta, abs(ahead), 0.0, abs(ahead) / radius)
        long, steep = radius * theta, math.sin(theta)
    else:
        long, steep = feet.length[f], sunk / feet.length[f]
        load = plate_pressure(ground, min(width, long), sunk) * width * long
    kept = math.exp(-abs(belt) * dt / long)  # of what has slid, as the foot rolls on
    feet.slid[f, 0] = feet.slid[f, 0] * kept + abs(belt - ahead) * dt
    feet.slid[f, 1] = feet.slid[f, 1] * kept + abs(aside) * dt
    full = ground.cohesion * width * long + load * math.tan(ground.friction)
    feet.most[f, LOAD] = max(load, 0.0)
    feet.most[f, ALONG] = full * mean_shear(feet.slid[f, 0], ground.shear)
    feet.most[f, ACROSS] = full * mean_shear(feet.slid[f, 1], ground.shear)
    feet.most[f, DRAG] = max(drag, 0.0)
    feet.rise[f] = abs(ahead) * steep * min(max(fresh / sunk, 0.0), 1.0)
    up = feet.speed[f, 3]
    if 0.0 < up < feet.rise[f]:  # it meets the less anew, the faster it rises
        feet.most[f, LOAD] *= 1.0 - up / feet.rise[f]
    return bottom


@bare
def shrink(field, bearing, i, j, lower, pressure):
    """Press a column by up to `lower` (m), until its soil is as dense as under that pressure (Pa).

    Loose soil first, up to the density of the ground. Returns how much it went down.
    """
    layers, area = field.of.shape[0], field.cell * field.cell
    due = lower * area
    kinds = bearing.shape[0]
    bank = 0.0
    for k in range(kinds):
        bank += field.mass[layers + k, i, j] / bearing[k, BANK]
    give = min(max(field.volume[layers, i, j] - bank, 0.0), due)
    field.volume[layers, i, j] -= give
    due -= give
    for n in range(layers - 1, -1, -1):
        if field.volume[n, i, j] <= 0.0:
            continue
        b = bearing[field.of[n]]
        fall = b[INDEX] * math.log10(max(pressure, 1.0) / b[PRESSED])
        dense = b[SOLID] / max(b[SOLID] / b[BANK] - max(fall, 0.0), 1.0)
        give = min(max(field.volume[n, i, j] - field.mass[n, i, j] / dense, 0.0), due)
        field.volume[n, i, j] -= give
        due -= give
        break
    settle_height(field.volume, field.rock, field.height, area, i, j)
    return lower - due / area


@inner
def press(field, soils, bearing, feet, f, bottom, pressed, taken, changed):
    """Lower the columns below a foot to its underside: pressed denser, the rest put aside."""
    dx, dy = feet.ahead[f, 0], feet.ahead[f, 1]
    x, y, radius = feet.middle[f, 0], feet.middle[f, 1], feet.radius[f]
    half, wide = 0.5 * feet.length[f], 0.5 * feet.width[f]
    if radius > 0.0:
        half = math.sqrt(max(2.0 * radius * feet.sunk[f], 0.0))
    area = max(2.0 * half * feet.width[f], field.cell * field.cell)
    pressure = feet.most[f, LOAD] / area
    reach = half + wide + field.cell
    i0, j0 = column(field, x - reach, y - reach)
    i1, j1 = column(field, x + reach, y + reach)
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            ox, oy = field.x + i * field.cell - x, field.y + j * field.cell - y
            along, across = ox * dx + oy * dy, oy * dx - ox * dy
            if abs(along) > half or abs(across) > wide:
                continue
            under = bottom
            if radius > 0.0:
                under += radius - math.sqrt(max(radius * radius - along * along, 0.0))
            lower = field.height[i, j] - under
            if lower <= 0.0:
                continue
            went = shrink(field, bearing, i, j, lower, pressure)
            if lower - went > 1e-9:
                taken[:] = 0.0
                take(
                    field.mass, field.volume, field.rock, field.height, field.of,
                    field.cell * field.cell, i, j, lower - went, taken,
                )  # fmt: skip
                side = (wide - abs(across) + field.cell) * (1.0 if across >= 0.0 else -1.0)
                a, c = column(field, x + ox - side * dy, y + oy + side * dx)
                lay(field, soils, taken, a, c)
                touch(field, a, c, changed)
            pressed[i, j] += lower
            touch(field, i, j, changed)


@jit
def stand(field, soils, bearing, feet, pressed, dt, changed):
    """Bound what soil does to each foot, and press their ruts; changed: as `touch` has it."""
    taken = np.empty(soils.shape[0])
    changed[0], changed[1], changed[2] = 0, field.height.shape[0], 0
    changed[3], changed[4] = field.height.shape[1], 0
    for f in range(feet.radius.shape[0]):
        bottom = bound(field, soils, bearing, feet, f, pressed, dt)
        if feet.sunk[f] > 0.0:
            press(field, soils, bearing, feet, f, bottom, pressed, taken, changed)
