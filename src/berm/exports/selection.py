"""The part of a recording that is exported: its bodies, cloths and ground as triangles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.core.errors import InputError
from berm.core.shapes import Plane
from berm.io.reading import BodyFrame, Frame
from berm.io.recording import Recording
from berm.stage.ground import GroundMoment, StageGround, moment_of_frame
from berm.stage.meshes import Triangles, triangles
from berm.stage.stage import Stage, StageCloth, stage_of

Array = NDArray[Any]
Progress = Callable[[int, int], None]

ALWAYS = {"position": "m", "radius": "m", "tag": "", "material": ""}  # with their units
CHOICE = {"velocity": "m/s", "born": "s", "overlap": "m", "force": "N", "rotation": ""}
PARTS = ("bodies", "cloths", "ground")  # what goes out beside the grains
UNITS = ALWAYS | CHOICE
OF_BODY = (
    "position",
    "rotation",
    "velocity",
    "angular_velocity",
    "force",
    "torque",
)  # of BodyFrame
GROUND = 0.75  # half-width of an endless plane, in diagonals of what is seen on it
STILL = 1e-12  # a pose that changes less than this (m, or of a rotation matrix) is the same


@dataclass(frozen=True, eq=False)
class BodyMesh:
    """A body: its triangles in its own frame, and whether it keeps its place in every frame."""

    name: str
    number: int  # among the recording's bodies
    material: int
    surface: Triangles
    fixed: bool


@dataclass(eq=False)
class Selection:
    """Frames of a recording by number, and the names of the fields that go with each grain."""

    recording: Recording
    frames: list[int]
    fields: tuple[str, ...]  # of CHOICE
    parts: tuple[str, ...]  # of PARTS
    _tell: Progress | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[Frame]:
        return self.read()

    def read(self, turn: int = 0, turns: int = 1) -> Iterator[Frame]:
        """Read frame after frame; whoever watches is told after each, over all `turns`."""
        for done, k in enumerate(self.frames, 1):
            yield self.recording.frame(k)
            if self._tell is not None:
                self._tell(turn * len(self) + done, turns * len(self))

    @property
    def times(self) -> Array:
        """Times of the frames, s."""
        return np.asarray(self.recording.times[self.frames], np.float64)

    @property
    def counts(self) -> Array:
        """Number of grains of each frame."""
        return self.recording.counts[self.frames]

    @property
    def rate(self) -> float:
        """Frames a second of simulated time: that of most frames."""
        steps = np.diff(self.times)
        return round(float(1.0 / np.median(steps)), 6) if len(steps) else 1.0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns of a grain."""
        return (*ALWAYS, *self.fields)

    @property
    def material_names(self) -> list[str]:
        """Names of the materials, by their number."""
        return [str(material.get("name", "")) for material in self.recording.materials]

    @cached_property
    def stage(self) -> Stage:
        """What does not change: materials with their colours, bodies, the box that is seen."""
        return stage_of(self.recording)

    @cached_property
    def bodies(self) -> list[BodyMesh]:
        """The bodies that appear in these frames."""
        if "bodies" not in self.parts:
            return []
        poses = [self.recording.body_frames(k) for k in self.frames]
        found = []
        land = self.stage.ground
        for body in self.stage.bodies:
            if land is not None and body.id == land.body:
                continue  # grains touch it where nobody sees it: `ground` is what is seen
            own = [frame[body.name] for frame in poses if body.name in frame]
            if own:
                fixed = len(own) == len(poses) and all(_same(pose, own[0]) for pose in own)
                surface = self._surface(body.id, own[0])
                found.append(BodyMesh(body.name, body.id, body.material, surface, fixed))
        return found

    @cached_property
    def cloths(self) -> list[StageCloth]:
        """The cloths that appear in these frames; none that came ever went."""
        there = self.recording.cloth_frames(self.frames[-1]) if "cloths" in self.parts else {}
        return [cloth for cloth in self.stage.cloths if cloth.name in there]

    @cached_property
    def ground(self) -> StageGround | None:
        """The terrain whose ground goes out."""
        return self.stage.ground if "ground" in self.parts else None

    def ground_of(self, k: int) -> GroundMoment:
        """Return the ground of a frame, by its number in the recording."""
        found = self.recording.ground_frame(k)
        assert found is not None
        return moment_of_frame(found)

    def _surface(self, number: int, pose: BodyFrame) -> Triangles:
        """Return a body's triangles; of an endless plane, a square below what is seen."""
        body = self.stage.bodies[number]
        if not isinstance(self.recording.shape(body.name), Plane):
            return self.stage.meshes[body.mesh]
        low, high = self.stage.bounds
        centre = pose.rotation.T @ (0.5 * (low + high) - pose.position)
        return triangles(Plane(), GROUND * float(np.linalg.norm(high - low)), centre[:2])

    @contextmanager
    def watched(self, progress: bool | Progress) -> Iterator[None]:
        """Tell `progress` of every frame that is read inside; True: a bar in the terminal."""
        if progress is True:
            from berm.exports.bar import bar

            with bar() as self._tell:
                yield
        else:
            self._tell = progress or None
            yield
        self._tell = None


def select(
    recording: Recording,
    start: float | None = None,
    stop: float | None = None,
    every: int = 1,
    fields: Iterable[str] | None = None,
) -> Selection:
    """Choose frames from `start` to `stop` (s), each `every`th; fields: default all."""
    times = recording.times
    where = str(recording.path)
    if not len(times):
        raise InputError("export: frames of the recording", 0, "a recording with a frame", where)
    if every < 1 or every != int(every):
        raise InputError("export: every", every, "a whole number from 1 up")
    first = -np.inf if start is None else float(start)
    last = np.inf if stop is None else float(stop)
    slack = 1e-6 * recording.dt  # 0.1 means the frame at 0.1, whatever its last bit
    inside = np.flatnonzero((times >= first - slack) & (times <= last + slack))
    if not len(inside):
        allowed = f"times from {times[0]:g} to {times[-1]:g} s"
        raise InputError("export: from, to", (start, stop), allowed, where)
    names = _fields(recording, fields)
    chosen = tuple(name for name in CHOICE if name in names)
    parts = tuple(name for name in PARTS if name in names)
    return Selection(recording, inside[:: int(every)].tolist(), chosen, parts)


def _fields(recording: Recording, wanted: Iterable[str] | None) -> list[str]:
    choice = [n for n in (*CHOICE, *PARTS) if n == "born" or n in recording.fields]
    if wanted is None:
        names = choice
    else:
        names = list(dict.fromkeys(wanted))
        for name in names:
            if name not in choice and name not in ALWAYS:
                known = name in CHOICE or name in PARTS
                what = "export: field that was not recorded" if known else "export: field"
                raise InputError(what, name, ", ".join(choice), str(recording.path))
    return names


def _same(a: BodyFrame, b: BodyFrame) -> bool:
    return bool(
        np.abs(a.position - b.position).max() <= STILL
        and np.abs(a.rotation - b.rotation).max() <= STILL
    )
