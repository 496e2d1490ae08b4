"""Random poses against brute force, and what must hold in each (CASES D4).

What discrete elements feel of a body is read from the forces of one short step: springs of 1 N/m
without friction and damping, so that a force is an overlap in metres. The arbiters below know
shapes only as outlines, corners and triangles, and share no code with the solvers.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from berm.core.clusters import Cluster
from berm.core.materials import Material
from berm.core.motion import Keyframes
from berm.core.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    HeightField,
    Mesh,
    Plane,
    Sphere,
    Spheres,
)
from berm.kernels.multibody.motion import refresh_all
from berm.kernels.multibody.substep import touching
from berm.solvers.dem.solver import DEM
from berm.solvers.multibody.multibody import Multibody
from berm.world.world import World

POSES = 10_000
TOUCHING = 2000  # of them at least
PITCH = 0.13  # m, of the cells around a body, one grain in each
RADII = (0.15, 0.45)  # of these cells
SPRING = Material("spring", stiffness=1.0, restitution=1.0, friction_static=0.0,
                  friction_kinetic=0.0)  # fmt: skip
DT = 1e-9

# ---- arbiters: distance (m, negative in the solid) and direction away, in the body's frame -----


def to_triangles(points, tri):
    """Distance to each of the triangles (k, t) and the nearest point (k, t, 3), by all features."""
    p = points[:, None, :]
    a, b, c = (tri[None, :, i] for i in range(3))
    n = np.cross(b - a, c - a)
    n = n / np.linalg.norm(n, axis=2, keepdims=True)
    foot = p - ((p - a) * n).sum(2)[..., None] * n
    within = np.ones(foot.shape[:2], bool)
    best, where = np.full(foot.shape[:2], np.inf), foot.copy()
    for u, w in ((a, b), (b, c), (c, a)):
        within &= (np.cross(w - u, foot - u) * n).sum(2) >= 0
        t = np.clip(((p - u) * (w - u)).sum(2) / ((w - u) ** 2).sum(2), 0, 1)
        q = u + t[..., None] * (w - u)
        d = np.linalg.norm(p - q, axis=2)
        where = np.where((d < best)[..., None], q, where)
        best = np.minimum(best, d)
    where = np.where(within[..., None], foot, where)
    return np.linalg.norm(p - where, axis=2), where


def to_mesh(points, tri, solid=None):
    """Nearest of all triangles; `solid` says which points are in the body."""
    d, away, _ = to_each(points, tri)
    sign = np.where(solid, -1.0, 1.0) if solid is not None else np.ones(len(points))
    return sign * d, sign[:, None] * away


def to_each(points, tri):
    """Distance to the nearest triangle, direction away from it, distances to all (k, t)."""
    parts = np.array_split(points, max(1, len(points) * len(tri) // 300_000))
    each, where = [], []
    for some in parts:
        far, q = to_triangles(some, tri)
        each.append(far)
        where.append(q[np.arange(len(some)), far.argmin(axis=1)])
    distances = np.concatenate(each)
    d = distances.min(axis=1)
    return d, (points - np.concatenate(where)) / np.maximum(d, 1e-300)[:, None], distances


def to_outline(points, corners, solid, closed=False):
    """Nearest point of a body of revolution: of all edges of its section, both sides of the axis.

    corners (c, 2): rho and z; `solid(rho, z)` says what is in the body.
    """
    rho, z = np.hypot(points[:, 0], points[:, 1]), points[:, 2]
    p = np.stack([rho, z], 1)
    corners = np.array(corners, float)
    ends = np.roll(corners, -1, 0) if closed else corners[1:]
    best, where = np.full(len(p), np.inf), np.zeros_like(p)
    for mirror in (1.0, -1.0):
        for u, w in zip(corners[: len(ends)] * [mirror, 1], ends * [mirror, 1], strict=True):
            if np.allclose(u, w):
                continue
            t = np.clip((p - u) @ (w - u) / ((w - u) @ (w - u)), 0, 1)
            q = u + t[:, None] * (w - u)
            d = np.linalg.norm(p - q, axis=1)
            where[d < best] = q[d < best]
            best = np.minimum(best, d)
    sign = np.where(solid(rho, z), -1.0, 1.0)
    flat = sign[:, None] * (p - where) / best[:, None]
    radial = points[:, :2] / rho[:, None]
    return sign * best, np.column_stack([flat[:, :1] * radial, flat[:, 1:]])


def to_segment(points, half, radius):
    """Capsule: a ball rolled along a segment of the z axis."""
    core = np.column_stack([np.zeros((len(points), 2)), np.clip(points[:, 2], -half, half)])
    d = np.linalg.norm(points - core, axis=1)
    return d - radius, (points - core) / d[:, None]


def boxed(size):
    """The 12 triangles of a box (m)."""
    corner = 0.5 * np.array(list(product((-1, 1), repeat=3))) * size
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return np.array([corner[list(t)] for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])


def ball_mesh():
    """An icosahedron cut once: convex, 80 triangles."""
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(subdivisions=1, radius=0.5)
    return np.array(ball.vertices) * [1.0, 0.8, 0.6], np.array(ball.faces)


def hull(vertices, faces):
    """Whether points are in a convex mesh: behind all of its faces."""
    tri = vertices[faces]
    n = np.cross(tri[:, 1] - tri[:, 0], tri[:, 2] - tri[:, 0])
    n *= np.sign((n * (tri.mean(1) - vertices.mean(0))).sum(1))[:, None]
    return lambda p: ((p[:, None] - tri[None, :, 0]) * n[None]).sum(2).max(1) < 0


TETRA = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) * 0.4
TETRA_FACES = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
BALL, BALL_FACES = ball_mesh()
SIZE = np.array([0.9, 0.6, 0.3])
CONE = [(0, -0.4), (0.2, -0.4), (0.5, 0.4), (0, 0.4)]
TUBE = [(0.35, -0.4), (0.5, -0.4), (0.7, 0.4), (0.55, 0.4)]


def in_box(p):
    return (np.abs(p) < SIZE / 2).all(1)


def in_tube(rho, z):
    bore = 0.35 + 0.25 * (z + 0.4)
    return (np.abs(z) < 0.4) & (rho > bore) & (rho < bore + 0.15)


def in_cone(rho, z):
    return (np.abs(z) < 0.4) & (rho < 0.2 + 0.375 * (z + 0.4))


SOLIDS = {
    "plane": (Plane(), lambda p: (p[:, 2], np.tile([0.0, 0.0, 1.0], (len(p), 1)))),
    "sphere": (Sphere(0.45), lambda p: to_segment(p, 0.0, 0.45)),
    "capsule": (Capsule(0.2, 0.7), lambda p: to_segment(p, 0.35, 0.2)),
    "box": (Box(tuple(SIZE)), lambda p: to_mesh(p, boxed(SIZE), in_box(p))),
    "cylinder": (
        Cylinder(0.4, 0.8),
        lambda p: to_outline(
            p, [(0, -0.4), (0.4, -0.4), (0.4, 0.4), (0, 0.4)],
            lambda r, z: (r < 0.4) & (abs(z) < 0.4),
        ),
    ),
    "cone": (Cone(0.2, 0.5, 0.8), lambda p: to_outline(p, CONE, in_cone)),
    "pointed cone": (
        Cone(0.5, 0.0, 0.8),
        lambda p: to_outline(
            p, [(0, -0.4), (0.5, -0.4), (0, 0.4)],
            lambda r, z: (z > -0.4) & (r < 0.625 * (0.4 - z)),
        ),
    ),
    "tube": (
        Cone(0.35, 0.55, 0.8, inside=True, open_ends=True, wall=0.15),
        lambda p: to_outline(p, TUBE, in_tube, closed=True),
    ),
    "in sphere": (Sphere(0.6, inside=True), lambda p: turned_out(to_segment(p, 0.0, 0.6))),
    "in capsule": (Capsule(0.4, 0.5, True), lambda p: turned_out(to_segment(p, 0.25, 0.4))),
}  # fmt: skip


def turned_out(result):
    """A container is the solid's outside."""
    return -result[0], -result[1]


