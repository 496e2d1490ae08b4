"""Exact signed distances to analytic shapes in the body's frame, and that moving frame; float64.

A shape is a `kind` and a flat array `prm` of PARAMS numbers or more. prm[0] is +1 where grains live
outside the solid and -1 where they live inside; the distance is positive on the grains' side and
its gradient points to that side. The rest of prm:
  SPHERE   [1] radius
  SPHERES  [1] how many, [2:6] centre and radius of a ball around all, then those of each; prm is as
           long as it takes (a union of spheres: each of them is a face)
  BOX      [1:4] half edges, [4] 1 where the top is open
  CAPSULE  [1] radius, [2] half of the straight part
  CONE     [1:9] corners (rho, z) of the section, counter-clockwise, mirrored about the axis
  TUBE     [1:9] corners (rho, z) of the wall's section, counter-clockwise; a bore about the axis
  both     [9:11] normal (rho, z) of the side, outwards

A `pose` holds POSE numbers: [0:3] origin, [3:12] rotation (row-major, body to world) at the start
of the step, [12:15] displacement and [15:18] rotation vector over the whole step, [18] and [19]
the lengths of these two, [20] and [21] cosine and sine of the angle [19], [22] its inverse or 0.
A fraction f in [0, 1] says how much of the step is gone.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.jit import bare, jit

PLANE, SPHERE, BOX, CAPSULE, CONE, TUBE, MESH, HEIGHT, SPHERES = range(9)
# Where the spheres of a union begin, and how many numbers each takes.
FIRST_SPHERE, PER_SPHERE = 6, 4
# Number of a tube's extra face: its bore as a container, which grains only meet at a way's end.
BORE = 3
PARAMS = 11
POSE = 24

# Closer to a corner or axis than this (m), the direction away from it is rounding noise.
TINY = 1e-12
SIN120 = math.sqrt(0.75)


@bare
def section_distance(prm, rho, z):
    """Distance (m) and gradient in the (rho, z) plane to the convex quadrilateral prm[1:9]."""
    deepest = -np.inf
    gr, gz = 0.0, 1.0
    nearest = np.inf
    qr, qz = 0.0, 0.0
    for i in range(4):
        j = (i + 1) % 4
        ar, az = prm[1 + 2 * i], prm[2 + 2 * i]
        er, ez = prm[1 + 2 * j] - ar, prm[2 + 2 * j] - az
        length = math.sqrt(er * er + ez * ez)
        if length == 0.0:  # the tip of a pointed cone
            continue
        height = ((rho - ar) * ez - (z - az) * er) / length
        if height > deepest:
            deepest = height
            gr, gz = ez / length, -er / length
        along = ((rho - ar) * er + (z - az) * ez) / (length * length)
        along = min(1.0, max(0.0, along))
        cr, cz = ar + along * er, az + along * ez
        square = (rho - cr) ** 2 + (z - cz) ** 2
        if square < nearest:
            nearest = square
            qr, qz = cr, cz
    if deepest <= 0.0:
        return deepest, gr, gz
    d = math.sqrt(nearest)
    if d < TINY:
        return d, gr, gz
    return d, (rho - qr) / d, (z - qz) / d


@bare
def box_distance(prm, x, y, z):
    """Distance and gradient to a box, open upwards where prm[4] is set."""
    sx = 1.0 if x >= 0.0 else -1.0
    sy = 1.0 if y >= 0.0 else -1.0
    sz = 1.0 if z >= 0.0 and prm[4] == 0.0 else -1.0
    qx, qy, qz = sx * x - prm[1], sy * y - prm[2], sz * z - prm[3]
    if qx <= 0.0 and qy <= 0.0 and qz <= 0.0:
        if qx >= qy and qx >= qz:
            return qx, sx, 0.0, 0.0
        if qy >= qz:
            return qy, 0.0, sy, 0.0
        return qz, 0.0, 0.0, sz
    qx, qy, qz = max(qx, 0.0), max(qy, 0.0), max(qz, 0.0)
    d = math.sqrt(qx * qx + qy * qy + qz * qz)
    return d, sx * qx / d, sy * qy / d, sz * qz / d


@bare
def sphere_distance(prm, k, x, y, z):
    """Distance and gradient to sphere k of a union."""
    at = FIRST_SPHERE + PER_SPHERE * k
    x, y, z = x - prm[at], y - prm[at + 1], z - prm[at + 2]
    away = math.sqrt(x * x + y * y + z * z)
    if away > TINY:
        return away - prm[at + 3], x / away, y / away, z / away
    return away - prm[at + 3], 1.0, 0.0, 0.0


@bare
def nearest_sphere(prm, x, y, z):
    """Which sphere of a union has the smallest distance."""
    nearest, best = 0, np.inf
    for k in range(int(prm[1])):
        at = FIRST_SPHERE + PER_SPHERE * k
        dx, dy, dz = x - prm[at], y - prm[at + 1], z - prm[at + 2]
        d = math.sqrt(dx * dx + dy * dy + dz * dz) - prm[at + 3]
        if d < best:
            nearest, best = k, d
    return nearest


@bare
def distance(kind, prm, x, y, z):
    """Signed distance (m) and unit gradient of the whole shape at a point of the body's frame."""
    if kind == PLANE:
        return z, 0.0, 0.0, 1.0
    if kind == SPHERES:
        return sphere_distance(prm, nearest_sphere(prm, x, y, z), x, y, z)
    side = prm[0]
    if kind == BOX:
        d, gx, gy, gz = box_distance(prm, x, y, z)
    elif kind == SPHERE or kind == CAPSULE:
        if kind == CAPSULE:
            z -= min(prm[2], max(-prm[2], z))
        away = math.sqrt(x * x + y * y + z * z)
        d = away - prm[1]
        if away > TINY:
            gx, gy, gz = x / away, y / away, z / away
        else:
            gx, gy, gz = 1.0, 0.0, 0.0
    else:
        rho = math.sqrt(x * x + y * y)
        d, gr, gz = section_distance(prm, rho, z)
        if rho > TINY:
            gx, gy = gr * x / rho, gr * y / rho
        else:
            gx, gy = gr, 0.0
    return side * d, side * gx, side * gy, side * gz


