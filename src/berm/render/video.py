"""Frames to a file: mp4 (H.264, what every player and browser takes) or gif."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from berm.core.errors import InputError
from berm.render import context

Array = NDArray[Any]

VIDEOS = (".mp4", ".gif")
SHARP = 20  # crf of H.264: smaller is larger and better

# the file holds nothing that differs from run to run
_SAME = ["-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1"]
_MP4 = ["-crf", str(SHARP), "-preset", "medium", "-movflags", "+faststart", *_SAME]
# one palette for the whole clip, of the pixels that change; ordered dither compresses well
_GIF = [
    "-lavfi",
    "split[a][b];[a]palettegen=stats_mode=diff[p];[b][p]paletteuse=dither=bayer:bayer_scale=4",
    "-loop",
    "0",
    *_SAME,
]


def even(size: tuple[int, int]) -> tuple[int, int]:
    """Return a size that H.264 takes: odd edges get one pixel more."""
    return size[0] + size[0] % 2, size[1] + size[1] % 2


class Writer:
    """Writes frames (height, width, 3) uint8 to an mp4 or a gif; close it, or nothing is playable.

    size: width, height (pixels, even for mp4); fps: frames a second.
    """

    def __init__(self, path: Path, size: tuple[int, int], fps: float) -> None:
        if path.suffix.lower() not in VIDEOS:
            raise InputError("video file", str(path), "a name ending in " + " or ".join(VIDEOS))
        if not 0.1 <= fps <= 240.0:
            raise InputError("frame rate", fps, "0.1 to 240 frames a second")
        ffmpeg = context.need("imageio_ffmpeg")
        gif = path.suffix.lower() == ".gif"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("wb").close()
        except OSError as error:
            raise InputError(
                "video cannot be written", str(path), "a file that can be written", str(error)
            ) from error
        self.path, self.size, self.frames = path, size, 0
        self._pipe = ffmpeg.write_frames(
            str(path),
            size,
            fps=fps,
            quality=None,
            macro_block_size=1,
            codec="gif" if gif else "libx264",
            pix_fmt_out="pal8" if gif else "yuv420p",
            output_params=_GIF if gif else _MP4,
            ffmpeg_log_level="error",
        )
        self._pipe.send(None)

    def add(self, picture: Array) -> None:
        """Append a frame."""
        height, width = picture.shape[:2]
        if (width, height) != self.size:
            raise InputError("frame's size", (width, height), f"{self.size}, as the first")
        try:
            self._pipe.send(picture.tobytes())
        except OSError as error:
            raise InputError(
                "video cannot be written", str(self.path), "room on the disk", str(error)
            ) from error
        self.frames += 1

    def close(self) -> None:
        """Finish the file."""
        self._pipe.close()
        if not self.frames:
            self.path.unlink(missing_ok=True)


@contextmanager
def finishing() -> Iterator[Callable[[], bool]]:
    """Hold Ctrl-C back while a frame is written; yields a test of whether it came.

    An interrupt in the middle of a frame would leave a file that no player opens.
    """
    asked = False

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        asked = True

    try:
        before = signal.signal(signal.SIGINT, ask)
    except ValueError:  # not in the main thread: nothing comes here
        yield lambda: False
        return
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
