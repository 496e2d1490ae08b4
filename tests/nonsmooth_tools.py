"""What tests of the solver "nonsmooth" share: worlds by its options, tubs, heaps of rocks."""

from __future__ import annotations

import numpy as np

import berm
from berm.solvers import SOLVERS
from berm.world.rocks import add_rocks

G = 9.81


def nonsmooth(dt=1 / 60, gravity=(0, 0, -G), **options):
    """A world with solver "nonsmooth"; the options are the solver's."""
    return berm.World(dt=dt, gravity=gravity, solver=SOLVERS.get("nonsmooth")(**options))


def stuff(friction=0.5, restitution=1e-9, name="stuff", **more):
    """A material that does not bounce unless it is said."""
    made = berm.material("steel", friction=friction, restitution=restitution)
    return made.replace(name=name, rolling_friction=0.0, adhesion=0.0).replace(**more)


def run(world, seconds):
    """Step for some time (s)."""
    for _ in range(round(seconds / world.dt)):
        world.step()


def tub(inner=(1.0, 1.0, 0.5), wall=0.1):
    """An open box as one closed mesh; its origin is the middle of the floor's upper side."""
    x, y, z = 0.5 * inner[0], 0.5 * inner[1], inner[2]
    outer, hole = (x + wall, y + wall), (x, y)
    square = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    rings = [(outer, -wall), (outer, z), (hole, z), (hole, 0.0)]
    points = np.array([(a * w, b * d, height) for (w, d), height in rings for a, b in square])
    faces = []
    for ring in range(3):
        for k in range(4):
            a, b = 4 * ring + k, 4 * ring + (k + 1) % 4
            faces += [(a, b, b + 4), (a, b + 4, a + 4)]
    faces += [(0, 2, 1), (0, 3, 2), (12, 13, 14), (12, 14, 15)]
    return berm.Mesh(points, np.array(faces))


def channel(inner=(2.0, 1.0, 0.5), wall=0.1):
    """A floor with walls at both sides, open at its ends +-x: a truck's bed; origin as a tub's."""
    x, y, z = 0.5 * inner[0], 0.5 * inner[1], inner[2]
    across = [(-y - wall, -wall), (y + wall, -wall), (y + wall, z), (y, z), (y, 0), (-y, 0),
              (-y, z), (-y - wall, z)]  # fmt: skip
    points = np.array([(end, b, c) for end in (-x, x) for b, c in across])
    faces = []
    for k in range(8):
        after = (k + 1) % 8
        faces += [(k, 8 + after, 8 + k), (k, after, 8 + after)]
    for a, b, c in [(0, 1, 4), (0, 4, 5), (1, 2, 3), (1, 3, 4), (0, 5, 6), (0, 6, 7)]:
        faces += [(a, c, b), (8 + a, 8 + b, 8 + c)]
    return berm.Mesh(points, np.array(faces))


def heap(count=40, size=(0.2, 0.3), seed=0, merging=True, material=None, **options):
    """Rocks that fall on a floor from a lattice; returns the world and the rocks."""
    world = nonsmooth(merging=merging, **options)
    rough = material or stuff(0.6, rolling_friction=0.1)
    world.add_body(berm.Plane(), name="floor", material=rough)
    rocks = add_rocks(world, count, size, seed=seed, material=rough, base=(0, 0, 0.02))
    return world, rocks


def all_asleep(world):
    """Whether all dynamic bodies are part of the ground."""
    return bool((world.bodies.super_body[world.bodies.dynamic] == 0).all())


def settle(world, most=8.0):
    """Step until all bodies sleep; return the time (s) that it took, or fail."""
    for _ in range(round(most / world.dt)):
        world.step()
        if all_asleep(world):
            return world.time
    awake = int((world.bodies.super_body[world.bodies.dynamic] != 0).sum())
    raise AssertionError(f"{awake} bodies are awake after {most} s")
