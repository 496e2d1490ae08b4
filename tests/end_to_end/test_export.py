"""`berm run --record-fields` and `berm export`, as a person types them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from berm.io.recording import Recording
from tests.unit import export_sample


def berm(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "berm", *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)


ROOT = Path(__file__).parents[2]
PILE = ("run", "pile", "-p", "grains=60", "--seconds", "0.5", "-q", "--no-pictures")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a short run."""
    folder = tmp_path_factory.mktemp("run")
    done = berm(*PILE, "-o", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_fields_of_a_real_run(tmp_path: Path) -> None:
    """The numbers that the solver tells of each grain agree with those of the whole step."""
    done = berm(*PILE, "-o", "out", "--record-fields", "overlap,force", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with Recording(tmp_path / "out" / "recording.h5") as recording:
        assert recording.fields == ["position", "overlap", "force"]
        assert recording[-1].velocity is None and not recording[-1].bodies
        frame = recording[-1]
        assert frame.overlap is not None and frame.force is not None
        assert len(frame) > 40
        assert np.isfinite(frame.force).all() and (frame.force >= 0).all()
        assert frame.force.max() > 0
        assert np.all(frame.born <= frame.time) and np.ptp(frame.born) > 0.05
        columns = recording.columns
        deepest = float(columns["overlap_max"][-1])
        assert 0 < frame.overlap.max() < 1.5 * deepest + 1e-4


@pytest.mark.parametrize("suffix", ["vtkhdf", "usda", "csv", "npz"])
def test_export_says_what_it_made(typed: Any, run: Path, suffix: str) -> None:
    done = typed("export", "out", f"made/pile.{suffix}", cwd=run)
    assert done.returncode == 0, done.stderr
    said = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("made")]
    assert said[0] == f"made/pile.{suffix}"
    assert all((run / name).stat().st_size > 0 for name in said)
    assert "15/15" in done.stderr or "16/16" in done.stderr or suffix == "npz"


def test_options(run: Path) -> None:
    done = berm(
        "export", "out/recording.h5", "few.npz", "--from", "0.1", "--to", "0.3", "--every", "2",
        "--fields", "born", "-q", cwd=run,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with np.load(run / "few.npz") as data, Recording(run / "out" / "recording.h5") as recording:
        np.testing.assert_array_equal(data["time"], recording.times[3:10:2])
        assert "born" in data and "velocity" not in data


def test_the_page_about_it_tells_the_truth(run: Path) -> None:
    """Commands and code of docs/export.md run as they stand there."""
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    commands = re.findall(r"^berm (export) berm-out/pile (heap\.\w+)", page, re.MULTILINE)
    assert [out for _, out in commands] == ["heap.vtkhdf", "heap.usd", "heap.csv", "heap.npz"]
    for word, out in commands:
        assert berm(word, "out", out, "-q", cwd=run).returncode == 0
    code = page.split("## NPZ")[1].split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=run, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "gravel" in done.stdout
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    with np.load(run / "heap.npz") as data:
        assert set(data) <= set(re.findall(r"`(\w+)`", " ".join(rows)))
    header = (run / "heap.csv").read_text(encoding="utf-8").split("\n")[0]
    assert header.replace(",", ", ").startswith("frame, time (s), tag, material, radius (m)")
    assert all(name in " ".join(page.split()) for name in header.split(","))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("out", "a.xyz"), "'a.xyz'; allowed: *.csv"),
        (("nothing.h5", "a.csv"), "no such recording: got 'nothing.h5'"),
        ((".", "a.csv"), "recording.h5 in it"),
        (("out", "a.csv", "--fields", "colour"), "'colour'; allowed: velocity"),
        (("out", "a.csv", "--from", "9"), "allowed: times from 0 to 0.5"),
        (("out", "a.csv", "--usd-grains", "points"), "option of .csv"),
        (("out", "a.usda", "--usd-grains", "cubes"), "allowed: instancer, points"),
    ],
)
def test_wrong_words(typed: Any, run: Path, words: tuple[str, ...], message: str) -> None:
    before = sorted(run.iterdir())
    done = typed("export", *words, cwd=run)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr
    assert sorted(run.iterdir()) == before


def test_wrong_fields_of_a_run(typed: Any, tmp_path: Path) -> None:
    done = typed("run", "pile", "--record-fields", "colour", cwd=tmp_path)
    assert done.returncode == 2
    assert "--record-fields: got 'colour'; allowed: position, velocity" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_stopped_export_leaves_no_file(tmp_path: Path) -> None:
    """Ctrl-C in the middle of an export leaves neither half a file nor one beside it."""
    export_sample.make(tmp_path / "run.h5", steps=600).close()
    command = [sys.executable, "-c", SLOW, "export", "run.h5", "out.csv"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:  # fmt: skip  # a run in the background ignores Ctrl-C, and its children would
        assert process.stdout is not None
        assert process.stdout.readline() == "frame 5\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted: nothing was written" in said
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


# the command line, with a pause in frame 5 in which the signal comes
SLOW = """
import time
from berm.io.reading import Recording
whole = Recording.frame
def frame(self, k):
    if k == 5:
        print("frame 5", flush=True)
        time.sleep(30)
    return whole(self, k)
Recording.frame = frame
from berm.apps.cli import main
main()
"""
