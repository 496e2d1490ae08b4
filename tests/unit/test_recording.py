"""Recordings: what was written is read back, at every moment and after every kind of end."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

from berm.core import shapes
from berm.core.errors import InputError, SimulationError
from berm.io.recording import Recorder, Recording


@dataclass
class Report:
    time: float
    step: int
    grains: int
    contacts: int = 3
    wall_contacts: int = 1
    iterations: int = 1
    substeps: int = 10
    overlap_mean: float = 0.1
    overlap_max: float = 0.2
    kinetic_energy: float = 5.0
    residual: float | None = None
    timings: dict[str, float] = field(default_factory=dict)
    rebuilt: bool = True


@dataclass(frozen=True)
class Mesh:
    vertices: np.ndarray
    faces: np.ndarray


class StandInWorld:
    """Just what a recorder may read; grains are stored in a shuffled order."""

    def __init__(self, n: int = 50, dt: float = 1 / 60) -> None:
        self.dt, self.time, self.step_count, self.seed = dt, 0.0, 0, 7
        self.gravity, self.materials = (0.0, 0.0, -9.81), [{"name": "gravel"}]
        self.solver = SimpleNamespace(name="p2", options=lambda: {"iterations": 3})
        self.rng = np.random.default_rng(1)
        self.next_tag = 0
        self.tags: list[int] = []
        self.add(n)
        shape = Mesh(np.arange(30.0).reshape(10, 3), np.arange(24).reshape(8, 3))
        self.bodies = [self.make_body("blade", shape)]
        self.cloths: list[Any] = []

    def make_body(self, name: str, shape: Any) -> Any:
        body = SimpleNamespace(name=name, shape=shape, material=0, motion=None, super_body=-1)
        body.position, body.rotation = np.zeros(3), np.eye(3)
        for key in ("velocity", "angular_velocity", "force", "torque"):
            setattr(body, key, np.zeros(3))
        return body

    def add(self, n: int) -> None:
        self.tags += list(range(self.next_tag, self.next_tag + n))
        self.next_tag += n

    @property
    def grains(self) -> Any:
        tag = self.rng.permutation(np.array(self.tags, dtype=np.int64))
        position = np.stack([tag, tag * 0 + self.time, -tag], axis=1).astype(np.float32)
        radius = (0.01 + tag).astype(np.float32)
        born = (0.5 * tag).astype(np.float32)
        material = (tag % 3).astype(np.int32)
        return SimpleNamespace(
            n=len(tag), tag=tag, position=position, velocity=2 * position, radius=radius,
            material=material, born=born,
        )  # fmt: skip

    def step(self) -> Report:
        self.step_count += 1
        self.time = self.step_count * self.dt
        for body in self.bodies:
            body.position = np.array([self.time, 0, 0])
            body.force = np.array([0, 0, -float(self.step_count)])
        timings = {"detect": 0.5, "solve": 1.0}
        return Report(self.time, self.step_count, len(self.tags), timings=timings)


def play(world: StandInWorld, recorder: Recorder, steps: int) -> None:
    recorder.start(world)  # type: ignore[arg-type]
    for _ in range(steps):
        recorder.record(world, world.step())  # type: ignore[arg-type]


def check_frames(recording: Recording) -> None:
    for frame in recording:
        assert np.all(np.diff(frame.tag) > 0)
        np.testing.assert_array_equal(frame.position[:, 0], frame.tag)
        np.testing.assert_array_equal(frame.position[:, 1], np.float32(frame.time))
        np.testing.assert_array_equal(frame.radius, (0.01 + frame.tag).astype(np.float32))
        np.testing.assert_array_equal(frame.material, frame.tag % 3)
        np.testing.assert_array_equal(frame.born, (0.5 * frame.tag).astype(np.float32))
        if frame.velocity is not None:
            np.testing.assert_array_equal(frame.velocity, 2 * frame.position)
        for body in frame.bodies.values():
            assert body.position[0] == frame.time
            assert body.force[2] == -frame.step


def test_round_trip(tmp_path: Path) -> None:
    world, path = StandInWorld(), tmp_path / "deep" / "run.h5"
    with Recorder(path, scene="pile", parameters={"grains": 50, "angle": 1.5}) as recorder:
        play(world, recorder, 60)
    with Recording(path) as recording:
        assert len(recording) == 31
        np.testing.assert_allclose(recording.times, np.arange(31) / 30, atol=1e-12)
        assert recording.parameters == {"grains": 50, "angle": 1.5}
        assert recording.scene == "pile"
        assert recording.solver == {"name": "p2", "iterations": 3}
        assert (recording.dt, recording.seed, recording.gravity[2]) == (world.dt, 7, -9.81)
        assert recording.materials == [{"name": "gravel"}]
        assert recording.machine["cores"] == os.cpu_count()
        assert recording.complete and not recording.error
        check_frames(recording)
        assert recording[-1].time == recording.times[-1]
        columns = recording.columns
        np.testing.assert_array_equal(columns["step"], np.arange(1, 61))
        assert np.all(columns["seconds.solve"] == 1.0)
        assert np.all(np.isnan(columns["residual"]))
        assert np.all(np.diff(columns["wall"]) > 0)
        shape = recording.bodies[0]["shape"]
        assert shape["kind"] == "mesh"
        np.testing.assert_array_equal(
            recording.shape_array(shape["vertices"]), world.bodies[0].shape.vertices
        )
        np.testing.assert_array_equal(
            recording.shape_array(shape["faces"]), world.bodies[0].shape.faces
        )


def test_grains_and_bodies_come_and_go(tmp_path: Path) -> None:
    world, path = StandInWorld(4), tmp_path / "run.h5"
    counts = []
    with Recorder(path, every=0) as recorder:
        recorder.start(world)  # type: ignore[arg-type]
        counts.append(4)
        for step in range(40):
            report = world.step()
            if step % 3 == 0:
                world.add(5)
            if step % 7 == 6:
                world.tags = world.tags[3:]
            if step == 20:
                world.tags = []
            if step == 10:
                late = world.make_body("late", SimpleNamespace())
                late.position, late.force = world.bodies[0].position, world.bodies[0].force
                world.bodies.append(late)
            recorder.record(world, report)  # type: ignore[arg-type]
            counts.append(len(world.tags))
    with Recording(path) as recording:
        assert [len(frame) for frame in recording] == counts
        check_frames(recording)
        assert list(recording[-1].bodies) == ["blade", "late"]
        assert list(recording[3].bodies) == ["blade"]


def test_poured_grains_share_their_rows(tmp_path: Path) -> None:
    """A pour appends to the population; it does not repeat it in every frame."""
    world, path = StandInWorld(0), tmp_path / "run.h5"
    with Recorder(path, every=0) as recorder:
        for _ in range(50):
            world.add(10)
            recorder.record(world, world.step())  # type: ignore[arg-type]
    with Recording(path) as recording:
        assert recording.file["population"].shape == (500,)
        check_frames(recording)


def test_fields_and_every(tmp_path: Path) -> None:
    world, path = StandInWorld(dt=0.01), tmp_path / "run.h5"
    with Recorder(path, every=0.1, fields=["position"]) as recorder:
        play(world, recorder, 105)
        recorder.close(world)  # type: ignore[arg-type]
    with Recording(path) as recording:
        np.testing.assert_allclose(recording.times, [*np.arange(11) / 10, 1.05], atol=1e-9)
        assert recording[2].velocity is None
        assert recording[2].bodies == {}
    with pytest.raises(InputError, match=r"colour.*allowed: position, velocity, bodies, cloths"):
        Recorder(path, fields=["colour"])
    with pytest.raises(InputError, match="every"):
        Recorder(path, every=-1)


class TellingSolver:
    """A solver that knows each grain's overlap and force, in the order of the world's rows."""

    name = "telling"

    def options(self) -> dict[str, Any]:
        return {}

    def grain_fields(self, world: Any) -> dict[str, np.ndarray]:
        tag = world.grains.tag
        return {"overlap": 1e-3 * tag, "force": 10.0 * tag + world.time}


class FixedRows(StandInWorld):
    """A stand-in whose rows keep one order within a step, as those of a real world do."""

    @property
    def grains(self) -> Any:
        key = (self.step_count, len(self.tags))
        if getattr(self, "_key", None) != key:
            self._key, self._rows = key, super().grains
        return self._rows


def test_what_only_the_solver_knows(tmp_path: Path) -> None:
    world, path = FixedRows(20), tmp_path / "run.h5"
    world.solver = TellingSolver()
    with Recorder(path, every=0, fields=["overlap", "force"]) as recorder:
        play(world, recorder, 3)
        world.add(5)
        play(world, recorder, 3)
    with Recording(path) as recording:
        assert recording.fields == ["position", "overlap", "force"]
        for frame in recording:
            assert frame.overlap is not None and frame.force is not None
            np.testing.assert_array_equal(frame.overlap, (1e-3 * frame.tag).astype(np.float32))
            np.testing.assert_array_equal(
                frame.force, (10.0 * frame.tag + frame.time).astype(np.float32)
            )
        assert len(recording[-1]) == 25
    world.step_count, world.time = 2, 2 * world.dt
    with Recorder(path, every=0, append=True) as recorder:
        play(world, recorder, 1)
    with Recording(path) as recording:
        assert [frame.step for frame in recording] == [0, 1, 2, 3]
        np.testing.assert_array_equal(recording[-1].overlap, (1e-3 * np.arange(25)).astype("f4"))


def test_solver_that_does_not_tell(tmp_path: Path) -> None:
    world, path = StandInWorld(), tmp_path / "run.h5"
    with pytest.raises(InputError, match=r"'p2'.*\['force'\].*position, velocity, bodies"):
        Recorder(path, fields=["force"]).start(world)  # type: ignore[arg-type]
    assert not path.exists()
    world.solver = TellingSolver()
    world.solver.grain_fields = lambda world: {"force": np.zeros(3)}
    with pytest.raises(SimulationError, match=r"'force'.*\(3,\), not \(50,\)"):
        Recorder(path, fields=["force"]).start(world)  # type: ignore[arg-type]


def test_notes(tmp_path: Path) -> None:
    """What is changed while running stands in the log; a given-up end takes its notes along."""
    world, path = StandInWorld(), tmp_path / "run.h5"
    recorder = Recorder(path, every=0)
    recorder.note("viewer", browser="early")
    play(world, recorder, 2)
    recorder.note("parameter", name="friction", value=np.float64(0.3))
    with Recording(path) as recording:  # at once, while the run goes on
        assert [note["event"] for note in recording.notes] == ["viewer", "parameter"]
    world.materials[0] = {"name": "gravel", "friction_static": 0.3}
    play(world, recorder, 2)
    recorder.note("parameter", name="friction", value=0.9)
    recorder.close()
    with Recording(path) as recording:
        early, first, second = recording.notes
        assert early == {"event": "viewer", "time": None, "browser": "early"}
        assert first == {"event": "parameter", "time": 2 / 60, "name": "friction", "value": 0.3}
        assert second["time"] == 4 / 60
        assert recording.materials == [{"name": "gravel", "friction_static": 0.3}]
    world.step_count, world.time = 3, 3 / 60
    with Recorder(path, every=0, append=True) as recorder:
        play(world, recorder, 1)
    with Recording(path) as recording:
        assert [note.get("value") for note in recording.notes] == [None, 0.3]
        assert recording.complete
    for kind in ("close", ""):
        with pytest.raises(InputError, match="note"):
            recorder.note(kind)


SHAPES = [
    shapes.Plane(),
    shapes.Sphere(0.4, inside=True),
    shapes.Box((0.1, 0.2, 0.3), inside=True, open_top=True),
    shapes.Cone(0.1, 0.2, 0.3, inside=True, open_ends=True),
    shapes.Cylinder(0.1, 0.3, open_ends=True, wall=0.01),
    shapes.Capsule(0.1, 0.3),
    shapes.HeightField(np.arange(20.0).reshape(4, 5), 0.25, (1.0, 2.0)),
    shapes.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2], [0, 1, 3]]),
    shapes.Mesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]],
        inside=True,
    ),
]


def test_every_shape_comes_back(tmp_path: Path) -> None:
    world, path = StandInWorld(), tmp_path / "run.h5"
    world.bodies = [world.make_body(f"body {k}", shape) for k, shape in enumerate(SHAPES)]
    with Recorder(path) as recorder:
        recorder.start(world)  # type: ignore[arg-type]
    with Recording(path) as recording:
        for k, shape in enumerate(SHAPES):
            back = recording.shape(f"body {k}")
            assert type(back) is type(shape)
            for part in (one for one in fields(shape) if not one.name.startswith("_")):
                np.testing.assert_array_equal(getattr(back, part.name), getattr(shape, part.name))
        with pytest.raises(InputError, match=r"'blade'.*body 0, body 1"):
            recording.shape("blade")


def test_last_state_between_two_frames(tmp_path: Path) -> None:
    world, path = StandInWorld(), tmp_path / "run.h5"
    with Recorder(path, every=0.1) as recorder:
        play(world, recorder, 17)
    with Recording(path) as recording:
        assert [frame.step for frame in recording] == [0, 6, 12, 17]
        check_frames(recording)
    with Recorder(path, every=0.1, append=True) as recorder:  # goes on as if it had not ended
        play(world, recorder, 9)
    with Recording(path) as recording:
        assert [frame.step for frame in recording] == [0, 6, 12, 18, 24, 26]
        check_frames(recording)


def test_readable_while_written(tmp_path: Path) -> None:
    world, path = StandInWorld(), tmp_path / "run.h5"
    recorder = Recorder(path, every=0)
    play(world, recorder, 5)
    with Recording(path) as recording:
        assert len(recording) == 6
        assert not recording.complete
        play(world, recorder, 5)
        assert recording.refresh() == 11
        check_frames(recording)
        assert len(recording.columns["time"]) == 10
        recorder.close()
        recording.refresh()
        assert recording.complete


def test_whole_after_an_error(tmp_path: Path) -> None:
    world, path = StandInWorld(), tmp_path / "run.h5"

    def explode() -> None:
        with Recorder(path) as recorder:
            play(world, recorder, 11)
            raise SimulationError("grain 3 is not finite at step 12")

    with pytest.raises(SimulationError):
        explode()
    with Recording(path) as recording:
        assert len(recording) == 6
        assert len(recording.columns["step"]) == 11
        assert "grain 3" in recording.error
        assert not recording.complete
        check_frames(recording)


WRITER = """
import sys
sys.path.insert(0, {here!r})
from test_recording import Recorder, StandInWorld, play
world = StandInWorld(3000)
recorder = Recorder({path!r}, every=0)
recorder.start(world)
print("started", flush=True)
while True:
    world.add(20)
    recorder.record(world, world.step())
    print("recorded", flush=True)
