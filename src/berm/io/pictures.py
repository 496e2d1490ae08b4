"""Still pictures of a run, made with matplotlib (extra `plots`): a side view, and a plot."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berm.core.errors import BermError, InputError
from berm.io.canvas import Canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK = "#2b2b2b"
_SOFT = "#8a8580"
_ACCENT = "#c8402f"
_SERIES = ("#3a6ea5", "#c8402f", "#5d8a4a", "#8a6bb0")
_AXES = {"x": (1, 2, 0, 1.0), "y": (0, 2, 1, -1.0), "z": (0, 1, 2, 1.0)}
_SOIL = ("#4a3524", "#7a5a3a", "#a98152", "#d1ad77", "#ead5a6")
_CLOTH = (0.72, 0.36, 0.38)
_VEIL = 0.6  # share of a grain's colour that is seen through cloth
_LEAST = 1e-6  # m, around what has no extent
_PIXELS = 150  # an inch


def figure(width: float, height: float) -> Figure:
    """Return an empty figure (inches) that is drawn without a screen, in berm's style."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise BermError(
            "pictures need matplotlib, which is not installed: pip install 'berm[plots]'"
        ) from error
    out = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(out)
    return out


def side_view(
    position: np.ndarray,
    radius: np.ndarray | float,
    path: str | os.PathLike[str],
    angle: float | None = None,
    title: str = "",
    *,
    velocity: np.ndarray | None = None,
    colour: str = "",
    view: str = "y",
    floor: float | None = None,
    cloths: Sequence[tuple[np.ndarray, np.ndarray]] = (),
) -> Path:
    """Draw grains as shaded spheres seen along a horizontal axis, and return the picture's path.

    position (n, 3) m, radius (n,) m, velocity (n, 3) m/s.
    angle: slope in degrees; a line of that slope is laid on the flanks of the heap.
    colour: "speed" (needs velocity) or "height"; without it, height.
    view: the axis along which one looks: "x", "y" or "z" (from above).
    floor: height (m) at which to draw the ground.
    cloths: vertices (v, 3) m and faces (f, 3) of each.
    """
    position = np.asarray(position, dtype=np.float64).reshape(-1, 3)
    radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), len(position))
    if view not in _AXES:
        raise InputError("picture's view", view, ", ".join(_AXES))
    if colour not in ("", "speed", "height"):
        raise InputError("picture's colour", colour, "speed, height")
    if colour == "speed" and velocity is None:
        raise InputError("picture's colour", colour, "height, or speed together with velocity")
    keep = np.isfinite(position).all(axis=1)
    position, radii = position[keep], radii[keep]
    points = _seen_along(view, position)
    sheets = [(_seen_along(view, np.asarray(vertices, float)), faces) for vertices, faces in cloths]
    if view == "z":
        floor = None
    corners = np.concatenate([np.zeros((0, 3)), *(vertices for vertices, _ in sheets)])
    corners = corners[np.isfinite(corners).all(axis=1)]
    everything = np.concatenate([points, corners])
    sizes = np.concatenate([radii, np.zeros(len(corners))])
    left, right, low, high = _window(everything, sizes, angle, floor)
    outside = int(
        np.sum((points[:, 0] < left) | (points[:, 0] > right))
        + np.sum((points[:, 1] < low) | (points[:, 1] > high))
    )
    span, rise = right - left, high - low
    inches = min(10.0, 7.5 * span / rise)
    fig = figure(inches, inches * rise / span + 0.9)
    ax = fig.add_subplot()
    ax.set_aspect("equal")
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)
    ax.axis("off")
    if colour == "speed" and velocity is not None:
        values = np.linalg.norm(np.asarray(velocity, dtype=np.float64)[keep], axis=1)
        colours = _speed_colours(fig, ax, values)
    else:
        colours = _soil_colours(position[:, 2])
    pixels = (round(_PIXELS * inches), max(2, round(_PIXELS * inches * rise / span)))
    extent = (left, right, low, high)
    canvas = Canvas(extent, pixels)
    canvas.add_spheres(points, radii, colours)
    picture = canvas.picture()
    if sheets:
        grains = picture
        for vertices, faces in sheets:
            canvas.add_triangles(vertices, faces, np.array(_CLOTH))
        picture = canvas.picture()
        seen = _VEIL * grains[..., 3:]  # what lies behind or in a cloth shows through
        picture[..., :3] += seen * (grains[..., :3] - picture[..., :3])
    ax.imshow(picture, extent=extent, interpolation="antialiased", zorder=2)
    if floor is not None:
        ax.axhline(floor, color=_INK, lw=1.2, zorder=1)
    if angle is not None and len(points):
        _slope_lines(ax, points, radii, float(angle))
    _scale_bar(ax, left, right, low, high)
    if title:
        ax.set_title(title, fontsize=13, color=_INK, loc="left")
    note = _counted(len(points), "grain") if len(points) or not cloths else ""
    note += f", {outside:,} outside" if outside else ""
    note += (", " * bool(note) + _counted(len(cloths), "cloth")) if cloths else ""
    ax.text(1, -0.02, note, transform=ax.transAxes, ha="right", va="top", fontsize=9, color=_SOFT)
    return _save(fig, path)


