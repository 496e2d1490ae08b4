"""The list of contacts between bodies: what is appended, left out, and found again."""

from __future__ import annotations

import numpy as np

from berm.kernels.jit import bare, inner
from berm.kernels.multibody.arrays import Contacts

# columns of what contacts remember: tags, feature, impulse and its moment (6), state, point
A, B, FEATURE, IMPULSE, STATE, POINT = 0, 1, 2, 3, 9, 10
MEMORY = 13
# states of a contact: does not press; is restless; is quiet enough to stay merged, or to be merged;
# creeps at the limit of friction so slowly that it may be merged, but not stay if disturbed
OPEN, LOUD, STAYS, QUIET, CREEPS = range(5)
ENOUGH = 3  # corners that carry a body
SLACK = 0.001  # of a body's size: a sample deeper than all corners by more is kept
ALIKE = 0.95  # cosine: normals of two contacts in one place that are the same


@inner
def make_contacts(room):
    """Contacts with room for so many."""
    return Contacts(
        np.zeros(1, np.int64), np.empty(room, np.int64), np.empty(room, np.int64),
        np.empty(room, np.int64), np.empty(room, np.int64), np.empty((room, 3)),
        np.empty((room, 3)), np.empty((room, 3)), np.empty(room), np.empty((room, 6)),
    )  # fmt: skip


@bare
def take_over(old, at, one, two, contacts):
    """Append what old contacts, from number `at` on, know of a pair; return where the next begin.

    Pairs are asked for in ascending order, smaller row first.
    """
    while at < old.n[0]:
        a, b = min(old.a[at], old.b[at]), max(old.a[at], old.b[at])
        if a > one or (a == one and b > two):
            break
        k = contacts.n[0]
        if a == one and b == two:
            if k < contacts.gap.shape[0]:
                contacts.a[k], contacts.b[k], contacts.gap[k] = old.a[at], old.b[at], old.gap[at]
                contacts.feature[k], contacts.corner[k] = old.feature[at], old.corner[at]
                for c in range(3):
                    contacts.point[k, c] = old.point[at, c]
                    contacts.own[k, c] = old.own[at, c]
                    contacts.normal[k, c] = old.normal[at, c]
                for c in range(6):
                    contacts.impulse[k, c] = 0.0
            contacts.n[0] = k + 1
        at += 1
    return at


@bare
def add_contact(
    a, b, feature, corner, px, py, pz, r, d, nx, ny, nz, ox, oy, oz, contacts
):  # fmt: skip
    """Append a contact of a ball of a at p (world), at distance d of b, unit normal n (world).

    o: the point of a that goes in an arc with it.
    """
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
    contacts.own[k, 0], contacts.own[k, 1], contacts.own[k, 2] = ox, oy, oz
    for c in range(6):
        contacts.impulse[k, c] = 0.0


@bare
def is_known(first, px, py, pz, nx, ny, nz, near, contacts):
    """Whether a contact from `first` on stands within `near` (m) of p, with about this normal."""
    for k in range(first, min(contacts.n[0], contacts.gap.shape[0])):
        dx, dy, dz = contacts.point[k, 0] - px, contacts.point[k, 1] - py, contacts.point[k, 2] - pz
        n = contacts.normal[k]
        cos = abs(n[0] * nx + n[1] * ny + n[2] * nz)  # it may be of the other way
        if dx * dx + dy * dy + dz * dz < near * near and cos > ALIKE:
            return True
    return False


@bare
def _copy(k, to, contacts):
    """Write contact k in the place of another."""
    if to == k:
        return
    contacts.a[to], contacts.b[to] = contacts.a[k], contacts.b[k]
    contacts.feature[to], contacts.corner[to] = contacts.feature[k], contacts.corner[k]
    contacts.gap[to] = contacts.gap[k]
    for c in range(3):
        contacts.point[to, c] = contacts.point[k, c]
        contacts.own[to, c] = contacts.own[k, c]
        contacts.normal[to, c] = contacts.normal[k, c]


