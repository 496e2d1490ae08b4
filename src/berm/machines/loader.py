"""A wheel loader of 20 t: articulated, Z-bar linkage, torque converter, four driven wheels."""

from __future__ import annotations

import math

import numpy as np

from berm.core.motion import rotation_about
from berm.core.shapes import Cylinder as Round
from berm.machines.actuators import Brake
from berm.machines.base import MACHINES
from berm.machines.design import Coupling, Design, Part, ball, hinge, ram, weld
from berm.machines.engine import RPM, Converter, Driveline, Engine
from berm.machines.hydraulics import Cylinder, Hydraulics, Lever, Rotary
from berm.machines.materials import BLADE, CAB, DARK, PAINT, TYRE
from berm.machines.meshes import box, joined, prism, trough, tube
from berm.machines.tool import Tool

SOURCE = {
    "class": "20 t, 180 kW, 255 l/min: Volvo L120E [S22]",
    "bucket, breakout, tipping load, times, angles": "values of the class [M]",
    "linkage": "own: fitted to lift parallel, roll back by 40 and dump by 45 degrees [D]",
    "masses of parts": "estimated, so that total and tipping load are those of the class [D]",
    "torque converter, gears": "own: top speeds and pull of the class [D]",
}
RADIUS, WIDTH = 0.80, 0.60  # m, of tyres 23.5R25 [M]
FRONT, REAR, TRACK = 1.60, -1.60, 1.03  # m: axles from the articulation; half the track [M]
AXLE = 0.80  # m, height of the axles
TURN = math.radians(40.0)  # articulation either way [M]
SWING = math.radians(13.0)  # of the rear axle either way [M]
RELIEF = 25.0e6  # Pa [M]
PUMP = 255e-3 / 60.0  # m^3/s at 2,100 1/min [S22]
FULL = 2100.0  # 1/min
ROLLING = 800.0  # N m a wheel: 0.02 of its load at its radius, on firm ground [Wong, Sec. 1.2]
DIFFERENTIAL = 4.0  # the rest of the axles' reduction is counted to the gearbox: slow shafts
SPEEDS = (6.6, 12.5, 25.0, 37.0)  # km/h at full speed of the engine in gears 1 to 4 [M]

# the linkage in the plane of symmetry (x, z), bucket flat on the ground, m
BOOM = (0.95, 1.95)  # pin on the front frame
PIN = (3.222, 0.400)  # of the bucket
LIFT, LIFT_ON_BOOM = (0.555, 1.086), (1.652, 1.168)
CRANK = (2.693, 1.049)  # pivot of the bellcrank on the boom
HORN, FOOT = (2.938, 1.849), (2.632, 0.433)  # its ends: of the tilt cylinder, of the link
EYE = (3.064, 0.713)  # of the link on the bucket
TILT = (1.174, 1.635)  # of the tilt cylinder on the front frame
LIFT_LENGTHS, TILT_LENGTHS = (1.090, 0.830), (1.552, 0.515)  # m: closed, stroke
LIFT_CYLINDERS = Cylinder(0.140, 0.085, RELIEF, count=2)
TILT_CYLINDER = Cylinder(0.150, 0.080, RELIEF)
STEERING = Rotary(2.85e-3, 5e-3, 21.0e6)  # two of 80 mm at an arm of 0.35 m [M]
POSES = {
    "carry": {"lift": 1.20, "tilt": 2.0},
    "level": {"lift": 1.54},  # boom about level: the largest reach
    "top": {"lift": 1.92},
    "dump": {"lift": 1.92, "tilt": 1.56},
}  # m
LOW = math.atan2(PIN[1] - BOOM[1], PIN[0] - BOOM[0])  # rad, of the boom in this pose

BUCKET = 2.70  # m, width
EDGE, LIP = (4.68, 0.02), (3.80, 1.45)  # m: cutting edge and upper edge
SIDE = 0.05  # m, of its side plates
OUTER = [EDGE, (3.60, 0.02), (3.39, 0.24), (3.34, 0.76), (3.48, 1.20), LIP]
_MOUTH = np.subtract(LIP, EDGE) / math.dist(LIP, EDGE)
INNER = np.array([np.add(EDGE, SIDE * _MOUTH), (3.63, 0.065), (3.44, 0.27), (3.39, 0.76),
                  (3.52, 1.18), np.subtract(LIP, SIDE * _MOUTH)])  # fmt: skip
BREAKOUT = 0.1  # m behind the edge: where the breakout force is measured [S22]


