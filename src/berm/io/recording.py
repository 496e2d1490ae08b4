"""Recordings: what a run looked like, frame by frame, in an HDF5 file of our own layout.

The file is written in the single-writer-multiple-readers mode of HDF5: it can be read while the
run goes on, and stays whole after Ctrl-C, an error, or the death of the process.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time as clock
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from berm.core.errors import InputError, SimulationError
from berm.io import layout
from berm.io.reading import BodyFrame, Frame, Recording

if TYPE_CHECKING:
    from berm.core.report import StepReport
    from berm.world.world import World

__all__ = ["BodyFrame", "Frame", "Recorder", "Recording"]

_TIME_SLACK = 1e-6  # of `every`: a step that ends this little before its frame is due counts
_COPY_ROWS = 1 << 18


class Recorder:
    """Writes every `every` seconds of simulated time a frame, and every step's scalars.

    every: seconds of simulated time between frames; 0 records each step.
    fields: what a frame holds besides tags, radii, materials and times of birth: any of position
        (always there), velocity, bodies, cloths, overlap, force and rotation.
    append: keep the frames of an existing file that are not later than the world's time at
        `start` and go on after them (a later frame belongs to a run that was given up).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: float = 1 / 30,
        fields: Iterable[str] = layout.USUAL_FIELDS,
        *,
        scene: str = "",
        parameters: Mapping[str, Any] | Any = None,
        append: bool = False,
    ) -> None:
        if not (math.isfinite(every) and every >= 0):
            raise InputError("recorder's every", every, "seconds >= 0 (0 = each step)")
        self.path, self.every = Path(path), float(every)
        self.fields = layout.check_fields(fields, "recorder's field")
        self.scene, self.parameters, self.append = scene, parameters, append
        self.frames = 0
        self._file: h5py.File | None = None
        self._rows: dict[str, int] = {}
        self._steps: list[tuple[list[float], dict[str, float]]] = []
        self._extra: dict[str, int] = {}
        self._bodies: list[str] = []
        self._cloths: list[str] = []
        self._materials: list[Any] = []
        self._notes: list[dict[str, Any]] = []  # that wait for the file
        self._world: World | None = None  # as it was last seen
        self._population: tuple[int, np.ndarray] | None = None
        self._tables: dict[str, h5py.Dataset] = {}
        self._next = 0
        self._last_time = -math.inf
        self._wall_before = 0.0
        self._wall_start = 0.0

    # ------------------------------------------------------------------ start, record, close

    def start(self, world: World) -> None:
        """Create the file and write the world's present state as a frame, or reopen it."""
        if self._file is not None:
            return
        self._check_solver(world)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.append and self.path.exists():
            file = self._keep_until(float(world.time))
        else:
            file = self._create(world)
        self._tables = dict(file.items())
        self._rows = {name: table.shape[0] for name, table in file.items()}
        self.frames = self._rows["frames"]
        try:
            file.swmr_mode = True
        except (OSError, ValueError, RuntimeError):  # a file system without it: flushed frames
            file.flush()
        self._file, self._world = file, world
        self._wall_start = clock.perf_counter()
        self._log(
            {
                "event": "start",
                "time": float(world.time),
                "date": clock.strftime("%Y-%m-%d %H:%M:%S"),
            }
        )
        for note in self._notes:
            self._log(note)
        self._notes.clear()
        if self.frames == 0:
            self._write_frame(world)
        self._plan_next(float(world.time))

    def due(self, time: float) -> bool:
        """Return whether a frame is to be written at this simulated time (s)."""
        return self.every == 0 or time >= (self._next - _TIME_SLACK) * self.every

    def record(self, world: World, report: StepReport | None = None) -> None:
        """Take the step's scalars, and a frame when one is due; call after each step."""
        if self._file is None:
            self.start(world)
        self._world = world
        if report is not None:
            self._take_report(report)
        if self.due(float(world.time)) and float(world.time) > self._last_time:
            self._write_frame(world)
            self._plan_next(float(world.time))

    def note(self, kind: str, **data: Any) -> None:
        """Write what happened now to the log, for example note("parameter", name=..., value=...).

        The entry is {"event": kind, "time": s, **data}; `Recording.notes` lists them. Call it from
        the thread that steps the world. Before the file is open, notes wait for it.
        """
        if not kind or kind in layout.EVENTS:
            allowed = f"any word but {', '.join(layout.EVENTS)}"
            raise InputError("recorder's note", kind, allowed)
        entry = {"event": kind, "time": None if self._world is None else float(self._world.time)}
        entry.update(layout.plain(data))
        if self._file is None:
            self._notes.append(entry)
        else:
            self._log(entry)

    def close(self, world: World | None = None, error: str = "") -> None:
        """Finish the file; a last state that has no frame yet is written first.

        After an error only a world that is given counts: one that failed may be half stepped.
        """
        if self._file is None:
            return
        last = world if error or world is not None else self._world
        try:
            if last is not None and float(last.time) > self._last_time:
                self._write_frame(last)
            self._write_steps()
            self._log({"event": "close", "time": self._last_time, "error": error})
        finally:
            self._wall_before = self._wall()
            self._tables.clear()
            self._file.close()
            self._file = self._world = None
            self.append = True  # a second run with this recorder goes on

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close(error="" if error is None else f"{type(error).__name__}: {error}")

    # ------------------------------------------------------------------ opening

    def _check_solver(self, world: World) -> None:
        wanted = [name for name in layout.GRAIN_FIELDS if name in self.fields]
        if wanted and not hasattr(world.solver, "grain_fields"):
            without = [name for name in layout.FIELDS if name not in layout.GRAIN_FIELDS]
            what = f"recorder's fields with solver {world.solver.name!r}, which does not tell them"
            raise InputError(what, wanted, ", ".join(without))

    def _create(self, world: World) -> h5py.File:
        try:
            file = h5py.File(self.path, "w", libver="latest", locking="best-effort")
        except OSError as error:
            raise InputError("recording cannot be written", str(self.path), str(error)) from error
        self._make_datasets(file)
        attributes: dict[str, Any] = {
            "format": layout.FORMAT,
            "berm": layout.berm_version(),
            "scene": self.scene,
            "parameters": layout.to_json(self.parameters or {}),
            "solver": layout.to_json(layout.describe_solver(getattr(world, "solver", None))),
            "dt": float(world.dt),
            "gravity": np.asarray(world.gravity, dtype=np.float64),
            "seed": layout.to_json(getattr(world, "seed", None)),
            "precision": str(getattr(world, "precision", "")),
            "fields": layout.to_json(self.fields),
            "every": self.every,
            "machine": layout.to_json(layout.describe_machine()),
        }
        file.attrs.update(attributes)
        return file

    def _make_datasets(self, file: h5py.File) -> None:
        for name, (dtype, row, chunk) in layout.TABLES.items():
            if name not in layout.OPTIONAL_TABLES or name in self.fields:
                shape = {"shape": (0, *row), "maxshape": (None, *row), "chunks": (chunk, *row)}
                file.create_dataset(name, dtype=dtype, **shape)

    def _keep_until(self, time: float) -> h5py.File:
        """Copy what is not later than `time` to a new file, and put that in the old one's place.

        A copy, because HDF5 refuses to write to a file whose writer was killed.
        """
        part = self.path.with_name(self.path.name + ".part")
        slack = 1e-9 * max(1.0, abs(time))
        with Recording(self.path) as old, h5py.File(part, "w", libver="latest") as new:
            self.fields = tuple(old.fields)
            self._make_datasets(new)
            new.attrs.update(old.file.attrs.items())
            frames = int(np.searchsorted(old.times, time + slack, side="right"))
            frames -= _ends_between(old.times[:frames], float(old.file.attrs["every"]))
            steps = int(np.searchsorted(old.columns["time"], time + slack, side="right"))
            rows = {"frames": frames, "steps": steps, "shapes": old.file["shapes"].shape[0]}
            if frames:
                index = old.file["frames"][:frames]
                last = int(index["row"][-1] + index["grains"][-1])
                rows.update(dict.fromkeys(("position", *layout.OPTIONAL_OF_GRAINS), last))
                rows["bodies"] = int(index["body_row"][-1] + index["bodies"][-1])
                rows["cloths"] = old.cloth_rows(frames - 1).stop
                rows["population"] = int((index["population"] + index["grains"]).max())
                self._last_time = float(index["time"][-1])
            for name, table in new.items():
                _copy(old.file[name], table, rows.get(name, 0))
            given_up = [n for n in old.notes if (n.get("time") or 0.0) > time + slack]
            kept = [entry for entry in old.log if entry not in given_up]
            lines = "".join(json.dumps(entry) + "\n" for entry in kept).encode()
            new["log"].resize(len(lines), axis=0)
            new["log"][:] = np.frombuffer(lines, dtype=np.uint8)
            self._bodies = [body["name"] for body in old.bodies]
            self._cloths = [cloth["name"] for cloth in old.cloths]
            self._materials = list(old.materials)
            self._extra = {name: k for k, name in enumerate(old.extra_names)}
            self._wall_before = float(new["steps"]["wall"][-1]) if steps else 0.0
        os.replace(part, self.path)
        self._population = None
        return h5py.File(self.path, "r+", libver="latest", locking="best-effort")

    # ------------------------------------------------------------------ writing

    def _append(self, name: str, values: np.ndarray) -> int:
        """Append rows to a dataset, send them to the file, and return the first new row."""
        start, table = self._rows[name], self._tables[name]
        if len(values):
            table.resize(start + len(values), axis=0)
            table[start:] = values
            table.flush()
            self._rows[name] = start + len(values)
        return start

    def _log(self, entry: dict[str, Any]) -> None:
        line = (json.dumps(entry) + "\n").encode()
        self._append("log", np.frombuffer(line, dtype=np.uint8))

    def _write_frame(self, world: World) -> None:
        grains = world.grains
        order = np.argsort(np.asarray(grains.tag)[: grains.n], kind="stable")
        frame = np.zeros(1, dtype=layout.TABLES["frames"][0])
        frame["step"], frame["grains"] = world.step_count, len(order)
        frame["row"] = self._append("position", np.asarray(grains.position)[order])
        if "velocity" in self.fields:
            self._append("velocity", np.asarray(grains.velocity)[order])
        if "rotation" in self.fields:
            self._append("rotation", _rotations(world)[order])
        self._write_grain_fields(world, order)
        frame["population"] = self._write_population(grains, order)
        self._write_materials(world)
        bodies = list(world.bodies) if "bodies" in self.fields else []
        frame["bodies"], frame["body_row"] = len(bodies), self._write_bodies(bodies)
        if "cloths" in self.fields:
            frame["cloths"], frame["cloth_row"] = len(world.cloths), self._write_cloths(world)
        self._write_steps()
        frame["time"] = self._last_time = float(world.time)
        self._append("frames", frame)
        self.frames += 1

    def _write_grain_fields(self, world: World, order: np.ndarray) -> None:
        """Write what only the solver knows of each grain, as far as it is wanted."""
        wanted = [name for name in layout.GRAIN_FIELDS if name in self.fields]
        if not wanted:
            return
        solver: Any = world.solver
        known = solver.grain_fields(world)
        for name in wanted:
            values = np.asarray(known.get(name, ()))
            if values.shape != (len(order),):
                what = f"solver {solver.name!r}: grain_fields()[{name!r}] has shape"
                raise SimulationError(f"{what} {values.shape}, not ({len(order)},)")
            self._append(name, values[order])

    def _write_materials(self, world: World) -> None:
        """Log materials that are new, or that were changed while running."""
        for index, material in enumerate(world.materials):
            described = layout.plain(material)
            if self._materials[index : index + 1] != [described]:
                self._materials[index : index + 1] = [described]
                self._log({"event": "material", "index": index, "time": float(world.time),
                           "material": described})  # fmt: skip

    def _write_population(self, grains: Any, order: np.ndarray) -> int:
        """Write tags, radii and materials as far as they are new, and return their first row."""
        new = np.zeros(len(order), dtype=layout.TABLES["population"][0])
        for name in new.dtype.names or ():
            new[name] = np.asarray(getattr(grains, name))[order]
        known, start = 0, self._rows["population"]
        if self._population is not None:
            old_start, old = self._population
            size = len(old)
            at_end = old_start + size == self._rows["population"]
            if (size == len(new) or (size < len(new) and at_end)) and np.all(old == new[:size]):
                known, start = size, old_start
        self._append("population", new[known:])
        self._population = (start, new)
        return start

    def _write_bodies(self, bodies: list[Any]) -> int:
        rows = np.zeros(len(bodies), dtype=layout.TABLES["bodies"][0])
        for row, body in zip(rows, bodies, strict=True):
            if body.name not in self._bodies:
                described = layout.describe_body(body, self._write_array)
                self._log({"event": "body", "id": len(self._bodies), **described})
                self._bodies.append(body.name)
            row["id"] = self._bodies.index(body.name)
            for name in row.dtype.names[1:]:
                row[name] = getattr(body, name)
        return self._append("bodies", rows)

    def _write_cloths(self, world: World) -> int:
        start = self._rows["cloths"]
        for cloth in world.cloths:
            if cloth.name not in self._cloths:
                kind = world.add_material(cloth.material)
                described = layout.describe_cloth(cloth, kind, self._write_array)
                self._log({"event": "cloth", "id": len(self._cloths), **described})
                self._cloths.append(cloth.name)
            self._append("cloths", cloth.position)
        return start

    def _write_array(self, array: np.ndarray) -> dict[str, Any]:
        start = self._append("shapes", array.ravel().astype("f8"))
        return {"array": [start, list(array.shape), array.dtype.kind]}

    def _take_report(self, report: StepReport) -> None:
        values = (
            {f.name: getattr(report, f.name) for f in dataclasses.fields(report)}
            if dataclasses.is_dataclass(report)
            else dict(vars(report))
        )
        values["wall"] = self._wall()
        extra = {f"seconds.{k}": float(v) for k, v in (values.pop("timings", None) or {}).items()}
        for name, value in values.items():
            if name not in layout.STEP_COLUMNS and isinstance(value, bool | int | float):
                extra[name] = float(value)
        known = [values.get(name) for name in layout.STEP_COLUMNS]
        self._steps.append(([math.nan if v is None else float(v) for v in known], extra))

    def _write_steps(self) -> None:
        if not self._steps:
            return
        for name in dict.fromkeys(name for _, extra in self._steps for name in extra):
            if name not in self._extra and len(self._extra) < layout.EXTRA_WIDTH:
                self._log({"event": "extra", "column": len(self._extra), "name": name})
                self._extra[name] = len(self._extra)
        rows = np.zeros(len(self._steps), dtype=layout.TABLES["steps"][0])
        rows["extra"] = np.nan
        for row, (values, extra) in zip(rows, self._steps, strict=True):
            for name, value in zip(layout.STEP_COLUMNS, values, strict=True):
                row[name] = value
            for name, value in extra.items():
                if name in self._extra:
                    row["extra"][self._extra[name]] = value
        self._append("steps", rows)
        self._steps.clear()

    def _plan_next(self, time: float) -> None:
        if self.every > 0:
            self._next = _interval(time, self.every) + 1

    def _wall(self) -> float:
        """Return seconds of wall time spent in this run and in those that it continues."""
        return self._wall_before + clock.perf_counter() - self._wall_start


