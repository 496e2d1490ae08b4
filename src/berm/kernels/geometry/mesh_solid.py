"""Solids of triangles: whether a point is in one, and how far from its surface.

A solid is a closed mesh, or ground: the mesh of a height field, solid below it and within its
edges. Of prm of a mesh, [1] is 1 for ground, and then [2:6] its least x, largest x, least y and
largest y (m). Its field is below 0 in cells whose centre, or the nearest point to it within the
edges, is below the ground. All other arrays are those of `mesh_grid`.
"""

from __future__ import annotations

import math

from berm.kernels.geometry.mesh_grid import (
    CUT,
    EMPTY,
    LOST,
    SOLID,
    box_gap,
    cell_of,
    mesh_bound,
    mesh_distance,
)
from berm.kernels.jit import inner


@inner
def has_inside(prm, frame, x, y):
    """Whether triangles near a point have a back: not those of a sheet, nor beside the ground."""
    if prm[1] == 0.0:
        return frame[4] != 0.0
    return prm[2] <= x <= prm[3] and prm[4] <= y <= prm[5]


@inner
def solid_bound(prm, frame, dims, field, x, y, z):
    """Lower bound (m) of a point's way to the surface, and whether it is EMPTY, SOLID or CUT."""
    d, state = mesh_bound(frame, dims, field, x, y, z)
    if not has_inside(prm, frame, x, y):
        return d, EMPTY if state == SOLID else state
    if prm[1] != 0.0 and z < frame[2]:
        state = SOLID
    return d, state


@inner
def solid_distance(m, prm, ranges, tri, normals, frame, dims, starts, members, field, x, y, z):
    """Signed distance (m) to mesh m, negative in the solid, and direction out of it.

    The nearest point of a ground is below a point above it, and above one below it.
    """
    if not box_gap(frame[m], dims[m], x, y, z) < LOST * frame[m, 3]:
        return math.inf, 0.0, 0.0, 1.0
    d, gx, gy, gz, _, _, qz = mesh_distance(
        tri[ranges[m, 0] : ranges[m + 1, 0]], normals[ranges[m, 0] : ranges[m + 1, 0]], frame[m],
        dims[m], starts[ranges[m, 1] : ranges[m + 1, 1]], members[ranges[m, 2] : ranges[m + 1, 2]],
        field[ranges[m, 3] : ranges[m + 1, 3]], x, y, z,
    )  # fmt: skip
    if prm[1] != 0.0 and z < qz and has_inside(prm, frame[m], x, y):
        return -d, -gx, -gy, -gz
    return d, gx, gy, gz


@inner
def _least(frame, dims, field, x, y, z):
    """Lower bound (m) of the signed distance of a point in the grid, from its cell's centre."""
    i, j, k = cell_of(frame, dims, x, y, z)
    dx = x - frame[0] - (i + 0.5) * frame[3]
    dy = y - frame[1] - (j + 0.5) * frame[3]
    dz = z - frame[2] - (k + 0.5) * frame[3]
    return field[(i * dims[1] + j) * dims[2] + k] - math.sqrt(dx * dx + dy * dy + dz * dz)


@inner
def solid_near(
    m, r, reach, prm, ranges, tri, normals, frame, dims, starts, members, field, x, y, z
):  # fmt: skip
    """Whether mesh m is within reach of a sphere or all around it, and whether it is far inside.

    Far inside: its surface may be more than r away by the time that the reach is used up.
    """
    own, far = field[ranges[m, 3] : ranges[m + 1, 3]], reach - 2.0 * r
    d, state = solid_bound(prm, frame[m], dims[m], own, x, y, z)
    if state == CUT:
        deep = has_inside(prm, frame[m], x, y) and _least(frame[m], dims[m], own, x, y, z) < far
        if deep:  # perhaps; most are not so near to a cell that is
            d, _, _, _ = solid_distance(
                m, prm, ranges, tri, normals, frame, dims, starts, members, field, x, y, z
            )
            deep = d < far
        return d <= reach, deep
    return state == SOLID or d <= reach, state == SOLID or d < far
