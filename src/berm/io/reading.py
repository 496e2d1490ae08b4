"""Reading recordings: finished ones, ones that are being written, and ones whose run died."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from berm.core.display import Shown
from berm.core.errors import InputError
from berm.core.shapes import Shape
from berm.io import layout
from berm.io.ground import GroundFrame, GroundReader


@dataclass(frozen=True)
class BodyFrame:
    """A body at one time: pose, velocity, and what the grains exerted on it in the last step."""

    name: str
    position: np.ndarray  # (3,) m
    rotation: np.ndarray  # (3, 3) body to world
    velocity: np.ndarray  # (3,) m/s
    angular_velocity: np.ndarray  # (3,) rad/s
    force: np.ndarray  # (3,) N
    torque: np.ndarray  # (3,) N m, about the body's origin
    super_body: int = -1  # tag of the body that leads what it is merged into; 0: the ground


@dataclass(frozen=True)
class Frame:
    """All grains, in the order of their tags, and all bodies at one time."""

    time: float  # s
    step: int
    position: np.ndarray  # (n, 3) float32, m
    velocity: np.ndarray | None  # (n, 3) float32, m/s; None, like others, if not recorded
    radius: np.ndarray  # (n,) float32, m
    tag: np.ndarray  # (n,) int64
    material: np.ndarray  # (n,) int32, index into Recording.materials
    born: np.ndarray  # (n,) float32, s: when the grain came into the world
    overlap: np.ndarray | None = None  # (n,) float32, m, the largest at each grain
    force: np.ndarray | None = None  # (n,) float32, N, sum of its contact forces' sizes
    rotation: np.ndarray | None = None  # (n, 4) float32, quaternion of the compound grain
    bodies: dict[str, BodyFrame] = field(default_factory=dict)
    cloths: dict[str, np.ndarray] = field(default_factory=dict)  # (v, 3) float32, m: vertices
    ground: GroundFrame | None = None  # of a terrain

    def __len__(self) -> int:
        return len(self.tag)


class Recording(Shown):
    """A recording, read lazily: `len`, `times`, `frame(k)`, iteration, and `columns`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.file = _open(self.path)
        self._ground = GroundReader()
        try:
            self._check_format()
            self.refresh()
        except BaseException:
            self.file.close()
            raise

    # ------------------------------------------------------------------ what the run was

    def _check_format(self) -> None:
        found = self.file.attrs.get("format", "")
        if found != layout.FORMAT:
            said = found if found else "an HDF5 file of another program"
            raise InputError("not a recording of berm", said, layout.FORMAT, str(self.path))
        needed = [name for name in layout.TABLES if name not in layout.OPTIONAL_TABLES]
        missing = [name for name in needed if name not in self.file]
        if missing:
            raise InputError(
                "recording lacks", missing, "a recording with all its datasets", str(self.path)
            )

    def _json(self, name: str) -> Any:
        return json.loads(str(self.file.attrs[name]))

    @property
    def version(self) -> str:
        """Version of berm that wrote the file."""
        return str(self.file.attrs["berm"])

    @property
    def scene(self) -> str:
        """Name of the scene."""
        return str(self.file.attrs["scene"])

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the scene."""
        return dict(self._json("parameters"))

    @property
    def solver(self) -> dict[str, Any]:
        """The solver's name and options."""
        return dict(self._json("solver"))

    @property
    def machine(self) -> dict[str, Any]:
        """The machine that the run was made on."""
        return dict(self._json("machine"))

    @property
    def fields(self) -> list[str]:
        """What was recorded of each frame."""
        return list(self._json("fields"))

    @property
    def seed(self) -> Any:
        """Seed of the world's random numbers."""
        return self._json("seed")

    @property
    def dt(self) -> float:
        """Time step (s)."""
        return float(self.file.attrs["dt"])

    @property
    def gravity(self) -> np.ndarray:
        """Gravity (m/s^2)."""
        return np.asarray(self.file.attrs["gravity"], dtype=np.float64)

    def _read_log(self) -> None:
        log = self.file["log"]
        log.refresh()
        text = log[:].tobytes().decode("utf-8", errors="replace")
        entries = self.log = [e for e in map(_parse, text.split("\n")[:-1]) if e is not None]
        self.bodies = [e for e in entries if e.get("event") == "body"]
        self.cloths = [e for e in entries if e.get("event") == "cloth"]
        terrains = [e for e in entries if e.get("event") == "terrain"]
        self.terrain: dict[str, Any] | None = terrains[0] if terrains else None
        known = {e["index"]: e["material"] for e in entries if e.get("event") == "material"}
        self.materials = [known[k] for k in sorted(known)]
        self.notes = [e for e in entries if e.get("event") not in layout.EVENTS]
        self.extra_names = [e["name"] for e in entries if e.get("event") == "extra"]
        last: dict[str, Any] = next(
            (e for e in reversed(entries) if e.get("event") in ("start", "close")), {}
        )
        self.complete = last.get("event") == "close" and not last.get("error")
        self.error = str(last.get("error", ""))

    def shape_array(self, reference: dict[str, Any]) -> np.ndarray:
        """Return the array that a body's shape names as {"array": [...]}."""
        start, shape, kind = reference["array"]
        values = self.file["shapes"][start : start + int(np.prod(shape))].reshape(shape)
        return np.asarray(values.astype(np.int64) if kind in "iu" else values)

    def shape(self, name: str) -> Shape:
        """Return the shape of the body called `name`, in the body's own frame (m)."""
        for body in self.bodies:
            if body["name"] == name:
                return layout.shape_from(body["shape"], self.shape_array)
        known = ", ".join(body["name"] for body in self.bodies) or "none: no body was recorded"
        raise InputError("recorded body", name, known, str(self.path))

    def cloth_faces(self, name: str) -> np.ndarray:
        """Return the faces (f, 3) of the cloth called `name`: numbers of its vertices."""
        for cloth in self.cloths:
            if cloth["name"] == name:
                return self.shape_array(cloth["faces"])
        known = ", ".join(cloth["name"] for cloth in self.cloths) or "none: no cloth was recorded"
        raise InputError("recorded cloth", name, known, str(self.path))

    # ------------------------------------------------------------------ frames

    def refresh(self) -> int:
        """Look again at a file that is being written and return the number of whole frames."""
        # frames first: the writer writes them last, so all that they list is there by now
        self.file["frames"].refresh()
        self._index: np.ndarray = self.file["frames"][:]
        self.times: np.ndarray = self._index["time"]
        for dataset in self.file.values():
            if dataset.name != "/frames":
                dataset.refresh()
        self._read_log()
        return len(self.times)

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[Frame]:
        for k in range(len(self)):
            yield self.frame(k)

    def __getitem__(self, k: int) -> Frame:
        return self.frame(k)

    @property
    def counts(self) -> np.ndarray:
        """Number of grains of each frame, (len,) int64."""
        return np.asarray(self._index["grains"])

    @property
    def steps(self) -> np.ndarray:
        """Number of the step of each frame, (len,) int64."""
        return np.asarray(self._index["step"])

    def _row(self, k: int) -> np.void:
        """Return what `frames` says of frame k."""
        count = len(self)
        if not -count <= k < count:
            allowed = f"{-count} to {count - 1}" if count else "none: no frame was recorded"
            raise InputError("frame number", k, allowed, str(self.path))
        row: np.void = self._index[k]
        return row

    def frame(self, k: int) -> Frame:
        """Return frame k; negative k counts from the end."""
        index = self._row(k)
        rows = slice(int(index["row"]), int(index["row"] + index["grains"]))
        start = int(index["population"])
        try:
            population = self.file["population"][start : start + int(index["grains"])]
            return Frame(
                time=float(index["time"]),
                step=int(index["step"]),
                position=self.file["position"][rows],
                **{name: population[name].copy() for name in population.dtype.names},
                **{name: self._optional(name, rows) for name in layout.OPTIONAL_OF_GRAINS},
                bodies=self.body_frames(k),
                cloths=self.cloth_frames(k),
                ground=self.ground_frame(k),
            )
        except OSError as error:
            raise InputError(
                f"frame {k} cannot be read", str(error), "a whole file", str(self.path)
            ) from error

    def _optional(self, name: str, rows: slice) -> Any:
        return self.file[name][rows] if name in self.file else None

    def body_frames(self, k: int) -> dict[str, BodyFrame]:
        """Return the bodies of frame k alone, by name."""
        index, out = self._row(k), {}
        start = int(index["body_row"])
        for row in self.file["bodies"][start : start + int(index["bodies"])]:
            name = self.bodies[row["id"]]["name"]
            out[name] = BodyFrame(name, **{key: row[key] for key in row.dtype.names[1:]})
        return out

    def cloth_rows(self, k: int) -> slice:
        """Return which rows of `cloths` frame k has; none in a recording without them."""
        index = self._row(k)
        if "cloths" not in (index.dtype.names or ()):
            return slice(0, 0)
        sizes = [cloth["vertices"] for cloth in self.cloths[: int(index["cloths"])]]
        return slice(int(index["cloth_row"]), int(index["cloth_row"]) + sum(sizes))

    def cloth_frames(self, k: int) -> dict[str, np.ndarray]:
        """Return the vertices (v, 3) in m of the cloths of frame k alone, by name."""
        rows, out = self.cloth_rows(k), {}
        if rows.stop > rows.start:
            vertices, start = self.file["cloths"][rows], 0
            for cloth in self.cloths[: int(self._row(k)["cloths"])]:
                out[cloth["name"]] = vertices[start : start + cloth["vertices"]]
                start += cloth["vertices"]
        return out

    def ground_ends(self, k: int) -> tuple[int, int]:
        """Return where the rows of `ground` and of `ledger` end that frame k has."""
        index = self._row(k)
        if "ground" not in (index.dtype.names or ()):
            return 0, 0
        return (
            int(index["ground_row"] + index["ground"]), int(index["ledger_row"] + index["soils"])
        )  # fmt: skip

    def ground_frame(self, k: int) -> GroundFrame | None:
        """Return the ground of frame k alone; None where none was recorded."""
        if self.terrain is None or self.ground_ends(k)[0] == 0:
            return None
        nx, ny = self.terrain["shape"]
        return self._ground.read(self._row(k), (nx, ny), self.file)

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Time series of the step reports, one entry a step (time in s, `wall` in s)."""
        steps = self.file["steps"][:]
        out = {name: steps[name].copy() for name in layout.STEP_COLUMNS}
        out.update({name: steps["extra"][:, k] for k, name in enumerate(self.extra_names)})
        return out

    # ------------------------------------------------------------------ closing

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _parse(line: str) -> dict[str, Any] | None:
    """Return a line of the log, or None where a dying writer left half of one."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def _open(path: Path) -> h5py.File:
    """Open a finished file as it is, and one with a living or killed writer in reader mode."""
    if not path.is_file():
        raise InputError("no such recording", str(path), "a file that berm recorded")
    if not h5py.is_hdf5(path):
        raise InputError("not a recording", str(path), "an HDF5 file that berm wrote")
    try:
        return h5py.File(path, "r", locking="best-effort")
    except OSError as error:
        if "truncated" in str(error):
            raise InputError("recording is truncated", str(path), "a whole file") from error
    try:
        file = h5py.File(path, "r", swmr=True, locking="best-effort")
    except OSError as error:
        raise InputError("recording cannot be opened", str(path), str(error)) from error
    # In this mode HDF5 reads zeros beyond the end of a cut file: look ourselves.
    end = _end_of_chunks(file)
    size = path.stat().st_size
    if end > size:
        file.close()
        allowed = f"at least {end} bytes, not {size}"
        raise InputError("recording is truncated", str(path), allowed)
    return file


def _end_of_chunks(file: h5py.File) -> int:
    ends = [0]

    def look(_: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and item.chunks and item.size:
            item.id.chunk_iter(lambda chunk: ends.append(chunk.byte_offset + chunk.size))

    file.visititems(look)
    return max(ends)
