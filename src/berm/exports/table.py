"""CSV: a row for each grain and frame, and beside it for each body and each vertex of cloth.

`out.csv` has the grains, `out_bodies.csv` the bodies, `out_cloths.csv` the cloths; units stand in
the header.  Grains: frame (number in the recording), time, tag, material (its name), radius, x, y,
z, then what was recorded of vx, vy, vz, born, overlap and force.  Bodies: frame, time, body,
material, x, y, z, qw, qx, qy, qz (rotation as a unit quaternion), velocity vx to vz, angular
velocity wx to wz, force fx to fz and torque tx to tz about the body's origin.  Cloths: frame, time,
cloth, material, vertex (its number), x, y, z.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from berm.exports.base import FORMATS
from berm.exports.poses import quaternions
from berm.exports.selection import CHOICE, Selection
from berm.io.reading import Frame

Array = NDArray[Any]
SINGLE = "%.9g"  # digits that give the same bits back
AXES = "xyz"
COLUMNS = (  # of BodyFrame, the columns' names and their unit
    ("velocity", "v", "m/s"), ("angular_velocity", "w", "rad/s"), ("force", "f", "N"),
    ("torque", "t", "N m"),
)  # fmt: skip


@FORMATS.register("csv")
@dataclass(frozen=True)
class Csv:
    """One row a grain and frame, and files of their own for bodies and cloths."""

    def paths(self, out: Path, selection: Selection) -> list[Path]:
        """Return the grains' file and, where there are bodies or cloths, theirs."""
        return [out.with_name(out.stem + table.suffix + out.suffix) for table in _tables(selection)]

    def write(self, selection: Selection, paths: list[Path]) -> None:
        """Write all files in one pass over the frames."""
        names = [_quoted(name) for name in selection.material_names]
        tables = _tables(selection)
        with ExitStack() as stack:
            files = [stack.enter_context(_open(path)) for path in paths]
            for file, table in zip(files, tables, strict=True):
                file.write(",".join(table.header) + "\n")
            for number, frame in zip(selection.frames, selection, strict=True):
                for file, table in zip(files, tables, strict=True):
                    file.writelines(table.rows(number, frame, selection, names))


class _Table(NamedTuple):
    """A file: the end of its name, its columns, and the rows of a frame."""

    suffix: str
    header: list[str]
    rows: Callable[[int, Frame, Selection, Sequence[str]], Iterator[str]]


def _tables(selection: Selection) -> list[_Table]:
    tables = [_Table("", _grain_header(selection.fields), _grain_rows)]
    if selection.bodies:
        tables.append(_Table("_bodies", _body_header(), _body_rows))
    if selection.cloths:
        tables.append(_Table("_cloths", _cloth_header(), _cloth_rows))
    return tables


def _open(path: Path) -> IO[str]:
    return path.open("w", encoding="utf-8", newline="")  # names keep their line ends


def _grain_header(fields: Sequence[str]) -> list[str]:
    out = ["frame", "time (s)", "tag", "material", "radius (m)", *(f"{a} (m)" for a in AXES)]
    for name in fields:
        if name == "velocity":
            out += [f"v{a} (m/s)" for a in AXES]
        elif name == "rotation":
            out += ["qw", "qx", "qy", "qz"]
        else:
            out.append(f"{name} ({CHOICE[name]})")
    return out


def _grain_rows(
    number: int, frame: Frame, selection: Selection, names: Sequence[str]
) -> Iterator[str]:
    columns: list[Array] = [frame.tag, frame.radius, *frame.position.T]
    for name in selection.fields:
        columns += list(np.atleast_2d(getattr(frame, name).T))
    start = f"{number},{frame.time!r}"
    safe = [name.replace("%", "%%") for name in names]
    formats = [f"{start},%d,{name}," for name in safe]
    rest = ",".join([SINGLE] * (len(columns) - 1)) + "\n"
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for material, row in zip(frame.material.tolist(), rows, strict=True):
        yield (formats[material] + rest) % row


def _body_header() -> list[str]:
    out = ["frame", "time (s)", "body", "material", *(f"{a} (m)" for a in AXES)]
    out += ["qw", "qx", "qy", "qz"]
    return out + [f"{short}{a} ({unit})" for _, short, unit in COLUMNS for a in AXES]


def _body_rows(
    number: int, frame: Frame, selection: Selection, names: Sequence[str]
) -> Iterator[str]:
    for body in selection.bodies:
        pose = frame.bodies.get(body.name)
        if pose is None:
            continue
        values = [*pose.position, *quaternions(pose.rotation)[0]]
        for name, _, _ in COLUMNS:
            values += [*getattr(pose, name)]
        texts = [str(number), repr(frame.time), _quoted(body.name), names[body.material]]
        yield ",".join(texts + [repr(float(value)) for value in values]) + "\n"


def _cloth_header() -> list[str]:
    return ["frame", "time (s)", "cloth", "material", "vertex", *(f"{a} (m)" for a in AXES)]


def _cloth_rows(
    number: int, frame: Frame, selection: Selection, names: Sequence[str]
) -> Iterator[str]:
    for cloth in selection.cloths:
        start = f"{number},{frame.time!r},{_quoted(cloth.name)},{names[cloth.material]},"
        for vertex, place in enumerate(frame.cloths.get(cloth.name, np.zeros((0, 3))).tolist()):
            yield start + f"{vertex}," + ",".join(SINGLE % value for value in place) + "\n"


def _quoted(text: str) -> str:
    """Return text for a cell: in quotes where it would be taken for several."""
    if any(mark in text for mark in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
