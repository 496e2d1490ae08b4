"""Where bodies touch: sample points of one body's surface against the other's distance.

A sample is x, y, z, radius in its body's frame, its kind, and three numbers more: a POINT; an EDGE,
of which those three are the way to its end; a RIM about z, of which the first is the radius.
Of edges and rims the deepest point counts. Samples of body b are samples[first[b]:first[b+1]], the
convex corners of them first (`corners`). Each pair is asked both ways: a's samples in b's
distance, then b's in a's. Contacts come in ascending order of (a, b, sample), which finds the
impulses of the last step again. Geometry alone: what a contact does is decided in `contact_rows`.
"""

from __future__ import annotations

import math

import numpy as np

from berm.kernels.geometry.distance import HEIGHT, distance
from berm.kernels.geometry.heightfield import height_distance
from berm.kernels.geometry.mesh_grid import EMPTY, mesh_bound, mesh_distance
from berm.kernels.jit import inner, jit
from berm.kernels.multibody.arrays import Contacts
from berm.kernels.multibody.broad_phase import top_speed
from berm.kernels.walls.arrays import CELLS, HEIGHTS, MEMBERS, STARTS, TRI

MARGIN = 0.01  # of the sampled body's size: samples nearer than this may come into contact
POINT, EDGE, RIM = 0.0, 1.0, 2.0
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
SEARCH = 16  # cuts of an edge: its deepest point is known to 0.05 % of its length
AT_END = 0.02  # of an edge: nearer to its end, the corner stands for it
FLAT = 1e-3  # sine of the angle below which a rim lies flat
ENOUGH = 3  # corners that carry a body
SLACK = 0.001  # of a body's size: a sample deeper than all corners by more is kept


@inner
def make_contacts(room):
    """Contacts with room for so many."""
    return Contacts(
        np.zeros(1, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64),
        np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros((room, 3)),
        np.zeros((room, 3)), np.zeros((room, 3)), np.zeros(room), np.zeros((room, 3)),
    )  # fmt: skip


@inner
def _add(a, b, feature, corner, px, py, pz, r, d, nx, ny, nz, contacts):
    """Append a contact of the sample at p (world), at distance d, unit normal n (world)."""
    k = contacts.n[0]
    contacts.n[0] = k + 1
    if k >= contacts.gap.shape[0]:  # the caller makes more room and starts again
        return
    gap = d - r
    contacts.a[k], contacts.b[k], contacts.feature[k] = a, b, feature
    contacts.corner[k] = 1 if corner else 0
    reach = r + 0.5 * gap  # one point for both bodies, so that friction has no couple
    contacts.point[k, 0] = px - reach * nx
    contacts.point[k, 1] = py - reach * ny
    contacts.point[k, 2] = pz - reach * nz
    contacts.normal[k, 0], contacts.normal[k, 1], contacts.normal[k, 2] = nx, ny, nz
    contacts.gap[k] = gap
    for c in range(3):
        contacts.impulse[k, c] = 0.0


@inner
def to_shape(b, rot, org, x, y, z):
    """World point to the frame of body b's shape."""
    ux, uy, uz = x - org[b, 0], y - org[b, 1], z - org[b, 2]
    return (
        rot[b, 0, 0] * ux + rot[b, 1, 0] * uy + rot[b, 2, 0] * uz,
        rot[b, 0, 1] * ux + rot[b, 1, 1] * uy + rot[b, 2, 1] * uz,
        rot[b, 0, 2] * ux + rot[b, 1, 2] * uy + rot[b, 2, 2] * uz,
    )


@inner
def from_shape(b, rot, x, y, z):
    """Vector of the shape's frame to the world."""
    return (
        rot[b, 0, 0] * x + rot[b, 0, 1] * y + rot[b, 0, 2] * z,
        rot[b, 1, 0] * x + rot[b, 1, 1] * y + rot[b, 1, 2] * z,
        rot[b, 2, 0] * x + rot[b, 2, 1] * y + rot[b, 2, 2] * z,
    )


@inner
def sample_in(a, b, s, rot, org):
    """Place of a sample of a in the frame of b's shape."""
    px, py, pz = from_shape(a, rot, s[0], s[1], s[2])
    return to_shape(b, rot, org, px + org[a, 0], py + org[a, 1], pz + org[a, 2])


