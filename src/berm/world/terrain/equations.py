"""The equations of digging and rolling by themselves, for one soil: no terrain, no steps."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from berm.core import checks
from berm.core.soil import Soil
from berm.kernels.terrain.cutting import SHEARED, Strength, cut_table, penetration_table
from berm.kernels.terrain.wheel import Ground, wheel_table

_FROM_0 = ("a finite number from 0 up", lambda x: 0.0 <= x < math.inf)
_ABOVE_0 = ("a finite number above 0", lambda x: 0.0 < x < math.inf)


class Digging(NamedTuple):
    """draft: against the way, lift: upwards on the tool, press: that pushes the edge in, N.

    plane: angle of the plane that fails, degrees.
    """

    draft: float
    lift: float
    plane: float
    press: float


class Rolling(NamedTuple):
    """sinkage (m), pull (N: what is left to draw with, or costs if below 0), torque (N m)."""

    sinkage: float
    pull: float
    torque: float


def strength_of(soil: Soil) -> Strength:
    """What the soil's bank resists with; no tool is rougher or stickier than the soil itself."""
    return Strength(
        soil.density, soil.cohesion, math.radians(soil.friction_angle),
        math.radians(min(soil.tool_friction_angle, soil.friction_angle)),
        min(soil.tool_adhesion, soil.cohesion),
    )  # fmt: skip


def digging_force(
    soil: Soil, depth: float, width: float, rake: float = 90.0, *, slope: float = 0.0,
    surcharge: float = 0.0, speed: float = 0.0, thickness: float = 0.03, gravity: float = 9.81,
) -> Digging:  # fmt: skip
    """Return what a blade `depth` (m) deep and `width` (m) wide meets in ground as it lies.

    rake: of its face from the ground behind it, degrees; slope: of the ground ahead, degrees;
    surcharge on it, Pa; speed, m/s; thickness of the edge, m.
    """
    what = f"digging_force in {soil.name!r}"
    for name, value in (("depth", depth), ("surcharge", surcharge), ("speed", speed)):
        checks.number(f"{what}: {name}", value, *_FROM_0)
    for name, value in (("width", width), ("thickness", thickness), ("gravity", gravity)):
        checks.number(f"{what}: {name}", value, *_ABOVE_0)
    checks.number(f"{what}: rake", rake, "degrees from 0 to 180", lambda x: 0.0 <= x <= 180.0)
    checks.number(f"{what}: slope", slope, "degrees from -45 to 45", lambda x: -45.0 <= x <= 45.0)
    row = [depth, width, math.radians(rake), math.radians(slope), speed, surcharge, 0.0, 1.0,
           SHEARED, 2.0]  # fmt: skip
    out, press, strength = np.zeros((1, 3)), np.zeros(1), strength_of(soil)
    cut_table(strength, np.array([row]), gravity, out)
    penetration_table(strength, np.array([[thickness, width, depth]]), gravity, press)
    draft, lift, plane = out[0].tolist()
    return Digging(draft, lift, math.degrees(plane), float(press[0]))


def ground_of(soil: Soil) -> Ground:
    """What the soil bears wheels with."""
    return Ground(
        soil.bekker_k_c, soil.bekker_k_phi, soil.bekker_n, soil.cohesion,
        math.radians(soil.friction_angle), soil.janosi_k,
    )  # fmt: skip


def wheel_on_soil(
    soil: Soil, radius: float, width: float, load: float, slip: float = 0.0
) -> Rolling:
    """Return how a rigid wheel (m) under a load (N) rolls; slip below 1, below 0: it is braked."""
    what = f"wheel_on_soil in {soil.name!r}"
    for name, value in (("radius", radius), ("width", width), ("load", load)):
        checks.number(f"{what}: {name}", value, *_ABOVE_0)
    checks.number(f"{what}: slip", slip, "above -10, below 1", lambda x: -10.0 < x < 1.0)
    out = np.zeros((1, 4))
    wheel_table(
        ground_of(soil), np.array([[radius, width, load, 1.0, 1.0 / radius / (1.0 - slip)]]), out
    )
    sinkage, _, pull, torque = out[0].tolist()
    return Rolling(sinkage, pull, torque)
