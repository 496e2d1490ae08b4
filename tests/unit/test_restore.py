"""A state that does not fit is refused with what is wrong, and the world stays as it was."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import berm
from berm.core.errors import InputError
from tests.state_worlds import SOLVERS, build, differences, flat


@pytest.fixture(params=["sweep", "published", "vts", "dem"])
def running(request):
    world = build(request.param, "without bodies", count=3)
    for _ in range(3):
        world.step()
    return world


def refuse(world, state, match):
    before = flat(world.state())
    with pytest.raises(InputError, match=match):
        world.restore(state)
    assert not differences(flat(world.state()), before)
    world.step()


@pytest.mark.parametrize(
    ("name", "column", "value", "match"),
    [
        ("material", None, 1_000_000, r"state\.grains: material: got '1000000 at \[0\]'"),
        ("material", None, -1, "material"),
        ("x", 3, -1.0, "radii above 0"),
        ("x", 3, 0.0, "radii above 0"),
        ("x", 0, np.nan, r"x.*finite"),
        ("v", 3, -1.0, "inverse masses of 0 or more"),
        ("v", 1, np.inf, r"v.*finite"),
        ("m", None, 0.0, "masses above 0"),
        ("tag", None, 1, "each tag once"),
        ("was", None, 10**6, "a row of before"),
    ],
)
def test_grains_that_cannot_be(running, name, column, value, match):
    state = running.state()
    if column is None:
        state["grains"][name][0] = value
        if name == "tag":
            state["grains"][name][:2] = value
    else:
        state["grains"][name][0, column] = value
    refuse(running, state, match)


def test_arrays_of_another_length_or_type(running):
    for change in (lambda a: a[:-1], lambda a: a.astype(np.float16), lambda a: a.tolist()):
        state = running.state()
        state["grains"]["v"] = change(state["grains"]["v"])
        refuse(running, state, r"state\.grains: v")
    state = running.state()
    del state["grains"]["warm"]
    refuse(running, state, "warm")


def test_a_list_of_contacts_that_points_elsewhere():
    world = build("sweep", "without bodies", count=3)
    world.step()
    for name, value in (
        ("nbr", 10**6),
        ("nbr", -1),
        ("lanes", 10**6),
        ("ptr", 10**6),
        ("home", 10**6),
    ):
        state = world.state()
        state["solver"]["contacts"][name][-1] = value
        refuse(world, state, "nbr" if name == "ptr" else name)
    for name in ("rows", "body"):
        state = world.state()
        assert state["solver"]["walls"]["count"][0] > 0
        state["solver"]["walls"][name][0, 0] = 10**6
        refuse(world, state, "nbr" if name == "ptr" else name)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_state_of_another_scene(name):
    world = build(name, "with bodies", count=3)
    state = world.state()
    for change, match in (
        (lambda w: w.add_body(berm.Plane(), name="floor"), "another scene: bodies"),
        (lambda w: w.add_sink(berm.Sink(high=(0, 0, 0))), "another scene: sinks"),
    ):
        other = build(name, "with bodies", count=3)
        change(other)
        refuse(other, state, match)
    refuse(build(name, "without bodies", count=3), state, "another scene: bodies")
    for attribute, value in (("name", "another"), ("shape", berm.Sphere(0.031))):
        other = build(name, "without bodies", count=3)
        if attribute == "name":
            other.bodies.names[2] = value  # row 0 is the ground
        else:
            other.bodies[1].shape = value
        same = build(name, "without bodies", count=3).state()
        before = flat(other.state())
        with pytest.raises(InputError, match="another scene: bodies"):
            other.restore(same)
        assert not differences(flat(other.state()), before)


def test_a_state_of_another_solver_or_precision():
    state = build("sweep", "without bodies", count=3).state()
    refuse(build("vts", "without bodies", count=3), build("sp", "without bodies", count=3).state(),
           "another scene: solver")  # fmt: skip
    refuse(build("published", "without bodies", count=3), state, "averaging")
    one = berm.World(precision="float64")
    two = berm.World()
    for world in (one, two):
        world.add_grains([[0, 0, 0]], 0.02)
    refuse(one, two.state(), "precision")


def test_other_cloth():
    world = build("vts", "without bodies", count=3)
    other = berm.World(solver="vts")
    state = world.state()
    state["scene"]["cloths"][0]["vertices"] = 35
    refuse(world, state, "another scene: cloths")
    state = world.state()
    state["cloths"][0]["position"] = state["cloths"][0]["position"][:-1]
    refuse(world, state, "position")
    with pytest.raises(InputError, match="another scene"):
        other.restore(world.state())


def test_an_emitter_that_is_done_does_not_make_a_state_wrong():
    world = berm.World()
    world.add_emitter(berm.Emitter(300, (0, 0, 1), "disc", (0.2, 0.2), 0.02, total=10))
    world.run(0.5)
    assert world.grains.n == 10
    world.restore(world.state())
    endless = berm.World()
    endless.add_emitter(berm.Emitter(300, (0, 0, 1), "disc", (0.2, 0.2), 0.02))
    state = endless.state()
    state["emitters"][0]["due"] = 1e9
    refuse(endless, state, "due")


def test_an_error_that_nobody_foresaw_leaves_the_world_as_it_was(monkeypatch):
    world = build("sweep", "without bodies", count=3)
    world.step()
    state = copy.deepcopy(world.state())
    world.step()
    before = flat(world.state())
    calls = []

    def fails_once(self, values):
        calls.append(values)
        if len(calls) == 1:
            raise KeyError("lost")
        self.keys = frozenset(values["keys"])

    monkeypatch.setattr(type(world.inputs), "restore", fails_once)
    with pytest.raises(InputError, match="lost"):
        world.restore(state)
    assert not differences(flat(world.state()), before)