@inner
def edge_in(a, b, s, rot):
    """Direction of an edge of a in the frame of b's shape."""
    px, py, pz = from_shape(a, rot, s[5], s[6], s[7])
    return (
        rot[b, 0, 0] * px + rot[b, 1, 0] * py + rot[b, 2, 0] * pz,
        rot[b, 0, 1] * px + rot[b, 1, 1] * py + rot[b, 2, 1] * pz,
        rot[b, 0, 2] * px + rot[b, 1, 2] * py + rot[b, 2, 2] * pz,
    )


@inner
def rim_in(a, b, s, gx, gy, gz, rot):
    """Way from the middle of a rim of a to its point farthest against g, in b's frame; found."""
    nx, ny, nz = from_shape(b, rot, gx, gy, gz)
    ux = -(rot[a, 0, 0] * nx + rot[a, 1, 0] * ny + rot[a, 2, 0] * nz)
    uy = -(rot[a, 0, 1] * nx + rot[a, 1, 1] * ny + rot[a, 2, 1] * nz)
    size = math.sqrt(ux * ux + uy * uy)
    if size < FLAT:
        return False, 0.0, 0.0, 0.0
    px, py, pz = from_shape(a, rot, s[5] * ux / size, s[5] * uy / size, 0.0)
    return (
        True,
        rot[b, 0, 0] * px + rot[b, 1, 0] * py + rot[b, 2, 0] * pz,
        rot[b, 0, 1] * px + rot[b, 1, 1] * py + rot[b, 2, 1] * pz,
        rot[b, 0, 2] * px + rot[b, 1, 2] * py + rot[b, 2, 2] * pz,
    )


@inner
def reach_of(s):
    """How far (m) a sample reaches from its place."""
    if s[4] == EDGE:
        return math.sqrt(s[5] * s[5] + s[6] * s[6] + s[7] * s[7])
    return s[5] if s[4] == RIM else 0.0


@inner
def _note(a, b, k, s, ux, uy, uz, d, gx, gy, gz, bodies, solids, contacts):
    """Append the contact at the point u of b's frame, with distance d and gradient g."""
    rot, org = bodies.rot, bodies.org
    px, py, pz = from_shape(b, rot, ux, uy, uz)
    px, py, pz = px + org[b, 0], py + org[b, 1], pz + org[b, 2]
    nx, ny, nz = from_shape(b, rot, gx, gy, gz)
    first, at = solids.first[a], contacts.n[0]
    _add(
        a, b, k - first, k - first < solids.corners[a], px, py, pz, s[3], d, nx, ny, nz, contacts
    )
    if at >= contacts.gap.shape[0]:
        return
    if s[4] == RIM:
        px, py, pz = from_shape(a, rot, s[0], s[1], s[2])
        px, py, pz = px + org[a, 0], py + org[a, 1], pz + org[a, 2]
    contacts.own[at, 0], contacts.own[at, 1], contacts.own[at, 2] = px, py, pz


