"""Writing on a picture: time, scale bar, colour scale, names of materials and a title."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.render import context
from berm.render.camera import Camera
from berm.stage import colours
from berm.stage.stage import Moment, Stage

Array = NDArray[Any]

_UNITS = (
    (1e-3, 1e6, "µm"),
    (1e-2, 1e3, "mm"),
    (1.0, 1e2, "cm"),
    (1e3, 1.0, "m"),
    (1e99, 1e-3, "km"),
)


@dataclass(frozen=True)
class Caption:
    """What is written: a title, the time, the scale bar, the meaning of the colours."""

    title: str = ""
    time: bool = True
    scale: bool = True
    legend: bool = True


def write(
    picture: Array,
    stage: Stage,
    moment: Moment,
    camera: Camera,
    look: str,
    colour: str,
    value_range: tuple[float, float],
    caption: Caption,
) -> Array:
    """Return the picture (height, width, 3) with the caption on it."""
    image = context.need("PIL.Image").fromarray(picture)
    draw = context.need("PIL.ImageDraw").Draw(image)
    height, width = picture.shape[:2]
    size = max(10, round(height / 42))
    pad = round(1.2 * size)
    ink = tuple(round(255 * part) for part in colours.look_of(look).ink)
    font = context.need("PIL.ImageFont").load_default(size)
    large = context.need("PIL.ImageFont").load_default(round(1.35 * size))
    pen = _Pen(draw, ink, font, size)
    if caption.title:
        draw.text((pad, pad), caption.title, fill=ink, font=large, anchor="la")
    if caption.time:
        pen.text((width - pad, pad), f"{moment.time:.2f} s", "ra")
    if caption.scale:
        _scale_bar(pen, stage, camera, (width, height), pad)
    if caption.legend:
        _legend(pen, stage, moment, colour, value_range, (width, height), pad)
    return np.asarray(image)


@dataclass
class _Pen:
    """Draws with one colour and one font."""

    draw: Any
    ink: Any
    font: Any
    size: int

    def text(self, at: tuple[float, float], text: str, anchor: str) -> None:
        self.draw.text(at, text, fill=self.ink, font=self.font, anchor=anchor)

    def width(self, text: str) -> float:
        return float(self.draw.textlength(text, font=self.font))


def _scale_bar(pen: _Pen, stage: Stage, camera: Camera, size: tuple[int, int], pad: int) -> None:
    """Draw a bar of a round length, true at the distance of the camera's target."""
    distance = float(np.linalg.norm(camera.target - camera.eye))
    metre = 1.0 / (camera.pixel_angle(size[1]) * distance)  # pixels
    length = bar_length(0.16 * size[0] / metre)
    y, x = size[1] - pad, pad
    end = x + length * metre
    line = max(2, pen.size // 8)
    pen.draw.line([(x, y), (end, y)], fill=pen.ink, width=line)
    for place in (x, end):
        pen.draw.line([(place, y - pen.size // 3), (place, y)], fill=pen.ink, width=line)
    pen.text((end + 0.5 * pen.size, y), length_text(length), "ls")


def bar_length(most: float) -> float:
    """Return the largest round length (1, 2 or 5 times a power of ten) up to `most`, m."""
    power = 10.0 ** math.floor(math.log10(most))
    return max(k * power for k in (1, 2, 5) if k * power <= most * (1 + 1e-9))


def length_text(length: float) -> str:
    """Return a length (m) with a unit that suits it."""
    factor, unit = next((f, u) for top, f, u in _UNITS if length < top * (1 - 1e-9))
    return f"{length * factor:g} {unit}"


def _legend(
    pen: _Pen,
    stage: Stage,
    moment: Moment,
    colour: str,
    value_range: tuple[float, float],
    size: tuple[int, int],
    pad: int,
) -> None:
    mode = colours.mode_of(colour)
    right, bottom = size[0] - pad, size[1] - pad
    if mode.ramp is None:
        names = [("part of the ground", colours.IN_GROUND)] if colour == "merged" else []
        for k in np.unique(moment.material):
            material = stage.materials[int(k)]
            if (material.name, material.colour) not in names:
                names.append((material.name, material.colour))
        for row, (name, shade) in enumerate(reversed(names)):
            y = bottom - round(1.5 * row * pen.size)
            pen.text((right, y), name, "rs")
            x = right - pen.width(name) - 1.2 * pen.size
            pen.draw.ellipse([x, y - 0.75 * pen.size, x + 0.8 * pen.size, y], fill=shade)
        return
    if colour == "id":
        return
    width, height = round(12 * pen.size), max(4, round(0.6 * pen.size))
    left, top = right - width, bottom - height
    table = colours.ramps()[mode.ramp]
    for x in range(width):
        place = table[round(255 * x / (width - 1))]
        pen.draw.line([(left + x, top), (left + x, bottom)], fill=tuple(place.tolist()))
    low, high = value_range
    factor, unit = _value_unit(high, mode.unit)
    for at, value in ((left, low), (0.5 * (left + right), 0.5 * (low + high)), (right, high)):
        anchor = "ls" if at == left else "rs" if at == right else "ms"
        pen.text((at, top - 0.35 * pen.size), f"{value * factor:g}", anchor)
    label = f"{mode.label} ({unit})" if unit else mode.label
    pen.text((right, top - 1.6 * pen.size), label, "rs")


def _value_unit(high: float, unit: str) -> tuple[float, str]:
    """Return a factor and a unit in which `high` is written without many zeros."""
    if unit not in ("m", "N"):
        return 1.0, unit
    scales = ((1e-6, "M"), (1e-3, "k"), (1.0, ""), (1e3, "m"), (1e6, "µ"))
    fits = [(factor, prefix + unit) for factor, prefix in scales if high * factor >= 1.0]
    return fits[0] if fits else (1e6, "µ" + unit)
