"""Whether a machine tips over: where its weight and what its tools feel meet the ground."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from berm.machines.machine import Machine

Array = npt.NDArray[np.float64]


def margin(machine: Machine) -> float:
    """From the centre of pressure to the nearest edge of what the machine stands on, m.

    Statics: weights of all bodies, and the forces of grains and of other bodies on the tools. Below
    0 it tips; without weight, infinite.
    """
    world = machine.world
    gravity = np.asarray(world.gravity, float)
    strength = float(np.linalg.norm(gravity))
    if not strength > 0.0:
        return float("inf")
    up = -gravity / strength
    feet = _feet(machine)
    origin = feet.mean(axis=0)
    force, torque = np.zeros(3), np.zeros(3)
    for body in machine.bodies.values():
        weight = body.mass * gravity
        force += weight
        torque += np.cross(body.centre - origin, weight)
    for tool in machine.tools.values():
        body = tool.body
        for source in ("grains", "bodies"):
            push = body.force_from(source)
            force += push
            torque += body.torque_from(source) + np.cross(body.position - origin, push)
    pressing = float(force @ up)
    if pressing >= 0.0:
        return -float("inf")  # lifted off
    side = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    flat = np.array([side / np.linalg.norm(side), np.cross(up, side / np.linalg.norm(side))])
    centre = flat @ np.cross(up, torque) / pressing
    return _inside(hull((feet - origin) @ flat.T), centre)


def _feet(machine: Machine) -> Array:
    """Places (n, 3) on which it stands."""
    places = []
    for name, place in machine.design.feet:
        part, body = machine.design.bodies[name], machine.bodies[name]
        own = part.turn.T @ (np.asarray(place, float) - np.asarray(part.at, float))
        places.append(body.position + body.rotation @ own)
    return np.array(places)


def hull(points: Array) -> Array:
    """Corners (n, 2) of the convex hull, counter-clockwise [Andrew 1979]."""
    order = points[np.lexsort((points[:, 1], points[:, 0]))]
    sides = []
    for way in (order, order[::-1]):
        side: list[Array] = []
        for point in way:
            while len(side) > 1 and _turn(side[-2], side[-1], point) <= 0.0:
                side.pop()
            side.append(point)
        sides += side[:-1]
    return np.array(sides)


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _inside(corners: Array, point: Array) -> float:
    """Distance (m) to the nearest edge, below 0 outside of one of them."""
    along = np.roll(corners, -1, axis=0) - corners
    length = np.linalg.norm(along, axis=1)
    off = point - corners
    return float(((along[:, 0] * off[:, 1] - along[:, 1] * off[:, 0]) / length).min())
