"""Worlds of rigid bodies in contact with closed answers, for any solver by its name.

Each function runs a case and returns what was measured; the tests hold it against the answer.
"""

from __future__ import annotations

import math

import numpy as np

import berm
from berm.core.motion import rotation_about
from berm.solvers import SOLVERS

G = 9.81
RADIUS = 0.1
DT = 1 / 60  # s: each solver is given this step and makes of it what it will


def make(name, dt=DT, gravity=(0, 0, -G), **options):
    """A world by the name of its solver."""
    return berm.World(dt=dt, gravity=gravity, solver=SOLVERS.get(name)(**options))


def stuff(friction=0.5, restitution=1e-9, adhesion=0.0, name="stuff"):
    """Bodies do not bounce unless it is said, and roll without resistance."""
    return berm.material(
        "steel", friction=friction, restitution=restitution, adhesion=adhesion
    ).replace(name=name, rolling_friction=0.0)


def sticking(force, radius):
    """The material of which a ball of this radius (m) hangs on a plate with this force (N).

    The one place that says how adhesion between bodies is given: a stress (Pa) on the section.
    """
    return stuff(adhesion=force / (math.pi * radius**2))


def slip_to_roll(name, mu, v0, dt=DT, **options):
    """A6: mu g t_s / v0 by the line of the slip, v / v0 and w r / v0 at the end."""
    world = make(name, dt, **options)
    world.add_body(berm.Plane(), material=stuff(mu))
    ball = world.add_body(
        berm.Sphere(RADIUS), dynamic=True, material=stuff(mu), position=(0, 0, RADIUS),
        velocity=(v0, 0, 0),
    )  # fmt: skip
    exact = 2 * v0 / (7 * mu * G)
    times, slips = [], []
    while world.time < 3 * exact + 3 * dt:
        world.step()
        slip = ball.velocity[0] - RADIUS * ball.angular_velocity[1]
        if slip > 0.1 * v0:
            times.append(world.time)
            slips.append(slip)
    slope, start = np.polyfit(times, slips, 1) if len(times) > 2 else (np.nan, np.nan)
    return (
        -start / slope * mu * G / v0,
        ball.velocity[0] / v0,
        RADIUS * ball.angular_velocity[1] / v0,
    )


def bounce(name, e, dt=DT, gravity=G, height=1.0, **options):
    """A14: speed after over speed before, and height of the rebound over that of the drop."""
    world = make(name, dt, (0, 0, -gravity), **options)
    world.add_body(berm.Plane(), material=stuff(restitution=e))
    speed = 0.0 if gravity else 2.0
    ball = world.add_body(
        berm.Sphere(RADIUS), dynamic=True, material=stuff(restitution=e),
        position=(0, 0, RADIUS + height), velocity=(0, 0, -speed),
    )  # fmt: skip
    before, after, top, fell = 0.0, 0.0, 0.0, False
    for _ in range(round((3.0 * math.sqrt(2 * height / G) if gravity else height) / dt)):
        world.step()
        v = ball.velocity[2]
        before = min(before, v)
        fell |= v > -0.5 * abs(before) or ball.position[2] < RADIUS + 1e-3
        if fell and before < -1.0:
            after = max(after, v)
            top = max(top, ball.position[2] - RADIUS)
    return -after / before, top / height


def oblique(name, angle, mu, e, speed=3.0, dt=DT, **options):
    """A8: speed along the plane and w r after a hit at this angle (rad) from its normal, of vt."""
    world = make(name, dt, (0, 0, 0), **options)
    world.add_body(berm.Plane(), material=stuff(mu, e))
    along, down = speed * math.sin(angle), speed * math.cos(angle)
    ball = world.add_body(
        berm.Sphere(RADIUS), dynamic=True, material=stuff(mu, e), position=(0, 0, 1.5 * RADIUS),
        velocity=(along, 0, -down),
    )  # fmt: skip
    world.run(0.5)
    return ball.velocity[0] / along, RADIUS * ball.angular_velocity[1] / along


def sliding_block(name, mu=0.5, v0=5.0, dt=DT, **options):
    """A15: distance (m) and the time (s) at which it stands."""
    world = make(name, dt, **options)
    world.add_body(berm.Plane(), material=stuff(mu))
    block = world.add_body(
        berm.Box((0.4, 0.4, 0.1)), dynamic=True, material=stuff(mu), position=(0, 0, 0.05),
        velocity=(v0, 0, 0),
    )  # fmt: skip
    times, speeds = [], []
    for _ in range(round(1.3 / dt)):
        world.step()
        if block.velocity[0] > 0.1 * v0:
            times.append(world.time)
            speeds.append(block.velocity[0])
    slope, start = np.polyfit(times, speeds, 1)
    return block.position[0], -start / slope, float(np.linalg.norm(block.velocity))


