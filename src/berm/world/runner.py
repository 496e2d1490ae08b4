"""Runs a world for a while: recorders, progress, and a stop that loses nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from berm.core import checks
from berm.core.report import StepReport

if TYPE_CHECKING:
    from berm.world.world import World


def run(
    world: World,
    seconds: float,
    recorders: Iterable[Any] = (),
    progress: bool | Callable[[World, StepReport], None] = False,
) -> StepReport:
    """Advance `world` by `seconds`; every recorder is closed whatever happens.

    An interrupt, which long kernels let through about every quarter of a second, may come in the
    midst of a step: the world is then between two times, and only a state of before is whole.
    """
    wanted = checks.number("run: seconds", seconds, "0 or more", lambda t: 0 <= t < math.inf)
    steps = round(wanted / world.dt)
    keepers = list(recorders)
    show: Callable[[World, StepReport], None] | None = None
    bar = None
    if callable(progress):
        show = progress
    elif progress:
        from berm.world.progress import Bar

        bar = Bar(world.time + steps * world.dt)
        show = bar
    report = world.report
    trouble: BaseException | None = None
    try:
        for keeper in keepers:
            keeper.start(world)
        for _ in range(steps):
            report = world.step()
            for keeper in keepers:
                keeper.record(world, report)
            if show is not None:
                show(world, report)
    except BaseException as error:
        trouble = error
        raise
    finally:
        _close(keepers, bar, trouble)
    return report


def _close(keepers: list[Any], bar: Any, trouble: BaseException | None) -> None:
    """Close all of them; of several errors the first is told."""
    text = "" if trouble is None else str(trouble) or type(trouble).__name__
    first: BaseException | None = None
    for keeper in keepers:
        try:
            keeper.close(error=text)
        except Exception as error:
            first = first or error
    if bar is not None:
        bar.close()
    if first is not None and trouble is None:
        raise first
