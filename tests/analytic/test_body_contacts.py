"""Bodies that meet bodies: corners of meshes, thin plates, fast bodies, beams across each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import berm
from berm.core.shapes import Box, Mesh, Sphere, Spheres
from berm.kernels.multibody.substep import touching
from berm.solvers.multibody.multibody import Multibody


def boxed(low, high):
    """Vertices and faces of a box from low to high (m)."""
    corner = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    return np.asarray(low) + corner * (np.asarray(high) - low), np.array(faces)


def bucket(inner, wall):
    """A closed mesh: a box without a lid, walls of this thickness (m), its floor at z = 0."""
    a, b = inner, inner + wall
    outline = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    rings = [(b, -wall), (b, 2 * a), (a, 2 * a), (a, 0.0)]
    vertices = [[x * w, y * w, z] for w, z in rings for x, y in outline]
    faces = []
    for r in range(3):
        for k in range(4):
            p, q = 4 * r + k, 4 * r + (k + 1) % 4
            faces += [[p, q, q + 4], [p, q + 4, p + 4]]
    faces += [[0, 2, 1], [0, 3, 2], [12, 13, 14], [12, 14, 15]]
    return Mesh(np.array(vertices, float), np.array(faces), name="bucket")


def found(world):
    """Contacts at the present poses: rows, gaps, normals."""
    multi = Multibody()
    multi.follow(world)
    c = touching(multi.arrays, multi.table.arrays, multi.solids, 0.0, True)
    n = int(c.n[0])
    return c.a[:n].copy(), c.b[:n].copy(), c.feature[:n].copy(), c.gap[:n], c.normal[:n]


@pytest.mark.parametrize("turn", [np.eye(3), Rotation.from_rotvec([0.3, 0.5, 0.2]).as_matrix()])
def test_a_ball_in_the_corner_of_a_mesh_touches_three_walls(turn):
    world = berm.World(gravity=(0, 0, 0))
    mesh = bucket(0.5, 0.05)
    assert mesh.closed
    world.add_body(mesh, name="bucket", rotation=turn)
    where = np.array([-0.301, -0.301, 0.199])
    ball = world.add_body(Sphere(0.2), name="ball", dynamic=True, position=turn @ where)
    a, _, feature, gap, normal = found(world)
    assert (a == ball.row).all()
    assert len(set(feature)) == 3 and (np.diff(feature) > 0).all()
    towards = np.round(normal @ turn, 9)
    assert sorted(map(tuple, towards)) == [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    wanted = {(0.0, 0.0, 1.0): -0.001, (0.0, 1.0, 0.0): -0.001, (1.0, 0.0, 0.0): -0.001}
    for n, g in zip(towards, gap, strict=True):
        assert g == pytest.approx(wanted[tuple(np.abs(n))], abs=1e-9)


def test_a_ball_in_a_container_touches_each_of_its_faces():
    world = berm.World(gravity=(0, 0, 0))
    world.add_body(Box((1, 1, 1), inside=True), name="container")
    world.add_body(Sphere(0.2), name="ball", dynamic=True, position=(0.3, 0.3, -0.3))
    assert len(found(world)[3]) == 3


@pytest.mark.parametrize("thick", [0.03, 0.1])
@pytest.mark.parametrize("kind", ["spheres", "convex", "concave", "box"])
def test_no_rock_passes_a_thin_plate_of_a_mesh(kind, thick):
    """Rocks of 0.3 m at 5 m/s and 1/60 s against a closed mesh, from several heights."""
    world = berm.World(dt=1 / 60, solver=berm.P2(substeps=1), gravity=(0, 0, -9.81))
    low, high = np.array([-1.0, -1.0, -thick]), np.array([1.0, 1.0, 0.0])
    world.add_body(Mesh(*boxed(low, high)), name="plate", material="gravel")
    rocks = [
        berm.add_rocks(
            world, 1, 0.3, kind, seed=k, base=(-0.6 + 0.4 * (k % 4), 0.4 * (k // 4) - 0.2,
            0.3 + 0.021 * k), velocity=(0, 0, -5.0), name=f"rock {k}",
        )[0]
        for k in range(8)
    ]  # fmt: skip
    for _ in range(45):
        world.step()
        assert min(body.position[2] for body in rocks) > 0.02


def test_a_fast_box_does_not_pass_a_thin_plate():
    """A box of 10 cm at 50 m/s, 0.83 m a step, against a plate of 2 cm that stands still."""
    for start in np.linspace(0.5, 1.4, 7):
        world = berm.World(dt=1 / 60, solver=berm.P2(substeps=1), gravity=(0, 0, 0))
        world.add_body(Box((2, 2, 0.02)), name="plate")
        fast = world.add_body(
            Box((0.1, 0.1, 0.1)), name="fast", dynamic=True, position=(0.1, 0.2, start),
            rotation=Rotation.from_rotvec([0.4, 0.7, 0.1]).as_matrix(), velocity=(0, 0, -50.0),
        )  # fmt: skip
        for _ in range(4):
            world.step()
            assert fast.position[2] > 0.04
        assert abs(fast.velocity[2]) < 20.0


def test_a_beam_across_another_is_held_at_four_places():
    """No corner of the two meets the other; edges count at both ends of what lies along."""
    world = berm.World(gravity=(0, 0, 0))
    world.add_body(Box((0.2, 1.0, 0.2)), name="below")
    world.add_body(Box((1.0, 0.2, 0.2)), name="above", dynamic=True, position=(0, 0, 0.1999))
    multi = Multibody()
    multi.follow(world)
    c = touching(multi.arrays, multi.table.arrays, multi.solids, 0.0, True)
    points = c.point[: int(c.n[0])]
    assert (np.abs(np.abs(points[:, :2]) - 0.1) < 0.02).all()
    assert len({(x > 0, y > 0) for x, y in points[:, :2].tolist()}) == 4
    assert len(points) == 4
    assert np.abs(np.abs(c.normal[: len(points), 2]) - 1.0).max() < 1e-9


def test_bodies_of_one_super_body_do_not_meet():
    world = berm.World(gravity=(0, 0, 0))
    for k in range(3):
        world.add_body(Sphere(0.5), name=f"ball {k}", dynamic=True, position=(0.99 * k, 0, 0))
    multi = Multibody()
    for leaders, wanted in (((-1, -1, -1), 2), ((1, 1, -1), 1), ((1, 1, 1), 0), ((1, -1, 1), 2)):
        world.bodies.super_body[1:] = leaders
        multi.follow(world)
        c = touching(multi.arrays, multi.table.arrays, multi.solids, 0.0, True)
        assert c.n[0] == wanted


def test_a_single_sphere_is_a_union_of_one():
    """Sphere against Spheres of one, in either order: the same contact, once."""
    for shapes in (
        (Sphere(0.3), Spheres([[0, 0, 0]], 0.4)),
        (Spheres([[0, 0, 0]], 0.3), Sphere(0.4)),
    ):
        world = berm.World(gravity=(0, 0, 0))
        world.add_body(shapes[0], name="one", dynamic=True)
        world.add_body(shapes[1], name="two", dynamic=True, position=(0.69, 0, 0))
        _, _, feature, gap, normal = found(world)
        assert gap == pytest.approx([-0.01]) and feature.tolist() == [0]
        assert np.allclose(normal, [[-1, 0, 0]])
