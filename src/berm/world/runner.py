"""Runs a world for a while: recorders, progress, and a stop that loses nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from berm.core import checks
from berm.core.errors import SimulationError
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
    except SimulationError as error:
        trouble = _with_state(world, keepers, error)
        if trouble is error:
            raise
        raise trouble from error
    except BaseException as error:
        trouble = error
        raise
    finally:
        _close(keepers, bar, trouble)
    return report


def _with_state(world: World, keepers: list[Any], error: SimulationError) -> SimulationError:
    """Have the state of the moment saved beside a recording; return an error that says where."""
    for keeper in keepers:
        save = getattr(keeper, "save_failure", None)
        path = save(world, str(error)) if save is not None else None
        if path is not None:
            return SimulationError(f"{error}; the state of this moment, for a look: {path}")
    return error


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
