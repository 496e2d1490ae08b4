"""Tools of the tier "fast": what their edge passes through is carried, pushed ahead, or spilled.

A tool is a profile, from its cutting edge to its lip, of some width. Soil above the way of the edge
leaves the columns; as much as the tool holds as it stands is carried, the rest lies loose ahead of
it. What it does not hold any more runs over the lower of edge and lip. Masses stay whole quanta.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from berm.kernels.jit import bare, inner, jit
from berm.kernels.terrain.columns import take
from berm.kernels.terrain.facing import AHEAD, FAR, THIN, section_forces
from berm.kernels.terrain.field import (
    REPOSE,
    SHEAR,
    blend,
    column,
    lay,
    loose_volume,
    soil_below,
    split,
    touch,
)
from berm.kernels.terrain.holding import MOST_CROSSED, held_section

SECTIONS = 4  # of a tool's width, each with its own depth
FLAT_BACK = 0.35  # sine: a floor that leads with its edge cuts, though it slopes up so much to it
UPRIGHT = 0.2  # of the lateral axis, level: a tool that lies on its side cuts nothing


class Tools(NamedTuple):
    """Tools (t rows).

    origin (t, 3), turn (t, 3, 3): pose now; points (t, p, 3), count (t,): profile in the body's
    frame; across, opens (t, 3): unit vectors along the edge, and out of the open side; width,
    thickness (of the edge), bite (part of its width that goes in first) (t,). State: ends (t, 2, 3)
    of the edge at the last step, held (t, K) kg, way (t,) -1 or 1: where it goes, along its level
    axis; slid (t, 2) m, ahead and down, over which resistance has grown.

    Written: cutting, prism, pressing (t, 3): forces on the tool, N; at (t, 3): where they act; room
    (t,) m^3 that it holds as it stands; deep (t,) m, of its edge in soil; load (t, 3): middle of
    what it can hold.
    """

    origin: Any
    turn: Any
    points: Any
    count: Any
    across: Any
    opens: Any
    width: Any
    thickness: Any
    bite: Any
    ends: Any
    held: Any
    way: Any
    slid: Any
    cutting: Any
    prism: Any
    pressing: Any
    at: Any
    room: Any
    deep: Any
    load: Any


@bare
def row_of(turn, k, v):
    """One component, in the world, of a vector of a body's frame."""
    return turn[k, 0] * v[0] + turn[k, 1] * v[1] + turn[k, 2] * v[2]


@bare
def foot(field, soils, x, y, dx, dy, reach):
    """The column where soil comes to rest that is pushed to a place and rolls on along (dx, dy)."""
    i, j = column(field, x, y)
    for step in range(1, FAR):
        a, b = column(field, x + step * reach * dx, y + step * reach * dy)
        k = soil_below(field, soils.shape[0], i, j, field.height[i, j])
        if field.height[i, j] - field.height[a, b] <= reach * soils[k, REPOSE]:
            break
        i, j = a, b
    return i, j


