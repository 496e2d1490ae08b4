"""The ground of a terrain on its way to the pages: told as it changes, large ones less often."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from berm.apps.viewer.frames import ground_frame
from berm.apps.viewer.hub import Hub
from berm.stage.ground import GroundMoment
from berm.stage.stage import Moment, Stage

RATE = 8e6  # bytes a second that the ground may take
COLUMN = 7  # bytes


class Land:
    """Knows which ground the viewers have."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._stage: Stage | None = None
        self._known: GroundMoment | None = None
        self._again = 0.0  # wall time from which on the next one may go

    def show(self, hub: Hub, stage: Stage, moment: Moment, at_once: bool = False) -> None:
        """Hand the ground over if it is another one, and the one before is paid for."""
        now, clock = moment.ground, self._clock()
        if stage.ground is None or now is None:
            return
        if stage is not self._stage:
            self._stage, self._known = stage, None
        known = self._known
        if known is not None and (
            (clock < self._again and not at_once)
            or (np.array_equal(now.heights, known.heights) and np.array_equal(now.soil, known.soil))
        ):
            return
        hub.show_surface(f"height {stage.ground.body}", partial(ground_frame, stage, now))
        self._known, self._again = now, clock + COLUMN * now.heights.size / RATE
