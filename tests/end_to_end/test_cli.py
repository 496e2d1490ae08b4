"""The command `berm` as a user meets it: in its own process, with exit codes and messages."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from berm.core.materials import calibrate
from berm.io import checkpoint
from berm.io.recording import Recording

BERM = [sys.executable, "-m", "berm"]
SMALL = ["-p", "grains=60", "-p", "settle=1.5"]


def berm(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BERM, *map(str, words)], capture_output=True, text=True, cwd=cwd, timeout=300, check=False
    )


def assert_equal(one: Any, other: Any, where: str = "state") -> None:
    """Compare nested maps and lists of arrays bit for bit."""
    assert type(one) is type(other), where
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_equal(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for k, pair in enumerate(zip(one, other, strict=True)):
            assert_equal(*pair, f"{where}[{k}]")
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and one.shape == other.shape, where
        assert one.tobytes() == other.tobytes(), where
    else:
        assert one == other, where


# ---------------------------------------------------------------------- run


@pytest.fixture(scope="module")
def pile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("pile")
    done = berm("run", "pile", *SMALL, "-o", folder)
    assert done.returncode in (0, 1), done.stderr  # so few grains need not make a good heap
    return folder, done.stdout


def test_run_leaves_everything_and_says_where(pile: tuple[Path, str]) -> None:
    folder, said = pile
    for name in ("recording.h5", "checkpoint.npz", "side_view.png", "run.png", "summary.json"):
        assert (folder / name).stat().st_size > 0
        assert name in said
    assert "real time" in said and "grains poured" in said and "angle of repose" in said


def test_summary_and_recording_agree(pile: tuple[Path, str]) -> None:
    folder, _ = pile
    summary = json.loads((folder / "summary.json").read_text())
    with Recording(folder / "recording.h5") as recording:
        assert recording.complete
        assert len(recording) == summary["frames"]
        assert recording.scene == summary["scene"] == "pile"
        last = recording.frame(-1)
        assert len(last) == summary["grains"] == summary["parameters"]["grains"] == 60
        assert summary["seconds"] - 1 / 30 < last.time <= summary["seconds"] + 1e-9
    assert summary["ok"] == all(check["ok"] for check in summary["checks"])


def test_quiet_says_nothing_and_threads_do_not_matter(
    pile: tuple[Path, str], tmp_path: Path
) -> None:
    done = berm("run", "pile", *SMALL, "-o", tmp_path, "-q", "--threads", 1, "--no-pictures")
    assert done.stdout == ""
    assert not (tmp_path / "run.png").exists()
    first = checkpoint.load(pile[0] / "checkpoint.npz")["world"]
    assert_equal(first, checkpoint.load(tmp_path / "checkpoint.npz")["world"])


def test_failed_check_is_exit_1(tmp_path: Path) -> None:
    # frictionless grains do not make a heap
    done = berm("run", "pile", *SMALL, "-p", "friction=0", "-o", tmp_path, "--no-pictures")
    assert done.returncode == 1
    assert "MISS" in done.stdout
    assert json.loads((tmp_path / "summary.json").read_text())["ok"] is False


def test_ctrl_c_then_resume_is_the_uninterrupted_run(tmp_path: Path) -> None:
    part, whole = tmp_path / "part", tmp_path / "whole"
    words = ["run", "pile", "-p", "grains=1500", "-p", "rate=100", "--seed", "7", "--no-pictures"]
    command = [*BERM, *words, "-o", str(part)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()  # the first step is done
    assert "real time" in line or "grains" in line
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    said, complaint = process.communicate(timeout=120)
    assert process.returncode == 130, complaint
    assert "Traceback" not in complaint
    assert f"berm run pile --resume -o {part}" in re.sub(r"\s+", " ", said)
    stopped = float(checkpoint.about(part / "checkpoint.npz")["time"])
    with Recording(part / "recording.h5") as recording:
        assert 0 < recording.times[-1] <= stopped + 1e-9
        assert recording.columns["time"][-1] == pytest.approx(stopped)

    again = berm("run", "pile", "-o", part, "--no-pictures")  # must not destroy what is there
    assert again.returncode == 2 and "--resume" in again.stderr
    wrong = berm("run", "pile", "--resume", "-p", "grains=9", "-o", part)
    assert wrong.returncode == 2 and "as at the start" in wrong.stderr

    seconds = str(stopped + 0.5)
    resumed = berm("run", "pile", "--resume", "-o", part, "--seconds", seconds, "--no-pictures")
    assert resumed.returncode == 0, resumed.stderr
    straight = berm(*words, "-o", whole, "--seconds", seconds)
    assert straight.returncode == 0, straight.stderr
    states = [checkpoint.load(folder / "checkpoint.npz") for folder in (part, whole)]
    assert_equal(states[0]["world"], states[1]["world"])
    with Recording(part / "recording.h5") as a, Recording(whole / "recording.h5") as b:
        assert_equal(a.times, b.times)
        for one, other in zip(a, b, strict=True):
            assert_equal(one.position, other.position)
            assert_equal(one.tag, other.tag)
        for name in ("time", "contacts", "overlap_mean", "kinetic_energy"):
            assert_equal(a.columns[name], b.columns[name])


# ---------------------------------------------------------------------- scene files

WORLD = """\
name: drop
bodies:
  - shape: {kind: plane}