# ---- discrete elements and bodies --------------------------------------------------------------


def random_rotation(rng):
    return Rotation.random(random_state=np.random.RandomState(rng.integers(2**31))).as_matrix()


def felt(shape, rng, reach=0.85, pitch=PITCH, moves=False):
    """One body in a random pose among grains that do not touch each other.

    Returns the grains in the body's frame, radii, the force on each in that frame (N), and by how
    much action and reaction differ: force (N), torque (N m). moves: the body goes and turns in the
    step, and all is as of its end.
    """
    dt, slow = (1.0, 1e-9) if moves else (DT, 1.0)  # so weak that grains stay where they are
    spring = SPRING.replace(stiffness=slow)
    world = World(gravity=(0, 0, 0), dt=dt, solver=DEM(normal="linear", tangential="none"))
    turn, place = random_rotation(rng), rng.uniform(-3, 3, 3)
    way, axis = rng.uniform(-0.2, 0.2, 3), rng.normal(size=3)
    motion = Keyframes([0, 1], [(0, 0, 0), tuple(way)], [0, 0.4], tuple(axis)) if moves else None
    body = world.add_body(shape, name="body", material=spring, position=place, rotation=turn,
                          motion=motion)  # fmt: skip
    steps = np.arange(-reach, reach, pitch)
    grid = np.stack(np.meshgrid(steps, steps, steps), -1).reshape(-1, 3)
    radii = pitch * rng.uniform(*RADII, len(grid))
    slack = (pitch / 2 - radii)[:, None]  # each keeps to its own cell
    grid = grid + slack * rng.uniform(-1, 1, grid.shape)
    world.add_grains(place + grid @ turn.T, radii, material=spring)
    with pytest.warns(UserWarning, match=r"grain \d+ starts .* radii deep in body 'body'"):
        world.step()
    assert world.report.substeps == 1
    if moves:
        axis = axis / np.linalg.norm(axis)
        place, turn = place + way, Rotation.from_rotvec(0.4 * axis).as_matrix() @ turn
    g = world.grains
    force = g.force[: g.n, :3] / slow
    arm, r = g.position - place, g.radius.copy()
    # one contact: it lies on the line of the force, so that the centre will do for an arm
    off = body.force / slow + force.sum(0)
    twist = body.torque / slow + np.cross(arm, force).sum(0)
    return arm @ turn, r, force @ turn, max(np.abs(off).max(), np.abs(twist).max())