@bare
def count_features(kind, prm):
    """Number of faces of a shape that a grain can touch at the same time."""
    if kind == BOX and prm[0] < 0.0:
        return 5 if prm[4] != 0.0 else 6
    if kind == CONE and prm[0] < 0.0:
        return 5
    if kind == TUBE:
        return 3
    if kind == SPHERES:
        return int(prm[1])
    return 1


@bare
def is_concave(kind, prm, k):
    """Whether face `k` bends towards a grain, so that one tangent plane does not hold a path."""
    if kind == TUBE:
        return k == 0
    if kind == CONE:
        return prm[0] < 0.0 and k == 2
    return (kind == SPHERE or kind == CAPSULE) and prm[0] < 0.0


@bare
def feature(kind, prm, k, x, y, z):
    """Signed distance (m) and gradient of face `k` alone, taken as if it had no edges.

    A container is the intersection of its faces' half-spaces, so that each tangent plane holds
    everywhere. In a bore, two more faces look 120 degrees to either side of the nearest point: a
    grain about as wide as the bore is held all around.
    """
    if kind == BOX and prm[0] < 0.0:
        sign = 1.0 if k % 2 == 1 else -1.0
        if k < 2:
            return prm[1] - sign * x, -sign, 0.0, 0.0
        if k < 4:
            return prm[2] - sign * y, 0.0, -sign, 0.0
        return prm[3] - sign * z, 0.0, 0.0, -sign
    if kind == CONE and prm[0] < 0.0 and k < 2:
        if k == 0:
            return z - prm[2], 0.0, 0.0, 1.0
        return prm[6] - z, 0.0, 0.0, -1.0
    if (kind == CONE and prm[0] < 0.0) or (kind == TUBE and k > 0):
        rho = math.sqrt(x * x + y * y)
        ex, ey = 1.0, 0.0
        if rho > TINY:
            ex, ey = x / rho, y / rho
        turn = k - 2 if kind == CONE else k % BORE
        if turn > 0:
            sine = SIN120 if turn == 1 else -SIN120
            ex, ey = -0.5 * ex - sine * ey, sine * ex - 0.5 * ey
            rho *= -0.5
        if kind == CONE or (k == BORE and abs(z) <= prm[6]):
            gr, gz = -prm[9], -prm[10]
            near = prm[3] if kind == CONE else prm[1]
            d = gr * (rho - near) + gz * (z - prm[4])
        else:
            d, gr, gz = section_distance(prm, rho, z)
        return d, gr * ex, gr * ey, gz
    if kind == SPHERES:
        return sphere_distance(prm, k, x, y, z)
    return distance(kind, prm, x, y, z)


@bare
def box_bound(kind, prm, cx, cy, cz, hx, hy, hz):
    """Lower bound of the distance over an axis-aligned box: centre c, half edges h (body frame).

    Cheap rather than tight: it turns away most grains before the exact distance is asked for.
    """
    if kind == PLANE:
        return cz - hz
    if kind == BOX:
        qx, qy, qz = abs(cx) - prm[1], abs(cy) - prm[2], abs(cz) - prm[3]
        if prm[4] != 0.0:
            qz = -cz - prm[3]
        if prm[0] < 0.0:
            return -max(qx + hx, max(qy + hy, qz + hz))
        return max(qx - hx, max(qy - hy, qz - hz))
    if kind == SPHERES:  # behind the ball around all of them
        cx, cy, cz = cx - prm[2], cy - prm[3], cz - prm[4]
        away = math.sqrt(cx * cx + cy * cy + cz * cz) - prm[5]
        return away - math.sqrt(hx * hx + hy * hy + hz * hz)
    hr = math.sqrt(hx * hx + hy * hy)
    rho = math.sqrt(cx * cx + cy * cy)
    if kind == SPHERE or kind == CAPSULE:
        z = max(abs(cz) - (prm[2] if kind == CAPSULE else 0.0), 0.0)
        d = prm[0] * (math.sqrt(rho * rho + z * z) - prm[1])
        return d - math.sqrt(hr * hr + hz * hz)
    tall = abs(cz) - prm[6]
    high, slack = prm[10] * (cz - prm[4]), abs(prm[10]) * hz
    if kind == CONE and prm[0] < 0.0:
        return -max(tall + hz, prm[9] * (rho + hr - prm[3]) + high + slack)
    # a section that is convex lies behind each of its sides
    d = max(tall - hz, prm[9] * (rho - hr - prm[3]) + high - slack)
    return d if kind == CONE else max(d, prm[9] * (prm[1] - rho - hr) - high - slack)


