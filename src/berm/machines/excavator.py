"""An excavator of 20 t: two tracks, a house that swings, boom, stick and bucket on four loops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from berm.machines.base import MACHINES
from berm.machines.crawler import RING, SPEED, crawler
from berm.machines.design import Design, Part, ball, hinge, ram, weld
from berm.machines.engine import Engine
from berm.machines.hydraulics import Cylinder, Hydraulics, Lever, Rotary
from berm.machines.materials import BLADE, CAB, DARK, PAINT
from berm.machines.meshes import Surface, box, joined, prism, trough, tube
from berm.machines.tool import Tool
from berm.machines.tracks import Tracks

SOURCE = {
    "class": "20 t, 110 kW at 2,000 1/min, 439 l/min, relief 37.3 MPa: Komatsu PC200-8 [S21]",
    "boom, stick, boom pin, ranges of joints": "ZX200 of OPERA [S19]",
    "cylinders": "2 x 120/85 x 1,334, 135/95 x 1,490, 115/80 x 1,120 mm: PC200-8 [M]",
    "mounts, four-bar": "own: fitted to those ranges, strokes and the class's digging forces [D]",
    "swing, tracks": "12.4 1/min, 68 kN m; 5.5 km/h, 178 kN: PC200-8 [M]",
    "masses of parts": "within the ranges of the class [M], each cylinder with what carries it",
    "bucket": "own: 1.3 m wide, about 1 m^3 heaped [D]",
}
BOOM, STICK, TIP = 5.65, 2.89, 1.50  # m from pin to pin, and from the last one to the teeth
FOOT = (0.23, 1.96)  # m (x, z): pin of the boom on the house
RELIEF = 37.3e6  # Pa
PUMP = 439e-3 / 60.0  # m^3/s at
FULL = 2000.0  # 1/min
BOOM_CYLINDERS = Cylinder(0.120, 0.085, RELIEF, count=2)
STICK_CYLINDER = Cylinder(0.135, 0.095, RELIEF)
BUCKET_CYLINDER = Cylinder(0.115, 0.080, RELIEF)
SWING_MOTOR = Rotary(2.40e-3, 2.0e-3, 28.9e6)
SWING = 12.4 * math.tau / 60.0  # rad/s
PULL = 178e3  # N, of both tracks
BOOM_LENGTHS, STICK_LENGTHS = (1.870, 1.334), (2.075, 1.490)  # m: closed, stroke
BUCKET_LENGTHS = (1.680, 1.120)

# Angles of the authored pose, rad: of the boom from level, then each bend downwards.
DRAWN = (math.radians(32.0), math.radians(105.0), math.radians(62.0))

# Mounts, m. On the house from the boom's pin; on boom and stick along the line between their pins
# and above it; on the bucket along the line from its pin to the teeth and to the linkage's side.
BOOM_BASE, BOOM_EYE = (0.487, -0.647), (2.452, 0.808)
STICK_BASE, STICK_EYE = (3.101, 0.980), (-0.820, 0.350)
BUCKET_BASE = (0.390, 0.524)  # on the stick
PIVOT = (2.606, 0.035)  # of the idler on the stick
IDLER, LINK = 0.610, 0.658  # m
EYE = (0.099, 0.475)  # of the link on the bucket

WIDTH, SIDE = 1.30, 0.04  # m: of the bucket, and of its side plates
EDGE, LIP = (1.370, 0.110), (0.180, -0.300)  # m, as mounts on the bucket
TEETH = 5
POSES = {
    "carry": {"boom": 3.01, "stick": 3.15, "bucket": 2.62},
    "dig": {"boom": 2.73, "stick": 2.71, "bucket": 2.14},  # the teeth just above the ground
    "reach": {"boom": 2.60, "stick": 2.20, "bucket": 2.22},
    "park": {"boom": 2.625, "stick": 2.60, "bucket": 2.767},  # the bucket lies on the ground
}  # m

Point = tuple[float, float]
Array = npt.NDArray[np.float64]


class Sheet:
    """A frame in the plane of symmetry, seen from a point (x, z) and turned by an angle (rad)."""

    def __init__(self, at: npt.ArrayLike, angle: float) -> None:
        self.at, self.angle = np.asarray(at, float), angle
        c, s = math.cos(angle), math.sin(angle)
        self.turn = np.array([[c, -s], [s, c]])

    def __call__(self, points: npt.ArrayLike) -> Array:
        """Points (x, z) of the machine, of points (2,) or (n, 2) of this frame."""
        return np.asarray(self.at + np.asarray(points, float) @ self.turn.T)

    def after(self, length: float, bend: float) -> Sheet:
        """The frame at the end of a length along this one, bent downwards by an angle (rad)."""
        return Sheet(self((length, 0.0)), self.angle - bend)


def planes(boom: float, stick: float, bucket: float) -> tuple[Sheet, Sheet, Sheet]:
    """Frames of boom, stick and bucket at these angles (rad)."""
    first = Sheet(FOOT, boom)
    second = first.after(BOOM, stick)
    return first, second, second.after(STICK, bucket)


def knee(stick: Sheet, bucket: Sheet) -> Array:
    """Where idler and link meet (x, z), m: on the side of the bucket's cylinder."""
    pivot, eye = stick(PIVOT), bucket(EYE)
    way = eye - pivot
    far = float(np.hypot(*way))
    along = (IDLER**2 + far**2 - LINK**2) / (2.0 * far)
    aside = np.array([-way[1], way[0]]) / far
    return np.asarray(pivot + along * way / far + math.sqrt(IDLER**2 - along**2) * aside)


