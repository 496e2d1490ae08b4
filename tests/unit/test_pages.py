"""Arrays in pages of their own."""

from __future__ import annotations

import os

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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_forked_process_has_its_own():
    array = pages.zeros(300_000, np.float64)
    child = os.fork()
    if child == 0:
        array[0] = 42.0
        os._exit(0)
    os.waitpid(child, 0)
    assert array[0] == 0.0


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
