"""A dump truck of 14 t that carries 20 t: two axles, steered in front, with a bed that tips."""

from __future__ import annotations

import math

import numpy as np

from berm.core.motion import rotation_about
from berm.core.shapes import Cylinder as Round
from berm.machines.actuators import Brake
from berm.machines.base import MACHINES
from berm.machines.design import Coupling, Design, Part, hinge, ram, weld
from berm.machines.engine import RPM, Driveline, Engine
from berm.machines.hydraulics import Cylinder, Hydraulics, Lever, Rotary
from berm.machines.loader import ROLLING, converter, wheel
from berm.machines.materials import BLADE, CAB, DARK, PAINT
from berm.machines.meshes import box, joined, prism, trough, tube
from berm.machines.tool import Tool

SOURCE = {
    "size": "own: a small rigid hauler that a loader of 20 t fills in three or four buckets [D]",
    "tipping": "50 degrees in about 12 s, as of the class [M]",
    "masses": "estimated [D]",
}
RADIUS = 0.68  # m, of the tyres
FRONT, REAR = 1.95, -1.70  # m, of the axles
TRACK = 1.05  # m, half
TURN = math.radians(32.0)
SPEEDS = (9.0, 18.0, 32.0, 50.0)  # km/h
DIFFERENTIAL = 4.0
PIVOT = (-2.40, 0.0, 1.32)  # m, of the bed
BED = 3.00  # m, width
PLATE = 0.06  # m, of its sides
FRONT_LIP, TAIL = np.array([0.97, 2.95]), np.array([-3.40, 1.95])
_MOUTH = (TAIL - FRONT_LIP) / np.linalg.norm(TAIL - FRONT_LIP)
OUTER = np.array([FRONT_LIP, (0.80, 1.50), (-1.75, 1.42), TAIL])
INNER = np.array([FRONT_LIP + PLATE * _MOUTH, (0.735, 1.57), (-1.74, 1.49),
                  TAIL - PLATE * _MOUTH])  # fmt: skip
BASE, HEAD = (-0.95, 0.0, 0.92), (0.40, 0.0, 1.48)  # m, of the cylinders
LENGTHS = (1.455, 1.18)  # m: closed, stroke
DUMP = 2.6e-3  # m^3/s


def _bed() -> Part:
    parts = [trough(OUTER, INNER, BED, PLATE)]
    for y in (-0.55, 0.55):  # beams that rest on the frame
        beam = [(-2.55, 1.20), (0.7, 1.25), (0.7, 1.495), (-1.75, 1.415), (-2.55, 1.66)]
        parts.append(prism(beam, y - 0.09, y + 0.09))
    for x in (-1.9, -0.9, 0.1):  # ribs
        for y in (-0.5 * BED - 0.025, 0.5 * BED + 0.025):
            top = FRONT_LIP[1] + (x - FRONT_LIP[0]) * _MOUTH[1] / _MOUTH[0]
            parts.append(box((x - 0.06, y - 0.022, 1.46), (x + 0.06, y + 0.022, top - 0.04)))
    mesh = joined(*parts, name="bed", at=PIVOT)
    return Part(mesh, 3500.0, PIVOT, BLADE)


def _chassis() -> Part:
    parts = [
        box((-2.65, -0.44, 0.62), (2.75, 0.44, 1.12)),
        prism([(1.35, 1.10), (1.35, 1.62), (2.72, 1.52), (2.86, 1.0), (2.80, 0.70), (2.55, 0.70)],
              -0.78, 0.78),
        box((2.80, -1.25, 0.55), (2.98, 1.25, 0.95)),
        tube((REAR, -0.70, RADIUS), (REAR, 0.70, RADIUS), 0.2),
        tube((FRONT, -0.78, RADIUS), (FRONT, 0.78, RADIUS), 0.14),
        box((-0.6, 0.5, 0.6), (0.7, 0.95, 1.1)),
    ]  # fmt: skip
    for y in (-1.05, 1.05):
        parts.append(prism([(1.05, 1.52), (1.30, 1.62), (2.60, 1.62), (2.85, 1.40), (2.80, 1.36),
                            (2.57, 1.56), (1.32, 1.56), (1.08, 1.47)],
                           y - 0.24, y + 0.24))  # fmt: skip
    at = (0.0, 0.0, 0.9)
    mesh = joined(*parts, name="chassis", at=at)
    return Part(mesh, 6500.0, at, PAINT, centre=(0.75, 0.0, 0.95))