@inner
def sweep(field, soils, tools, t, edge, top, dx, dy, keeps, taken, part, covered, marks, changed):
    """Cut what the edge passed through since the last step; carry it, or lay it ahead.

    edge (2, 3): its ends now; top: above which nothing is moved (m); keeps: whether it goes into
    the tool. Columns at the edge are marked as covered.
    """
    before = tools.ends[t]
    wx, wy = edge[1, 0] - edge[0, 0], edge[1, 1] - edge[0, 1]
    wide = math.hypot(wx, wy)
    wx, wy = wx / wide, wy / wide
    reach = field.cell * (abs(dx) + abs(dy))
    low, high = np.inf, -np.inf
    left, right = np.inf, -np.inf
    for k in range(2):
        low = min(low, edge[k, 0], before[k, 0])
        high = max(high, edge[k, 0], before[k, 0])
        left = min(left, edge[k, 1], before[k, 1])
        right = max(right, edge[k, 1], before[k, 1])
    ny = field.height.shape[1]
    i0, j0 = column(field, low - reach, left - reach)
    i1, j1 = column(field, high + reach, right + reach)
    room = tools.room[t] - loose_volume(tools.held[t], soils)
    for i in range(i0, i1 + 1):
        x = field.x + i * field.cell
        for j in range(j0, j1 + 1):
            y = field.y + j * field.cell
            along = ((x - edge[0, 0]) * wx + (y - edge[0, 1]) * wy) / wide
            cover = min(max(0.5 + min(along, 1.0 - along) * wide / field.cell, 0.0), 1.0)
            if cover <= 0.0:
                continue
            now, was = 0.0, 0.0
            for k in range(2):
                share = along if k == 1 else 1.0 - along
                now += share * ((edge[k, 0] - x) * dx + (edge[k, 1] - y) * dy)
                was += share * ((before[k, 0] - x) * dx + (before[k, 1] - y) * dy)
            deep = edge[0, 2] + along * (edge[1, 2] - edge[0, 2]) - THIN < field.height[i, j]
            if deep and abs(now) < 0.75 * reach and not covered[i, j]:
                covered[i, j] = True
                marks[0] += 1
                marks[marks[0]] = i * ny + j
            done = min(max(0.5 + was / reach, 0.0), 1.0)
            fresh = min(max(0.5 + now / reach, 0.0), 1.0) - done
            if fresh <= 0.0:
                continue
            at = min(max(-was / (now - was), 0.0), 1.0)
            z = (1.0 - at) * (before[0, 2] + along * (before[1, 2] - before[0, 2]))
            z += at * (edge[0, 2] + along * (edge[1, 2] - edge[0, 2]))
            drop = (min(field.height[i, j], top) - z) * cover * fresh / (1.0 - cover * done)
            if drop <= 0.0:
                continue
            taken[:] = 0.0
            take(
                field.mass, field.volume, field.rock, field.height, field.of,
                field.cell * field.cell, i, j, drop, taken,
            )  # fmt: skip
            touch(field, i, j, changed)
            amount = loose_volume(taken, soils)
            if keeps and room > 0.0 and amount > 0.0:
                split(taken, room / amount, part)
                for k in range(part.shape[0]):
                    tools.held[t, k] += part[k]
                room -= min(room, amount)
            away = now + 0.8 * reach
            a, b = foot(field, soils, x + away * dx, y + away * dy, dx, dy, reach)
            lay(field, soils, taken, a, b)
            touch(field, a, b, changed)


@bare
def receiver(tools, edges, profiles, soils, t, x, y, z):
    """Another tool into whose open side falls what is let go at a place, or -1."""
    for u in range(tools.count.shape[0]):
        if u == t or tools.count[u] < 3:
            continue
        up = row_of(tools.turn[u], 2, tools.opens[u])
        if up < 0.3 or loose_volume(tools.held[u], soils) >= tools.room[u]:
            continue
        first, last = edges[u, 0], edges[u, 1]
        wx, wy = last[0] - first[0], last[1] - first[1]
        wide = math.hypot(wx, wy)
        if wide < UPRIGHT * tools.width[u]:
            continue
        wx, wy = wx / wide, wy / wide
        along = (x - first[0]) * wx + (y - first[1]) * wy
        s = (x - first[0]) * wy - (y - first[1]) * wx
        end = profiles[u, tools.count[u] - 1]
        if 0.0 <= along <= wide and min(0.0, end[0]) <= s <= max(0.0, end[0]):
            if z > min(profiles[u, 0, 1], end[1]) - 0.1:
                return u
    return -1


@inner
def spill(field, soils, tools, edges, profiles, t, part, rest, changed):
    """Let go what a tool does not hold any more: it falls at the lower of its edge and lip."""
    held = tools.held[t]
    amount = loose_volume(held, soils)
    if amount <= tools.room[t] or amount <= 0.0:
        return
    split(held, (amount - tools.room[t]) / amount, rest)
    last = tools.count[t] - 1
    end = 0 if profiles[t, 0, 1] <= profiles[t, last, 1] else last
    middle = 0.0
    for k in range(tools.count[t]):
        middle += profiles[t, k, 0] / tools.count[t]
    out = 1.0 if profiles[t, end, 0] > middle else -1.0
    first = edges[t, 0]
    wx, wy = edges[t, 1, 0] - first[0], edges[t, 1, 1] - first[1]
    wide = math.hypot(wx, wy)
    wx, wy = wx / max(wide, 1e-9), wy / max(wide, 1e-9)
    s = profiles[t, end, 0] + out * 0.6 * field.cell
    pieces = max(int(wide / field.cell), 1)
    for n in range(pieces):
        split(rest, 1.0 / (pieces - n), part)
        along = (n + 0.5) / pieces * wide
        x, y = first[0] + along * wx + s * wy, first[1] + along * wy - s * wx
        u = receiver(tools, edges, profiles, soils, t, x, y, profiles[t, end, 1])
        if u >= 0:
            for k in range(part.shape[0]):
                tools.held[u, k] += part[k]
        else:
            i, j = column(field, x, y)
            lay(field, soils, part, i, j)
            touch(field, i, j, changed)


