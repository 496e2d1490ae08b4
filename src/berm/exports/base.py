"""`berm.export`: which file format takes a recording, and files that appear whole or not at all."""

from __future__ import annotations

import dataclasses
import importlib
import os
import pkgutil
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import berm.exports
from berm.core.errors import InputError
from berm.core.registry import Registry
from berm.exports.selection import Progress, Selection, select
from berm.io.atomic import whole_files
from berm.io.recording import Recording


class Format(Protocol):
    """A file format, made with its options: which files it makes of a selection, and how."""

    def paths(self, out: Path, selection: Selection) -> list[Path]:
        """Return the files that will be there in the end, `out` first."""
        ...

    def write(self, selection: Selection, paths: list[Path]) -> None:
        """Write the selection to these paths, which stand for those of `paths`."""
        ...


# by suffix, without its dot; each is a dataclass whose fields are the options
FORMATS: Registry[type[Any]] = Registry("export format")


def export(
    recording: Recording | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    start: float | None = None,
    stop: float | None = None,
    every: int = 1,
    fields: Iterable[str] | None = None,
    progress: bool | Progress = False,
    **options: Any,
) -> list[Path]:
    """Write a recording as .vtkhdf, .usd, .usda, .usdc, .csv or .npz; return the files made.

    .tif and .npy take the ground of a terrain in the last of the frames.

    start, stop: first and last time, s; every: 2 takes each second frame; fields: of velocity,
    born, overlap, force, bodies, cloths and ground, by default all that were recorded; progress:
    True for a bar, or a function of (frames done, frames in all). Option of USD:
    grains="instancer" or "points".
    """
    out = Path(path)
    kind = format_of(out, options)
    with ExitStack() as stack:
        if not isinstance(recording, Recording):
            recording = stack.enter_context(Recording(recording))
        chosen = select(recording, start, stop, every, fields)
        paths = kind.paths(out, chosen)
        with whole_files(*paths) as parts, chosen.watched(progress):
            kind.write(chosen, parts)
    return paths


def format_of(out: Path, options: Mapping[str, Any]) -> Format:
    """Return the format that a suffix names; a wrong suffix or option lists what there is."""
    load_all()
    suffix = out.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise InputError("export: file", out.name, ", ".join(f"*.{name}" for name in FORMATS))
    kind = FORMATS.get(suffix)
    known = [option.name for option in dataclasses.fields(kind)]
    for name in options:
        if name not in known:
            raise InputError(f"export: option of .{suffix}", name, ", ".join(known) or "none")
    made: Format = kind(**options)
    return made


def load_all() -> None:
    """Import every module of this package, so that each format registers itself."""
    for module in pkgutil.iter_modules(berm.exports.__path__):
        importlib.import_module(f"berm.exports.{module.name}")
