"""Lacoursiere's figures: H against what defines it, what merging keeps; quick variants."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from berm.apps.figures import Result, run_figures
from berm.apps.figures.base import load
from berm.apps.figures.lacoursiere2010.events import Watch, inner_pairs
from berm.apps.figures.lacoursiere2010.fig2_merging import in_space
from berm.apps.figures.lacoursiere2010.system import CONTACT, FRICTION, JOINT, system_of
from berm.apps.figures.lacoursiere2010.worlds import heap, rocky_ground
from berm.core.joints import Hinge
from berm.core.shapes import Box, Sphere


def quick(tmp_path: Path, number: str) -> Result:
    said: list[str] = []
    (result,) = run_figures("lacoursiere2010", tmp_path, only=[number], quick=True, say=said.append)
    assert result.picture.stat().st_size > 10_000
    with result.data.open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) > 1
    told = json.loads(result.data.with_suffix(".json").read_text(encoding="utf-8"))
    assert told["reproduced"] == result.ok
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert result.claim in report and all(v.text in report for v in result.verdicts)
    return result


def test_figures_are_known() -> None:
    assert set(load("lacoursiere2010").names()) == {"1", "2", "3"}


def test_the_matrix_of_a_ball_on_the_ground_and_a_door() -> None:
    """M and G by hand: a ball of 3 kg touches the ground below it; a door turns about z."""
    world = rocky_ground()
    world.add_body(Sphere(0.2), name="ball", dynamic=True, mass=3.0, position=(5.0, 0.0, 0.2))
    door = world.add_body(
        Box((1.0, 0.1, 0.5)), name="door", dynamic=True, mass=7.0, position=(0.5, 0.0, 2.0)
    )
    world.add_joint(Hinge(door, None, (0.0, 0.0, 2.0), axis=(0, 0, 1)))
    for _ in range(3):
        world.step()
    before = world.state()
    found = system_of(world)
    assert np.array_equal(world.bodies.x, before["bodies"]["x"])  # it only looked
    assert np.diag(found.M.toarray()[:3, :3]) == pytest.approx([3.0] * 3)
    assert np.diag(found.M.toarray()[6:9, 6:9]) == pytest.approx([7.0] * 3)
    assert found.M.toarray()[9:, 9:] == pytest.approx(np.asarray(door.inertia), abs=1e-9)
    assert [int((found.kind == kind).sum()) for kind in (JOINT, CONTACT, FRICTION)] == [5, 1, 2]
    normal = found.G.toarray()[found.kind == CONTACT][0]
    assert np.abs(normal[:6]) == pytest.approx([0, 0, 1, 0, 0, 0], abs=1e-9)
    held = found.G.toarray()[found.kind == JOINT]
    assert np.linalg.matrix_rank(held) == 5 and not held[:, :6].any()
    spin = np.zeros(12)
    spin[6:] = (0.0, 0.5, 0.0, 0.0, 0.0, 1.0)  # about the hinge: nothing holds it
    assert held @ spin == pytest.approx(np.zeros(5), abs=1e-6)
    h = found.matrix().toarray()
    assert np.array_equal(h[:12, 12:], -h[12:, :12].T) and np.array_equal(
        h[12:, :12], found.G.toarray()
    )
    assert np.array_equal(np.diag(h[12:, 12:]), found.sigma) and (found.sigma > 0).all()


def test_rows_of_a_heap_say_how_it_moves() -> None:
    """(1) holds: with the impulses of the step, M dv = h f + G^T lam, for rocks that lie still."""
    world = heap(8, 6.0)
    found = system_of(world)
    pull = np.zeros(6 * len(found.body))
    pull[2::6] = -9.81 / 60.0 * world.bodies.mass[found.body]
    left = pull + found.G.T @ found.lam
    assert np.abs(left[2::6]).max() < 0.02 * np.abs(pull).max()


def test_watching_changes_nothing() -> None:
    worlds = [rocky_ground(merging=True) for _ in range(2)]
    for world in worlds:
        for k in range(3):
            world.add_body(Box((0.4, 0.4, 0.4)), name=f"box {k}", dynamic=True,
                           position=(0.0, 0.0, 0.2 + 0.4 * k))  # fmt: skip
    watch = Watch(worlds[0])
    for _ in range(40):
        for world in worlds:
            world.step()
    assert np.array_equal(worlds[0].bodies.x, worlds[1].bodies.x)
    assert (worlds[0].bodies.super_body[worlds[0].bodies.dynamic] == 0).all()
    assert watch.rows and watch.rows[-1]["ground"] and len(inner_pairs(worlds[0])) == 3


def test_merges_in_space_keep_momenta() -> None:
    rows, (momentum, spin), _ = in_space(8, 8.0)
    assert rows and not any(row["ground"] for row in rows)
    for row in rows:
        assert max(row[k] for k in ("mass", "inertia", "momentum", "angular_momentum")) < 1e-12
        assert row["lost_J"] <= row["most_J"]
    assert momentum < 1e-11 and spin < 1e-11


def test_fig1_matrices(tmp_path: Path) -> None:
    result = quick(tmp_path, "1")
    assert all(one.ok for one in result.verdicts[:4]), result.verdict  # the others are of times


def test_fig2_merge_and_split(tmp_path: Path) -> None:
    result = quick(tmp_path, "2")
    assert result.ok, result.verdict


@pytest.mark.slow
def test_fig3_costs(tmp_path: Path) -> None:
    result = quick(tmp_path, "3")
    assert "times faster" in result.verdict  # how fast depends on the machine
