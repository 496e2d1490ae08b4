"""Cameras: where the eye is, what it looks at, and how both move with time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from berm.core.errors import InputError
from berm.stage.stage import Moment, Stage

Array = NDArray[Any]

FOV = 32.0  # degrees, vertical: long enough a lens that near grains do not swell
MARGIN = 1.14  # room around what is framed
CameraPath = Callable[[Moment], "Camera"]


@dataclass(frozen=True, eq=False)
class Camera:
    """A pinhole camera: eye and target (3,) m, up (3,), fov (degrees, vertical), near and far (m).

    Pixels are counted from the upper left corner of the picture to the right and down.
    """

    eye: Array
    target: Array
    up: Array
    fov: float = FOV
    near: float = 0.01
    far: float = 100.0

    def __post_init__(self) -> None:
        for name in ("eye", "target", "up"):
            given = np.asarray(getattr(self, name), float)
            if given.shape != (3,) or not np.isfinite(given).all():
                raise InputError(f"camera: {name}", getattr(self, name), "three finite numbers, m")
            object.__setattr__(self, name, given)
        if not np.linalg.norm(self.target - self.eye) > 0:
            raise InputError("camera: eye", self.eye.tolist(), "a place other than its target")
        if not 0.1 <= self.fov <= 170.0:
            raise InputError("camera: fov", self.fov, "0.1 to 170 degrees")
        if not 0.0 < self.near < self.far:
            raise InputError("camera: near, far", (self.near, self.far), "0 < near < far, m")

    @property
    def axes(self) -> Array:
        """(3, 3): unit vectors to the right, up and back towards the viewer, as rows."""
        back = self.eye - self.target
        back = back / np.linalg.norm(back)
        right = np.cross(self.up, back)
        if np.linalg.norm(right) < 1e-9:  # looks along up: any direction is as good
            right = np.cross([0.0, 1.0, 0.0] if abs(back[1]) < 0.9 else [1.0, 0.0, 0.0], back)
        right = right / np.linalg.norm(right)
        return np.array([right, np.cross(back, right), back])

    @property
    def view(self) -> Array:
        """(4, 4) world to eye."""
        out = np.eye(4)
        out[:3, :3] = self.axes
        out[:3, 3] = -self.axes @ self.eye
        return out

    def projection(self, aspect: float) -> Array:
        """(4, 4) eye to clip space, for a picture `aspect` times as wide as high."""
        f = 1.0 / math.tan(math.radians(self.fov) / 2)
        n, r = self.near, self.far
        return np.array(
            [
                [f / aspect, 0.0, 0.0, 0.0],
                [0.0, f, 0.0, 0.0],
                [0.0, 0.0, (r + n) / (n - r), 2 * r * n / (n - r)],
                [0.0, 0.0, -1.0, 0.0],
            ]
        )

    def pixel_angle(self, height: int) -> float:
        """Height of a pixel at distance 1."""
        return 2.0 * math.tan(math.radians(self.fov) / 2) / height

    def project(self, points: ArrayLike, size: tuple[int, int]) -> tuple[Array, Array]:
        """Return where points (n, 3) appear: pixels (n, 2), and distance along the view (n,) m."""
        local = (np.atleast_2d(np.asarray(points, float)) - self.eye) @ self.axes.T
        depth = -local[:, 2]
        scale = 1.0 / (self.pixel_angle(size[1]) * depth)
        pixels = np.column_stack(
            [0.5 * size[0] + local[:, 0] * scale, 0.5 * size[1] - local[:, 1] * scale]
        )
        return pixels, depth


# ---- framing ---------------------------------------------------------------------------------


def up_of(stage: Stage) -> Array:
    """Return the unit vector against gravity, +z without gravity."""
    strength = float(np.linalg.norm(stage.gravity))
    return -stage.gravity / strength if strength > 0 else np.array([0.0, 0.0, 1.0])


def towards(up: Array, azimuth: float, elevation: float) -> Array:
    """Return the unit vector from the target to an eye at azimuth and elevation (degrees).

    Azimuth is counted about `up`, from +x towards +y (where up is +z).
    """
    first = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    a, e = math.radians(azimuth), math.radians(elevation)
    level = math.cos(a) * first + math.sin(a) * np.cross(up, first)
    return np.asarray(math.cos(e) * level + math.sin(e) * up)


def frame_all(
    stage: Stage,
    azimuth: float | None = None,
    elevation: float | None = None,
    aspect: float = 16 / 9,
    fov: float = FOV,
) -> Camera:
    """Return the camera from which the stage's bounds fill the picture; angles in degrees."""
    up = up_of(stage)
    best = stage.view
    direction = towards(
        up, best[0] if azimuth is None else azimuth, best[1] if elevation is None else elevation
    )
    target = stage.bounds.mean(axis=0)
    corners = _outline(stage.bounds)
    tan_y = math.tan(math.radians(fov) / 2) / MARGIN
    distance = 0.0
    for _ in range(3):  # the middle of what one sees is not the middle of the box
        camera = Camera(target + direction, target, up, fov)
        local = (corners - target) @ camera.axes.T
        need = np.maximum(np.abs(local[:, 0]) / (tan_y * aspect), np.abs(local[:, 1]) / tan_y)
        distance = float((need + local[:, 2]).max())
        seen = local[:, :2] / (distance - local[:, 2])[:, None]
        shift = 0.5 * (seen.min(axis=0) + seen.max(axis=0)) * distance
        target = target + shift @ camera.axes[:2]
    return with_depth(Camera(target + distance * direction, target, up, fov), stage)


