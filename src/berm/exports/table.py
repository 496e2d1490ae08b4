"""CSV: `out.csv` with a row for each grain and frame, `out_bodies.csv` for each body and frame.

Columns, with units in the header:  frame (number in the recording), time, tag, material (its
name), radius, x, y, z, then what was recorded of vx, vy, vz, born, overlap and force.  Bodies:
frame, time, body, material, x, y, z, qw, qx, qy, qz (rotation as a unit quaternion), velocity vx to
vz, angular velocity wx to wz, force fx to fz and torque tx to tz about the body's origin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

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
    """One row a grain and frame, and a second file for the bodies."""

    def paths(self, out: Path, selection: Selection) -> list[Path]:
        """Return the grains' file and, where there are bodies, theirs."""
        beside = [out.with_name(f"{out.stem}_bodies{out.suffix}")] if selection.bodies else []
        return [out, *beside]

    def write(self, selection: Selection, paths: list[Path]) -> None:
        """Write both files in one pass over the frames."""
        names = [_quoted(name) for name in selection.material_names]
        with ExitStack() as stack:
            files = [stack.enter_context(_open(path)) for path in paths]
            files[0].write(",".join(_grain_header(selection.fields)) + "\n")
            if len(files) > 1:
                files[1].write(",".join(_body_header()) + "\n")
            for number, frame in zip(selection.frames, selection, strict=True):
                files[0].writelines(_grain_rows(number, frame, selection.fields, names))
                if len(files) > 1:
                    files[1].writelines(_body_rows(number, frame, selection, names))


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
    number: int, frame: Frame, fields: Sequence[str], names: Sequence[str]
) -> Iterator[str]:
    columns: list[Array] = [frame.tag, frame.radius, *frame.position.T]
    for name in fields:
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


def _quoted(text: str) -> str:
    """Return text for a cell: in quotes where it would be taken for several."""
    if any(mark in text for mark in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
