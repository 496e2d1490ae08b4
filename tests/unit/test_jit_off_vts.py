"""VTS, SP and cloth as plain Python do what the compiled kernels do, in one small world each."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

PROGRAM = """
import json, sys
import numpy as np
import berm

outcomes = {}
for label, (name, options) in json.loads(sys.argv[1]).items():
    world = berm.World(solver=getattr(berm, name)(**options), precision="float64")
    floor = world.add_body(berm.Plane(), name="floor", material="gravel")
    ball = world.add_body(
        berm.Sphere(0.02), name="ball", dynamic=True, density=3000, position=(0.06, 0.01, 0.0195)
    )
    places = np.stack(np.meshgrid(*[np.arange(2.0)] * 3), axis=-1).reshape(-1, 3)
    world.add_grains((places + 0.5) * 0.0399 + 0.001 * places[:, ::-1], 0.02, (0.1, 0.0, -0.5))
    sheet = berm.Cloth.grid(
        (4, 3), (0.09, 0.06), (0.0, 0.0, 0.104), mass=0.05, thickness=0.004, self_collision=True
    )
    sheet.position[6:] = sheet.position[[3, 4, 5, 0, 1, 2]] + (0.003, 0.002, 0.0042)  # two layers
    sheet.velocity[6:, 2] = -0.5
    world.add_cloth(sheet)
    for _ in range(3):
        report = world.step()
    order = np.argsort(world.grains.tags)
    rows = [len(kind.who) for kind in world.solver.cloth.own.kinds]
    outcomes[label] = {
        "x": world.grains.position[order].tolist(), "v": world.grains.velocity[order].tolist(),
        "cloth": sheet.position.tolist(), "ball": ball.position.tolist(),
        "force": floor.force.tolist(), "counts": [report.contacts, report.wall_contacts, *rows],
    }
print(json.dumps(outcomes))
"""
SOLVERS: dict[str, tuple[str, dict[str, object]]] = {
    "vts gs": ("VTS", {"iterations": 4}),
    "vts ij box": ("VTS", {"iterations": 4, "iteration": "ij", "friction": "box"}),
    "vts cr": ("VTS", {"iterations": 3, "iteration": "cr", "friction": "relaxed"}),
    "vts mr exact": ("VTS", {"iterations": 3, "iteration": "mr", "exact": True}),
    "sp gs": ("SP", {"iterations": 4, "delay": 1}),
    "sp split post": ("SP", {"iterations": 4, "iteration": "split", "friction": "post"}),
}


@pytest.fixture(scope="module")
def outcomes() -> list[dict[str, dict[str, list[float]]]]:
    """Return what plain Python and compiled kernels come to, all solvers in one process each."""
    told = []
    for jit_off in ("1", "0"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, json.dumps(SOLVERS)],
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
    outcomes: list[dict[str, dict[str, list[float]]]], name: str
) -> None:
    plain, compiled = (told[name] for told in outcomes)
    assert plain["counts"] == compiled["counts"]
    assert min(plain["counts"]) > 0  # grains touch, and the floor, and cloth touches cloth
    for what, atol in (("x", 1e-9), ("v", 1e-7), ("cloth", 1e-9), ("ball", 1e-9), ("force", 1e-5)):
        np.testing.assert_allclose(plain[what], compiled[what], atol=atol, err_msg=what)
