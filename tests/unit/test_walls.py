"""Wall contacts: where they are, that nothing slips through, warm start, growth, determinism."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

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
from berm.kernels.geometry.distance import POSE
from berm.kernels.jit import JIT_ON, get_threads, max_threads, pjit, prange, set_threads
from berm.kernels.walls.find import find as find_contacts
from berm.kernels.walls.poses import flat_poses
from berm.solvers.walls.shapes import ShapeTable, pack, signed_distance
from berm.solvers.walls.walls import Walls
from tests.wall_tools import find_bodies, loads_on, poses_of

pytestmark = pytest.mark.nojit
MANY = 10_000 if JIT_ON else 40
R = 0.05
SKIN = 0.1  # radii


def body(shape, position=(0, 0, 0), rotation=None, velocity=(0, 0, 0), spin=(0, 0, 0)):
    """Return a stand-in with just the attributes that walls may rely on."""
    return SimpleNamespace(
        shape=shape,
        material=0,
        position=np.array(position, float),
        rotation=np.eye(3) if rotation is None else np.array(rotation, float),
        velocity=np.array(velocity, float),
        angular_velocity=np.array(spin, float),
    )


def rotation(vector):
    """Rotation matrix of a rotation vector, by its exponential series."""
    x, y, z = vector
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], float)
    out, term = np.eye(3), np.eye(3)
    for i in range(1, 30):
        term = term @ k / i
        out = out + term
    return out


def grains(position, velocity=(0, 0, 0), radius=R, dtype=np.float32):
    position = np.atleast_2d(np.array(position, float))
    x = np.zeros((len(position), 4), dtype)
    x[:, :3], x[:, 3] = position, radius
    v = np.zeros_like(x)
    v[:, :3] = velocity
    return x, v


def slabs(n, count=4):
    return np.linspace(0, n, count + 1).astype(np.int64)


def find(bodies, x, v, dt=1.0, gravity=(0, 0, 0), skin=SKIN, walls=None, count=4, **more):
    walls = Walls(x.dtype) if walls is None else walls
    find_bodies(walls, bodies, x, v, len(x), slabs(len(x), count), dt, gravity, skin, **more)
    return walls


def listed(walls):
    """All contacts as (row, body, plane) in slab order."""
    used = np.arange(walls.rows.shape[1]) < walls.count[:, None]
    return walls.rows[used], walls.body[used], walls.plane[used][:, :7].astype(float)


def gaps(plane, centre, radius, f):
    """Gap of each plane for a centre when the fraction f of the step is gone."""
    n, s = plane[:, :3], plane[:, 4:7]
    return n @ centre - plane[:, 3] - radius - f * (n * s).sum(1)


def settle(walls, x, v, dt, gravity=(0, 0, 0)):
    """End positions (n, 3) after each grain's way is projected on all its planes."""
    end = x[:, :3] + dt * v[:, :3].astype(float) + dt * dt * np.array(gravity, float)
    rows, _, planes = listed(walls)
    for _ in range(50):
        for row, p in zip(rows, planes, strict=True):
            gap = gaps(p[None], end[row], float(x[row, 3]), 1.0)[0]
            if gap < 0:
                end[row] -= gap * p[:3]
    return end


def plate(cells=8, size=1.0, z=0.0):
    """A flat open mesh of cells x cells squares, two triangles each."""
    g = np.linspace(-size / 2, size / 2, cells + 1)
    vertices = np.array([[a, b, z] for a in g for b in g])
    i, j = (k.reshape(-1) for k in np.meshgrid(np.arange(cells), np.arange(cells), indexing="ij"))
    p = i * (cells + 1) + j
    q = p + cells + 1
    faces = np.concatenate([np.stack([p, q, q + 1], 1), np.stack([p, q + 1, p + 1], 1)])
    return vertices, faces


def box_mesh(size, cells=1, **options):
    """A closed box of triangles; each face is cut into cells x cells squares."""
    vertices, faces = plate(cells, 2.0, 1.0)
    turns = [
        np.eye(3), rotation([np.pi, 0, 0]), rotation([np.pi / 2, 0, 0]),
        rotation([-np.pi / 2, 0, 0]), rotation([0, np.pi / 2, 0]), rotation([0, -np.pi / 2, 0]),
    ]  # fmt: skip
    points = np.concatenate([vertices @ t.T for t in turns]).round(12) * np.array(size) / 2
    return Mesh(points, np.concatenate([faces + k * len(vertices) for k in range(6)]), **options)


# ---- geometry of single contacts --------------------------------------------------------------


def test_a_grain_on_a_plane_gets_the_plane():
    x, v = grains([[0.3, -0.2, 1.0 + R], [0, 0, 2.0], [0, 0, 1.0 + R + 0.2 * R]])
    rows, bodies, planes = listed(
        find([body(Sphere(0.1), (5, 0, 0)), body(Plane(), (0, 0, 1))], x, v)
    )
    assert rows.tolist() == [0] and bodies.tolist() == [1]
    np.testing.assert_allclose(planes[0], [0, 0, 1, 1.0, 0, 0, 0], atol=1e-7)