def _cab() -> Part:
    side = [(1.38, 1.64), (1.30, 2.85), (2.10, 2.85), (2.42, 2.2), (2.46, 1.56)]
    at = (1.8, 0.3, 1.64)
    return Part(joined(prism(side, -0.30, 0.95), name="truck cab", at=at), 700.0, at, CAB)


@MACHINES.register("truck")
def truck() -> Design:
    """A dump truck with a bed of 10 m^3."""
    bodies = {"chassis": _chassis(), "cab": _cab(), "bed": _bed()}
    up = (0.0, 0.0, 1.0)
    joints = {
        "cab": weld("cab", "chassis", (1.8, 0.3, 1.64)),
        "bed": hinge("bed", "chassis", PIVOT, (0.0, -1.0, 0.0), (0.0, math.radians(52.0))),
        "dump": ram("bed", "chassis", HEAD, BASE, *LENGTHS),
    }
    for side, y in (("l", TRACK), ("r", -TRACK)):
        ahead, behind = (FRONT, y, RADIUS), (REAR, y, RADIUS)
        low, high = np.subtract(ahead, (0.12, 0.12, 0.2)), np.add(ahead, (0.12, 0.12, 0.2))
        hub = joined(box(low.tolist(), high.tolist()), name="knuckle", at=ahead)
        bodies |= {
            f"knuckle_{side}": Part(hub, 250.0, ahead, DARK),
            f"wheel_f{side}": wheel(ahead, 400.0, 0.45, RADIUS),
            f"wheel_r{side}": wheel(behind, 750.0, 0.70, RADIUS),
        }
        joints |= {
            f"knuckle_{side}": hinge(f"knuckle_{side}", "chassis", ahead, up, (-TURN, TURN)),
            f"wheel_f{side}": hinge(f"wheel_f{side}", f"knuckle_{side}", ahead, friction=ROLLING),
            f"wheel_r{side}": hinge(f"wheel_r{side}", "chassis", behind, friction=ROLLING),
        }
    bodies["shaft"] = Part(
        Round(0.1, 1.2), 120.0, (-0.9, 0.0, 0.55), DARK,
        rotation_about((0.0, 1.0, 0.0), 0.5 * math.pi), inertia=(15.0, 15.0, 2.0),
    )  # fmt: skip
    joints["shaft"] = hinge("shaft", "chassis", (-0.9, 0.0, 0.55), (1.0, 0.0, 0.0))
    couplings = {
        "tie_rod": Coupling(("knuckle_l", "knuckle_r"), -1.0),
        "differential": Coupling(("shaft", "wheel_rl", "wheel_rr"), DIFFERENTIAL),
    }
    engine = Engine(
        ((600, 500), (1000, 900), (1400, 1150), (1700, 1080), (2000, 950), (2200, 700),
         (2400, 200)),
        inertia=3.0, idle=750.0, high=2200.0,
    )  # fmt: skip
    levers = (
        Lever("dump", "dump", Cylinder(0.130, 0.090, 20.0e6, count=2), (DUMP, DUMP)),
        Lever("steer", "knuckle_l", Rotary(1.5e-3, 3e-3, 18.0e6), 0.8e-3, priority=True),
    )
    gears = [0.93 * RADIUS * 2100.0 * RPM / (one / 3.6) / DIFFERENTIAL for one in SPEEDS]
    return Design(
        bodies, joints, couplings,
        [
            Hydraulics(levers, engine, displacement=3.5e-3 / 35.0),
            Driveline(engine, converter(), "shaft", gears),
            Brake(("wheel_fl", "wheel_fr", "wheel_rl", "wheel_rr"), 30e3),
            engine,
        ],
        poses={"tipped": {"dump": LENGTHS[0] + LENGTHS[1] - 0.06}}, source=SOURCE, load="bed",
        tools={"bed": Tool("bed", INNER[::-1], BED - 2.0 * PLATE, slope=0.5)},  # [J1363]
        feet=[("chassis", (x, y, 0.0)) for x in (FRONT, REAR) for y in (-TRACK, TRACK)],
    )  # fmt: skip
