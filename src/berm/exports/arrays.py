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

Cloths, the same, but in the world's frame and moving:

    cloth_names, cloth_material (cloths,)
    cloth_position (frames, v, 3) m, NaN where a cloth is not there yet; cloth_faces (f, 3)
    cloth_vertex_row, cloth_face_row (cloths + 1,)

Ground of a terrain: ground_heights, ground_loose (frames, nx, ny) m; ground_x (nx,),
ground_y (ny,) m.

`units` holds the units of the arrays of grains as JSON.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.exports.base import FORMATS
from berm.exports.selection import OF_BODY, UNITS, BodyMesh, Selection
from berm.stage.stage import StageCloth

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
            _put_cloths(archive, selection)
            _put_ground(archive, selection)
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
    vertices = [body.surface.vertices for body in bodies]
    faces = [body.surface.faces for body in bodies]
    out = _named("body", bodies, [len(points) for points in vertices], faces)
    out["body_vertices"] = np.concatenate(vertices)
    for name in OF_BODY:
        shape = (3, 3) if name == "rotation" else (3,)
        out[f"body_{name}"] = np.full((len(selection), len(bodies), *shape), np.nan)
    for k, number in enumerate(selection.frames):
        poses = selection.recording.body_frames(number)
        for b, body in enumerate(bodies):
            for name in OF_BODY if body.name in poses else ():
                out[f"body_{name}"][k, b] = getattr(poses[body.name], name)
    return out


def _put_cloths(archive: zipfile.ZipFile, selection: Selection) -> None:
    cloths, recording = selection.cloths, selection.recording
    if not cloths:
        return
    last = recording.cloth_frames(selection.frames[-1])
    sizes = [len(last[cloth.name]) for cloth in cloths]
    for name, array in _named("cloth", cloths, sizes, [cloth.faces for cloth in cloths]).items():
        _put(archive, name, array.shape, array.dtype, [array])
    nowhere = {c.name: np.full((size, 3), np.nan) for c, size in zip(cloths, sizes, strict=True)}
    places = (
        np.concatenate(list((nowhere | recording.cloth_frames(k)).values())).astype(np.float32)
        for k in selection.frames
    )
    _put(archive, "cloth_position", (len(selection), sum(sizes), 3), np.float32, places)


def _put_ground(archive: zipfile.ZipFile, selection: Selection) -> None:
    land = selection.ground
    if land is None:
        return
    nx, ny = selection.ground_of(selection.frames[0]).heights.shape
    for name, origin, count in zip("xy", land.origin, (nx, ny), strict=True):
        values = origin + land.cell * np.arange(count)
        _put(archive, f"ground_{name}", values.shape, values.dtype, [values])
    for name in ("heights", "loose"):
        parts = (getattr(selection.ground_of(k), name) for k in selection.frames)
        _put(archive, f"ground_{name}", (len(selection), nx, ny), np.float32, parts)


def _named(
    kind: str,
    things: Sequence[BodyMesh] | Sequence[StageCloth],
    vertices: Sequence[int],
    faces: Sequence[Array],
) -> dict[str, Array]:
    """Return names, materials and faces of bodies or cloths, and where those of each begin."""
    return {
        f"{kind}_names": np.array([thing.name for thing in things], dtype=np.str_),
        f"{kind}_material": np.array([thing.material for thing in things]),
        f"{kind}_faces": np.concatenate(faces),
        f"{kind}_vertex_row": np.cumsum([0, *vertices]),
        f"{kind}_face_row": np.cumsum([0, *map(len, faces)]),
    }


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