@pytest.mark.parametrize("name", list(SOLIDS))
def test_grains_feel_the_exact_distance_of_a_body(name):
    """Touch or not, depth and direction are those of brute force in 10,000 poses; 1e-9 m.

    In the middle of a body, where two sides are equally far, any of them may push.
    """
    shape, arbiter = SOLIDS[name]
    rng = np.random.default_rng(4)
    seen, touched = 0, 0
    while seen < POSES or touched < TOUCHING:
        p, r, force, off = felt(shape, rng)
        d, away = arbiter(p)
        depth = np.maximum(r - d, 0.0)
        assert np.abs(np.linalg.norm(force, axis=1) - depth).max() < 1e-9
        turned = np.linalg.norm(force - depth[:, None] * away, axis=1)
        assert (turned[d > -0.05] < 1e-9).all()
        assert off < 1e-9
        seen, touched = seen + len(p), touched + int((depth > 0).sum())


@pytest.mark.parametrize("name", list(SOLIDS))
def test_grains_feel_a_driven_body_where_it_is_at_that_moment(name):
    """The same at the end of a step in which the body goes up to 0.35 m and turns by 0.4; 1e-7 m.

    Springs of 1e-9 N/m move a grain by less than that in the step.
    """
    shape, arbiter = SOLIDS[name]
    rng = np.random.default_rng(3)
    touched = 0
    while touched < TOUCHING // 4:
        p, r, force, off = felt(shape, rng, moves=True)
        d, away = arbiter(p)
        depth = np.maximum(r - d, 0.0)
        assert np.abs(np.linalg.norm(force, axis=1) - depth).max() < 1e-7
        turned = np.linalg.norm(force - depth[:, None] * away, axis=1)
        assert (turned[d > -0.05] < 1e-6).all()
        assert off < 1e-9
        touched += int((depth > 0).sum())


def push(p, r, d, normals):
    """Pushes of half-spaces at distances d (k, f), normals (f, 3) or (k, f, 3): sum, number."""
    depth = np.maximum(r[:, None] - d, 0.0)
    normals = np.broadcast_to(normals, (*d.shape, 3))
    return (depth[..., None] * normals).sum(1), (depth > 0).sum(1)


