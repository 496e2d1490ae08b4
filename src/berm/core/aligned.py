"""Arrays that begin at a cache line, so that rows of 32 or 64 bytes do not lie across two."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

LINE = 64  # bytes


def zeros(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return zeros like np.zeros, which begins at any multiple of 16 bytes."""
    kind = np.dtype(dtype)
    size = kind.itemsize * (shape if isinstance(shape, int) else math.prod(shape))
    raw = np.zeros(size + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + size].view(kind).reshape(shape)