def _rotations(world: World) -> np.ndarray:
    """Return the quaternion (n, 4) of the body that each grain belongs to; 1 for single grains."""
    out = np.tile(np.array([1.0, 0.0, 0.0, 0.0]), (world.grains.n, 1))
    if world.clumps.n:
        owner = world.grains.owner[: world.grains.n]
        out[owner >= 0] = world.clumps.q[owner[owner >= 0]]
    return out


def _interval(time: float, every: float) -> int:
    """Return the number of the interval between frames that a time (s) lies in."""
    return math.floor(time / every + _TIME_SLACK)


def _ends_between(times: np.ndarray, every: float) -> bool:
    """Return whether the last frame is the end of a run rather than one that was due.

    A run that goes on leaves it out, so that its frames are those of a run in one go.
    """
    return (
        len(times) > 1
        and every > 0
        and _interval(float(times[-1]), every) == _interval(float(times[-2]), every)
    )


def _copy(source: h5py.Dataset, target: h5py.Dataset, rows: int) -> None:
    target.resize(rows, axis=0)
    for start in range(0, rows, _COPY_ROWS):
        stop = min(start + _COPY_ROWS, rows)
        values = source[start:stop]
        if values.dtype.names != target.dtype.names:  # written before there were all columns
            whole = np.zeros(len(values), target.dtype)
            for name in values.dtype.names:
                whole[name] = values[name]
            values = whole
        target[start:stop] = values
