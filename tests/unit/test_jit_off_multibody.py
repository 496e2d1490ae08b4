"""The kernels of bodies as plain Python do what the compiled ones do: contacts, blows, merging."""

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
from berm.core.joints import Hinge
from berm.solvers import SOLVERS

options = json.loads(sys.argv[1])
world = berm.World(solver=SOLVERS.get("nonsmooth")(**options))
stone = berm.material("gravel").replace(adhesion=50.0)
world.add_body(berm.Plane(), name="floor", material=stone)
for k in range(2):
    world.add_body(
        berm.Box((0.4, 0.4, 0.2)), name=f"box {k}", dynamic=True, mass=20.0, material=stone,
        position=(0.02 * k, 0, 0.1 + 0.2 * k),
    )
arm = world.add_body(
    berm.Box((0.6, 0.1, 0.1)), name="arm", dynamic=True, mass=5.0, position=(1.0, 0, 0.051),
    material=stone,
)
hinge = world.add_joint(Hinge(arm, None, (1.3, 0, 0.051), axis=(0, 1, 0)))
hinge.hold(effort=100.0, compliance=1e-6)
world.add_body(
    berm.Sphere(0.1), name="ball", dynamic=True, mass=3.0, position=(0.85, 0, 0.215),
    velocity=(0, 0, -2.0), material=stone,
)
merged = 0
for _ in range(options.get("merge_steps", 2) + 4):
    report = world.step()
    merged = max(merged, report.merged)
print(json.dumps({
    "x": world.bodies.x[1:].tolist(),
    "v": world.bodies.v[1:].tolist(),
    "pull": hinge.force.tolist(),
    "contacts": report.body_contacts,
    "merged": merged,
}))
"""
WAYS = {
    "hybrid": {},
    "split": {"method": "split", "sweeps": 5},
    "sweeps": {"method": "sweeps", "sweeps": 5},
    "merging": {"merging": True, "merge_steps": 2, "merge_speed": 0.1, "split_speed": 0.2},
}


def outcome(options: dict[str, object], jit_off: bool) -> dict[str, object]:
    environment = dict(os.environ, NUMBA_DISABLE_JIT="1" if jit_off else "0")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(options)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("way", WAYS)
def test_plain_python_matches_the_compiled_kernels(way: str) -> None:
    plain, compiled = (outcome(WAYS[way], jit_off) for jit_off in (True, False))
    assert plain["contacts"] == compiled["contacts"]
    assert plain["merged"] == compiled["merged"]
    assert (plain["merged"] != 0) == (way == "merging")
    # LLVM may contract products and sums; a few steps do not blow that up
    np.testing.assert_allclose(plain["x"], compiled["x"], atol=1e-9)
    np.testing.assert_allclose(plain["v"], compiled["v"], atol=1e-7)
    np.testing.assert_allclose(plain["pull"], compiled["pull"], rtol=1e-6, atol=1e-3)