def run_plot(
    columns: Mapping[str, np.ndarray], path: str | os.PathLike[str], title: str = ""
) -> Path:
    """Draw the run's time series (`Recording.columns`) and return the picture's path."""
    if "time" not in columns:
        raise InputError("columns of a run", sorted(columns), "at least time")
    time = np.asarray(columns["time"], dtype=np.float64)
    panels: list[tuple[str, str, dict[str, np.ndarray]]] = []

    def panel(label: str, scale: str, **names: str) -> None:
        series = {text: np.asarray(columns[n]) for text, n in names.items() if n in columns}
        if series:
            panels.append((label, scale, series))

    panel("kinetic energy (J)", "log", energy="kinetic_energy")
    panel("overlap (m)", "log", mean="overlap_mean", max="overlap_max")
    panel("contacts", "linear", grains="contacts", walls="wall_contacts")
    panel("grains", "linear", grains="grains")
    if "wall" in columns and len(time) > 1:
        panels.append(("real-time factor", "linear", {"factor": real_time_factor(columns)}))
    fig = figure(9.0, 1.1 + 1.45 * max(1, len(panels)))
    axes = fig.subplots(max(1, len(panels)), 1, sharex=True, squeeze=False)[:, 0]
    for ax, (label, scale, series) in zip(axes, panels, strict=False):
        _draw_series(ax, time, label, scale, series)
    axes[-1].set_xlabel("simulated time (s)", fontsize=10, color=_INK)
    if title:
        fig.suptitle(title, fontsize=13, color=_INK, x=0.02, ha="left")
    fig.align_ylabels(list(axes))
    return _save(fig, path)


def real_time_factor(columns: Mapping[str, np.ndarray], window: float = 0.25) -> np.ndarray:
    """Return simulated seconds for each second of wall time, over a sliding `window` (s)."""
    time = np.asarray(columns["time"], dtype=np.float64)
    wall = np.asarray(columns["wall"], dtype=np.float64)
    first = np.searchsorted(time, time - window)
    first = np.minimum(first, np.maximum(np.arange(len(time)) - 1, 0))
    passed = wall - wall[first]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(passed > 0, (time - time[first]) / passed, np.nan)


# ---------------------------------------------------------------------- parts of the side view


def _seen_along(view: str, position: np.ndarray) -> np.ndarray:
    """Return right, up and toward the viewer (n, 3) of positions (n, 3)."""
    i, j, k, toward = _AXES[view]
    return np.stack([position[:, i], position[:, j], toward * position[:, k]], axis=1)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _window(
    points: np.ndarray, radii: np.ndarray, angle: float | None, floor: float | None
) -> tuple[float, float, float, float]:
    """Return left, right, low and high of what is worth showing: strays do not shrink the rest."""
    if not len(points):
        return -1.0, 1.0, 0.0, 1.0
    out = []
    for axis in (0, 1):
        lower, upper = points[:, axis] - radii, points[:, axis] + radii
        start, stop = np.percentile(lower, 1.0), np.percentile(upper, 99.0)
        room = 0.5 * (stop - start) + 4 * float(radii.max())
        start, stop = max(lower.min(), start - room), min(upper.max(), stop + room)
        margin = 0.04 * (stop - start) + 0.5 * float(radii.max()) + _LEAST
        out += [float(start - margin), float(stop + margin)]
    left, right, low, high = out
    if floor is not None:
        low = min(low, floor)
    if angle is not None:
        high += 0.03 * (right - left)
    short = (right - left) / 6 - (high - low)  # neither a thread nor a tower
    if short > 0:
        high += short
    wide = 0.8 * (high - low) - (right - left)
    if wide > 0:
        left, right = left - wide / 2, right + wide / 2
    return left, right, low, high


