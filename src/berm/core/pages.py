"""Arrays in memory pages of their own, which go back to the system as soon as they are let go.

What is freed by ordinary arrays of some megabytes often stays with the process.
"""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

LINE = 64  # bytes of a cache line
SMALLEST = 1 << 20  # bytes from which an array has pages of its own
# A forked process gets a copy, as of any array; Windows has neither forks nor flags
PRIVATE: dict[str, Any] = (
    {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
)


def zeros(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return zeros that begin at a multiple of 64 bytes."""
    kind = np.dtype(dtype)
    count = math.prod(shape) if isinstance(shape, tuple) else shape
    size = count * kind.itemsize
    room: npt.NDArray[Any]
    if size >= SMALLEST:
        room = np.frombuffer(mmap.mmap(-1, size, **PRIVATE), kind)
    else:
        raw: npt.NDArray[Any] = np.zeros(size + LINE, np.uint8)
        first = -raw.ctypes.data % LINE
        room = raw[first : first + size].view(kind)
    return room.reshape(shape)
