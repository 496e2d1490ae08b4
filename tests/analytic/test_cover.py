"""Surface particles on bodies of different character, and bodies filled with spheres."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from berm.core.errors import InputError
from berm.core.mass import of_mesh, of_shape
from berm.core.shapes import Box, Capsule, Cone, Cylinder, HeightField, Mesh, Plane, Sphere
from berm.solvers.walls.shapes import signed_distance
from berm.world.band import Band, Surface, samples
from berm.world.cover import cover, pack_spheres, surface_particles


def prism(corners, centre, height):
    """Extrude a polygon that is seen whole from `centre`."""
    n = len(corners)
    i, j = np.arange(n), (np.arange(n) + 1) % n
    flat = np.vstack([corners, [centre]])
    vertices = np.vstack(
        [np.column_stack([flat, np.full(n + 1, z)]) for z in (0.0, height)], dtype=float
    )
    low, high = np.full(n, n), np.full(n, 2 * n + 1)
    up = n + 1
    sides = [(i, j, j + up), (i, j + up, i + up), (j, i, low), (i + up, j + up, high)]
    return Mesh(vertices, np.vstack([np.column_stack(s) for s in sides]))


def body(name):
    import trimesh

    if name == "ellipsoid":
        ball = trimesh.creation.icosphere(subdivisions=3)
        return Mesh(ball.vertices * [1.0, 0.7, 0.5], ball.faces)
    if name == "box":
        crate = trimesh.creation.box((1.6, 1.0, 0.8))
        return Mesh(crate.vertices, crate.faces)
    if name == "torus":
        ring = trimesh.creation.torus(0.8, 0.3, 40, 24)
        return Mesh(ring.vertices, ring.faces)
    if name == "gear":
        angle = np.linspace(0, 2 * np.pi, 32, endpoint=False)
        far = np.where(np.arange(32) % 4 < 2, 1.0, 0.65)
        return prism(far[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), (0, 0), 0.5)
    if name == "L":
        outline = [(0, 0), (1.6, 0), (1.6, 0.5), (0.5, 0.5), (0.5, 1.2), (0, 1.2)]
        return prism(np.array(outline), (0.25, 0.25), 0.7)
    ball = trimesh.creation.icosphere(subdivisions=3)  # a lump like a potato
    x, y, z = ball.vertices.T
    swell = 1 + 0.25 * np.sin(3 * x + 1) * np.cos(4 * y) + 0.2 * np.sin(5 * z + 2 * x)
    return Mesh(0.8 * ball.vertices * swell[:, None], ball.faces)


def quality(shape, points, radius, offset):
    """Return |phi| / R by exact distances, CoV of nearest neighbours, widest gap / R."""
    near = cKDTree(points).query(points, k=2)[0][:, 1]
    surface = Surface(shape, offset, radius)
    phi = surface.exact(points)[0]
    places, _ = samples(surface, surface.exact, radius**2 / 8, np.random.default_rng(7))
    gap = cKDTree(points).query(places)[0].max()
    return np.abs(phi).max() / radius, near.std() / near.mean(), gap / radius


CASES = [("ellipsoid", 0), ("box", 0), ("box", -1), ("torus", -1), ("gear", -1),
         ("gear", 1), ("L", 0), ("lump", -1)]  # fmt: skip


@pytest.mark.parametrize(("name", "side"), CASES)
def test_cover_is_even_and_has_no_gaps(name, side):
    """FIGURES Bell 6: |phi| < 0.1 R at all floaters, CoV of spacing < 0.25; and no gap."""
    shape, radius = body(name), 0.1
    points, phi = surface_particles(shape, radius, side * radius)
    off, spread, gap = quality(shape, points, radius, side * radius)
    assert off < 0.01
    assert np.abs(phi).max() < 0.01 * radius
    assert spread < 0.1
    assert gap < 1.35


def test_as_many_as_the_density_asks_for():
    for density in (1.0, 1.5, 2.5):
        points, _ = surface_particles(Sphere(1.0), 0.08, density=density)
        assert len(points) == pytest.approx(density * 4.0 / 0.08**2, rel=0.05)


@pytest.mark.parametrize(
    "shape",
    [Sphere(0.5), Box((1, 0.6, 0.5)), Capsule(0.3, 0.8), Cone(0.6, 0.2, 0.8), Cylinder(0.4, 0.9),
     Cylinder(0.6, 0.7, open_ends=True, wall=0.2), Box((1, 1, 1), inside=True)],
)  # fmt: skip
def test_shapes_other_than_meshes(shape):
    points, _ = surface_particles(shape, 0.07, offset=-0.02)
    off, spread, gap = quality(shape, points, 0.07, -0.02)
    assert off < 0.01 and spread < 0.12 and gap < 1.35


def test_spheres_inside_touch_the_surface_and_weigh_what_the_mesh_does():
    mesh, radius = body("L"), 0.08
    grain = cover(mesh, radius, offset=-radius)
    own = of_mesh(mesh.vertices, mesh.faces)
    assert grain.volume == pytest.approx(own.volume)
    assert np.sort(grain.inertia) == pytest.approx(np.sort(own.principal()[0]))
    centres = grain.origin + grain.offsets @ grain.axes.T
    np.testing.assert_allclose(signed_distance(mesh, centres)[0], -radius, atol=1e-6)
    np.testing.assert_allclose(
        grain.origin + grain.mesh[0] @ grain.axes.T, mesh.vertices, atol=1e-12
    )
    assert (grain.radii == radius).all()


def test_same_seed_same_floaters():
    first, second, other = (surface_particles(body("box"), 0.15, seed=s)[0] for s in (4, 4, 5))
    assert np.array_equal(first, second)
    assert first.shape != other.shape or not np.array_equal(first, other)


def test_a_plate_thinner_than_a_voxel():
    plate = Box((1.0, 0.8, 0.02))
    points, _ = surface_particles(plate, 0.06)
    off, spread, gap = quality(plate, points, 0.06, 0.0)
    assert off < 0.01 and spread < 0.15 and gap < 1.35


def test_a_body_smaller_than_a_particle_gets_one():
    assert len(surface_particles(Sphere(0.01), 0.1)[0]) == 1


def test_thin_parts_that_stay_bare_are_told():
    import trimesh

    dumbbell = trimesh.creation.revolve(
        np.array([[0, -1], [0.4, -1], [0.4, -0.6], [0.03, -0.6], [0.03, 0.6], [0.4, 0.6],
                  [0.4, 1], [0, 1]]), sections=24,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="no particle"):
        cover(Mesh(dumbbell.vertices, dumbbell.faces), 0.1, offset=-0.1)


def test_interpolation_is_exact_for_a_plane_face_and_close_on_a_ball():
    band = Band(Surface(Sphere(1.0), 0.0, 0.1))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 3))
    x *= (rng.uniform(0.95, 1.05, 500) / np.linalg.norm(x, axis=1))[:, None]
    phi, normal = band(x)
    r = np.linalg.norm(x, axis=1)
    assert np.abs(phi - (r - 1)).max() < 0.1**2 / 2  # h^2 / 8 for each of two curvatures, and more
    assert np.einsum("ij,ij->i", normal, x / r[:, None]).min() > 0.99
    face = np.column_stack([rng.uniform(-0.3, 0.3, (50, 2)), rng.uniform(0.45, 0.55, 50)])
    phi, normal = Band(Surface(Box((1, 1, 1)), 0.0, 0.1))(face)
    np.testing.assert_allclose(phi, face[:, 2] - 0.5, atol=1e-12)
    np.testing.assert_allclose(normal, np.tile([0, 0, 1.0], (50, 1)), atol=1e-9)
    far, _ = band(np.array([[5.0, 0, 0], [0.0, 0, 0]]))  # outside of the band: exact
    np.testing.assert_allclose(far, [4.0, -1.0])


def test_samples_measure_the_area():
    surface = Surface(Box((1, 2, 3)), 0.0, 0.1)
    places, area = samples(surface, surface.exact, 1e-3, np.random.default_rng(0))
    assert area == pytest.approx(22.0, rel=0.015)
    assert len(places) == pytest.approx(22.0 / 1e-3, rel=0.05)
    on_top = np.isclose(places[:, 2], 1.5)
    assert on_top.mean() == pytest.approx(2 / 22, rel=0.05)


@pytest.mark.parametrize("name", ["ellipsoid", "L"])
def test_packed_spheres_lie_inside_and_fill(name):
    mesh = body(name)
    grain = pack_spheres(mesh, radius=0.1)
    centres = grain.origin + grain.offsets @ grain.axes.T
    assert (signed_distance(mesh, centres)[0] + grain.radii).max() < 1e-9
    assert grain.radii.min() >= 0.1
    assert grain.volume == pytest.approx(of_shape(mesh).volume)
    rng = np.random.default_rng(0)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    tries = low + rng.random((4000, 3)) * (high - low)
    deep = signed_distance(mesh, tries)[0] < -0.12
    gap = np.linalg.norm(tries[deep][:, None] - centres, axis=2) - grain.radii
    assert gap.min(axis=1).max() < 0.05  # what is deeper than the smallest sphere is held
    assert len(np.unique(grain.radii.round(3))) > 3


def test_packing_by_count():
    assert len(pack_spheres(body("box"), count=12)) == 12
    assert len(pack_spheres(Box((1.0, 1.0, 0.02)), count=20)) == 20  # thinner than a voxel at first
    one = pack_spheres(Box((1.0, 1.0, 1.0)), count=1)
    assert one.radii[0] == pytest.approx(0.5, rel=1e-2)


SHEET = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], name="sheet.stl")


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: cover(SHEET, 0.1), "sheet.stl"),
        (lambda: surface_particles(SHEET, 0.1), "sheet.stl"),
        (lambda: pack_spheres(SHEET, 0.1), "sheet.stl"),
        (lambda: cover(Plane(), 0.1), "Plane"),
        (lambda: surface_particles(Plane(), 0.1), "Plane"),
        (lambda: surface_particles(HeightField(np.zeros((3, 3)), 1.0), 0.1), "HeightField"),
        (lambda: surface_particles(Box((1, 1, 1), inside=True, open_top=True), 0.1), "Box"),
        (lambda: cover(Box((1, 1, 1), inside=True), 0.1), "inside"),
        (lambda: cover(Sphere(1), -0.1), "radius"),
        (lambda: cover(Sphere(1), float("nan")), "radius"),
        (lambda: cover(Sphere(1), 0.1, offset=float("inf")), "offset"),
        (lambda: cover(Sphere(1), 0.1, density=0), "density"),
        (lambda: cover(Box((1, 1, 0.1)), 0.1, offset=-0.1), "less deep"),
        (lambda: cover(Sphere(1), 1e-6), "larger radius"),
        (lambda: pack_spheres(Sphere(1)), "one of them"),
        (lambda: pack_spheres(Sphere(1), radius=0), "radius"),
        (lambda: pack_spheres(Sphere(1), count=0), "count"),
        (lambda: pack_spheres(Sphere(1), radius=2.0), "fits"),
        (lambda: pack_spheres(Sphere(1), radius=1e-5), "larger"),
    ],
)
def test_what_cannot_be_covered_is_told(call, word):
    with pytest.raises(InputError, match=word):
        call()
