"""Ctrl-C and SIGTERM as a question that a loop asks, so that nothing is left half done."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C and SIGTERM ask for a stop after the step; a second Ctrl-C stops at once."""
    asked = False

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        if asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked = True

    before = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, ask)
    except ValueError:  # not in the main thread: no signals to catch
        pass
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
