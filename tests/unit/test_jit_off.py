"""The kernels as plain Python do what the compiled ones do, and so can be debugged line by line."""

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

world = berm.World(solver=berm.P2(**json.loads(sys.argv[1])))
world.add_body(berm.Plane(), name="floor", material="rough wall")
places = np.stack(np.meshgrid(*[np.arange(2.0)] * 3), axis=-1).reshape(-1, 3)
world.add_grains((places + 0.5) * 0.0399 + 0.001 * places[:, ::-1], 0.02, (0.1, 0.0, -0.5))
for _ in range(3):
    report = world.step()
order = np.argsort(world.grains.tags)
print(json.dumps({
    "x": world.grains.position[order].tolist(),
    "v": world.grains.velocity[order].tolist(),
    "force": world.body("floor").force.tolist(),
    "contacts": report.contacts,
}))
"""
FORMS = {
    "sweep": {"substeps": 2},
    "mass": {"averaging": "mass", "substeps": 2},
    "count": {"averaging": "count", "iterations": 3, "substeps": 1, "eps_depth": 0.5},
    "serial": {"averaging": "serial", "iterations": 3, "substeps": 1},
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


@pytest.mark.parametrize("form", FORMS)
def test_plain_python_matches_the_compiled_kernels(form: str) -> None:
    plain, compiled = (outcome(FORMS[form], jit_off) for jit_off in (True, False))
    assert plain["contacts"] == compiled["contacts"]
    assert plain["contacts"] != 0
    # float32, and the compiled loops fuse multiply and add
    np.testing.assert_allclose(plain["x"], compiled["x"], atol=1e-6)
    np.testing.assert_allclose(plain["v"], compiled["v"], atol=2e-4)
    np.testing.assert_allclose(plain["force"], compiled["force"], rtol=1e-2, atol=1e-2)
