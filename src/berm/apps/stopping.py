"""Ctrl-C and SIGTERM as a question that a loop asks, so that nothing is left half done."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

GRACE = 3.0  # s in which a loop has to ask after a signal, or it is interrupted where it is


@contextmanager
def stoppable(grace: float = GRACE) -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C and SIGTERM ask for a stop after the step; a second Ctrl-C stops at once.

    So does a step that has not come to its end `grace` seconds later: KeyboardInterrupt is raised
    in the midst of it. Kernels return to Python often enough for that (`solvers.portions`).
    """
    asked = heard = late = False
    watch: threading.Timer | None = None

    def ask(number: int, frame: Any) -> None:
        nonlocal asked, late, watch
        if late:
            late = False
            if not heard:
                raise KeyboardInterrupt
            return
        if asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        if not asked:
            watch = threading.Timer(grace, hurry)
            watch.daemon = True
            watch.start()
        asked = True

    def hurry() -> None:
        nonlocal late
        if not heard:
            late = True
            _thread.interrupt_main(signal.SIGINT)

    def stop() -> bool:
        nonlocal heard
        if asked and not heard:
            heard = True
            if watch is not None:
                watch.cancel()
        return asked

    before = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, ask)
    except ValueError:  # not in the main thread: no signals to catch
        pass
    try:
        yield stop
    finally:
        heard = True
        if watch is not None:
            watch.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)