def container_box(p, r):
    sides = np.concatenate([np.eye(3), -np.eye(3)])
    half = np.concatenate([SIZE, SIZE])
    return push(p, r, half - p @ sides.T, -sides)


def container_cone(p, r):
    """Bottom and top, and the mantle as the plane that touches it where it is nearest."""
    rho = np.hypot(p[:, 0], p[:, 1])
    lean = np.hypot(0.375, 1.0)
    side = (0.5 + 0.375 * (p[:, 2] + 0.8) - rho) / lean
    inward = np.column_stack([-p[:, :2] / rho[:, None], np.full(len(p), 0.375)]) / lean
    d = np.stack([p[:, 2] + 0.8, 0.8 - p[:, 2], side], 1)
    up = np.broadcast_to([0.0, 0.0, 1.0], (len(p), 3))
    return push(p, r, d, np.stack([up, -up, inward], 1))


ROCK = Spheres(
    [[0.2, 0, 0], [-0.2, 0.1, 0], [0, -0.1, 0.2], [0.1, 0.25, -0.1]], [0.35, 0.3, 0.25, 0.2]
)


def all_spheres(p, r):
    away = p[:, None] - ROCK.centres
    far = np.linalg.norm(away, axis=2)
    return push(p, r, far - ROCK.radii, away / far[..., None])


CONTAINERS = {
    "union of spheres": (ROCK, all_spheres),
    "box": (Box(tuple(2 * SIZE), inside=True), container_box),
    "cone": (Cone(0.5, 1.1, 1.6, inside=True), container_cone),
}


@pytest.mark.parametrize("name", list(CONTAINERS))
def test_grains_feel_each_face_of_what_they_can_touch_in_several_places(name):
    """In corners and between spheres the pushes of all faces add up, in 10,000 poses; 1e-9 m."""
    shape, arbiter = CONTAINERS[name]
    rng = np.random.default_rng(5)
    seen, several = 0, 0
    while seen < POSES or several < TOUCHING // 4:
        p, r, force, _ = felt(shape, rng)
        wanted, faces = arbiter(p, r)
        assert np.abs(force - wanted).max() < 1e-9
        seen, several = seen + len(p), several + int((faces > 1).sum())


CONVEX = {"tetrahedron": (TETRA, TETRA_FACES), "ball": (BALL, BALL_FACES)}


@pytest.mark.parametrize("name", list(CONVEX))
def test_grains_feel_a_convex_mesh_as_its_nearest_triangle(name):
    """One contact a grain, deepest where brute force over all triangles has it.

    An edge that is met within 4 degrees of its face's normal is met like the face, which is then
    nearer by up to 1 - cos: 0.25 % of the distance, and nowhere deeper than that.
    """
    vertices, faces = CONVEX[name]
    mesh, tri, inside = Mesh(vertices, faces), vertices[faces], hull(vertices, faces)
    rng = np.random.default_rng(6)
    seen, touched = 0, 0
    while seen < POSES or touched < TOUCHING // 4:
        p, r, force, off = felt(mesh, rng, 0.65, 0.06)
        out = ~inside(p)
        d, away = to_mesh(p[out], tri)
        depth = np.maximum(r[out] - d, 0.0)
        size = np.linalg.norm(force[out], axis=1)
        assert (np.abs(size - depth) <= 0.0025 * r[out]).all()
        sharp = depth > 0.0
        cos = (force[out] * away).sum(1)[sharp] / np.maximum(size[sharp], 1e-300)
        assert (cos[depth[sharp] > 0.003 * r[out][sharp]] > 0.997).all()
        assert off < 1e-9
        seen, touched = seen + int(out.sum()), touched + int(sharp.sum())


GROUND = HeightField(0.12 * np.sin(1.7 * np.arange(81)).reshape(9, 9), 0.2, (-0.8, -0.8))


def ground_triangles():
    h, c = GROUND.heights, GROUND.cell
    at = np.stack(np.meshgrid(-0.8 + c * np.arange(9), -0.8 + c * np.arange(9), indexing="ij"), -1)
    v = np.concatenate([at, h[..., None]], -1)
    lower = np.stack([v[:-1, :-1], v[1:, :-1], v[1:, 1:]], -2).reshape(-1, 3, 3)
    upper = np.stack([v[:-1, :-1], v[1:, 1:], v[:-1, 1:]], -2).reshape(-1, 3, 3)
    return np.concatenate([lower, upper])


