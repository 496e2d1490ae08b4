"""Discrete elements as plain Python do what the compiled kernels do, in one small world each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

PROGRAM = """
import json, sys
import numpy as np
import berm
from berm.core.clusters import rod

outcomes = {}
for label, options in json.loads(sys.argv[1]).items():
    world = berm.World(dt=0.001, solver=berm.DEM(**options))
    soft = berm.material("gravel", stiffness=1e4, young_modulus=1e6, adhesion=50.0)
    rough = berm.material(
        "gravel", stiffness=2e4, young_modulus=2e6, friction=0.8, rolling_friction=0.1
    )
    floor = world.add_body(berm.Plane(), name="floor", material=soft)
    corners = 0.02 * np.array([(0, 0, 0), (4, 0, 0), (0, 4, 0), (0, 0, 4)])
    faces = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    world.add_body(berm.Mesh(corners, faces), position=(0.0, 0.1, 0.0), material=rough)
    world.add_body(
        berm.Box((0.2, 0.01, 0.05)), position=(0.04, -0.01, 0.03), motion=berm.Spin((0, 0, 1), 2.0),
        material=soft,
    )
    places = np.stack(np.meshgrid(*[np.arange(2.0)] * 3), axis=-1).reshape(-1, 3)
    places = (places + 0.5) * 0.0399 + 0.001 * places[:, ::-1]
    # all contacts slide: which way friction acts at rest is a matter of the last bit
    speed = np.random.default_rng(1).uniform(-0.3, 0.3, (8, 3)) - (0, 0, 0.5)
    world.add_grains(places[:4], 0.02, speed[:4], soft)
    world.add_grains(places[4:], 0.02, speed[4:], rough)
    world.add_clusters(rod(0.015, 3), [[0.03, 0.03, 0.0945]], spin=(1, 2, 3), material=rough)
    block = world.add_body(
        berm.Box((0.04, 0.04, 0.04)), position=(0.14, 0.03, 0.021), dynamic=True, density=2000,
        velocity=(-0.5, 0.0, -0.5), material=soft, particle_radius=0.008,
    )
    if options.get("integrator") != "rkf45":
        arm = world.add_body(
            berm.Box((0.04, 0.04, 0.1)), position=(0.3, 0.3, 0.2), dynamic=True, material=soft,
            particle_radius=0.015,
        )
        world.add_joint(berm.Hinge(arm, None, (0.3, 0.3, 0.25), (0, 1, 0), motor=(5.0, 0.02)))
    report = world.step()
    order = np.argsort(world.grains.tags)
    outcomes[label] = {
        "x": world.grains.position[order].tolist(), "v": world.grains.velocity[order].tolist(),
        "turn": world.clumps.q.tolist(), "block": block.position.tolist(),
        "force": floor.force.tolist(), "steps": report.substeps,
        "counts": [report.contacts, report.wall_contacts],
    }
print(json.dumps(outcomes))
"""
SOLVERS: dict[str, dict[str, Any]] = {
    "linear": {"normal": "linear"},
    "hertz rolling cohesive": {"normal": "hertz", "rolling": "spring", "cohesion": "sjkr"},
    "power capped": {"normal": {"law": "power", "k_r": 1e5, "k_d": 1.0}, "tangential": "capped"},
    "timed viscous": {"normal": "timed", "tangential": "viscous", "rolling": "constant"},
    "coulomb, area": {"normal": "linear", "tangential": "coulomb", "cohesion": "area"},
    "rkf45": {"normal": "linear", "integrator": "rkf45", "tolerance": 1e-3},
}


@pytest.fixture(scope="module")
def outcomes() -> list[dict[str, dict[str, Any]]]:
    """Return what plain Python and compiled kernels come to, all laws in one process each."""
    told = []
    for jit_off in ("1", "0"):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PROGRAM, json.dumps(SOLVERS)],
            env=dict(os.environ, NUMBA_DISABLE_JIT=jit_off),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told.append(json.loads(done.stdout))
    return told


@pytest.mark.parametrize("name", SOLVERS)
def test_plain_python_matches_the_compiled_kernels(
    outcomes: list[dict[str, dict[str, Any]]], name: str
) -> None:
    plain, compiled = (told[name] for told in outcomes)
    assert plain["counts"] == compiled["counts"] and plain["steps"] == compiled["steps"]
    assert min(plain["counts"]) > 0  # grains touch each other and bodies
    # the compiled laws fuse multiply and add
    for what, atol in (("x", 1e-9), ("v", 1e-7), ("turn", 1e-8), ("block", 1e-9), ("force", 1e-4)):
        np.testing.assert_allclose(plain[what], compiled[what], atol=atol, err_msg=what)
