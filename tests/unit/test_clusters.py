"""Compound grains: frame, mass, builders, and what they refuse."""

import numpy as np
import pytest

from berm.core.clusters import CLUSTERS, Cluster, cube, from_spheres, ring, rod, tetrahedron
from berm.core.errors import InputError
from berm.core.mass import MassProperties, of_shape, of_spheres, of_torus
from berm.core.shapes import Box, Capsule

BALL = 4 / 3 * np.pi


def gaps(cluster):
    x = cluster.offsets
    far = np.linalg.norm(x[:, None] - x[None], axis=2)
    return far[~np.eye(len(x), dtype=bool)].reshape(len(x), -1)


def test_user_frame_comes_back():
    rng = np.random.default_rng(0)
    x, r = rng.normal(5.0, 1.0, size=(6, 3)), rng.uniform(0.1, 0.5, 6)
    c = from_spheres(x, r, "lump")
    np.testing.assert_allclose(c.origin + c.offsets @ c.axes.T, x, atol=1e-12)
    np.testing.assert_allclose(c.placed(c.origin, c.axes), x, atol=1e-12)
    own = of_spheres(c.offsets, c.radii)
    np.testing.assert_allclose(own.centre, 0, atol=1e-13)
    np.testing.assert_allclose(own.inertia, np.diag(c.inertia), atol=1e-12)
    assert c.volume == pytest.approx(own.volume)
    assert np.linalg.det(c.axes) == pytest.approx(1)
    assert c.bounding_radius >= np.linalg.norm(c.offsets, axis=1).max()
    assert len(c) == 6 and c.name == "lump"


def test_tetrahedron():
    c = tetrahedron(0.01)
    np.testing.assert_allclose(gaps(c), 0.02)
    assert c.volume == pytest.approx(4 * BALL * 1e-6)
    # centres at sqrt(3/2) r: 4 m (2/5 + 2/3 * 3/2) r^2
    np.testing.assert_allclose(c.inertia, c.volume * (0.4 + 1.0) * 1e-4, rtol=1e-10)
    np.testing.assert_allclose(c.axes, np.eye(3))
    np.testing.assert_allclose(gaps(tetrahedron(0.01, spacing=1.5)), 0.015)


def test_cube():
    c = cube(0.5)
    assert len(c) == 8
    np.testing.assert_allclose(gaps(c).min(axis=1), 1.0)
    np.testing.assert_allclose(c.inertia, 8 * BALL / 8 * 2.4 * 0.25, rtol=1e-10)
    assert c.bounding_radius == pytest.approx(0.5 + np.sqrt(3) / 2)


def test_rod():
    c = rod(1.0, 3)
    assert c.volume == pytest.approx(3 * BALL)
    np.testing.assert_allclose(c.inertia, BALL * np.array([1.2, 9.2, 9.2]), rtol=1e-12)
    np.testing.assert_allclose(np.ptp(c.offsets, axis=0), [4, 0, 0])
    assert len(rod(1.0, 1)) == 1
    smooth, capsule = rod(1.0, 9, spacing=0.5), of_shape(Capsule(1.0, 4.0))
    assert smooth.volume == pytest.approx(capsule.volume)
    np.testing.assert_allclose(smooth.inertia, np.diag(capsule.inertia)[[2, 1, 0]], rtol=1e-12)


def test_ring_of_110():
    c = ring(0.01)
    assert len(c) == 110
    np.testing.assert_allclose(gaps(c).min(axis=1), 0.02, rtol=1e-9)
    assert c.volume == pytest.approx(110 * BALL * 1e-6)
    assert c.inertia[2] == pytest.approx(c.inertia[0] + c.inertia[1], rel=1e-3)
    thick = ring(0.02, 0.1)
    assert thick.volume == pytest.approx(of_torus(0.1, 0.02).volume)
    assert thick.bounding_radius == pytest.approx(0.12)


def test_mass_of_the_mesh_replaces_that_of_the_spheres():
    box = Box((1.0, 2.0, 3.0))
    own = of_shape(box)
    shifted = MassProperties(own.volume, [1, 0, 0], own.inertia)
    vertices = np.array([[x, y, z] for x in (0.5, 1.5) for y in (-1, 1) for z in (-1.5, 1.5)])
    c = Cluster(vertices, 0.1, "crate", properties=shifted, mesh=(vertices, [[0, 1, 2]]))
    assert c.volume == pytest.approx(6)
    np.testing.assert_allclose(c.inertia, np.diag(own.inertia))
    np.testing.assert_allclose(c.origin, [1, 0, 0])
    np.testing.assert_allclose(c.mesh[0], c.offsets)
    again = Cluster(c.offsets, c.radii, c.name, c.properties, c.mesh)  # a fixed point
    np.testing.assert_allclose(again.offsets, c.offsets)


def test_a_cluster_cannot_be_changed():
    c = cube(1.0)
    with pytest.raises(ValueError, match="read-only"):
        c.offsets[0] = 0
    with pytest.raises(AttributeError):
        c.name = "other"


def test_registry_knows_the_builders():
    assert CLUSTERS.names() == ["cube", "from_spheres", "ring", "rod", "tetrahedron"]
    assert len(CLUSTERS.get("cube")(0.1)) == 8
    with pytest.raises(InputError, match="did you mean 'cube'"):
        CLUSTERS.get("cub")


@pytest.mark.parametrize(
    "build",
    [
        lambda: from_spheres([], []),
        lambda: from_spheres([[0, 0, 0]], [0.0]),
        lambda: from_spheres([[0, 0, np.nan]], [1.0]),
        lambda: from_spheres([[0, 0, 0]], [np.nan]),
        lambda: from_spheres([0, 0, 0], [1.0]),
        lambda: from_spheres([[0, 0, 0]], [1.0, 1.0]),
        lambda: tetrahedron(-1),
        lambda: tetrahedron(float("nan")),
        lambda: tetrahedron("big"),
        lambda: cube(1, spacing=2.5),
        lambda: rod(1, 0),
        lambda: rod(1, 2.5),
        lambda: rod(1, True),
        lambda: ring(1, 0.5),
        lambda: ring(1, 100.0),
        lambda: ring(1, count=2),
        lambda: Cluster([[0, 0, 0]], 1.0, mesh=([[0, 0, 0]], [[0, 1, 2]])),
        lambda: Cluster([[0, 0, 0]], 1.0, mesh=3),
        lambda: Cluster([[0, 0, 0]], 1.0, properties=3),
    ],
)
def test_bad_input_is_told(build):
    with pytest.raises(InputError, match="allowed"):
        build()
