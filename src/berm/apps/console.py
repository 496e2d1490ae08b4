"""What the commands say: one console, one way to report an error, and the exit codes."""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape as escape
from rich.table import Table

from berm.core.errors import BermError, SimulationError, StorageError

OK, CHECK_FAILED, BAD_INPUT, SIMULATION_FAILED, INTERRUPTED = 0, 1, 2, 3, 130
FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)
settings = {"debug": False}


class Exit(Exception):
    """Ends the command with an exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@contextmanager
def reporting() -> Iterator[None]:
    """Turn errors into one red message and an exit code; --debug lets them through.

    Warnings become a line of their own, without the place in the code.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = say_warning
            yield
    except BermError as error:
        if settings["debug"]:
            raise
        say_error(str(error))
        went_wrong = isinstance(error, SimulationError | StorageError)
        raise Exit(SIMULATION_FAILED if went_wrong else BAD_INPUT) from None
    except KeyboardInterrupt:
        if settings["debug"]:
            raise
        say_error("interrupted")
        raise Exit(INTERRUPTED) from None
    except BrokenPipeError:  # `berm scenes | head`
        sys.stderr.close()
        raise Exit(OK) from None
    except OSError as error:
        if settings["debug"] or error.errno not in FULL:
            raise
        say_error(f"{error.filename or 'a file'} cannot be written: {error.strerror}")
        raise Exit(SIMULATION_FAILED) from None


def say_error(text: str) -> None:
    """Print an error on standard error."""
    err.print(f"[bold red]error:[/] {escape(text)}", soft_wrap=True)


def say_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    """Print a warning on standard error."""
    err.print(f"[yellow]warning:[/] {escape(str(message))}", soft_wrap=True)


def say(text: str) -> None:
    """Print a line with markup."""
    out.print(text, soft_wrap=True)


def say_plain(text: str) -> None:
    """Print a line as it is."""
    out.print(text, markup=False, soft_wrap=True)


def table(*columns: str, title: str = "", right: tuple[str, ...] = ()) -> Table:
    """Return an empty table in berm's style; the columns in `right` are aligned to the right."""
    made = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    made.title_style = "bold"
    made.header_style = "dim"
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", no_wrap=name in right)
    return made


def number(value: Any) -> str:
    """Return a value as a person reads it: four digits, thousands apart, lists in brackets."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(number(item) for item in value) + "]"
    return str(value)


def size(count: float) -> str:
    """Return a number of bytes with its unit."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def duration(seconds: float) -> str:
    """Return a time as 0.42 s, 12 s or 3:07 min."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"
