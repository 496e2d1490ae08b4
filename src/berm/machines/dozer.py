"""A bulldozer of 20 t: two tracks, and a blade that is lifted, tilted and angled."""

from __future__ import annotations

import math

from berm.machines.base import MACHINES
from berm.machines.crawler import track
from berm.machines.design import Design, Part, hinge, ram, weld
from berm.machines.hydraulics import Cylinder, Hydraulics, Lever, Rotary
from berm.machines.materials import BLADE, CAB, DARK, PAINT
from berm.machines.meshes import box, joined, prism, tube
from berm.machines.tool import Tool
from berm.machines.tracks import Tracks

SOURCE = {
    "class": "D6 and D65: 20 t, 150 kW, tracks of 0.56 m on 2.9 m of ground, 61 kPa [M]",
    "blade": "3.3 x 1.25 m, power angle and tilt; SAE J1265 [M]",
    "angle, tilt": "24 and 7.8 degrees either way: D37PXi of OPERA [S19]",
    "travel": "10 km/h, hydrostatic; the most it pulls is what its tracks hold on the ground [M]",
    "push frame, cylinders": "own: edge from 0.5 m below to 1.1 m above the ground [D]",
    "masses of parts": "estimated, so that the whole is that of the class [D]",
}
LENGTH, HEIGHT, SHOE, GAUGE = 3.80, 0.90, 0.56, 1.88  # m, of the tracks
SPEED, PULL, POWER = 10.0 / 3.6, 300e3, 0.85 * 150e3  # m/s, N, W at the sprockets
RELIEF, PUMP = 20.6e6, 3.6e-3  # Pa, m^3/s
ANGLE, TILT = math.radians(24.0), math.radians(7.8)
LIFT_CYLINDERS = Cylinder(0.090, 0.050, RELIEF, count=2)
TILT_CYLINDER = Cylinder(0.110, 0.060, RELIEF)
ANGLE_CYLINDERS = Rotary(8.5e-3, 8e-3, RELIEF)  # two of 110 mm at an arm of 0.5 m
LIFT_LENGTHS, TILT_LENGTHS = (0.905, 0.880), (0.842, 0.130)  # m: closed, stroke

# places (x, z), m, with the blade on the ground
TRUNNION = (-0.20, 0.50)  # of the push frame on the tracks
LIFT, LIFT_ON_FRAME = (1.05, 2.06), (1.35, 0.62)
YOKE, SWIVEL = (2.18, 0.60), (2.28, 0.60)  # where the blade is angled, and where it is tilted
TILT_ON_YOKE, TILT_ON_BLADE = (2.22, -0.10, 1.10), (2.28, 0.80, 1.00)

WIDTH, TOP = 3.30, 1.27  # m, of the blade
FACE = [(2.660, 0.020), (2.520, 0.220), (2.452, 0.450), (2.440, 0.700), (2.480, 0.950),
        (2.560, 1.130), (2.655, TOP)]  # m (x, z), from the edge up  # fmt: skip
BACK = [(2.615, 1.310), (2.480, 1.165), (2.395, 0.970), (2.350, 0.710), (2.365, 0.430),
        (2.440, 0.180), (2.622, 0.000)]  # m, and down again  # fmt: skip
POSES = {
    "carry": {"lift": 1.25},
    "dig": {"lift": 1.56},  # the edge 0.2 m below the ground under the tracks
}  # m


def _space(at: tuple[float, float], y: float = 0.0) -> tuple[float, float, float]:
    return at[0], y, at[1]


def _hull() -> Part:
    hood = [(0.05, 1.08), (0.05, 2.12), (1.38, 2.02), (1.52, 1.85), (1.52, 0.95), (1.40, 0.80)]
    tank = [(-1.62, 1.10), (-1.70, 1.95), (-1.22, 2.02), (-1.22, 1.10)]
    parts = [
        box((-1.45, -0.50, 0.42), (1.48, 0.50, 1.07)),
        prism(hood, -0.48, 0.48),
        prism(tank, -0.98, 0.98),
        tube((0.85, 0.22, 2.0), (0.85, 0.22, 2.72), 0.06),
        tube((0.45, -0.22, 2.0), (0.45, -0.22, 2.42), 0.09),
        tube((1.05, -0.66, 2.06), (1.05, 0.66, 2.06), 0.06),
        tube((TRUNNION[0], -0.64, TRUNNION[1]), (TRUNNION[0], 0.64, TRUNNION[1]), 0.09),
    ]
    for y in (-1.0, 1.0):  # fenders over the tracks, with guards around what is at the front
        parts.append(prism([(-1.62, 1.00), (-1.62, 1.08), (0.04, 1.08), (0.04, 1.00)],
                           y - 0.28 * (1 + 0.7 * (y < 0)), y + 0.28 * (1 + 0.7 * (y > 0)))
                     )  # fmt: skip
    at = (0.0, 0.0, 0.8)
    return Part(joined(*parts, name="dozer hull", at=at), 9900.0, at, PAINT, centre=(-0.15, 0, 1.0))


