"""Shapes: what they accept, and their signed distances against slow, independent twins."""

from __future__ import annotations

import re

import numpy as np
import pytest

from berm.core.errors import InputError
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
from berm.kernels.geometry.mesh_grid import CUT, EMPTY, SOLID, mesh_bound
from berm.kernels.jit import JIT_ON
from berm.solvers.walls.shapes import pack, signed_distance

pytestmark = pytest.mark.nojit
MANY = 4000 if JIT_ON else 60

CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
CUBE_FACES = np.array(
    [
        [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
        [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
    ]
)  # fmt: skip


def torus(rings: int, sides: int, big: float = 1.0, small: float = 0.4) -> Mesh:
    """A closed, concave mesh with a hole."""
    a, b = np.meshgrid(
        np.arange(rings) * 2 * np.pi / rings, np.arange(sides) * 2 * np.pi / sides, indexing="ij"
    )
    rho = big + small * np.cos(b)
    vertices = np.stack([rho * np.cos(a), rho * np.sin(a), small * np.sin(b)], axis=2)
    i, j = np.meshgrid(np.arange(rings), np.arange(sides), indexing="ij")
    k, m = (i + 1) % rings, (j + 1) % sides
    p, q, r, s = (u * sides + w for u, w in ((i, j), (k, j), (k, m), (i, m)))
    faces = np.concatenate(
        [np.stack([p, q, r], 2).reshape(-1, 3), np.stack([p, r, s], 2).reshape(-1, 3)]
    )
    return Mesh(vertices.reshape(-1, 3), faces)


# ---- slow twins -----------------------------------------------------------------------------


def point_triangles(points, tri):
    """Brute force: distance of each point to the nearest triangle, by projection and by edges."""
    p = points[:, None, :]
    a, b, c = tri[None, :, 0], tri[None, :, 1], tri[None, :, 2]
    n = np.cross(b - a, c - a)
    unit = n / np.linalg.norm(n, axis=2, keepdims=True)
    height = ((p - a) * unit).sum(2)
    foot = p - height[..., None] * unit
    inside = np.ones(height.shape, bool)
    best = np.full(height.shape, np.inf)
    for u, w in ((a, b), (b, c), (c, a)):
        inside &= (np.cross(w - u, foot - u) * n).sum(2) >= 0
        t = np.clip(((p - u) * (w - u)).sum(2) / ((w - u) ** 2).sum(2), 0, 1)
        best = np.minimum(best, np.linalg.norm(p - u - t[..., None] * (w - u), axis=2))
    return np.where(inside, np.abs(height), best).min(axis=1)


def winding(points, tri):
    """Solid angle of all triangles over 4 pi: 1 inside, 0 outside [Oosterom & Strackee 1983]."""
    r = tri[None] - points[:, None, None, :]
    d = np.linalg.norm(r, axis=3)
    a, b, c = r[:, :, 0], r[:, :, 1], r[:, :, 2]
    num = (a * np.cross(b, c)).sum(2)
    den = (
        d.prod(2) + (a * b).sum(2) * d[..., 2] + (b * c).sum(2) * d[..., 0]
        + (c * a).sum(2) * d[..., 1]
    )  # fmt: skip
    return np.arctan2(num, den).sum(1) / (2 * np.pi)


def turned_points(corners, closed, count=4000):
    """Dense points (rho, z) along a section's outline."""
    corners = np.array(corners, float)
    ends = np.roll(corners, -1, axis=0) if closed else corners[1:]
    starts = corners if closed else corners[:-1]
    t = np.linspace(0, 1, count)[:, None]
    return np.concatenate([a + t * (b - a) for a, b in zip(starts, ends, strict=True)])


def section_twin(points, corners, closed, solid):
    """Distance by dense sampling of the outline; `solid(rho, z)` gives the sign."""
    rho, z = np.hypot(points[:, 0], points[:, 1]), points[:, 2]
    outline = turned_points(corners, closed)
    d = np.array(
        [np.hypot(outline[:, 0] - a, outline[:, 1] - b).min() for a, b in zip(rho, z, strict=True)]
    )
    return np.where(solid(rho, z), -d, d)


def solid_tube(rho, z):
    inner = 0.5 + 0.25 * (z + 0.6) / 1.2
    return (np.abs(z) < 0.6) & (rho > inner) & (rho < inner + 0.1)


# name: (shape, twin); twins give the distance where the solid is inside.
ANALYTIC = {
    "plane": (Plane(), lambda p: p[:, 2]),
    "sphere": (Sphere(0.7), lambda p: np.linalg.norm(p, axis=1) - 0.7),
    "capsule": (
        Capsule(0.3, 0.8),
        lambda p: np.linalg.norm(
            p[:, None] - np.linspace([0, 0, -0.4], [0, 0, 0.4], 4001)[None], axis=2
        ).min(1)
        - 0.3,
    ),
    "cylinder": (
        Cylinder(0.5, 1.2),
        lambda p: section_twin(
            p, [(0, -0.6), (0.5, -0.6), (0.5, 0.6), (0, 0.6)], False,
            lambda r, z: (r < 0.5) & (np.abs(z) < 0.6),
        ),
    ),
    "cone": (
        Cone(0.2, 0.8, 1.2),
        lambda p: section_twin(
            p, [(0, -0.6), (0.2, -0.6), (0.8, 0.6), (0, 0.6)], False,
            lambda r, z: (r < 0.2 + 0.5 * (z + 0.6)) & (np.abs(z) < 0.6),
        ),
    ),
    "pointed cone": (
        Cone(0.6, 0.0, 1.2),
        lambda p: section_twin(
            p, [(0, -0.6), (0.6, -0.6), (0, 0.6)], False,
            lambda r, z: (r < 0.5 * (0.6 - z)) & (np.abs(z) < 0.6),
        ),
    ),
    "tube": (
        Cone(0.5, 0.75, 1.2, inside=True, open_ends=True, wall=0.1),
        lambda p: section_twin(
            p, [(0.5, -0.6), (0.6, -0.6), (0.85, 0.6), (0.75, 0.6)], True, solid_tube
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(ANALYTIC))
def test_distance_matches_dense_sampling(name):
    shape, twin = ANALYTIC[name]
    points = np.random.default_rng(1).uniform(-1.3, 1.3, (min(MANY, 400), 3))
    found, _ = signed_distance(shape, points)
    np.testing.assert_allclose(found, twin(points), atol=4e-4)


def test_box_matches_brute_force_over_its_triangles():
    points = np.random.default_rng(2).uniform(-1, 1, (MANY, 3))
    size = np.array([0.8, 1.0, 0.5])
    tri = (CUBE * size / 2)[CUBE_FACES]
    exact = point_triangles(points, tri)
    exact[(np.abs(points) < size / 2).all(1)] *= -1
    np.testing.assert_allclose(signed_distance(Box(tuple(size)), points)[0], exact, atol=1e-12)
    np.testing.assert_allclose(
        signed_distance(Box(tuple(size), inside=True), points)[0], -exact, atol=1e-12
    )


def test_open_box_is_a_box_whose_lid_is_far_away():
    points = np.random.default_rng(3).uniform(-1, 1, (MANY, 3))
    found = signed_distance(Box((1, 1, 0.5), inside=True, open_top=True), points)
    shifted = signed_distance(Box((1, 1, 100.5), inside=True), points - [0, 0, 50.0])
    np.testing.assert_allclose(found[0], shifted[0], atol=1e-12)
    np.testing.assert_allclose(found[1], shifted[1], atol=1e-12)


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (Sphere(0.7), Sphere(0.7, inside=True)),
        (Capsule(0.3, 0.8), Capsule(0.3, 0.8, inside=True)),
        (Cylinder(0.5, 1.2), Cylinder(0.5, 1.2, inside=True)),
        (Cone(0.2, 0.8, 1.2), Cone(0.2, 0.8, 1.2, inside=True)),
        (Mesh(CUBE, CUBE_FACES), Mesh(CUBE, CUBE_FACES, inside=True)),
    ],
)
def test_inside_turns_the_solid_inside_out(outer, inner):
    points = np.random.default_rng(4).uniform(-1.2, 1.2, (min(MANY, 500), 3))
    (a, ga), (b, gb) = signed_distance(outer, points), signed_distance(inner, points)
    np.testing.assert_allclose(a, -b, atol=1e-12)
    np.testing.assert_allclose(ga, -gb, atol=1e-9)


EVERY = {
    **{name: shape for name, (shape, _) in ANALYTIC.items()},
    "box": Box((0.8, 1.0, 0.5)),
    "container": Cone(0.4, 1.0, 1.2, inside=True),
    "torus": torus(24, 12),
    "sheet": Mesh(CUBE[:4] * 0.5, CUBE_FACES[:1]),
    "ground": HeightField(
        0.3 * np.sin(np.arange(20))[:, None] * np.cos(np.arange(15)), 0.1, (-1, -0.7)
    ),
}


@pytest.mark.parametrize("name", list(EVERY))
def test_gradient_is_a_unit_vector_and_leads_to_the_surface(name):
    shape = pack(EVERY[name])
    points = np.random.default_rng(5).uniform(-1, 1, (min(MANY, 1000), 3))
    d, g = signed_distance(shape, points)
    np.testing.assert_allclose(np.linalg.norm(g, axis=1), 1.0, atol=1e-9)
    left, _ = signed_distance(shape, points - d[:, None] * g)
    np.testing.assert_allclose(left, 0.0, atol=1e-7)
    # Central differences agree wherever the distance is smooth, which is nearly everywhere.
    h = 1e-6
    slope = np.stack(
        [
            (signed_distance(shape, points + h * e)[0] - signed_distance(shape, points - h * e)[0])
            / (2 * h)
            for e in np.eye(3)
        ],
        axis=1,
    )
    far = np.abs(slope - g).max(1) > 1e-3
    assert far.mean() < 0.02


def test_mesh_distance_matches_brute_force_and_winding_number():
    mesh = torus(40, 16) if JIT_ON else torus(10, 6)
    points = np.random.default_rng(6).uniform(-1.6, 1.6, (MANY // 2, 3)) * [1, 1, 0.4]
    tri = mesh.vertices[mesh.faces]
    exact = point_triangles(points, tri)
    inside = winding(points, tri) > 0.5
    assert 0.05 < inside.mean() < 0.95
    found, _ = signed_distance(mesh, points)
    np.testing.assert_allclose(found, np.where(inside, -exact, exact), atol=1e-12)


def test_height_field_distance_matches_brute_force():
    rng = np.random.default_rng(7)
    field = HeightField(rng.uniform(0, 0.4, (9, 7)), 0.2, (-0.8, -0.6))
    tri = []
    for i in range(8):
        for j in range(6):
            p = [
                [-0.8 + 0.2 * (i + a), -0.6 + 0.2 * (j + b), field.heights[i + a, j + b]]
                for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))
            ]
            tri += [[p[0], p[1], p[2]], [p[0], p[2], p[3]]]
    points = rng.uniform([-1.2, -1, -0.5], [1.2, 1, 1], (MANY // 2, 3))
    exact = point_triangles(points, np.array(tri))
    field = pack(field)
    found, g = signed_distance(field, points)
    np.testing.assert_allclose(np.abs(found), exact, atol=1e-12)
    # Straight down from a point below, or up from one above, the sign must flip at the surface.
    over = (np.abs(points[:, 0]) < 0.79) & (np.abs(points[:, 1]) < 0.59)
    for p, d in zip(points[over][:100], found[over][:100], strict=True):
        column = p + np.linspace(-2, 2, 401)[:, None] * [0, 0, 1]
        signs = np.sign(signed_distance(field, column)[0])
        assert (np.diff(signs) != 0).sum() <= 2 and signs[0] == -1 and signs[-1] == 1
        assert np.sign(d) == np.sign(signed_distance(field, p[None])[0][0])
    assert (found[~over & (np.abs(points[:, 0]) > 0.81)] > 0).all()
    assert g.shape == points.shape


# ---- meshes -----------------------------------------------------------------------------------


def test_closed_meshes_are_oriented_outwards_however_they_are_wound():
    rng = np.random.default_rng(8)
    faces = CUBE_FACES.copy()
    for turned in (
        faces,
        faces[:, ::-1],
        np.where(rng.random((12, 1)) < 0.5, faces, faces[:, ::-1]),
    ):
        mesh = Mesh(CUBE, turned)
        assert mesh.closed and not mesh.two_sided
        tri = mesh.vertices[mesh.faces]
        outward = np.cross(tri[:, 1] - tri[:, 0], tri[:, 2] - tri[:, 0])
        assert ((outward * tri.mean(1)).sum(1) > 0).all()


def test_a_cavity_in_a_solid_stays_a_cavity():
    mesh = Mesh(
        np.concatenate([CUBE, 0.5 * CUBE]), np.concatenate([CUBE_FACES, CUBE_FACES[:, ::-1] + 8])
    )
    assert mesh.closed
    d, _ = signed_distance(mesh, [[0, 0, 0], [0.75, 0, 0], [1.5, 0, 0]])
    np.testing.assert_allclose(d, [0.5, -0.25, 0.5], atol=1e-12)


def test_an_open_mesh_is_a_sheet_and_a_soup_of_triangles_is_merged():
    sheet = Mesh(CUBE, CUBE_FACES[:-1])
    assert not sheet.closed and sheet.two_sided
    soup = Mesh(CUBE[CUBE_FACES].reshape(-1, 3), np.arange(36).reshape(-1, 3))
    assert soup.closed and len(soup.vertices) == 8


@pytest.mark.parametrize("suffix", ["stl", "obj", "ply"])
def test_load_reads_what_was_written(tmp_path, suffix):
    trimesh = pytest.importorskip("trimesh")
    mesh = torus(12, 8)
    file = tmp_path / f"torus.{suffix}"
    trimesh.Trimesh(mesh.vertices, mesh.faces, process=False).export(file)
    read = Mesh.load(file, scale=2.0)
    assert read.closed and len(read.faces) == len(mesh.faces) and read.name == f"torus.{suffix}"
    np.testing.assert_allclose(np.abs(read.vertices).max(0), 2 * np.abs(mesh.vertices).max(0), 1e-5)


def test_load_leaves_out_triangles_without_area(tmp_path):
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in CUBE) + "f 1 1 2\n"
    text += "".join("f " + " ".join(str(k + 1) for k in f) + "\n" for f in CUBE_FACES)
    (tmp_path / "cube.obj").write_text(text)
    assert len(Mesh.load(tmp_path / "cube.obj").faces) == 12


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.stl", None, "exists"),
        ("cube.step", "x", ".stl"),
        ("noise.stl", "solid nothing\nendsolid", "triangle|readable"),
        ("empty.obj", "", "triangle|readable"),
        ("noise.ply", "this is no ply", "readable"),
    ],
)
def test_unreadable_files_say_which_and_why(tmp_path, name, content, says):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=name) as error:
        Mesh.load(tmp_path / name)
    assert re.search(says, str(error.value))


