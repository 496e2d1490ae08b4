"""The only module that imports the JIT: decorators, thread control and the disk cache.

A cached caller does not notice an edited callee, so the cache folder is keyed by a hash of all
kernel sources: an edit anywhere gives a fresh folder.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

# threads that wait for each other sleep early: on a busy machine spinning costs 20 times
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

import numba
from llvmlite import ir  # noqa: F401  (re-exported for vec8)
from numba.core import cgutils, types  # noqa: F401  (re-exported for vec8)
from numba.core.typing.templates import AbstractTemplate, infer_global, signature  # noqa: F401
from numba.extending import (  # noqa: F401  (re-exported for vec8)
    intrinsic,
    lower_builtin,
    models,
    register_model,
)

JIT_ON = not numba.config.DISABLE_JIT


def _source_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _cache_folder() -> Path:
    base = os.environ.get("BERM_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "berm"
    )
    version = f"py{platform.python_version()}-numba{numba.__version__}"
    return Path(base) / f"{version}-{_source_hash()}"


CACHE_FOLDER = _cache_folder()
if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(CACHE_FOLDER)

_COMMON = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": False}


def jit(function: Callable[..., Any]) -> Any:
    """Compile a plain loop; cached on disk, releases the GIL, IEEE arithmetic."""
    return numba.njit(**_COMMON)(function)


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only other kernels call: no Python entry, no cache of its own."""
    if not JIT_ON:
        return function
    return numba.njit(
        nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
    )(function)


def inline(function: Callable[..., Any]) -> Any:
    """Compile a small function that LLVM is to inline at every call."""
    if not JIT_ON:
        return function
    return numba.njit(
        nogil=True,
        error_model="numpy",
        forceinline=True,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(function)


def pjit(function: Callable[..., Any]) -> Any:
    """Compile a loop over slabs that runs on all threads; its body is one call."""
    return numba.njit(parallel=True, **_COMMON)(function)


prange = numba.prange


def cache_is_warm() -> bool:
    """Return whether an earlier run has left compiled kernels for these sources."""
    return CACHE_FOLDER.exists() and any(CACHE_FOLDER.rglob("*.nbc"))


_threads = int(numba.config.NUMBA_NUM_THREADS)
ALONE = 1000  # below so many grains, waiting for other threads costs more than they save


def set_threads(count: int) -> None:
    """Run parallel loops on at most `count` threads (results do not depend on it)."""
    global _threads
    _threads = max(1, min(count, int(numba.config.NUMBA_NUM_THREADS)))
    numba.set_num_threads(_threads)


def get_threads() -> int:
    """Return the number of threads that large worlds use."""
    return _threads


def use_threads_for(grains: int) -> None:
    """Choose one or all threads for the coming step, by the size of the world."""
    numba.set_num_threads(1 if grains < ALONE else _threads)


def max_threads() -> int:
    """Return the largest number of threads that can be used."""
    return int(numba.config.NUMBA_NUM_THREADS)


def versions() -> dict[str, str]:
    """Return the versions of the compiler stack."""
    import llvmlite
    from llvmlite import binding as llvm

    layer = "none yet"
    try:
        layer = numba.threading_layer()
    except ValueError:
        pass
    return {
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "threading layer": layer,
        "cpu": str(llvm.get_host_cpu_name()),
    }
