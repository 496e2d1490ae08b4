"""Mass properties against closed forms (CASES A22) and against slow integrals."""

import numpy as np
import pytest

from berm.core.errors import InputError
from berm.core.mass import MassProperties, of_mesh, of_shape, of_spheres, of_torus
from berm.core.shapes import Box, Capsule, Cone, Cylinder, HeightField, Mesh, Plane, Sphere

CLOSE = 1e-10
BALL = 4 / 3 * np.pi
BOX_FACES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
     [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
)  # fmt: skip


def box_mesh(a, b, c):
    corners = np.array([[x, y, z] for x in (0, a) for y in (0, b) for z in (0, c)], float)
    return corners - 0.5 * np.array([a, b, c]), BOX_FACES


def turn(seed=0):
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def turned_solid(outer, inner, low, high, steps=200_000):
    """Integrate a solid of revolution about z with radii outer(z), inner(z): midpoint rule."""
    z = low + (np.arange(steps) + 0.5) * (high - low) / steps
    dz = (high - low) / steps
    a, b = outer(z), inner(z)
    volume = (np.pi * (a**2 - b**2) * dz).sum()
    z1 = (np.pi * (a**2 - b**2) * z * dz).sum() / volume
    z2 = (np.pi * (a**2 - b**2) * (z - z1) ** 2 * dz).sum()
    x2 = (np.pi / 4 * (a**4 - b**4) * dz).sum()
    return volume, z1, np.diag([x2 + z2, x2 + z2, 2 * x2])


def near(got, volume, centre, inertia, rtol=CLOSE):
    assert got.volume == pytest.approx(volume, rel=rtol)
    np.testing.assert_allclose(got.centre, centre, rtol=rtol, atol=rtol * volume ** (1 / 3))
    np.testing.assert_allclose(got.inertia, inertia, rtol=rtol, atol=rtol * np.max(inertia))


def test_one_sphere():
    near(of_spheres([[1, 2, 3]], [0.5]), BALL / 8, [1, 2, 3], 0.4 * BALL / 32 * np.eye(3))


def test_two_spheres_by_parallel_axes():
    """Unequal spheres on x: I_xx adds up, the others gain the reduced mass times d^2."""
    r, s, d = 0.3, 0.5, 1.1
    m, n = BALL * r**3, BALL * s**3
    own, extra = 0.4 * (m * r**2 + n * s**2), m * n / (m + n) * d**2
    centre = [2 + n * d / (m + n), 0, 0]
    got = of_spheres([[2, 0, 0], [2 + d, 0, 0]], [r, s])
    near(got, m + n, centre, np.diag([own, own + extra, own + extra]))


