"""The HDF5 layout of a recording, shared by its writer and its reader.

    /            attributes: format, berm, scene, parameters, solver, dt, gravity, seed, precision,
                 fields, every, machine (lists and maps as JSON text)
    /log         bytes, one JSON object a line: materials, bodies, cloths, extra columns, start,
                 close, and whatever was noted while the run went on
    /frames      one record a frame: time, step, grains, row, population, bodies, body_row, cloths,
                 cloth_row (the last two are missing in files from before there was cloth), ground,
                 ground_row, soils, ledger_row (missing in files from before there was terrain)
    /position    rows of all frames, one after the other; /velocity, /overlap (m), /force (N) and
                 /rotation (quaternion w, x, y, z of the compound grain) the same, if recorded
    /population  records of tag, radius, material and time of birth (s); frames with the same
                 grains share them
    /bodies      records of all frames: id, pose, velocity, force and torque of each body, and what
                 it is merged into (the last is missing in files from before bodies were merged)
    /cloths      positions of the vertices of all cloths of all frames, one after the other
    /ground      records of column, height and thickness of loose soil (m): a whole ground, or the
                 columns of it that changed; see `ground.py`
    /ledger      records of all frames: mass of each soil in ground, live grains, waiting, left (kg)
    /steps       one record a step: the scalars of StepReport, `wall` (s), and `extra`, whose
                 columns (stage timers and others) are named in the log
    /shapes      values of the arrays of shapes (vertices, faces, heights) and of the cloths' faces,
                 named in the log

Frame k has the grain rows row[k] : row[k] + grains[k] and the population rows
population[k] : population[k] + grains[k], in the order of tags.  `frames` is written last: a frame
that it lists is whole.  All datasets exist from the start and only grow, which is what the
single-writer-multiple-readers mode of HDF5 needs to stay readable at every moment.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

import numpy as np

from berm.core.errors import InputError
from berm.core.shapes import Shape
from berm.io import ground

FORMAT = "berm recording 2"
EXTRA_WIDTH = 32
EVENTS = (
    "start",
    "close",
    "material",
    "body",
    "cloth",
    "terrain",
    "extra",
)  # of the log; all else are notes

FIELDS = (
    "position", "velocity", "bodies", "cloths", "ground", "overlap", "force", "rotation",
)  # of a frame  # fmt: skip
USUAL_FIELDS = FIELDS[:5]
GRAIN_FIELDS = ("overlap", "force")  # that only the solver knows
OPTIONAL_OF_GRAINS = ("velocity", *GRAIN_FIELDS, "rotation")
OPTIONAL_TABLES = {name: name for name in (*OPTIONAL_OF_GRAINS, "cloths", "ground")}  # with field
OPTIONAL_TABLES["ledger"] = "ground"

STEP_COLUMNS = (
    "time", "step", "grains", "contacts", "wall_contacts", "iterations", "substeps",
    "overlap_mean", "overlap_max", "kinetic_energy", "residual", "rebuilt", "wall",
)  # fmt: skip
_FRAME = [("time", "f8")] + [
    (name, "i8")
    for name in (
        "step", "grains", "row", "population", "bodies", "body_row", "cloths", "cloth_row",
        *ground.INDEX,
    )
]  # fmt: skip
_POPULATION = [("tag", "i8"), ("radius", "f4"), ("material", "i4"), ("born", "f4")]
_BODY: list[Any] = [
    ("id", "i8"), ("position", "f8", 3), ("rotation", "f8", (3, 3)), ("velocity", "f8", 3),
    ("angular_velocity", "f8", 3), ("force", "f8", 3), ("torque", "f8", 3),
    ("super_body", "i8"),
]  # fmt: skip
ABSENT = {"super_body": -1}  # of columns that older files do not have; all others: 0
_STEP: list[Any] = [(name, "f8") for name in STEP_COLUMNS] + [("extra", "f8", EXTRA_WIDTH)]

# dataset -> (dtype, shape of one row, rows in a chunk)
TABLES: dict[str, tuple[np.dtype[Any], tuple[int, ...], int]] = {
    "log": (np.dtype("u1"), (), 4096),
    "position": (np.dtype("f4"), (3,), 16384),
    "velocity": (np.dtype("f4"), (3,), 16384),
    "overlap": (np.dtype("f4"), (), 16384),
    "force": (np.dtype("f4"), (), 16384),
    "rotation": (np.dtype("f4"), (4,), 16384),
    "population": (np.dtype(_POPULATION), (), 8192),
    "bodies": (np.dtype(_BODY), (), 128),
    "cloths": (np.dtype("f4"), (3,), 4096),
    "ground": (ground.COLUMN, (), 4096),
    "ledger": (ground.LEDGER, (), 256),
    "steps": (np.dtype(_STEP), (), 128),
    "shapes": (np.dtype("f8"), (), 4096),
    "frames": (np.dtype(_FRAME), (), 512),
}


def check_fields(fields: Iterable[str], what: str) -> tuple[str, ...]:
    """Return the fields of a frame without repetition, position first; `what` names who asks."""
    wanted = tuple(dict.fromkeys(("position", *fields)))
    for name in wanted:
        if name not in FIELDS:
            raise InputError(what, name, ", ".join(FIELDS))
    return wanted


def plain(value: Any, array: Callable[[np.ndarray], Any] | None = None) -> Any:
    """Return `value` as what JSON can hold; arrays go through `array` (default: nested lists)."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return array(value) if array is not None and value.size > 16 else value.tolist()
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(mode="python"), array)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        public = [f.name for f in fields if not f.name.startswith("_")]
        return {name: plain(getattr(value, name), array) for name in public}
    if isinstance(value, Mapping):
        return {str(key): plain(item, array) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, array) for item in value]
    return str(value)


