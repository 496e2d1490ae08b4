"""A disk that is full ends a recording with one error, and leaves what was written whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from berm.core.errors import StorageError
from berm.io import checkpoint, storage
from berm.io.recording import Recorder, Recording

pytest.importorskip("resource", reason="limits of file sizes are of POSIX")

# A limit on file sizes is what any process can set: writes beyond it fail like those to a full disk
PROGRAM = """
import resource, sys
import numpy as np
import berm
from berm.core.errors import StorageError
from berm.io import storage
from berm.io.recording import Recorder, Recording

path, limit, look = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "look"
if not look:  # the room was there a moment ago
    storage.room = lambda path: float("inf")
world = berm.World()
world.add_body(berm.Plane())
places = np.stack(np.meshgrid(*[np.arange(10.0)] * 3), axis=-1).reshape(-1, 3)
world.add_grains(0.041 * places + 0.03, 0.02)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
recorder = Recorder(path, every=0)
try:
    world.run(3.0, [recorder])
except StorageError as error:
    print(error)
try:
    recorder.record(world)
except StorageError as error:
    print("still:", error)
recorder.close()
with Recording(path) as recording:
    assert len(recording) == recorder.frames
    for k, frame in enumerate(recording):
        assert frame.position.shape == (1000, 3) and np.isfinite(frame.position).all()
        assert frame.time == k * world.dt
    print(len(recording))
"""


@pytest.mark.parametrize(
    ("look", "limit", "least"),
    [("look", 4_000_000, 10), ("fail", 1_000_000, 10), ("fail", 1_500_123, 30)],
)
def test_a_recording_ends_with_one_error_and_can_be_read(
    tmp_path: Path, look: str, limit: int, least: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "run.h5"), str(limit), look],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr  # above all no segmentation fault
    assert done.stderr == ""
    said, *again, frames = done.stdout.splitlines()
    assert int(frames) > least
    if look == "look":
        assert "no room left to record" in said and "MB are free" in said
    else:
        assert f"cannot be written any more: File too large; it holds {frames} frames" in said
        assert again == [f"still: {said}"]
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]


def test_nothing_is_begun_without_room_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import berm

    world = berm.World()
    world.add_grains([[0.0, 0.0, 0.0]], 0.02)
    path, free = tmp_path / "run.h5", [100e6]
    monkeypatch.setattr(storage, "room", lambda path: free[0])
    recorder = Recorder(path, every=0)
    recorder.spare = 50_000_000

    def fill(world: berm.World, report: object) -> None:
        free[0] = 50e6 if world.step_count >= 3 else 100e6

    with pytest.raises(StorageError, match=r"50\.0 MB are free, .* may take 52\.\d MB"):
        world.run(9 * world.dt, [recorder], progress=fill)
    assert world.step_count == 4
    with Recording(path) as recording:
        assert recording.times.tolist() == [k * world.dt for k in range(4)]
        assert "no room left" in recording.error
    free[0] = 60e6
    world.run(world.dt, [recorder])
    with Recording(path) as recording:  # the frame that found no room is there by now
        assert recording.times.tolist() == [k * world.dt for k in range(6)]


def test_a_checkpoint_that_finds_no_room_leaves_the_old_one(tmp_path: Path) -> None:
    program = (
        "import resource, sys\nimport numpy as np\nfrom berm.io import checkpoint\n"
        "from berm.core.errors import StorageError\n"
        "checkpoint.save_state({'a': np.arange(10)}, sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n    checkpoint.save_state({'a': np.zeros(100_000)}, sys.argv[1])\n"
        "except StorageError as error:\n    print(error)\n"
    )
    path = tmp_path / "c.npz"
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "c.npz cannot be written: File too large; the one of before stays" in done.stdout
    assert checkpoint.load(path)["a"].tolist() == list(range(10))
    assert [p.name for p in tmp_path.iterdir()] == ["c.npz"]