@pytest.mark.parametrize("inside", [False, True])
def test_the_grid_of_a_mesh_is_conservative(inside):
    """Cells never claim more distance than there is, nor a wrong side, and decide most points."""
    solid = torus(30, 12) if JIT_ON else torus(6, 4)
    mesh = Mesh(solid.vertices, solid.faces, inside=inside)
    _, _, frame, dims, starts, members, field = pack(mesh).mesh[:7]
    points = np.random.default_rng(9).uniform(-1.7, 1.7, (MANY // 2, 3)) * [1, 1, 0.3]
    exact, _ = signed_distance(mesh, points)
    found = [mesh_bound(frame, dims, field, *p) for p in points]
    bound, state = np.array([b for b, _ in found]), np.array([s for _, s in found])
    assert (bound <= np.abs(exact)).all()
    assert (exact[state == EMPTY] > 0).all() and (exact[state == SOLID] < 0).all()
    if JIT_ON:  # without it the grid is coarse and the points are few
        assert (state == EMPTY).any() and (state == SOLID).any()
        assert (state == CUT).mean() < 0.1
        near = np.abs(exact) < 2 * frame[3]
        assert near.any() and (np.abs(exact) - bound)[near].max() < 1.8 * frame[3]
    assert len(members) == starts[-1] >= len(mesh.faces)


# ---- what is refused --------------------------------------------------------------------------

NAN = float("nan")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Sphere(0.0), "Sphere.radius: got 0.0; allowed"),
        (lambda: Sphere("wide"), "Sphere.radius: got 'wide'"),
        (lambda: Sphere(-1), "Sphere.radius: got -1"),
        (lambda: Box((1, 2)), "Box.size"),
        (lambda: Box(3.0), "Box.size"),
        (lambda: Box((1, 0, 2)), "Box.size: got 0"),
        (lambda: Box((1, 1, 1), open_top=True), "Box.open_top.*inside=True"),
        (lambda: Cylinder(NAN, 1), "Cylinder.radius"),
        (lambda: Cylinder(1, 0), "Cylinder.height: got 0"),
        (lambda: Cylinder(1, 1, wall=0.1), "Cylinder.wall.*open_ends"),
        (lambda: Cylinder(1, 1, open_ends=True, wall=2), "Cylinder.wall: got 2"),
        (lambda: Cone(0, 0, 1), "Cone radii"),
        (lambda: Cone(-1, 1, 1), "Cone.radius_bottom: got -1"),
        (lambda: Capsule(0, 1), "Capsule.radius"),
        (lambda: HeightField([[0, 1, 2]], 1), r"HeightField.heights shape: got \(1, 3\)"),
        (lambda: HeightField([[0, 1], [NAN, 2]], 1), r"HeightField.heights\[1, 0\]"),
        (lambda: HeightField([[0, 1], [1, 2]], -1), "HeightField.cell: got -1"),
        (lambda: HeightField([[0, 1], [1, 2]], 1, origin=(1,)), "HeightField.origin"),
        (lambda: Mesh(np.zeros((0, 3)), np.zeros((0, 3))), "Mesh.faces.*at least one triangle"),
        (lambda: Mesh([[0, 0, 0], [1, 0, 0], [NAN, 1, 0]], [[0, 1, 2]]), r"Mesh.vertices\[2\]"),
        (lambda: Mesh(CUBE, [[0, 1, 8]]), r"Mesh.faces\[0\]: got .*0..7"),
        (lambda: Mesh(CUBE, [[0, 1, 2], [3, 3, 4]]), r"Mesh.faces\[1\].*area"),
        (lambda: Mesh([[0, 0, 0], [1, 1, 1], [2, 2, 2]], [[0, 1, 2]]), "area above 0"),
        (lambda: Mesh(CUBE[:, :2], CUBE_FACES), r"Mesh.vertices shape: got \(8, 2\)"),
        (lambda: Mesh(CUBE, CUBE_FACES[:5], two_sided=False), "the mesh is open"),
        (lambda: Mesh(CUBE, CUBE_FACES[:5], inside=True), "Mesh.inside"),
        (lambda: pack("ball"), "shape: got 'str'"),
    ],
)  # fmt: skip
def test_impossible_values_are_refused_with_name_value_and_what_is_allowed(make, says):
    with pytest.raises(InputError, match=says) as error:
        make()
    assert "allowed" in str(error.value)