def _outline(box: Array) -> Array:
    """Return points (n, 3) on a box with rounded edges: what it holds seldom fills its corners."""
    middle, half = box.mean(axis=0), 0.5 * (box[1] - box[0])
    corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], float)
    faces = np.vstack([np.eye(3), -np.eye(3)])
    return np.asarray(middle + np.vstack([0.9 * corners, faces]) * half)


def with_depth(camera: Camera, stage: Stage) -> Camera:
    """Return the camera with near and far planes that hold the stage and its ground."""
    size = float(np.linalg.norm(stage.bounds[1] - stage.bounds[0]))
    distance = float(np.linalg.norm(stage.bounds.mean(axis=0) - camera.eye))
    near = max(0.02 * (distance - 0.5 * size), 0.002 * size)
    return replace(camera, near=near, far=distance + 20.0 * size)


# ---- paths -----------------------------------------------------------------------------------


def fixed(camera: Camera) -> CameraPath:
    """Return a path that stays."""
    return lambda moment: camera


def orbit(
    stage: Stage, rate: float, aspect: float = 16 / 9, start: float = 0.0, fov: float = FOV
) -> CameraPath:
    """Return a path around the stage, `rate` degrees a second of simulated time, from `start` s."""
    ahead = [frame_all(stage, az, None, aspect, fov) for az in range(0, 360, 30)]
    distance = max(float(np.linalg.norm(c.eye - c.target)) for c in ahead)
    target = np.mean([c.target for c in ahead], axis=0)
    up = up_of(stage)

    def at(moment: Moment) -> Camera:
        azimuth = stage.view[0] + rate * (moment.time - start)
        eye = target + distance * towards(up, azimuth, stage.view[1])
        return with_depth(Camera(eye, target, up, fov), stage)

    return at


def follow(stage: Stage, name: str, aspect: float = 16 / 9, fov: float = FOV) -> CameraPath:
    """Return a path that keeps the body called `name` where it was in the picture at first."""
    body = stage.body(name)
    base = frame_all(stage, None, None, aspect, fov)
    mesh = stage.meshes[body.mesh].vertices.astype(float)
    middle = 0.5 * (mesh.min(axis=0) + mesh.max(axis=0))
    size = float(np.linalg.norm(mesh.max(axis=0) - mesh.min(axis=0)))
    whole = float(np.linalg.norm(base.eye - base.target))
    # near enough to see the body at work, never farther than the whole stage needs
    distance = min(whole, 2.2 * size / math.tan(math.radians(fov) / 2) / min(aspect, 1.5))
    back = base.axes[2]

    def at(moment: Moment) -> Camera:
        pose = next((b for b in moment.bodies if b.id == body.id), None)
        if pose is None:
            raise InputError(
                f"camera: body {name!r}", f"no pose at t = {moment.time:g} s",
                "a recording with the field bodies",
            )  # fmt: skip
        target = pose.position + pose.rotation @ middle
        return with_depth(Camera(target + distance * back, target, base.up, fov), stage)

    return at