grains:
  - {kind: lattice, low: [0, 0, 0.05], high: [0.2, 0.2, 0.3], radius: 0.02}
run: {seconds: 0.2}
"""


@pytest.mark.parametrize(("seconds", "rests"), [(1.5, False), (2.0, True)])
def test_a_heap_of_a_scene_file_has_an_angle_once_it_rests(
    tmp_path: Path, seconds: float, rests: bool
) -> None:
    (tmp_path / "heap.yaml").write_text(
        "bodies: [{shape: {kind: plane}, material: rough wall}]\n"
        "emitters:\n"
        "  - {rate: 300, position: [0, 0, 0.5], size: [0.03, 0.05], radius: [0.008, 0.012],\n"
        "     total: 200, material: dry sand}\n"
        f"run: {{seconds: {seconds}}}\n"
    )
    done = berm("run", "heap.yaml", "-o", "out", "--no-pictures", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["angle_of_repose"] is not None) == rests
    assert ("angle of repose" in done.stdout) == rests


def test_runs_and_resumes_a_file(tmp_path: Path) -> None:
    file = tmp_path / "drop.yaml"
    file.write_text(WORLD)
    done = berm("run", file, "-o", tmp_path / "out", "--solver-option", "substeps=5")
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["scene"] == "drop" and summary["solver"]["substeps"] == 5
    more = berm("run", file, "-o", tmp_path / "out", "--resume", "--seconds", "0.3", "-q")
    assert more.returncode == 0, more.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["seconds"] == pytest.approx(0.3) and summary["solver"]["substeps"] == 5
    file.write_text(WORLD.replace("0.02}", "0.03}"))
    changed = berm("run", file, "-o", tmp_path / "out", "--resume", "--seconds", "0.4")
    assert changed.returncode == 2 and "has changed" in changed.stderr


def test_typed_parameters_go_before_those_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text('scene = "pile"\nparameters = {grains = 60, settle = 2.0}\n')
    words = ["-p", "settle=0.1", "--solver", "published", "--seed", "3", "-q", "--no-pictures"]
    done = berm("run", file, *words, "-o", tmp_path)
    assert done.returncode in (0, 1), done.stderr
    summary = json.loads((tmp_path / "summary.json").read_text())
    found = summary["parameters"]
    assert (found["grains"], found["settle"], found["seed"]) == (60, 0.1, 3)
    assert summary["solver"]["averaging"] == "count"
    assert summary["seconds"] == pytest.approx(60 / found["rate"] + 0.1, abs=0.01)


def test_bad_file_names_line_and_remedy(typed: Any, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(
        WORLD.replace("kind: plane", "kind: plain").replace("radius: 0.02", "radius: -1")
    )
    for words in (("run", file, "-o", tmp_path / "out"), ("check-file", file)):
        done = typed(*words)
        assert done.returncode == 2
        text = re.sub(r"\s+", " ", done.stderr)
        assert "bad.yaml:3:" in text and "did you mean 'plane'?" in text
        assert "bad.yaml:5:" in text and "above 0" in text
        assert "Traceback" not in text
    assert not (tmp_path / "out").exists()


def test_check_file(typed: Any, tmp_path: Path) -> None:
    file = tmp_path / "drop.yaml"
    file.write_text(WORLD)
    done = typed("check-file", file)
    assert done.returncode == 0 and "drop" in done.stdout and "grains" in done.stdout


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["pil"], ["unknown scene", "'pil'", "did you mean 'pile'"]),
        (["pile", "-p", "grans=10"], ["unknown parameter", "'grans'", "did you mean 'grains'"]),
        (["pile", "-p", "grains=-3"], ["grains", "-3"]),
        (["pile", "-p", "grains"], ["name=value"]),
        (["pile", "--solver", "magic"], ["solver", "magic", "p2"]),
        (["pile", "--solver-option", "substps=3"], ["substps", "did you mean 'substeps'"]),
        (["pile", "--solver-option", "substeps=x"], ["p2: substeps", "'x'", "a whole number"]),
        (["pile", "-p", "solver=dem"], ["unknown parameter", "--solver dem"]),
        (["pile", "-p", "substeps=3"], ["unknown parameter", "--solver-option substeps=3"]),
        (["sandglass", "--solver", "vts"], ["scene 'sandglass': solver", "'vts'", ": dem"]),
        (["pile", "--seconds", "-1"], ["--seconds", "-1", "above 0"]),
        (["pile", "--threads", "1000"], ["--threads", "1000", "1 to"]),
        (["pile", "--resume"], ["--resume", "checkpoint"]),
        (["nowhere.yaml"], ["nowhere.yaml", "readable"]),
    ],
)
def test_bad_input_is_one_message_and_exit_2(
    typed: Any, words: list[str], parts: list[str], tmp_path: Path
) -> None:
    done = typed("run", *words, "-o", tmp_path / "out")
    text = re.sub(r"\s+", " ", done.stderr)
    assert done.returncode == 2
    assert text.startswith("error: ")
    for part in parts:
        assert part in text
    assert "Traceback" not in text
    assert not (tmp_path / "out" / "recording.h5").exists()


def test_debug_shows_the_traceback() -> None:
    plain = berm("run", "pil")
    assert plain.returncode == 2 and plain.stderr.startswith("error: ")
    assert "Traceback" not in plain.stderr
    done = berm("--debug", "run", "pil")
    assert done.returncode != 0 and "Traceback" in done.stderr


# ---------------------------------------------------------------------- what there is


def test_help_is_quick() -> None:
    taken = []
    for _ in range(3):
        begin = time.perf_counter()
        done = berm("--help")
        taken.append(time.perf_counter() - begin)
        assert done.returncode == 0 and "run" in done.stdout
    assert min(taken) < 1.5  # 0.3 s on a quiet machine
    loaded = "import sys, berm.apps.cli; print('numpy' in sys.modules, 'numba' in sys.modules)"
    probe = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True
    )
    assert probe.stdout.split() == ["False", "False"]


def test_scenes_lists_all_and_one(typed: Any) -> None:
    done = typed("scenes")
    assert done.returncode == 0
    assert "pile" in done.stdout
    one = typed("scenes", "pile")
    assert one.returncode == 0
    assert "grains" in one.stdout and "2000" in one.stdout and "radius" in one.stdout


def test_materials_are_listed_and_calibrated(typed: Any) -> None:
    listed = typed("materials")
    assert listed.returncode == 0
    assert "dry sand" in listed.stdout
    sand = typed("materials", "dry sand", "--angle", "33")
    law = calibrate("dry sand", 33.0)
    assert f"friction_static {law.friction_static:.3f}" in sand.stdout
    assert typed("materials", "rough wall").returncode == 0
    wrong = typed("materials", "gravel", "--angle", "80")
    assert wrong.returncode == 2
    assert "gravel" in wrong.stderr and "degrees" in wrong.stderr


def test_info() -> None:
    done = berm("info")
    assert done.returncode == 0
    for word in ("berm", "numba", "threads", "kernel cache", "cpu"):
        assert word in done.stdout


def test_schema_is_json(typed: Any, tmp_path: Path) -> None:
    done = berm("schema")
    assert done.returncode == 0
    assert json.loads(done.stdout)["title"] == "berm scene file"
    assert typed("schema", "-o", tmp_path / "schema.json").returncode == 0
    assert json.loads((tmp_path / "schema.json").read_text()) == json.loads(done.stdout)


def test_bench_writes_a_table(tmp_path: Path) -> None:
    file = tmp_path / "bench.csv"
    done = berm("bench", "--grains", "500", "--threads", "1", "--repeats", "1", "--no-cold",
                "--no-twin", "-o", file)  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = file.read_text().splitlines()
    assert len(lines) == 3 and "us_grain_step" in lines[0] and "machine_cpu" in lines[0]
    assert "published" in done.stdout and "ns/contact" in done.stdout
