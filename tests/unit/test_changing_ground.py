"""Height fields that change by regions: what solvers know of them, and what it costs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import berm
from berm.core.errors import InputError
from berm.core.shapes import HeightField
from berm.kernels.geometry.heightfield import fill_tiles, tiles_along
from berm.kernels.jit import JIT_ON
from berm.solvers.walls.shapes import ShapeTable, pack, signed_distance
from berm.solvers.walls.walls import Walls
from tests.wall_tools import poses_of

nojit = pytest.mark.nojit
R = 0.02


def hills(nx=21, ny=18, cell=0.05, seed=1):
    heights = np.random.default_rng(seed).uniform(0.0, 0.02, (nx, ny))
    return HeightField(heights, cell)


def contacts(table, x, v, dt=0.01):
    """Planes of all contacts with the only body, which stands at the origin."""
    still = SimpleNamespace(
        position=np.zeros(3), rotation=np.eye(3), velocity=np.zeros(3), angular_velocity=np.zeros(3)
    )
    walls = Walls(x.dtype)
    slab = np.array([0, len(x)])
    walls.find(
        table, np.array([0]), poses_of([still], dt), x, v, len(x), slab, dt, (0, 0, -9.81), 0.5
    )
    k = walls.count[0]
    return walls.rows[0, :k].copy(), walls.plane[0, :k].copy()


def rain(n, shape, seed=2):
    rng = np.random.default_rng(seed)
    nx, ny = shape.heights.shape
    size = shape.cell * np.array([nx - 1, ny - 1])
    x, v = np.zeros((n, 4)), np.zeros((n, 4))
    x[:, :2] = rng.uniform(-0.05, 1.05, (n, 2)) * size
    x[:, 2] = rng.uniform(-0.05, 0.6, n)
    x[:, 3], v[:, :3] = R, rng.normal(0.0, 1.0, (n, 3))
    return x, v


@nojit
@pytest.mark.parametrize(
    ("region", "heights"),
    [
        (((0, 3), (0, 3)), 0.1),
        (((5, 9), (7, 18)), -0.1),
        (((20, 21), (17, 18)), 0.5),
        (((0, 21), (0, 18)), np.random.default_rng(3).uniform(0, 0.1, (21, 18))),
    ],
)
def test_an_updated_field_is_a_field_built_with_these_heights(region, heights):
    field, table = hills(), ShapeTable()
    table.follow([field])
    before = table.arrays.heights
    field.update(region, heights)
    field.update(((3, 4), (3, 4)), 0.3)  # several updates between two steps
    assert table.follow([field]) and not table.follow([field])
    assert table.arrays.heights is before  # in place, not packed again
    exact = hills().heights.copy()
    exact[slice(*region[0]), slice(*region[1])] = heights
    exact[3, 3] = 0.3
    np.testing.assert_array_equal(field.heights, exact)
    built = ShapeTable()
    built.follow([HeightField(exact, field.cell)])
    for name, a, b in zip(table.arrays._fields, table.arrays, built.arrays, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
    x, v = rain(2000 if JIT_ON else 20, field)
    for a, b in zip(contacts(table, x, v), contacts(built, x, v), strict=True):
        np.testing.assert_array_equal(a, b)
    # a table that joins its arrays again keeps what was updated
    table.follow([field, HeightField(np.zeros((2, 2)), 1.0)])
    np.testing.assert_array_equal(table.arrays.heights[:-4], exact.reshape(-1))


@nojit
def test_no_contact_is_lost_by_the_bound_of_tiles_and_cells():
    """The search with its bounds finds what a search without them does."""
    rng = np.random.default_rng(5)
    heights = rng.uniform(0.0, 0.02, (40, 33))
    heights[11, 12] = 1.0  # a steep spike, and a cliff
    heights[30:, :] += 0.4
    field = HeightField(heights, 0.04)
    x, v = rain(20_000 if JIT_ON else 40, field)
    table, blunt = ShapeTable(), ShapeTable()
    table.follow([field])
    blunt.follow([field])
    blunt.arrays.field[::2], blunt.arrays.field[1::2] = np.inf, 0.0  # tiles know nothing
    blunt.arrays.frame[0, 4:6] = np.inf, 0.0
    (rows, planes), (all_rows, all_planes) = contacts(table, x, v), contacts(blunt, x, v)
    assert len(rows) > (1000 if JIT_ON else 2)
    np.testing.assert_array_equal(rows, all_rows)
    np.testing.assert_array_equal(planes, all_planes)


@nojit
def test_tiles_bound_their_cells():
    field = hills(20, 30)
    tiles = np.zeros(2 * tiles_along(20) * tiles_along(30), np.float32)
    fill_tiles(field.heights, field.cell, 0, 20, 0, 30, tiles)
    top = tiles[::2].reshape(tiles_along(20), tiles_along(30))
    h = field.heights
    for a in range(len(top)):
        for b in range(top.shape[1]):
            own = h[8 * a : min(8 * a + 9, 20), 8 * b : min(8 * b + 9, 30)]
            assert own.max() <= top[a, b] <= own.max() * (1 + 1e-5)


@nojit
def test_what_cannot_be_updated_is_refused():
    field = hills()
    for region, heights, words in (
        (((0, 30), (0, 2)), 0.0, "i1 <= 21"),
        (((3, 3), (0, 2)), 0.0, "i0 < i1"),
        (((-1, 3), (0, 2)), 0.0, "0 <= i0"),
        (((0.5, 3), (0, 2)), 0.0, "region"),
        (3, 0.0, "whole numbers"),
        (((0, 2), (0, 2)), np.zeros((3, 2)), "(2, 2)"),
        (((0, 2), (0, 2)), np.nan, "finite"),
    ):
        with pytest.raises(InputError, match=r"HeightField\.update") as error:
            field.update(region, heights)
        assert words in str(error.value)
    assert field.updates == 0


@nojit
def test_changes_are_known_one_by_one_for_a_while():
    field = hills()
    start = field.version
    for k in range(3):
        field.update(((k, k + 1), (0, 2)), 0.0)
    assert field.changes_since(start) == [(0, 1, 0, 2), (1, 2, 0, 2), (2, 3, 0, 2)]
    assert field.changes_since(field.version) == []
    for _ in range(300):
        field.update(((0, 1), (0, 2)), 0.0)
    assert field.changes_since(start) == [(0, 21, 0, 18)]


def resting(solver, n=4):
    """A world of a few grains at rest on level ground."""
    world = berm.World(dt=1 / 60, solver=solver, seed=1)
    field = HeightField(np.zeros((11, 11)), 0.1)
    world.add_body(field, name="ground", material="steel")
    place = np.array([[0.2 + 0.2 * k, 0.5, R] for k in range(n)])
    world.add_grains(place, R, material="gravel")
    for _ in range(30):
        world.step()
    return world, field


@pytest.mark.parametrize("solver", ["p2", "vts", "sp", "dem"])
def test_grains_fall_into_a_hole_that_is_dug_under_them_and_the_others_stay(solver):
    world, field = resting(solver)
    order = np.argsort(world.grains.position[:, 0])
    start = world.grains.position[order, 2].copy()
    field.update(((0, 4), (0, 11)), -0.3)  # under the first, at x = 0.2
    for _ in range(40):
        world.step()
    order = np.argsort(world.grains.position[:, 0])
    end = world.grains.position[order, 2]
    assert end[0] < -0.25
    np.testing.assert_allclose(end[1:], start[1:], atol=0.05 * R)


@pytest.mark.parametrize("solver", ["p2", "dem"])
def test_a_state_holds_the_ground_and_can_be_restored_before_and_after_an_update(solver):
    world, field = resting(solver)
    before = world.state()
    field.update(((0, 4), (0, 11)), -0.3)
    for _ in range(10):
        world.step()
    after = world.state()

    def run():
        for _ in range(5):
            world.step()
        return world.grains.x[: world.grains.n].copy()

    one = run()
    world.restore(after)
    np.testing.assert_array_equal(run(), one)
    world.restore(before)
    assert not field.heights.any() and field.updates == 0
    flat = run()
    assert flat[:, 2].min() > 0.9 * R
    fresh, ground = resting(solver)
    fresh.restore(after)  # in another process, the ground starts level
    assert ground.heights[0, 0] == -0.3
    world = fresh
    np.testing.assert_array_equal(run(), one)


@nojit
def test_a_packed_field_gives_distances_of_what_it_was_packed_from():
    field = hills()
    packed = pack(field)
    point = [[0.5, 0.4, 0.5]]
    first = signed_distance(packed, point)[0]
    field.update(((0, 21), (0, 18)), 0.2)
    assert signed_distance(packed, point)[0] == first
    assert signed_distance(field, point)[0] == pytest.approx(0.3)
