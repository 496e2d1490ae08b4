"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from berm.core.errors import InputError


@contextmanager
def whole_files(*paths: Path) -> Iterator[list[Path]]:
    """Yield a name to write to for each path; move all into place when nothing went wrong.

    The names lie beside the paths, end as they do, and are gone afterwards. Those that nothing was
    written to leave the file at the path as it was.
    """
    parts = [_part(path) for path in paths]
    try:
        yield parts
        written = [(part, path) for part, path in zip(parts, paths, strict=True) if part.exists()]
        for part, _ in written:
            _sync(part)
        for part, path in written:
            os.replace(part, path)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def _part(path: Path) -> Path:
    """Return a free name beside `path` with its suffix, which some libraries choose a format by."""
    if path.is_dir():
        raise InputError("file to write", str(path), "a file name, not a folder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.part{path.suffix}")
        part.touch(exist_ok=False)  # finds out now whether the folder can be written
        part.unlink()
    except OSError as error:
        raise InputError("file cannot be written", str(path), str(error)) from error
    return part


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