@bare
def _along(b, p, n, bodies):
    """Speed (m/s) of the point p of body b along n."""
    w, x, v = bodies.omega[b], bodies.x[b], bodies.v[b]
    rx, ry, rz = p[0] - x[0], p[1] - x[1], p[2] - x[2]
    return (
        n[0] * (v[0] + w[1] * rz - w[2] * ry)
        + n[1] * (v[1] + w[2] * rx - w[0] * rz)
        + n[2] * (v[2] + w[0] * ry - w[1] * rx)
    )


@bare
def _way(b, p, n, sign, h, bodies, pushed):
    """How far (m) the point p of body b may go along sign x n in h (s): by itself, or pushed."""
    push = pushed[b]
    own = h * sign * _along(b, p, n, bodies)
    return max(own, sign * (push[0] * n[0] + push[1] * n[1] + push[2] * n[2]), 0.0)


@bare
def drop_distant(first, reach, h, bodies, pushed, contacts):
    """Leave out contacts from `first` on that do not close in h (s).

    Each of the two bodies may go on as it does, be stopped by others, or be pushed (nb, 3) (m);
    reach (m): how far they may come nearer besides.
    """
    kept = first
    for k in range(first, contacts.n[0]):
        n, p = contacts.normal[k], contacts.point[k]
        one = _way(contacts.a[k], p, n, -1.0, h, bodies, pushed)
        two = _way(contacts.b[k], p, n, 1.0, h, bodies, pushed)
        if contacts.gap[k] < reach + one + two:
            _copy(k, kept, contacts)
            kept += 1
    contacts.n[0] = kept


@bare
def blows(contacts, bodies, ball, h, margin, pushed, anew):
    """Note where bodies may be sent within h (s) by what strikes them; say whether any is.

    What is slow would else meet only what is near enough at its own speed, and be struck into the
    rest. margin: part of a body's size that is looked at anyhow. pushed (nb, 3) (m) goes on; anew
    (nb,): whose has changed.
    """
    found = False
    for b in range(anew.shape[0]):
        anew[b] = False
    for k in range(contacts.n[0]):
        n, p = contacts.normal[k], contacts.point[k]
        for side in range(2):
            one, other = contacts.a[k], contacts.b[k]
            sign = -1.0
            if side == 1:
                one, other, sign = other, one, 1.0
            if bodies.w[other] == 0.0:
                continue
            way = _way(one, p, n, sign, h, bodies, pushed)
            known = _way(other, p, n, sign, h, bodies, pushed)
            if way > contacts.gap[k] and way > known + margin * ball[other, 3]:
                for c in range(3):
                    pushed[other, c] = sign * way * n[c]
                anew[other] = found = True
    return found


@bare
def thin(first, ball, contacts):
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
            _copy(k, kept, contacts)
            kept += 1
    contacts.n[0] = kept


@bare
def recall(contacts, tags, old):
    """Give contacts the impulses that the same ones had; old (k, MEMORY): what was remembered.

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
                    for c in range(6):
                        contacts.impulse[k, c] = old[at, IMPULSE + c]
                break
            at += 1


@inner
def remember(contacts, tags, bodies):
    """What `recall` needs, from the contacts of this step, and where they are, in a's frame."""
    old = np.empty((contacts.n[0], MEMORY))
    for k in range(contacts.n[0]):
        old[k, A], old[k, B] = tags[contacts.a[k]], tags[contacts.b[k]]
        old[k, FEATURE], old[k, STATE] = contacts.feature[k], LOUD
        for c in range(6):
            old[k, IMPULSE + c] = contacts.impulse[k, c]
        a, p = contacts.a[k], contacts.point[k]
        r, o = bodies.rot[a], bodies.org[a]
        for c in range(3):
            old[k, POINT + c] = (
                r[0, c] * (p[0] - o[0]) + r[1, c] * (p[1] - o[1]) + r[2, c] * (p[2] - o[2])
            )
    return old