def test_the_way_of_a_step_decides_not_the_place_alone():
    x, v = grains([[0, 0, 3 * R]], (0, 0, -2 * R))
    assert find([body(Plane())], x, v, dt=0.9).contacts == 0
    assert find([body(Plane())], x, v, dt=1.0).contacts == 1
    assert find([body(Plane())], x, 0 * v, dt=0.1, gravity=(0, 0, -200 * R)).contacts == 1
    assert find([body(Plane())], x, 0 * v, dt=0.1, gravity=(0, 0, -180 * R)).contacts == 0


@pytest.mark.parametrize(
    ("shape", "place", "normals"),
    [
        (Box((1, 1, 1), inside=True), [0.45, 0.45, -0.45], [[-1, 0, 0], [0, -1, 0], [0, 0, 1]]),
        (Box((1, 1, 1), inside=True), [0.0, 0.0, 0.45], [[0, 0, -1]]),
        (Box((1, 1, 1), inside=True, open_top=True), [0.45, 0.0, 0.45], [[-1, 0, 0]]),
        (Box((1, 1, 1), inside=True, open_top=True), [0.45, 0.0, 3.0], [[-1, 0, 0]]),
        (Box((0.1, 0.2, 1), inside=True), [0, 0, 0], [[1, 0, 0], [-1, 0, 0]]),
        (Cylinder(0.5, 1, inside=True), [0, 0.45, -0.45], [[0, -1, 0], [0, 0, 1]]),
        (Cylinder(0.5, 1, inside=True, open_ends=True), [0, 0.45, -0.45], [[0, -1, 0]]),
        (Cylinder(0.5, 1), [0, 0.55, 0.2], [[0, 1, 0]]),
        (Cylinder(0.5, 1), [0, 0.2, 0.55], [[0, 0, 1]]),
        (Cone(0.5, 0.5, 1, inside=True), [0.45, 0, 0.45], [[-1, 0, 0], [0, 0, -1]]),
        (Cone(0, 1, 1, inside=True), [0.1, 0, -0.4 + R * 2**0.5], [[-(0.5**0.5), 0, 0.5**0.5]]),
        (Capsule(0.2, 1), [0, 0, 0.75], [[0, 0, 1]]),
        (Capsule(0.2, 1), [0.25, 0, 0.4], [[1, 0, 0]]),
        (Capsule(0.2, 1, inside=True), [0.15, 0, 0.4], [[-1, 0, 0]]),
        (Sphere(0.5, inside=True), [0, 0, -0.45], [[0, 0, 1]]),
        (Sphere(0.5), [0, 0.55, 0], [[0, 1, 0]]),
        (Box((1, 1, 1)), [0.5 + R / 2**0.5, 0, 0.5 + R / 2**0.5], [[0.5**0.5, 0, 0.5**0.5]]),
    ],
)  # fmt: skip
def test_contacts_of_a_grain_at_rest(shape, place, normals):
    x, v = grains(place, dtype=np.float64)
    turn, shift = rotation([0.4, -0.9, 0.3]), np.array([1.0, 2.0, -0.5])
    x[:, :3] = x[:, :3] @ turn.T + shift
    _, _, planes = listed(find([body(shape, shift, turn)], x, v))
    found = planes[:, :3] @ turn
    assert len(found) == len(normals)
    for n in normals:
        assert np.abs(found - n).max(1).min() < 1e-6
    np.testing.assert_allclose(gaps(planes, x[0, :3], R, 0.0), 0.0, atol=1e-6)


def test_a_grain_as_wide_as_a_bore_is_held_all_around():
    x, v = grains([[1e-4, 0, 0.0]])
    for shape in (Cylinder(R, 1, inside=True), Cylinder(R, 1, inside=True, open_ends=True)):
        _, _, planes = listed(find([body(shape)], x, v))
        for angle in np.linspace(0, 2 * np.pi, 12):
            assert (planes[:, :3] @ [np.cos(angle), np.sin(angle), 0]).min() < -0.49


@pytest.mark.parametrize(
    ("shape", "place", "way_out"),
    [
        (Plane(), [0, 0, -0.7], [0, 0, 1]),
        (Sphere(0.5), [0, 0.1, 0], [0, 1, 0]),
        (Box((1, 2, 3)), [0.3, 0, 0], [1, 0, 0]),
        (Box((1, 1, 1), inside=True), [0, 0.9, 0], [0, -1, 0]),
        (Cylinder(0.5, 1, inside=True), [-0.9, 0, 0], [1, 0, 0]),
        (Sphere(0.5, inside=True), [0, 0, 2], [0, 0, -1]),
        (box_mesh((1, 2, 3), 3), [0.3, 0.04, 0.03], [1, 0, 0]),
        (box_mesh((1, 2, 3), 3), [0.49, 0.04, 0.03], [1, 0, 0]),
        (box_mesh((1, 1, 1), 3, inside=True), [0, 0.9, 0.01], [0, -1, 0]),
        (box_mesh((1, 1, 1), 3, inside=True), [0, 0.51, 0.01], [0, -1, 0]),
        (HeightField(np.zeros((5, 5)), 0.25, (-0.5, -0.5)), [0.1, 0.07, -0.6], [0, 0, 1]),
    ],
)
def test_a_grain_inside_a_solid_is_pushed_out(shape, place, way_out):
    x, v = grains(place)
    walls = find([body(shape)], x, v)
    _, _, planes = listed(walls)
    deepest = planes[np.argmin(gaps(planes, x[0, :3], R, 0.0))]
    np.testing.assert_allclose(deepest[:3], way_out, atol=1e-5)
    d, _ = signed_distance(shape, settle(walls, x, v, 1.0))
    assert abs(d[0] - R) < 1e-5


