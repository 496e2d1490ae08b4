"""A tracked undercarriage of 8 t, as excavators and dozers stand on: two tracks with belts."""

from __future__ import annotations

import math

import numpy as np

from berm.machines.base import MACHINES
from berm.machines.design import Design, Part, weld
from berm.machines.materials import DARK, PAD
from berm.machines.meshes import box, joined, prism, tube
from berm.machines.tracks import Tracks

SOURCE = {
    "size": "tracks of 4.2 m, shoes of 0.6 m, gauge 2.2 m: class of 20 t [M]",
    "mass": "undercarriage 7 to 8 t [M]",
    "speed": "5.5 km/h [M]",
}
LENGTH, HEIGHT, SHOE, GAUGE = 4.2, 0.92, 0.60, 2.20  # m
SPEED = 5.5 / 3.6  # m/s
RING = 1.10  # m, height of the slew ring


def track(y: float, length: float, height: float, shoe: float, mass: float) -> Part:
    """A track in its belt: the middle of its shoes at y, sizes in m, mass in kg."""
    round_, flat = 0.5 * height, 0.5 * (length - height)
    turn = np.linspace(-0.5 * math.pi, 0.5 * math.pi, 9)
    ahead = [(flat + round_ * math.cos(a), round_ + round_ * math.sin(a)) for a in turn]
    behind = [(-x, height - z) for x, z in ahead]
    bottom = [(x, 0.0) for x in (-0.5 * flat, 0.0, 0.5 * flat)]
    at = (0.0, y, round_)
    mesh = joined(
        prism([*ahead, *behind, *bottom], y - 0.5 * shoe, y + 0.5 * shoe), name="track", at=at
    )
    return Part(mesh, mass, at, PAD)


@MACHINES.register("crawler")
def crawler() -> Design:
    """A tracked undercarriage with a slew ring on top."""
    half = 0.5 * GAUGE - 0.5 * SHOE - 0.02
    at = (0.0, 0.0, 0.8)
    frame = joined(
        box((-0.9, -half, 0.5), (0.9, half, 0.95)), tube((0, 0, 0.94), (0, 0, RING), 0.6, 24),
        name="undercarriage", at=at,
    )  # fmt: skip
    bodies = {
        "frame": Part(frame, 3600.0, at, DARK),
        "track_l": track(0.5 * GAUGE, LENGTH, HEIGHT, SHOE, 2200.0),
        "track_r": track(-0.5 * GAUGE, LENGTH, HEIGHT, SHOE, 2200.0),
    }
    joints = {
        f"track_{side}": weld(f"track_{side}", "frame", (0.0, y, 0.5))
        for side, y in (("l", 0.5 * GAUGE - 0.3), ("r", 0.3 - 0.5 * GAUGE))
    }
    edge = 0.5 * GAUGE + 0.5 * SHOE
    flat = 0.5 * (LENGTH - HEIGHT)  # of the ground under it
    return Design(
        bodies, joints, actuators=[Tracks("track_l", "track_r", SPEED)], source=SOURCE,
        feet=[("frame", (x, y, 0.0)) for x in (-flat, flat) for y in (-edge, edge)],
    )  # fmt: skip
