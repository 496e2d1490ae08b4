"""A live session obeys: parameters act on the running physics, and nothing that fails ends it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from berm.apps.viewer import parameters
from berm.apps.viewer.live import Live, Program
from berm.apps.viewer.session import Pace
from berm.core.errors import InputError, SimulationError
from berm.scenes import SCENES
from berm.scenes.base import scene
from berm.scenes.parts.setup import Setup
from tests.unit.viewer_tools import (
    Clock,
    frames_of,
    live_pile,
    of_type,
    say,
    some_world,
    take,
    turn,
)


def errors(found: list[Any]) -> list[str]:
    return [one["message"] for one in of_type(found, "error")]


def test_pause_holds_the_state_and_step_moves_it() -> None:
    live = live_pile()
    viewer = live.hub.join()
    turn(live, 5)
    assert live.world.step_count == 5
    (status,) = of_type(say(live, viewer, type="pause"), "status")[-1:]
    assert status["running"] is False and status["step"] == 5
    before = live.world.grains.position.copy()
    turn(live, 10)
    assert live.world.step_count == 5 and np.array_equal(live.world.grains.position, before)
    say(live, viewer, type="step", count=3)
    turn(live, 10)
    assert live.world.step_count == 8 and not live.running
    assert errors(say(live, viewer, type="step", count=-1)) == [
        "step: count: got -1; allowed: 1 or more: time does not run back"
    ]
    say(live, viewer, type="resume")
    turn(live, 2)
    assert live.world.step_count == 10


def test_viewers_see_every_step_that_they_ask_for() -> None:
    live = live_pile()
    viewer = live.hub.join()
    steps = []
    for _ in range(12):
        turn(live)
        live.pace.clock.now += 1 / 60
        for header, arrays in frames_of(take(live.hub, viewer)):
            steps.append(header["step"])
            assert header["n"] == len(arrays["radius"])
            say(live, viewer, type="ack", seq=header["seq"])
    assert len(steps) > 10 and steps[-1] >= live.world.step_count - 1
    assert steps == sorted(set(steps))


def test_frames_are_at_most_sixty_a_second() -> None:
    live = live_pile()
    live.hub.join()
    seen = []
    for _ in range(100):
        live.pace.clock.now += 0.001
        turn(live)
        seen.append(live.hub._shown.seq)
    assert len(set(seen)) <= 100 * 0.001 * 70 + 1


def test_frames_take_their_share_and_no_more() -> None:
    """A simulation without time to spare is shown less often the more a frame costs."""
    shown = {}
    for cost in (0.0, 0.004, 0.02):
        live = live_pile()
        viewer = live.hub.join()
        begin = live.hub._seq
        for _ in range(500):
            live.pace.clock.now += 0.004
            turn(live)
            if frames_of(take(live.hub, viewer)):
                viewer.acknowledged = viewer.sent[0]
                live.hub.spent += cost
                live.hub.spread()
        shown[cost] = live.hub._seq - begin
    assert 90 < shown[0.0] <= 500 * 0.004 * 70
    assert shown[0.004] * 0.004 <= 1.3 * 0.05 * 500 * 0.004
    assert shown[0.02] * 0.02 <= 2.0 * 0.05 * 500 * 0.004 and shown[0.02] > 3


def test_slow_motion_waits_and_full_speed_does_not() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.begin(0.0)
    pace.speed = 0.5
    assert pace.wait(0.1) == pytest.approx(0.2)
    clock.now += 0.2
    assert pace.wait(0.1) == pytest.approx(0.0)
    clock.now += 5.0  # a long step: time lost is not caught up with a rush
    assert pace.wait(0.2) == 0.0
    assert pace.wait(0.3) == pytest.approx(0.2)
    pace.speed = float("inf")
    assert pace.wait(1e9) == 0.0


# ---------------------------------------------------------------------- parameters


def test_friction_changes_the_running_heap() -> None:
    """The same heap, one with its friction taken away while it stands: it flows apart."""
    spread = {}
    for friction in (None, 0.02):
        live = live_pile(grains=200)
        viewer = live.hub.join()
        turn(live, 90)
        if friction is not None:
            found = say(live, viewer, type="set", name="friction", value=friction)
            assert of_type(found, "parameters")[-1]["values"] == {"friction": friction}
            names = [m.name for m in live.world.materials]
            assert live.world.materials[names.index("gravel")].friction_static == friction
        turn(live, 60)
        where = live.world.grains.position
        spread[friction] = float(np.hypot(where[:, 0], where[:, 1]).mean())
    assert spread[0.02] > 1.3 * spread[None]


def test_material_is_changed_in_grains_and_spout_alike() -> None:
    live = live_pile(grains=400)
    viewer = live.hub.join()
    turn(live, 10)
    say(live, viewer, type="set", name="stiffness", value=3.0e5)
    count = len(live.world.materials)
    turn(live, 10)
    assert len(live.world.materials) == count == 2, "the spout pours the changed material"
    assert set(live.world.grains.material[: live.world.grains.n].tolist()) == {1}
    assert live.world.materials[1].stiffness == 3.0e5


def test_rate_and_number_of_grains() -> None:
    live = live_pile(grains=100, rate=60.0)
    viewer = live.hub.join()
    turn(live, 10)
    poured = live.world.grains.n
    say(live, viewer, type="set", name="rate", value=600.0)
    turn(live, 10)
    assert live.world.grains.n - poured > 5 * poured
    say(live, viewer, type="set", name="grains", value=100)
    turn(live, 60)
    assert live.world.grains.n == 100
    say(live, viewer, type="set", name="grains", value=130)
    turn(live, 30)
    assert live.world.grains.n == 130


@pytest.mark.parametrize(("name", "value"), [("iterations", 4), ("substeps", 6), ("sleep", 1e-3)])
def test_solver_options_change_without_losing_contacts(name: str, value: float) -> None:
    live = live_pile()
    viewer = live.hub.join()
    turn(live, 60)
    contacts = live.world.report.contacts
    assert contacts > 10
    assert not errors(say(live, viewer, type="set", name=f"solver.{name}", value=value))
    assert live.world.solver.options()[name] == value
    turn(live)
    assert live.world.report.contacts > 0.5 * contacts
    assert live.world.report.kinetic_energy < 1.0


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("friction", 11.0, "0 to 10"),
        ("friction", "a lot", "0 to 10"),
        ("grains", -1, "50 to 5e+06"),
        ("grains", 100.5, "50 to 5e+06"),
        ("rate", 0, "> 0 to 1e+06"),
        ("solver.substeps", 0, "1 to 100000"),
        ("solver", "magic", "p2"),
        ("colour", 3, "unknown parameter"),
        ("friction_kinetic", 9.0, "at most friction_static"),
    ],
)
def test_values_out_of_bounds_are_refused_with_the_bounds(
    name: str, value: Any, reason: str
) -> None:
    live = live_pile()
    viewer = live.hub.join()
    turn(live, 2)
    materials, setup = list(live.world.materials), live.setup
    (refused,) = errors(say(live, viewer, type="set", name=name, value=value))
    assert reason in refused
    assert live.world.materials == materials
    assert live.setup == setup and live.next_setup == setup
    turn(live)
    assert live.world.step_count == 3


def test_other_parameters_wait_for_the_reset() -> None:
    live = live_pile()
    viewer = live.hub.join()
    turn(live, 20)
    before = live.world
    assert not errors(say(live, viewer, type="set", name="radius", value=0.03))
    assert live.world is before and live.setup.params.radius == 0.02
    hello = take(live.hub, live.hub.join())[0]
    listed = {entry["name"]: entry["value"] for entry in hello["parameters"]}
    assert listed["radius"] == 0.03, "who comes later sees what waits for the reset"
    found = say(live, viewer, type="reset", parameters={"seed": 5})
    assert not errors(found) and live.world is not before
    assert live.setup.params.radius == 0.03 and live.setup.params.seed == 5
    assert live.world.step_count == 0
    assert of_type(found, "parameters")[-1]["values"]["radius"] == 0.03
    assert of_type(found, "stage"), "a new world has a new stage"
    turn(live, 20)
    assert float(live.world.grains.radius.mean()) == pytest.approx(0.03, rel=0.2)


def test_another_solver_comes_with_its_own_options() -> None:
    live = live_pile()
    viewer = live.hub.join()
    turn(live, 20)
    found = say(live, viewer, type="set", name="solver", value="vts")
    assert not errors(found)
    hello = of_type(found, "hello")[-1]
    listed = {entry["name"]: entry for entry in hello["parameters"]}
    assert listed["solver"]["value"] == "vts" and "dem" in listed["solver"]["choices"]
    assert listed["solver.iteration"]["value"] == "gs" and "solver.averaging" not in listed
    assert not errors(say(live, viewer, type="set", name="solver.iterations", value=9))
    assert live.world.solver.name == "p2", "it waits for the reset"
    assert not errors(say(live, viewer, type="reset", parameters={"solver.gamma": 0.4}))
    assert live.world.solver.name == "vts" and live.world.solver.iterations == 9
    assert live.world.solver.gamma == 0.4
    turn(live, 5)
    assert live.world.step_count == 5 and not live.error


def test_reset_gives_the_same_bits_again() -> None:
    live = live_pile()
    viewer = live.hub.join()
    turn(live, 40)
    first = live.world.grains.x[: live.world.grains.n].copy()
    say(live, viewer, type="reset", parameters={})
    turn(live, 40)
    assert np.array_equal(first, live.world.grains.x[: live.world.grains.n])


def test_a_refused_reset_leaves_all_as_it_was() -> None:
    live = live_pile()
    viewer = live.hub.join()
    turn(live, 4)
    world = live.world
    assert "0 to 10" in errors(say(live, viewer, type="reset", parameters={"friction": -1}))[0]
    clash = {"friction": 0.1, "friction_kinetic": 0.2}
    assert "at most" in errors(say(live, viewer, type="reset", parameters=clash))[0]
    assert live.world is world and live.next_setup == live.setup and live.running
    turn(live)
    assert world.step_count == 5


def test_reset_keeps_a_paused_session_paused() -> None:
    live = live_pile()
    viewer = live.hub.join()
    say(live, viewer, type="pause")
    say(live, viewer, type="reset", parameters={})
    turn(live, 3)
    assert live.world.step_count == 0


@pytest.mark.parametrize("name", sorted(SCENES))
def test_every_parameter_is_described_with_its_bounds(name: str) -> None:
    one = scene(name)
    setup = Setup.of(one)
    listed = {entry["name"]: entry for entry in parameters.describe(setup)}
    assert set(listed) == {*one.Params.model_fields, "solver", *setup.option_names()}
    # the rings' two settings are a choice that only a new start can take
    assert any(entry["live"] for entry in listed.values()) or name == "rings"
    for entry in listed.values():
        assert entry["kind"] in ("float", "int", "bool", "choice", "text")
        assert entry["description"]
        if entry["kind"] == "choice":
            assert entry["value"] in entry["choices"]
        if entry["kind"] in ("float", "int") and entry["value"] is not None:
            if entry["low"] is not None:
                assert entry["value"] >= entry["low"]
            if entry["slider"] is not None:
                low, high = entry["slider"]
                assert low < high, entry
                assert entry["low"] is None or low >= entry["low"]
                assert entry["high"] is None or high <= entry["high"]
                assert not entry["log"] or low > 0
    assert listed["dt"]["unit"] == "s" and listed["seed"]["step"] == 1


@pytest.mark.parametrize("name", sorted(SCENES))
def test_every_live_parameter_of_every_scene_acts(name: str) -> None:
    """Each can be moved while the scene runs, and the scene goes on."""
    live = live_pile(scene=name)
    viewer = live.hub.join()
    turn(live, 2)
    described = {entry["name"]: entry for entry in parameters.describe(live.setup)}
    for key in live.setup.live_names():
        low, high = described[key]["slider"]
        value = type(described[key]["value"])(low + 0.4 * (high - low))
        if key == "friction_kinetic":
            value = 0.5 * described["friction"]["value"]
        viewer.rate.__init__(live.hub.clock())
        assert not errors(say(live, viewer, type="set", name=key, value=value)), key
        assert live.setup.in_effect()[key] == pytest.approx(value)
    turn(live, 2)
    assert live.world.step_count == 4 and not live.error


def test_changes_are_told_to_whoever_records() -> None:
    live = live_pile()
    viewer = live.hub.join()
    notes: list[tuple[str, dict[str, Any]]] = []
    live.note_change = lambda kind, **data: notes.append((kind, data))
    turn(live)
    say(live, viewer, type="set", name="friction", value=0.5)
    say(live, viewer, type="set", name="friction", value=50)
    say(live, viewer, type="set", name="radius", value=0.03)
    say(live, viewer, type="keys", down=["KeyW"])
    say(live, viewer, type="keys", down=["KeyW"])
    assert notes[0] == ("parameter", {"name": "friction", "value": 0.5})
    assert notes[1][0] == "inputs" and notes[1][1]["keys"] == ["KeyW"]
    assert len(notes) == 2


# ---------------------------------------------------------------------- failures and ends


def test_a_failure_is_shown_and_the_last_moment_stays() -> None:
    live = live_pile()
    viewer = live.hub.join()
    turn(live, 20)

    def broken(world: Any) -> None:
        raise SimulationError("step 21: grain 3 became non-finite")

    live.world.control = broken
    turn(live, 3)
    found = take(live.hub, viewer)
    (status,) = of_type(found, "status")[-1:]
    assert status["error"] == "step 21: grain 3 became non-finite" and not status["running"]
    assert frames_of(found)[-1][0]["step"] == 20
    newcomer = take(live.hub, live.hub.join())
    assert frames_of(newcomer)[0][0]["n"] == live.world.grains.n
    assert "has failed; allowed: reset" in errors(say(live, viewer, type="resume"))[0]
    say(live, viewer, type="reset", parameters={})
    assert live.error == "" and live.running
    turn(live, 2)
    assert live.world.step_count == 2


def test_errors_of_any_kind_are_shown() -> None:
    live = live_pile()

    def broken(world: Any) -> None:
        raise ZeroDivisionError("division by zero")

    live.world.control = broken
    turn(live)
    assert live.error == "ZeroDivisionError: division by zero"


def test_a_world_that_cannot_be_built_can_be_mended() -> None:
    one = scene("pile")
    setup = Setup.of(one)

    def build(given: Any) -> Any:
        if given.params.seed == 0:
            raise InputError("no room for the spout")
        return given.build()

    live = Live(Program("pile", build, setup), clock=Clock())
    viewer = live.hub.join()
    live.attempt(lambda: live._begin(setup))
    assert live.error == "no room for the spout"
    assert of_type(take(live.hub, viewer), "status")[-1]["error"] == "no room for the spout"
    assert not errors(say(live, viewer, type="reset", parameters={"seed": 1}))
    assert live.world is not None and live.error == ""


def test_the_end_holds_and_is_told() -> None:
    live = live_pile()
    live.program = Program("pile", live.program.build, live.setup, end=0.1)
    viewer = live.hub.join()
    turn(live, 50)
    assert live.world.step_count == 6 and live.finished
    assert of_type(take(live.hub, viewer), "status")[-1]["finished"] is True
    assert "at its end" in errors(say(live, viewer, type="resume"))[0]
    say(live, viewer, type="reset", parameters={})
    assert live.running and not live.finished


def test_a_world_without_a_scene_has_no_parameters() -> None:
    live = Live(Program("mine", lambda params: some_world()), clock=Clock())
    live.pace.speed = float("inf")
    live.attempt(lambda: live._begin(None))
    viewer = live.hub.join()
    turn(live, 2)
    assert take(live.hub, viewer)[0]["parameters"] == []
    assert "no parameters" in errors(say(live, viewer, type="set", name="friction", value=1.0))[0]
    assert "none" in errors(say(live, viewer, type="reset", parameters={"a": 1}))[0]
    assert not errors(say(live, viewer, type="reset"))


def test_a_world_as_it_is_comes_back_to_where_it_began() -> None:
    world = some_world()
    world.run(0.2)
    start = world.grains.x[: world.grains.n].copy()
    live = Live(Program.of_world(world), clock=Clock())
    live.pace.speed = float("inf")
    live.attempt(lambda: live._begin(None))
    viewer = live.hub.join()
    ends = []
    for _ in range(3):
        assert np.array_equal(world.grains.x[: world.grains.n], start)
        turn(live, 8)
        ends.append(world.grains.x[: world.grains.n].copy())
        say(live, viewer, type="reset")
    assert not np.array_equal(ends[0], start)
    assert np.array_equal(ends[0], ends[1]) and np.array_equal(ends[1], ends[2])


def test_ground_that_changes_its_shape_is_a_stream_of_its_own() -> None:
    """Who skips frames of the grains still gets the newest ground; who comes late gets it too."""
    from berm.core.shapes import HeightField

    world = some_world()
    flat = np.zeros((4, 5))
    ground = world.add_body(HeightField(flat, 0.5, (-1.0, -1.0)), name="ground")
    live = Live(Program.of_world(world), clock=Clock())
    live.attempt(lambda: live._begin(None))
    viewer = live.hub.join()
    assert all(header["stream"] == "moment" for header, _ in frames_of(take(live.hub, viewer)))
    for depth in (0.1, 0.2, 0.3):
        ground.shape = HeightField(flat - depth, 0.5, (-1.0, -1.0))
        live.show()
    for who in (viewer, live.hub.join()):
        found = [one for one in frames_of(take(live.hub, who)) if one[0]["stream"] == "height"]
        ((header, arrays),) = found
        assert header["id"] == 1 and header["shape"] == [4, 5] and header["spacing"] == [0.5, 0.5]
        assert header["origin"] == [-1.0, -1.0] and header["version"] == 3
        assert np.allclose(arrays["height"], -0.3)
    live.show()
    viewer.acknowledged = viewer.sent[0]
    assert [one[0]["stream"] for one in frames_of(take(live.hub, viewer))] == ["moment"]


def test_a_run_that_was_left_paused_goes_on() -> None:
    live = live_pile()
    viewer = live.hub.join()
    say(live, viewer, type="pause")
    live.patience = 0.1
    live.hub.leave(viewer)
    live.hold()
    assert live.running


def test_plots_tell_of_energy_overlap_and_each_body() -> None:
    live = live_pile()
    viewer = live.hub.join()
    turn(live, 61)
    live.hub.clock.now += 1.0
    (plots,) = of_type(take(live.hub, viewer), "plots")
    assert plots["names"][:4] == ["time", "real-time factor", "kinetic energy", "mean overlap"]
    assert plots["names"][-1] == "force on floor" and plots["units"][-1] == "N"
    times = [row[0] for row in plots["rows"]]
    assert len(times) == 31 and np.allclose(np.diff(times), 1 / 30)
    last = plots["rows"][-1]
    assert last[2] == pytest.approx(live.world.report.kinetic_energy)
    assert last[-1] == pytest.approx(np.linalg.norm(live.world.body("floor").force))
