"""How many threads a world's step runs on: one or all, whichever is found to be faster.

What threads cost when they meet depends on the machine and on who else uses it, and many loops of a
step are short. So a step now and then is taken the other way, and the clock decides. Results do not
depend on the number of threads, so nothing but time does on the choice.
"""

from __future__ import annotations

from collections import deque
from statistics import median

ALONE = 1000  # below so many grains, waiting for other threads always costs more than they save
MANY = 20_000  # from so many on, all threads are tried first
TRIAL = 5  # steps: their median counts, as some steps search for neighbours
FIRST_WAIT, LONGEST_WAIT = 8, 2048  # steps between trials
GAIN = 0.9  # the other way has to take less than so much of the time
SLOWER = 1.5  # times the usual cost of a step: a reason for a trial
HOPELESS = 1.5  # times slower than any step just before: the trial ends at once


class ThreadChoice:
    """Chooses the number of threads for each step of one world."""

    def __init__(self) -> None:
        self.most = 0
        self.grains = 0
        self.best = 1
        self._start_again(0, 1)

    def _start_again(self, grains: int, most: int) -> None:
        self.most, self.grains = most, grains
        self.best = most if grains >= MANY else 1
        self.wait = FIRST_WAIT
        self._rest()

    def _rest(self) -> None:
        self.left = self.wait  # steps until the next trial
        self.trial: list[float] = []
        self.recent: deque[float] = deque(maxlen=FIRST_WAIT)
        self.usual = 0.0  # s, the median of the first steps since the last trial

    @property
    def other(self) -> int:
        """The number of threads that is not the best known."""
        return self.most if self.best == 1 else 1

    def begin(self, grains: int, most: int) -> int:
        """Return the number of threads, at most `most`, for the coming step."""
        if most == 1 or grains < ALONE:
            return 1
        if most != self.most or not 0.5 * self.grains < grains < 2.0 * self.grains:
            self._start_again(grains, most)
        return self.best if self.left > 0 else self.other

    def end(self, grains: int, seconds: float) -> None:
        """Note what the step took."""
        if self.most == 1 or grains < ALONE:
            return
        if self.left > 0:
            self.left -= 1
            self.recent.append(seconds)
            if len(self.recent) == FIRST_WAIT:
                self.usual = self.usual or median(self.recent)
                if median(self.recent) > SLOWER * self.usual:  # perhaps others use the machine now
                    self.wait = FIRST_WAIT
                    self._rest()
            return
        self.trial.append(seconds)
        hopeless = seconds > HOPELESS * max(self.recent)
        if len(self.trial) < TRIAL and not hopeless:
            return
        if not hopeless and median(self.trial) < GAIN * median(self.recent):
            self.best, self.wait = self.other, 4 * FIRST_WAIT
        else:
            self.wait = min(4 * self.wait, LONGEST_WAIT)
        self._rest()
