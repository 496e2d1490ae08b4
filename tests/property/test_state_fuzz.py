"""States with something wrong in them never crash the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.state_worlds import SOLVERS

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform == "win32", reason="no alarm there")
@pytest.mark.parametrize("name", SOLVERS)
def test_a_wrong_state_is_refused_or_runs(name):
    """In a process of its own, for what is looked for is a crash."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.state_fuzz", name, "7", "60"], cwd=ROOT, text=True,
        capture_output=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
    )  # fmt: skip
    assert done.returncode == 0, "\n".join([*done.stdout.splitlines()[-2:], done.stderr[-2000:]])
    refused, ran = map(int, done.stdout.split()[-2:])
    assert refused > 30 and ran > 10  # it does both, or it tests nothing
