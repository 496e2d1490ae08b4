"""Colours: what a grain is coloured by, colour maps, materials and looks; one JSON for the page.

The maps are lines through Oklab (Ottosson 2020), in which equal steps look equally large, and they
are resampled so that each step is the same length there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from berm.core.errors import InputError

if TYPE_CHECKING:
    from berm.stage.stage import Moment

Array = NDArray[Any]

STEPS = 256  # colours of a map
IN_GROUND = (98, 102, 110)  # what is merged with the ground
TOP = 99.5  # percentile of the values that gets the last colour

# ---- Oklab -----------------------------------------------------------------------------------

# Ottosson, "A perceptual color space for image processing" (2020): Lab to cone response, cubed,
# and on to linear sRGB
_LAB_TO_CONES = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
_CONES_TO_RGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def oklch(lightness: float, chroma: float, hue: float) -> Array:
    """Return Oklab (3,) of lightness (0 to 1), chroma (0 to 0.3) and hue (degrees)."""
    turn = math.radians(hue)
    return np.array([lightness, chroma * math.cos(turn), chroma * math.sin(turn)])


def to_linear(lab: Array) -> Array:
    """Return linear sRGB (..., 3) of Oklab (..., 3), not clipped."""
    out: Array = (lab @ _LAB_TO_CONES.T) ** 3 @ _CONES_TO_RGB.T
    return out


def encode(linear: Array) -> Array:
    """Return sRGB (0 to 1) of linear light (IEC 61966-2-1)."""
    light = np.clip(linear, 0.0, 1.0)
    out: Array = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return out


def decode(srgb: Array) -> Array:
    """Return linear light of sRGB (0 to 1)."""
    value = np.asarray(srgb, float)
    out: Array = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return out


def _into_gamut(lab: Array) -> Array:
    """Return the colours with as much of their chroma as sRGB can show; lightness and hue stay."""
    low, high = np.zeros(len(lab)), np.ones(len(lab))
    for _ in range(20):
        middle = 0.5 * (low + high)
        rgb = to_linear(lab * np.column_stack([np.ones(len(lab)), middle, middle]))
        fits = ((rgb >= -1e-6) & (rgb <= 1 + 1e-6)).all(axis=1)
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return lab * np.column_stack([np.ones(len(lab)), low, low])


def ramp(points: tuple[tuple[float, float, float], ...]) -> Array:
    """Return a colour map (256, 3) uint8 through points of lightness, chroma and hue (degrees)."""
    from scipy.interpolate import PchipInterpolator  # smooth, and never beyond its points

    given = np.array(points, float)
    at = np.linspace(0.0, 1.0, len(given))
    fine = np.linspace(0.0, 1.0, 8 * STEPS)
    values = np.asarray(PchipInterpolator(at, given)(fine))
    lab = _into_gamut(np.array([oklch(*row) for row in values]))
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(lab, axis=0), axis=1))])
    even = np.interp(np.linspace(0.0, way[-1], STEPS), way, fine)
    lab = np.column_stack([np.interp(even, fine, lab[:, k]) for k in range(3)])
    return _bytes(encode(to_linear(lab)))


def _bytes(srgb: Array) -> Array:
    out: Array = np.round(255.0 * np.clip(srgb, 0.0, 1.0)).astype(np.uint8)
    return out


# lightness, chroma, hue (past 360 where that is the short way); lightness only rises or only falls,
# so that a map reads in grey too
_RAMPS = {
    "tide": ((0.42, 0.13, 275.0), (0.60, 0.12, 230.0), (0.78, 0.14, 160.0), (0.95, 0.17, 105.0)),
    "ember": ((0.40, 0.13, 310.0), (0.57, 0.19, 375.0), (0.75, 0.17, 410.0), (0.96, 0.12, 460.0)),
    "bloom": ((0.42, 0.12, 260.0), (0.58, 0.20, 310.0), (0.76, 0.16, 350.0), (0.95, 0.06, 420.0)),
    "moss": ((0.95, 0.10, 100.0), (0.77, 0.14, 130.0), (0.58, 0.10, 180.0), (0.42, 0.09, 250.0)),
    "wheel": tuple((0.73, 0.125, hue) for hue in np.linspace(0.0, 360.0, 25)),
}


@cache
def ramps() -> dict[str, Array]:
    """Return all colour maps by name, each (256, 3) uint8 sRGB."""
    return {name: ramp(points) for name, points in _RAMPS.items()}


# ---- what a grain is coloured by -------------------------------------------------------------


@dataclass(frozen=True)
class Mode:
    """A quantity that grains are coloured by; without a map the material decides."""

    name: str
    label: str
    unit: str = ""
    ramp: str | None = None
    field: str = ""  # of Moment, that must be there


MODES = {
    mode.name: mode
    for mode in (
        Mode("material", "material"),
        Mode("speed", "speed", "m/s", "tide", "velocity"),
        Mode("force", "contact force", "N", "ember", "force"),
        Mode("overlap", "overlap", "m", "bloom", "overlap"),
        Mode("age", "age", "s", "moss", "age"),
        Mode("id", "id", "", "wheel"),
        Mode("merged", "super-body", "", None, "groups"),
    )
}


def mode_of(name: str) -> Mode:
    """Return a colour mode, or say which there are."""
    if name not in MODES:
        raise InputError("colour", name, ", ".join(MODES))
    return MODES[name]


def available(moment: Moment) -> list[str]:
    """Return the names of the modes that this moment has the values for."""
    return [m.name for m in MODES.values() if not m.field or getattr(moment, m.field) is not None]


def values(moment: Moment, name: str) -> Array:
    """Return what grains are coloured by (n,) float32, in the mode's unit; zeros for material.

    Super-bodies are of bodies: grains keep the colour of their material.
    """
    mode = mode_of(name)
    if mode.field and getattr(moment, mode.field) is None:
        raise InputError("colour", name, ", ".join(available(moment)), "not recorded here")
    if name == "speed":
        assert moment.velocity is not None
        return np.sqrt(np.einsum("ij,ij->i", moment.velocity, moment.velocity))
    if name == "id":
        return scatter(moment.tag).astype(np.float32) / 256.0
    if mode.field and mode.ramp is not None:
        return np.asarray(getattr(moment, mode.field), np.float32)
    return np.zeros(len(moment.radius), np.float32)


def scatter(tag: Array) -> Array:
    """Return a number 0 to 255 for each tag (n,) uint8: neighbours in number differ, none changes.

    It shades grains of one material a little differently and colours them by id.
    """
    mixed = np.asarray(tag).astype(np.uint32) * np.uint32(2654435769)  # 2^32 / golden ratio
    out: Array = (mixed >> np.uint32(24)).astype(np.uint8)
    return out


def group_colour(group: int | None) -> tuple[int, int, int] | None:
    """Return the colour (sRGB bytes) of a super-body; None: a body by itself looks as it is made.

    What is part of the ground is grey, all others go round the wheel by the golden angle.
    """
    if group is None or group < 0:
        return None
    if group == 0:
        return IN_GROUND
    red, green, blue = ramps()["wheel"][int(256 * (group * 0.61803398875 % 1.0))].tolist()
    return red, green, blue


def nice_range(found: Array, name: str) -> tuple[float, float]:
    """Return low and high of the scale for these values: from 0 to a round number."""
    if mode_of(name).ramp is None or name == "id":
        return 0.0, 1.0
    good = np.asarray(found, float)
    good = good[np.isfinite(good)]
    top = float(np.percentile(good, TOP)) if good.size else 0.0
    return 0.0, nice(top) if top > 0 else 1.0


def nice(value: float) -> float:
    """Return the next round number (1, 2 or 5 times a power of ten) from `value` up."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(float(k * power) for k in (1, 2, 5, 10) if k * power >= value * (1 - 1e-9))