@inner
def _analytic(a, b, margin, bodies, shapes, solids, contacts):
    """Contacts of a's samples with b, whose shape has a closed distance."""
    rot, org, kind, prm = bodies.rot, bodies.org, shapes.kind[b], shapes.prm[b]
    first = solids.first[a]
    # against a flat or hollow shape a body touches with its corners only
    last = solids.first[a + 1]
    if prm[0] < 0.0 or solids.ball[b, 3] < 0.0:
        last = first + solids.corners[a]
    for k in range(first, last):
        s = solids.samples[k]
        ux, uy, uz = sample_in(a, b, s, rot, org)
        d, gx, gy, gz = distance(kind, prm, ux, uy, uz)
        if d - s[3] - reach_of(s) >= margin:
            continue
        if s[4] == EDGE:
            ex, ey, ez = edge_in(a, b, s, rot)
            low, high = 0.0, 1.0
            one, two = 1.0 - GOLDEN, GOLDEN
            d_one = distance(kind, prm, ux + one * ex, uy + one * ey, uz + one * ez)[0]
            d_two = distance(kind, prm, ux + two * ex, uy + two * ey, uz + two * ez)[0]
            for _ in range(SEARCH):
                if d_one <= d_two:
                    high, two, d_two = two, one, d_one
                    one = high - GOLDEN * (high - low)
                    d_one = distance(kind, prm, ux + one * ex, uy + one * ey, uz + one * ez)[0]
                else:
                    low, one, d_one = one, two, d_two
                    two = low + GOLDEN * (high - low)
                    d_two = distance(kind, prm, ux + two * ex, uy + two * ey, uz + two * ez)[0]
            t = 0.5 * (low + high)
            if t < AT_END or t > 1.0 - AT_END:  # the corner is there
                continue
            ux, uy, uz = ux + t * ex, uy + t * ey, uz + t * ez
            d, gx, gy, gz = distance(kind, prm, ux, uy, uz)
        elif s[4] == RIM:
            found, ex, ey, ez = rim_in(a, b, s, gx, gy, gz, rot)
            if not found:
                continue
            for _ in range(2):  # where b is bent, the direction is another at the rim
                d, gx, gy, gz = distance(kind, prm, ux + ex, uy + ey, uz + ez)
                found, fx, fy, fz = rim_in(a, b, s, gx, gy, gz, rot)
                if found:
                    ex, ey, ez = fx, fy, fz
            ux, uy, uz = ux + ex, uy + ey, uz + ez
            d, gx, gy, gz = distance(kind, prm, ux, uy, uz)
        if d - s[3] < margin:
            _note(a, b, k, s, ux, uy, uz, d, gx, gy, gz, bodies, solids, contacts)


@inner
def _meshed(a, b, margin, bodies, shapes, solids, contacts):
    """Contacts of a's samples with b, a mesh or a height field.

    Such a shape is not convex: of an edge, the middle and the quarters are asked.
    """
    rot, org = bodies.rot, bodies.org
    m = shapes.mesh[b]
    low, high, dims, frame = shapes.ranges[m], shapes.ranges[m + 1], shapes.dims[m], shapes.frame[m]
    is_mesh = shapes.kind[b] != HEIGHT
    tri, normals = shapes.tri[low[TRI] : high[TRI]], shapes.normals[low[TRI] : high[TRI]]
    starts = shapes.starts[low[STARTS] : high[STARTS]]
    members = shapes.members[low[MEMBERS] : high[MEMBERS]]
    field = shapes.field[low[CELLS] : high[CELLS]]
    nx, ny = (0, 0) if is_mesh else (dims[0], dims[1])
    heights = shapes.heights[low[HEIGHTS] : high[HEIGHTS]].reshape((nx, ny))
    scratch = np.empty((2, 3, 3))
    for k in range(solids.first[a], solids.first[a + 1]):
        s = solids.samples[k]
        ux, uy, uz = sample_in(a, b, s, rot, org)
        if solids.ball[b, 3] >= 0.0:
            far = solids.ball[b, 3] + margin + s[3] + reach_of(s)
            dx, dy, dz = ux - solids.ball[b, 0], uy - solids.ball[b, 1], uz - solids.ball[b, 2]
            if dx * dx + dy * dy + dz * dz > far * far:
                continue
        ex, ey, ez = 0.0, 0.0, 0.0
        tries = 1
        if s[4] == EDGE:
            ex, ey, ez = edge_in(a, b, s, rot)
            tries = 3
        best, bx, by, bz, fx, fy, fz = np.inf, ux, uy, uz, 0.0, 0.0, 1.0
        for turn in range(tries):
            t = 0.25 * (turn + 1.0)
            wx, wy, wz = ux + t * ex, uy + t * ey, uz + t * ez
            d, gx, gy, gz = np.inf, 0.0, 0.0, 1.0
            if is_mesh:  # the exact distance costs the more the farther away
                least, state = mesh_bound(frame, dims, field, wx, wy, wz)
                far = margin + s[3] + (s[5] if s[4] == RIM else 0.0)
                if state == EMPTY and least > far:
                    continue
            for again in range(2 if s[4] == RIM else 1):
                if is_mesh:
                    d, gx, gy, gz, _, _, _ = mesh_distance(
                        tri, normals, frame, dims, starts, members, field, wx, wy, wz
                    )
                else:
                    d, gx, gy, gz = height_distance(heights, frame, wx, wy, wz, scratch)
                if s[4] == RIM and again == 0:
                    found, ex, ey, ez = rim_in(a, b, s, gx, gy, gz, rot)
                    if not found:
                        d = np.inf
                        break
                    wx, wy, wz = ux + ex, uy + ey, uz + ez
            if d < best:
                best, bx, by, bz, fx, fy, fz = d, wx, wy, wz, gx, gy, gz
        if best - s[3] < margin:
            _note(a, b, k, s, bx, by, bz, best, fx, fy, fz, bodies, solids, contacts)


