"""Long loops of a kernel in portions, so that Ctrl-C is heard and a long wait is announced.

Signals reach Python between two calls of kernels only. A loop that may run for long is therefore
called for so many turns as take a fraction of a second, by the cost of the portion before. The
kernels see to it that results do not depend on where portions end.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

PORTION = 0.25  # s that a call of a kernel is to take where there is more to do
WHOLE = 0.75  # s: what takes no longer is done in one call
FIRST = 16  # turns of the first portion, whose cost is not known
COMPILING = 2  # portions whose cost says nothing yet
SURE = 0.05  # s that a portion has to take for its cost to tell what the rest will take
SOON = 1.0  # s after which a loop in Python is sure of its pace
FEW = 10  # turns that it has to have done besides
LONG = 30.0  # s from which on the rest of a step is announced


class Portions:
    """Chooses how many turns of a loop the next call of a kernel does, and knows what they cost."""

    def __init__(self) -> None:
        self.cost = 0.0  # s a turn, as measured at last; 0: not known
        self._sure = False  # the cost is good enough to tell
        self._seen = 0  # portions so far; the first ones may compile
        self._told = False

    def take(self, left: int) -> int:
        """Return how many of the turns that are left the next call does: 1 or more."""
        if self.cost == 0.0:
            return min(left, FIRST)
        if left * self.cost < WHOLE:
            return left
        return max(1, min(left, int(PORTION / self.cost)))

    def took(self, turns: int, seconds: float) -> None:
        """Take notice of what the turns of the last call took."""
        self._sure = seconds > SURE and turns > 0 and self._seen >= COMPILING
        if turns > 0:
            self.cost = max(seconds / turns, 1e-9)
            self._seen += 1

    def tell(self, left: float, what: Callable[[], str], depth: int = 5) -> None:
        """Warn once if the turns that are left take long; what: says which step takes how many.

        depth: frames from here to who called `world.step`.
        """
        if self._sure:
            self._warn(left * self.cost, what, depth)

    def tell_pace(
        self, done: float, left: float, seconds: float, what: Callable[[], str], depth: int = 5
    ) -> None:
        """As `tell` for a loop in Python, of which `done` turns took so many seconds."""
        if seconds > SOON and done >= FEW:
            self._warn(left * seconds / done, what, depth)

    def _warn(self, seconds: float, what: Callable[[], str], depth: int) -> None:
        if seconds > LONG and not self._told:
            self._told = True
            warnings.warn(
                f"{what()}: about {spoken(seconds)} on this machine; Ctrl-C stops it",
                stacklevel=depth + 1,
            )


def spoken(seconds: float) -> str:
    """Return a time as a person says it: 40 s, 12 min, 3.5 h, 20 days, 4 years."""
    value, unit = seconds, "s"
    for name, size, enough in (
        ("min", 60.0, 100.0),
        ("h", 3600.0, 6000.0),
        ("days", 86400.0, 48 * 3600.0),
        ("years", 365 * 86400.0, 2 * 365 * 86400.0),
    ):
        if seconds >= enough:
            value, unit = seconds / size, name
    return f"{value:,.0f} {unit}" if value >= 9.95 else f"{value:.1f} {unit}"
