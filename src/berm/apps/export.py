"""`berm export`: a recording goes to ParaView, Blender, a table or NumPy."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from berm.apps import console
from berm.apps.console import duration, say
from berm.apps.render import find_recording


def export(recording: Path, out: Path, quiet: bool, **options: Any) -> None:
    """Write what the command line asked for and say which files came of it."""
    from berm.exports.base import export as write

    begin = time.perf_counter()
    try:
        made = write(find_recording(recording), out, progress=not quiet, **options)
    except KeyboardInterrupt:
        console.say_error("interrupted: nothing was written")
        raise console.Exit(console.INTERRUPTED) from None
    if quiet:
        return
    taken = duration(time.perf_counter() - begin)
    for path in made:
        say(f"[bold]{console.escape(str(path))}[/]  {console.size(path.stat().st_size)}")
    say(f"[dim]written in {taken}[/]")