def notch():
    """A solid with a groove: an L turned along y, not convex."""
    outline = np.array(
        [(-0.6, -0.4), (0.6, -0.4), (0.6, 0.4), (0.2, 0.4), (0.0, -0.1), (-0.6, 0.1)]
    )
    n = len(outline)
    v = np.array([[x, y, z] for y in (-0.5, 0.5) for x, z in outline])
    side = [[i, (i + 1) % n, n + (i + 1) % n] for i in range(n)]
    side += [[i, n + (i + 1) % n, n + i] for i in range(n)]
    caps = [(0, 1, 4), (1, 2, 4), (2, 3, 4), (0, 4, 5)]
    caps += [tuple(n + k for k in reversed(c)) for c in caps]
    return v, np.array([*side, *caps])


def in_notch(p):
    """Above which edge of the outline a point lies, by crossings."""
    outline = notch()[0][:6][:, [0, 2]]
    inside = np.zeros(len(p), bool)
    for u, w in zip(outline, np.roll(outline, -1, 0), strict=True):
        cross = (u[1] > p[:, 2]) != (w[1] > p[:, 2])
        with np.errstate(divide="ignore", invalid="ignore"):
            at = u[0] + (p[:, 2] - u[1]) / (w[1] - u[1]) * (w[0] - u[0])
        inside ^= cross & (p[:, 0] < at)
    return inside & (np.abs(p[:, 1]) < 0.5)


ROUGH = {
    "ground": (GROUND, ground_triangles(), lambda p: below_ground(p)),
    "notch": (Mesh(*notch()), notch()[0][notch()[1]], in_notch),
}


@pytest.mark.parametrize("name", list(ROUGH))
def test_grains_feel_hollows_of_triangles_on_every_side(name):
    """What is not convex may touch in several places at once; these must hold in 10,000 poses.

    There is a force where the nearest triangle is nearer than the radius and none elsewhere; along
    the nearest direction it pushes at least as hard as that contact alone would, less where others
    oppose it; it never exceeds the sum over all triangles in reach. Where one triangle alone is in
    reach, it is exact.
    """
    shape, tri, inside = ROUGH[name]
    rng = np.random.default_rng(7)
    seen, several, single = 0, 0, 0
    while seen < POSES or min(several, single) < TOUCHING // 4:
        p, r, force, _ = felt(shape, rng, 0.75)
        out = ~inside(p)
        p, r, force = p[out], r[out], force[out]
        d, away, each = to_each(p, tri)
        size = np.linalg.norm(force, axis=1)
        slack = 0.0025 * r
        assert (size[d > r + 1e-12] == 0.0).all()
        assert (size[d < r - slack] > 0.0).all()
        depths = np.maximum(r[:, None] - each, 0.0)
        assert (size <= depths.sum(1) + slack * (depths > 0).sum(1)).all()
        alone = (each < r[:, None]).sum(1) == 1
        error = np.linalg.norm(force - (r - d)[:, None] * away, axis=1)
        assert (error[alone] < 0.08 * r[alone]).all()
        assert (np.abs(size - (r - d))[alone] <= slack[alone]).all()
        seen, single = seen + len(p), single + int(alone.sum())
        several += int((depths > 0).any(1).sum() - alone.sum())


def below_ground(p):
    """Under the triangles, within the edges of the field."""
    tri = ground_triangles()
    n = np.cross(tri[:, 1] - tri[:, 0], tri[:, 2] - tri[:, 0])
    flat = (p[:, None] - tri[None, :, 0]) * n[None]
    over = np.ones((len(p), len(tri)), bool)  # a point's column meets this triangle
    for i in range(3):
        u, w = tri[None, :, i, :2], tri[None, :, (i + 1) % 3, :2]
        side = (w - u)[..., 0] * (p[:, None, 1] - u[..., 1])
        over &= side - (w - u)[..., 1] * (p[:, None, 0] - u[..., 0]) >= 0
    return (over & (flat.sum(2) < 0)).any(1)