# ---- moving bodies -----------------------------------------------------------------------------


def test_gap_of_a_translating_body_is_exact_all_the_way():
    x, v = grains([[0.1, 0, 1.0]], (0, 0, -0.3), dtype=np.float64)
    moving = body(Plane(), velocity=(0.4, 0, 0.9))
    _, _, planes = listed(find([moving], x, v))
    for f in (0.0, 0.3, 1.0):
        centre = x[0, :3] + f * v[0, :3]
        assert gaps(planes, centre, R, f)[0] == pytest.approx(centre[2] - 0.9 * f - R, abs=1e-12)


def test_gap_of_a_turning_blade_is_right_where_it_strikes():
    """A thin blade turns about z; a still grain in its way is met at the right moment."""
    spin, reach = 2.0, 0.6
    angle = 0.8
    x, v = grains([[reach * np.cos(angle), reach * np.sin(angle), 0]], dtype=np.float64)
    blade = body(Box((2, 0.02, 0.5)), spin=(0, 0, spin))
    _, _, planes = listed(find([blade], x, v, dt=0.5))
    strike = (angle - np.arcsin((R + 0.01) / reach)) / (spin * 0.5)
    assert len(planes) == 1
    assert gaps(planes, x[0, :3], R, strike)[0] == pytest.approx(0.0, abs=0.06 * R)
    assert gaps(planes, x[0, :3], R, 0.0)[0] > 0
    # The surface there moves at spin x arm, at right angles to the arm.
    met = spin * 0.5 * strike
    np.testing.assert_allclose(planes[0, :3], [-np.sin(met), np.cos(met), 0], atol=0.01)
    assert planes[0, :3] @ planes[0, 4:7] == pytest.approx(spin * 0.5 * reach, rel=0.01)


# ---- nothing slips through ---------------------------------------------------------------------

THIN = {
    "sheet": Mesh(*plate()),
    "closed mesh": box_mesh((1, 1, 0.01), 4),
    "box": Box((1, 1, 0.01)),
    "disc": Cylinder(0.5, 0.01),
    "ground": HeightField(np.zeros((9, 9)), 0.125, (-0.5, -0.5)),
}


@pytest.mark.parametrize("who", ["grain", "body", "both"])
@pytest.mark.parametrize("name", list(THIN))
def test_a_thin_wall_stops_a_grain_that_moves_ten_radii_a_step(name, who):
    rng = np.random.default_rng(1)
    n = 300 if JIT_ON else 6
    start = rng.uniform([-0.15, -0.15, 1.1 * R], [0.15, 0.15, 9 * R], (n, 3))
    way = rng.uniform([-0.15, -0.15, -10 * R], [0.15, 0.15, -10 * R], (n, 3))
    share = {"grain": 1.0, "body": 0.0, "both": 0.5}[who]
    turn = rotation([0.5, 0.2, 1.0])
    for side in (1.0, -1.0):
        if side < 0 and name == "ground":
            continue
        for k in range(n if who != "grain" else 1):
            pick = slice(k, k + 1) if who != "grain" else slice(None)
            x, v = grains(
                start[pick] * [1, 1, side] @ turn.T, share * way[pick] * [1, 1, side] @ turn.T
            )
            speed = -(1 - share) * way[k] * [1, 1, side] @ turn.T
            wall = body(THIN[name], rotation=turn, velocity=speed)
            walls = find([wall], x, v)
            end = (settle(walls, x, v, 1.0) - speed) @ turn
            assert (side * end[:, 2] > 0.99 * R).all()
            if who != "grain" and k > 20:
                break


def test_a_spinning_blade_takes_the_grain_with_it():
    """The tip of a thin blade moves eight radii in the step, and the grain does not move."""
    for shape in (Box((2, 0.01, 0.5)), box_mesh((2, 0.01, 0.5), 4)):
        for angle in (0.12, 0.2, 0.3):
            x, v = grains([[0.8 * np.cos(angle), 0.8 * np.sin(angle), 0.03]])
            walls = find([body(shape, spin=(0, 0, 1.0))], x, v, dt=0.5)
            assert walls.contacts >= 1
            end = settle(walls, x, v, 0.5)[0]
            assert np.arctan2(end[1], end[0]) > 0.5


