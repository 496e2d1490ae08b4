"""Compound grains as bodies: handles by tag, columns, and what may be done with them."""

from __future__ import annotations

import numpy as np
import pytest

from berm.core.clusters import rod, tetrahedron
from berm.core.errors import InputError
from berm.core.shapes import Box
from berm.solvers.dem.solver import DEM
from berm.world.world import World


@pytest.fixture
def world():
    """A covered body between compound grains of two kinds."""
    world = World(gravity=(0, 0, 0), dt=1e-3, solver=DEM(normal="linear"), seed=1)
    world.add_clusters(rod(0.02, 3), [[0, 0, 0], [1, 0, 0]], "random", (1, 0, 0), (0, 3, 1))
    world.add_body(Box((0.2, 0.2, 0.2)), name="box", position=(0, 5, 0), dynamic=True,
                   particle_radius=0.04)  # fmt: skip
    world.add_clusters(tetrahedron(0.02), [[2, 0, 0]], "random", spin=(5, 0, 0))
    return world


def test_columns_and_handles_agree(world):
    """Each handle tells its row of the columns; the body is not among them."""
    many = world.compound_grains
    assert len(many) == 3 == len(list(many)) and world.clumps.n == 4
    for _ in range(2):
        for k, one in enumerate(many):
            assert one == many[k] == many.with_tag(one.tag)
            np.testing.assert_allclose(one.position, many.x[k])
            np.testing.assert_allclose(one.velocity, many.v[k])
            np.testing.assert_allclose(one.angular_velocity, many.omega[k], rtol=1e-12)
            np.testing.assert_allclose(one.angular_momentum, many.L[k])
            np.testing.assert_allclose(one.momentum, many.mass[k] * many.v[k])
            turning = one.rotation @ one.inertia @ one.rotation.T @ one.angular_velocity
            np.testing.assert_allclose(one.angular_momentum, turning, rtol=1e-12, atol=1e-15)
            energy = 0.5 * one.momentum @ one.velocity + 0.5 * turning @ one.angular_velocity
            assert one.kinetic_energy == pytest.approx(energy)
            assert one.mass == pytest.approx(world.grains.mass[
                world.grains.rows_of(one.grain_tags)].sum())  # fmt: skip
        assert many.kinetic_energy() == pytest.approx(sum(one.kinetic_energy for one in many))
        np.testing.assert_allclose(many.momentum(), sum(one.momentum for one in many))
        around = sum(np.cross(one.position, one.momentum) + one.angular_momentum for one in many)
        np.testing.assert_allclose(many.angular_momentum(), around, atol=1e-15)
        world.step()
    np.testing.assert_allclose(many.omega[2], [5, 0, 0], atol=1e-12)
    assert many[0].cluster.name == "rod"


def test_handles_stay_with_their_grain(world):
    """After others have gone the same handle is the same grain, and a removed one says so."""
    gone, stays = world.compound_grains[0], world.compound_grains[2]
    where = stays.position
    world.remove_grains(tags=gone.grain_tags[:1])
    assert len(world.compound_grains) == 2
    np.testing.assert_array_equal(stays.position, where)
    with pytest.raises(InputError, match=r"compound grain 0: got 'removed'|compound grain 0"):
        _ = gone.position
    covers = int(world.clumps.tag[world.clumps.body >= 0][0])
    with pytest.raises(InputError, match="tag"):
        world.compound_grains.with_tag(covers)


def test_set_velocity(world):
    """The grain and its spheres have it at once, and it goes on with it."""
    one = world.compound_grains[1]
    one.set_velocity((0, 0, 2), (1, 2, 3))
    np.testing.assert_allclose(one.angular_velocity, [1, 2, 3])
    rows = world.grains.rows_of(one.grain_tags)
    arm = world.grains.position[rows] - one.position
    np.testing.assert_allclose(
        world.grains.velocity[rows], np.array([0, 0, 2]) + np.cross([1, 2, 3], arm), atol=1e-12
    )
    start, spun = one.position, one.angular_momentum
    world.step()
    np.testing.assert_allclose(one.position, start + np.array([0, 0, 2e-3]), atol=1e-12)
    np.testing.assert_allclose(one.angular_momentum, spun, rtol=1e-9)
    with pytest.raises(InputError, match="compound grain 1: velocity"):
        one.set_velocity((0, 0, float("nan")))


def test_applied_forces_act_for_one_step_and_are_part_of_the_state(world):
    """Momentum and angular momentum change by force and torque times the step, once."""
    one = world.compound_grains[0]
    p, spun = one.momentum, one.angular_momentum
    arm = np.array([0.0, 0.01, 0.02])
    force, torque = np.array([3.0, -1.0, 2.0]), np.array([1e-3, 2e-3, -1e-3])
    one.apply_force(force, one.position + arm)
    one.apply_torque(torque)
    state = world.state()
    for _ in range(2):
        world.step()
        np.testing.assert_allclose(one.momentum - p, world.dt * force, rtol=1e-9)
        gained = one.angular_momentum - spun
        np.testing.assert_allclose(gained, world.dt * (torque + np.cross(arm, force)), rtol=1e-9)
        world.step()
        np.testing.assert_allclose(one.momentum - p, world.dt * force, rtol=1e-9)
        world.restore(state)
    with pytest.raises(InputError, match="compound grain 0: force"):
        one.apply_force((0, 0, float("inf")))