DEEP = {
    "tetrahedron": (Mesh(TETRA, TETRA_FACES), TETRA[TETRA_FACES], hull(TETRA, TETRA_FACES)),
    "notch": (Mesh(*notch()), notch()[0][notch()[1]], in_notch),
    "cavity": (
        Mesh(BALL, BALL_FACES, inside=True), BALL[BALL_FACES],
        lambda p: ~hull(BALL, BALL_FACES)(p),
    ),
    "ground": (GROUND, ground_triangles(), below_ground),
}  # fmt: skip


@pytest.mark.parametrize("name", list(DEEP))
@pytest.mark.parametrize("moves", [False, True], ids=["at rest", "driven"])
def test_a_centre_within_a_solid_of_triangles_is_pushed_out(name, moves):
    """As from all other solids: by the shortest way, as far as the sphere reaches in; 1e-9 m.

    However deep it is; in the middle, where two sides are equally far, any of them may push.
    """
    shape, tri, inside = DEEP[name]
    rng = np.random.default_rng(13)
    seen, exact = 0, 1e-6 if moves else 1e-9
    while seen < TOUCHING // 2:
        p, r, force, off = felt(shape, rng, 0.75, moves=moves)
        p, r, force = p[inside(p)], r[inside(p)], force[inside(p)]
        d, away, each = to_each(p, tri)
        assert np.abs(np.linalg.norm(force, axis=1) - (r + d)).max(initial=0.0) < exact
        wrong = np.linalg.norm(force + (r + d)[:, None] * away, axis=1)
        middle = ((each < d[:, None] + 1e-4).sum(1) > 1) | (d < 1e-9)
        assert (wrong[~middle] < 10 * exact).all()
        if name in ("tetrahedron", "cavity"):  # one contact a grain
            assert off < 1e-8
        seen += len(p)


@pytest.mark.parametrize("name", ["flat", "closed"])
def test_a_sheet_is_touched_from_both_sides(name):
    """It has no inside, be it closed or not: where grains are, there they are pushed to; 1e-9 m."""
    flat = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]), [[0, 1, 2], [0, 2, 3]]
    vertices, faces = flat if name == "flat" else (TETRA, TETRA_FACES)
    mesh, tri = Mesh(vertices, faces, two_sided=True), vertices[np.array(faces)]
    rng = np.random.default_rng(14)
    seen = 0
    while seen < TOUCHING // 4:
        p, r, force, _ = felt(mesh, rng, 0.75)
        d, away, each = to_each(p, tri)
        depth = np.maximum(r - d, 0.0)
        one = ((each < r[:, None]).sum(1) == 1) if name == "closed" else np.ones(len(p), bool)
        wrong = np.linalg.norm(force - depth[:, None] * away, axis=1)
        assert (wrong[one] < np.where(name == "flat", 1e-9, 0.08 * r)[one]).all()
        seen += int((depth > 0).sum())


# ---- compound grains -----------------------------------------------------------------------------