@pytest.mark.parametrize(
    "walls_of",
    [
        lambda: [body(Plane()), body(Box((0.01, 1, 0.2)), (0.25, 0, 0.1))],
        lambda: [body(Plane()), body(box_mesh((0.01, 1, 0.2), 4), (0.25, 0, 0.1))],
        lambda: [
            body(Mesh(*plate(9))),
            body(Mesh(*plate(5, 0.4)), (0.25, 0, 0.2), rotation([0, np.pi / 2, 0])),
        ],
    ],
)  # fmt: skip
def test_a_grain_deflected_by_the_floor_does_not_slide_through_a_wall_on_it(walls_of):
    """The straight way goes under the floor and misses the wall; the real one does not."""
    x, v = grains([[0.01, 0.02, 2 * R]], (0.5, 0.03, -1.0))
    walls = find(walls_of(), x, v)
    end = settle(walls, x, v, 1.0)[0]
    assert end[2] > 0.99 * R and end[0] < 0.25 - 0.99 * R
    # Without the wall the same grain goes on.
    alone = find(walls_of()[:1], x, v)
    assert settle(alone, x, v, 1.0)[0][0] > 0.4


def test_a_fast_grain_in_a_drum_stays_in():
    for shape in (
        Cylinder(0.5, 1, inside=True),
        Cylinder(0.5, 1, inside=True, open_ends=True),
        Sphere(0.5, inside=True),
    ):
        x, v = grains([[0.44, 0, 0]], (0.05, 0.5, 0))
        end = settle(find([body(shape)], x, v), x, v, 1.0)
        assert np.hypot(end[0, 0], end[0, 1]) < 0.5 - R + 0.5 * R


# ---- meshes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [0.0, 0.2, 2.0, 12.0])
@pytest.mark.parametrize("kind", ["sheet", "closed", "ground"])
def test_flat_triangles_give_no_ghost_edges(kind, speed):
    """Wherever a grain lies on a flat mesh and however it slides, it feels one flat plane."""
    shape = {
        "sheet": Mesh(*plate(20, 4.0)),
        "closed": box_mesh((4, 4, 0.5), 12),
        "ground": HeightField(np.zeros((21, 21)), 0.2, (-2, -2)),
    }[kind]
    level = 0.25 if kind == "closed" else 0.0
    rng = np.random.default_rng(2)
    n = 2000 if JIT_ON else 20
    place = rng.uniform([-1, -1, level + 0.7 * R], [1, 1, level + 1.05 * R], (n, 3))
    place[: n // 4] = np.round(place[: n // 4] / 0.2) * 0.2 * [1, 1, 0] + place[: n // 4] * [
        0,
        0,
        1,
    ]
    x, v = grains(place)
    angle = rng.uniform(0, 2 * np.pi, n)
    v[:, 0], v[:, 1] = speed * R * np.cos(angle), speed * R * np.sin(angle)
    v[:, 2] = -0.3 * R
    rows, _, planes = listed(find([body(shape)], x, v))
    assert sorted(rows.tolist()) == list(range(n))
    np.testing.assert_allclose(planes[:, :3], np.tile([0, 0, 1], (n, 1)), atol=1e-5)
    np.testing.assert_allclose(planes[:, 3], level, atol=1e-5)


def joined(*parts):
    """One mesh of several (vertices, faces), not sewn together where they share no vertex."""
    shift = np.cumsum([0, *(len(v) for v, _ in parts)])
    return Mesh(
        np.concatenate([v for v, _ in parts]),
        np.concatenate([f + k for (_, f), k in zip(parts, shift[:-1], strict=True)]),
    )


@pytest.mark.parametrize("speed", [0.0, 2.0, 12.0])
def test_flat_parts_that_do_not_share_vertices_give_no_ghost_edges(speed):
    """Along the joint a fine and a coarse plate meet, corners on edges (T-junctions)."""
    left, right = plate(7, 1.0), plate(3, 1.0)
    shape = joined((left[0] - [0.5, 0, 0], left[1]), (right[0] + [0.5, 0, 0], right[1]))
    rng = np.random.default_rng(3)
    n = 1000 if JIT_ON else 15
    x, v = grains(rng.uniform([-0.1, -0.3, 0.7 * R], [0.1, 0.3, 1.05 * R], (n, 3)))
    v[:, 0], v[:, 2] = rng.choice([-speed, speed], n) * R, -0.3 * R
    rows, _, planes = listed(find([body(shape)], x, v))
    assert sorted(rows.tolist()) == list(range(n))
    np.testing.assert_allclose(planes[:, :3], np.tile([0, 0, 1], (n, 1)), atol=1e-5)


def test_what_lies_behind_a_wall_is_not_felt():
    """The straight way would go on through the sheet and meet the slanted one behind it."""
    back = plate(4, 1.0)[0] @ rotation([0, 0.7, 0]).T - [0, 0, 6 * R]
    shape = joined(plate(4, 1.0), (back, plate(4, 1.0)[1]))
    x, v = grains([[0.03, 0.01, 2 * R]], (0, 0, -10 * R))
    _, _, planes = listed(find([body(shape)], x, v))
    np.testing.assert_allclose(planes[:, :3], [[0, 0, 1]], atol=1e-6)


def test_a_mesh_corner_holds_from_all_three_sides():
    shape = box_mesh((1, 1, 1), 5, inside=True)
    x, v = grains([[0.46, 0.455, -0.448], [0.46, 0.03, -0.458], [0.46, 0.1, 0.1]])
    rows, _, planes = listed(find([body(shape)], x, v))
    assert np.bincount(rows).tolist() == [3, 2, 1]
    for n in ([-1, 0, 0], [0, -1, 0], [0, 0, 1]):
        assert np.abs(planes[rows == 0][:, :3] - n).max(1).min() < 1e-5


