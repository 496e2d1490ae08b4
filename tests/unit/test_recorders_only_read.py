"""Recorders only read: a run that is recorded is the run that is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import berm
from berm.io.layout import FIELDS
from berm.io.recording import Recorder, Recording
from berm.scenes.parts.history import History

SOLVERS: dict[str, Any] = {
    "p2": berm.P2, "published": berm.P2.published, "vts": berm.VTS, "sp": berm.SP,
    "dem": berm.DEM,
}  # fmt: skip


def contents(what: Any, path: str, seen: set[int]) -> Iterator[tuple[str, object]]:
    """Yield every number, text and array that an object of berm holds, with the way to it."""
    if isinstance(what, np.ndarray):
        yield path, (what.dtype.str, what.shape, what.tobytes())
    elif isinstance(what, bool | int | float | str | np.generic | None):
        yield path, repr(what)
    elif isinstance(what, dict):
        yield f"{path}.keys", [repr(key) for key in what]
        for key, one in what.items():
            yield from contents(one, f"{path}[{key!r}]", seen)
    elif isinstance(what, list | tuple):
        yield f"{path}.len", len(what)
        for k, one in enumerate(what):
            yield from contents(one, f"{path}[{k}]", seen)
    elif isinstance(what, np.random.Generator):
        yield path, repr(what.bit_generator.state)
    elif (
        id(what) not in seen
        and not isinstance(what, ModuleType | type)
        and type(what).__module__.startswith("berm")
    ):
        seen.add(id(what))
        yield from contents(getattr(what, "__dict__", {}), path, seen)


def make_world(solver: str) -> berm.World:
    world = berm.World(solver=SOLVERS[solver]())
    world.add_body(berm.Plane(), name="floor")
    places = np.stack(np.meshgrid(*[np.arange(3.0)] * 3), axis=-1).reshape(-1, 3)
    world.add_grains((places + 0.5) * 0.0399 + 0.001 * places[:, ::-1], 0.02, (0.1, 0.0, -0.5))
    if solver in ("vts", "sp"):
        world.add_cloth(berm.Cloth.grid((3, 3), (0.09, 0.09), (0.06, 0.06, 0.15), mass=0.05))
    return world


def disturb(world: berm.World) -> None:
    """What a user may do between two steps, and no step has seen yet."""
    world.materials[-1] = berm.material("gravel", friction=0.3)
    for cloth in world.cloths:
        cloth.material = berm.material("cloth", density=77.0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_recorder_writes_to_what_it_records(solver: str, tmp_path: Path) -> None:
    world = make_world(solver)
    for _ in range(3):
        report = world.step()
    disturb(world)
    before = dict(contents(world, "world", set()))
    assert len(before) > 50
    recorder, history = Recorder(tmp_path / "run.h5", every=0, fields=FIELDS), History()
    for keeper in (recorder, history):
        keeper.start(world)
        keeper.record(world, report)
    recorder.close(world)
    history.close()
    after = dict(contents(world, "world", set()))
    assert {
        key for key in before.keys() | after.keys() if before.get(key) != after.get(key)
    } == set()
    with Recording(tmp_path / "run.h5") as recording:
        materials = recording.materials
        for cloth in recording.cloths:  # told although no step has added it
            assert materials[cloth["material"]]["density"] == 77.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_recorded_run_is_the_run_that_is_not(solver: str, tmp_path: Path) -> None:
    ends = []
    for recorders in ([], [Recorder(tmp_path / "run.h5", every=0, fields=FIELDS), History()]):
        world = make_world(solver)
        world.run(3 * world.dt, recorders)
        disturb(world)
        world.run(3 * world.dt, recorders)
        ends.append([world.grains.x[: world.grains.n].tobytes(), repr(world.materials)])
    assert ends[0] == ends[1]
