"""Arrays in pages of their own."""

from __future__ import annotations

import numpy as np
import pytest

from berm.apps.bench_probe import memory
from berm.core import pages


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32, np.float64])
@pytest.mark.parametrize("shape", [0, 1, 7, (3, 5), (0, 16), (400_000, 4)], ids=str)
def test_zeros_are_aligned_and_writable(shape, dtype):
    array = pages.zeros(shape, dtype)
    assert array.shape == (shape if isinstance(shape, tuple) else (shape,))
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert array.ctypes.data % 64 == 0 or array.size == 0
    assert not array.any()
    array[...] = 1
    assert array.all()


def test_what_is_let_go_goes_back_to_the_system():
    if memory() == 0:
        pytest.skip("memory cannot be asked for here")
    before = memory()
    held = [pages.zeros(4 << 20, np.uint8) for _ in range(16)]
    for array in held:
        array[:] = 1
    full = memory()
    del held, array
    assert full - before > 60 << 20
    assert memory() - before < 8 << 20