def test_compound_grains_feel_all_pairs_of_their_spheres():
    """Force and torque on both of two bodies in 10,000 random poses, against all pairs; 1e-9.

    Read from the velocity and spin that one short step gives them, so that mass, inertia, frames
    and lists take part. Momentum and angular momentum of a pair stay zero.
    """
    rng = np.random.default_rng(8)
    offsets = np.array([[0, 0, 0], [0.9, 0, 0], [0.2, 0.8, 0.1], [-0.3, 0.2, 0.9]])
    radii = np.full(4, 0.45)
    cluster = Cluster(offsets, radii)
    side = int(np.ceil(POSES ** (1 / 3)))
    cell = 2.6 * 2 * cluster.bounding_radius
    where = cell * np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3)[:POSES]
    way = rng.normal(size=(POSES, 3))
    way *= (rng.uniform(0.3, 2.2, POSES) / np.linalg.norm(way, axis=1))[:, None]
    place = np.stack([where, where + way], 1).reshape(-1, 3)
    turn = Rotation.random(2 * POSES, random_state=np.random.RandomState(9))
    world = World(gravity=(0, 0, 0), dt=1e-6,
                  solver=DEM(normal="linear", tangential="none", start_overlap=2.0))  # fmt: skip
    stuff = SPRING.replace(name="grain", density=1.0)
    quaternion = turn.as_quat()[:, [3, 0, 1, 2]]
    tags = world.add_clusters(cluster, place, rotation=quaternion, material=stuff)
    world.step()
    rows = np.array([world.clumps.row_of(tag) for tag in tags])
    v = world.clumps.velocity[rows].reshape(POSES, 2, 3)
    moment = world.clumps.L_own[rows, :3]

    centre = place[:, None] + np.einsum("bij,sj->bsi", turn.as_matrix(), cluster.offsets)
    centre = centre.reshape(POSES, 2, 4, 3)
    gap = centre[:, 1, None, :] - centre[:, 0, :, None]  # from a sphere of one to one of the other
    far = np.linalg.norm(gap, axis=3)
    deep = np.maximum(radii[:, None] + radii - far, 0.0)
    f = -deep[..., None] * gap / far[..., None]  # on the sphere of the first body
    total = f.sum((1, 2))
    at = centre[:, 0, :, None] + gap / far[..., None] * (radii[:, None] - 0.5 * deep)[..., None]
    mass = stuff.density * cluster.volume
    touching = deep.any((1, 2))
    assert 0.2 < touching.mean() < 0.99
    assert np.abs(v[:, 0] * mass / 1e-6 - total).max() < 1e-9
    assert np.abs(v[:, 0] + v[:, 1]).max() < 1e-12 * 1e-6
    for side, sign in ((0, 1.0), (1, -1.0)):
        middle = place.reshape(POSES, 2, 3)[:, side]
        twist = np.cross(at - middle[:, None, None], sign * f).sum((1, 2))
        found = turn[side::2].apply(moment.reshape(POSES, 2, 3)[:, side]) / 1e-6
        assert np.abs(found - twist).max() < 1e-9


# ---- bodies that meet bodies (P2) ----------------------------------------------------------------


class Meeting:
    """Contacts between a dynamic and a fixed body at given poses."""

    def __init__(self, moving, fixed):
        world = World(gravity=(0, 0, 0), dt=1e-3)
        world.add_body(moving, name="moving", dynamic=True, position=(0, 0, 50.0))
        world.add_body(fixed, name="fixed")
        self.bodies, self.multibody = world.bodies, Multibody()
        self.multibody.follow(world)

    def contacts(self, place, turn):
        """Of the moving body's samples and of the fixed one's: gaps (m) and normals towards it."""
        multi, row = self.multibody, 1
        self.bodies.x[row] = place
        self.bodies.q[row] = Rotation.from_matrix(turn).as_quat()[[3, 0, 1, 2]]
        refresh_all(multi.arrays)
        found = touching(multi.arrays, multi.table.arrays, multi.solids, 0.0, True)
        n = int(found.n[0])
        gap, own = found.gap[:n], found.a[:n] == row
        normal = np.where(own[:, None], found.normal[:n], -found.normal[:n])
        return (gap[own], normal[own]), (gap[~own], normal[~own])


@pytest.mark.parametrize("name", ["plane", "sphere", "capsule", "box", "cylinder", "cone"])
def test_a_ball_meets_a_body_at_its_exact_distance(name):
    """P2's contact of a dynamic ball with a fixed body: gap and normal in 10,000 poses; 1e-9 m.

    It is listed within a hundredth of the ball's radius; at the outermost corners of a box or a
    cylinder, which are rounded for other bodies, it may come later by that rounding. The body's own
    samples (corners, edges, rims) are never nearer to the ball than the body is, but that the
    rounding of a cone's sharp rim stands out of it.
    """
    shape, arbiter = SOLIDS[name]
    rng = np.random.default_rng(10)
    r = 0.15
    meeting = Meeting(Sphere(r), shape)
    points = rng.uniform(-0.85, 0.85, (POSES, 3))
    late = {"box": 0.02 * 0.15 * (np.sqrt(3) - 1), "cylinder": 0.02 * 0.4, "cone": 0.02 * 0.4}
    out = 0.02 * 0.4 if name == "cone" else 0.0
    met = 0
    for p, far, n in zip(points, *arbiter(points), strict=True):
        (gap, normal), (others, _) = meeting.contacts(p, np.eye(3))
        assert len(gap) == 0 or far - r < 0.01 * r + 1e-9
        if len(gap) == 0:
            assert far - r > (-late[name] if name in late else 0.01 * r) - 1e-9
        else:
            met += 1
            assert abs(gap[0] - (far - r)) < 1e-9
            assert far < -0.02 or np.abs(normal[0] - n).max() < 1e-6
        assert (others > far - r - out - 1e-9).all()
    assert met > TOUCHING // 4