@jit
def find_contacts(pairs, count, bodies, shapes, solids, h, contacts):
    """Fill the contacts of all near pairs at the present poses; n[0] may exceed the room.

    Samples count that may touch within h (s), so that nothing passes through in a step.
    """
    contacts.n[0] = 0
    for pair in range(count):
        one, two = pairs[pair, 0], pairs[pair, 1]
        ahead = h * (top_speed(one, bodies, solids.ball) + top_speed(two, bodies, solids.ball))
        first = contacts.n[0]
        for turn in range(2):
            a, b = (one, two) if turn == 0 else (two, one)
            if solids.first[a] == solids.first[a + 1]:
                continue
            margin = MARGIN * solids.ball[a, 3] + ahead
            if shapes.mesh[b] >= 0:
                _meshed(a, b, margin, bodies, shapes, solids, contacts)
            else:
                _analytic(a, b, margin, bodies, shapes, solids, contacts)
        if contacts.n[0] <= contacts.gap.shape[0]:
            _thin(first, solids.ball, contacts)


@inner
def _thin(first, ball, contacts):
    """Where corners carry the two bodies, leave out the samples between them.

    Such samples stay if they are deeper than any corner by a little. Fewer contacts make the
    passes converge faster; the choice must not flicker, so depth alone does not decide.
    """
    last = contacts.n[0]
    corners, deepest = 0, np.inf
    for k in range(first, last):
        if contacts.corner[k]:
            corners += 1
            deepest = min(deepest, contacts.gap[k])
    if corners < ENOUGH:
        return
    kept = first
    for k in range(first, last):
        slack = SLACK * abs(ball[contacts.a[k], 3])
        if contacts.corner[k] or contacts.gap[k] <= deepest - slack:
            if kept < k:
                contacts.a[kept], contacts.b[kept] = contacts.a[k], contacts.b[k]
                contacts.feature[kept], contacts.corner[kept] = (
                    contacts.feature[k], contacts.corner[k]
                )  # fmt: skip
                contacts.gap[kept] = contacts.gap[k]
                for c in range(3):
                    contacts.point[kept, c] = contacts.point[k, c]
                    contacts.own[kept, c] = contacts.own[k, c]
                    contacts.normal[kept, c] = contacts.normal[k, c]
            kept += 1
    contacts.n[0] = kept


@inner
def recall(contacts, tags, old):
    """Give contacts the impulses that the same ones had; old (k, 6): tags a, b, feature, impulse.

    Both stand in ascending order of (smaller row, larger row, which is sampled, feature), and tags
    ascend with rows.
    """
    at = 0
    for k in range(contacts.n[0]):
        a, b = tags[contacts.a[k]], tags[contacts.b[k]]
        low, high, way = min(a, b), max(a, b), 0 if a < b else 1
        while at < old.shape[0]:
            p, q = np.int64(old[at, 0]), np.int64(old[at, 1])
            first, last, side = min(p, q), max(p, q), 0 if p < q else 1
            f = np.int64(old[at, 2])
            if first > low or (first == low and (last > high or (last == high and (
                side > way or (side == way and f >= contacts.feature[k])
            )))):  # fmt: skip
                if (
                    first == low and last == high and side == way and f == contacts.feature[k]
                ):
                    for c in range(3):
                        contacts.impulse[k, c] = old[at, 3 + c]
                break
            at += 1


@inner
def remember(contacts, tags):
    """What `recall` needs, from the contacts of this step."""
    old = np.empty((contacts.n[0], 6))
    for k in range(contacts.n[0]):
        old[k, 0], old[k, 1] = tags[contacts.a[k]], tags[contacts.b[k]]
        old[k, 2] = contacts.feature[k]
        for c in range(3):
            old[k, 3 + c] = contacts.impulse[k, c]
    return old
