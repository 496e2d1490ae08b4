"""Figures that solver "nonsmooth" has to reach on heaps and machines of real size: all slow."""

from __future__ import annotations

import math

import numpy as np
import pytest

import berm
from berm.core.joints import Hinge
from berm.core.motion import Keyframes
from berm.kernels.multibody import substep
from berm.scenes.base import make_params, scene
from berm.scenes.loader import machine_of, rocks_of
from berm.solvers.choice import Choice
from berm.world.rocks import add_rocks
from tests.nonsmooth_tools import all_asleep, nonsmooth, run, stuff, tub

pytestmark = pytest.mark.slow
ROUGH = stuff(0.6)


def deepest(world, names=""):
    """Largest overlap (m) of two bodies now, of which one's name begins with `names`."""
    multi, bodies = world.solver.multibody, world.bodies
    bodies.wake_all()  # bodies of one unit do not meet
    multi.follow(world)
    found = substep.touching(multi.arrays, multi.table.arrays, multi.solids, 0.0, True)
    worst = 0.0
    for k in range(int(found.n[0])):
        ends = bodies.names[found.a[k]], bodies.names[found.b[k]]
        if any(end.startswith(names) for end in ends):
            worst = max(worst, -float(found.gap[k]))
    return worst


# ---- rest -----------------------------------------------------------------------------------


def heap_at_rest(merging, count=500, seconds=10.0):
    """Joules a body, deepest overlap (m), bodies asleep, when rocks have fallen for a while."""
    world = nonsmooth(merging=merging)
    world.add_body(berm.Plane(), name="floor", material=ROUGH)
    add_rocks(world, count, (0.2, 0.3), seed=1, material=ROUGH, base=(0, 0, 0.02))
    run(world, seconds)
    energy = world.bodies.kinetic_energy() / count
    asleep = int((world.bodies.super_body[world.bodies.dynamic] == 0).sum())
    return energy, deepest(world), asleep


@pytest.mark.xfail(strict=True, reason="496 of 500 asleep after 8 s, 3e-5 J a body")
def test_a_merged_heap_is_at_rest():
    energy, deep, asleep = heap_at_rest(True)
    assert energy < 1e-8
    assert deep < 5e-6
    assert asleep == 500


# ---- a bucket of stones ---------------------------------------------------------------------


def lift(method, merging=False, stones=500, mass=6.0):
    """Lift 3 t of stones of 6 kg: largest joint error (m), share of the stones kept, height (m)."""
    world = nonsmooth(method=method, merging=merging)
    bucket = world.add_body(
        tub((1.4, 1.4, 1.2), 0.06), name="bucket", dynamic=True, mass=900.0, material=ROUGH
    )
    stick = world.add_body(
        berm.Box((2.9, 0.4, 0.5)), name="stick", dynamic=True, mass=800.0, position=(-2.3, 0, 0.9)
    )
    boom = world.add_body(
        berm.Box((5.7, 0.5, 0.7)), name="boom", dynamic=True, mass=1600.0, position=(-6.6, 0, 0.9)
    )
    y = (0, 1, 0)
    joints = [
        world.add_joint(Hinge(bucket, stick, (-0.85, 0, 0.9), axis=y)),
        world.add_joint(Hinge(stick, boom, (-3.75, 0, 0.9), axis=y)),
        world.add_joint(Hinge(boom, None, (-9.45, 0, 0.9), axis=y)),
    ]
    for joint in joints:
        joint.drive(0.0, effort=2e6)
    rocks = add_rocks(world, stones, 0.2, material=ROUGH, across=(6, 6), base=(0, 0, 0.02))
    for rock in rocks:
        rock.set_free(1000.0, mass=mass)
    worst = 0.0
    for step in range(300):
        if step == 180:
            joints[2].drive(-0.1, effort=2e6)
        world.step()
        worst = max(worst, *(joint.error for joint in joints))
    inside = 0
    for rock in rocks:
        x, y, z = bucket.rotation.T @ (rock.position - bucket.position)
        inside += max(abs(x), abs(y)) < 0.75 and -0.1 < z < 2.0
    return worst, inside / stones, float(bucket.position[2])


def test_three_tons_of_stones_are_lifted():
    """Joint errors below 0.1 mm with hybrid; by Gauss-Seidel alone the arm falls apart."""
    worst, kept, height = lift("hybrid")
    assert worst < 1e-4
    assert kept > 0.9
    assert height > 1.0
    assert lift("sweeps")[0] > 0.01


def test_three_tons_of_stones_are_lifted_merged():
    worst, kept, height = lift("hybrid", merging=True)
    assert worst < 1e-4
    assert kept > 0.9
    assert height > 1.0


# ---- twenty tons on rocks -------------------------------------------------------------------


