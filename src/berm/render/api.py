"""`berm.render`: a world or a recording becomes a picture or a video with one call."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from berm.core.errors import InputError
from berm.io.recording import Recording
from berm.render import context, overlay
from berm.render.between import Clock
from berm.render.camera import Camera, CameraPath, path_of
from berm.render.offscreen import Renderer, check_size
from berm.render.progress import counted
from berm.render.video import VIDEOS, Writer, even, finishing
from berm.stage import colours
from berm.stage.stage import Moment, Stage, moment_of, stage_of
from berm.world.world import World

Array = NDArray[Any]

PICTURES = (".png", ".jpg", ".webp")
SIZE = (1280, 720)
FPS = 30.0
GIF_SIZE, GIF_FPS = (640, 360), 20.0
SAMPLES = 8  # frames of a recording from which the colour scale of a video is taken
MOST_FRAMES = 100_000


def render(
    source: World | Recording | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    time: float | None = None,
    frame: int | None = None,
    size: tuple[int, int] | None = None,
    fps: float | None = None,
    start: float | None = None,
    stop: float | None = None,
    speed: float = 1.0,
    colour: str = "material",
    value_range: tuple[float, float] | None = None,
    look: str = "dark",
    camera: str | Camera | CameraPath | None = None,
    title: str | None = None,
    caption: bool = True,
    hide: Sequence[str] = (),
    progress: bool = False,
) -> Path:
    """Draw a world or a recording (or its file) to a picture or a video, and return its path.

    path: .png, .jpg, .webp, or for a recording .mp4 or .gif. time (s) or frame: which moment of a
    recording a picture shows (default: the last). size: width, height in pixels. fps, start and
    stop (s), speed (2: twice as fast as real): of a video. colour: material, speed, force,
    overlap, age, id or merged (bodies by super-body); value_range: of its scale. look: dark or
    light. camera: a `Camera`, a function of a `Moment`, "orbit:20", "view:-60,20",
    "fixed:x,y,z,x,y,z", "follow:blade" or a file of keyframes. title: "" for none. caption: write
    time, scale and legend. hide: bodies and cloths to omit.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in PICTURES + VIDEOS:
        raise InputError(
            "file to draw to", str(path), "a name ending in " + ", ".join(PICTURES + VIDEOS)
        )
    if isinstance(source, str | os.PathLike):
        with Recording(source) as recording:
            return render(
                recording, path, time=time, frame=frame, size=size, fps=fps, start=start,
                stop=stop, speed=speed, colour=colour, value_range=value_range, look=look,
                camera=camera, title=title, caption=caption, hide=hide, progress=progress,
            )  # fmt: skip
    stage = stage_of(source)
    words = overlay.Caption(stage.scene if title is None else title)
    if not caption:
        words = overlay.Caption(title or "", time=False, scale=False, legend=False)
    how = Drawing(stage, look, colour, value_range, camera, words, tuple(hide))
    if suffix in PICTURES:
        for name, given in (("fps", fps), ("from", start), ("to", stop)):
            if given is not None:
                raise InputError(name, given, "only for a video: " + ", ".join(VIDEOS), str(path))
        moment = _moment(source, time, frame)
        save(how.picture(moment, check_size(size or SIZE)), target)
        return target
    for name, given in (("time", time), ("frame", frame)):
        if given is not None:
            raise InputError(name, given, "only for a picture: " + ", ".join(PICTURES), str(path))
    if not isinstance(source, Recording):
        raise InputError(
            "video of", type(source).__name__, "a Recording: a world is one moment, record its run"
        )
    gif = suffix == ".gif"
    shape = check_size(size or (GIF_SIZE if gif else SIZE))
    rate = fps if fps is not None else (GIF_FPS if gif else FPS)
    how.film(source, target, shape, rate, _times(source, rate, start, stop, speed), progress)
    return target


def png(source: World | Recording, size: tuple[int, int] = (960, 540)) -> bytes:
    """Return a picture of a world, or of a recording's last frame, as the bytes of a PNG."""
    how = Drawing(stage_of(source))
    out = io.BytesIO()
    image = context.need("PIL.Image").fromarray(how.picture(moment_of(source), size))
    image.save(out, format="PNG")
    return out.getvalue()