def test_unions_of_spheres_meet_sphere_by_sphere():
    """P2's contacts of two composite bodies in 10,000 poses are all pairs of spheres; 1e-9 m.

    Each pair that is nearer than a hundredth of the smaller body's radius is listed once, with its
    gap, normal and point, in the order of its number.
    """
    rng = np.random.default_rng(13)
    other = Spheres(rng.uniform(-0.3, 0.3, (6, 3)), rng.uniform(0.1, 0.3, 6))
    meeting = Meeting(ROCK, other)
    multi = meeting.multibody
    margin = 0.01 * multi.solids.ball[1:, 3].min()
    turns = Rotation.random(POSES, random_state=np.random.RandomState(14)).as_matrix()
    ways = rng.normal(size=(POSES, 3))
    ways *= (rng.uniform(0.2, 1.4, POSES) / np.linalg.norm(ways, axis=1))[:, None]
    met = 0
    for turn, way in zip(turns, ways, strict=True):
        meeting.contacts(np.zeros(3), turn)  # where the frame goes when the centre is at 0
        shift = way - meeting.bodies.org[1]
        meeting.contacts(shift, turn)
        found = touching(multi.arrays, multi.table.arrays, multi.solids, 0.0, True)
        n = int(found.n[0])
        centres = meeting.bodies.org[1] + ROCK.centres @ meeting.bodies.rot[1].T
        apart = centres[:, None] - other.centres
        far = np.linalg.norm(apart, axis=2)
        gap = far - ROCK.radii[:, None] - other.radii
        i, j = np.nonzero(gap < margin)
        assert found.feature[:n].tolist() == (6 * i + j).tolist()
        normal = apart[i, j] / far[i, j][:, None]
        assert np.abs(found.gap[:n] - gap[i, j]).max(initial=0.0) < 1e-9
        assert np.abs(found.normal[:n] - normal).max(initial=0.0) < 1e-9
        reach = other.radii[j] + 0.5 * gap[i, j]
        point = other.centres[j] + reach[:, None] * normal
        assert np.abs(found.point[:n] - point).max(initial=0.0) < 1e-9
        met += n > 0
    assert TOUCHING < met < POSES - TOUCHING // 4


def box_gap(place, turn, size, other):
    """Gap of two boxes along the best of the 15 axes that can part them: negative where they meet.

    It is exact about meeting, is the depth where they do, and no more than the distance where they
    do not (Gottschalk 1996).
    """
    one, two = turn.T, np.eye(3)  # rows are axes
    axes = np.array([*one, *two, *(np.cross(a, b) for a in one for b in two)])
    length = np.linalg.norm(axes, axis=1)
    axes = axes[length > 1e-6] / length[length > 1e-6, None]
    reach = 0.5 * (np.abs(axes @ one.T) @ size + np.abs(axes @ two.T) @ other)
    return float((np.abs(axes @ place) - reach).max())


def test_boxes_meet_where_no_axis_parts_them():
    """P2's contacts of two boxes in 10,000 poses, against the test by 15 axes.

    No contact is deeper, or nearer, than the boxes are. Boxes that meet by more than the rounding
    of their edges and corners (2 % of the smallest half width) have a contact that pushes.
    """
    rng = np.random.default_rng(11)
    size = np.array([0.5, 0.4, 0.3])
    meeting = Meeting(Box(tuple(size)), Box(tuple(SIZE)))
    rounding = 2 * 0.02 * 0.15 * (np.sqrt(3) - 1)  # of both
    parted = met = 0
    turns = Rotation.random(POSES, random_state=np.random.RandomState(12)).as_matrix()
    for turn, place in zip(turns, rng.uniform(-0.8, 0.8, (POSES, 3)), strict=True):
        exact = box_gap(place, turn, size, SIZE)
        gap = np.concatenate([one[0] for one in meeting.contacts(place, turn)])
        assert (gap > exact - 1e-9).all()
        if exact > 0:
            parted += 1
        elif exact < -rounding:
            met += 1
            assert gap.min(initial=1.0) < 0
    assert parted > TOUCHING and met > TOUCHING