# ---- materials and looks ---------------------------------------------------------------------

# as they look when dry and sunlit; lightness, chroma, hue
_MATERIALS = {
    "gravel": (0.66, 0.022, 75.0),
    "dry sand": (0.78, 0.075, 82.0),
    "wet sand": (0.55, 0.060, 70.0),
    "loam": (0.46, 0.055, 58.0),
    "clay": (0.58, 0.085, 45.0),
    "topsoil": (0.38, 0.040, 60.0),
    "rock": (0.60, 0.012, 250.0),
    "steel": (0.70, 0.012, 245.0),
    "glass beads": (0.80, 0.050, 205.0),
    "rough wall": (0.62, 0.010, 80.0),
    "cloth": (0.52, 0.115, 20.0),
    "grain": (0.70, 0.055, 75.0),
    "machine yellow": (0.80, 0.165, 82.0),
    "machine grey": (0.38, 0.010, 250.0),
    "cab": (0.30, 0.020, 245.0),
    "worn steel": (0.56, 0.012, 250.0),
    "tyre": (0.24, 0.006, 270.0),
    "track": (0.32, 0.008, 60.0),
}


def material_colour(name: str, index: int = 0) -> tuple[int, int, int]:
    """Return the colour (sRGB bytes) of a material; one without a known name gets one by index."""
    known = _MATERIALS.get(name)
    # the first is sand-like, the others go round by the golden angle
    lab = oklch(*(known or (0.70, 0.09 if index else 0.05, (75.0 + 137.5 * index) % 360.0)))
    red, green, blue = _bytes(encode(to_linear(_into_gamut(lab[None])))[0]).tolist()
    return red, green, blue


