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
from typing import TYPE_CHECKING, Any, NoReturn

import h5py
import numpy as np

from berm.core.errors import InputError, SimulationError, StorageError
from berm.core.materials import Material, material
from berm.io import checkpoint, ground, layout, storage
from berm.io.continued import CHUNKS, TIME_SLACK, interval, keep_until, make_tables
from berm.io.lock import Lock
from berm.io.reading import BodyFrame, Frame, Recording

if TYPE_CHECKING:
    from berm.core.report import StepReport
    from berm.world.terrain.terrain import Terrain
    from berm.world.world import World

__all__ = ["BodyFrame", "Frame", "Recorder", "Recording"]

_A_GRAIN, _A_BODY = 80, 256  # bytes that a frame may take, beside whole chunks


class Recorder:
    """Writes every `every` seconds of simulated time a frame, and every step's scalars.

    every: seconds of simulated time between frames; 0 records each step.
    fields: what a frame holds besides tags, radii, materials and times of birth: any of position
        (always there), velocity, bodies, cloths, ground, overlap, force and rotation.
    append: keep the frames of an existing file that are not later than the world's time at
        `start` and go on after them (a later frame belongs to a run that was given up).
    lock: held by the caller; without one, the recorder keeps other writers off the path itself.

    A disk without room ends the recording with a StorageError before a frame is begun, while
    `spare` bytes are left for a checkpoint; what is written already can be read.
    """

    spare = 0  # bytes that are to stay free on the disk

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: float = 1 / 30,
        fields: Iterable[str] = layout.USUAL_FIELDS,
        *,
        scene: str = "",
        parameters: Mapping[str, Any] | Any = None,
        append: bool = False,
        lock: Lock | None = None,
    ) -> None:
        if not (math.isfinite(every) and every >= 0):
            raise InputError("recorder's every", every, "seconds >= 0 (0 = each step)")
        self.path, self.every = Path(path), float(every)
        self.fields = layout.check_fields(fields, "recorder's field")
        self.scene, self.parameters, self.append = scene, parameters, append
        self.frames = 0
        self._lock, self._own_lock = lock or Lock(self.path), lock is None
        self._failed = ""  # why nothing can be written any more
        self._file: h5py.File | None = None
        self._rows: dict[str, int] = {}
        self._steps: list[tuple[list[float], dict[str, float]]] = []
        self._extra: dict[str, int] = {}
        self._bodies: list[str] = []
        self._cloths: list[str] = []
        self._materials: list[Any] = []
        self._terrain = ""  # name of the one that the file knows
        self._ground = ground.GroundWriter()
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
        if self._failed:
            raise StorageError(self._failed)
        self._check_solver(world)
        self._make_folder()
        if self._own_lock:
            self._lock.acquire()
        try:
            self._open(world)
        except BaseException:
            if self._file is None:
                self._unlock()
            raise

    def _make_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError("recording cannot be written", str(self.path), str(error)) from error

    def _unlock(self) -> None:
        if self._own_lock:
            self._lock.release()

    def _open(self, world: World) -> None:
        self._check_room(world)
        if self.append and self.path.exists():
            file = self._go_on(float(world.time))
        else:
            file = self._create(world)
        self._tables = dict(file.items())
        self._rows = {name: table.shape[0] for name, table in file.items()}
        self.frames = self._rows["frames"]
        try:
            try:
                file.swmr_mode = True
            except (OSError, ValueError, RuntimeError):  # a file system without it: flushed frames
                file.flush()
        except (OSError, RuntimeError) as error:
            self._give_up(file, error)
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
        self._plan_next(self._last_time)
        if self.frames == 0 or (self.due(float(world.time)) and world.time > self._last_time):
            self._write_frame(world)  # the first, or one that found no room when it was due
        self._plan_next(float(world.time))

    def due(self, time: float) -> bool:
        """Return whether a frame is to be written at this simulated time (s)."""
        return self.every == 0 or time >= (self._next - TIME_SLACK) * self.every

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
            self._let_go()
            self.append = True  # a second run with this recorder goes on

    def _let_go(self) -> None:
        """Close the file and give the lock up."""
        file, self._file, self._world = self._file, None, None
        self._tables.clear()
        try:
            if file is not None:
                file.close()
        except (OSError, RuntimeError) as error:
            self._give_up(file, error)
        finally:
            self._unlock()

    @property
    def failure(self) -> Path:
        """Where the state of a world that fails is written."""
        return self.path.with_name(f"{self.path.stem}-failed.npz")

    def save_failure(self, world: World, error: str) -> Path | None:
        """Write the state of a world that failed beside the recording; return where, if it could.

        `checkpoint.load` reads it; a world takes it back only while all numbers are finite.
        """
        path = self.failure
        about = {"scene": self.scene, "error": error, "time": float(world.time)}
        try:
            checkpoint.save(world, path, about)
        except (OSError, InputError, StorageError):
            return None
        return path

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
            self.failure.unlink(missing_ok=True)  # of a run that this one replaces
            file = h5py.File(self.path, "w", libver="latest", locking="best-effort")
        except OSError as error:
            raise InputError("recording cannot be written", str(self.path), str(error)) from error
        make_tables(file, self.fields)
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

    def _go_on(self, time: float) -> h5py.File:
        """Cut the existing file after `time`, take notice of what it holds, and open it."""
        old = keep_until(self.path, time)
        self.fields, self._last_time, self._wall_before = old.fields, old.last_time, old.wall
        self._bodies, self._cloths, self._materials = old.bodies, old.cloths, old.materials
        self._terrain, self._ground = old.terrain, ground.GroundWriter()
        self._extra, self._population = old.extra, None
        return h5py.File(self.path, "r+", libver="latest", locking="best-effort")

    # ------------------------------------------------------------------ writing

    def _append(self, name: str, values: np.ndarray) -> int:
        """Append rows to a dataset, send them to the file, and return the first new row."""
        start, table = self._rows[name], self._tables[name]
        if len(values):
            try:
                table.resize(start + len(values), axis=0)
                table[start:] = values
                table.flush()
            except (OSError, RuntimeError) as error:
                self._give_up(self._file, error)
            self._rows[name] = start + len(values)
        return start

    def _check_room(self, world: World) -> None:
        """Refuse to begin what the disk has no room for, while all is whole."""
        needed = CHUNKS + _A_GRAIN * world.grains.n + self.spare
        needed += _A_BODY * (len(world.bodies) + sum(len(c.position) for c in world.cloths))
        needed += layout.TABLES["steps"][0].itemsize * len(self._steps)
        terrain = getattr(world, "terrain", None)
        needed += 0 if terrain is None else ground.COLUMN.itemsize * terrain.heights.size
        left = storage.room(self.path)
        if left < needed:
            raise StorageError(
                f"no room left to record to {self.path}: {left / 1e6:.1f} MB are free, the next "
                f"frame and what follows may take {needed / 1e6:.1f} MB; free some, or record "
                "elsewhere or less often"
            )

    def _give_up(self, file: h5py.File | None, error: BaseException) -> NoReturn:
        """Leave the file as it is on the disk, and tell why nothing more can be written."""
        self._file = self._world = None
        self._tables.clear()
        if file is not None:
            storage.abandon(file)
        self._unlock()
        kept = (
            f"{self.frames} frames up to t = {self._last_time:.6g} s" if self.frames else "no frame"
        )
        self._failed = (
            f"recording {self.path} cannot be written any more: {storage.reason(error)}; it holds "
            + kept
        )
        raise StorageError(self._failed) from error

    def _log(self, entry: dict[str, Any]) -> None:
        line = (json.dumps(entry) + "\n").encode()
        self._append("log", np.frombuffer(line, dtype=np.uint8))

    def _write_frame(self, world: World) -> None:
        self._check_room(world)
        grains = world.grains
        order = np.argsort(np.asarray(grains.tag)[: grains.n], kind="stable")
        terrain = getattr(world, "terrain", None)
        if terrain is not None:
            order = order[~terrain.shell(world)[order]]
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
        if terrain is not None and "ground" in self.fields:
            self._write_ground(terrain, world, frame)
        self._write_steps()
        frame["time"] = float(world.time)
        self._append("frames", frame)
        self._last_time, self.frames = float(world.time), self.frames + 1

    def _write_grain_fields(self, world: World, order: np.ndarray) -> None:
        """Write what only the solver knows of each grain, as far as it is wanted."""
        wanted = [name for name in layout.GRAIN_FIELDS if name in self.fields]
        if not wanted:
            return
        solver: Any = world.solver
        known = solver.grain_fields(world)
        for name in wanted:
            values = np.asarray(known.get(name, ()))
            if values.shape != (world.grains.n,):
                what = f"solver {solver.name!r}: grain_fields()[{name!r}] has shape"
                raise SimulationError(f"{what} {values.shape}, not ({world.grains.n},)")
            self._append(name, values[order])

    def _write_materials(self, world: World) -> None:
        """Log materials that are new, or that were changed while running."""
        for index, one in enumerate(_materials(world)):
            described = layout.plain(one)
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
                kind = _materials(world).index(_of(cloth))
                described = layout.describe_cloth(cloth, kind, self._write_array)
                self._log({"event": "cloth", "id": len(self._cloths), **described})
                self._cloths.append(cloth.name)
            self._append("cloths", cloth.position)
        return start

    def _write_ground(self, terrain: Terrain, world: World, frame: np.ndarray) -> None:
        if terrain.name != self._terrain:
            self._log({"event": "terrain", **ground.describe(terrain)})
            self._terrain = terrain.name
        for name, value in self._ground.write(terrain, world, self._append).items():
            frame[name] = value

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
        if self.every > 0 and math.isfinite(time):
            self._next = interval(time, self.every) + 1

    def _wall(self) -> float:
        """Return seconds of wall time spent in this run and in those that it continues."""
        return self._wall_before + clock.perf_counter() - self._wall_start


def _materials(world: World) -> list[Any]:
    """Return the world's materials, and those of cloth that no step has added yet."""
    known = list(world.materials)
    for cloth in world.cloths:
        if _of(cloth) not in known:
            known.append(_of(cloth))
    return known


def _of(cloth: Any) -> Material:
    return material(cloth.material) if isinstance(cloth.material, str) else cloth.material


def _rotations(world: World) -> np.ndarray:
    """Return the quaternion (n, 4) of the body that each grain belongs to; 1 for single grains."""
    out = np.tile(np.array([1.0, 0.0, 0.0, 0.0]), (world.grains.n, 1))
    if world.clumps.n:
        owner = world.grains.owner[: world.grains.n]
        out[owner >= 0] = world.clumps.q[owner[owner >= 0]]
    return out
