"""What all solvers share: options checked alike, one world each, capabilities, discovery."""

from __future__ import annotations

import dataclasses
import gc

import numpy as np
import pytest

import berm
from berm.core.cloth import Cloth
from berm.core.errors import InputError
from berm.solvers import SOLVERS
from berm.solvers.base import CAPABILITIES, require
from berm.solvers.choice import Choice, make_solver, names
from berm.solvers.options import declared

NAMES = SOLVERS.names()
EACH = [(name, option) for name in NAMES for option in declared(SOLVERS.get(name))]


def test_solvers_are_found_without_a_central_list():
    assert {"p2", "vts", "sp", "dem"} <= set(NAMES)
    for name in NAMES:
        assert SOLVERS.get(name).name == name
        assert SOLVERS.get(name).can <= set(CAPABILITIES)


@pytest.mark.parametrize(("name", "option"), EACH)
@pytest.mark.parametrize("wrong", ["x", float("nan"), [1, 2], object(), -1e30])
def test_a_wrong_value_of_any_option_names_solver_option_and_range(name, option, wrong):
    with pytest.raises(InputError) as told:
        SOLVERS.get(name)(**{option: wrong})
    text = str(told.value)
    if name == "dem" and option in ("normal", "tangential", "rolling", "cohesion"):  # laws
        assert f"{option} law" in text
    else:
        assert text.startswith(f"solver {name}: {option}: got {wrong!r}; allowed: ")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("edge", ["low", "high"])
def test_what_the_range_names_is_taken(name, edge):
    for option, allowed in declared(SOLVERS.get(name)).items():
        value = getattr(allowed, edge)
        if value is None or option in ("acceleration", "step_size", "merge_speed"):
            continue  # needs others, excludes it, or takes others with it
        if edge == "low" and allowed.allowed.startswith("above"):
            continue
        given = {option: value}
        if option in ("merge_speed", "split_speed"):  # they must not contradict each other
            given = dict.fromkeys(("merge_speed", "split_speed"), value)
        assert getattr(SOLVERS.get(name)(**given), option) == value


@pytest.mark.parametrize("name", NAMES)
def test_whole_numbers_become_such_and_others_are_refused(name):
    kind = SOLVERS.get(name)
    option = {"dem": "steps_a_contact", "nonsmooth": "sweeps"}.get(name, "iterations")
    taken = kind(**{option: np.float64(20.0)})
    assert type(getattr(taken, option)) is int
    assert taken.options()[option] == 20
    with pytest.raises(InputError, match="whole number"):
        kind(**{option: 20.5})


@pytest.mark.parametrize("name", NAMES)
def test_options_make_the_same_solver_again(name):
    kind = SOLVERS.get(name)
    one = kind(**({"warm": 0.25} if name == "nonsmooth" else {"skin": 0.25}))
    again = kind(**one.options())
    assert again.options() == one.options()
    assert set(one.options()) == {field.name for field in dataclasses.fields(kind)}


def test_an_unknown_option_names_a_near_one():
    with pytest.raises(InputError, match=r"solver vts: unknown option.*'gama'.*'gamma'"):
        make_solver("vts", {"gama": 1.0})


@pytest.mark.parametrize("name", NAMES)
def test_a_solver_serves_one_world_even_after_its_end(name):
    solver = SOLVERS.get(name)()
    world = berm.World(solver=solver)
    solver.prepare(world)  # once more for its own world: nothing happens
    with pytest.raises(InputError, match="one world only"):
        berm.World(solver=solver)
    del world
    gc.collect()
    for _ in range(20):  # one of them takes the place, and the number, of the first in memory
        with pytest.raises(InputError, match="one world only"):
            berm.World(solver=solver)


ADDING = {
    "grains": lambda world: world.add_grains((0, 0, 1), 0.1),
    "cloth": lambda world: world.add_cloth(Cloth.grid((3, 3), (1.0, 1.0))),
    "clusters": lambda world: world.add_clusters(berm.rod(0.1, 2), (0, 0, 1)),
    "bodies": lambda world: world.add_body(berm.Sphere(0.1), dynamic=True),
    "joints": lambda world: world.add_joint(
        berm.Ball(berm.World(solver="p2").add_body(berm.Sphere(0.1), dynamic=True))
    ),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("capability", ADDING)
def test_what_a_solver_cannot_do_is_refused_when_it_is_added(name, capability):
    world = berm.World(solver=name)
    if capability in world.solver.can:
        require(world.solver, capability, "a thing")
        return
    with pytest.raises(InputError) as told:
        ADDING[capability](world)
    able = [one for one in NAMES if capability in SOLVERS.get(one).can]
    assert f": solver: got '{name}'; allowed: one {CAPABILITIES[capability]}: " in str(told.value)
    assert str(told.value).endswith(": " + ", ".join(able))
    assert not (world.bodies or world.cloths or world.joints or world.grains.n)


def test_variants_and_forms_have_names():
    assert {"published", "serial", "pbd", "lacoursiere", *NAMES} == set(names())
    assert names(frozenset({"cloth"})) == ["pbd", "sp", "vts"]
    assert make_solver("published", {"iterations": 4}).options() == berm.P2.published(4).options()
    assert make_solver("vts:ij").iteration == "ij"
    assert make_solver("pbd:jacobi").friction == "post"
    assert Choice("p2:mass", {"substeps": 2}).changed(substeps=3).make().substeps == 3
    assert berm.World(solver="serial").solver.averaging == "serial"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("publised", "did you mean 'published'"),
        ("vts:gauss", "iteration: got 'gauss'; allowed: cr"),
    ],
)
def test_a_wrong_name_or_form_is_told(name, words):
    with pytest.raises(InputError, match=words):
        make_solver(name)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_says_what_it_is(name):
    for option in declared(SOLVERS.get(name)).values():
        assert option.about and option.kind in ("int", "float", "bool", "choice")