@bare
def flat_side(kind, prm, k, x0, y0, z0, x1, y1, z1):
    """Whether a straight way from 0 to 1 meets face k as one plane, and its normal.

    Faces of containers are planes everywhere, those of a box are where the way stays over them.
    """
    if kind == PLANE:
        return True, 0.0, 0.0, 1.0
    if kind == BOX and prm[0] < 0.0:
        sign = -1.0 if k % 2 == 1 else 1.0
        if k < 2:
            return True, sign, 0.0, 0.0
        return (True, 0.0, sign, 0.0) if k < 4 else (True, 0.0, 0.0, sign)
    if kind == CONE and prm[0] < 0.0 and k < 2:
        return True, 0.0, 0.0, 1.0 if k == 0 else -1.0
    if kind != BOX or prm[4] != 0.0:
        return False, 0.0, 0.0, 0.0
    over_x = max(abs(x0), abs(x1)) <= prm[1]
    over_y = max(abs(y0), abs(y1)) <= prm[2]
    over_z = max(abs(z0), abs(z1)) <= prm[3]
    if over_x and over_y and abs(z0) > prm[3]:
        return True, 0.0, 0.0, 1.0 if z0 > 0.0 else -1.0
    if over_x and over_z and abs(y0) > prm[2]:
        return True, 0.0, 1.0 if y0 > 0.0 else -1.0, 0.0
    if over_y and over_z and abs(x0) > prm[1]:
        return True, 1.0 if x0 > 0.0 else -1.0, 0.0, 0.0
    return False, 0.0, 0.0, 0.0


@jit
def distance_many(kind, prm, points, out):
    """Fill out (k, 4) with distance (m) and gradient at points (k, 3)."""
    for i in range(points.shape[0]):
        d, gx, gy, gz = distance(kind, prm, points[i, 0], points[i, 1], points[i, 2])
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = d, gx, gy, gz


@bare
def turn(pose, f, x, y, z):
    """Turn a world vector by the body's rotation over the fraction f (Rodrigues)."""
    full = pose[19]
    if full == 0.0 or f == 0.0:
        return x, y, z
    kx, ky, kz = pose[15] * pose[22], pose[16] * pose[22], pose[17] * pose[22]
    if abs(f) == 1.0:  # every other question is for the end of the step
        c, s = pose[20], f * pose[21]
    else:
        c, s = math.cos(f * full), math.sin(f * full)
    k = (kx * x + ky * y + kz * z) * (1.0 - c)
    return (
        c * x + s * (ky * z - kz * y) + k * kx,
        c * y + s * (kz * x - kx * z) + k * ky,
        c * z + s * (kx * y - ky * x) + k * kz,
    )


@bare
def to_body(pose, f, x, y, z):
    """World point to the body's frame when the fraction f of the step is gone."""
    ux = x - pose[0] - f * pose[12]
    uy = y - pose[1] - f * pose[13]
    uz = z - pose[2] - f * pose[14]
    ux, uy, uz = turn(pose, -f, ux, uy, uz)
    return (
        pose[3] * ux + pose[6] * uy + pose[9] * uz,
        pose[4] * ux + pose[7] * uy + pose[10] * uz,
        pose[5] * ux + pose[8] * uy + pose[11] * uz,
    )


@bare
def to_world(pose, f, x, y, z):
    """Body vector (not point) to world axes when the fraction f of the step is gone."""
    ux = pose[3] * x + pose[4] * y + pose[5] * z
    uy = pose[6] * x + pose[7] * y + pose[8] * z
    uz = pose[9] * x + pose[10] * y + pose[11] * z
    return turn(pose, f, ux, uy, uz)


@bare
def path_length(pose, fa, ax, ay, az, bx, by, bz):
    """Upper bound (m) of the way a -> b as the body sees it, from the fraction fa to 1."""
    rest = 1.0 - fa
    dx = bx - ax - rest * pose[12]
    dy = by - ay - rest * pose[13]
    dz = bz - az - rest * pose[14]
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    if pose[19] > 0.0:
        # Distance to a point in straight motion is convex: it is largest at an end.
        ux, uy, uz = ax - pose[0], ay - pose[1], az - pose[2]
        arm = (ux - fa * pose[12]) ** 2 + (uy - fa * pose[13]) ** 2 + (uz - fa * pose[14]) ** 2
        ux, uy, uz = bx - pose[0] - pose[12], by - pose[1] - pose[13], bz - pose[2] - pose[14]
        arm = max(arm, ux * ux + uy * uy + uz * uz)
        length += rest * pose[19] * math.sqrt(arm)
    return length