def _space(at: tuple[float, float], y: float = 0.0) -> tuple[float, float, float]:
    return at[0], y, at[1]


def _on_boom(along: float, above: float) -> tuple[float, float]:
    """A point (x, z) from the boom's pin, along the line to the bucket's and above it."""
    c, s = math.cos(LOW), math.sin(LOW)
    return BOOM[0] + c * along - s * above, BOOM[1] + s * along + c * above


def wheel(at: tuple[float, float, float], mass: float = 550.0, width: float = WIDTH,
          radius: float = RADIUS) -> Part:  # fmt: skip
    """A wheel about y."""
    turn = rotation_about((1.0, 0.0, 0.0), -0.5 * math.pi)
    return Part(Round(radius, width), mass, at, TYRE, turn)


def _bucket() -> Part:
    parts = [trough(OUTER, INNER, BUCKET, SIDE)]
    tooth = [(4.686, 0.015), (4.85, 0.02), (4.660, 0.072)]
    for y in np.linspace(-0.5 * BUCKET + 0.12, 0.5 * BUCKET - 0.12, 7):
        parts.append(prism(tooth, y - 0.06, y + 0.06))
    for y, up, back in ((0.0, EYE, 0.11), (-0.57, PIN, 0.12), (0.57, PIN, 0.12)):
        ear = [(up[0] - back, up[1] - 0.1), (up[0] - back, up[1] + 0.1), (3.365, up[1] + 0.16),
               (3.365, up[1] - 0.06)]  # fmt: skip
        parts.append(prism(ear, y - 0.1, y + 0.1))
    mesh = joined(*parts, name="bucket", at=_space(PIN))
    return Part(mesh, 1700.0, _space(PIN), BLADE, centre=(3.83, 0.0, 0.48))


def _boom() -> Part:
    side = [(-0.16, -0.14), (-0.16, 0.14), (0.9, 0.30), (1.9, 0.42), (2.45, 0.16), (2.80, 0.08),
            (2.80, -0.08), (2.4, -0.1), (1.8, 0.02), (1.0, -0.36), (0.2, -0.2)]  # fmt: skip
    outline = [_on_boom(*point) for point in side]
    bar = _on_boom(1.95, 0.2)
    parts = [prism(outline, y - 0.07, y + 0.07) for y in (-0.57, 0.57)]
    parts.append(tube(_space(bar, -0.52), _space(bar, 0.52), 0.13))
    seat = ((1.75, 0.15), (1.75, 0.5), (2.12, 0.55), (2.2, 0.2))  # of the bellcrank
    parts.append(prism([_on_boom(*point) for point in seat], -0.24, 0.24))
    middle = _on_boom(1.45, 0.1)
    mesh = joined(*parts, name="boom", at=_space(BOOM))
    return Part(mesh, 1600.0, _space(BOOM), PAINT, centre=_space(middle))


def _bar(start: tuple[float, float], end: tuple[float, float], half: float) -> list[list[float]]:
    """Outline of a flat bar between two points, with blunt ends."""
    a, b = np.array(start), np.array(end)
    along = (b - a) / np.linalg.norm(b - a)
    side = np.array([-along[1], along[0]])
    a, b = a - 0.5 * half * along, b + 0.5 * half * along
    return [
        list(a - half * side), list(b - half * side), list(b + half * side), list(a + half * side)
    ]  # fmt: skip


def _crank() -> Part:
    """Two cheeks with the pivot between their ends."""
    outline = np.array([
        *_bar(FOOT, CRANK, 0.10)[:1], np.add(CRANK, (0.16, -0.06)), np.add(HORN, (0.1, 0.0)),
        np.add(HORN, (-0.08, 0.1)), np.add(CRANK, (-0.16, 0.1)), _bar(FOOT, CRANK, 0.10)[3],
    ])  # fmt: skip
    parts = [prism(outline, y - 0.04, y + 0.04) for y in (-0.15, 0.15)]
    parts.append(tube(_space(CRANK, -0.21), _space(CRANK, 0.21), 0.11))
    mesh = joined(*parts, name="bellcrank", at=_space(CRANK))
    return Part(mesh, 320.0, _space(CRANK), DARK)


