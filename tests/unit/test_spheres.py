"""A rigid union of spheres: what is refused, its mass, its drawing, files, and grains on it."""

from __future__ import annotations

import numpy as np
import pytest

import berm
from berm.core.errors import InputError
from berm.core.mass import of_shape
from berm.core.shapes import Sphere, Spheres
from berm.io.layout import describe_body, shape_from
from berm.io.scenefile import load_scene
from berm.solvers.walls.shapes import signed_distance
from berm.stage.meshes import triangles

ROCK = Spheres([[0.1, 0, 0], [-0.1, 0.05, 0], [0, -0.05, 0.12]], [0.2, 0.15, 0.12])


@pytest.mark.parametrize(
    ("centres", "radii", "says"),
    [
        ([], 1.0, "no spheres"),
        ([[0, 0]], 1.0, r"\(k, 3\)"),
        ([[0, 0, 0]], [1.0, 2.0], r"\(1,\)"),
        ([[0, 0, 0], [0, np.nan, 0]], 1.0, r"centres\[1\]"),
        ([[0, 0, 0], [1, 0, 0]], [1.0, 0.0], r"radii\[1\]"),
        ([["a", 0, 0]], 1.0, "numbers"),
        (np.zeros((201, 3)), 1.0, "1..200"),
    ],
)
def test_what_is_no_union_is_refused(centres, radii, says):
    with pytest.raises(InputError, match=says):
        Spheres(centres, radii)


def test_one_radius_fits_all_and_nothing_can_be_written():
    shape = Spheres(np.eye(3), 0.5)
    assert shape.radii.tolist() == [0.5, 0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        shape.centres[0, 0] = 1.0


def test_one_sphere_and_two_apart_have_exact_mass():
    one, ball = of_shape(Spheres([[1, 2, 3]], 0.4)), of_shape(Sphere(0.4))
    assert one.volume == pytest.approx(ball.volume, rel=1e-12)
    assert np.allclose(one.centre, [1, 2, 3], atol=1e-12)
    assert np.allclose(one.inertia, ball.inertia, rtol=1e-9, atol=1e-12)
    two = of_shape(Spheres([[-1, 0, 0], [1, 0, 0]], 0.4))
    across = 2 * (0.4 * ball.volume * 0.16 + ball.volume)
    assert two.volume == pytest.approx(2 * ball.volume, rel=1e-12)
    assert two.inertia[1, 1] == pytest.approx(across, rel=1e-9)


@pytest.mark.parametrize("axis", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0, 0.8]])
def test_what_two_spheres_share_counts_once(axis):
    """Volume, centre and moments of two balls less the lens, by its two caps; 5e-4."""
    big, small, d = 0.4, 0.3, 0.45
    axis = np.array(axis, float)
    # along the line of centres: slices of the union are discs, integrated finely
    t = np.linspace(-big, d + small, 400_001)
    square = np.maximum(np.maximum(big**2 - t**2, small**2 - (t - d) ** 2), 0.0)
    slices, step = np.pi * square, t[1] - t[0]
    volume, first, second = (step * (slices * t**k).sum() for k in range(3))
    round_part = step * (np.pi * square**2 / 4).sum()  # integral of y^2 over the slices
    lens = np.pi * (big + small - d) ** 2 * (d * d + 2 * d * (big + small) - 3 * (big - small) ** 2)
    exact = 4 / 3 * np.pi * (big**3 + small**3) - lens / (12 * d)
    assert volume == pytest.approx(exact, rel=1e-9)

    found = of_shape(Spheres([[0.5, 0.5, 0.5], 0.5 + d * axis], [big, small]))
    assert found.volume == pytest.approx(exact, rel=5e-4)
    assert np.allclose(found.centre, 0.5 + first / volume * axis, atol=1e-4)
    along = 2 * round_part
    across = round_part + second - first**2 / volume
    wanted = across * np.eye(3) + (along - across) * np.outer(axis, axis)
    assert np.allclose(found.inertia, wanted, atol=5e-4 * across)


def test_distance_is_the_least_of_all_spheres():
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (2000, 3))
    d, g = signed_distance(ROCK, points)
    each = np.linalg.norm(points[:, None] - ROCK.centres, axis=2) - ROCK.radii
    assert np.abs(d - each.min(axis=1)).max() < 1e-12
    nearest = ROCK.centres[each.argmin(axis=1)]
    away = (points - nearest) / np.linalg.norm(points - nearest, axis=1)[:, None]
    assert np.abs(g - away).max() < 1e-9


def test_drawing_lies_on_the_surface_and_hides_what_is_within():
    made = triangles(ROCK)
    d, _ = signed_distance(ROCK, made.vertices.astype(float))
    assert np.abs(d).max() < 0.2  # corners of faces that cut into a neighbour
    middle = made.vertices[made.faces].mean(axis=1).astype(float)
    assert (np.abs(signed_distance(ROCK, middle)[0]) < 0.01).mean() > 0.8
    corners = made.vertices[made.faces].astype(float)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (((made.normals[made.faces[:, 0]] * normal).sum(axis=1)) > 0).all()


def test_a_recording_gives_the_same_shape_back():
    kept = []

    def keep(array):
        kept.append(array)
        return {"array": len(kept) - 1}

    many = Spheres(np.arange(30.0).reshape(10, 3), np.linspace(0.1, 0.2, 10))
    for shape in (ROCK, many):
        body = berm.World().add_body(shape)
        back = shape_from(describe_body(body, keep)["shape"], lambda d: kept[d["array"]])
        assert isinstance(back, Spheres)
        assert np.array_equal(back.centres, shape.centres)
        assert np.array_equal(back.radii, shape.radii)


def test_a_scene_file_knows_them(tmp_path):
    file = tmp_path / "scene.yaml"
    file.write_text(
        "bodies:\n"
        "  - shape: {kind: spheres, centres: [[0, 0, 0], [0.2, 0, 0]], radii: [0.2, 0.1]}\n"
        "    dynamic: true\n"
        "  - shape: {kind: spheres, centres: [[0, 0, 3]], radii: 0.5}\n"
    )
    world = load_scene(file).build()
    one, two = world.bodies
    assert one.shape.radii.tolist() == [0.2, 0.1] and two.shape.radii.tolist() == [0.5]
    assert one.dynamic


@pytest.mark.parametrize("solver", ["p2", "dem", "vts"])
def test_grains_come_to_rest_on_a_union(solver):
    """A grain in the groove between two balls touches both and stays there."""
    world = berm.World(dt=1 / 240, solver=solver)
    world.add_body(Spheres([[-0.15, 0, 0], [0.15, 0, 0]], 0.2), name="rock", material="gravel")
    world.add_grains([[0.0, 0.0, 0.21]], 0.05, material="gravel")
    for _ in range(240):
        world.step()
    x, _, z = world.grains.position[0]
    # both spheres at a distance of the two radii
    assert abs(x) < 1e-3
    assert z == pytest.approx(np.sqrt(0.25**2 - 0.15**2), abs=3e-3)
    assert world.body("rock").force[2] == pytest.approx(-9.81 * world.grains.mass[0], rel=0.05)