def test_touching_cube_of_spheres():
    """Eight spheres at (+-1, +-1, +-1): 8 m (2/5 + 2) about each axis."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    near(of_spheres(corners, 1.0), 8 * BALL, np.zeros(3), 8 * BALL * 2.4 * np.eye(3))


def test_any_frame_gives_the_same_body():
    rng = np.random.default_rng(3)
    x, r, q, t = rng.normal(size=(7, 3)), rng.uniform(0.1, 1, 7), turn(1), np.array([30.0, -4, 9])
    first, second = of_spheres(x, r), of_spheres(x @ q.T + t, r)
    near(second, first.volume, q @ first.centre + t, q @ first.inertia @ q.T)
    np.testing.assert_allclose(
        np.sort(first.principal()[0]), np.sort(second.principal()[0]), rtol=CLOSE
    )


def test_box_mesh_is_a_box():
    a, b, c = 1.0, 2.0, 0.5
    volume = a * b * c
    inertia = volume / 12 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
    near(of_mesh(*box_mesh(a, b, c)), volume, np.zeros(3), inertia)
    near(of_shape(Box((a, b, c))), volume, np.zeros(3), inertia)
    vertices, faces = box_mesh(a, b, c)
    q, t = turn(5), np.array([1e3, 2e3, -5e2])
    near(of_mesh(vertices @ q.T + t, faces), volume, t, q @ inertia @ q.T)
    near(of_shape(Mesh(vertices, faces[:, ::-1])), volume, np.zeros(3), inertia)  # Mesh turns faces


def test_tetrahedron_mesh():
    """The corner tetrahedron: V = 1/6, centre 1/4, and integrals of x^2 = 1/60, x y = 1/120."""
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    same, mixed = 1 / 60 - 1 / 96, 1 / 120 - 1 / 96
    inertia = np.full((3, 3), -mixed)
    np.fill_diagonal(inertia, 2 * same)
    near(of_mesh(vertices, faces), 1 / 6, [0.25] * 3, inertia)


def test_half_of_a_ball_by_slices():
    """The slow integral itself, on Chrono's hemisphere: centre at 3 R / 8, I_zz = 2/5 m R^2."""
    volume, z, inertia = turned_solid(lambda z: np.sqrt(1 - z**2), np.zeros_like, 0.0, 1.0)
    assert volume == pytest.approx(BALL / 2, rel=1e-9)
    assert z == pytest.approx(3 / 8, rel=1e-9)
    assert inertia[2, 2] == pytest.approx(0.4 * volume, rel=1e-9)
    assert inertia[0, 0] == pytest.approx(83 / 320 * volume, rel=1e-9)


def test_hemisphere_mesh_converges_to_the_hemisphere():
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=5)
    above = ball.vertices.copy()
    above[:, 2] = np.maximum(above[:, 2], 0.0)  # flattened below: a closed half
    got = of_mesh(above, ball.faces)
    assert got.volume == pytest.approx(BALL / 2, rel=3e-3)
    assert got.centre[2] == pytest.approx(3 / 8, rel=3e-3)
    assert got.inertia[0, 0] == pytest.approx(83 / 320 * BALL / 2, rel=5e-3)


def test_cylinder_cone_frustum_tube():
    m = np.pi * 0.3**2 * 0.8
    side = m * (3 * 0.3**2 + 0.8**2) / 12
    near(of_shape(Cylinder(0.3, 0.8)), m, np.zeros(3), np.diag([side, side, m * 0.3**2 / 2]))
    m = np.pi * 0.5**2 * 2 / 3
    side = m * (3 / 20 * 0.5**2 + 3 / 80 * 2**2)
    centre = [0, 0, -0.5]  # a quarter of the height above the base
    near(of_shape(Cone(0.5, 0.0, 2.0)), m, centre, np.diag([side, side, 0.3 * m * 0.5**2]))
    m = np.pi * (0.5**2 - 0.4**2) * 1.2
    side = m * (3 * (0.5**2 + 0.4**2) + 1.2**2) / 12
    inertia = np.diag([side, side, m * (0.5**2 + 0.4**2) / 2])
    for tube in (
        Cylinder(0.5, 1.2, open_ends=True, wall=0.1),
        Cylinder(0.4, 1.2, inside=True, open_ends=True, wall=0.1),
    ):
        near(of_shape(tube), m, np.zeros(3), inertia)


@pytest.mark.parametrize("wall", [None, 0.05])
def test_frustum_by_slices(wall):
    shape = Cone(0.7, 0.3, 0.9, open_ends=wall is not None, wall=wall)

    def outer(z):
        return 0.5 - 0.4 * z / 0.9

    inner = np.zeros_like if wall is None else lambda z: outer(z) - wall
    volume, z, inertia = turned_solid(outer, inner, -0.45, 0.45)
    near(of_shape(shape), volume, [0, 0, z], inertia)


def test_capsule_by_slices():
    r, h = 0.4, 1.0

    def outer(z):
        return np.sqrt(np.maximum(r**2 - np.maximum(np.abs(z) - h / 2, 0.0) ** 2, 0.0))

    volume, z, inertia = turned_solid(outer, np.zeros_like, -h / 2 - r, h / 2 + r)
    near(of_shape(Capsule(r, h)), volume, [0, 0, z], inertia, rtol=1e-9)
    assert of_shape(Capsule(r, h)).volume == pytest.approx(np.pi * r**2 * h + BALL * r**3)


