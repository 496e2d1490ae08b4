"""The arrays that kernels of rigid bodies take: columns of `core.bodies` and `core.joints`.

All float64 or int64. Row 0 of the bodies is the ground.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

STATIC, KINEMATIC, DYNAMIC = range(3)
GRAINS, BODIES, JOINTS = range(3)  # sources of force


class BodyArrays(NamedTuple):
    """Bodies (nb rows), and what follows from their pose.

    root (nb, 3, 3): R diag(1 / sqrt(moments)), where R are the principal axes in the world, so that
    root root^T is the inverse inertia; root_w (nb,): sqrt(w). With u = (v / root_w, root^-1 omega)
    the kinetic energy is |u|^2 / 2 and each row of a constraint is one vector of 12. stiff (nb, 3):
    what joints under load add to the moments within a step, `motion.stiffen`.

    Bodies that are merged move as one unit, `merging`: unit (nb,) is the row of the body that leads
    it, count (nb,) how many a row leads (0: it is led, 1: it is alone). Of a unit of several,
    middle (nb, 3), unit_q (nb, 4), unit_w (nb,) and unit_moments (nb, 3) are those of the whole,
    and root and root_w follow from them; seat (nb, 7) is where each member sits in the unit's axes.
    Only rows that lead themselves are solved for.
    """

    kind: Any
    material: Any
    x: Any
    q: Any
    v: Any
    L: Any
    omega: Any
    w: Any
    moments: Any
    axes: Any
    offset: Any
    org: Any
    rot: Any
    pace: Any
    applied: Any
    belt: Any
    family: Any
    unit: Any
    count: Any
    middle: Any
    unit_q: Any
    unit_w: Any
    unit_moments: Any
    seat: Any
    root: Any
    root_w: Any
    stiff: Any


INTEGERS = ("kind", "material", "family", "unit", "count")
SHAPES = {
    "x": (3,), "q": (4,), "v": (3,), "L": (3,), "omega": (3,), "moments": (3,), "axes": (3, 3),
    "offset": (3,), "org": (3,), "rot": (3, 3), "pace": (3,), "applied": (6,), "belt": (5,),
    "middle": (3,), "unit_q": (4,), "unit_moments": (3,), "seat": (7,), "root": (3, 3),
    "stiff": (3,),
}  # fmt: skip


def no_bodies() -> BodyArrays:
    """Arrays of the ground alone."""
    return BodyArrays(**{
        name: np.zeros((1, *SHAPES.get(name, ())), np.int64 if name in INTEGERS else np.float64)
        for name in BodyArrays._fields
    })  # fmt: skip


class JointArrays(NamedTuple):
    """Joints (nj rows), as `core.joints.Joints` has them."""

    kind: Any
    a: Any
    b: Any
    frame: Any
    position: Any
    zero: Any
    low: Any
    high: Any
    drive: Any
    target: Any
    speed: Any
    effort: Any
    settle: Any
    give: Any
    friction: Any
    viscosity: Any
    rest: Any
    stiffness: Any
    compliance: Any
    damping: Any
    linked: Any
    ratio: Any
    multiplier: Any
    pull: Any


class Rows(NamedTuple):
    """Constraints: 0 <= row < m of them are in use.

    For each row J u + sigma lam = rhs, lower <= lam <= upper, where it is free; lam in N s.
    ends (m, 2)   rows of the two bodies                G (m, 12)  gradient, about their centres
    units (m, 2)  rows of the units that move them      J (m, 12)  the same, mass-normalised
    source        joint or contact that it is of
    part          which row of its joint; negative: of a contact, `contact_rows`
    parent, mu    row of the normal and coefficient, of friction; -1 otherwise
    more          a row that shares this one's multiplier, -1: none
    """

    ends: Any
    units: Any
    J: Any
    G: Any
    rhs: Any
    sigma: Any
    lower: Any
    upper: Any
    lam: Any
    source: Any
    part: Any
    parent: Any
    mu: Any
    more: Any


class Contacts(NamedTuple):
    """Where bodies touch, geometry alone: `n[0]` of them.

    a, b, feature  rows of the bodies and number of the sample of a that touches b: the key is
                   (tag of a, tag of b, feature)
    point (3,)     in the world, m, midway between the surfaces
    own (3,)       point of a that goes in an arc with it, m: of a rim its middle
    normal (3,)    unit vector from b to a
    gap            m, negative where they overlap
    impulse (6,)   N s on a, of the last solve, and what resists rolling, N m s; world's axes
    """

    n: Any
    a: Any
    b: Any
    feature: Any
    corner: Any
    point: Any
    own: Any
    normal: Any
    gap: Any
    impulse: Any
