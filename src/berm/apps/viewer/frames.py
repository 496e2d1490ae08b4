"""Frames: a moment and a stage as the bytes and the JSON that a page draws from.

Positions take 6 bytes a grain, radius, material and scatter one each, and the quantity that is
drawn two: 11 bytes instead of the 52 that a moment holds. A vertex of cloth takes 12: the page
hands them to the graphics card as they are.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.apps.viewer.protocol import to_json
from berm.core.errors import InputError
from berm.core.shapes import HeightField
from berm.stage import colours, ground
from berm.stage.ground import GroundMoment
from berm.stage.stage import Moment, Stage

Array = NDArray[Any]

MAGIC = b"BRM1"
STEPS = 65535  # of a uint16
COARSE = 0.02  # of the smallest radius: a coarser step of the cube would be seen
SAMPLE = 5000  # values from which the range of the colours is taken
KINDS = {"uint8": "<u1", "uint16": "<u2", "float16": "<f2", "float32": "<f4", "uint32": "<u4"}


class MomentFrames:
    """The frames of one moment, by what they are coloured by; what they share is made once."""

    def __init__(self, moment: Moment, seq: int, stage: int, frame: int | None = None) -> None:
        self.seq = seq
        self._moment = moment = _without_lost(moment)
        self._made: dict[str, bytes] = {}
        origin, scale, position = _pack_positions(moment.position, moment.radius)
        low, step, radius = _pack_radii(moment.radius)
        cloths = {
            f"cloth {k}": vertices
            for k, vertices in enumerate(moment.cloths)
            if np.isfinite(vertices.sum(dtype=np.float64))  # else it is nowhere
        }
        self._header: dict[str, Any] = {
            "stream": "moment",
            "seq": seq,
            "stage": stage,
            "time": moment.time,
            "step": moment.step,
            "frame": frame,
            "n": len(moment),
            "origin": origin,
            "scale": scale,
            "radius_min": low,
            "radius_scale": step,
            "bodies": [
                {
                    "id": body.id,
                    "position": body.position,
                    "rotation": np.reshape(body.rotation, 9),
                    "force": body.force,
                    "torque": body.torque,
                }
                for body in moment.bodies
            ],
            "height": None,
            "rows": {name: len(vertices) for name, vertices in cloths.items()},
        }
        self._arrays = {
            "position": position,
            "radius": radius,
            "material": np.minimum(moment.material, 255).astype(np.uint8),
            "scatter": colours.scatter(moment.tag),
            **cloths,
        }

    def coloured_by(self, name: str) -> bytes:
        """Return the frame with the values of a colour mode, or without where there are none."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> bytes:
        if name not in colours.available(self._moment):
            name = "material"
        header = {**self._header, "colour": name, "value_scale": 1.0, "range": None}
        arrays = dict(self._arrays)
        if name == "merged":
            header["bodies"] = [
                {**told, "colour": _hex(colours.group_colour(body.group))}
                for told, body in zip(header["bodies"], self._moment.bodies, strict=True)
            ]
        elif name not in ("material", "id"):
            values = np.nan_to_num(colours.values(self._moment, name))
            stride = max(1, len(values) // SAMPLE)
            largest = float(np.abs(values).max(initial=0.0)) or 1.0
            header["value_scale"] = largest
            header["range"] = colours.nice_range(values[::stride], name)
            arrays["value"] = (values / np.float32(largest)).astype(np.float16)
        return pack(header, arrays)


def _hex(colour: tuple[int, int, int] | None) -> str | None:
    return None if colour is None else "#{:02x}{:02x}{:02x}".format(*colour)


def _without_lost(moment: Moment) -> Moment:
    """Return the moment without grains that are nowhere, such as a failed step may leave."""
    position = moment.position
    if np.isfinite(position.sum(dtype=np.float64)):
        return moment
    keep = np.isfinite(position).all(axis=1) & np.isfinite(moment.radius)
    columns = ("position", "radius", "material", "tag", "velocity", "overlap", "force", "age")
    known = {name: getattr(moment, name) for name in columns}
    kept = {name: value[keep] for name, value in known.items() if value is not None}
    return dataclasses.replace(moment, **kept)


def _pack_positions(position: Array, radius: Array) -> tuple[list[float], float, Array]:
    """Return origin, scale and values: uint16 in the cube around the grains, float32 if too coarse.

    The largest error is half a step, 1/131070 of the cube's edge.
    """
    if not len(position):
        return [0.0, 0.0, 0.0], 1.0, np.zeros((0, 3), np.uint16)
    # column by column: NumPy is ten times slower along an axis of three
    low = [float(position[:, k].min()) for k in range(3)]
    high = [float(position[:, k].max()) for k in range(3)]
    scale = max(b - a for a, b in zip(low, high, strict=True)) / STEPS
    if scale > COARSE * float(radius.min()):
        middle = np.median(position, axis=0)
        return middle.tolist(), 1.0, (position - middle).astype(np.float32)
    scale = scale or 1.0  # one grain, or all in one place
    packed = np.empty(position.shape, np.uint16)
    for k in range(3):
        steps = (position[:, k] - np.float32(low[k])) * np.float32(1.0 / scale)
        steps += np.float32(0.5)
        packed[:, k] = np.minimum(steps, STEPS, out=steps)
    return low, scale, packed


def _pack_radii(radius: Array) -> tuple[float, float, Array]:
    if not len(radius):
        return 0.0, 0.0, np.zeros(0, np.uint8)
    low, high = float(radius.min()), float(radius.max())
    step = (high - low) / 255.0
    if step <= 0.0:
        return low, 0.0, np.zeros(len(radius), np.uint8)
    return low, step, np.rint((radius - low) * (1.0 / step)).clip(0, 255).astype(np.uint8)


def pack(header: dict[str, Any], arrays: dict[str, Array]) -> bytes:
    """Return the envelope of a stream: magic, header with the places of the arrays, arrays."""
    listed, parts, offset = [], [], 0
    for name, array in arrays.items():
        kind = array.dtype.name
        data = np.ascontiguousarray(array, KINDS[kind]).tobytes()
        columns = array.shape[1] if array.ndim > 1 else 1
        listed.append({"name": name, "kind": kind, "columns": columns, "offset": offset})
        room = -len(data) % 4
        parts += [data, bytes(room)]
        offset += len(data) + room
    text = to_json({**header, "arrays": listed}).encode()
    text += b" " * (-len(text) % 4)
    return b"".join([MAGIC, struct.pack("<I", len(text)), text, *parts])


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return header and arrays of a frame, as a page reads them."""
    if data[:4] != MAGIC or len(data) < 8:
        raise InputError("frame", data[:4], f"bytes that begin with {MAGIC!r}")
    (length,) = struct.unpack("<I", data[4:8])
    header = json.loads(data[8 : 8 + length])
    arrays = {}
    for entry in header["arrays"]:
        rows = header.get("rows", {}).get(entry["name"], header["n"])
        count = rows * entry["columns"]
        start = 8 + length + entry["offset"]
        flat = np.frombuffer(data, KINDS[entry["kind"]], count, start)
        arrays[entry["name"]] = flat.reshape(-1, entry["columns"]) if entry["columns"] > 1 else flat
    return header, arrays


def positions(header: dict[str, Any], arrays: dict[str, Array]) -> Array:
    """Return the positions (n, 3) in m that a page draws."""
    found: Array = np.asarray(header["origin"]) + header["scale"] * arrays["position"].astype(float)
    return found


def height_frame(body: int, material: int, shape: HeightField, version: int) -> bytes:
    """Return the frame of a height field that has changed its shape since the stage was told."""
    header = {
        "stream": "height",
        "seq": version,
        "id": body,
        "version": version,
        "material": material,
        "n": shape.heights.size,
        "shape": shape.heights.shape,
        "origin": shape.origin,
        "spacing": [shape.cell, shape.cell],
    }
    return pack(header, {"height": shape.heights.astype(np.float32).ravel()})


def ground_frame(stage: Stage, now: GroundMoment, version: int) -> bytes:
    """Return the frame of a terrain's ground: heights, and the colour of each column."""
    land = stage.ground
    assert land is not None
    header = {
        "stream": "height",
        "seq": version,
        "id": land.body,
        "version": version,
        "material": stage.bodies[land.body].material,
        "n": now.heights.size,
        "shape": now.heights.shape,
        "origin": land.origin,
        "spacing": [land.cell, land.cell],
        "base": ground.base(land, now.heights),
    }
    dye = ground.colours(land, stage.materials, now.soil, now.loose)
    return pack(header, {"height": now.heights.ravel(), "colour": dye.reshape(-1, 3)})


def stage_json(stage: Stage, version: int) -> str:
    """Return the message that tells a page what does not change from frame to frame."""
    return to_json(
        {
            "type": "stage",
            "version": version,
            "bodies": [
                {
                    "id": body.id,
                    "name": body.name,
                    "material": body.material,
                    "kind": body.kind,
                    "mesh": body.mesh,
                    "ground": body.ground,
                    "glass": body.glass,
                }
                for body in stage.bodies
            ],
            "meshes": [
                {
                    "vertices": _base64(mesh.vertices, "<f4"),
                    "normals": _base64(mesh.normals, "<f4"),
                    "faces": _base64(mesh.faces, "<u4"),
                    "two_sided": mesh.two_sided,
                }
                for mesh in stage.meshes
            ],
            "cloths": [
                {
                    "id": cloth.id,
                    "name": cloth.name,
                    "material": cloth.material,
                    "faces": _base64(cloth.faces, "<u4"),
                }
                for cloth in stage.cloths
            ],
            "materials": [
                {"name": one.name, "colour": "#{:02x}{:02x}{:02x}".format(*one.colour)}
                for one in stage.materials
            ],
            "gravity": stage.gravity,
            "bounds": stage.bounds,
            "view": stage.view,
            "dt": stage.dt,
        }
    )


def _base64(array: Array, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, kind).tobytes()).decode("ascii")