@inner
def place(tools, t, edges, profile):
    """Write where the ends of a tool's edge are, and its profile in its upright plane (s, z).

    s is square to the edge, level: with the edge along (wx, wy), along (wy, -wx).
    """
    turn, origin = tools.turn[t], tools.origin[t]
    for c in range(3):
        middle = origin[c] + row_of(turn, c, tools.points[t, 0])
        half = 0.5 * tools.width[t] * row_of(turn, c, tools.across[t])
        edges[t, 0, c], edges[t, 1, c] = middle - half, middle + half
    ax, ay = row_of(turn, 0, tools.across[t]), row_of(turn, 1, tools.across[t])
    level = math.hypot(ax, ay)
    sx, sy = ay / max(level, 1e-9), -ax / max(level, 1e-9)
    for k in range(tools.count[t]):
        profile[k, 0] = 0.0
        for c, share in enumerate((sx, sy)):
            away = row_of(turn, c, tools.points[t, k]) - row_of(turn, c, tools.points[t, 0])
            profile[k, 0] += share * away
        profile[k, 1] = origin[2] + row_of(turn, 2, tools.points[t, k])
    return sx, sy, level


@bare
def rim(field, middle, sx, sy, end, other):
    """Height (m) over which soil runs at one end of a mouth: of that end, or of soil around it."""
    out = 1.0 if end[0] > other[0] else -1.0
    s = end[0] + out * AHEAD * field.cell
    return max(end[1], blend(field.height, field, middle[0] + s * sx, middle[1] + s * sy))


@inner
def resist(field, soils, tools, t, edge, dx, dy, rake, gravity):
    """Write the forces that a tool meets at full strength."""
    tools.cutting[t], tools.prism[t], tools.pressing[t] = 0.0, 0.0, 0.0
    width, deepest = tools.width[t] / SECTIONS, 0.0
    weight = 0.0
    tools.at[t] = 0.0
    for q in range(SECTIONS):
        p = edge[0] + (q + 0.5) / SECTIONS * (edge[1] - edge[0])
        ends = 1.0 if q == 0 or q == SECTIONS - 1 else 0.0
        ahead, up, ahead_pile, up_pile, down, deep = section_forces(
            field, soils, gravity, p[0], p[1], p[2], dx, dy, rake, width, tools.thickness[t],
            tools.bite[t], ends,
        )  # fmt: skip
        tools.cutting[t, 0] += ahead * dx
        tools.cutting[t, 1] += ahead * dy
        tools.cutting[t, 2] += up
        tools.prism[t, 0] += ahead_pile * dx
        tools.prism[t, 1] += ahead_pile * dy
        tools.prism[t, 2] += up_pile
        tools.pressing[t, 2] += down
        deepest = max(deepest, deep)
        size = abs(ahead + ahead_pile) + down
        tools.at[t] += size * p
        weight += size
    if weight > 0.0:
        tools.at[t] /= weight
    else:
        tools.at[t] = 0.5 * (edge[0] + edge[1])
    tools.at[t, 2] += deepest / 3.0  # earth pressure grows with depth
    return deepest


