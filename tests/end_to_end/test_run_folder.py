"""The folder of a run: nothing in it is lost by accident, by a second run, or to a full disk."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from berm.io import checkpoint
from berm.io.recording import Recording

BERM = [sys.executable, "-m", "berm"]
DROP = """\
name: drop
bodies:
  - shape: {kind: plane}
grains:
  - {kind: lattice, low: [0, 0, 0.05], high: [0.2, 0.2, 0.3], radius: 0.02}
run: {seconds: 0.2}
"""


def berm(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*BERM, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def drop(tmp_path: Path) -> list[str]:
    file = tmp_path / "drop.yaml"
    file.write_text(DROP)
    return ["run", str(file), "-o", str(tmp_path / "out"), "--no-pictures", "-q"]


def test_a_finished_run_is_replaced_on_demand_only(drop: list[str], tmp_path: Path) -> None:
    assert berm(*drop).returncode == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert sorted(before) == ["checkpoint.npz", "recording.h5", "summary.json"]
    again = berm(*drop)
    assert again.returncode == 2
    assert "holds a finished run, t = 0.20 s" in again.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    typed = dict(re.findall(r"to ([\w ]+): +(.*)", again.stderr))
    assert typed["look at it"] == f"berm view {tmp_path / 'out'}"
    # what it says can be typed as it stands
    for what in ("go on with it", "replace it"):
        done = subprocess.run(typed[what], shell=True, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with Recording(tmp_path / "out" / "recording.h5") as recording:
            seconds = 0.4 if what == "go on with it" else 0.2
            assert recording.complete
            assert recording.columns["time"][-1] == pytest.approx(seconds)


def test_old_pictures_do_not_stay_with_a_new_run(drop: list[str], tmp_path: Path) -> None:
    assert berm(*drop).returncode == 0
    (tmp_path / "out" / "side_view.png").write_bytes(b"of before")
    (tmp_path / "out" / "notes.txt").write_text("of the user")
    assert berm(*drop, "--overwrite").returncode == 0
    assert not (tmp_path / "out" / "side_view.png").exists()
    assert (tmp_path / "out" / "notes.txt").exists()


def test_a_run_that_cannot_be_read_can_be_replaced(drop: list[str], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "checkpoint.npz").write_bytes(b"of another version")
    done = berm(*drop)
    assert done.returncode == 2 and "holds a run that cannot be read" in done.stderr
    assert "--overwrite" in done.stderr
    assert berm(*drop, "--overwrite").returncode == 0


def test_two_runs_do_not_share_a_folder(drop: list[str], tmp_path: Path) -> None:
    out, lock = tmp_path / "out", tmp_path / "out" / "recording.h5.lock"
    with subprocess.Popen([*BERM, *drop, "--seconds", "1e6"]) as first:
        end = time.monotonic() + 120
        while not (lock.exists() and (out / "recording.h5").exists()):
            assert first.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        for more in ([], ["--overwrite"], ["--resume"]):
            second = berm(*drop, *more)
            assert second.returncode == 2, more
            assert f"is being written by process {first.pid} on" in second.stderr
        assert first.poll() is None
        first.kill()
    third = subprocess.run(
        [*BERM, *drop[:-1]], capture_output=True, text=True, timeout=300, check=False
    )
    assert third.returncode == 0, third.stderr
    assert f"taken over from process {first.pid}" in re.sub(r"\s+", " ", third.stdout)
    with Recording(out / "recording.h5") as recording:
        assert recording.complete and recording.columns["time"][-1] == pytest.approx(0.2)
    assert not lock.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are of POSIX")
@pytest.mark.parametrize("limit", [4_000_000, 3_500_000])
def test_a_full_disk_ends_a_run_with_one_error(drop: list[str], tmp_path: Path, limit: int) -> None:
    """A limit on the size of files does what a full disk does, and needs no rights."""
    import resource

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    words = [*drop, "--seconds", "10", "--record-every", "0"]
    done = subprocess.run(
        [*BERM, *words], capture_output=True, text=True, timeout=300, check=False, preexec_fn=full
    )
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("error:") == 1 and "Traceback" not in done.stderr
    assert "no room left to record" in done.stderr
    assert "go on with: berm run" in done.stderr
    out, whole = tmp_path / "out", tmp_path / "whole"
    saved = float(checkpoint.about(out / "checkpoint.npz")["time"])
    with Recording(out / "recording.h5") as recording:
        frames, last = len(recording), float(recording.times[-1])
        assert frames > 10 and last == pytest.approx(saved - 1 / 60)
    seconds = ["--seconds", f"{saved + 0.5:.4f}"]
    assert berm(*drop, *seconds, "--resume").returncode == 0
    straight = berm(*drop[:3], str(whole), *drop[4:], *seconds, "--record-every", "0")
    assert straight.returncode == 0, straight.stderr
    with Recording(out / "recording.h5") as one, Recording(whole / "recording.h5") as other:
        assert one.times.tolist() == other.times.tolist()
        assert np.array_equal(one.frame(-1).position, other.frame(-1).position)
