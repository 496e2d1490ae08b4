"""What a piece of a cutting edge meets: ground to cut, a prism to push, rock."""

from __future__ import annotations

import math

from berm.kernels.jit import bare
from berm.kernels.terrain.cutting import (
    SHEARED,
    Cut,
    Strength,
    draft_without_pile,
    penetration,
    resistance,
)
from berm.kernels.terrain.field import (
    ADHESION,
    COHESION,
    DENSITY,
    FRICTION,
    LOOSE,
    REPOSE,
    TOOL,
    blend,
    column,
    outside,
    soil_below,
)

AHEAD = 1.5  # columns ahead of the edge, where its depth is taken: those nearer are cut already
FAR = 40  # columns: no pile is followed farther
THIN = 0.02  # m of loose soil that is no pile
STEEPEST = math.radians(40.0)  # ground ahead
ROCK = 2.0e7  # Pa: what rock bears before it breaks, which it never does here


@bare
def pile_ahead(field, x, y, dx, dy, floor):
    """Cross-section (m^2) of what lies ahead of a place and falls away, above `floor` (m).

    floor -inf: of loose soil. -1 where it goes on.
    """
    layers, area = field.of.shape[0], field.cell * field.cell
    total, before = 0.0, math.inf
    for step in range(FAR):
        away = (AHEAD + step) * field.cell
        i, j = column(field, x + away * dx, y + away * dy)
        thick = field.volume[layers, i, j] / area
        if floor > -math.inf:
            thick = field.height[i, j] - floor
        if thick < THIN or thick > before + THIN:
            return total
        total += thick * field.cell
        before = thick
    return -1.0


@bare
def section_forces(field, soils, gravity, x, y, z, dx, dy, rake, width, thickness, bite, ends):
    """What a piece of an edge at (x, y, z), going along (dx, dy), meets.

    Returns forces on it of cutting and of the prism (along dx dy, and up, N), of pressing it
    down (N), and its depth (m).
    """
    layers, area = field.of.shape[0], field.cell * field.cell
    px, py = x + AHEAD * field.cell * dx, y + AHEAD * field.cell * dy
    if outside(field, x, y) or outside(field, px, py):
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    deep = blend(field.height, field, px, py) - z
    i, j = column(field, px, py)
    block = width * max(field.rock[i, j] - z, 0.0) * ROCK
    i, j = column(field, x, y)
    here = blend(field.height, field, x, y) - z
    k = soil_below(field, soils.shape[0], i, j, z)
    s = soils[k]
    down = width * max(field.rock[i, j] - z, 0.0) * ROCK
    if max(deep, here) <= 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    ground = Strength(s[DENSITY], s[COHESION], s[FRICTION], s[TOOL], s[ADHESION])
    down += penetration(ground, thickness, bite * width, max(deep, here), gravity)
    if deep <= 0.0:
        return 0.0, 0.0, 0.0, 0.0, down, here
    loose = blend(field.volume[layers], field, px, py) / area
    far = max(3.0 * deep, 3.0 * field.cell)
    qx, qy = px + far * dx, py + far * dy
    rise = blend(field.height, field, qx, qy) - blend(field.height, field, px, py)
    firm = deep - loose
    pile, length, over = 0.0, 1.0, 0.0
    if firm > 0.0:
        rise -= blend(field.volume[layers], field, qx, qy) / area - loose
        if loose > THIN:
            section = pile_ahead(field, x, y, dx, dy, -math.inf)
            if section < 0.0:
                over = s[LOOSE] * gravity * loose
            else:
                pile, length = s[LOOSE] * gravity * section, 2.0 * section / loose
    else:
        firm = deep
        lean = math.atan(s[REPOSE])
        ground = Strength(s[LOOSE], 0.0, lean, min(s[TOOL], lean), 0.0)
    slope = min(max(math.atan(rise / far), -STEEPEST), STEEPEST)
    cut = Cut(firm * math.cos(slope), width, rake + slope, slope, 0.0, over, pile, length, SHEARED,
              ends)  # fmt: skip
    draft, lift, beta = resistance(ground, cut, gravity)
    alone, alone_lift = draft, lift
    if pile > 0.0:
        alone, alone_lift = draft_without_pile(ground, cut, gravity, beta)
    elif loose >= deep:  # a heap: it is pushed off as a whole where that is easier
        section = pile_ahead(field, x, y, dx, dy, z)
        if section >= 0.0:
            most = width * s[LOOSE] * gravity * section * s[REPOSE]
            if draft > most:
                alone, alone_lift, draft, lift = 0.0, 0.0, most, 0.0
    c, n = math.cos(slope), math.sin(slope)
    return (
        -(alone * c + alone_lift * n) - block, alone_lift * c - alone * n,
        -((draft - alone) * c + (lift - alone_lift) * n),
        (lift - alone_lift) * c - (draft - alone) * n,
        down, deep,
    )  # fmt: skip