def _soil_colours(height: np.ndarray) -> np.ndarray:
    """Return earth tones by height (n, 3), each grain a little different from its neighbours."""
    from matplotlib.colors import LinearSegmentedColormap

    if not len(height):
        return np.zeros((0, 3))
    low, high = np.percentile(height, [1, 99])
    level = (height - low) / max(high - low, 1e-12)
    soil = LinearSegmentedColormap.from_list("soil", _SOIL)
    colours = np.asarray(soil(0.12 + 0.8 * np.clip(level, 0, 1)))[:, :3]
    shade = np.random.default_rng(0).uniform(0.86, 1.1, size=(len(height), 1))
    return np.clip(colours * shade, 0, 1)


def _speed_colours(fig: Figure, ax: Axes, speed: np.ndarray) -> np.ndarray:
    """Return colours by speed (n, 3) and draw their scale."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    top = float(np.percentile(speed, 99.5)) if len(speed) else 1.0
    scale = ScalarMappable(Normalize(0, top if top > 0 else 1.0), colormaps["viridis"])
    bar = fig.colorbar(scale, ax=ax, shrink=0.7, aspect=30, pad=0.01)
    bar.set_label("speed (m/s)", fontsize=10, color=_INK)
    bar.ax.tick_params(labelsize=9, colors=_INK)
    bar.outline.set_visible(False)
    return np.asarray(scale.to_rgba(speed))[:, :3]


def _slope_lines(ax: Axes, points: np.ndarray, radii: np.ndarray, angle: float) -> None:
    """Lay lines of the given slope on the flanks, with the angle written at one foot."""
    from matplotlib.patheffects import withStroke

    tangent = math.tan(math.radians(angle))
    flanks = _flanks(points, radii, tangent)
    for n, (x, z) in enumerate(flanks):
        ax.plot(x, z, color="white", lw=4.5, alpha=0.75, zorder=3, solid_capstyle="round")
        ax.plot(x, z, color=_ACCENT, lw=1.8, zorder=4, solid_capstyle="round")
        if n + 1 == len(flanks):
            foot, side = (x[0], z[0]), math.copysign(1.0, x[1] - x[0])
            size = 0.28 * math.hypot(x[1] - x[0], z[1] - z[0])
            turn = np.radians(np.linspace(0, angle, 40))
            arc_x = foot[0] + side * size * np.cos(turn)
            arc_z = foot[1] + size * np.sin(turn)
            ax.plot([foot[0], foot[0] + side * size], [foot[1]] * 2, color=_ACCENT, lw=1, zorder=4)
            ax.plot(arc_x, arc_z, color=_ACCENT, lw=1.4, zorder=4)
            label = ax.annotate(
                f"{angle:.1f}°", (x[1] * 0.55 + foot[0] * 0.45, z[1] * 0.55 + foot[1] * 0.45),
                xytext=(-side * 8, 8), textcoords="offset points", fontsize=14, color=_ACCENT,
                ha="right" if side > 0 else "left", va="bottom", zorder=5, fontweight="bold",
            )  # fmt: skip
            label.set_path_effects([withStroke(linewidth=3.5, foreground="white")])


def _flanks(
    points: np.ndarray, radii: np.ndarray, tangent: float
) -> list[tuple[list[float], list[float]]]:
    """Return (x, z) of foot and top of a line with slope +-`tangent` on each flank of a heap."""
    resting = _resting(points, radii)
    points, radii = points[resting], radii[resting]
    if len(points) < 5 or tangent <= 0:
        return []
    x, top = points[:, 0], points[:, 1] + radii
    ground = float(np.percentile(points[:, 1] - radii, 0.5))
    edges = np.linspace(np.percentile(x, 0.5), np.percentile(x, 99.5), 81)
    which = np.digitize(x, edges) - 1
    inside = (which >= 0) & (which < 80)
    envelope = np.full(80, -np.inf)
    np.maximum.at(envelope, which[inside], top[inside])
    seen = np.isfinite(envelope)
    middle, envelope = (0.5 * (edges[1:] + edges[:-1]))[seen], envelope[seen] - ground
    peak = float(np.percentile(envelope, 98))
    crest = float(np.mean(middle[envelope >= 0.9 * peak]))
    lines: list[tuple[float, float]] = []
    for side in (1.0, -1.0):  # +1: rises to the right
        flank = (side * (crest - middle) > 0) & (envelope > 0.2 * peak) & (envelope < 0.85 * peak)
        if np.sum(flank) < 3 or envelope[flank].max() - envelope[flank].min() < 0.3 * peak:
            continue
        lines.append((side, float(np.median(envelope[flank] - side * tangent * middle[flank]))))
    if len(lines) == 2:
        peak = min(peak, 0.5 * (lines[0][1] + lines[1][1]))  # where the two lines meet
    return [
        ([-offset / (side * tangent), (peak - offset) / (side * tangent)], [ground, ground + peak])
        for side, offset in lines
    ]


def _resting(points: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Return a mask of the grains that touch at least two others: those of a heap, not of a jet."""
    from scipy.spatial import cKDTree

    if len(points) < 3:
        return np.zeros(len(points), dtype=bool)
    second = cKDTree(points).query(points, k=3)[0][:, 2]
    return np.asarray(second <= 2.2 * radii)


