"""Checkpoints: a world's whole state in one file, so that a run continues bit for bit.

The file is an uncompressed .npz: one .npy member an array, and `manifest.json` with all that is
not an array, the format's version, and a SHA-256 sum over manifest and arrays.  Nothing in it is
ever unpickled.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berm.core.errors import InputError, StorageError
from berm.io import layout
from berm.io.atomic import whole_files
from berm.io.storage import reason

if TYPE_CHECKING:
    from berm.world.world import World

FORMAT = "berm checkpoint"
VERSION = 2
_MANIFEST = "manifest.json"
_MARK = "$"  # a map with one key that starts so stands for something that JSON lacks


def save(
    world: World, path: str | os.PathLike[str], about: Mapping[str, Any] | None = None
) -> None:
    """Write the world's state; the file appears whole or not at all.

    about: anything that JSON holds and that is to be known before the world is built, such as the
        scene's name and parameters.
    """
    save_state(world.state(), path, about)


def save_state(
    state: Mapping[str, Any], path: str | os.PathLike[str], about: Mapping[str, Any] | None = None
) -> None:
    """Write a state (nested maps and lists of arrays and scalars) atomically."""
    path = Path(path)
    arrays: dict[str, np.ndarray] = {}
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "berm": layout.berm_version(),
        "about": layout.plain(dict(about or {})),
        "state": _pack(dict(state), arrays, "state"),
    }
    members = {name: _npy(array) for name, array in arrays.items()}
    manifest["sha256"] = _checksum(manifest, members)
    try:
        with whole_files(path) as (part,):
            _write(part, json.dumps(manifest), members)
    except OSError as error:
        what = f"checkpoint {path} cannot be written: {reason(error)}"
        raise StorageError(what + ("; the one of before stays" if path.exists() else "")) from error


def size(state: Any) -> int:
    """Return about how many bytes a checkpoint of this state takes."""
    if isinstance(state, np.ndarray):
        return state.nbytes + 256  # a name and two headers
    if isinstance(state, Mapping):
        return sum(map(size, state.values())) + 32
    if isinstance(state, list | tuple):
        return sum(map(size, state)) + 8
    return 32


def _write(path: Path, manifest: str, members: Mapping[str, bytes]) -> None:
    with path.open("wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_MANIFEST, manifest)
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the state that `save` wrote, for `world.restore(state)`."""
    manifest, members = _read(Path(path))
    if _checksum(manifest, members) != manifest.get("sha256"):
        raise InputError("checkpoint is damaged", str(path), "a file whose check sum is right")
    arrays = {name: np.load(io.BytesIO(data), allow_pickle=False) for name, data in members.items()}
    state = _unpack(manifest["state"], arrays)
    assert isinstance(state, dict)
    return state


def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what was noted beside the state: `about` of save, and the version of berm."""
    manifest, _ = _read(Path(path), manifest_only=True)
    return {"berm": manifest.get("berm", ""), **manifest.get("about", {})}


def _read(path: Path, manifest_only: bool = False) -> tuple[dict[str, Any], dict[str, bytes]]:
    if not path.is_file():
        raise InputError("no such checkpoint", str(path), "a file that berm saved")
    allowed = "a whole file that berm saved"
    try:
        with zipfile.ZipFile(path) as archive:
            if _MANIFEST not in archive.namelist():
                raise InputError("not a checkpoint of berm", str(path), allowed)
            manifest = json.loads(archive.read(_MANIFEST))
            names = [] if manifest_only else archive.namelist()
            members = {n.removesuffix(".npy"): archive.read(n) for n in names if n != _MANIFEST}
    except (zipfile.BadZipFile, EOFError, OSError, UnicodeDecodeError) as error:
        what = "not a checkpoint, or a truncated one"
        raise InputError(what, str(path), allowed, str(error)) from error
    except json.JSONDecodeError as error:
        raise InputError("checkpoint is damaged", str(path), allowed, str(error)) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError("not a checkpoint of berm", str(path), allowed)
    if manifest.get("version") != VERSION:
        written = f"written by berm {manifest.get('berm')}"
        what = f"version of the checkpoint {path}"
        raise InputError(what, manifest.get("version"), f"{VERSION}", written)
    return manifest, members


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _checksum(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    rest = {key: value for key, value in manifest.items() if key != "sha256"}
    digest.update(json.dumps(rest, sort_keys=True).encode())
    for name in sorted(members):
        digest.update(name.encode())
        digest.update(members[name])
    return digest.hexdigest()


def _pack(value: Any, arrays: dict[str, np.ndarray], where: str) -> Any:
    """Return `value` as JSON; arrays and NumPy scalars go to `arrays`."""
    if value is None or isinstance(value, str | bool) or type(value) in (int, float):
        return value
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            raise InputError(f"checkpoint of {where}", value.dtype, "arrays of numbers")
        name = f"a{len(arrays)}"
        arrays[name] = np.asarray(value)
        return {_MARK + ("array" if isinstance(value, np.ndarray) else "scalar"): name}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith(_MARK) for key in value):
            return {key: _pack(item, arrays, f"{where}.{key}") for key, item in value.items()}
        pairs = [[_pack(k, arrays, where), _pack(v, arrays, where)] for k, v in value.items()]
        return {_MARK + "map": pairs}
    if isinstance(value, list | tuple):
        items = [_pack(item, arrays, f"{where}[{k}]") for k, item in enumerate(value)]
        return items if isinstance(value, list) else {_MARK + "tuple": items}
    if isinstance(value, bytes):
        return {_MARK + "bytes": value.hex()}
    allowed = "arrays, numbers, text, maps and lists of them"
    raise InputError(f"checkpoint of {where}", type(value).__name__, allowed)


def _unpack(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_unpack(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, item),) = value.items()
        match key:
            case "$array":
                return arrays[item]
            case "$scalar":
                return arrays[item][()]
            case "$map":
                return {_unpack(k, arrays): _unpack(v, arrays) for k, v in item}
            case "$tuple":
                return tuple(_unpack(entry, arrays) for entry in item)
            case "$bytes":
                return bytes.fromhex(item)
    return {key: _unpack(item, arrays) for key, item in value.items()}
