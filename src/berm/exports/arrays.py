"""NPZ: all frames in NumPy arrays, for `numpy.load`.

Grains, frame after frame (frame k has the rows row[k] : row[k + 1]):

    time (frames,) s            position (rows, 3) m        velocity (rows, 3) m/s
    step (frames,)              radius (rows,) m            born (rows,) s
    frame (frames,)             tag (rows,)                 overlap (rows,) m
    row (frames + 1,)           material (rows,)            force (rows,) N

`frame` are numbers in the recording; `material` counts in `material_names`; what was not recorded
is not there.  Bodies, NaN where one is not there yet:

    body_names, body_material (bodies,)
    body_position, body_velocity, body_angular_velocity, body_force, body_torque (frames, bodies, 3)
    body_rotation (frames, bodies, 3, 3): from the body's frame to the world's
    body_vertices (v, 3) m in the body's frame, body_faces (f, 3): body b has the vertices
    body_vertex_row[b] : body_vertex_row[b + 1] and the faces body_face_row[b] : ...[b + 1], whose
    numbers count from the body's first vertex

`units` holds the units of the arrays of grains as JSON.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.exports.base import FORMATS
from berm.exports.selection import OF_BODY, UNITS, Selection

Array = NDArray[Any]


@FORMATS.register("npz")
@dataclass(frozen=True)
class Npz:
    """Arrays in an uncompressed .npz, written frame by frame."""

    def paths(self, out: Path, selection: Selection) -> list[Path]:
        """Return the one file."""
        return [out]

    def write(self, selection: Selection, paths: list[Path]) -> None:
        """Write the small arrays, then each array of the grains in a pass over the frames."""
        with zipfile.ZipFile(paths[0], "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, array in (_frames(selection) | _bodies(selection)).items():
                _put(archive, name, array.shape, array.dtype, [array])
            names = selection.names
            for turn, name in enumerate(names):
                parts = (getattr(f, name) for f in selection.read(turn, len(names)))
                like = getattr(selection.recording.frame(selection.frames[0]), name)
                shape = (int(selection.counts.sum()), *like.shape[1:])
                _put(archive, name, shape, like.dtype, parts)


def _frames(selection: Selection) -> dict[str, Array]:
    recording, frames = selection.recording, selection.frames
    units = {name: UNITS[name] for name in selection.names}
    return {
        "time": selection.times,
        "step": recording.steps[frames],
        "frame": np.array(frames),
        "row": np.concatenate([[0], np.cumsum(selection.counts)]),
        "material_names": np.array(selection.material_names, dtype=np.str_),
        "units": np.array(json.dumps(units)),
    }


def _bodies(selection: Selection) -> dict[str, Array]:
    bodies = selection.bodies
    if not bodies:
        return {}
    surfaces = [body.surface for body in bodies]
    out: dict[str, Array] = {
        "body_names": np.array([body.name for body in bodies], dtype=np.str_),
        "body_material": np.array([body.material for body in bodies]),
        "body_vertices": np.concatenate([surface.vertices for surface in surfaces]),
        "body_faces": np.concatenate([surface.faces for surface in surfaces]),
        "body_vertex_row": np.cumsum([0, *(len(surface.vertices) for surface in surfaces)]),
        "body_face_row": np.cumsum([0, *(len(surface.faces) for surface in surfaces)]),
    }
    for name in OF_BODY:
        shape = (3, 3) if name == "rotation" else (3,)
        out[f"body_{name}"] = np.full((len(selection), len(bodies), *shape), np.nan)
    for k, number in enumerate(selection.frames):
        poses = selection.recording.body_frames(number)
        for b, body in enumerate(bodies):
            for name in OF_BODY if body.name in poses else ():
                out[f"body_{name}"][k, b] = getattr(poses[body.name], name)
    return out


def _put(
    archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], dtype: Any, parts: Iterable[Array]
) -> None:
    """Write an array whose rows come in parts."""
    described = np.lib.format.dtype_to_descr(np.dtype(dtype))
    header = {"descr": described, "fortran_order": False, "shape": shape}
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array_header_2_0(file, header)
        for part in parts:
            file.write(np.ascontiguousarray(part).tobytes())
