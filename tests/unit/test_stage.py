"""Stage and moment: the same from a world and from its recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import berm
from berm.core.errors import InputError
from berm.render.between import Clock, between
from berm.stage import bounds
from berm.stage.stage import BodyMoment, Moment, moment_of, stage_of


def small_world() -> berm.World:
    world = berm.World(dt=1 / 100)
    world.add_body(berm.Plane(), name="floor", material="rough wall")
    world.add_body(
        berm.Box((0.1, 0.2, 0.3)), name="blade", position=(0.3, 0.1, 0.2),
        motion=berm.Linear((0.5, 0.0, 0.0)),
    )  # fmt: skip
    smooth = berm.material("steel", friction=0.0)
    world.add_body(berm.Box((0.5, 0.01, 0.5)), name="pane", material=smooth, position=(0, -0.5, 0))
    world.add_grains([[0, 0, 0.1], [0.1, 0, 0.3]], [0.05, 0.04], material="dry sand")
    world.add_grains([[0, 0.3, 0.2]], 0.03, velocity=(0, 0, -1), material="gravel")
    return world


def test_world_and_recording_give_the_same(tmp_path: Path) -> None:
    world = small_world()
    file = tmp_path / "run.h5"
    world.run(0.1, recorders=[berm.Recorder(file, every=0.0, scene="mine")])
    with berm.Recording(file) as recording:
        there, then = stage_of(recording), moment_of(recording)
    here, now = stage_of(world), moment_of(world)
    assert [(b.name, b.kind, b.material, b.ground, b.glass) for b in here.bodies] == [
        (b.name, b.kind, b.material, b.ground, b.glass) for b in there.bodies
    ]
    assert here.materials == there.materials
    assert there.scene == "mine" and there.dt == here.dt
    for a, b in zip(here.meshes[1:], there.meshes[1:], strict=True):  # the floor's patch may differ
        assert (a.vertices == b.vertices).all() and (a.faces == b.faces).all()
    order = np.argsort(now.tag)
    for name in ("position", "radius", "material", "tag", "velocity", "age"):
        assert (getattr(now, name)[order] == getattr(then, name)).all(), name
    for a, b in zip(now.bodies, then.bodies, strict=True):
        assert (a.position == b.position).all() and (a.rotation == b.rotation).all()


def test_one_sees_through_what_is_called_glass() -> None:
    """The wall of the splash stands before the heap, and has friction."""
    splash = berm.scene("splash")
    stage = stage_of(splash.build(splash.Params(grains=200)))
    assert [b.name for b in stage.bodies if b.glass] == ["glass"]


def test_what_a_body_is_drawn_as() -> None:
    stage = stage_of(small_world())
    assert [b.name for b in stage.bodies if b.ground] == ["floor"]
    assert [b.name for b in stage.bodies if b.glass] == ["pane"]
    assert stage.body("blade").kind == "box"
    with pytest.raises(InputError, match="unknown body: got 'wall'; allowed: floor, blade, pane"):
        stage.body("wall")


def test_walls_without_end_are_drawn_a_little_above_the_grains() -> None:
    world = berm.World()
    tall = berm.Box((2.0, 1.0, 8.0), inside=True, open_top=True)
    world.add_body(tall, name="bed", position=(0, 0, 4.0))
    world.add_grains([[0, 0, 0.1], [0.9, 0.4, 0.5]], 0.1)
    mesh = stage_of(world).meshes[0]
    top, bottom = mesh.vertices[:, 2].max() + 4.0, mesh.vertices[:, 2].min() + 4.0
    assert bottom == pytest.approx(0.0)
    assert 0.6 < top < 0.8


def test_moments_are_copies() -> None:
    world = small_world()
    before = moment_of(world)
    kept = before.position.copy(), before.bodies[1].position.copy()
    world.run(0.1)
    assert (before.position == kept[0]).all()
    assert (before.bodies[1].position == kept[1]).all()


def test_force_and_overlap_come_from_a_solver_that_tells_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = small_world()
    told = {"overlap": np.array([1e-3, 0.0, 2e-3]), "force": np.array([3.0, 0.0, 7.0])}
    monkeypatch.setattr(world.solver, "grain_fields", lambda given: told, raising=False)
    moment = moment_of(world)
    assert moment.force is not None and moment.force.tolist() == [3.0, 0.0, 7.0]
    assert moment.overlap is not None and moment.overlap.dtype == np.float32
    assert moment_of(world, fields=False).force is None


def test_only_worlds_and_recordings_are_drawn() -> None:
    with pytest.raises(InputError, match="what is drawn: got 'str'; allowed: a World or a Rec"):
        stage_of("pile")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="what is drawn: got 'int'"):
        moment_of(3)  # type: ignore[arg-type]


# ---- bounds ----------------------------------------------------------------------------------


def test_strays_do_not_count() -> None:
    cloud = np.random.default_rng(0).uniform(-1, 1, (10_000, 3))
    cloud[:20] *= 1000.0
    box = bounds.of_grains(cloud, np.full(10_000, 0.01))
    assert box is not None and np.abs(box).max() < 1.2
    few = bounds.of_grains(cloud[15:25], np.full(10, 0.01))
    assert few is not None and np.abs(few).max() > 100  # of a handful, all count


def test_lost_grains_do_not_count() -> None:
    place = np.array([[0, 0, 0], [1, 1, 1], [np.nan, 0, 0]])
    assert bounds.of_grains(place, np.full(3, 0.5)).tolist() == [[-0.5] * 3, [1.5] * 3]
    assert bounds.of_grains(place[2:], np.ones(1)) is None


def test_an_empty_world_looks_at_the_heap_to_come() -> None:
    world = berm.World()
    world.add_body(berm.Plane(), name="floor")
    world.add_emitter(
        berm.Emitter(rate=10, position=(0, 0, 1.0), size=0.1, radius=0.02, total=2000)
    )
    low, high = stage_of(world).bounds
    assert low[2] == pytest.approx(0.0)
    assert high[2] > 1.0
    assert 0.3 < high[0] < 0.7  # 2000 balls of 2 cm are a cone of 0.42 m at 35 degrees
    nothing = stage_of(berm.World()).bounds
    assert np.isfinite(nothing).all() and (nothing[1] > nothing[0]).all()


def test_long_things_are_seen_from_their_side() -> None:
    flat = np.array([[0.0, -0.5, 0.0], [4.0, 0.5, 0.5]])
    assert bounds.view_of(flat)[0] == pytest.approx(-68.0)
    assert bounds.view_of(flat[:, [1, 0, 2]])[0] == pytest.approx(22.0)


# ---- between frames --------------------------------------------------------------------------


def moment(time: float, tags: list[int], place: np.ndarray, speed: np.ndarray | None) -> Moment:
    n = len(tags)
    return Moment(
        time, 0, np.asarray(place, np.float32), np.full(n, 0.1, np.float32), np.zeros(n, np.int32),
        np.array(tags), velocity=None if speed is None else np.asarray(speed, np.float32),
    )  # fmt: skip


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_a_thrown_grain_flies_its_parabola(share: float) -> None:
    def place(t: float) -> list[float]:
        return [2.0 * t, 0.0, 5.0 + 3.0 * t - 4.905 * t * t]

    a = moment(0.0, [7], np.array([place(0.0)]), np.array([[2.0, 0, 3.0]]))
    b = moment(0.1, [7], np.array([place(0.1)]), np.array([[2.0, 0, 3.0 - 0.981]]))
    found = between(a, b, share)
    assert found.time == pytest.approx(0.1 * share)
    assert found.position[0] == pytest.approx(place(0.1 * share), abs=1e-5)


def test_without_speeds_it_is_a_line_and_a_bounce_stays_between() -> None:
    a = moment(0.0, [1, 2], np.array([[0, 0, 1.0], [0, 0, 0.2]]), None)
    b = moment(1.0, [2, 1], np.array([[0, 0, 0.2], [0, 0, 3.0]]), None)
    assert between(a, b, 0.25).position[:, 2] == pytest.approx([1.5, 0.2])
    down, up = np.array([[0, 0, -20.0]]), np.array([[0, 0, 20.0]])
    a, b = moment(0.0, [1], [[0, 0, 0.5]], down), moment(0.1, [1], [[0, 0, 0.5]], up)
    assert between(a, b, 0.5).position[0, 2] == pytest.approx(0.5)  # not through the floor


def test_grains_come_and_go_half_way() -> None:
    rest = np.zeros((2, 3))
    a = moment(0.0, [1, 2], np.array([[0, 0, 0], [1, 0, 0]]), rest)
    b = moment(1.0, [2, 3], np.array([[1, 0, 0], [2, 0, 0]]), rest)
    assert between(a, b, 0.4).tag.tolist() == [1, 2]
    assert between(a, b, 0.6).tag.tolist() == [2, 3]


def test_a_turning_body_is_half_turned_half_way() -> None:
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    zero = np.zeros(3)
    none = np.zeros((0, 3))
    a = Moment(0, 0, none, none[:, 0], none[:, 0], none[:, 0],
               (BodyMoment(0, zero, np.eye(3), zero, zero),))  # fmt: skip
    b = Moment(1, 0, none, none[:, 0], none[:, 0], none[:, 0],
               (BodyMoment(0, np.ones(3), turn, zero, zero),))  # fmt: skip
    half = between(a, b, 0.5).bodies[0]
    s = np.sqrt(0.5)
    assert half.rotation == pytest.approx(np.array([[s, -s, 0], [s, s, 0], [0, 0, 1]]))
    assert half.position == pytest.approx([0.5] * 3)


def test_the_clock_holds_at_both_ends(tmp_path: Path) -> None:
    file = tmp_path / "run.h5"
    small_world().run(0.1, recorders=[berm.Recorder(file, every=0.02)])
    with berm.Recording(file) as recording:
        clock = Clock(recording)
        assert clock.at(-5.0).time == 0.0
        assert clock.at(99.0).time == pytest.approx(0.1)
        assert clock.at(0.05).time == pytest.approx(0.05)
        exact = clock.at(float(recording.times[2]))
        assert (exact.position == recording.frame(2).position).all()
