"""Two writers do not share a path: a lock says who writes, and outlives nobody."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from berm.core.errors import InputError
from berm.io import lock as lock_module
from berm.io.lock import Lock

HOLDER = """
import sys
from berm.io.lock import Lock
Lock(sys.argv[1]).acquire()
print("held", flush=True)
sys.stdin.read()
"""


def holder(path: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.readline() == b"held\n"
    return process


def test_of_two_locks_one_is_refused_until_the_other_is_released(tmp_path: Path) -> None:
    one, two = Lock(tmp_path / "a.h5"), Lock(tmp_path / "a.h5")
    one.acquire()
    one.acquire()  # holds it already
    assert json.loads(one.file.read_text())["pid"] == os.getpid()
    with pytest.raises(InputError, match=rf"a\.h5 is being written by process {os.getpid()} on"):
        two.acquire()
    with Lock(tmp_path / "b.h5"):
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a.h5.lock", "b.h5.lock"]
    one.release()
    two.acquire()
    one.release()  # has none, and takes nobody's away
    assert two.held and two.file.exists()
    two.release()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_of_another_process_holds_until_that_is_dead(tmp_path: Path) -> None:
    path, said = tmp_path / "a.h5", list[str]()
    mine = Lock(path, say=said.append)
    with holder(path) as process:
        with pytest.raises(InputError, match=f"process {process.pid} on {socket.gethostname()}"):
            mine.acquire()
        assert not mine.held
        process.kill()
    assert mine.file.exists()  # nobody was left to remove it
    mine.acquire()
    assert mine.held and len(said) == 1
    assert f"taken over from process {process.pid}" in said[0]
    mine.release()


@pytest.mark.parametrize(
    ("owner", "free"),
    [
        ({"pid": os.getpid(), "host": socket.gethostname()}, False),
        ({"pid": 2**22 + 1, "host": socket.gethostname()}, True),  # above Linux's highest
        ({"pid": 2**22 + 1, "host": "another machine"}, False),
    ],
)
def test_without_locks_of_the_system_the_file_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: dict[str, object], free: bool
) -> None:
    monkeypatch.setattr(lock_module, "_system_lock", lambda handle: None)
    mine = Lock(tmp_path / "a.h5", say=lambda text: None)
    mine.file.write_text(json.dumps(owner))
    if free:
        mine.acquire()
        assert json.loads(mine.file.read_text())["pid"] == os.getpid()
        mine.release()
    else:
        with pytest.raises(InputError, match=f"process {owner['pid']} on {owner['host']}"):
            mine.acquire()
        assert json.loads(mine.file.read_text()) == owner


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lock cannot be written.*gone/a\.h5\.lock"):
        Lock(tmp_path / "gone" / "a.h5").acquire()


def test_a_recorder_does_not_write_where_another_process_writes(tmp_path: Path) -> None:
    import berm
    from berm.io.recording import Recorder, Recording

    path = tmp_path / "run.h5"
    world = berm.World()
    world.add_grains([[0.0, 0.0, 0.0]], 0.02)
    with holder(path) as process:
        with pytest.raises(InputError, match=f"being written by process {process.pid}"):
            world.run(0.1, [Recorder(path)])
        assert not path.exists() and world.step_count == 0
        assert process.stdin is not None
        process.stdin.close()
    (tmp_path / "run.h5.lock").unlink()  # it ended without a release
    world.run(0.1, [Recorder(path)])
    with Recording(path) as recording:
        assert recording.complete
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]
