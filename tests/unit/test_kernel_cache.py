"""The disk cache of compiled kernels, as several processes use it at once."""

from __future__ import annotations

import os

import pytest

from berm.kernels import jit
from berm.kernels.search import neighbours


@pytest.mark.skipif(not jit.JIT_ON, reason="nothing is compiled")
def test_two_processes_do_not_write_the_same_file(monkeypatch):
    file = neighbours.moments._cache._cache_file
    names = []
    for process in (11, 12):
        monkeypatch.setattr(os, "getpid", lambda process=process: process)
        names.append(file._data_name(1))
    assert names[0] != names[1]
    assert all(name.endswith(".1.nbc") for name in names)
