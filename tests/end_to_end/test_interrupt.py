"""A step that takes minutes says so, and ends when it is told to."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from berm.io import checkpoint
from berm.io.recording import Recording

# grains of half a gram and a strong damper: 140 million small steps a step
PASTE = """\
name: paste
dt: 2.0
solver: {name: dem, normal: linear}
materials:
  - {name: paste, stiffness: 1.0e+5, damping: 8000}
bodies:
  - {shape: {kind: plane}, material: paste}
grains:
  - {kind: lattice, low: [0, 0, 0], high: [0.1, 0.1, 0.1], radius: 0.005, material: paste}
run: {seconds: 8}
"""


@pytest.mark.parametrize(
    ("signals", "within"),
    [([signal.SIGTERM], 20.0), ([signal.SIGINT], 20.0), ([signal.SIGINT, signal.SIGINT], 10.0)],
    ids=["SIGTERM", "Ctrl-C", "Ctrl-C twice"],
)
def test_a_step_of_minutes_is_announced_and_can_be_stopped(
    tmp_path: Path, signals: list[signal.Signals], within: float
) -> None:
    file, out = tmp_path / "paste.yaml", tmp_path / "out"
    file.write_text(PASTE)
    command = [sys.executable, "-m", "berm", "run", str(file), "-o", str(out)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        line = run.stderr.readline()
        assert "warning: solver dem: a step of 2 s takes" in line and "small steps" in line
        assert "on this machine; Ctrl-C stops it" in line
        begin = time.monotonic()
        for one in signals:
            run.send_signal(one)
            time.sleep(0.3)
        said, complaint = run.communicate(timeout=60)
        taken = time.monotonic() - begin
    assert run.returncode == 130, complaint
    assert "Traceback" not in complaint
    assert taken < within
    assert "in the midst of a step" in said and "--resume" in said
    assert checkpoint.about(out / "checkpoint.npz")["time"] == 0.0
    with Recording(out / "recording.h5") as recording:
        assert recording.times.tolist() == [0.0] and not recording.complete