def _space(at: npt.ArrayLike, y: float = 0.0) -> tuple[float, float, float]:
    x, z = np.asarray(at, float).tolist()
    return x, y, z


def _house() -> Part:
    round_ = np.linspace(0.5 * math.pi, -0.5 * math.pi, 9)
    weight = [(-2.06, -1.24), (-2.06, 1.24)]  # the counterweight from above
    weight += [(-2.07 - 0.65 * math.cos(a), 1.25 * math.sin(a)) for a in round_]
    hood = [(-2.04, 1.43), (-2.04, 2.22), (-1.90, 2.30), (-0.78, 2.30), (-0.66, 2.18),
            (-0.66, 1.43)]  # fmt: skip
    side = [(-0.62, 1.43), (-0.62, 2.12), (0.95, 2.06), (1.18, 1.80), (1.18, 1.43)]
    ear = [(-0.40, 1.40), (-0.25, 2.02), (0.05, 2.16), (0.36, 2.12), (0.46, 1.92), (0.62, 1.50),
           (0.86, 1.40), (0.86, 1.24), (0.55, 1.24), (0.30, 1.38)]  # fmt: skip
    parts = [
        tube((0.0, 0.0, RING + 0.01), (0.0, 0.0, RING + 0.10), 0.62, 24),
        box((-2.04, -1.25, RING + 0.11), (1.28, 1.25, 1.42)),
        prism(weight, RING + 0.03, 2.18, axis="z"),
        prism(hood, -1.25, 1.25),
        prism(side, -1.25, -0.52),
        prism(ear, -0.47, -0.34),
        prism(ear, 0.34, 0.47),
        tube(_space(FOOT, -0.33), _space(FOOT, 0.33), 0.09),
        tube((-1.35, -0.62, 2.31), (-1.35, -0.62, 2.78), 0.07),
        tube((0.55, -1.18, 2.10), (0.55, -1.18, 2.60), 0.018, 8),
    ]
    at = (0.0, 0.0, RING)
    return Part(joined(*parts, name="house", at=at), 8200.0, at, PAINT, centre=(-1.15, 0.05, 1.62))


def _cab() -> Part:
    glass = [(-0.58, 1.46), (-0.60, 2.95), (0.55, 2.95), (1.05, 2.30), (1.16, 1.90), (1.16, 1.46)]
    roof = [(-0.66, 2.96), (-0.62, 3.05), (0.56, 3.05), (0.66, 2.96)]
    at = (0.2, 0.78, 1.44)
    mesh = joined(prism(glass, 0.50, 1.26), prism(roof, 0.48, 1.28), name="excavator cab", at=at)
    return Part(mesh, 350.0, at, CAB)


