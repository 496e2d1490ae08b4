"""`berm render`: a recording becomes a picture or a video."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from berm.apps import console, job
from berm.apps.console import duration, say
from berm.core.errors import InputError


def render(recording: Path, out: Path, size: str | None, quiet: bool, **options: Any) -> None:
    """Draw what the command line asked for and say what came of it."""
    from berm.io.recording import Recording
    from berm.render.api import render as draw

    begin = time.perf_counter()
    edges = parse_size(size) if size else None
    span = parse_range(options.pop("value_range"))
    with Recording(find_recording(recording)) as source:
        try:
            draw(source, out, size=edges, value_range=span, progress=not quiet, **options)
        except KeyboardInterrupt:
            if out.exists():
                console.err.print(f"stopped; what was drawn until then plays: {out}")
            raise
    if not quiet:
        taken = duration(time.perf_counter() - begin)
        say(f"[bold]{out}[/]  {console.size(out.stat().st_size)}, drawn in {taken}")


def find_recording(path: Path) -> Path:
    """Return the recording itself where the folder of a run is given."""
    if path.is_dir():
        inside = path / job.RECORDING
        if not inside.is_file():
            raise InputError(
                "recording", str(path), f"a recording, or a folder with {job.RECORDING} in it"
            )
        return inside
    return path


def parse_size(text: str) -> tuple[int, int]:
    """Return width and height of "1280x720"."""
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
        raise InputError("--size", text, "WIDTHxHEIGHT in pixels, e.g. 1280x720")
    return int(parts[0]), int(parts[1])


def parse_range(text: str | None) -> tuple[float, float] | None:
    """Return low and high of "0,2"."""
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError("--range", text, "LOW,HIGH in the unit of the colour, e.g. 0,2") from None
    return low, high
