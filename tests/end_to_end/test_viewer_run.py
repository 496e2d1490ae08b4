"""`berm view` and `berm run --view` as a user types them, with a page that has no screen."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from berm.apps.viewer import assets
from berm.io import checkpoint
from berm.io.recording import Recording
from tests.unit.viewer_tools import client

pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

SECONDS = 300  # that a command may take, kernels compiled included
SMALL = ["-p", "length=1", "-p", "width=0.6", "-p", "depth=0.06", "-p", "blade=0.3", "-p",
         "radius=0.025", "-p", "push=0.3"]  # fmt: skip

if not assets.complete():
    pytest.skip("the page's packages are not installed", allow_module_level=True)


@contextmanager
def berm(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command; it is ended whatever happens."""
    env = {**os.environ, "NUMBA_NUM_THREADS": "2", "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}
    made = subprocess.Popen(
        [sys.executable, "-m", "berm", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, env=env,
    )  # fmt: skip
    limit = threading.Timer(SECONDS, made.kill)
    limit.start()
    try:
        yield made
    except Exception as error:  # tell whether it was slow, or fell over, and what it said
        code = made.poll()
        made.kill()
        said = "" if made.stdout is None or made.stdout.closed else made.stdout.read()
        error.add_note(f"berm {' '.join(words)} had exit code {code} and said:\n{said}")
        raise
    finally:
        limit.cancel()
        made.kill()
        made.wait()


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"http://127\.0\.0\.1:\d+/", line)
        if found:
            return found[0]
    raise AssertionError("no address was printed")


def run_alone(*words: str) -> None:
    with berm("run", *words, "-q", "--no-pictures") as process:
        out, _ = process.communicate()
    assert process.returncode in (0, 1), out


def assert_same_recordings(one: Path, other: Path) -> None:
    with Recording(one) as a, Recording(other) as b:
        np.testing.assert_array_equal(a.times, b.times)
        for first, second in zip(a, b, strict=True):
            for name in ("position", "velocity", "radius", "tag", "material"):
                np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
            for name, body in first.bodies.items():
                for field in ("position", "rotation", "force", "torque"):
                    np.testing.assert_array_equal(
                        getattr(body, field), getattr(second.bodies[name], field)
                    )
        for name in ("contacts", "kinetic_energy", "overlap_max", "residual"):
            np.testing.assert_array_equal(a.columns[name], b.columns[name])


def test_looking_changes_no_bit(tmp_path: Path) -> None:
    """A run with two viewers, who draw, pick and leave, records what one without them does."""
    common = ["blade", *SMALL, "--seconds", "1.2"]
    run_alone(*common, "-o", str(tmp_path / "alone"))
    words = ["run", *common, "-o", str(tmp_path / "seen"), "--view", "--no-open", "--port", "0"]
    with berm(*words, "--no-pictures") as process:
        address = address_of(process)
        with client(address) as first, client(address) as second:
            first.send(type="colour", by="speed")
            second.send(type="keys", down=[])
            first.until("frame", lambda header: header["step"] > 0)
            second.send(type="pick", tag=3)
            assert second.until("picked")["tag"] == 3
            second.until("status", lambda status: status["finished"])
        out, _ = process.communicate()
    assert process.returncode in (0, 1), out
    assert_same_recordings(tmp_path / "alone" / "recording.h5", tmp_path / "seen" / "recording.h5")
    with Recording(tmp_path / "seen" / "recording.h5") as recording:
        assert recording.notes == [] and recording.complete


def test_what_a_hand_does_is_recorded_and_resumes(tmp_path: Path) -> None:
    """Keys and a slider act on the run that records; both are in its log and its checkpoint."""
    out = str(tmp_path / "run")
    words = ["blade", *SMALL, "-o", out, "--no-pictures"]
    with berm("run", *words, "--view", "--no-open", "--port", "0", "--seconds", "3") as process:
        address = address_of(process)
        with client(address) as page:
            page.until("status", lambda status: status["step"] > 2)
            page.send(type="speed", factor=1.0)
            page.send(type="keys", down=["KeyA"])
            page.send(type="set", name="friction", value=0.7)
            page.until("parameters")
            turned = page.until(
                "frame", lambda header: abs(header["bodies"][1]["rotation"][3]) > 0.05
            )
            assert turned
            process.send_signal(signal.SIGINT)
            text, _ = process.communicate()
    assert process.returncode == 130, text
    with Recording(tmp_path / "run" / "recording.h5") as recording:
        kinds = [note["event"] for note in recording.notes]
        assert kinds[:2] == ["inputs", "parameter"]
        assert recording.notes[0]["keys"] == ["KeyA"]
        assert recording.notes[1]["value"] == 0.7 and recording.notes[1]["time"] > 0
        frames = len(recording)
    about = checkpoint.about(tmp_path / "run" / "checkpoint.npz")
    assert about["retuned"]["parameters"]["friction"] == 0.7
    with berm("run", *words, "--resume", "--seconds", "1.5") as process:
        text, _ = process.communicate()
    assert process.returncode in (0, 1), text
    state = checkpoint.load(tmp_path / "run" / "checkpoint.npz")["world"]
    assert 0.7 in [material["friction_static"] for material in state["materials"]]
    assert state["inputs"]["keys"] == [] and state["inputs"]["by_hand"] is True
    assert frames >= 1


def test_view_shows_a_scene_and_a_recording_and_ends(tmp_path: Path) -> None:
    with berm("view", "blade", *SMALL, "--no-open", "--port", "0") as process:
        with client(address_of(process)) as page:
            hello = page.until("hello", lambda found: found["dt"] is not None)
            assert {"key": "E", "does": "lift the blade"} in hello["keys"]
            header, _ = page.until("frame", lambda found: found["step"] > 2)
            start = header["bodies"][1]["position"][0]
            assert start == pytest.approx(0.3), "nobody steers, and the script does not run"
            page.send(type="keys", down=["KeyW"])
            page.until("frame", lambda found: found["bodies"][1]["position"][0] > start + 0.02)
        process.send_signal(signal.SIGINT)
        text, _ = process.communicate()
        assert process.returncode == 0, text
    run_alone("bounce", "--seconds", "0.5", "-o", str(tmp_path / "b"))
    with berm("view", str(tmp_path / "b"), "--no-open", "--port", "0") as process:
        with client(address_of(process)) as page:
            assert page.until("hello")["mode"] == "playback"
            page.send(type="pause")  # or a busy machine plays on before it has shown the frame
            page.send(type="seek", frame=7)
            assert page.until("frame", lambda found: found["frame"] == 7)
        process.send_signal(signal.SIGTERM)
        text, _ = process.communicate()
        assert process.returncode == 0, text


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nothing.h5"], "no such recording"),
        (["nothing"], "unknown scene"),
        (["pile", "-p", "friction=99"], "0 to 10"),
        (["pile", "--host", "192.0.2.1"], "an address of this machine"),
    ],
)
def test_mistakes_are_told_before_anything_starts(words: list[str], reason: str) -> None:
    with berm("view", *words, "--no-open", "--port", "0") as process:
        text, _ = process.communicate()
    assert process.returncode == 2 and reason in text
