"""Cloth counts: in the report of a step, in energy and momentum; what is held does not."""

from __future__ import annotations

import numpy as np
import pytest

import berm
from berm import measure
from berm.core.cloth import Cloth
from berm.core.errors import SimulationError
from berm.stage.stage import stage_of

G, DT = 9.81, 1.0 / 60.0


def falling(solver="vts", grains=False):
    world = berm.World(solver=solver, dt=DT, precision="float64")
    sheet = world.add_cloth(Cloth.grid((4, 4), (0.3, 0.3), (0, 0, 2.0), mass=0.8))
    if grains:
        world.add_grains([[0.1, 0.1, 5.0]], 0.05, (1.0, 0.0, 0.0))
    return world, sheet


@pytest.mark.parametrize("solver", ["vts", "sp"])
def test_falling_cloth_is_counted(solver):
    world, _ = falling(solver, grains=True)
    for _ in range(30):
        world.step()
    speed, grain = 30 * DT * G, float(world.grains.mass[0])
    expected = 0.5 * (0.8 + grain) * speed**2 + 0.5 * grain
    assert world.report.kinetic_energy == pytest.approx(expected, rel=1e-9)
    assert world.report.residual == pytest.approx(DT * np.hypot(speed, 1.0), rel=1e-9)
    whole = measure.energy(world)
    assert whole.kinetic == pytest.approx(expected, rel=1e-9)
    assert measure.momentum(world) == pytest.approx([grain, 0, -(0.8 + grain) * speed])
    drop = 0.5 * G * DT**2 * 30 * 31  # of (7), which takes the new velocity
    high = 0.8 * (2.0 - drop) + grain * (5.0 - drop)
    assert whole.potential == pytest.approx(G * high, rel=1e-9)


def test_what_is_held_has_no_energy():
    world, sheet = falling()
    sheet.pin(np.arange(16))
    sheet.velocity[:] = 1.0
    world.step()
    assert world.report.kinetic_energy == 0.0
    assert measure.energy(world).kinetic == 0.0


def test_non_finite_cloth_is_named():
    world, sheet = falling()
    sheet.velocity[5, 1] = np.nan
    with pytest.raises(SimulationError, match="cloth 'cloth': vertex"):
        world.step()


def test_cloth_without_faces_says_that_it_is_not_drawn():
    world, _ = falling()
    chain = Cloth([[0, 0, 0], [1, 0, 0]], np.zeros((0, 3)), 1.0, name="chain")
    chain.add_links([[0, 1]])
    world.add_cloth(chain)
    with pytest.warns(UserWarning, match="'chain': no faces"):
        stage_of(world)