def test_the_rim_of_a_tube_that_is_lifted_pushes_nobody():
    """A plane that holds below the rim only must not act while the grain is still in the bore."""
    tube = Cylinder(0.16, 3.0, inside=True, open_ends=True, wall=0.16)
    lifted = body(tube, position=(0, 0, 1.5), velocity=(0, 0, 4.0))
    rng = np.random.default_rng(5)
    n, r, dt = 200, 0.01, 1 / 60
    angle, rho, z = rng.uniform(0, 2 * np.pi, n), rng.uniform(0.141, 0.149, n), rng.uniform(0, 1, n)
    place = np.stack([rho * np.cos(angle), rho * np.sin(angle), r + 0.06 * z], axis=1)
    out = place * (1, 1, 0) / rho[:, None]
    x, v = grains(place, 0.05 * out * rng.uniform(0, 1, (n, 1)), r, np.float64)
    rows, _, plane = listed(find([lifted], x, v, dt, (0, 0, -9.81), 1.0))
    assert set(rows) == set(range(n)), "all are near the wall"
    gap = (plane[:, :3] * x[rows, :3]).sum(1) - plane[:, 3] - r
    assert gap.min() > -0.05 * r, "not yet, or not any more, where the grain is"


def test_the_rim_of_a_sheet_and_a_lone_edge_are_felt():
    x, v = grains([[0.5 + 0.8 * R, 0.03, 0.6 * R]], dtype=np.float64)
    _, _, planes = listed(find([body(Mesh(*plate()))], x, v))
    np.testing.assert_allclose(planes[:, :3], [[0.8, 0, 0.6]], atol=1e-9)


def test_both_sides_of_a_sheet_hold():
    x, v = grains([[0.1, 0.03, 0.9 * R], [0.1, 0.03, -0.9 * R]])
    _, _, planes = listed(find([body(Mesh(*plate()))], x, v, count=1))
    np.testing.assert_allclose(planes[:, 2], [1, -1], atol=1e-6)


def bumpy(seed=3, cells=6):
    """A closed, concave mesh: a box whose corners were moved at random, less than half a cell."""
    mesh = box_mesh((1, 1, 1), cells)
    rng = np.random.default_rng(seed)
    return Mesh(mesh.vertices + rng.uniform(-0.3, 0.3, mesh.vertices.shape) / cells, mesh.faces)


def distances(points, tri):
    """Brute force over all triangles: the distance of each point to the nearest one."""
    best = np.full(len(points), np.inf)
    for a, b, c in tri:
        n = np.cross(b - a, c - a)
        n /= np.linalg.norm(n)
        h = (points - a) @ n
        foot = points - h[:, None] * n
        inside = np.ones(len(points), bool)
        for u, w in ((a, b), (b, c), (c, a)):
            inside &= np.cross(w - u, foot - u) @ n >= 0
            t = np.clip((points - u) @ (w - u) / ((w - u) @ (w - u)), 0, 1)
            best = np.minimum(best, np.linalg.norm(points - u - t[:, None] * (w - u), axis=1))
        best = np.where(inside, np.minimum(best, np.abs(h)), best)
    return best


@pytest.mark.parametrize("kind", ["closed", "sheet"])
def test_deepest_mesh_contact_matches_brute_force_over_all_triangles(kind):
    mesh = bumpy() if JIT_ON else bumpy(cells=3)
    if kind == "sheet":
        mesh = Mesh(mesh.vertices, mesh.faces, two_sided=True)
    tri = mesh.vertices[mesh.faces]
    rng = np.random.default_rng(4)
    n = MANY if kind == "closed" else MANY // 4
    inner = rng.uniform(-0.62, 0.62, (n, 3))
    turn, shift = rotation([1.0, 0.3, -0.4]), np.array([0.2, 0.1, -3.0])
    x, v = grains(inner @ turn.T + shift, dtype=np.float64)
    rows, _, planes = listed(find([body(mesh, shift, turn)], x, v))
    exact = distances(inner, tri)
    if kind == "closed":
        exact *= np.sign(signed_distance(mesh, inner)[0])
    deepest = np.full(n, np.inf)
    gap = (planes[:, :3] * x[rows, :3]).sum(1) - planes[:, 3] - R
    np.minimum.at(deepest, rows, gap)
    touched = exact - R <= SKIN * R
    assert 0.1 < touched.mean() < 0.9
    np.testing.assert_array_equal(np.isfinite(deepest), touched)
    np.testing.assert_allclose(deepest[touched], (exact - R)[touched], atol=0.006 * R)


