"""A line in the terminal that says how far an export is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from berm.exports.selection import Progress


@contextmanager
def bar(what: str = "exporting") -> Iterator[Progress]:
    """Yield a function of (frames done, frames in all) that draws a bar on standard error."""
    from rich import progress as show
    from rich.console import Console

    columns = (
        show.TextColumn("{task.description}"),
        show.BarColumn(bar_width=24),
        show.MofNCompleteColumn(),
        show.TimeRemainingColumn(),
    )
    with show.Progress(*columns, console=Console(stderr=True)) as line:
        task = line.add_task(what, total=None)
        yield lambda done, total: line.update(task, completed=done, total=total)