def _cab() -> Part:
    glass = [(-1.20, 1.10), (-1.26, 3.00), (-0.18, 3.00), (0.02, 2.16), (0.02, 1.10)]
    roof = [(-1.36, 3.01), (-1.33, 3.14), (-0.06, 3.14), (-0.02, 3.01)]
    at = (-0.6, 0.0, 1.1)
    mesh = joined(prism(glass, -0.74, 0.74), prism(roof, -0.88, 0.88), name="dozer cab", at=at)
    return Part(mesh, 900.0, at, CAB)


def _push_frame() -> Part:
    arm = [(-0.32, 0.42), (-0.32, 0.58), (1.25, 0.68), (1.45, 0.68), (2.10, 0.70), (2.10, 0.46),
           (1.40, 0.40)]  # fmt: skip
    parts = [prism(arm, y - 0.055, y + 0.055) for y in (-0.58, 0.58)]
    parts.append(box((1.90, -0.52, 0.47), (2.12, 0.52, 0.69)))
    at = _space(TRUNNION)
    return Part(joined(*parts, name="push frame", at=at), 1000.0, at, DARK)


def _yoke() -> Part:
    _, y, z = TILT_ON_YOKE
    parts = [
        tube((YOKE[0], 0.0, 0.30), (YOKE[0], 0.0, 0.90), 0.10),
        prism([(2.15, 0.92), (2.15, z + 0.08), (2.27, z + 0.08), (2.27, 0.92)], y - 0.06, y + 0.06),
    ]
    at = _space(YOKE)
    return Part(joined(*parts, name="yoke", at=at), 250.0, at, DARK)


def _blade() -> Part:
    parts = [prism([*FACE, *BACK], -0.5 * WIDTH, 0.5 * WIDTH)]
    rib = [(2.34, 0.50), (2.30, 0.62), (2.30, 0.80), (2.345, 0.90)]
    parts += [prism(rib, y - 0.30, y + 0.30) for y in (-1.2, 0.0, 1.2)]
    at = _space(SWIVEL)
    return Part(joined(*parts, name="dozer blade", at=at), 1600.0, at, BLADE)


@MACHINES.register("dozer")
def dozer() -> Design:
    """A bulldozer of 20 t with a blade of 3.3 m."""
    half = 0.5 * GAUGE
    bodies = {
        "frame": _hull(),
        "cab": _cab(),
        "track_l": track(half, LENGTH, HEIGHT, SHOE, 3100.0),
        "track_r": track(-half, LENGTH, HEIGHT, SHOE, 3100.0),
        "push_frame": _push_frame(),
        "yoke": _yoke(),
        "blade": _blade(),
    }
    down = (0.0, -1.0, 0.0)
    joints = {
        "cab": weld("cab", "frame", (-0.6, 0.0, 1.1)),
        "track_l": weld("track_l", "frame", (0.0, half - 0.3, 0.5)),
        "track_r": weld("track_r", "frame", (0.0, 0.3 - half, 0.5)),
        "push_frame": hinge("push_frame", "frame", _space(TRUNNION), down),
        "angle": hinge("yoke", "push_frame", _space(YOKE), (0.0, 0.0, 1.0), (-ANGLE, ANGLE)),
        "swivel": hinge("blade", "yoke", _space(SWIVEL), (1.0, 0.0, 0.0), (-TILT, TILT)),
        "lift": ram("push_frame", "frame", _space(LIFT_ON_FRAME), _space(LIFT), *LIFT_LENGTHS),
        "tilt": ram("blade", "yoke", TILT_ON_BLADE, TILT_ON_YOKE, *TILT_LENGTHS),
    }
    levers = (
        Lever("lift", "lift", LIFT_CYLINDERS, 2.7e-3, sign=-1.0),  # up pulls the cylinders in
        Lever("tilt", "tilt", TILT_CYLINDER, 0.6e-3),
        Lever("angle", "angle", ANGLE_CYLINDERS, 2.4e-3),
    )
    long, edge = 0.5 * (LENGTH - HEIGHT), half + 0.5 * SHOE
    return Design(
        bodies, joints,
        actuators=[
            Hydraulics(levers, flow=PUMP),
            Tracks(
                "track_l", "track_r", SPEED, response=1.2, pull=PULL, power_limit=POWER, turn=0.4
            ),
        ],
        poses=POSES, source=SOURCE, load="blade",
        tools={"blade": Tool("blade", FACE, WIDTH, blade=True)},
        feet=[("frame", (x, y, 0.0)) for x in (-long, long) for y in (-edge, edge)],
    )  # fmt: skip