def _front_frame() -> Part:
    parts = [
        box((0.22, -0.44, 0.55), (1.95, 0.44, 1.05)),
        prism([(0.45, 1.03), (0.62, 2.0), (0.86, 2.12), (1.12, 2.02), (1.3, 1.03)], 0.30, 0.44),
        prism([(0.45, 1.03), (0.62, 2.0), (0.86, 2.12), (1.12, 2.02), (1.3, 1.03)], -0.44, -0.30),
        tube((FRONT, -0.71, AXLE), (FRONT, 0.71, AXLE), 0.20),
        tube(_space(BOOM, -0.68), _space(BOOM, 0.68), 0.10),
    ]
    for y in (-1.03, 1.03):  # mudguards
        parts.append(prism([(0.62, 1.35), (0.72, 1.72), (1.30, 1.80), (1.30, 1.74), (0.78, 1.67),
                            (0.70, 1.35)], y - 0.29, y + 0.29))  # fmt: skip
    at = (0.0, 0.0, AXLE)
    mesh = joined(*parts, name="front frame", at=at)
    return Part(mesh, 3700.0, at, PAINT, centre=(1.30, 0.0, 0.95))


def _rear_frame() -> Part:
    hood = [(-3.05, 1.16), (-3.12, 1.75), (-2.95, 2.02), (-1.12, 2.22), (-1.12, 1.16)]
    weight = [(-3.30, 0.75), (-3.38, 1.2), (-3.30, 1.62), (-2.62, 1.62), (-2.62, 0.6), (-3.1, 0.6)]
    parts = [
        box((-2.95, -0.46, 0.72), (-0.22, 0.46, 1.17)),
        prism(hood, -0.82, 0.82),
        prism(weight, -1.22, 1.22),
        box((-1.15, -0.80, 1.10), (0.02, 0.80, 1.45)),
        tube((-2.3, 0.42, 2.0), (-2.3, 0.42, 2.75), 0.07),
    ]
    for y in (-1.03, 1.03):  # mudguards with steps before them
        parts.append(prism([(-2.6, 1.66), (-2.35, 1.78), (-0.95, 1.78), (-0.62, 1.45), (-0.62, 0.6),
                            (-0.70, 0.6), (-0.70, 1.42), (-0.98, 1.71), (-2.33, 1.71)],
                           y - 0.26, y + 0.26))  # fmt: skip
    at = (0.0, 0.0, AXLE)
    mesh = joined(*parts, name="rear frame", at=at)
    return Part(mesh, 8300.0, at, PAINT, centre=(-1.95, 0.0, 1.20))


def _cab() -> Part:
    side = [(-1.10, 1.47), (-1.16, 3.12), (-0.10, 3.12), (0.10, 2.2), (0.06, 1.47)]
    roof = [(-1.26, 3.13), (-1.24, 3.27), (-0.06, 3.27), (0.0, 3.13)]
    at = (-0.55, 0.0, 1.46)
    mesh = joined(prism(side, -0.72, 0.72), prism(roof, -0.80, 0.80), name="cab", at=at)
    return Part(mesh, 900.0, at, CAB, centre=(-0.55, 0.0, 2.1))


def _engine() -> Engine:
    curve = ((600, 550), (800, 700), (1000, 850), (1200, 980), (1400, 1050), (1600, 1020),
             (1800, 940), (2000, 850), (2200, 730), (2400, 300))  # fmt: skip
    return Engine(curve, inertia=3.0, idle=800.0, high=2250.0)


def converter() -> Converter:
    """Stall at about 1,900 1/min, torque doubled there."""
    return Converter(
        ratio=((0.0, 2.1), (0.3, 1.75), (0.6, 1.38), (0.8, 1.12), (0.88, 1.0), (1.5, 1.0)),
        capacity=((0.0, 0.0226), (0.6, 0.022), (0.8, 0.0175), (0.9, 0.012), (1.0, 0.0),
                  (1.4, -0.02)),
    )  # fmt: skip


