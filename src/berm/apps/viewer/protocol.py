"""What page and server say to each other: every message that a page may send, and its limits.

Frames are in `frames.py`; the whole protocol is described in docs/decisions/0004-viewer.md.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from berm.core.errors import InputError

VERSION = 1
MAX_BYTES = 16 * 1024  # of a message from a page
RATE = 200  # messages a second from a page, and as many at once
MAX_NUMBER = 2**53  # whole numbers beyond are not exact in a page
SLOWEST, FASTEST = 0.01, 100.0  # times real time
LONGEST = 400  # characters of an error message

Name = Annotated[str, Field(min_length=1, max_length=64)]
Code = Annotated[str, Field(min_length=1, max_length=40)]
# the hats of some game pads rest at 1.29: read, then clipped
Tilt = Annotated[float, Field(ge=-8.0, le=8.0)]
Count = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
Vector = Annotated[list[float], Field(min_length=3, max_length=3)]
Value = bool | int | float | Annotated[str, Field(max_length=200)] | None


class Message(BaseModel):
    """Base of the messages: nothing is guessed, nothing is added, every number is finite."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Ack(Message):
    """The page has drawn frame `seq`, and wants the next."""

    type: Literal["ack"]
    seq: Count


class Steer(Message):
    """Take over the steering, or leave it to others."""

    type: Literal["steer"]
    take: bool


class Pause(Message):
    """Hold the simulation or the playback."""

    type: Literal["pause"]


class Resume(Message):
    """Go on."""

    type: Literal["resume"]


class Step(Message):
    """Make `count` steps (playback: frames, backwards too) and hold."""

    type: Literal["step"]
    count: int = Field(1, ge=-10_000, le=10_000)


class Reset(Message):
    """Build the scene anew, with these parameters changed."""

    type: Literal["reset"]
    parameters: dict[Name, Value] = Field(default_factory=dict, max_length=200)


class Speed(Message):
    """Run at most `factor` times as fast as real time."""

    type: Literal["speed"]
    factor: float = Field(ge=SLOWEST, le=FASTEST)


class Set(Message):
    """Give a parameter a value."""

    type: Literal["set"]
    name: Name
    value: Value


class Colour(Message):
    """Draw this quantity: its values come with the frames of this viewer."""

    type: Literal["colour"]
    by: Name


class Keys(Message):
    """All keys that are down (`KeyboardEvent.code`), and the axes and buttons of a game pad."""

    type: Literal["keys"]
    down: list[Code] = Field(default_factory=list, max_length=32)
    axes: list[Tilt] = Field(default_factory=list, max_length=16)
    buttons: list[Tilt] = Field(default_factory=list, max_length=32)


class Pick(Message):
    """Tell the state of the first grain on a ray (m), or of the grain with a tag."""

    type: Literal["pick"]
    origin: Vector | None = None
    direction: Vector | None = None
    tag: Count | None = None

    @model_validator(mode="after")
    def _ray_or_tag(self) -> Pick:
        ray = self.origin is not None and self.direction is not None
        if ray == (self.tag is not None) or (self.origin is None) != (self.direction is None):
            raise ValueError("give origin and direction, or tag")
        if self.direction is not None and not math.hypot(*self.direction) > 0.0:
            raise ValueError("direction must not be zero")
        return self


class Seek(Message):
    """Show frame number `frame` of a recording."""

    type: Literal["seek"]
    frame: Count


class Loop(Message):
    """Begin anew at the end of a recording, or hold there."""

    type: Literal["loop"]
    on: bool


class Plots(Message):
    """The page has the rows of the plots up to the version `seen`."""

    type: Literal["plots"]
    seen: Count


AnyMessage = (
    Ack | Steer | Pause | Resume | Step | Reset | Speed | Set | Colour | Keys | Pick | Seek | Loop
    | Plots
)  # fmt: skip
_READER: TypeAdapter[AnyMessage] = TypeAdapter(Annotated[AnyMessage, Field(discriminator="type")])


def read_message(text: str | bytes) -> AnyMessage:
    """Return the message in a JSON text, or say what is wrong with it."""
    size = len(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    if size > MAX_BYTES:
        raise InputError("size of the message", size, f"at most {MAX_BYTES} bytes")
    try:
        return _READER.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        message = f"message: {where}: {first['msg']}" if where else f"message: {first['msg']}"
        raise InputError(message[:LONGEST]) from None


def to_json(value: Any) -> str:
    """Return JSON text in which whatever is not a finite number is null."""
    return json.dumps(plain(value), separators=(",", ":"), allow_nan=False)


def plain(value: Any) -> Any:
    """Return `value` as what JSON holds: arrays as lists, numbers that are not finite as None."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


class Rate:
    """Counts messages: `RATE` a second, as many at once, none beyond."""

    def __init__(self, now: float, rate: float = RATE) -> None:
        self.rate, self._left, self._last = rate, rate, now

    def allows(self, now: float) -> bool:
        """Whether one more message at this time (s) is within the limit."""
        self._left = min(self.rate, self._left + (now - self._last) * self.rate)
        self._last = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