@jit
def dig(field, soils, tools, gravity, tangent, covered, marks, changed):
    """Let all tools dig and spill for a step.

    soils (K, 8): see `field`; tangent: of the angle at which what is held lies. covered
    (nx, ny) is true where an edge stands in the ground, as nothing slides through it; marks: how
    many these are, and their numbers. changed: as `touch` has it.
    """
    ny = field.height.shape[1]
    for k in range(1, marks[0] + 1):
        covered[marks[k] // ny, marks[k] % ny] = False
    marks[0] = 0
    changed[0], changed[1], changed[2] = 0, field.height.shape[0], 0
    changed[3], changed[4] = ny, 0
    number, most = tools.points.shape[0], tools.points.shape[1]
    edges, profiles = np.empty((number, 2, 3)), np.empty((number, most, 2))
    crossed, is_mouth = np.empty(MOST_CROSSED), np.empty(MOST_CROSSED, np.bool_)
    taken, part = np.empty(soils.shape[0]), np.empty(soils.shape[0])
    for t in range(number):
        sx, sy, level = place(tools, t, edges, profiles[t])
        middle = 0.5 * (edges[t, 0] + edges[t, 1])
        last = tools.count[t] - 1
        edge = rim(field, middle, sx, sy, profiles[t, 0], profiles[t, last])
        lip = rim(field, middle, sx, sy, profiles[t, last], profiles[t, 0])
        section, s, z = held_section(
            profiles[t], tools.count[t], edge, lip, tangent, crossed, is_mouth
        )
        tools.room[t] = section * tools.width[t]
        tools.load[t, 0], tools.load[t, 1] = middle[0] + s * sx, middle[1] + s * sy
        tools.load[t, 2] = z
    for t in range(number):
        sx, sy, level = place(tools, t, edges, profiles[t])
        tools.cutting[t], tools.prism[t], tools.pressing[t] = 0.0, 0.0, 0.0
        tools.deep[t] = 0.0
        if math.isnan(tools.ends[t, 0, 0]):  # it has just come
            tools.ends[t] = edges[t]
        if level >= UPRIGHT:
            moved = 0.5 * (edges[t, 0] + edges[t, 1] - tools.ends[t, 0] - tools.ends[t, 1])
            ahead = moved[0] * sx + moved[1] * sy
            way = tools.way[t]
            if abs(ahead) > 1e-9:
                way = 1.0 if ahead > 0.0 else -1.0
            if way != tools.way[t]:
                tools.slid[t, 0] = 0.0
            tools.way[t] = way
            face_s = (profiles[t, 1, 0] - profiles[t, 0, 0]) * way
            face_z = profiles[t, 1, 1] - profiles[t, 0, 1]
            long = math.hypot(face_s, face_z)
            open_s = sx * row_of(tools.turn[t], 0, tools.opens[t])
            open_s += sy * row_of(tools.turn[t], 1, tools.opens[t])
            open_z = row_of(tools.turn[t], 2, tools.opens[t])
            side = 1.0 if -face_z * open_s * way + face_s * open_z >= 0.0 else -1.0
            normal_s = -face_z * side / long  # of the face, into the open side
            front = normal_s > 0.0 or (face_s < 0.0 and normal_s > -FLAT_BACK)
            rake = math.atan2(max(face_z, 0.0), -face_s)
            deep = resist(field, soils, tools, t, edges[t], sx * way, sy * way, rake, gravity)
            tools.deep[t] = deep
            tools.slid[t, 0] = max(tools.slid[t, 0] + ahead * way, 0.0) if deep > 0.0 else 0.0
            tools.slid[t, 1] = max(tools.slid[t, 1] - moved[2], 0.0) if deep > 0.0 else 0.0
            i, j = column(field, tools.at[t, 0], tools.at[t, 1])
            k = soil_below(field, soils.shape[0], i, j, middle[2])
            shear = soils[k, SHEAR]
            grown = -math.expm1(-tools.slid[t, 0] / shear)
            tools.cutting[t] *= grown
            tools.prism[t] *= grown
            tools.pressing[t] *= -math.expm1(-tools.slid[t, 1] / shear)
            top = -np.inf
            for k in range(tools.count[t]):
                top = max(top, profiles[t, k, 1])
            sweep(
                field, soils, tools, t, edges[t], top, sx * way, sy * way, front, taken, part,
                covered, marks, changed,
            )  # fmt: skip
        spill(field, soils, tools, edges, profiles, t, part, taken, changed)
        tools.ends[t] = edges[t]
