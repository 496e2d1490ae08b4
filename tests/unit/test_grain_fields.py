"""Overlap and force of each grain, against what a column weighs and what NumPy finds."""

from __future__ import annotations

import numpy as np
import pytest

import berm


def column(solver, k=1e4):
    world = berm.World(solver=solver, precision="float64")
    material = berm.Material("m", stiffness=k, damping=60.0, friction_static=0, friction_kinetic=0)
    world.add_grains([[0, 0, 0.05 + 0.1 * i] for i in range(4)], 0.05, material=material)
    world.add_body(berm.Plane(), material=material)
    return world


def test_a_column_presses_as_it_weighs():
    """Grain i carries those above it and is carried from below: both contacts are counted."""
    world = column(berm.P2())
    world.run(6.0)
    fields = world.solver.grain_fields(world)
    weight = float(world.grains.mass[0]) * 9.81
    height = world.grains.position[:, 2]
    place = np.argsort(np.argsort(height))  # 0: lowest
    above = 3 - place
    np.testing.assert_allclose(fields["force"], weight * (2 * above + 1), rtol=1e-3)
    below = np.where(place == 0, 0.05 - height, 0.0)
    for i in range(4):
        for j in range(4):
            if i != j:
                below[i] = max(below[i], 0.1 - abs(height[i] - height[j]))
    np.testing.assert_allclose(fields["overlap"], below, atol=1e-12)


@pytest.mark.parametrize("solver", [berm.P2.published(), berm.P2(averaging="mass")])
def test_other_forms_tell_too(solver):
    world = column(solver)
    world.run(2.0)
    fields = world.solver.grain_fields(world)
    assert (fields["force"] > 0).all() and (fields["overlap"] > 0).all()


def test_grains_that_just_came_feel_nothing():
    world = column(berm.P2())
    assert not world.solver.grain_fields(world)["force"].any()
    world.step()
    world.add_grains([[1, 0, 1]], 0.05)
    assert len(world.solver.grain_fields(world)["force"]) == 5