class Drawing:
    """How a stage is drawn: look, colours, camera, words; the same for a picture and a video."""

    def __init__(
        self,
        stage: Stage,
        look: str = "dark",
        colour: str = "material",
        value_range: tuple[float, float] | None = None,
        camera: str | Camera | CameraPath | None = None,
        caption: overlay.Caption | None = None,
        hide: tuple[str, ...] = (),
    ) -> None:
        colours.look_of(look)
        colours.mode_of(colour)
        stage.check_names(hide)
        if value_range is not None and not value_range[0] < value_range[1]:
            raise InputError("range of the colours", value_range, "low below high")
        self.stage, self.look, self.colour = stage, look, colour
        self.value_range, self.camera, self.hide = value_range, camera, hide
        self.caption = caption or overlay.Caption(stage.scene)

    def picture(self, moment: Moment, size: tuple[int, int]) -> Array:
        """Return one finished picture (height, width, 3) uint8, four samples a pixel."""
        scale = self.value_range or colours.nice_range(
            colours.values(moment, self.colour), self.colour
        )
        where = path_of(self.stage, self.camera, size[0] / size[1], moment.time)
        with Renderer(size, self.look, fine=True) as renderer:
            return self._one(renderer, moment, where(moment), scale)

    def film(
        self,
        recording: Recording,
        path: Path,
        size: tuple[int, int],
        fps: float,
        times: Array,
        progress: bool = False,
    ) -> int:
        """Write a video of the moments at `times` (s) and return the number of frames."""
        if path.suffix.lower() == ".mp4":
            size = even(size)
        clock = Clock(recording)
        scale = self.value_range or self._scale(clock, times)
        where = path_of(self.stage, self.camera, size[0] / size[1], float(times[0]))
        where(clock.at(float(times[0])))  # a camera that cannot work fails before a file is made
        with Renderer(size, self.look) as renderer, finishing() as stopped:
            writer = Writer(path, size, fps)
            try:
                for k in counted(len(times), f"drawing {path.name}", progress):
                    moment = clock.at(float(times[k]))
                    writer.add(self._one(renderer, moment, where(moment), scale))
                    if stopped():
                        break
            finally:
                writer.close()
        if stopped():
            raise KeyboardInterrupt
        return writer.frames

    def _one(
        self, renderer: Renderer, moment: Moment, camera: Camera, scale: tuple[float, float]
    ) -> Array:
        drawn = renderer.draw(self.stage, moment, camera, self.colour, scale, self.hide)
        words = self.caption
        return overlay.write(
            drawn, self.stage, moment, camera, self.look, self.colour, scale, words
        )

    def _scale(self, clock: Clock, times: Array) -> tuple[float, float]:
        """Return one scale for the whole video."""
        picks = np.unique(np.linspace(0, len(times) - 1, SAMPLES).round().astype(int))
        found = [colours.values(clock.at(float(times[k])), self.colour) for k in picks]
        return colours.nice_range(np.concatenate(found), self.colour)


def save(picture: Array, path: Path) -> None:
    """Write a picture to a png, jpg or webp file."""
    image = context.need("PIL.Image").fromarray(picture)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        options = {".jpg": {"quality": 92}, ".webp": {"quality": 90, "method": 6}}
        image.save(path, **options.get(path.suffix.lower(), {"optimize": True}))
    except OSError as error:
        raise InputError(
            "picture cannot be written", str(path), "a file that can be written", str(error)
        ) from error


def _moment(source: World | Recording, time: float | None, frame: int | None) -> Moment:
    if isinstance(source, World):
        if time is not None or frame is not None:
            raise InputError(
                "time or frame", time if frame is None else frame,
                "only for a recording: a world is at its present time",
            )  # fmt: skip
        return moment_of(source)
    if time is not None and frame is not None:
        raise InputError("time and frame", (time, frame), "one of the two")
    clock = Clock(source)
    if time is None:
        return moment_of(source, -1 if frame is None else frame)
    first, last = float(clock.times[0]), float(clock.times[-1])
    if not first - 1e-9 <= time <= last + 1e-9:
        raise InputError("time", time, f"{first:g} to {last:g} s", str(source.path))
    return clock.at(time)


def _times(
    recording: Recording, fps: float, start: float | None, stop: float | None, speed: float
) -> Array:
    """Return the simulated times (s) of a video's frames."""
    clock = Clock(recording)
    first, last = float(clock.times[0]), float(clock.times[-1])
    begin, end = first if start is None else start, last if stop is None else stop
    if not first - 1e-9 <= begin < end <= last + 1e-9:
        raise InputError(
            "from, to", (begin, end), f"rising, within {first:g} to {last:g} s", str(recording.path)
        )
    if not (math.isfinite(speed) and speed > 0):
        raise InputError("speed", speed, "above 0: 2 is twice as fast as real")
    if not 0.1 <= fps <= 240.0:
        raise InputError("frame rate", fps, "0.1 to 240 frames a second")
    count = max(1, round((end - begin) / speed * fps))
    if count > MOST_FRAMES:
        raise InputError("frames of the video", count, f"up to {MOST_FRAMES}: raise speed")
    return begin + np.arange(count) * (speed / fps)
