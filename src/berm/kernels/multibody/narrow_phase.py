"""Where bodies touch: spheres against spheres, else samples of one body in the other's distance.

Each pair is asked both ways: samples of the body in the smaller row first; a body of spheres is
sampled alone, for with their centres and radii nothing is missed. Contacts come in ascending order
of (smaller row, larger row, which is sampled, feature), which finds the impulses of the last step
again. Geometry alone: what a contact does is decided in `contact_rows`.
"""

from __future__ import annotations

import numpy as np

from berm.kernels.geometry.distance import BOX, CAPSULE, CONE, PLANE
from berm.kernels.jit import bare, jit
from berm.kernels.multibody.broad_phase import length, top_speed
from berm.kernels.multibody.contact_list import (
    drop_distant,
    make_contacts,
    recall,
    remember,
    take_over,
    thin,
)
from berm.kernels.multibody.sample_contacts import (
    EDGE,
    POINT,
    RIM,
    analytic_contacts,
    are_apart,
    relative,
    speeds_in,
)
from berm.kernels.multibody.sphere_contacts import is_round, place_spheres, sphere_contacts
from berm.kernels.multibody.triangle_contacts import ball_contacts, triangle_contacts

__all__ = [
    "EDGE", "MARGIN", "POINT", "RIM", "find_contacts", "make_contacts", "recall", "remember",
]  # fmt: skip

MARGIN = 0.01  # of the sampled body's size: samples nearer than this may come into contact
NEAR = 0.25  # of that way: farther away, vertices alone stand for a body before a mesh
ASIDE = 0.1  # of the way that bodies go in a step: as far they may go another way than they head


@bare
def _says_all(a, b, shapes):
    """Whether samples of a alone find every contact with b."""
    if is_round(a, shapes):
        return True
    kind = shapes.kind[b]
    convex = kind == BOX or kind == CONE or kind == PLANE
    return shapes.kind[a] == CAPSULE and shapes.prm[a, 0] > 0.0 and convex


@bare
def most_samples(first):
    """Largest number of samples of a body."""
    most = 0
    for b in range(first.shape[0] - 1):
        most = max(most, first[b + 1] - first[b])
    return most


@bare
def min_size(one, two, ball):
    """Radius (m) of the smaller ball around two bodies; of those that have an end."""
    a, b = ball[one, 3], ball[two, 3]
    if a < 0.0 or b < 0.0:
        return max(a, b)
    return min(a, b)


@jit
def find_contacts(pairs, count, balls, bodies, shapes, solids, h, pushed, old, anew, contacts):
    """Fill the contacts of all near pairs at the present poses; n[0] may exceed the room.

    Samples count that may touch within h (s), so that nothing passes through in a step. balls
    (nb, 4): around the bodies, in the world. pushed (nb, 3): where a blow may send each. Pairs of
    bodies of which none is to be looked at anew (nb,) keep their old contacts.
    """
    contacts.n[0] = 0
    places = np.empty((solids.samples.shape[0], 3))
    placed = np.zeros(bodies.kind.shape[0], np.bool_)
    place_spheres(pairs, count, bodies, shapes, solids, placed, places)
    rel, speeds = np.empty((3, 4)), np.empty((2, 3))
    near = np.empty(most_samples(solids.first), np.int64)
    at = np.int64(0)
    for pair in range(count):
        one, two = pairs[pair, 0], pairs[pair, 1]
        if not (anew[one] or anew[two]):
            at = take_over(old, at, one, two, contacts)
            continue
        fast = top_speed(one, bodies, solids.ball) + top_speed(two, bodies, solids.ball)
        spin = fast - length(bodies.v[one]) - length(bodies.v[two])
        blow = length(pushed[one]) + length(pushed[two])
        ahead, aside = h * fast + blow, h * (spin + ASIDE * (fast - spin)) + blow
        slack = ASIDE * ahead
        first = contacts.n[0]
        size = min_size(one, two, solids.ball)
        if is_round(one, shapes) and is_round(two, shapes):
            margin = MARGIN * size + ahead
            sphere_contacts(one, two, margin, places, balls, near, solids, contacts)
            if contacts.n[0] <= contacts.gap.shape[0]:
                drop_distant(first, MARGIN * size + slack, h, bodies, pushed, contacts)
            continue
        for turn in range(2):
            a, b = (one, two) if turn == 0 else (two, one)
            if solids.first[a] == solids.first[a + 1] or _says_all(b, a, shapes):
                continue
            margin = MARGIN * solids.ball[a, 3] + ahead
            relative(a, b, bodies, rel)
            if solids.ball[b, 3] >= 0.0:
                speeds_in(a, b, bodies, speeds)
                reach = MARGIN * solids.ball[a, 3] + aside
                if are_apart(a, b, rel, speeds, h, reach, solids.box):
                    continue
            if shapes.mesh[b] < 0:
                analytic_contacts(a, b, margin, rel, first, bodies, shapes, solids, contacts)
            elif is_round(a, shapes):
                ball_contacts(a, b, margin, rel, bodies, shapes, solids, contacts)
            else:
                near_by = MARGIN * solids.ball[a, 3] + NEAR * ahead
                triangle_contacts(
                    a, b, margin, near_by, rel, first, bodies, shapes, solids, contacts
                )
        if contacts.n[0] <= contacts.gap.shape[0]:
            drop_distant(first, MARGIN * size + slack, h, bodies, pushed, contacts)
            thin(first, solids.ball, contacts)