def stand(merging, seconds=6.0):
    """20 t on a layer of rocks of 160 kg in a frame: overlap with them (m), energy (J)."""
    world = nonsmooth(merging=merging)
    world.add_body(tub((3.0, 3.0, 1.0), 0.2), name="pit", material=ROUGH, position=(0, 0, 0))
    rocks = add_rocks(world, 60, 0.55, seed=2, material=ROUGH, across=(4, 4), base=(0, 0, 0.02))
    for rock in rocks:
        rock.set_free(1000.0, mass=160.0)
    run(world, 4.0)
    top = max(rock.position[2] for rock in rocks) + 0.35
    machine = world.add_body(
        berm.Box((2.4, 2.4, 0.6)), name="machine", dynamic=True, mass=20e3, material=ROUGH,
        position=(0, 0, top + 0.3),
    )  # fmt: skip
    run(world, seconds)
    speed = float(np.linalg.norm(machine.velocity))
    return deepest(world, "machine"), speed


@pytest.mark.parametrize("merging", [False, True])
def test_twenty_tons_stand_on_rocks(merging):
    """They sink into them by less than 0.02 mm."""
    deep, speed = stand(merging)
    assert deep < 2e-5
    assert speed < 1e-3


# ---- merged and unmerged --------------------------------------------------------------------


def bucket_load(merging, seed):
    """Mass (kg) of the rocks in the bucket when the loader has backed out of the pile."""
    one = scene("loader")
    how = Choice("nonsmooth", {"merging": merging})
    world = one.build(make_params(one, {"strewn": 0, "seed": seed}), how)
    machine = machine_of(world, "loader")
    while machine.operator.now != "turn to the truck":
        world.step()
    bucket = machine.bodies["bucket"]
    low, high = bucket.shape.vertices.min(axis=0), bucket.shape.vertices.max(axis=0)
    load = 0.0
    for rock in rocks_of(world):
        at = bucket.rotation.T @ (rock.position - bucket.position)
        load += rock.mass * bool((at > low).all() and (at < high + np.array([0.0, 0.0, 0.5])).all())
    return load


def test_the_bucket_takes_the_same_load_merged_or_not():
    """To 5 % in the mean of five seeds; a rock is 3 to 7 % of a load."""
    loads = {on: np.mean([bucket_load(on, seed) for seed in range(5)]) for on in (False, True)}
    assert loads[False] > 1000.0
    assert loads[True] == pytest.approx(loads[False], rel=0.05)


# ---- squeezed -------------------------------------------------------------------------------


@pytest.mark.parametrize("merging", [False, True])
def test_what_is_squeezed_is_not_hurled(merging):
    """A driven bucket goes down to 2 cm above a floor on which rocks of 14 to 20 cm lie.

    Nothing can be right then, and the rocks have to go into floor or bucket; but not fly.
    """
    world = nonsmooth(merging=merging)
    world.add_body(tub((3.0, 1.4, 1.0), 0.2), name="bin", material=ROUGH)
    add_rocks(world, 220, (0.14, 0.2), material=ROUGH, across=(12, 6), base=(0, 0, 0.02))
    turn = math.radians(70)
    world.add_body(
        tub((0.7, 1.1, 0.6), 0.04), name="bucket", material=ROUGH, position=(-1.0, 0, 2.1),
        motion=Keyframes(
            (0.0, 4.0, 6.0, 9.0), ((0, 0, 0), (0, 0, 0), (0, 0, -1.7), (1.5, 0, -1.7)),
            [turn] * 4, axis=(0, 1, 0),
        ),
    )  # fmt: skip
    fast = 0.0
    for _ in range(round(9.0 / world.dt)):
        world.step()
        fast = max(fast, float(np.abs(world.bodies.v).max()))
    rocks = world.bodies.x[world.bodies.dynamic]
    assert fast < 20.0
    assert np.abs(rocks).max() < 5.0


# ---- after the machine stops ----------------------------------------------------------------


def ploughed(seed, count=100):
    """Seconds from the stop of a driven blade in a heap until all sleep; inf: not within 6 s."""
    world = nonsmooth(merging=True)
    world.add_body(berm.Plane(), name="floor", material=ROUGH)
    add_rocks(world, count, (0.2, 0.3), seed=seed, material=ROUGH, base=(0, 0, 0.02))
    world.add_body(
        berm.Box((0.1, 4.0, 0.8)), name="blade", material=ROUGH, position=(-2.5, 0, 0.42),
        motion=berm.Linear((0.5, 0, 0), start=4.0, stop=8.0),
    )  # fmt: skip
    run(world, 8.0)
    while not all_asleep(world):
        world.step()
        if world.time > 14.0:
            return math.inf
    return world.time - 8.0


@pytest.mark.xfail(strict=True, reason="2.9 s to never")
@pytest.mark.parametrize("seed", range(5))
def test_all_sleep_two_seconds_after_the_machine_stops(seed):
    assert ploughed(seed) < 2.0