def test_torus_by_slices():
    def outer(z):
        return 1.0 + np.sqrt(0.09 - z**2)

    def inner(z):
        return 1.0 - np.sqrt(0.09 - z**2)

    volume, z, inertia = turned_solid(outer, inner, -0.3, 0.3)
    near(of_torus(1.0, 0.3), volume, [0, 0, z], inertia, rtol=1e-7)


def test_principal_axes():
    q = turn(2)
    moments, axes = MassProperties(1, np.zeros(3), q @ np.diag([3.0, 5, 6]) @ q.T).principal()
    np.testing.assert_allclose(np.sort(moments), [3, 5, 6], rtol=1e-12)
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, q @ np.diag([3.0, 5, 6]) @ q.T)


@pytest.mark.parametrize("diagonal", [[4, 2, 3], [2, 2, 3], [1, 2, 2], [1, 1, 1], [3, 2, 3]])
def test_a_body_along_its_axes_is_not_turned(diagonal):
    noise = 1e-15 * np.random.default_rng(0).normal(size=(3, 3))
    moments, axes = MassProperties(1, np.zeros(3), np.diag(diagonal) + noise + noise.T).principal()
    np.testing.assert_allclose(axes, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(moments, diagonal, rtol=1e-12)


def test_a_round_body_turns_as_little_as_it_can():
    axis = np.array([0.1, 0.2, -1.0]) / np.sqrt(1.05)
    inertia = 2 * np.eye(3) - np.outer(axis, axis)
    moments, axes = MassProperties(1, np.zeros(3), inertia).principal()
    np.testing.assert_allclose(axes[:, 2], -axis, atol=1e-12)
    np.testing.assert_allclose(moments, [2, 2, 1], rtol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)


def test_open_flat_and_inverted_meshes_are_refused():
    vertices, faces = box_mesh(1, 1, 1)
    with pytest.raises(InputError, match="closed mesh"):
        of_mesh(vertices, faces[1:])
    with pytest.raises(InputError, match="volume -1"):
        of_mesh(vertices, faces[:, ::-1])
    with pytest.raises(InputError, match="no volume"):
        of_mesh(vertices * [1, 1, 0], faces)
    one_turned = faces.copy()
    one_turned[0] = one_turned[0, ::-1]
    with pytest.raises(InputError, match="faces alike"):
        of_mesh(vertices, one_turned)


@pytest.mark.parametrize(
    ("shape", "word"),
    [
        (Plane(), "Plane"),
        (HeightField(np.zeros((2, 2)), 1.0), "HeightField"),
        (Box((1, 1, 1), inside=True), "Box"),
        (Cylinder(1, 1, inside=True), "Cylinder"),
        (Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]), "open mesh"),
        (Mesh(*box_mesh(1, 1, 1), two_sided=True), "two_sided"),
        ("Box", "str"),
    ],
)
def test_what_has_no_finite_solid_is_named(shape, word):
    with pytest.raises(InputError, match=word):
        of_shape(shape)


def test_sphere_shape():
    near(of_shape(Sphere(0.2)), BALL * 0.008, np.zeros(3), 0.4 * BALL * 0.2**5 * np.eye(3))


@pytest.mark.parametrize(
    ("offsets", "radii"),
    [([], []), ([[0, 0, 0]], [0]), ([[0, 0, 0]], [-1]), ([[0, np.nan, 0]], [1]), ([[0, 0]], [1]),
     ([[0, 0, 0]], [1, 2]), ([[0, 0, 0]], [np.inf]), ("abc", 1)],
)  # fmt: skip
def test_bad_spheres(offsets, radii):
    with pytest.raises(InputError, match="allowed"):
        of_spheres(offsets, radii)