@dataclass(frozen=True)
class Look:
    """Surroundings and light; colours are sRGB (0 to 1), lights linear factors."""

    top: tuple[float, float, float]  # backdrop, upper edge
    bottom: tuple[float, float, float]
    ground: tuple[float, float, float]
    line: tuple[float, float, float]  # of the grid
    ink: tuple[float, float, float]  # of text
    sun: tuple[float, float, float]
    sky: tuple[float, float, float]
    earth: tuple[float, float, float]


LOOKS = {
    "dark": Look(
        top=(0.055, 0.065, 0.085),
        bottom=(0.145, 0.160, 0.190),
        ground=(0.205, 0.220, 0.250),
        line=(0.330, 0.350, 0.390),
        ink=(0.900, 0.910, 0.930),
        sun=(1.02, 0.97, 0.88),
        sky=(0.34, 0.38, 0.46),
        earth=(0.13, 0.12, 0.11),
    ),
    "light": Look(
        top=(0.860, 0.890, 0.930),
        bottom=(0.970, 0.970, 0.965),
        ground=(0.900, 0.895, 0.880),
        line=(0.760, 0.755, 0.740),
        ink=(0.130, 0.140, 0.160),
        sun=(0.82, 0.79, 0.73),
        sky=(0.46, 0.49, 0.54),
        earth=(0.24, 0.225, 0.205),
    ),
}
SUN = (0.72, -0.02, 0.80)  # towards the sun, not normalised: from the side of the first views


def look_of(name: str) -> Look:
    """Return a look, or say which there are."""
    if name not in LOOKS:
        raise InputError("look", name, ", ".join(LOOKS))
    return LOOKS[name]


def colours_json() -> dict[str, Any]:
    """Return modes, maps, materials, looks and sun as plain data, for the page."""
    from dataclasses import asdict

    return {
        "modes": [asdict(mode) for mode in MODES.values()],
        "ramps": {name: [_hex(colour) for colour in table] for name, table in ramps().items()},
        "materials": {name: _hex(material_colour(name)) for name in _MATERIALS},
        "looks": {name: asdict(look) for name, look in LOOKS.items()},
        "sun": list(SUN),
        "top_percentile": TOP,
    }


def _hex(colour: Any) -> str:
    red, green, blue = (int(part) for part in colour)
    return f"#{red:02x}{green:02x}{blue:02x}"
