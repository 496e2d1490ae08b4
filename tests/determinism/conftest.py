"""Tests of determinism use all threads, also where other processes test at the same time."""

from __future__ import annotations

import pytest

from berm.kernels.jit import max_threads, set_threads


@pytest.fixture(autouse=True)
def _all_threads(_same_threads_for_all: None) -> None:
    set_threads(max_threads(), always=True)