def _bar(start: npt.ArrayLike, end: npt.ArrayLike, half: float, past: float = 0.6) -> Array:
    """Outline of a flat bar between two points, with blunt ends `past` halves beyond them."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    along = (b - a) / np.linalg.norm(b - a)
    side = half * np.array([-along[1], along[0]])
    a, b = a - past * half * along, b + past * half * along
    return np.array([a - 0.6 * side, a + 0.6 * side, a + half * along * past + side,
                     b - half * along * past + side, b + 0.6 * side, b - 0.6 * side,
                     b - half * along * past - side, a + half * along * past - side])  # fmt: skip


def _boom(frame: Sheet) -> Part:
    side = [(-0.13, -0.10), (-0.13, 0.12), (0.60, 0.44), (1.55, 0.86), (2.25, 1.10), (2.75, 1.10),
            (3.60, 0.78), (4.70, 0.36), (5.55, 0.14), (5.79, 0.08), (5.79, -0.09), (5.60, -0.14),
            (4.40, 0.02), (3.30, 0.34), (2.55, 0.54), (2.20, 0.52), (1.45, 0.26), (0.65, -0.04),
            (0.10, -0.16)]  # fmt: skip
    lug = [(2.82, 1.02), (2.98, 1.08), (3.20, 1.08), (3.34, 0.82), (3.0, 0.90)]
    parts = [prism(frame(side), -0.22, 0.22)]
    parts += [prism(frame(lug), y - 0.05, y + 0.05) for y in (-0.14, 0.14)]
    parts.append(tube(_space(frame(BOOM_EYE), -0.42), _space(frame(BOOM_EYE), 0.42), 0.09))
    at = _space(frame((0.0, 0.0)))
    mesh = joined(*parts, name="excavator boom", at=at)
    return Part(mesh, 1900.0, at, PAINT, centre=_space(frame((2.65, 0.55))))


def _stick(frame: Sheet) -> Part:
    side = [(-0.92, 0.28), (-0.86, 0.46), (-0.66, 0.50), (0.25, 0.40), (1.40, 0.26), (2.70, 0.14),
            (3.00, 0.09), (3.00, -0.10), (2.70, -0.12), (1.20, -0.16), (0.20, -0.20),
            (-0.12, -0.14), (-0.30, 0.04)]  # fmt: skip
    lug = [(0.20, 0.39), (0.24, 0.58), (0.44, 0.62), (0.62, 0.36)]
    parts = [prism(frame(side), -0.16, 0.16)]
    parts += [prism(frame(lug), y - 0.04, y + 0.04) for y in (-0.10, 0.10)]
    parts.append(tube(_space(frame(PIVOT), -0.26), _space(frame(PIVOT), 0.26), 0.06))
    parts.append(tube(_space(frame((0.0, 0.0)), -0.24), _space(frame((0.0, 0.0)), 0.24), 0.10))
    at = _space(frame((0.0, 0.0)))
    mesh = joined(*parts, name="stick", at=at)
    return Part(mesh, 950.0, at, PAINT, centre=_space(frame((0.95, 0.10))))


OUTER = np.array([EDGE, (1.130, 0.520), (0.960, 0.690), (0.740, 0.750), (0.560, 0.660),
                  (0.440, 0.470), LIP])  # fmt: skip
_MOUTH = (OUTER[-1] - OUTER[0]) / np.linalg.norm(OUTER[-1] - OUTER[0])  # both profiles end on it
INNER = np.array([OUTER[0] + 0.05 * _MOUTH, (1.092, 0.492), (0.940, 0.646), (0.748, 0.702),
                  (0.592, 0.628), (0.478, 0.455), OUTER[-1] - 0.05 * _MOUTH])  # fmt: skip


def _bucket(frame: Sheet) -> Part:
    parts: list[Surface] = [trough(frame(OUTER), frame(INNER), WIDTH, SIDE)]
    tooth = [(1.290, 0.262), (1.385, 0.105), (TIP, 0.0), (TIP + 0.006, 0.012), (1.330, 0.285)]
    for y in np.linspace(-0.5 * WIDTH + 0.07, 0.5 * WIDTH - 0.07, TEETH):
        parts.append(prism(frame(tooth), y - 0.045, y + 0.045))
    ear = [(0.300, -0.100), (0.0, -0.110), (-0.100, -0.02), (-0.08, 0.10), (0.02, 0.52),
           (0.12, 0.57), (0.22, 0.52), (0.400, 0.38)]  # fmt: skip
    parts += [prism(frame(ear), y - 0.03, y + 0.03) for y in (-0.23, 0.23)]
    at = _space(frame((0.0, 0.0)))
    mesh = joined(*parts, name="excavator bucket", at=at)
    return Part(mesh, 800.0, at, BLADE, centre=_space(frame((0.68, 0.30))))


def _engine() -> Engine:
    curve = ((600, 380), (1000, 540), (1300, 600), (1500, 610), (1800, 565), (2000, 525),
             (2150, 150))  # fmt: skip
    return Engine(curve, inertia=2.0, idle=1000.0, high=2060.0)


@MACHINES.register("excavator")
def excavator() -> Design:
    """An excavator of 20 t with a bucket of 1 m^3."""
    boom, stick, bucket = planes(*DRAWN)
    meet = knee(stick, bucket)
    idlers = [prism(_bar(stick(PIVOT), meet, 0.09), y - 0.03, y + 0.03) for y in (-0.22, 0.22)]
    idlers.append(tube(_space(meet, -0.18), _space(meet, 0.18), 0.05))
    idler = joined(*idlers, name="idler", at=_space(stick(PIVOT)))
    link = joined(
        prism(_bar(meet, bucket(EYE), 0.08), -0.09, 0.09), name="bucket link", at=_space(meet)
    )
    design = crawler()
    design.bodies |= {
        "house": _house(),
        "cab": _cab(),
        "boom": _boom(boom),
        "stick": _stick(stick),
        "idler": Part(idler, 90.0, _space(stick(PIVOT)), DARK),
        "link": Part(link, 60.0, _space(meet), DARK),
        "bucket": _bucket(bucket),
    }
    up, down = (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)
    design.joints |= {
        "swing": hinge("house", "frame", (0.0, 0.0, RING), up),
        "cab": weld("cab", "house", (0.2, 0.78, 1.44)),
        "boom_pin": hinge("boom", "house", _space(FOOT), down, zero=DRAWN[0]),
        "stick_pin": hinge("stick", "boom", _space(stick.at), (0.0, 1.0, 0.0), zero=DRAWN[1]),
        "bucket_pin": hinge("bucket", "stick", _space(bucket.at), (0.0, 1.0, 0.0), zero=DRAWN[2]),
        "idler": hinge("idler", "stick", _space(stick(PIVOT)), (0.0, 1.0, 0.0)),
        "knee": hinge("link", "idler", _space(meet), (0.0, 1.0, 0.0)),
        "eye": ball("link", "bucket", _space(bucket(EYE))),  # closes the loop
        "boom": ram(
            "boom", "house", _space(boom(BOOM_EYE)), _space(np.add(FOOT, BOOM_BASE)), *BOOM_LENGTHS
        ),
        "stick": ram(
            "stick", "boom", _space(stick(STICK_EYE)), _space(boom(STICK_BASE)), *STICK_LENGTHS
        ),
        "bucket": ram("idler", "stick", _space(meet), _space(stick(BUCKET_BASE)), *BUCKET_LENGTHS),
    }
    engine = _engine()
    levers = (
        Lever("boom", "boom", BOOM_CYLINDERS, (PUMP, 5.2e-3)),
        Lever("stick", "stick", STICK_CYLINDER, (6.4e-3, 4.0e-3)),
        Lever("bucket", "bucket", BUCKET_CYLINDER, (4.4e-3, 2.8e-3)),
        Lever("swing", "swing", SWING_MOTOR, SWING * SWING_MOTOR.displacement),
    )
    return replace(
        design,
        actuators=[
            Hydraulics(levers, engine, displacement=60.0 * PUMP / FULL),
            Tracks("track_l", "track_r", SPEED, pull=PULL, levers=True, engine=engine),
            engine,
        ],
        poses=POSES, source=design.source | SOURCE, load="bucket",
        tools={
            "bucket": Tool(
                "bucket", bucket(INNER), WIDTH - 2.0 * SIDE, edge=bucket((TIP, 0.0)), span=WIDTH
            )
        },
    )  # fmt: skip