def to_json(value: Any) -> str:
    """Return `value` as JSON text."""
    return json.dumps(plain(value))


def describe_solver(solver: Any) -> dict[str, Any]:
    """Return a solver's name and options."""
    if solver is None or isinstance(solver, str):
        return {"name": str(solver or "")}
    name = getattr(solver, "name", None) or type(solver).__name__
    options = solver.options() if hasattr(solver, "options") else {}
    return {**plain(options), "name": str(name)}


def describe_body(body: Any, array: Callable[[np.ndarray], Any]) -> dict[str, Any]:
    """Return a body's name, material, shape and kind of motion; large arrays go through `array`."""
    shape = plain(body.shape, array)
    fields = shape if isinstance(shape, dict) else {"text": shape}
    return {
        "name": str(body.name),
        "material": plain(body.material),
        "shape": {"kind": type(body.shape).__name__.lower(), **fields},
        "motion": type(getattr(body, "motion", None)).__name__.lower(),
    }


def describe_cloth(cloth: Any, material: int, array: Callable[[np.ndarray], Any]) -> dict[str, Any]:
    """Return a cloth's name, material, number of vertices and thickness (m); faces by `array`."""
    return {
        "name": str(cloth.name),
        "material": material,
        "vertices": len(cloth.position),
        "faces": array(np.asarray(cloth.faces, np.int64)),
        "thickness": float(cloth.thickness),
    }


def shape_from(described: Mapping[str, Any], array: Callable[[dict[str, Any]], Any]) -> Shape:
    """Return the shape that `describe_body` described; `array` fetches what was put elsewhere."""
    kinds: dict[str, Any] = {kind.__name__.lower(): kind for kind in get_args(Shape)}
    kind = kinds.get(str(described.get("kind")))
    if kind is None:
        raise InputError("recorded shape", described.get("kind"), ", ".join(kinds))
    names = [field.name for field in dataclasses.fields(kind) if field.init]
    given = {name: described[name] for name in names if name in described}
    for name, value in given.items():
        if isinstance(value, dict) and "array" in value:
            given[name] = array(value)
    shape: Shape = kind(**given)
    return shape


def describe_machine() -> dict[str, Any]:
    """Return what a reader needs in order to judge timings: system, processor, versions."""
    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            cpu = next((s.split(":", 1)[1].strip() for s in lines if "model name" in s), cpu)
    except OSError:
        pass
    return {
        "system": platform.platform(),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def berm_version() -> str:
    """Return the version of the installed package, or of a source tree."""
    from importlib import metadata

    try:
        return metadata.version("berm")
    except metadata.PackageNotFoundError:
        return "0+source"