def _scale_bar(ax: Axes, left: float, right: float, low: float, high: float) -> None:
    """Draw a bar of a round length (1, 2 or 5 times a power of ten) below the grains."""
    aim = 0.18 * (right - left)
    power = 10.0 ** math.floor(math.log10(aim))
    length = max(step * power for step in (1, 2, 5) if step * power <= aim)
    unit, factor = ("mm", 1e3) if length < 0.01 else ("cm", 100) if length < 1 else ("m", 1)
    share = length / (right - left)
    place: dict[str, Any] = {"transform": ax.transAxes, "clip_on": False}
    ax.plot([0, share], [-0.035, -0.035], color=_INK, lw=3, solid_capstyle="butt", **place)
    text = f"{length * factor:g} {unit}"
    ax.text(share + 0.01, -0.035, text, fontsize=10, color=_INK, va="center", **place)


def _draw_series(
    ax: Axes, time: np.ndarray, label: str, scale: str, series: Mapping[str, np.ndarray]
) -> None:
    for colour, (name, values) in zip(_SERIES, series.items(), strict=False):
        shown = np.where(values > 0, values, np.nan) if scale == "log" else values
        ax.plot(time, shown, color=colour, lw=1.3, label=name)
    drawn = [np.asarray(v, dtype=np.float64) for v in series.values()]
    if scale == "log" and any(np.any(v > 0) for v in drawn):
        ax.set_yscale("log")
        top = max(float(np.nanmax(v)) for v in drawn if np.any(v > 0))
        ax.set_ylim(bottom=max(ax.get_ylim()[0], top * 1e-8))  # rest is not worth more decades
    else:
        ax.set_ylim(bottom=0)
    if len(series) > 1:
        ax.legend(fontsize=8, frameon=False, ncols=len(series), loc="best")
    if label == "real-time factor":
        ax.axhline(1.0, color=_SOFT, lw=0.8, ls=(0, (4, 3)))
    ax.set_ylabel(label, fontsize=9, color=_INK)
    ax.tick_params(labelsize=8, colors=_INK)
    ax.grid(color="#e6e3df", lw=0.6)
    ax.margins(x=0.01)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color("#bdb8b2")


def _save(fig: Figure, path: str | os.PathLike[str]) -> Path:
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        fig.savefig(path, dpi=_PIXELS, bbox_inches="tight", pad_inches=0.15)
    except ValueError as error:
        raise InputError("picture cannot be written", str(path), str(error)) from error
    return path