"""


@pytest.mark.parametrize("least", [0, 5, 11])
def test_whole_after_kill(tmp_path: Path, least: int) -> None:
    path = tmp_path / "run.h5"
    code = WRITER.format(here=str(Path(__file__).parent), path=str(path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        for _ in range(least):
            assert process.stdout.readline() == b"recorded\n"
        process.kill()
    with Recording(path) as recording:
        frames = len(recording)
        assert frames > least
        assert not recording.complete
        check_frames(recording)
        middle = frames // 2
        world = StandInWorld(3000 + 20 * middle)
        world.step_count, world.time = middle, float(recording.times[middle])
    recorder = Recorder(path, every=0, append=True)
    with pytest.warns(UserWarning, match=rf"taken over from process {process.pid} on"):
        recorder.start(world)
    play(world, recorder, 3)
    recorder.close()
    with Recording(path) as recording:
        assert len(recording) == middle + 4
        assert recording.complete
        check_frames(recording)


def test_append_drops_later_frames(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    world = StandInWorld()
    with Recorder(path) as recorder:
        play(world, recorder, 60)
    world.step_count, world.time = 31, 31 * world.dt  # between two frames
    with Recorder(path, append=True) as recorder:
        play(world, recorder, 29)
    with Recording(path) as recording:
        steps = [frame.step for frame in recording]
        assert steps == list(range(0, 61, 2))
        np.testing.assert_array_equal(recording.columns["step"], np.arange(1, 61))
        assert np.all(np.diff(recording.columns["wall"]) > 0)
        check_frames(recording)
        assert len(recording.bodies) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_one_recorder_two_runs(tmp_path: Path) -> None:
    world, path = StandInWorld(), tmp_path / "run.h5"
    recorder = Recorder(path, every=0)
    for _ in range(2):
        play(world, recorder, 4)
        recorder.close()
    with Recording(path) as recording:
        assert [frame.step for frame in recording] == list(range(9))


def test_clear_errors(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with pytest.raises(InputError, match="no such recording"):
        Recording(path)
    path.write_text("hello")
    with pytest.raises(InputError, match="not a recording"):
        Recording(path)
    with h5py.File(path, "w") as file:
        file["x"] = [1, 2]
    with pytest.raises(InputError, match="another program"):
        Recording(path)
    with Recorder(path) as recorder:
        play(StandInWorld(), recorder, 10)
    with Recording(path) as recording, pytest.raises(InputError, match="-6 to 5"):
        recording.frame(6)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(InputError, match="truncated"):
        Recording(path)
    with pytest.raises(InputError, match="written"):
        Recorder(tmp_path, every=1).start(StandInWorld())  # type: ignore[arg-type]


def test_truncated_after_kill(tmp_path: Path) -> None:
    """Reader mode would give zeros beyond the end of the file: it must be noticed."""
    path, cut = tmp_path / "run.h5", tmp_path / "cut.h5"
    recorder = Recorder(path, every=0)
    play(StandInWorld(5000), recorder, 20)
    data = path.read_bytes()
    recorder.close()
    cut.write_bytes(data)
    assert len(Recording(cut)) == 21
    cut.write_bytes(data[: len(data) * 2 // 3])
    with pytest.raises(InputError, match="truncated"):
        Recording(cut)