def keyframes(stage: Stage, keys: Sequence[dict[str, Any]]) -> CameraPath:
    """Return a path through keys {time, eye, target, fov}: smooth between them, still beyond."""
    if not keys:
        raise InputError("camera: keyframes", [], "at least one of {time, eye, target}")
    for k, key in enumerate(keys):
        unknown = set(key) - {"time", "eye", "target", "fov"}
        missing = {"time", "eye", "target"} - set(key)
        if unknown or missing:
            raise InputError(
                f"camera: keyframe {k}", sorted(key), "time (s), eye, target (m) and fov (degrees)"
            )
    times = np.array([float(key["time"]) for key in keys])
    if np.any(np.diff(times) <= 0):
        raise InputError("camera: times of keyframes", times.tolist(), "rising")
    up = up_of(stage)
    cameras = [Camera(k["eye"], k["target"], up, float(k.get("fov", FOV))) for k in keys]
    rows = np.array([[*c.eye, *c.target, c.fov] for c in cameras])

    def at(moment: Moment) -> Camera:
        if len(rows) > 1:
            from scipy.interpolate import PchipInterpolator

            clock = float(np.clip(moment.time, times[0], times[-1]))
            row = np.asarray(PchipInterpolator(times, rows)(clock))
        else:
            row = rows[0]
        return with_depth(Camera(row[:3], row[3:6], up, float(row[6])), stage)

    return at


FORMS = (
    "orbit:DEGREES_A_SECOND, fixed:EYE_X,EYE_Y,EYE_Z,X,Y,Z, view:AZIMUTH,ELEVATION, "
    "follow:BODY, or a .yaml or .json file with a list of {time, eye, target}"
)


def path_of(
    stage: Stage, text: str | Camera | CameraPath | None, aspect: float, start: float = 0.0
) -> CameraPath:
    """Return the path that a user asked for; None frames the whole stage."""
    if text is None:
        return fixed(frame_all(stage, aspect=aspect))
    if isinstance(text, Camera):
        return fixed(text)
    if callable(text):
        return text
    kind, _, rest = text.partition(":")
    if kind == "orbit":
        (rate,) = _numbers(text, rest or "20", 1)
        return orbit(stage, rate, aspect, start)
    if kind == "fixed":
        values = _numbers(text, rest, 6)
        camera = Camera(np.array(values[:3]), np.array(values[3:]), up_of(stage))
        return fixed(with_depth(camera, stage))
    if kind == "view":
        azimuth, elevation = _numbers(text, rest, 2)
        return fixed(frame_all(stage, azimuth, elevation, aspect))
    if kind == "follow":
        return follow(stage, rest, aspect)
    if text.endswith((".yaml", ".yml", ".json")):
        return keyframes(stage, _read_keys(text))
    raise InputError("camera", text, FORMS)


def _numbers(text: str, part: str, count: int) -> list[float]:
    try:
        values = [float(one) for one in part.replace(";", ",").split(",")]
    except ValueError:
        values = []
    if len(values) != count or not np.isfinite(values).all():
        raise InputError("camera", text, FORMS)
    return values


def _read_keys(path: str) -> list[dict[str, Any]]:
    import yaml  # reads JSON as well

    try:
        with open(path, encoding="utf-8") as file:
            read = yaml.safe_load(file)
    except OSError as error:
        raise InputError("camera file", path, "a file that can be read", str(error)) from error
    except yaml.YAMLError as error:
        raise InputError("camera file", path, "YAML or JSON", str(error)) from error
    if not isinstance(read, list) or not all(isinstance(key, dict) for key in read):
        raise InputError("camera file", path, "a list of {time, eye, target}")
    return read
