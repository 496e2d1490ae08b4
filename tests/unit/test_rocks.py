"""Rocks from a seed, and how they are placed."""

from __future__ import annotations

import numpy as np
import pytest

import berm
from berm.core.errors import InputError
from berm.core.mass import of_shape
from berm.core.shapes import Box, Mesh, Spheres
from berm.solvers.walls.shapes import signed_distance
from berm.world.rocks import KINDS, TEMPLATES, reach


def extent(shape):
    if isinstance(shape, Box):
        return max(shape.size)
    if isinstance(shape, Spheres):
        low, high = shape.centres - shape.radii[:, None], shape.centres + shape.radii[:, None]
        return (high.max(axis=0) - low.min(axis=0)).max()
    return np.ptp(shape.vertices, axis=0).max()


@pytest.mark.parametrize("kind", KINDS)
def test_a_rock_is_as_large_as_asked_and_centred(kind):
    for seed in range(8):
        shape = berm.rock(seed, 0.6, kind)
        assert extent(shape) == pytest.approx(0.6, rel=1e-9)
        assert np.abs(of_shape(shape).centre).max() < 1e-6
        if isinstance(shape, Mesh):
            assert shape.closed and 100 <= len(shape.faces) <= 300
        if isinstance(shape, Spheres):
            assert 4 <= len(shape.radii) <= 8


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_rock(kind):
    one, same, other = (berm.rock(seed, 0.6, kind) for seed in (3, 3, 4))
    for name in ("vertices", "centres", "size"):
        if hasattr(one, name):
            assert np.array_equal(getattr(one, name), getattr(same, name))
            assert not np.array_equal(getattr(one, name), getattr(other, name))


def test_composite_rocks_have_no_hole_and_concave_ones_have_dents():
    solid = berm.rock(1, 1.0, "spheres")
    assert signed_distance(solid, np.zeros((1, 3)))[0][0] < 0
    dented = berm.rock(1, 1.0, "concave")
    corners = dented.vertices[dented.faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    high = ((dented.vertices[None] - corners[:, :1]) * normal[:, None]).sum(axis=2).max(axis=1)
    assert high.max() > 0.03  # some vertices stand in front of a face


@pytest.mark.parametrize("kind", KINDS)
def test_rocks_are_placed_apart_and_share_shapes(kind):
    world = berm.World()
    given = {"seed": 5, "base": (1, 2, 3), "across": (3, 4)}
    rocks = berm.add_rocks(world, 50, (0.3, 0.5), kind, **given)
    assert len(rocks) == 50 == len({body.name for body in rocks})
    assert len({id(body.shape) for body in rocks}) == TEMPLATES
    place = np.array([body.position for body in rocks])
    size = np.array([reach(body.shape) for body in rocks])
    away = np.linalg.norm(place[:, None] - place, axis=2) + np.diag(np.full(50, np.inf))
    assert (away > size[:, None] + size).all()
    assert (place[:, 2] - size >= 3.0).all()
    assert np.allclose(place[:12, :2].mean(axis=0), [1, 2])
    assert all(body.dynamic for body in rocks)
    again = berm.add_rocks(berm.World(), 50, (0.3, 0.5), kind, **given)
    assert np.array_equal(place, [body.position for body in again])
    assert np.array_equal(rocks[7].rotation, again[7].rotation)
    more = berm.add_rocks(world, 2, 0.3, kind, base=(9, 9, 9))
    assert len({body.name for body in world.bodies}) == 52 and extent(more[0].shape) < 0.3 + 1e-9


@pytest.mark.parametrize(
    "given",
    [
        {"count": -1}, {"count": 1.5}, {"size": 0.0}, {"size": (0.5, 0.3)}, {"kind": "cube"},
        {"size": (1, 2, 3)}, {"across": (0, 2)}, {"across": 3}, {"seed": -1}, {"base": (0, 0)},
    ],
)  # fmt: skip
def test_what_makes_no_rocks_is_refused(given):
    with pytest.raises(InputError, match="add_rocks"):
        berm.add_rocks(berm.World(), **({"count": 3, "size": 0.5} | given))


def test_rocks_fall_into_a_heap_and_come_to_rest():
    """Composite rocks on a floor: none goes through it, and after 3 s the fall is spent."""
    world = berm.World(dt=1 / 60, solver=berm.P2(substeps=1))
    world.add_body(berm.Plane(), material="gravel")
    rocks = berm.add_rocks(world, 12, (0.4, 0.6), base=(0, 0, 0.05), across=(3, 2))
    drop = sum(9.81 * body.mass * body.position[2] for body in rocks)
    for _ in range(180):
        world.step()
    low = [
        (body.position + body.shape.centres @ body.rotation.T)[:, 2] - body.shape.radii
        for body in rocks
    ]
    assert min(map(np.min, low)) > -0.01
    assert sum(body.kinetic_energy for body in rocks) < 0.05 * drop
