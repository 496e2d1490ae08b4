"""Where the excavator's teeth are to be, and the lengths of its cylinders that bring them there."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from berm.core import checks
from berm.core.errors import InputError
from berm.machines.excavator import (
    BOOM,
    BOOM_BASE,
    BOOM_EYE,
    BUCKET_BASE,
    FOOT,
    STICK,
    STICK_BASE,
    STICK_EYE,
    TIP,
    knee,
    planes,
)
from berm.machines.machine import Machine

SLACK = 0.03  # m beyond the way of a cylinder: near enough, for a machine that rocks


def lengths(boom: float, stick: float, bucket: float) -> dict[str, float]:
    """Lengths (m) of cylinders at these angles (rad): of the boom from level, then each bend."""
    first, second, third = planes(boom, stick, bucket)

    def far(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
        return float(np.hypot(*np.subtract(a, b)))

    return {
        "boom": far(first(BOOM_EYE), np.add(FOOT, BOOM_BASE)),
        "stick": far(second(STICK_EYE), first(STICK_BASE)),
        "bucket": far(knee(second, third), second(BUCKET_BASE)),
    }


def angles(out: float, up: float, attack: float) -> tuple[float, float, float]:
    """Angles (rad) of boom, stick and bucket that bring the teeth to a place.

    out, up (m): from the axis of the swing and above the ground under the tracks; attack (rad): of
    the line from the bucket's pin to the teeth, from level: -pi/2 hangs down.
    """
    x = out - TIP * math.cos(attack) - FOOT[0]
    z = up - TIP * math.sin(attack) - FOOT[1]
    far = math.hypot(x, z)
    if not BOOM - STICK < far < BOOM + STICK:
        raise InputError(
            "excavator: reach", (round(out, 3), round(up, 3)),
            f"a place with the bucket's pin {BOOM - STICK:.2f} to {BOOM + STICK:.2f} m from that "
            "of the boom",
        )  # fmt: skip
    boom = math.acos((BOOM**2 + far**2 - STICK**2) / (2.0 * BOOM * far)) + math.atan2(z, x)
    stick = math.pi - math.acos((BOOM**2 + STICK**2 - far**2) / (2.0 * BOOM * STICK))
    return boom, stick, boom - stick - attack


def aim(machine: Machine, tip: npt.ArrayLike, attack: float = -0.5 * math.pi) -> dict[str, float]:
    """Positions of joints, by name, that bring the teeth of an excavator to a point (3,), m.

    attack (rad): see `angles`. The angle of the swing is that nearest to where it is. What is less
    than 3 cm beyond the way of a cylinder is cut to it.
    """
    what = f"machine {machine.name!r}: aim"
    point = checks.vector(f"{what}: tip", tip, "three finite numbers, m")
    frame = machine.bodies["frame"]
    turn = frame.rotation
    drawn = np.asarray(machine.design.bodies["frame"].at, float)
    x, y, z = (turn.T @ (point - frame.position) + drawn).tolist()
    here = machine.position("swing")
    swing = math.atan2(y, x)
    swing += math.tau * round((here - swing) / math.tau)
    found = {"swing": swing, **lengths(*angles(math.hypot(x, y), z, attack))}
    for name, value in found.items():
        low, high = machine.design.joints[name].limits or (-math.inf, math.inf)
        if not low - SLACK <= value <= high + SLACK:
            raise InputError(
                f"{what}: {name}", round(value, 4), f"{low:.4g} to {high:.4g} m: another place "
                "or another angle of attack",
            )  # fmt: skip
        found[name] = min(max(value, low), high)
    return found