def test_mesh_and_analytic_box_agree_on_where_grains_end():
    rng = np.random.default_rng(5)
    n = 500 if JIT_ON else 10
    turn = rotation([0.3, 0.8, 0.1])
    for inside in (False, True):
        place = rng.uniform(-0.45, 0.45, (n, 3)) if inside else rng.normal(size=(n, 3))
        if not inside:
            place *= (0.9 / np.abs(place).max(1))[:, None]
        x, v = grains(place @ turn.T, dtype=np.float64)
        v[:, :3] = rng.uniform(-6 * R, 6 * R, (n, 3))
        ends = []
        for shape in (Box((1, 1, 1), inside=inside), box_mesh((1, 1, 1), 6, inside=inside)):
            walls = find([body(shape, rotation=turn, velocity=(0.05, 0, 0.02))], x, v)
            ends.append(settle(walls, x, v, 1.0))
        same = np.linalg.norm(ends[0] - ends[1], axis=1) < 0.1 * R
        assert same.mean() > 0.97


# ---- the store ---------------------------------------------------------------------------------


def crowd(n=600, seed=6, dtype=np.float32):
    rng = np.random.default_rng(seed)
    x, v = grains(rng.uniform(-0.5, 0.5, (n, 3)), dtype=dtype)
    v[:, :3] = rng.normal(0, 3 * R, (n, 3))
    bodies = [
        body(Box((1, 1, 1), inside=True)),
        body(Cylinder(0.2, 0.6), (0.1, 0, 0), rotation([1, 0, 0]), spin=(0, 0, 1)),
        body(box_mesh((0.3, 0.3, 0.05), 3), (-0.2, 0.1, 0), velocity=(0.1, 0, 0.2)),
        body(
            HeightField(0.1 * np.sin(np.arange(64).reshape(8, 8)), 0.2, (-0.7, -0.7)), (0, 0, -0.4)
        ),
    ]
    return bodies, x, v


COUNT = 600 if JIT_ON else 30


