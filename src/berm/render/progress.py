"""A bar for work that is counted in frames."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import IO

PLAIN_EVERY = 2.0  # s between lines when nobody watches a terminal


def counted(total: int, label: str, show: bool, file: IO[str] | None = None) -> Iterator[int]:
    """Yield 0 to total - 1, and show how far it is and how long it still takes."""
    out = sys.stderr if file is None else file
    if not show:
        yield from range(total)
        return
    if not out.isatty():
        last = time.monotonic()
        for k in range(total):
            if time.monotonic() - last > PLAIN_EVERY:
                last = time.monotonic()
                print(f"{label}: {k} of {total}", file=out, flush=True)
            yield k
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(label), BarColumn(24), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=out), transient=True) as bar:
        task = bar.add_task("", total=total)
        for k in range(total):
            yield k
            bar.advance(task)
