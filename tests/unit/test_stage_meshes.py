"""Triangles of shapes lie on the shapes and face the grains."""

from __future__ import annotations

import numpy as np
import pytest

from berm.core.errors import InputError
from berm.core.shapes import Box, Capsule, Cone, Cylinder, HeightField, Mesh, Plane, Sphere
from berm.solvers.walls.shapes import pack, signed_distance
from berm.stage.meshes import Triangles, triangles, vertex_normals

WAVES = np.random.default_rng(0).uniform(0.0, 0.1, (7, 5))
TETRAHEDRON = (
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
)
SHAPES = {
    "plane": Plane(),
    "sphere": Sphere(0.7),
    "hollow sphere": Sphere(0.7, inside=True),
    "box": Box((1.0, 0.6, 0.4)),
    "hollow box": Box((1.0, 0.6, 0.4), inside=True),
    "open box": Box((1.0, 0.6, 0.4), inside=True, open_top=True),
    "capsule": Capsule(0.3, 0.8),
    "hollow capsule": Capsule(0.3, 0.8, inside=True),
    "cylinder": Cylinder(0.5, 1.2),
    "hollow cylinder": Cylinder(0.5, 1.2, inside=True),
    "tube around grains": Cylinder(0.5, 1.2, inside=True, open_ends=True, wall=0.02),
    "thick tube around grains": Cylinder(0.5, 1.2, inside=True, open_ends=True, wall=0.5),
    "tube among grains": Cylinder(0.5, 1.2, open_ends=True, wall=0.1),
    "cone": Cone(0.6, 0.2, 0.9),
    "pointed cone": Cone(0.6, 0.0, 0.9),
    "funnel": Cone(0.1, 0.6, 0.9, inside=True, open_ends=True),
    "height field": HeightField(WAVES, 0.2, (-0.5, 0.1)),
    "mesh": Mesh(*TETRAHEDRON),
    "cavity": Mesh(*TETRAHEDRON, inside=True),
}
CHORD = 1e-3  # m: a circle of 96 edges and radius 0.7 m is off by 0.4 mm


@pytest.mark.parametrize("name", SHAPES)
def test_vertices_and_faces_lie_on_the_shape(name: str) -> None:
    shape = SHAPES[name]
    made = triangles(shape, half_width=2.0)
    packed = pack(shape)
    corners = made.vertices.astype(float)[made.faces.astype(int)]
    # an open box ends where its walls go on: its upper rim is on the shape all the same
    assert np.abs(signed_distance(packed, made.vertices)[0]).max() < 1e-6
    for weights in ((1 / 3, 1 / 3, 1 / 3), (0.6, 0.3, 0.1), (0.1, 0.3, 0.6)):
        inner = np.einsum("k,fkc->fc", weights, corners)
        assert np.abs(signed_distance(packed, inner)[0]).max() < CHORD


@pytest.mark.parametrize("name", SHAPES)
def test_faces_and_normals_point_to_where_grains_live(name: str) -> None:
    shape = SHAPES[name]
    made = triangles(shape, half_width=2.0)
    packed = pack(shape)
    corners = made.vertices.astype(float)[made.faces.astype(int)]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    assert (length > 0).all(), "a triangle without area"
    normal /= length
    middle = corners.mean(axis=1)
    step = 5 * CHORD
    outside = signed_distance(packed, middle + step * normal)[0]
    inside = signed_distance(packed, middle - step * normal)[0]
    assert (outside > 0).all() and (inside < 0).all()
    shaded = made.normals.astype(float)[made.faces.astype(int)]
    assert np.allclose(np.linalg.norm(made.normals, axis=1), 1.0, atol=1e-5)
    assert (np.einsum("fkc,fc->fk", shaded, normal) > 0.5).all()


def test_types_are_what_graphics_cards_want() -> None:
    for shape in SHAPES.values():
        made = triangles(shape)
        assert made.vertices.dtype == made.normals.dtype == np.float32
        assert made.faces.dtype == np.uint32
        assert made.faces.max() < len(made.vertices) == len(made.normals)


def test_one_looks_into_what_holds_grains() -> None:
    looked_into = {name for name, shape in SHAPES.items() if triangles(shape).container}
    assert looked_into == {
        "plane", "hollow sphere", "hollow box", "open box", "hollow capsule", "hollow cylinder",
        "tube around grains", "thick tube around grains", "funnel", "height field", "cavity",
    }  # fmt: skip


def test_a_closed_surface_holds_its_volume() -> None:
    def volume(made: Triangles) -> float:
        a, b, c = np.moveaxis(made.vertices.astype(float)[made.faces.astype(int)], 1, 0)
        return float((np.cross(a, b) * c).sum() / 6)

    assert volume(triangles(Sphere(0.7))) == pytest.approx(4 / 3 * np.pi * 0.7**3, rel=3e-3)
    assert volume(triangles(Box((1.0, 0.6, 0.4)))) == pytest.approx(0.24, rel=1e-6)
    tube = triangles(Cylinder(0.5, 1.2, open_ends=True, wall=0.1))
    assert volume(tube) == pytest.approx(np.pi * (0.25 - 0.16) * 1.2, rel=3e-3)
    assert volume(triangles(Capsule(0.3, 0.8))) == pytest.approx(
        np.pi * 0.09 * (0.8 + 0.4), rel=3e-3
    )


def test_plane_patch_has_its_width_and_place() -> None:
    made = triangles(Plane(), half_width=3.0, centre=(1.0, -2.0))
    assert made.vertices.min(axis=0).tolist() == [-2.0, -5.0, 0.0]
    assert made.vertices.max(axis=0).tolist() == [4.0, 1.0, 0.0]


def test_creases_stay_sharp_and_round_stays_round() -> None:
    cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    faces = [
        [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
        [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
    ]  # fmt: skip
    made = triangles(Mesh(cube, faces))
    assert len(made.vertices) == 24  # each corner once for each of its three sides
    ball = triangles(Sphere(1.0), around=24)
    again = triangles(Mesh(ball.vertices.astype(float), ball.faces.astype(int)))
    assert len(again.vertices) < 1.1 * len(np.unique(ball.vertices, axis=0))
    assert (np.abs(again.normals - again.vertices) < 0.05).all()


def test_vertex_normals_are_weighted_by_area() -> None:
    points = np.array([[0, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 1]], float)
    found = vertex_normals(points, np.array([[0, 1, 2], [0, 3, 1]], np.uint32))
    assert found[0] == pytest.approx(np.array([0, 3, 9]) / np.sqrt(90), abs=1e-6)


def test_what_cannot_be_drawn_is_named() -> None:
    with pytest.raises(InputError, match="half-width of a plane's patch: got -1"):
        triangles(Plane(), half_width=-1)
    with pytest.raises(InputError, match="shape to draw: got 'int'"):
        triangles(3)  # type: ignore[arg-type]


def test_normals_of_height_fields_are_means_over_faces() -> None:
    heights = np.random.default_rng(4).uniform(0.0, 1.0, (9, 6))
    made = triangles(HeightField(heights, 0.3, (1.0, -2.0)))
    exact = vertex_normals(made.vertices.astype(float), made.faces)
    np.testing.assert_allclose(made.normals, exact, atol=1e-6)
