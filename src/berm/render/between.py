"""Moments between recorded frames, so that a video may have any frame rate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.core.errors import InputError
from berm.io.recording import Recording
from berm.stage.stage import BodyMoment, Moment, moment_of

Array = NDArray[Any]


class Clock:
    """The moments of a recording at any time; keeps the frames around the last one asked for."""

    def __init__(self, recording: Recording) -> None:
        if not len(recording):
            raise InputError(
                "recording has no frames", str(recording.path), "a recording with at least one"
            )
        self.recording = recording
        self.times: Array = np.asarray(recording.times, float)
        self._near: dict[int, Moment] = {}

    def frame(self, k: int) -> Moment:
        """Return frame k as it was recorded."""
        if k not in self._near:
            self._near = {j: m for j, m in self._near.items() if abs(j - k) <= 1}
            self._near[k] = moment_of(self.recording, k)
        return self._near[k]

    def at(self, time: float) -> Moment:
        """Return the moment at `time` (s), which is held to what was recorded."""
        k = int(np.clip(np.searchsorted(self.times, time, "right") - 1, 0, len(self.times) - 1))
        if k == len(self.times) - 1 or time <= self.times[0]:
            return self.frame(k)
        share = (time - self.times[k]) / (self.times[k + 1] - self.times[k])
        if share < 1e-6:
            return self.frame(k)
        return between(self.frame(k), self.frame(k + 1), float(share))


def between(a: Moment, b: Moment, share: float) -> Moment:
    """Return the moment a `share` (0 to 1) of the way from a to b.

    Grains that both have move on the cubic that fits their places and velocities; those that only
    the nearer frame has are taken from it, so that a grain appears half-way.
    """
    _, i, j = np.intersect1d(a.tag, b.tag, assume_unique=True, return_indices=True)
    step = b.time - a.time
    whole = a if share < 0.5 else b
    own = i if share < 0.5 else j
    position = whole.position.copy()
    if whole.velocity is not None:  # a grain that comes or goes flies as it did when it was seen
        position += (
            np.float32(share * step if whole is a else (share - 1.0) * step) * whole.velocity
        )
    position[own] = _places(a, b, i, j, share, step)
    fields: dict[str, Array | None] = {}
    for name in ("velocity", "overlap", "force", "age"):
        first, last = getattr(a, name), getattr(b, name)
        if first is None or last is None:
            fields[name] = None
            continue
        mixed = getattr(whole, name).copy()
        mixed[own] = (1.0 - share) * first[i] + share * last[j]
        fields[name] = mixed
    poses = {pose.id: pose for pose in b.bodies}
    return Moment(
        time=a.time + share * step,
        step=whole.step,
        position=position,
        radius=whole.radius,
        material=whole.material,
        tag=whole.tag,
        bodies=tuple(_pose(p, poses.get(p.id, p), share) for p in a.bodies),
        cloths=_sheets(a, b, share),
        ground=whole.ground,
        **fields,
    )


def _places(a: Moment, b: Moment, i: Array, j: Array, s: float, step: float) -> Array:
    """Return positions (k, 3) on the Hermite cubic, or on the line where speeds are unknown.

    A cubic that would leave the line by more than the line is long (a bounce between the frames)
    is no better than the line, so there the line is taken.
    """
    p, q = a.position[i], b.position[j]
    line = (1.0 - s) * p + s * q
    if a.velocity is None or b.velocity is None:
        return line
    u, w = step * a.velocity[i], step * b.velocity[j]
    bend = s * (1 - s) * ((1 - s) * (u - (q - p)) - s * (w - (q - p)))
    wild = np.linalg.norm(bend, axis=1) > 0.25 * np.linalg.norm(q - p, axis=1)
    return np.where(wild[:, None], line, line + bend).astype(np.float32)


def _sheets(a: Moment, b: Moment, share: float) -> tuple[Array, ...]:
    """Return the cloths' vertices on the lines between two frames; a new cloth comes half-way."""
    both = [
        ((1.0 - share) * p + share * q).astype(np.float32)
        for p, q in zip(a.cloths, b.cloths, strict=False)
    ]
    return (*both, *(b.cloths[len(both) :] if share >= 0.5 else ()))


def _pose(a: BodyMoment, b: BodyMoment, share: float) -> BodyMoment:
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_matrix(a.rotation.T @ b.rotation).as_rotvec()
    return BodyMoment(
        a.id,
        (1.0 - share) * a.position + share * b.position,
        a.rotation @ Rotation.from_rotvec(share * turn).as_matrix(),
        (1.0 - share) * a.force + share * b.force,
        (1.0 - share) * a.torque + share * b.torque,
        a.group if share < 0.5 else b.group,
    )