def slope_way(name, shape, theta, mu, seconds=1.0, dt=DT, **options):
    """Speed, w r and way down a slope after some time; the shape stands RADIUS above it."""
    turn = rotation_about((0, 1, 0), theta)
    world = make(name, dt, **options)
    world.add_body(berm.Plane(), material=stuff(mu), rotation=turn)
    body = world.add_body(
        shape, dynamic=True, material=stuff(mu), position=RADIUS * turn[:, 2], rotation=turn
    )
    world.run(seconds)
    return (
        float(body.velocity @ turn[:, 0]),
        RADIUS * body.angular_velocity[1],
        float(body.position @ turn[:, 0]),
    )


def slope_threshold(name, mu, turns=7, dt=DT, **options):
    """A16: tan(theta) / mu at which a block begins to slide, by bisection."""
    low, high = 0.9, 1.1
    for _ in range(turns):
        middle = 0.5 * (low + high)
        block = berm.Box((0.4, 0.4, 2 * RADIUS))
        way = slope_way(name, block, math.atan(mu * middle), mu, 0.5, dt, **options)[2]
        # half of what it goes at 0.2 % above the limit
        if way > 0.25 * 0.5**2 * G * math.cos(math.atan(mu)) * mu * 0.002:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def stack_of_spheres(name, count=5, seconds=3.0, dt=DT, **options):
    """A18: way off the line (m), kinetic energy (J), heights (m), floor force over weight."""
    world = make(name, dt, **options)
    floor = world.add_body(berm.Plane(), material=stuff())
    balls = [
        world.add_body(
            berm.Sphere(RADIUS), dynamic=True, material=stuff(),
            position=(0, 0, RADIUS * (2 * k + 1)),
        )
        for k in range(count)
    ]  # fmt: skip
    world.run(seconds)
    at = np.array([ball.position for ball in balls])
    weight = G * sum(ball.mass for ball in balls)
    energy = sum(ball.kinetic_energy for ball in balls)
    return np.abs(at[:, :2]).max(), energy, at[:, 2], -floor.force[2] / weight


def pyramid(name, mu, floor, seconds=2.0, dt=DT, **options):
    """A19: how far the top of three spheres has sunk, in radii."""
    world = make(name, dt, **options)
    world.add_body(berm.Plane(), material=stuff(floor, name="floor"))
    r = 0.5
    top = r + 2 * r * math.sin(math.pi / 3)
    for k, where in enumerate([(-r, 0, r), (r, 0, r), (0, 0, top)]):
        world.add_body(
            berm.Sphere(r), name=f"ball {k}", dynamic=True, material=stuff(mu), position=where
        )
    world.run(seconds)
    return (top - world.body("ball 2").position[2]) / r


def hanging(name, gravity, force=10.0, mass=1.0, seconds=1.0, dt=DT, **options):
    """A20: how far a ball below a plate has fallen (m)."""
    world = make(name, dt, (0, 0, -gravity), **options)
    glue = sticking(force, RADIUS)
    world.add_body(berm.Box((1.0, 1.0, 0.1)), material=glue, position=(0, 0, 0.05), name="plate")
    ball = world.add_body(
        berm.Sphere(RADIUS), dynamic=True, material=glue, mass=mass, position=(0, 0, -RADIUS)
    )
    world.run(seconds)
    return -RADIUS - ball.position[2]


def collisions(name, seed, dt=DT, **options):
    """A world of six bodies that fly into each other, free of gravity."""
    rng = np.random.default_rng(seed)
    world = make(name, dt, (0, 0, 0), **options)
    shapes = [berm.Sphere(0.1), berm.Box((0.2, 0.15, 0.1)), berm.Cylinder(0.08, 0.15),
              berm.Capsule(0.07, 0.15), berm.Sphere(0.12), berm.Box((0.1, 0.1, 0.25))]  # fmt: skip
    for k, shape in enumerate(shapes):
        where = np.array([np.cos(k * np.pi / 3), np.sin(k * np.pi / 3), 0.1 * rng.normal()])
        world.add_body(
            shape, name=f"body {k}", dynamic=True, material=stuff(0.4, 0.5),
            density=float(rng.uniform(500, 5000)), position=0.7 * where,
            velocity=-1.5 * where + rng.normal(0, 0.1, 3), angular_velocity=rng.normal(0, 2, 3),
        )  # fmt: skip
    return world
