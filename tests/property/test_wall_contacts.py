"""Wall contacts for any shape, pose, motion and grain, against a densely sampled way."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from berm.core.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    HeightField,
    Mesh,
    Plane,
    Sphere,
)
from berm.kernels.jit import JIT_ON
from berm.solvers.walls.shapes import pack, signed_distance
from berm.solvers.walls.walls import Walls
from tests.wall_tools import find_bodies

pytestmark = pytest.mark.nojit
EXAMPLES = 100 if JIT_ON else 8
SAMPLES = 401 if JIT_ON else 101
SKIN = 0.1  # radii

TETRA = Mesh(
    np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) * 0.4,
    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]],
)
FOLDED = Mesh(
    [[x, y, z] for x, z in ((-0.5, 0.2), (0, 0), (0.5, 0.3)) for y in (-0.5, 0.5)],
    [[0, 2, 1], [1, 2, 3], [2, 4, 3], [3, 4, 5]],
)  # fmt: skip
CONVEX = {
    "plane": Plane(),
    "sphere": Sphere(0.4),
    "box": Box((0.8, 0.5, 0.02)),
    "cylinder": Cylinder(0.4, 0.02),
    "cone": Cone(0.5, 0.1, 0.6),
    "capsule": Capsule(0.15, 0.6),
    "tetrahedron": TETRA,
}
OTHERS = {
    "in box": Box((1, 1.2, 0.9), inside=True),
    "in open box": Box((1, 1.2, 0.9), inside=True, open_top=True),
    "in cylinder": Cylinder(0.6, 1.0, inside=True),
    "in cone": Cone(0.3, 0.8, 1.0, inside=True),
    "in sphere": Sphere(0.6, inside=True),
    "in capsule": Capsule(0.4, 0.5, inside=True),
    "tube": Cylinder(0.4, 0.8, inside=True, open_ends=True),
    "sheet": FOLDED,
    "ground": HeightField(0.15 * np.cos(np.arange(36)).reshape(6, 6), 0.2, (-0.5, -0.5)),
}
PACKED = {id(shape): pack(shape) for shape in (*CONVEX.values(), *OTHERS.values())}
KEPT = (TETRA, FOLDED)
NOWHERE = SimpleNamespace(
    position=np.full(3, 1e3), rotation=np.eye(3), velocity=np.zeros(3), angular_velocity=np.zeros(3)
)
WALLS = Walls(np.float64)  # one for all, so that each mesh's grid is built once
CONTAINERS = [name for name in OTHERS if name.startswith("in ")]


def rotation(vector):
    """Rotation matrix of a rotation vector (Rodrigues)."""
    angle = np.linalg.norm(vector)
    if angle == 0.0:
        return np.eye(3)
    x, y, z = np.asarray(vector) / angle
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def triple(size):
    return st.tuples(*[st.floats(-size, size, allow_subnormal=False)] * 3).map(np.array)


@st.composite
def cases(draw, names):
    """A shape, its body, a grain and its displacement over a step of 1 s (float64)."""
    shape = {**CONVEX, **OTHERS}[draw(st.sampled_from(names))]
    body = SimpleNamespace(
        shape=shape,
        material=0,
        position=draw(triple(2.0)),
        rotation=rotation(draw(triple(3.0))),
        velocity=draw(triple(0.4)),
        angular_velocity=draw(st.sampled_from([0.0, 0.2])) * draw(triple(1.0)),
        force=np.zeros(3),
        torque=np.zeros(3),
    )
    r = draw(st.floats(0.02, 0.08))
    start = body.position + body.rotation @ draw(triple(0.6))
    return body, start, draw(triple(0.5)), r


def sampled(body, start, way, r, times):
    """Gap at each fraction of the step, from poses that are computed the long way round."""
    times = np.asarray(times)[:, None]
    u = start + times * way - body.position - times * body.velocity
    full = np.linalg.norm(body.angular_velocity)
    if full > 0:
        k = body.angular_velocity / full
        c, s = np.cos(times * full), np.sin(-times * full)
        u = c * u + s * np.cross(k, u) + (1 - c) * (u @ k)[:, None] * k
    return signed_distance(PACKED[id(body.shape)], u @ body.rotation)[0] - r


def find(bodies, start, way, r):
    x, v = np.zeros((1, 4)), np.zeros((1, 4))
    x[0, :3], x[0, 3], v[0, :3] = start, r, way
    far = [SimpleNamespace(**vars(NOWHERE), shape=shape) for shape in KEPT]
    find_bodies(WALLS, [*bodies, *far], x, v, 1, np.array([0, 1]), 1.0, (0.0, 0.0, 0.0), SKIN)
    return WALLS.plane[0, : WALLS.count[0]].copy()


def plane_gaps(planes, centre, r, f):
    return planes[:, :3] @ centre - planes[:, 3] - r - f * (planes[:, :3] * planes[:, 4:7]).sum(1)


def enters_from_beside(shape, start):
    """Whether a way begins beside a field of heights: it has no sides, and stops nobody there."""
    if not isinstance(shape, HeightField):
        return False
    extent = shape.cell * (np.array(shape.heights.shape) - 1)
    inside = (start[:2] - np.array(shape.origin)) / extent
    return bool(((inside < 0.0) | (inside > 1.0)).any())


@settings(max_examples=EXAMPLES, deadline=None)
@given(cases([*CONVEX, *OTHERS]))
def test_a_contact_is_made_exactly_where_the_way_comes_near(case):
    body, start, way, r = case
    assume(not enters_from_beside(body.shape, start))
    skin = SKIN * r
    gap = sampled(body, start, way, r, np.linspace(0, 1, SAMPLES)).min()
    # Closest approach is found to within a step of the advancement, so leave out the doubtful.
    assume(abs(gap - skin) > 0.02 * r)
    planes = find([body], start, way, r)
    assert (len(planes) > 0) == (gap < skin)
    np.testing.assert_allclose(np.linalg.norm(planes[:, :3], axis=1), 1.0, atol=1e-9)
    assert np.isfinite(planes).all()


@settings(max_examples=EXAMPLES, deadline=None)
@given(cases([*CONVEX, *CONTAINERS, "ground"]))
def test_no_plane_is_ever_pierced_before_the_body_is(case):
    """While the grain is clear of the body, it is on the right side of the first plane it meets."""
    body, start, way, r = case
    times = np.linspace(0, 1, SAMPLES)
    gap = sampled(body, start, way, r, times)
    assume(gap[0] > 0)
    planes = find([body], start, way, r)
    touch = np.argmax(gap <= 0) if (gap <= 0).any() else SAMPLES
    # Where the body turns, its planes are tangents in time as well: second order in the angle.
    slack = 0.06 * r + np.linalg.norm(body.angular_velocity) ** 2
    for k in range(0, touch, 20):
        at = plane_gaps(planes, start + times[k] * way, r, times[k])
        assert (at > -slack).all()


@settings(max_examples=EXAMPLES, deadline=None)
@given(cases(list(CONVEX)))
def test_no_grain_ends_in_or_beyond_a_convex_body(case):
    """However fast: project the end of the way on the planes, and it is outside, on its side."""
    body, start, way, r = case
    body.angular_velocity = np.zeros(3)
    assume(sampled(body, start, way, r, [0.0])[0] > 0)
    planes = find([body], start, way, r)
    end = start + way
    for _ in range(100):
        for p in planes:
            end = end - min(0.0, plane_gaps(p[None], end, r, 1.0)[0]) * p[:3]
    # Where it ends, and on the straight line to there as the body sees it, it touches nothing.
    assert sampled(body, start, end - start, r, np.linspace(0, 1, 51)).min() > -0.06 * r


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(cases([*CONVEX, *OTHERS]), triple(3.0), triple(2.0))
def test_contacts_do_not_depend_on_the_frame(case, turn, shift):
    body, start, way, r = case
    planes = find([body], start, way, r)
    m = rotation(turn)
    moved = SimpleNamespace(**vars(body))
    moved.position, moved.rotation = m @ body.position + shift, m @ body.rotation
    moved.velocity, moved.angular_velocity = m @ body.velocity, m @ body.angular_velocity
    again = find([moved], m @ start + shift, m @ way, r)
    gap = sampled(body, start, way, r, np.linspace(0, 1, SAMPLES)).min()
    assume(abs(gap - 0.1 * r) > 1e-3 * r)
    # a centre on a sheet has no side: rounding chooses one
    assume(abs(sampled(body, start, way, r, [0.0])[0] + r) > 1e-6 * r)
    assert (len(again) > 0) == (len(planes) > 0)
    if len(planes):
        # Ties between faces may fall differently by rounding, the deepest plane may not.
        for f in (0.0, 1.0):
            a = plane_gaps(planes, start + f * way, r, f).min()
            b = plane_gaps(again, m @ (start + f * way) + shift, r, f).min()
            assert abs(a - b) < 0.05 * r