@MACHINES.register("loader")
def loader() -> Design:
    """A wheel loader of 20 t with a bucket of 3.3 m^3."""
    along = rotation_about((0.0, 1.0, 0.0), 0.5 * math.pi)
    shaft = Part(Round(0.12, 0.9), 150.0, (-0.7, 0.0, 0.62), DARK, along, inertia=(10.0, 10.0, 3.0))
    axle = joined(
        tube((REAR, -0.71, AXLE), (REAR, 0.71, AXLE), 0.20),
        box((REAR - 0.28, -0.24, AXLE - 0.28), (REAR + 0.28, 0.24, AXLE - 0.1)),
        name="rear axle", at=(REAR, 0.0, AXLE),
    )  # fmt: skip
    link = joined(prism(_bar(FOOT, EYE, 0.07), -0.07, 0.07), name="link", at=_space(FOOT))
    bodies = {
        "rear_frame": _rear_frame(),
        "front_frame": _front_frame(),
        "cab": _cab(),
        "rear_axle": Part(axle, 1500.0, (REAR, 0.0, AXLE), DARK),
        "boom": _boom(),
        "bellcrank": _crank(),
        "link": Part(link, 90.0, _space(FOOT), DARK),
        "bucket": _bucket(),
        "wheel_fl": wheel((FRONT, TRACK, AXLE)),
        "wheel_fr": wheel((FRONT, -TRACK, AXLE)),
        "wheel_rl": wheel((REAR, TRACK, AXLE)),
        "wheel_rr": wheel((REAR, -TRACK, AXLE)),
        "shaft": shaft,
    }
    up = (0.0, 0.0, 1.0)
    joints = {
        "articulation": hinge("front_frame", "rear_frame", (0.0, 0.0, AXLE), up, (-TURN, TURN)),
        "cab": weld("cab", "rear_frame", (-0.55, 0.0, 1.46)),
        "oscillation": hinge(
            "rear_axle", "rear_frame", (REAR, 0.0, AXLE), (1.0, 0.0, 0.0), (-SWING, SWING)
        ),
        "boom": hinge("boom", "front_frame", _space(BOOM), (0.0, -1.0, 0.0), zero=LOW),
        "bellcrank": hinge("bellcrank", "boom", _space(CRANK), (0.0, -1.0, 0.0)),
        "foot": hinge("link", "bellcrank", _space(FOOT), (0.0, -1.0, 0.0)),
        "bucket": hinge("bucket", "boom", _space(PIN), (0.0, -1.0, 0.0)),
        "eye": ball("link", "bucket", _space(EYE)),  # closes the loop: a hinge would hold twice
        "lift": ram("boom", "front_frame", _space(LIFT_ON_BOOM), _space(LIFT), *LIFT_LENGTHS),
        "tilt": ram("bellcrank", "front_frame", _space(HORN), _space(TILT), *TILT_LENGTHS),
        "wheel_fl": hinge("wheel_fl", "front_frame", (FRONT, TRACK, AXLE), friction=ROLLING),
        "wheel_fr": hinge("wheel_fr", "front_frame", (FRONT, -TRACK, AXLE), friction=ROLLING),
        "wheel_rl": hinge("wheel_rl", "rear_axle", (REAR, TRACK, AXLE), friction=ROLLING),
        "wheel_rr": hinge("wheel_rr", "rear_axle", (REAR, -TRACK, AXLE), friction=ROLLING),
        "shaft": hinge("shaft", "rear_frame", (-0.7, 0.0, 0.62), (1.0, 0.0, 0.0)),
    }
    couplings = {  # both axles on one shaft: the centre differential is locked
        "front_differential": Coupling(("shaft", "wheel_fl", "wheel_fr"), DIFFERENTIAL),
        "rear_differential": Coupling(("shaft", "wheel_rl", "wheel_rr"), DIFFERENTIAL),
    }
    engine = _engine()
    levers = (
        Lever("lift", "lift", LIFT_CYLINDERS, 1.15 * PUMP),
        Lever("tilt", "tilt", TILT_CYLINDER, PUMP),
        Lever("steer", "articulation", STEERING, 1.3e-3, priority=True),
    )
    wheels = ("wheel_fl", "wheel_fr", "wheel_rl", "wheel_rr")
    gears = [0.93 * RADIUS * FULL * RPM / (one / 3.6) / DIFFERENTIAL for one in SPEEDS]
    return Design(
        bodies, joints, couplings,
        [
            Hydraulics(levers, engine, displacement=60.0 * PUMP / FULL),
            Driveline(engine, converter(), "shaft", gears),
            Brake(wheels, 30e3),
            engine,
        ],
        poses=POSES, source=SOURCE, load="bucket",
        tools={
            "bucket": Tool(
                "bucket", INNER, BUCKET - 2.0 * SIDE, edge=EDGE, span=BUCKET, slope=0.5  # [J742]
            )
        },
        # the rear axle oscillates: until it meets its stop, the machine stands on its pin
        feet=[("front_frame", (FRONT, TRACK, 0.0)), ("front_frame", (FRONT, -TRACK, 0.0)),
              ("rear_frame", (REAR, 0.0, 0.0))],
    )  # fmt: skip