def test_running_out_of_room_grows_and_drops_nothing():
    bodies, x, v = crowd(COUNT)
    small, large = (find(bodies, x, v, walls=Walls(np.float32, cap)) for cap in (1, 4096))
    assert small.contacts == large.contacts > COUNT / 4
    for a, b in zip(listed(small), listed(large), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.skipif(not JIT_ON, reason="threads need the JIT")
def test_the_same_bits_on_any_number_of_threads():
    bodies, x, v = crowd()
    before, results = get_threads(), []
    try:
        for threads in sorted({1, min(2, max_threads()), max_threads()}):
            set_threads(threads)
            walls = find(bodies, x, v, count=7)
            walls.impulse[...] = np.arange(walls.impulse.size).reshape(walls.impulse.shape)
            find(bodies, x, v, walls=walls, count=7)
            results.append([a.tobytes() for a in walls.state().values()])
    finally:
        set_threads(before)
    assert all(r == results[0] for r in results)


def test_slabs_own_their_rows_and_do_not_change_the_contacts():
    bodies, x, v = crowd(COUNT)
    sets = []
    for count in (1, 3, 16):
        walls = find(bodies, x, v, count=count)
        start = slabs(len(x), count)
        for s in range(count):
            rows = walls.rows[s, : walls.count[s]]
            assert ((rows >= start[s]) & (rows < start[s + 1])).all()
        rows, bodies_, planes = listed(walls)
        table = np.column_stack([rows, bodies_, planes])
        sets.append(table[np.lexsort(table.T[::-1])])
    np.testing.assert_array_equal(sets[0], sets[1])
    np.testing.assert_array_equal(sets[0], sets[2])


def test_impulses_follow_grains_through_a_sort():
    bodies, x, v = crowd(COUNT)
    walls = find(bodies, x, v)
    rng = np.random.default_rng(7)
    walls.impulse[...] = rng.normal(size=walls.impulse.shape)
    walls.total[...] = 1.0
    used = np.arange(walls.rows.shape[1]) < walls.count[:, None]
    key = {
        (r, b, *p): i.tolist()
        for r, b, p, i in zip(
            walls.rows[used].tolist(), walls.body[used].tolist(),
            walls.plane[used][:, :4].tolist(), walls.impulse[used], strict=True,
        )
    }  # fmt: skip
    order = rng.permutation(len(x))
    find(bodies, x[order], v[order], walls=walls, old_row=order, count=5)
    used = np.arange(walls.rows.shape[1]) < walls.count[:, None]
    seen = 0
    for r, b, p, i in zip(
        walls.rows[used], walls.body[used], walls.plane[used], walls.impulse[used], strict=True
    ):
        old = key[(int(order[r]), int(b), *p[:4].tolist())]
        assert i.tolist() == old
        seen += 1
    assert seen == len(key) > COUNT / 4
    assert not walls.total[used].any()


def test_new_grains_other_bodies_and_turned_normals_start_cold():
    floor, ramp = body(Plane()), body(Plane(), rotation=rotation([0.5, 0, 0]))
    tilt = body(Plane(), rotation=rotation([0.3, 0, 0]))
    x, v = grains([[0, 0, R], [0, 0, R]])

    def carried(first, second, **more):
        walls = find([first], x, v, count=1)
        assert walls.contacts == 2
        walls.impulse[0, :2] = [[1, 2, 3, 4], [5, 6, 7, 8]]
        return find(second, x, v, walls=walls, count=1, **more).impulse[0, :2].tolist()

    warm = [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert carried(floor, [floor]) == warm
    assert carried(floor, [tilt]) == warm  # 17 degrees
    assert carried(floor, [ramp]) == [[0] * 4] * 2  # 29 degrees
    assert carried(floor, [body(Sphere(0.1), (9, 9, 9)), floor]) == [[0] * 4] * 2
    assert carried(floor, [floor], old_row=np.array([1, -1])) == [[5, 6, 7, 8], [0] * 4]


def test_an_impulse_is_handed_on_once_and_to_the_best_match():
    """One old contact, two new ones within 25 degrees of it: only the closer one inherits."""
    x, v = grains([[0, 0, 0.1]], radius=0.1)

    def vee(left, right):
        """Two long half-planes through the grain's foot, as one sheet."""
        arms = [[np.cos(a), 0, np.sin(a)] for a in (left, right)]
        points = [[s * a[0], y, s * a[2]] for a in arms for s in (0.0, 1.0) for y in (-1, 1)]
        return Mesh(points, [[0, 1, 2], [1, 3, 2], [4, 5, 6], [5, 7, 6]])

    walls = find([body(Plane())], x, v, count=1)
    walls.impulse[0, 0] = 1.0
    shape = body(vee(np.pi - 0.3, 0.1), (0, 0, 0))
    x[0, 2] = 0.1 / np.cos(0.2)
    x[0, 0] = 0.1 / np.cos(0.2) * np.sin(0.1)
    find([shape], x, v, walls=walls, count=1)
    planes, impulse = walls.plane[0, :2].astype(float), walls.impulse[0, :2]
    assert walls.contacts == 2 and (planes[:, 2] > np.cos(np.radians(25))).all()
    best = int(np.argmax(planes[:, 2]))
    assert impulse[best].tolist() == [1, 1, 1, 1] and impulse[1 - best].tolist() == [0, 0, 0, 0]


def test_forces_on_bodies_are_minus_the_sum_over_grains():
    bodies, x, v = crowd(COUNT)
    walls = find(bodies, x, v)
    walls.total[...] = np.random.default_rng(8).normal(size=walls.total.shape)
    load = loads_on(walls, bodies, x)
    force, torque = np.zeros((len(bodies), 3)), np.zeros((len(bodies), 3))
    for s in range(len(walls.count)):
        for k in range(walls.count[s]):
            i, b = walls.rows[s, k], walls.body[s, k]
            f = -walls.total[s, k, :3].astype(float)
            point = x[i, :3].astype(float) - walls.plane[s, k, :3].astype(float) * float(x[i, 3])
            force[b] += f
            torque[b] += np.cross(point - bodies[b].position, f)
    np.testing.assert_allclose(load[:, :3], force, atol=1e-5)
    np.testing.assert_allclose(load[:, 3:], torque, atol=1e-5)
    assert np.abs(force).min() > 0
    find([], x, v, walls=walls)
    assert not loads_on(walls, bodies, x).any()


def test_contacts_of_one_grain_in_a_block_take_turns():
    bodies, x, v = crowd(COUNT)
    walls = find(bodies, x, v)
    several = 0
    for s in range(len(walls.count)):
        for b in range(0, walls.count[s], 8):
            rows = walls.rows[s, b : min(b + 8, walls.count[s])].tolist()
            turns = walls.plane[s, b : b + len(rows), 7].tolist()
            assert turns == [rows[:k].count(row) for k, row in enumerate(rows)]
            several += max(turns) > 0
    assert several > 0


def test_a_restored_store_goes_on_bit_for_bit():
    bodies, x, v = crowd(COUNT)
    walls = find(bodies, x, v)
    walls.impulse[...] = np.random.default_rng(9).normal(size=walls.impulse.shape)
    other = Walls(np.float32, 3)
    other.restore({k: a.copy() for k, a in walls.state().items()})
    for w in (walls, other):
        find(bodies, x + np.float32(0.001), v, walls=w)
    for a, b in zip(walls.state().values(), other.state().values(), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    assert np.count_nonzero(other.impulse)


def test_what_earlier_steps_left_behind_is_no_part_of_the_state():
    bodies, x, v = crowd(COUNT)
    one, other = find(bodies, x, v), find(bodies, x, v)
    unused = np.arange(one.rows.shape[1]) >= one.count[:, None]
    assert unused[:, : one.count.max()].any(), "slabs with fewer contacts than the fullest"
    other.rows[unused], other.total[unused] = 77, 7.0
    for a, b in zip(one.state().values(), other.state().values(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_grains_that_are_not_finite_do_no_harm_to_others():
    bodies, x, v = crowd(COUNT)
    clean = listed(find(bodies, x, v))
    bad = [3, 7, 11]
    x[3, 0], v[7, 1], x[11, 2], v[11, 0] = np.nan, np.inf, 1e30, 1e15
    rows, bodies_, planes = listed(find(bodies, x, v))
    keep, kept = ~np.isin(rows, bad), ~np.isin(clean[0], bad)
    np.testing.assert_array_equal(rows[keep], clean[0][kept])
    np.testing.assert_array_equal(bodies_[keep], clean[1][kept])
    np.testing.assert_array_equal(planes[keep], clean[2][kept])


def test_nothing_to_do_is_fine():
    x, v = grains(np.zeros((3, 3)))
    assert find([], x, v).contacts == 0
    assert find([body(Plane())], x[:0], v[:0]).contacts == 0
    walls = find([body(Plane())], x, v, count=8)  # more slabs than grains
    assert walls.contacts == 3


@pjit
def _search_in_a_loop(substeps, h, which, origin, rotation, velocity, omega, poses, x, v, frame):
    """What a solver's substep does: poses, the search, and then a loop over slabs."""
    slab_start, gravity, shapes, scratch, one, other = frame
    fits = True
    for k in range(substeps):
        flat_poses(which, origin, rotation, velocity, omega, k * h, h, poses)
        fits = fits and find_contacts(
            False, x, v, slab_start, h, gravity, 1.0, which, poses, shapes, scratch, False,
            np.zeros(0, np.int64), one, other,
        )  # fmt: skip
        count, impulse = one.count, one.impulse  # numba takes no swapped tuple into a prange
        for s in prange(slab_start.shape[0] - 1):
            for i in range(slab_start[s], slab_start[s + 1]):
                x[i, 2] += np.float32(h) * v[i, 2]
            for i in range(count[s]):
                impulse[s, i, 0] += 1.0
        one, other = other, one
    return fits


def test_the_search_runs_inside_another_kernel_and_gives_the_same_bits_on_any_threads():
    rng = np.random.default_rng(7)
    n, substeps, h = 1200 if JIT_ON else 100, 3, 0.01
    place = rng.uniform(-0.6, 0.6, (n, 3))
    bodies = [
        body(Box((1.3, 1.3, 1.3), inside=True)),
        body(Cylinder(0.3, 0.8), spin=(0, 0, 2.0), velocity=(0.1, 0, 0)),
        body(Mesh(*plate()), (0, 0, -0.3)),
    ]
    table = ShapeTable()
    table.follow([one.shape for one in bodies])
    which, results = np.array([1, 2]), []
    threads = get_threads()
    state = [np.array([getattr(b, name) for b in bodies]) for name in
             ("position", "rotation", "velocity", "angular_velocity")]  # fmt: skip
    try:
        for count in (1, max_threads()):
            set_threads(count)
            x, v = grains(place, (0.3, 0.2, -0.5), 0.03)
            walls = Walls(np.float32, 4096)
            walls.begin(n, slabs(n, 5))
            new, old, scratch = walls.begin(n, slabs(n, 5))
            poses = np.zeros((3, POSE))
            frame = (walls.slab_start, np.zeros(3), table.arrays, scratch, new, old)
            assert _search_in_a_loop(substeps, h, which, *state, poses, x, v, frame)
            results.append((new, x))
    finally:
        set_threads(threads)
    one, other = results[0][0], results[1][0]
    assert one.count.sum() > 10
    for name, a, b in zip(one._fields, one, other, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
    used = np.arange(one.rows.shape[1]) < one.count[:, None]
    assert set(np.unique(one.body[used])) == {1, 2}  # of three bodies, those that were asked for
    assert one.impulse[used][:, 0].max() == substeps  # what was there before is carried over
    # and it is what the search alone finds
    x = results[0][1].copy()
    x[:n, 2] -= np.float32(h) * v[:n, 2]
    walls = Walls(np.float32)
    walls.find(table, which, poses_of(bodies, h, 2 * h), x, v, n, slabs(n, 5), h, np.zeros(3), 1.0)
    np.testing.assert_array_equal(walls.count, one.count)


def test_a_table_of_shapes_grows_and_shrinks_and_packs_a_shape_once():
    packed = []

    def count(shape):
        packed.append(shape)
        return pack(shape)

    mesh, field = Mesh(*plate()), HeightField(np.zeros((3, 4)), 0.1)
    ball, table = Sphere(0.1), ShapeTable(count)
    assert table.follow([ball, mesh, ball]) and packed == [ball, mesh]
    assert not table.follow([ball, mesh, ball])
    triangles = table.arrays.tri
    assert table.follow([mesh, ball]) and packed == [ball, mesh]  # one is gone
    assert table.arrays.tri is triangles  # and nothing of the mesh was touched
    assert table.arrays.mesh.tolist() == [0, -1]
    assert table.follow([mesh, ball, field, mesh]) and packed == [ball, mesh, field]
    assert table.arrays.mesh.tolist() == [0, -1, 1, 0]
    assert table.arrays.dims[1].tolist() == [3, 4, 0] and len(table.arrays.heights) == 12
    assert table.follow([field]) and len(table.arrays.tri) == 0


def test_bodies_that_go_leave_the_warm_start_of_the_others():
    x, v = grains([[0, 0, R], [3, 0, R]])
    left, right = body(Box((1, 1, 1)), (0, 0, -0.5)), body(Box((1, 1, 1)), (3, 0, -0.5))
    walls = find([left, right], x, v, count=1)
    assert walls.body[0, :2].tolist() == [0, 1]
    walls.impulse[0, :2, 0] = 5.0, 7.0
    walls.renumber(np.array([-1, 0]))
    find([right], x, v, walls=walls, count=1)
    assert walls.contacts == 1 and walls.impulse[0, 0, 0] == 7.0
