"""Triangles: closest points, the uniform grid over a mesh, nearest triangle and sign.

A mesh is: tri (nt, 3, 3) corners; normals (nt, 7, 3) of the face, its edges ab, bc, ca and its
corners a, b, c (angle-weighted pseudonormals [Baerentzen & Aanaes 2005]); a grid of cubic cells
with frame = [0:3] origin, [3] cell edge (m), [4] 1 where the mesh is a solid, [5] 1 where all
beyond the grid is solid, [6] 1 / cell edge; dims (3,); triangles of cell c are
members[starts[c]:starts[c + 1]]; field (m) is the signed distance at each cell's centre, or for
cells away from the mesh a bound of it towards 0 (float32). corners (nt, 3) are the triangles'
vertex numbers, and vertex v belongs to triangles fans[fan_starts[v]:fan_starts[v + 1]].
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import bare, jit

EMPTY, SOLID, CUT = 0, 1, 2
FACE = 0
# Beyond this many cells from the grid a point is lost, and cell numbers would overflow.
LOST = 1e6
SQRT3 = math.sqrt(3.0)
HALF_DIAGONAL = 0.5 * SQRT3


@bare
def closest_point(tri, k, x, y, z):
    """Closest point of triangle k and the feature it is on: 0 face, 1-3 edges, 4-6 corners.

    [Ericson 2005, 5.1.5]
    """
    ax, ay, az = tri[k, 0, 0], tri[k, 0, 1], tri[k, 0, 2]
    ux, uy, uz = tri[k, 1, 0] - ax, tri[k, 1, 1] - ay, tri[k, 1, 2] - az
    wx, wy, wz = tri[k, 2, 0] - ax, tri[k, 2, 1] - ay, tri[k, 2, 2] - az
    px, py, pz = x - ax, y - ay, z - az
    d1, d2 = ux * px + uy * py + uz * pz, wx * px + wy * py + wz * pz
    if d1 <= 0.0 and d2 <= 0.0:
        return ax, ay, az, 4
    uu, ww = ux * ux + uy * uy + uz * uz, wx * wx + wy * wy + wz * wz
    uw = ux * wx + uy * wy + uz * wz
    d3, d4 = d1 - uu, d2 - uw
    if d3 >= 0.0 and d4 <= d3:
        return ax + ux, ay + uy, az + uz, 5
    d5, d6 = d1 - uw, d2 - ww
    if d6 >= 0.0 and d5 <= d6:
        return ax + wx, ay + wy, az + wz, 6
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3)
        return ax + t * ux, ay + t * uy, az + t * uz, 1
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6)
        return ax + t * wx, ay + t * wy, az + t * wz, 3
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 >= d3 and d5 >= d6:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return (
            ax + ux + t * (wx - ux), ay + uy + t * (wy - uy), az + uz + t * (wz - uz), 2
        )  # fmt: skip
    t = 1.0 / (va + vb + vc)
    p, q = vb * t, vc * t
    return ax + ux * p + wx * q, ay + uy * p + wy * q, az + uz * p + wz * q, FACE


@bare
def cell_of(frame, dims, x, y, z):
    """Numbers (i, j, k) of the cell that holds a point, clamped to the grid (so safe for inf)."""
    i = np.int64(min(max((x - frame[0]) * frame[6], 0.0), dims[0] - 1.0))
    j = np.int64(min(max((y - frame[1]) * frame[6], 0.0), dims[1] - 1.0))
    k = np.int64(min(max((z - frame[2]) * frame[6], 0.0), dims[2] - 1.0))
    return i, j, k


@bare
def least3(a, b, c):
    """Least of three."""
    return min(a, min(b, c))


@bare
def most3(a, b, c):
    """Largest of three."""
    return max(a, max(b, c))


@bare
def box_gap(frame, dims, x, y, z):
    """Distance (m) of a point to the box of the grid, 0 inside."""
    dx = most3(frame[0] - x, x - frame[0] - dims[0] * frame[3], 0.0)
    dy = most3(frame[1] - y, y - frame[1] - dims[1] * frame[3], 0.0)
    dz = most3(frame[2] - z, z - frame[2] - dims[2] * frame[3], 0.0)
    square = dx * dx + dy * dy + dz * dz
    return math.sqrt(square) if square > 0.0 else 0.0


@jit
def fill_grid(tri, frame, dims, starts, members, store):
    """Count (store False, into starts[c + 1]) or store the triangles of each cell.

    A cell holds a triangle whose bounding box and whose plane cut it.
    """
    for k in range(tri.shape[0]):
        a = tri[k, 0]
        ux, uy, uz = tri[k, 1, 0] - a[0], tri[k, 1, 1] - a[1], tri[k, 1, 2] - a[2]
        wx, wy, wz = tri[k, 2, 0] - a[0], tri[k, 2, 1] - a[1], tri[k, 2, 2] - a[2]
        nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
        # A little wider than the cell: a triangle on a face between cells belongs to both.
        half = 0.5001 * frame[3]
        reach = half * (abs(nx) + abs(ny) + abs(nz))
        eps = 1e-4 * frame[3]
        i0, j0, k0 = cell_of(
            frame, dims,
            least3(a[0], tri[k, 1, 0], tri[k, 2, 0]) - eps,
            least3(a[1], tri[k, 1, 1], tri[k, 2, 1]) - eps,
            least3(a[2], tri[k, 1, 2], tri[k, 2, 2]) - eps,
        )  # fmt: skip
        i1, j1, k1 = cell_of(
            frame, dims,
            most3(a[0], tri[k, 1, 0], tri[k, 2, 0]) + eps,
            most3(a[1], tri[k, 1, 1], tri[k, 2, 1]) + eps,
            most3(a[2], tri[k, 1, 2], tri[k, 2, 2]) + eps,
        )  # fmt: skip
        for i in range(i0, i1 + 1):
            for j in range(j0, j1 + 1):
                for m in range(k0, k1 + 1):
                    cx = frame[0] + (i + 0.5) * frame[3] - a[0]
                    cy = frame[1] + (j + 0.5) * frame[3] - a[1]
                    cz = frame[2] + (m + 0.5) * frame[3] - a[2]
                    if abs(nx * cx + ny * cy + nz * cz) > reach:
                        continue
                    c = (i * dims[1] + j) * dims[2] + m
                    if store:
                        members[starts[c]] = k
                        starts[c] += 1
                    else:
                        starts[c + 1] += 1


@bare
def nearest_triangle(tri, frame, dims, starts, members, field, x, y, z):
    """Nearest triangle, squared distance (m^2), closest point, feature; ring by ring."""
    best, which, feature = np.inf, np.int64(-1), 0
    qx, qy, qz = 0.0, 0.0, 0.0
    ci = np.int64(math.floor((x - frame[0]) / frame[3]))
    cj = np.int64(math.floor((y - frame[1]) / frame[3]))
    ck = np.int64(math.floor((z - frame[2]) / frame[3]))
    # The first ring that reaches the grid, and the last one that still does.
    near = most3(max(-ci, ci - dims[0] + 1), max(-cj, cj - dims[1] + 1), max(-ck, ck - dims[2] + 1))
    near = max(near, 0)
    if near == 0:  # rings that lie wholly within the cell's clearance are empty
        clear = abs(field[(ci * dims[1] + cj) * dims[2] + ck]) / frame[3] - HALF_DIAGONAL
        near = np.int64(max(clear, 0.0) / SQRT3)
    far = most3(max(ci, dims[0] - 1 - ci), max(cj, dims[1] - 1 - cj), max(ck, dims[2] - 1 - ck))
    for ring in range(near, far + 1):
        if ring > 0 and best <= ((ring - 1) * frame[3]) ** 2:
            break
        for i in range(max(0, ci - ring), min(dims[0], ci + ring + 1)):
            for j in range(max(0, cj - ring), min(dims[1], cj + ring + 1)):
                inner = abs(i - ci) < ring and abs(j - cj) < ring
                step = 2 * ring if inner and ring > 0 else 1
                for m in range(ck - ring, ck + ring + 1, step):
                    if m < 0 or m >= dims[2]:
                        continue
                    c = (i * dims[1] + j) * dims[2] + m
                    for p in range(starts[c], starts[c + 1]):
                        k = np.int64(members[p])
                        sx, sy, sz, code = closest_point(tri, k, x, y, z)
                        d2 = (x - sx) ** 2 + (y - sy) ** 2 + (z - sz) ** 2
                        if d2 < best or (d2 == best and k < which):
                            best, which, feature = d2, k, code
                            qx, qy, qz = sx, sy, sz
    return which, best, qx, qy, qz, feature


@bare
def mesh_distance(tri, normals, frame, dims, starts, members, field, x, y, z):
    """Signed distance (m), gradient and closest point; the sign is + everywhere for a sheet."""
    k, d2, qx, qy, qz, code = nearest_triangle(tri, frame, dims, starts, members, field, x, y, z)
    n = normals[k, code]
    d = math.sqrt(d2)
    dx, dy, dz = x - qx, y - qy, z - qz
    sign = 1.0
    if frame[4] != 0.0 and dx * n[0] + dy * n[1] + dz * n[2] < 0.0:
        sign = -1.0
    if d > 1e-12:
        return sign * d, sign * dx / d, sign * dy / d, sign * dz / d, qx, qy, qz
    return 0.0, n[0], n[1], n[2], qx, qy, qz


@jit
def mesh_distance_many(tri, normals, frame, dims, starts, members, field, points, out):
    """Fill out (k, 4) with distance (m) and gradient at points (k, 3)."""
    for i in range(points.shape[0]):
        d, gx, gy, gz, _, _, _ = mesh_distance(
            tri, normals, frame, dims, starts, members, field,
            points[i, 0], points[i, 1], points[i, 2],
        )  # fmt: skip
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = d, gx, gy, gz


@jit
def mesh_bound(frame, dims, field, x, y, z):
    """Lower bound (m) of a point's distance to the mesh, and whether it is EMPTY, SOLID or CUT.

    The distance changes no faster than the point moves away from its cell's centre. CUT: unsure.
    """
    gap = box_gap(frame, dims, x, y, z)
    if not gap <= 0.0:
        return gap, SOLID if frame[5] != 0.0 else EMPTY
    i, j, k = cell_of(frame, dims, x, y, z)
    dx = x - frame[0] - (i + 0.5) * frame[3]
    dy = y - frame[1] - (j + 0.5) * frame[3]
    dz = z - frame[2] - (k + 0.5) * frame[3]
    d = np.float64(field[(i * dims[1] + j) * dims[2] + k])
    least = abs(d) - math.sqrt(dx * dx + dy * dy + dz * dz) - 1e-6 * frame[3]
    if least <= 0.0:
        return 0.0, CUT
    return least, EMPTY if d > 0.0 else SOLID
